//! Reductions that were not needed, found by D-SACK, timestamps, and F-RTO with SACK (RFC 5682 §3).
//!
//! All three watch the same episode, which begins when the window is cut. It ends when every retransmission was reported
//! to have arrived twice, or when an ACK echoes a time before the first of them (as RFC 3522). After a timeout it also
//! ends when a segment is delivered that was sent only before it. Then cwnd and ssthresh are at least what they were.

use super::record::AckSummary;
use crate::state::SendState;
use roamlab_congestion::SenderEventKind;
use roamlab_congestion::Undo as UndoEvent;
use roamlab_congestion::stamp;
use roamlab_engine::Time;

/// An episode that may have to be undone, and F-RTO.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// The first segment outstanding when the window was cut (undo_marker).
    marker: Option<u32>,
    /// cwnd and ssthresh from before; none if congestion was echoed.
    prior: Option<(f64, f64)>,
    /// Retransmissions that were not reported to have arrived twice; none before the first one (undo_retrans).
    unreported: Option<u32>,
    /// When the first retransmission was sent (retrans_stamp).
    repeated_at: Option<Time>,
    /// F-RTO is in progress.
    pub frto: bool,
}

/// F-RTO's result for an ACK after a timeout.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Frto {
    /// It was not needed (step 3b).
    Spurious,
    /// New data goes before retransmissions (step 2b).
    NewFirst,
    /// Nothing changes.
    Goes,
}

impl Undo {
    /// The window is about to be cut for a loss. `under_way`: retransmissions under way, which D-SACKs may still
    /// report.
    pub fn begin(&mut self, state: &SendState, under_way: u32) {
        self.begin_from(state, under_way, state.ece || state.echo_reduction.is_some());
    }

    /// The same for a timeout. It cuts nothing where an echo has cut the window for what is outstanding; if all that was sent before
    /// the echo is acknowledged, it does (`tcp_enter_loss`).
    pub fn begin_timeout(&mut self, state: &SendState, under_way: u32) {
        if state.echo_reduction.is_some() && state.una < state.recovery_point {
            self.end();
        } else {
            self.begin_from(state, under_way, false);
        }
    }

    /// An ACK echoes congestion: the cut is needed (`tcp_fastretrans_alert`).
    pub fn keep_cut(&mut self) {
        self.prior = None;
    }

    /// There is no cut to take back (`tcp_enter_cwr`).
    pub fn end(&mut self) {
        *self = Undo { repeated_at: self.repeated_at, ..Undo::default() };
    }

    fn begin_from(&mut self, state: &SendState, under_way: u32, echoed: bool) {
        self.prior = (!echoed).then(|| (state.window.cwnd(), state.current_ssthresh()));
        self.marker = Some(state.una);
        self.unreported = (under_way > 0).then_some(under_way);
        if !state.params.keeps_time_of_repeat() {
            self.repeated_at = None;
        }
    }

    /// Nothing that was sent again is outstanding, where a recovery begins or ends (`tcp_retrans_stamp_cleanup`).
    pub fn forget_repeats(&mut self) {
        self.repeated_at = None;
    }

    /// A segment goes out again.
    pub fn sent_again(&mut self, now: Time) {
        self.repeated_at.get_or_insert(now);
        *self.unreported.get_or_insert(0) += 1;
    }

    /// An ACK may report by D-SACK that a retransmission was one too many.
    pub fn note(&mut self, summary: &AckSummary) {
        let watched = summary.repeated_end.zip(self.marker).is_some_and(|(end, marker)| end > marker);
        if let Some(unreported) = self.unreported.as_mut().filter(|_| watched) {
            *unreported = unreported.saturating_sub(1);
        }
    }

    /// True if all retransmissions were reported to have arrived twice.
    pub fn all_reported(&self) -> bool {
        self.marker.is_some() && self.unreported == Some(0)
    }

    /// True if this ACK answers an original transmission, by the time that it echoes. In whole milliseconds any ACK
    /// does if nothing was sent again yet (`tcp_packet_delayed`).
    pub fn answers_original(&self, state: &SendState) -> bool {
        let in_stamps = state.params.compares_stamps();
        let unit = |time: Time| if in_stamps { stamp(time) } else { time.as_nanos() };
        let is_earlier = |repeated| state.echo.is_some_and(|echo| unit(echo) < unit(repeated));
        self.marker.is_some() && self.repeated_at.map_or(in_stamps, is_earlier)
    }

    /// True if the episode may be undone.
    pub fn may(&self, state: &SendState) -> bool {
        self.all_reported() || self.answers_original(state)
    }

    /// An ACK after a timeout (RFC 5682 §3).
    pub fn frto(&mut self, state: &mut SendState, summary: &AckSummary, advances: bool) -> Frto {
        if !self.frto {
            return Frto::Goes;
        }
        if summary.original {
            return Frto::Spurious; // step 3b
        }
        if state.snd_max > state.recovery_point {
            self.frto &= summary.delivered == 0; // step 3a: new data overtook what was lost
        } else if advances && state.una < state.recovery_point {
            if state.has_new_data() {
                return Frto::NewFirst;
            }
            self.frto = false;
        }
        Frto::Goes
    }

    /// The window as it was.
    pub fn revert(&mut self, state: &mut SendState, now: Time) {
        if let Some((cwnd, ssthresh)) = self.prior {
            let (now_cwnd, now_ssthresh) = state.window.sizes();
            let event = UndoEvent { pipe_prev: ssthresh.max(now_ssthresh), cwnd: cwnd.max(now_cwnd) };
            state.control.algorithm().on_undo(&mut state.window, &event);
        }
        self.end();
        state.recovery_point = state.una.saturating_sub(1); // a loss may be found immediately
        state.record(SenderEventKind::Spurious, state.una, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpSpec};
    use roamlab_engine::Duration;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    /// True if an ACK that echoes this time answers an original, before and after a retransmission at 5.8 ms.
    fn answers(profile: Profile, echo: u64) -> [bool; 2] {
        let params = TcpSpec::default().resolve(profile).unwrap();
        let mut state = SendState::new(params.into(), Duration::ZERO);
        state.echo = Some(at(echo));
        let mut undo = Undo::default();
        undo.begin(&state, 0);
        let before = undo.answers_original(&state);
        undo.sent_again(at(5_800));
        [before, undo.answers_original(&state)]
    }

    #[test]
    fn to_linux_times_are_milliseconds_and_nothing_sent_again_is_nothing_lost() {
        assert_eq!(answers(Profile::Linux6, 4_999), [true, true]);
        assert_eq!(answers(Profile::Linux6, 5_200), [true, false]);
        assert_eq!(answers(Profile::Rfc, 5_200), [false, true]);
    }

    #[test]
    fn in_linux_the_first_retransmission_is_that_of_an_earlier_recovery_until_it_is_forgotten() {
        let state =
            |profile| SendState::new(TcpSpec::default().resolve(profile).unwrap().into(), Duration::ZERO);
        let kept = |profile| {
            let mut undo = Undo::default();
            undo.sent_again(at(5_800));
            undo.begin(&state(profile), 1);
            undo.repeated_at
        };
        assert_eq!((kept(Profile::Linux6), kept(Profile::Rfc)), (Some(at(5_800)), None));
    }

    #[test]
    fn a_d_sack_from_below_the_first_outstanding_segment_is_of_an_earlier_episode() {
        // `tcp_check_dsack`: only one above undo_marker counts. Segment 5 is the first outstanding one.
        let params = TcpSpec::default().resolve(Profile::Linux6).unwrap();
        let mut state = SendState::new(params.into(), Duration::ZERO);
        state.una = 5;
        let mut undo = Undo::default();
        undo.begin(&state, 0);
        undo.sent_again(at(5_800));
        let reports = |undo: &mut Undo, seq: u32| {
            undo.note(&AckSummary { repeated_end: Some(seq + 1), ..AckSummary::default() });
            undo.all_reported()
        };
        assert_eq!([4, 5].map(|seq| reports(&mut undo, seq)), [false, true]);
    }

    #[test]
    fn without_new_data_f_rto_ends_at_the_first_ack_of_a_retransmission() {
        // `tcp_process_loss`, step 2.b: "Otherwise fall back to the conventional recovery". Later originals do not
        // change that.
        let params = TcpSpec::default().resolve(Profile::Linux6).unwrap();
        let mut state = SendState::new(params.into(), Duration::ZERO);
        (state.una, state.nxt, state.snd_max, state.end, state.recovery_point) = (2, 11, 11, 11, 11);
        let mut undo = Undo { frto: true, ..Undo::default() };
        assert_eq!(undo.frto(&mut state, &AckSummary::default(), true), Frto::Goes);
        assert!(!undo.frto);
        assert_eq!(
            undo.frto(&mut state, &AckSummary { original: true, ..AckSummary::default() }, true),
            Frto::Goes
        );
    }
}
