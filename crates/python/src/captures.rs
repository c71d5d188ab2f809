//! Captures of other programs, read from files.

use crate::errors::capture_error;
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use roamlab_capture::{
    Addresses, Answer, Capture, Explored, Read as Found, Unwritten, anonymise, explain, explain_qlog,
    explain_with_path, explore, marks, read,
};
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Error, Read};
use std::path::PathBuf;

/// After this number of bytes progress is reported, and an interrupt is looked for.
const STEP: u64 = 4 << 20;

/// A file of which each step is reported.
struct Reported<'t> {
    file: File,
    /// Bytes that were read, of the files before too.
    done: &'t mut u64,
    next: u64,
    tell: Option<&'t Py<PyAny>>,
    /// The exception that Python raised.
    raised: &'t mut Option<PyErr>,
}

impl Read for Reported<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let got = self.file.read(into)?;
        *self.done += got as u64;
        if *self.done >= self.next {
            self.next = *self.done + STEP;
            let done = *self.done;
            let told = Python::attach(|py| {
                py.check_signals()?;
                self.tell.map_or(Ok(()), |tell| tell.call1(py, (done,)).map(|_| ()))
            });
            if let Err(error) = told {
                *self.raised = Some(error);
                return Err(Error::other("stopped"));
            }
        }
        Ok(got)
    }
}

fn capture(input: Reported<'_>) -> Found<Capture> {
    read(input)
}

fn qlog(input: Reported<'_>) -> Found<Answer> {
    explain_qlog(input)
}

/// Why the TCP flows in a capture stalled, or in two captures of the same flows, as JSON. `tell(bytes)` is called now and
/// then. With `path_of` it has the path of the flow with most data among those whose ends have this text. A file that cannot
/// be read raises `CaptureError`.
#[pyfunction]
#[pyo3(signature = (paths, tell=None, path_of=None))]
pub fn explain_captures(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    tell: Option<Py<PyAny>>,
    path_of: Option<String>,
) -> PyResult<String> {
    match path_of {
        None => json(&with_captures(py, &paths, tell, explain)?),
        Some(wanted) => {
            json(&with_captures(py, &paths, tell, |first, second| explain_with_path(first, second, &wanted))?)
        }
    }
}

/// A table of a capture: its name, and its columns with their values and, of words, the words behind these.
type Drawn<'py> = (&'static str, Vec<(&'static str, Bound<'py, PyArray1<f64>>, Vec<String>)>);

/// The answer about a capture, or about two of the same flows, as `explain_captures` gives it, and the explorer's input: facts
/// as JSON, and tables. `tell` and errors as those of `explain_captures`.
#[pyfunction]
#[pyo3(signature = (paths, tell=None))]
pub fn explore_captures<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    tell: Option<Py<PyAny>>,
) -> PyResult<(String, String, Vec<Drawn<'py>>)> {
    let Explored { answer, facts, tables } = with_captures(py, &paths, tell, explore)?;
    let drawn = tables.into_iter().map(|table| {
        let columns = table.columns.into_iter();
        (table.name, columns.map(|each| (each.name, each.values.into_pyarray(py), each.names)).collect())
    });
    Ok((json(&answer)?, json(&facts)?, drawn.collect()))
}

/// The marks of each packet of a capture's flows, as JSON: a list for each flow. `tell` and errors as those of
/// `explain_captures`.
#[pyfunction]
#[pyo3(signature = (path, tell=None))]
pub fn mark_packets(py: Python<'_>, path: PathBuf, tell: Option<Py<PyAny>>) -> PyResult<String> {
    let marked = |first: &Capture, _: Option<&Capture>| first.flows.iter().map(marks).collect::<Vec<_>>();
    json(&with_captures(py, &[path], tell, marked)?)
}

/// Reads one capture or two, and takes something of them.
fn with_captures<T: Send>(
    py: Python<'_>,
    paths: &[PathBuf],
    tell: Option<Py<PyAny>>,
    take: impl FnOnce(&Capture, Option<&Capture>) -> T + Send,
) -> PyResult<T> {
    let (first, second) = match paths {
        [first] => (first, None),
        [first, second] => (first, Some(second)),
        _ => return Err(PyValueError::new_err("one capture or two")),
    };
    py.detach(|| {
        let mut done = 0;
        let first = opened(0, first, &mut done, tell.as_ref(), capture)?;
        let second = second.map(|path| opened(1, path, &mut done, tell.as_ref(), capture)).transpose()?;
        Ok(take(&first, second.as_ref()))
    })
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Why the connections of a qlog stalled, as JSON; `tell` and errors as those of captures.
#[pyfunction]
#[pyo3(signature = (path, tell=None))]
pub fn explain_qlog_file(py: Python<'_>, path: PathBuf, tell: Option<Py<PyAny>>) -> PyResult<String> {
    py.detach(|| {
        let answer = opened(0, &path, &mut 0, tell.as_ref(), qlog)?;
        json(&answer)
    })
}

/// Writes each capture without addresses and payloads to the place of the same number: what was written, as JSON. `key` has
/// 32 bytes, and its halves differ. `tell(bytes)` is called now and then. A file that cannot be read raises `CaptureError`.
#[pyfunction]
#[pyo3(signature = (paths, places, key, tell=None))]
pub fn anonymise_captures(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    places: Vec<PathBuf>,
    key: Vec<u8>,
    tell: Option<Py<PyAny>>,
) -> PyResult<String> {
    let addresses = <[u8; 32]>::try_from(key).ok().and_then(Addresses::new);
    let Some(mut addresses) = addresses else {
        return Err(PyValueError::new_err("expected 32 bytes with different halves"));
    };
    if paths.len() != places.len() {
        return Err(PyValueError::new_err("expected a place for each capture"));
    }
    py.detach(|| {
        let mut done = 0;
        let mut written = Vec::new();
        for (number, (path, place)) in paths.iter().zip(&places).enumerate() {
            let output = BufWriter::new(create(place)?);
            let found =
                with_input(path, &mut done, tell.as_ref(), |input| anonymise(input, output, &mut addresses))?;
            written.push(found.map_err(|error| match error {
                Unwritten::Fault(fault) => capture_error(number, &fault),
                Unwritten::Output(error) => error.into(),
            })?);
        }
        json(&written)
    })
}

#[expect(clippy::disallowed_methods, reason = "the binding meets the machine for the writers")]
fn create(place: &PathBuf) -> std::io::Result<File> {
    File::create(place)
}

fn opened<T>(
    number: usize,
    path: &PathBuf,
    done: &mut u64,
    tell: Option<&Py<PyAny>>,
    read: fn(Reported<'_>) -> Found<T>,
) -> PyResult<T> {
    with_input(path, done, tell, read)?.map_err(|fault| capture_error(number, &fault))
}

/// Reads a file and reports how far. `Err`: it cannot be opened, or Python has raised meanwhile.
#[expect(clippy::disallowed_methods, reason = "the binding meets the machine for the readers")]
fn with_input<T>(
    path: &PathBuf,
    done: &mut u64,
    tell: Option<&Py<PyAny>>,
    take: impl FnOnce(Reported<'_>) -> T,
) -> PyResult<T> {
    let file = File::open(path)?;
    let mut raised = None;
    let next = *done + STEP;
    let found = take(Reported { file, done, next, tell, raised: &mut raised });
    raised.map_or(Ok(found), Err)
}
