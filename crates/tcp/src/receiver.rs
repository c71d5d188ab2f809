//! The receiving end: cumulative ACKs, immediate or delayed (RFC 1122 §4.2.3.2, RFC 5681 §4.2).

use crate::control_packets::ControlPackets;
use crate::params::{Handshake, TcpParams};
use crate::short_cut::ShortCut;
use crate::timers::Timer;
use crate::{Autotuning, QuickAcks, Segment, StampedAck};
use roamlab_engine::{Bytes, Duration, Time, prefetch};
use roamlab_packet::{AccEcnOption, BareTcpHeader, Ecn, SackBlocks, TcpFlags, TcpHeader, Timestamps};
use roamlab_packet::{Receipt, SeqSet};
use std::collections::VecDeque;
use std::sync::Arc;

mod accurate;
mod echoes;
mod window;

use accurate::{Accurate, Agreed};

/// Bytes of one SACK block (RFC 2018 §3).
const SACK_BLOCK_SIZE: u64 = 8;

/// Least number of segments that a receiver takes ahead of a gap, however narrow its window: ns-2 takes anything.
const MIN_BUFFER: u32 = 65_536;

/// The receiving end of a connection. The fields that every segment in order uses come first, next to each other.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct TcpReceiver {
    pub(super) params: Arc<TcpParams>,
    pub(super) received: SeqSet,
    pub(super) highest_end: u32,
    /// The segment that the last ACK expected: only what it covers or expects is echoed (RFC 7323 §4.3).
    pub(super) last_ack: u32,
    /// The window advertised last.
    pub(super) last_window: u32,
    /// The window advertised while the buffer is empty.
    open_window: u32,
    pub(super) delayed: Timer,
    /// The short cut that the next segment may take, by the last input that may have changed it.
    pub(super) short_cut: ShortCut,
    /// An ACK of everything that has arrived is due, and reports nothing else.
    bare_ack_due: bool,
    pub(super) reads_at_once: bool,
    pub(super) syn_due: bool,
    /// The last segment was marked.
    held_mark: bool,
    /// An ECN-capable segment has arrived, and whether the last segment asks for two quick ACKs.
    seen_ect: bool,
    pub(super) asks_two: bool,
    /// Most SACK blocks of an ACK.
    sack_blocks: u8,
    /// ACKs that are due, before the plain one.
    pub(super) outgoing: VecDeque<Segment>,
    /// Segments from the next expected one on that are taken at most.
    pub(super) takes_ahead: u32,
    pub(super) unread: u32,
    /// When it acknowledges, if not by RFC 5681 §4.2.
    pub(super) quick_acks: Option<Box<QuickAcks>>,
    /// State of the window's growth, if it begins narrow.
    pub(super) autotuning: Option<Box<Autotuning>>,
    /// Counters of accurate ECN, if it is in use.
    accurate: Option<Box<Accurate>>,
    /// Window scale (RFC 7323 §2.2).
    pub(super) shift: Option<u8>,
    /// The SYN did not offer ECN.
    without_ecn: bool,
    fin: Option<u32>,
    echoes: bool,
    /// Each change of the marks is reported.
    reports_marks: bool,
    /// The ECN field of ACKs.
    control_packets: ControlPackets,
    pub(super) repeated: Option<u32>,
    /// The SYN/ACK waits for its ACK, and how often its timer has gone off.
    pub(super) unanswered: Option<u8>,
    /// TS.Recent (RFC 7323 §4.3).
    pub(super) ts_recent: Option<Time>,
    /// A segment of each block to report, the block changed last in front (RFC 2018 §4).
    pub(super) reported: VecDeque<u32>,
}

impl TcpReceiver {
    /// A receiver that has seen nothing.
    pub fn new(params: impl Into<Arc<TcpParams>>) -> TcpReceiver {
        let params = params.into();
        let mut receiver = TcpReceiver {
            received: SeqSet::default(),
            highest_end: 0,
            last_ack: 0,
            last_window: params.window.0,
            open_window: 0,
            delayed: Timer::default(),
            short_cut: ShortCut::None,
            bare_ack_due: false,
            outgoing: VecDeque::with_capacity(1), // almost never more than one: 10^5 flows need the room
            takes_ahead: params.window.0.max(if params.ns2_no_flow_control() { MIN_BUFFER } else { 0 }),
            unread: 0,
            reads_at_once: true,
            quick_acks: params.has_quick_acks().then(|| Box::new(QuickAcks::new(&params))),
            autotuning: params.receive_autotuning.then(|| Box::new(Autotuning::new(&params))),
            accurate: params.accecn.then(|| Box::new(Accurate::default())),
            shift: TcpReceiver::shift_for(&params).map(|shift| shift as u8),
            syn_due: false,
            without_ecn: false,
            fin: None,
            echoes: false,
            reports_marks: params.congestion_control.properties().needs_ecn,
            control_packets: ControlPackets::of(&params),
            held_mark: false,
            seen_ect: false,
            asks_two: false,
            repeated: None,
            unanswered: None,
            ts_recent: None,
            // RFC 7323 §3: with timestamps there is room for three.
            sack_blocks: params.sack_blocks.min(if params.timestamps { 3 } else { 4 }) as u8,
            reported: VecDeque::new(),
            params,
        };
        receiver.open_window = receiver.advertised();
        receiver
    }

    /// The receiver of a new connection like this one.
    #[must_use]
    pub fn anew(&self) -> TcpReceiver {
        TcpReceiver::new(Arc::clone(&self.params))
    }

    /// Brings what every segment in order reads into the cache.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(&self.params);
        prefetch(&self.delayed);
        prefetch(&self.repeated);
        prefetch(&self.outgoing);
    }

    /// A segment arrived. Copies and segments beyond a gap are acknowledged immediately, with a duplicate ACK.
    #[inline]
    pub fn on_segment(&mut self, header: &TcpHeader, ecn: Ecn, now: Time) -> Receipt {
        if let Some(bare) = header.bare()
            && let Some(ack_due) = self.on_bare_segment(&bare, now)
        {
            self.bare_ack_due = ack_due;
            return Receipt { fresh: true, in_order_segments: 1, out_of_order: false };
        }
        if let Some((bare, stamps)) = header.stamped()
            && let Some(ack) = self.on_stamped_segment(&bare, stamps, now)
        {
            if ack == StampedAck::Now {
                self.queue_stamped_ack(now);
            }
            return Receipt { fresh: true, in_order_segments: 1, out_of_order: false };
        }
        let receipt = self.on_any_segment(header, ecn, now);
        self.short_cut = if self.allows_fast_path() {
            ShortCut::Bare
        } else if self.allows_stamped() {
            ShortCut::Stamped
        } else {
            ShortCut::None
        };
        receipt
    }

    /// True if the agreed options and the state are usual: everything that arrived is in order, and an ACK would report
    /// no more.
    fn allows_fast_path(&self) -> bool {
        let nothing_held = self.received.is_bare() && self.reads_at_once && self.unread == 0;
        let nothing_to_say = self.ts_recent.is_none() && self.reported.is_empty();
        let agreed = !self.params.ecn
            && !self.params.timestamps
            && self.quick_acks.is_none()
            && self.autotuning.is_none()
            && self.params.window.0 > 0;
        let open = self.received.base() > 0 && !self.has_signs();
        agreed && open && nothing_held && nothing_to_say
    }

    /// True if a SYN or FIN is yet to be processed.
    pub(super) fn has_signs(&self) -> bool {
        self.fin.is_some() || self.syn_due || self.unanswered.is_some()
    }

    /// True if the segment is the next one expected, and has data and nothing else.
    #[inline(always)]
    pub(super) fn takes_fast_path(&self, header: &BareTcpHeader) -> bool {
        self.short_cut == ShortCut::Bare
            && header.seq == self.received.base()
            && header.seq < u32::MAX
            && header.payload > 0
            && (header.flags == TcpFlags::default() || header.flags == TcpFlags::ACK)
            && !self.bare_ack_due
    }

    /// Takes a segment without options, if it is the next one expected, has data and nothing else, and the state is
    /// usual. True if an ACK is due, which [`bare_ack`](Self::bare_ack) makes. `None`, and no change: it is one for
    /// [`on_segment`](Self::on_segment).
    #[inline(always)]
    pub fn on_bare_segment(&mut self, header: &BareTcpHeader, now: Time) -> Option<bool> {
        if !self.takes_fast_path(header) {
            return None;
        }
        self.received.push();
        self.highest_end = self.received.base();
        self.repeated = None;
        if self.params.delayed_ack > Duration::ZERO && !self.delayed.runs() {
            self.delayed.start(now, self.params.delayed_ack);
            return Some(false);
        }
        self.delayed.stop();
        self.last_ack = self.received.base();
        self.last_window = self.open_window;
        Some(true)
    }

    /// The ACK that reports only the next segment expected, and its size on the wire.
    #[inline(always)]
    pub fn bare_ack(&self) -> (BareTcpHeader, Bytes) {
        let (ack, window) = (self.received.base(), self.open_window);
        let header = BareTcpHeader { ack, flags: TcpFlags::ACK, window, ..BareTcpHeader::default() };
        (header, self.params.ack_size)
    }

    fn take_bare_ack(&mut self) -> Segment {
        self.bare_ack_due = false;
        let (header, size) = self.bare_ack();
        Segment { header: header.into(), size, ecn: Ecn::NotEct }
    }

    /// A segment of any kind arrived.
    #[inline(never)]
    fn on_any_segment(&mut self, header: &TcpHeader, ecn: Ecn, now: Time) -> Receipt {
        self.queue_bare_ack();
        let expected = self.received.base();
        let [syn, fin] = [TcpFlags::SYN, TcpFlags::FIN].map(|flag| header.flags.has(flag));
        if self.unanswered.is_some() && !syn {
            (self.unanswered, self.delayed) = (None, Timer::default());
        }
        let out_of_order = header.seq < self.highest_end;
        if !self.accepts(header, now) {
            return Receipt { fresh: false, in_order_segments: 0, out_of_order };
        }
        self.note_timestamps(header);
        let mark_changes = self.note_congestion(header, ecn, now);
        let (fresh, advanced) = self.received.take(header.seq);
        let flushes = self.flushes_for_block(header.seq);
        if flushes {
            self.acknowledge(now);
        }
        self.remember_block(header.seq);
        // RFC 2018 §3: blocks are of an established connection.
        let reports_copies = self.params.dsack && !(syn && self.params.handshake == Handshake::ThreeWay);
        self.repeated = (reports_copies && !fresh).then_some(header.seq);
        self.highest_end = self.highest_end.max(header.seq + 1);
        self.fin = if fin { Some(header.seq) } else { self.fin };
        let signs = u32::from(syn && advanced > 0) + u32::from(self.closed() && advanced > 0);
        let in_order_segments = advanced.saturating_sub(signs);
        self.unread += if self.reads_at_once { 0 } else { in_order_segments };
        let widens = self.tune(header, fresh, now);
        self.syn_due |= syn || (self.params.ns2_first_is_syn() && header.flags.has(TcpFlags::ECE));
        if flushes {
            self.widened(widens); // its own ACK is not due any more
        } else if self.quick_acks.is_some() {
            let fills_gap = self.highest_end > header.seq + 1;
            let arrival = self.arrival(header, [fresh, fills_gap, widens], expected);
            self.acknowledge_in_order(&arrival, advanced, [syn || fin, mark_changes], now);
        } else if !mark_changes && self.may_wait(header, expected) {
            self.delayed.start(now, self.params.delayed_ack);
        } else {
            self.acknowledge(now);
        }
        Receipt { fresh, in_order_segments, out_of_order }
    }

    /// True if a segment is accepted; otherwise its answer, if it has one, is sent. RFC 9293 §3.10.7.4: only segments in the
    /// window are accepted. The others are answered, except ACKs in place.
    #[inline]
    fn accepts(&mut self, header: &TcpHeader, now: Time) -> bool {
        let expected = self.received.base();
        let [syn, fin] = [TcpFlags::SYN, TcpFlags::FIN].map(|flag| header.flags.has(flag));
        let bare = header.payload == 0 && !syn && !fin && header.flags.has(TcpFlags::ACK);
        let beyond = header.seq >= expected.saturating_add(self.takes_ahead);
        let closed = self.unread >= self.buffer() && header.seq >= expected;
        let needs_room =
            !(self.params.takes_bare_fin() && fin && header.payload == 0 && header.seq == expected);
        if bare || beyond || (closed && needs_room) {
            if expected == 1 && self.params.completes_handshake() {
                self.complete_handshake(now);
            }
            if beyond || !bare || header.seq < expected {
                self.acknowledge(now);
            }
            return false;
        }
        // RFC 7323 §5.3 R1 (PAWS): older than what was accepted last. ns-2 has none.
        let is_old = header.timestamps.is_some_and(|timestamps| Some(timestamps.value) < self.ts_recent);
        let is_refused = is_old && self.params.timestamps && !self.params.ns2_no_paws();
        if is_refused {
            self.acknowledge(now);
        }
        !is_refused
    }

    /// Notes the time that ACKs echo (RFC 7323 §4.3).
    #[inline]
    fn note_timestamps(&mut self, header: &TcpHeader) {
        if let Some(timestamps) = header.timestamps
            && (self.params.echo_latest
                || (header.seq <= self.last_ack && self.ts_recent <= Some(timestamps.value)))
            && !self.only_answers(header.seq)
            && !self.repeats_answer(header.flags.has(TcpFlags::SYN))
        {
            self.ts_recent = Some(timestamps.value);
        }
    }

    /// RFC 5681 §4.2: only the ACK of the next expected segment that fills no part of a gap may wait, one at a time.
    #[inline]
    fn may_wait(&self, header: &TcpHeader, expected: u32) -> bool {
        let fills_gap = self.highest_end > header.seq + 1;
        let syn = header.flags.has(TcpFlags::SYN);
        let first =
            self.params.immediate_first_ack && (syn || (self.params.ns2_first_is_syn() && header.seq == 0));
        let plain = !first && !header.flags.has(TcpFlags::FIN) && !self.delayed.runs();
        let is_last_copy = self.params.ns2_copy_is_in_order() && header.seq + 1 == expected;
        let in_order = header.seq == expected || is_last_copy;
        self.params.delayed_ack > Duration::ZERO && in_order && !fills_gap && plain
    }
    /// True if everything up to the other end's FIN has arrived.
    pub fn closed(&self) -> bool {
        self.fin.is_some_and(|fin| self.received.base() > fin)
    }

    /// The parameters of the connection.
    pub fn params(&self) -> &TcpParams {
        &self.params
    }

    /// The next ACK to send; call until `None`.
    #[inline]
    pub fn poll_transmit(&mut self, _now: Time) -> Option<Segment> {
        if !self.outgoing.is_empty() {
            return self.outgoing.pop_front();
        }
        self.bare_ack_due.then(|| self.take_bare_ack())
    }

    /// When a held-back ACK has to go.
    #[inline]
    pub fn next_deadline(&self) -> Option<Time> {
        let held = self.quick_acks.as_ref().map(|rules| rules.held_until).unwrap_or_default();
        self.delayed.earlier(&held).deadline()
    }

    /// The time of a deadline has come; an early wake-up is a no-op.
    pub fn on_deadline(&mut self, now: Time) {
        let delayed = self.delayed.expired(now);
        if delayed && self.unanswered.is_some() {
            return self.answer_again(now);
        }
        let held = self.quick_acks.as_mut().and_then(|rules| rules.on_deadline(delayed, now));
        if delayed {
            self.acknowledge(now);
        } else if let Some(stamp) = held {
            self.acknowledge(stamp);
        }
    }

    /// The next segment expected: everything below has arrived.
    pub fn next_expected(&self) -> u32 {
        self.received.base()
    }

    /// True if the segment has arrived.
    pub fn has(&self, seq: u32) -> bool {
        self.received.contains(seq)
    }

    /// Puts the plain ACK that is due among the others, before anything else happens.
    pub(super) fn queue_bare_ack(&mut self) {
        if self.bare_ack_due {
            let ack = self.take_bare_ack();
            self.outgoing.push_back(ack);
        }
    }

    /// An ACK goes out of everything that has arrived, with a window of that scale.
    #[inline]
    pub(super) fn note_ack(&mut self, shift: Option<u8>) {
        self.delayed.stop();
        let [_, is_half_full] = self.room();
        if let Some(rules) = &mut self.quick_acks {
            rules.on_ack(is_half_full);
        }
        self.last_ack = self.received.base();
        let bytes = self.bytes_advertised(shift);
        self.last_window = self.in_field(bytes, shift);
        if let Some(tuning) = &mut self.autotuning {
            tuning.advertised(bytes, self.received.base());
        }
    }

    /// An ACK goes out; its timestamp is `now`.
    pub(super) fn acknowledge(&mut self, now: Time) {
        self.queue_bare_ack();
        let mut sacks = SackBlocks::default();
        let stamps = self.params.ack_timestamp_bytes();
        let room = self.accurate.as_ref().map_or(usize::MAX, |accurate| accurate.sack_blocks(stamps));
        if let Some(seq) = self.repeated.take() {
            sacks.push(seq, seq + 1); // RFC 2883 §4
        }
        let most = usize::from(self.sack_blocks).min(room).saturating_sub(sacks.as_slice().len());
        for &seq in self.reported.iter().take(most) {
            sacks.push(self.received.run_start(seq), self.received.first_missing(seq));
        }
        let blocks = sacks.as_slice().len() as u64;
        let mut option = if blocks == 0 { 0 } else { self.params.sack_bytes() + SACK_BLOCK_SIZE * blocks };
        option += stamps;
        let syn_due = std::mem::take(&mut self.syn_due);
        let three_way = self.params.handshake == Handshake::ThreeWay;
        let is_syn_ack = syn_due && three_way;
        option += if is_syn_ack { self.params.syn_options() } else { 0 };
        let syn = if is_syn_ack { TcpFlags::SYN } else { TcpFlags::default() };
        let mut flags = TcpFlags::ACK.with(syn).with(self.echo(syn_due));
        let accecn = match &mut self.accurate {
            Some(accurate) if syn_due => accurate.on_syn_ack(),
            Some(accurate) => accurate.on_ack(option),
            None => AccEcnOption::default(),
        };
        option += accecn.padded_size();
        if self.closed() && three_way {
            flags = flags.with(TcpFlags::FIN); // nothing to send this way: closed immediately
        }
        // RFC 7323 §2.2: the window of a SYN is never scaled.
        let shift = if is_syn_ack { self.shift.map(|_| 0) } else { self.shift };
        self.note_ack(shift);
        let header = TcpHeader {
            ack: self.received.base(),
            flags,
            window: self.last_window,
            sacks,
            timestamps: self.ts_recent.map(|echo| Timestamps { value: now, echo }),
            accecn,
            ..TcpHeader::default()
        };
        let size = Bytes(self.params.ack_size.0 + option);
        let ecn = match &self.accurate {
            _ if header.flags.has(TcpFlags::SYN) => self.control_packets.syn,
            Some(accurate) if accurate.agreed() == Agreed::Nothing => Ecn::NotEct,
            _ if self.without_ecn => Ecn::NotEct,
            _ => self.control_packets.others,
        };
        self.outgoing.push_back(Segment { header, size, ecn });
        if is_syn_ack {
            self.await_third_segment(now);
        }
    }

    /// Puts the block of a segment that arrived in front of those to report, and forgets the blocks that it contains.
    fn remember_block(&mut self, seq: u32) {
        let base = self.received.base();
        if seq < base && self.reported.is_empty() {
            return;
        }
        let swallowed =
            if seq < base { 0..0 } else { self.received.run_start(seq)..self.received.first_missing(seq) };
        self.reported.retain(|other| *other >= base && !swallowed.contains(other));
        if seq >= base {
            self.reported.push_front(seq);
        }
        let keeps_fourth = self.params.keeps_fourth_block();
        let kept = if keeps_fourth { self.params.sack_blocks.min(4) } else { self.sack_blocks.into() };
        self.reported.truncate(kept as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpProfile, TcpSpec};

    fn data(seq: u32) -> TcpHeader {
        TcpHeader { seq, payload: 512, ..TcpHeader::default() }
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn receiver(delay: Duration) -> TcpReceiver {
        let spec = TcpSpec { delayed_ack: Some(delay), ..TcpSpec::default() };
        TcpReceiver::new(spec.resolve(Profile::Rfc).unwrap())
    }

    fn acks(receiver: &mut TcpReceiver, now: Time) -> Vec<u32> {
        std::iter::from_fn(|| receiver.poll_transmit(now)).map(|segment| segment.header.ack).collect()
    }

    #[test]
    fn every_segment_is_acknowledged_and_copies_twice() {
        let mut receiver = receiver(Duration::ZERO);
        let receipts: Vec<Receipt> =
            [0, 2, 3, 1, 1].map(|seq| receiver.on_segment(&data(seq), Ecn::NotEct, at(0))).into();
        assert_eq!(acks(&mut receiver, at(0)), [1, 1, 1, 4, 4]);
        let delivered: Vec<_> =
            receipts.iter().map(|r| (r.fresh, r.in_order_segments, r.out_of_order)).collect();
        let late = (true, 3, true);
        assert_eq!(delivered, [(true, 1, false), (true, 0, false), (true, 0, false), late, (false, 0, true)]);
    }

    #[test]
    fn a_delayed_ack_goes_with_the_second_segment_or_the_deadline() {
        let mut receiver = receiver(Duration::from_millis(100));
        receiver.on_segment(&data(0), Ecn::NotEct, at(0));
        assert_eq!((acks(&mut receiver, at(0)), receiver.next_deadline()), (vec![], Some(at(100))));
        receiver.on_segment(&data(1), Ecn::NotEct, at(40));
        assert_eq!((acks(&mut receiver, at(40)), receiver.next_deadline()), (vec![2], None));
        receiver.on_segment(&data(2), Ecn::NotEct, at(50));
        receiver.on_deadline(at(149));
        assert_eq!(acks(&mut receiver, at(149)), Vec::<u32>::new(), "an early wake-up is a no-op");
        receiver.on_deadline(at(150));
        assert_eq!(acks(&mut receiver, at(150)), [3]);
        // 3 fills a part of the gap only, and leaves 4 missing.
        for (seq, expected) in [(5, 3), (3, 4), (4, 6)] {
            receiver.on_segment(&data(seq), Ecn::NotEct, at(200));
            assert_eq!(
                acks(&mut receiver, at(200)),
                [expected],
                "a gap, and its filling, are acknowledged immediately"
            );
        }
    }

    /// `tcp_cleanup_rbuf`.
    #[test]
    fn to_linux_a_pushed_segment_is_acknowledged_when_it_is_read_unless_there_is_a_gap() {
        let profile = TcpProfile { receive_autotuning: Some(false), ..Profile::Linux6.into() };
        let mut receiver = TcpReceiver::new(TcpSpec::default().resolve(profile).unwrap());
        let mut after = |seq: u32, flags: TcpFlags| {
            receiver.on_segment(&TcpHeader { flags, ..data(seq) }, Ecn::NotEct, at(200 + u64::from(seq)));
            acks(&mut receiver, at(200 + u64::from(seq)))
        };
        after(0, TcpFlags::SYN);
        (1..=16).for_each(|seq| assert_eq!(after(seq, TcpFlags::ACK), [seq + 1], "quick ACKs"));
        let pushed = TcpFlags::ACK.with(TcpFlags::PSH);
        assert_eq!([after(17, TcpFlags::ACK), after(18, TcpFlags::ACK)], [vec![], vec![19]]);
        assert_eq!([after(19, pushed), after(20, TcpFlags::ACK)], [vec![20], vec![]]);
        assert_eq!(after(22, TcpFlags::ACK), [21], "behind a gap");
    }
}
