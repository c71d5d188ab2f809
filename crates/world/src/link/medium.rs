//! Links that are stations on a medium: they send when it says so.

use super::{Link, Links, SharedMedium, Station, flag};
use crate::cx::Cx;
use crate::event::Event;
use crate::ids::{LinkId, Location};
use crate::probe::Stop;
use roamlab_packet::{DropReason, PacketId};
use roamlab_qdisc::Matching;
use roamlab_radio::{AnyMedium, Frame, Outcome};

impl Links {
    /// Adds a medium; its place.
    pub fn add_medium(&mut self, medium: AnyMedium) -> u32 {
        self.media.push(SharedMedium { medium, armed: None });
        self.media.len() as u32 - 1
    }

    /// Makes a link a station on a medium.
    pub fn join(&mut self, id: LinkId, medium: u32) {
        self.set(id, flag::STATION | flag::TRACKED);
        self[id].station = Some(Station { medium, offered: None });
    }

    /// The medium that a link is a station on.
    pub fn medium_of(&self, id: LinkId) -> Option<u32> {
        self[id].station.as_ref().map(|station| station.medium)
    }

    /// A medium's deadline may have come.
    pub fn medium_wake(&mut self, medium: u32, cx: &mut Cx) {
        let state = &mut self.media[medium as usize];
        state.armed = state.armed.filter(|armed| *armed > cx.now);
        while let Some(outcome) = self.media[medium as usize].medium.on_deadline(cx.now) {
            self.take_outcome(outcome, cx);
        }
        self.arm_medium(medium, cx);
    }

    /// Takes a packet in and offers the first one, unless one is offered already.
    pub(super) fn enqueue_at_station(
        &mut self,
        id: LinkId,
        packet: PacketId,
        (is_unusual, overtakes): (bool, bool),
        cx: &mut Cx,
    ) {
        if overtakes {
            self[id].overtaking.push_back(packet);
        } else {
            self.count(id, &packet, is_unusual, cx);
            self.put(id, packet, cx);
        }
        self.offer(id, cx);
    }

    /// Offers the next packet, if the station is free and one waits.
    pub(super) fn offer(&mut self, id: LinkId, cx: &mut Cx) {
        let Some(Station { medium, offered: None }) = self[id].station else { return };
        let urgent = self[id].overtaking.pop_front();
        let Some(packet) = urgent.or_else(|| self.next(id, cx.now, cx)) else { return };
        let link = &mut self[id];
        let (size, dst) = (cx.pool[&packet].wire_size(), cx.pool[&packet].header.dst);
        let rate = link.queue.as_ref().and_then(|queue| queue.rate(dst)).unwrap_or(link.rate);
        link.station = Some(Station { medium, offered: Some(packet) });
        self.media[medium as usize].medium.offer(Frame { station: id.0, size, rate }, cx.now);
        self.arm_medium(medium, cx);
    }

    /// Takes the offered packet back, if it is wanted and not on the air.
    pub(super) fn withdraw(&mut self, id: LinkId, wanted: &Matching<'_>, cx: &mut Cx) -> Option<PacketId> {
        let station = self.cold[id.0 as usize].station.as_mut()?;
        let is_wanted = station.offered.as_ref().is_some_and(|packet| wanted(&cx.pool[packet], &cx.pool));
        if !is_wanted || !self.media[station.medium as usize].medium.withdraw(id.0, cx.now) {
            return None;
        }
        station.offered.take()
    }

    fn take_outcome(&mut self, Outcome { station, started, arrived }: Outcome, cx: &mut Cx) {
        let id = LinkId(station);
        let offered = self[id].station.as_mut().and_then(|station| station.offered.take());
        let link = &mut self.hot[id.0 as usize];
        link.busy += cx.now.since(started);
        link.end = cx.now;
        if let Some(packet) = offered {
            cx.trace(&packet, Stop::LinkTxDone, Location::Link(id));
            if arrived {
                let insertion = cx.scheduler.reserve();
                self.track_from(id, packet, (started, insertion), cx);
            } else {
                cx.lose(packet, DropReason::FrameLoss, Location::Link(id));
            }
        }
        self.offer(id, cx);
    }

    /// Sets a medium's wake-up, if it must come earlier than the pending one.
    fn arm_medium(&mut self, medium: u32, cx: &mut Cx) {
        let state = &mut self.media[medium as usize];
        let Some(deadline) = state.medium.next_deadline() else { return };
        if state.armed.is_none_or(|armed| deadline < armed) {
            state.armed = Some(deadline);
            cx.scheduler.push(deadline, Event::Medium { medium });
        }
    }
}

impl Link {
    /// Whether it has offered a packet to its medium, or has it on the air.
    pub(super) fn offers(&self) -> bool {
        self.station.as_ref().is_some_and(|station| station.offered.is_some())
    }
}
