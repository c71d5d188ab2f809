//! The parameters of the distributed coordination function in a scenario.

use super::timing::{Phy, Preamble};
use roamlab_engine::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A medium with contention.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The physical layer; the cell's `rate` is one of its rates.
    pub phy: Phy,
    /// The highest rate of RTS, CTS and ACK, and the rate of broadcasts and beacons (§9.6); absent: 2 Mbit/s with 802.11b,
    /// 24 Mbit/s else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_rate: Option<Rate>,
    /// The preamble of 802.11b (§18.2.2); absent: long. OFDM has only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preamble: Option<Preamble>,
    /// Data frames longer than this, MAC header and check sequence included, are announced by an RTS
    /// (`dot11RTSThreshold`).
    pub rts_threshold: Bytes,
    /// How often a frame up to the RTS threshold, or an RTS, is sent before the packet is given up
    /// (`dot11ShortRetryLimit`); 1 to 255.
    pub short_retry_limit: u32,
    /// How often a frame above the RTS threshold is sent (`dot11LongRetryLimit`); 1 to 255.
    pub long_retry_limit: u32,
    /// The smallest contention window in slots, one less than a power of two; absent: 31 with 802.11b, 15 else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cw_min: Option<u32>,
    /// The largest contention window in slots, one less than a power of two.
    pub cw_max: u32,
    /// Probability that a data frame that did not collide is not received.
    pub frame_loss: f64,
    /// Wait of stations behind a collision that they have heard.
    pub after_collision: AfterCollision,
    /// Treatment of frames for a host that has left the cell, by a base station.
    pub departed: Departed,
    /// Time between beacons (`dot11BeaconPeriod`, 100 time units of 1024 µs); zero: no beacons.
    pub beacon_interval: Duration,
    /// A beacon, from the MAC header to the check sequence (§7.2.3.1).
    pub beacon_size: Bytes,
}

/// Wait of stations behind a collision that they have heard.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterCollision {
    /// An EIFS: they have made out a frame, with errors (§9.2.3.5).
    #[default]
    Eifs,
    /// A DIFS: frames that begin together cannot be made out as frames at all.
    Difs,
}

/// Treatment of frames for a host that has left the cell, by a base station.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Departed {
    /// It does not know, sends each as often as the retry limit permits, and those behind wait.
    #[default]
    Retry,
    /// It drops each when it would send it: the host has disassociated.
    Discard,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            phy: Phy::B,
            basic_rate: None,
            preamble: None,
            rts_threshold: Bytes(2347),
            short_retry_limit: 7,
            long_retry_limit: 4,
            cw_min: None,
            cw_max: 1023,
            frame_loss: 0.0,
            after_collision: AfterCollision::Eifs,
            departed: Departed::Retry,
            beacon_interval: TIME_UNIT.saturating_mul(100),
            beacon_size: Bytes(90),
        }
    }
}

/// §3: 1024 µs.
const TIME_UNIT: Duration = Duration::from_micros(1024);
/// Header and check sequence, timestamp, interval and capabilities; the longest frame (§7.1.2, §7.2.3.1).
const BEACON_SIZES: (Bytes, Bytes) = (Bytes(40), Bytes(2346));

impl Params {
    /// Checks that a medium can have these parameters.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        if let Some(message) = self.basic_rate.and_then(|rate| self.phy.refuses_basic(rate)) {
            return Err(("basic_rate", message));
        }
        if self.preamble.is_some() && self.phy != Phy::B {
            return Err(("preamble", "OFDM has only one preamble: write nothing here".to_owned()));
        }
        for (field, limit) in
            [("short_retry_limit", self.short_retry_limit), ("long_retry_limit", self.long_retry_limit)]
        {
            if !(1..=255).contains(&limit) {
                return Err((field, format!("a frame cannot be sent {limit} times: write 1 to 255")));
            }
        }
        for (field, window) in [("cw_min", self.cw_min()), ("cw_max", self.cw_max)] {
            if !(1..=32_767).contains(&window) || !(window + 1).is_power_of_two() {
                let message =
                    format!("{window} is no power of two less one: write for example 15, 31 or 1023");
                return Err((field, message));
            }
        }
        if self.cw_min() > self.cw_max {
            let message = format!(
                "the largest window is smaller than the smallest, {}: write that or more",
                self.cw_min()
            );
            return Err(("cw_max", message));
        }
        if !(0.0..1.0).contains(&self.frame_loss) {
            let message = format!(
                "expected a probability from 0 to below 1, got {}; write for example 0.01",
                self.frame_loss
            );
            return Err(("frame_loss", message));
        }
        if self.beacon_interval < TIME_UNIT && self.beacon_interval > Duration::ZERO {
            let message = "no interval is shorter than a time unit: write at least \"1024 us\", or \"0 ns\" for no \
                           beacons";
            return Err(("beacon_interval", message.to_owned()));
        }
        if !(BEACON_SIZES.0..=BEACON_SIZES.1).contains(&self.beacon_size) {
            let message =
                format!("a beacon has {} to {}: write for example \"90 B\"", BEACON_SIZES.0, BEACON_SIZES.1);
            return Err(("beacon_size", message));
        }
        Ok(())
    }

    /// Why hosts cannot roam by what they hear, and at which field.
    pub(crate) fn refuses_roaming(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Params { beacon_interval: Duration::ZERO, .. } => Some((
                "beacon_interval",
                "hosts that roam listen to beacons: write for example \"102400 us\"",
            )),
            Params { departed: Departed::Discard, .. } => Some((
                "departed",
                "a base station of 802.11 does not know immediately which host has left: write \"retry\"",
            )),
            _ => None,
        }
    }

    /// The fault of a rate for data; `None`: none.
    pub(crate) fn refuses_rate(&self, rate: Rate) -> Option<String> {
        self.phy.refuses_data_at(rate)
    }

    pub(super) fn cw_min(&self) -> u32 {
        self.cw_min.unwrap_or(self.phy.cw_min())
    }
}
