//! The schema of tables: names, columns and their meaning. The macros `table`, `long_table` and `totals` make it of the
//! declaration of a table, whose comments are the meaning of its columns. `docs/tables.md` and the Python package read it.

/// The type of a column's values.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Integers from 0, of 64 bits.
    U64,
    /// Integers of 64 bits.
    I64,
    /// Integers from 0, of 32 bits.
    U32,
    /// Real numbers.
    F64,
    /// Truth values.
    Bool,
    /// Bytes.
    U8,
    /// Text, as codes into a list of words.
    Words,
}

impl Kind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::U64 => "u64",
            Kind::I64 => "i64",
            Kind::U32 => "u32",
            Kind::F64 => "f64",
            Kind::Bool => "bool",
            Kind::U8 => "u8",
            Kind::Words => "words",
        }
    }
}

/// A column of a table.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct ColumnSchema {
    /// Its name.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// The meaning of its values.
    pub meaning: &'static str,
    /// The words that it can hold, with their meaning, if the list is short.
    pub words: &'static [(&'static str, &'static str)],
}

impl ColumnSchema {
    /// The unit of its values, which its name ends with; empty: they have none.
    pub fn unit(&self) -> &'static str {
        const UNITS: [(&str, &str); 4] = [("ns", "ns"), ("bps", "bit/s"), ("bytes", "B"), ("pkts", "pkt")];
        let last = self.name.rsplit('_').next().unwrap_or_default();
        UNITS.iter().find(|(suffix, _)| *suffix == last).map_or("", |(_, unit)| unit)
    }
}

/// A table.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct TableSchema {
    /// Its name.
    pub name: &'static str,
    /// Meaning of its rows.
    pub about: &'static str,
    /// When it is recorded; empty: always.
    pub recorded: &'static str,
    /// Text to write in a scenario if it takes too much memory.
    pub limit: &'static str,
    /// Its columns.
    pub columns: &'static [ColumnSchema],
}

impl TableSchema {
    /// Its columns that lead to the causes: rows of the table `causes`, and what is read off them.
    pub fn of_causes(&self) -> impl Iterator<Item = &'static str> {
        let causes = self.name == "causes";
        self.columns.iter().map(|column| column.name).filter(move |name| !causes && name.starts_with("cause"))
    }
}

/// The schema of a table, of the parts of its declaration.
macro_rules! schema {
    ($name:expr, ($($about:literal)+), $recorded:expr, $limit:expr,
        $(($($meaning:literal)+) $field:ident: $kind:expr, $words:expr;)+) => {
        $crate::schema::TableSchema {
            name: $name,
            about: concat!($($about),+).trim_ascii_start(),
            recorded: $recorded,
            limit: $limit,
            columns: &[$($crate::schema::ColumnSchema {
                name: stringify!($field),
                kind: $kind,
                meaning: concat!($($meaning),+).trim_ascii_start(),
                words: $words,
            },)+],
        }
    };
}

pub(crate) use schema;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_the_end_of_a_name() {
        for (name, unit) in [
            ("time_ns", "ns"),
            ("bytes", "B"),
            ("wire_bytes", "B"),
            ("goodput_bps", "bit/s"),
            ("seq", ""),
            ("packets", ""),
        ] {
            assert_eq!(
                ColumnSchema { name, kind: Kind::U64, meaning: "", words: &[] }.unit(),
                unit,
                "{name}"
            );
        }
    }
}
