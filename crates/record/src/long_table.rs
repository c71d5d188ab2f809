//! Long tables: rows in, columns out during the run.

use crate::piece::Slice;
use crate::table::{Column, Element, Encode, Names};

/// A table whose rows become columns a block at a time, while the processor's cache has them, and whose columns can be
/// streamed in pieces during the run.
pub trait LongTable {
    /// Rows in columns that are not streamed yet.
    fn rows_in_columns(&self) -> usize;

    /// Rows that are streamed.
    fn rows_streamed(&self) -> usize;

    /// Moves the new rows to the wanted columns.
    fn move_to_columns(&mut self, names: &Names, wants: Wants<'_>);

    /// Passes the first `rows` rows of the columns to `take`, and removes them.
    fn stream(&mut self, rows: usize, names: &Names, wants: Wants<'_>, take: &mut dyn FnMut(Columns<'_>));

    /// The rows in its columns.
    fn take_columns(&mut self, names: &Names, wants: Wants<'_>) -> Vec<(&'static str, Column)>;
}

/// The columns of a piece.
pub type Columns<'a> = Vec<(&'static str, Slice<'a>)>;

/// True if the column of a name is wanted.
pub type Wants<'a> = &'a dyn Fn(&str) -> bool;

/// Rows of a column; of words with the list of words if it is the first piece.
pub fn slice_of<'a, T: Encode>(stored: &'a [T::Stored], is_first: bool, names: &Names) -> Slice<'a> {
    match T::Stored::slice(stored) {
        Slice::U32(codes) if T::IS_WORD => {
            let list = if is_first { T::list(names) } else { Vec::new() };
            Slice::Words(codes, list.into_iter().map(str::to_owned).collect())
        }
        slice => slice,
    }
}

/// Declares a [`LongTable`]: its schema, a row type, and the columns that keep its rows.
macro_rules! long_table {
    ($(#[doc = $about:literal])+ $table:ident, $row:ident, $columns:ident:
        $name:literal, recorded $recorded:literal, limit $limit:literal {
        $($(#[doc = $meaning:literal])+ $field:ident: $type:ty,)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default)]
        pub struct $table {
            /// Rows that are not in columns yet.
            pub rows: Vec<$row>,
            columns: $columns,
            in_columns: usize,
            streamed: usize,
        }

        #[doc = concat!("One row of [`", stringify!($table), "`].")]
        #[derive(Copy, Clone, Debug)]
        pub struct $row {
            $($(#[doc = $meaning])+ pub $field: $type,)+
        }

        #[derive(Clone, Debug, Default)]
        struct $columns {
            $($field: Vec<<$type as crate::table::Encode>::Stored>,)+
        }

        impl $table {
            /// Its schema.
            pub const SCHEMA: $crate::schema::TableSchema = $crate::schema::schema!(
                $name, ($($about)+), $recorded, $limit,
                $(($($meaning)+) $field:
                    <$type as $crate::table::Value>::KIND, <$type as $crate::table::Value>::WORDS;)+
            );

            /// Appends a row.
            pub fn push(&mut self, row: $row) {
                self.rows.push(row);
            }

            /// Memory of its rows, now or after their next growth, if that is near.
            pub fn part(&self) -> crate::memory::Part {
                let rows = self.in_columns + self.rows.len();
                let bytes = (self.rows.capacity() * size_of::<$row>()) as u64;
                // A table written in pieces is short again before it has to grow.
                let slack = if self.streamed > 0 { self.in_columns } else { crate::memory::SLACK };
                let mut part = crate::memory::Part { name: $name, rows, bytes, help: $limit };
                $(
                    let size = size_of::<<$type as crate::table::Encode>::Stored>();
                    part.bytes += crate::memory::bytes_soon(self.in_columns, slack, self.columns.$field.capacity(), size);
                )+
                part
            }
        }

        impl crate::long_table::LongTable for $table {
            fn rows_in_columns(&self) -> usize {
                self.in_columns
            }

            fn rows_streamed(&self) -> usize {
                self.streamed
            }

            fn move_to_columns(&mut self, names: &crate::table::Names, wants: crate::long_table::Wants<'_>) {
                $(if wants(stringify!($field)) {
                    let stored = self.rows.iter().map(|row| crate::table::Encode::encode(row.$field, names));
                    self.columns.$field.extend(stored);
                })+
                self.in_columns += self.rows.len();
                self.rows.clear();
            }

            fn stream(
                &mut self,
                rows: usize,
                names: &crate::table::Names,
                wants: crate::long_table::Wants<'_>,
                take: &mut dyn FnMut(crate::long_table::Columns<'_>),
            ) {
                let (mut columns, is_first) = (Vec::new(), self.streamed == 0);
                $(if wants(stringify!($field)) {
                    let slice = crate::long_table::slice_of::<$type>(&self.columns.$field[..rows], is_first, names);
                    columns.push((stringify!($field), slice));
                })+
                take(columns);
                // The rest keeps its place in memory: fresh memory is slow.
                $(self.columns.$field.drain(..rows.min(self.columns.$field.len()));)+
                self.streamed += rows;
                self.in_columns -= rows;
            }

            fn take_columns(
                &mut self,
                names: &crate::table::Names,
                wants: crate::long_table::Wants<'_>,
            ) -> Vec<(&'static str, crate::table::Column)> {
                let mut columns = Vec::new();
                $(if wants(stringify!($field)) {
                    let stored = std::mem::take(&mut self.columns.$field);
                    columns.push((stringify!($field), crate::table::column_of::<$type>(stored, names)));
                })+
                columns
            }
        }
    };
}

pub(crate) use long_table;
