//! The interface of a congestion control: its answers to events, in one law or in two.

use super::events::*;
use super::window::Window;
use crate::LostSegment;
use roamlab_engine::{Duration, Time};

/// Fixed properties of an algorithm.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Properties {
    /// It sets the pacing rate.
    pub paces: bool,
    /// Its reduction at an echo of congestion differs from that at a loss (RFC 8511).
    pub takes_abe: bool,
    /// It reacts to echoes of congestion. `ecn` is then on unless the scenario turns it off, and the receiver reports
    /// each change of the marks (RFC 8257 §3.2).
    pub needs_ecn: bool,
    /// It counts marked segments. `accecn` is then on unless the scenario turns it off.
    pub needs_accecn: bool,
    /// Its segments have the codepoint of L4S, ECT(1) (RFC 9331 §4.1).
    pub sends_ect1: bool,
    /// A loss in a window that an echo has reduced reduces it again.
    pub reduces_behind_echo: bool,
    /// It keeps a shortest round-trip time.
    pub keeps_min_rtt: bool,
    /// It has a mode in which it empties the path to measure that (ProbeRTT).
    pub probes_rtt: bool,
    /// The send buffer in windows, if it is bounded.
    pub windows_in_buffer: u8,
}

impl Properties {
    /// Those of most algorithms.
    pub const PLAIN: Properties = Properties {
        paces: false,
        takes_abe: false,
        needs_ecn: false,
        needs_accecn: false,
        sends_ect1: false,
        reduces_behind_echo: false,
        keeps_min_rtt: false,
        probes_rtt: false,
        windows_in_buffer: 2,
    };
}

/// Makes the event of an ACK.
pub trait AckSource {
    /// The event, for an algorithm whose window is `window`.
    fn event(&self, window: &Window) -> AckEvent;
}

/// A congestion control. Its file also has `Params`, its parameters in scenarios, and `new(&Params)`.
pub trait Algorithm {
    /// Its fixed properties.
    fn properties(&self) -> Properties {
        Properties::PLAIN
    }

    /// True if it now reads the delivery rate or the round-trip time of each ACK, which needs a record of each segment
    /// sent. It is asked after each event; on the fast path only while there is a record.
    fn records_segments(&self, _window: &Window) -> bool {
        false
    }

    /// True if an echo of congestion at this time does not reduce the window.
    fn ignores_echo(&self, _now: Time) -> bool {
        false
    }

    /// The SYN is acknowledged.
    fn on_start(&mut self, window: &mut Window, initial_window: f64) {
        window.cwnd = initial_window;
    }

    /// An ACK arrived with ECN in use, other than that of a SYN.
    fn on_feedback(&mut self, _feedback: &Feedback) {}

    /// True if [`on_ack`](Self::on_ack) reads the event. If not, none is made for it.
    #[inline(always)]
    fn reads_acks(&self) -> bool {
        true
    }

    /// An ACK of new data arrived, and the loss recovery lets the window grow.
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent);

    /// Another ACK arrived: a duplicate, one in a recovery, or one that echoes congestion.
    fn on_other_ack(&mut self, _window: &mut Window, _ack: &AckEvent) {}

    /// A loss was found, or congestion was echoed. [`Window::cut`] keeps the bounds of the event.
    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent);

    /// A segment is lost, if segments are recorded; the event of its loss came before.
    fn on_lost_segment(&mut self, _window: &mut Window, _lost: &LostSegment) {}

    /// The retransmission timer expired. By default cwnd is one segment, and ssthresh as after another loss.
    fn on_rto(&mut self, window: &mut Window, loss: &LossEvent) {
        self.on_loss(window, loss);
        window.cwnd = 1.0; // RFC 5681 §3.1: the loss window
    }

    /// The latest loss was none.
    fn on_undo(&mut self, window: &mut Window, undo: &Undo) {
        (window.cwnd, window.ssthresh) = (undo.cwnd, undo.pipe_prev);
    }

    /// Nothing was outstanding for an RTO. The next segments start with a window of `restart_window` (RFC 5681 §4.1).
    fn on_idle(&mut self, window: &mut Window, restart_window: f64) {
        if window.cwnd > restart_window || window.cwnd < 1.0 {
            window.cwnd = restart_window;
        }
    }

    /// A segment goes out with nothing outstanding; the one before went out `idle` ago.
    fn on_resume(&mut self, _window: &mut Window, _idle: Duration, _now: Time) {}

    /// The path is another one. A shortest round-trip time that the algorithm keeps is that of the old path.
    fn on_new_path(&mut self, _window: &mut Window, _path: NewPath) {}

    /// A step of a loss recovery.
    fn on_recovery_step(&mut self, window: &mut Window, step: RecoveryStep) {
        match step {
            RecoveryStep::SlowStart(segments) | RecoveryStep::Proportional(segments) => {
                window.cwnd = segments
            }
            RecoveryStep::SlowStartAtMost(segments) => window.cwnd = window.cwnd.min(segments),
            RecoveryStep::Inflate(segments) => window.cwnd += segments,
            RecoveryStep::Deflate(segments) => window.cwnd = (window.cwnd - segments).max(1.0),
            RecoveryStep::Exit(segments) => (window.cwnd, window.ssthresh) = (segments, 2.0),
            RecoveryStep::ExitAtMost(segments) => window.cwnd = window.ssthresh.min(segments),
            RecoveryStep::RaiseSsthresh(segments) => window.ssthresh = window.ssthresh.max(segments),
            RecoveryStep::Overshoot => window.cwnd /= 2.0,
        }
    }
}

/// The parameters of an algorithm that has another law in a dialect.
pub trait Choice {
    /// The algorithm by its own law.
    type Own: Algorithm;
    /// The same in the dialect.
    type Other: Algorithm;

    /// The law that they choose.
    fn law(&self) -> Laws<Self::Own, Self::Other>;
}

/// The laws that such parameters choose from.
pub type LawsOf<P> = Laws<<P as Choice>::Own, <P as Choice>::Other>;

/// An algorithm by one of two laws.
#[derive(Clone, Debug)]
pub enum Laws<A, B> {
    /// Its own.
    Own(A),
    /// That of the dialect.
    Other(B),
}

macro_rules! by {
    ($laws:ident, $law:ident => $answer:expr) => {
        match $laws {
            Laws::Own($law) => $answer,
            Laws::Other($law) => $answer,
        }
    };
}

impl<A: Algorithm, B: Algorithm> Algorithm for Laws<A, B> {
    fn properties(&self) -> Properties {
        by!(self, law => law.properties())
    }

    fn records_segments(&self, window: &Window) -> bool {
        by!(self, law => law.records_segments(window))
    }

    fn ignores_echo(&self, now: Time) -> bool {
        by!(self, law => law.ignores_echo(now))
    }

    fn on_start(&mut self, window: &mut Window, initial_window: f64) {
        by!(self, law => law.on_start(window, initial_window))
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        by!(self, law => law.on_feedback(feedback))
    }

    #[inline(always)]
    fn reads_acks(&self) -> bool {
        by!(self, law => law.reads_acks())
    }

    #[inline(always)]
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        by!(self, law => law.on_ack(window, ack))
    }

    fn on_other_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        by!(self, law => law.on_other_ack(window, ack))
    }

    fn on_loss(&mut self, window: &mut Window, loss: &LossEvent) {
        by!(self, law => law.on_loss(window, loss))
    }

    fn on_lost_segment(&mut self, window: &mut Window, lost: &LostSegment) {
        by!(self, law => law.on_lost_segment(window, lost))
    }

    fn on_rto(&mut self, window: &mut Window, loss: &LossEvent) {
        by!(self, law => law.on_rto(window, loss))
    }

    fn on_undo(&mut self, window: &mut Window, undo: &Undo) {
        by!(self, law => law.on_undo(window, undo))
    }

    fn on_idle(&mut self, window: &mut Window, restart_window: f64) {
        by!(self, law => law.on_idle(window, restart_window))
    }

    fn on_resume(&mut self, window: &mut Window, idle: Duration, now: Time) {
        by!(self, law => law.on_resume(window, idle, now))
    }

    fn on_new_path(&mut self, window: &mut Window, path: NewPath) {
        by!(self, law => law.on_new_path(window, path))
    }

    fn on_recovery_step(&mut self, window: &mut Window, step: RecoveryStep) {
        by!(self, law => law.on_recovery_step(window, step))
    }
}
