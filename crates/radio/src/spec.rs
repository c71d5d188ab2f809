//! The parameters of measurement in a scenario.

use crate::signal::PathLoss;
use roamlab_engine::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Measurements of hosts, and their interval.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeasurementSpec {
    /// Where the levels of cells come from.
    pub signal: SignalSpec,
    /// Time between measurements, counted from when the host enters its first cell.
    pub period: Duration,
    /// A cell weaker than this cannot be heard, in dBm.
    pub audible_dbm: f64,
    /// How long the serving cell may be out of hearing before the link has failed (TS 36.331 §7.3).
    pub t310: Duration,
    /// Measurements in a row at which the serving cell is out of hearing that start T310; a value of TS 38.331 §6.3.2.
    /// Default 1.
    #[schemars(range(min = 1, max = 20))]
    pub n310: u32,
    /// Measurements in a row at which it is heard that stop T310; a value of TS 38.331 §6.3.2. Default 1.
    #[schemars(range(min = 1, max = 10))]
    pub n311: u32,
    /// On a schedule: level of a cell while it is visited, in dBm.
    pub peak_dbm: f64,
    /// On a schedule: how fast it falls off before and behind its visit, in dB/s.
    pub slope_db_per_s: f64,
    /// With positions: how the level falls with distance.
    pub path_loss: PathLoss,
}

/// Where the levels of cells come from.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SignalSpec {
    /// From each host's visits: a cell is the best one during its visit.
    #[default]
    Schedule,
    /// From where cells (`transmitter`) and hosts (`trajectory`) are.
    Positions,
}

impl Default for MeasurementSpec {
    fn default() -> Self {
        MeasurementSpec {
            signal: SignalSpec::default(),
            period: Duration::from_millis(40),
            audible_dbm: -110.0,
            t310: Duration::from_secs(1),
            n310: 1,
            n311: 1,
            peak_dbm: -80.0,
            slope_db_per_s: 20.0,
            path_loss: PathLoss::default(),
        }
    }
}

/// Least time between two measurements: a subframe (TS 36.211 §4).
const SHORTEST_PERIOD: Duration = Duration::from_millis(1);

/// N310 and N311 (TS 38.331 §6.3.2; TS 36.331 §6.3.2 has the same).
const N310: &[u32] = &[1, 2, 3, 4, 6, 8, 10, 20];
const N311: &[u32] = &[1, 2, 3, 4, 5, 6, 8, 10];

impl MeasurementSpec {
    /// Checks that hosts can measure so.
    ///
    /// # Errors
    /// The field at fault, and what to write.
    pub fn check(&self) -> Result<(), (String, String)> {
        let bad = |field: &str, message: &str| Err((field.to_owned(), message.to_owned()));
        if self.period < SHORTEST_PERIOD {
            return bad("period", "no host measures more than once a subframe: write at least \"1 ms\"");
        }
        if !self.audible_dbm.is_finite() {
            return bad("audible_dbm", "the level is no number: write for example -110.0");
        }
        for (field, value, values) in [("n310", self.n310, N310), ("n311", self.n311, N311)] {
            if !values.contains(&value) {
                let values: Vec<String> = values.iter().map(u32::to_string).collect();
                let message = format!("{value} cannot be signalled: write one of {}", values.join(", "));
                return bad(field, &message);
            }
        }
        let on_schedule = self.signal == SignalSpec::Schedule;
        let is_heard = !on_schedule || self.peak_dbm > self.audible_dbm;
        if self.audible_dbm > 0.0 && (!on_schedule || !is_heard) {
            let level = self.audible_dbm;
            let message = format!(
                "a phone receives less than a milliwatt, 0 dBm, and hears far less: write {:?}",
                -level
            );
            return bad("audible_dbm", &message);
        }
        if !(is_heard && self.peak_dbm.is_finite()) {
            return bad("peak_dbm", "a visited cell must be heard: write a level above `audible_dbm`");
        }
        if !(self.slope_db_per_s > 0.0 && self.slope_db_per_s.is_finite()) {
            return bad("slope_db_per_s", "cells must fade: write a number above 0, for example 20.0");
        }
        self.path_loss.check().map_err(|(field, message)| (format!("path_loss.{field}"), message))
    }
}
