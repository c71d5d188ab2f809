//! Chains of causes, walked and checked.

use super::rows;
use roamlab_world::Table;
use std::collections::BTreeSet;

/// Kinds of rows that no other row leads to. A loss is one if its reason is among [`ROOT_REASONS`].
const ROOTS: [&str; 14] = [
    "start",
    "motion",
    "measurement",
    "out-of-range",
    "on-air",
    "prediction",
    "link-change",
    "link-outage",
    "delayed-message",
    "underway",
    "delayed-ack",
    "congestion-mark",
    "idle",
    "false-alarm",
];

const ROOT_REASONS: [&str; 11] = [
    "frame-loss",
    "retry-limit",
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
const WITH_CAUSES: [&str; 7] =
    ["drops", "tcp", "packets", "handovers", "path_changes", "releases", "signalling"];

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
}

/// A whole number; of a negative one the bits.
fn whole(text: &str) -> u64 {
    text.parse::<i64>().unwrap() as u64
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

/// True if a row of a table must have a cause.
fn must_have(table: &str, word: &str, again: bool) -> bool {
    match table {
        "drops" => word != "copy-released",
        "tcp" => word != "window",
        "packets" => word == "send" && again,
        _ => true,
    }
}

/// Each row of each table that must have a cause has one, and each chain reaches a root. The number of
/// stalls.
pub fn check(tables: &[Table]) -> Result<usize, String> {
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
    stalls(tables, &causes)
}

/// Looks at each stall of a TCP flow: no delivery for longer than the timeout then in force, though a segment sent
/// before had not arrived. Something with a cause must have happened to the flow.
fn stalls(tables: &[Table], causes: &Causes) -> Result<usize, String> {
    let mut found = 0;
    for [flow, kind] in rows(tables, "flows", ["flow", "kind"]) {
        if kind == "tcp" {
            found += stalls_of(tables, causes, &flow)?;
        }
    }
    Ok(found)
}

fn stalls_of(tables: &[Table], causes: &Causes, flow: &str) -> Result<usize, String> {
    let of = |table: &str, columns: [&str; 3]| -> Vec<[u64; 3]> {
        let [time, number, value] = columns;
        let rows = rows(tables, table, ["flow", time, number, value]).into_iter();
        let rows = rows.filter(|row| row[0] == flow);
        rows.map(|[_, time, number, value]| [time, number, value].map(|text| whole(&text))).collect()
    };
    let delivered = of("deliveries", ["time_ns", "seq", "seq"]);
    let sent = rows(tables, "packets", ["flow", "kind", "event", "time_ns", "number"]).into_iter();
    let sent = sent.filter(|row| row[0] == flow && row[1] == "data" && row[2] == "send");
    let sent: Vec<[u64; 2]> = sent.map(|[.., time, seq]| [time, seq].map(|text| whole(&text))).collect();
    let changes = of("tcp", ["time_ns", "cause", "rto_ns"]);
    let others = ["drops", "releases"].map(|table| of(table, ["time_ns", "cause", "seq"]));
    let events: Vec<(u64, i64)> =
        changes.iter().chain(others.iter().flatten()).map(|row| (row[0], row[1] as i64)).collect();
    let (mut arrived, mut found) = (BTreeSet::new(), 0);
    for pair in delivered.windows(2) {
        let [from, to] = [pair[0][0], pair[1][0]];
        arrived.insert(pair[0][1]);
        let known = changes.partition_point(|change| change[0] <= from);
        let Some(rto) = known.checked_sub(1).map(|row| changes[row][2]) else { continue };
        if to - from <= rto {
            continue;
        }
        let outstanding = |row: &&[u64; 2]| row[0] <= from && !arrived.contains(&row[1]);
        let Some([first, _]) = sent.iter().find(outstanding) else { continue };
        found += 1;
        let span = *first..=to + rto;
        let explains =
            |(time, cause): &(u64, i64)| *cause >= 0 && span.contains(time) && causes.chain(*cause).is_ok();
        if !events.iter().any(explains) {
            return Err(format!("{flow}: nothing explains that nothing came from {from} to {to}"));
        }
    }
    Ok(found)
}
