//! Random losses and ACKs for the sender, against the pseudo-code of RFC 9002, appendices A and B.

use crate::{QuicHandshake, QuicSender, QuicSpec};
use roamlab_engine::{Duration, Packets, Rng, Time};
use roamlab_packet::{QuicAck, QuicHeader};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const GRANULARITY: u64 = 1_000_000;
const MINIMUM_WINDOW: f64 = 2.0;

/// The variables of §A.3 and §B.2. Times are in ns, the window in packets.
struct Model {
    spec: QuicSpec,
    /// `sent_packets`: when each was sent that is neither acknowledged nor lost.
    sent: BTreeMap<u32, u64>,
    /// Packets that were ever acknowledged.
    acknowledged: BTreeSet<u32>,
    next: u32,
    last_sent: u64,
    largest_acked: Option<u32>,
    latest_rtt: u64,
    min_rtt: u64,
    smoothed_rtt: u64,
    rttvar: u64,
    first_sample: Option<u64>,
    loss_time: Option<u64>,
    pto_count: u32,
    probes: u32,
    timeouts: u64,
    cwnd: f64,
    ssthresh: f64,
    recovery_start: Option<u64>,
    /// Times that persistent congestion was established.
    persistent: u32,
}

impl Model {
    fn new(spec: &QuicSpec) -> Model {
        let initial = spec.initial_rtt.as_nanos();
        Model {
            spec: spec.clone(),
            sent: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            next: 0,
            last_sent: 0,
            largest_acked: None,
            latest_rtt: 0,
            min_rtt: 0,
            smoothed_rtt: initial,
            rttvar: initial / 2,
            first_sample: None,
            loss_time: None,
            pto_count: 0,
            probes: 0,
            timeouts: 0,
            cwnd: f64::from(spec.initial_window.unwrap().0),
            ssthresh: f64::INFINITY,
            recovery_start: None,
            persistent: 0,
        }
    }

    /// §A.7.
    fn on_ack_received(&mut self, ranges: &[(u32, u32)], ack_delay: u64, now: u64) {
        let largest = ranges[0].1 - 1;
        self.largest_acked = self.largest_acked.max(Some(largest));
        let numbers: BTreeSet<u32> = ranges.iter().flat_map(|&(start, end)| start..end).collect();
        let newly: Vec<(u32, u64)> =
            numbers.iter().filter_map(|number| Some((*number, self.sent.remove(number)?))).collect();
        self.acknowledged.extend(&numbers);
        let Some(&(newest, sent)) = newly.last() else { return };
        if newest == largest {
            self.latest_rtt = now - sent;
            self.update_rtt(ack_delay, now);
        }
        self.detect_and_remove_lost(now);
        for (_, sent) in newly {
            // §B.5.
            if self.recovery_start.is_some_and(|start| sent <= start) {
                continue;
            }
            self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
        }
        self.pto_count = 0;
    }

    fn update_rtt(&mut self, ack_delay: u64, now: u64) {
        let latest = self.latest_rtt;
        if self.first_sample.is_none() {
            self.first_sample = Some(now);
            (self.min_rtt, self.smoothed_rtt, self.rttvar) = (latest, latest, latest / 2);
            return;
        }
        self.min_rtt = self.min_rtt.min(latest);
        let ack_delay = ack_delay.min(self.spec.max_ack_delay.as_nanos());
        let adjusted = if latest >= self.min_rtt + ack_delay { latest - ack_delay } else { latest };
        self.rttvar = (3 * self.rttvar + self.smoothed_rtt.abs_diff(adjusted)) / 4;
        self.smoothed_rtt = (7 * self.smoothed_rtt + adjusted) / 8;
    }

    /// §6.2.1.
    fn pto(&self) -> u64 {
        self.smoothed_rtt + (4 * self.rttvar).max(GRANULARITY) + self.spec.max_ack_delay.as_nanos()
    }

    /// §A.10, §B.8.
    fn detect_and_remove_lost(&mut self, now: u64) {
        self.loss_time = None;
        let loss_delay = (self.latest_rtt.max(self.smoothed_rtt) * 9 / 8).max(GRANULARITY);
        let largest = self.largest_acked.unwrap();
        let mut lost = Vec::new();
        for (&number, &sent) in self.sent.range(..largest) {
            if sent + loss_delay <= now || largest >= number + 3 {
                lost.push((number, sent));
            } else {
                self.loss_time = self.loss_time.into_iter().chain([sent + loss_delay]).min();
            }
        }
        lost.iter().for_each(|(number, _)| {
            self.sent.remove(number);
        });
        let Some(newest) = lost.iter().map(|&(_, sent)| sent).max() else { return };
        // §B.6.
        if self.recovery_start.is_none_or(|start| newest > start) {
            self.recovery_start = Some(now);
            self.ssthresh = self.cwnd / 2.0;
            self.cwnd = self.ssthresh.max(MINIMUM_WINDOW);
        }
        if self.is_persistent(&lost) {
            (self.cwnd, self.recovery_start) = (MINIMUM_WINDOW, None);
            self.min_rtt = self.latest_rtt; // §5.2
            self.persistent += 1;
        }
    }

    /// §7.6.2: two of the lost packets, both sent after the first sample, with nothing acknowledged between them.
    fn is_persistent(&self, lost: &[(u32, u64)]) -> bool {
        let Some(first_sample) = self.first_sample else { return false };
        let counted: Vec<_> = lost.iter().filter(|(_, sent)| *sent > first_sample).collect();
        counted.iter().any(|&&(from, start)| {
            let has_arrived = |to| self.acknowledged.range(from..to).next().is_some();
            counted.iter().any(|&&(to, end)| to > from && end - start > 3 * self.pto() && !has_arrived(to))
        })
    }

    /// §A.8.
    fn timer(&self) -> Option<u64> {
        let pto = || self.last_sent + (self.pto() << self.pto_count);
        self.loss_time.or_else(|| (!self.sent.is_empty()).then(pto))
    }

    /// §A.9.
    fn on_timeout(&mut self, now: u64) {
        if self.loss_time.is_some() {
            return self.detect_and_remove_lost(now);
        }
        (self.pto_count, self.probes, self.timeouts) = (self.pto_count + 1, 2, self.timeouts + 1);
    }

    /// How many packets leave: probes in any case (§7.5), others within the window.
    fn send(&mut self, now: u64) -> u32 {
        let before = self.next;
        while self.probes > 0 || self.sent.len() as f64 + 1.0 <= self.cwnd {
            self.probes = self.probes.saturating_sub(1);
            self.sent.insert(self.next, now);
            (self.next, self.last_sent) = (self.next + 1, now);
        }
        self.next - before
    }
}

struct Walk {
    sender: QuicSender,
    model: Model,
    now: u64,
}

impl Walk {
    fn at(&self) -> Time {
        Time::from_nanos(self.now)
    }

    /// Both send, and are in the same state. The numbers that were sent.
    fn send(&mut self, place: &str) -> std::ops::Range<u32> {
        let (at, first) = (self.at(), self.model.next);
        let count = std::iter::from_fn(|| self.sender.poll_transmit(at)).count() as u32;
        let model = &mut self.model;
        assert_eq!(count, model.send(self.now), "{place}: packets");
        let variables = self.sender.variables();
        let times = [variables.rtt, variables.srtt, variables.rttvar].map(Duration::as_nanos);
        let srtt = model.first_sample.map_or(0, |_| model.smoothed_rtt);
        assert_eq!(times, [model.latest_rtt, srtt, model.rttvar], "{place}: round-trip times");
        assert_eq!(self.sender.next_deadline().map(Time::as_nanos), model.timer(), "{place}: timer");
        let counts = (self.sender.in_flight(), variables.timeouts);
        assert_eq!(counts, (model.sent.len() as u32, model.timeouts), "{place}: in flight, timeouts");
        assert!((variables.cwnd - model.cwnd).abs() < 1e-6, "{place}: {} {}", variables.cwnd, model.cwnd);
        first..model.next
    }

    /// The timers run until then, and what they send.
    fn wait(&mut self, until: u64, place: &str) -> Vec<u32> {
        let mut sent = Vec::new();
        while let Some(due) = self.model.timer().filter(|&due| due <= until) {
            self.now = due;
            self.sender.on_deadline(self.at());
            self.model.on_timeout(due);
            sent.extend(self.send(place));
        }
        self.now = until;
        sent
    }

    fn acknowledge(&mut self, ranges: Vec<(u32, u32)>, delay: u64, place: &str) -> Vec<u32> {
        self.model.on_ack_received(&ranges, delay, self.now);
        let ack = Some(Box::new(QuicAck { ranges, delay: Duration::from_nanos(delay) }));
        self.sender.on_packet(&QuicHeader { ack, ..QuicHeader::default() }, self.at());
        self.send(place).collect()
    }
}

/// The runs of numbers, the highest first.
fn ranges(numbers: &BTreeSet<u32>, most: usize) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers.iter().rev() {
        match ranges.last_mut() {
            Some((start, _)) if *start == number + 1 => *start = number,
            _ => ranges.push((number, number + 1)),
        }
    }
    ranges.truncate(most);
    ranges
}

#[test]
fn a_sender_follows_the_pseudo_code_over_random_losses_and_acks() {
    #[expect(clippy::disallowed_methods, reason = "a test may be asked for more")]
    let wanted = std::env::var("ROAMLAB_SEQUENCES").ok().and_then(|count| count.parse().ok());
    let (mut persistent, mut timeouts) = (0, 0);
    for number in 0..wanted.unwrap_or(50) {
        let mut rng = Rng::named(number, 0, "pseudo-code");
        let mut below = |end: u64| (rng.uniform() * end as f64) as u64;
        let spec = QuicSpec {
            handshake: QuicHandshake::None,
            pacing: false,
            initial_window: Some(Packets([2, 10, 32][below(3) as usize])),
            max_ack_delay: Duration::from_millis([0, 25][below(2) as usize]),
            ..QuicSpec::default()
        };
        let (model, mut sender) = (Model::new(&spec), QuicSender::new(Arc::new(spec)));
        sender.offer(None);
        let mut walk = Walk { sender, model, now: 0 };
        let (rtt, loss, delay) = (200_000 + below(100_000_000), below(20), 1 + below(50_000_000));
        let mut under_way: Vec<u32> = walk.send("first").collect();
        let mut received = BTreeSet::new();
        for step in 0..150 {
            let place = format!("sequence {number}, step {step}");
            // An outage of some probe timeouts, or a part of a round trip.
            let outage = below(30) == 0;
            let span = if outage { walk.model.pto() * (1 + below(12)) } else { rtt / 4 + below(rtt) };
            let sent = walk.wait(walk.now + span, &place);
            under_way.extend(sent);
            let last = under_way.last().copied();
            under_way.retain(|packet| (!outage || Some(*packet) == last) && below(100) >= loss);
            for _ in 0..1 + below(4) {
                // Some arrive, often in order, and an ACK comes back.
                for _ in 0..(1 + below(3)).min(under_way.len() as u64) {
                    let place = if below(8) == 0 { below(under_way.len() as u64) as usize } else { 0 };
                    received.insert(under_way.remove(place));
                }
                let ranges = ranges(&received, [1, 3, 32][below(3) as usize]);
                if !ranges.is_empty() && below(6) > 0 {
                    under_way.extend(walk.acknowledge(ranges, below(delay), &place));
                }
                let sent = walk.wait(walk.now + below(rtt / 8), &place);
                under_way.extend(sent);
            }
        }
        persistent += walk.model.persistent;
        timeouts += walk.model.timeouts;
    }
    assert!(persistent > 5 && timeouts > 200, "{persistent} {timeouts}");
}
