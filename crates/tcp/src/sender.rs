//! The sending end.

use crate::Segment;
use crate::params::{Handshake, RecoveryKind, TcpParams};
use crate::recovery::Recovery;
use crate::short_cut::ShortCut;
use crate::state::{SendQuota, SendState};
use crate::timers::Timer;
use roamlab_congestion::PathPolicy;
use roamlab_congestion::{Feedback, NewPath};
use roamlab_congestion::{SenderEvent, SenderEventKind, SenderVariables};
use roamlab_engine::{Bytes, Duration, Time, prefetch};
use roamlab_packet::{Ecn, TcpFlags, TcpHeader, Timestamps};
use std::sync::Arc;

pub(crate) mod accurate;
mod fast_path;
pub(crate) mod sent_segments;

/// The sending end of a connection.
///
/// After every input (`offer`, `on_segment`, `on_deadline`) call [`poll_transmit`](Self::poll_transmit) until it
/// gives `None`, at the time of the input.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct TcpSender {
    pub(crate) state: SendState,
    /// The short cut that the next input may take, by the last one that may have changed it.
    pub(super) short_cut: ShortCut,
    /// Segments are recorded or paced: on the fast path too, and by the same input.
    pub(super) records_or_paces: bool,
    /// A bare ACK is due if no segment takes it along.
    pub(super) ack_due: bool,
    /// A probe of a closed window is due.
    pub(super) window_probe_due: bool,
    /// The other end has sent its FIN.
    pub(super) peer_closed: bool,
    /// The SYN/ACK is to be acknowledged before data goes.
    pub(super) handshake_ack_due: bool,
    /// TS.Recent (RFC 7323 §4.3).
    pub(super) ts_recent: Time,
    pub(super) recovery: Recovery,
}

impl TcpSender {
    /// A sender with nothing to send. `tick_phase`: offset of its clock in a tick at time zero (ns-2 `boot_time_`);
    /// arithmetic without ticks ignores it.
    pub fn new(params: impl Into<Arc<TcpParams>>, tick_phase: Duration) -> TcpSender {
        let params = params.into();
        let recovery = Recovery::new(&params);
        let state = SendState::new(params, tick_phase);
        TcpSender {
            records_or_paces: state.records_or_paces(),
            recovery,
            state,
            short_cut: ShortCut::None,
            ack_due: false,
            window_probe_due: false,
            peer_closed: false,
            handshake_ack_due: false,
            ts_recent: Time::ZERO,
        }
    }

    /// The sender of a new connection like this one.
    #[must_use]
    pub fn anew(&self) -> TcpSender {
        TcpSender::new(Arc::clone(&self.state.params), self.state.rtt.tick_phase())
    }

    /// Brings what every ACK reads into the cache.
    #[inline(always)]
    pub fn prefetch(&self) {
        self.state.prefetch();
        prefetch(&self.short_cut);
        prefetch(&self.recovery);
    }

    /// The application offers `segments` more, or an unlimited backlog.
    pub fn offer(&mut self, segments: Option<u64>) {
        let state = &mut self.state;
        if state.fin.is_some() {
            return;
        }
        let syn = u64::from(state.end == 0 && state.params.has_syn());
        let end =
            segments.map_or(u64::MAX, |count| u64::from(state.end).saturating_add(count).saturating_add(syn));
        state.end = u32::try_from(end).unwrap_or(u32::MAX);
        state.renew_quota();
    }

    /// The application stops: no new data is sent from now on (ns-2: `stop` of its FTP). Lost segments are still sent
    /// again; in ns-2 all except the last segment.
    pub fn stop(&mut self) {
        let state = &mut self.state;
        if state.fin.is_none() {
            state.end = state.snd_max.saturating_sub(u32::from(state.params.ns2_forgets_last()));
        }
        if state.params.ns2_forgets_last() {
            state.renew_quota(); // FACK sends a hole that its ACKs have not permitted
        }
    }

    /// The application has no more to send: a FIN follows the last segment (RFC 9293 §3.6).
    pub fn close(&mut self) {
        let state = &mut self.state;
        if state.fin.is_none() && state.end < u32::MAX {
            state.fin = Some(state.end);
            state.end += 1;
            state.renew_quota();
            self.short_cut = ShortCut::None;
        }
    }

    /// A segment arrived: an ACK, and of the other end's SYN and FIN what asks for an answer.
    #[inline]
    pub fn on_segment(&mut self, header: &TcpHeader, ecn: Ecn, now: Time) {
        if header.bare().is_some_and(|bare| self.on_bare_ack(&bare, now)) {
            return;
        }
        if header.stamped().is_some_and(|(bare, stamps)| self.on_stamped_ack(&bare, stamps, now)) {
            return self.arm_stamped(false, now);
        }
        self.state.record_growth();
        self.on_any_segment(header, ecn, now);
        self.report_lost(true, now);
        self.state.pace();
        self.state.record_as_needed();
        self.note_fast_path();
    }

    /// Reports the segments that the loss recovery has found to be lost, by an ACK or by a timer.
    fn report_lost(&mut self, by_ack: bool, now: Time) {
        if self.state.sent_segments.is_some() {
            let lost = self.recovery.algorithm().lost(&self.state);
            self.state.report_lost(lost, by_ack, now);
        }
    }

    /// A segment of any kind arrived.
    #[inline(never)]
    fn on_any_segment(&mut self, header: &TcpHeader, ecn: Ecn, now: Time) {
        if self.is_older_than_accepted(header) {
            self.ack_due = true;
            return;
        }
        let state = &mut self.state;
        if !header.flags.has(TcpFlags::ACK) || header.ack > state.snd_max {
            return;
        }
        if header.ack < state.una {
            if state.params.ns2_hears_late_echo() && state.echoed(header, ecn).is_some() {
                state.ecn_echo(header.ack, state.in_use(), now);
            }
            return self.recovery.algorithm().on_late_ack(state, header, now);
        }
        let marked = state.echoed(header, ecn);
        self.note_signs(header);
        let window_changed = self.state.take_window(header, now);
        self.note_timestamps(header);
        let before = self.state.window.sizes();
        let behind_recovery = self.on_echo(header, marked, now);
        self.state.note_in_record(header, now);
        let acked = header.ack - self.state.una;
        if acked > 0 {
            self.on_new_ack(header, behind_recovery, now);
        } else if !self.on_ack_of_nothing_new(header, window_changed, now) {
            return;
        }
        let state = &mut self.state;
        if state.spurious.is_watching() {
            let mut spurious = std::mem::take(&mut state.spurious);
            spurious.on_ack(state, header, acked, now);
            state.spurious = spurious;
        }
        self.report_lost(true, now); // before the event of the ACK, which counts them
        let state = &mut self.state;
        state.report_other_ack(now);
        if state.waits_for_timer {
            state.restart_timer(now);
        }
        let reported =
            state.latest_fact().is_some_and(|fact| fact.at == now && fact.cwnd == state.window.cwnd());
        if before != state.window.sizes() && !reported {
            state.record(SenderEventKind::Window, header.ack, now);
        }
    }

    /// RFC 7323 §5.3 R1 (PAWS): a segment is older than what was accepted last. ns-2 has none.
    #[inline]
    fn is_older_than_accepted(&self, header: &TcpHeader) -> bool {
        let is_old = header.timestamps.is_some_and(|timestamps| timestamps.value < self.ts_recent);
        is_old && self.state.params.timestamps && !self.state.params.ns2_no_paws()
    }

    /// Notes the SYN or FIN of the other end, which asks for an answer.
    #[inline]
    fn note_signs(&mut self, header: &TcpHeader) {
        let [syn, fin] = [TcpFlags::SYN, TcpFlags::FIN].map(|flag| header.flags.has(flag));
        self.ack_due |= fin || (syn && (self.state.una > 0 || self.state.end == 1));
        self.peer_closed |= fin;
    }

    /// Notes the other end's time, and the own time that it echoes, if that measures the present path.
    #[inline]
    fn note_timestamps(&mut self, header: &TcpHeader) {
        let state = &mut self.state;
        self.ts_recent = header.timestamps.map_or(self.ts_recent, |timestamps| timestamps.value);
        let is_measured = state.params.timestamps && !state.is_of_old_path(header.ack);
        state.echo = header.timestamps.filter(|_| is_measured).map(|timestamps| timestamps.echo);
    }

    /// An ACK echoes congestion, or reports that nothing was marked. If it ends a recovery too, the window is cut behind that:
    /// what is in use now.
    #[inline]
    fn on_echo(&mut self, header: &TcpHeader, marked: Option<u32>, now: Time) -> Option<f64> {
        let state = &mut self.state;
        let echoes = marked.is_some();
        // ns-2 agrees on ECN with the first ACK of new data, however much it acknowledges.
        let agrees = state.answers_syn(header.ack) || state.params.ns2_offers_ecn_on_data() && state.una == 0;
        state.ece = echoes && !agrees;
        if state.params.ecn && !(state.una == 0 && state.params.has_syn()) {
            let (ack, acked, nxt) =
                (header.ack, self.recovery.algorithm().delivered_by(state, header), state.nxt);
            let counts = state.accurate.as_ref().is_some_and(|accurate| accurate.counts());
            let marked = marked.map_or(0, |marked| if counts { marked } else { acked });
            state.control.algorithm().on_feedback(&Feedback { ack, acked, marked, nxt, now });
        }
        state.end_echo_reduction(header.ack);
        let behind_recovery = (echoes && state.ends_recovery(header.ack)).then(|| state.in_use());
        if echoes && behind_recovery.is_none() && !state.params.hears_echoes_last() {
            state.ecn_echo(header.ack, state.in_use(), now);
        }
        behind_recovery
    }

    /// An ACK of new data. `behind_recovery`: it ends a recovery and echoes congestion; what was in use before it.
    #[inline]
    fn on_new_ack(&mut self, header: &TcpHeader, behind_recovery: Option<f64>, now: Time) {
        let state = &mut self.state;
        let connects = state.una == 0;
        self.recovery.algorithm().on_new_ack(state, header, now);
        if let Some(in_use) = behind_recovery {
            state.ecn_echo(header.ack, in_use, now);
        }
        self.handshake_ack_due = connects && state.params.completes_handshake();
        if connects && state.timeouts > 0 {
            state.connected_late(now);
        }
    }

    /// An ACK that acknowledges nothing new, perhaps a duplicate ACK. False if it is none and nothing else follows.
    #[inline]
    fn on_ack_of_nothing_new(&mut self, header: &TcpHeader, window_changed: bool, now: Time) -> bool {
        let state = &mut self.state;
        if header.payload > 0 || header.flags.has(TcpFlags::SYN) || header.flags.has(TcpFlags::FIN) {
            return true;
        }
        // RFC 6675 §2: with SACK blocks it is a duplicate ACK even if it changes the window.
        let reports_blocks = state.goes_by_sack() && !header.sacks.as_slice().is_empty();
        let updates = window_changed && !reports_blocks;
        // RACK-TLP learns also from what comes with nothing outstanding (RFC 8985 §7.4.2).
        let idle = state.flight_size() == 0 && state.params.recovery != RecoveryKind::Rack;
        if !state.params.ns2_counts_all_dupacks() && (idle || updates) {
            if window_changed {
                state.renew_quota();
            }
            state.delivered = None;
            return false; // RFC 5681 §2: no duplicate ACK
        }
        self.recovery.algorithm().on_dup_ack(state, header, now);
        true
    }
    /// The sender is notified that its segments take another path, and follows the policy. The number of segments
    /// counted as lost; `None`: nothing was done.
    pub fn on_new_path(&mut self, policy: PathPolicy, now: Time) -> Option<u32> {
        let connects = self.state.una == 0 && self.state.params.has_syn();
        if connects || self.state.snd_max == 0 || policy == PathPolicy::Nothing {
            return None;
        }
        self.state.record_growth();
        let lost = if policy == PathPolicy::CountLost { self.state.flight_size() } else { 0 };
        match policy {
            PathPolicy::ProbeRtt | PathPolicy::ForgetMinRtt => {
                let path = NewPath { next: self.state.snd_max, probes: policy == PathPolicy::ProbeRtt };
                self.state.control.algorithm().on_new_path(&mut self.state.window, path);
                self.recovery.algorithm().forget_min_rtt();
            }
            PathPolicy::CountLost if lost > 0 => {
                self.state.gives_up = true;
                self.recovery.algorithm().give_up(&mut self.state, now);
                self.report_lost(false, now); // to the old congestion control
                self.state.begin_path(now);
                self.state.end_old_path(); // all is sent again
            }
            _ => {
                self.recovery.algorithm().on_new_path();
                self.state.begin_path(now);
            }
        }
        self.state.record(SenderEventKind::PathChange, self.state.una, now);
        self.state.record_as_needed();
        self.note_fast_path();
        Some(lost)
    }

    /// The next segment to send; call until `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        match (self.state.quota, self.short_cut) {
            (SendQuota::Window(_), ShortCut::Bare) => {
                if self.state.pacing.waits() {
                    return None;
                }
                let Some(seq) = self.state.next_in_window() else {
                    self.end_quota(now);
                    return None;
                };
                let (header, size) = (self.bare_segment(seq, now).into(), self.segment_size());
                Some(Segment { header, size, ecn: Ecn::NotEct })
            }
            _ => self.next_segment(now),
        }
    }

    /// The next segment of any kind.
    #[inline(never)]
    fn next_segment(&mut self, now: Time) -> Option<Segment> {
        if let Some(third) = self.third_ack(now) {
            return Some(third);
        }
        let mut next = self.next_permitted(now);
        while next.is_none() && self.recovery.algorithm().writes(&mut self.state, now) {
            next = self.next_permitted(now);
        }
        if next.is_none() && !self.state.waits_for_timer {
            self.state.end_quota(now);
        }
        let Some(seq) = next else { return self.poll_bare(now) };
        let retransmission = self.state.sent(seq, now);
        self.state.record_and_pace(seq, retransmission, now);
        self.recovery.algorithm().on_sent(&mut self.state, seq, now);
        self.ack_due = false;
        let syn = seq == 0 && self.state.params.has_syn();
        let fin = self.state.fin == Some(seq);
        let ecn = self.state.uses_ecn();
        let offers = ecn && self.state.params.ns2_offers_ecn_on_data() && seq == 0;
        let mut header = TcpHeader { seq, retransmission, ..self.bare_header(now) };
        if syn {
            header.flags = TcpFlags::SYN.with(self.state.offer());
            header.ack = 0;
        } else if fin {
            header.flags = header.flags.with(TcpFlags::FIN);
        } else {
            header.payload = self.state.params.segment.0 as u32;
            if self.state.window.leaving.pushes() {
                header.flags = header.flags.with(TcpFlags::PSH);
            }
            if offers {
                header.flags = header.flags.with(TcpFlags::ECE);
            }
            let is_last = seq + 1 == self.state.snd_max;
            let new = !retransmission || (self.state.params.ns2_last_is_new() && is_last);
            if self.state.cwr && self.state.uses_cwr() && (new || self.state.params.cwr_on_retransmissions) {
                self.state.cwr = false;
                header.flags = header.flags.with(TcpFlags::CWR);
            }
        }
        let params = &self.state.params;
        let size = if header.payload == 0 { self.bare_size() } else { params.data_size(seq) };
        let size = if syn { Bytes(size.0 + params.syn_options()) } else { size };
        if let Some(accurate) = self.state.accurate.as_ref().filter(|_| seq == 1 && !retransmission) {
            header.accecn = accurate.first_option();
        }
        let size = Bytes(size.0 + header.accecn.padded_size());
        let capable =
            ecn && header.payload > 0 && !offers && (!retransmission || params.ns2_ecn_on_retransmissions());
        let ecn = if capable { self.state.codepoint() } else { self.state.codepoint_of_others(syn) };
        Some(Segment { header, size, ecn })
    }

    /// The segment that goes out now, if nothing waits.
    fn next_permitted(&mut self, now: Time) -> Option<u32> {
        let mut waits = self.state.waits_for_timer || self.state.pacing.waits();
        if self.state.params.forms_bursts() && !waits {
            waits = self.recovery.algorithm().waits(&mut self.state, now);
        }
        if waits { None } else { self.recovery.algorithm().next_segment(&mut self.state) }
    }

    /// The ACK of a SYN/ACK, if it goes without data and has not gone yet. With
    /// accurate ECN it is the only one that reports in which ECN field that arrived (RFC 9768 §3.2.2.1).
    fn third_ack(&mut self, now: Time) -> Option<Segment> {
        let handshake_ack_due = std::mem::take(&mut self.handshake_ack_due);
        let (ace, accecn) = match self.state.accurate.as_mut() {
            Some(accurate) => (accurate.third_ack()?, accurate.first_option()),
            None if handshake_ack_due => Default::default(),
            None => return None,
        };
        self.ack_due = false;
        let bare = self.bare_header(now);
        let header = TcpHeader { seq: self.state.nxt, flags: bare.flags.with_ace(ace), accecn, ..bare };
        let size = Bytes(self.bare_size().0 + accecn.padded_size());
        Some(Segment { header, size, ecn: self.state.codepoint_of_others(false) })
    }

    /// When the sender has to be woken.
    #[inline(always)]
    pub fn next_deadline(&self) -> Option<Time> {
        let state = &self.state;
        let timers = state.timer.earlier(&state.recovery_timer).earlier(&state.persist);
        timers.earlier(&Timer::at(state.pacing.deadline())).deadline()
    }

    /// The time of a deadline has come; an early wake-up is a no-op.
    pub fn on_deadline(&mut self, now: Time) {
        if self.next_deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        self.state.record_growth();
        self.on_timers(now);
        self.state.record_as_needed();
        self.note_fast_path();
    }

    fn on_timers(&mut self, now: Time) {
        self.state.pacing.on_deadline(now);
        if self.state.persist.expired(now) {
            self.window_probe_due = true;
            self.state.restart_persist(now);
        }
        if self.state.recovery_timer.expired(now) {
            self.recovery.algorithm().on_timer(&mut self.state, now);
            self.report_lost(false, now);
        }
        if !self.state.timer.expired(now) {
            return;
        }
        if std::mem::take(&mut self.state.waits_for_timer) && self.state.flight_size() == 0 {
            self.state.renew_quota();
        } else if self.state.flight_size() > 0 {
            self.recovery.algorithm().on_timeout(&mut self.state, now);
            self.report_lost(false, now);
        } else if !self.state.params.ns2_timer_runs_idle() {
            self.state.restart_after_idle(now);
        } else if self.state.params.slow_start_restart {
            self.recovery.algorithm().on_timeout(&mut self.state, now);
        }
    }

    /// A segment without data: a probe of a closed window, or the answer to a SYN or FIN.
    fn poll_bare(&mut self, now: Time) -> Option<Segment> {
        let probe = std::mem::take(&mut self.window_probe_due);
        if !std::mem::take(&mut self.ack_due) && !probe {
            return None;
        }
        // ASSUMPTION: a probe repeats the number before the first outstanding one and has no data; the receiver answers
        // segments that it cannot accept with an ACK too (RFC 9293 §3.10.7.4).
        let seq = if probe { self.state.una.saturating_sub(1) } else { self.state.nxt };
        let header = TcpHeader { seq, ..self.bare_header(now) };
        Some(Segment { header, size: self.bare_size(), ecn: self.state.codepoint_of_others(false) })
    }

    fn bare_header(&self, now: Time) -> TcpHeader {
        let params = &self.state.params;
        let stamped = params.timestamps || params.ns2_free_timestamps();
        let connected = params.handshake == Handshake::ThreeWay;
        TcpHeader {
            ack: u32::from(connected) + u32::from(self.peer_closed),
            flags: if connected { TcpFlags::ACK.with(self.state.ace()) } else { TcpFlags::default() },
            timestamps: stamped.then_some(Timestamps { value: now, echo: self.ts_recent }),
            ..TcpHeader::default()
        }
    }

    fn bare_size(&self) -> Bytes {
        let params = &self.state.params;
        Bytes(params.ack_size.0 + params.ack_timestamp_bytes())
    }

    /// Drops the fact that the window has grown, for a caller that keeps no record. Other facts wait for
    /// [`poll_fact`](Self::poll_fact).
    #[inline]
    pub fn forget_growth(&mut self) {
        self.state.forget_growth();
    }

    /// The next fact, in the order in which they happened; call until `None`.
    pub fn poll_fact(&mut self) -> Option<SenderEvent> {
        self.state.poll_fact()
    }

    /// Segments sent and not acknowledged.
    pub fn in_flight(&self) -> u32 {
        self.state.flight_size()
    }

    /// True if everything offered has been acknowledged.
    pub fn finished(&self) -> bool {
        self.state.una == self.state.end
    }

    /// The next segment the receiver expects, as far as the sender knows.
    pub fn acknowledged(&self) -> u32 {
        self.state.una
    }

    /// The sender's variables.
    pub fn variables(&self) -> SenderVariables {
        let state = &self.state;
        SenderVariables {
            cwnd: state.window.cwnd(),
            ssthresh: state.window.ssthresh(),
            rtt: state.rtt.latest(),
            srtt: state.rtt.srtt(),
            rttvar: state.rtt.rttvar(),
            rto: state.rtt.rto(),
            backoff: u64::from(state.rtt.backoff()),
            timeouts: u64::from(state.timeouts),
            reductions: u64::from(state.reductions),
        }
    }
}
