//! The binding for browsers. It is thin: it converts, and contains nothing of the simulator.
//!
//! A column is returned as its address in the memory of the module. JavaScript makes a typed array of it without a copy.
//! The column is valid until its [`Tables`] are freed or another function of the module is called.

mod analysis;
mod captures;
mod edit;

use roamlab_analysis::Index;
use roamlab_engine::Bytes;
use roamlab_scenario::{Located, Scenario};
use roamlab_world::{Column, Replication, RunOptions, Table};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Who asks for a run.
    pub type Owner;

    /// Asked now and then, with the simulated time in ns and the events so far; `false` ends the run there.
    #[wasm_bindgen(method, js_name = keepGoing)]
    fn keep_going(this: &Owner, now_ns: f64, events: f64) -> bool;

    /// The text of a file that the scenario names; throws why there is none.
    #[wasm_bindgen(method, catch)]
    fn read(this: &Owner, path: &str) -> Result<String, JsValue>;
}

/// A bad scenario: what is wrong, where, and what to write instead.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Refusal(Box<Located>);

#[wasm_bindgen]
impl Refusal {
    /// The file.
    #[wasm_bindgen(getter)]
    pub fn file(&self) -> String {
        self.0.file.clone()
    }

    /// The line, from 1.
    #[wasm_bindgen(getter)]
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// The column, from 1, in code points.
    #[wasm_bindgen(getter)]
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// How many columns are at fault.
    #[wasm_bindgen(getter)]
    pub fn width(&self) -> usize {
        self.0.width
    }

    /// The field.
    #[wasm_bindgen(getter)]
    pub fn field(&self) -> String {
        self.0.problem.field.clone()
    }

    /// The fault and the expected value.
    #[wasm_bindgen(getter)]
    pub fn message(&self) -> String {
        self.0.problem.message.clone()
    }

    /// The text to write instead.
    #[wasm_bindgen(getter)]
    pub fn help(&self) -> String {
        self.0.problem.help.clone()
    }

    /// The whole report, as the command line prints it.
    #[wasm_bindgen(js_name = toString)]
    pub fn report(&self) -> String {
        self.0.to_string()
    }
}

/// A checked scenario.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Checked {
    scenario: Scenario,
    text: String,
    name: String,
}

#[wasm_bindgen]
impl Checked {
    /// The scenario in a text; `name` is for reports, `memory` how many bytes its network may take. Throws a [`Refusal`].
    #[wasm_bindgen(constructor)]
    pub fn new(text: String, name: String, memory: f64, owner: &Owner) -> Result<Checked, Refusal> {
        let files = |path: &str| {
            let why = |thrown: JsValue| thrown.as_string().unwrap_or_else(|| "it cannot be read here".into());
            owner.read(path).map_err(why)
        };
        let scenario = Scenario::parse_within(&text, &name, &files, Bytes(memory as u64)).map_err(Refusal)?;
        Ok(Checked { scenario, text, name })
    }

    /// The scenario with all defaults, as JSON.
    pub fn json(&self) -> String {
        self.scenario.to_json()
    }

    /// The scenario with all that it generates, as the run with this seed and number sees it, as JSON.
    pub fn expanded(&self, seed: u64, run: u64) -> String {
        self.scenario.expanded_json(seed, run)
    }

    /// How long a run lasts, in ns.
    #[wasm_bindgen(getter)]
    pub fn duration(&self) -> f64 {
        self.scenario.run.duration.as_nanos() as f64
    }

    /// The warnings about the scenario.
    pub fn warnings(&self) -> Vec<Refusal> {
        let found = self.scenario.warnings(&self.text, &self.name);
        found.into_iter().map(|each| Refusal(Box::new(each))).collect()
    }

    /// Records what the explorer shows, in addition to the scenario's tables: deliveries, packets and what
    /// TCP does. This changes no event. With `everywhere` all queues are recorded, and with them each stop of
    /// a packet.
    #[wasm_bindgen(js_name = recordPackets)]
    pub fn record_packets(&mut self, everywhere: bool) {
        let queues: Vec<String> = self.scenario.queue_names().collect();
        let record = &mut self.scenario.record;
        (record.deliveries, record.tcp, record.packets) = (true, true, true);
        if everywhere {
            record.queues = Some(queues);
        }
    }

    /// One run; its tables. `memory`: bytes that its record may take. `wanted`: tables, and columns as `table.column`; all
    /// without it. Throws what the run violated, or that it would have taken too much memory.
    pub fn run(
        &self,
        seed: u64,
        run: u64,
        memory: f64,
        wanted: Option<Vec<String>>,
        owner: &Owner,
    ) -> Result<Tables, JsError> {
        self.scenario
            .check_seed(seed, &self.text, &self.name)
            .map_err(|error| JsError::new(&error.to_string()))?;
        let options = RunOptions {
            keep_going: &|progress| owner.keep_going(progress.now.as_nanos() as f64, progress.events as f64),
            memory: Some(Bytes(memory as u64)),
            tables: wanted.as_deref(),
            ..RunOptions::default()
        };
        let made = roamlab_world::run(&self.scenario, Replication { seed, run, trace: None }, &options);
        let tables = |tables| Tables { tables, index: Index::default() };
        made.map(tables).map_err(|failure| JsError::new(&failure.to_string()))
    }
}

/// The tables of a run. A table and its columns have numbers, from 0.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Tables {
    tables: Vec<Table>,
    /// Lists that an analysis made of them.
    index: Index,
}

#[wasm_bindgen]
impl Tables {
    /// The names of the tables.
    pub fn names(&self) -> Vec<String> {
        self.tables.iter().map(|table| table.name.to_owned()).collect()
    }

    /// The names of a table's columns.
    pub fn columns(&self, table: usize) -> Vec<String> {
        self.tables[table].columns.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    /// Types of the values of a column: `u64`, `i64`, `u32`, `f64`, `u8`, `bool` (a byte each), or `words`:
    /// codes of 32 bits.
    pub fn kind(&self, table: usize, column: usize) -> String {
        self.column(table, column).kind().name().to_owned()
    }

    /// The byte of the module's memory at which the values of a column begin.
    pub fn place(&self, table: usize, column: usize) -> usize {
        match self.column(table, column) {
            Column::U64(values) => values.as_ptr().addr(),
            Column::I64(values) => values.as_ptr().addr(),
            Column::U32(values) | Column::Words(values, _) => values.as_ptr().addr(),
            Column::F64(values) => values.as_ptr().addr(),
            Column::Bool(values) => values.as_ptr().addr(),
            Column::U8(values) => values.as_ptr().addr(),
        }
    }

    /// How many values a column has.
    pub fn rows(&self, table: usize, column: usize) -> usize {
        match self.column(table, column) {
            Column::U64(values) => values.len(),
            Column::I64(values) => values.len(),
            Column::U32(values) | Column::Words(values, _) => values.len(),
            Column::F64(values) => values.len(),
            Column::Bool(values) => values.len(),
            Column::U8(values) => values.len(),
        }
    }

    /// The words behind the codes of a column; none of one that has no words.
    pub fn words(&self, table: usize, column: usize) -> Vec<String> {
        match self.column(table, column) {
            Column::Words(_, words) => words.clone(),
            _ => Vec::new(),
        }
    }

    fn column(&self, table: usize, column: usize) -> &Column {
        &self.tables[table].columns[column].1
    }
}

/// A scenario's text with another value of a field, and everything else as it was. `path`: the keys to the field, places in
/// lists as numbers; `value`: in TOML, `None` takes the field away. Throws what is wrong with them.
#[wasm_bindgen]
pub fn set(text: &str, path: Vec<String>, value: Option<String>) -> Result<String, JsError> {
    edit::set(text, &path, value.as_deref()).map_err(|why| JsError::new(&why))
}

/// The JSON schema of scenarios.
#[wasm_bindgen]
pub fn schema() -> String {
    roamlab_scenario::schema()
}

/// The parameters of a TCP profile for one variant, as JSON; `undefined` if there is no such profile or
/// variant.
#[wasm_bindgen(js_name = tcpProfile)]
pub fn tcp_profile(profile: &str, variant: &str) -> Option<String> {
    roamlab_scenario::tcp_profile(profile, variant)
}
