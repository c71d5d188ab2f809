//! Text to write in place of a name that does not exist.

pub mod substitutes;
pub mod words;

use words::{Meaning, meaning};

/// "did you mean", or the list of what there is, each name between two of `quote`.
pub fn known(wanted: &str, names: &[&str], quote: char) -> String {
    let quoted = |name: &&str| format!("{quote}{name}{quote}");
    let least = names.iter().map(|name| distance(wanted, name)).min().unwrap_or_default();
    let closest: Vec<&str> = names.iter().filter(|name| distance(wanted, name) == least).copied().collect();
    match closest.first() {
        None => "there are none in this scenario".into(),
        // Of several values that are as near any may be meant, and what is not near too: a year, a number of a host.
        Some(first) if is_close(wanted, first) && (quote == '`' || closest.len() == 1) => {
            format!("did you mean {}?", closest.iter().map(quoted).collect::<Vec<_>>().join(" or "))
        }
        Some(_) => listed(names, quote),
    }
}

/// The list of what there is, each name between two of `quote`.
pub fn listed(names: &[&str], quote: char) -> String {
    const LISTED: usize = 40;
    let quoted = |name: &&str| format!("{quote}{name}{quote}");
    let list = |names: &[&str]| names.iter().map(quoted).collect::<Vec<_>>().join(", ");
    match names {
        [] => "there are none in this scenario".into(),
        [only] => format!("there is only {quote}{only}{quote}"),
        names if names.len() > LISTED => format!("write one of {}, …", list(&names[..LISTED])),
        names => format!("write one of {}", list(names)),
    }
}

/// Text to write instead of a name that is not among `names`, and the one of them that another program's name
/// means.
pub fn refused(name: &str, names: &[&str], quote: char) -> (String, Option<String>) {
    match meaning(name, names) {
        Some(Meaning::Text(text)) => (text, None),
        Some(Meaning::Name(meant)) => (format!("did you mean {quote}{meant}{quote}?"), Some(meant)),
        None => (substitutes::help(name, names).unwrap_or_else(|| known(name, names, quote)), None),
    }
}

/// [`known`] for a value: each name in double quotes. The name of a group represents those of its members.
pub fn known_value<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match members(wanted, &names).as_slice() {
        [] => known(wanted, &names, '"'),
        [only] => format!("\"{wanted}\" is a group: write its member, \"{only}\""),
        [first, .., last] => {
            format!("\"{wanted}\" is a group: write one of its members, \"{first}\" to \"{last}\"")
        }
    }
}

/// [`known_value`] where a pattern is allowed too: that of a group comes first.
pub fn known_pattern<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match members(wanted, &names).as_slice() {
        [first, .., last] => format!(
            "\"{wanted}\" is a group: write \"{wanted}-*\" for all its members, or one of them, \"{first}\" to \"{last}\""
        ),
        _ => known_value(wanted, names.into_iter()),
    }
}

/// The members of a group of this name, in their natural order.
fn members<'a>(group: &str, names: &[&'a str]) -> Vec<&'a str> {
    let number = |name: &str| name.strip_prefix(group)?.strip_prefix('-')?.parse::<u32>().ok();
    let mut members: Vec<&str> = names.iter().copied().filter(|name| number(name).is_some()).collect();
    members.sort_by_key(|name| number(name));
    members
}

/// Few enough edits apart, for names of this length, to be a slip.
pub fn is_close(wanted: &str, name: &str) -> bool {
    const LONG: usize = 5;
    let most = match name.chars().count() {
        0 | 1 => 0,
        2..LONG => 1,
        _ => 2,
    };
    distance(wanted, name) <= most
}

/// One edit apart: more than that may be another word.
pub fn is_one_edit(wanted: &str, name: &str) -> bool {
    distance(wanted, name) <= 1
}

/// Edit distance of two names; two letters in the wrong order are one edit. A text that is no name, for example of a
/// megabyte, is far from each.
fn distance(left: &str, right: &str) -> usize {
    const LONGEST: usize = 400;
    if left.len() > LONGEST {
        return usize::MAX;
    }
    let [left, right]: [Vec<char>; 2] = [left, right].map(|name| name.chars().collect());
    let mut before = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, r) in right.iter().enumerate() {
            let edited = (above[j] + usize::from(l != r)).min(above[j + 1] + 1).min(row[j] + 1);
            let swaps = l.is_alphabetic()
                && i > 0
                && j > 0
                && *l == right[j - 1]
                && left[i - 1] == *r
                && r.is_alphabetic();
            row.push(if swaps { edited.min(before[j - 1] + 1) } else { edited });
        }
        before = std::mem::replace(&mut above, row);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!((distance("", "bs1"), distance("bs1", ""), distance("bs1", "bs1")), (3, 3, 0));
        assert_eq!((distance("rtae", "rate"), distance("name", "rate")), (1, 2));
    }

    #[test]
    fn a_slip_is_corrected_and_anything_else_gets_the_list() {
        assert_eq!(known("mblu", &["red", "mblue"], '"'), "did you mean \"mblue\"?");
        let years = ["ns2-2001", "ns2-2009"];
        assert_eq!(known("ns2-2010", &years, '"'), "write one of \"ns2-2001\", \"ns2-2009\"");
        assert_eq!(known("d3", &["d1", "d2", "limit"], '`'), "did you mean `d1` or `d2`?");
        assert_eq!(known("xy", &["red", "mblue"], '`'), "write one of `red`, `mblue`");
        assert_eq!(known("rtae", &["rate", "delay"], '`'), "did you mean `rate`?");
        assert_eq!(known("name", &["rate", "delay"], '`'), "write one of `rate`, `delay`");
        assert_eq!(known("cubic", &["reno"], '"'), "there is only \"reno\"");
        assert_eq!(known("bs1", &[], '"'), "there are none in this scenario");
        let members = ["ch", "mh-0", "mh-1", "mh-2"];
        let help = "\"mh\" is a group: write one of its members, \"mh-0\" to \"mh-2\"";
        assert_eq!(known_value("mh", members.into_iter()), help);
        let help = known_pattern("mh", ["mh-1", "mh-10", "mh-9"].into_iter());
        assert_eq!(
            help,
            "\"mh\" is a group: write \"mh-*\" for all its members, or one of them, \"mh-1\" to \"mh-10\""
        );
        assert_eq!(known_pattern("mx", ["mh"].into_iter()), "did you mean \"mh\"?");
        assert_eq!(known_value("mh", ["mh-x"].into_iter()), "there is only \"mh-x\"");
    }
}
