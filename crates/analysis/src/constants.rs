//! Lists that the Python package and the page share with the analyses.

use crate::record::{WITHOUT_CONNECTION, harmless};
use crate::suspects::MOVES;
use serde_json::{Value, json};

/// The tables and columns that the explorer shows.
const EXPLORED: [(&str, &[&str]); 9] = [
    ("handovers", &["time_ns", "host", "visit", "phase", "node"]),
    ("deliveries", &["time_ns", "flow", "seq", "sent_ns", "fresh", "late_by_pkts", "serial"]),
    (
        "packets",
        &[
            "time_ns",
            "event",
            "place",
            "flow",
            "kind",
            "number",
            "wire_bytes",
            "retransmission",
            "waiting",
            "serial",
        ],
    ),
    (
        "queue",
        &["time_ns", "queue", "packets", "average", "probability", "coupled", "sojourn_ns", "forwarded"],
    ),
    ("tcp", &["time_ns", "flow", "event", "cwnd", "ssthresh", "rto_ns", "seq", "timeout"]),
    ("drops", &["time_ns", "place", "reason", "flow", "seq", "serial", "forwarded"]),
    ("releases", &["time_ns", "host", "node", "to", "flow", "seq", "serial", "forwarded"]),
    ("bearer_gaps", &["time_ns", "until_ns", "host", "node", "number", "expired"]),
    (
        "signalling",
        &["message", "host", "source", "destination", "size_bytes", "sent_ns", "arrived_ns", "serial"],
    ),
];
/// A limit that nothing reaches.
const AMPLE: &str = "100000 pkt";
/// The fields of a protocol with times after which it drops waiting packets or ends a state.
const EXPIRIES: [&str; 5] =
    ["hold", "longest_wait", "forwarding_hold", "tunnel_lifetime", "preparation_lifetime"];

/// The lists, by name: `explored`, the tables and columns that the explorer shows; `ample`, a limit that nothing reaches.
/// `expiries` are fields of a protocol with times after which it drops waiting packets or ends a state.
///
/// Also `moves`, roots of `causes` that begin a handover of their host; `no_loss`, reasons in `drops` that lose no data;
/// `without_connection`, kinds of flows that have no connection with acknowledgements.
pub fn constants() -> Value {
    let explored: serde_json::Map<_, _> =
        EXPLORED.iter().map(|(table, columns)| ((*table).to_owned(), json!(columns))).collect();
    json!({
        "explored": explored,
        "ample": AMPLE,
        "expiries": EXPIRIES,
        "moves": MOVES,
        "no_loss": harmless(),
        "without_connection": WITHOUT_CONNECTION,
    })
}
