//! Possible combinations: senders, queues and paths, with the laws for each of them.

/// Laws for a sender, in addition to the laws that hold for each.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Law {
    /// All laws.
    All,
    /// Its window grows by a segment in a round trip: it has a product of round trips instead. Why.
    Linear(&'static str),
    /// It sends again what the receiver holds: of a cycle of product-many round trips a slow start is waste. Why.
    SlowStarts(&'static str),
    /// It keeps a segment in the queue by its own measure, which its authors' rule lets be wrong: two segments in a round trip and
    /// a delayed ACK. Why.
    TwoSegments(&'static str),
}

/// A sender that may be drawn.
#[derive(Copy, Clone, Debug)]
pub struct Row {
    pub transport: &'static str,
    pub control: &'static str,
    /// Loss recoveries by the RFCs; the profile of Linux has `rack` alone, QUIC its own.
    pub recoveries: &'static [&'static str],
    /// The profiles of ns-2 have a variant of its name, or of that of its recovery.
    pub ns2: bool,
    /// It uses marks, and is always run with them.
    pub by_marks: bool,
    /// The part of its window that a loss leaves.
    pub beta: f64,
    pub law: Law,
}

const TAHOE: &str = "each loss begins slow start from one segment, which sends again what the receiver holds";
pub const STALE: &str =
    "behind a longer path the shortest round-trip time is that of the old one (Mo et al. 1999)";
const VEGAS: &str = "slow start ends at the first sign of a queue, and then a round trip adds a segment";

const fn tcp(control: &'static str, recoveries: &'static [&'static str]) -> Row {
    Row { transport: "tcp", control, recoveries, ns2: false, by_marks: false, beta: 0.5, law: Law::All }
}

const fn quic(control: &'static str) -> Row {
    Row { transport: "quic", ..tcp(control, &[]) }
}

/// Every current sender.
pub const ROWS: &[Row] = &[
    Row { law: Law::SlowStarts(TAHOE), ns2: true, ..tcp("reno", &["tahoe"]) },
    Row { law: Law::SlowStarts(TAHOE), beta: 0.7, ..tcp("cubic", &["tahoe"]) },
    Row { ns2: true, ..tcp("reno", &["reno", "newreno", "rfc6675", "fack", "rack"]) },
    Row { beta: 0.7, ..tcp("cubic", &["reno", "newreno", "rfc6675", "fack", "rack"]) },
    Row {
        law: Law::Linear(VEGAS),
        ns2: true,
        ..tcp("vegas", &["vegas", "reno", "newreno", "rfc6675", "fack", "rack"])
    },
    Row { beta: 1.0, ..tcp("bbr", &["rfc6675", "rack"]) },
    Row { beta: 0.7, ..tcp("bbr3", &["rfc6675", "rack"]) },
    Row { by_marks: true, ..tcp("dctcp", &["reno", "newreno", "rfc6675", "fack", "rack"]) },
    Row { by_marks: true, ..tcp("prague", &["newreno", "rfc6675", "fack", "rack"]) },
    quic("reno"),
    Row { beta: 0.7, ..quic("cubic") },
    Row { beta: 1.0, ..quic("bbr") },
    Row { beta: 0.7, ..quic("bbr3") },
];

/// Changes of a path.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    Nothing,
    /// It is dead for a time, twice.
    Gaps,
    /// Packets are lost at random.
    Loss,
    /// Acknowledgements are.
    AckLoss,
    /// Single packets are overtaken.
    Reordering,
    /// The receiver moves to another cell, by a mobility protocol.
    Move(Protocol),
}

/// A mobility protocol, as in the scenario.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Protocol {
    CellularIp,
    /// With copies on both branches.
    Semisoft,
    MobileIp,
    Lte,
    /// Between two base stations, over Xn.
    Nr,
    /// With all links until the target has the host.
    NrDual,
    /// Through the core network.
    NrByCore,
    /// The target is prepared before.
    NrConditional,
    /// Between two distributed units, by an order of MAC.
    NrByUnits,
    /// The link fails before a handover is prepared.
    NrFailing,
}

impl Protocol {
    /// It has bearers with numbers, and a limit before the numbers.
    pub fn is_numbered(self) -> bool {
        self.commands() && self != Protocol::Lte
    }

    /// The hosts measure their cells, and are commanded.
    pub fn commands(self) -> bool {
        !matches!(self, Protocol::CellularIp | Protocol::Semisoft | Protocol::MobileIp)
    }
}

pub const TROUBLES: &[Trouble] = &[
    Trouble::Nothing,
    Trouble::Nothing,
    Trouble::Gaps,
    Trouble::Gaps,
    Trouble::Loss,
    Trouble::AckLoss,
    Trouble::Reordering,
    Trouble::Move(Protocol::CellularIp),
    Trouble::Move(Protocol::Semisoft),
    Trouble::Move(Protocol::MobileIp),
    Trouble::Move(Protocol::Lte),
    Trouble::Move(Protocol::Nr),
    Trouble::Move(Protocol::NrDual),
    Trouble::Move(Protocol::NrByCore),
    Trouble::Move(Protocol::NrConditional),
    Trouble::Move(Protocol::NrByUnits),
    Trouble::Move(Protocol::NrFailing),
];

/// The queue of the path.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Queue {
    DropTail,
    /// RED that marks everything above a step of one product. RFC 8257 §3.1 asks for a sixth of it at least.
    Step,
    /// RED between one product and three.
    Red,
    Codel,
    FqCodel,
    Pie,
    DualPi2,
}

pub const AQMS: &[Queue] = &[Queue::Red, Queue::Codel, Queue::FqCodel, Queue::Pie, Queue::DualPi2];
