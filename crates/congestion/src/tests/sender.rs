//! A sender and a receiver of the tests. They count in segments, which are numbered in the order of sending as QUIC's packets
//! are. Losses are found by order and by time (RFC 8985), and a reduction whose losses were none is undone (RFC 4015). All
//! else is the congestion control's.

use crate::{
    AckEvent, CongestionControl, ControlParams, DeliverySampler, Loss, LossEvent, NewPath, Pacer, PathPolicy,
    SsthreshRule, Stamp, Undo, Window,
};
use roamlab_engine::{Bytes, Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) use crate::CongestionControlSpec;

/// The segments that have arrived since the ACK before.
pub(crate) type Ack = Vec<Segment>;

/// The ends of a connection with this congestion control.
pub(crate) fn ends(control: &CongestionControlSpec) -> (Sender, Receiver) {
    (Sender::new(control, ControlParams::rfc(Bytes(1000))), Receiver::default())
}

const INITIAL_WINDOW: f64 = 10.0;
const LONGEST_ACK_DELAY: Duration = Duration::from_millis(100);

/// A segment on its way. Segment 0 is the SYN.
#[derive(Copy, Clone)]
pub(crate) struct Segment {
    /// Its place in the data.
    pub seq: u32,
    /// Its place in the order of sending.
    pub number: u32,
    pub retransmission: bool,
}

/// A segment that is not acknowledged.
struct Sent {
    number: u32,
    stamp: Stamp,
}

/// The losses for which the window was reduced.
struct Episode {
    /// max(FlightSize, ssthresh) before it.
    pipe_prev: f64,
    /// Those that have not arrived after all.
    missing: BTreeSet<u32>,
    /// Behind a timeout, until the first ACK: segments sent before have lower numbers.
    timeout: Option<u32>,
}

pub(crate) struct Sender {
    pub control: CongestionControl,
    pub window: Window,
    spec: CongestionControlSpec,
    params: ControlParams,
    pacer: Pacer,
    sampler: DeliverySampler,
    /// Segments that are not acknowledged, by their place in the data.
    sent: BTreeMap<u32, Sent>,
    /// Of these the lost ones that are not sent again, and the others by their place in the order of sending.
    waiting: BTreeSet<u32>,
    under_way: BTreeMap<u32, u32>,
    next: u32,
    end: u32,
    next_number: u32,
    /// Segments of lower numbers are of an old path.
    path_from: u32,
    /// The latest in the order of sending that has arrived.
    newest: u32,
    /// Losses that the next event reports.
    lost: u32,
    recovery_point: u32,
    episode: Option<Episode>,
    srtt: Duration,
    deviation: Duration,
    latest_rtt: Duration,
    shortest_rtt: Duration,
    /// The shortest time of the retransmission timer.
    pub least_rto: Duration,
    backoff: u32,
    timer_from: Time,
    /// A probe for the loss of a tail goes out next; one has gone out since the latest ACK.
    probe: bool,
    probed: bool,
    /// When what is late is lost.
    late_at: Option<Time>,
    last_sent: Time,
}

impl Sender {
    pub fn new(spec: &CongestionControlSpec, params: ControlParams) -> Sender {
        Sender {
            control: CongestionControl::new(spec),
            window: Window::new(1.0, &params),
            spec: *spec,
            params,
            pacer: Pacer::default(),
            sampler: DeliverySampler::default(),
            sent: BTreeMap::new(),
            waiting: BTreeSet::new(),
            under_way: BTreeMap::new(),
            next: 0,
            end: 0,
            next_number: 0,
            path_from: 0,
            newest: 0,
            lost: 0,
            recovery_point: 0,
            episode: None,
            srtt: Duration::ZERO,
            deviation: Duration::ZERO,
            latest_rtt: Duration::ZERO,
            shortest_rtt: Duration::MAX,
            least_rto: Duration::from_secs(1),
            backoff: 0,
            timer_from: Time::ZERO,
            probe: false,
            probed: false,
            late_at: None,
            last_sent: Time::ZERO,
        }
    }

    /// Offers a number of further segments, or data without end.
    pub fn offer(&mut self, segments: Option<u32>) {
        self.end = segments.map_or(u32::MAX, |segments| self.end.max(1) + segments);
    }

    /// Ends the data: nothing new is sent from now on.
    pub fn stop(&mut self) {
        self.end = self.next;
    }

    pub fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    /// Segments sent and not acknowledged.
    pub fn in_flight(&self) -> u32 {
        self.sent.len() as u32
    }

    /// Those of the present path that may still arrive.
    fn in_network(&self) -> u32 {
        match self.path_from {
            0 => self.under_way.len() as u32,
            from => self.under_way.range(from..).count() as u32,
        }
    }

    fn una(&self) -> u32 {
        self.sent.keys().next().map_or(self.next, |&seq| seq)
    }

    fn is_connected(&self) -> bool {
        self.una() > 0
    }

    fn recovers(&self) -> bool {
        self.una() < self.recovery_point
    }

    fn rto(&self) -> Duration {
        (self.srtt + self.deviation * 4).max(self.least_rto) * (1 << self.backoff)
    }

    fn may_probe(&self) -> bool {
        !self.probed && self.is_connected() && self.backoff == 0 && !self.recovers()
    }

    /// The retransmission timer, or before it that of a probe (RFC 8985 §7.2).
    fn timer(&self) -> Option<Time> {
        let wait = if self.may_probe() { (self.srtt * 2).min(self.rto()) } else { self.rto() };
        (!self.sent.is_empty()).then(|| self.timer_from + wait)
    }

    pub fn next_deadline(&self) -> Option<Time> {
        let paced = Some(self.pacer.deadline()).filter(|&time| time < Time::MAX);
        [self.timer(), self.late_at, paced].into_iter().flatten().min()
    }

    pub fn on_deadline(&mut self, now: Time) {
        self.pacer.on_deadline(now);
        if self.late_at.is_some_and(|at| at <= now) {
            self.find_losses(now);
        }
        if self.timer().is_some_and(|at| at <= now) {
            let may_probe = self.may_probe();
            self.timer_from = now;
            if may_probe {
                (self.probe, self.probed) = (true, true);
            } else {
                self.time_out(now);
            }
        }
    }

    /// The next segment to send; call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let fresh = Some(self.next).filter(|&next| next < self.end && (next == 0 || self.is_connected()));
        if std::mem::take(&mut self.probe) {
            let last = self.sent.keys().next_back().copied();
            return fresh.or(last).map(|seq| self.send(seq, now));
        }
        if self.pacer.waits() {
            return None;
        }
        let seq = self.waiting.first().copied().or(fresh);
        if seq.is_some() && self.sent.is_empty() && self.next > 0 {
            self.resume(now);
        }
        let has_room = self.in_network() < self.window.usable(0, u32::MAX);
        if has_room && let Some(seq) = seq {
            return Some(self.send(seq, now));
        }
        if has_room && self.next >= self.end {
            self.sampler.note_app_limited(self.in_network());
        }
        self.pacer.end_burst(&self.window, self.next.saturating_sub(1), now);
        None
    }

    /// Nothing is outstanding, and a segment goes out.
    fn resume(&mut self, now: Time) {
        let idle = now.since(self.last_sent);
        if idle > self.rto() {
            self.control.algorithm().on_idle(&mut self.window, INITIAL_WINDOW);
        }
        self.control.algorithm().on_resume(&mut self.window, idle, now);
    }

    fn send(&mut self, seq: u32, now: Time) -> Segment {
        if self.sent.is_empty() {
            self.timer_from = now;
        }
        let (retransmission, number) = (seq < self.next, self.next_number);
        (self.next_number, self.next, self.last_sent) = (number + 1, self.next.max(seq + 1), now);
        self.take(seq);
        let others = self.in_network();
        let stamp = self.sampler.stamp(others == 0, others + 1, now);
        self.sent.insert(seq, Sent { number, stamp });
        self.under_way.insert(number, seq);
        self.pacer.sent(&self.window, self.next - 1, now);
        Segment { seq, number, retransmission }
    }

    /// A segment is no longer outstanding: its record, and true if it was lost.
    fn take(&mut self, seq: u32) -> Option<(Sent, bool)> {
        let sent = self.sent.remove(&seq)?;
        self.under_way.remove(&sent.number);
        Some((sent, self.waiting.remove(&seq)))
    }

    /// An ACK reports the segments that have arrived since the one before.
    pub fn on_ack(&mut self, arrived: &[Segment], now: Time) {
        let connects = !self.is_connected();
        let (mut acked, mut latest) = (0, None::<Sent>);
        for segment in arrived {
            let Some((sent, was_lost)) = self.take(segment.seq) else { continue };
            if was_lost || sent.number != segment.number {
                self.arrives_late(segment);
            }
            self.newest = self.newest.max(segment.number);
            if segment.number >= self.path_from {
                acked += 1;
                let is_later = latest.as_ref().is_none_or(|latest| latest.number < sent.number);
                if sent.number == segment.number && is_later {
                    latest = Some(sent);
                }
            }
        }
        if let Some(episode) = &mut self.episode {
            episode.timeout = None;
        }
        (self.timer_from, self.backoff, self.probed) = (now, 0, false);
        self.sampler.deliver(acked);
        let rtt = latest.as_ref().map(|latest| now.since(latest.stamp.sent));
        rtt.into_iter().for_each(|rtt| self.measure(rtt));
        let rate = latest.and_then(|latest| self.sampler.rate(&latest.stamp, now));
        self.find_losses(now);
        if acked == 0 {
            return;
        }
        let ack = AckEvent {
            now,
            una: self.una(),
            nxt: self.next,
            acked,
            lost: std::mem::take(&mut self.lost),
            rtt,
            srtt: self.srtt,
            in_flight: self.in_flight(),
            recovering: self.recovers(),
            rate,
            has_sack: true,
            waiting: self.waiting.len() as u32,
            ..AckEvent::default()
        };
        match ack.recovering {
            true => self.control.algorithm().on_other_ack(&mut self.window, &ack),
            false => self.control.on_ack(&mut self.window, &ack),
        }
        if connects && self.is_connected() {
            self.control.algorithm().on_start(&mut self.window, INITIAL_WINDOW);
        }
        if self.window.limits_itself() {
            self.sampler.note_app_limited(self.in_network());
        }
    }

    /// RFC 6298 §2.
    fn measure(&mut self, rtt: Duration) {
        let first = self.srtt == Duration::ZERO;
        let apart = rtt.max(self.srtt).saturating_sub(rtt.min(self.srtt));
        self.deviation = if first { rtt / 2 } else { (self.deviation * 3 + apart) / 4 };
        self.srtt = if first { rtt } else { (self.srtt * 7 + rtt) / 8 };
        (self.latest_rtt, self.shortest_rtt) = (rtt, self.shortest_rtt.min(rtt));
    }

    /// Lost is what three later segments have overtaken, or one by a quarter of a round trip.
    fn find_losses(&mut self, now: Time) {
        let wait = self.latest_rtt + self.shortest_rtt.min(self.latest_rtt) / 4;
        self.late_at = None;
        let mut lost = Vec::new();
        for (&number, seq) in self.under_way.range(..self.newest) {
            let late_at = self.sent[seq].stamp.sent + wait;
            if number + 3 <= self.newest || late_at <= now {
                lost.push(*seq);
            } else {
                self.late_at = Some(self.late_at.map_or(late_at, |at| at.min(late_at)));
            }
        }
        if lost.iter().any(|seq| self.sent[seq].number >= self.path_from) && !self.recovers() {
            self.reduce(Loss::DupAcks, now);
        }
        self.lose(&lost, true, now);
    }

    fn time_out(&mut self, now: Time) {
        self.backoff += 1;
        self.reduce(Loss::Timeout, now);
        let all: Vec<u32> = self.under_way.values().copied().collect();
        self.lose(&all, false, now);
    }

    fn reduce(&mut self, kind: Loss, now: Time) {
        let (cwnd, ssthresh) = self.window.sizes();
        let in_use = f64::from(self.in_flight());
        let pipe_prev = if ssthresh < f64::from(u32::MAX) { in_use.max(ssthresh) } else { in_use };
        let timeout = (kind == Loss::Timeout).then_some(self.next_number);
        self.episode = Some(Episode { pipe_prev, missing: BTreeSet::new(), timeout });
        self.recovery_point = self.next;
        let loss = LossEvent {
            now,
            kind,
            in_use,
            ssthresh: SsthreshRule::Set,
            least_cwnd: 0.0,
            most_cwnd: cwnd.max(1.0),
            found: None,
            params: &self.params,
        };
        match kind {
            Loss::Timeout => self.control.algorithm().on_rto(&mut self.window, &loss),
            _ => self.control.algorithm().on_loss(&mut self.window, &loss),
        }
    }

    /// These are lost. `by_ack`: an ACK has shown it.
    fn lose(&mut self, lost: &[u32], by_ack: bool, now: Time) {
        for &seq in lost {
            let sent = &self.sent[&seq];
            self.under_way.remove(&sent.number);
            self.waiting.insert(seq);
            if let Some(episode) = &mut self.episode {
                episode.missing.insert(seq);
            }
            if sent.number >= self.path_from {
                self.lost += u32::from(by_ack);
                let lost = self.sampler.lose(seq, &sent.stamp, now);
                self.control.algorithm().on_lost_segment(&mut self.window, &lost);
            }
        }
    }

    /// A segment that was taken for lost has arrived. With the last of them the reduction is undone, and that of a timeout with
    /// the first.
    fn arrives_late(&mut self, segment: &Segment) {
        let Some(episode) = &mut self.episode else { return };
        episode.missing.remove(&segment.seq);
        let is_needless = episode.timeout.is_some_and(|number| segment.number < number);
        if !episode.missing.is_empty() && !is_needless {
            return;
        }
        let undo = Undo { pipe_prev: episode.pipe_prev, cwnd: f64::from(self.in_flight()).max(1.0) };
        self.episode = None;
        let found = std::mem::take(&mut self.waiting).into_iter().map(|seq| (self.sent[&seq].number, seq));
        self.under_way.extend(found);
        self.recovery_point = 0;
        self.control.algorithm().on_undo(&mut self.window, &undo);
    }

    /// The sender is notified of a new path at `now`. The number of segments that it counts as lost for that.
    pub fn on_new_path(&mut self, policy: PathPolicy, now: Time) -> Option<u32> {
        match policy {
            PathPolicy::Nothing | PathPolicy::CarefulResume => return None,
            PathPolicy::ProbeRtt | PathPolicy::ForgetMinRtt => {
                let path = NewPath { next: self.next, probes: policy == PathPolicy::ProbeRtt };
                self.control.algorithm().on_new_path(&mut self.window, path);
                return Some(0);
            }
            PathPolicy::Restart | PathPolicy::CountLost => {}
        }
        self.control = CongestionControl::new(&self.spec);
        self.window = Window::new(INITIAL_WINDOW, &self.params);
        self.control.algorithm().on_start(&mut self.window, INITIAL_WINDOW);
        (self.pacer, self.path_from, self.timer_from) = (Pacer::default(), self.next_number, now);
        (self.srtt, self.deviation) = (Duration::ZERO, Duration::ZERO);
        (self.shortest_rtt, self.episode, self.recovery_point) = (Duration::MAX, None, 0);
        let counts = policy == PathPolicy::CountLost;
        if counts {
            self.waiting.extend(std::mem::take(&mut self.under_way).into_values());
        }
        Some(if counts { self.in_flight() } else { 0 })
    }
}

/// It acknowledges every second segment, a single one after 100 ms, and one out of order immediately.
#[derive(Default)]
pub(crate) struct Receiver {
    next: u32,
    ahead: BTreeSet<u32>,
    unreported: Vec<Segment>,
    due: Option<Time>,
}

impl Receiver {
    /// A segment arrives. True if it is no copy.
    pub fn on_segment(&mut self, segment: Segment, now: Time) -> bool {
        let fresh = segment.seq >= self.next && self.ahead.insert(segment.seq);
        let in_order = segment.seq == self.next && self.ahead.len() == 1;
        while self.ahead.remove(&self.next) {
            self.next += 1;
        }
        self.unreported.push(segment);
        let at_once = !in_order || segment.seq == 0 || self.unreported.len() > 1;
        self.due = Some(if at_once { now } else { now + LONGEST_ACK_DELAY });
        fresh
    }

    pub fn next_deadline(&self) -> Option<Time> {
        self.due
    }

    /// The ACK that goes out at `now`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Vec<Segment>> {
        self.due.take_if(|due| *due <= now).map(|_| std::mem::take(&mut self.unreported))
    }
}
