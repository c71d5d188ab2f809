//! Names that do not exist, existing ones as advice, and patterns of names.

use crate::locate::Problem;
use roamlab_mobility::{is_pattern, matches};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The name of a member of a group, or of a part of a topology.
pub fn member(group: &str, number: u32) -> String {
    format!("{group}-{number}")
}

/// The names of all messages that faults choose by: those of mobility protocols and the management frames of 802.11.
pub fn messages() -> impl Iterator<Item = &'static str> {
    roamlab_mobility::message_names().chain(roamlab_radio::Management::NAMES.iter().copied())
}

/// Finds what patterns stand for among some names, once for each pattern.
pub struct Patterns<'a> {
    names: Vec<&'a str>,
    what: &'static str,
    found: BTreeMap<String, Vec<&'a str>>,
}

impl<'a> Patterns<'a> {
    /// Patterns among these names, of which each is a `what`.
    pub fn new(names: impl Iterator<Item = &'a str>, what: &'static str) -> Patterns<'a> {
        Patterns { names: names.collect(), what, found: BTreeMap::new() }
    }

    /// Finds what `pattern` stands for: names in their natural order. A name without `*` stands for itself.
    ///
    /// # Errors
    /// It stands for nothing; `field` is where it is written.
    pub fn find(&mut self, pattern: &str, field: impl Fn() -> String) -> Result<(), Problem> {
        if !is_pattern(pattern) || self.found.contains_key(pattern) {
            return Ok(());
        }
        let mut names: Vec<&str> = self.names.iter().copied().filter(|name| matches(pattern, name)).collect();
        names.sort_by(|one, other| natural(one, other));
        names.dedup();
        if names.is_empty() {
            let problem = Problem::at(field(), format!("no {} matches \"{pattern}\"", self.what));
            return Err(problem.help("`*` stands for any characters; correct the rest"));
        }
        self.found.insert(pattern.to_owned(), names);
        Ok(())
    }

    /// All names that a pattern that was found stands for.
    pub fn all(&self, pattern: &str) -> Vec<String> {
        match self.found.get(pattern) {
            Some(names) => names.iter().map(|&name| name.to_owned()).collect(),
            None => vec![pattern.to_owned()],
        }
    }

    /// The name for member `number` of a group: the names take turns.
    pub fn nth(&self, pattern: &str, number: u32) -> String {
        match self.found.get(pattern) {
            Some(names) => names[number as usize % names.len()].to_owned(),
            None => pattern.to_owned(),
        }
    }
}

/// The natural order of names: digits count as numbers, so that `bs-2` comes before `bs-10`.
pub fn natural(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one.as_bytes(), other.as_bytes());
    let digits = |text: &[u8]| text.iter().take_while(|c| c.is_ascii_digit()).count();
    while let (Some(&l), Some(&r)) = (left.first(), right.first()) {
        let (mut wide_l, mut wide_r) = (digits(left), digits(right));
        let order = if wide_l > 0 && wide_r > 0 {
            let value = |text: &[u8], wide: usize| -> Vec<u8> {
                text[..wide].iter().copied().skip_while(|&c| c == b'0').collect()
            };
            let (value_l, value_r) = (value(left, wide_l), value(right, wide_r));
            value_l.len().cmp(&value_r.len()).then(value_l.cmp(&value_r))
        } else {
            (wide_l, wide_r) = (1, 1);
            l.cmp(&r)
        };
        if order != Ordering::Equal {
            return order;
        }
        (left, right) = (&left[wide_l..], &right[wide_r..]);
    }
    left.len().cmp(&right.len()).then(one.cmp(other))
}

/// "did you mean", or the list of what there is, each name between two of `quote`.
pub fn known(wanted: &str, names: &[&str], quote: char) -> String {
    const LISTED: usize = 40;
    let quoted = |name: &&str| format!("{quote}{name}{quote}");
    let list = |names: &[&str]| names.iter().map(quoted).collect::<Vec<_>>().join(", ");
    let least = names.iter().map(|name| distance(wanted, name)).min().unwrap_or_default();
    let closest: Vec<&str> = names.iter().filter(|name| distance(wanted, name) == least).copied().collect();
    match closest.first() {
        None => "there are none in this scenario".into(),
        // Of several values that are as near any may be meant, and what is not near too: a year, a number of a host.
        Some(first) if is_close(wanted, first) && (quote == '`' || closest.len() == 1) => {
            format!("did you mean {}?", closest.iter().map(quoted).collect::<Vec<_>>().join(" or "))
        }
        Some(only) if names.len() == 1 => format!("there is only {quote}{only}{quote}"),
        Some(_) if names.len() > LISTED => format!("write one of {}, …", list(&names[..LISTED])),
        Some(_) => format!("write one of {}", list(names)),
    }
}

/// Few enough edits apart, for names of this length, to be a slip.
fn is_close(wanted: &str, name: &str) -> bool {
    distance(wanted, name) <= 2.min(name.chars().count() / 2)
}

/// Edit distance of two names.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, r) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(l != *r);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["bs-10", "bs-9", "a2-1", "bs-2x", "bs-2", "a10-0", "bs", "bs-02"];
        names.sort_by(|one, other| natural(one, other));
        assert_eq!(names, ["a2-1", "a10-0", "bs", "bs-02", "bs-2", "bs-2x", "bs-9", "bs-10"]);
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!((distance("", "bs1"), distance("bs1", ""), distance("bs1", "bs1")), (3, 3, 0));
    }

    #[test]
    fn a_slip_is_corrected_and_anything_else_gets_the_list() {
        assert_eq!(known("mblu", &["red", "mblue"], '"'), "did you mean \"mblue\"?");
        let years = ["ns2-2001", "ns2-2009"];
        assert_eq!(known("ns2-2010", &years, '"'), "write one of \"ns2-2001\", \"ns2-2009\"");
        assert_eq!(known("d3", &["d1", "d2", "limit"], '`'), "did you mean `d1` or `d2`?");
        assert_eq!(known("xy", &["red", "mblue"], '`'), "write one of `red`, `mblue`");
        assert_eq!(known("cubic", &["reno"], '"'), "there is only \"reno\"");
        assert_eq!(known("bs1", &[], '"'), "there are none in this scenario");
    }
}
