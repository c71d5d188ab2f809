//! Every parameter of a TCP connection.
//!
//! They are declared once, below. The table makes [`TcpParams`] (all filled in, echoed into results), the optional fields
//! of [`TcpSpec`](crate::TcpSpec), which a scenario sets for a flow, and the rules of [`TcpProfile`](crate::TcpProfile).
//! ns-2 names are those of its Tcl variables.

use roamlab_congestion::{CongestionControlSpec, ControlParams, Halving};
use roamlab_engine::{Bytes, Duration, Packets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A built-in profile: whose TCP is being run.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum Profile {
    /// The RFCs: 5681, 6928, 6298, 6582, 6675, 3042, 5682.
    #[default]
    #[serde(rename = "rfc")]
    Rfc,
    /// ns-2 before 2001: tick 100 ms, no minimum RTO, initial window 1, no SYN, no limited transmit, no header.
    #[serde(rename = "ns2-2001")]
    Ns2_2001,
    /// ns-2 of 2003 (2.26): tick 10 ms, minimum RTO 1 s, truncating halving, repeated fast retransmits.
    #[serde(rename = "ns2-2003")]
    Ns2_2003,
    /// ns-2 of 2009 (2.34, 2.35): tick 10 ms, minimum RTO 200 ms.
    #[serde(rename = "ns2-2009")]
    Ns2_2009,
    /// Linux 6 with its default settings: RACK-TLP, PRR, undo, quick ACKs.
    #[serde(rename = "linux-6")]
    Linux6,
    /// The same with BBR.
    #[serde(rename = "linux-6-bbr")]
    Linux6Bbr,
}

/// Names and one-line summaries of all profiles.
pub const PROFILES: &[(&str, &str)] = &[
    ("rfc", "the RFCs: 5681, 6928, 6298, 6582, 6675, 3042, 5682"),
    ("ns2-2001", "ns-2 before 2001: tick 100 ms, no minimum RTO, initial window 1"),
    ("ns2-2003", "ns-2 of 2003 (2.26): tick 10 ms, minimum RTO 1 s, truncating halving"),
    ("ns2-2009", "ns-2 of 2009 (2.34, 2.35): tick 10 ms, minimum RTO 200 ms"),
    ("linux-6", "Linux 6 with its default settings: CUBIC, RACK-TLP, PRR, undo, quick ACKs"),
    ("linux-6-bbr", "Linux 6 with BBR version 1"),
];

/// Declares the variants: name, one-line summary, loss recovery, congestion control.
macro_rules! variants {
    ($($name:literal => $variant:ident, $summary:literal, $recovery:ident, $control:ident;)+) => {
        /// A TCP variant: a preset that names a loss recovery and a congestion control.
        #[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
        pub enum Variant {
            $(#[doc = $summary] #[serde(rename = $name)] $variant,)+
        }

        /// The variants: name and one-line summary.
        pub const VARIANTS: &[(&str, &str)] = &[$(($name, $summary),)+];

        impl Variant {
            /// The loss recovery and the congestion control of the variant.
            pub fn parts(self) -> (RecoveryKind, CongestionControlSpec) {
                match self {
                    $(Variant::$variant => (RecoveryKind::$recovery, CongestionControlSpec::$control(Default::default())),)+
                }
            }
        }
    };
}

variants! {
    "tahoe" => Tahoe, "Fast retransmit, then slow start from the lost segment on (Jacobson 1988).", Tahoe, Reno;
    "reno" => Reno, "Fast retransmit and fast recovery; any new ACK ends recovery (RFC 5681).", Reno, Reno;
    "newreno" => NewReno, "Partial ACKs repair one loss each without leaving recovery (RFC 6582).", NewReno, Reno;
    "sack" => Sack, "Selective acknowledgements; the profile gives the algorithm (ns-2's pipe or RFC 6675).", Pipe, Reno;
    "fack" => Fack, "Selective acknowledgements and the forward-most of them (Mathis & Mahdavi 1996).", Ns2Fack, Reno;
    "cubic" => Cubic, "SACK, with the window as a cubic function of the time since the latest loss (RFC 9438).", Pipe, Cubic;
    "bbr" => Bbr, "RACK, in ns-2's profiles its pipe, with rate and window by a model of the path (BBR version 1 as in Linux 6).", Pipe, Bbr;
    "bbr3" => Bbr3, "RACK, with rate and window by a model of the path that minds losses (BBR version 3).", Rack, Bbr3;
    "dctcp" => Dctcp, "RACK, with Reno's window that falls by the share of marked segments (RFC 8257).", Rack, Dctcp;
    "prague" => Prague, "RACK, with DCTCP's window for the Internet: accurate ECN, ECT(1), pacing (draft-briscoe-iccrg-prague-congestion-control-04).", Rack, Prague;
    "vegas" => Vegas, "Window by delay, retransmission by fine-grained times (Brakmo & Peterson 1995).", Vegas, Vegas;
}

/// How lost segments are found and repaired.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RecoveryKind {
    /// Fast retransmit without fast recovery: go-back-N in slow start.
    Tahoe,
    /// Fast retransmit and fast recovery (RFC 5681 §3.2).
    Reno,
    /// Partial ACKs keep the recovery going (RFC 6582).
    NewReno,
    /// SACK with a counted pipe (Fall & Floyd 1996; ns-2 `Agent/TCP/Sack1`).
    Pipe,
    /// SACK with a pipe computed from the scoreboard (RFC 6675).
    Rfc6675,
    /// SACK with the forward-most acknowledgement (Mathis & Mahdavi 1996).
    Fack,
    /// The same as ns-2 has it (`Agent/TCP/Fack`).
    #[serde(rename = "ns2-fack")]
    Ns2Fack,
    /// Retransmission by the times of transmission (Brakmo & Peterson 1995; ns-2 `Agent/TCP/Vegas`).
    Vegas,
    /// SACK with loss detection by time, and a tail loss probe (RFC 8985).
    Rack,
}

impl RecoveryKind {
    /// True if it needs SACK blocks.
    pub(crate) fn goes_by_sack(self) -> bool {
        !matches!(
            self,
            RecoveryKind::Tahoe | RecoveryKind::Reno | RecoveryKind::NewReno | RecoveryKind::Vegas
        )
    }
}

/// How a recovery of [`RecoveryKind::Rack`] or [`RecoveryKind::Rfc6675`] reduces the window; others cut it immediately.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// To ssthresh when the loss is found.
    Immediate,
    /// In proportion to what is delivered of the data that was in flight (RFC 9937).
    Prr,
    /// The same in proportion to the window before the loss (Linux).
    LinuxPrr,
}

/// Part that a partial ACK takes from the inflated window (NewReno).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialDeflation {
    /// All of the inflation (ns-2 `partial_window_deflation_` false).
    Whole,
    /// The data acknowledged, except one segment (RFC 6582 §3.2 step 3).
    Full,
    /// As `full`, but where the inflation does not cover it cwnd pays for all of the rest and a segment of
    /// inflation stays (ns-2 `partial_window_deflation_` true).
    Ns2,
}

/// How a connection begins.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Handshake {
    /// Data immediately.
    None,
    /// ns-2's model: segment 0 is a bare SYN; the window is 1 until its ACK (`syn_`, `delay_growth_`).
    Syn,
    /// SYN, SYN and ACK, ACK with the first data if there is any (RFC 9293 §3.5).
    ThreeWay,
    /// ns-2's Vegas: data immediately, but the window is 1 until the second ACK, which opens the initial window.
    SlowData,
}

/// How retransmissions that were not needed are found.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpuriousDetection {
    /// Not at all.
    None,
    /// By the timestamp that the first new ACK echoes (Eifel, RFC 3522); needs timestamps.
    Eifel,
    /// By what the first two ACKs after a timeout acknowledge (F-RTO, RFC 5682).
    FRto,
    /// By reports that all that was sent again had arrived before (RFC 3708); needs D-SACK.
    DSack,
    /// By D-SACK, by timestamps if they are in use, and by F-RTO, as Linux; needs the recovery `rack` and D-SACK.
    Linux,
}

/// When the receiver acknowledges.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckRule {
    /// Every second segment, a single one after `delayed_ack` (RFC 5681 §4.2).
    Delayed,
    /// Quick ACKs at the start, an adaptive delay of 40 to 200 ms, and compressed SACKs (Linux).
    Linux,
}

/// How the RTO follows from the round-trip times.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RtoRule {
    /// srtt + max(tick, 4 rttvar), at least `min_rto` (RFC 6298 §2).
    Rfc6298,
    /// srtt + max(4 rttvar, `min_rto`), where rttvar is the largest deviation of a round trip (Linux).
    Linux,
}

/// How the RTO backs off.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Backoff {
    /// The floor applies before doubling; doubling ends at `max_rto` (RFC 6298 §5.5; ns-2, `rfc2988_` true).
    Rfc2988,
    /// The floor applies after doubling; the factor ends at 64 (ns-2, `rfc2988_` false).
    Bsd,
}

/// Passes the table of parameters to the macro `$use`: those of a flow, and the rules of a profile.
macro_rules! tcp_parameters {
    ($use:ident!) => {
        $use! {
            parameters {
                /// Loss recovery, if not the variant's.
                recovery: RecoveryKind,
                /// Congestion control, if not the variant's.
                congestion_control: CongestionControlSpec,
                /// Largest number of segments in flight: the receiver's window (ns-2 `window_`; by the RFCs 3 MiB, as Linux gives at most).
                window: Packets,
                /// Payload of a full segment (ns-2 `packetSize_`).
                segment: Bytes,
                /// IP and TCP header that a data segment adds on the wire (ns-2 `tcpip_base_hdr_size_` if `useHeaders_`).
                header: Bytes,
                /// Initial window (ns-2 `windowInit_`; RFC 6928 §2). One segment if the SYN was sent three times.
                initial_window: Packets,
                /// Send a new segment on each of the first duplicate ACKs (RFC 3042; ns-2 `singledup_`).
                limited_transmit: bool,
                /// Most SACK blocks on an ACK; 0 if SACK is not used (RFC 2018 §3: 4, or 3 with timestamps).
                sack_blocks: u32,
                /// Segments and ACKs carry timestamps, and every ACK of new data is a measurement (RFC 7323; ns-2
                /// `timestamps_`).
                timestamps: bool,
                /// How retransmissions that were not needed are found (RFC 3522, 5682, 3708); found, the window is as before
                /// (RFC 4015).
                spurious_detection: SpuriousDetection,
                /// Explicit congestion notification (RFC 3168; ns-2 `ecn_`).
                ecn: bool,
                /// Both ends offer accurate ECN, in which ACKs count the segments that were marked (RFC 9768). It turns `ecn` and the
                /// three-way handshake on.
                accecn: bool,
                /// An echo of congestion reduces the window by less than a loss does: it leaves 0.8 of it, with CUBIC 0.85 (ABE,
                /// RFC 8511 §3.1, §4.1).
                abe: bool,
                /// Spread what the window permits over the round trip, by Linux's rule (`tcp_update_pacing_rate`). A congestion
                /// control that paces anyway does so without it.
                pacing: bool,
                /// RTO before the first measurement (ns-2 `rtxcur_init_`).
                initial_rto: Duration,
                /// Smallest RTO (ns-2 `minrto_`). With ticks the RTO is also at least two of them.
                min_rto: Duration,
                /// Largest RTO (ns-2 `maxrto_`).
                max_rto: Duration,
                /// Longest time an ACK is held back, for at most one segment; "0 s" to acknowledge every segment
                /// immediately (ns-2 `TCPSink` against `TCPSink/DelAck` with its `interval_`; RFC 1122: at most 500 ms).
                delayed_ack: Duration,
            }
            rules {
                /// Size on the wire of an ACK or SYN without options.
                ack_size: Bytes,
                /// How the connection begins (ns-2 `syn_` and `delay_growth_`).
                handshake: Handshake,
                /// Initial ssthresh (ns-2: `window_`; RFC 5681: arbitrarily high).
                initial_ssthresh: Packets,
                /// Upper bound of cwnd; "0 pkt" for none (ns-2 `maxcwnd_`).
                max_cwnd: Packets,
                /// Most segments sent on one ACK; "0 pkt" for no limit (ns-2 `maxburst_`).
                max_burst: Packets,
                /// Duplicate ACKs that trigger fast retransmit (ns-2 `numdupacks_`).
                dupack_threshold: u32,
                /// No fast retransmit for losses of a window that was already cut (RFC 6582 §3.2; ns-2 `bugFix_`).
                guard_fast_retransmit: bool,
                /// `rack`: send a probe when no ACK comes for two round trips (RFC 8985 §7; Linux `tcp_early_retrans`).
                tail_loss_probe: bool,
                /// `rack` and `rfc6675`: how a recovery reduces the window (RFC 9937). If not set, `rfc6675` reduces it
                /// immediately, as other recoveries always do.
                reduction: Reduction,
                /// Except for the first data segment, whose loss may always be found by duplicate ACKs (ns-2
                /// `bugfix_ss_`, which also lets a lost SYN reduce the initial window to one segment).
                first_loss_unguarded: bool,
                /// Reno: new duplicate ACKs in a window that duplicate ACKs have cut may cut it again.
                ///
                /// ASSUMPTION: ns-2 of before July 2003 did so; 2.35 does not, whatever its switches are.
                repeat_fast_retransmit: bool,
                /// Reno: duplicate ACKs inflate the window even where no fast retransmit was made (ns-2
                /// `exitFastRetrans_` false).
                inflate_always: bool,
                /// NewReno: only the first partial ACK restarts the timer ("Impatient", RFC 6582 §4; ns-2
                /// `newreno_changes1_` 1); otherwise every one ("Slow-but-Steady").
                impatient: bool,
                /// NewReno: what a partial ACK takes from the inflated window (ns-2 `partial_window_deflation_`).
                partial_deflation: PartialDeflation,
                /// NewReno: the full ACK leaves cwnd at no more than a segment above what is in flight (RFC 6582 §3.2
                /// step 3, the first choice; ns-2 `exit_recovery_fix_`).
                cap_cwnd_on_exit: bool,
                /// The first SACK block repeats a segment that arrived twice (RFC 2883; ns-2 `generateDSacks_`).
                dsack: bool,
                /// A retransmission may carry the CWR flag, if it is what goes out first after a cut (ns-2
                /// `SetCWRonRetransmit_`); RFC 3168 §6.1.2 wants it on new data.
                cwr_on_retransmissions: bool,
                /// The receiver may advertise more than 65535 bytes (RFC 7323 §2).
                window_scaling: bool,
                /// The receive window begins with 64 KiB and grows up to `window` with what the application takes in a round
                /// trip (Linux `tcp_moderate_rcvbuf`).
                receive_autotuning: bool,
                /// The receiver echoes the timestamp of the segment that it acknowledges, also out of order (ns-2
                /// `ts_echo_bugfix_` false); otherwise that of the last segment in order (RFC 7323 §4.3).
                echo_latest: bool,
                /// FACK: a loss in slow start halves cwnd twice, for what it overshot (Mathis & Mahdavi 1996 §4.5; ns-2
                /// `ss-div4_`).
                fack_overdamping: bool,
                /// FACK: the window comes down by half a segment per segment acknowledged instead of immediately (Mathis &
                /// Mahdavi 1996 §4.6; ns-2 `rampdown_`); with CUBIC by 0.3 of a segment.
                fack_rampdown: bool,
                /// A burst that the window permits only a part of waits for the next ACK, if that is near, and pacing makes up for a
                /// late burst (Linux `tcp_tso_should_defer`, `tcp_update_skb_after_send`).
                tso_deferral: bool,
                /// With `tso_deferral`: what the application writes waits in a buffer of two windows, and leaves in the packets in which it
                /// was written (Linux `tcp_wmem`, `tcp_sndbuf_expand`).
                send_autotuning: bool,
                /// The arithmetic of halving (ns-2 `precisionReduce_`).
                halving: Halving,
                /// Shrink cwnd after an idle RTO (RFC 5681 §4.1; ns-2 `slow_start_restart_`).
                slow_start_restart: bool,
                /// Halve cwnd for each idle RTO, down to `restart_window`, and not immediately (Linux; RFC 2861).
                idle_halving: bool,
                /// cwnd after an idle RTO; never an increase (ns-2: 1; RFC 5681 §4.1: the initial window).
                restart_window: Packets,
                /// The clock's tick or granularity (ns-2 `tcpTick_`).
                tick: Duration,
                /// Timers expire on ticks of the clock, and those of 63 ticks or more on every 8th, 64th or 512th (Linux
                /// `kernel/time/timer.c`); otherwise at any time.
                timer_wheel: bool,
                /// How the RTO follows from the round-trip times; in ns-2 with BSD's ticks.
                rto_rule: RtoRule,
                /// How the RTO backs off (ns-2 `rfc2988_`).
                backoff: Backoff,
                /// Restart the timer with the RTO from before the ACK's own measurement (ns-2 `timerfix_` false).
                stale_rto_on_restart: bool,
                /// When the receiver acknowledges; by Linux's rule `delayed_ack` does not count.
                ack_rule: AckRule,
                /// Segment 0 is acknowledged immediately even if ACKs are delayed: as SYN, and by ns-2's receiver whether it is one
                /// or not (ns-2 `SYN_immediate_ack_`).
                immediate_first_ack: bool,
            }
        }
    };
}
pub(crate) use tcp_parameters;

macro_rules! params {
    (
        parameters { $($(#[$doc:meta])* $name:ident: $type:ty,)+ }
        rules { $($(#[$rule_doc:meta])* $rule:ident: $rule_type:ty,)+ }
    ) => {
        /// Every parameter of a connection, filled in.
        #[derive(Clone, PartialEq, Debug, Serialize)]
        pub struct TcpParams {
            /// The profile that filled in what the scenario left open; of one that the scenario declares, the one
            /// that it is based on.
            pub profile: Profile,
            /// The variant.
            pub variant: Variant,
            $($(#[$doc])* pub $name: $type,)+
            $($(#[$rule_doc])* pub $rule: $rule_type,)+
        }
    };
}
tcp_parameters!(params!);

/// A parameter as documentation shows it.
#[derive(Copy, Clone, Debug)]
pub struct Parameter {
    /// Name of the field in scenarios.
    pub name: &'static str,
    /// Name of its type.
    pub kind: &'static str,
    /// Meaning and source: its doc comment, one line of it after the other.
    pub doc: &'static str,
    /// True for a rule, which a profile sets; false for a parameter of a flow.
    pub is_rule: bool,
}

macro_rules! described {
    (
        parameters { $($(#[doc = $doc:literal])* $name:ident: $type:ty,)+ }
        rules { $($(#[doc = $rule_doc:literal])* $rule:ident: $rule_type:ty,)+ }
    ) => {
        /// All parameters, in the order of their declaration.
        pub const PARAMETERS: &[Parameter] = &[
            $(Parameter {
                name: stringify!($name), kind: stringify!($type), doc: concat!($($doc, "\n"),*), is_rule: false,
            },)+
            $(Parameter {
                name: stringify!($rule), kind: stringify!($rule_type), doc: concat!($($rule_doc, "\n"),*), is_rule: true,
            },)+
        ];
    };
}
tcp_parameters!(described!);

/// A copy, for a connection that shares its parameters with no other.
impl From<&TcpParams> for Arc<TcpParams> {
    fn from(params: &TcpParams) -> Arc<TcpParams> {
        Arc::new(params.clone())
    }
}

impl TcpParams {
    /// Parameters that the congestion control reads of the connection.
    pub(crate) fn for_control(&self) -> ControlParams {
        ControlParams {
            segment: self.segment,
            initial_ssthresh: self.initial_ssthresh,
            max_cwnd: self.max_cwnd,
            halving: self.halving,
            abe: self.abe,
            takes_mean: self.ns2_vegas_takes_mean(),
        }
    }

    /// True if the recovery may reduce the window in proportion (RFC 9937).
    pub(crate) fn takes_prr(&self) -> bool {
        matches!(self.recovery, RecoveryKind::Rack | RecoveryKind::Rfc6675)
    }

    /// True if segment 0 is a SYN.
    pub(crate) fn has_syn(&self) -> bool {
        matches!(self.handshake, Handshake::Syn | Handshake::ThreeWay)
    }
}
