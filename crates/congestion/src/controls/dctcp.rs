//! Data Center TCP: the window falls by the share of segments that were marked (RFC 8257).
//!
//! Once per window of data the share of acknowledged segments whose ACKs echo congestion enters an average, alpha. An echo
//! reduces the window by half of alpha, once per window. Losses, slow start and congestion avoidance are Reno's. The
//! receiver's part is in `receiver.rs`.

mod linux;
mod params;

use crate::Halving;
use crate::controls::reno::{MIN_SSTHRESH, Reno};
use crate::{AckEvent, Algorithm, Feedback, Loss, LossEvent, Properties, Window};
pub use params::Params;

/// A window of observation.
#[derive(Clone, Debug, Default)]
struct Observation {
    /// It ends behind this segment (DCTCP.WindowEnd).
    window_end: u32,
    /// Segments acknowledged in it, and those of them by ACKs that echo congestion.
    acked: u32,
    marked: u32,
}

impl Observation {
    /// An ACK arrived.
    fn note(&mut self, feedback: &Feedback) {
        self.acked += feedback.acked;
        self.marked += feedback.marked;
    }

    /// It is over, and the next one begins: the share of marked segments.
    fn end(&mut self, next: u32) -> f64 {
        let share = f64::from(self.marked.min(self.acked)) / f64::from(self.acked.max(1));
        *self = Observation { window_end: next, ..Observation::default() };
        share
    }
}

/// Properties of both laws.
const PROPERTIES: Properties = Properties { needs_ecn: true, ..Properties::PLAIN };

/// DCTCP's congestion control.
#[derive(Clone, Debug)]
pub struct Dctcp {
    gain: f64,
    /// The average share of marked segments (DCTCP.Alpha).
    alpha: f64,
    seen: Observation,
    reno: Reno,
}

impl Dctcp {
    pub fn new(params: &Params) -> Dctcp {
        Dctcp { gain: params.gain, alpha: params.initial_alpha, seen: Observation::default(), reno: Reno }
    }
}

impl Algorithm for Dctcp {
    fn properties(&self) -> Properties {
        PROPERTIES
    }

    /// §3.3, steps 1 to 8.
    fn on_feedback(&mut self, feedback: &Feedback) {
        self.seen.note(feedback);
        if feedback.ack <= self.seen.window_end || self.seen.acked == 0 {
            return;
        }
        let share = self.seen.end(feedback.nxt);
        self.alpha += self.gain * (share - self.alpha);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.reno.on_ack(window, ack);
    }

    /// §3.3, step 9; §3.5 for losses.
    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        if loss.kind != Loss::Echo {
            return self.reno.on_loss(window, loss);
        }
        let left = window.cwnd * (1.0 - self.alpha / 2.0);
        let (left, least) = match loss.params.halving {
            Halving::Real => (left, 1.0),
            Halving::Whole | Halving::Integer | Halving::TruncatedSsthresh => (left.floor(), MIN_SSTHRESH),
        };
        window.cut(left.max(least), left.max(MIN_SSTHRESH), loss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ControlParams;
    use crate::params::connections::*;
    use roamlab_engine::Time;

    pub(super) fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "expected {expected}, found {found}");
    }

    fn dctcp(initial_alpha: f64) -> Dctcp {
        Dctcp::new(&Params { initial_alpha, ..Params::default() })
    }

    /// Two ACKs of `acked` segments, of which `marked` are echoed; the second one expects segment 1001.
    pub(super) fn acknowledge(control: &mut impl Algorithm, acked: u32, marked: u32) {
        let (nxt, now) = (2000, Time::ZERO);
        control.on_feedback(&Feedback { acked: marked, marked, ack: 500, nxt, now });
        control.on_feedback(&Feedback { acked: acked - marked, marked: 0, ack: 1001, nxt, now });
    }

    /// Alpha after a window of observation with `acked` segments, of which `marked` are marked.
    fn window_of(dctcp: &mut Dctcp, acked: u32, marked: u32) -> f64 {
        dctcp.seen.window_end = 1000;
        acknowledge(dctcp, acked, marked);
        dctcp.alpha
    }

    #[test]
    fn alpha_is_an_average_of_the_marked_share() {
        let mut dctcp = dctcp(1.0);
        near(window_of(&mut dctcp, 10, 0), 0.9375); // 15/16
        near(window_of(&mut dctcp, 10, 5), 0.910_156_25); // 15/16 of it, and 0.5/16
        near(window_of(&mut dctcp, 10, 10), 0.915_771_484_375);
        near(window_of(&mut dctcp, 20, 0), 0.858_535_766_601_562_5);
        (0..400).for_each(|_| _ = window_of(&mut dctcp, 20, 5));
        near(dctcp.alpha, 0.25);
    }

    #[test]
    fn a_window_of_observation_ends_behind_its_last_segment() {
        let mut dctcp = dctcp(1.0);
        let mut feed = |ack, acked, nxt| {
            dctcp.on_feedback(&Feedback { acked, marked: 0, ack, nxt, now: Time::ZERO });
            (dctcp.seen.window_end, dctcp.seen.acked)
        };
        assert_eq!(feed(1, 1, 11), (11, 0), "the first ACK: WindowEnd was SND.UNA");
        assert_eq!(feed(6, 5, 16), (11, 5));
        assert_eq!(feed(11, 5, 21), (11, 10), "less than or equal: it continues");
        assert_eq!(feed(12, 1, 22), (22, 0));
    }

    #[test]
    fn a_stretch_ack_counts_all_its_segments() {
        let mut dctcp = dctcp(0.0);
        dctcp.seen.window_end = 10;
        dctcp.on_feedback(&Feedback { acked: 8, marked: 8, ack: 8, nxt: 20, now: Time::ZERO });
        dctcp.on_feedback(&Feedback { acked: 24, marked: 0, ack: 32, nxt: 40, now: Time::ZERO });
        near(dctcp.alpha, 0.25 / 16.0);
    }

    #[test]
    fn an_echo_leaves_all_but_half_of_alpha() {
        let after = |params: ControlParams, alpha, cwnd| {
            let (mut dctcp, mut window) = (dctcp(alpha), Window::new(cwnd, &params));
            dctcp.on_loss(&mut window, &LossEvent::simple(Loss::Echo, cwnd, &params));
            (window.cwnd, window.ssthresh)
        };
        assert_eq!(after(RFC, 1.0, 20.0), (10.0, 10.0));
        assert_eq!(after(RFC, 0.25, 20.0), (17.5, 17.5));
        assert_eq!(after(RFC, 0.0, 20.0), (20.0, 20.0));
        assert_eq!(after(RFC, 1.0, 3.0), (1.5, 2.0));
        assert_eq!(after(LINUX, 0.25, 21.0), (18.0, 18.0), "18.375");
        assert_eq!(after(LINUX, 1.0, 3.0), (2.0, 2.0));
    }

    #[test]
    fn a_loss_halves_whatever_alpha_is() {
        let params = RFC;
        let (mut dctcp, mut window) = (dctcp(0.1), Window::new(20.0, &params));
        dctcp.on_loss(&mut window, &LossEvent::simple(Loss::DupAcks, 20.0, &params));
        assert_eq!((window.cwnd, dctcp.alpha), (10.0, 0.1));
        dctcp.on_rto(&mut window, &LossEvent::simple(Loss::Timeout, 10.0, &params));
        assert_eq!((window.cwnd, window.ssthresh, dctcp.alpha), (1.0, 5.0, 0.1));
    }

    #[test]
    fn parameters_outside_their_range_are_refused() {
        let check = |gain, initial_alpha| Params { gain, initial_alpha, ..Params::default() }.check();
        assert!(check(1.0, 0.0).is_ok());
        for (gain, alpha, word) in
            [(0.0, 1.0, "gain"), (1.1, 1.0, "gain"), (f64::NAN, 1.0, "gain"), (0.1, 1.5, "initial_alpha")]
        {
            let (field, message) = check(gain, alpha).unwrap_err();
            assert!(field == "congestion_control" && message.contains(word), "{message}");
        }
    }
}
