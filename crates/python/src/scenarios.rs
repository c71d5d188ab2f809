//! Scenarios that were read, the last ones of which are kept.

use crate::errors::scenario_error;
use crate::files;
use pyo3::prelude::*;
use roamlab_engine::Bytes;
use roamlab_scenario::{Located, Scenario};
use std::sync::{Arc, Mutex, PoisonError};

/// The scenarios read last, and their texts, the newest last: one that is checked is mostly run next, and
/// reading a long one takes seconds; runs of alternatives alternate.
static LAST: Mutex<Vec<(String, Arc<Scenario>)>> = Mutex::new(Vec::new());

/// Bytes of text that are cached, without the newest text.
const REMEMBERED: usize = 1 << 18;

/// The checked scenario in a text; `name` is for reports.
pub fn parsed(text: &str, name: &str) -> PyResult<Arc<Scenario>> {
    parsed_within(text, name, u64::MAX)
}

/// The same; one whose network would take more than `memory` bytes is refused before it is generated.
pub fn parsed_within(text: &str, name: &str, memory: u64) -> PyResult<Arc<Scenario>> {
    let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let known = last().iter().rev().find(|(known, _)| known == text).map(|(_, known)| Arc::clone(known));
    let refusal = |error: Box<Located>| scenario_error(&error);
    if let Some(scenario) = known {
        scenario.check_size(Bytes(memory), text, name).map_err(refusal)?;
        return Ok(scenario);
    }
    let files = files::ScenarioFiles::new(name);
    let read = Scenario::parse_within(text, name, &|path| files.read(path), Bytes(memory));
    let scenario = Arc::new(read.map_err(refusal)?);
    // A file may change while its scenario's text does not.
    if !files.has_read() {
        let mut last = last();
        let mut bytes = text.len();
        let recent = |(known, _): &&(String, Arc<Scenario>)| {
            bytes += known.len();
            bytes <= REMEMBERED
        };
        let kept = last.iter().rev().take_while(recent).count();
        let forgotten = last.len() - kept;
        last.drain(..forgotten);
        last.push((text.to_owned(), Arc::clone(&scenario)));
    }
    Ok(scenario)
}
