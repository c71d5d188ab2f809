//! Loss detection by time, and a probe for the loss of a tail: RACK-TLP, RFC 8985.
//!
//! A segment is lost if one sent later has been delivered, and the time since its transmission is more than a round
//! trip and the [reordering window](window). That holds for retransmissions too, so the loss of one is found again. A
//! timer ends the wait for segments that may still be late. If no ACK comes, the [probe](probe) asks for one before the
//! retransmission timer expires. The flight is computed from the scoreboard. The window comes down immediately or by
//! [proportional rate reduction](crate::recovery::prr).

mod ack;
mod min_rtt;
mod probe;
mod record;
mod undo;
mod window;

use crate::params::Reduction;
use crate::recovery::LossRecovery;
use crate::recovery::prr::Prr;
use crate::state::SendState;
use probe::Probe;
use record::{AckSummary, Marks, Record};
use roamlab_congestion::Found;
use roamlab_congestion::RecoveryStep;
use roamlab_congestion::SenderEventKind;
use roamlab_engine::{Duration, Time};
use roamlab_packet::TcpHeader;
use std::ops::Range;
use undo::Undo;
use window::ReorderingWindow;

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
enum Phase {
    /// No loss is being repaired.
    #[default]
    Open,
    /// A loss was found by ACKs, or by the end of the reordering window.
    Recovery,
    /// The retransmission timer expired.
    Timeout,
}

/// The purpose of the recovery's timer.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
enum Wait {
    #[default]
    Probe,
    Reordering,
}

/// RACK's recovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    phase: Phase,
    /// In a box, a sender with another recovery is not larger for it.
    record: Box<Record>,
    window: ReorderingWindow,
    probe: Probe,
    waits_for: Wait,
    prr: Prr,
    undo: Box<Undo>,
    /// This ACK sends new data: for F-RTO, or because it answers an original while retransmissions are under way.
    new_first: bool,
    /// The latest transmission known to be delivered may be another one since losses were looked for (`rack.advanced`).
    advanced: bool,
    /// Segments in flight before this ACK.
    before: u32,
    /// The retransmission timer runs from now on for the segment that goes out next.
    timed: bool,
}

impl LossRecovery for Rack {
    fn on_new_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        if state.una == 0 && state.timeouts > 1 && self.record.first_is_answered(state) {
            state.initial_window = f64::from(state.params.initial_window.0);
        }
        let summary = self.take_in(state, header, now);
        if summary.acknowledges_repeat && state.params.measures_repeats_in_stamps() && state.echo.is_some() {
            state.rtt.measure_in_stamps();
        }
        if self.phase == Phase::Recovery && header.ack < state.recovery_point {
            state.advance_partially(header.ack, true, now);
        } else {
            state.advance(header.ack, now);
        }
        if state.params.delivers_by_blocks() {
            state.note_segments(summary.delivered);
        }
        if state.params.measures_before_losses() && self.phase != Phase::Open {
            state.report_measured(summary.rtt(true, state.echo, now), now);
        }
        self.on_ack(state, header, &summary, true, now);
    }

    fn on_dup_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        state.dup_acks += 1;
        let summary = self.take_in(state, header, now);
        self.measure_reported(state, &summary, now);
        if state.params.measures_before_losses() {
            state.report_measured(summary.rtt(false, None, now), now);
        }
        self.on_ack(state, header, &summary, false, now);
    }

    fn on_late_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        // Its blocks may still report new segments, or a D-SACK. Its echo is none.
        let summary = self.take_in(state, header, now);
        state.ece = false;
        if summary.delivered > 0 || summary.repeated_end.is_some() {
            self.on_ack(state, header, &summary, false, now);
        }
    }

    fn delivered_by(&self, state: &SendState, header: &TcpHeader) -> u32 {
        if state.params.delivers_by_blocks() {
            self.record.delivered_by(state, header)
        } else {
            header.ack - state.una
        }
    }

    fn on_timeout(&mut self, state: &mut SendState, now: Time) {
        let in_recovery = self.window.length(true, self.record.min_rtt(), state.rtt.srtt());
        let lateness = if state.params.timeout_allows_no_reordering() { Duration::ZERO } else { in_recovery };
        let before = self.record.under_way();
        // §6.3: the first segment is lost, and every one whose time is over.
        self.record.mark_at_timeout(state.una, state.snd_max, lateness, now);
        self.note_found(state, 0, None);
        // A timeout in a recovery is one more cut of the same episode.
        let restarts = state.params.timeout_restarts_undo();
        // A measurement of what blocks report ends the backoff, but not the count of timeouts (`icsk_retransmits`).
        let repeated = if restarts { state.times_out_again() } else { state.rtt.backoff() > 1 };
        let is_over = state.una >= state.recovery_point;
        if self.phase == Phase::Open || is_over || (restarts && state.is_first_timeout()) {
            let under_way = if restarts { self.record.under_way() } else { before };
            self.undo.begin_timeout(state, under_way + self.probe.repeats_under_way());
        }
        self.undo.frto = self.undoes(state) && (self.phase == Phase::Open || repeated);
        self.new_first = false;
        state.timeout(now);
        state.echo_reduction = None;
        // The first segment goes out whatever is in flight.
        (state.nxt, state.retransmit) = (state.snd_max, Some(state.una));
        state.recovery_timer.stop();
        self.phase = Phase::Timeout;
        self.timed = true;
        self.probe = Probe::default();
        let in_flight = self.record.in_flight(state);
        state.recovery_step(RecoveryStep::SlowStart(f64::from(in_flight) + 1.0));
    }

    fn give_up(&mut self, state: &mut SendState, now: Time) {
        self.on_timeout(state, now);
        self.on_new_path();
        self.record.lose_all(state.una, state.snd_max);
        state.retransmit = None; // the record has what is lost
    }

    /// A recovery repairs what is lost within the new window, and does not reduce that in proportion.
    fn on_new_path(&mut self) {
        if self.phase == Phase::Recovery {
            self.phase = Phase::Timeout;
        }
        *self.undo = Undo::default();
    }

    fn forget_min_rtt(&mut self) {
        self.record.forget_min_rtt();
    }

    fn on_timer(&mut self, state: &mut SendState, now: Time) {
        match self.waits_for {
            Wait::Probe => {
                // §7.3: the timer restarts even if no probe is sent.
                let goes = self.probe.is_due(state);
                if goes || (state.flight_size() > 0 && !state.params.times_from_head()) {
                    state.restart_timer(now);
                } else if state.flight_size() > 0 {
                    self.time_from_head(state, now);
                    state.keep_waiting();
                }
            }
            Wait::Reordering => {
                let marks = self.detect(state, now);
                if marks.count > 0 && self.phase != Phase::Recovery {
                    self.begin(state, u32::from(state.params.reduces_by_window()), now);
                }
                self.time_from_head(state, now);
                if marks.count > 0 || !state.params.reordering_timer_only_repairs() {
                    state.renew_quota();
                } else {
                    state.keep_waiting();
                }
            }
        }
    }

    fn on_sent(&mut self, state: &mut SendState, seq: u32, now: Time) {
        let is_probe = self.probe.is_due_now();
        let is_new = self.record.on_sent(seq, is_probe, now);
        if !is_new && !is_probe {
            self.undo.sent_again(now);
        }
        if self.phase == Phase::Recovery {
            self.prr.sent();
        } else if let Some(prr) = &mut state.echo_reduction {
            prr.sent();
        }
        if is_new {
            state.continue_burst(now);
            self.new_first &= !(state.params.paced_repairs_go_first() && state.pacing.waits());
        }
        let timed = std::mem::take(&mut self.timed) || is_probe;
        if !is_new && !timed && seq == state.una && !self.waits_for_reordering(state) {
            self.time_from_head(state, now);
        }
        if self.probe.sent(state, seq, is_new, now) {
            return; // the retransmission timer runs now
        }
        if is_new {
            let head_sent = self.record.head_sent();
            self.arm_probe(state, head_sent, now);
        }
    }

    fn waits(&mut self, state: &mut SendState, now: Time) -> bool {
        if self.phase != Phase::Open || state.window.leaving.is_leaving() || !state.has_quota() {
            return false;
        }
        if self.probe.is_due_now() || state.retransmit.is_some() {
            return false;
        }
        let room = state.usable_window().saturating_sub(self.record.in_flight(state));
        room > 0 && state.burst_waits(room, self.record.head_sent(), now)
    }

    fn writes(&mut self, state: &mut SendState, now: Time) -> bool {
        let repairs = self.phase != Phase::Open && self.record.waits_to_repeat(state.una);
        let in_flight = self.record.in_flight(state);
        state.note_usage(in_flight);
        state.write(in_flight, repairs, now)
    }

    fn next_segment(&mut self, state: &mut SendState) -> Option<u32> {
        if let Some(seq) = self.probe.take_due(state) {
            if seq + 1 == state.snd_max {
                state.repeat_last(seq);
            }
            return Some(seq);
        }
        if let Some(seq) = state.retransmit.take() {
            state.repeat_packet(seq, 1);
            return Some(seq);
        }
        let room = state.usable_window().saturating_sub(self.record.in_flight(state));
        if !state.has_quota() || room == 0 {
            return None;
        }
        let repairs = self.phase != Phase::Open && !self.new_first;
        let lost = if repairs { self.record.next_lost(state.una) } else { None };
        if lost.is_none() && self.phase != Phase::Open && state.params.forms_bursts() {
            state.begin_burst_of(room);
        }
        if let Some(seq) = lost {
            state.repeat_packet(seq, room.min(state.most_in_burst()));
        }
        let seq = lost.or_else(|| state.next_new())?;
        state.use_quota();
        Some(seq)
    }

    fn lost(&self, state: &SendState) -> Range<u32> {
        self.record.waiting(state.una)
    }

    fn allows_fast_path(&self, state: &SendState) -> bool {
        // RACK's own work on an ACK in order is in `on_fast_ack`.
        self.phase == Phase::Open
            && state.echo_reduction.is_none()
            && !self.probe.is_on()
            && self.record.is_plain(state.una)
    }

    #[inline(always)]
    fn on_fast_ack(&mut self, state: &mut SendState, now: Time) {
        self.record.on_fast_ack(state, now);
        self.arm_probe(state, None, now);
    }

    #[inline(always)]
    fn on_fast_sent(&mut self, state: &mut SendState, now: Time) {
        self.record.on_new_sent(now);
        self.arm_probe(state, None, now);
    }
}

impl Rack {
    /// True if an ACK with timestamps alone is like one without options.
    /// [`allows_fast_path`](LossRecovery::allows_fast_path) must hold too.
    pub fn allows_stamped(&self) -> bool {
        !self.timed && !self.new_first && !self.undo.all_reported()
    }

    /// Such an ACK has moved `state.una`; `before`: segments in flight before it.
    #[inline]
    pub fn on_stamped_ack(&mut self, state: &mut SendState, before: u32, now: Time) {
        let rtt = self.record.on_fast_ack(state, now);
        self.advanced = false; // no search for losses is due
        if state.params.reports_network() && state.sent_segments.is_some() {
            self.before = before;
            self.set_found(state, state.flight_size(), 0, rtt);
        }
    }

    /// A new segment goes out on the short cut of timestamps, behind the last of which the probe is to be armed.
    #[inline]
    pub fn on_stamped_sent(&mut self, state: &mut SendState, now: Time) {
        self.record.on_new_sent(now);
        state.continue_burst(now);
    }

    /// When the first outstanding segment went out last.
    #[inline]
    pub fn head_sent(&self) -> Option<Time> {
        self.record.head_sent()
    }

    /// True if the timer of the reordering window runs.
    fn waits_for_reordering(&self, state: &SendState) -> bool {
        self.waits_for == Wait::Reordering && state.recovery_timer.runs()
    }

    /// The retransmission timer may count from the latest transmission of the first segment, where that is sent again or another
    /// timer ran instead.
    fn time_from_head(&self, state: &mut SendState, now: Time) {
        if state.params.times_from_head()
            && let Some(head) = self.record.head_sent()
        {
            let left = (head + state.rtt.rto()).since(now);
            state.start_timer(now, left.max(Duration::from_micros(1)));
        }
    }

    /// Takes an ACK in, and notes for the same what was in flight before it.
    fn take_in(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) -> AckSummary {
        if state.params.reports_network() && state.sent_segments.is_some() {
            self.before = self.record.in_flight(state);
        }
        self.record.on_ack(state, header, now)
    }

    /// Notes for a congestion control that records segments what is known of the network now.
    fn note_found(&self, state: &mut SendState, lost: u32, rtt: Option<Duration>) {
        if state.params.reports_network() && state.sent_segments.is_some() {
            self.set_found(state, self.record.in_flight(state), lost, rtt);
        }
    }

    /// The same, with what is in flight.
    fn set_found(&self, state: &mut SendState, in_flight: u32, lost: u32, rtt: Option<Duration>) {
        let (all_lost, min_rtt) = (self.record.marked(), self.record.min_rtt());
        if let Some(sent) = &mut state.sent_segments {
            let before = self.before;
            sent.found = Some(Found { in_flight, before, lost, all_lost, rtt, min_rtt });
        }
    }

    /// A recovery begins with an ACK that reports `delivered` segments, or with a timer.
    fn begin(&mut self, state: &mut SendState, delivered: u32, now: Time) {
        let (before, point) = (state.window.cwnd(), state.recovery_point);
        self.forget_repeats();
        self.undo.begin(state, self.record.under_way() + self.probe.repeats_under_way());
        state.fast_retransmit(now);
        state.retransmit = None; // the record has what is lost
        self.phase = Phase::Recovery;
        self.probe = Probe::default();
        self.record.repeat_from(state.una);
        if state.una < state.path_from {
            // The window of the new path is not reduced, and the first repair goes out whatever is in flight.
            self.phase = Phase::Timeout;
            state.retransmit = self.record.next_lost(state.una);
            return;
        }
        // The reduction that an echo has begun continues (`tcp_enter_recovery`).
        let goes_on = state.echo_reduction.take();
        if goes_on.is_some() {
            state.recovery_point = point;
        }
        self.prr =
            goes_on.map_or_else(|| state.begin_prr(before, self.record.reported(), delivered), |prr| *prr);
        self.reduce(state, delivered, false);
        if state.params.reduction == Reduction::Prr && delivered == 0 {
            state.force_prr(&mut self.prr, self.record.in_flight(state));
        }
        if state.params.reduction == Reduction::Immediate {
            state.retransmit = self.record.next_lost(state.una); // whatever is in flight
        }
    }

    /// Measures what blocks report. The retransmission timer starts again if a reported segment went out before the latest
    /// transmission of the first one (`tcp_clean_rtx_queue`).
    fn measure_reported(&self, state: &mut SendState, summary: &AckSummary, now: Time) {
        let Some(sent) = summary.reported_sent.filter(|_| state.params.measures_blocks()) else { return };
        state.rtt.measure(state.una..state.snd_max, sent, now);
        if self.phase != Phase::Open && self.record.head_sent().is_some_and(|head| sent < head) {
            state.start_timer(now, state.rtt.rto());
        }
    }

    fn exit(&mut self, state: &mut SendState, now: Time) {
        if self.phase == Phase::Recovery {
            if state.params.reduction != Reduction::Immediate {
                state.end_prr();
            }
            state.record(SenderEventKind::RecoveryExit, state.una, now);
        }
        self.phase = Phase::Open;
        self.window.on_exit();
        self.forget_repeats();
    }

    fn forget_repeats(&mut self) {
        if !self.record.has_repeats() {
            self.undo.forget_repeats();
        }
    }

    /// Marks what is lost, and waits for what may only be late.
    fn detect(&mut self, state: &mut SendState, now: Time) -> Marks {
        let reported = self.record.reported() >= state.params.dupack_threshold;
        let eager = self.phase != Phase::Open || reported;
        let lateness = self.window.length(eager, self.record.min_rtt(), state.rtt.srtt());
        self.advanced = false;
        let marks = self.record.mark_overtaken(state.snd_max, lateness, now);
        if let Some(seq) = marks.first {
            state.record(SenderEventKind::RackMark, seq, now);
        }
        match marks.wait {
            Some(wait) => {
                let slack = state.params.timer_slack();
                state.recovery_timer.start_by(state.params.wheel(), now, wait + slack);
                self.waits_for = Wait::Reordering;
            }
            None if self.waits_for == Wait::Reordering => state.recovery_timer.stop(),
            None => {}
        }
        marks
    }

    /// §7.2: a probe is due some time after the last segment or ACK, if nothing is being repaired.
    #[inline(always)]
    pub fn arm_probe(&mut self, state: &mut SendState, head_sent: Option<Time>, now: Time) {
        if self.waits_for_reordering(state) {
            return;
        }
        let repairs = self.phase != Phase::Open || self.record.reported() > 0;
        self.waits_for = Wait::Probe;
        self.probe.arm(state, repairs, head_sent, now);
    }
}

#[cfg(test)]
mod tests;
