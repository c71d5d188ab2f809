//! Fine-grained retransmission: Brakmo & Peterson 1995 §3.1, as in ns-2's `Agent/TCP/Vegas`.
//!
//! The time of every transmission is stored. A duplicate ACK, the first included, retransmits if the oldest segment is
//! older than a timeout computed from these times; so do the two ACKs after a retransmission. The window shrinks by a
//! quarter, or to half for a segment that was lost again. It shrinks only for a segment sent after the last reduction.

use crate::params::Handshake;
use crate::tcp::fact::TcpFactKind;
use crate::tcp::recovery::LossRecovery;
use crate::tcp::state::{LastReduction, SendQuota, SendState};
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
    worried: u32,
}

impl LossRecovery for Vegas {
    fn on_new_ack(&mut self, state: &mut SendState, header: &TcpHeader, now: Time) {
        if state.params.handshake == Handshake::SlowData {
            state.open_initial_window();
        }
        self.hear(state, now);
        let threshold = state.params.dupack_threshold;
        // After a timeout ns-2 takes the whole window for inflation.
        let inflated = state.window.cwnd > self.cut_cwnd && (self.cut_cwnd > 0.0 || state.params.ns2_quirks);
        if state.dup_acks > threshold && inflated {
            state.window.cwnd = self.cut_cwnd;
            state.window.ssthresh = 2.0;
        }
        let acknowledged = self.acknowledge(state, header.ack);
        state.advance(header.ack, now);
        let measured = match acknowledged {
            // To ns-2 what was sent together with segment 0 was sent at time 0, which means never.
            Some((sent, 1)) if state.params.ns2_quirks && sent == self.first_sent => None,
            Some((sent, 1)) if now > sent => Some(now.since(sent)),
            _ => None,
        };
        // An ACK that ends a round trip is measured for the next one.
        state.open_window(now);
        self.measure(measured, state);
        if state.params.handshake != Handshake::SlowData {
            state.open_initial_window();
        }
        state.renew_quota();
        if self.worried > 0 {
            self.worried -= 1;
            if self.expired(state, now) {
                state.dup_acks = threshold;
                state.retransmit = Some(state.una);
            } else {
                self.worried = 0;
            }
        }
    }

    fn on_dup_ack(&mut self, state: &mut SendState, _header: &TcpHeader, now: Time) {
        self.hear(state, now);
        let threshold = state.params.dupack_threshold;
        state.dup_acks += 1;
        let guarded = state.params.guard_fast_retransmit
            && state.last_reduction == LastReduction::Timeout
            && !state.recovered();
        if guarded && !state.params.ns2_quirks {
            state.quota = SendQuota::Nothing; // of what went out before the timeout: nothing is to be sent again for it
            return;
        }
        if self.expired(state, now) || state.dup_acks == threshold {
            if !guarded {
                self.worried = (state.nxt - state.una + 1).min(2);
                self.retransmit(state, now);
            }
        } else if state.dup_acks > threshold {
            state.window.cwnd += 1.0;
        }
        state.quota = SendQuota::Nothing;
        if state.dup_acks >= threshold {
            state.renew_quota();
        } else if state.params.limited_transmit && !state.params.ns2_quirks {
            state.quota = SendQuota::LimitedTransmit;
        }
    }

    fn on_late_ack(&mut self, state: &mut SendState, _header: &TcpHeader, _now: Time) {
        state.renew_quota_late();
    }

    fn on_timeout(&mut self, state: &mut SendState, now: Time) {
        state.timeout(now);
        if state.params.ns2_quirks {
            state.quota = SendQuota::Window(u32::MAX); // no `maxburst_` behind a timeout
        }
        self.cut_cwnd = 0.0;
        self.cut_at = now.since(self.first_sent);
    }

    fn on_sent(&mut self, state: &SendState, seq: u32, now: Time) {
        let places = state.params.window.0.min(MAX_PLACES);
        if seq == 0 {
            self.first_sent = now;
            if !state.params.ns2_quirks {
                self.cut_at = Duration::ZERO; // ns-2 takes the last cut for one as long after the new beginning
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
    fn hear(&mut self, state: &mut SendState, now: Time) {
        if !state.params.ns2_quirks || self.timeout.is_some() {
            return;
        }
        let measured = now.since(self.first_sent);
        state.control.on_rtt(measured);
        let rtt = measured.as_nanos() as f64;
        (self.srtt8, self.rttvar4) = (8.0 * rtt, rtt);
        self.timeout = Some((self.srtt8 / 4.0 + self.rttvar4) / 2.0);
    }

    /// Clears the places of the segments below `ack`; the last transmission of the last one, and how often it was sent.
    fn acknowledge(&mut self, state: &SendState, ack: u32) -> Option<(Time, u32)> {
        let places = self.transmissions.len() as u32;
        let (first, last) = (state.una % places.max(1), (ack - 1) % places.max(1));
        let transmission = self.transmission(ack - 1);
        if state.params.ns2_quirks && first > last {
            return transmission; // ns-2 forgets to clear a range that goes round the end of the ring
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

    fn measure(&mut self, rtt: Option<Duration>, state: &mut SendState) {
        let Some(measured) = rtt else { return };
        state.control.on_rtt(measured);
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

    /// Whether the oldest segment has been out for too long.
    fn expired(&self, state: &SendState, now: Time) -> bool {
        let unsent = state.flight_size() == 0;
        if unsent && (!state.params.ns2_quirks || state.una >= state.end) {
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
            let in_use = state.usable_window();
            let cut = match count {
                _ if in_use <= 3 => 2,
                1 => in_use - in_use / 4,
                _ => in_use / 2,
            };
            self.cut_cwnd = f64::from(cut);
            state.window.cwnd = f64::from(cut + state.dup_acks);
            self.cut_at = now.since(self.first_sent);
        }
        state.rtt.back_off();
        state.restart_timer(now);
        state.retransmit = Some(state.una);
        if count == 1 {
            state.dup_acks = state.params.dupack_threshold;
        }
        state.record(TcpFactKind::FastRetransmit, state.una, now);
    }
}
