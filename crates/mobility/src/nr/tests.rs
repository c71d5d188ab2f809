//! The transition table of each role, and the parameters.

mod core;
mod gnodeb;
mod table;
mod units;

use super::{Forwarding, Kind, Params, Procedure};
use crate::lab::id;
use roamlab_engine::{Bytes, Duration};

/// The first request of an attempt at this time.
fn service_request(millis: u64) -> Kind {
    Kind::ServiceRequest { first: id(millis) }
}

#[test]
fn parameters_are_read_with_units_and_unknown_fields_are_refused() -> Result<(), serde_json::Error> {
    let read = |text: &str| serde_json::from_str::<Params>(text);
    let some = read(
        r#"{"procedure": "n2", "forwarding": "indirect", "timers": {"t304": "200 ms"},
            "path_switch": {"kind": "exponential", "mean": "2 s"}, "sctp": "srsran"}"#,
    )?;
    assert_eq!((some.procedure, some.forwarding), (Procedure::N2, Forwarding::Indirect));
    assert_eq!(some.timers.t304, Duration::from_millis(200));
    assert!(read(r#"{"timer": {}}"#).is_err());
    let refused = |text: &str| read(text).map(|params| params.check().err().map(|(field, _)| field));
    assert_eq!(refused("{}")?, None);
    for (text, field) in [
        (r#"{"timers": {"t311": "0 ms"}}"#, "timers.t311"),
        (r#"{"timers": {"t304": "250 ms"}}"#, "timers.t304"),
        (r#"{"timers": {"preparation": "0 ms"}}"#, "timers.preparation"),
        (r#"{"end_markers": 0}"#, "end_markers"),
        (r#"{"guard": "0 ms"}"#, "guard"),
        (r#"{"admission_limit": 0}"#, "admission_limit"),
        (r#"{"forwarding": "indirect"}"#, "forwarding"),
        (r#"{"procedure": "n2", "conditional": {}}"#, "procedure"),
        (r#"{"candidate_forwarding": "early", "bearer": {"rlc": "um"}}"#, "candidate_forwarding"),
        (r#"{"conditional": {"candidates": 9}}"#, "conditional.candidates"),
        (r#"{"conditional": {"events": []}}"#, "conditional.events"),
        (
            r#"{"conditional": {"events": [{"kind": "a3"}, {"kind": "a4", "threshold_dbm": 0.0}]}}"#,
            "conditional.events[1].threshold_dbm",
        ),
        (r#"{"measurement": {"hysteresis_db": 0.3}}"#, "measurement.hysteresis_db"),
        (r#"{"path_switch": {"kind": "exponential", "mean": "0 s"}}"#, "path_switch.mean"),
        (r#"{"bearer": {"sn_bits": 16}}"#, "bearer.sn_bits"),
        (r#"{"ltm": {}}"#, "ltm"),
        (r#"{"central_units": ["cu"], "ltm": {"candidates": 1}}"#, "ltm.candidates"),
        (r#"{"central_units": ["cu"], "ltm": {"event": {"offset_db": 20.0}}}"#, "ltm.event.offset_db"),
        (
            r#"{"central_units": ["cu"], "ltm": {"event": {"hysteresis_db": -1.0}}}"#,
            "ltm.event.hysteresis_db",
        ),
        (
            r#"{"central_units": ["cu"], "ltm": {"event": {"report_interval": "0 s"}}}"#,
            "ltm.event.report_interval",
        ),
        (r#"{"central_units": ["cu"], "ltm": {"command_again": "0 s"}}"#, "ltm.command_again"),
        (r#"{"central_units": ["cu"], "ltm": {"early_access_again": "0 s"}}"#, "ltm.early_access_again"),
        (
            r#"{"central_units": ["cu"], "ltm": {"timing_advance_lifetime": "0 s"}}"#,
            "ltm.timing_advance_lifetime",
        ),
        (r#"{"signalling": {"max_retx_threshold": 5}}"#, "signalling.max_retx_threshold"),
        (r#"{"central_units": ["cu"], "conditional": {}}"#, "conditional"),
        (r#"{"central_units": ["cu"], "daps": true}"#, "daps"),
        (r#"{"central_units": ["cu"], "forwarding": "none"}"#, "forwarding"),
        (r#"{"central_units": ["cu"], "bearer": {"rlc": "um"}}"#, "bearer.rlc"),
        (r#"{"central_units": ["cu"], "delivery_status_interval": "0 s"}"#, "delivery_status_interval"),
        (r#"{"central_units": ["cu"], "unit_overhead": "70000 B"}"#, "unit_overhead"),
    ] {
        assert_eq!(refused(text)?.as_deref(), Some(field), "{text}");
    }
    assert_eq!(refused(r#"{"timers": {"t304": "250 ms"}, "nonstandard": true}"#)?, None);
    Ok(())
}

#[test]
fn the_defaults_are_those_of_their_sources() {
    let params = Params::default();
    assert_eq!(params.times.interruption.total(), Duration::from_millis(62));
    assert_eq!(params.timers.overall(), Duration::from_secs(7));
    assert_eq!(params.timers.of_blocks().joining, Duration::from_secs(3));
    assert_eq!(params.forwarding_overhead(), Bytes(48));
    let bearer = Box::new(crate::BearerParams { sn_bits: 12, ..Default::default() });
    let short = Params { bearer, ..params };
    assert_eq!(short.forwarding_overhead(), Bytes(44));
}
