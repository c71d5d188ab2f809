//! The fields of a connection of the Linux kernel in a scenario. Its ends are in the crate `kernel`.

use roamlab_congestion::SpecError;
use roamlab_engine::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// How often the sender's variables are read (`TCP_INFO`). Each reading takes 256 ns of the kernel's time.
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
/// The shortest time between two readings.
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

    /// Why its sender cannot be notified of a path, and what to write instead.
    pub(crate) fn refuses_notices(&self) -> String {
        "the kernel cannot be notified of a path: write the transport \"tcp\" or \"quic\", or leave `path_change` out".into()
    }
}
