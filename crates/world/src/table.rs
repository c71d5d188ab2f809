//! Tables: rows in, columns out.

use crate::ids::{LinkId, Location, NodeId};
use roamlab_engine::Time;
use roamlab_packet::{Addr, DropReason, FlowId};
use roamlab_transport::TcpFactKind;
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
    /// Words, as codes into a list of names.
    Words(Vec<u32>, Vec<String>),
}

impl Column {
    /// A column of words; names are listed in order of first appearance.
    pub fn words<'a>(values: impl Iterator<Item = &'a str>) -> Column {
        let (mut seen, mut names) = (FxHashMap::default(), Vec::new());
        // Most words are the one before: where it stands in memory says so without a look at its letters.
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

    /// A column of words of a short list, in which `place` finds a value's; names are listed in order of first appearance.
    pub fn coded<T: Copy>(
        values: Vec<T>,
        place: impl Fn(T) -> usize,
        name: impl Fn(T) -> &'static str,
    ) -> Column {
        let (mut codes, mut names) = ([u32::MAX; MOST_WORDS], Vec::new());
        let code = |value: T| {
            let code = &mut codes[place(value)];
            if *code == u32::MAX {
                *code = names.len() as u32;
                names.push(name(value).to_owned());
            }
            *code
        };
        let codes = values.into_iter().map(code).collect();
        Column::Words(codes, names)
    }

    /// A column of words of which no two are equal.
    pub fn unique(values: impl Iterator<Item = String>) -> Column {
        let names: Vec<String> = values.collect();
        Column::Words((0..names.len() as u32).collect(), names)
    }

    /// A column of codes into a list of names. Of a long list only the names that occur are kept: a network of 100,000
    /// nodes has some twenty such columns, most of them short.
    fn listed<'a>(mut codes: Vec<u32>, count: usize, name: impl Fn(usize) -> &'a String) -> Column {
        if count <= LONG_LIST {
            return Column::Words(codes, (0..count).map(|code| name(code).clone()).collect());
        }
        let mut places = vec![u32::MAX; count];
        codes.iter().for_each(|&code| places[code as usize] = 0);
        let mut kept = Vec::new();
        for (code, place) in places.iter_mut().enumerate().filter(|(_, place)| **place == 0) {
            *place = kept.len() as u32;
            kept.push(name(code).clone());
        }
        codes.iter_mut().for_each(|code| *code = places[*code as usize]);
        Column::Words(codes, kept)
    }
}

/// Words of a list for [`Column::coded`], at most.
const MOST_WORDS: usize = 64;

/// Names that a column lists though they do not occur, so that columns of all runs of a scenario are of one type.
const LONG_LIST: usize = 10_000;

/// The names behind the handles of a run.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Nodes, by [`NodeId`].
    pub nodes: Vec<String>,
    /// Links, by [`LinkId`], and behind them the queues of hosts behind schedulers.
    pub links: Vec<String>,
    /// Flows, by [`FlowId`]; the last name stands for signalling.
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
pub trait Cell: Copy {
    /// The column that holds these values.
    fn column(values: Vec<Self>, names: &Names) -> Column;
}

macro_rules! plain_cells {
    ($($type:ty => $column:ident),+ $(,)?) => {$(
        impl Cell for $type {
            fn column(values: Vec<$type>, _: &Names) -> Column {
                Column::$column(values)
            }
        }
    )+};
}

plain_cells! { u64 => U64, i64 => I64, u32 => U32, f64 => F64, bool => Bool }

impl Cell for Time {
    fn column(values: Vec<Time>, _: &Names) -> Column {
        Column::U64(values.into_iter().map(Time::as_nanos).collect())
    }
}

impl Cell for &'static str {
    fn column(values: Vec<&'static str>, _: &Names) -> Column {
        Column::words(values.iter().copied())
    }
}

/// Says that values of these types are words of a short list.
macro_rules! words {
    ($($type:ty),+ $(,)?) => {$(
        impl $crate::table::Cell for $type {
            fn column(values: Vec<$type>, _: &$crate::table::Names) -> $crate::table::Column {
                $crate::table::Column::coded(values, |value| value as usize, <$type>::name)
            }
        }
    )+};
}

pub(crate) use words;

words!(DropReason, TcpFactKind);

impl Cell for NodeId {
    fn column(values: Vec<NodeId>, names: &Names) -> Column {
        Column::listed(values.into_iter().map(|node| node.0).collect(), names.nodes.len(), |code| {
            &names.nodes[code]
        })
    }
}

impl Cell for LinkId {
    fn column(values: Vec<LinkId>, names: &Names) -> Column {
        Column::listed(values.into_iter().map(|link| link.0).collect(), names.links.len(), |code| {
            &names.links[code]
        })
    }
}

impl Cell for FlowId {
    fn column(values: Vec<FlowId>, names: &Names) -> Column {
        let last = names.flows.len().saturating_sub(1) as u32;
        Column::listed(values.into_iter().map(|flow| flow.0.min(last)).collect(), names.flows.len(), |code| {
            &names.flows[code]
        })
    }
}

impl Cell for Location {
    fn column(values: Vec<Location>, names: &Names) -> Column {
        let code = |place: Location| place_code(place, names);
        Column::listed(values.into_iter().map(code).collect(), places(names), |code| place_name(code, names))
    }
}

/// Nodes and links.
fn places(names: &Names) -> usize {
    names.nodes.len() + names.links.len()
}

fn place_code(place: Location, names: &Names) -> u32 {
    match place {
        Location::Node(node) => node.0,
        Location::Link(link) => names.nodes.len() as u32 + link.0,
    }
}

fn place_name(code: usize, names: &Names) -> &String {
    names.nodes.get(code).unwrap_or_else(|| &names.links[code - names.nodes.len()])
}

impl Cell for Addr {
    fn column(values: Vec<Addr>, names: &Names) -> Column {
        Column::words(values.iter().map(|addr| names.of(*addr).unwrap_or("*")))
    }
}

impl Cell for Option<Addr> {
    fn column(values: Vec<Option<Addr>>, names: &Names) -> Column {
        let word = |addr: &Option<Addr>| addr.and_then(|addr| names.of(addr)).unwrap_or_default();
        Column::words(values.iter().map(word))
    }
}

impl Cell for Option<FlowId> {
    fn column(values: Vec<Option<FlowId>>, names: &Names) -> Column {
        let none = names.flows.len() as u32;
        let code = |flow: Option<FlowId>| flow.map_or(none, |flow| flow.0.min(none.saturating_sub(1)));
        let name = |code: usize| names.flows.get(code).unwrap_or(&NOTHING);
        Column::listed(values.into_iter().map(code).collect(), names.flows.len() + 1, name)
    }
}

impl Cell for Option<Location> {
    fn column(values: Vec<Option<Location>>, names: &Names) -> Column {
        let none = places(names);
        let code = |place: Option<Location>| place.map_or(none as u32, |place| place_code(place, names));
        let name = |code: usize| if code == none { &NOTHING } else { place_name(code, names) };
        Column::listed(values.into_iter().map(code).collect(), none + 1, name)
    }
}

/// The name of what is not there.
static NOTHING: String = String::new();

/// Declares a table: a row type, and the columns that keep its rows.
macro_rules! table {
    ($(#[$doc:meta])* $table:ident, $row:ident {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub struct $table {
            $($(#[$field_doc])* pub $field: Vec<$type>,)+
        }

        #[doc = concat!("One row of [`", stringify!($table), "`].")]
        #[derive(Copy, Clone, Debug)]
        pub struct $row {
            $($(#[$field_doc])* pub $field: $type,)+
        }

        impl $table {
            /// Appends a row.
            pub fn push(&mut self, row: $row) {
                $(self.$field.push(row.$field);)+
            }

            /// What its rows take, or will after their next growth, if that is near.
            pub fn part(&self, name: &'static str, help: &'static str) -> crate::conduct::Part {
                let mut part = crate::conduct::Part { name, rows: 0, bytes: 0, help };
                $(
                    part.rows = self.$field.len();
                    part.bytes += crate::conduct::bytes_soon(part.rows, self.$field.capacity(), size_of::<$type>());
                )+
                part
            }

            /// The table of this name, with the columns that are wanted.
            pub fn into_table(
                self,
                name: &'static str,
                names: &crate::table::Names,
                conduct: &crate::conduct::Conduct<'_>,
            ) -> crate::table::Table {
                let mut columns = Vec::new();
                $(if conduct.wants_column(name, stringify!($field)) {
                    columns.push((stringify!($field), crate::table::Cell::column(self.$field, names)));
                })+
                crate::table::Table { name, columns }
            }
        }
    };
}

pub(crate) use table;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_list_of_names_those_that_occur_are_kept() {
        let names: Vec<String> = (0..LONG_LIST + 1).map(|number| format!("n{number}")).collect();
        let words = |words: [&str; 2]| words.map(str::to_owned).to_vec();
        let long = Column::listed(vec![7, 9_999, 7], names.len(), |code| &names[code]);
        assert_eq!(long, Column::Words(vec![0, 1, 0], words(["n7", "n9999"])));
        let short = Column::listed(vec![1, 1], 2, |code| &names[code]);
        assert_eq!(short, Column::Words(vec![1, 1], words(["n0", "n1"])));
    }
}
