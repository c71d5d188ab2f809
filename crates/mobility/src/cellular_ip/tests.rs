//! The transition table of each role, and the interplay of the roles.

mod table;

use super::Params;
use crate::lab;
use crate::{CellSite, HostSite, LinkSite, Topology};
use roamlab_engine::{Duration, Rate};

/// gw – r, with a cell, and a host.
fn network(overlap: u64) -> Topology {
    let link = LinkSite { between: ["gw".into(), "r".into()], delay: Duration::from_millis(1) };
    let (rate, delay) = (Rate::from_bps(1), Duration::ZERO);
    let host = HostSite { number: 0, name: "mh".into(), home: "gw".into(), visits: Vec::new() };
    Topology {
        links: vec![link],
        cells: vec![CellSite { name: "bs".into(), router: "r".into(), rate, delay }],
        hosts: vec![host],
        overlap: Duration::from_millis(overlap),
        ..Topology::default()
    }
}

#[test]
fn parameters_are_read_with_units_and_what_cannot_run_is_refused() -> Result<(), serde_json::Error> {
    let read = |text: &str| serde_json::from_str::<Params>(text);
    let refused = |text: &str, overlap| -> Result<_, serde_json::Error> {
        Ok(lab::refused(&read(text)?, &network(overlap)))
    };
    assert_eq!(refused("{}", 0)?, None);
    for (text, field) in [
        (r#"{"trigger": {"lead": "50 ms"}}"#, "trigger.lead"),
        (r#"{"route_timeout": "2 s"}"#, "route_timeout"),
        (r#"{"paging_update_time": "9 min"}"#, "paging_update_time"),
        (r#"{"equaliser": {"limit": "0 pkt"}}"#, "equaliser.limit"),
        (r#"{"paging_areas": ["r", "x"]}"#, "paging_areas[1]"),
        (r#"{"handoff": "semisoft"}"#, "handoff"),
        (r#"{"trigger": {"by": "source"}}"#, "trigger.by"),
        (r#"{"handoff": "semisoft", "trigger": {"by": "no-path"}}"#, "trigger.by"),
    ] {
        assert_eq!(refused(text, 0)?.as_deref(), Some(field), "{text}");
    }
    assert_eq!(
        refused(r#"{"handoff": "semisoft"}"#, 50)?,
        None,
        "a host in two cells sends the packet itself"
    );
    assert!(read(r#"{"hand_off": "hard"}"#).is_err());
    Ok(())
}
