//! The dialect of Linux 6: what it does otherwise than the RFCs, or where they leave a choice.
//!
//! A rule below is so in the profiles of Linux, with its function in `net/ipv4`. Generic code asks for the rule and names no kernel.
//! What takes more than a line is in the files of this folder. The law of a congestion control is in a file `linux.rs` of its folder.

mod autotuning;
mod averages;
mod bursts;
mod checks;
pub(crate) mod clock;
mod packets;
mod quick_acks;
mod receiver;
mod send_buffer;
mod short_cut;
mod unlisted;
pub(crate) mod wheel;
mod writes;

pub(crate) use autotuning::Autotuning;
pub(crate) use averages::RoundAverages;
pub(crate) use quick_acks::QuickAcks;
pub(crate) use send_buffer::SendBuffer;
pub(crate) use unlisted::Unlisted;

use crate::params::{
    AckRule, Handshake, Profile, RecoveryKind, Reduction, RtoRule, SpuriousDetection, TcpParams,
};
use roamlab_engine::Duration;

/// What is added to a time-out for the grain of the clock: two ticks (TCP_TIMEOUT_MIN_US).
const SLACK: Duration = Duration::from_millis(2);
/// So many timeouts of a SYN leave the RTO as it is (`tcp_syn_linear_timeouts`).
const SYN_LINEAR_TIMEOUTS: u32 = 4;

// In all profiles of Linux.
rules! {
    follows_linux:
    /// Without SACK a duplicate ACK is a segment delivered (`tcp_remove_reno_sacks` in `tcp_input.c`).
    dup_acks_deliver;
    /// What a loss reduces is cwnd, not the flight size (`tcp_reno_ssthresh` in `tcp_cong.c`).
    reduces_cwnd;
    /// A timeout in a recovery leaves ssthresh (`tcp_enter_loss` in `tcp_input.c`).
    keeps_ssthresh_in_recovery;
    /// What a SYN measured is kept where it had to be sent again (`tcp_init_metrics` in `tcp_metrics.c`).
    keeps_rtt_of_syn;
    /// A SYN that is sent again offers no ECN, which RFC 3168 §6.1.1.1 permits (`tcp_ecn_clear_syn` in `tcp_output.c`).
    offers_ecn_once;
    /// ECN is in use only if SYN and SYN/ACK agree on it (`tcp_ecn_rcv_synack`, `tcp_ecn_create_request` in `tcp_input.c`).
    agrees_on_ecn;
    /// With a congestion control that needs ECN all segments are ECN-capable (`tcp_ecn_send` in `tcp_output.c`).
    all_are_ecn_capable;
    /// Receiver: a segment that tells CWR is acknowledged at once: the window may be one segment (`tcp_ecn_accept_cwr`).
    acks_cwr_at_once;
    /// Receiver, DCTCP: the mark of a copy that is in order is not looked at (`tcp_data_queue` in `tcp_input.c`).
    skips_marks_of_copies;
    /// Receiver: a FIN without data that is next in order needs no room (`tcp_data_queue` in `tcp_input.c`).
    takes_bare_fin;
    /// Receiver: the window is rounded up to what its scale can say (`__tcp_select_window` in `tcp_output.c`).
    rounds_window_up;
    /// Receiver: a fourth block is kept, for which an ACK with timestamps has no room (TCP_NUM_SACKS).
    keeps_fourth_block;
    /// Receiver: the SYN/ACK has a timer, and the same one answers a SYN that is sent again (`tcp_check_req`).
    repeats_syn_ack;
    /// RACK: segments are counted when blocks report them (`tcp_count_delivered` in `tcp_input.c`).
    delivers_by_blocks;
    /// RACK: a round-trip time is measured before a loss is looked for (`pkts_acked` in `tcp_clean_rtx_queue`).
    measures_before_losses;
    /// RACK: what blocks report is measured too (`tcp_ack_update_rtt` in `tcp_input.c`).
    measures_blocks;
    /// RACK: what was sent again is measured by the timestamps alone, in their unit (`tcp_ack_update_rtt`).
    measures_repeats_in_stamps;
    /// RACK: the shortest round-trip time is that which an ACK measures, not that of each segment (`tcp_update_rtt_min`).
    min_rtt_by_ack;
    /// RACK: times that are echoed are compared in whole milliseconds, and only where the ACK itself acknowledges the segment
    /// (`tcp_skb_spurious_retrans`, `tcp_tsopt_ecr_before`).
    compares_stamps;
    /// RACK: at a timeout no segment may be late for reordering (`tcp_timeout_mark_lost`).
    timeout_allows_no_reordering;
    /// RACK: a timeout that is the first one of its segment begins an episode that may be undone (`tcp_enter_loss`).
    timeout_restarts_undo;
    /// RACK: the retransmission timer counts from the latest transmission of the first segment (`tcp_rearm_rto`).
    times_from_head;
    /// RACK: the timer of the reordering window sends nothing unless it has found a loss (`tcp_rack_reo_timeout`).
    reordering_timer_only_repairs;
    /// RACK: behind a burst that is paced what is lost goes first (`tcp_tsq_write` in `tcp_output.c`).
    paced_repairs_go_first;
    /// RACK: a D-SACK widens the reordering window only once reordering was seen (`tcp_rack_update_reo_wnd`).
    widens_if_reordered;
    /// RACK: an undo alone is no reason to look for losses (`tcp_try_undo_partial`).
    undo_finds_no_losses;
    /// RACK: the ACK that ends a recovery also grows the window (`tcp_cong_control`).
    grows_on_exit;
    /// RACK: an ACK of an original in a recovery repairs nothing while what was sent again is under way (`tcp_try_undo_partial`).
    late_original_repairs_nothing;
    /// RACK: what an undo takes back is not found lost again by its time (`tcp_undo_cwnd_reduction`, `tcp_rack_detect_loss`).
    undo_leaves_list;
    /// RACK: the time of the first retransmission outlives an episode (`retrans_stamp`, `tcp_retrans_stamp_cleanup`).
    keeps_time_of_repeat;
    /// A SYN that was sent again, and whose first copy is answered, leaves the initial window (`tcp_try_undo_spurious_syn`).
    undoes_syn;
    /// RACK: a probe goes out though the round-trip time was not measured since the last one (`tcp_send_loss_probe`).
    probes_unmeasured;
}

// Those of segmentation offload, which `tso_deferral` turns on.
rules! {
    has_bursts:
    /// New data leaves in bursts, of which a small one waits for the next ACK (`tcp_tso_should_defer` in `tcp_output.c`).
    forms_bursts;
    /// A burst that leaves late waits less for the next one (`tcp_update_skb_after_send` in `tcp_output.c`).
    makes_up_for_late_bursts;
    /// What is sent again is paced by packets (`tcp_retransmit_skb` in `tcp_output.c`).
    paces_repeated_packets;
    /// A wait for pacing makes the other timers later (`tcp_pacing_delay` in `include/net/tcp.h`).
    pacing_delays_timers;
    /// A flow resumes for its congestion control only if the application has limited it (`bbr_cwnd_event` in `tcp_bbr.c`).
    resumes_if_limited;
    /// The record of segments has times in whole microseconds (`tcp_mstamp`).
    records_micros;
    /// The congestion control gets what the loss recovery knows of the network (`rate_sample`, `tcp_cong_control`).
    reports_network;
}

impl TcpParams {
    /// Whether the profile is one of Linux.
    #[inline(always)]
    fn follows_linux(&self) -> bool {
        matches!(self.profile, Profile::Linux6 | Profile::Linux6Bbr)
    }

    #[inline(always)]
    fn has_bursts(&self) -> bool {
        self.tso_deferral
    }

    /// Whether what the application writes waits in a buffer (`tcp_sndbuf_expand` in `tcp_input.c`).
    pub(crate) fn has_send_buffer(&self) -> bool {
        self.send_autotuning && self.tso_deferral
    }

    /// The tick of the wheel that timers are in, if they are (`kernel/time/timer.c`).
    #[inline(always)]
    pub(crate) fn wheel(&self) -> Option<Duration> {
        self.timer_wheel.then_some(self.tick)
    }

    /// What is added to the end of the reordering window, and to the PTO with several segments in flight.
    pub(crate) fn timer_slack(&self) -> Duration {
        if self.follows_linux() { SLACK } else { Duration::ZERO }
    }

    /// Whether rttvar is the largest deviation of a round trip (`tcp_rtt_estimator` in `tcp_input.c`).
    pub(crate) fn deviates_by_round(&self) -> bool {
        self.rto_rule == RtoRule::Linux
    }

    /// Whether the RTO is whole ticks (`__tcp_set_rto` in `include/net/tcp.h`).
    pub(crate) fn rto_in_ticks(&self) -> bool {
        self.timer_wheel && self.deviates_by_round()
    }

    /// Whether PRR goes by the window before the loss, and a timer that finds one counts as a segment delivered
    /// (`tcp_init_cwnd_reduction`, `tcp_rack_reo_timeout`).
    pub(crate) fn reduces_by_window(&self) -> bool {
        self.reduction == Reduction::LinuxPrr
    }

    /// Whether an echo of congestion is heard after losses have been looked for, and if there are none (`tcp_fastretrans_alert`).
    pub(crate) fn hears_echoes_last(&self) -> bool {
        self.recovery == RecoveryKind::Rack && self.follows_linux()
    }

    /// Whether RACK undoes cuts by D-SACK, timestamps and F-RTO (`tcp_try_undo_recovery`, `tcp_process_loss`).
    pub(crate) fn undoes_cuts(&self) -> bool {
        self.spurious_detection == SpuriousDetection::Linux
    }

    /// How RACK finds needless cuts if the scenario does not say it.
    pub(crate) fn undo_of_rack(&self) -> SpuriousDetection {
        if self.dsack { SpuriousDetection::Linux } else { SpuriousDetection::None }
    }

    /// Whether quick ACKs, an adaptive delay and compressed SACKs say when the receiver acknowledges (`__tcp_ack_snd_check`).
    pub(crate) fn has_quick_acks(&self) -> bool {
        self.ack_rule == AckRule::Linux
    }

    /// Whether the timeout of a SYN doubles the RTO, after so many of them (`tcp_retransmit_timer` in `tcp_timer.c`).
    pub(crate) fn syn_backs_off(&self, timeouts: u32) -> bool {
        timeouts > SYN_LINEAR_TIMEOUTS || !self.follows_linux()
    }

    /// Whether the SYN/ACK is acknowledged before data goes (`tcp_rcv_synsent_state_process` in `tcp_input.c`).
    pub(crate) fn completes_handshake(&self) -> bool {
        self.handshake == Handshake::ThreeWay && self.follows_linux()
    }

    /// Bytes of a SYN's options other than timestamps (`tcp_syn_options` in `tcp_output.c`): MSS, SACK permitted, which takes the
    /// place of the timestamps' padding where those are in use, and window scale. Other SYNs have none.
    pub(crate) fn syn_options(&self) -> u64 {
        let sack = if self.sack_blocks > 0 && !self.timestamps { 4 } else { 0 };
        let options = 4 + sack + if self.window_scaling { 4 } else { 0 };
        if self.follows_linux() { options } else { 0 }
    }
}
