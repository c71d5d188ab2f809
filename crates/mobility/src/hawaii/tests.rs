//! The transition table of each role, and the interplay of the roles.

mod table;

use super::Params;
use crate::Topology;
use crate::lab;

#[test]
fn parameters_are_read_with_units_and_what_cannot_run_is_refused() -> Result<(), serde_json::Error> {
    let read = |text: &str| serde_json::from_str::<Params>(text);
    let refused =
        |text: &str| -> Result<_, serde_json::Error> { Ok(lab::refused(&read(text)?, &Topology::default())) };
    for text in ["{}", r#"{"buffer": {"limit": "9 pkt"}}"#, r#"{"scheme": "ssf"}"#] {
        assert_eq!(refused(text)?, None, "{text}");
    }
    for (text, field) in [
        (r#"{"bicast": "0 ms"}"#, "bicast"),
        (r#"{"retransmit": "0 ms"}"#, "retransmit"),
        (r#"{"entries": {"lifetime": "5 s"}}"#, "entries.lifetime"),
        (r#"{"scheme": "msf", "buffer": {"limit": "9 pkt"}}"#, "buffer.at"),
        (r#"{"buffer": {"longest_wait": "0 ms"}}"#, "buffer.longest_wait"),
    ] {
        assert_eq!(refused(text)?.as_deref(), Some(field), "{text}");
    }
    assert!(read(r#"{"scheme": "usf"}"#).is_err());
    assert!(read(r#"{"redundancy": {"bicast": "1 ms"}}"#).is_err());
    Ok(())
}
