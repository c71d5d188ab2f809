//! Random scenarios over all that can be written do what they did when they were recorded, in every row of every table.

#[path = "../../../../tests/recorded/digests.rs"]
mod digests;
#[path = "../../../../tests/recorded/fields.rs"]
mod fields;
mod networks;

use digests::{Digest, Digests, Records};
use roamlab_world::{Column, Replication, RunOptions, Scenario, Table, run};
use serde_json::Value;

const RECORDS: Records = Records::new("runs.txt", &["packets", "transport", "queues", "mobility"]);

/// Which group a table is of.
fn group(table: &str) -> usize {
    match table {
        "packets" | "deliveries" | "drops" | "units" => 0,
        "tcp" | "tcp_info" | "variables" | "flows" => 1,
        "queue" | "links" | "policing" => 2,
        _ => 3,
    }
}

fn digests(tables: &[Table]) -> Digests {
    let mut digests = [Digest::EMPTY; 4];
    for table in tables {
        let digest = &mut digests[group(table.name)];
        digest.add_text(table.name);
        for (name, column) in &table.columns {
            digest.add_text(name);
            match column {
                Column::U64(values) => values.iter().for_each(|&value| digest.add(value)),
                Column::I64(values) => values.iter().for_each(|&value| digest.add(value as u64)),
                Column::U32(values) => values.iter().for_each(|&value| digest.add(value.into())),
                Column::F64(values) => values.iter().for_each(|value| digest.add(value.to_bits())),
                Column::Bool(values) => values.iter().for_each(|&value| digest.add(value.into())),
                Column::U8(values) => values.iter().for_each(|&value| digest.add(value.into())),
                Column::Words(codes, words) => {
                    codes.iter().for_each(|&code| digest.add_text(&words[code as usize]))
                }
            }
        }
    }
    digests.map(Digest::value).to_vec()
}

fn schema() -> Value {
    serde_json::from_str(&roamlab_scenario::schema()).expect("a schema")
}

fn tables(text: &str) -> Result<Vec<Table>, String> {
    let scenario = Scenario::parse(text, "case.toml").map_err(|problem| problem.to_string())?;
    run(&scenario, Replication { seed: 1, run: 0, trace: None }, &RunOptions::default())
        .map_err(|failure| failure.to_string())
}

/// Rows of a run's tables.
fn rows(tables: &[Table]) -> usize {
    let length = |column: &Column| match column {
        Column::U64(values) => values.len(),
        Column::I64(values) => values.len(),
        Column::U32(values) => values.len(),
        Column::F64(values) => values.len(),
        Column::Bool(values) => values.len(),
        Column::U8(values) => values.len(),
        Column::Words(codes, _) => codes.len(),
    };
    tables.iter().map(|table| table.columns.first().map_or(0, |(_, column)| length(column))).sum()
}

/// Cases of which those that are scenarios, and short ones, are recorded.
const DRAWN: u64 = 4_500;
/// Rows of the shortest and of the longest run.
const ROWS: std::ops::Range<usize> = 100..25_000;

/// The digests of these cases, on two threads.
fn all(numbers: &[u64], digests: impl Fn(u64) -> Option<Digests> + Sync) -> Vec<(String, Digests)> {
    let of = |part: &[u64]| -> Vec<(String, Digests)> {
        part.iter().filter_map(|&number| Some((number.to_string(), digests(number)?))).collect()
    };
    let (first, second) = numbers.split_at(numbers.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| of(second));
        let mut all = of(first);
        all.extend(other.join().expect("the cases run"));
        all
    })
}

/// The schema decides which fields there are: a new one is drawn in some cases, whose records change.
#[test]
fn random_scenarios_run_as_recorded() {
    let schema = schema();
    if RECORDS.are_written() {
        let drawn: Vec<u64> = (0..DRAWN).collect();
        return RECORDS.write(&all(&drawn, |number| {
            let tables = tables(&networks::text(&schema, number)).ok()?;
            ROWS.contains(&rows(&tables)).then(|| digests(&tables))
        }));
    }
    let numbers: Vec<u64> = RECORDS.read().iter().map(|(name, _)| name.parse().expect("a number")).collect();
    let cases = all(&numbers, |number| {
        // Refused groups have no digests: each of them differs.
        Some(tables(&networks::text(&schema, number)).map_or_else(|_| Vec::new(), |tables| digests(&tables)))
    });
    RECORDS.check(&cases, "ROAMLAB_CASE=NUMBER prints the scenario of a case.");
}

/// Prints the scenario of the case that `ROAMLAB_CASE` names.
#[test]
#[expect(clippy::disallowed_methods, reason = "which case is looked at is no input of a run")]
fn a_case_can_be_printed() {
    let number =
        std::env::var("ROAMLAB_CASE").map_or(0, |number| number.parse().expect("the number of a case"));
    println!("{}", networks::text(&schema(), number));
}
