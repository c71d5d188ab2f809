//! Numbered radio bearers: their ends at base stations and hosts. The rules are those of PDCP and RLC (TS 38.323, TS
//! 38.322); the machines are in `roamlab_radio::bearer`, and this has the packets.
//!
//! A host has one bearer. Its end at the host stays when the host changes cells; each base station that has the host, or had
//! it, has its own end.

use crate::context::Context;
use crate::ids::AgentIndex;
use roamlab_engine::Time;
use roamlab_mobility::BearerValues;
use roamlab_packet::{Addr, PacketId, Waiting};
use roamlab_record::ids::{LinkId, NodeId};
use std::collections::{BTreeMap, VecDeque};

mod alarm;
mod arrived;
mod ends;
mod sending;
mod witness;

pub use alarm::{Alarm, Causes};
pub use arrived::Arrived;
pub use ends::{Deadline, HostEnd, Line, StationEnd};
pub use sending::{Copy, Sdu, Sending, State};
pub use witness::Witness;

/// A packet that a receiver delivers.
#[derive(Clone, Debug)]
pub struct Ready {
    /// The node that receives it.
    pub node: NodeId,
    /// The link that it came over.
    pub link: LinkId,
    /// The packet.
    pub packet: Waiting,
}

/// All ends of numbered radio bearers.
#[derive(Clone, Debug, Default)]
pub struct RadioBearers {
    /// By the host and the base station.
    stations: BTreeMap<(Addr, NodeId), StationEnd>,
    hosts: BTreeMap<NodeId, HostEnd>,
    /// Packets that receivers deliver in the present event.
    ready: VecDeque<Ready>,
    /// The first law that a bearer has violated, and when.
    broken: Option<(String, Time)>,
}

impl RadioBearers {
    /// A host has a numbered bearer.
    pub fn add_host(&mut self, host: NodeId, values: BearerValues) {
        self.hosts.insert(host, HostEnd::new(values));
    }

    /// True if no host has one.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The end at a host.
    pub fn host(&mut self, host: NodeId) -> Option<&mut HostEnd> {
        self.hosts.get_mut(&host)
    }

    /// The end at a base station, if there is one.
    pub fn known_station(&mut self, station: NodeId, host: Addr) -> Option<&mut StationEnd> {
        self.stations.get_mut(&(host, station))
    }

    /// The end at a base station, made if there is none.
    pub fn station(
        &mut self,
        station: NodeId,
        host: Addr,
        (slot, values): (AgentIndex, BearerValues),
    ) -> &mut StationEnd {
        self.stations.entry((host, station)).or_insert_with(|| StationEnd::new(slot, values))
    }

    /// The base stations that have an end for a host.
    pub fn stations_of(&self, host: Addr) -> Vec<NodeId> {
        let (first, last) = ((host, NodeId(0)), (host, NodeId(u32::MAX)));
        self.stations.range(first..=last).map(|((_, station), _)| *station).collect()
    }

    /// A receiver delivers a packet.
    pub fn deliver(&mut self, node: NodeId, link: LinkId, packet: PacketId) {
        self.ready.push_back(Ready { node, link, packet: packet.into() });
    }

    /// The packets that the receiver at a node has seen of the bearer of a host.
    pub fn witness(&mut self, node: NodeId, host: Addr) -> Option<&mut Witness> {
        match self.hosts.get_mut(&node) {
            Some(end) => Some(&mut end.witness),
            None => self.stations.get_mut(&(host, node)).map(|end| &mut end.witness),
        }
    }

    /// The packets of a host that the source of a handover no longer waited for.
    pub fn given_up_by_source(&self, host: Addr) -> Vec<u32> {
        let (first, last) = ((host, NodeId(0)), (host, NodeId(u32::MAX)));
        let left = self.stations.range(first..=last).filter(|(_, end)| end.frozen || end.ended);
        left.flat_map(|(_, end)| end.receiver.given_up().chain(end.given_up.iter().copied())).collect()
    }

    /// True if a base station has delivered the packet of a host with this number, or keeps it until it can.
    pub fn has_come(&self, host: Addr, number: u32) -> bool {
        let (first, last) = ((host, NodeId(0)), (host, NodeId(u32::MAX)));
        let mut all = self.stations.range(first..=last).map(|(_, end)| &end.receiver);
        all.any(|receiver| {
            let delivered = number < receiver.first_missing() && !receiver.has_given_up(number);
            delivered || receiver.status().1.contains(&number)
        })
    }

    /// The ends of a host's bearer at base stations.
    pub fn ends_of(&self, host: Addr) -> impl Iterator<Item = (NodeId, &StationEnd)> {
        let (first, last) = ((host, NodeId(0)), (host, NodeId(u32::MAX)));
        self.stations.range(first..=last).map(|((_, station), end)| (*station, end))
    }

    /// The bearer of a host begins again: copies that base stations have sent are of the old one.
    pub fn forget_copies(&mut self, host: Addr) {
        let (first, last) = ((host, NodeId(0)), (host, NodeId(u32::MAX)));
        for (_, end) in self.stations.range_mut(first..=last) {
            end.copied.clear();
            end.withdrawn.clear();
            end.had_copied.clear();
        }
    }

    /// The ends at base stations, with their hosts.
    pub fn all_stations(&self) -> impl Iterator<Item = (&(Addr, NodeId), &StationEnd)> {
        self.stations.iter()
    }

    /// The ends at hosts.
    pub fn all_hosts(&self) -> impl Iterator<Item = (&NodeId, &HostEnd)> {
        self.hosts.iter()
    }

    /// The end at a base station, to be looked at.
    pub fn look_at(&self, station: NodeId, host: Addr) -> Option<&StationEnd> {
        self.stations.get(&(host, station))
    }

    /// The end at a host, to be looked at.
    pub fn known_host(&self, host: NodeId) -> Option<&HostEnd> {
        self.hosts.get(&host)
    }

    /// The next packet that a receiver delivers.
    pub fn take_ready(&mut self) -> Option<Ready> {
        self.ready.pop_front()
    }

    /// A law is violated.
    pub fn break_law(&mut self, problem: impl FnOnce() -> String, now: Time) {
        self.broken.get_or_insert_with(|| (problem(), now));
    }

    /// The first law that was violated, and when.
    pub fn violation(&mut self) -> Option<(String, Time)> {
        self.broken.take()
    }

    /// How many packets wait in bearers, those in buffers, queues and links not counted.
    pub fn packets(&self) -> usize {
        let stations = self.stations.values().map(StationEnd::packets).sum::<usize>();
        stations + self.hosts.values().map(HostEnd::packets).sum::<usize>() + self.ready.len()
    }

    /// True if the packet with this serial number waits at an end of this host's bearer.
    pub fn holds(&self, host: NodeId, serial: u64, cx: &Context) -> bool {
        let is_it = |packet: &Waiting| cx.pool[packet].serial == serial;
        let addr = Addr::mobile(host.0);
        let (first, last) = ((addr, NodeId(0)), (addr, NodeId(u32::MAX)));
        self.hosts.get(&host).is_some_and(|end| end.waiting().any(is_it))
            || self.stations.range(first..=last).any(|(_, end)| end.waiting().any(is_it))
    }
}
