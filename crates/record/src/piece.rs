//! Pieces of tables that leave during the run.

/// Some rows of a table, lent to who takes its pieces.
#[derive(Clone, Debug)]
pub struct Piece<'a> {
    /// The table.
    pub name: &'static str,
    /// Its columns, with their names.
    pub columns: Vec<(&'static str, Slice<'a>)>,
}

/// Some rows of a column.
#[derive(Clone, Debug)]
pub enum Slice<'a> {
    /// Counts and times.
    U64(&'a [u64]),
    /// Times that may be absent (-1).
    I64(&'a [i64]),
    /// Small counts.
    U32(&'a [u32]),
    /// Real numbers.
    F64(&'a [f64]),
    /// Yes or no.
    Bool(&'a [bool]),
    /// Words, as codes into a list of names, which is in the first piece alone.
    Words(&'a [u32], Vec<String>),
}
