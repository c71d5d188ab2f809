//! Data Center TCP: the window falls by the share of segments that were marked (RFC 8257).
//!
//! Once per window of data the share of acknowledged segments whose ACKs echo congestion enters an average, alpha. An echo
//! reduces the window by half of alpha, once per window. Losses, slow start and congestion avoidance are Reno's. The
//! receiver's part is in `receiver.rs`.

use crate::params::Halving;
use crate::spec::SpecError;
use crate::tcp::cc::reno::{self, MIN_SSTHRESH, Reno};
use crate::tcp::cc::{AckEvent, Algorithm, Feedback, Loss, LossEvent, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its parameters.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Weight of the latest window in the average (g, RFC 8257 §4.2; Linux `dctcp_shift_g` 4).
    pub gain: f64,
    /// The average before the first window (RFC 8257 §3.3; Linux `dctcp_alpha_on_init`).
    pub initial_alpha: f64,
    /// The arithmetic and the window of observation of Linux (`tcp_dctcp.c`).
    pub as_linux: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params { gain: 1.0 / 16.0, initial_alpha: 1.0, as_linux: false }
    }
}

impl Params {
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            let message = format!("gain must be above 0 and at most 1; write 0.0625, not {}", self.gain);
            return Err(("congestion_control", message));
        }
        if !(0.0..=1.0).contains(&self.initial_alpha) {
            let alpha = self.initial_alpha;
            let message = format!("initial_alpha must be 0 to 1; write 1.0, not {alpha}");
            return Err(("congestion_control", message));
        }
        Ok(())
    }
}

/// Linux counts alpha in such parts (`DCTCP_MAX_ALPHA`).
const UNITS: f64 = 1024.0;

/// DCTCP's congestion control.
#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    gain: f64,
    as_linux: bool,
    /// The average share of marked segments (DCTCP.Alpha).
    alpha: f64,
    /// The window of observation ends behind this segment (DCTCP.WindowEnd).
    window_end: u32,
    /// Segments acknowledged in it, and those of them by ACKs that echo congestion.
    acked: u32,
    marked: u32,
    reno: Reno,
}

impl Dctcp {
    pub fn new(params: &Params) -> Dctcp {
        let Params { gain, initial_alpha: alpha, as_linux } = *params;
        let reno = Reno::new(&reno::Params { as_linux });
        Dctcp { gain, as_linux, alpha, window_end: 0, acked: 0, marked: 0, reno }
    }

    /// The average after a window with this share of marks. Linux counts in 1024ths and cuts off (`dctcp_update_alpha`).
    fn averaged(&self, share: f64) -> f64 {
        if !self.as_linux {
            return self.alpha + self.gain * (share - self.alpha);
        }
        let alpha = self.alpha * UNITS;
        let decay = (alpha * self.gain).floor();
        let decay = if decay == 0.0 { alpha } else { decay };
        (alpha - decay + (share * UNITS * self.gain).floor()).min(UNITS) / UNITS
    }
}

impl Algorithm for Dctcp {
    fn needs_ecn(&self) -> bool {
        true
    }

    /// In Linux a loss halves the window also where an echo has reduced it (`dctcp_react_to_loss`).
    fn reduces_behind_echo(&self) -> bool {
        self.as_linux
    }

    /// §3.3, steps 1 to 8.
    fn on_feedback(&mut self, feedback: &Feedback) {
        self.acked += feedback.acked;
        self.marked += feedback.marked;
        let goes_on =
            if self.as_linux { feedback.ack < self.window_end } else { feedback.ack <= self.window_end };
        if goes_on || (self.acked == 0 && !self.as_linux) {
            return;
        }
        let share = f64::from(self.marked.min(self.acked)) / f64::from(self.acked.max(1));
        self.alpha = self.averaged(share);
        (self.window_end, self.acked, self.marked) = (feedback.nxt, 0, 0);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.reno.on_ack(window, ack);
    }

    /// §3.3, step 9; §3.5 for losses.
    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        if loss.kind != Loss::Echo {
            return self.reno.on_loss(window, loss);
        }
        self.reno.forget_credit();
        if self.as_linux {
            let left = (window.cwnd - (window.cwnd * self.alpha / 2.0).floor()).max(MIN_SSTHRESH);
            return window.cut(left, left, loss);
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
    use crate::{Profile, TcpSpec};
    use roamlab_engine::Time;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "expected {expected}, found {found}");
    }

    fn dctcp(initial_alpha: f64) -> Dctcp {
        Dctcp::new(&Params { initial_alpha, ..Params::default() })
    }

    /// A window of `acked` segments is acknowledged, of which `marked` are echoed.
    fn window_of(dctcp: &mut Dctcp, acked: u32, marked: u32) -> f64 {
        dctcp.window_end = 1000;
        dctcp.on_feedback(&Feedback { acked: marked, marked, ack: 500, nxt: 2000, now: Time::ZERO });
        dctcp.on_feedback(&Feedback {
            acked: acked - marked,
            marked: 0,
            ack: 1001,
            nxt: 2000,
            now: Time::ZERO,
        });
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
            (dctcp.window_end, dctcp.acked)
        };
        assert_eq!(feed(1, 1, 11), (11, 0), "the first ACK: WindowEnd was SND.UNA");
        assert_eq!(feed(6, 5, 16), (11, 5));
        assert_eq!(feed(11, 5, 21), (11, 10), "less than or equal: it goes on");
        assert_eq!(feed(12, 1, 22), (22, 0));
    }

    #[test]
    fn linux_counts_alpha_in_whole_1024ths_and_cuts_off_what_the_window_loses() {
        let mut dctcp = Dctcp::new(&Params { as_linux: true, ..Params::default() });
        near(window_of(&mut dctcp, 10, 0) * 1024.0, 960.0); // 1024 - 64
        near(window_of(&mut dctcp, 10, 3) * 1024.0, 919.0); // 960 - 60, and 3 · 64 / 10 = 19
        dctcp.alpha = 9.0 / 1024.0;
        near(window_of(&mut dctcp, 10, 0), 0.0); // 9 >> 4 is 0: all of it
        let params = TcpSpec::default().resolve(Profile::Linux6).unwrap();
        dctcp.alpha = 0.25;
        let mut window = Window::new(21.0, &params);
        dctcp.on_loss(&mut window, &LossEvent::simple(Loss::Echo, 21.0, &params));
        assert_eq!((window.cwnd, window.ssthresh), (19.0, 19.0), "21 - (21 · 256 >> 11)");
    }

    #[test]
    fn a_stretch_ack_counts_all_its_segments() {
        let mut dctcp = dctcp(0.0);
        dctcp.window_end = 10;
        dctcp.on_feedback(&Feedback { acked: 8, marked: 8, ack: 8, nxt: 20, now: Time::ZERO });
        dctcp.on_feedback(&Feedback { acked: 24, marked: 0, ack: 32, nxt: 40, now: Time::ZERO });
        near(dctcp.alpha, 0.25 / 16.0);
    }

    #[test]
    fn an_echo_leaves_all_but_half_of_alpha() {
        let after = |profile, alpha, cwnd| {
            let params = TcpSpec::default().resolve(profile).unwrap();
            let (mut dctcp, mut window) = (dctcp(alpha), Window::new(cwnd, &params));
            dctcp.on_loss(&mut window, &LossEvent::simple(Loss::Echo, cwnd, &params));
            (window.cwnd, window.ssthresh)
        };
        assert_eq!(after(Profile::Rfc, 1.0, 20.0), (10.0, 10.0));
        assert_eq!(after(Profile::Rfc, 0.25, 20.0), (17.5, 17.5));
        assert_eq!(after(Profile::Rfc, 0.0, 20.0), (20.0, 20.0));
        assert_eq!(after(Profile::Rfc, 1.0, 3.0), (1.5, 2.0));
        assert_eq!(after(Profile::Linux6, 0.25, 21.0), (18.0, 18.0), "18.375");
        assert_eq!(after(Profile::Linux6, 1.0, 3.0), (2.0, 2.0));
    }

    #[test]
    fn linux_counts_acknowledged_segments_and_begins_again_behind_an_echo() {
        let params = TcpSpec::default().resolve(Profile::Linux6).unwrap();
        let mut window = Window { ssthresh: 2.0, ..Window::new(4.0, &params) };
        let mut dctcp = Dctcp::new(&Params { initial_alpha: 0.0, as_linux: true, ..Params::default() });
        let mut una = 1;
        let mut grow = |dctcp: &mut Dctcp, window: &mut Window, acked: u32| {
            una += acked;
            let in_flight = (window.cwnd as u32).saturating_sub(acked);
            let ack = AckEvent { una, nxt: una + in_flight, acked, in_flight, ..AckEvent::default() };
            dctcp.on_ack(window, &ack);
            window.cwnd
        };
        assert_eq!([2, 2, 2].map(|acked| grow(&mut dctcp, &mut window, acked)), [4.0, 5.0, 5.0]);
        dctcp.on_loss(&mut window, &LossEvent::simple(Loss::Echo, 5.0, &params));
        assert_eq!([2, 2, 1].map(|acked| grow(&mut dctcp, &mut window, acked)), [5.0, 5.0, 6.0]);
    }

    #[test]
    fn a_loss_halves_whatever_alpha_is() {
        let params = TcpSpec::default().resolve(Profile::Rfc).unwrap();
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
