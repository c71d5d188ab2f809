//! The part of a record that the explorer draws.

/// The tables and columns that the explorer shows.
pub const EXPLORED: [(&str, &[&str]); 8] = [
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
    (
        "signalling",
        &["message", "host", "source", "destination", "size_bytes", "sent_ns", "arrived_ns", "serial"],
    ),
];
