//! The laws of a run of TCP, or of QUIC over a path that stays.

use super::DRAW;
use super::draw::{Draw, START, probe_rtt};
use super::table::{Law, Queue, Trouble};
use crate::lab::{results, rows};
use roamlab_world::Table;
use std::collections::HashMap;

/// Laws that are expected to apply less often than that in a run are left out: of 200 draws one in 50 has
/// one.
const RARE: f64 = 1e-4;

/// A sender's variables after a change, times in seconds.
#[derive(Copy, Clone, Debug)]
struct Variables {
    at: f64,
    rto: f64,
    srtt: f64,
    una: u32,
}

/// Measures of a run; times in seconds.
struct Seen {
    /// New data: when, bytes on the wire, and the segment.
    arrivals: Vec<(f64, f64, u32)>,
    /// Segments that left the sender, with their times.
    sends: Vec<(f64, u32)>,
    variables: Vec<Variables>,
    timeouts: Vec<f64>,
    /// Losses that were found, and probes.
    found: Vec<f64>,
    probes: Vec<f64>,
}

fn seconds(word: &str) -> f64 {
    word.parse::<f64>().unwrap() / 1e9
}

fn number(word: &str) -> u32 {
    word.parse().unwrap()
}

impl Seen {
    fn of(tables: &[Table]) -> Seen {
        let fresh = rows(tables, "deliveries", ["time_ns", "fresh", "bytes", "seq"]);
        let packets = rows(tables, "packets", ["time_ns", "event", "place", "number"]);
        let sent = packets.iter().filter(|row| row[1] == "send" && row[2] == "a");
        let facts = rows(tables, "tcp", ["time_ns", "event"]);
        let times = |kinds: &[&str]| {
            let facts = facts.iter().filter(|row| kinds.contains(&row[1].as_str()));
            facts.map(|row| seconds(&row[0])).collect::<Vec<f64>>()
        };
        let variables = rows(tables, "variables", ["time_ns", "rto_ns", "srtt_ns", "una"]);
        Seen {
            arrivals: fresh
                .iter()
                .filter(|row| row[1] == "true")
                .map(|row| (seconds(&row[0]), row[2].parse().unwrap(), number(&row[3])))
                .collect(),
            sends: sent.map(|row| (seconds(&row[0]), number(&row[3]))).collect(),
            variables: variables
                .iter()
                .map(|row| Variables {
                    at: seconds(&row[0]),
                    rto: seconds(&row[1]),
                    srtt: seconds(&row[2]),
                    una: number(&row[3]),
                })
                .collect(),
            timeouts: times(&["timeout", "persistent-congestion"]),
            found: times(&["timeout", "fast-retransmit", "rack-mark"]),
            probes: times(&["tail-loss-probe"]),
        }
    }

    /// The part of the path that new data took.
    fn share(&self, draw: &Draw, from: f64, until: f64) -> f64 {
        let within = self.arrivals.iter().filter(|row| (from..until).contains(&row.0));
        within.map(|row| row.1).sum::<f64>() * 8.0 / draw.rate / (until - from)
    }

    /// The variables in force at this time.
    fn at(&self, time: f64) -> Option<Variables> {
        let rows = self.variables.partition_point(|row| row.at <= time);
        rows.checked_sub(1).map(|row| self.variables[row])
    }

    /// When this segment was sent last, by this time.
    fn sent(&self, segment: u32, time: f64) -> f64 {
        let sent = &self.sends[..self.sends.partition_point(|row| row.0 <= time)];
        sent.iter().rev().find(|row| row.1 == segment).map_or(time, |row| row.0)
    }

    /// When the timer expires that this time waits for: one that has expired before, for a repair that was lost as well (RFC 6298
    /// §5.5). `None`: there is none.
    fn waits(&self, time: f64) -> Option<f64> {
        let timeout = *self.timeouts.iter().rev().find(|&&at| at <= time)?;
        let (then, now) = (self.at(timeout)?, self.at(time)?);
        (then.una == now.una).then_some(timeout + then.rto)
    }

    /// Seconds of a span that timeouts take of it.
    ///
    /// The loss of all ACKs of a window is found by the timer alone, as that of data. Behind it half of the path is back within
    /// the time of the law of timeouts.
    ///
    /// CUBIC grows by half of its window in a round trip that is longer than half of its K. So the repairs find a full queue
    /// too, and a lost one is found two round trips behind, when the timer expires (RFC 6298 §5.3). The window is cut three
    /// times. Where it is paced, by a smoothed round-trip time of the full queue, it uses a third of the path. That lasts
    /// two round trips, until the smoothed time has followed.
    fn idle(&self, draw: &Draw, from: f64, until: f64) -> f64 {
        let within = self.timeouts.iter().filter(|&&at| from < at + draw.takes() && at < until);
        if draw.row.control == "cubic" && draw.is_paced() && draw.plateau() < 2.0 * draw.longest_rtt() {
            return within.count() as f64 * 2.0 / 3.0 * 2.0 * draw.longest_rtt();
        }
        if draw.trouble != Trouble::AckLoss || draw.silent_windows() <= RARE {
            return 0.0;
        }
        within.map(|&at| self.at(at - 1e-9).map_or(1.0, |row| row.rto) + draw.takes() / 2.0).sum()
    }

    /// One above the highest segment sent by this time.
    fn highest(&self, time: f64) -> u32 {
        let sent = self.sends.partition_point(|row| row.0 <= time);
        self.sends[..sent].iter().map(|row| row.1 + 1).max().unwrap_or(0)
    }
}

/// Laws that a run breaks.
pub fn broken(draw: &Draw) -> Vec<String> {
    let tables = results(&draw.text(), DRAW);
    let seen = Seen::of(&tables);
    let mut broken = Vec::new();
    conservation(draw, &tables, &mut broken);
    if draw.row.transport == "tcp" {
        silences(draw, &seen, &mut broken);
    }
    if draw.profile.starts_with("ns2") && is_echoed_to_nothing(&tables) {
        return broken;
    }
    match draw.trouble {
        Trouble::Loss | Trouble::Reordering => by_loss(draw, &seen, &mut broken),
        // A series of timeouts is as long as ACKs are lost by chance.
        Trouble::AckLoss if draw.silent_windows() > RARE => full(draw, &seen, &mut broken),
        _ => {
            full(draw, &seen, &mut broken);
            timeouts(draw, &seen, &mut broken);
        }
    }
    broken
}

/// In ns-2 an echo behind a timeout halves a window of one segment to nothing, and one more doubles the timer (`ecn_backoff_`), which
/// is what sends. Echoes last until a new segment carries CWR; repairs carry none before 2009 (`SetCWRonRetransmit_`). So
/// only the laws of the timer and of conservation are left.
fn is_echoed_to_nothing(tables: &[Table]) -> bool {
    let facts = rows(tables, "tcp", ["event", "cwnd"]);
    facts.iter().any(|[event, cwnd]| event == "ecn-reduction" && cwnd.parse::<f64>().unwrap() < 1.0)
}

/// Each packet of data is delivered or dropped, once, or on its way. Copies of a mobility protocol have its segment and time.
fn conservation(draw: &Draw, tables: &[Table], broken: &mut Vec<String>) {
    let packets = rows(tables, "packets", ["event", "place", "kind", "time_ns", "number"]);
    let data: Vec<_> =
        packets.into_iter().filter(|row| row[0] == "send" && row[1] == "a" && row[2] == "data").collect();
    let delivered = rows(tables, "deliveries", ["sent_ns", "seq", "fresh"]);
    let dropped = rows(tables, "drops", ["sent_ns", "seq", "data", "reason"]).into_iter();
    let dropped: Vec<_> = dropped
        .filter(|row| row[2] == "true" && !["copy-released", "duplicate"].contains(&row[3].as_str()))
        .collect();
    let mut ends: HashMap<(&str, &str), u32> = HashMap::new();
    let ended = delivered.iter().map(|row| (&row[0], &row[1]));
    let lost = dropped.iter().map(|row| (&row[0], &row[1]));
    for (sent, seq) in ended.chain(lost) {
        *ends.entry((sent, seq)).or_default() += 1;
    }
    let mut sent: HashMap<(&str, &str), u32> = HashMap::new();
    for [_, _, _, time, number] in &data {
        *sent.entry((time, number)).or_default() += 1;
    }
    let moves = matches!(draw.trouble, Trouble::Move(_));
    let way = draw.longest_rtt() + draw.late + if moves { 2.0 } else { 0.0 };
    let way = if draw.queue == Queue::DropTail { way } else { way + 1.0 };
    for (key @ (time, number), &times) in &sent {
        let count = ends.get(key).copied().unwrap_or(0);
        let may_travel = seconds(time) + way >= draw.duration;
        if count < times && !may_travel || count > times && !moves {
            broken.push(format!("segment {number} was sent {times} times at {time} ns and has {count} ends"));
        }
    }
    for end in ends.keys().filter(|end| !sent.contains_key(*end)) {
        broken.push(format!("segment {} with the time {} ns was never sent", end.1, end.0));
    }
    let totals = rows(
        tables,
        "flows",
        ["sent_pkts", "delivered_pkts", "duplicate_pkts", "dropped_pkts", "dropped_ack_pkts"],
    );
    let total = |column: usize| totals[0][column].parse::<usize>().unwrap();
    let fresh = delivered.iter().filter(|row| row[2] == "true").count();
    let counted = [data.len(), fresh, delivered.len() - fresh, dropped.len()];
    if counted != [total(0), total(1), total(2), total(3) - total(4)] {
        broken.push(format!("the tables count {counted:?}, the totals {totals:?}"));
    }
}

/// No silence is longer than the timer in force, up to the end of the run.
fn silences(draw: &Draw, seen: &Seen, broken: &mut Vec<String>) {
    let linux = draw.profile == "linux-6";
    let ns2_fack = draw.profile.starts_with("ns2") && draw.recovery == "fack";
    let paced = draw.is_paced() || ["bbr", "bbr3", "prague"].contains(&draw.row.control);
    let ends = seen.sends.iter().map(|row| row.0).chain([draw.duration]);
    let starts = seen.sends.iter().map(|row| row.0);
    let mut highest = 0;
    for ((last, next), segment) in starts.zip(ends.skip(1)).zip(seen.sends.iter().map(|row| row.1)) {
        highest = highest.max(segment + 1);
        if next - last < 0.05 {
            continue;
        }
        // RFC 6298 §5.3: an ACK of new data restarts the timer. In Linux one that reports what was sent before the latest
        // transmission of the first segment does, too (`tcp_clean_rtx_queue`), and in ns-2's FACK each that is measured.
        let before = seen.at(last);
        let mut una = before.map_or(0, |row| row.una);
        let mut from = last;
        for row in seen.variables.iter().filter(|row| last < row.at && row.at < next) {
            if row.una > una || linux || ns2_fack {
                (from, una) = (row.at, row.una);
            }
        }
        let Some(state) = seen.at(from) else {
            let initial = if draw.profile == "rfc" || linux { 1.0 } else { 6.0 };
            if next - from > initial + 0.07 {
                broken.push(format!("silent from {from:.3} to {next:.3} s before any variable"));
            }
            continue;
        };
        let pace = if paced { 2.0 * state.srtt.max(0.001) } else { 0.0 };
        // A timer of Linux is late by up to an eighth, and a tick.
        let late = |timer: f64| if linux { timer * 1.125 + 0.002 } else { timer + 1e-6 };
        // The timer runs by the RTO of its start. In Linux later ACKs may lower that, and start no timer.
        let started = if linux { seen.sent(state.una, from) } else { from };
        let running = seen.variables.iter().filter(|row| started <= row.at && row.at <= from);
        let running = running.filter(|row| row.una == state.una);
        let left = running.map(|row| row.at + late(row.rto) - from).fold(late(state.rto), f64::max);
        let mut timer = left + pace;
        let mut name = "retransmission";
        if draw.probes() && state.srtt > 0.0 {
            let alone = highest - state.una <= 1;
            let probe = late(2.0 * state.srtt + if alone { 0.2 } else { 0.002 }) + pace;
            if seen.is_open(state.una, from, next) {
                if probe < timer {
                    (timer, name) = (probe, "probe");
                }
            } else if !linux && from > last && seen.is_probed(state.una, from) {
                // While a probe is in flight no other is sent when it is due, and the timer starts then (RFC 8985 §7.3).
                timer += probe;
            }
        }
        if next - from > timer {
            broken.push(format!(
                "silent from {from:.3} ({last:.3}) to {next:.3} s, the {name} timer is {timer:.3} s"
            ));
        }
    }
}

impl Seen {
    /// One above the highest segment that had been sent at the last of these times, up to `last`.
    fn latest(&self, times: &[f64], last: f64) -> u32 {
        let count = times.partition_point(|&time| time <= last);
        count.checked_sub(1).map_or(0, |index| self.highest(times[index]))
    }

    /// A probe is under way of what is not below `una`.
    fn is_probed(&self, una: u32, last: f64) -> bool {
        self.latest(&self.probes, last) > una
    }

    /// Nothing is being repaired, and no probe is under way: every loss that was found, and each probe, is of segments below
    /// `una`, and nothing behind that arrived out of order.
    fn is_open(&self, una: u32, last: f64, next: f64) -> bool {
        let come = &self.arrivals[..self.arrivals.partition_point(|row| row.0 <= next)];
        let behind = come.iter().map(|row| row.2).filter(|&seq| seq >= una);
        self.latest(&self.found, last) <= una
            && !self.is_probed(una, last)
            && (una..).zip(behind).all(|(due, seq)| due == seq)
    }
}

/// Goodput is that of the path behind the start, and behind each gap.
fn full(draw: &Draw, seen: &Seen, broken: &mut Vec<String>) {
    let behind = draw.takes();
    let span = (8.0 * draw.longest_rtt()).max(0.5);
    let mut check = |from: f64, until: f64, part: f64, of: &str| {
        if from + span < until {
            let share = seen.share(draw, from, until);
            let idle = seen.idle(draw, from, until) / (until - from);
            let least = part / 0.85 * least(draw, until - from) * (1.0 - idle).max(0.0);
            if share < least {
                broken.push(format!(
                    "{share:.3} of the path from {from:.2} to {until:.2} s, the law is {least:.3} ({of})"
                ));
            }
        }
    };
    let next = |index: usize| draw.gaps.get(index).map_or(draw.duration, |gap| gap.0);
    let started = START + draw.starts();
    let started = seen.waits(started).map_or(started, |expires| expires + draw.takes());
    let repaired = |expired: f64| started.max(expired + draw.takes() + draw.grows_from_two());
    let started = repairs(draw, seen, started).map_or(started, repaired);
    check(started, next(0), 0.85, "start");
    for (index, &(from, until)) in draw.gaps.iter().enumerate() {
        let timer = wait(seen, from, until);
        let again = until + timer + behind;
        check(again, next(index + 1), 0.5, "gap");
        let (begins, grown) = (again + behind, again + behind + draw.grows());
        check(begins, grown.min(next(index + 1)), 0.85 * draw.while_growing(), "gap, growing");
        check(grown, next(index + 1), 0.85, "gap, grown");
    }
}

/// The last timer of the losses with which slow start ends, if NewReno or ns-2's Tahoe repairs them: `None`, there is none.
///
/// A recovery repairs a loss in a round trip, and the timer runs from its first partial ACK (RFC 6582 §4, impatient).
/// What it sends meanwhile is lost as well while the queue is full: such losses are behind the recovery point, and take
/// another recovery. If they are more than the window, nothing is sent that could bring a duplicate ACK, and the
/// timer repairs them (§3.2, step 3; ns-2 sends no more than the window allows either).
fn repairs(draw: &Draw, seen: &Seen, started: f64) -> Option<f64> {
    let first = *seen.found.first()?;
    let timer = (2.0 * draw.longest_rtt()).max(1.0) + draw.longest_rtt();
    let latest = (first + 3.0 * timer).max(started + timer);
    let within = |at: &&f64| first < **at && **at < latest;
    let waits = draw.recovery == "newreno" || draw.grows_from_two() > 0.0;
    seen.timeouts.iter().rev().find(within).copied().filter(|_| waits)
}

/// The longest timer that was in force in a gap: the wait for the first packet behind it.
fn wait(seen: &Seen, from: f64, until: f64) -> f64 {
    let within = seen.variables.iter().filter(|row| (from..until).contains(&row.at)).map(|row| row.rto);
    within.chain(seen.at(until).map(|row| row.rto)).fold(0.2, f64::max)
}

/// The least share of the path in this number of seconds.
fn least(draw: &Draw, span: f64) -> f64 {
    let product = draw.product().max(2.0);
    match draw.row.law {
        Law::SlowStarts(_) => {
            // From half of twice the product to all of it: a round trip for each segment, or CUBIC's K.
            let rounds = match draw.row.control {
                "cubic" => (draw.grows() / draw.longest_rtt()).min(product),
                _ => product,
            };
            let cycle = 1.5 * rounds * product;
            // The span may be less than a cycle, and has one slow start nevertheless. The repair finds a full
            // queue, and if it is lost as well it is left to the timer (RFC 6298 §2.4: 1 s at least).
            let idle = 1.0 + 2.0 * draw.longest_rtt() + draw.doublings() * draw.rtt;
            let most = (1.0 - idle / span).max(0.0);
            draw.least() * (cycle / (cycle + (2.0 + libm::log2(product)) * product)).min(most)
        }
        Law::TwoSegments(_) => {
            let round = draw.longest_rtt() + draw.ack_delay;
            (2.0 * draw.wire() * 8.0 / round / draw.rate).min(0.85)
        }
        _ if draw.recovery == "reno" || draw.is_impatient() => {
            // Fall & Floyd 1996 §3: of several losses in a window Reno's recovery repairs one, and the timer the others. Between two
            // losses the window grows by a product, a segment in a round trip, or CUBIC's K passes. The span
            // may be less than that, and has one timer (RFC 6298 §2: 1 s at least, and above the round trip)
            // nevertheless, and the slow start behind it.
            let idle = (2.0 * draw.longest_rtt()).max(1.0) + draw.doublings() * draw.rtt;
            let growth = match draw.row.control {
                "cubic" => draw.plateau(),
                _ => product * draw.longest_rtt(),
            };
            draw.least() * (growth / (growth + idle)).min((1.0 - idle / span).max(0.0))
        }
        _ if draw.row.control.starts_with("bbr") => {
            let round = draw.rtt + 2.0 * draw.wire() * 8.0 / draw.rate;
            let cost = probe_rtt(draw.row.control, draw.product(), round, draw.ack_delay);
            draw.least() * (1.0 - cost / span).max(0.0)
        }
        _ if draw.row.control == "vegas" && draw.profile == "rfc" && draw.delays_each_ack() => {
            // Only the ACK of a repair does not wait, and is Vegas' base. So the wait of the others counts as a queue, which keeps
            // the window from where it makes half a segment (Brakmo & Peterson 1995 §3.2, α = 1, rounded).
            let sent = (draw.wire() + draw.header) * 8.0 / draw.rate;
            let round = draw.rtt + sent + draw.ack_delay;
            let window = (0.5 * round / draw.ack_delay).ceil();
            draw.least().min(window * draw.wire() * 8.0 / round / draw.rate)
        }
        _ if draw.queue == Queue::Step && !draw.row.by_marks => draw.least() * marked(draw),
        _ => draw.least(),
    }
}

/// The part of the path that a window takes if marks above a step cut it twice in a row. What is sent in the round trip of the
/// first cut finds the queue above the step, and is of the next window of data (RFC 3168 §6.1.2). Then the window grows by a
/// segment in a round trip. An odd segment waits for its delayed ACK: in Linux 40 ms.
fn marked(draw: &Draw) -> f64 {
    let packet = draw.wire() * 8.0 / draw.rate;
    let delay = if draw.profile == "linux-6" { 0.04 } else { draw.ack_delay };
    let most = 2.0 + draw.product() + draw.product().max(5.0);
    let (mut lost, mut cycle) = (0.0, 0.0);
    let mut window = (most * draw.row.beta * draw.row.beta).floor().max(1.0);
    while window <= most {
        let round = draw.rtt + packet + if window % 2.0 == 1.0 { delay } else { 0.0 };
        lost += (round - window * packet).max(0.0);
        cycle += round.max(window * packet);
        window += 1.0;
    }
    1.0 - lost / cycle
}

/// Behind the last timeout of a series goodput is half of the path again, and a series is not longer than that takes.
fn timeouts(draw: &Draw, seen: &Seen, broken: &mut Vec<String>) {
    let behind = draw.takes() + draw.grows_from_two() / 2.0;
    let span = (4.0 * draw.longest_rtt()).max(0.5);
    let is_of_gap = |at: f64| {
        let of = |&(from, until): &(f64, f64)| {
            at + behind + span > from && at < until + wait(seen, from, until) + behind
        };
        draw.gaps.iter().any(of)
    };
    let half = 0.5 * least(draw, f64::INFINITY) / 0.85;
    let all: Vec<f64> = seen.timeouts.iter().copied().filter(|&at| !is_of_gap(at)).collect();
    let mut first = None;
    for (index, &at) in all.iter().enumerate() {
        let begun = *first.get_or_insert(at);
        // It continues until goodput is half of the path between two.
        if all
            .get(index + 1)
            .is_some_and(|&next| next < at + behind + span && seen.share(draw, at, next) < half)
        {
            continue;
        }
        first = None;
        if at - begun > behind {
            broken.push(format!("timeouts from {begun:.3} to {at:.3} s, {behind:.2} s are allowed"));
        }
        let (from, until) = (at + behind, at + behind + span);
        let is_last = all.get(index + 1).is_none_or(|&next| next > until);
        if until < draw.duration && is_last {
            let share = seen.share(draw, from, until);
            if share < half {
                broken.push(format!(
                    "{share:.3} of the path from {from:.2} to {until:.2} s, timeout at {at:.3} s"
                ));
            }
        }
    }
}

/// With random loss a third of the algorithm's law.
fn by_loss(draw: &Draw, seen: &Seen, broken: &mut Vec<String>) {
    let from = START + draw.starts();
    let (share, law) = (seen.share(draw, from, draw.duration), published(draw));
    if share < law / 3.0 {
        broken.push(format!("{share:.3} of the path, the law is {law:.3}"));
    }
}

/// The part of the path that the algorithm's authors give it at random loss.
fn published(draw: &Draw) -> f64 {
    let p = draw.loss;
    let rtt = draw.rtt;
    // Padhye et al. 1998, equation 30, for an ACK of each segment: Mathis' term, and that of the timeouts.
    let timer = if draw.profile == "linux-6" { rtt + 0.2 } else { (rtt * 2.0).max(1.0) };
    let timeouts = timer * (3.0 * (3.0 * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    let rate = |window: f64| rtt / (rtt / window + timeouts);
    let reno = rate((1.5 / p).sqrt());
    // RFC 9438 §5.1, with the Reno-friendly region below it.
    let cubic = rate(1.054 * libm::pow(rtt / p, 0.75));
    let window = match draw.row.control {
        "bbr" => f64::INFINITY,               // Cardwell et al. 2016, figure 8
        "bbr3" if p < 0.015 => f64::INFINITY, // below its threshold of 2 % (draft-ietf-ccwg-bbr-06 §2.7)
        "cubic" => cubic.max(reno),
        _ => reno,
    };
    let share = (window / draw.product()).min(1.0 - p);
    match draw.row.law {
        Law::TwoSegments(_) => share.min(least(draw, f64::INFINITY)),
        _ if draw.queue == Queue::Step => share.min(0.85),
        _ => share,
    }
}

impl Draw {
    /// True if its pacing is chosen, at a rate of the window in a smoothed round-trip time.
    fn is_paced(&self) -> bool {
        self.fields.iter().any(|field| field == "pacing = true")
    }

    /// True if a tail loss probe is sent.
    fn probes(&self) -> bool {
        self.recovery == "rack" && !self.rules.iter().any(|rule| rule == "tail_loss_probe = false")
    }
}
