//! DCTCP as in Linux 6 (`net/ipv4/tcp_dctcp.c`): alpha in whole 1024ths, and its window of observation.

use super::{Dctcp, Observation, PROPERTIES, Params};
use crate::controls::reno::{self, MIN_SSTHRESH};
use crate::{AckEvent, Algorithm, Choice, Feedback, Laws, Loss, LossEvent, Properties, Window};

/// Alpha is counted in such parts (`DCTCP_MAX_ALPHA`).
const UNITS: f64 = 1024.0;

impl Choice for Params {
    type Own = Dctcp;
    type Other = Linux;

    fn law(&self) -> Laws<Dctcp, Linux> {
        if self.as_linux { Laws::Other(Linux::new(self)) } else { Laws::Own(Dctcp::new(self)) }
    }
}

/// DCTCP's congestion control as in Linux 6.
#[derive(Clone, Debug)]
pub struct Linux {
    gain: f64,
    alpha: f64,
    seen: Observation,
    reno: reno::linux::Linux,
}

impl Linux {
    fn new(params: &Params) -> Linux {
        let (seen, reno) = Default::default();
        Linux { gain: params.gain, alpha: params.initial_alpha, seen, reno }
    }

    /// The average after a window with this share of marks, cut off (`dctcp_update_alpha`).
    fn averaged(&self, share: f64) -> f64 {
        let alpha = self.alpha * UNITS;
        let decay = (alpha * self.gain).floor();
        let decay = if decay == 0.0 { alpha } else { decay };
        (alpha - decay + (share * UNITS * self.gain).floor()).min(UNITS) / UNITS
    }
}

impl Algorithm for Linux {
    /// A loss halves the window also where an echo has reduced it (`dctcp_react_to_loss`).
    fn properties(&self) -> Properties {
        Properties { reduces_behind_echo: true, ..PROPERTIES }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.seen.note(feedback);
        if feedback.ack >= self.seen.window_end {
            let share = self.seen.end(feedback.nxt);
            self.alpha = self.averaged(share);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.reno.on_ack(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        if loss.kind != Loss::Echo {
            return self.reno.on_loss(window, loss);
        }
        self.reno.forget_credit();
        let left = (window.cwnd - (window.cwnd * self.alpha / 2.0).floor()).max(MIN_SSTHRESH);
        window.cut(left, left, loss);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{acknowledge, near};
    use super::*;
    use crate::params::connections::*;

    /// Alpha after a window of observation with `acked` segments, of which `marked` are marked.
    fn window_of(dctcp: &mut Linux, acked: u32, marked: u32) -> f64 {
        dctcp.seen.window_end = 1000;
        acknowledge(dctcp, acked, marked);
        dctcp.alpha
    }

    #[test]
    fn linux_counts_alpha_in_whole_1024ths_and_cuts_off_what_the_window_loses() {
        let mut dctcp = Linux::new(&Params::default());
        near(window_of(&mut dctcp, 10, 0) * 1024.0, 960.0); // 1024 - 64
        near(window_of(&mut dctcp, 10, 3) * 1024.0, 919.0); // 960 - 60, and 3 · 64 / 10 = 19
        dctcp.alpha = 9.0 / 1024.0;
        near(window_of(&mut dctcp, 10, 0), 0.0); // 9 >> 4 is 0: all of it
        let params = LINUX;
        dctcp.alpha = 0.25;
        let mut window = Window::new(21.0, &params);
        dctcp.on_loss(&mut window, &LossEvent::simple(Loss::Echo, 21.0, &params));
        assert_eq!((window.cwnd, window.ssthresh), (19.0, 19.0), "21 - (21 · 256 >> 11)");
    }

    #[test]
    fn linux_counts_acknowledged_segments_and_begins_again_behind_an_echo() {
        let params = LINUX;
        let mut window = Window { ssthresh: 2.0, ..Window::new(4.0, &params) };
        let mut dctcp = Linux::new(&Params { initial_alpha: 0.0, ..Params::default() });
        let mut una = 1;
        let mut grow = |dctcp: &mut Linux, window: &mut Window, acked: u32| {
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
}
