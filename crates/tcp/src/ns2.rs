//! The dialect of ns-2: what it does otherwise than the RFCs, and no variable of it turns off.
//!
//! What a variable of ns-2 turns on or off is a parameter in `params.rs`. ns-2's own algorithms are the recoveries `pipe`,
//! `ns2_fack` and `vegas`. All other differences are the rules below, which hold in the profiles of ns-2.

use crate::params::{Handshake, Profile, RecoveryKind, TcpParams};
use crate::state::{SendQuota, SendState};
use roamlab_engine::Bytes;

// What is so in ns-2, and not by the RFCs.
rules! {
    is_ns2:
    /// Clocks tick: the RTO is BSD's arithmetic, not RFC 6298.
    ns2_ticks;
    /// Nobody reads the advertised window, and none is probed (RFC 9293 §3.8.6).
    ns2_no_flow_control;
    /// What is in use is min(cwnd + inflation, window), not the flight size (RFC 5681 §3.1 eq. 4).
    ns2_cuts_window;
    /// An ACK is a duplicate also with nothing outstanding (RFC 5681 §2).
    ns2_counts_all_dupacks;
    /// Reno, NewReno: the ACK that ends recovery also grows cwnd.
    ns2_grows_on_exit;
    /// Tahoe: the count of duplicate ACKs outlives a timeout.
    ns2_keeps_dupacks;
    /// An old timestamp is accepted (against RFC 7323 §5.3 R1, PAWS).
    ns2_no_paws;
    /// Before the first cut the window counts as cut for segment 0: `recover_` is 0.
    ns2_first_segment_recovers;
    /// What a limit on bursts has left of the window is sent on later ACKs, whichever they are.
    ns2_sends_rest_of_burst;
    /// Limited transmit also sends again what went out before a timeout.
    ns2_limited_transmit_repeats;
    /// The clock of the restart after idle runs from the last ACK, and leaves the state of a timeout.
    ns2_idle_is_timeout;
    /// When the application has stopped, the last segment sent is not sent again.
    ns2_forgets_last;
    /// The timeout of a SYN is one of data: it cuts ssthresh, and the initial window if `bugfix_ss_` is on.
    ns2_syn_is_a_segment;
    /// Without a SYN, segment 0 offers ECN, and the first ACK of new data agrees.
    ns2_offers_ecn_on_data;
    /// Retransmissions are ECN-capable (against RFC 3168 §6.1.5).
    ns2_ecn_on_retransmissions;
    /// The last segment sent counts as new when it is sent again: it carries CWR.
    ns2_last_is_new;
    /// An overtaken ACK may echo congestion.
    ns2_hears_late_echo;
    /// The first echo after a timeout cuts the window, whichever window it is about.
    ns2_echo_after_timeout;
    /// Successive echoes at a window of one segment double the RTO (against RFC 3168 §6.1.2).
    ns2_echoes_back_off;
    /// A timeout after a cut by an echo leaves ssthresh.
    ns2_echo_keeps_ssthresh;
    /// A fast retransmit in a window that an echo has cut leaves the recovery point.
    ns2_echo_keeps_recover;
    /// Receiver: segment 0 is acknowledged at once, SYN or not, and its ECE asks for an answer.
    ns2_first_is_syn;
    /// Receiver: a copy of the last segment in order counts as in order, so that its ACK may be delayed.
    ns2_copy_is_in_order;
    /// Receiver: the mark of a segment whose ACK is delayed arrives with the next one; marks of old segments count.
    ns2_holds_marks;
    /// SACK: the report of a copy is news, and overtaken ACKs reduce the pipe.
    ns2_pipe_counts_all;
    /// Vegas: after a timeout the whole window counts as inflation, and no limit on bursts holds.
    ns2_vegas_forgets_window;
    /// Vegas: the first ACK alone sets the averages; what is sent together with segment 0 is not measured.
    ns2_vegas_starts_averages;
    /// Vegas: a cut keeps its time when segment 0 is sent again.
    ns2_vegas_keeps_cut_time;
    /// Vegas: duplicate ACKs of what was sent before a timeout count, and there is no limited transmit.
    ns2_vegas_counts_dupacks;
    /// Vegas: times of a range that passes the end of the ring are not cleared.
    ns2_vegas_leaves_ring;
    /// Vegas: a retransmission that ACKs have caused doubles the RTO (against RFC 6298 §5.5).
    ns2_vegas_backs_off;
    /// Vegas: duplicate ACKs inflate cwnd itself, which the next cut then takes a part of.
    ns2_vegas_inflates_cwnd;
    /// Vegas: a segment that was never sent counts as overdue.
    ns2_vegas_repeats_unsent;
}

impl TcpParams {
    /// Whether the profile is one of ns-2.
    #[inline(always)]
    pub fn is_ns2(&self) -> bool {
        matches!(self.profile, Profile::Ns2_2001 | Profile::Ns2_2003 | Profile::Ns2_2009)
    }

    fn is_ns2_vegas(&self) -> bool {
        self.is_ns2() && self.recovery == RecoveryKind::Vegas
    }

    /// Whether Vegas compares the mean of a round's round-trip times, of what TCP measures anyhow, and not the shortest.
    pub(crate) fn ns2_vegas_takes_mean(&self) -> bool {
        self.is_ns2()
    }

    /// Whether segments and ACKs carry timestamps that cost nothing: FACK measures duplicate ACKs by them.
    pub(crate) fn ns2_free_timestamps(&self) -> bool {
        self.is_ns2() && self.recovery == RecoveryKind::Ns2Fack
    }

    /// Whether the idle clock cuts like a timeout, and a segment sent with nothing outstanding does not restart the
    /// timer: Vegas.
    #[inline(always)]
    pub(crate) fn ns2_timer_runs_idle(&self) -> bool {
        self.is_ns2_vegas()
    }

    /// Bytes of a full segment on the wire. No header is added to segment 0, SYN or not, and timestamps only where a
    /// header is.
    pub(crate) fn data_size(&self, seq: u32) -> Bytes {
        let (payload, header) = (self.segment.0, self.header.0);
        if self.is_ns2() && (seq == 0 || header == 0) {
            return Bytes(payload);
        }
        Bytes(payload + header + if self.timestamps { self.timestamp_bytes() } else { 0 })
    }

    /// Bytes of the timestamps option of a data segment (RFC 7323 appendix A).
    fn timestamp_bytes(&self) -> u64 {
        if self.is_ns2() { 10 } else { 12 }
    }

    /// Bytes of the timestamps option of an ACK, SYN or FIN: none.
    pub(crate) fn ack_timestamp_bytes(&self) -> u64 {
        if self.timestamps && !self.is_ns2() { 12 } else { 0 }
    }

    /// What SACK blocks add to an ACK besides 8 bytes each: nothing, not even kind, length and padding (RFC 2018 §3).
    pub(crate) fn sack_bytes(&self) -> u64 {
        if self.is_ns2() { 0 } else { 4 }
    }

    /// Whether ACK 1 answers a SYN that is no segment of its own handshake. Such an ACK has the flag that echoes
    /// congestion if the other end understands it.
    pub(crate) fn ns2_segment_0_is_syn(&self) -> bool {
        self.handshake == Handshake::Syn || self.handshake == Handshake::None && self.is_ns2()
    }

    /// Whether the loss of the first segment leaves one segment of the initial window, as RFC 5681 §3.1 has it for a SYN.
    /// `bugfix_ss_` turns it on.
    pub(crate) fn lost_first_reduces(&self) -> bool {
        self.handshake != Handshake::SlowData && (!self.is_ns2() || self.first_loss_unguarded)
    }
}

impl SendState {
    /// What a limit on bursts has left of the window: how much at once, if there is any. Tahoe sends it on duplicate ACKs.
    pub fn left_by_burst(&self) -> Option<u32> {
        let burst = self.params.max_burst.0;
        let left = self.params.ns2_sends_rest_of_burst() && burst > 0 && self.nxt < self.window_end();
        left.then_some(burst)
    }

    /// An ACK that others have overtaken sends what a limit on bursts has left of the window, as any other ACK does
    /// (`aggressive_maxburst_`), but not between the first duplicate ACK and the threshold's.
    pub fn renew_quota_late(&mut self) {
        self.quota = SendQuota::Nothing;
        let counted = self.dup_acks == 0 || self.dup_acks >= self.params.dupack_threshold;
        if self.params.ns2_sends_rest_of_burst() && counted {
            self.renew_quota();
        }
    }
}
