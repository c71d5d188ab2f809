//! Names: which are valid, their natural order, and patterns of names.

use crate::problem::Problem;
use roamlab_mobility::{is_pattern, matches};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The name of a member of a group, or of a part of a topology.
pub fn member(group: &str, number: u32) -> String {
    format!("{group}-{number}")
}

/// The name of the message that tells a sender of a new path.
pub const PATH_CHANGE: &str = "path-change";

/// The names of all messages that faults choose by: those of mobility protocols, the management frames of 802.11, and the
/// one that tells a sender of a new path.
pub fn messages() -> impl Iterator<Item = &'static str> {
    let frames = roamlab_radio::Management::NAMES.iter().copied();
    roamlab_mobility::message_names().chain(frames).chain([PATH_CHANGE])
}

/// Finds the names that match patterns among some names, once for each pattern.
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

    /// Finds the names that match `pattern`, in their natural order. A name without `*` matches itself.
    ///
    /// # Errors
    /// It matches no name; `field` is where it is written.
    pub fn find(&mut self, pattern: &str, field: impl Fn() -> String) -> Result<(), Problem> {
        if !is_pattern(pattern) || self.found.contains_key(pattern) {
            return Ok(());
        }
        let mut names: Vec<&str> = self.names.iter().copied().filter(|name| matches(pattern, name)).collect();
        names.sort_by(|one, other| natural(one, other));
        names.dedup();
        if names.is_empty() {
            let problem = Problem::at(field(), format!("no {} matches \"{pattern}\"", self.what));
            return Err(problem.help("`*` matches any characters; correct the rest"));
        }
        self.found.insert(pattern.to_owned(), names);
        Ok(())
    }

    /// All names that match a pattern.
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

/// Characters of the longest name: names are columns of tables, lanes of figures and parts of metrics' names.
pub const LONGEST_NAME: usize = 100;

/// Refuses what is not a name; `field` is where it is written.
pub fn check_name(name: &str, field: impl Fn() -> String) -> Result<(), Problem> {
    let length = name.chars().count();
    if length > LONGEST_NAME {
        let problem = Problem::at(field(), format!("a name of {length} characters is too long"));
        return Err(problem.help(format!("write at most {LONGEST_NAME} characters")));
    }
    let plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(plain) {
        return Ok(());
    }
    let parts: Vec<&str> = name.split(|c| !plain(c)).filter(|part| !part.is_empty()).collect();
    let example = if parts.is_empty() { String::new() } else { format!(", as in \"{}\"", parts.join("-")) };
    let problem = Problem::at(field(), format!("\"{name}\" is not a name"));
    Err(problem.help(format!("use letters, digits, `-` and `_`{example}")))
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
}
