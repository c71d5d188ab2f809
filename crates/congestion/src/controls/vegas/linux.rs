//! Vegas as in Linux 6 (`net/ipv4/tcp_vegas.c`): only its window. Losses are found and repaired as with every other
//! congestion control there, and cut the window as with Reno.
//!
//! A round compares its shortest round-trip time, which no delayed ACK has made longer, with the shortest of all. Slow start
//! doubles in every round. A round of at most two measurements, and what follows a loss, is Reno's.

use super::{PROPERTIES, Params, Vegas};
use crate::controls::reno::{self, linux::Growth};
use crate::{AckEvent, Algorithm, Choice, Laws, LossEvent, NewPath, Properties, Window};
use roamlab_engine::{Duration, Time};

/// Smallest window in segments.
const MIN_CWND: f64 = 2.0;
/// Rounds with at most this number of measurements are Reno's.
const FEW: u32 = 2;

#[derive(Clone, Debug)]
pub struct Linux {
    params: Params,
    reno: reno::linux::Linux,
    /// In the recovery of a loss nothing is compared.
    paused: bool,
    /// The round ends when more than this segment is acknowledged.
    round_end: u32,
    /// Microseconds: the shortest round-trip time of all, and of the round.
    base: Option<u64>,
    shortest: Option<u64>,
    count: u32,
    /// A path whose round-trip time is yet to be measured.
    new_path: Option<NewPath>,
}

impl Choice for Params {
    type Own = Vegas;
    type Other = Linux;

    fn law(&self) -> Laws<Vegas, Linux> {
        if self.as_linux { Laws::Other(Linux::new(self)) } else { Laws::Own(Vegas::new(self)) }
    }
}

impl Algorithm for Linux {
    fn properties(&self) -> Properties {
        PROPERTIES
    }

    /// It takes the round-trip time of the last segment that an ACK acknowledges (`ca_rtt_us`).
    fn records_segments(&self, _window: &Window) -> bool {
        true
    }

    /// The algorithm begins here (`tcp_init_congestion_control`).
    fn on_start(&mut self, window: &mut Window, initial_window: f64) {
        window.cwnd = initial_window;
        self.restart();
    }

    fn on_new_path(&mut self, _window: &mut Window, path: NewPath) {
        self.new_path = Some(path);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.on_other_ack(window, ack);
        self.avoid_congestion(window, ack);
    }

    fn on_other_ack(&mut self, _window: &mut Window, ack: &AckEvent) {
        if NewPath::take_measured(&mut self.new_path, ack) {
            self.base = None;
        }
        ack.rtt.into_iter().for_each(|rtt| self.measure(rtt));
    }

    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        self.paused = true;
        self.reno.on_loss(window, loss);
    }

    fn on_resume(&mut self, _window: &mut Window, _idle: Duration, _now: Time) {
        self.restart();
    }
}

impl Linux {
    fn new(params: &Params) -> Linux {
        Linux {
            params: *params,
            reno: reno::linux::Linux::default(),
            paused: false,
            round_end: 0,
            base: None,
            shortest: None,
            count: 0,
            new_path: None,
        }
    }

    /// A round-trip time was measured (`tcp_vegas_pkts_acked`).
    fn measure(&mut self, rtt: Duration) {
        let micros = rtt.as_nanos() / 1000 + 1;
        self.base = Some(self.base.map_or(micros, |base| base.min(micros)));
        self.shortest = Some(self.shortest.map_or(micros, |shortest| shortest.min(micros)));
        self.count += 1;
    }

    /// The connection begins again behind idleness: nothing that was measured counts (`tcp_vegas_cwnd_event`).
    fn restart(&mut self) {
        (self.base, self.shortest, self.count) = (None, None, 0);
    }

    /// `tcp_vegas_cong_avoid`.
    fn avoid_congestion(&mut self, window: &mut Window, ack: &AckEvent) {
        if self.paused && !ack.recovering {
            self.paused = false;
            self.begin_round(ack.nxt); // the ACK that ends the recovery is of no round (`tcp_vegas_state`)
        }
        if self.paused {
            self.reno.on_ack(window, ack);
        } else if ack.una > self.round_end {
            match (self.base, self.shortest) {
                (Some(base), Some(shortest)) if self.count > FEW => {
                    self.compare(window, ack, base, shortest);
                }
                _ => self.reno.on_ack(window, ack),
            }
            self.begin_round(ack.nxt);
        } else if window.cwnd < window.ssthresh {
            Growth::slow_start(window, f64::from(ack.acked), ack.acked);
        }
    }

    fn begin_round(&mut self, next: u32) {
        (self.round_end, self.shortest, self.count) = (next, None, 0);
    }

    fn compare(&self, window: &mut Window, ack: &AckEvent, base: u64, shortest: u64) {
        let Params { alpha, beta, gamma, .. } = self.params;
        let [alpha, beta, gamma] = [alpha, beta, gamma].map(|segments| u64::from(segments.0));
        let cwnd = window.cwnd as u64;
        let queued = cwnd * shortest.saturating_sub(base) / base;
        let in_slow_start = window.cwnd < window.ssthresh;
        if in_slow_start && queued > gamma {
            window.cwnd = window.cwnd.min((cwnd * base / shortest + 1) as f64);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if in_slow_start {
            Growth::slow_start(window, f64::from(ack.acked), ack.acked);
        } else if queued > beta {
            window.cwnd -= 1.0;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if queued < alpha {
            window.grow(1.0);
        }
        window.set(window.cwnd.max(MIN_CWND));
        // `tcp_current_ssthresh`
        window.ssthresh = window.ssthresh.max((window.cwnd / 2.0).floor() + (window.cwnd / 4.0).floor());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::connections::*;
    use roamlab_engine::Packets;

    const PARAMS: Params = Params { alpha: Packets(2), beta: Packets(4), gamma: Packets(1), as_linux: true };

    /// The window behind a round of these round-trip times in ms, over a path of 10 ms.
    fn after(cwnd: f64, ssthresh: f64, rtts: &[u64]) -> (f64, f64) {
        let params = LINUX;
        let mut window = Window { ssthresh, ..Window::new(cwnd, &params) };
        let mut vegas = Linux { base: Some(10_001), ..Linux::new(&PARAMS) };
        rtts.iter().for_each(|&rtt| vegas.measure(Duration::from_millis(rtt)));
        let ack = AckEvent { una: 1, nxt: 40, acked: 1, in_flight: 39, ..AckEvent::default() };
        vegas.avoid_congestion(&mut window, &ack);
        (window.cwnd, window.ssthresh)
    }

    #[test]
    fn the_shortest_of_a_round_decides() {
        // 20 segments at 12 ms where 10 do: 20 · 2 / 10 = 3.9 in queues, between alpha 2 and beta 4.
        assert_eq!(after(20.0, 2.0, &[50, 12, 50]), (20.0, 15.0));
        assert_eq!(after(20.0, 2.0, &[50, 13, 50]), (19.0, 13.0), "5.9: more than beta");
        assert_eq!(after(20.0, 2.0, &[50, 10, 50]), (21.0, 15.0), "none: less than alpha");
        // `tcp_current_ssthresh`: half of 23 and a quarter, in whole segments.
        assert_eq!(after(24.0, 2.0, &[50, 13, 50]), (23.0, 16.0), "7.2: more than beta");
        // `tcp_vegas_ssthresh`: the threshold is not above the window, or slow start would begin.
        assert_eq!(after(10.0, 10.0, &[50, 16, 50]), (9.0, 9.0), "5.9 again");
    }

    #[test]
    fn the_ack_that_ends_a_recovery_begins_a_round_and_is_none_of_reno() {
        // `tcp_vegas_state`: the state is open before the window grows, so this ACK of ten segments adds nothing in avoidance.
        let params = LINUX;
        let mut window = Window { ssthresh: 5.0, ..Window::new(5.0, &params) };
        let mut vegas = Linux { base: Some(10_001), paused: true, ..Linux::new(&PARAMS) };
        let ack = AckEvent { una: 20, nxt: 30, acked: 10, in_flight: 5, ..AckEvent::default() };
        vegas.avoid_congestion(&mut window, &AckEvent { recovering: true, acked: 0, ..ack });
        assert!(vegas.paused);
        vegas.avoid_congestion(&mut window, &ack);
        assert_eq!((window.cwnd, vegas.paused, vegas.round_end, vegas.count), (5.0, false, 30, 0));
    }

    #[test]
    fn slow_start_ends_at_the_rate_that_the_path_has() {
        // 40 · 10 / 20 + 1.
        assert_eq!(after(40.0, 1000.0, &[20, 20, 20]), (21.0, 21.0));
        assert_eq!(after(40.0, 1000.0, &[10, 10, 10]), (41.0, 1000.0), "a segment acknowledged");
    }

    #[test]
    fn a_round_of_two_samples_says_nothing_and_grows_as_reno() {
        // `tcp_vegas_cong_avoid`: cntRTT <= 2. One segment of 20 is acknowledged, which Reno counts.
        assert_eq!(after(20.0, 2.0, &[50, 50]), (20.0, 2.0));
        assert_eq!(after(20.0, 2.0, &[50, 50, 50]), (19.0, 13.0));
    }
}
