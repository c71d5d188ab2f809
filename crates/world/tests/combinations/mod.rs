//! Laws for every combination of congestion control, recovery, profile, ECN and pacing, over TCP and QUIC, and the cases
//! that showed them to be needed.
//!
//! With data to send, a window and a queue of at least the path's product, an open path and no random loss, goodput behind
//! the start is at least 85 % of the path. Behind a timeout it is half of it within max(2 s, 2 log2(product) + 4 round
//! trips). No silence is longer than the timer says. With random loss goodput is at least a third of the algorithm's law.

mod cases;
mod quic;
mod table;

use crate::lab::{results, rows};
use roamlab_world::{Replication, Table};
use table::{Draw, Law, START, WIRE};

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };
/// Draws of `make test`; `ROAMLAB_COMBINATIONS` has another number.
const DRAWS: u64 = 60;

/// Times in seconds of what a run did.
struct Seen {
    arrivals: Vec<f64>,
    sends: Vec<f64>,
    /// Timeouts, with the RTO from then on.
    timeouts: Vec<(f64, f64)>,
}

impl Seen {
    fn of(tables: &[Table]) -> Seen {
        let seconds = |word: &String| word.parse::<f64>().unwrap() / 1e9;
        let fresh = rows(tables, "deliveries", ["time_ns", "fresh"]);
        let packets = rows(tables, "packets", ["time_ns", "event", "place"]);
        let facts = rows(tables, "tcp", ["time_ns", "event", "rto_ns"]);
        Seen {
            arrivals: fresh.iter().filter(|row| row[1] == "true").map(|row| seconds(&row[0])).collect(),
            sends: packets
                .iter()
                .filter(|row| row[1] == "send" && row[2] == "a")
                .map(|row| seconds(&row[0]))
                .collect(),
            timeouts: facts
                .iter()
                .filter(|row| row[1] == "timeout")
                .map(|row| (seconds(&row[0]), seconds(&row[2])))
                .collect(),
        }
    }

    /// The part of the path that new data took.
    fn share(&self, draw: &Draw, from: f64, until: f64) -> f64 {
        let count = self.arrivals.iter().filter(|&&time| (from..until).contains(&time)).count();
        count as f64 * WIRE * 8.0 / draw.rate / (until - from)
    }
}

/// What a run breaks.
fn broken(draw: &Draw) -> Vec<String> {
    let seen = Seen::of(&results(&draw.text(), DRAW));
    let (rtt, end) = (draw.longest_rtt(), table::DURATION);
    let mut broken = Vec::new();
    let mut holds = |law: bool, text: String| {
        if !law {
            broken.push(text);
        }
    };
    let behind = draw.takes();
    if draw.row.transport == "tcp" {
        let ends = seen.sends.windows(2).map(|pair| (pair[0], pair[1])).filter(|pair| pair.1 > START + 1.0);
        for (last, next) in ends {
            let expired = seen.timeouts.iter().rev().find(|timeout| timeout.0 <= next + 1e-9);
            let timer = expired.map_or(1.0, |timeout| timeout.1 / 2.0).max(1.0);
            let text = format!("silent from {last:.3} to {next:.3} s, the timer says {timer:.3} s");
            holds(next - last <= timer + 2.0 * rtt, text);
        }
    }
    if let Law::TimerOnly(_) = draw.row.law {
        return broken;
    }
    let is_disturbed = |from: f64, until: f64| {
        draw.gaps.iter().any(|gap| gap.0 < until && gap.1 > from)
            || seen.timeouts.iter().any(|timeout| from < timeout.0 && timeout.0 < until)
    };
    let start = START + behind.max(4.0);
    if draw.loss == 0.0 && draw.gaps.is_empty() && start + 20.0 * rtt < end {
        let share = seen.share(draw, start, end);
        holds(share >= 0.85, format!("{share:.3} of the path behind {start:.2} s"));
    }
    if draw.loss > 0.0 && START + behind + 5.0 < end {
        let law = published(draw);
        let share = seen.share(draw, START + behind, end);
        holds(share >= law / 3.0, format!("{share:.3} of the path, the law is {law:.3}"));
    } else if draw.loss == 0.0 {
        for &(at, _) in &seen.timeouts {
            // A timeout in a gap is followed by others; the path has to be open for a round trip before it.
            let (from, until) = (at + behind, at + behind + (4.0 * rtt).max(0.5));
            if until < end && !is_disturbed(at, until) {
                let share = seen.share(draw, from, until);
                holds(
                    share >= 0.5,
                    format!("{share:.3} of the path from {from:.2} to {until:.2} s, timeout at {at:.3} s"),
                );
            }
        }
    }
    broken
}

/// The part of the path that the algorithm's authors give it at random loss.
fn published(draw: &Draw) -> f64 {
    let (p, rtt) = (draw.loss, draw.rtt);
    // Mathis et al. 1997; RFC 9438 §5.1 figure, with the Reno-friendly region below it.
    let reno = 1.22 / p.sqrt();
    let cubic = 1.054 * libm::pow(rtt / p, 0.75);
    let window = match draw.row.control {
        "bbr" | "bbr3" => f64::INFINITY, // Cardwell et al. 2016, figure 8; BBRv3: below its threshold of 2 %
        "cubic" => cubic.max(reno),
        _ => reno,
    };
    (window / draw.product()).min(1.0 - p)
}

#[expect(clippy::disallowed_methods, reason = "how many draws are tried is no input of a run")]
fn draws() -> u64 {
    std::env::var("ROAMLAB_COMBINATIONS").map_or(DRAWS, |count| count.parse().unwrap())
}

#[test]
fn laws_hold_in_random_combinations() {
    let mut failures = Vec::new();
    for number in 0..draws() {
        let draw = Draw::new(number);
        let broken = broken(&draw);
        if !broken.is_empty() {
            failures.push(format!("draw {number}: {broken:?}\n{draw:?}\n"));
        }
    }
    assert!(failures.is_empty(), "{} of {} draws:\n{}", failures.len(), draws(), failures.join("\n"));
}
