//! The state of every loss recovery: sequence space, window, timer, and the steps that they share.

use crate::SendBuffer;
use crate::control_packets::ControlPackets;
use crate::params::{Handshake, RecoveryKind, TcpParams};
use crate::recovery::episode::SpuriousWatch;
use crate::recovery::prr::Prr;
use crate::rtt::RttEstimator;
use crate::sender::accurate::Accurate;
use crate::sender::sent_segments::{Delivered, SentSegments};
use crate::timers::Timer;
use roamlab_congestion::{CongestionControl, Pacer, Window};
use roamlab_congestion::{SenderEvent, SenderEventKind};
use roamlab_engine::{Duration, Time, prefetch};
use roamlab_packet::TcpHeader;
use std::collections::VecDeque;
use std::sync::Arc;

mod cuts;
mod echoes;
mod new_path;
mod quota;
mod reports;

/// The cause of the last reduction of the window.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum LastReduction {
    /// Nothing yet.
    None,
    /// Duplicate ACKs.
    DupAcks,
    /// Duplicate ACKs, and the recovery they began is over.
    Exited,
    /// The retransmission timer.
    Timeout,
    /// An echo of congestion.
    Ecn,
}

/// The send quota: how much new data the latest input permits.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum SendQuota {
    /// None.
    Nothing,
    /// One segment beyond the window per duplicate ACK (RFC 3042).
    LimitedTransmit,
    /// All segments that the window allows, up to this number.
    Window(u32),
    /// This number of new segments, independently of cwnd (RFC 5682 §2.1 step 2).
    Beyond(u32),
}

/// The state of a sender that all recoveries share. The fields that every ACK uses come first, next to each other.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct SendState {
    pub params: Arc<TcpParams>,
    pub window: Window,
    /// Segments that duplicate ACKs report to have left the network (ns-2 `dupwnd_`; RFC 5681 §3.2 step 4 adds them to
    /// cwnd itself).
    pub inflation: u32,
    /// First segment not acknowledged.
    pub una: u32,
    /// Next segment to send; falls back to `una` after a timeout (go-back-N).
    pub nxt: u32,
    /// One above the highest segment sent.
    pub snd_max: u32,
    /// One above the last segment the application has given; `u32::MAX` is an unlimited backlog.
    pub end: u32,
    /// One above the highest segment that the receiver's advertised window takes.
    pub peer_end: u32,
    pub quota: SendQuota,
    pub dup_acks: u32,
    /// Segments sent by limited transmit since the last new ACK.
    pub limited_transmits: u32,
    /// When a segment was sent last.
    pub(super) last_sent: Time,
    pub timer: Timer,
    /// The recovery's own timer, if it has one.
    pub recovery_timer: Timer,
    /// Expires to probe a closed window.
    pub persist: Timer,
    /// The segment that is timed.
    timed: Option<u32>,
    /// When it was sent.
    timed_at: Time,
    /// When an ACK on the fast path changed cwnd, if no fact has been made of that yet; otherwise `Time::MAX`.
    grown: Time,
    pub rtt: RttEstimator,
    /// `snd_max` at the last reduction: the window was already reduced for losses below it.
    pub recovery_point: u32,
    pub last_reduction: LastReduction,
    /// The next segment is a probe for the loss of a tail.
    pub probes_tail: bool,
    /// An echo of congestion found a window of one segment: nothing goes before the timer (RFC 3168 §6.1.2).
    pub waits_for_timer: bool,
    /// The next new segment reports to the receiver that the window was cut (CWR).
    pub cwr: bool,
    /// The time that this ACK echoes, if timestamps are in use.
    pub echo: Option<Time>,
    /// An echo of congestion reduces the window in proportion (`TCP_CA_CWR`).
    pub echo_reduction: Option<Box<Prr>>,
    /// This ACK echoes congestion.
    pub ece: bool,
    /// The last echo found a window of at most one segment (ns-2 `ecn_backoff_`).
    ecn_backoff: bool,
    /// The segments in flight are given up with their path: the next timeout is none of the timer.
    pub gives_up: bool,
    /// The segment that timed out last has not gone out since.
    expired: bool,
    /// The ECN field of segments other than new data.
    pub control_packets: ControlPackets,
    /// The SYN/ACK did not agree on ECN.
    pub without_ecn: bool,
    /// The Eifel response took the latest reduction back. The recovery may continue; its proportional reduction does
    /// not.
    pub reverted: bool,
    /// The FIN's number, once the application has closed.
    pub fin: Option<u32>,
    pub probes: u32,
    /// The segment that timed out last.
    timed_out: Option<u32>,
    /// A segment to send again immediately, before anything else.
    pub retransmit: Option<u32>,
    /// Segments below were sent on a path that is no longer used; 0: there is no such path.
    pub path_from: u32,
    /// Segments that ACKs have shown to be lost since the congestion control had an event of an ACK, if segments are recorded.
    lost: u32,
    pub control: CongestionControl,
    /// The segments that this ACK reports, until the congestion control has its event.
    pub delivered: Option<Delivered>,
    /// State of accurate ECN, if it is offered.
    pub accurate: Option<Box<Accurate>>,
    /// A record of each segment outstanding, if the congestion control asks for it.
    pub sent_segments: Option<Box<SentSegments>>,
    /// The buffer into which the application writes, if that is bounded.
    pub(super) buffer: Option<Box<SendBuffer>>,
    pub pacing: Pacer,
    pub spurious: SpuriousWatch,
    /// Cwnd after the first ACK of a connection that begins with a SYN.
    pub initial_window: f64,
    pub timeouts: u32,
    pub reductions: u32,
    facts: VecDeque<SenderEvent>,
}

impl SendState {
    pub fn new(params: Arc<TcpParams>, tick_phase: Duration) -> SendState {
        let initial_window = f64::from(params.initial_window.0);
        let cwnd = if params.handshake == Handshake::None { initial_window } else { 1.0 };
        let window = Window::new(cwnd, &params.for_control());
        let mut control = CongestionControl::new(&params.congestion_control);
        let control_packets = ControlPackets::of(&params);
        let windows = u64::from(control.algorithm().properties().windows_in_buffer);
        SendState {
            buffer: params.has_send_buffer().then(|| Box::new(SendBuffer::new(&params, windows))),
            sent_segments: control.algorithm().records_segments(&window).then(Box::default),
            window,
            inflation: 0,
            una: 0,
            nxt: 0,
            snd_max: 0,
            end: 0,
            peer_end: u32::MAX,
            quota: SendQuota::Nothing,
            dup_acks: 0,
            limited_transmits: 0,
            last_sent: Time::ZERO,
            timer: Timer::default(),
            recovery_timer: Timer::default(),
            persist: Timer::default(),
            timed: None,
            timed_at: Time::ZERO,
            grown: Time::MAX,
            rtt: RttEstimator::new(&params, tick_phase),
            recovery_point: u32::from(params.ns2_first_segment_recovers()),
            last_reduction: LastReduction::None,
            reverted: false,
            path_from: 0,
            gives_up: false,
            without_ecn: false,
            echo: None,
            cwr: false,
            echo_reduction: None,
            ece: false,
            ecn_backoff: false,
            fin: None,
            probes: 0,
            timed_out: None,
            waits_for_timer: false,
            retransmit: None,
            expired: false,
            probes_tail: false,
            control,
            delivered: None,
            control_packets,
            accurate: params.accecn.then(|| Box::new(Accurate::new(control_packets.syn))),
            lost: 0,
            pacing: Pacer::of(params.makes_up_for_late_bursts()),
            spurious: SpuriousWatch::default(),
            initial_window,
            timeouts: 0,
            reductions: 0,
            facts: VecDeque::with_capacity(1), // almost never more than one: 10^5 flows need the room
            params,
        }
    }

    /// Brings what every ACK reads into the cache.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(&self.params);
        prefetch(&self.una);
        prefetch(&self.timer);
        prefetch(&self.timed);
        prefetch(&self.rtt);
        prefetch(&self.recovery_point);
        prefetch(&self.control);
        prefetch(&self.sent_segments);
        prefetch(&self.pacing);
        prefetch(&self.facts);
    }

    /// The number of segments that may be outstanding.
    pub fn usable_window(&self) -> u32 {
        self.window.usable(self.inflation, self.params.window.0)
    }

    /// Segments sent and not acknowledged, retransmissions not counted twice.
    pub fn flight_size(&self) -> u32 {
        self.snd_max - self.una
    }

    /// True if the recovery uses the segments that the receiver holds, as in the RFCs.
    pub fn goes_by_sack(&self) -> bool {
        matches!(self.params.recovery, RecoveryKind::Rfc6675 | RecoveryKind::Fack | RecoveryKind::Rack)
    }

    /// True if the next segment in the order was sent before a timeout.
    pub fn goes_back(&self) -> bool {
        self.nxt < self.snd_max
    }

    /// Book-keeping for a segment that goes out; `true` if it went out before.
    #[inline(always)]
    pub fn sent(&mut self, seq: u32, now: Time) -> bool {
        let retransmission = seq < self.snd_max;
        let resumes = self.flight_size() == 0;
        if resumes && self.reports_resumption() {
            self.control.algorithm().on_resume(&mut self.window, now.since(self.last_sent), now);
        }
        self.last_sent = now;
        let idle = resumes && !self.params.ns2_timer_runs_idle();
        if idle || !self.timer.runs() {
            self.start_timer(now, self.rtt.rto());
        }
        if retransmission {
            self.spurious.sent_again(seq, self.params.spurious_detection);
            // Karn (RFC 6298 §3): a segment that is sent again while it is timed is not measured.
            if !self.params.ns2_ticks() && self.timed == Some(seq) {
                self.timed = None;
            }
        } else {
            self.snd_max = seq + 1;
            if self.timed.is_none() {
                (self.timed, self.timed_at) = (Some(seq), now);
            }
        }
        retransmission
    }

    /// True if the congestion control is notified that a flow resumes.
    pub(super) fn reports_resumption(&self) -> bool {
        let limited = self.sent_segments.as_ref().is_none_or(|sent| sent.is_app_limited());
        limited || !self.params.resumes_if_limited()
    }

    /// The segments that an ACK delivers, less those that duplicate ACKs before it have delivered.
    #[inline(never)]
    fn less_dup_acks(&self, delivered: Delivered, before: u32) -> Delivered {
        if !self.params.dup_acks_deliver() || self.params.sack_blocks > 0 {
            return delivered;
        }
        Delivered { segments: delivered.segments.saturating_sub(before).max(1), ..delivered }
    }

    /// Enters an ACK in the record of segments, if there is one. What is timed of a path that was left is not measured.
    #[inline]
    pub fn note_in_record(&mut self, header: &TcpHeader, now: Time) {
        let stamp = self.stamp(now);
        let recorded = self.sent_segments.as_mut().map(|sent| sent.on_ack(header.ack, &header.sacks, stamp));
        self.delivered = Some(recorded.unwrap_or_default());
        if self.is_of_old_path(header.ack) {
            self.forget_measurement();
        }
    }

    /// An ACK that expects `ack > una` arrived: sequence space, round-trip time and timer.
    pub fn advance(&mut self, ack: u32, now: Time) {
        let before = self.dup_acks;
        let mut delivered = self.acknowledge(ack, now);
        if before > 0 {
            delivered = self.less_dup_acks(delivered, before);
        }
        self.note_delivered(delivered);
    }

    /// The same for the fast path, which needs no note of what is acknowledged.
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: u32, now: Time) -> Delivered {
        let mut delivered = Delivered { segments: ack - self.una, rtt: None };
        let is_stale = self.params.stale_rto_on_restart;
        if is_stale {
            self.start_timer(now, self.rtt.rto());
        }
        self.dup_acks = 0;
        self.limited_transmits = 0;
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        if let Some(echo) = self.echo {
            delivered.rtt = Some(now.since(echo));
            self.measure_echo(echo, ack, now);
        } else if let Some(seq) = self.timed
            && ack > seq
        {
            self.timed = None;
            // ns-2: not while echoes follow each other at a window of one segment.
            if !(self.ece && self.ecn_backoff) {
                self.rtt.end_backoff();
                self.ecn_backoff = false;
            }
            delivered.rtt = Some(now.since(self.timed_at));
            self.rtt.sample(self.timed_at, now);
        }
        if self.ecn_backoff && self.params.recovery != RecoveryKind::Ns2Fack {
            self.ecn_backoff = self.ece || self.answers_syn(ack);
        }
        if !is_stale {
            self.start_timer(now, self.rtt.rto());
        }
        if self.flight_size() == 0 {
            self.start_idle_clock(now);
        }
        delivered
    }

    /// RFC 6298 (5.2): all data is acknowledged. The timer becomes the clock of the restart after idle, if there is one.
    fn start_idle_clock(&mut self, now: Time) {
        if !self.params.slow_start_restart {
            // ns-2's Vegas lets it run: it may be the timer of what is sent next.
            if !self.params.ns2_timer_runs_idle() {
                self.timer.stop();
            }
        } else if !self.params.ns2_idle_is_timeout() {
            // RFC 5681 §4.1: idle since the last segment was sent.
            let idle = now.since(self.last_sent);
            self.start_timer(now, self.rtt.rto().saturating_sub(idle));
        }
    }

    /// A partial ACK arrived: as [`advance`](Self::advance), but duplicate ACKs are counted on, and the timed
    /// segment, which may be a retransmission's victim, only ends the backoff.
    pub fn advance_partially(&mut self, ack: u32, restart_timer: bool, now: Time) {
        if restart_timer {
            self.start_timer(now, self.rtt.rto());
        }
        let (segments, rtt) = (ack.saturating_sub(self.una), self.echo.map(|echo| now.since(echo)));
        self.note_delivered(Delivered { segments, rtt });
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        match self.echo {
            Some(echo) if !self.params.ns2_ticks() => {
                self.measure_echo(echo, ack, now);
            }
            // ns-2's SACK continues timing: the recovery may have been prolonged by an echo of congestion.
            _ if self.params.recovery == RecoveryKind::Pipe => {}
            _ => self.forget_timed_below(ack),
        }
    }

    /// RFC 7323 §4.1: every ACK of new data is a measurement. In ns-2 the measurement does not end the backoff.
    fn measure_echo(&mut self, echo: Time, ack: u32, now: Time) {
        if self.params.ns2_ticks() {
            self.rtt.sample(echo, now);
            self.forget_timed_below(ack);
        } else {
            self.rtt.measure(self.una..self.snd_max, echo, now);
        }
    }

    /// A timed segment that an ACK covers is not measured; it only ends the backoff.
    pub fn forget_timed_below(&mut self, ack: u32) {
        if self.timed.is_some_and(|seq| ack > seq) {
            self.timed = None;
            self.rtt.end_backoff();
        }
    }

    /// Takes the window that an ACK advertises. True if it has moved. A closed one is probed (RFC 9293 §3.8.6.1).
    pub fn take_window(&mut self, header: &TcpHeader, now: Time) -> bool {
        if self.params.ns2_no_flow_control() {
            return false;
        }
        let end = header.ack.saturating_add(header.window);
        let moved = end != self.peer_end && header.ack == self.una && self.peer_end != u32::MAX;
        self.peer_end = end;
        let closed = end <= self.nxt && header.ack == self.snd_max && self.snd_max < self.end;
        if !closed {
            self.persist.stop();
            self.probes = 0;
        } else if !self.persist.runs() {
            self.restart_persist(now);
        }
        moved
    }

    /// The next probe of a closed window, twice as late as the one before (RFC 9293 §3.8.6.1).
    pub fn restart_persist(&mut self, now: Time) {
        let interval = (self.rtt.rto() * (1 << self.probes.min(16))).min(self.params.max_rto);
        self.probes += 1;
        self.persist.start_by(self.params.wheel(), now, interval);
    }

    /// True if only a SYN was sent. To ns-2 that is a segment like any other.
    pub fn awaits_syn_ack(&self) -> bool {
        self.una == 0 && self.params.has_syn() && !self.params.ns2_syn_is_a_segment()
    }

    /// True if an ACK answers a SYN that is a segment.
    pub fn answers_syn(&self, ack: u32) -> bool {
        ack == 1 && self.params.ns2_segment_0_is_syn()
    }

    /// The ACK of a SYN that had to be sent again (RFC 6298 §5.7).
    pub fn connected_late(&mut self, now: Time) {
        let is_measured = self.params.keeps_rtt_of_syn() && self.rtt.srtt() > Duration::ZERO;
        if !is_measured {
            self.rtt.restart_after_lost_syn();
        }
        if self.timer.runs() {
            self.start_timer(now, self.rtt.rto());
        }
    }

    /// The retransmission timer, or the clock of an idle period, starts.
    #[inline(always)]
    pub fn start_timer(&mut self, now: Time, span: Duration) {
        let wheel = self.params.wheel();
        let span = if wheel.is_some() { span + self.pacing_delay(now) } else { span };
        self.timer.start_by(wheel, now, span);
    }

    /// How much later timers expire while a paced burst waits, in whole ticks.
    #[inline]
    pub fn pacing_delay(&self, now: Time) -> Duration {
        if self.pacing.waits() { self.delay_of_wait(now) } else { Duration::ZERO }
    }

    #[inline(never)]
    fn delay_of_wait(&self, now: Time) -> Duration {
        match self.params.wheel() {
            Some(tick) if self.params.pacing_delays_timers() => {
                tick * (self.pacing.left_to_wait(now).as_nanos() / tick.as_nanos().max(1))
            }
            _ => Duration::ZERO,
        }
    }

    pub fn restart_timer(&mut self, now: Time) {
        self.start_timer(now, self.rtt.rto());
        self.timed = None; // Karn: what is outstanding may be sent again
    }

    pub fn record(&mut self, kind: SenderEventKind, seq: u32, at: Time) {
        debug_assert!(self.grown == Time::MAX, "a fact is recorded before an earlier one");
        self.facts.push_back(self.fact(kind, seq, at));
    }

    /// An ACK on the fast path changed cwnd. The fact is made when it is asked for, or before its values change.
    pub fn defer_growth(&mut self, now: Time) {
        self.grown = now;
    }

    fn take_grown(&mut self) -> Option<Time> {
        let at = std::mem::replace(&mut self.grown, Time::MAX);
        (at != Time::MAX).then_some(at)
    }

    /// Forgets what [`defer_growth`](Self::defer_growth) has noted.
    pub fn forget_growth(&mut self) {
        self.grown = Time::MAX;
    }

    /// Makes the fact of what [`defer_growth`](Self::defer_growth) has noted, before anything else happens.
    pub fn record_growth(&mut self) {
        if let Some(at) = self.take_grown() {
            self.record(SenderEventKind::Window, self.una, at);
        }
    }

    /// True if facts wait to be taken.
    pub fn has_facts(&self) -> bool {
        self.grown != Time::MAX || !self.facts.is_empty()
    }

    /// The latest fact that waits to be taken.
    pub fn latest_fact(&self) -> Option<&SenderEvent> {
        self.facts.back()
    }

    /// The next fact, in the order in which they happened.
    pub fn poll_fact(&mut self) -> Option<SenderEvent> {
        if !self.facts.is_empty() {
            return self.facts.pop_front();
        }
        let at = self.take_grown()?;
        Some(self.fact(SenderEventKind::Window, self.una, at))
    }

    fn fact(&self, kind: SenderEventKind, seq: u32, at: Time) -> SenderEvent {
        let (cwnd, ssthresh) = self.window.sizes();
        SenderEvent { at, kind, seq, cwnd, ssthresh, rto: self.rtt.rto(), srtt: self.rtt.srtt() }
    }
}
