//! Captures of other programs, which a page reads, explains and draws.

use roamlab_capture::{Column, Explored, Fault, explain_qlog, explore, read};
use wasm_bindgen::prelude::*;

/// A capture, or two of the same flows: why they stalled, and tables in the form of those of a run.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Captured(Explored);

#[wasm_bindgen]
impl Captured {
    /// The content of one file or of two. Throws what cannot be read, with packet and byte.
    #[wasm_bindgen(constructor)]
    pub fn new(first: &[u8], second: Option<Vec<u8>>) -> Result<Captured, JsError> {
        let told = |fault| JsError::new(&words(&fault, "packet"));
        let other = second.as_deref().map(read).transpose().map_err(told)?;
        Ok(Captured(explore(&read(first).map_err(told)?, other.as_ref())))
    }

    /// A qlog: without tables. Throws as a capture does.
    pub fn qlog(content: &[u8]) -> Result<Captured, JsError> {
        let answer = explain_qlog(content).map_err(|fault| JsError::new(&words(&fault, "event")))?;
        Ok(Captured(Explored::of(answer)))
    }

    /// The explorer's input in addition to the tables, as JSON.
    pub fn facts(&self) -> Result<String, JsError> {
        Ok(serde_json::to_string(&self.0.facts)?)
    }

    /// The answer, as JSON.
    pub fn answer(&self) -> Result<String, JsError> {
        Ok(serde_json::to_string(&self.0.answer)?)
    }

    /// The names of the tables.
    pub fn names(&self) -> Vec<String> {
        self.0.tables.iter().map(|table| table.name.to_owned()).collect()
    }

    /// The names of a table's columns.
    pub fn columns(&self, table: usize) -> Vec<String> {
        self.0.tables[table].columns.iter().map(|column| column.name.to_owned()).collect()
    }

    /// Types of the values of a column.
    pub fn kind(&self, _table: usize, _column: usize) -> String {
        "f64".into()
    }

    /// The byte of the module's memory at which the values of a column begin.
    pub fn place(&self, table: usize, column: usize) -> usize {
        self.column(table, column).values.as_ptr().addr()
    }

    /// How many values a column has.
    pub fn rows(&self, table: usize, column: usize) -> usize {
        self.column(table, column).values.len()
    }

    /// The words behind the codes of a column; none of one that has no words.
    pub fn words(&self, table: usize, column: usize) -> Vec<String> {
        self.column(table, column).names.clone()
    }

    fn column(&self, table: usize, column: usize) -> &Column {
        &self.0.tables[table].columns[column]
    }
}

/// A fault with its place: the number of a packet or of an event, and the byte.
fn words(fault: &Fault, part: &str) -> String {
    let Fault { packet, byte, problem, expected, remedy } = fault;
    format!("{part} {packet}, byte {byte}: {problem}; expected {expected}: {remedy}")
}
