//! The table `causes`, and what is looked up for its rows.

use crate::record::Record;
use crate::table::{Fault, Values, Words};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use std::ops::RangeInclusive;

/// A row of `causes`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub id: usize,
    pub time_ns: i64,
    pub kind: &'a str,
    pub name: &'a str,
    pub place: &'a str,
    pub host: &'a str,
    pub flow: &'a str,
    pub seq: i64,
    pub serial: i64,
    /// The row that led to it; below 0: none did.
    pub cause: i64,
}

/// The rows of `causes` with what else of the record tells about them.
#[derive(Debug)]
pub(crate) struct Causes<'a> {
    rows: usize,
    time: Values<'a>,
    kind: Words<'a>,
    name: Words<'a>,
    place: Words<'a>,
    host: Words<'a>,
    flow: Words<'a>,
    seq: Values<'a>,
    serial: Values<'a>,
    cause: Values<'a>,
    /// The message that a packet is, and the host that it is about, by serial number.
    pub messages: FxHashMap<i64, (&'a str, &'a str)>,
    /// When the packets after which outages of recorded links are named arrived.
    pub arrivals: FxHashMap<i64, i64>,
    /// When hosts left cells.
    left: FxHashMap<&'a str, Vec<i64>>,
    /// The cells that hosts entered or left, by host, time and phase.
    cells: FxHashMap<(&'a str, i64, &'a str), &'a str>,
}

impl<'a> Causes<'a> {
    /// Reads `causes`, `signalling`, `handovers` and `deliveries`.
    pub fn new(record: &Record<'a>, network: &'a Value) -> Result<Causes<'a>, Fault> {
        let table = record.table("causes")?;
        let mut found = Causes {
            rows: table.rows(),
            time: table.numbers("time_ns")?,
            kind: table.words("kind")?,
            name: table.words("name")?,
            place: table.words("place")?,
            host: table.words("host")?,
            flow: table.words("flow")?,
            seq: table.numbers("seq")?,
            serial: table.numbers("serial")?,
            cause: table.numbers("cause")?,
            messages: messages(record)?,
            arrivals: FxHashMap::default(),
            left: FxHashMap::default(),
            cells: cells(record, network)?,
        };
        let (is_outage, is_left) = (found.kind.among(&["link-outage"]), found.name.among(&["link-down"]));
        let mut asked = FxHashSet::default();
        for row in 0..found.rows {
            if is_outage(row) {
                asked.insert(found.serial.int(row));
            }
            if is_left(row) {
                found.left.entry(found.host.at(row)).or_default().push(found.time.int(row));
            }
        }
        if !asked.is_empty() {
            let came = record.table("deliveries")?;
            let (serial, time) = (came.numbers("serial")?, came.numbers("time_ns")?);
            let wanted = (0..came.rows()).filter(|&row| asked.contains(&serial.int(row)));
            found.arrivals = wanted.map(|row| (serial.int(row), time.int(row))).collect();
        }
        Ok(found)
    }

    pub fn row(&self, id: usize) -> Row<'a> {
        Row {
            id,
            time_ns: self.time.int(id),
            kind: self.kind.at(id),
            name: self.name.at(id),
            place: self.place.at(id),
            host: self.host.at(id),
            flow: self.flow.at(id),
            seq: self.seq.int(id),
            serial: self.serial.int(id),
            cause: self.cause.int(id),
        }
    }

    /// The rows of a span of time in ns, and all outages of recorded links.
    pub fn within(&self, span: RangeInclusive<i64>) -> impl Iterator<Item = Row<'a>> + '_ {
        let wanted =
            move |id: &usize| span.contains(&self.time.int(*id)) || self.kind.at(*id) == "link-outage";
        (0..self.rows).filter(wanted).map(|id| self.row(id))
    }

    /// The rows from one to its root; none if it is below 0.
    pub fn chain(&self, cause: i64) -> Result<Vec<Row<'a>>, Fault> {
        let (mut rows, mut next) = (Vec::new(), cause);
        while next >= 0 {
            let id = usize::try_from(next).ok().filter(|id| *id < self.rows && rows.len() < self.rows);
            let row = self.row(id.ok_or(Fault::Cause(next))?);
            rows.push(row);
            next = row.cause;
        }
        Ok(rows)
    }

    /// True if a host left a cell from a time on and before another.
    pub fn leaves(&self, host: &str, from: i64, until: i64) -> bool {
        self.left.get(host).is_some_and(|times| times.iter().any(|at| (from..until).contains(at)))
    }

    /// The cell that a host entered or left at a time.
    pub fn cell(&self, host: &str, time: i64, phase: &str) -> Option<&'a str> {
        self.cells.get(&(host, time, phase)).copied()
    }
}

fn messages<'a>(record: &Record<'a>) -> Result<FxHashMap<i64, (&'a str, &'a str)>, Fault> {
    let table = record.table("signalling")?;
    let (serial, message, host) = (table.numbers("serial")?, table.words("message")?, table.words("host")?);
    Ok((0..table.rows()).map(|row| (serial.int(row), (message.at(row), host.at(row)))).collect())
}

type Cells<'a> = FxHashMap<(&'a str, i64, &'a str), &'a str>;

fn cells<'a>(record: &Record<'a>, network: &'a Value) -> Result<Cells<'a>, Fault> {
    let hosts = network["hosts"].as_array().map_or(&[][..], Vec::as_slice);
    let named = |host: &'a Value| Some((host["name"].as_str()?, &host["visits"]));
    let visits: FxHashMap<&str, &Value> = hosts.iter().filter_map(named).collect();
    let table = record.table("handovers")?;
    let (time, visit) = (table.numbers("time_ns")?, table.numbers("visit")?);
    let (host, phase) = (table.words("host")?, table.words("phase")?);
    let cell = |row: usize| {
        let visited = visits.get(host.at(row))?.get(usize::try_from(visit.int(row)).ok()?)?;
        visited["cell"].as_str()
    };
    let key = |row: usize| (host.at(row), time.int(row), phase.at(row));
    Ok((0..table.rows()).map(|row| (key(row), cell(row).unwrap_or("its cell"))).collect())
}
