//! The parameters of roaming with 802.11. The plan gives the coverage of a host; the host detects changes and roams.

use super::background::BackgroundScan;
use super::security::Security;
use super::transition::{OnTransition, Transition};
use crate::MeasurementSpec;
use crate::handover::{BadVisit, InFlightAtBreak, Motion, Radio, Stream, overlapping};
use crate::visit::Visit;
use roamlab_engine::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Roaming with 802.11. Clauses are those of IEEE Std 802.11-2007.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wifi {
    /// How long a host is in the coverage of the cell that it comes from after it has come into that of the next.
    pub overlap: Duration,
    /// A host that heard no beacon of its cell for this number of beacon intervals, and had no frame
    /// acknowledged, asks its base station whether it is there; 0: it does not notice so.
    pub missed_beacons: u32,
    /// How much later than expected the last of these may come.
    pub beacon_grace: Duration,
    /// It asks so often with a frame without data. When none is acknowledged it has lost the cell; 0: it
    /// loses it immediately.
    pub null_data_tries: u32,
    /// A host has lost its cell after this number of transmissions in a row without acknowledgement. In a
    /// crowded cell collisions do so too. 0: it does not notice so.
    pub failed_attempts: u32,
    /// How it looks for cells.
    pub scan: Scan,
    /// Channels that it looks at, 1 to this number.
    pub channels: u32,
    /// How long it listens on a channel before it sends a probe request (`ProbeDelay`, §11.1.3.2.2).
    pub probe_delay: Duration,
    /// How long it waits on a channel that stays idle behind its probe request (`MinChannelTime`).
    pub min_channel_time: Duration,
    /// How long it waits on a channel that does not (`MaxChannelTime`).
    pub max_channel_time: Duration,
    /// How long it listens on a channel with `scan = "passive"`.
    pub passive_channel_time: Duration,
    /// How long it rests when a scan has found nothing.
    pub rescan_after: Duration,
    /// How long it waits for the answer to an authentication request.
    pub authentication_timeout: Duration,
    /// How long it waits for the answer to an association request.
    pub association_timeout: Duration,
    /// How often it sends either, before it turns to another cell or scans again.
    pub tries: u32,
    /// A host none of whose data was acknowledged for so long sends a frame without data. A base station that
    /// has removed it reports this.
    pub keep_alive: Duration,
    /// A base station that has given up this number of frames in a row for a host takes it as gone; 0: it
    /// does not notice so.
    pub ap_failed_frames: u32,
    /// A base station that has had no sign of a host for so long takes it as gone.
    pub ap_inactivity: Duration,
    /// Authentication and keys.
    pub security: Security,
    /// A host asks each new base station for its neighbours, and scans their channels first (802.11k-2008).
    pub neighbour_reports: bool,
    /// Levels of cells; absent: the plan gives the coverage of hosts. With it a cell covers a host that hears it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measurement: Option<Box<MeasurementSpec>>,
    /// A host with a cell looks for a stronger one; absent: it roams when it has lost its cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub background_scan: Option<Box<BackgroundScan>>,
    /// A host that scans in the background is on other channels for so long at a time, or for one channel.
    pub most_away: Duration,
    /// It is on the channel of its cell for so long before it continues such a scan.
    pub home_time: Duration,
    /// Frames that a base station holds for a host that has announced that it is away. More push out the oldest; 0: it
    /// ignores the announcement.
    pub ap_held_frames: u32,
    /// Requests of base stations to hosts to go to other cells (802.11v-2011).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<Transition>,
    /// The answer of hosts to them.
    pub on_transition: OnTransition,
    /// Sizes of management frames, from the MAC header to the check sequence.
    pub sizes: Box<ManagementSizes>,
}

/// How a host looks for cells.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scan {
    /// It asks on each channel who is there (§11.1.3.2).
    #[default]
    Active,
    /// It listens on each channel for beacons (§11.1.3.1).
    Passive,
}

/// Sizes of management frames, from the MAC header to the check sequence (§7.2.3).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ManagementSizes {
    /// Probe request.
    pub probe_request: Bytes,
    /// Probe response.
    pub probe_response: Bytes,
    /// Either frame of the authentication.
    pub authentication: Bytes,
    /// Association request.
    pub association_request: Bytes,
    /// Reassociation request: the address of the base station before is in it, too.
    pub reassociation_request: Bytes,
    /// Response to either request.
    pub association_response: Bytes,
    /// Deauthentication.
    pub deauthentication: Bytes,
    /// Data frame without data.
    pub null_data: Bytes,
    /// Either frame of the authentication of fast transition.
    pub fast_authentication: Bytes,
    /// Either frame of its reassociation.
    pub fast_reassociation: Bytes,
    /// A frame with EAP, either way.
    pub eap: Bytes,
    /// First message of the four-way handshake: EAPOL-Key with the key's name.
    pub key_message_1: Bytes,
    /// Second message of it, with the security element.
    pub key_message_2: Bytes,
    /// Third message of it, with the security element and the group's key.
    pub key_message_3: Bytes,
    /// Fourth message of it.
    pub key_message_4: Bytes,
    /// Request for a neighbour report.
    pub neighbour_report_request: Bytes,
    /// Neighbour report.
    pub neighbour_report_response: Bytes,
    /// A message between a base station and the authentication server, from the IP header on.
    pub radius: Bytes,
    /// A message between base stations about a key, from the IP header on.
    pub key_request: Bytes,
    /// Request to go to another cell.
    pub transition_request: Bytes,
    /// The answer to it.
    pub transition_response: Bytes,
    /// Disassociation.
    pub disassociation: Bytes,
}

impl Default for ManagementSizes {
    /// ASSUMPTION: a name of eight letters and eight rates, as in the beacon of 90 B. Fast transition adds the elements of
    /// mobility domain, security and fast transition; an EAPOL-Key frame has 99 B behind 36 B of headers and check
    /// sequence, and its elements (§8.5.2). A fragment of EAP is 500 B long. Three neighbours are reported, and a request for
    /// a transition has three candidates, each with its preference.
    fn default() -> Self {
        ManagementSizes {
            probe_request: Bytes(48),
            probe_response: Bytes(84),
            authentication: Bytes(34),
            association_request: Bytes(52),
            reassociation_request: Bytes(58),
            association_response: Bytes(44),
            deauthentication: Bytes(30),
            null_data: Bytes(28),
            fast_authentication: Bytes(190),
            fast_reassociation: Bytes(250),
            eap: Bytes(540),
            key_message_1: Bytes(157),
            key_message_2: Bytes(157),
            key_message_3: Bytes(191),
            key_message_4: Bytes(135),
            neighbour_report_request: Bytes(35),
            neighbour_report_response: Bytes(77),
            radius: Bytes(700),
            key_request: Bytes(200),
            transition_request: Bytes(89),
            transition_response: Bytes(39),
            disassociation: Bytes(30),
        }
    }
}

/// ASSUMPTION: three lost beacons. Timeouts and tries are those of Linux (mac80211): 200 ms and three times
/// for requests. Two frames without data ask for the base station, and it takes 50 lost frames until a base
/// station gives a host up. Data that is not acknowledged does not end an association there. The program
/// hostapd gives a host up after 300 s of silence; many drivers send a sign of life every 30 s. The simulator
/// ns-2.35 gives a probe delay of 0.1 ms and channel times of 5, 11 and 120 ms; it also turns to another cell
/// after three failed attempts. Linux leaves the channel of its cell for 125 ms at most, and returns to it for 200 ms
/// (`scan.c`); it holds 64 frames for a host in power save (`STA_MAX_TX_BUFFER`).
impl Default for Wifi {
    fn default() -> Wifi {
        Wifi {
            overlap: Duration::ZERO,
            missed_beacons: 3,
            beacon_grace: Duration::from_micros(51_200),
            null_data_tries: 2,
            failed_attempts: 0,
            scan: Scan::Active,
            channels: 11,
            probe_delay: Duration::from_micros(100),
            min_channel_time: Duration::from_millis(5),
            max_channel_time: Duration::from_millis(11),
            passive_channel_time: Duration::from_millis(120),
            rescan_after: Duration::ZERO,
            authentication_timeout: Duration::from_millis(200),
            association_timeout: Duration::from_millis(200),
            tries: 3,
            keep_alive: Duration::from_secs(30),
            ap_failed_frames: 50,
            ap_inactivity: Duration::from_secs(300),
            security: Security::default(),
            neighbour_reports: false,
            measurement: None,
            background_scan: None,
            most_away: Duration::from_millis(125),
            home_time: Duration::from_millis(200),
            ap_held_frames: 64,
            transitions: Vec::new(),
            on_transition: OnTransition::Follow,
            sizes: Box::default(),
        }
    }
}

/// Header and check sequence; the longest frame (§7.1.2).
const SIZES: (Bytes, Bytes) = (Bytes(28), Bytes(2346));
/// Channels at most: those of 2.4 and 5 GHz together are fewer.
const MOST_CHANNELS: u32 = 200;

impl ManagementSizes {
    fn check(&self) -> Result<(), (String, String)> {
        let ManagementSizes {
            probe_request,
            probe_response,
            authentication,
            association_request,
            reassociation_request,
            association_response,
            deauthentication,
            null_data,
            fast_authentication,
            fast_reassociation,
            eap,
            key_message_1,
            key_message_2,
            key_message_3,
            key_message_4,
            neighbour_report_request,
            neighbour_report_response,
            radius,
            key_request,
            transition_request,
            transition_response,
            disassociation,
        } = *self;
        let sizes = [
            ("probe_request", probe_request),
            ("probe_response", probe_response),
            ("authentication", authentication),
            ("association_request", association_request),
            ("reassociation_request", reassociation_request),
            ("association_response", association_response),
            ("deauthentication", deauthentication),
            ("null_data", null_data),
            ("fast_authentication", fast_authentication),
            ("fast_reassociation", fast_reassociation),
            ("eap", eap),
            ("key_message_1", key_message_1),
            ("key_message_2", key_message_2),
            ("key_message_3", key_message_3),
            ("key_message_4", key_message_4),
            ("neighbour_report_request", neighbour_report_request),
            ("neighbour_report_response", neighbour_report_response),
            ("radius", radius),
            ("key_request", key_request),
            ("transition_request", transition_request),
            ("transition_response", transition_response),
            ("disassociation", disassociation),
        ];
        match sizes.into_iter().find(|(_, size)| !(SIZES.0..=SIZES.1).contains(size)) {
            None => Ok(()),
            Some((field, _)) => Err((
                format!("sizes.{field}"),
                format!("a management frame has {} to {}: write for example \"48 B\"", SIZES.0, SIZES.1),
            )),
        }
    }
}

impl Wifi {
    /// Checks that hosts can roam with these parameters.
    ///
    /// # Errors
    /// The field at fault, and what to write.
    pub fn check(&self) -> Result<(), (String, String)> {
        let bad = |field: &str, message: String| Err((field.to_owned(), message));
        if self.missed_beacons == 0 && self.failed_attempts == 0 {
            let message = "a host would never find out that its cell is gone: write for example 3";
            return bad("missed_beacons", message.to_owned());
        }
        if self.null_data_tries > 255 {
            let tries = self.null_data_tries;
            return bad("null_data_tries", format!("no station asks {tries} times: write 0 to 255"));
        }
        if !(1..=MOST_CHANNELS).contains(&self.channels) {
            return bad("channels", format!("{} channels: write 1 to {MOST_CHANNELS}", self.channels));
        }
        let waits = [
            ("min_channel_time", self.min_channel_time),
            ("passive_channel_time", self.passive_channel_time),
            ("authentication_timeout", self.authentication_timeout),
            ("association_timeout", self.association_timeout),
            ("keep_alive", self.keep_alive),
            ("ap_inactivity", self.ap_inactivity),
            ("most_away", self.most_away),
        ];
        for (field, wait) in waits {
            if wait < Duration::from_micros(1) {
                return bad(field, "expected more than 0, got 0: write at least \"1 us\"".to_owned());
            }
        }
        if self.max_channel_time < self.min_channel_time {
            let least = self.min_channel_time;
            return bad(
                "max_channel_time",
                format!("it is less than `min_channel_time`: write at least \"{least}\""),
            );
        }
        if !(1..=255).contains(&self.tries) {
            return bad("tries", format!("a request cannot be sent {} times: write 1 to 255", self.tries));
        }
        self.security.check()?;
        self.check_levels()?;
        self.sizes.check()
    }

    /// Levels, and what needs them.
    fn check_levels(&self) -> Result<(), (String, String)> {
        let bad = |field: &str, message: &str| Err((field.to_owned(), message.to_owned()));
        if self.measurement.is_some() && self.overlap > Duration::ZERO {
            return bad(
                "overlap",
                "with `measurement` a host is in the coverage of each cell that it hears: remove this",
            );
        }
        let Some(background_scan) = &self.background_scan else { return Ok(()) };
        if self.measurement.is_none() {
            return bad(
                "background_scan",
                "hosts compare levels, and without `measurement` cells have none: write `measurement = {}`, for levels that \
                 follow the visits, or `measurement = { signal = \"positions\" }`",
            );
        }
        background_scan.check()
    }

    /// The channel of the cell with this number that names none: 1, 6, 11 and on in steps of five.
    ///
    /// ASSUMPTION: cells do not disturb each other, on one channel or on several.
    pub fn channel(&self, cell: u32) -> u32 {
        1 + (cell * 5) % self.channels
    }
}

impl Radio for Wifi {
    fn overlap(&self) -> Duration {
        self.overlap
    }

    fn measurement(&self) -> Option<&MeasurementSpec> {
        self.measurement.as_deref()
    }

    /// A medium itself decides the reception of a frame from a host that has left.
    fn in_flight_at_break(&self) -> InFlightAtBreak {
        InFlightAtBreak::Lost
    }

    fn plan(&self, visits: &[Visit], _: Option<Stream<'_>>) -> Result<Vec<(Time, Motion)>, BadVisit> {
        overlapping(visits, self.overlap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_have_channels_1_6_and_11_that_do_not_overlap() {
        let wifi = Wifi::default();
        assert_eq!([0, 1, 2, 3].map(|cell| wifi.channel(cell)), [1, 6, 11, 5]);
        assert!((0..100).all(|cell| (1..=wifi.channels).contains(&wifi.channel(cell))));
    }
}
