//! A host that moves by a file: a schedule of handovers, recorded or made by another program.
//!
//! The file is a table with commas. Its first line names the columns, in any order: `time`, `host`, `from`, `to`, and
//! optionally `gap`. Either a time has a unit (`12.5 s`), or its column has one: `time_s`, `time_ms`, `gap_s`,
//! `gap_ms`. Blank lines and those that begin with `#` are ignored. In a row the host leaves the cell `from` at `time`,
//! and enters the cell `to` after `gap`. Without `from` it enters coverage, without `to` it leaves it. Without a gap
//! the radio's gap applies if it leaves a cell. Before its first row a host is in that row's `from`.

use super::{Cells, Itinerary, Route, Visit};
use roamlab_engine::{BadLine, Duration, InputFile, Recording, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Parameters of a recorded plan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The file: a table with the columns time, host, from, to, gap. Its path is relative to the scenario's file, or to the
    /// folder that the variable `ROAMLAB_DATA` names.
    pub file: InputFile<Schedule>,
    /// Name of the host in the file; absent: the host's own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Params {
    pub(super) fn itinerary(&self) -> Itinerary<'_> {
        Itinerary { cells: &[], begin: None, at: Duration::ZERO, dwell: None, moves: None }
    }
}

/// It follows its file; no cell follows from the one before.
#[derive(Debug)]
pub struct Scheduled;

impl Route for Scheduled {
    type Params = Params;

    fn new(_: &Params) -> Scheduled {
        Scheduled
    }

    fn next(&mut self, _: usize, _: &Cells, _: Option<&mut Rng>) -> Option<usize> {
        None
    }
}

/// The handovers of hosts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    hosts: BTreeMap<String, Vec<Move>>,
}

/// A row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// Its line in the file, from 1.
    pub line: usize,
    /// When the host leaves `from`.
    pub time: Duration,
    /// The cell that it leaves; `None`: it was in none.
    pub from: Option<String>,
    /// The cell that it enters; `None`: none.
    pub to: Option<String>,
    /// How much later; `None`: the radio's gap.
    pub gap: Option<Duration>,
}

/// Content of a column, and the unit in its name.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum ColumnOf {
    Time(&'static str),
    Host,
    From,
    To,
    Gap(&'static str),
}

/// The latest time, so that no sum of times overflows.
const LATEST: Duration = Duration::from_secs(50 * 366 * 86_400);

const HEADER: &str = "time_s,host,from,to,gap_s";

impl ColumnOf {
    fn named(name: &str) -> Option<ColumnOf> {
        Some(match name {
            "time" => ColumnOf::Time(""),
            "time_s" => ColumnOf::Time(" s"),
            "time_ms" => ColumnOf::Time(" ms"),
            "host" => ColumnOf::Host,
            "from" => ColumnOf::From,
            "to" => ColumnOf::To,
            "gap" => ColumnOf::Gap(""),
            "gap_s" => ColumnOf::Gap(" s"),
            "gap_ms" => ColumnOf::Gap(" ms"),
            _ => return None,
        })
    }

    /// Which of the five it is.
    const fn kind(self) -> usize {
        match self {
            ColumnOf::Time(_) => 0,
            ColumnOf::Host => 1,
            ColumnOf::From => 2,
            ColumnOf::To => 3,
            ColumnOf::Gap(_) => 4,
        }
    }
}

impl Recording for Schedule {
    fn read(text: &str) -> Result<Schedule, BadLine> {
        let mut rows = text.lines().zip(1..).map(|(row, line)| (row.trim(), line));
        let mut rows = rows.by_ref().filter(|(row, _)| !row.is_empty() && !row.starts_with('#'));
        let Some((header, line)) = rows.next() else {
            return Err(BadLine { line: 1, message: format!("the file is empty: write {HEADER} and rows") });
        };
        let columns = columns(header).map_err(|message| BadLine { line, message })?;
        let mut schedule = Schedule::default();
        for (row, line) in rows {
            schedule.add(row, line, &columns).map_err(|message| BadLine { line, message })?;
        }
        if schedule.hosts.is_empty() {
            let message =
                "the file has no rows; expected a handover on each line: write 12.5,mh,bs1,bs2,0.02";
            return Err(BadLine { line, message: message.into() });
        }
        Ok(schedule)
    }
}

fn columns(header: &str) -> Result<Vec<ColumnOf>, String> {
    let separators = [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")];
    if let (false, Some((_, name))) =
        (header.contains(','), separators.iter().find(|(separator, _)| header.contains(*separator)))
    {
        return Err(format!("the columns are separated by {name}: write commas, as in {HEADER}"));
    }
    let mut columns: Vec<ColumnOf> = Vec::new();
    for name in header.split(',').map(str::trim) {
        let expected = format!("expected the names of columns: write for example {HEADER}");
        let column = ColumnOf::named(name).ok_or_else(|| format!("an unknown column; {expected}"))?;
        if columns.iter().any(|known| known.kind() == column.kind()) {
            return Err(format!("the column {name:?} is there twice; {expected}"));
        }
        columns.push(column);
    }
    for (kind, name) in ["time_s", "host", "from", "to"].into_iter().enumerate() {
        if columns.iter().all(|column| column.kind() != kind) {
            return Err(format!("the column {name:?} is missing: write for example {HEADER}"));
        }
    }
    Ok(columns)
}

/// A time with the unit of its column, or its own.
fn time(text: &str, unit: &str, what: &str) -> Result<Duration, String> {
    let example = if unit.is_empty() { "12.5 s" } else { "12.5" };
    let read = if unit.is_empty() { text.parse() } else { format!("{text}{unit}").parse() };
    let bare = unit.is_empty() || text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let read = read.ok().filter(|_| bare);
    if read.is_some_and(|time: Duration| time > LATEST) {
        return Err(format!(
            "the {what} is later than 50 years: write times from the start of the run, for example {example}; of a log's \
             clock `roamlab schedule LOG --begin TIME` makes them"
        ));
    }
    read.ok_or_else(|| {
        let given = if unit.is_empty() { "a time with its unit" } else { "a number" };
        format!("the {what} is wrong; expected {given}, from 0 to 50 years: write for example {example}")
    })
}

impl Schedule {
    fn add(&mut self, row: &str, line: usize, columns: &[ColumnOf]) -> Result<(), String> {
        let fields: Vec<&str> = row.split(',').map(str::trim).collect();
        if fields.len() != columns.len() {
            let (found, wanted) = (fields.len(), columns.len());
            return Err(format!(
                "expected {wanted} fields as in the first line, got {found}: write for example 12.5,mh,bs1,bs2,0.02"
            ));
        }
        let (mut host, mut made) = ("", Move { line, time: Duration::ZERO, from: None, to: None, gap: None });
        for (&field, column) in fields.iter().zip(columns) {
            let name = || (!field.is_empty()).then(|| field.to_owned());
            match column {
                ColumnOf::Time(unit) => made.time = time(field, unit, "time")?,
                ColumnOf::Host => host = field,
                ColumnOf::From => made.from = name(),
                ColumnOf::To => made.to = name(),
                ColumnOf::Gap(_) if field.is_empty() => {}
                ColumnOf::Gap(unit) => made.gap = Some(time(field, unit, "gap")?),
            }
        }
        if host.is_empty() {
            return Err("no host; expected its name: write for example mh".into());
        }
        if made.from == made.to {
            let cell = made.from.as_deref().unwrap_or_default();
            return Err(format!(
                "from {cell:?} to {cell:?}: write two different cells, or none for one of them"
            ));
        }
        let moves = self.hosts.entry(host.to_owned()).or_default();
        match moves.last() {
            None if made.from.is_some() && made.time == Duration::ZERO => {
                return Err("a host cannot leave a cell at the very beginning: write a time above 0".into());
            }
            Some(before) if made.time <= before.enters() => {
                let (now, free) = (made.time, before.enters());
                return Err(format!(
                    "{now} is not after the host's row before, which lasts until {free}: write a later time"
                ));
            }
            Some(before) if made.from != before.to => {
                let [now, then] = [&made.from, &before.to].map(|cell| cell.as_deref().unwrap_or("no cell"));
                return Err(format!("it leaves {now}, and was in {then}: write {then} for `from`"));
            }
            _ => {}
        }
        moves.push(made);
        Ok(())
    }

    /// The hosts that it has rows of.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.keys().map(String::as_str)
    }

    /// The rows of a host, none if it has none.
    pub fn moves(&self, host: &str) -> &[Move] {
        self.hosts.get(host).map_or(&[], Vec::as_slice)
    }

    /// The visits of a host of a radio with this gap, or with drawn ones (`None`): those that begin before `end`.
    pub fn visits(&self, host: &str, gap: Option<Duration>, end: Duration) -> Vec<Visit> {
        let mut visits: Vec<Visit> = Vec::new();
        for row in self.moves(host).iter().filter(|row| row.time < end) {
            if let (true, Some(from)) = (visits.is_empty(), &row.from) {
                visits.push(Visit { cell: from.clone(), at: Duration::ZERO, until: None });
            }
            let breaks = row.to.is_none() || (row.gap.is_some() && row.gap != gap);
            if let (true, Some(last), true) = (breaks, visits.last_mut(), row.from.is_some()) {
                last.until = Some(row.time);
            }
            if let Some(to) = &row.to {
                // Behind a break a visit begins without the radio's gap.
                let at = if breaks || row.from.is_none() { row.enters() } else { row.time };
                visits.push(Visit { cell: to.clone(), at, until: None });
            }
        }
        // A host that is not to move before the end is where its first row finds it.
        if let (true, Some(Move { from: Some(from), .. })) = (visits.is_empty(), self.moves(host).first()) {
            visits.push(Visit { cell: from.clone(), at: Duration::ZERO, until: None });
        }
        visits
    }
}

impl Move {
    /// When the host is in `to`, except the radio's gap.
    fn enters(&self) -> Duration {
        self.time + self.gap.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn visit(cell: &str, at: u64, until: Option<u64>) -> Visit {
        Visit { cell: cell.into(), at: ms(at), until: until.map(ms) }
    }

    const FILE: &str = "# two hosts\ntime_s,host,from,to,gap_s\n\n5,mh,bs1,bs2,0.02\n6.5, b ,,bs1,\n8,mh,bs2,bs1,0.2\n\
                        9,mh,bs1,,\n11.25,mh,,bs2,0.5\n";

    #[test]
    fn a_row_is_a_break_and_an_entry() {
        let schedule = Schedule::read(FILE).unwrap();
        assert_eq!(schedule.hosts().collect::<Vec<_>>(), ["b", "mh"]);
        let expected = [
            visit("bs1", 0, None),
            visit("bs2", 5000, Some(8000)), // with the radio's own gap
            visit("bs1", 8200, Some(9000)), // with another
            visit("bs2", 11_750, None),
        ];
        assert_eq!(schedule.visits("mh", Some(ms(20)), ms(60_000)), expected);
        assert_eq!(schedule.visits("b", Some(ms(20)), ms(60_000)), [visit("bs1", 6500, None)]);
        assert_eq!(
            schedule.visits("mh", Some(ms(20)), ms(5000)),
            [visit("bs1", 0, None)],
            "the run ends before"
        );
        assert_eq!(schedule.visits("c", Some(ms(20)), ms(5000)), []);
    }

    #[test]
    fn units_stand_in_the_header_or_in_the_field() {
        let one = "host,to,from,gap_ms,time_ms\nmh,b,a,20,1500\n";
        let other = "time,host,from,to,gap\n1.5 s,mh,a,b,20 ms\n";
        let [one, other] = [one, other].map(|text| Schedule::read(text).unwrap());
        assert_eq!(one, other);
        assert_eq!(
            one.moves("mh")[0],
            Move { line: 2, time: ms(1500), from: Some("a".into()), to: Some("b".into()), gap: Some(ms(20)) }
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let row = |rest: &str| format!("time_s,host,from,to,gap_s\n1,mh,a,b,0.1\n{rest}\n");
        let cases = [
            (String::new(), 1, "the file is empty"),
            ("\n# x\ntime_s,host,from,into\n".into(), 3, "an unknown column"),
            ("time_s;host;from;to\n3;mh;a;b\n".into(), 1, "separated by semicolons: write commas"),
            ("time_s\thost\tfrom\tto\n".into(), 1, "separated by tabs: write commas"),
            (row("1700000000,mh,b,a,0"), 3, "later than 50 years: write times from the start of the run"),
            ("time_s,host,from,time_ms\n".into(), 1, "\"time_ms\" is there twice"),
            ("time_s,host,from\n".into(), 1, "\"to\" is missing"),
            ("time_s,host,from,to\n".into(), 1, "no rows"),
            (row("2,mh,b,a"), 3, "expected 5 fields as in the first line, got 4"),
            (row("x,mh,b,a,0"), 3, "the time is wrong; expected a number"),
            (row("-2,mh,b,a,0"), 3, "the time is wrong"),
            (row("2 s,mh,b,a,0"), 3, "the time is wrong"),
            (row("2,mh,b,a,0.0000000001"), 3, "the gap is wrong"),
            (row("2,,b,a,0"), 3, "no host"),
            (row("2,mh,b,b,0"), 3, "write two different cells"),
            (row("2,mh,,,0"), 3, "write two different cells"),
            (row("1.1,mh,b,a,0"), 3, "which lasts until 1100 ms: write a later time"),
            (row("2,mh,a,b,0"), 3, "it leaves a, and was in b"),
            (row("0,other,a,b,0"), 3, "at the very beginning"),
            ("time,host,from,to\n5,mh,a,b\n".into(), 2, "expected a time with its unit"),
        ];
        for (text, line, said) in cases {
            let bad = Schedule::read(&text).unwrap_err();
            assert!(bad.line == line && bad.message.contains(said), "{text:?}: {bad:?}");
            assert!(bad.message.contains(": write "), "{bad:?}");
        }
    }
}
