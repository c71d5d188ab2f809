//! The transition table of each role, and the interplay of the roles.

mod table;

use super::Params;
use crate::lab;
use crate::{CellSite, HostSite, LinkSite, Protocol, Topology};
use roamlab_engine::{Duration, Rate};

/// ha – gw, and below it r1 with the cell bs1 and r2 with the cell bs2; the host's home is `home`.
fn network(home: &str) -> Topology {
    let link = |(one, other): (&str, &str)| LinkSite {
        between: [one.into(), other.into()],
        delay: Duration::from_millis(1),
    };
    let cell = |(name, router): (&str, &str)| CellSite {
        name: name.into(),
        router: router.into(),
        rate: Rate::from_bps(1),
        delay: Duration::ZERO,
    };
    Topology {
        routers: ["ha", "gw", "r1", "r2"].map(String::from).into(),
        links: [("ha", "gw"), ("gw", "r1"), ("gw", "r2")].map(link).into(),
        cells: [("bs1", "r1"), ("bs2", "r2")].map(cell).into(),
        hosts: vec![HostSite { number: 0, name: "mh".into(), home: home.into(), visits: Vec::new() }],
        ..Topology::default()
    }
}

#[test]
fn parameters_are_read_with_units_and_what_cannot_run_is_refused() -> Result<(), serde_json::Error> {
    let read = |text: &str| serde_json::from_str::<Params>(text);
    let refused = |home: &str, text: &str| -> Result<_, serde_json::Error> {
        Ok(lab::refused(&read(text)?, &network(home)))
    };
    for (home, text) in [
        ("gw", "{}"),
        ("r1", r#"{"anchors": ["r1", "r2"]}"#),
        ("ha", r#"{"anchors": ["r1", "r2"], "global": {}, "anchor_change": true}"#),
        ("gw", r#"{"authentication": {"server": "gw", "refuses": ["m*"]}}"#),
        ("gw", r#"{"paging": {"areas": [["bs*"]]}, "hours": {"mh": {"login": "1 s"}}}"#),
    ] {
        assert_eq!(refused(home, text)?, None, "{text}");
    }
    for (home, text, field) in [
        ("gw", r#"{"anchor_grace": "0 ms"}"#, "anchor_grace"),
        ("gw", r#"{"preparation_lifetime": "0 ms"}"#, "preparation_lifetime"),
        ("gw", r#"{"tunnel_lifetime": "0 ms"}"#, "tunnel_lifetime"),
        ("gw", r#"{"login_retransmit": "0 ms"}"#, "login_retransmit"),
        ("gw", r#"{"session": {"lifetime": "5 s"}}"#, "session.lifetime"),
        ("gw", r#"{"trigger": {"by": "path"}}"#, "trigger.by"),
        ("gw", r#"{"trigger": {"missing": 2.0}}"#, "trigger.missing"),
        ("gw", r#"{"trigger": {"candidates": 3}}"#, "trigger.candidates"),
        ("gw", r#"{"move_when_prepared": true}"#, "move_when_prepared"),
        ("gw", r#"{"buffer": {"longest_wait": "0 ms"}}"#, "buffer.longest_wait"),
        ("gw", r#"{"global": {}}"#, "anchors"),
        ("gw", r#"{"anchor_change": true}"#, "anchor_change"),
        ("gw", r#"{"anchors": ["r1"]}"#, "hosts[0].home"),
        ("r1", r#"{"anchors": ["r1"], "global": {}}"#, "hosts[0].home"),
        ("r1", r#"{"anchors": ["r1", "r3"]}"#, "anchors[1]"),
        ("r1", r#"{"anchors": ["r1", "r1"]}"#, "anchors[1]"),
        ("ha", r#"{"anchors": ["r1"], "global": {"lifetime": "30 s"}}"#, "global.lifetime"),
        ("ha", r#"{"anchors": ["r1"], "global": {"retransmit": "0 s"}}"#, "global.retransmit"),
        ("gw", r#"{"authentication": {"server": "aaa"}}"#, "authentication.server"),
        ("gw", r#"{"authentication": {"server": "ha", "refuses": ["x*"]}}"#, "authentication.refuses[0]"),
        ("gw", r#"{"hours": {"x*": {}}}"#, "hours.x*"),
        ("gw", r#"{"hours": {"mh": {"login": "2 s", "logout": "1 s"}}}"#, "hours.mh.logout"),
        ("gw", r#"{"paging": {"idle_after": "0 s"}}"#, "paging.idle_after"),
        ("gw", r#"{"paging": {"areas": [["bs1"], ["bs3"]]}}"#, "paging.areas[1][0]"),
        ("gw", r#"{"paging": {"areas": [["bs1"], ["bs*"]]}}"#, "paging.areas"),
    ] {
        assert_eq!(refused(home, text)?.as_deref(), Some(field), "{text}");
    }
    assert!(read(r#"{"tigger": {}}"#).is_err());
    assert!(read(r#"{"prepare_retries": 3}"#).is_err());
    let gateway = Topology { gateway: Some("gw".into()), ..network("gw") };
    let refusal = Params::default().check(&gateway).unwrap_err();
    assert_eq!(refusal.field, "domain.gateway");
    let mut island = network("gw");
    island.links.pop();
    assert_eq!(Params::default().check(&island).unwrap_err().field, "cells.bs2.router");
    Ok(())
}
