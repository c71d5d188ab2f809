//! Measurement event A3 of LTE: a neighbour becomes better than the serving cell by an offset (TS 36.331 §5.5.4.4). A
//! protocol asks its host to evaluate it, and layer 2 evaluates it.

use roamlab_engine::Duration;
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a host reports a neighbour.
///
/// Entered while Mn + Ocn − Hys > Mp + Ocp + Off, left when Mn + Ocn + Hys < Mp + Ocp + Off. The offsets of the two
/// cells, Ocn and Ocp, are the cells' own; those of frequencies are 0, as all cells have the same.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EventA3 {
    /// Off: by how much the neighbour is to be better, in dB; -15 to 15 in steps of 0.5.
    pub offset_db: f64,
    /// Hys, in dB; 0 to 15 in steps of 0.5.
    pub hysteresis_db: f64,
    /// How long the entry condition has to hold at every measurement. One of the values of TS 36.331 §6.3.5.
    pub time_to_trigger: Duration,
    /// k of the layer-3 filter: a = 2^(-k/4) at 200 ms a measurement (TS 36.331 §5.5.3.2). 0 is no filter.
    pub filter_coefficient: u8,
    /// A neighbour that stays better is reported again after this; absent: it is reported once. Default 240 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report_interval: Option<Duration>,
}

impl Default for EventA3 {
    fn default() -> Self {
        EventA3 {
            offset_db: 0.0,
            hysteresis_db: 3.0,
            time_to_trigger: Duration::from_millis(256),
            filter_coefficient: 4,
            report_interval: Some(Duration::from_millis(240)),
        }
    }
}

/// A condition that a host evaluates on its measurements.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    /// Its name, which comes back when a neighbour meets it ([`L2Trigger::NeighbourBetter`](crate::L2Trigger)).
    pub name: &'static str,
    /// The base stations that it is about; `None`: all neighbours.
    pub candidates: Option<Vec<Addr>>,
    /// When it is met.
    pub event: EventA3,
}

/// TimeToTrigger in ms (TS 36.331 §6.3.5).
const TIMES_TO_TRIGGER: [u64; 16] =
    [0, 40, 64, 80, 100, 128, 160, 256, 320, 480, 512, 640, 1024, 1280, 2560, 5120];

/// FilterCoefficient (TS 36.331 §6.3.5).
const FILTER_COEFFICIENTS: [u8; 15] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 17, 19];

impl EventA3 {
    /// Support for this event in the standard.
    ///
    /// # Errors
    /// The field that it cannot, and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        decibels("offset_db", self.offset_db, -15.0)?;
        decibels("hysteresis_db", self.hysteresis_db, 0.0)?;
        if !TIMES_TO_TRIGGER.iter().any(|&ms| self.time_to_trigger == Duration::from_millis(ms)) {
            return Err(("time_to_trigger", not_one_of(self.time_to_trigger, &TIMES_TO_TRIGGER, " ms")));
        }
        if !FILTER_COEFFICIENTS.contains(&self.filter_coefficient) {
            let message = not_one_of(self.filter_coefficient, &FILTER_COEFFICIENTS, "");
            return Err(("filter_coefficient", message));
        }
        if self.report_interval == Some(Duration::ZERO) {
            return Err(("report_interval", "this time cannot be zero: write for example \"240 ms\"".into()));
        }
        Ok(())
    }
}

fn decibels(field: &'static str, value: f64, least: f64) -> Result<(), (&'static str, String)> {
    if (least..=15.0).contains(&value) && value % 0.5 == 0.0 {
        return Ok(());
    }
    Err((field, format!("expected {least} to 15 dB in steps of 0.5, got {value}: write such a number")))
}

fn not_one_of(value: impl std::fmt::Display, values: &[impl std::fmt::Display], unit: &str) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("{value} cannot be signalled (TS 36.331): write one of {}{unit}", values.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut EventA3)) -> Option<&'static str> {
        let mut event = EventA3::default();
        change(&mut event);
        event.check().err().map(|(field, _)| field)
    }

    #[test]
    fn only_what_the_standard_can_signal_is_accepted() {
        assert_eq!(refused(|_| ()), None);
        assert_eq!(refused(|event| event.offset_db = -15.0), None);
        assert_eq!(refused(|event| event.offset_db = -15.5), Some("offset_db"));
        assert_eq!(refused(|event| event.offset_db = 0.3), Some("offset_db"));
        assert_eq!(refused(|event| event.offset_db = f64::NAN), Some("offset_db"));
        assert_eq!(refused(|event| event.hysteresis_db = -0.5), Some("hysteresis_db"));
        assert_eq!(refused(|event| event.hysteresis_db = 15.0), None);
        assert_eq!(
            refused(|event| event.time_to_trigger = Duration::from_millis(60)),
            Some("time_to_trigger")
        );
        assert_eq!(refused(|event| event.time_to_trigger = Duration::ZERO), None);
        assert_eq!(refused(|event| event.filter_coefficient = 10), Some("filter_coefficient"));
        assert_eq!(refused(|event| event.report_interval = Some(Duration::ZERO)), Some("report_interval"));
    }
}
