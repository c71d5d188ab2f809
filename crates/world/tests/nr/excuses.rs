//! Events behind which a law of the NR runs permits more than before.

use crate::lab::record::{Loss, Phase, Record, Signal};

/// A base station is asked to take a host.
pub fn requests(signal: &Signal) -> bool {
    ["xn-handover-request", "ng-handover-request"].contains(&&*signal.message)
}

/// A base station is asked to take the host back before the path has left it. Packets of the old path that still come there
/// belong behind those that it has forwarded before, and before those that come back.
pub fn comes_back_early(record: &Record) -> bool {
    let confirmed = |node: &str, from: u64, until: u64| {
        let here = |noted: &Phase| &*noted.phase == "handover-confirmed" && &*noted.node == node;
        record.phases.iter().any(|noted| here(noted) && (from..until).contains(&noted.time))
    };
    let markers = record.signals.iter().filter(|signal| {
        &*signal.message == "gtpu-end-marker" && &*signal.source == "upf" && signal.arrived.is_some()
    });
    let all = || record.signals.iter().filter(|signal| requests(signal));
    markers.into_iter().any(|marker| {
        all().any(|request| {
            let (node, left) = (&request.destination, marker.arrived.unwrap_or_default());
            let asked = request.arrived.unwrap_or(u64::MAX);
            *node == marker.destination && asked < left && !confirmed(node, asked, left)
        })
    })
}

/// The guard has ended the wait for forwarded packets at the base station of a loss.
pub fn guard_is_over(record: &Record, loss: &Loss) -> bool {
    let is_it = |noted: &Phase| &*noted.phase == "reordering-timed-out" && *noted.node == *loss.place;
    record.phases.iter().any(|noted| is_it(noted) && noted.time <= loss.time)
}
