//! The Python binding. It only converts values and has no simulation logic.

mod files;
mod pool;

use numpy::IntoPyArray;
use pool::{Source, Takers, each_result};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use roamlab_engine::Bytes;
use roamlab_scenario::{Located, Scenario};
use roamlab_world::{Column, Table};
use std::sync::{Arc, Mutex, PoisonError};

pyo3::create_exception!(
    _roamlab,
    ScenarioError,
    pyo3::exceptions::PyValueError,
    "A bad scenario: the text is the whole report, with file, line and field."
);
pyo3::create_exception!(
    _roamlab,
    SimulationError,
    PyRuntimeError,
    "A run violated a law of the simulator; there is no result."
);
pyo3::create_exception!(
    _roamlab,
    MemoryLimitError,
    SimulationError,
    "A run would have taken more memory than it may: the text says what takes it and what to write."
);

/// The scenario with all defaults, as JSON. `memory`: bytes that its network may take.
#[pyfunction]
#[pyo3(signature = (text, name, memory=None))]
fn check(text: &str, name: &str, memory: Option<u64>) -> PyResult<String> {
    Ok(parsed_within(text, name, memory.unwrap_or(u64::MAX))?.to_json())
}

/// The scenario with all that it generates, as the run with this seed and number sees it, as JSON.
#[pyfunction]
fn expand(text: &str, name: &str, seed: u64, run: u64) -> PyResult<String> {
    Ok(parsed(text, name)?.expanded_json(seed, run))
}

/// The scenarios read last, and their texts, the newest last: one that is checked is mostly run next, and reading a long one
/// takes seconds; runs of alternatives come by turns.
static LAST: Mutex<Vec<(String, Arc<Scenario>)>> = Mutex::new(Vec::new());

/// Bytes of text that are remembered, beside the newest.
const REMEMBERED: usize = 1 << 18;

/// The checked scenario in a text; `name` is for reports.
fn parsed(text: &str, name: &str) -> PyResult<Arc<Scenario>> {
    parsed_within(text, name, u64::MAX)
}

/// The same; one whose network would take more than `memory` bytes is refused before it is generated.
fn parsed_within(text: &str, name: &str, memory: u64) -> PyResult<Arc<Scenario>> {
    let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let known = last().iter().rev().find(|(known, _)| known == text).map(|(_, known)| Arc::clone(known));
    let refusal = |error: Box<Located>| scenario_error(&error);
    if let Some(scenario) = known {
        scenario.check_size(Bytes(memory), text, name).map_err(refusal)?;
        return Ok(scenario);
    }
    let beside = files::Beside::new(name);
    let read = Scenario::parse_within(text, name, &|path| beside.read(path), Bytes(memory));
    let scenario = Arc::new(read.map_err(refusal)?);
    // A file may change while its scenario's text does not.
    if !beside.has_read() {
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

/// The line, from 1, in which a field stands in a TOML text, or the closest table around it; `None` if neither does.
#[pyfunction]
fn line_of(text: &str, field: &str) -> Option<usize> {
    roamlab_scenario::line_of(text, field)
}

/// The report as an exception; its parts are attributes, for a text that no file holds.
fn scenario_error(error: &Located) -> PyErr {
    let raised = ScenarioError::new_err(error.to_string());
    let parts =
        [("field", &error.problem.field), ("problem", &error.problem.message), ("help", &error.problem.help)];
    Python::attach(|py| {
        for (name, part) in parts {
            if let Err(other) = raised.value(py).setattr(name, part) {
                return other;
            }
        }
        raised
    })
}

/// What a scenario says and hardly means, and what its run may amount to: reports as exceptions, events, and bytes of its
/// record.
#[pyfunction]
fn advise<'py>(py: Python<'py>, text: &str, name: &str) -> PyResult<(Vec<Bound<'py, PyAny>>, u64, u64)> {
    let scenario = parsed(text, name)?;
    let report = |warning| scenario_error(warning).into_value(py).into_bound(py).into_any();
    let warnings = scenario.warnings(text, name).iter().map(report).collect();
    let estimate = roamlab_scenario::estimate(&scenario);
    Ok((warnings, estimate.events, estimate.memory))
}

/// What is asked of a scenario of any size, from its echo: duration in ns, flows, whether hosts move, whether it generates
/// anything, and the tables of `record` that are on.
#[pyfunction]
fn outline(echo: &str) -> PyResult<(u64, u64, bool, bool, Vec<&'static str>)> {
    let found = roamlab_scenario::outline(echo).map_err(PyValueError::new_err)?;
    Ok((found.duration.as_nanos(), found.flows, found.moves, found.generates, found.recorded))
}

/// The JSON schema of scenarios.
#[pyfunction]
fn schema() -> String {
    roamlab_scenario::schema()
}

/// Names and summaries of what scenarios can use, as JSON.
#[pyfunction]
fn catalogue() -> String {
    roamlab_scenario::catalogue()
}

/// The knobs of a TCP profile for one variant, as JSON; `None` if there is no such profile or variant.
#[pyfunction]
fn tcp_profile(profile: &str, variant: &str) -> Option<String> {
    roamlab_scenario::tcp_profile(profile, variant)
}

/// A hash of the engine's sources.
#[pyfunction]
fn build_hash() -> &'static str {
    env!("ROAMLAB_BUILD_HASH")
}

/// One run; its tables. `memory`: bytes that its record may take. `tell(now_ns, events)` is called now and then. `capture`:
/// nodes and links whose packets are captured.
#[pyfunction]
#[pyo3(signature = (text, name, seed, run, trace=None, memory=None, tell=None, capture=None))]
#[expect(clippy::too_many_arguments, reason = "they are Python's, which names them")]
fn run<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
    seed: u64,
    run: u64,
    trace: Option<u64>,
    memory: Option<u64>,
    tell: Option<Bound<'py, PyAny>>,
    capture: Option<Vec<String>>,
) -> PyResult<Bound<'py, PyDict>> {
    let jobs = PyList::new(py, [(text, name, seed, run)])?;
    let result = PyDict::new(py);
    let source = Source::new(&jobs, (trace, capture), None, memory)?;
    let take = |_, tables: &Bound<'py, PyDict>| result.update(tables.as_mapping());
    let nobody = None::<fn(usize, &Bound<'py, PyDict>) -> PyResult<()>>;
    each_result(py, source, 1, Takers { pieces: nobody, tables: take }, teller(tell))?;
    Ok(result)
}

/// Runs of the jobs that an iterable gives, on `threads` threads; `sink(index, tables)` gets each as it ends. `wanted(index)`
/// lists what of its record is wanted: tables, and columns as `table.column`; all without it. `memory`: bytes that the record of one run may take.
/// `tell(now_ns, events)` is called now and then, with the progress of a run under way. `pieces(index, tables)` gets one piece
/// of a long table at a time while its run goes on; such a table does not come to `sink`.
#[pyfunction]
#[pyo3(signature = (jobs, threads, sink, wanted=None, memory=None, tell=None, pieces=None))]
#[expect(clippy::too_many_arguments, reason = "they are Python's, which names them")]
fn run_many<'py>(
    py: Python<'py>,
    jobs: Bound<'py, PyAny>,
    threads: usize,
    sink: Bound<'py, PyAny>,
    wanted: Option<Bound<'py, PyAny>>,
    memory: Option<u64>,
    tell: Option<Bound<'py, PyAny>>,
    pieces: Option<Bound<'py, PyAny>>,
) -> PyResult<()> {
    let source = Source::new(&jobs, (None, None), wanted, memory)?;
    let pieces = pieces
        .map(|taker| move |index, tables: &Bound<'py, PyDict>| taker.call1((index, tables)).map(|_| ()));
    let tables = |index, tables: &Bound<'py, PyDict>| sink.call1((index, tables)).map(|_| ());
    each_result(py, source, threads, Takers { pieces, tables }, teller(tell))
}

/// Passes progress on, if somebody wants it.
fn teller(tell: Option<Bound<'_, PyAny>>) -> impl Fn(u64, u64) -> PyResult<()> {
    move |now, events| tell.as_ref().map_or(Ok(()), |tell| tell.call1((now, events)).map(|_| ()))
}

fn tables_to_python(py: Python<'_>, tables: Vec<Table>) -> PyResult<Bound<'_, PyDict>> {
    let (result, names) = (PyDict::new(py), PyDict::new(py));
    for table in tables {
        let columns = PyDict::new(py);
        for (name, column) in table.columns {
            let words = add_column(py, &columns, name, column)?;
            if let Some(words) = words {
                names.set_item(format!("{}.{name}", table.name), words)?;
            }
        }
        result.set_item(table.name, columns)?;
    }
    result.set_item("names", names)?;
    Ok(result)
}

/// Moves a column into NumPy without a copy; the list of names behind its codes, if it has one.
fn add_column<'py>(
    py: Python<'py>,
    columns: &Bound<'py, PyDict>,
    name: &str,
    column: Column,
) -> PyResult<Option<Bound<'py, PyList>>> {
    match column {
        Column::U64(values) => columns.set_item(name, values.into_pyarray(py))?,
        Column::I64(values) => columns.set_item(name, values.into_pyarray(py))?,
        Column::U32(values) => columns.set_item(name, values.into_pyarray(py))?,
        Column::F64(values) => columns.set_item(name, values.into_pyarray(py))?,
        Column::Bool(values) => columns.set_item(name, values.into_pyarray(py))?,
        Column::U8(values) => columns.set_item(name, values.into_pyarray(py))?,
        Column::Words(codes, words) => {
            columns.set_item(name, codes.into_pyarray(py))?;
            return Ok(Some(PyList::new(py, words)?));
        }
    }
    Ok(None)
}

/// The simulator's core.
#[pymodule]
fn _roamlab(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("MemoryLimitError", module.py().get_type::<MemoryLimitError>())?;
    module.add("SimulationError", module.py().get_type::<SimulationError>())?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(expand, module)?)?;
    module.add_function(wrap_pyfunction!(line_of, module)?)?;
    module.add_function(wrap_pyfunction!(advise, module)?)?;
    module.add_function(wrap_pyfunction!(outline, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(tcp_profile, module)?)?;
    module.add_function(wrap_pyfunction!(build_hash, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(run_many, module)?)
}
