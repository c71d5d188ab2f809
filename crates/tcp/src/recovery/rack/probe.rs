//! The tail loss probe (RFC 8985 §7): if no ACK comes for two round trips, one segment asks for one.

use super::record::AckSummary;
use crate::state::SendState;
use roamlab_congestion::SenderEventKind;
use roamlab_engine::{Duration, Time};
use roamlab_packet::TcpHeader;

/// TLP.max_ack_delay: how long a receiver may delay the ACK of a single segment (§7.2; `tcp_schedule_loss_probe` takes the least RTO).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// The PTO before the first measurement (§7.2).
const FIRST_PTO: Duration = Duration::from_secs(1);

/// A probe that is due, or under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Probe {
    due: bool,
    /// TLP.end_seq: one above the highest segment sent when the probe went out.
    end: Option<u32>,
    /// TLP.is_retrans: it was a segment sent before.
    repeats: bool,
}

impl Probe {
    /// True if a probe is due, or its ACK is awaited.
    pub fn is_on(&self) -> bool {
        self.due || self.end.is_some()
    }

    /// True if the next segment is the probe.
    pub fn is_due_now(&self) -> bool {
        self.due
    }

    /// Probes under way that repeat a segment.
    pub fn repeats_under_way(&self) -> u32 {
        u32::from(self.end.is_some() && self.repeats)
    }

    /// Sets the timer of the probe, or stops it while a loss is repaired. The RTO, which the probe is no later than, counts from an
    /// ACK, or by the rule `times_from_head` from the transmission of the first outstanding segment if new data has gone out
    /// (`head_sent`).
    #[inline(always)]
    pub fn arm(&self, state: &mut SendState, repairs: bool, head_sent: Option<Time>, now: Time) {
        let in_flight = state.flight_size();
        let connected = state.una > 0;
        if repairs || in_flight == 0 || !connected || !state.params.tail_loss_probe {
            return state.recovery_timer.stop();
        }
        let srtt = state.rtt.srtt();
        let pto = match (srtt == Duration::ZERO, in_flight) {
            (true, _) => FIRST_PTO,
            (false, 1) => srtt * 2 + MAX_ACK_DELAY,
            (false, _) => srtt * 2 + state.params.timer_slack(),
        };
        let Some(head) = head_sent.filter(|_| state.params.times_from_head()) else {
            let pto = pto + state.pacing_delay(now);
            state.recovery_timer.start_by(state.params.wheel(), now, pto);
            state.recovery_timer = state.recovery_timer.earlier(&state.timer);
            return;
        };
        let left = (head + state.rtt.rto()).since(now);
        let span = if left > Duration::ZERO { pto.min(left) } else { pto };
        let span = span + state.pacing_delay(now);
        state.recovery_timer.start_by(state.params.wheel(), now, span);
    }

    /// The time of the probe has come. True if one is to be sent: no other is under way, and the RTT was measured since
    /// the one before (§7.3).
    pub fn is_due(&mut self, state: &SendState) -> bool {
        let measured = state.rtt.has_sample() || state.params.probes_unmeasured();
        self.due = self.end.is_none() && measured && state.flight_size() > 0;
        self.due
    }

    /// The probe that is due: new data if there is any, independently of cwnd, otherwise the last segment.
    pub fn take_due(&self, state: &mut SendState) -> Option<u32> {
        if !self.due {
            return None;
        }
        state.probes_tail = true;
        state.next_new().or_else(|| state.snd_max.checked_sub(1))
    }

    /// A segment is sent. True if it is the probe.
    pub fn sent(&mut self, state: &mut SendState, seq: u32, is_new: bool, now: Time) -> bool {
        if !std::mem::take(&mut self.due) {
            return false;
        }
        (self.end, self.repeats) = (Some(state.snd_max), !is_new);
        state.rtt.await_sample();
        state.restart_timer(now);
        state.record(SenderEventKind::TailLossProbe, seq, now);
        true
    }

    /// True if the probe explains that the segment below `end` arrived twice.
    pub fn explains(&self, end: u32) -> bool {
        self.repeats && self.end == Some(end)
    }

    /// §7.4: true if an ACK shows that the probe has repaired a loss. An ACK that shows that nothing was lost ends the
    /// episode too.
    pub fn reveals_loss(&mut self, header: &TcpHeader, summary: &AckSummary, advances: bool) -> bool {
        let Some(end) = self.end.filter(|&end| header.ack >= end) else { return false };
        let repeated = summary.repeated_end.is_some_and(|repeated| self.explains(repeated));
        let plain_duplicate = !advances && summary.delivered == 0;
        let reveals = self.repeats && !repeated && header.ack > end;
        if !self.repeats || repeated || reveals || plain_duplicate {
            self.end = None;
        }
        reveals
    }
}
