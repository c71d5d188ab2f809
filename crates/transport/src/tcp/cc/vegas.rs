//! Delay-based congestion avoidance: Brakmo & Peterson 1995, as ns-2's `Agent/TCP/Vegas` does it.
//!
//! Once per round trip the segments the path should have carried in a base RTT are compared with those it did: the
//! difference is what stands in queues. Below alpha the window grows by a segment in the next round, above beta it
//! shrinks by one. Slow start doubles every other round only, until more than gamma segments stand in queues.

use crate::params::TcpParams;
use crate::tcp::cc::{AckContext, Algorithm, Loss, Window};
use roamlab_engine::{Duration, Time};

/// ASSUMPTION: Brakmo & Peterson name alpha and beta, not gamma; the values are ns-2's (`v_alpha_`, `v_beta_`,
/// `v_gamma_`), in segments.
const ALPHA: i64 = 1;
const BETA: i64 = 3;
const GAMMA: i64 = 1;
/// Smallest window in segments, also after a timeout.
const MIN_CWND: f64 = 2.0;

/// Vegas' congestion control. Times are whole nanoseconds in doubles: the comparison is real-valued by definition, and
/// where it is about to tip, as with a round trip of exactly two base RTTs, rounding decides. ns-2 rounds alike.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vegas {
    /// The shortest round-trip time seen, or the latest where only one segment was in the network.
    base_rtt: Option<f64>,
    rtt_sum: f64,
    rtt_count: u32,
    /// The round ends when this segment is acknowledged.
    round_end: u32,
    round_begin: Time,
    /// What each ACK of this round adds to cwnd.
    increment: f64,
    growing_round: bool,
    started: bool,
}

impl Algorithm for Vegas {
    fn on_ack(&mut self, window: &mut Window, ack: &AckContext, _params: &TcpParams) {
        if ack.una > self.round_end {
            self.end_round(window, ack);
        }
        // Slow start ends where ssthresh is reached, in the midst of a round.
        if self.increment >= 1.0 && window.cwnd >= window.ssthresh {
            self.increment = 0.0;
        }
        // A window that is not used does not grow.
        let outstanding = f64::from(ack.nxt - ack.una + 1);
        if window.cwnd - outstanding <= 2.0 {
            window.cwnd += self.increment;
        }
    }

    fn on_rtt(&mut self, rtt: Duration) {
        let rtt = rtt.as_nanos() as f64;
        self.rtt_sum += rtt;
        self.rtt_count += 1;
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
    }

    fn on_loss(&mut self, window: &mut Window, loss: Loss, in_use: f64, params: &TcpParams) {
        super::reno::Reno.on_loss(window, loss, in_use, params);
        window.cwnd = MIN_CWND;
    }
}

impl Vegas {
    fn end_round(&mut self, window: &mut Window, ack: &AckContext) {
        let rtt = match self.rtt_count {
            0 => ack.now.since(self.round_begin).as_nanos() as f64,
            count => self.rtt_sum / f64::from(count),
        };
        (self.rtt_sum, self.rtt_count) = (0.0, 0);
        let carried = ack.nxt - self.round_end;
        if rtt > 0.0 {
            let base_rtt = self.base_rtt.filter(|&base| rtt >= base && carried > 1).unwrap_or(rtt);
            self.base_rtt = Some(base_rtt);
            let actual = f64::from(carried) / rtt;
            let expected = f64::from(ack.nxt - ack.una + 1) / base_rtt;
            let queued = ((expected - actual) * base_rtt + 0.5) as i64;
            self.adjust(window, queued);
        }
        self.round_end = ack.nxt;
        self.round_begin = ack.now;
    }

    fn adjust(&mut self, window: &mut Window, queued: i64) {
        self.increment = 0.0;
        if window.cwnd < window.ssthresh {
            // The very first round, like every second one, only measures.
            self.growing_round = !self.growing_round && std::mem::replace(&mut self.started, true);
            if self.growing_round && queued > GAMMA {
                window.ssthresh = MIN_CWND;
                window.cwnd = (window.cwnd - window.cwnd / 8.0).max(MIN_CWND);
            } else if self.growing_round {
                self.increment = 1.0;
            }
        } else if queued > BETA {
            window.cwnd = (window.cwnd - 1.0).max(MIN_CWND);
        } else if queued < ALPHA {
            self.increment = 1.0 / window.cwnd;
        }
    }
}
