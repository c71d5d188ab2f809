//! Parameters of L1/L2-triggered mobility (LTM, TS 38.300 §9.2.3.5).

use crate::events::A3;
use crate::{Condition, Event, Events};
use roamlab_engine::Duration;
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Switches that a distributed unit orders on measurements of layer 1, to cells that were prepared before.
///
/// ASSUMPTION: a preamble to a candidate does not interrupt the present cell.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ltm {
    /// Cells that are prepared for a host at most, 2 to 8, the present one among them (TS 38.321 §6.1.3.75). Default 8.
    pub candidates: u32,
    /// When a host reports a candidate to its distributed unit.
    pub event: LayerOneEvent,
    /// How the timing advance of a candidate becomes known. A host that is ordered to a cell whose timing advance is known
    /// needs no random access there. Default "early-access".
    pub timing_advance: TimingAdvance,
    /// Early access: the host is ordered to send a preamble to a candidate again after this, 8 times at most, until the timing
    /// advance is known. ASSUMPTION: the standard leaves it open. Default 40 ms.
    pub early_access_again: Duration,
    /// Early access: a timing advance is valid for this time, and then the host is ordered to send another preamble; absent: as
    /// long as the host is in the cell. ASSUMPTION: the standard leaves it to the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing_advance_lifetime: Option<Duration>,
    /// T_MAC: processing of the command. ASSUMPTION: TS 38.133 §6.3 was not readable. Default 3 ms.
    pub mac_processing: Duration,
    /// T_RRC-target: the host applies the stored configuration of the cell. ASSUMPTION: as above. Default 10 ms.
    pub target_processing: Duration,
    /// T_first-data: from then until the first message leaves, without random access. ASSUMPTION: as above. Default 2 ms.
    pub first_data: Duration,
    /// A distributed unit that still hears the host after this orders it again. ASSUMPTION: the standard leaves it open.
    /// Default 20 ms.
    pub command_again: Duration,
    /// A host that has not reached a cell goes once to a candidate that it finds while T311 runs (TS 38.331 §5.3.7.3).
    /// Default true.
    pub attempt_candidate: bool,
    /// After such an attempt the central unit repeats what is not confirmed. Off: it does so for the first switch alone, and
    /// packets are lost (3GPP R2-2503743). Default true.
    pub repeat_recovery: bool,
}

impl Default for Ltm {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Ltm {
            candidates: 8,
            event: LayerOneEvent::default(),
            timing_advance: TimingAdvance::EarlyAccess,
            early_access_again: ms(40),
            timing_advance_lifetime: None,
            mac_processing: ms(3),
            target_processing: ms(10),
            first_data: ms(2),
            command_again: ms(20),
            attempt_candidate: true,
            repeat_recovery: true,
        }
    }
}

/// How the timing advance of a candidate becomes known (TS 38.300 §9.2.3.5.2).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimingAdvance {
    /// Early synchronisation: the distributed unit orders the host to send a preamble to each candidate, which measures it.
    EarlyAccess,
    /// The host measures it (ltm-UE-MeasuredTA-ID of TS 38.331), without messages.
    Measured,
    /// It is not known: each switch has random access.
    None,
}

/// When a candidate is better than the present cell by measurements of layer 1, which no layer-3 filter smooths.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LayerOneEvent {
    /// By how much it is to be better, in dB, -15 to 15. Default 3.
    pub offset_db: f64,
    /// In dB, 0 to 15. Default 0.
    pub hysteresis_db: f64,
    /// How long that has to hold. Default 0 s.
    pub hold: Duration,
    /// A candidate that stays better is reported again after this. Default 40 ms.
    pub report_interval: Duration,
}

impl Default for LayerOneEvent {
    fn default() -> Self {
        let report_interval = Duration::from_millis(40);
        LayerOneEvent { offset_db: 3.0, hysteresis_db: 0.0, hold: Duration::ZERO, report_interval }
    }
}

impl LayerOneEvent {
    /// The condition that layer 2 evaluates. `filter_coefficient`: of the other conditions.
    pub(in crate::nr) fn condition(
        &self,
        name: &'static str,
        candidates: Vec<Addr>,
        filter_coefficient: u8,
    ) -> Condition {
        let LayerOneEvent { offset_db, hysteresis_db, hold, report_interval } = *self;
        Condition {
            name,
            candidates: Some(candidates),
            events: Events(vec![Event::A3(A3 { offset_db, hysteresis_db, time_to_trigger: hold })]),
            filter_coefficient,
            report_interval: Some(report_interval),
            leaves_at_once: true,
            unfiltered: true,
        }
    }
}

impl Ltm {
    /// From the command until layer 2 is up at the cell; `access`: random access, with the wait for its occasion.
    pub(in crate::nr) fn entry(&self, access: Option<Duration>) -> Duration {
        self.mac_processing + self.target_processing + access.unwrap_or(self.first_data)
    }

    /// Refuses what cannot run.
    pub(in crate::nr) fn check(&self) -> Result<(), (String, String)> {
        let refuse = |field: &str, message: &str| Err((format!("ltm.{field}"), message.into()));
        let LayerOneEvent { offset_db, hysteresis_db, report_interval, .. } = self.event;
        if !(2..=8).contains(&self.candidates) {
            return refuse("candidates", "expected 2 to 8 cells (TS 38.321 §6.1.3.75): write 8");
        }
        if !(-15.0..=15.0).contains(&offset_db) {
            return refuse("event.offset_db", "expected -15 to 15 dB: write for example 3.0");
        }
        if !(0.0..=15.0).contains(&hysteresis_db) {
            return refuse("event.hysteresis_db", "expected 0 to 15 dB: write for example 0.0");
        }
        if report_interval == Duration::ZERO {
            return refuse("event.report_interval", "this time cannot be zero: write for example \"40 ms\"");
        }
        let times = [
            ("command_again", Some(self.command_again)),
            ("early_access_again", Some(self.early_access_again)),
            ("timing_advance_lifetime", self.timing_advance_lifetime),
        ];
        match times.iter().find(|(_, time)| *time == Some(Duration::ZERO)) {
            Some((field, _)) => refuse(field, "this time cannot be zero: write for example \"20 ms\""),
            None => Ok(()),
        }
    }
}
