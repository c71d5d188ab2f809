//! A capture's flows and their stalls in sentences.

use crate::flows::{Capture, Flow};
use crate::why::cause::{Cause, Kind, Sure, counted, lasting};
use crate::why::course::{Limits, Spike};
use crate::why::exchange::{Exchange, Place, in_order};
use crate::why::pair::Pair;
use crate::why::receiver::{Arrival, Came, Receiver};
use crate::why::sender::{self, Sender, Silence};
use crate::why::slow::Slow;
use serde::Serialize;

/// Spikes of the delay that are listed of a flow.
const MOST_SPIKES: usize = 3;
/// Bytes that a capture at a sender may lack of what was acknowledged, as a share of all.
const MOST_UNSEEN: f64 = 0.001;

/// A stall of a flow.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Stall {
    /// The flow, as in [`Told::flow`].
    pub flow: String,
    /// Begin, in s from the first packet of the capture.
    pub start_s: f64,
    /// End.
    pub end_s: f64,
    /// How long it was.
    pub length_s: f64,
    /// The capture ended before it did.
    pub cut_off: bool,
    /// False: the sender heard nothing, and the receiver may have stalled or not.
    pub of_receiver: bool,
    /// The causes, the first one the main one.
    pub causes: Vec<Cause>,
    /// The same with what the sender did, in sentences.
    pub sentences: Vec<String>,
}

/// How often data were sent again.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Resends {
    /// Packets.
    pub packets: usize,
    /// Those whose first copy arrived.
    pub needless: usize,
    /// Those that were sent for the third time or more without a timeout.
    pub lost_again: usize,
    /// Probes of the tail.
    pub probes: usize,
    /// Recoveries by acknowledgements.
    pub recoveries: usize,
    /// Reports of data that arrived twice.
    pub duplicates: usize,
}

/// A timeout of the sender.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Timeout {
    /// When, in s from the first packet of the capture.
    pub time_s: f64,
    /// How long the timer ran.
    pub rto_s: f64,
    /// A first timeout by Linux's rule; 0: unknown.
    pub linux_s: f64,
    /// The data that it sent again had arrived.
    pub needless: bool,
}

/// Round trips, in s.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize)]
pub struct Trips {
    /// Of the whole path, at least.
    pub base_s: f64,
    /// Between the capture and the receiver: the middle.
    pub median_s: f64,
    /// Not exceeded by 95 %.
    pub most_of_s: f64,
    /// The largest.
    pub largest_s: f64,
}

/// The clocks of a pair.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Aligned {
    /// How far the receiver's clock is ahead.
    pub offset_s: f64,
    /// It may be so much more or less: half of the round trip.
    pub interval_s: f64,
    /// By how much it goes faster, in millionths.
    pub drift_ppm: f64,
    /// Packets with data that did not arrive, and all.
    pub lost: (usize, usize),
    /// Acknowledgements that did not arrive.
    pub acks_lost: usize,
}

/// A flow, and why it stalled.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Told {
    /// Its ends, sender of the data first.
    pub flow: String,
    /// Its receiver.
    pub receiver: String,
    /// The first packet, in s from that of the capture.
    pub start_s: f64,
    /// From its first to its last packet.
    pub length_s: f64,
    /// Bytes of payload of its main direction, each counted once.
    pub bytes: u64,
    /// Bits of these in a second.
    pub goodput_bps: f64,
    /// Packets each way.
    pub packets: [usize; 2],
    /// Where it was captured: at its sender, at its receiver, or between.
    pub place: &'static str,
    /// The share of the round trip between the capture and the receiver; `None`: unknown.
    pub share: Option<f64>,
    /// Round trips; `None`: no acknowledgement was seen.
    pub trips: Option<Trips>,
    /// Packets that were sent again; of a capture at the receiver those that came again.
    pub resends: Resends,
    /// The sender's timeouts.
    pub timeouts: Vec<Timeout>,
    /// Packets that were overtaken.
    pub reordered: usize,
    /// The rate of a policer that the losses fit; `None`: they fit none.
    pub policed_bps: Option<f64>,
    /// Sudden rises of the round trip.
    pub spikes: Vec<Spike>,
    /// Its limits; `None`: the capture is not at its sender.
    pub limits: Option<Limits>,
    /// Both captures on one clock.
    pub aligned: Option<Aligned>,
    /// Limits of the answer.
    pub notes: Vec<String>,
    /// The flow in sentences, without its spikes.
    pub sentences: Vec<String>,
    /// Its stalls, longest first.
    pub stalls: Vec<Stall>,
    /// Its slow periods, in order of time; none without the view of its sender.
    pub slow: Vec<Slow>,
}

/// Why the flows of a capture stalled.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Answer {
    /// Packets of the file, or of both.
    pub packets: u64,
    /// Time from its first to its last packet, in s.
    pub length_s: f64,
    /// Time of the first packet, in ns by its clock.
    pub start_ns: i64,
    /// Packets of UDP.
    pub udp_packets: u64,
    /// Those between ends that opened a connection of QUIC.
    pub quic_packets: u64,
    /// Parts that are left out or were put right.
    pub notes: Vec<String>,
    /// Flows, those with the longest stall first, then those with most data.
    pub flows: Vec<Told>,
}

/// A flow as its packets show it.
pub(crate) enum View<'a> {
    /// Captured at its sender or between the ends.
    Sender(Box<Sender<'a>>),
    /// Captured at its receiver.
    Receiver(Box<Receiver<'a>>),
    /// Captured at both ends.
    Pair(Box<Pair<'a>>),
}

/// Why the flows of a capture stalled, or of two captures of the same flows.
pub fn explain(first: &Capture, second: Option<&Capture>) -> Answer {
    explained(first, second, |_, _| ())
}

/// The order of flows: those with the longest stall first, then those with most data.
pub(crate) fn order(told: &Told) -> impl Ord + use<> {
    let longest = told.stalls.first().map_or(0, |stall| (stall.length_s * 1e9) as i64);
    std::cmp::Reverse((longest, told.bytes))
}

/// The same; `seen` takes each flow, in the order of the capture.
pub(crate) fn explained<'c>(
    first: &'c Capture,
    second: Option<&'c Capture>,
    mut seen: impl FnMut(&Told, View<'c>),
) -> Answer {
    let start_ns = first.start_ns;
    let mut notes = first.notes.clone();
    if let Some(second) = second {
        notes.extend(second.notes.iter().map(|note| format!("in the second file, {note}")));
    }
    let mut flows = Vec::new();
    for flow in &first.flows {
        let made = match second {
            None => one(flow, start_ns),
            Some(second) => partner(flow, second).and_then(|other| both(flow, other, start_ns)),
        };
        let Some((told, view)) = made else { continue };
        seen(&told, view);
        flows.push(told);
    }
    flows.sort_by_key(order);
    let packets = first.packets + second.map_or(0, |second| second.packets);
    let count = |only_quic: bool| {
        first.datagrams.iter().filter(|all| all.is_quic || !only_quic).map(|all| all.packets).sum()
    };
    let (udp_packets, quic_packets) = (count(false), count(true));
    Answer {
        udp_packets,
        quic_packets,
        packets,
        length_s: (first.end_ns - start_ns) as f64 / 1e9,
        start_ns,
        notes,
        flows,
    }
}

/// The same connection in another capture: by its ends, or, behind a translation of addresses, by its first numbers.
fn partner<'c>(flow: &Flow, other: &'c Capture) -> Option<&'c Flow> {
    let same_ends =
        |each: &&Flow| each.ends == flow.ends || each.ends[0] == flow.ends[1] && each.ends[1] == flow.ends[0];
    let numbers = |flow: &Flow| flow.opened.map(|opened| opened.map(|opened| opened.isn));
    let isn = numbers(flow);
    let same_numbers = |each: &&Flow| isn.iter().all(Option::is_some) && numbers(each) == isn;
    let mut of_ends = other.flows.iter().filter(same_ends);
    let exact = of_ends.clone().find(|each| numbers(each) == isn);
    exact.or_else(|| of_ends.next()).or_else(|| other.flows.iter().find(same_numbers))
}

/// A flow of one capture; `None`: it has no data.
fn one(flow: &Flow, start_ns: i64) -> Option<(Told, View<'_>)> {
    let exchange = Exchange::new(flow);
    if flow.packets.bytes()[exchange.way] == 0 {
        return None;
    }
    let mut told = described(&exchange, start_ns);
    let view = if exchange.place == Place::Receiver {
        let receiver = Receiver::new(exchange);
        arrivals(&mut told, &receiver);
        told.stalls = receiver
            .stalls()
            .into_iter()
            .map(|(silence, causes)| stall(&told, start_ns, silence, causes, None))
            .collect();
        View::Receiver(Box::new(receiver))
    } else {
        let sender = Sender::new(exchange);
        sent(&mut told, &sender, start_ns);
        let causes = |silence: &Silence| crate::why::silence::causes(&sender, *silence);
        told.stalls = sender
            .silences
            .iter()
            .map(|silence| stall(&told, start_ns, *silence, causes(silence), Some(&sender)))
            .collect();
        View::Sender(Box::new(sender))
    };
    told.finish();
    Some((told, view))
}

/// A flow of two captures.
fn both<'c>(one: &'c Flow, other: &'c Flow, start_ns: i64) -> Option<(Told, View<'c>)> {
    let first = Exchange::new(one);
    if one.packets.bytes()[first.way] == 0 {
        return None;
    }
    let (at_sender, at_receiver) = in_order(first, Exchange::new(other));
    let mut told = described(&at_sender, start_ns);
    let (sender, receiver) = (Sender::new(at_sender), Receiver::new(at_receiver));
    sent(&mut told, &sender, start_ns);
    let reordered = receiver.reordered();
    let pair = match Pair::new(sender, receiver) {
        Ok(pair) => pair,
        Err(sender) => {
            told.notes.push("the two captures share no packets of this flow".into());
            told.finish();
            return Some((told, View::Sender(sender)));
        }
    };
    told.place = "both ends";
    told.reordered = told.reordered.max(reordered);
    told.aligned = Some(Aligned {
        offset_s: pair.clocks.offset_ns as f64 / 1e9,
        interval_s: pair.sender.exchange.base() as f64 / 2e9,
        drift_ppm: pair.clocks.drift * 1e6,
        lost: pair.lost(),
        acks_lost: pair.acks_lost(),
    });
    let found = pair.stalls().into_iter();
    told.stalls =
        found.map(|(silence, causes)| stall(&told, start_ns, silence, causes, Some(&pair.sender))).collect();
    told.finish();
    Some((told, View::Pair(Box::new(pair))))
}

fn end(flow: &Flow, at: usize) -> String {
    let end = flow.ends[at];
    if end.address.is_ipv6() {
        format!("[{}]:{}", end.address, end.port)
    } else {
        format!("{}:{}", end.address, end.port)
    }
}

/// The part of an answer that every capture gives.
fn described(exchange: &Exchange<'_>, start_ns: i64) -> Told {
    let flow = exchange.flow;
    let (from, to) = (end(flow, exchange.way), end(flow, 1 - exchange.way));
    let (begin, last) = flow.packets.span().unwrap_or_default();
    let mut notes = Vec::new();
    if exchange.counts[1] == 0 {
        notes.push("only the data is in the capture: no acknowledgement, so neither round trips nor the receiver's window are known".into());
    }
    if flow.opened.iter().any(Option::is_none) {
        notes.push("a SYN is missing: the scale of windows is unknown, and only a window of zero counts as the receiver's limit".into());
    }
    if exchange.ticks[0].is_none() {
        notes.push("it has no timestamps: whether what was sent again was needless is known by D-SACK and time alone".into());
    }
    if flow.opened.iter().flatten().any(|opened| opened.multipath) {
        notes.push(
            "it may be a part of a connection of MPTCP; other parts are not taken together with it".into(),
        );
    }
    let place = match exchange.place {
        Place::Sender => "sender",
        Place::Receiver => "receiver",
        Place::Middle => "middle",
    };
    if exchange.place == Place::Middle {
        notes.push("captured between the ends: what was lost before it shows as late data, what was lost behind it as sent again".into());
    }
    Told {
        flow: format!("{from} -> {to}"),
        receiver: to,
        start_s: (begin - start_ns) as f64 / 1e9,
        length_s: (last - begin) as f64 / 1e9,
        bytes: 0,
        goodput_bps: 0.0,
        packets: exchange.counts,
        place,
        share: exchange.trips.iter().all(Option::is_some).then_some(exchange.share),
        trips: None,
        resends: Resends::default(),
        timeouts: Vec::new(),
        reordered: 0,
        policed_bps: None,
        spikes: Vec::new(),
        limits: None,
        aligned: None,
        notes,
        sentences: Vec::new(),
        stalls: Vec::new(),
        slow: Vec::new(),
    }
}

/// Adds the part that a capture at the sender or between the ends gives.
fn sent(told: &mut Told, sender: &Sender<'_>, start_ns: i64) {
    told.bytes = sender.sendings.bytes;
    told.goodput_bps = told.bytes as f64 * 8.0 / told.length_s.max(1e-3);
    let mut rtts: Vec<i64> = sender.rtts.iter().map(|(_, rtt)| rtt).collect();
    rtts.sort_unstable();
    let at = |share: usize| {
        rtts.get(rtts.len().saturating_sub(1) * share / 100).map_or(0.0, |rtt| *rtt as f64 / 1e9)
    };
    told.trips = (!rtts.is_empty()).then(|| Trips {
        base_s: sender.exchange.base() as f64 / 1e9,
        median_s: at(50),
        most_of_s: at(95),
        largest_s: at(100),
    });
    let resends = sender.resends.iter().filter(|resend| resend.kind != sender::Kind::KeepAlive);
    let count = |kind| sender.resends.iter().filter(|resend| resend.kind == kind).count();
    told.resends = Resends {
        packets: resends.clone().count(),
        needless: resends.filter(|resend| resend.is_needless).count(),
        lost_again: count(sender::Kind::LostAgain),
        probes: count(sender::Kind::Probe),
        recoveries: sender.recoveries(),
        duplicates: sender.twice.len(),
    };
    let timeouts = sender.resends.iter().filter(|resend| resend.kind == sender::Kind::Timeout);
    told.timeouts = timeouts
        .map(|resend| Timeout {
            time_s: (resend.time_ns - start_ns) as f64 / 1e9,
            rto_s: resend.waited_ns as f64 / 1e9,
            linux_s: resend.usual_ns as f64 / 1e9,
            needless: resend.is_needless,
        })
        .collect();
    told.reordered = sender.sendings.reordered;
    told.spikes = sender.spikes(MOST_SPIKES, start_ns);
    told.limits = Some(sender.limits());
    told.slow = sender.slow_periods(start_ns);
    told.policed_bps = sender.policed_bps();
    if sender.sendings.unseen as f64 > MOST_UNSEEN * told.bytes as f64 {
        let unseen = sender.sendings.unseen;
        told.notes.push(format!("{unseen} acknowledged bytes are not in the capture: it lost packets, which look like losses of the path"));
    }
}

/// Adds the part that a capture at the receiver gives.
fn arrivals(told: &mut Told, receiver: &Receiver<'_>) {
    let came = &receiver.came;
    let fresh = came.iter().filter(|came| came.arrival != Arrival::Again);
    told.bytes = fresh.map(|came| u64::from(came.bytes)).sum();
    told.goodput_bps = told.bytes as f64 * 8.0 / told.length_s.max(1e-3);
    let again = came.iter().filter(|came| came.arrival == Arrival::Again).count();
    told.reordered = receiver.reordered();
    let filled = came.iter().filter(|came| came.arrival == Arrival::Fill).count();
    told.resends = Resends {
        packets: again + filled.saturating_sub(told.reordered),
        needless: again,
        ..Resends::default()
    };
    let base_s = receiver.exchange.base() as f64 / 1e9;
    let mut late: Vec<i64> = came.iter().filter_map(Came::late_ns).collect();
    late.sort_unstable();
    let at = |share: usize| {
        late.get(late.len().saturating_sub(1) * share / 100)
            .map_or(base_s, |late| base_s + *late as f64 / 1e9)
    };
    told.trips =
        (base_s > 0.0).then(|| Trips { base_s, median_s: at(50), most_of_s: at(95), largest_s: at(100) });
}

/// A stall with its sentences.
fn stall(
    told: &Told,
    start_ns: i64,
    silence: Silence,
    causes: Vec<Cause>,
    sender: Option<&Sender<'_>>,
) -> Stall {
    let seconds = |time: i64| (time - start_ns) as f64 / 1e9;
    let of_receiver = told.place != "sender" && told.place != "middle"
        || causes.first().is_none_or(|cause| cause.kind != Kind::AcksLost);
    let length = lasting(silence.end_ns - silence.start_ns);
    let (start, end) = (seconds(silence.start_ns), seconds(silence.end_ns));
    let who = if of_receiver {
        format!("{} received nothing new for {length}, {start:.3} to {end:.3} s", told.receiver)
    } else {
        format!(
            "the sender heard nothing new for {length}, {start:.3} to {end:.3} s; this need not be a stall of the receiver"
        )
    };
    let mut sentences = vec![who];
    if let Some(sender) = sender {
        sentences.extend(actions(sender, silence, start_ns));
    }
    let causes = with_policer(causes, told.policed_bps);
    let words = causes.iter().enumerate().map(|(at, cause)| {
        format!("{}: {}", if at == 0 { "suspected first" } else { "or, or in addition" }, cause.words())
    });
    sentences.extend(words);
    Stall {
        flow: told.flow.clone(),
        start_s: start,
        end_s: end,
        length_s: (silence.end_ns - silence.start_ns) as f64 / 1e9,
        cut_off: silence.is_cut,
        of_receiver,
        causes,
        sentences,
    }
}

/// Losses of a flow behind a policer are the policer's.
fn with_policer(causes: Vec<Cause>, policed_bps: Option<f64>) -> Vec<Cause> {
    let losses = [Kind::LossBurst, Kind::RetransmissionLost, Kind::QueueFull, Kind::PathLost];
    match policed_bps {
        Some(rate) if causes.iter().any(|cause| losses.contains(&cause.kind)) => {
            let said = format!("the losses of the flow fit a policer of {:.3} Mbit/s", rate / 1e6);
            std::iter::once(Cause::new(Kind::Policer, Sure::Likely, said)).chain(causes).collect()
        }
        _ => causes,
    }
}

/// The sender's actions in a stall.
fn actions(sender: &Sender<'_>, silence: Silence, start_ns: i64) -> Vec<String> {
    let from = sender.resends.partition_point(|resend| resend.time_ns < silence.start_ns);
    let upto = sender.resends.partition_point(|resend| resend.time_ns <= silence.end_ns);
    let inside = sender.resends.get(from..upto.max(from)).unwrap_or(&[]);
    let mut said = Vec::new();
    let timeouts: Vec<&sender::Resend> =
        inside.iter().filter(|each| each.kind == sender::Kind::Timeout).collect();
    if let Some(first) = timeouts.first() {
        let times: Vec<String> = timeouts
            .iter()
            .map(|each| {
                let needless = if each.is_needless { " (needless)" } else { "" };
                format!("{:.3} s{needless}", (each.time_ns - start_ns) as f64 / 1e9)
            })
            .collect();
        let mut words = format!(
            "the retransmission timer expired at {}; the RTO was {}",
            times.join(", "),
            lasting(first.waited_ns)
        );
        // A timer of Linux's wheel may be an eighth late.
        if first.usual_ns > 0 {
            let fits =
                first.waited_ns * 100 >= first.usual_ns * 90 && first.waited_ns * 100 <= first.usual_ns * 115;
            words += &format!(
                ", Linux's would be {}{}",
                lasting(first.usual_ns),
                if fits { ", which fits" } else { "" }
            );
        }
        said.push(words);
    }
    let probes = inside.iter().filter(|each| each.kind == sender::Kind::Probe).count();
    if probes > 0 {
        said.push(format!("the sender probed its tail with {}", counted(probes, "packet")));
    }
    said
}
