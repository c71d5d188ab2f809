//! Text of an input in the form of a report.

/// A text on one line, with each character as an escape that would control a terminal or change the order of the text:
/// control and format characters (Unicode's Cc, Cf, Zl and Zp).
pub fn shown(text: &str) -> String {
    if !text.contains(is_control) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(2 * text.len());
    for c in text.chars() {
        if is_control(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// A text that a report can hold: of a longer one the begin and the end.
pub fn brief(text: &str, longest: usize) -> String {
    let count = text.chars().count();
    if count <= longest {
        return text.to_owned();
    }
    let end = longest / 4;
    let begin: String = text.chars().take(longest - end).collect();
    let rest: String = text.chars().skip(count - end).collect();
    format!("{begin} … ({} characters left out) … {rest}", count - longest)
}

fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0xAD
            | 0x600..=0x605
            | 0x61C
            | 0x6DD
            | 0x70F
            | 0x890..=0x891
            | 0x8E2
            | 0x180E
            | 0x200B..=0x200F
            | 0x2028..=0x202E
            | 0x2060..=0x206F
            | 0xFEFF
            | 0xFFF9..=0xFFFB
            | 0x110BD
            | 0x110CD
            | 0x13430..=0x1343F
            | 0x1BCA0..=0x1BCA3
            | 0x1D173..=0x1D17A
            | 0xE0001
            | 0xE0020..=0xE007F)
}

#[cfg(test)]
mod tests {
    use super::{brief, shown};

    #[test]
    fn of_a_long_text_begin_and_end_are_left() {
        assert_eq!(brief("abcdefgh", 8), "abcdefgh");
        assert_eq!(brief("abcdefghi", 8), "abcdef … (1 characters left out) … hi");
        assert!(brief(&"µ".repeat(1_000_000), 400).len() < 1000);
    }

    #[test]
    fn what_controls_a_terminal_is_an_escape_and_letters_stay() {
        assert_eq!(shown("a\u{1b}[2J\r\n\tb\u{9b}\u{7f}"), "a\\u{1b}[2J\\u{d}\\u{a}\\u{9}b\\u{9b}\\u{7f}");
        assert_eq!(shown("\u{202e}x\u{2066}\u{2028}\u{feff}"), "\\u{202e}x\\u{2066}\\u{2028}\\u{feff}");
        assert_eq!(shown("セル µs e\u{301} \u{a0}🚆"), "セル µs e\u{301} \u{a0}🚆");
    }
}
