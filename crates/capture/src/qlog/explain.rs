//! A connection of a qlog and its stalls in sentences.

use crate::qlog::connection::{Arrival, Connection, Fate, LEAST_NS, Packet, Silence};
use crate::why::cause::{Cause, Kind, Sure, counted, lasting, median};
use crate::why::{Limits, Resends, Spike, Stall, Timeout, Told, Trips};

/// The time behind a silence that is looked at.
const AFTER_NS: i64 = 2_000_000_000;
/// A change of the path is tied to a stall that begins at most so long after it.
const NEAR_NS: i64 = 500_000_000;
/// A tail has at most this number of packets.
const MOST_TAIL: usize = 4;
/// A round trip above the one before by this much is a spike.
const SPIKE_NS: i64 = 100_000_000;
/// Packets within 200 ms before a pause, and within 200 ms behind it, that are a flow.
const LEAST_FLOW: usize = 10;
/// More pauses with no packet missing are the application's.
const MOST_HELD: usize = 4;
/// Spikes that are listed.
const MOST_SPIKES: usize = 3;

/// A connection; `None`: it has no packets. `place`: its vantage point, `usual_ns`: the unit of its round trips.
pub fn told(connection: &Connection, name: &str, place: &str, usual_ns: f64, start_ns: i64) -> Option<Told> {
    let (first, last) = connection.span?;
    if connection.counts == [0, 0] {
        return None;
    }
    let view = View { connection, unit_ns: connection.unit_ns(usual_ns), start_ns };
    let is_sender = connection.sends_data();
    let end = if place.is_empty() || place == "unknown" { "this end" } else { place };
    let title = if name.is_empty() { "QUIC".to_owned() } else { format!("QUIC {name}") };
    let mut told = Told {
        flow: format!("{title}, {} {end}", if is_sender { "data from" } else { "data to" }),
        receiver: if is_sender { "the receiver".into() } else { end.to_owned() },
        start_s: view.seconds(first),
        length_s: (last - first) as f64 / 1e9,
        bytes: connection.bytes[usize::from(!is_sender)],
        goodput_bps: 0.0,
        packets: connection.counts.map(|count| usize::try_from(count).unwrap_or(usize::MAX)),
        place: if is_sender { "qlog of the sender" } else { "qlog of the receiver" },
        share: None,
        trips: view.trips(),
        resends: view.losses(),
        timeouts: Vec::new(),
        reordered: 0,
        policed_bps: None,
        spikes: view.spikes(),
        limits: None,
        aligned: None,
        notes: Vec::new(),
        sentences: Vec::new(),
        stalls: Vec::new(),
        slow: Vec::new(),
    };
    if is_sender {
        let lost: u64 = connection
            .packets
            .iter()
            .filter(|each| each.fate == Fate::Lost)
            .map(|each| u64::from(each.bytes))
            .sum();
        told.bytes = told.bytes.saturating_sub(lost);
        told.limits = Some(view.limits());
        told.timeouts = view.timeouts();
        told.stalls = connection.silences.iter().filter_map(|silence| view.stall(&told, silence)).collect();
        if !connection.has_acks {
            told.notes.push(
                "the log has no acknowledgements: progress is seen by bytes in flight and round trips".into(),
            );
        }
    } else {
        told.stalls = view.arrivals(&told);
        if told.bytes == 0 {
            told.notes.push("the log has no sizes of received packets".into());
        }
    }
    told.goodput_bps = told.bytes as f64 * 8.0 / told.length_s.max(1e-3);
    told.finish();
    Some(told)
}

/// A connection with the unit of its round trips and the begin of the log.
struct View<'c> {
    connection: &'c Connection,
    unit_ns: f64,
    start_ns: i64,
}

/// A silence with what was outstanding in it.
struct Seen {
    outstanding: Vec<Packet>,
    lost: usize,
    needless: usize,
    probes: usize,
    /// Packets that were received within it.
    heard: usize,
}

impl View<'_> {
    fn seconds(&self, time: i64) -> f64 {
        (time - self.start_ns) as f64 / 1e9
    }

    fn trips(&self) -> Option<Trips> {
        let mut rtts: Vec<i64> =
            self.connection.rtts.iter().map(|(_, rtt)| (rtt * self.unit_ns) as i64).collect();
        rtts.sort_unstable();
        let at = |share: usize| {
            rtts.get(rtts.len().saturating_sub(1) * share / 100).map_or(0.0, |rtt| *rtt as f64 / 1e9)
        };
        (!rtts.is_empty()).then(|| Trips {
            base_s: at(0),
            median_s: at(50),
            most_of_s: at(95),
            largest_s: at(100),
        })
    }

    fn losses(&self) -> Resends {
        let count = |fate| self.connection.packets.iter().filter(|each| each.fate == fate).count();
        let needless = count(Fate::Needless);
        Resends {
            packets: count(Fate::Lost) + needless,
            needless,
            probes: self.connection.probes.len(),
            ..Resends::default()
        }
    }

    /// Rises of the round trip, the largest first.
    fn spikes(&self) -> Vec<Spike> {
        let mut found: Vec<Spike> = Vec::new();
        let mut high: Option<Spike> = None;
        let mut before = None;
        for (time, rtt) in &self.connection.rtts {
            let rtt = (rtt * self.unit_ns) as i64;
            match (&mut high, before) {
                (Some(spike), _) if rtt > spike.before_ns + SPIKE_NS => spike.rtt_ns = spike.rtt_ns.max(rtt),
                (None, Some(last)) if rtt > last + SPIKE_NS => {
                    let time_s = self.seconds(*time);
                    high = Some(Spike { time_s, before_ns: last, rtt_ns: rtt, sentence: String::new() });
                }
                (high, _) => found.extend(high.take()),
            }
            before = Some(rtt);
        }
        found.extend(high);
        found.sort_by_key(|spike| std::cmp::Reverse(spike.rtt_ns - spike.before_ns));
        found.truncate(MOST_SPIKES);
        found
    }

    fn limits(&self) -> Limits {
        let spent = self.connection.spent;
        let all = spent.all.max(1e-9);
        let queued = self.trips().is_some_and(|trips| trips.median_s > trips.base_s * 1.15 + 2e-3);
        let window = spent.window / all;
        let rest =
            (1.0 - (spent.application + spent.receiver + spent.recovery + spent.window) / all).max(0.0);
        Limits {
            receiver: spent.receiver / all,
            application: spent.application / all,
            path: if queued { window } else { 0.0 },
            recovery: spent.recovery / all,
            sender: rest + if queued { 0.0 } else { window },
        }
    }

    fn timeouts(&self) -> Vec<Timeout> {
        let sent = |time: i64| {
            let at = self.connection.packets.partition_point(|packet| packet.sent_ns < time);
            at.checked_sub(1)
                .and_then(|at| self.connection.packets.get(at))
                .map_or(time, |packet| packet.sent_ns)
        };
        let all = self.connection.probes.iter();
        all.map(|time| Timeout {
            time_s: self.seconds(*time),
            rto_s: (time - sent(*time)) as f64 / 1e9,
            linux_s: 0.0,
            needless: false,
        })
        .collect()
    }

    /// A silence that is a stall, with its causes.
    fn stall(&self, told: &Told, silence: &Silence) -> Option<Stall> {
        let base = self.connection.base_ns(self.unit_ns);
        // The answer to the first packet behind a pause takes a round trip.
        let start = silence.start_ns + if silence.is_first { base } else { 0 };
        let length = silence.end_ns - start;
        if length <= LEAST_NS.max(base) {
            return None;
        }
        let seen = self.seen(silence);
        let causes = self.causes(silence, &seen);
        let who = if silence.is_blocked { "sent nothing new" } else { "heard nothing new" };
        let (from, to) = (self.seconds(start), self.seconds(silence.end_ns));
        let mut sentences = vec![format!("the sender {who} for {}, {from:.3} to {to:.3} s", lasting(length))];
        if seen.probes > 0 {
            sentences.push(format!("the probe timeout expired {}", counted(seen.probes, "time")));
        }
        Some(finished(told, (from, to), silence.is_cut, causes, sentences))
    }

    fn seen(&self, silence: &Silence) -> Seen {
        let outstanding = self.connection.outstanding_at(silence);
        let count = |fate| outstanding.iter().filter(|each| each.fate == fate).count();
        let inside = |times: &[i64]| {
            times.partition_point(|time| *time < silence.end_ns)
                - times.partition_point(|time| *time <= silence.start_ns)
        };
        let arrivals = &self.connection.arrivals;
        let upto = arrivals.partition_point(|each| each.time_ns < silence.end_ns);
        let from = arrivals.partition_point(|each| each.time_ns <= silence.start_ns);
        Seen {
            lost: count(Fate::Lost),
            needless: count(Fate::Needless),
            probes: inside(&self.connection.probes),
            heard: upto.saturating_sub(from),
            outstanding,
        }
    }

    fn causes(&self, silence: &Silence, seen: &Seen) -> Vec<Cause> {
        let mut causes = vec![if silence.is_blocked {
            Cause::new(
                Kind::FlowControl,
                Sure::Certain,
                "the log has it: the receiver's limit of data was reached",
            )
        } else {
            self.cause(silence, seen)
        }];
        if seen.lost > 0 {
            causes.extend(self.longer(silence));
        }
        let paths = &self.connection.paths;
        let near = paths.iter().find(|time| (silence.start_ns - NEAR_NS..=silence.end_ns).contains(*time));
        if let Some(time) = near {
            let said = format!("the connection changed or probed its path at {:.3} s", self.seconds(*time));
            causes.push(Cause::new(Kind::PathChanged, Sure::Likely, said));
        }
        causes
    }

    fn cause(&self, silence: &Silence, seen: &Seen) -> Cause {
        let all = seen.outstanding.len();
        let of_all = format!("{} of {} did not arrive", seen.lost, counted(all, "outstanding packet"));
        if silence.is_cut && seen.lost == 0 {
            let said = format!("{} outstanding until the log ends", counted(all, "packet"));
            return Cause::new(Kind::PathLost, Sure::Possible, said);
        }
        // Packets of the other end came: the way back was open. A few may have been under way.
        let is_open = seen.heard > 2;
        let length = silence.end_ns - silence.start_ns;
        if seen.lost > 0 {
            let base = self.connection.base_ns(self.unit_ns);
            let is_short = all <= MOST_TAIL && seen.probes <= 1 && length < 4 * base + LEAST_NS;
            return match (is_open, seen.lost * 2 >= all) {
                (false, _) if is_short => Cause::new(
                    Kind::TailLoss,
                    Sure::Likely,
                    format!("{of_all}; nothing was sent behind them"),
                ),
                // Later packets that arrived would have been acknowledged.
                (false, _) => Cause::new(Kind::PathLost, Sure::Likely, of_all),
                (true, true) => Cause::new(Kind::PathLost, Sure::Possible, of_all),
                (true, false) => Cause::new(Kind::LossBurst, Sure::Likely, of_all),
            };
        }
        let needless = if seen.needless > 0 {
            format!("; {} were declared lost needlessly", seen.needless)
        } else {
            String::new()
        };
        let arrived = format!("all {} arrived{needless}", counted(all, "outstanding packet"));
        if let Some(longer) = self.longer(silence) {
            return Cause { evidence: format!("{arrived}; {}", longer.evidence), ..longer };
        }
        if is_open {
            return Cause::new(
                Kind::AcksLost,
                Sure::Possible,
                format!("{arrived}, and packets of the other end came"),
            );
        }
        Cause::new(Kind::PathHeld, Sure::Likely, arrived)
    }

    /// A round trip that is longer behind a silence than before it.
    fn longer(&self, silence: &Silence) -> Option<Cause> {
        let rise = ((silence.end_ns - silence.start_ns) / 4).max(SPIKE_NS);
        let before = self.connection.usual_ns(silence.start_ns, self.unit_ns)?;
        let (later, settled) = self.later(silence)?;
        let kind = if settled > before + rise { Kind::DelayStep } else { Kind::DelaySpike };
        let said =
            format!("the round trip was {} before it, and {} behind it", lasting(before), lasting(later));
        (later > before + rise).then(|| Cause::new(kind, Sure::Likely, said))
    }

    /// The least round trip of packets that were sent behind a silence, and the middle of the last of them.
    fn later(&self, silence: &Silence) -> Option<(i64, i64)> {
        let found = self.connection.rtts_between(silence.end_ns, silence.end_ns + AFTER_NS, self.unit_ns);
        let of_later: Vec<i64> = found
            .into_iter()
            .filter(|(time, rtt)| time - rtt >= silence.end_ns)
            .map(|(_, rtt)| rtt)
            .collect();
        let last = of_later[of_later.len() / 2..].to_vec();
        Some((*of_later.iter().min()?, median(last)?))
    }

    /// Stalls of a receiver: pauses behind which numbers of packets are missing, and a few between packets that came
    /// one right behind the other, with none missing.
    fn arrivals(&self, told: &Told) -> Vec<Stall> {
        let pauses = self.pauses();
        let held = pauses.iter().filter(|pause| pause.missing == 0).count();
        let shown = pauses.iter().filter(|pause| pause.missing > 0 || held <= MOST_HELD);
        let stall = |pause: &Pause| {
            let (from, to) = (self.seconds(pause.start_ns), self.seconds(pause.end_ns));
            let length = lasting(pause.end_ns - pause.start_ns);
            let who = format!("{} received nothing for {length}, {from:.3} to {to:.3} s", told.receiver);
            let cause = if pause.missing > 0 {
                let said = format!("{} packets before the next one did not arrive by then", pause.missing);
                Cause::new(Kind::PathLost, Sure::Likely, said)
            } else {
                let said =
                    "no packet is missing: they came later, or the sender paused, which no receiver can tell";
                Cause::new(Kind::PathHeld, Sure::Possible, said)
            };
            finished(told, (from, to), false, vec![cause], vec![who])
        };
        shown.map(stall).collect()
    }

    /// Pauses between the arrivals of packets. One without missing packets counts within a flow of packets alone.
    fn pauses(&self) -> Vec<Pause> {
        let arrivals = &self.connection.arrivals;
        let between = |from: i64, to: i64| {
            arrivals.partition_point(|each| each.time_ns <= to)
                - arrivals.partition_point(|each| each.time_ns < from)
        };
        let mut pauses = Vec::new();
        let mut before: Option<Arrival> = None;
        for arrival in arrivals {
            let (space, number) = arrival.number;
            if let Some(last) = before.filter(|last| last.number.0 == space) {
                let missing = number.saturating_sub(last.number.1).saturating_sub(1);
                let (start_ns, end_ns) = (last.time_ns, arrival.time_ns);
                let flows = || {
                    between(start_ns - LEAST_NS, start_ns) >= LEAST_FLOW
                        && between(end_ns, end_ns + LEAST_NS) >= LEAST_FLOW
                };
                if end_ns - start_ns > LEAST_NS && (missing > 0 || number > last.number.1 && flows()) {
                    pauses.push(Pause { start_ns, end_ns, missing });
                }
                if number < last.number.1 {
                    continue;
                }
            }
            before = Some(*arrival);
        }
        pauses
    }
}

/// A time without arrivals.
struct Pause {
    start_ns: i64,
    end_ns: i64,
    /// Numbers between the packets at its ends that had not arrived.
    missing: u64,
}

fn finished(
    told: &Told,
    (start_s, end_s): (f64, f64),
    cut_off: bool,
    causes: Vec<Cause>,
    sentences: Vec<String>,
) -> Stall {
    let mut sentences = sentences;
    sentences.extend(causes.iter().enumerate().map(|(at, cause)| {
        format!("{}: {}", if at == 0 { "suspected first" } else { "or, or in addition" }, cause.words())
    }));
    Stall {
        flow: told.flow.clone(),
        start_s,
        end_s,
        length_s: end_s - start_s,
        cut_off,
        of_receiver: told.place == "qlog of the receiver",
        causes,
        sentences,
    }
}
