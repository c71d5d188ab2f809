//! Looking ahead: what the next events read is brought into the cache before they happen.
//!
//! The records of a large network do not fit into the cache, and an arrival reads some six of them, each found by the one
//! before: packet, link, route or flow, next link or end. Events of one lane of the scheduler happen in order, so those
//! behind the next one are known. Each is looked at three times, so that a record is there when the next look reads it.

use crate::event::Event;
use crate::run::world::{Planes, World};
use roamlab_record::ids::Side;

/// Places behind the next event where a packet and its link are prefetched.
const FAR: usize = 12;
/// Where the route or the flow is, and the queue.
const NEAR: usize = 6;
/// Where the next link or the end of the flow is, and the packet that waits.
const NEXT: usize = 2;
/// Nodes and packets inside from which on a network is large: the packets alone then take 640 kB.
const LARGE: u64 = 10_000;

impl World {
    /// True if the records of the network do not fit into the cache.
    pub(super) fn is_large(&self) -> bool {
        u64::from(self.planes.network.nodes()) + self.planes.cx.pool.census().inside() >= LARGE
    }

    /// Prefetches what events behind the next one read.
    #[inline(always)]
    pub(super) fn look_ahead(&self) {
        let World { flows, planes: Planes { cx, network, .. }, .. } = self;
        let (links, pool) = (network.links(), &cx.pool);
        match cx.scheduler.ahead(FAR) {
            Some(&Event::Arrival { link, packet }) => {
                pool.prefetch(packet);
                links.prefetch(link);
            }
            Some(&Event::LinkTxDone { link }) => links.prefetch(link),
            _ => {}
        }
        match cx.scheduler.ahead(NEAR) {
            Some(&Event::Arrival { link, packet }) => {
                let (node, packet) = (links.end(link), pool.parked(packet));
                if packet.header.dst.number() != node.0 as usize {
                    network.routes().prefetch(node, packet.header.dst);
                } else if let Some(flow) = flows.get(packet.flow) {
                    flow.prefetch();
                }
            }
            Some(&Event::LinkTxDone { link }) => links.prefetch_queue(link),
            _ => {}
        }
        match cx.scheduler.ahead(NEXT) {
            Some(&Event::Arrival { link, packet }) => {
                let (node, packet) = (links.end(link), pool.parked(packet));
                if packet.header.dst.number() != node.0 as usize {
                    if let Some(next) = network.routes().link(node, packet.header.dst) {
                        links.prefetch(next);
                    }
                } else if let Some(flow) = flows.get(packet.flow) {
                    flow.prefetch_end(if flow.dst == node { Side::Receiver } else { Side::Sender });
                }
            }
            Some(&Event::LinkTxDone { link }) => links.prefetch_waiting(link, pool),
            _ => {}
        }
        // The transmission of this packet takes as long as some other events, and then the one behind it is read.
        if let Some(&Event::LinkTxDone { link }) = cx.scheduler.ahead(0) {
            links.prefetch_second(link, pool);
        }
    }
}
