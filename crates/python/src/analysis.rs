//! The analysis of the record of a run. Tables come as NumPy arrays, when a question needs them; answers leave as JSON.

use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use roamlab_analysis::{Column, Fault, Index, Record, Stall, Table, Values};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// An array of a column.
enum Array {
    U8(Py<PyArray1<u8>>),
    U16(Py<PyArray1<u16>>),
    U32(Py<PyArray1<u32>>),
    U64(Py<PyArray1<u64>>),
    I64(Py<PyArray1<i64>>),
    F64(Py<PyArray1<f64>>),
    Bool(Py<PyArray1<bool>>),
}

/// The same, lent.
enum Lent<'py> {
    U8(PyReadonlyArray1<'py, u8>),
    U16(PyReadonlyArray1<'py, u16>),
    U32(PyReadonlyArray1<'py, u32>),
    U64(PyReadonlyArray1<'py, u64>),
    I64(PyReadonlyArray1<'py, i64>),
    F64(PyReadonlyArray1<'py, f64>),
    Bool(PyReadonlyArray1<'py, bool>),
}

impl Array {
    fn new(values: &Bound<'_, PyAny>) -> PyResult<Array> {
        fn of<T: Element>(values: &Bound<'_, PyAny>) -> Option<Py<PyArray1<T>>> {
            values.cast::<PyArray1<T>>().ok().map(|array| array.clone().unbind())
        }
        let found = (of(values).map(Array::U64))
            .or_else(|| of(values).map(Array::U32))
            .or_else(|| of(values).map(Array::I64))
            .or_else(|| of(values).map(Array::F64))
            .or_else(|| of(values).map(Array::Bool))
            .or_else(|| of(values).map(Array::U8))
            .or_else(|| of(values).map(Array::U16));
        found.ok_or_else(|| PyValueError::new_err("a column is no array of numbers"))
    }

    fn lent<'py>(&self, py: Python<'py>) -> Lent<'py> {
        match self {
            Array::U8(array) => Lent::U8(array.bind(py).readonly()),
            Array::U16(array) => Lent::U16(array.bind(py).readonly()),
            Array::U32(array) => Lent::U32(array.bind(py).readonly()),
            Array::U64(array) => Lent::U64(array.bind(py).readonly()),
            Array::I64(array) => Lent::I64(array.bind(py).readonly()),
            Array::F64(array) => Lent::F64(array.bind(py).readonly()),
            Array::Bool(array) => Lent::Bool(array.bind(py).readonly()),
        }
    }
}

impl Lent<'_> {
    fn values(&self) -> PyResult<Values<'_>> {
        Ok(match self {
            Lent::U8(array) => Values::U8(array.as_slice()?),
            Lent::U16(array) => Values::U16(array.as_slice()?),
            Lent::U32(array) => Values::U32(array.as_slice()?),
            Lent::U64(array) => Values::U64(array.as_slice()?),
            Lent::I64(array) => Values::I64(array.as_slice()?),
            Lent::F64(array) => Values::F64(array.as_slice()?),
            Lent::Bool(array) => Values::Bool(array.as_slice()?),
        })
    }
}

/// A column: its array, and the words behind its codes.
struct Held {
    name: String,
    array: Array,
    words: Option<Vec<String>>,
}

type Tables = BTreeMap<&'static str, Vec<Held>>;

/// The analysis of one run. It keeps the arrays of the tables that were asked for, and the rows of each flow in them.
#[pyclass(frozen)]
#[derive(Default)]
pub struct Analysis {
    tables: Mutex<Tables>,
    index: Index,
    scenario: OnceLock<Value>,
    network: OnceLock<Value>,
}

/// A question's answer, or what the record lacks.
type Answer<T> = Result<T, Fault>;

#[pymethods]
impl Analysis {
    #[new]
    fn new() -> Analysis {
        Analysis::default()
    }

    /// The stalls of a flow, longest first.
    fn stalls(&self, source: &Bound<'_, PyAny>, flow: &str) -> PyResult<String> {
        self.ask(source, &["flows", "deliveries", "packets"], |record| record.stalls(flow))
    }

    /// The slow periods of a flow, in order of time; `null`: its application has none, or its records are not there.
    fn slow_periods(&self, source: &Bound<'_, PyAny>, flow: &str) -> PyResult<String> {
        let (mut has, mut connects) = (false, false);
        self.ask(source, &["flows"], |record| {
            (has, connects) = (record.has_slow_periods(flow)?, record.connects(flow)?);
            Ok(())
        })?;
        match (has, connects) {
            (false, _) => Ok("null".to_owned()),
            (_, true) => self.ask(source, &["flows", "deliveries"], |record| record.slow_periods(flow)),
            (_, false) => {
                self.ask(source, &["flows", "deliveries", "packets"], |record| record.slow_periods(flow))
            }
        }
    }

    /// The stalls and slow periods of a flow, or of all, in the order in which they are explained.
    #[pyo3(signature = (source, flow=None))]
    fn troubles(&self, source: &Bound<'_, PyAny>, flow: Option<&str>) -> PyResult<String> {
        self.ask(source, &["flows", "deliveries", "packets"], |record| record.troubles(flow))
    }

    /// Why the chosen ones of these were: by their places in the list, or all.
    #[pyo3(signature = (source, flow=None, place=None))]
    fn explain(
        &self,
        source: &Bound<'_, PyAny>,
        flow: Option<&str>,
        place: Option<usize>,
    ) -> PyResult<String> {
        let mut troubles = Vec::new();
        self.ask(source, &["flows", "deliveries", "packets"], |record| {
            troubles = record.troubles(flow)?;
            Ok(())
        })?;
        if let Some(place) = place {
            troubles = troubles.into_iter().skip(place).take(1).collect();
        }
        if troubles.is_empty() {
            return Ok("[]".to_owned());
        }
        let network = self.network(source)?;
        let tables =
            ["flows", "deliveries", "packets", "tcp", "drops", "causes", "signalling", "handovers", "queue"];
        self.ask(source, &tables, |record| record.explain(network, troubles))
    }

    /// The run in one sentence.
    fn headline(&self, source: &Bound<'_, PyAny>) -> PyResult<String> {
        self.ask(source, &["flows", "deliveries", "packets", "handovers"], |record| {
            record.headline(&record.troubles(None)?)
        })
    }

    /// The part of a stall (as JSON) that is due to the timer; `null`: none.
    fn wait(&self, source: &Bound<'_, PyAny>, stall: &str) -> PyResult<String> {
        let (stall, network) = (stall_of(stall)?, self.network(source)?);
        let tables = ["flows", "tcp", "drops", "handovers", "packets"];
        self.ask(source, &tables, |record| record.wait(network, &stall))
    }

    /// The RTO in ns at each retransmission timeout in a stall (as JSON), or shortly before it.
    fn timeout_rtos(&self, source: &Bound<'_, PyAny>, stall: &str) -> PyResult<String> {
        let stall = stall_of(stall)?;
        self.ask(source, &["tcp"], |record| record.timeout_rtos(&stall))
    }
}

fn stall_of(json: &str) -> PyResult<Stall> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))
}

impl Analysis {
    /// The answer to a question that needs these tables, as JSON.
    fn ask<T: Serialize>(
        &self,
        source: &Bound<'_, PyAny>,
        needed: &[&'static str],
        question: impl FnOnce(&Record<'_>) -> Answer<T>,
    ) -> PyResult<String> {
        let scenario = json(source, "parameters", &self.scenario)?;
        let duration_ns = source.getattr("duration_ns")?.extract()?;
        let lock = || self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        for name in needed {
            if !lock().contains_key(name) {
                // Not under the lock: another thread may run meanwhile.
                let table = load(source, name)?;
                lock().entry(name).or_insert(table);
            }
        }
        let held = lock();
        let lend = |name: &&'static str| {
            let columns = held.get(name).into_iter().flatten();
            (*name, columns.map(|each| (each, each.array.lent(source.py()))).collect::<Vec<_>>())
        };
        let lent: Vec<_> = needed.iter().map(lend).collect();
        let mut tables = Vec::new();
        for (name, columns) in &lent {
            let mut made = Vec::new();
            for (held, lent) in columns {
                made.push(Column { name: &held.name, values: lent.values()?, words: held.words.as_deref() });
            }
            tables.push(Table { name, columns: made });
        }
        let answer = question(&Record::new(tables, &self.index, scenario, duration_ns));
        let answer = answer.map_err(|fault| PyValueError::new_err(fault.to_string()))?;
        serde_json::to_string(&answer).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn network(&self, source: &Bound<'_, PyAny>) -> PyResult<&Value> {
        json(source, "network", &self.network)
    }
}

/// A text of JSON that the source has by a name, parsed once.
fn json<'v>(source: &Bound<'_, PyAny>, name: &str, cell: &'v OnceLock<Value>) -> PyResult<&'v Value> {
    if cell.get().is_none() {
        let text = source.getattr(name)?.extract::<String>()?;
        let parsed = serde_json::from_str(&text).map_err(|error| PyValueError::new_err(error.to_string()))?;
        // Another thread may have set the same meanwhile.
        let _ = cell.set(parsed);
    }
    Ok(cell.get().unwrap_or(&Value::Null))
}

/// A table: the columns that are analysed, of `(name, array, words or None)`.
fn load(source: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<Held>> {
    let mut found = Vec::new();
    for each in source.call_method1("columns", (name,))?.try_iter()? {
        let (name, array, words): (String, Bound<'_, PyAny>, Option<Vec<String>>) = each?.extract()?;
        found.push(Held { name, array: Array::new(&array)?, words });
    }
    Ok(found)
}
