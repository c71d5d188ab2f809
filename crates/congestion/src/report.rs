//! The reports of a sender: events, and its variables at any time.

use roamlab_engine::{Duration, Time, named};

named! {
    /// Kind of an event.
    #[derive(Copy, Clone, PartialEq, Eq, Debug)]
    pub enum SenderEventKind {
        /// An ACK changed cwnd or ssthresh. `seq` is the segment it expects next.
        Window => "window",
        /// Duplicate ACKs made the sender retransmit `seq` and cut the window.
        FastRetransmit => "fast-retransmit",
        /// The retransmission timer expired; `seq` is the first segment outstanding.
        Timeout => "timeout",
        /// Loss recovery ended with an ACK that expects `seq`.
        RecoveryExit => "recovery-exit",
        /// The congestion experienced by a segment made the sender cut the window (ECN).
        EcnReduction => "ecn-reduction",
        /// The latest retransmission was not needed, and the window is as it was; `seq` is the segment the ACK expects.
        Spurious => "spurious",
        /// The connection was idle for an RTO and its window shrank; `seq` is the next segment to be sent.
        IdleRestart => "idle-restart",
        /// No ACK came for two round trips, and `seq` goes out as a probe (TLP).
        TailLossProbe => "tail-loss-probe",
        /// The ACK of a probe revealed that the probe has repaired a loss, and the window was cut; `seq` is the segment it expects.
        TailLoss => "tail-loss",
        /// Segments sent after `seq` have arrived, and it is too late to be only reordered (RACK): it is lost.
        RackMark => "rack-mark",
        /// QUIC: everything over several probe timeouts was lost, and the window is two packets (RFC 9002 §7.6). `seq` is the
        /// first segment lost.
        PersistentCongestion => "persistent-congestion",
        /// QUIC: one of the ends has a new address, and window and round-trip times begin again (RFC 9000 §9.4). `seq`
        /// is the first segment outstanding.
        Migration => "migration",
        /// The sender was notified of a new path, and has followed its policy. `seq` is the first segment outstanding.
        PathChange => "path-change",
        /// QUIC: the window jumps to half of that of the former path (RFC 9959 §3.3). `seq` is the first segment outstanding.
        Jump => "jump",
        /// QUIC: that window was too much, and the data that has arrived counts (RFC 9959 §3.5). `seq` is the first
        /// segment lost, or the first one outstanding if only the round-trip time shows it.
        SafeRetreat => "safe-retreat",
    }
}

/// One fact, with the sender's state just after it.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct SenderEvent {
    /// When.
    pub at: Time,
    /// Its kind.
    pub kind: SenderEventKind,
    /// The segment concerned: the one whose loss was the cause, or the one the ACK expects.
    pub seq: u32,
    /// Congestion window in segments, without inflation.
    pub cwnd: f64,
    /// Slow-start threshold in segments.
    pub ssthresh: f64,
    /// Retransmission timeout with its backoff.
    pub rto: Duration,
    /// Smoothed round-trip time; zero before the first measurement.
    pub srtt: Duration,
}

/// A sender's variables.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct SenderVariables {
    /// Congestion window in segments, without inflation.
    pub cwnd: f64,
    /// Slow-start threshold in segments.
    pub ssthresh: f64,
    /// The latest round-trip time measured; zero before the first.
    pub rtt: Duration,
    /// Smoothed round-trip time; zero before the first measurement.
    pub srtt: Duration,
    /// Smoothed mean deviation of the round-trip time.
    pub rttvar: Duration,
    /// Retransmission timeout with its backoff.
    pub rto: Duration,
    /// Factor on the RTO.
    pub backoff: u64,
    /// Retransmission timeouts so far.
    pub timeouts: u64,
    /// Cuts of the window so far.
    pub reductions: u64,
}
