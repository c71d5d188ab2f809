//! Laws for QUIC whose other end moves: a download over two cells, with every congestion control and policy of a
//! migration, at random rates, delays, queues and gaps.

use super::DRAW;
use super::draw::probe_rtt;
use crate::lab::{results, rows};
use roamlab_engine::Rng;

/// Draws of `make test`; `ROAMLAB_COMBINATIONS` has another number.
const DRAWS: u64 = 28;
/// Bytes of a full packet on the wire, and times in seconds.
const WIRE: f64 = 1228.0;
const MAX_ACK_DELAY: f64 = 0.025;
const INITIAL_PTO: f64 = 1.024;
const END: f64 = 24.0;
const MOVE: f64 = 8.0;

const CONTROLS: &[&str] = &["reno", "cubic", "bbr", "bbr3"];
const MIGRATIONS: &[&str] = &["", "rfc", "quinn", "per-path", "msquic", "quic-go", "keep", "careful-resume"];

/// A drawn run.
#[derive(Clone, Debug)]
struct Moving {
    control: &'static str,
    migration: &'static str,
    /// Bits per second of each cell.
    rate: f64,
    /// One-way delay of the wires, in seconds.
    delay: f64,
    queue: f64,
    gap: f64,
}

impl Moving {
    fn new(number: u64) -> Moving {
        let mut rng = Rng::named(2, number, "quic with moves");
        let mut between = |least: f64, most: f64| least * libm::pow(most / least, rng.uniform());
        let (packets, rtt) = (between(6.0, 120.0), between(0.02, 0.15));
        let rate = (packets * WIRE * 8.0 / rtt).clamp(4e5, 1e7).round();
        let queue = (rate * rtt / 8.0 / WIRE * between(1.0, 3.0)).ceil().max(10.0);
        let gap = between(0.02, 1.5);
        let control = CONTROLS[number as usize % CONTROLS.len()];
        let migration = MIGRATIONS[number as usize / CONTROLS.len() % MIGRATIONS.len()];
        // RFC 9959 has no rules for a model.
        let resumes = migration == "careful-resume" && control.starts_with("bbr");
        let migration = if resumes { "rfc" } else { migration };
        Moving { control, migration, rate, delay: rtt / 2.0, queue, gap }
    }

    fn text(&self) -> String {
        let cell = |name: &str| {
            format!(
                "[cells.{name}]\nrouter = \"gw\"\nrate = \"{} bit/s\"\ndelay = \"1 ms\"\n\
                 queue = {{ kind = \"droptail\", limit = \"{} pkt\" }}\n\
                 backhaul = {{ rate = \"100 Mbit/s\", delay = \"1 ms\" }}\n",
                self.rate, self.queue
            )
        };
        let migration = match self.migration {
            "" => String::new(),
            policy => format!(", migration = \"{policy}\""),
        };
        format!(
            "[run]\nduration = \"{END} s\"\n[[links]]\nbetween = [\"server\", \"gw\"]\nrate = \"100 Mbit/s\"\n\
             delay = \"{:.6} ms\"\n{}{}[radio]\nkind = \"hard\"\ngap = \"{:.3} ms\"\n[mobility]\n\
             kind = \"cellular-ip\"\nhandoff = \"hard\"\ndomain = {{ gateway = \"gw\" }}\n[[hosts]]\nname = \"phone\"\n\
             home = \"gw\"\nvisits = [{{ cell = \"bs1\", at = \"0 s\" }}, {{ cell = \"bs2\", at = \"{MOVE} s\" }}]\n\
             [[flows]]\nname = \"f\"\npath = [\"server\", \"phone\"]\n\
             transport = {{ kind = \"quic\", congestion_control = \"{}\"{migration} }}\n\
             app = {{ kind = \"ftp\", start = \"0.1 s\" }}\n[record]\nqueues = []\npackets = true\n",
            self.delay * 1e3,
            cell("bs1"),
            cell("bs2"),
            self.gap * 1e3,
            self.control,
        )
    }

    /// The longest round-trip time: that with full queues, the delayed ACK, and some packets in service.
    fn longest_rtt(&self) -> f64 {
        2.0 * (self.delay + 0.002) + (self.queue + 4.0) * WIRE * 8.0 / self.rate + MAX_ACK_DELAY
    }

    fn product(&self) -> f64 {
        self.rate * 2.0 * (self.delay + 0.002) / 8.0 / WIRE
    }

    /// Seconds of the path that a ProbeRTT takes from the flow at most. A span may have one, however short it is.
    fn probe_rtt(&self) -> f64 {
        let rtt = 2.0 * (self.delay + 0.002) + 2.0 * WIRE * 8.0 / self.rate;
        probe_rtt(self.control, self.product(), rtt, MAX_ACK_DELAY)
    }

    /// How long a sender may take behind its start or a timeout, in seconds.
    fn takes(&self) -> f64 {
        ((2.0 * libm::log2(self.product().max(2.0)) + 4.0) * self.longest_rtt()).max(2.0)
    }
}

fn seconds(word: &str) -> f64 {
    word.parse::<f64>().unwrap() / 1e9
}

/// Laws that a run breaks.
fn broken(draw: &Moving) -> Vec<String> {
    let tables = results(&draw.text(), DRAW);
    let packets = rows(&tables, "packets", ["time_ns", "event", "place"]);
    let sends = packets.iter().filter(|row| row[1] == "send" && row[2] == "server");
    let sends: Vec<f64> = sends.map(|row| seconds(&row[0])).collect();
    let fresh = rows(&tables, "deliveries", ["time_ns", "fresh"]);
    let came: Vec<f64> = fresh.iter().map(|row| seconds(&row[0])).collect();
    let mut broken = Vec::new();
    // RFC 9002 §6.2.1: the probe timeout P doubles, so probes go out P, 3 P, 7 P … behind the last ACK. So no
    // silence is longer than the time since the packet that it acknowledges, and P. At most P is 5 samples
    // and the delay; a sample may have waited for the gap. §8.2.4 of RFC 9000: an address that is being
    // validated is challenged each 1.024 s.
    let most = 5.0 * (draw.longest_rtt() + draw.gap) + MAX_ACK_DELAY;
    let least = if draw.migration.is_empty() { 0.0 } else { INITIAL_PTO };
    for pair in sends.windows(2).filter(|pair| pair[1] > 1.0) {
        let known = came[..came.partition_point(|&time| time <= pair[0])].last().copied().unwrap_or(0.1);
        let timer = (pair[0] - known + most).max(least);
        if pair[1] - pair[0] > timer {
            broken.push(format!("silent from {:.3} to {:.3} s, the timer is {timer:.3} s", pair[0], pair[1]));
        }
    }
    let arrivals: Vec<f64> =
        fresh.iter().filter(|row| row[1] == "true").map(|row| seconds(&row[0])).collect();
    let share = |from: f64, until: f64| {
        let count = arrivals.iter().filter(|&&time| (from..until).contains(&time)).count();
        count as f64 * WIRE * 8.0 / draw.rate / (until - from)
    };
    let start = 0.1 + draw.takes().max(4.0);
    if start + 20.0 * draw.longest_rtt() < MOVE {
        let share = share(start, MOVE);
        let least = 0.85 * (1.0 - draw.probe_rtt() / (MOVE - start)).max(0.0);
        if share < least {
            broken
                .push(format!("{share:.3} of the path from {start:.2} s to the move, the law is {least:.3}"));
        }
    }
    // The last probe of the gap is followed by one after as long as the gap and P; the new path is known then.
    let back = MOVE + draw.gap + (draw.gap + most).max(least) + draw.takes();
    for (least, from) in [(0.5, back), (0.85, back + draw.takes())] {
        if from + 4.0 * draw.longest_rtt() < END {
            let share = share(from, END);
            let least = least * (1.0 - draw.probe_rtt() / (END - from)).max(0.0);
            if share < least {
                broken.push(format!("{share:.3} of the path behind {from:.2} s, the law is {least:.3}"));
            }
        }
    }
    broken
}

#[test]
fn laws_hold_for_quic_that_moves() {
    super::hold(DRAWS, Moving::new, broken);
}
