//! The transition table of each role, and the interplay of the roles.

mod table;

use super::{Forwarding, Kind, Params, PathSwitch};
use roamlab_engine::Duration;

#[test]
fn parameters_are_read_with_units_and_unknown_fields_are_refused() -> Result<(), serde_json::Error> {
    let read = |text: &str| serde_json::from_str::<Params>(text);
    let some = read(
        r#"{"path_switch": "fast", "forwarding": "seamless", "timers": {"t304": "50 ms"},
            "predictions": [{"host": "ue", "cell": "enb2", "at": "1 s"}]}"#,
    )?;
    assert_eq!((some.path_switch, some.forwarding), (PathSwitch::Fast, Forwarding::Seamless));
    assert_eq!(some.timers.t304, Duration::from_millis(50));
    assert!(read(r#"{"timer": {}}"#).is_err());
    assert!(read(r#"{"timers": {"t304": 50}}"#).is_err());
    assert!(read(r#"{"sizes": {}}"#).is_err());
    let refused = |text: &str| read(text).map(|params| params.check().err().map(|(field, _)| field));
    assert_eq!(refused("{}")?, None);
    assert_eq!(refused(r#"{"timers": {"t311": "0 ms"}}"#)?.as_deref(), Some("timers.t311"));
    assert_eq!(refused(r#"{"end_markers": 0}"#)?.as_deref(), Some("end_markers"));
    let carried = r#"{"carry_marking_state": true, "forwarding": "seamless"}"#;
    assert_eq!(refused(carried)?.as_deref(), Some("carry_marking_state"));
    let hysteresis = r#"{"measurement": {"hysteresis_db": 0.3}}"#;
    assert_eq!(refused(hysteresis)?.as_deref(), Some("measurement.hysteresis_db"));
    Ok(())
}

#[test]
fn the_sizes_of_the_charts_steps_4_7_12_and_14() {
    let sizes = Kind::sizes();
    let of = |field: &str| sizes.iter().find(|(known, _)| *known == field).map(|(_, size)| size.0);
    let steps = ["handover_request", "handover_command", "path_switch_request", "end_marker"].map(of);
    assert_eq!(steps, [Some(250), Some(80), Some(150), Some(36)]);
}
