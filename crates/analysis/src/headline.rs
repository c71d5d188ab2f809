//! A run in one sentence: who moved, the longest stall, the worst slow period.

use crate::explain::Trouble;
use crate::numbers::{general, seconds};
use crate::record::Record;
use crate::table::Fault;
use rustc_hash::FxHashSet;
use serde::Serialize;

/// The parts of the sentence, which follow each other. A suspect may follow the second and the third.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Headline {
    /// Who changed cells.
    pub moves: String,
    /// The longest stall; that there is none.
    pub stalled: String,
    /// The slow period in which most is missing; empty: there is none.
    pub slow: String,
    /// The place of that slow period in the list of troubles.
    pub worst: Option<usize>,
}

impl Record<'_> {
    /// The headline of a run with these stalls and slow periods, all of the run. Reads `handovers` and `flows`.
    pub fn headline(&self, troubles: &[Trouble]) -> Result<Headline, Fault> {
        let silent: Vec<_> = troubles.iter().map(|each| &each.stall).filter(|stall| !stall.is_slow).collect();
        let stalled = match silent.first() {
            Some(stall) => {
                let length = general(stall.length_ns() as f64 / 1e9, 3);
                let (start, end) = (seconds(stall.start_ns), seconds(stall.end_ns));
                let others = if silent.len() > 1 {
                    format!(", the longest of {} stalls", silent.len())
                } else {
                    String::new()
                };
                format!("; {} received nothing new for {length} s, {start} to {end} s{others}", stall.flow)
            }
            None => match self.table("flows")?.rows() {
                0 => ", and there is no flow".to_owned(),
                1 => ", and the one flow never stalled".to_owned(),
                flows => format!(", and none of the {flows} flows stalled"),
            },
        };
        let (worst, slow) = slowest(troubles).unzip();
        Ok(Headline { moves: self.moves()?, stalled, slow: slow.unwrap_or_default(), worst })
    }

    fn moves(&self) -> Result<String, Fault> {
        let table = self.table("handovers")?;
        let (host, visit) = (table.words("host")?, table.numbers("visit")?);
        let rows = (0..table.rows()).filter(|&row| visit.int(row) > 0);
        let entries: FxHashSet<_> = rows.map(|row| (host.at(row), visit.int(row))).collect();
        let hosts: FxHashSet<_> = entries.iter().map(|(host, _)| *host).collect();
        let times = if entries.len() == 1 { "once".to_owned() } else { format!("{} times", entries.len()) };
        Ok(match (hosts.len(), hosts.iter().next()) {
            (1, Some(host)) => format!("{host} changed cells {times}"),
            (0, _) => "No host changed its cell".to_owned(),
            (hosts, _) => format!("{hosts} hosts changed cells {times}"),
        })
    }
}

/// The slow period in which most is missing: its place among the troubles, and the words.
fn slowest(troubles: &[Trouble]) -> Option<(usize, String)> {
    let all = troubles.iter().enumerate().filter_map(|(place, each)| Some((place, each.slow.as_ref()?)));
    let lacking =
        all.map(|(place, slow)| (place, slow, slow.length_ns() as f64 * (slow.before_bps - slow.rate_bps)));
    let (place, slow, _) = lacking.reduce(|most, each| if each.2 > most.2 { each } else { most })?;
    let length = general(slow.length_ns() as f64 / 1e9, 3);
    let (start, end) = (seconds(slow.start_ns), seconds(slow.end_ns));
    let [rate, before] = [slow.rate_bps, slow.before_bps].map(|rate| general(rate / 1e6, 2));
    let rates = format!("at {rate} instead of {before} Mbit/s");
    Some((place, format!("; {} was slow for {length} s, {start} to {end} s, {rates}", slow.flow)))
}
