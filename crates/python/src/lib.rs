//! The Python binding. Thin: it converts, and knows nothing of the simulator.

use numpy::IntoPyArray;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rayon::prelude::*;
use roamlab_world::{Column, Draw, Scenario, Table};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

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

/// A job: scenario text, its file's name, seed and replication.
type Job = (String, String, u64, u64);

fn parse(text: &str, file: &str) -> PyResult<Scenario> {
    Scenario::parse(text, file).map_err(|error| ScenarioError::new_err(error.to_string()))
}

/// The scenario with all defaults, as JSON.
#[pyfunction]
fn check(text: &str, name: &str) -> PyResult<String> {
    Ok(parse(text, name)?.to_json())
}

/// The JSON schema of scenarios.
#[pyfunction]
fn schema() -> String {
    roamlab_world::schema()
}

/// Names and summaries of what scenarios can use, as JSON.
#[pyfunction]
fn catalogue() -> String {
    roamlab_world::catalogue()
}

/// The knobs of a TCP profile for one variant, as JSON; `None` if there is no such profile or variant.
#[pyfunction]
fn tcp_profile(profile: &str, variant: &str) -> Option<String> {
    roamlab_world::tcp_profile(profile, variant)
}

/// A hash of the engine's sources.
#[pyfunction]
fn build_hash() -> &'static str {
    env!("ROAMLAB_BUILD_HASH")
}

/// One run; its tables.
#[pyfunction]
#[pyo3(signature = (text, name, seed, run, trace=None))]
fn run<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
    seed: u64,
    run: u64,
    trace: Option<u64>,
) -> PyResult<Bound<'py, PyDict>> {
    let jobs = [(text.to_owned(), name.to_owned(), seed, run)];
    let result = PyDict::new(py);
    each_result(py, &jobs, 1, trace, |_, tables| result.update(tables.as_mapping()))?;
    Ok(result)
}

/// Many runs on `threads` threads; `sink(index, tables)` gets each as it ends.
#[pyfunction]
fn run_many(py: Python<'_>, jobs: Vec<Job>, threads: usize, sink: Bound<'_, PyAny>) -> PyResult<()> {
    each_result(py, &jobs, threads, None, |index, tables| sink.call1((index, tables)).map(|_| ()))
}

/// Runs all jobs on other threads and gives each result to `take` on this one, until all are done, one fails,
/// `take` fails or the user interrupts.
fn each_result<'py>(
    py: Python<'py>,
    jobs: &[Job],
    threads: usize,
    trace: Option<u64>,
    mut take: impl FnMut(usize, &Bound<'py, PyDict>) -> PyResult<()>,
) -> PyResult<()> {
    let scenarios = scenarios(jobs)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let (stop, work) = (AtomicBool::new(false), Work { jobs, scenarios: &scenarios, trace });
    std::thread::scope(|scope| {
        let (results, arriving) = mpsc::sync_channel(2 * threads.max(1));
        let arriving = Mutex::new(arriving);
        scope.spawn(|| pool.install(|| work.perform(results, &stop)));
        let outcome = receive(py, &arriving, &mut take);
        stop.store(true, Ordering::Relaxed);
        py.detach(|| while next(&arriving, Duration::MAX).is_ok() {});
        outcome
    })
}

type Finished = (usize, Result<Vec<Table>, String>);

/// What the worker threads share.
struct Work<'a> {
    jobs: &'a [Job],
    scenarios: &'a [Scenario],
    trace: Option<u64>,
}

impl Work<'_> {
    fn perform(&self, results: mpsc::SyncSender<Finished>, stop: &AtomicBool) {
        let keep_going = || !stop.load(Ordering::Relaxed);
        (0..self.jobs.len()).into_par_iter().with_max_len(1).for_each_with(results, |results, index| {
            if keep_going() {
                let (_, name, seed, run) = &self.jobs[index];
                let draw = Draw { seed: *seed, run: *run, trace: self.trace };
                let outcome = roamlab_world::run(&self.scenarios[index], draw, &keep_going);
                let outcome = outcome.map_err(|law| format!("{name}, seed {seed}, run {run}: {law}"));
                let _ = results.send((index, outcome));
            }
        });
    }
}

/// The next result, waited for at most `patience` (`MAX`: as long as it takes).
fn next(
    arriving: &Mutex<mpsc::Receiver<Finished>>,
    patience: Duration,
) -> Result<Finished, mpsc::RecvTimeoutError> {
    let arriving = arriving.lock().unwrap_or_else(PoisonError::into_inner);
    match patience {
        Duration::MAX => arriving.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
        patience => arriving.recv_timeout(patience),
    }
}

fn receive<'py>(
    py: Python<'py>,
    arriving: &Mutex<mpsc::Receiver<Finished>>,
    take: &mut impl FnMut(usize, &Bound<'py, PyDict>) -> PyResult<()>,
) -> PyResult<()> {
    loop {
        py.check_signals()?;
        match py.detach(|| next(arriving, Duration::from_millis(50))) {
            Ok((index, outcome)) => {
                take(index, &tables_to_python(py, outcome.map_err(SimulationError::new_err)?)?)?
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// The jobs' scenarios; neighbours with the same text are read once.
fn scenarios(jobs: &[Job]) -> PyResult<Vec<Scenario>> {
    let mut scenarios: Vec<Scenario> = Vec::with_capacity(jobs.len());
    for (index, (text, name, seed, _)) in jobs.iter().enumerate() {
        let same = index.checked_sub(1).filter(|&before| jobs[before].0 == *text);
        let scenario = match same {
            Some(before) => scenarios[before].clone(),
            None => parse(text, name)?,
        };
        let seeded = scenario.check_seed(*seed, text, name);
        seeded.map_err(|error| ScenarioError::new_err(error.to_string()))?;
        scenarios.push(scenario);
    }
    Ok(scenarios)
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
    module.add("SimulationError", module.py().get_type::<SimulationError>())?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(tcp_profile, module)?)?;
    module.add_function(wrap_pyfunction!(build_hash, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(run_many, module)?)
}
