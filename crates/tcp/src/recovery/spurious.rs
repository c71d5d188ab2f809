//! Timeouts and retransmissions that were not needed: Eifel (RFC 3522, 4015), F-RTO (RFC 5682), D-SACK (RFC 3708).

use crate::params::SpuriousDetection;
use crate::recovery::episode::{Episode, SpuriousWatch};
use crate::state::{SendQuota, SendState};
use roamlab_congestion::SenderEventKind;
use roamlab_congestion::{RecoveryStep, Undo};
use roamlab_engine::Time;
use roamlab_packet::TcpHeader;

impl SpuriousWatch {
    /// A retransmission is about to cut the window.
    pub fn retransmits(&mut self, state: &SendState, timeout: bool, now: Time) {
        let detection = state.params.spurious_detection;
        let same_window = state.una < state.recovery_point && self.episode.is_some();
        if detection == SpuriousDetection::DSack && same_window {
            return; // one more cut of the same episode
        }
        if let Some(reports) = &mut self.reports {
            reports.again.clear();
        }
        let duplicates = self.reports.as_ref().is_some_and(|reports| reports.duplicates);
        // RFC 5682 §2.1 step 1: F-RTO watches the first timeout of a window only.
        let repeated = state.una < state.recovery_point || state.rtt.backoff() > 1;
        self.episode = match detection {
            SpuriousDetection::Eifel => Some(()),
            SpuriousDetection::DSack => (!duplicates).then_some(()),
            SpuriousDetection::FRto => (timeout && !repeated).then_some(()),
            _ => None,
        }
        .map(|()| {
            let pipe_prev =
                f64::from(state.flight_size()).max(state.window.ssthresh().min(f64::from(u32::MAX)));
            let known = state.window.ssthresh() < f64::from(u32::MAX);
            let pipe_prev = if known { pipe_prev } else { f64::from(state.flight_size()) };
            Episode { pipe_prev, at: now, timeout, new_acks: 0, unheard: state.dup_acks == 0 }
        });
    }

    /// An ACK was processed that acknowledged `acked` segments, none for a duplicate.
    pub fn on_ack(&mut self, state: &mut SendState, header: &TcpHeader, acked: u32, now: Time) {
        let Some(episode) = self.episode else { return };
        match state.params.spurious_detection {
            SpuriousDetection::Eifel if acked > 0 => {
                self.episode = None;
                // RFC 3522 §3.2 step 5: an ACK that echoes an earlier time is one of the original transmission.
                if header.timestamps.is_some_and(|timestamps| timestamps.echo < episode.at) {
                    revert(state, &episode, acked, now);
                }
            }
            SpuriousDetection::FRto if acked > 0 => self.frto_new_ack(state, episode, header.ack, acked, now),
            SpuriousDetection::FRto if state.goes_by_sack() => self.frto_sack(state, episode, header, now),
            SpuriousDetection::FRto => self.frto_dup_ack(state, episode),
            SpuriousDetection::DSack
                if self.all_reported(header, episode.unheard.then_some(header.ack - acked)) =>
            {
                self.episode = None;
                revert(state, &episode, acked, now);
            }
            _ => {}
        }
    }

    /// RFC 3708 §3: true if this ACK is the last to report that the retransmitted segments had arrived before.
    /// `unheard`: SND.UNA before it, if no ACK had reported anything.
    ///
    /// ASSUMPTION: only the reports that arrive while a cut may be taken back show that the network duplicates segments (A.4).
    fn all_reported(&mut self, header: &TcpHeader, unheard: Option<u32>) -> bool {
        let Some(FirstBlock { start: seq, repeats: true, .. }) = FirstBlock::of(header) else { return false };
        let reports = self.reports.get_or_insert_default();
        let again = reports.again.get_mut(&seq);
        reports.duplicates |= again.is_none(); // (A.4)
        let Some(again) = again.filter(|again| again.times == 1 && unheard != Some(seq)) else {
            self.episode = None; // (A.1), (A.3), (A.4)
            return false;
        };
        again.reported = true; // (A.2)
        reports.again.values().all(|again| again.reported) // (B)
    }

    fn frto_new_ack(&mut self, state: &mut SendState, mut episode: Episode, ack: u32, acked: u32, now: Time) {
        episode.new_acks += 1;
        if ack >= state.recovery_point {
            self.episode = None; // (2a): everything acknowledged, nothing to tell
        } else if episode.new_acks == 1 && !state.has_new_data() {
            self.episode = None; // (2b): nothing new to send; back to slow start
        } else if episode.new_acks == 1 {
            // (2b): two new segments in place of retransmissions.
            self.episode = Some(episode);
            state.nxt = state.snd_max;
            state.quota = SendQuota::Beyond(2);
        } else {
            self.episode = None; // (3b): spurious
            revert(state, &episode, acked, now);
        }
    }

    /// RFC 5682 §3: a duplicate ACK whose blocks report a segment that was sent once, before the timeout.
    fn frto_sack(&mut self, state: &mut SendState, episode: Episode, header: &TcpHeader, now: Time) {
        let Some(news) = FirstBlock::of(header).filter(|block| !block.repeats) else { return };
        if episode.new_acks == 0 {
            // Step 2 continues: the retransmission is yet to be acknowledged.
        } else if news.end > state.recovery_point {
            self.frto_dup_ack(state, episode); // (3a): the new data has overtaken a hole
        } else {
            self.episode = None; // (3b)
            revert(state, &episode, 0, now);
        }
    }

    fn frto_dup_ack(&mut self, state: &mut SendState, episode: Episode) {
        self.episode = None;
        if episode.new_acks == 1 {
            // (3a): the timeout was genuine; slow start through what is outstanding, from three segments at most.
            state.recovery_step(RecoveryStep::SlowStartAtMost(3.0));
            state.nxt = state.una;
            state.renew_quota();
        }
    }
}

/// The first SACK block: the latest arrival.
pub(crate) struct FirstBlock {
    start: u32,
    pub end: u32,
    /// It had arrived before (RFC 2883 §4).
    pub repeats: bool,
}

impl FirstBlock {
    pub fn of(header: &TcpHeader) -> Option<FirstBlock> {
        let blocks = header.sacks.as_slice();
        let &(start, end) = blocks.first()?;
        let within = blocks.get(1).is_some_and(|second| second.0 <= start && end <= second.1);
        Some(FirstBlock { start, end, repeats: end <= header.ack || within })
    }
}

/// The Eifel response (RFC 4015 §3.2), also after F-RTO: the window as it was, and new data next.
fn revert(state: &mut SendState, episode: &Episode, acked: u32, now: Time) {
    let initial_window = f64::from(state.params.initial_window.0);
    // RFC 3708 leaves the response open; a D-SACK may come when nothing is outstanding, and takes no window away.
    let by_dsack = state.params.spurious_detection == SpuriousDetection::DSack;
    let least = if by_dsack { state.window.cwnd() } else { 0.0 };
    let cwnd = (f64::from(state.flight_size()) + f64::from(acked).min(initial_window)).max(least);
    state.control.algorithm().on_undo(&mut state.window, &Undo { pipe_prev: episode.pipe_prev, cwnd });
    state.inflation = 0;
    state.reverted = true;
    if episode.timeout {
        state.nxt = state.snd_max;
        state.recovery_point = state.una.saturating_sub(1); // RFC 5682 §2.1 (3b): a loss may be found immediately
        state.retransmit = None;
        state.rtt.end_backoff();
        state.restart_timer(now);
        state.renew_quota();
    }
    state.record(SenderEventKind::Spurious, state.una, now);
}
