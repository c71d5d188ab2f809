//! Links that are computed with the link that feeds them (`engine.fusion`).
//!
//! A link can be fused if all its packets leave one other link, and if it is neither recorded nor changed. Then the
//! fate of a packet there is known when it starts on the other link, and its arrival behind both is one event. The same
//! holds along a chain of such links. Rates, queues and losses are those of a plain link. Among simultaneous events an
//! arrival has its place from the start of its last transmission. The order may differ only if two of these started at
//! one instant too. Results computed for a time after the end of a run are undone there.

use super::{HotLink, Links, Sending, Start, flag};
use crate::cx::Cx;
use crate::event::Event;
use crate::ids::{LinkId, Location, NodeId};
use crate::route::Ways;
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Addr, DropReason, PacketId};
use std::collections::VecDeque;

/// The last arrival of a link with others behind it that are computed with it: no packet of its own comes later, so that those of
/// links that feed no others need no test.
pub(super) const FEEDS: Time = Time::from_nanos(u64::MAX);

/// What links that are computed ahead need beside their records.
#[derive(Clone, Debug)]
pub(super) struct Fusion {
    ways: Ways,
    /// Of each link its transmissions, past ones up to some number included.
    ahead: Vec<VecDeque<Transmission>>,
    /// Packets handed over to links computed ahead.
    hops: u64,
}

/// A packet's time at a link.
#[derive(Copy, Clone, Debug)]
struct Transmission {
    comes: Time,
    starts: Time,
    ends: Time,
}

/// Where the packets of a link come from.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Source {
    /// None do.
    Nowhere,
    /// All out of one link.
    Link(LinkId),
    /// Out of several, or from an endpoint.
    Several,
}

impl Source {
    fn or(self, other: Source) -> Source {
        if self == Source::Nowhere || self == other { other } else { Source::Several }
    }
}

impl Links {
    /// From now on computes links ahead of time that can be. `paths`: the nodes between which all packets travel, both
    /// ways, and whether they bear a code point, which is counted where they are.
    pub fn fuse(&mut self, ways: &Ways, paths: impl Iterator<Item = ([NodeId; 2], bool)>) {
        let mut sources = vec![Source::Nowhere; self.cold.len()];
        for ([src, dst], is_marked) in paths {
            for (from, to) in [(src, dst), (dst, src)] {
                self.walk(ways, (from, to), is_marked, &mut sources);
            }
        }
        let plain: Vec<bool> = (0..self.hot.len()).map(|index| self.is_plain(LinkId(index as u32))).collect();
        for (index, source) in sources.into_iter().enumerate() {
            let Source::Link(feeder) = source else { continue };
            if plain[index] && plain[feeder.0 as usize] {
                self.hot[index].sending = Sending::Ahead;
                self.set(feeder, flag::TRACKED);
                self[feeder].last_arrival = FEEDS;
            }
        }
        let ahead = vec![VecDeque::new(); self.cold.len()];
        self.fusion = Some(Box::new(Fusion { ways: ways.clone(), ahead, hops: 0 }));
    }

    /// Notes where each link on the way between two nodes has its packets from.
    fn walk(&self, ways: &Ways, (from, to): (NodeId, NodeId), is_marked: bool, sources: &mut [Source]) {
        let (mut node, mut source) = (from, Source::Several);
        // A way is a shortest path: it comes to each node once.
        while node != to
            && let Some(link) = ways.link(node, Addr::node(to.0))
        {
            let known = &mut sources[link.0 as usize];
            *known = known.or(if is_marked { Source::Several } else { source });
            (node, source) = (NodeId(self.hot(link).to), Source::Link(link));
        }
    }

    /// Whether a link is nothing but a drop-tail queue before a transmitter of one rate.
    fn is_plain(&self, id: LinkId) -> bool {
        self.hot(id).flags == 0 && self[id].recorded.is_none()
    }

    /// A packet sets out on a link with others behind it that are computed ahead. `insertion`: its arrival's.
    #[inline(never)]
    pub(super) fn fly_on(&mut self, id: LinkId, packet: PacketId, insertion: u64, cx: &mut Cx) {
        self.in_flight += 1;
        let HotLink { end, delay, to, .. } = self.hot[id.0 as usize];
        let (mut last, mut arrival, mut node, mut began) = (id, end + delay, to, cx.now);
        let number =
            |last, began, cx: &mut Cx| if last == id { insertion } else { cx.scheduler.reserve_for(began) };
        while let Some(next) = self.ahead_of(node, &packet, cx) {
            cx.pool[&packet].header.ttl -= 1;
            let Some(starts) = self.enter_ahead(next, (arrival, began), &packet, cx) else {
                let event = Event::Overflow { link: next, packet: packet.park() };
                let number = number(last, began, cx);
                return cx.scheduler.push_at(arrival, number, event);
            };
            let HotLink { end, delay, to, .. } = self.hot[next.0 as usize];
            (last, arrival, node, began) = (next, end + delay, to, starts);
        }
        let event = Event::Arrival { link: last, packet: packet.park() };
        let number = number(last, began, cx);
        cx.scheduler.push_at(arrival, number, event);
    }

    /// The next link of a packet that is to come to `node`, if it is computed ahead.
    #[inline(always)]
    fn ahead_of(&self, node: u32, packet: &PacketId, cx: &Cx) -> Option<LinkId> {
        let header = &cx.pool[packet].header;
        if header.dst == Addr::node(node) || header.ttl <= 1 {
            return None;
        }
        let next = self.fusion.as_ref()?.ways.link(NodeId(node), header.dst)?;
        (self.hot(next).sending == Sending::Ahead).then_some(next)
    }

    /// A packet comes to a link in the future, over one on which its transmission `began`; when its transmission starts
    /// here, unless the queue is full then.
    #[inline(always)]
    fn enter_ahead(
        &mut self,
        id: LinkId,
        (comes, began): (Time, Time),
        packet: &PacketId,
        cx: &Cx,
    ) -> Option<Time> {
        let fusion = self.fusion.as_mut()?;
        let (link, ahead) = (&mut self.hot[id.0 as usize], &mut fusion.ahead[id.0 as usize]);
        let mut start = Start::FromIdle;
        // At one instant the one happens first whose transmission began first, as in a run of single links.
        if link.end > comes || (link.end == comes && ahead.back().is_some_and(|last| last.starts > began)) {
            start = Start::FromQueue;
            if is_full(ahead, link.limit, (comes, began)) {
                return None;
            }
        }
        let starts = link.end.max(comes);
        let transmission = match link.ns_per_byte {
            0 => self.cold[id.0 as usize].transmission_time(packet, start, cx),
            ns => Duration::from_nanos(cx.pool[packet].wire_size().0 * u64::from(ns)),
        };
        link.end = starts + transmission;
        link.busy += transmission;
        link.offered += 1;
        fusion.hops += 1;
        if ahead.len() == ahead.capacity() {
            forget(ahead, cx.now);
        }
        ahead.push_back(Transmission { comes, starts, ends: link.end });
        Some(starts)
    }

    /// A packet comes to a link that is computed ahead, and finds its queue full.
    pub fn overflow(&mut self, id: LinkId, packet: PacketId, cx: &mut Cx) {
        self.in_flight -= 1;
        self.hot[id.0 as usize].offered += 1;
        cx.lose(packet, DropReason::QueueOverflow, Location::Link(id));
    }

    /// The run ends at `end`: takes back what was computed for a later time. How many packets came to links computed ahead.
    pub fn take_back(&mut self, end: Time) -> u64 {
        let Some(fusion) = &self.fusion else { return 0 };
        let mut hops = fusion.hops;
        for (link, ahead) in self.hot.iter_mut().zip(&fusion.ahead) {
            for late in ahead.iter().rev().take_while(|each| each.starts >= end) {
                link.busy = link.busy - late.ends.since(late.starts);
                let comes_late = u64::from(late.comes >= end);
                (link.offered, hops) = (link.offered - comes_late, hops - comes_late);
            }
        }
        hops
    }
}

/// Whether no more than `limit` packets may wait at a busy link, and so many do, when one comes over a link where its
/// transmission `began`.
fn is_full(ahead: &VecDeque<Transmission>, limit: u32, (comes, began): (Time, Time)) -> bool {
    let Some(oldest) = ahead.len().checked_sub(limit as usize) else { return false };
    let Some(waiting) = ahead.get(oldest) else { return true };
    let before = || oldest.checked_sub(1).and_then(|before| ahead.get(before));
    waiting.starts > comes || (waiting.starts == comes && before().is_some_and(|last| last.starts > began))
}

/// Forgets what no packet that is sent from now on can meet.
#[cold]
#[inline(never)]
fn forget(ahead: &mut VecDeque<Transmission>, now: Time) {
    let past = ahead.partition_point(|each| each.starts < now);
    ahead.drain(..past);
    // Otherwise the next look would come soon.
    ahead.reserve(ahead.len().max(8));
}
