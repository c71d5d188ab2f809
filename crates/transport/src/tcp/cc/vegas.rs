//! Delay-based congestion avoidance: Brakmo & Peterson 1995, as in ns-2's `Agent/TCP/Vegas`.
//!
//! Once per round trip the algorithm compares the segments that the path would have carried in a base RTT with those
//! that it did carry. The difference is in queues. Below alpha the window grows by a segment in the next round, above
//! beta it shrinks by one. Slow start doubles only every other round, until more than gamma segments are in queues.

use crate::params::TcpParams;
use crate::tcp::cc::{AckContext, Algorithm, Loss, Window};
use roamlab_engine::{Duration, Time};

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
    fn on_ack(&mut self, window: &mut Window, ack: &AckContext, params: &TcpParams) {
        if ack.una > self.round_end {
            self.end_round(window, ack, params);
        }
        // Slow start ends where ssthresh is reached, in the midst of a round.
        if self.increment >= 1.0 && window.cwnd >= window.ssthresh {
            self.increment = 0.0;
        }
        // A window that is not used does not grow.
        let outstanding = f64::from(ack.nxt - ack.una) + 1.0;
        if window.cwnd - outstanding <= 2.0 {
            window.cwnd += self.increment;
        }
        super::limit_cwnd(window, params);
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
    fn end_round(&mut self, window: &mut Window, ack: &AckContext, params: &TcpParams) {
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
            let expected = (f64::from(ack.nxt - ack.una) + 1.0) / base_rtt;
            let queued = ((expected - actual) * base_rtt + 0.5) as i64;
            self.adjust(window, queued, params);
        }
        self.round_end = ack.nxt;
        self.round_begin = ack.now;
    }

    fn adjust(&mut self, window: &mut Window, queued: i64, params: &TcpParams) {
        let [alpha, beta, gamma] =
            [params.vegas_alpha, params.vegas_beta, params.vegas_gamma].map(|segments| i64::from(segments.0));
        self.increment = 0.0;
        if window.cwnd < window.ssthresh {
            // The very first round, like every second one, only measures.
            self.growing_round = !self.growing_round && std::mem::replace(&mut self.started, true);
            if self.growing_round && queued > gamma {
                window.ssthresh = MIN_CWND;
                window.cwnd = (window.cwnd - window.cwnd / 8.0).max(MIN_CWND);
            } else if self.growing_round {
                self.increment = 1.0;
            }
        } else if queued > beta {
            window.cwnd = (window.cwnd - 1.0).max(MIN_CWND);
        } else if queued < alpha {
            self.increment = 1.0 / window.cwnd;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpSpec, Variant};
    use roamlab_engine::Packets;

    /// The window of 10 segments, in congestion avoidance, after a round of seven segments with these round-trip times.
    fn after_round(spec: TcpSpec, base_rtt: u64, rtt: u64) -> (f64, f64) {
        let spec = TcpSpec { variant: Some(Variant::Vegas), ..spec };
        let params = spec.resolve(Profile::Ns2_2009).unwrap();
        let mut window = Window { cwnd: 10.0, ssthresh: 2.0, inflation: 0 };
        let mut vegas = Vegas { base_rtt: Some(base_rtt as f64), round_end: 1, ..Vegas::default() };
        vegas.on_rtt(Duration::from_nanos(rtt));
        let ack = AckContext { una: 2, nxt: 8, now: Time::ZERO };
        vegas.end_round(&mut window, &ack, &params);
        (window.cwnd, vegas.increment)
    }

    #[test]
    fn alpha_and_beta_bound_what_may_queue() {
        // Seven segments at 20 ms where 10 ms would do: three and a half stand in queues, which rounds to four.
        let with = |alpha, beta| TcpSpec {
            vegas_alpha: Some(Packets(alpha)),
            vegas_beta: Some(Packets(beta)),
            ..TcpSpec::default()
        };
        let after = |alpha, beta| after_round(with(alpha, beta), 10_000_000, 20_000_000);
        assert_eq!(after(1, 3), (9.0, 0.0), "more than beta");
        assert_eq!(after(1, 4), (10.0, 0.0), "between");
        assert_eq!(after(5, 6), (10.0, 0.1), "less than alpha");
    }

    #[test]
    fn more_than_gamma_ends_slow_start() {
        let after = |queued| {
            let params = TcpSpec {
                variant: Some(Variant::Vegas),
                vegas_gamma: Some(Packets(4)),
                ..TcpSpec::default()
            };
            let params = params.resolve(Profile::Ns2_2009).unwrap();
            let mut window = Window { cwnd: 16.0, ssthresh: 64.0, inflation: 0 };
            let mut vegas = Vegas { started: true, ..Vegas::default() };
            vegas.adjust(&mut window, queued, &params);
            (window.cwnd, window.ssthresh, vegas.increment)
        };
        assert_eq!(after(4), (16.0, 64.0, 1.0));
        assert_eq!(after(5), (14.0, 2.0, 0.0));
    }

    #[test]
    fn a_tipping_round_is_rounded_as_in_ns2() {
        // A round trip of two base RTTs: 3.5 + 0.5 segments are just below 4 in ns-2's order of operations.
        assert_eq!(after_round(TcpSpec::default(), 42_779_023, 85_558_046), (10.0, 0.0));
    }
}
