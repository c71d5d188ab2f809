//! The units of an application's data in flight. `flows/units.rs` processes them.

use roamlab_traffic::App;
use std::collections::VecDeque;

/// Units of datagrams that are remembered while something of them is missing.
pub const MOST_OPEN: usize = 256;

/// A unit of which something is missing.
#[derive(Clone, Debug)]
pub struct Open {
    /// Number of its first datagram.
    pub first: u32,
    /// How many hold it.
    pub packets: u32,
    /// How many of them have not arrived.
    pub missing: u32,
    /// Its row of the record, if it has one.
    pub row: Option<usize>,
}

/// The units of a flow.
#[derive(Clone, Debug, Default)]
pub struct Units {
    /// Those of which something is missing, in order.
    pub open: VecDeque<Open>,
    /// The flow that goes the other way, if one asks what the other answers.
    pub partner: Option<u32>,
    /// The row of the response that is asked for.
    pub awaited: Option<usize>,
    /// Packets with serial numbers up to this are of connections that are no more.
    pub stale: u64,
}

impl Units {
    /// For the flow of this application, if it has units.
    pub fn of(app: &App, partner: Option<u32>) -> Option<Box<Units>> {
        let has = !matches!(app, App::Ftp(_) | App::Cbr(_) | App::Voip(_) | App::Program(_));
        has.then(|| Box::new(Units { partner, ..Units::default() }))
    }
}
