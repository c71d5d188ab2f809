//! Random edits of a scenario.

/// Values that a mutation puts in the place of another.
const VALUES_TO_TRY: &[&str] = &[
    "\"0 s\"",
    "\"1 ns\"",
    "\"63 ms\"",
    "\"5000000 h\"",
    "\"0 pkt\"",
    "\"1 pkt\"",
    "\"4294967295 pkt\"",
    "\"1 bit/s\"",
    "\"18446744073709551615 bit/s\"",
    "\"28 B\"",
    "\"65535 B\"",
    "\"18446744073709551615 B\"",
    "\"mh\"",
    "\"fa2\"",
    "\"cbr\"",
    "\"red\"",
    "\"rfc\"",
    "\"none\"",
    "true",
    "0",
    "1.0",
    "-1",
    "nan",
    "1e300",
    "[]",
    "{}",
    "é",
];

/// A random edit of a text: by characters, by lines, or of one value.
pub fn mutate(text: &str, (kind, at, with): (u8, usize, usize)) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let mut lines: Vec<&str> = text.lines().collect();
    if chars.is_empty() || lines.is_empty() {
        return text.to_owned();
    }
    let (char_at, line_at) = (at % chars.len(), at % lines.len());
    match kind % 7 {
        0 => drop(chars.remove(char_at)),
        1 => chars[char_at] = "=[]{}\"'.#,\\ 0129-amkµ\n"[..].chars().cycle().nth(with % 997).unwrap_or('x'),
        2 => chars.insert(char_at, chars[with % chars.len()]),
        3 => {
            lines.remove(line_at);
            return lines.join("\n");
        }
        4 => {
            lines.insert(line_at, lines[with % lines.len()]);
            return lines.join("\n");
        }
        _ => {
            let starts: Vec<usize> = text.match_indices("= ").map(|(start, _)| start + 2).collect();
            let Some(&start) = starts.get(at % starts.len().max(1)) else { return text.to_owned() };
            let rest = &text[start..];
            let end = rest.find(['\n', ',', '}']).unwrap_or(rest.len());
            return format!(
                "{}{}{}",
                &text[..start],
                VALUES_TO_TRY[with % VALUES_TO_TRY.len()],
                &rest[end..]
            );
        }
    }
    chars.into_iter().collect()
}
