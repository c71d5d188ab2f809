//! The Python binding. It only converts values and has no simulation logic.

mod analysis;
mod arrays;
mod captures;
mod errors;
mod files;
mod kernel;
mod live;
mod pool;
mod queues;
mod scenarios;

use errors::{CaptureError, MemoryLimitError, ScenarioError, SimulationError, scenario_error};
use pool::{Sinks, Source, each_result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use roamlab_engine::Rate;
use scenarios::{parsed, parsed_within};

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

/// The mean rate in bit/s of a link or a cell, by the name of its place in a run's tables; `None`: there is none.
#[pyfunction]
fn mean_rate(text: &str, name: &str, place: &str) -> PyResult<Option<u64>> {
    Ok(parsed(text, name)?.mean_rate(place).map(Rate::as_bps))
}

/// The line, from 1, of a field in a TOML text, or the closest table around it; `None` if neither does.
#[pyfunction]
fn line_of(text: &str, field: &str) -> Option<usize> {
    roamlab_scenario::line_of(text, field)
}

/// The warnings about a scenario, as exceptions, and the estimate of a run: events, and bytes of its record.
#[pyfunction]
fn advise<'py>(py: Python<'py>, text: &str, name: &str) -> PyResult<(Vec<Bound<'py, PyAny>>, u64, u64)> {
    let scenario = parsed(text, name)?;
    let report = |warning| scenario_error(warning).into_value(py).into_bound(py).into_any();
    let warnings = scenario.warnings(text, name).iter().map(report).collect();
    let estimate = roamlab_scenario::estimate(&scenario);
    Ok((warnings, estimate.events, estimate.memory))
}

/// Duration in ns, flows, whether hosts move, whether it generates anything, whether it forces losses or faults, tables.
type Outline = (u64, u64, bool, bool, bool, Vec<&'static str>);

/// Properties of a scenario, from its JSON as `check` gives it: duration in ns, flows, whether hosts move, whether it generates
/// anything or forces losses or faults, and the tables of `record` that are on.
#[pyfunction]
fn outline(json: &str) -> PyResult<Outline> {
    let found = roamlab_scenario::outline(json).map_err(PyValueError::new_err)?;
    Ok((found.duration.as_nanos(), found.flows, found.moves, found.generates, found.forces, found.recorded))
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

/// The parameters of a TCP profile for one variant, as JSON; `None` if there is no such profile or variant.
#[pyfunction]
fn tcp_profile(profile: &str, variant: &str) -> Option<String> {
    roamlab_scenario::tcp_profile(profile, variant)
}

/// The variant of a TCP connection that names none, under a profile; `None` if there is no such profile.
#[pyfunction]
fn usual_variant(profile: &str) -> Option<String> {
    roamlab_scenario::usual_variant(profile)
}

/// The schemas of the tables of a run: name, what the rows are, when it is recorded, and the columns with name, type, unit,
/// meaning and words.
#[pyfunction]
fn tables(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    PyList::new(py, roamlab_world::tables().map(|table| arrays::schema(&table)))
}

/// Lists that the package shares with the analyses of a record, as JSON.
#[pyfunction]
fn constants() -> String {
    roamlab_analysis::constants().to_string()
}

/// The version of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// A hash of the engine's sources.
#[pyfunction]
fn build_hash() -> &'static str {
    env!("ROAMLAB_BUILD_HASH")
}

/// The number of the engine's behaviour: a digest of what the recorded random runs do (`tests/recorded`).
///
/// Builds with equal numbers give equal results wherever these runs reach. `make record` writes it.
#[pyfunction]
fn behaviour() -> &'static str {
    include_str!("../behaviour").trim_ascii_end()
}

/// Fate of arrivals (arrays of times in ns, sizes in bytes, flows, ToS octets) in a queue, given as JSON,
/// before a link whose rates are given by times in ns and bit/s. Returns arrays of the times at which packets
/// left the queue, and of 0 (served), 1 (marked) or 2 (dropped).
#[pyfunction]
fn replay_queue<'py>(
    py: Python<'py>,
    queue: &str,
    seed: u64,
    arrivals: queues::Arrivals<'py>,
    rates: Vec<(u64, u64)>,
) -> PyResult<queues::Ends<'py>> {
    queues::replayed(py, queue, seed, &arrivals, &rates)
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
    each_result(py, source, 1, Sinks { totals: None, pieces: nobody, tables: take }, teller(tell))?;
    Ok(result)
}

/// Runs of the jobs that an iterable gives, on `threads` threads; `sink(index, tables)` gets each as it ends. `wanted(index)`
/// lists what of its record is wanted: tables, and columns as `table.column`; all without it. `memory`: bytes that the record of one run may take.
/// `tell(now_ns, events)` is called now and then, with the progress of a run under way. `pieces(index,
/// tables)` gets one piece of a long table at a time during its run; such a table does not go to `sink`. `totals(index, flows,
/// lost)` is called before `sink`, with plain values.
#[pyfunction]
#[pyo3(signature = (jobs, threads, sink, wanted=None, memory=None, tell=None, pieces=None, totals=None))]
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
    totals: Option<Bound<'py, PyAny>>,
) -> PyResult<()> {
    let source = Source::new(&jobs, (None, None), wanted, memory)?;
    let pieces = pieces
        .map(|taker| move |index, tables: &Bound<'py, PyDict>| taker.call1((index, tables)).map(|_| ()));
    let tables = |index, tables: &Bound<'py, PyDict>| sink.call1((index, tables)).map(|_| ());
    each_result(py, source, threads, Sinks { totals, pieces, tables }, teller(tell))
}

/// Passes progress on, if the caller wants it.
fn teller(tell: Option<Bound<'_, PyAny>>) -> impl Fn(u64, u64) -> PyResult<()> {
    move |now, events| tell.as_ref().map_or(Ok(()), |tell| tell.call1((now, events)).map(|_| ()))
}

/// The simulator's core.
#[pymodule]
fn _roamlab(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("MemoryLimitError", module.py().get_type::<MemoryLimitError>())?;
    module.add("SimulationError", module.py().get_type::<SimulationError>())?;
    module.add_class::<analysis::Analysis>()?;
    module.add("CaptureError", module.py().get_type::<CaptureError>())?;
    module.add_function(wrap_pyfunction!(captures::explain_captures, module)?)?;
    module.add_function(wrap_pyfunction!(captures::explore_captures, module)?)?;
    module.add_function(wrap_pyfunction!(captures::mark_packets, module)?)?;
    module.add_function(wrap_pyfunction!(captures::anonymise_captures, module)?)?;
    module.add_function(wrap_pyfunction!(captures::explain_qlog_file, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(expand, module)?)?;
    module.add_function(wrap_pyfunction!(line_of, module)?)?;
    module.add_function(wrap_pyfunction!(mean_rate, module)?)?;
    module.add_function(wrap_pyfunction!(advise, module)?)?;
    module.add_function(wrap_pyfunction!(outline, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(tcp_profile, module)?)?;
    module.add_function(wrap_pyfunction!(usual_variant, module)?)?;
    module.add_function(wrap_pyfunction!(tables, module)?)?;
    module.add_function(wrap_pyfunction!(constants, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(build_hash, module)?)?;
    module.add_function(wrap_pyfunction!(behaviour, module)?)?;
    module.add_function(wrap_pyfunction!(replay_queue, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(run_many, module)?)?;
    live::add(module)
}
