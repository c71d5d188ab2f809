//! A record with the scenario that it is of, and what all analyses ask it.

use crate::table::{Fault, Index, Table, Values, View};
use roamlab_packet::DropReason;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::Value;

/// The shortest silence that can be a stall, and the shortest slow period, in ns.
pub const FLOOR_NS: i64 = 200_000_000;
/// How long before a stall a message or a timeout may be and still have led to it, in ns.
pub const SETTLE_NS: i64 = 1_000_000_000;
/// Kinds of packets that a sender sends without an acknowledgement.
pub(crate) const DATA: [&str; 3] = ["data", "syn", "datagram"];
/// Kinds of flows that have no connection with acknowledgements.
pub(crate) const WITHOUT_CONNECTION: [&str; 2] = ["udp", "program"];

/// The record of a run, lent for an analysis.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    tables: Vec<Table<'a>>,
    pub(crate) index: &'a Index,
    pub(crate) scenario: &'a Value,
    pub(crate) duration_ns: i64,
}

impl<'a> Record<'a> {
    /// A record of these tables. `index` is kept for further questions about the same record; `scenario` is the one with
    /// all defaults; `duration_ns` how long the run was.
    pub fn new(
        tables: Vec<Table<'a>>,
        index: &'a Index,
        scenario: &'a Value,
        duration_ns: i64,
    ) -> Record<'a> {
        Record { tables, index, scenario, duration_ns }
    }

    pub(crate) fn table(&self, name: &'static str) -> Result<View<'_, 'a>, Fault> {
        let found = self.tables.iter().find(|table| table.name == name).ok_or(Fault::Table(name))?;
        Ok(View::new(name, &found.columns))
    }

    /// The rows of a flow in a table.
    pub(crate) fn rows(
        &self,
        name: &'static str,
        flow: &str,
    ) -> Result<impl Iterator<Item = usize> + Clone + use<'a>, Fault> {
        Ok(self.index.rows(self.table(name)?, flow)?.iter().map(|row| *row as usize))
    }

    /// The names of the flows.
    pub fn flows(&self) -> Result<Vec<&'a str>, Fault> {
        let table = self.table("flows")?;
        let names = table.words("flow")?;
        Ok((0..table.rows()).map(|row| names.at(row)).collect())
    }

    /// The row of a flow in the table `flows`.
    pub(crate) fn flow(&self, flow: &str) -> Result<usize, Fault> {
        self.rows("flows", flow)?.next().ok_or_else(|| Fault::Flow(flow.to_owned()))
    }

    /// A word in the row of a flow.
    pub(crate) fn of_flow(&self, column: &'static str, flow: &str) -> Result<&'a str, Fault> {
        Ok(self.table("flows")?.words(column)?.at(self.flow(flow)?))
    }

    /// The nodes at the ends of a flow: source and destination.
    pub(crate) fn ends(&self, flow: &str) -> Result<[&'a str; 2], Fault> {
        Ok([self.of_flow("source", flow)?, self.of_flow("destination", flow)?])
    }

    /// A test of rows of `drops` for those that lose no data.
    pub(crate) fn spare(&self) -> Result<impl Fn(usize) -> bool + use<'a>, Fault> {
        Ok(self.table("drops")?.words("reason")?.among(&harmless()))
    }

    /// Goodput of each flow in bit/s, and the packets of it that were lost. Reads `flows` and `drops`.
    pub fn figures(&self) -> Result<Vec<Figure<'a>>, Fault> {
        let (goodput, spare) = (self.table("flows")?.numbers("goodput_bps")?, self.spare()?);
        let figure = |(row, flow): (usize, &'a str)| {
            let lost = self.rows("drops", flow)?.filter(|&row| !spare(row)).count();
            Ok(Figure { flow, goodput_bps: goodput.real(row), lost })
        };
        self.flows()?.into_iter().enumerate().map(figure).collect()
    }

    /// True if a flow has a connection with acknowledgements.
    pub fn connects(&self, flow: &str) -> Result<bool, Fault> {
        Ok(!WITHOUT_CONNECTION.contains(&self.of_flow("kind", flow)?))
    }

    /// The end of a flow: when its file was there, or the end of the run.
    pub(crate) fn end(&self, flow: &str) -> Result<i64, Fault> {
        let completed = self.table("flows")?.numbers("completed_ns")?.int(self.flow(flow)?);
        Ok(if completed >= 0 { completed } else { self.duration_ns })
    }

    /// The tables of the scenario that a flow may be declared by: its own, and those of groups whose name with a hyphen
    /// begins its name. The longest name is first.
    pub(crate) fn declared(&self, flow: &str) -> Vec<(usize, &'a Value)> {
        let listed = self.scenario["flows"].as_array().map_or(&[][..], Vec::as_slice);
        let known = self.index.declared.get_or_init(|| {
            let named = listed.iter().enumerate();
            let name = |(place, each): (usize, &Value)| Some((each["name"].as_str()?.to_owned(), place));
            named.filter_map(name).collect::<FxHashMap<_, _>>()
        });
        let shorter = flow.rmatch_indices('-').map(|(end, _)| &flow[..end]);
        let places = std::iter::once(flow).chain(shorter).filter_map(|name| known.get(name));
        places.map(|&place| (place, &listed[place])).collect()
    }

    /// The table of a flow, or of the group that it is of, in the scenario.
    pub(crate) fn table_of(&self, flow: &str) -> &'a Value {
        self.declared(flow).first().map_or(&Value::Null, |(_, table)| table)
    }
}

/// The reasons in `drops` that lose no data.
pub(crate) fn harmless() -> Vec<&'static str> {
    DropReason::ALL.iter().filter(|reason| !reason.loses_data()).map(|reason| reason.name()).collect()
}

/// The figures of a flow in one line.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Figure<'a> {
    /// The flow.
    pub flow: &'a str,
    /// Its goodput.
    pub goodput_bps: f64,
    /// Its packets that were lost.
    pub lost: usize,
}

/// Arrivals of a flow.
#[derive(Debug)]
pub(crate) struct Arrivals<'a> {
    /// The rows of new data.
    pub fresh: Vec<usize>,
    pub times: Values<'a>,
    pub sent: Values<'a>,
    /// Twice the smallest one-way delay in ns; 0: nothing arrived.
    pub round_trip_ns: i64,
    /// The smallest one-way delay of new data in ns.
    pub delay_ns: i64,
}

impl<'a> Arrivals<'a> {
    pub fn of(record: &Record<'a>, flow: &str) -> Result<Arrivals<'a>, Fault> {
        let table = record.table("deliveries")?;
        let (times, sent, new) =
            (table.numbers("time_ns")?, table.numbers("sent_ns")?, table.numbers("fresh")?);
        let least = |rows: &mut dyn Iterator<Item = usize>| {
            rows.map(|row| times.int(row) - sent.int(row)).min().unwrap_or(0)
        };
        let rows = record.rows("deliveries", flow)?;
        let fresh: Vec<usize> = rows.clone().filter(|&row| new.is(row)).collect();
        let round_trip_ns = 2 * least(&mut rows.clone());
        let delay_ns = least(&mut fresh.iter().copied());
        Ok(Arrivals { fresh, times, sent, round_trip_ns, delay_ns })
    }
}
