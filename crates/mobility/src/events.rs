//! Measurement events and conditions of them (TS 36.331 §5.5.4, TS 38.331 §5.5.4 and §5.3.5.13.4). A protocol asks its host to
//! evaluate a [`Condition`], and layer 2 evaluates it.

use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::de::{Error, SeqAccess, Visitor, value::SeqAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// When a host reports a neighbour: event A3 (TS 36.331 §5.5.4.4), with the layer-3 filter and the repetition of its reports.
///
/// Entered while Mn + Ocn − Hys > Mp + Ocp + Off, left when Mn + Ocn + Hys < Mp + Ocp + Off. The offsets of the two
/// cells, Ocn and Ocp, are the cells' own; those of frequencies are 0, as all cells have the same.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReportConfig {
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

impl Default for ReportConfig {
    fn default() -> Self {
        ReportConfig {
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
    /// One event, or two that are both met.
    pub events: Events,
    /// k of the layer-3 filter.
    pub filter_coefficient: u8,
    /// A neighbour that still meets it comes back after this; `None`: it comes once.
    pub report_interval: Option<Duration>,
    /// One measurement at which the leaving condition holds ends an event. Off: it has to hold for the time to trigger, as
    /// in the standards.
    pub leaves_at_once: bool,
    /// It is about measurements of layer 1, without the layer-3 filter.
    pub unfiltered: bool,
}

/// One event of a condition, or two that must both be met, each after its own time to trigger (TS 38.331 §5.3.5.13.4).
///
/// `events = [{ kind = "a3", offset_db = 3.0 }, { kind = "t1", t1_threshold = "10 s", duration = "5 s" }]`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Events(pub Vec<Event>);

/// An event of a condition; `kind` names it, the other fields are its parameters.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum Event {
    /// condEventA3: the neighbour is better than the serving cell by an offset.
    #[serde(rename = "a3")]
    A3(A3),
    /// condEventA4: the neighbour is better than a threshold.
    #[serde(rename = "a4")]
    A4(A4),
    /// condEventA5: the serving cell is worse than a threshold, and the neighbour better than another one.
    #[serde(rename = "a5")]
    A5(A5),
    /// condEventD1: the host is far from one place and near another one.
    #[serde(rename = "d1")]
    D1(D1),
    /// condEventT1: the time is in a window.
    #[serde(rename = "t1")]
    T1(T1),
}

/// Event A3 (TS 38.331 §5.5.4.4): Mn + Ocn − Hys > Mp + Ocp + Off.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct A3 {
    /// Off: by how much the neighbour is to be better, in dB; -15 to 15 in steps of 0.5. Default 3.0.
    pub offset_db: f64,
    /// Hys, in dB; 0 to 15 in steps of 0.5. Default 0.0.
    pub hysteresis_db: f64,
    /// How long the entry condition has to hold. Default 100 ms.
    pub time_to_trigger: Duration,
}

/// Event A4 (TS 38.331 §5.5.4.5): Mn + Ocn − Hys > Thresh.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct A4 {
    /// Thresh, in dBm; -156 to -30 in steps of 1.
    pub threshold_dbm: f64,
    /// Hys, in dB; 0 to 15 in steps of 0.5. Default 0.0.
    #[serde(default)]
    pub hysteresis_db: f64,
    /// How long the entry condition has to hold. Default 100 ms.
    #[serde(default = "usual_time_to_trigger")]
    pub time_to_trigger: Duration,
}

/// Event A5 (TS 38.331 §5.5.4.6): Mp + Hys < Thresh1 and Mn + Ocn − Hys > Thresh2.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct A5 {
    /// Thresh1, of the serving cell, in dBm; -156 to -30 in steps of 1.
    pub threshold1_dbm: f64,
    /// Thresh2, of the neighbour, in dBm; -156 to -30 in steps of 1.
    pub threshold2_dbm: f64,
    /// Hys, in dB; 0 to 15 in steps of 0.5. Default 0.0.
    #[serde(default)]
    pub hysteresis_db: f64,
    /// How long the entry condition has to hold. Default 100 ms.
    #[serde(default = "usual_time_to_trigger")]
    pub time_to_trigger: Duration,
}

/// Event D1 (TS 38.331 §5.5.4.15): Ml1 − Hys > Thresh1 and Ml2 + Hys < Thresh2. Needs a radio with positions.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct D1 {
    /// Thresh1: the host is further than this from reference 1, in m; 0 to 3,276,250 in steps of 50.
    pub distance1_m: f64,
    /// Thresh2: the host is nearer than this to reference 2, in m; 0 to 3,276,250 in steps of 50.
    pub distance2_m: f64,
    /// Reference 1: "serving", "neighbour" or a point `[x, y]` in m. Default "serving".
    #[serde(default = "serving")]
    pub reference1: Reference,
    /// Reference 2, likewise. Default "neighbour".
    #[serde(default = "neighbour")]
    pub reference2: Reference,
    /// Hys, in m; 0 to 327,680 in steps of 10. Default 0.0.
    #[serde(default)]
    pub hysteresis_m: f64,
    /// How long the entry condition has to hold. Default 100 ms.
    #[serde(default = "usual_time_to_trigger")]
    pub time_to_trigger: Duration,
}

/// Event T1 (TS 38.331 §5.5.4.16): from Thresh1 on, for a duration. It has no time to trigger.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct T1 {
    /// t1-Threshold: when the window begins, as a time of the run.
    pub t1_threshold: Duration,
    /// How long the window is; 100 ms to 600 s in steps of 100 ms.
    pub duration: Duration,
}

/// A place from which event D1 measures a distance.
#[derive(Copy, Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Reference {
    /// The transmitter of a cell.
    Cell(ReferenceCell),
    /// A point, in m.
    Point([f64; 2]),
}

/// The cell whose transmitter is a reference.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceCell {
    /// The serving cell.
    Serving,
    /// The neighbour that the condition is evaluated for.
    Neighbour,
}

/// The time to trigger of srsRAN_Project's event A3.
fn usual_time_to_trigger() -> Duration {
    Duration::from_millis(100)
}

fn serving() -> Reference {
    Reference::Cell(ReferenceCell::Serving)
}

fn neighbour() -> Reference {
    Reference::Cell(ReferenceCell::Neighbour)
}

impl Default for A3 {
    /// The values of srsRAN_Project.
    fn default() -> A3 {
        A3 { offset_db: 3.0, hysteresis_db: 0.0, time_to_trigger: usual_time_to_trigger() }
    }
}

impl Default for Events {
    fn default() -> Events {
        Events(vec![Event::A3(A3::default())])
    }
}

impl Family for Event {
    const WHAT: &'static str = "an event";
    const EXAMPLE: &'static str = "{ kind = \"a3\", offset_db = 3.0 }";
    const NAMES: &'static [&'static str] = &["a3", "a4", "a5", "d1", "t1"];

    fn read<'de, D: Deserializer<'de>>(kind: &'static str, fields: D) -> Result<Self, D::Error> {
        match kind {
            "a3" => A3::deserialize(fields).map(Event::A3),
            "a4" => A4::deserialize(fields).map(Event::A4),
            "a5" => A5::deserialize(fields).map(Event::A5),
            "d1" => D1::deserialize(fields).map(Event::D1),
            _ => T1::deserialize(fields).map(Event::T1),
        }
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReferenceVisitor)
    }
}

struct ReferenceVisitor;

impl<'de> Visitor<'de> for ReferenceVisitor {
    type Value = Reference;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"serving\", \"neighbour\" or a point, for example [0.0, 500.0]")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Reference, E> {
        match name {
            "serving" => Ok(serving()),
            "neighbour" => Ok(neighbour()),
            other => Err(E::unknown_variant(other, &["serving", "neighbour"])),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, point: A) -> Result<Reference, A::Error> {
        Deserialize::deserialize(SeqAccessDeserializer::new(point)).map(Reference::Point)
    }
}

/// TimeToTrigger in ms (TS 36.331 §6.3.5).
const TIMES_TO_TRIGGER: [u64; 16] =
    [0, 40, 64, 80, 100, 128, 160, 256, 320, 480, 512, 640, 1024, 1280, 2560, 5120];

/// FilterCoefficient (TS 36.331 §6.3.5).
const FILTER_COEFFICIENTS: [u8; 15] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 17, 19];

/// Most events of a condition (TS 38.331 §6.3.2, condExecutionCond).
const MOST_EVENTS: usize = 2;

impl ReportConfig {
    /// The condition that a neighbour, or a candidate, meets when it is to be reported.
    pub fn condition(&self, name: &'static str, candidates: Option<Vec<Addr>>) -> Condition {
        let ReportConfig { offset_db, hysteresis_db, time_to_trigger, .. } = *self;
        let ReportConfig { filter_coefficient, report_interval, .. } = *self;
        let events = Events(vec![Event::A3(A3 { offset_db, hysteresis_db, time_to_trigger })]);
        Condition {
            name,
            candidates,
            events,
            filter_coefficient,
            report_interval,
            leaves_at_once: false,
            unfiltered: false,
        }
    }

    /// Support for this event in the standard.
    ///
    /// # Errors
    /// The field that it cannot, and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let ReportConfig { offset_db, hysteresis_db, time_to_trigger, .. } = *self;
        Event::A3(A3 { offset_db, hysteresis_db, time_to_trigger }).check()?;
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

impl Events {
    /// Support for these events in the standard.
    ///
    /// # Errors
    /// The place in the list with the field, "[0].offset_db", or "" for the list itself; and what to write.
    pub fn check(&self) -> Result<(), (String, String)> {
        let Events(events) = self;
        if !(1..=MOST_EVENTS).contains(&events.len()) {
            let count = events.len();
            let message = format!(
                "a condition has one event or two that are both met (TS 38.331 §6.3.2), got {count}: write for \
                 example [{{ kind = \"a3\", offset_db = 3.0 }}]"
            );
            return Err((String::new(), message));
        }
        for (place, event) in events.iter().enumerate() {
            let at = |(field, message): (&str, String)| (format!("[{place}].{field}"), message);
            event.check().map_err(at)?;
        }
        let of_place_and_time = |event: &&Event| matches!(event, Event::D1(_) | Event::T1(_));
        if events.iter().filter(of_place_and_time).count() > 1 {
            let message = "a condition has one of events D1 and T1 at most (TS 38.331 §6.3.2): write a3, a4 or a5 \
                           in place of one of them";
            return Err(("[1].kind".into(), message.into()));
        }
        Ok(())
    }

    /// The place in the list of an event that needs positions of cells and hosts, if there is one.
    pub fn of_positions(&self) -> Option<usize> {
        self.0.iter().position(|event| matches!(event, Event::D1(_)))
    }

    /// True if no window of an event T1 excludes this time.
    pub fn allow(&self, now: Time) -> bool {
        self.0.iter().all(|event| match *event {
            Event::T1(T1 { t1_threshold, duration }) => {
                let begin = Time::ZERO + t1_threshold;
                begin < now && now <= begin + duration
            }
            Event::A3(_) | Event::A4(_) | Event::A5(_) | Event::D1(_) => true,
        })
    }
}

impl Event {
    /// Support for this event in the standard.
    ///
    /// # Errors
    /// The field that it cannot, and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        match *self {
            Event::A3(A3 { offset_db, hysteresis_db, time_to_trigger }) => {
                stepped("offset_db", offset_db, (-15.0, 15.0, 0.5), "dB")?;
                hysteresis_and_time(hysteresis_db, time_to_trigger)
            }
            Event::A4(A4 { threshold_dbm, hysteresis_db, time_to_trigger }) => {
                stepped("threshold_dbm", threshold_dbm, LEVELS_DBM, "dBm")?;
                hysteresis_and_time(hysteresis_db, time_to_trigger)
            }
            Event::A5(A5 { threshold1_dbm, threshold2_dbm, hysteresis_db, time_to_trigger }) => {
                stepped("threshold1_dbm", threshold1_dbm, LEVELS_DBM, "dBm")?;
                stepped("threshold2_dbm", threshold2_dbm, LEVELS_DBM, "dBm")?;
                hysteresis_and_time(hysteresis_db, time_to_trigger)
            }
            Event::D1(D1 {
                distance1_m,
                distance2_m,
                reference1,
                reference2,
                hysteresis_m,
                time_to_trigger,
            }) => {
                stepped("distance1_m", distance1_m, DISTANCES_M, "m")?;
                stepped("distance2_m", distance2_m, DISTANCES_M, "m")?;
                finite("reference1", reference1)?;
                finite("reference2", reference2)?;
                stepped("hysteresis_m", hysteresis_m, (0.0, 327_680.0, 10.0), "m")?;
                one_of_times(time_to_trigger)
            }
            Event::T1(T1 { duration, .. }) => {
                let (step, longest) = (Duration::from_millis(100), Duration::from_secs(600));
                let is_step = duration.as_nanos().is_multiple_of(step.as_nanos());
                if is_step && (step..=longest).contains(&duration) {
                    return Ok(());
                }
                let message =
                    format!("expected 100 ms to 600 s in steps of 100 ms, got {duration}: write such a time");
                Err(("duration", message))
            }
        }
    }
}

/// RSRP-Range (TS 38.331 §6.3.2), without its last value, which is infinite.
const LEVELS_DBM: (f64, f64, f64) = (-156.0, -30.0, 1.0);

/// distanceThreshFromReference1 and 2 (TS 38.331 §6.3.2), 0 to 65525 in units of 50 m.
const DISTANCES_M: (f64, f64, f64) = (0.0, 3_276_250.0, 50.0);

fn hysteresis_and_time(hysteresis_db: f64, time_to_trigger: Duration) -> Result<(), (&'static str, String)> {
    stepped("hysteresis_db", hysteresis_db, (0.0, 15.0, 0.5), "dB")?;
    one_of_times(time_to_trigger)
}

fn one_of_times(time: Duration) -> Result<(), (&'static str, String)> {
    if TIMES_TO_TRIGGER.iter().any(|&ms| time == Duration::from_millis(ms)) {
        return Ok(());
    }
    Err(("time_to_trigger", not_one_of(time, &TIMES_TO_TRIGGER, " ms")))
}

/// A value between two in steps.
fn stepped(
    field: &'static str,
    value: f64,
    (least, most, step): (f64, f64, f64),
    unit: &str,
) -> Result<(), (&'static str, String)> {
    if (least..=most).contains(&value) && value % step == 0.0 {
        return Ok(());
    }
    Err((
        field,
        format!("expected {least} to {most} {unit} in steps of {step}, got {value}: write such a number"),
    ))
}

fn finite(field: &'static str, reference: Reference) -> Result<(), (&'static str, String)> {
    match reference {
        Reference::Point(point) if !point.iter().all(|part| part.is_finite()) => {
            Err((field, "expected two finite numbers of metres: write for example [0.0, 500.0]".into()))
        }
        _ => Ok(()),
    }
}

fn not_one_of(value: impl fmt::Display, values: &[impl fmt::Display], unit: &str) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("{value} cannot be signalled (TS 36.331): write one of {}{unit}", values.join(", "))
}

#[cfg(test)]
mod tests;
