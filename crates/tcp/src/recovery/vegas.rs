//! Fine-grained retransmission: Brakmo & Peterson 1995 §3.1, as in ns-2's `Agent/TCP/Vegas`.
//!
//! The time of every transmission is stored. A duplicate ACK, the first included, retransmits if the oldest segment is
//! older than a timeout computed from these times; so do the two ACKs after a retransmission. The window shrinks by a
//! quarter, or to half for a segment that was lost again. It shrinks only for a segment sent after the last reduction.

use crate::params::Handshake;
use crate::recovery::LossRecovery;
use crate::sender::sent_segments::Delivered;
use crate::state::{LastReduction, SendQuota, SendState};
use roamlab_congestion::RecoveryStep;
use roamlab_congestion::SenderEventKind;
use roamlab_engine::{Duration, Time};
use roamlab_packet::TcpHeader;

/// Places of the ring at most, however large the window.
const MAX_PLACES: u32 = 65_536;

/// Vegas' loss recovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vegas {
    /// A ring of as many places as the window has: when its segment was sent last, and how often.
    transmissions: Vec<Option<(Time, u32)>>,
    /// When segment 0 was sent last; ns-2's times count from here.
    first_sent: Time,
    /// Smoothed round-trip time in eighths and its deviation in quarters, nanoseconds.
    srtt8: f64,
    rttvar4: f64,
    /// Nanoseconds; `None` before the first measurement.
    timeout: Option<f64>,
    /// The window without inflation, of the last retransmission.
    cut_cwnd: f64,
    /// When it was cut, counted from segment 0.
    cut_at: Duration,
    /// ACKs that still have the oldest segment looked at.
    checks_left: u32,
}

impl LossRecovery for Vegas {
    fn on_new_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        if state.params.handshake == Handshake::SlowData {
            state.open_initial_window();
        }
        self.start_averages(state, now);
        let threshold = state.params.dupack_threshold;
        // After a timeout ns-2 takes the whole window for inflation.
        let inflated = state.window.cwnd() > self.cut_cwnd
            && (self.cut_cwnd > 0.0 || state.params.ns2_vegas_forgets_window());
        if state.dup_acks > threshold && inflated {
            state.recovery_step(RecoveryStep::Exit(self.cut_cwnd));
        } else if state.inflation > 0 {
            state.recovery_step(RecoveryStep::Exit(state.window.cwnd()));
        }
        state.inflation = 0;
        let acknowledged = self.acknowledge(state, header.ack);
        state.advance(header.ack, now);
        let measured = match acknowledged {
            // To ns-2 what was sent together with segment 0 was sent at time 0, which means never.
            Some((sent, 1)) if state.params.ns2_vegas_starts_averages() && sent == self.first_sent => None,
            Some((sent, 1)) if now > sent => Some(now.since(sent)),
            _ => None,
        };
        state.delivered = state.delivered.map(|delivered| Delivered { rtt: measured, ..delivered });
        state.open_window(now);
        self.measure(measured);
        if state.params.handshake != Handshake::SlowData {
            state.open_initial_window();
        }
        state.renew_quota();
        if self.checks_left > 0 {
            self.checks_left -= 1;
            if self.expired(state, now) {
                state.dup_acks = threshold;
                state.retransmit = Some(state.una);
            } else {
                self.checks_left = 0;
            }
        }
    }

    fn on_dup_ack(&mut self, state: &mut SendState, _header: &TcpHeader, now: Time) {
        self.start_averages(state, now);
        let threshold = state.params.dupack_threshold;
        state.dup_acks += 1;
        let guarded = state.params.guard_fast_retransmit
            && state.last_reduction == LastReduction::Timeout
            && !state.recovered();
        if guarded && !state.params.ns2_vegas_counts_dupacks() {
            state.quota = SendQuota::Nothing; // of what went out before the timeout: nothing is to be sent again for it
            return;
        }
        if self.expired(state, now) || state.dup_acks == threshold {
            if !guarded {
                self.checks_left = (state.nxt - state.una + 1).min(2);
                self.retransmit(state, now);
            }
        } else if state.dup_acks > threshold {
            inflate(state, 1);
        }
        state.quota = SendQuota::Nothing;
        if state.dup_acks >= threshold {
            state.renew_quota();
        } else if state.params.limited_transmit && !state.params.ns2_vegas_counts_dupacks() {
            state.quota = SendQuota::LimitedTransmit;
        }
    }

    fn on_late_ack(&mut self, state: &mut SendState, _header: &TcpHeader, _now: Time) {
        state.renew_quota_late();
    }

    fn on_timeout(&mut self, state: &mut SendState, now: Time) {
        state.inflation = 0;
        state.timeout(now);
        if state.params.ns2_vegas_forgets_window() {
            state.quota = SendQuota::Window(u32::MAX);
        }
        self.cut_cwnd = 0.0;
        self.cut_at = now.since(self.first_sent);
    }

    fn on_sent(&mut self, state: &mut SendState, seq: u32, now: Time) {
        let places = state.params.window.0.min(MAX_PLACES);
        if seq == 0 {
            self.first_sent = now;
            if !state.params.ns2_vegas_keeps_cut_time() {
                self.cut_at = Duration::ZERO;
            }
            self.transmissions.clear();
        }
        self.transmissions.resize(places as usize, None);
        let place = &mut self.transmissions[(seq % places) as usize];
        *place = Some((now, place.map_or(1, |(_, count)| count + 1)));
    }

    fn next_segment(&mut self, state: &mut SendState) -> Option<u32> {
        state.next_segment()
    }
}

impl Vegas {
    /// The first ACK. ns-2 begins with this round-trip time as average and as deviation, and measures nothing else of it.
    fn start_averages(&mut self, state: &mut SendState, now: Time) {
        if !state.params.ns2_vegas_starts_averages() || self.timeout.is_some() {
            return;
        }
        let measured = now.since(self.first_sent);
        state.report_rtt(measured, now);
        let rtt = measured.as_nanos() as f64;
        (self.srtt8, self.rttvar4) = (8.0 * rtt, rtt);
        self.timeout = Some((self.srtt8 / 4.0 + self.rttvar4) / 2.0);
    }

    /// Clears the places of the segments below `ack`; the last transmission of the last one, and how often it was sent.
    fn acknowledge(&mut self, state: &SendState, ack: u32) -> Option<(Time, u32)> {
        let places = self.transmissions.len() as u32;
        let (first, last) = (state.una % places.max(1), (ack - 1) % places.max(1));
        let transmission = self.transmission(ack - 1);
        if state.params.ns2_vegas_leaves_ring() && first > last {
            return transmission;
        }
        for seq in state.una.max(ack.saturating_sub(places))..ack {
            self.transmissions[(seq % places) as usize] = None;
        }
        transmission
    }

    fn transmission(&self, seq: u32) -> Option<(Time, u32)> {
        let place = seq.checked_rem(self.transmissions.len() as u32)?;
        self.transmissions[place as usize]
    }

    fn measure(&mut self, rtt: Option<Duration>) {
        let Some(measured) = rtt else { return };
        let rtt = measured.as_nanos() as f64;
        if self.timeout.is_none() {
            self.srtt8 = 8.0 * rtt;
        }
        let error = rtt - self.srtt8 / 8.0;
        self.srtt8 += error;
        self.rttvar4 += error.abs() - self.rttvar4 / 4.0;
        let timeout = (self.srtt8 / 4.0 + self.rttvar4) / 2.0;
        self.timeout = Some(timeout + timeout / 16.0);
    }

    /// True if the oldest segment has been out for too long.
    fn expired(&self, state: &SendState, now: Time) -> bool {
        let unsent = state.flight_size() == 0;
        if unsent && (!state.params.ns2_vegas_repeats_unsent() || state.una >= state.end) {
            return false;
        }
        let out = match self.transmission(state.una) {
            Some((sent, _)) => now.since(sent),
            None => now.since(self.first_sent) + Duration::from_secs(1), // ns-2 clears a place to -1 s
        };
        self.timeout.is_some_and(|timeout| out.as_nanos() as f64 >= timeout)
    }

    fn retransmit(&mut self, state: &mut SendState, now: Time) {
        let (sent, count) =
            self.transmission(state.una).map_or((None, 0), |(sent, count)| (Some(sent), count));
        state.recovery_point = state.snd_max;
        state.last_reduction = LastReduction::DupAcks;
        self.timeout =
            self.timeout.map(|timeout| if count > 1 { timeout * 2.0 } else { timeout + timeout / 8.0 });
        if sent.is_some_and(|sent| self.cut_at < sent.since(self.first_sent)) {
            state.inflation = 0; // what is in use is the window without it
            state.cut_by_age(count != 1, state.usable_window(), now);
            self.cut_cwnd = state.window.cwnd();
            inflate(state, state.dup_acks);
            self.cut_at = now.since(self.first_sent);
        }
        if state.params.ns2_vegas_backs_off() {
            state.rtt.back_off();
        }
        state.restart_timer(now);
        state.retransmit = Some(state.una);
        if count == 1 {
            state.dup_acks = state.params.dupack_threshold;
        }
        state.record(SenderEventKind::FastRetransmit, state.una, now);
    }
}

/// `segments` segments have left the network: as many more may be outstanding (RFC 5681 §3.2 step 4).
fn inflate(state: &mut SendState, segments: u32) {
    if state.params.ns2_vegas_inflates_cwnd() {
        state.recovery_step(RecoveryStep::Inflate(f64::from(segments)));
    } else {
        state.inflation += segments;
    }
}
