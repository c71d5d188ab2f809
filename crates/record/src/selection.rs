//! Which tables and columns a run is asked for.

/// Tables by their names, columns as `table.column`; `None`: everything.
#[derive(Copy, Clone, Debug, Default)]
pub struct Selection<'a>(pub Option<&'a [String]>);

impl Selection<'_> {
    /// True if this table is wanted, or a column of it.
    pub fn wants(&self, table: &str) -> bool {
        self.any(|name, _| name == table)
    }

    /// True if this column is wanted.
    pub fn wants_column(&self, table: &str, column: &str) -> bool {
        self.any(|name, only| name == table && only.is_none_or(|only| only == column))
    }

    /// True if everything is wanted, or a wanted name satisfies `is`: a table, and the column if only that is
    /// wanted.
    fn any(&self, is: impl Fn(&str, Option<&str>) -> bool) -> bool {
        let parts = |name: &'_ str| match name.split_once('.') {
            Some((table, column)) => is(table, Some(column)),
            None => is(name, None),
        };
        self.0.is_none_or(|tables| tables.iter().any(|name| parts(name)))
    }
}
