//! The transition table of each role, and the interplay of the roles.

mod table;

use super::{Kind, Params};
use crate::Topology;
use crate::lab;

#[test]
fn parameters_are_read_with_units_and_unknown_fields_are_refused() -> Result<(), serde_json::Error> {
    let read = |text: &str| serde_json::from_str::<Params>(text);
    let refused =
        |text: &str| -> Result<_, serde_json::Error> { Ok(lab::refused(&read(text)?, &Topology::default())) };
    assert_eq!(refused("{}")?, None);
    for (text, field) in [
        (r#"{"buffer_lifetime": "0 ms"}"#, "buffer_lifetime"),
        (r#"{"tunnel_lifetime": "0 ms"}"#, "tunnel_lifetime"),
        (r#"{"trigger": {"candidates": 3}}"#, "trigger.candidates"),
        (r#"{"trigger": {"by": "path"}}"#, "trigger.by"),
        (r#"{"trigger": {"by": "no-path"}}"#, "trigger.by"),
        (r#"{"trigger": {"missing": 2.0}}"#, "trigger.missing"),
        (r#"{"buffer": {"longest_wait": "0 ms"}}"#, "buffer.longest_wait"),
    ] {
        assert_eq!(refused(text)?.as_deref(), Some(field));
    }
    assert!(read(r#"{"tigger": {}}"#).is_err());
    assert!(read(r#"{"retries": 3}"#).is_err());
    Ok(())
}

/// An IPv6 header, and what RFC 5568 §6, RFC 4861 §4 and RFC 6275 §6 put behind it in units of eight bytes.
#[test]
fn every_size_is_that_of_an_ipv6_message() {
    let sizes = Kind::sizes();
    assert!(sizes.iter().all(|(_, size)| size.0 % 8 == 0 && (72..=128).contains(&size.0)));
}
