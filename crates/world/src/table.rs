//! Tables: rows in, columns out.

use crate::cx::Location;
use crate::event::{LinkId, NodeId};
use roamlab_engine::Time;
use roamlab_packet::{Addr, DropReason, FlowId};
use std::collections::BTreeMap;

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
        let (mut seen, mut names) = (BTreeMap::new(), Vec::new());
        let code = |word: &'a str| {
            *seen.entry(word).or_insert_with(|| {
                names.push(word.to_owned());
                names.len() as u32 - 1
            })
        };
        let codes = values.map(code).collect();
        Column::Words(codes, names)
    }
}

/// The names behind the handles of a run.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Nodes, by [`NodeId`].
    pub nodes: Vec<String>,
    /// Links, by [`LinkId`], and behind them the queues of hosts behind schedulers.
    pub links: Vec<String>,
    /// Flows, by [`FlowId`]; the last name stands for signalling.
    pub flows: Vec<String>,
    /// Nodes by address.
    pub addresses: BTreeMap<Addr, String>,
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
        Column::U64(values.iter().map(|time| time.as_nanos()).collect())
    }
}

impl Cell for &'static str {
    fn column(values: Vec<&'static str>, _: &Names) -> Column {
        Column::words(values.iter().copied())
    }
}

impl Cell for DropReason {
    fn column(values: Vec<DropReason>, _: &Names) -> Column {
        Column::words(values.iter().map(|reason| reason.name()))
    }
}

impl Cell for NodeId {
    fn column(values: Vec<NodeId>, names: &Names) -> Column {
        Column::Words(values.iter().map(|node| node.0).collect(), names.nodes.clone())
    }
}

impl Cell for LinkId {
    fn column(values: Vec<LinkId>, names: &Names) -> Column {
        Column::Words(values.iter().map(|link| link.0).collect(), names.links.clone())
    }
}

impl Cell for FlowId {
    fn column(values: Vec<FlowId>, names: &Names) -> Column {
        let last = names.flows.len().saturating_sub(1) as u32;
        Column::Words(values.iter().map(|flow| flow.0.min(last)).collect(), names.flows.clone())
    }
}

impl Cell for Location {
    fn column(values: Vec<Location>, names: &Names) -> Column {
        Column::Words(values.iter().map(|&place| place_code(place, names)).collect(), place_names(names))
    }
}

/// Nodes, and behind them links.
fn place_names(names: &Names) -> Vec<String> {
    names.nodes.iter().chain(&names.links).cloned().collect()
}

fn place_code(place: Location, names: &Names) -> u32 {
    match place {
        Location::Node(node) => node.0,
        Location::Link(link) => names.nodes.len() as u32 + link.0,
    }
}

impl Cell for Addr {
    fn column(values: Vec<Addr>, names: &Names) -> Column {
        Column::words(values.iter().map(|addr| names.addresses.get(addr).map_or("*", String::as_str)))
    }
}

impl Cell for Option<Addr> {
    fn column(values: Vec<Option<Addr>>, names: &Names) -> Column {
        let word =
            |addr: &Option<Addr>| addr.and_then(|addr| names.addresses.get(&addr)).map_or("", String::as_str);
        Column::words(values.iter().map(word))
    }
}

impl Cell for Option<FlowId> {
    fn column(values: Vec<Option<FlowId>>, names: &Names) -> Column {
        let none = names.flows.len() as u32;
        let code = |flow: &Option<FlowId>| flow.map_or(none, |flow| flow.0.min(none.saturating_sub(1)));
        Column::Words(values.iter().map(code).collect(), with_none(names.flows.clone()))
    }
}

impl Cell for Option<Location> {
    fn column(values: Vec<Option<Location>>, names: &Names) -> Column {
        let places = place_names(names);
        let none = places.len() as u32;
        let code = |place: &Option<Location>| place.map_or(none, |place| place_code(place, names));
        Column::Words(values.iter().map(code).collect(), with_none(places))
    }
}

/// The names with an empty one behind them.
fn with_none(mut names: Vec<String>) -> Vec<String> {
    names.push(String::new());
    names
}

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

            /// The columns, with their names.
            pub fn into_columns(self, names: &crate::table::Names) -> Vec<(&'static str, crate::table::Column)> {
                vec![$((stringify!($field), crate::table::Cell::column(self.$field, names)),)+]
            }
        }
    };
}

pub(crate) use table;
