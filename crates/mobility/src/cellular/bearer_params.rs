//! Parameters of a numbered radio bearer (PDCP, TS 38.323; RLC, TS 38.322), with the values that RRC can signal.

use roamlab_engine::{Bytes, Duration, Packets};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// A radio bearer of 5G: PDCP and RLC. A value that is not written is that of the 5QI.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BearerParams {
    /// The 5QI whose values the bearer has: 1 to 10, 69, 70, or 82 to 88. They are those of srsRAN_Project
    /// (`du_qos_config_helpers`, `cu_up_unit_config`). Default 9.
    pub five_qi: u8,
    /// RLC in acknowledged mode ("am") repairs what the air loses; in unacknowledged mode ("um") it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rlc: Option<RlcMode>,
    /// Bits of a PDCP sequence number, 12 or 18 (TS 38.323 §6.3.2). Default 18.
    pub sn_bits: u8,
    /// t-Reordering: how long a receiver waits for a missing packet before it delivers those behind it; "infinity": until it
    /// comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_reordering: Option<BearerTimer>,
    /// discardTimer: a packet that has not been confirmed this long after it entered the bearer is dropped; "infinity": none
    /// is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discard_timer: Option<BearerTimer>,
    /// The host reports received packets to its new base station (statusReportRequired, TS 38.323 §5.4.1). Only with RLC in
    /// acknowledged mode. Default true.
    pub status_report: bool,
    /// t-Reassembly: how long an RLC receiver waits for a missing PDU before it reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_reassembly: Option<Duration>,
    /// t-StatusProhibit: least time between two STATUS reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_status_prohibit: Option<Duration>,
    /// t-PollRetransmit: an RLC sender without a STATUS sends its last PDU again after this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_poll_retransmit: Option<Duration>,
    /// maxRetxThreshold: RLC that has sent a PDU again this often without a confirmation reports a radio link failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retx_threshold: Option<u32>,
    /// Packets of the bearer that wait for the air at most. Default 16384 pkt, srsRAN_Project's.
    pub queue_packets: Packets,
    /// Bytes of them. Default 6172672 B, srsRAN_Project's.
    pub queue_bytes: Bytes,
    /// The discard timers of forwarded packets continue at the target base station. Off: they start there again. ASSUMPTION:
    /// the standard binds the host alone. Default false.
    pub carry_age: bool,
    /// Signalling between host and base station has its own grants: it takes no time of the air link and does not wait
    /// behind data. Off: it shares the link with data. Default true.
    pub separate_signalling: bool,
    /// Values that RRC cannot signal are permitted. Default false.
    pub nonstandard: bool,
}

/// The mode of RLC.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RlcMode {
    /// Acknowledged mode.
    Am,
    /// Unacknowledged mode.
    Um,
}

/// A timer of a bearer: a duration, or "infinity".
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BearerTimer {
    /// It expires after this.
    After(Duration),
    /// It never expires.
    Infinity,
}

const INFINITY: &str = "infinity";

impl BearerTimer {
    fn finite(self) -> Option<Duration> {
        match self {
            BearerTimer::After(time) => Some(time),
            BearerTimer::Infinity => None,
        }
    }
}

impl Serialize for BearerTimer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            BearerTimer::After(time) => time.serialize(serializer),
            BearerTimer::Infinity => INFINITY.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for BearerTimer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == INFINITY {
            return Ok(BearerTimer::Infinity);
        }
        text.parse().map(BearerTimer::After).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for BearerTimer {
    fn schema_name() -> Cow<'static, str> {
        "BearerTimer".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let duration = generator.subschema_for::<Duration>();
        schemars::json_schema!({
            "description": "A duration, or \"infinity\".",
            "anyOf": [duration, { "type": "string", "enum": [INFINITY] }],
        })
    }
}

impl Default for BearerParams {
    fn default() -> Self {
        BearerParams {
            five_qi: 9,
            rlc: None,
            sn_bits: 18,
            t_reordering: None,
            discard_timer: None,
            status_report: true,
            t_reassembly: None,
            t_status_prohibit: None,
            t_poll_retransmit: None,
            max_retx_threshold: None,
            queue_packets: Packets(16_384),
            queue_bytes: Bytes(6_172_672),
            carry_age: false,
            separate_signalling: true,
            nonstandard: false,
        }
    }
}

/// A numbered bearer as the user plane needs it: all values, those of its 5QI where none was written.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct BearerValues {
    /// The mode of RLC.
    pub rlc: RlcMode,
    /// Bits of a PDCP sequence number.
    pub sn_bits: u8,
    /// t-Reordering; `None`: infinity.
    pub t_reordering: Option<Duration>,
    /// discardTimer; `None`: infinity.
    pub discard_timer: Option<Duration>,
    /// statusReportRequired.
    pub status_report: bool,
    /// t-Reassembly.
    pub t_reassembly: Duration,
    /// t-StatusProhibit.
    pub t_status_prohibit: Duration,
    /// t-PollRetransmit.
    pub t_poll_retransmit: Duration,
    /// maxRetxThreshold.
    pub max_retx_threshold: u32,
    /// Packets of the bearer that wait for the air at most.
    pub queue_packets: Packets,
    /// Bytes of them.
    pub queue_bytes: Bytes,
    /// The discard timers of forwarded packets continue at the target.
    pub carry_age: bool,
    /// Signalling over the air takes no time of the link and does not wait behind data.
    pub separate_signalling: bool,
}

/// discardTimer in microseconds, with the values of Rel-16 and Rel-17 (TS 38.331 §6.3.2, PDCP-Config).
const DISCARD_TIMERS: [u64; 22] = [
    500, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 75_000, 100_000,
    150_000, 200_000, 250_000, 300_000, 500_000, 750_000, 1_500_000, 2_000_000,
];

/// t-Reordering in ms (TS 38.331 §6.3.2, PDCP-Config).
const T_REORDERING: [u64; 36] = [
    0, 1, 2, 4, 5, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 120, 140, 160, 180, 200, 220, 240, 260, 280, 300,
    500, 750, 1000, 1250, 1500, 1750, 2000, 2250, 2500, 2750, 3000,
];

/// maxRetxThreshold (TS 38.331 §6.3.2, RLC-Config).
const MAX_RETX_THRESHOLDS: [u32; 8] = [1, 2, 3, 4, 6, 8, 16, 32];

/// t-Reassembly in ms (TS 38.331 §6.3.2, RLC-Config).
fn t_reassembly() -> impl Iterator<Item = u64> {
    (0..=100).step_by(5).chain((110..=200).step_by(10))
}

/// t-StatusProhibit in ms.
fn t_status_prohibit() -> impl Iterator<Item = u64> {
    let longer = [800, 1000, 1200, 1600, 2000, 2400];
    (0..=250).step_by(5).chain((300..=500).step_by(50)).chain(longer)
}

/// t-PollRetransmit in ms, with the values of Rel-16.
fn t_poll_retransmit() -> impl Iterator<Item = u64> {
    (1..=4).chain((5..=250).step_by(5)).chain((300..=500).step_by(50)).chain([800, 1000, 2000, 4000])
}

/// Values of a 5QI: discardTimer and t-Reordering in ms, t-Reassembly, t-StatusProhibit and t-PollRetransmit in ms,
/// maxRetxThreshold. Those that the mode does not use are those of 5QI 9.
struct Preset {
    rlc: RlcMode,
    discard_timer: BearerTimer,
    t_reordering: u64,
    t_reassembly: u64,
    t_poll_retransmit: u64,
    max_retx_threshold: u32,
}

/// t-StatusProhibit of all presets, in ms.
const PRESET_STATUS_PROHIBIT: u64 = 10;

/// The 5QIs with a preset, for messages.
const FIVE_QIS: &str = "1 to 10, 69, 70, or 82 to 88";

fn preset(five_qi: u8) -> Option<Preset> {
    let am = |discard: u64, t_reordering, t_reassembly, t_poll_retransmit, max_retx_threshold| Preset {
        rlc: RlcMode::Am,
        discard_timer: BearerTimer::After(Duration::from_millis(discard)),
        t_reordering,
        t_reassembly,
        t_poll_retransmit,
        max_retx_threshold,
    };
    let um = |discard, t_reordering, t_reassembly| Preset {
        rlc: RlcMode::Um,
        ..am(discard, t_reordering, t_reassembly, 100, 32)
    };
    let never = |preset| Preset { discard_timer: BearerTimer::Infinity, ..preset };
    Some(match five_qi {
        1 => um(100, 0, 50),
        2 => um(150, 0, 50),
        3 => um(50, 0, 35),
        4 => am(300, 140, 80, 80, 4),
        5 => am(100, 500, 80, 80, 4),
        6 | 8 => am(300, 100, 80, 80, 4),
        7 => never(um(0, 50, 100)),
        9 => never(am(0, 220, 20, 100, 32)),
        10 => am(1500, 500, 20, 20, 32),
        69 => am(60, 0, 20, 20, 32),
        70 => am(200, 100, 20, 20, 32),
        82 | 83 => um(10, 0, 10),
        84 => um(10, 0, 30),
        85..=88 => um(10, 0, 5),
        _ => return None,
    })
}

impl BearerParams {
    /// All values of the bearer. Those of an unknown 5QI, which [`check`](Self::check) refuses, are those of 9.
    pub fn values(&self) -> BearerValues {
        let preset = preset(self.five_qi).or_else(|| preset(9));
        let default = |ms: Option<u64>| Duration::from_millis(ms.unwrap_or_default());
        let of = |part: fn(&Preset) -> u64| default(preset.as_ref().map(part));
        let discard = preset.as_ref().map_or(BearerTimer::Infinity, |preset| preset.discard_timer);
        let t_reordering = BearerTimer::After(of(|preset| preset.t_reordering));
        BearerValues {
            rlc: self.rlc.or(preset.as_ref().map(|preset| preset.rlc)).unwrap_or(RlcMode::Am),
            sn_bits: self.sn_bits,
            t_reordering: self.t_reordering.unwrap_or(t_reordering).finite(),
            discard_timer: self.discard_timer.unwrap_or(discard).finite(),
            status_report: self.status_report,
            t_reassembly: self.t_reassembly.unwrap_or_else(|| of(|preset| preset.t_reassembly)),
            t_status_prohibit: self
                .t_status_prohibit
                .unwrap_or(Duration::from_millis(PRESET_STATUS_PROHIBIT)),
            t_poll_retransmit: self
                .t_poll_retransmit
                .unwrap_or_else(|| of(|preset| preset.t_poll_retransmit)),
            max_retx_threshold: self
                .max_retx_threshold
                .or(preset.as_ref().map(|preset| preset.max_retx_threshold))
                .unwrap_or(1),
            queue_packets: self.queue_packets,
            queue_bytes: self.queue_bytes,
            carry_age: self.carry_age,
            separate_signalling: self.separate_signalling,
        }
    }

    /// Refuses what cannot run, and values that RRC cannot signal unless `nonstandard` permits them.
    ///
    /// # Errors
    /// The field, and what was expected and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if preset(self.five_qi).is_none() {
            let message = format!("{} has no preset: write one of {FIVE_QIS}", self.five_qi);
            return Err(("five_qi", message));
        }
        if ![12, 18].contains(&self.sn_bits) {
            return Err((
                "sn_bits",
                format!("{} is no size of a PDCP sequence number: write 12 or 18", self.sn_bits),
            ));
        }
        check_t_poll_retransmit(self.t_poll_retransmit, true)?;
        check_max_retx_threshold(self.max_retx_threshold, true)?;
        for (field, is_zero) in
            [("queue_packets", self.queue_packets.0 == 0), ("queue_bytes", self.queue_bytes.0 == 0)]
        {
            if is_zero {
                return Err((
                    field,
                    "a bearer needs room for packets: leave this out for the default".into(),
                ));
            }
        }
        if self.nonstandard { Ok(()) } else { self.check_signalled() }
    }

    fn check_signalled(&self) -> Result<(), (&'static str, String)> {
        let timer = |timer: Option<BearerTimer>| timer.and_then(BearerTimer::finite);
        let reordering = T_REORDERING.into_iter().map(Duration::from_millis);
        one_of("t_reordering", timer(self.t_reordering), reordering, true)?;
        let discard = DISCARD_TIMERS.into_iter().map(Duration::from_micros);
        one_of("discard_timer", timer(self.discard_timer), discard, true)?;
        one_of("t_reassembly", self.t_reassembly, t_reassembly().map(Duration::from_millis), false)?;
        let prohibit = t_status_prohibit().map(Duration::from_millis);
        one_of("t_status_prohibit", self.t_status_prohibit, prohibit, false)?;
        check_t_poll_retransmit(self.t_poll_retransmit, false)?;
        check_max_retx_threshold(self.max_retx_threshold, false)
    }
}

/// Refuses a t-PollRetransmit that cannot run, or that RRC cannot signal unless `nonstandard` permits it.
pub(crate) fn check_t_poll_retransmit(
    value: Option<Duration>,
    nonstandard: bool,
) -> Result<(), (&'static str, String)> {
    if value == Some(Duration::ZERO) {
        return Err(("t_poll_retransmit", "this time cannot be zero: write for example \"100 ms\"".into()));
    }
    let values = t_poll_retransmit().map(Duration::from_millis);
    one_of("t_poll_retransmit", value.filter(|_| !nonstandard), values, false)
}

/// The same of a maxRetxThreshold.
pub(crate) fn check_max_retx_threshold(
    value: Option<u32>,
    nonstandard: bool,
) -> Result<(), (&'static str, String)> {
    if value == Some(0) {
        return Err(("max_retx_threshold", "a PDU is sent again at least once: write for example 32".into()));
    }
    let value = value.filter(|_| !nonstandard);
    one_of("max_retx_threshold", value, MAX_RETX_THRESHOLDS.into_iter(), false)
}

/// Refuses a value that is not in a list of the standard.
fn one_of<T: PartialEq + std::fmt::Display>(
    field: &'static str,
    value: Option<T>,
    values: impl Iterator<Item = T>,
    or_infinity: bool,
) -> Result<(), (&'static str, String)> {
    let Some(value) = value else { return Ok(()) };
    let values: Vec<T> = values.collect();
    if values.contains(&value) {
        return Ok(());
    }
    let mut list: Vec<String> = values.iter().map(ToString::to_string).collect();
    list.extend(or_infinity.then(|| INFINITY.to_owned()));
    let list = list.join(", ");
    let message = format!(
        "{value} cannot be signalled (TS 38.331 §6.3.2): write one of {list}, or `nonstandard = true` too"
    );
    Err((field, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn refused(change: impl FnOnce(&mut BearerParams)) -> Option<&'static str> {
        let mut params = BearerParams::default();
        change(&mut params);
        params.check().err().map(|(field, _)| field)
    }

    #[test]
    fn every_preset_is_what_the_standard_can_signal() {
        for five_qi in (0..=255).filter(|&five_qi| preset(five_qi).is_some()) {
            let values = BearerParams { five_qi, ..BearerParams::default() }.values();
            let timer = |time: Option<Duration>| Some(time.map_or(BearerTimer::Infinity, BearerTimer::After));
            let written = BearerParams {
                five_qi,
                rlc: Some(values.rlc),
                t_reordering: timer(values.t_reordering),
                discard_timer: timer(values.discard_timer),
                t_reassembly: Some(values.t_reassembly),
                t_status_prohibit: Some(values.t_status_prohibit),
                t_poll_retransmit: Some(values.t_poll_retransmit),
                max_retx_threshold: Some(values.max_retx_threshold),
                ..BearerParams::default()
            };
            assert_eq!((written.check(), written.values()), (Ok(()), values), "5QI {five_qi}");
        }
    }

    #[test]
    fn the_default_is_that_of_5qi_9() {
        let values = BearerParams::default().values();
        assert_eq!(
            (values.rlc, values.discard_timer, values.t_reordering),
            (RlcMode::Am, None, Some(ms(220)))
        );
        assert_eq!((values.t_reassembly, values.t_poll_retransmit), (ms(20), ms(100)));
        let voice = BearerParams { five_qi: 1, ..BearerParams::default() }.values();
        assert_eq!((voice.rlc, voice.discard_timer), (RlcMode::Um, Some(ms(100))));
    }

    #[test]
    fn other_values_are_refused_with_the_list_or_permitted() {
        let after = |time| Some(BearerTimer::After(time));
        assert_eq!(refused(|_| ()), None);
        assert_eq!(refused(|params| params.five_qi = 11), Some("five_qi"));
        assert_eq!(refused(|params| params.sn_bits = 16), Some("sn_bits"));
        assert_eq!(refused(|params| params.t_reordering = after(ms(70))), Some("t_reordering"));
        assert_eq!(refused(|params| params.t_reordering = after(ms(3000))), None);
        assert_eq!(refused(|params| params.discard_timer = after(Duration::from_micros(500))), None);
        assert_eq!(refused(|params| params.discard_timer = Some(BearerTimer::Infinity)), None);
        assert_eq!(refused(|params| params.discard_timer = after(ms(400))), Some("discard_timer"));
        assert_eq!(refused(|params| params.t_reassembly = Some(ms(105))), Some("t_reassembly"));
        assert_eq!(refused(|params| params.t_status_prohibit = Some(ms(255))), Some("t_status_prohibit"));
        assert_eq!(refused(|params| params.t_poll_retransmit = Some(ms(0))), Some("t_poll_retransmit"));
        assert_eq!(refused(|params| params.max_retx_threshold = Some(5)), Some("max_retx_threshold"));
        assert_eq!(refused(|params| params.queue_bytes = Bytes(0)), Some("queue_bytes"));
        let any = |params: &mut BearerParams| {
            (params.max_retx_threshold, params.nonstandard) = (Some(5), true);
        };
        assert_eq!(refused(any), None);
        let message = BearerParams { max_retx_threshold: Some(5), ..BearerParams::default() }.check();
        assert_eq!(
            message.unwrap_err().1,
            "5 cannot be signalled (TS 38.331 §6.3.2): write one of 1, 2, 3, 4, 6, 8, 16, 32, or `nonstandard = true` too"
        );
    }

    #[test]
    fn infinity_is_a_word_and_other_timers_are_durations() {
        let text = r#"{"discard_timer": "infinity", "t_reordering": "40 ms", "rlc": "um"}"#;
        let params: BearerParams = serde_json::from_str(text).unwrap();
        assert_eq!(params.discard_timer, Some(BearerTimer::Infinity));
        assert_eq!((params.values().t_reordering, params.values().rlc), (Some(ms(40)), RlcMode::Um));
        let again: BearerParams = serde_json::from_str(&serde_json::to_string(&params).unwrap()).unwrap();
        assert_eq!(again, params);
        assert!(serde_json::from_str::<BearerParams>(r#"{"discard_timer": "soon"}"#).is_err());
    }
}
