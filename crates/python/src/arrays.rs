//! Tables as NumPy arrays, and the totals of a run as plain values.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use roamlab_record::schema::{ColumnSchema, TableSchema};
use roamlab_world::{Column, Table};
use std::collections::BTreeMap;

/// A column: its name, type, unit, meaning, and the words that it can hold with their meaning.
type PyColumn = (&'static str, &'static str, &'static str, &'static str, Vec<(&'static str, &'static str)>);

/// The schema of a table: its name, what its rows are, when it is recorded, its columns.
pub fn schema(table: &TableSchema) -> (&'static str, &'static str, &'static str, Vec<PyColumn>) {
    let column = |column: &ColumnSchema| {
        (column.name, column.kind.name(), column.unit(), column.meaning, column.words.to_vec())
    };
    (table.name, table.about, table.recorded, table.columns.iter().map(column).collect())
}

/// Table → column → values; the words behind the codes of text columns are in `names`.
pub fn tables_to_python(py: Python<'_>, tables: Vec<Table>) -> PyResult<Bound<'_, PyDict>> {
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

/// Lost packets: place, reason and how many.
type Losses<'a> = Vec<(&'a str, &'a str, u64)>;

/// The columns of the table `flows` as lists, and the lost packets by place and reason, sorted. None of them needs NumPy,
/// which takes longer to load than a short run.
pub fn totals<'py, 'a>(py: Python<'py>, tables: &'a [Table]) -> PyResult<(Bound<'py, PyDict>, Losses<'a>)> {
    let of = |name: &'static str| {
        tables.iter().filter(move |table| table.name == name).flat_map(|table| &table.columns)
    };
    let flows = PyDict::new(py);
    for (name, column) in of("flows") {
        flows.set_item(name, list(py, column)?)?;
    }
    let words = |wanted: &str| {
        of("drops").find_map(|(name, column)| match column {
            Column::Words(codes, words) if *name == wanted => Some((codes, words)),
            _ => None,
        })
    };
    let mut lost: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    if let (Some((places, place_names)), Some((reasons, reason_names))) = (words("place"), words("reason")) {
        for (&place, &reason) in places.iter().zip(reasons) {
            *lost.entry((&place_names[place as usize], &reason_names[reason as usize])).or_default() += 1;
        }
    }
    Ok((flows, lost.into_iter().map(|((place, reason), packets)| (place, reason, packets)).collect()))
}

/// A column as a list of numbers, truth values or words.
fn list<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyList>> {
    match column {
        Column::U64(values) => PyList::new(py, values),
        Column::I64(values) => PyList::new(py, values),
        Column::U32(values) => PyList::new(py, values),
        Column::F64(values) => PyList::new(py, values),
        Column::Bool(values) => PyList::new(py, values),
        Column::U8(values) => PyList::new(py, values),
        Column::Words(codes, words) => PyList::new(py, codes.iter().map(|&code| &words[code as usize])),
    }
}
