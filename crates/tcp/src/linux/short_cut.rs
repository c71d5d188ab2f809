//! The short cut of this dialect at both ends: the next segment in order, and the ACK of new data, with timestamps and no other
//! option, while nothing unusual is in progress.
//!
//! It saves tests and changes no result, as the [fast path](crate::sender::fast_path) of segments without options does: after an input
//! both ends are in the same state as after the general way.

use super::autotuning::Received;
use super::quick_acks::{AckTime, Arrival};
use crate::Segment;
use crate::params::{Handshake, TcpParams};
use crate::receiver::TcpReceiver;
use crate::recovery::Recovery;
use crate::sender::TcpSender;
use crate::short_cut::{ShortCut, StampedAck};
use roamlab_congestion::whole_micros;
use roamlab_engine::{Bytes, Time};
use roamlab_packet::{BareTcpHeader, Ecn, SackBlocks, TcpFlags, TcpHeader, Timestamps};

impl TcpParams {
    /// True if the agreed options permit the short cut.
    fn agrees_to_stamps_alone(&self) -> bool {
        self.timestamps
            && !self.ecn
            && !self.accecn
            && !self.echo_latest
            && self.handshake == Handshake::ThreeWay
            && !self.is_ns2()
    }
}

impl TcpSender {
    /// True if the agreed options permit the short cut, and RACK has nothing unusual.
    pub(crate) fn allows_stamped(&self) -> bool {
        let (state, params) = (&self.state, &self.state.params);
        let Recovery::Rack(rack) = &self.recovery else { return false };
        params.agrees_to_stamps_alone()
            && params.forms_bursts()
            && params.delivers_by_blocks()
            && params.measures_before_losses()
            && !params.stale_rto_on_restart
            && params.max_burst.0 == 0
            && state.buffer.is_some()
            && !state.goes_back()
            && !state.waits_for_timer
            && rack.allows_stamped()
    }

    /// True if the segment is an ACK of new data and nothing else.
    #[inline]
    pub(crate) fn takes_stamped(&self, header: &BareTcpHeader, stamps: Timestamps) -> bool {
        self.short_cut == ShortCut::Stamped && stamps.value >= self.ts_recent && self.advances(header)
    }

    /// As [`on_bare_ack`](Self::on_bare_ack), for an ACK with timestamps. The segments that it permits come from
    /// [`next_stamped`](Self::next_stamped), after which [`end_stamped`](Self::end_stamped) is to be called.
    pub fn on_stamped_ack(&mut self, header: &BareTcpHeader, stamps: Timestamps, now: Time) -> bool {
        if !self.takes_stamped(header, stamps) {
            return false;
        }
        let Recovery::Rack(rack) = &mut self.recovery else { return false };
        self.ts_recent = stamps.value;
        let state = &mut self.state;
        state.peer_end = header.ack.saturating_add(header.window);
        (state.echo, state.ece) = (Some(stamps.echo), false);
        let sizes = state.window.sizes();
        let before = state.flight_size();
        let delivered = state.acknowledge(header.ack, now);
        let recorded = match &mut state.sent_segments {
            Some(sent) => {
                let stamp = if state.params.records_micros() { whole_micros(now) } else { now };
                sent.on_ack(header.ack, &SackBlocks::NONE, stamp)
            }
            None => delivered,
        };
        rack.on_stamped_ack(state, before, now);
        state.window.leaving.end();
        state.acknowledge_in_buffer(header.window, &SackBlocks::NONE);
        state.grow_by(&recorded, now);
        state.window.leaving.waited = false;
        state.renew_quota();
        if state.window.sizes() != sizes {
            state.defer_growth(now);
        }
        self.follow();
        true
    }

    /// The next segment with data, if one may leave now. To be asked on the short cut alone, behind
    /// [`on_stamped_ack`](Self::on_stamped_ack) or [`on_pacing_deadline`](Self::on_pacing_deadline), until it gives `None`.
    #[inline(always)]
    pub fn next_stamped(&mut self, now: Time) -> Option<BareTcpHeader> {
        let Recovery::Rack(rack) = &mut self.recovery else { return None };
        let state = &mut self.state;
        let seq = loop {
            // Nothing is lost or reported: all outstanding segments are in flight.
            let in_flight = state.flight_size();
            let room = state.usable_window().saturating_sub(in_flight);
            let may_leave = room > 0 && !state.pacing.waits() && state.has_quota();
            if may_leave
                && (state.window.leaving.is_leaving() || !state.burst_waits(room, rack.head_sent(), now))
                && let Some(seq) = state.next_new()
            {
                state.use_quota();
                break seq;
            }
            state.note_usage(in_flight);
            if !state.write(in_flight, false, now) {
                return None;
            }
        };
        let retransmission = state.sent(seq, now);
        state.record_and_pace(seq, retransmission, now);
        rack.on_stamped_sent(state, now);
        let pushes = state.window.leaving.pushes();
        let push = if pushes { TcpFlags::PSH } else { TcpFlags::default() };
        let payload = state.params.segment.0 as u32;
        Some(BareTcpHeader {
            seq,
            ack: 1,
            flags: TcpFlags::ACK.with(push),
            payload,
            window: 0,
            retransmission,
        })
    }

    /// All segments of [`next_stamped`](Self::next_stamped) are sent. `has_sent`: there was one. `by_ack`: an ACK permitted them,
    /// and not the end of a wait of pacing.
    pub fn end_stamped(&mut self, by_ack: bool, has_sent: bool, now: Time) {
        if has_sent || by_ack {
            self.arm_stamped(has_sent, now);
        }
        self.state.end_quota(now);
    }

    /// Arms the probe behind an ACK, or behind what was sent.
    #[inline]
    pub(crate) fn arm_stamped(&mut self, has_sent: bool, now: Time) {
        if let Recovery::Rack(rack) = &mut self.recovery {
            let head_sent = if has_sent { rack.head_sent() } else { None };
            rack.arm_probe(&mut self.state, head_sent, now);
        }
    }

    /// True if the next segments come from [`next_stamped`](Self::next_stamped).
    #[inline]
    pub fn is_stamped(&self) -> bool {
        self.short_cut == ShortCut::Stamped
    }

    /// The timestamps of a segment that goes out now.
    #[inline]
    pub fn stamps(&self, now: Time) -> Timestamps {
        Timestamps { value: now, echo: self.ts_recent }
    }

    /// Bytes on the wire of a segment with data.
    #[inline]
    pub fn data_size(&self, seq: u32) -> Bytes {
        self.state.params.data_size(seq)
    }
}

impl TcpReceiver {
    /// True if the agreed options and the state permit the short cut.
    pub(crate) fn allows_stamped(&self) -> bool {
        let params = &self.params;
        let plain = self.received.is_bare()
            && self.received.base() > 0
            && self.reported.is_empty()
            && self.ts_recent.is_some()
            && !self.has_signs();
        let reads = self.reads_at_once && self.unread == 0;
        let tuned = self.autotuning.as_ref().is_some_and(|tuning| tuning.is_plain());
        let agreed = params.agrees_to_stamps_alone() && self.quick_acks.is_some();
        agreed && tuned && plain && reads && !self.asks_two && self.takes_ahead > 0 && self.buffer() > 0
    }

    /// True if the segment is the next one expected, and has data and nothing else.
    #[inline]
    pub(crate) fn takes_stamped(&self, header: &BareTcpHeader, stamps: Timestamps) -> bool {
        let pushed = TcpFlags::ACK.with(TcpFlags::PSH);
        self.short_cut == ShortCut::Stamped
            && header.seq == self.received.base()
            && header.seq < u32::MAX
            && header.payload > 0
            && (header.flags == TcpFlags::ACK || header.flags == pushed)
            && Some(stamps.value) >= self.ts_recent
    }

    /// As [`on_bare_segment`](Self::on_bare_segment), for a segment with timestamps.
    pub fn on_stamped_segment(
        &mut self,
        header: &BareTcpHeader,
        stamps: Timestamps,
        now: Time,
    ) -> Option<StampedAck> {
        if !self.takes_stamped(header, stamps) {
            return None;
        }
        if header.seq <= self.last_ack {
            self.ts_recent = Some(stamps.value);
        }
        self.received.push();
        let expected = self.received.base();
        (self.highest_end, self.repeated) = (expected, None);
        let (Some(tuning), Some(rules)) = (&mut self.autotuning, &mut self.quick_acks) else { return None };
        let echo = Some(stamps.echo);
        let segment = Received { now, echo, seq: header.seq, expected, unread: 0, fresh: true };
        let widens = tuning.on_data(&segment);
        let arrival = Arrival {
            in_order: true,
            is_copy: false,
            is_old: false,
            is_read: true,
            pushed: header.flags.has(TcpFlags::PSH),
            widens,
            keeps_window: tuning.keeps_window(self.shift.unwrap_or(0)),
            is_half_full: tuning.is_half_full(),
            asks_two: false,
            gap: false,
            closes_gap: false,
            expected,
            last_ack: self.last_ack,
            round_trip: None,
        };
        let time = rules.on_data(&arrival, now);
        self.delay_ack(time, now);
        let at_once = time == AckTime::Now;
        if at_once {
            self.note_ack(self.shift);
        }
        if !self.is_read(1, now) && !matches!(time, AckTime::WhenRead(_)) {
            return Some(if at_once { StampedAck::Now } else { StampedAck::Later });
        }
        if at_once {
            self.queue_stamped_ack(now);
        }
        self.note_ack(self.shift);
        if !at_once {
            return Some(StampedAck::Now);
        }
        self.queue_stamped_ack(now);
        Some(StampedAck::Queued)
    }

    /// The ACK that reports only the next segment expected and the time, and its size on the wire.
    #[inline]
    pub fn stamped_ack(&self, now: Time) -> (BareTcpHeader, Timestamps, Bytes) {
        let (ack, window) = (self.received.base(), self.last_window);
        let header = BareTcpHeader { ack, flags: TcpFlags::ACK, window, ..BareTcpHeader::default() };
        let stamps = Timestamps { value: now, echo: self.ts_recent.unwrap_or(now) };
        (header, stamps, Bytes(self.params.ack_size.0 + self.params.ack_timestamp_bytes()))
    }

    pub(crate) fn queue_stamped_ack(&mut self, now: Time) {
        let (header, stamps, size) = self.stamped_ack(now);
        let header = TcpHeader { timestamps: Some(stamps), ..header.into() };
        self.outgoing.push_back(Segment { header, size, ecn: Ecn::NotEct });
    }
}
