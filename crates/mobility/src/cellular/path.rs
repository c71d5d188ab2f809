//! The path of hosts at the gateway: the near end of the tunnels, and the end markers on an old path.

use super::bearer::end_marker;
use super::message::Out;
use super::{Action, Phase};
use crate::agent::Via;
use crate::identification::Identification;
use roamlab_packet::Addr;
use std::collections::BTreeMap;

/// The paths of all hosts.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    end_markers: usize,
    /// Where each host's path goes, and since which request.
    paths: BTreeMap<Addr, (Addr, Identification)>,
}

impl Paths {
    /// None yet. `end_markers`: how many are sent on an old path.
    pub fn new(end_markers: u32) -> Paths {
        Paths { end_markers: end_markers as usize, paths: BTreeMap::new() }
    }

    /// The path of a host goes to a base station, by the request `id`. `false`: a newer request is known.
    pub fn switch(&mut self, host: Addr, base_station: Addr, id: Identification, out: &mut dyn Out) -> bool {
        let old = self.paths.get(&host).copied();
        match old {
            Some((_, known)) if id <= known => return id == known,
            Some((old, _)) if old != base_station => {
                (0..self.end_markers).for_each(|_| out.send(old, end_marker(host, id)));
            }
            _ => {}
        }
        self.paths.insert(host, (base_station, id));
        if old.is_none_or(|(old, _)| old != base_station) {
            out.push(Action::SetRoute { host, from: None, via: Via::Tunnel(base_station), watch: false });
            out.push(Action::Note { host, phase: Phase::PathSwitched });
        }
        true
    }

    /// True if a host's path goes to this base station.
    pub fn is_at(&self, host: Addr, base_station: Addr) -> bool {
        self.paths.get(&host).is_some_and(|(at, _)| *at == base_station)
    }

    /// True if a host has a path.
    pub fn has(&self, host: Addr) -> bool {
        self.paths.contains_key(&host)
    }

    /// The hosts that have a path.
    pub fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.paths.keys().copied()
    }
}
