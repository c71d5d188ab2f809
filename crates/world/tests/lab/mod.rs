//! Shared code of the tests of whole runs.

pub mod causes;
pub mod record;

use roamlab_world::{Column, Replication, RunOptions, Scenario, Table, run};

/// Every `nth` of these cases, from the one with the number `first` on; all of them if this environment variable is set.
#[expect(clippy::disallowed_methods, reason = "how many cases are run is no input of a run")]
pub fn sample<T>(cases: impl IntoIterator<Item = T>, first: usize, nth: usize, all: &str) -> Vec<T> {
    let (first, nth) = if std::env::var(all).is_ok() { (0, 1) } else { (first, nth) };
    cases.into_iter().skip(first).step_by(nth).collect()
}

/// Takes part in a long test for one case in `nth`, and for all of them if `ROAMLAB_RACES` is set.
///
/// The cases of all variants are counted as one list, so that what a variant leaves out another one tries.
#[derive(Debug)]
pub struct Share {
    cases: usize,
    nth: usize,
}

impl Share {
    /// One case in `nth`. `first` cases count as tried before, so that tests with equal lists try different ones.
    #[expect(clippy::disallowed_methods, reason = "how many cases are run is no input of a run")]
    pub fn new(nth: usize, first: usize) -> Self {
        Share { cases: first, nth: if std::env::var("ROAMLAB_RACES").is_ok() { 1 } else { nth } }
    }

    /// True if the next case is run.
    pub fn takes_next(&mut self) -> bool {
        self.cases += 1;
        self.cases.is_multiple_of(self.nth)
    }
}

/// The tables of one run of a scenario text.
pub fn results(text: &str, draw: Replication) -> Vec<Table> {
    let scenario = Scenario::parse(text, "lab.toml").unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, draw, &RunOptions::default()).unwrap_or_else(|law| panic!("{law}"))
}

/// The rows of a table, each with the values of some columns as text; reals by their bits, words as words.
pub fn rows<const N: usize>(tables: &[Table], table: &str, columns: [&str; N]) -> Vec<[String; N]> {
    let table = tables.iter().find(|other| other.name == table).unwrap_or_else(|| panic!("no table {table}"));
    let column = |name: &str| {
        let found = table.columns.iter().find(|(other, _)| *other == name);
        values(&found.unwrap_or_else(|| panic!("{}: no column {name}", table.name)).1)
    };
    let columns = columns.map(column);
    (0..columns[0].len()).map(|row| std::array::from_fn(|column| columns[column][row].clone())).collect()
}

fn values(column: &Column) -> Vec<String> {
    match column {
        Column::U64(values) => values.iter().map(u64::to_string).collect(),
        Column::I64(values) => values.iter().map(i64::to_string).collect(),
        Column::U32(values) => values.iter().map(u32::to_string).collect(),
        Column::F64(values) => values.iter().map(|value| value.to_bits().to_string()).collect(),
        Column::Bool(values) => values.iter().map(bool::to_string).collect(),
        Column::U8(values) => values.iter().map(u8::to_string).collect(),
        Column::Words(codes, words) => codes.iter().map(|&code| words[code as usize].clone()).collect(),
    }
}
