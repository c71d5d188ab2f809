//! The fields of a connection of the Linux kernel in a scenario. Its ends are outside: the crate `outside` runs
//! them, and [`Stack`] is what their packets show.

use crate::endpoints::{Arrival, Endpoints, FlowPacket, StraightPath};
use crate::family::Setting;
use crate::parameters::Parameters;
use roamlab_congestion::{PathPolicy, SenderEvent, SenderVariables, SpecError};
use roamlab_engine::{Bytes, Duration, Packets, Time};
use roamlab_packet::Side;
use roamlab_tcp::Profiles;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod stack;

pub(crate) use LinuxSpec as Spec;
pub use stack::{Offer, Stack};

/// A congestion control of the kernel, by its name there (`net.ipv4.tcp_available_congestion_control`).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinuxControl {
    /// `tcp_cubic.c`, the kernel's default.
    Cubic,
    /// `tcp_cong.c`.
    Reno,
    /// `tcp_bbr.c`, BBR version 1.
    Bbr,
    /// `tcp_bic.c`.
    Bic,
    /// `tcp_cdg.c`.
    Cdg,
    /// `tcp_dctcp.c`.
    Dctcp,
    /// `tcp_htcp.c`.
    Htcp,
    /// `tcp_illinois.c`.
    Illinois,
    /// `tcp_scalable.c`.
    Scalable,
    /// `tcp_vegas.c`.
    Vegas,
    /// `tcp_westwood.c`.
    Westwood,
}

impl LinuxControl {
    /// Its name in the kernel.
    pub fn name(self) -> &'static str {
        match self {
            LinuxControl::Cubic => "cubic",
            LinuxControl::Reno => "reno",
            LinuxControl::Bbr => "bbr",
            LinuxControl::Bic => "bic",
            LinuxControl::Cdg => "cdg",
            LinuxControl::Dctcp => "dctcp",
            LinuxControl::Htcp => "htcp",
            LinuxControl::Illinois => "illinois",
            LinuxControl::Scalable => "scalable",
            LinuxControl::Vegas => "vegas",
            LinuxControl::Westwood => "westwood",
        }
    }
}

/// A TCP connection of the Linux kernel. What is not here has the kernel's default.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LinuxSpec {
    /// Congestion control of both ends.
    pub congestion_control: LinuxControl,
    /// Payload of a full segment; its headers have 52 B, with the timestamps that the kernel sends by default.
    pub segment: Bytes,
    /// ECN is asked for (`net.ipv4.tcp_ecn` = 1).
    pub ecn: bool,
    /// How often the sender's variables are read (`TCP_INFO`). One call takes 256 ns of the kernel's time.
    pub sample: Duration,
    /// The version of the kernel, one that `roamlab kernel build` has built.
    pub version: String,
    /// Other settings of the hosts at both ends, by their names below `net`, for example `"ipv4.tcp_sack" = "0"`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, String>,
}

impl Default for LinuxSpec {
    fn default() -> LinuxSpec {
        LinuxSpec {
            congestion_control: LinuxControl::Cubic,
            segment: Bytes(1448),
            ecn: false,
            sample: Duration::from_millis(10),
            version: "6.12".into(),
            sysctls: BTreeMap::new(),
        }
    }
}

/// Payload of a segment: the least MSS that the kernel takes with timestamps (TCP_MIN_MSS 88 and 12), and a card's 1,500 B.
const SEGMENTS: std::ops::RangeInclusive<u64> = 100..=1448;
/// IPv4 and TCP headers with timestamps.
const HEADERS: u64 = 52;
/// The shortest time between two calls.
const SHORTEST_SAMPLE: Duration = Duration::from_micros(100);
/// Bytes of all sysctls: they go into one frame.
const MOST_SYSCTLS: usize = 1000;

impl LinuxSpec {
    /// The IP datagram of a full packet.
    pub fn packet_size(&self) -> Bytes {
        Bytes(self.segment.0 + HEADERS)
    }

    /// Which field cannot be right, and what to write instead.
    pub fn check(&self) -> Result<(), SpecError> {
        if !SEGMENTS.contains(&self.segment.0) {
            let (size, least, most) = (self.segment, SEGMENTS.start(), SEGMENTS.end());
            let message = format!("must be \"{least} B\" to \"{most} B\", not \"{size}\"; write \"1448 B\"");
            return Err(("segment", message));
        }
        if self.sample < SHORTEST_SAMPLE {
            let message = format!("must be at least \"{SHORTEST_SAMPLE}\"; write \"10 ms\"");
            return Err(("sample", message));
        }
        if self.version.is_empty() || self.version.contains(|one: char| !one.is_ascii_digit() && one != '.') {
            return Err(("version", "must be a version of Linux; write \"6.12\"".into()));
        }
        if let Some(key) = self.sysctls.keys().find(|key| key.starts_with("net.")) {
            let below = key.trim_start_matches("net.");
            let message = format!("\"{key}\" begins with `net.`, below which all are; write \"{below}\"");
            return Err(("sysctls", message));
        }
        let is_plain = |text: &str| !text.is_empty() && !text.contains(['\n', '=', '/']) && text.is_ascii();
        let size: usize = self.sysctls.iter().map(|(key, value)| key.len() + value.len() + 2).sum();
        if size > MOST_SYSCTLS || !self.sysctls.iter().all(|(key, value)| is_plain(key) && is_plain(value)) {
            let message = format!(
                "must be names below `net` with their values, {MOST_SYSCTLS} B in all; write for example {{ \"ipv4.tcp_sack\" = \"0\" }}"
            );
            return Err(("sysctls", message));
        }
        Ok(())
    }
}

/// The two ends of a connection of the kernel.
#[derive(Clone, Debug)]
pub struct Ends(Box<Stack>);

/// The ends of a flow.
pub(crate) fn ends(spec: &LinuxSpec, _setting: &Setting<'_>) -> Option<Ends> {
    Some(Ends(Box::new(Stack::new(spec.segment))))
}

impl StraightPath for Ends {}

/// No packet is sent or taken here.
impl Endpoints for Ends {
    fn segment(&self) -> Option<Bytes> {
        Some(self.0.segment())
    }

    fn offer(&mut self, segments: Option<u64>) {
        self.0.offer(segments);
    }

    fn stop(&mut self) {
        self.0.stop();
    }

    fn poll(&mut self, _side: Side, _now: Time) -> Option<FlowPacket> {
        None
    }

    fn deliver(&mut self, _side: Side, _packet: FlowPacket, _now: Time) -> Option<Arrival> {
        None
    }

    fn poll_event(&mut self) -> Option<SenderEvent> {
        self.0.poll_fact()
    }

    fn variables(&self) -> Option<(SenderVariables, u32)> {
        Some((self.0.variables(), self.0.acknowledged()))
    }

    fn has(&self, segment: u32) -> bool {
        self.0.has(segment)
    }

    fn connect_anew(&mut self) {
        self.0.connect_anew();
    }

    fn stops(&self) -> [&'static str; 2] {
        ["tcp.poll_transmit", "tcp.on_segment"]
    }

    fn counts_segments(&self) -> bool {
        false
    }

    fn stack(&self) -> Option<&Stack> {
        Some(&self.0)
    }

    fn stack_mut(&mut self) -> Option<&mut Stack> {
        Some(&mut self.0)
    }
}

impl Parameters for LinuxSpec {
    fn check_build(&self) -> Result<(), &'static str> {
        if cfg!(all(feature = "linux", target_os = "linux")) {
            return Ok(());
        }
        Err(
            "this build of the engine starts no kernel: write kind = \"tcp\" and the profile \"linux-6\" for our own \
             model, or take a build for Linux with the feature `linux`",
        )
    }

    fn check(&self, _profiles: Profiles<'_>) -> Result<Option<Bytes>, SpecError> {
        LinuxSpec::check(self)?;
        Ok(Some(self.segment))
    }

    fn check_policy(&self, _policy: PathPolicy, _profiles: Profiles<'_>) -> Result<(), String> {
        Err("the kernel cannot be notified of a path: write the transport \"tcp\" or \"quic\", or leave `path_change` out"
            .into())
    }

    fn load(&self, _profiles: Profiles<'_>) -> Option<(Bytes, Option<Packets>)> {
        Some((self.packet_size(), None))
    }

    fn may_use_ecn(&self, _profiles: Profiles<'_>) -> bool {
        self.ecn || self.sysctls.contains_key("ipv4.tcp_ecn")
    }

    fn may_send_ect1(&self, _profiles: Profiles<'_>) -> bool {
        true
    }

    fn can_branch(&self) -> bool {
        false
    }

    fn stack_version(&self) -> Option<&str> {
        Some(&self.version)
    }
}
