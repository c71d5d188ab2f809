//! Why something happened: whole chains from a loss, a timeout or a phase to the root.

#[path = "lab/causes.rs"]
mod causes;
#[path = "lab/mod.rs"]
mod tables;

use causes::{Causes, Row, check};
use roamlab_world::{Replication, Table};
use tables::{results, rows};

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };
const MBLUE: &str = include_str!("../../../python/roamlab/papers/mblue/scenario.toml");

/// The chain from a row in words: kind, name and place of each row.
fn words(causes: &Causes, id: i64) -> Vec<String> {
    let word = |row: &&Row| {
        let parts = [row.kind.as_str(), &row.name, &row.place];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    causes.chain(id).unwrap_or_else(|problem| panic!("{problem}")).iter().map(word).collect()
}

/// The chain of the first row of a table in which these columns have these values.
fn chain(tables: &[Table], table: &str, columns: [&str; 2], values: [&str; 2]) -> Vec<String> {
    let found = rows(tables, table, ["cause", columns[0], columns[1]]).into_iter();
    let row = found.into_iter().find(|row| [row[1].as_str(), &row[2]] == values);
    let [cause, ..] = row.unwrap_or_else(|| panic!("{table}: no row with {values:?}"));
    words(&Causes::of(tables), cause.parse().unwrap())
}

#[test]
fn print() {
    let tables = results(MBLUE, DRAW);
    check(&tables).unwrap();
    println!("{} causes", rows(&tables, "causes", ["kind"]).len());
    let causes = Causes::of(&tables);
    let mut seen = std::collections::BTreeSet::new();
    for table in ["drops", "tcp", "handovers", "signalling", "releases"] {
        for [cause] in rows(&tables, table, ["cause"]) {
            let id: i64 = cause.parse().unwrap();
            if id >= 0 && seen.insert((table, words(&causes, id))) {
                println!("{table} {:?}", words(&causes, id));
            }
        }
    }
}
