//! The position of a node on the paths between base stations and the gateway.

use roamlab_packet::Addr;
use std::collections::BTreeMap;

/// A node's position.
#[derive(Clone, Debug)]
pub struct TreePosition {
    /// Its address.
    pub address: Addr,
    /// The next one towards the gateway; `None`: it is the gateway.
    pub uplink: Option<Addr>,
    /// The next one towards each base station below.
    pub below: BTreeMap<Addr, Addr>,
}

impl TreePosition {
    /// The next one towards a base station.
    pub fn towards(&self, base_station: Addr) -> Option<Addr> {
        self.below.get(&base_station).copied().or(self.uplink)
    }

    /// True if the ways to two base stations part here.
    pub fn parts(&self, one: Addr, other: Addr) -> bool {
        match (self.below.get(&one), self.below.get(&other)) {
            (Some(one), Some(other)) => one != other,
            _ => false,
        }
    }
}
