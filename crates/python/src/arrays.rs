//! Tables as NumPy arrays.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use roamlab_record::schema::{ColumnSchema, TableSchema};
use roamlab_world::{Column, Table};

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
