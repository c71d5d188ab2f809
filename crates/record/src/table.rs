//! Tables: rows in, columns out.

use crate::ids::{LinkId, Location, NodeId};
use crate::piece::{Piece, Slice};
use crate::schema::Kind;
use roamlab_congestion::{PathPolicy, SenderEventKind};
use roamlab_engine::Time;
use roamlab_packet::{Addr, DropReason, FlowId};
use roamlab_traffic::UnitKind;
use rustc_hash::FxHashMap;

/// A table of the result.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns, with their names.
    pub columns: Vec<(&'static str, Column)>,
}

/// One column of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum Column {
    /// Counts and times.
    U64(Vec<u64>),
    /// Times that may be absent (-1).
    I64(Vec<i64>),
    /// Small counts.
    U32(Vec<u32>),
    /// Real numbers.
    F64(Vec<f64>),
    /// Yes or no.
    Bool(Vec<bool>),
    /// Bytes.
    U8(Vec<u8>),
    /// Words, as codes into a list of names.
    Words(Vec<u32>, Vec<String>),
}

impl From<Piece<'_>> for Table {
    /// A copy that one may keep.
    fn from(piece: Piece<'_>) -> Table {
        let column = |slice| match slice {
            Slice::U64(values) => Column::U64(values.to_vec()),
            Slice::I64(values) => Column::I64(values.to_vec()),
            Slice::U32(values) => Column::U32(values.to_vec()),
            Slice::F64(values) => Column::F64(values.to_vec()),
            Slice::Bool(values) => Column::Bool(values.to_vec()),
            Slice::Words(codes, words) => Column::Words(codes.to_vec(), words),
        };
        let columns = piece.columns.into_iter().map(|(name, slice)| (name, column(slice))).collect();
        Table { name: piece.name, columns }
    }
}

impl Column {
    /// The type of its values.
    pub const fn kind(&self) -> Kind {
        match self {
            Column::U64(_) => Kind::U64,
            Column::I64(_) => Kind::I64,
            Column::U32(_) => Kind::U32,
            Column::F64(_) => Kind::F64,
            Column::Bool(_) => Kind::Bool,
            Column::U8(_) => Kind::U8,
            Column::Words(..) => Kind::Words,
        }
    }

    /// A column of words; names are listed in order of first appearance.
    pub fn words<'a>(values: impl Iterator<Item = &'a str>) -> Column {
        let (mut seen, mut names) = (FxHashMap::default(), Vec::new());
        // Most words are the one before: its address in memory shows this without reading its letters.
        let mut last: (*const str, u32) = (std::ptr::from_ref(""), u32::MAX);
        let code = |word: &'a str| {
            if !std::ptr::eq(last.0, word) || last.1 == u32::MAX {
                let code = *seen.entry(word).or_insert_with(|| {
                    names.push(word.to_owned());
                    names.len() as u32 - 1
                });
                last = (word, code);
            }
            last.1
        };
        let codes = values.map(code).collect();
        Column::Words(codes, names)
    }

    /// A column of words of which no two are equal.
    pub fn unique(values: impl Iterator<Item = String>) -> Column {
        let names: Vec<String> = values.collect();
        Column::Words((0..names.len() as u32).collect(), names)
    }

    /// A column of codes into a list of names. Of a long list only the names that occur are kept: a
    /// network of 100,000 nodes has some twenty such columns, most of them short.
    fn listed(mut codes: Vec<u32>, list: Vec<&str>) -> Column {
        if list.len() <= LONG_LIST {
            return Column::Words(codes, owned(&list));
        }
        let mut places = vec![u32::MAX; list.len()];
        codes.iter().for_each(|&code| places[code as usize] = 0);
        let mut kept = Vec::new();
        for (name, place) in list.into_iter().zip(&mut places).filter(|(_, place)| **place == 0) {
            *place = kept.len() as u32;
            kept.push(name.to_owned());
        }
        codes.iter_mut().for_each(|code| *code = places[*code as usize]);
        Column::Words(codes, kept)
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Names that a column lists though they do not occur, so that columns of all runs of a scenario are of one type.
const LONG_LIST: usize = 10_000;

/// The names behind the handles of a run.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Nodes, by [`NodeId`].
    pub nodes: Vec<String>,
    /// Links, by [`LinkId`], and behind them the queues of hosts behind schedulers.
    pub links: Vec<String>,
    /// Flows, by [`FlowId`]; the last name is for signalling.
    pub flows: Vec<String>,
    /// Nodes by address: looked up only.
    pub addresses: FxHashMap<Addr, NodeId>,
}

impl Names {
    /// The name of the node with this address.
    fn of(&self, addr: Addr) -> Option<&str> {
        self.addresses.get(&addr).map(|node| self.nodes[node.0 as usize].as_str())
    }
}

/// A value that a table can hold.
pub trait Value: Copy {
    /// The type of the column.
    const KIND: Kind;

    /// The words that the column can hold, with their meaning, if the list is short.
    const WORDS: &'static [(&'static str, &'static str)] = &[];

    /// The column that holds these values.
    fn column(values: Vec<Self>, names: &Names) -> Column;
}

/// A value with a fixed representation in columns. If it is a word, the list of words is known before the run.
pub trait Encode: Copy {
    /// Its value in a column; for a word its place in the list.
    type Stored: Element;

    /// True if it is a word.
    const IS_WORD: bool = false;

    /// The words that there are, with their meaning, if the list is short.
    const WORDS: &'static [(&'static str, &'static str)] = &[];

    /// Value of a column for this one.
    fn encode(self, names: &Names) -> Self::Stored;

    /// The list of words; empty if it is not a word.
    fn list(_: &Names) -> Vec<&str> {
        Vec::new()
    }
}

impl<T: Encode> Value for T {
    const KIND: Kind = if T::IS_WORD { Kind::Words } else { T::Stored::KIND };
    const WORDS: &'static [(&'static str, &'static str)] = T::WORDS;

    fn column(values: Vec<T>, names: &Names) -> Column {
        let stored = values.into_iter().map(|value| value.encode(names)).collect();
        column_of::<T>(stored, names)
    }
}

/// The column of encoded values of this type.
pub fn column_of<T: Encode>(stored: Vec<T::Stored>, names: &Names) -> Column {
    match T::Stored::column(stored) {
        Column::U32(codes) if T::IS_WORD => Column::listed(codes, T::list(names)),
        column => column,
    }
}

/// Types of columns.
pub trait Element: Copy {
    /// The type of the column of these values.
    const KIND: Kind;

    /// The column of these values.
    fn column(values: Vec<Self>) -> Column;

    /// The same, lent.
    fn slice(values: &[Self]) -> Slice<'_>;
}

macro_rules! plain_cells {
    ($($type:ty => $column:ident),+ $(,)?) => {$(
        impl Element for $type {
            const KIND: Kind = Kind::$column;

            fn column(values: Vec<$type>) -> Column {
                Column::$column(values)
            }

            fn slice(values: &[$type]) -> Slice<'_> {
                Slice::$column(values)
            }
        }

        impl Encode for $type {
            type Stored = $type;

            fn encode(self, _: &Names) -> $type {
                self
            }
        }
    )+};
}

plain_cells! { u64 => U64, i64 => I64, u32 => U32, f64 => F64, bool => Bool }

impl Encode for Time {
    type Stored = u64;

    fn encode(self, _: &Names) -> u64 {
        self.as_nanos()
    }
}

impl Value for &'static str {
    const KIND: Kind = Kind::Words;

    fn column(values: Vec<&'static str>, _: &Names) -> Column {
        Column::words(values.iter().copied())
    }
}

/// Declares that values of these types are words of a short list, `ALL`.
macro_rules! words {
    ($($type:ty $(= $words:expr)?),+ $(,)?) => {$(
        impl $crate::table::Encode for $type {
            type Stored = u32;

            const IS_WORD: bool = true;

            $(const WORDS: &'static [(&'static str, &'static str)] = $words;)?

            fn encode(self, _: &$crate::table::Names) -> u32 {
                self as u32
            }

            fn list(_: &$crate::table::Names) -> Vec<&str> {
                <$type>::ALL.iter().map(|value| value.name()).collect()
            }
        }
    )+};
}

/// Declares words: what they mean, and how they are written in records.
macro_rules! vocabulary {
    ($(#[doc = $about:literal])+ $type:ident { $($(#[doc = $meaning:literal])+ $value:ident => $word:literal;)+ }) => {
        roamlab_engine::named! {
            $(#[doc = $about])+
            #[derive(Copy, Clone, PartialEq, Eq, Debug)]
            pub enum $type {
                $($(#[doc = $meaning])+ $value => $word,)+
            }
        }

        $crate::table::words!($type = &[$(($word, concat!($($meaning),+).trim_ascii_start()),)+]);
    };
}

pub(crate) use {vocabulary, words};

words!(DropReason, PathPolicy, SenderEventKind, UnitKind);

impl Encode for NodeId {
    type Stored = u32;

    const IS_WORD: bool = true;

    fn encode(self, _: &Names) -> u32 {
        self.0
    }

    fn list(names: &Names) -> Vec<&str> {
        all(&names.nodes).collect()
    }
}

impl Encode for LinkId {
    type Stored = u32;

    const IS_WORD: bool = true;

    fn encode(self, _: &Names) -> u32 {
        self.0
    }

    fn list(names: &Names) -> Vec<&str> {
        all(&names.links).collect()
    }
}

impl Encode for FlowId {
    type Stored = u32;

    const IS_WORD: bool = true;

    fn encode(self, names: &Names) -> u32 {
        self.0.min(names.flows.len().saturating_sub(1) as u32)
    }

    fn list(names: &Names) -> Vec<&str> {
        all(&names.flows).collect()
    }
}

impl Encode for Location {
    type Stored = u32;

    const IS_WORD: bool = true;

    fn encode(self, names: &Names) -> u32 {
        place_code(self, names)
    }

    fn list(names: &Names) -> Vec<&str> {
        places(names).collect()
    }
}

fn all(names: &[String]) -> impl Iterator<Item = &str> {
    names.iter().map(String::as_str)
}

/// Nodes and links.
fn places(names: &Names) -> impl Iterator<Item = &str> {
    all(&names.nodes).chain(all(&names.links))
}

impl Location {
    /// All places with their names.
    pub fn all(names: &Names) -> impl Iterator<Item = (Location, &str)> {
        let nodes = (0..).map(|number| Location::Node(NodeId(number))).zip(all(&names.nodes));
        nodes.chain((0..).map(|number| Location::Link(LinkId(number))).zip(all(&names.links)))
    }
}

fn place_code(place: Location, names: &Names) -> u32 {
    match place {
        Location::Node(node) => node.0,
        Location::Link(link) => names.nodes.len() as u32 + link.0,
    }
}

impl Value for Addr {
    const KIND: Kind = Kind::Words;

    fn column(values: Vec<Addr>, names: &Names) -> Column {
        Column::words(values.iter().map(|addr| names.of(*addr).unwrap_or("*")))
    }
}

impl Value for Option<Addr> {
    const KIND: Kind = Kind::Words;

    fn column(values: Vec<Option<Addr>>, names: &Names) -> Column {
        let word = |addr: &Option<Addr>| addr.and_then(|addr| names.of(addr)).unwrap_or_default();
        Column::words(values.iter().map(word))
    }
}

impl Encode for Option<FlowId> {
    type Stored = u32;

    const IS_WORD: bool = true;

    fn encode(self, names: &Names) -> u32 {
        self.map_or(names.flows.len() as u32, |flow| flow.encode(names))
    }

    fn list(names: &Names) -> Vec<&str> {
        all(&names.flows).chain([""]).collect()
    }
}

impl Encode for Option<Location> {
    type Stored = u32;

    const IS_WORD: bool = true;

    fn encode(self, names: &Names) -> u32 {
        let none = names.nodes.len() + names.links.len();
        self.map_or(none as u32, |place| place.encode(names))
    }

    fn list(names: &Names) -> Vec<&str> {
        places(names).chain([""]).collect()
    }
}

/// Declares a table: its schema, a row type, and the columns that keep its rows.
macro_rules! table {
    ($(#[doc = $about:literal])+ $table:ident, $row:ident:
        $name:literal, recorded $recorded:literal, limit $limit:literal {
        $($(#[doc = $meaning:literal])+ $field:ident: $type:ty,)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default)]
        pub struct $table {
            $($(#[doc = $meaning])+ pub $field: Vec<$type>,)+
        }

        #[doc = concat!("One row of [`", stringify!($table), "`].")]
        #[derive(Copy, Clone, Debug)]
        pub struct $row {
            $($(#[doc = $meaning])+ pub $field: $type,)+
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
                $(self.$field.push(row.$field);)+
            }

            /// Memory of its rows, now or after their next growth, if that is near.
            pub fn part(&self) -> crate::memory::Part {
                let mut part = crate::memory::Part {
                    name: Self::SCHEMA.name,
                    rows: 0,
                    bytes: 0,
                    help: Self::SCHEMA.limit,
                };
                $(
                    part.rows = self.$field.len();
                    part.bytes += crate::memory::bytes_soon(
                        part.rows,
                        crate::memory::SLACK,
                        self.$field.capacity(),
                        size_of::<$type>(),
                    );
                )+
                part
            }

            /// The table, with the columns that are wanted.
            pub fn into_table(
                self,
                names: &crate::table::Names,
                selection: crate::Selection<'_>,
            ) -> crate::table::Table {
                let mut columns = Vec::new();
                $(if selection.wants_column($name, stringify!($field)) {
                    columns.push((stringify!($field), crate::table::Value::column(self.$field, names)));
                })+
                crate::table::Table { name: $name, columns }
            }
        }
    };
}

pub(crate) use table;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stands_in_its_list_at_its_code() {
        fn check<T: Encode<Stored = u32>>(all: &[T], name: impl Fn(T) -> &'static str) {
            let names = Names::default();
            assert_eq!(T::list(&names).len(), all.len());
            for &word in all {
                assert_eq!(T::list(&names)[word.encode(&names) as usize], name(word));
            }
        }
        check(DropReason::ALL, DropReason::name);
        check(SenderEventKind::ALL, SenderEventKind::name);
        check(UnitKind::ALL, UnitKind::name);
        assert_eq!(SenderEventKind::ALL.len(), SenderEventKind::SafeRetreat as usize + 1);
        assert_eq!(UnitKind::ALL.len(), UnitKind::Segment as usize + 1);
    }

    #[test]
    fn of_a_long_list_of_names_those_that_occur_are_kept() {
        let names: Vec<String> = (0..LONG_LIST + 1).map(|number| format!("n{number}")).collect();
        let words = |words: [&str; 2]| words.map(str::to_owned).to_vec();
        let long = Column::listed(vec![7, 9_999, 7], all(&names).collect());
        assert_eq!(long, Column::Words(vec![0, 1, 0], words(["n7", "n9999"])));
        let short = Column::listed(vec![1, 0, 1], all(&names[..2]).collect());
        assert_eq!(short, Column::Words(vec![1, 0, 1], words(["n0", "n1"])));
    }
}
