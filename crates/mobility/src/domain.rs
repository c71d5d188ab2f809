//! The part of the network that a protocol serves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The part of the network that a mobility protocol is about. Without any field it is the whole network.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Domain {
    /// The node where packets for its hosts come in, for a protocol that has one; absent: the home of its hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Its cells: names, or patterns with `*`; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<Vec<String>>,
    /// Its mobile hosts: names, or patterns with `*`; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
}

impl Domain {
    /// For serde, which passes a reference.
    pub(crate) fn is_whole(&self) -> bool {
        *self == Domain::default()
    }

    /// True if a cell belongs to it.
    pub fn has_cell(&self, name: &str) -> bool {
        self.cells.as_ref().is_none_or(|cells| cells.iter().any(|cell| matches(cell, name)))
    }

    /// True if a mobile host belongs to it.
    pub fn has_host(&self, name: &str) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.iter().any(|host| matches(host, name)))
    }
}

/// True if a text is a pattern and not a name: it has a `*`.
pub fn is_pattern(text: &str) -> bool {
    text.contains('*')
}

/// True if a name equals the text, or matches its pattern: `*` is any number of characters, also 0.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        let fits = ["an-*", "*", "an-bs-2", "*-2", "a*b*2", "an-bs-2*"];
        let others = ["an", "an-bs-", "*-bs", "bs-*", "a*2*b", "an-bs-2*2"];
        assert!(fits.iter().all(|pattern| matches(pattern, "an-bs-2")));
        assert!(others.iter().all(|pattern| !matches(pattern, "an-bs-2")));
    }
}
