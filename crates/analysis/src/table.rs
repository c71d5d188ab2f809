//! Tables of a record, lent by who holds them, and the rows of each flow in them.

use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// A record lacks what an analysis reads, or contradicts itself.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// A table is missing.
    #[error("the record has no table `{0}`")]
    Table(&'static str),
    /// A column is missing, or has values of another type.
    #[error("the table `{table}` has no column `{column}` of {expected}")]
    Column {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// The type of its values.
        expected: &'static str,
    },
    /// The run has no such flow.
    #[error("the table `flows` has no flow `{0}`")]
    Flow(String),
    /// A row of `causes` leads to a row that is not there, or to itself.
    #[error("table `causes`, column `cause`: {0} is no row that led to another")]
    Cause(i64),
    /// A table is longer than an analysis can number.
    #[error("the table `{0}` has more rows than 2^32")]
    Rows(&'static str),
}

/// The values of a column.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Bytes.
    U8(&'a [u8]),
    /// Codes of few words.
    U16(&'a [u16]),
    /// Small counts, and codes.
    U32(&'a [u32]),
    /// Counts and times.
    U64(&'a [u64]),
    /// Times that may be absent (-1).
    I64(&'a [i64]),
    /// Real numbers.
    F64(&'a [f64]),
    /// Yes or no.
    Bool(&'a [bool]),
}

impl Values<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::U8(values) => values.len(),
            Values::U16(values) => values.len(),
            Values::U32(values) => values.len(),
            Values::U64(values) => values.len(),
            Values::I64(values) => values.len(),
            Values::F64(values) => values.len(),
            Values::Bool(values) => values.len(),
        }
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A value as a whole number.
    pub fn int(&self, row: usize) -> i64 {
        match self {
            Values::U8(values) => values[row].into(),
            Values::U16(values) => values[row].into(),
            Values::U32(values) => values[row].into(),
            Values::U64(values) => values[row] as i64,
            Values::I64(values) => values[row],
            Values::F64(values) => values[row] as i64,
            Values::Bool(values) => values[row].into(),
        }
    }

    /// A value as a real number.
    pub fn real(&self, row: usize) -> f64 {
        match self {
            Values::F64(values) => values[row],
            other => other.int(row) as f64,
        }
    }

    /// True if a value is not 0.
    pub fn is(&self, row: usize) -> bool {
        self.int(row) != 0
    }
}

/// A column of words: codes into a list of them.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    codes: Values<'a>,
    words: &'a [String],
}

impl<'a> Words<'a> {
    /// The word in a row.
    pub fn at(&self, row: usize) -> &'a str {
        usize::try_from(self.codes.int(row))
            .ok()
            .and_then(|code| self.words.get(code))
            .map_or("", String::as_str)
    }

    /// A test of rows for some words, by their codes.
    pub fn among(self, wanted: &[&str]) -> impl Fn(usize) -> bool + use<'a> {
        let chosen: Vec<bool> = self.words.iter().map(|word| wanted.contains(&word.as_str())).collect();
        move |row| usize::try_from(self.codes.int(row)).ok().and_then(|code| chosen.get(code)) == Some(&true)
    }

    /// Its list of words.
    pub fn list(&self) -> &'a [String] {
        self.words
    }

    /// The code in a row.
    pub fn code(&self, row: usize) -> usize {
        usize::try_from(self.codes.int(row)).unwrap_or(usize::MAX)
    }
}

/// A column: its name, its values and, if these are codes, the words behind them.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its values.
    pub values: Values<'a>,
    /// The words.
    pub words: Option<&'a [String]>,
}

/// A table of a record.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its columns, all of one length.
    pub columns: Vec<Column<'a>>,
}

impl<'a> From<&'a roamlab_record::Table> for Table<'a> {
    /// The columns of a run's table.
    fn from(table: &'a roamlab_record::Table) -> Table<'a> {
        let column = |(name, column): &'a (&'static str, roamlab_record::Column)| {
            let (values, words) = match column {
                roamlab_record::Column::U64(values) => (Values::U64(values), None),
                roamlab_record::Column::I64(values) => (Values::I64(values), None),
                roamlab_record::Column::U32(values) => (Values::U32(values), None),
                roamlab_record::Column::F64(values) => (Values::F64(values), None),
                roamlab_record::Column::Bool(values) => (Values::Bool(values), None),
                roamlab_record::Column::U8(values) => (Values::U8(values), None),
                roamlab_record::Column::Words(codes, words) => (Values::U32(codes), Some(words.as_slice())),
            };
            Column { name, values, words }
        };
        Table { name: table.name, columns: table.columns.iter().map(column).collect() }
    }
}

/// A table that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'r, 'a> {
    name: &'static str,
    columns: &'r [Column<'a>],
}

impl<'r, 'a> View<'r, 'a> {
    pub fn new(name: &'static str, columns: &'r [Column<'a>]) -> View<'r, 'a> {
        View { name, columns }
    }

    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    fn column(&self, name: &'static str, expected: &'static str) -> Result<Column<'a>, Fault> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.copied().ok_or(Fault::Column { table: self.name, column: name, expected })
    }

    /// A column of numbers.
    pub fn numbers(&self, name: &'static str) -> Result<Values<'a>, Fault> {
        Ok(self.column(name, "numbers")?.values)
    }

    /// A column of words.
    pub fn words(&self, name: &'static str) -> Result<Words<'a>, Fault> {
        let Column { values, words, .. } = self.column(name, "text")?;
        let words = words.ok_or(Fault::Column { table: self.name, column: name, expected: "text" })?;
        Ok(Words { codes: values, words })
    }
}

/// The rows of each flow in a table.
#[derive(Debug)]
struct ByFlow {
    codes: FxHashMap<String, usize>,
    begins: Vec<u32>,
    rows: Vec<u32>,
}

impl ByFlow {
    fn new(table: View<'_, '_>) -> Result<ByFlow, Fault> {
        let flows = table.words("flow")?;
        let count = u32::try_from(table.rows()).map_err(|_| Fault::Rows(table.name))?;
        let mut begins = vec![0; flows.list().len() + 1];
        for row in 0..count {
            if let Some(begin) = begins.get_mut(flows.code(row as usize) + 1) {
                *begin += 1;
            }
        }
        for at in 1..begins.len() {
            begins[at] += begins[at - 1];
        }
        let mut next = begins.clone();
        let mut rows = vec![0; begins.last().map_or(0, |end| *end as usize)];
        for row in 0..count {
            if let Some(place) =
                next.get_mut(flows.code(row as usize)).filter(|at| (**at as usize) < rows.len())
            {
                rows[*place as usize] = row;
                *place += 1;
            }
        }
        let codes = flows.list().iter().enumerate().map(|(code, name)| (name.clone(), code)).collect();
        Ok(ByFlow { codes, begins, rows })
    }

    fn of(&self, flow: &str) -> &[u32] {
        self.codes
            .get(flow)
            .map_or(&[], |&code| &self.rows[self.begins[code] as usize..self.begins[code + 1] as usize])
    }
}

/// Lists that are made once for a record: the rows of each flow, and the flows of its scenario.
#[derive(Default, Debug)]
pub struct Index {
    tables: [OnceLock<ByFlow>; 5],
    pub(crate) declared: OnceLock<FxHashMap<String, usize>>,
}

impl Index {
    /// The rows of a flow in a table that has them, in order.
    pub(crate) fn rows(&self, table: View<'_, '_>, flow: &str) -> Result<&[u32], Fault> {
        const NAMES: [&str; 5] = ["flows", "deliveries", "packets", "drops", "tcp"];
        let place = NAMES.iter().position(|name| *name == table.name).ok_or(Fault::Table(table.name))?;
        let cell = &self.tables[place];
        if cell.get().is_none() {
            // Another thread may have set the same meanwhile.
            let _ = cell.set(ByFlow::new(table)?);
        }
        Ok(cell.get().map_or(&[], |found| found.of(flow)))
    }
}
