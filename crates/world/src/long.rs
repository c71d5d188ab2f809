//! Long tables: rows in, columns out during the run.

use crate::piece::Slice;
use crate::table::{Column, Kept, Known, Names};

/// A table whose rows become columns a block at a time, while the processor's cache has them, and whose columns may leave
/// in pieces while the run goes on.
pub trait Long {
    /// Rows in columns that have not left.
    fn settled(&self) -> usize;

    /// Rows that have left.
    fn gone(&self) -> usize;

    /// Puts the rows that have come into those columns that are wanted.
    fn settle(&mut self, names: &Names, wants: Wants<'_>);

    /// Lends the first of its settled rows, so many, to who takes them; then they are gone.
    fn leave(&mut self, rows: usize, names: &Names, wants: Wants<'_>, take: &mut dyn FnMut(Columns<'_>));

    /// Its settled rows as columns.
    fn columns(&mut self, names: &Names, wants: Wants<'_>) -> Vec<(&'static str, Column)>;
}

/// The columns of a piece.
pub type Columns<'a> = Vec<(&'static str, Slice<'a>)>;

/// Whether the column of a name is wanted.
pub type Wants<'a> = &'a dyn Fn(&str) -> bool;

/// Rows of a column, of words with all words if it is the first piece.
pub fn lend<'a, T: Known>(kept: &'a [T::Kept], is_first: bool, names: &Names) -> Slice<'a> {
    match T::Kept::slice(kept) {
        Slice::U32(codes) if T::IS_WORD => {
            let list = if is_first { T::list(names) } else { Vec::new() };
            Slice::Words(codes, list.into_iter().map(str::to_owned).collect())
        }
        slice => slice,
    }
}

/// Declares a [`Long`] table: a row type, and the columns that keep its rows.
macro_rules! long_table {
    ($(#[$doc:meta])* $table:ident, $row:ident, $columns:ident {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub struct $table {
            /// Rows that are not in columns yet.
            pub rows: Vec<$row>,
            columns: $columns,
            settled: usize,
            gone: usize,
        }

        #[doc = concat!("One row of [`", stringify!($table), "`].")]
        #[derive(Copy, Clone, Debug)]
        pub struct $row {
            $($(#[$field_doc])* pub $field: $type,)+
        }

        #[derive(Clone, Debug, Default)]
        struct $columns {
            $($field: Vec<<$type as crate::table::Known>::Kept>,)+
        }

        impl $table {
            /// Appends a row.
            pub fn push(&mut self, row: $row) {
                self.rows.push(row);
            }

            /// What its rows take, or will after their next growth, if that is near.
            pub fn part(&self, name: &'static str, help: &'static str) -> crate::conduct::Part {
                let rows = self.settled + self.rows.len();
                let bytes = (self.rows.capacity() * size_of::<$row>()) as u64;
                // What leaves in pieces is short again before it has to grow.
                let slack = if self.gone > 0 { self.settled } else { crate::conduct::SLACK };
                let mut part = crate::conduct::Part { name, rows, bytes, help };
                $(
                    let size = size_of::<<$type as crate::table::Known>::Kept>();
                    part.bytes += crate::conduct::bytes_soon(self.settled, slack, self.columns.$field.capacity(), size);
                )+
                part
            }
        }

        impl crate::long::Long for $table {
            fn settled(&self) -> usize {
                self.settled
            }

            fn gone(&self) -> usize {
                self.gone
            }

            fn settle(&mut self, names: &crate::table::Names, wants: crate::long::Wants<'_>) {
                $(if wants(stringify!($field)) {
                    let kept = self.rows.iter().map(|row| crate::table::Known::keep(row.$field, names));
                    self.columns.$field.extend(kept);
                })+
                self.settled += self.rows.len();
                self.rows.clear();
            }

            fn leave(
                &mut self,
                rows: usize,
                names: &crate::table::Names,
                wants: crate::long::Wants<'_>,
                take: &mut dyn FnMut(crate::long::Columns<'_>),
            ) {
                let (mut columns, is_first) = (Vec::new(), self.gone == 0);
                $(if wants(stringify!($field)) {
                    let lent = crate::long::lend::<$type>(&self.columns.$field[..rows], is_first, names);
                    columns.push((stringify!($field), lent));
                })+
                take(columns);
                // What stays keeps its place in memory: fresh memory is slow.
                $(self.columns.$field.drain(..rows.min(self.columns.$field.len()));)+
                self.gone += rows;
                self.settled -= rows;
            }

            fn columns(
                &mut self,
                names: &crate::table::Names,
                wants: crate::long::Wants<'_>,
            ) -> Vec<(&'static str, crate::table::Column)> {
                let mut columns = Vec::new();
                $(if wants(stringify!($field)) {
                    let kept = std::mem::take(&mut self.columns.$field);
                    columns.push((stringify!($field), crate::table::column_of::<$type>(kept, names)));
                })+
                columns
            }
        }
    };
}

pub(crate) use long_table;
