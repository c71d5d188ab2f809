//! Delay-based congestion avoidance: Brakmo & Peterson 1995, as in ns-2's `Agent/TCP/Vegas`.
//!
//! Once per round trip the algorithm compares the segments that the path would have carried in a base RTT with those
//! that it did carry. The difference is in queues. Below alpha the window grows by a segment in the next round, above
//! beta it shrinks by one. Slow start doubles only every other round, until more than gamma segments are in queues.

mod linux;
mod params;

use crate::controls::reno::Reno;
use crate::{AckEvent, Algorithm, Loss, LossEvent, NewPath, Properties, Window};
pub use params::Params;
use roamlab_engine::Time;

/// Smallest window in segments, also after a timeout.
const MIN_CWND: f64 = 2.0;

/// Vegas' congestion control. Times are whole nanoseconds in doubles: the comparison is real-valued by definition. Near
/// equality, as with a round trip of exactly two base RTTs, rounding decides. ns-2 rounds in the same way.
#[derive(Clone, Debug, Default)]
pub struct Vegas {
    params: Params,
    /// The shortest round-trip time seen, or the latest where only one segment was in the network.
    base_rtt: Option<f64>,
    rtt_sum: f64,
    rtt_count: u32,
    /// The shortest round-trip time of this round.
    shortest: Option<f64>,
    /// The round ends when this segment is acknowledged.
    round_end: u32,
    round_begin: Time,
    /// Growth of cwnd by each ACK of this round.
    increment: f64,
    growing_round: bool,
    started: bool,
    /// A path whose round-trip time is yet to be measured.
    new_path: Option<NewPath>,
}

/// Properties of both laws.
const PROPERTIES: Properties = Properties { keeps_min_rtt: true, ..Properties::PLAIN };

impl Algorithm for Vegas {
    fn properties(&self) -> Properties {
        PROPERTIES
    }

    /// It needs the round-trip time of each ACK (§3.1: the clock is read at each segment), not that of one segment at a time.
    fn records_segments(&self, window: &Window) -> bool {
        !window.takes_mean
    }

    /// The round trip of a SYN is none of the segments' that the algorithm compares: a short packet takes less time on a slow
    /// link. ns-2 has all times.
    fn on_start(&mut self, window: &mut Window, initial_window: f64) {
        window.cwnd = initial_window;
        if !window.takes_mean {
            (self.base_rtt, self.shortest, self.rtt_sum, self.rtt_count) = (None, None, 0.0, 0);
        }
    }

    fn on_new_path(&mut self, _window: &mut Window, path: NewPath) {
        self.new_path = Some(path);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if ack.una > self.round_end {
            self.end_round(window, ack);
        }
        // Slow start ends where ssthresh is reached, in the midst of a round.
        if self.increment >= 1.0 && window.cwnd >= window.ssthresh {
            self.increment = 0.0;
        }
        // A window that is not used does not grow.
        let outstanding = f64::from(ack.nxt - ack.una) + 1.0;
        let used = window.cwnd - outstanding <= 2.0;
        window.grow(if used { self.increment } else { 0.0 });
        self.on_other_ack(window, ack); // an ACK that ends a round trip is measured for the next one
    }

    fn on_other_ack(&mut self, _window: &mut Window, ack: &AckEvent) {
        let is_new = NewPath::take_measured(&mut self.new_path, ack);
        let Some(rtt) = ack.rtt.map(|rtt| rtt.as_nanos() as f64) else { return };
        self.rtt_sum += rtt;
        self.rtt_count += 1;
        self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
        self.base_rtt = Some(self.base_rtt.filter(|_| !is_new).map_or(rtt, |base| base.min(rtt)));
    }

    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        let Loss::Age { again } = loss.kind else {
            // Losses that other recoveries find, and echoes: as Reno.
            return Reno.on_loss(window, loss);
        };
        let in_use = loss.in_use as u32;
        let left = match in_use {
            0..=3 => 2,
            _ if again => in_use / 2,
            _ => in_use - in_use / 4,
        };
        window.cut(f64::from(left), window.ssthresh, loss);
    }

    fn on_rto(&mut self, window: &mut Window, loss: &LossEvent) {
        self.on_loss(window, loss);
        window.cwnd = MIN_CWND.min(loss.most_cwnd);
    }
}

impl Vegas {
    pub fn new(params: &Params) -> Vegas {
        Vegas { params: *params, ..Vegas::default() }
    }

    fn end_round(&mut self, window: &mut Window, ack: &AckEvent) {
        // ASSUMPTION: Brakmo & Peterson take the time of "a distinguished segment" (§3.2), and leave open of which. It is that with
        // the shortest time: neither a burst of the sender nor a delayed ACK is a queue that stays. A round of
        // repairs alone measures none, and compares nothing. ns-2 takes the time since it began, which may be shorter than the path's.
        let rtt = match (self.shortest.take(), self.rtt_count) {
            (None, _) | (_, 0) if window.takes_mean => {
                Some(ack.now.since(self.round_begin).as_nanos() as f64)
            }
            (Some(_), count) if window.takes_mean => Some(self.rtt_sum / f64::from(count)),
            (shortest, _) => shortest,
        };
        (self.rtt_sum, self.rtt_count) = (0.0, 0);
        let carried = ack.nxt - self.round_end;
        if rtt != Some(0.0) {
            let queued = rtt.map(|rtt| self.queued(rtt, carried, ack));
            self.adjust(window, queued);
        }
        (self.round_end, self.round_begin) = (ack.nxt, ack.now);
    }

    /// Segments in queues by a round that has carried `carried` segments in `rtt` nanoseconds.
    fn queued(&mut self, rtt: f64, carried: u32, ack: &AckEvent) -> i64 {
        let base_rtt = self.base_rtt.filter(|&base| rtt >= base && carried > 1).unwrap_or(rtt);
        self.base_rtt = Some(base_rtt);
        let actual = f64::from(carried) / rtt;
        let expected = (f64::from(ack.nxt - ack.una) + 1.0) / base_rtt;
        ((expected - actual) * base_rtt + 0.5) as i64
    }

    /// `queued`: segments in queues by the round that ends, if it measured any.
    fn adjust(&mut self, window: &mut Window, queued: Option<i64>) {
        let Params { alpha, beta, gamma, .. } = self.params;
        let [alpha, beta, gamma] = [alpha, beta, gamma].map(|segments| i64::from(segments.0));
        self.increment = 0.0;
        if window.cwnd < window.ssthresh {
            // The very first round, like every second one, only measures.
            self.growing_round = !self.growing_round && std::mem::replace(&mut self.started, true);
            if self.growing_round && queued.is_some_and(|queued| queued > gamma) {
                window.ssthresh = MIN_CWND;
                window.cwnd = (window.cwnd - window.cwnd / 8.0).max(MIN_CWND);
            } else if self.growing_round {
                self.increment = 1.0;
            }
        } else if queued.is_some_and(|queued| queued > beta) {
            window.cwnd = (window.cwnd - 1.0).max(MIN_CWND);
        } else if queued.is_some_and(|queued| queued < alpha) {
            self.increment = 1.0 / window.cwnd;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ControlParams;
    use crate::params::connections::*;
    use roamlab_engine::{Duration, Packets};

    fn window(cwnd: f64, ssthresh: f64) -> Window {
        let params = NS2_2009;
        Window { ssthresh, ..Window::new(cwnd, &params) }
    }

    /// The window of 10 segments, in congestion avoidance, after a round of seven segments with these round-trip times.
    fn after_round(params: Params, base_rtt: u64, rtt: u64) -> (f64, f64) {
        let mut window = window(10.0, 2.0);
        let mut vegas = Vegas { base_rtt: Some(base_rtt as f64), round_end: 1, ..Vegas::new(&params) };
        let ack = AckEvent { una: 2, nxt: 8, rtt: Some(Duration::from_nanos(rtt)), ..AckEvent::default() };
        vegas.on_other_ack(&mut window, &ack);
        vegas.end_round(&mut window, &ack);
        (window.cwnd, vegas.increment)
    }

    #[test]
    fn alpha_and_beta_bound_what_may_queue() {
        // Seven segments at 20 ms where 10 ms would do: three and a half are in queues, which rounds to four.
        let after = |alpha, beta| {
            let params = Params { alpha: Packets(alpha), beta: Packets(beta), ..Params::default() };
            after_round(params, 10_000_000, 20_000_000)
        };
        assert_eq!(after(1, 3), (9.0, 0.0), "more than beta");
        assert_eq!(after(1, 4), (10.0, 0.0), "between");
        assert_eq!(after(5, 6), (10.0, 0.1), "less than alpha");
    }

    #[test]
    fn more_than_gamma_ends_slow_start() {
        let after = |queued| {
            let mut window = window(16.0, 64.0);
            let params = Params { gamma: Packets(4), ..Params::default() };
            let mut vegas = Vegas { started: true, ..Vegas::new(&params) };
            vegas.adjust(&mut window, Some(queued));
            (window.cwnd, window.ssthresh, vegas.increment)
        };
        assert_eq!(after(4), (16.0, 64.0, 1.0));
        assert_eq!(after(5), (14.0, 2.0, 0.0));
    }

    #[test]
    fn a_tipping_round_is_rounded_as_in_ns2() {
        // A round trip of two base RTTs: 3.5 + 0.5 segments are just below 4 in ns-2's order of operations.
        assert_eq!(after_round(Params::default(), 42_779_023, 85_558_046), (10.0, 0.0));
    }

    /// Growth by an ACK after a round of these round-trip times in ms over a path of 10 ms, with a window of 8
    /// segments.
    fn growth(params: ControlParams, rtts: &[u64]) -> f64 {
        let mut window = Window { ssthresh: 2.0, ..Window::new(8.0, &params) };
        let mut vegas = Vegas { base_rtt: Some(1e7), round_end: 1, ..Vegas::new(&Params::default()) };
        for &rtt in rtts {
            let rtt = Some(Duration::from_millis(rtt));
            vegas.on_other_ack(&mut window, &AckEvent { rtt, ..AckEvent::default() });
        }
        vegas.end_round(&mut window, &AckEvent { una: 2, nxt: 9, ..AckEvent::default() });
        vegas.increment
    }

    #[test]
    fn a_burst_or_a_delayed_ack_is_no_queue_but_in_ns2() {
        // Brakmo & Peterson 1995 §3.2: eight segments in 10 ms of 10 ms wait in no queue, less than alpha. In ns-2 the
        // mean counts, as if 8 − 8 · 10 / 13.5 = 2.1 and 8 − 8 · 10 / 22.5 = 4.4 did.
        let burst = [10, 11, 12, 13, 14, 15, 16, 17];
        let delayed = [10, 10, 10, 10, 10, 10, 10, 110];
        assert_eq!((growth(RFC, &burst), growth(RFC, &delayed)), (0.125, 0.125));
        assert_eq!((growth(NS2_2009, &burst), growth(NS2_2009, &delayed)), (0.0, 0.0));
        // A queue that stays makes the shortest longer: 8 − 8 · 10 / 13.
        assert_eq!(growth(RFC, &[13, 14, 15]), 0.0);
    }

    #[test]
    fn a_round_without_a_measurement_is_no_base_but_in_ns2() {
        // Brakmo & Peterson 1995 §3.2: BaseRTT is the least of all measured times. Repairs alone measure none (Karn &
        // Partridge 1987), and a cumulative ACK can end their round immediately.
        let after = |params: ControlParams, ssthresh| {
            let mut window = Window { ssthresh, ..Window::new(8.0, &params) };
            let round = Vegas { round_end: 1, round_begin: Time::from_nanos(4_000_000), ..Vegas::default() };
            let mut vegas = Vegas { base_rtt: Some(1e7), started: true, params: Params::default(), ..round };
            let now = Time::from_nanos(5_000_000);
            vegas.end_round(&mut window, &AckEvent { now, una: 2, nxt: 9, ..AckEvent::default() });
            (window.cwnd, vegas.increment, vegas.base_rtt)
        };
        assert_eq!(after(RFC, 2.0), (8.0, 0.0, Some(1e7)), "nothing to compare");
        assert_eq!(after(RFC, 64.0), (8.0, 1.0, Some(1e7)), "slow start continues");
        assert_eq!(after(NS2_2009, 2.0).2, Some(1e6));
    }

    #[test]
    fn the_round_trip_of_a_syn_is_no_base_but_in_ns2() {
        // 40 B take 10 ms, segments 11: the path carries ten segments in 11 ms, and none waits.
        let after = |params: ControlParams| {
            let mut window = Window::new(1.0, &params);
            let mut vegas = Vegas::new(&Params::default());
            vegas.on_other_ack(
                &mut window,
                &AckEvent { rtt: Some(Duration::from_millis(10)), ..AckEvent::default() },
            );
            vegas.on_start(&mut window, 4.0);
            vegas.on_other_ack(
                &mut window,
                &AckEvent { rtt: Some(Duration::from_millis(11)), ..AckEvent::default() },
            );
            (window.cwnd, vegas.base_rtt)
        };
        assert_eq!(after(RFC), (4.0, Some(11e6)));
        assert_eq!(after(NS2_2009), (4.0, Some(10e6)));
    }

    #[test]
    fn the_window_stays_where_what_is_queued_is_alpha_or_beta() {
        // Brakmo & Peterson 1995 §3.2: it grows below alpha, falls above beta, and stays between.
        let after = |queued| {
            let mut window = window(10.0, 2.0);
            let mut vegas = Vegas::new(&Params::default());
            vegas.adjust(&mut window, Some(queued));
            (window.cwnd, vegas.increment)
        };
        assert_eq!([0, 1, 3, 4].map(after), [(10.0, 0.1), (10.0, 0.0), (10.0, 0.0), (9.0, 0.0)]);
    }
}
