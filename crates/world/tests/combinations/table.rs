//! What can be combined, and random draws of it: a congestion control, recovery, profile, ECN and pacing over a random path.

use roamlab_engine::Rng;
use std::fmt::Write;

/// Bytes of a segment on the wire.
pub const WIRE: f64 = 1488.0;
/// How long a run is, and when a flow begins, in seconds.
pub const DURATION: f64 = 24.0;
pub const START: f64 = 0.1;

/// What a sender is held to.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Law {
    /// All laws.
    All,
    /// Its window grows by a segment in a round trip: it has a product of round trips instead. Why.
    Linear(&'static str),
    /// Its authors' algorithm cannot fulfil the laws of the window: only the timer's law. Why.
    TimerOnly(&'static str),
}

/// A sender that may be drawn.
#[derive(Copy, Clone, Debug)]
pub struct Row {
    pub transport: &'static str,
    pub control: &'static str,
    /// Loss recoveries by the RFCs; the profile of Linux has `rack` alone, QUIC its own.
    pub recoveries: &'static [&'static str],
    /// It goes by marks, and is always run with them.
    pub by_marks: bool,
    pub law: Law,
}

const TAHOE: &str = "each loss begins slow start from one segment, which sends again what the receiver holds";

const MEAN: &str = "the mean round-trip time of a round takes its own bursts and delayed ACKs for a queue; Linux takes the shortest";
const VEGAS: &str = "slow start ends at the first sign of a queue, and then a round trip adds a segment";

const fn tcp(control: &'static str, recoveries: &'static [&'static str]) -> Row {
    Row { transport: "tcp", control, recoveries, by_marks: false, law: Law::All }
}

const fn quic(control: &'static str) -> Row {
    Row { transport: "quic", control, recoveries: &[], by_marks: false, law: Law::All }
}

/// Every sender of today. The profiles of ns-2 are held by recordings of ns-2.
pub const ROWS: &[Row] = &[
    Row { law: Law::TimerOnly(TAHOE), ..tcp("reno", &["tahoe"]) },
    tcp("reno", &["reno", "newreno", "rfc6675", "fack", "rack"]),
    tcp("cubic", &["newreno", "rfc6675", "rack"]),
    Row { law: Law::Linear(VEGAS), ..tcp("vegas", &["vegas", "rfc6675", "rack"]) },
    tcp("bbr", &["rfc6675", "rack"]),
    tcp("bbr3", &["rfc6675", "rack"]),
    Row { by_marks: true, ..tcp("dctcp", &["rfc6675", "rack"]) },
    Row { by_marks: true, ..tcp("prague", &["rack"]) },
    quic("reno"),
    quic("cubic"),
    quic("bbr"),
    quic("bbr3"),
];

/// A drawn run.
#[derive(Clone, Debug)]
pub struct Draw {
    pub row: Row,
    pub recovery: &'static str,
    pub profile: &'static str,
    pub marks: bool,
    pub pacing: bool,
    /// Bits per second, and the round-trip time of the empty path in seconds.
    pub rate: f64,
    pub rtt: f64,
    /// Packets that may wait.
    pub queue: f64,
    pub loss: f64,
    /// From when to when the path is dead.
    pub gaps: Vec<(f64, f64)>,
}

impl Draw {
    /// The draw of this number.
    pub fn new(number: u64) -> Draw {
        let mut rng = Rng::named(1, number, "combinations");
        let mut below = |end: usize| (rng.uniform() * end as f64) as usize;
        let mut row = ROWS[below(ROWS.len())];
        let tcp = row.transport == "tcp";
        let linux = tcp && row.recoveries.contains(&"rack") && below(3) == 0;
        let recovery = match (tcp, linux) {
            (false, _) => "",
            (_, true) => "rack",
            _ => row.recoveries[below(row.recoveries.len())],
        };
        let (marks, pacing) = (row.by_marks || tcp && below(4) == 0, tcp && below(4) == 0);
        let kind = below(4);
        let mut between = |least: f64, most: f64| least * libm::pow(most / least, rng.uniform());
        // Not more than 10 Mbit/s, so that a run is short.
        let (packets, rtt) = (between(6.0, 160.0), between(0.01, 0.2));
        let rate = (packets * WIRE * 8.0 / rtt).clamp(4e5, 1e7).round();
        let product = rate * rtt / 8.0 / WIRE;
        let queue = (product * between(1.0, 3.0)).ceil().max(10.0);
        let loss = if kind == 3 { between(0.001, 0.01) } else { 0.0 };
        let mut gaps = Vec::new();
        if kind == 1 || kind == 2 {
            let mut from = 6.0 + between(0.1, 4.0);
            for _ in 0..kind {
                let until = from + between(0.02, 0.9);
                gaps.push((from, until));
                from = until + 6.0;
            }
        }
        let profile = if linux { "linux-6" } else { "rfc" };
        if row.control == "vegas" && !linux {
            row.law = Law::TimerOnly(MEAN);
        }
        Draw { row, recovery, profile, marks, pacing, rate, rtt, queue, loss, gaps }
    }

    /// Packets of the bandwidth-delay product.
    pub fn product(&self) -> f64 {
        self.rate * self.rtt / 8.0 / WIRE
    }

    /// The longest round-trip time: that with a full queue.
    pub fn longest_rtt(&self) -> f64 {
        self.rtt + (self.queue + 2.0) * WIRE * 8.0 / self.rate
    }

    /// How long a sender may take behind its start or a timeout, in seconds.
    pub fn takes(&self) -> f64 {
        let (rtt, product) = (self.longest_rtt(), self.product().max(2.0));
        let mut rounds = 2.0 * libm::log2(product) + 4.0;
        if let Law::Linear(_) = self.row.law {
            rounds += product;
        }
        let mut least = 2.0;
        if self.marks && self.profile == "rfc" && !self.row.by_marks {
            // RFC 3168 §6.1.2, §6.1.5: an echo goes on until a new segment carries CWR, no repair does, and the window does not
            // grow on an echo. So a segment of the flight is repaired in a round trip, and its ACK is delayed.
            least += (2.0 * self.product() + self.queue) * (self.rtt + 0.1);
        }
        (rounds * rtt).max(least)
    }

    /// The scenario.
    pub fn text(&self) -> String {
        let limit = self.queue;
        // A step at one product: RFC 8257 §3.1 asks for a sixth of it at least.
        let queue = match self.marks {
            false => format!("{{ kind = \"droptail\", limit = \"{limit} pkt\" }}"),
            true => {
                let step = self.product().ceil().max(5.0);
                format!(
                    "{{ kind = \"red\", limit = \"{} pkt\", min_threshold = \"{step} pkt\", max_threshold = \"{} pkt\", max_p = 1.0, \
                     queue_weight = 1.0, mark_ecn = true, use_mark_p = true, mark_p_max = 2.0, gentle = false }}",
                    limit + step,
                    step + 1.0
                )
            }
        };
        let mut changes = String::new();
        for (from, until) in &self.gaps {
            write!(
                changes,
                "{{ at = \"{from:.3} s\", up = false }}, {{ at = \"{until:.3} s\", up = true }}, "
            )
            .unwrap();
        }
        let (control, recovery) = (self.row.control, self.recovery);
        let transport = match self.row.transport {
            "quic" => format!("kind = \"quic\", congestion_control = \"{control}\""),
            _ => {
                let rfc = self.profile == "rfc";
                let without_sack = ["tahoe", "reno", "newreno", "vegas"].contains(&recovery);
                // A variant of Linux has its congestion control as in the kernel.
                let variant = match control {
                    _ if rfc && without_sack => "reno",
                    _ if rfc || control == "reno" => "sack",
                    _ => control,
                };
                let mut fields =
                    format!("kind = \"tcp\", variant = \"{variant}\", recovery = \"{recovery}\"");
                if rfc {
                    write!(fields, ", congestion_control = \"{control}\"").unwrap();
                }
                fields += ", segment = \"1448 B\", window = \"4000 pkt\"";
                if self.marks {
                    fields += ", ecn = true";
                }
                if self.pacing {
                    fields += ", pacing = true";
                }
                fields
            }
        };
        format!(
            "[run]\nduration = \"{DURATION} s\"\nprofile = \"{}\"\n[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"{} bit/s\"\n\
             delay = \"{:.6} ms\"\nqueue = {queue}\nloss = {:.5}\nreverse_loss = 0\nchanges = [{changes}]\n[[flows]]\nname = \"f\"\n\
             path = [\"a\", \"b\"]\ntransport = {{ {transport} }}\napp = {{ kind = \"ftp\", start = \"{START} s\" }}\n\
             [record]\nqueues = []\npackets = true\n",
            self.profile,
            self.rate,
            self.rtt * 500.0,
            self.loss,
        )
    }
}
