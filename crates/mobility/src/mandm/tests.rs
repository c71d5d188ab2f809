//! The transition table of each role, and the interplay of the roles.

mod table;

use super::Params;
use crate::Topology;
use crate::lab;

#[test]
fn parameters_are_read_with_units_and_unknown_fields_are_refused() -> Result<(), serde_json::Error> {
    let read = |text: &str| serde_json::from_str::<Params>(text);
    let refused =
        |text: &str| -> Result<_, serde_json::Error> { Ok(lab::refused(&read(text)?, &Topology::default())) };
    assert_eq!(refused("{}")?, None);
    for (text, field) in [
        (r#"{"trigger": {"missing": 2.0}}"#, "trigger.missing"),
        (r#"{"buffer": {"longest_wait": "0 ms"}}"#, "buffer.longest_wait"),
        (r#"{"authentication": {"server": "aaa"}}"#, "authentication.server"),
    ] {
        assert_eq!(refused(text)?.as_deref(), Some(field));
    }
    assert!(read(r#"{"tigger": {}}"#).is_err());
    assert!(read(r#"{"buffer": {"limit": 5}}"#).is_err());
    Ok(())
}
