//! Many runs on the threads of one process. An idle thread takes the next job, and a result leaves when its run ends.
//! So memory holds only a few runs.

use crate::arrays::{tables_to_python, totals};
use crate::errors::scenario_error;
use crate::kernel::{Stop, check, run};
use crate::scenarios::parsed_within;
use numpy::IntoPyArray;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};
use rayon::prelude::*;
use roamlab_engine::Bytes;
use roamlab_scenario::{FlowSpec, Located, Scenario, are_alternatives};
use roamlab_world::{Piece, Progress, Replication, RunOptions, Stream, Table, run_alternatives};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// How often a wait looks for signals.
const PATIENCE: Duration = Duration::from_millis(50);

/// More threads than any machine has processors only cost memory.
const MOST_THREADS: usize = 1024;

/// Alternatives that one thread makes one behind the other, so that others have work too.
const MOST_ALTERNATIVES: usize = 16;

/// A run that is wanted.
struct Job {
    index: usize,
    scenario: Arc<Scenario>,
    name: String,
    draw: Replication,
    /// Requested part of its record, or all.
    wanted: Option<Vec<String>>,
    /// Where packets are captured.
    capture: Option<Vec<String>>,
}

impl Job {
    /// True if this job's run may share its beginning with another's.
    fn may_share(&self, other: &Job) -> bool {
        self.draw == other.draw
            && self.draw.trace.is_none()
            && self.capture.is_none()
            && self.wanted == other.wanted
            && are_alternatives(&self.scenario, &other.scenario)
    }
}

/// Rows of a piece of a long table: few enough for memory, enough for a column to be compressed well.
const PIECE_ROWS: usize = 1 << 14;

/// Result of a job, by its number.
enum RunEvent {
    /// A piece of a long table, from a run under way.
    Piece(usize, Table),
    /// The run has ended: its other tables.
    End(usize, Result<Vec<Table>, PyErr>),
}

/// Receivers of the results of jobs, by their numbers.
pub struct Sinks<'py, P, T> {
    /// Called with the totals of a run before NumPy is loaded.
    pub totals: Option<Bound<'py, PyAny>>,
    /// Pieces of long tables; `None`: long tables stay in memory and come with the others.
    pub pieces: Option<P>,
    /// The tables of a run.
    pub tables: T,
}

/// Of the runs under way the one begun last: its instant in nanoseconds, and its events.
#[derive(Default)]
pub struct Watch {
    now: AtomicU64,
    events: AtomicU64,
}

impl Watch {
    fn note(&self, progress: Progress) {
        self.now.store(progress.now.as_nanos(), Ordering::Relaxed);
        self.events.store(progress.events, Ordering::Relaxed);
    }
}

/// Where jobs come from: Python's tuples of scenario text, its file's name, seed and replication.
pub struct Source<'py> {
    jobs: Bound<'py, PyIterator>,
    trace: Option<u64>,
    capture: Option<Vec<String>>,
    wanted: Option<Bound<'py, PyAny>>,
    /// Bytes that network and record of one run may take.
    memory: Option<u64>,
    given: usize,
    /// The job behind those that were handed out.
    following: Option<Job>,
}

impl<'py> Source<'py> {
    /// The jobs of an iterable; in each, the packet with the serial number `trace` is traced, and those that go by the nodes and
    /// links of `capture` are captured. `wanted(index)` lists what
    /// of a job's record is wanted, or gives `None` for all of it, as of all jobs without `wanted`.
    pub fn new(
        jobs: &Bound<'py, PyAny>,
        (trace, capture): (Option<u64>, Option<Vec<String>>),
        wanted: Option<Bound<'py, PyAny>>,
        memory: Option<u64>,
    ) -> PyResult<Source<'py>> {
        Ok(Source { jobs: jobs.try_iter()?, trace, capture, wanted, memory, given: 0, following: None })
    }

    /// The next job, with those behind it that may share its beginning.
    fn next(&mut self) -> PyResult<Option<Vec<Job>>> {
        let first = match self.following.take() {
            Some(job) => Some(job),
            None => self.next_job()?,
        };
        let Some(first) = first else { return Ok(None) };
        let mut jobs = vec![first];
        while jobs.len() < MOST_ALTERNATIVES {
            match self.next_job()? {
                Some(job) if jobs[0].may_share(&job) => jobs.push(job),
                other => {
                    self.following = other;
                    break;
                }
            }
        }
        Ok(Some(jobs))
    }

    fn next_job(&mut self) -> PyResult<Option<Job>> {
        let Some(job) = self.jobs.next() else { return Ok(None) };
        let (text, name, seed, run): (String, String, u64, u64) = job?.extract()?;
        let scenario = parsed_within(&text, &name, self.memory.unwrap_or(u64::MAX))?;
        let seeded = scenario.check_seed(seed, &text, &name);
        let ready = seeded
            .and_then(|()| check(&scenario, &text, &name))
            .and_then(|()| refuse_programs(&scenario, &text, &name));
        ready.map_err(|error| scenario_error(&error))?;
        let index = self.given;
        self.given += 1;
        let draw = Replication { seed, run, trace: self.trace };
        let wanted = match &self.wanted {
            Some(of) => of.call1((index,))?.extract()?,
            None => None,
        };
        Ok(Some(Job { index, scenario, name, draw, wanted, capture: self.capture.clone() }))
    }
}

/// Packets of a program come in real time alone.
fn refuse_programs(scenario: &Scenario, text: &str, name: &str) -> Result<(), Box<Located>> {
    let Some(place) = scenario.flows.iter().position(FlowSpec::is_of_program) else { return Ok(()) };
    let message = "the packets of a program come in real time alone, and no run repeats them".to_owned();
    let help = "run the scenario without this flow by `roamlab shell`, which adds it";
    Err(scenario.refuse((format!("flows[{place}].app.kind"), message, help), text, name))
}

/// Runs all jobs on `threads` other threads and gives what comes of them to `sinks` on this one, until all are done, one
/// fails, a taker fails or the user interrupts. While it waits it calls `tell` with the instant and the events of a run
/// under way.
pub fn each_result<'py>(
    py: Python<'py>,
    source: Source<'py>,
    threads: usize,
    mut sinks: Sinks<
        'py,
        impl Fn(usize, &Bound<'py, PyDict>) -> PyResult<()>,
        impl FnMut(usize, &Bound<'py, PyDict>) -> PyResult<()>,
    >,
    tell: impl Fn(u64, u64) -> PyResult<()>,
) -> PyResult<()> {
    let threads = threads.clamp(1, MOST_THREADS);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let stop = AtomicBool::new(false);
    let watch = Watch::default();
    let ahead = 2 * threads;
    let (memory, streams) = (source.memory, sinks.pieces.is_some());
    std::thread::scope(|scope| {
        let (waiting, jobs) = mpsc::sync_channel(ahead);
        let (results, arriving) = mpsc::sync_channel(ahead);
        let arriving = Mutex::new(arriving);
        scope.spawn(|| pool.install(|| perform(jobs, results, (memory, streams), (&stop, &watch))));
        let mut dispatcher = Dispatcher {
            source,
            waiting: Some(waiting),
            ahead,
            under_way: 0,
            arriving: &arriving,
            arrays: false,
        };
        let outcome = dispatcher.serve(py, &mut sinks, || {
            tell(watch.now.load(Ordering::Relaxed), watch.events.load(Ordering::Relaxed))
        });
        stop.store(true, Ordering::Relaxed);
        drop(dispatcher);
        py.detach(|| while next(&arriving, None).is_ok() {});
        outcome
    })
}

/// Loads NumPy and what its first array needs. The first array would do so too, and panics where it is interrupted. Python
/// interrupts its main thread alone, so another one loads it.
fn load_numpy(py: Python<'_>) -> PyResult<()> {
    let load = || {
        Python::attach(|py| {
            py.import("numpy")?;
            Vec::<u8>::new().into_pyarray(py);
            Ok(())
        })
    };
    let ended = py.detach(|| std::thread::scope(|scope| scope.spawn(load).join()));
    ended.unwrap_or_else(|_| Err(PyRuntimeError::new_err("NumPy cannot be loaded")))
}

/// The threads' side.
fn perform(
    jobs: mpsc::Receiver<Vec<Job>>,
    results: mpsc::SyncSender<RunEvent>,
    (memory, streams): (Option<u64>, bool),
    (stop, watch): (&AtomicBool, &Watch),
) {
    let keep_going = |progress: Progress| {
        watch.note(progress);
        !stop.load(Ordering::Relaxed)
    };
    jobs.into_iter().par_bridge().for_each_with(results, |results, jobs| {
        let stopped = || stop.load(Ordering::Relaxed);
        let end = |job: &Job, outcome: Result<Vec<Table>, Stop>| {
            let outcome = outcome.map_err(|stop| error(job, &stop));
            let _ = results.send(RunEvent::End(job.index, outcome));
        };
        let common =
            RunOptions { keep_going: &keep_going, memory: memory.map(Bytes), ..RunOptions::default() };
        if !streams && jobs.len() > 1 {
            let scenarios: Vec<&Scenario> = jobs.iter().map(|job| &*job.scenario).collect();
            // Requested tables and columns of all, which are the same.
            let options = RunOptions { tables: jobs[0].wanted.as_deref(), ..common };
            run_alternatives(&scenarios, jobs[0].draw, &options, |place, outcome| {
                end(&jobs[place], outcome.map_err(Stop::from));
            });
            return;
        }
        for job in jobs.iter().take_while(|_| !stopped()) {
            // A piece without a receiver is of a run that is about to be stopped.
            let take = |piece: Piece<'_>| drop(results.send(RunEvent::Piece(job.index, piece.into())));
            let stream = streams.then_some(Stream { rows: PIECE_ROWS, take: &take });
            let (tables, capture) = (job.wanted.as_deref(), job.capture.as_deref());
            let options = RunOptions { tables, stream, capture, ..common };
            end(job, run(&job.scenario, job.draw, &options));
        }
    });
}

/// Data for Python of a run without a result.
fn error(job: &Job, stop: &Stop) -> PyErr {
    let Replication { seed, run, .. } = job.draw;
    stop.exception(format!("{}, seed {seed}, run {run}: {stop}", job.name))
}

/// The interpreter's side: hands out jobs and takes results.
struct Dispatcher<'py, 'a> {
    source: Source<'py>,
    waiting: Option<mpsc::SyncSender<Vec<Job>>>,
    /// How many jobs are under way at most. Only pieces that come faster than they are taken make a run wait.
    ahead: usize,
    under_way: usize,
    arriving: &'a Mutex<mpsc::Receiver<RunEvent>>,
    /// NumPy is loaded.
    arrays: bool,
}

impl<'py> Dispatcher<'py, '_> {
    fn serve(
        &mut self,
        py: Python<'py>,
        sinks: &mut Sinks<
            'py,
            impl Fn(usize, &Bound<'py, PyDict>) -> PyResult<()>,
            impl FnMut(usize, &Bound<'py, PyDict>) -> PyResult<()>,
        >,
        tell: impl Fn() -> PyResult<()>,
    ) -> PyResult<()> {
        loop {
            py.check_signals()?;
            self.hand_out()?;
            if self.under_way == 0 {
                return Ok(());
            }
            let arriving = self.arriving;
            match py.detach(|| next(arriving, Some(PATIENCE))) {
                Ok(RunEvent::Piece(index, piece)) => {
                    if let Some(take) = &sinks.pieces {
                        take(index, &self.arrays(py, vec![piece])?)?;
                    }
                }
                Ok(RunEvent::End(index, outcome)) => {
                    self.under_way -= 1;
                    let tables = outcome?;
                    self.hand_out()?;
                    if let Some(take) = &sinks.totals {
                        let (flows, lost) = totals(py, &tables)?;
                        take.call1((index, flows, lost))?;
                    }
                    (sinks.tables)(index, &self.arrays(py, tables)?)?;
                }
                Err(mpsc::RecvTimeoutError::Timeout) => tell()?,
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the threads that run scenarios ended early"));
                }
            }
        }
    }

    /// Tables as arrays, the first ones with NumPy.
    fn arrays(&mut self, py: Python<'py>, tables: Vec<Table>) -> PyResult<Bound<'py, PyDict>> {
        if !std::mem::replace(&mut self.arrays, true) {
            load_numpy(py)?;
        }
        tables_to_python(py, tables)
    }

    fn hand_out(&mut self) -> PyResult<()> {
        while let Some(waiting) = self.waiting.as_ref().filter(|_| self.under_way < self.ahead) {
            let Some(jobs) = self.source.next()? else {
                self.waiting = None;
                return Ok(());
            };
            let count = jobs.len();
            if waiting.send(jobs).is_ok() {
                self.under_way += count;
            } else {
                self.waiting = None;
            }
        }
        Ok(())
    }
}

/// The next result, waited for at most `patience` (`None`: as long as it takes).
fn next(
    arriving: &Mutex<mpsc::Receiver<RunEvent>>,
    patience: Option<Duration>,
) -> Result<RunEvent, mpsc::RecvTimeoutError> {
    let arriving = arriving.lock().unwrap_or_else(PoisonError::into_inner);
    match patience {
        None => arriving.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
        Some(patience) => arriving.recv_timeout(patience),
    }
}
