//! Channels that were fitted to drives, by name.

use crate::channel::moves::Moves;
use crate::channel::states::{Params as States, State};
use crate::channel::tables::{LTE_DOWN, LTE_UP, Level, NSA_DOWN, NSA_UP, Table};
use crate::channel::{Drawn, Fault, Process, Setting};
use roamlab_engine::{Duration, Rate, Rng, named};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named! {
    /// A channel of hosts that drive in the USA: chains that were fitted to throughputs each 0.5 s, of downloads and of
    /// uploads, of slow to fast drives. PAM 2025, AT&T and Verizon in 2023 (CC0), rows between handovers: divided by the
    /// default curves of `moves`.
    ///
    /// ASSUMPTION: the throughput of the record is the rate of the cell for this host.
    #[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum MeasuredChannel {
        /// LTE and LTE-A.
        Lte => "lte",
        /// 5G below 6 GHz ("5G-low" and "5G-mid"); both operators have it as non-standalone.
        Nsa => "nsa",
    }
}

/// The time between two throughputs of the record.
const STEP: Duration = Duration::from_millis(500);
/// The chance of another level in a step: a level lasts 5 minutes on average.
///
/// ASSUMPTION: drives of the record last one minute, which have one level.
const CHANGE: f64 = 1.0 / 600.0;

/// A channel by name.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The record that it was fitted to. The downlink, or the direction from the first node, is that of downloads.
    pub table: MeasuredChannel,
    /// Effect of moves on the rate; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<Moves>,
}

impl Params {
    pub(super) fn chain(&self, back: bool) -> States {
        let table: &Table = match (self.table, back) {
            (MeasuredChannel::Lte, false) => &LTE_DOWN,
            (MeasuredChannel::Lte, true) => &LTE_UP,
            (MeasuredChannel::Nsa, false) => &NSA_DOWN,
            (MeasuredChannel::Nsa, true) => &NSA_UP,
        };
        let levels: Vec<States> = table.iter().map(|level| self.level(level)).collect();
        // A change of level leads to a state as often as that level is in it.
        let entries: Vec<Vec<f64>> = levels
            .iter()
            .zip(table)
            .map(|(level, of)| level.shares().iter().map(|share| CHANGE * of.share * share).collect())
            .collect();
        let row = |own: usize, next: &Vec<f64>| {
            let mut row = entries.concat();
            let first = own * next.len();
            row[first..].iter_mut().zip(next).for_each(|(to, next)| *to += (1.0 - CHANGE) * next);
            row
        };
        States {
            step: STEP,
            next: levels
                .iter()
                .enumerate()
                .flat_map(|(own, level)| level.next.iter().map(move |next| (own, next)))
                .map(|(own, next)| row(own, next))
                .collect(),
            states: levels.into_iter().flat_map(|level| level.states).collect(),
            moves: self.moves.clone(),
        }
    }

    /// The chain of drives of one level.
    fn level(&self, level: &Level) -> States {
        let state =
            |rates: &[f64; 9]| State { rate_mbit_s: rates.to_vec(), loss: 0.0, extra_delay: Duration::ZERO };
        States {
            step: STEP,
            states: level.rate_mbit_s.iter().map(state).collect(),
            next: level.next.iter().map(|row| row.to_vec()).collect(),
            moves: None,
        }
    }
}

impl Process for Params {
    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn draw(&self, setting: &Setting<'_>, rng: Rng) -> Drawn {
        self.chain(setting.back).draw(setting, rng)
    }

    fn mean_rate(&self, back: bool) -> Rate {
        self.chain(back).mean_rate(back)
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn between(&self) -> (Duration, &'static str) {
        (STEP, "table")
    }

    fn moves(&self) -> Option<&Moves> {
        self.moves.as_ref()
    }

    fn loses(&self) -> bool {
        false
    }

    fn delays(&self) -> bool {
        false
    }
}
