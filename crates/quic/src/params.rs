//! The parameters of a QUIC connection, with the defaults of RFC 9000 and RFC 9002.

use crate::wire;
use roamlab_congestion::{CongestionControlSpec, PathPolicy, SpecError};
use roamlab_engine::{Bytes, Duration, Packets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a connection begins.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuicHandshake {
    /// Data immediately: the connection exists, or is resumed with 0-RTT.
    None,
    /// Data after a round trip with the sender's Initial and the answer of the other end (RFC 9000 §7).
    OneRtt,
}

/// Changes of the sender's window, round-trip times and packets in flight when the address of the other end has changed
/// (RFC 9000 §9.4).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Migration {
    /// RFC 9000 §9.4: both are initial values once the address is validated, and the old path's packets are not counted.
    Rfc,
    /// quinn's server: both are initial values from the first packet of the new address on.
    Quinn,
    /// quic-go: as `rfc`, and everything in flight is lost and sent again.
    QuicGo,
    /// msquic: as `rfc`, but what is in flight stays counted.
    Msquic,
    /// quiche, neqo, s2n-quic, picoquic: each path has its own, here that of a path which was never used.
    PerPath,
    /// quinn's moving client: nothing changes.
    Keep,
    /// As `rfc`, and then half the window of the old path, which is given up if packets are lost (RFC 9959).
    CarefulResume,
}

impl Migration {
    /// The start of a sender on the new path that it is notified of; `None`: window and round-trip times stay.
    pub(crate) fn at_notice(policy: PathPolicy) -> Option<Migration> {
        match policy {
            PathPolicy::Nothing | PathPolicy::ProbeRtt | PathPolicy::ForgetMinRtt => None,
            PathPolicy::CarefulResume => Some(Migration::CarefulResume),
            PathPolicy::Restart => Some(Migration::Quinn),
            PathPolicy::CountLost => Some(Migration::QuicGo),
        }
    }

    /// The window and the round-trip times are new before the address is validated; `None`: they stay.
    pub(crate) fn resets_unvalidated(self) -> Option<bool> {
        match self {
            Migration::Keep => None,
            Migration::Quinn | Migration::PerPath => Some(true),
            Migration::Rfc | Migration::QuicGo | Migration::Msquic | Migration::CarefulResume => Some(false),
        }
    }

    /// Packets of the old path do not count in the new window.
    pub(crate) fn frees_old_path(self) -> bool {
        !matches!(self, Migration::Keep | Migration::Msquic)
    }

    /// Packets of the old path are lost.
    pub(crate) fn loses_old_path(self) -> bool {
        self == Migration::QuicGo
    }
}

/// A QUIC connection (RFC 9000, RFC 9002). The run's profile does not change it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QuicSpec {
    /// UDP payload of a full packet (RFC 9002 `max_datagram_size`). RFC 9000 §14: every path takes 1200 B.
    pub datagram: Bytes,
    /// Length of the connection ID in each packet (RFC 9000 §17.2: at most 20 B).
    pub connection_id: Bytes,
    /// How the connection begins.
    pub handshake: QuicHandshake,
    /// Congestion control. `reno` is NewReno of RFC 9002 §7.
    pub congestion_control: CongestionControlSpec,
    /// Initial window; absent: RFC 9002 §7.2, ten packets of up to 1472 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Packets>,
    /// A packet is lost if a packet is acknowledged that was sent this number of packets later (RFC 9002 §6.1.1
    /// `kPacketThreshold`).
    pub packet_threshold: u32,
    /// A packet is lost if it is older than this number of round-trip times and one sent later is acknowledged (RFC
    /// 9002 §6.1.2 `kTimeThreshold`).
    pub time_threshold: f64,
    /// Shortest time of a timer (RFC 9002 §6.1.2 `kGranularity`).
    pub granularity: Duration,
    /// Round-trip time before the first sample (RFC 9002 §6.2.2 `kInitialRtt`).
    pub initial_rtt: Duration,
    /// Packets sent on a probe timeout (RFC 9002 §6.2.4: one or two).
    pub probes: u32,
    /// Probe timeouts that persistent congestion lasts (RFC 9002 §7.6.1 `kPersistentCongestionThreshold`).
    pub persistent_congestion_threshold: u32,
    /// Longest time an ACK is held back (RFC 9000 §18.2 `max_ack_delay`).
    pub max_ack_delay: Duration,
    /// Packets that may wait for an ACK (RFC 9000 §13.2.2: every second one is answered; draft-ietf-quic-ack-frequency,
    /// Ack-Eliciting Threshold).
    pub ack_threshold: Packets,
    /// A gap of this number of packet numbers is reported immediately; 0: none is (RFC 9000 §13.2.1: 1;
    /// draft-ietf-quic-ack-frequency, Reordering Threshold).
    pub reordering_threshold: u32,
    /// Most ranges of an ACK (RFC 9000 §13.2.3).
    ///
    /// ASSUMPTION: the RFC leaves the limit open.
    pub ack_ranges: u32,
    /// The end at a host that moves gets a new address with each cell, and the sender does this; absent: the address
    /// stays, and the ends do not notice the move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub migration: Option<Migration>,
    /// Spread packets over the round trip (RFC 9002 §7.7).
    pub pacing: bool,
    /// Rate of the pacing, by the window in each round trip (RFC 9002 §7.7 `N`).
    pub pacing_gain: f64,
    /// Largest burst in packets; absent: the initial window (RFC 9002 §7.7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_burst: Option<Packets>,
}

impl Default for QuicSpec {
    fn default() -> QuicSpec {
        QuicSpec {
            datagram: Bytes(1200),
            connection_id: Bytes(8),
            handshake: QuicHandshake::OneRtt,
            congestion_control: CongestionControlSpec::Reno(Default::default()),
            initial_window: None,
            packet_threshold: 3,
            time_threshold: 1.125,
            granularity: Duration::from_millis(1),
            initial_rtt: Duration::from_millis(333),
            probes: 2,
            persistent_congestion_threshold: 3,
            max_ack_delay: Duration::from_millis(25),
            ack_threshold: Packets(1),
            reordering_threshold: 1,
            ack_ranges: 32,
            migration: None,
            pacing: true,
            pacing_gain: 1.25,
            pacing_burst: None,
        }
    }
}

/// The smallest window in packets (RFC 9002 §7.2).
pub(crate) const MINIMUM_WINDOW: f64 = 2.0;
/// Smallest datagram of a handshake (RFC 9000 §14.1).
const SMALLEST_DATAGRAM: Bytes = Bytes(1200);

impl QuicSpec {
    /// Payload of a full packet: a segment.
    pub fn segment(&self) -> Bytes {
        Bytes(wire::payload(self.datagram, self.connection_id))
    }

    /// The IP datagram of a full packet.
    pub fn packet_size(&self) -> Bytes {
        Bytes(self.datagram.0 + wire::IP_UDP)
    }

    /// The initial window in packets: min(10 s, max(2 s, 14720 B)) with s the size of a packet (RFC 9002 §7.2).
    pub(crate) fn initial_cwnd(&self) -> f64 {
        let packets = (14_720.0 / self.datagram.0 as f64).clamp(2.0, 10.0);
        self.initial_window.map_or(packets, |window| f64::from(window.0))
    }

    pub(crate) fn burst(&self) -> f64 {
        self.pacing_burst.map_or(self.initial_cwnd(), |burst| f64::from(burst.0))
    }

    /// Checks all fields. The error names the field and what to write instead.
    pub fn check(&self) -> Result<(), SpecError> {
        let refuse = |field, text: String| Err((field, text));
        if self.datagram < SMALLEST_DATAGRAM || self.datagram.0 > 65_507 {
            let (size, least) = (self.datagram, SMALLEST_DATAGRAM);
            let text = format!(
                "must be \"{least}\" (RFC 9000 §14) to \"65507 B\", not \"{size}\"; write \"1200 B\""
            );
            return refuse("datagram", text);
        }
        if self.connection_id.0 > 20 {
            let length = self.connection_id;
            return refuse("connection_id", format!("must be at most 20 B, not \"{length}\"; write \"8 B\""));
        }
        let positive: [(&'static str, u64, &str); 6] = [
            ("packet_threshold", self.packet_threshold.into(), "3"),
            ("granularity", self.granularity.as_nanos(), "\"1 ms\""),
            ("initial_rtt", self.initial_rtt.as_nanos(), "\"333 ms\""),
            ("persistent_congestion_threshold", self.persistent_congestion_threshold.into(), "3"),
            ("ack_ranges", self.ack_ranges.into(), "32"),
            ("pacing_burst", self.pacing_burst.map_or(1, |burst| burst.0.into()), "\"10 pkt\""),
        ];
        if let Some((field, _, example)) = positive.into_iter().find(|&(_, value, _)| value == 0) {
            return refuse(field, format!("must be positive; write for example {example}"));
        }
        if self.initial_window.is_some_and(|window| f64::from(window.0) < MINIMUM_WINDOW) {
            return refuse("initial_window", "must be at least two packets; write \"10 pkt\"".into());
        }
        if !(1.0..=100.0).contains(&self.time_threshold) {
            return refuse("time_threshold", "must be 1 to 100 round-trip times; write 1.125".into());
        }
        if !(1..=2).contains(&self.probes) {
            return refuse("probes", "must be 1 or 2 (RFC 9002 §6.2.4); write 2".into());
        }
        if !(1.0..=100.0).contains(&self.pacing_gain) {
            return refuse("pacing_gain", "must be 1 to 100; write 1.25".into());
        }
        let longest = Duration::from_millis(1 << 14);
        if self.max_ack_delay >= longest {
            let text = format!("must be less than \"{longest}\" (RFC 9000 §18.2); write \"25 ms\"");
            return refuse("max_ack_delay", text);
        }
        if self.initial_rtt > Duration::from_secs(3600) || self.granularity > Duration::from_secs(1) {
            let field = if self.granularity > Duration::from_secs(1) { "granularity" } else { "initial_rtt" };
            return refuse(
                field,
                "is too long; write \"1 ms\" for granularity, \"333 ms\" for initial_rtt".into(),
            );
        }
        if self.congestion_control.properties().needs_ecn {
            let text =
                "this congestion control needs ECN, which QUIC does not have here; write \"cubic\", or TCP";
            return refuse("congestion_control", text.into());
        }
        self.check_migration()?;
        self.congestion_control.check()
    }

    /// True if Careful Resume is implemented for the congestion control.
    pub fn can_resume(&self) -> bool {
        matches!(self.congestion_control, CongestionControlSpec::Reno(_) | CongestionControlSpec::Cubic(_))
    }

    fn check_migration(&self) -> Result<(), SpecError> {
        if self.migration != Some(Migration::CarefulResume) || self.can_resume() {
            return Ok(());
        }
        let text = "\"careful-resume\" is for the congestion controls \"reno\" and \"cubic\"; write one of these, or \
                    migration = \"rfc\"";
        Err(("migration", text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_window_is_that_of_the_rfc() {
        let packets = |bytes| QuicSpec { datagram: Bytes(bytes), ..QuicSpec::default() }.initial_cwnd();
        assert_eq!((packets(1200), packets(1472), packets(9000)), (10.0, 10.0, 2.0));
        assert_eq!(packets(1600), 9.2);
    }

    #[test]
    fn a_field_that_cannot_be_right_is_refused_by_name() {
        let field = |spec: QuicSpec| spec.check().unwrap_err().0;
        let spec = QuicSpec::default();
        assert_eq!(spec.check(), Ok(()));
        assert_eq!(field(QuicSpec { datagram: Bytes(1199), ..spec.clone() }), "datagram");
        assert_eq!(field(QuicSpec { connection_id: Bytes(21), ..spec.clone() }), "connection_id");
        assert_eq!(field(QuicSpec { packet_threshold: 0, ..spec.clone() }), "packet_threshold");
        assert_eq!(field(QuicSpec { time_threshold: f64::NAN, ..spec.clone() }), "time_threshold");
        assert_eq!(field(QuicSpec { probes: 3, ..spec.clone() }), "probes");
        assert_eq!(field(QuicSpec { initial_window: Some(Packets(1)), ..spec.clone() }), "initial_window");
        assert_eq!(field(QuicSpec { max_ack_delay: Duration::from_secs(17), ..spec }), "max_ack_delay");
    }
}
