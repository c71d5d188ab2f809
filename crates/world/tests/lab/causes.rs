//! Chains of causes, walked and checked.

use crate::tables::rows;
use roamlab_world::Table;
use std::collections::BTreeSet;

/// Kinds of rows that no other row leads to. A loss is one if its reason is among [`ROOT_REASONS`].
const ROOTS: [&str; 11] = [
    "start",
    "motion",
    "measurement",
    "out-of-range",
    "prediction",
    "link-change",
    "delayed-message",
    "underway",
    "delayed-ack",
    "congestion-mark",
    "idle",
];

const ROOT_REASONS: [&str; 9] = [
    "queue-overflow",
    "forwarded-overflow",
    "early-drop",
    "no-route",
    "ttl-expired",
    "forced-loss",
    "policed-mark",
    "tunnel-congestion",
    "no-endpoint",
];

/// Tables whose column `cause` leads to the causes.
const WITH_CAUSES: [&str; 6] = ["drops", "tcp", "packets", "handovers", "releases", "signalling"];

/// A row of the causes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    pub time: u64,
    pub kind: String,
    pub name: String,
    pub place: String,
    pub serial: u64,
    pub cause: i64,
}

/// The causes of a run.
pub struct Causes(pub Vec<Row>);

impl Causes {
    pub fn of(tables: &[Table]) -> Causes {
        let read = rows(tables, "causes", ["time_ns", "kind", "name", "place", "serial", "cause"]);
        let row = |[time, kind, name, place, serial, cause]: [String; 6]| Row {
            time: number(&time),
            kind,
            name,
            place,
            serial: number(&serial),
            cause: cause.parse().unwrap(),
        };
        Causes(read.into_iter().map(row).collect())
    }

    /// The chain from a row to its root, or why it is none.
    pub fn chain(&self, id: i64) -> Result<Vec<&Row>, String> {
        let row = |id: i64| self.0.get(usize::try_from(id).ok()?);
        let mut chain: Vec<&Row> = vec![row(id).ok_or(format!("there is no row {id}"))?];
        let mut at = id;
        loop {
            let last = chain[chain.len() - 1];
            if last.cause < 0 {
                let known = ROOTS.contains(&last.kind.as_str())
                    || last.kind == "loss" && ROOT_REASONS.contains(&last.name.as_str());
                return if known { Ok(chain) } else { Err(format!("{last:?} is no root")) };
            }
            let next = row(last.cause).ok_or(format!("there is no row {}", last.cause))?;
            if last.cause >= at || next.time > last.time {
                return Err(format!("{next:?} is no cause of {last:?}"));
            }
            at = last.cause;
            chain.push(next);
        }
    }

    /// The chain in words: kind, name and place of each row.
    pub fn words(&self, id: i64) -> Vec<String> {
        let word = |row: &&Row| {
            let parts = [row.kind.as_str(), &row.name, &row.place];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        };
        self.chain(id).unwrap_or_else(|problem| panic!("{problem}")).iter().map(word).collect()
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

/// Whether a row of a table must have a cause.
fn must_have(table: &str, word: &str, again: bool) -> bool {
    match table {
        "drops" => word != "copy-released",
        "tcp" => word != "window",
        "packets" => word == "send" && again,
        _ => true,
    }
}

/// Each row of each table that must have a cause has one, and each chain reaches a root.
pub fn check(tables: &[Table]) -> Result<(), String> {
    let causes = Causes::of(tables);
    for id in 0..causes.0.len() {
        causes.chain(id as i64)?;
    }
    for table in WITH_CAUSES {
        let word = match table {
            "drops" => "reason",
            "tcp" | "packets" => "event",
            _ => "cause",
        };
        let again = if table == "packets" { "retransmission" } else { "cause" };
        for (row, [cause, word, again]) in rows(tables, table, ["cause", word, again]).into_iter().enumerate()
        {
            let id: i64 = cause.parse().unwrap();
            if must_have(table, &word, again == "true") || id >= 0 {
                causes.chain(id).map_err(|problem| format!("{table}, row {row}, {word}: {problem}"))?;
            }
        }
    }
    stalls(tables, &causes).map(|_| ())
}

/// Looks at each stall of a TCP flow: no delivery for longer than the timeout then in force, though a segment sent
/// before had not arrived. Something with a cause must have happened to the flow.
pub fn stalls(tables: &[Table], causes: &Causes) -> Result<usize, String> {
    let mut found = 0;
    for [flow, kind] in rows(tables, "flows", ["flow", "kind"]) {
        if kind == "tcp" {
            found += stalls_of(tables, causes, &flow)?;
        }
    }
    Ok(found)
}

fn stalls_of(tables: &[Table], causes: &Causes, flow: &str) -> Result<usize, String> {
    let of = |rows: Vec<[String; 4]>| -> Vec<[String; 4]> {
        rows.into_iter().filter(|[_, whose, ..]| whose == flow).collect()
    };
    let delivered = of(rows(tables, "deliveries", ["time_ns", "flow", "seq", "seq"]));
    let sent = of(rows(tables, "packets", ["time_ns", "flow", "number", "kind"]));
    let sent: Vec<_> = sent.iter().filter(|row| row[3] == "data").collect();
    let changes = of(rows(tables, "tcp", ["time_ns", "flow", "rto_ns", "cause"]));
    let mut events: Vec<(u64, i64)> = Vec::new();
    for (table, rows) in [
        ("tcp", changes.clone()),
        ("drops", of(rows(tables, "drops", ["time_ns", "flow", "seq", "cause"]))),
        ("releases", of(rows(tables, "releases", ["time_ns", "flow", "seq", "cause"]))),
    ] {
        for [time, _, _, cause] in rows {
            let cause: i64 = cause.parse().map_err(|_| table)?;
            if cause >= 0 {
                events.push((number(&time), cause));
            }
        }
    }
    let (mut arrived, mut found) = (BTreeSet::new(), 0);
    for pair in delivered.windows(2) {
        let [from, to] = [number(&pair[0][0]), number(&pair[1][0])];
        arrived.insert(pair[0][2].as_str());
        let known = changes.partition_point(|row| number(&row[0]) <= from);
        let Some(rto) = known.checked_sub(1).map(|row| number(&changes[row][2])) else { continue };
        let outstanding = sent.iter().filter(|row| number(&row[0]) <= from);
        let Some(first) = outstanding.into_iter().find(|row| !arrived.contains(row[2].as_str())) else {
            continue;
        };
        if to - from <= rto {
            continue;
        }
        found += 1;
        let span = number(&first[0])..=to + rto;
        let explains = |(time, cause): &(u64, i64)| span.contains(time) && causes.chain(*cause).is_ok();
        if !events.iter().any(explains) {
            return Err(format!("{flow}: nothing explains that nothing came from {from} to {to}"));
        }
    }
    Ok(found)
}
