//! A connection of a qlog: its packets with their fates, and the times in which nothing was acknowledged.

use crate::qlog::dialect::{Event, Kind, Metrics};
use crate::why::cause::median;
use std::collections::{BTreeMap, VecDeque};

/// A silence that is shorter is no stall.
pub const LEAST_NS: i64 = 200_000_000;
/// A smaller packet of which the frames are unknown is taken for an acknowledgement.
const LEAST_DATA: u64 = 200;
/// Times of other events that are kept of a connection.
const MOST_TIMES: usize = 1_000_000;
/// Round trips by which their unit is found.
const MOST_TRIED: u32 = 2_000;
/// Sendings in which their begin is searched.
const MOST_RECENT: usize = 8_192;
/// Two instants that may be the same one, as a log rounds them.
const SAME_NS: i64 = 700_000;
/// The part of what is outstanding that acknowledgements of before a silence may acknowledge within it.
const HELD_BACK: f64 = 0.25;
/// They end a silence for at most this time.
const RIPPLE_NS: i64 = 50_000_000;

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Nothing is known; if the log has no acknowledgements it arrived.
    Open,
    /// It was acknowledged.
    Acked,
    /// It was declared lost.
    Lost,
    /// It was declared lost, and had arrived.
    Needless,
}

/// A packet with data that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When it was sent.
    pub sent_ns: i64,
    /// When its fate was known.
    pub told_ns: i64,
    /// Its bytes.
    pub bytes: u32,
    /// Its fate.
    pub fate: Fate,
}

/// A time in which nothing new was acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Silence {
    /// Its begin.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
    /// Bytes that were outstanding at its begin.
    pub bytes: u64,
    /// It begins with a packet behind a pause: the answer takes a round trip.
    pub is_first: bool,
    /// Flow control blocked the sender.
    pub is_blocked: bool,
    /// The log ended before it did.
    pub is_cut: bool,
}

/// A packet that was received.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub time_ns: i64,
    /// Its number, and the space of it.
    pub number: (u64, u64),
}

/// Seconds of the time that the sender was limited by something: its window on a full path, the window alone, the
/// application, flow control.
#[derive(Clone, Copy, Default, Debug)]
pub struct Spent {
    /// The application had nothing to send.
    pub application: f64,
    /// Flow control.
    pub receiver: f64,
    /// The window was full.
    pub window: f64,
    /// Losses were declared in the round trip before.
    pub recovery: f64,
    /// All of the time.
    pub all: f64,
}

/// A connection.
#[derive(Default)]
pub struct Connection {
    /// Packets with data that were sent, in the order of sending.
    pub packets: Vec<Packet>,
    /// Times at which packets were sent last, with data or without.
    recent: VecDeque<i64>,
    outstanding: BTreeMap<(u64, u64), u32>,
    lost: BTreeMap<(u64, u64), u32>,
    open_bytes: u64,
    /// An acknowledgement was in the log.
    pub has_acks: bool,
    /// The frames of a packet were in the log.
    has_frames: bool,
    /// Bytes in flight by the sender's own count, and what was sent and lost since.
    flight: (u64, u64, u64),
    /// The congestion window.
    window: u64,
    /// Round trips in the unit of the log.
    pub rtts: Vec<(i64, f64)>,
    /// How many round trips fit a packet's sending if they are in s, ms or µs, and how many were tried.
    fits: ([u32; 3], u32),
    /// When probe timeouts expired.
    pub probes: Vec<i64>,
    /// When the path changed.
    pub paths: Vec<i64>,
    /// Packets that were received.
    pub arrivals: Vec<Arrival>,
    /// Bytes that were sent and received.
    pub bytes: [u64; 2],
    /// Packets that were sent and received.
    pub counts: [u64; 2],
    /// Silences that may be stalls.
    pub silences: Vec<Silence>,
    waiting: Option<(i64, u64, bool)>,
    blocked: Option<i64>,
    is_idle_told: bool,
    last_loss: Option<i64>,
    timeouts: u64,
    /// Limits over time.
    pub spent: Spent,
    /// First and last event.
    pub span: Option<(i64, i64)>,
}

impl Connection {
    /// Takes an event.
    pub fn take(&mut self, time: i64, event: &Event) {
        let (first, last) = self.span.unwrap_or((time, time));
        let time = time.max(last);
        self.spend(last, time);
        self.span = Some((first, time));
        self.has_frames |= event.is_data.is_some();
        match event.kind {
            Kind::Sent => self.sent(time, event),
            Kind::Received => self.received(time, event),
            Kind::Acked => self.acked(time, event),
            Kind::Lost => self.lost(time, event),
            Kind::Spurious => self.spurious(event),
            Kind::Metrics => self.metrics(time, event.metrics),
            Kind::Expired => keep(&mut self.probes, time),
            Kind::Path => keep(&mut self.paths, time),
            Kind::Blocked => self.block(time),
            Kind::Limited(is_idle) => self.is_idle_told = is_idle,
            Kind::Other => {}
        }
        if event.is_challenge {
            keep(&mut self.paths, time);
        }
    }

    fn sent(&mut self, time: i64, event: &Event) {
        self.bytes[0] = self.bytes[0].saturating_add(event.bytes);
        self.counts[0] += 1;
        if self.recent.len() == MOST_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(time);
        if event.is_blocked {
            self.block(time);
        }
        if !event.is_data.unwrap_or(event.bytes >= LEAST_DATA) {
            return;
        }
        if let Some(since) = self.blocked.take() {
            self.silence(since, time, 0, (false, true));
        }
        let bytes = u32::try_from(event.bytes).unwrap_or(u32::MAX);
        if let Some(number) = event.number {
            let place = u32::try_from(self.packets.len()).unwrap_or(u32::MAX);
            if let Some(before) = self.outstanding.insert((event.space, number), place) {
                self.close(before, time, Fate::Open);
            }
        }
        self.packets.push(Packet { sent_ns: time, told_ns: i64::MAX, bytes, fate: Fate::Open });
        self.open_bytes += u64::from(bytes);
        self.flight.1 += u64::from(bytes);
        self.waiting.get_or_insert((time, u64::from(bytes), true));
    }

    fn received(&mut self, time: i64, event: &Event) {
        self.bytes[1] = self.bytes[1].saturating_add(event.bytes);
        self.counts[1] += 1;
        if self.arrivals.len() < MOST_TIMES {
            let number = (event.space, event.number.unwrap_or(0));
            self.arrivals.push(Arrival { time_ns: time, number });
        }
        self.acked(time, event);
    }

    fn acked(&mut self, time: i64, event: &Event) {
        let mut acked = Vec::new();
        for (from, to) in &event.acked {
            self.has_acks = true;
            let range = (event.space, *from)..=(event.space, *to);
            acked.extend(self.outstanding.range(range.clone()).map(|(key, place)| (*key, *place)));
            // An acknowledgement of what was declared lost: it had arrived.
            for (_, place) in self.lost.range(range) {
                if let Some(packet) = self.packets.get_mut(*place as usize) {
                    packet.fate = Fate::Needless;
                }
            }
        }
        for (key, place) in &acked {
            self.outstanding.remove(key);
            self.close(*place, time, Fate::Acked);
        }
        if !acked.is_empty() {
            self.progress(time);
        }
    }

    fn close(&mut self, place: u32, time: i64, fate: Fate) {
        if let Some(packet) = self.packets.get_mut(place as usize)
            && packet.told_ns == i64::MAX
        {
            packet.fate = fate;
            packet.told_ns = time;
            self.open_bytes = self.open_bytes.saturating_sub(u64::from(packet.bytes));
        }
    }

    fn lost(&mut self, time: i64, event: &Event) {
        self.last_loss = Some(time);
        let Some(number) = event.number else { return };
        // A sum has the largest number that was lost: the others are the oldest.
        let from = if event.count.is_some() { 0 } else { number };
        let found = self.outstanding.range((event.space, from)..=(event.space, number));
        let most = usize::try_from(event.count.unwrap_or(1)).unwrap_or(usize::MAX);
        let lost: Vec<_> = found.take(most).map(|(key, place)| (*key, *place)).collect();
        for (key, place) in lost {
            self.outstanding.remove(&key);
            self.close(place, time, Fate::Lost);
            self.lost.insert(key, place);
            self.flight.2 += self.packets.get(place as usize).map_or(0, |packet| u64::from(packet.bytes));
        }
    }

    fn spurious(&mut self, event: &Event) {
        if let Some(place) = event.number.and_then(|number| self.lost.get(&(event.space, number)))
            && let Some(packet) = self.packets.get_mut(*place as usize)
        {
            packet.fate = Fate::Needless;
        }
    }

    fn metrics(&mut self, time: i64, metrics: Metrics) {
        if let Some(window) = metrics.window {
            self.window = window;
        }
        if let Some(timeouts) = metrics.timeouts {
            if timeouts > self.timeouts {
                keep(&mut self.probes, time);
            }
            self.timeouts = timeouts;
        }
        // quinn tells its guess before it has sent anything.
        let had_packets = self.counts[0] > 0;
        if let Some(rtt) = metrics.latest_rtt.filter(|_| had_packets) {
            if self.rtts.len() < MOST_TIMES {
                self.rtts.push((time, rtt));
            }
            self.try_units(time, rtt);
        }
        if !self.has_acks && (metrics.in_flight.is_some() || metrics.latest_rtt.is_some()) {
            let (before, sent, lost) = self.flight;
            let expected = (before + sent).saturating_sub(lost);
            let now = metrics.in_flight.unwrap_or(before);
            self.flight = (now, 0, 0);
            if metrics.latest_rtt.is_some() || now + LEAST_DATA <= expected {
                self.progress(time);
            }
        }
    }

    fn try_units(&mut self, time: i64, rtt: f64) {
        if self.fits.1 >= MOST_TRIED {
            return;
        }
        self.fits.1 += 1;
        for (fits, unit_ns) in self.fits.0.iter_mut().zip([1e9, 1e6, 1e3]) {
            let sent = (time as f64 - rtt * unit_ns) as i64;
            let from = self.recent.partition_point(|time| *time < sent.saturating_sub(SAME_NS));
            let near = self.recent.get(from).is_some_and(|time| *time <= sent.saturating_add(SAME_NS));
            // A unit of which a round trip is shorter than the rounding fits always.
            *fits += u32::from(near && rtt * unit_ns > 2.0 * SAME_NS as f64);
        }
    }

    /// Nanoseconds of a unit of the round trips: that by which they begin at the sending of a packet, or `usual`; of a log
    /// without frames, which is quinn's, s.
    ///
    /// qlog has ms; quinn writes s, and picoquic µs.
    pub fn unit_ns(&self, usual: f64) -> f64 {
        let units = self.fits.0.iter().zip([1e9, 1e6, 1e3]);
        let best = units.max_by_key(|(fits, _)| **fits);
        best.filter(|(fits, _)| **fits * 2 > self.fits.1)
            .map_or(if self.has_frames { usual } else { 1e9 }, |(_, unit)| unit)
    }

    fn block(&mut self, time: i64) {
        if self.is_empty() {
            self.blocked.get_or_insert(time);
        }
    }

    fn is_empty(&self) -> bool {
        self.outstanding_bytes() == 0
    }

    fn outstanding_bytes(&self) -> u64 {
        if self.has_acks {
            self.open_bytes
        } else {
            (self.flight.0 + self.flight.1).saturating_sub(self.flight.2)
        }
    }

    fn progress(&mut self, time: i64) {
        if let Some((since, bytes, is_first)) = self.waiting.take() {
            self.silence(since, time, bytes, (is_first, false));
        }
        let bytes = self.outstanding_bytes();
        self.waiting = (bytes > 0).then_some((time, bytes, false));
    }

    fn silence(&mut self, start_ns: i64, end_ns: i64, bytes: u64, (is_first, is_blocked): (bool, bool)) {
        if end_ns - start_ns <= LEAST_NS {
            return;
        }
        // Acknowledgements that waited on a silent path may come within a silence.
        if let Some(last) = self.silences.last_mut()
            && start_ns - last.end_ns <= RIPPLE_NS
            && (last.bytes.saturating_sub(bytes) as f64) < HELD_BACK * last.bytes as f64
            && !is_blocked
            && !last.is_blocked
        {
            last.end_ns = end_ns;
            return;
        }
        self.silences.push(Silence { start_ns, end_ns, bytes, is_first, is_blocked, is_cut: false });
    }

    /// Ends the silence that the log ends in.
    pub fn finish(&mut self) {
        let Some((_, end)) = self.span else { return };
        let open = self.waiting.map(|(since, bytes, is_first)| (since, bytes, is_first, false));
        let open = open.or(self.blocked.map(|since| (since, 0, false, true)));
        if let Some((since, bytes, is_first, is_blocked)) = open
            && end - since > LEAST_NS
        {
            self.silences.push(Silence {
                start_ns: since,
                end_ns: end,
                bytes,
                is_first,
                is_blocked,
                is_cut: true,
            });
        }
    }

    fn spend(&mut self, from: i64, to: i64) {
        let span = (to - from) as f64 / 1e9;
        self.spent.all += span;
        let flight = self.outstanding_bytes();
        let part = if self.blocked.is_some() {
            &mut self.spent.receiver
        } else if flight == 0 || self.is_idle_told {
            &mut self.spent.application
        } else if self.last_loss.is_some_and(|loss| from - loss < LEAST_NS) {
            &mut self.spent.recovery
        } else if self.window > 0 && flight.saturating_add(3000) >= self.window {
            &mut self.spent.window
        } else {
            return;
        };
        *part += span;
    }

    /// Packets that were outstanding at a silence's begin, and those that were sent before its first probe.
    pub fn outstanding_at(&self, silence: &Silence) -> Vec<Packet> {
        // Behind a pause the packets of the first instant belong to what follows.
        let upto = silence.start_ns - i64::from(silence.is_first);
        let from = self.packets.partition_point(|packet| packet.sent_ns <= upto);
        let mut found = Vec::new();
        let mut bytes = 0;
        for packet in self.packets[..from].iter().rev() {
            if bytes >= silence.bytes || silence.is_first {
                break;
            }
            if packet.told_ns > silence.start_ns {
                bytes += u64::from(packet.bytes).max(1);
                found.push(*packet);
            }
        }
        let probe = self.probes.partition_point(|time| *time < silence.start_ns);
        let until = self.probes.get(probe).map_or(silence.end_ns, |time| silence.end_ns.min(*time));
        let later = self.packets[from..].iter().take_while(|packet| packet.sent_ns < until);
        found.extend(later.copied());
        found
    }

    /// The round trips that ended in a time, in ns.
    pub fn rtts_between(&self, from: i64, to: i64, unit_ns: f64) -> Vec<(i64, i64)> {
        let first = self.rtts.partition_point(|(time, _)| *time < from);
        let found = self.rtts[first..].iter().take_while(|(time, _)| *time <= to);
        found.map(|(time, rtt)| (*time, (rtt * unit_ns) as i64)).collect()
    }

    /// True for a log of the end that sends the data, by bytes, or by packets if the sizes of the received are unknown.
    pub fn sends_data(&self) -> bool {
        let ([sent, received], [packets_sent, packets_received]) = (self.bytes, self.counts);
        // A receiver of data sends fewer packets than it gets.
        if sent > 0 && received > 0 { sent > received } else { packets_sent > packets_received }
    }

    /// The least round trip, in ns; 0: unknown.
    pub fn base_ns(&self, unit_ns: f64) -> i64 {
        self.rtts.iter().map(|(_, rtt)| (rtt * unit_ns) as i64).min().unwrap_or(0)
    }

    /// The middle of the round trips before a time, in ns.
    pub fn usual_ns(&self, time: i64, unit_ns: f64) -> Option<i64> {
        median(
            self.rtts_between(time - 2_000_000_000, time, unit_ns).into_iter().map(|(_, rtt)| rtt).collect(),
        )
    }
}

/// Keeps a time once.
fn keep(times: &mut Vec<i64>, time: i64) {
    if times.last() != Some(&time) && times.len() < MOST_TIMES {
        times.push(time);
    }
}
