//! Ties: what is due at one time, which rounding errors put in some order.
//!
//! ACK-clocked packets arrive at a bottleneck at the spacing in which they left it, so that one arrives
//! exactly when the transmission of another ends. Ours then takes the event that was due first; ns-2's clock
//! is a double, and the sums of times that it compares differ in their last digits. The arrival finds one
//! packet more or less. RED has a tie of the same kind with the end of a packet that was not there: it counts
//! how many could have been sent while the link was idle.

use super::golden::own_folder;
use std::collections::BTreeMap;

/// Packets that arrived at a queue and that left it for the link: nanoseconds and bytes.
#[derive(Default, Clone, Debug)]
pub struct Traffic {
    pub arrivals: Vec<(f64, u64)>,
    pub departures: Vec<(f64, u64)>,
}

/// Events due at the same time as an arrival.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Tie {
    /// The end of a transmission.
    pub end: bool,
    /// After an idle period, the end of a mean packet that might have been sent in it.
    pub idle: bool,
    /// The next arrival.
    pub next: bool,
}

impl Tie {
    /// The ties in both.
    pub fn and(self, other: Tie) -> Tie {
        Tie { end: self.end && other.end, idle: self.idle && other.idle, next: self.next && other.next }
    }

    fn of(kind: usize) -> Tie {
        Tie { end: kind == 0, idle: kind == 1, next: kind == 2 }
    }
}

/// Nanoseconds within which two times are one.
const SAME: f64 = 1.0;

impl Traffic {
    /// The tie of each arrival. `rate`: bits per second; `mean`: bytes of RED's mean packet.
    pub fn ties(&self, rate: f64, mean: Option<u64>) -> Vec<Tie> {
        let ends: Vec<f64> =
            self.departures.iter().map(|(at, size)| at + 8e9 * *size as f64 / rate).collect();
        let tie = |(arrival, &(at, _)): (usize, &(f64, u64))| {
            let later = ends.partition_point(|end| *end < at - SAME);
            // Busy, if the transmission that ends next began before.
            let busy = self.departures.get(later).is_some_and(|(begun, _)| *begun < at - SAME);
            let whole = |since: &f64| {
                let packets = mean.map_or(0.0, |mean| (at - since) * rate / (8e9 * mean as f64));
                packets > 0.5
                    && (packets - packets.round()).abs() * 8e9 * mean.unwrap_or(0) as f64 / rate <= SAME
            };
            Tie {
                end: ends.get(later).is_some_and(|end| *end <= at + SAME),
                idle: !busy && ends[..later].last().is_some_and(whole),
                next: self.arrivals.get(arrival + 1).is_some_and(|(next, _)| *next <= at + SAME),
            }
        };
        self.arrivals.iter().enumerate().map(tie).collect()
    }
}

/// For each run what is a tie in ns-2: a line of its name and, for each kind, the numbers of arrivals in steps. A step is how many arrivals later than the one before; `3*5` is a step of 3,
/// five times.
pub type Known = BTreeMap<String, Vec<Tie>>;

/// The ties that are kept with the recordings.
#[expect(clippy::disallowed_methods, reason = "a test may read its data")]
pub fn known() -> Known {
    let path = own_folder().join("ties.txt");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(read).collect()
}

fn read(line: &str) -> (String, Vec<Tie>) {
    let mut fields = line.split(';');
    let name = fields.next().expect("a name").to_owned();
    let mut ties = Vec::new();
    for (kind, steps) in fields.enumerate() {
        let mut arrival = 0;
        for step in steps.split_whitespace() {
            let (step, times) = step.split_once('*').unwrap_or((step, "1"));
            for _ in 0..times.parse::<usize>().expect("a count") {
                arrival += step.parse::<usize>().expect("a step");
                ties.resize(ties.len().max(arrival + 1), Tie::default());
                let (before, this) = (ties[arrival], Tie::of(kind));
                ties[arrival] = Tie {
                    end: before.end || this.end,
                    idle: before.idle || this.idle,
                    next: before.next || this.next,
                };
            }
        }
    }
    (name, ties)
}

/// The line that [`read`] reads.
fn write(name: &str, ties: &[Tie]) -> String {
    let mut line = name.to_owned();
    for kind in (0..3).map(Tie::of) {
        line.push(';');
        let arrivals = (0..ties.len()).filter(|&arrival| ties[arrival].and(kind) == kind);
        let mut runs: Vec<(usize, usize)> = Vec::new();
        let mut before = 0;
        for arrival in arrivals {
            let step = arrival - before;
            before = arrival;
            match runs.last_mut() {
                Some((last, times)) if *last == step => *times += 1,
                _ => runs.push((step, 1)),
            }
        }
        let words = runs
            .iter()
            .map(|(step, times)| if *times == 1 { step.to_string() } else { format!("{step}*{times}") });
        line.push_str(&words.collect::<Vec<_>>().join(" "));
    }
    line
}

/// Keeps them.
#[expect(clippy::disallowed_methods, reason = "a recorder writes what it records")]
pub fn keep(known: &Known) {
    let lines: Vec<String> = known.iter().map(|(name, ties)| write(name, ties) + "\n").collect();
    std::fs::write(own_folder().join("ties.txt"), lines.concat()).expect("a folder of the project");
}

#[test]
fn what_is_kept_is_what_is_read() {
    let [end, idle, next] = [0, 1, 2].map(Tie::of);
    let both = Tie { next: true, ..end };
    let ties = [Tie::default(), end, both, Tie::default(), idle, end];
    assert_eq!(write("a run", &ties), "a run;1*2 3;4;2");
    assert_eq!(read("a run;1*2 3;4;2"), ("a run".to_owned(), ties.to_vec()));
    assert_eq!([end.and(both), end.and(next)], [end, Tie::default()]);
}

#[test]
fn what_is_due_within_a_nanosecond_is_a_tie() {
    // 500 bytes at 4 Mbit/s are a millisecond.
    let last = |at: f64, mean: Option<u64>| {
        let traffic = Traffic {
            arrivals: vec![(0.0, 500), (1e6, 500), (1.5e6, 500), (at, 500)],
            departures: vec![(0.0, 500), (1e6, 500), (2e6, 500), (at.max(3e6), 500)],
        };
        traffic.ties(4e6, mean)[1..].to_vec()
    };
    let [end, idle, next] = [0, 1, 2].map(Tie::of);
    let none = Tie::default();
    for (at, mean, last_two) in [
        (9e6, None, [none, none]),
        (3e6, None, [none, end]),
        (3e6 + 0.9, None, [none, end]),
        (3e6 - 0.9, None, [none, end]),
        (3e6 + 1.1, None, [none, none]),
        (5e6, Some(500), [none, idle]),
        (5e6 + 2.0, Some(500), [none, none]),
        (1.5e6 + 0.5, Some(500), [next, none]),
    ] {
        assert_eq!(last(at, mean), [end, last_two[0], last_two[1]], "{at} {mean:?}");
    }
}
