//! Links that are stations on a medium: they send when the medium permits it.

use super::{Link, Links, Offered, SharedMedium, Station, flag};
use crate::context::Context;
use crate::event::Event;
use roamlab_engine::{Rng, Time};
use roamlab_packet::{Addr, DropReason, Packet, PacketId, PacketPool, Waiting};
use roamlab_qdisc::Matching;
use roamlab_radio::{AnyMedium, Frame, Role, Transmission, TxOutcome};
use roamlab_record::cause::CauseId;
use roamlab_record::ids::{LinkId, Location};

/// True if a frame on this link to this address, which began at this time, gets across to its receiver.
pub type GetsAcross<'a> = &'a dyn Fn(&Link, &Packet, Time) -> bool;

impl Links {
    /// Adds a medium; its place.
    pub fn add_medium(&mut self, medium: AnyMedium) -> u32 {
        self.media.push(SharedMedium { medium, armed: None, awake: false });
        self.media.len() as u32 - 1
    }

    /// A medium reports beacons and attempts that are not acknowledged.
    pub fn report(&mut self, medium: u32) {
        self.media[medium as usize].medium.report();
    }

    /// Media send their beacons from the start, not from the first frame on.
    pub fn start_beacons(&mut self, cx: &mut Context) {
        (0..self.media.len() as u32).for_each(|medium| self.arm_medium(medium, cx));
    }

    /// True if anything was on the air of a medium since then.
    pub fn was_busy(&self, medium: u32, since: Time) -> bool {
        self.media[medium as usize].medium.was_busy(since)
    }

    /// Makes a link a station on a medium, with its own random stream.
    pub fn join(&mut self, id: LinkId, medium: u32, role: Role, rng: Rng) {
        self.set(id, flag::STATION | flag::TRACKED);
        self[id].station = Some(Station { medium, offered: Offered::Nothing });
        self.media[medium as usize].medium.join(id.0, role, rng);
    }

    /// The medium that a link is a station on.
    pub fn medium_of(&self, id: LinkId) -> Option<u32> {
        self[id].station.as_ref().map(|station| station.medium)
    }

    /// A medium's deadline may have come: `decide` is to be asked until there is nothing, then `rest`.
    pub fn wake(&mut self, medium: u32, now: Time) {
        let state = &mut self.media[medium as usize];
        state.armed = state.armed.filter(|armed| *armed > now);
        state.awake = true;
    }

    /// Decision of the medium, if there is one.
    pub fn decide(&mut self, medium: u32, cx: &Context, gets_across: GetsAcross<'_>) -> Option<Transmission> {
        let Links { media, cold, .. } = self;
        let reached = |station: u32, started: Time| {
            let link = &cold[station as usize];
            let packet = link.station.as_ref().and_then(|station| station.offered.packet());
            packet.is_some_and(|packet| gets_across(link, &cx.pool[packet], started))
        };
        media[medium as usize].medium.on_deadline(cx.now, &reached)
    }

    /// Everything is decided that can be now.
    pub fn rest(&mut self, medium: u32, cx: &mut Context) {
        self.media[medium as usize].awake = false;
        self.arm_medium(medium, cx);
    }

    /// Offers the next packet, if the station is free and one waits.
    pub(super) fn offer(&mut self, id: LinkId, cx: &mut Context) {
        let Some(Station { medium, offered: Offered::Nothing }) = self[id].station else { return };
        let Some(packet) = self.next_frame(id, cx) else { return };
        let link = &mut self[id];
        let (size, dst) = (cx.pool[&packet].wire_size(), cx.pool[&packet].header.dst);
        let (management, broadcast) = (cx.pool[&packet].is_management(), cx.pool[&packet].is_for_all());
        let rate = link.queue.rate(dst).unwrap_or(link.rate);
        link.station = Some(Station { medium, offered: Offered::Packet(packet.into()) });
        let frame = Frame { station: id.0, size, rate, broadcast, management };
        self.media[medium as usize].medium.offer(frame, cx.now);
        self.arm_medium(medium, cx);
    }

    /// The next packet of a station that is free. Those for hosts that are away are held.
    fn next_frame(&mut self, id: LinkId, cx: &mut Context) -> Option<PacketId> {
        loop {
            let link = &mut self[id];
            let is_management = |packet: &Waiting| cx.pool[packet].is_management();
            let urgent = match link.paused {
                false => link.overtaking.pop_front(),
                true => {
                    let place = link.overtaking.iter().position(is_management)?;
                    link.overtaking.remove(place)
                }
            };
            let released = || link.associations.as_deref_mut().and_then(|hosts| hosts.power_save.next());
            let first = urgent.or_else(released).map(Waiting::take);
            let packet = first.or_else(|| self[id].next(id, cx.now, cx).0)?;
            let (dst, is_management) = (cx.pool[&packet].header.dst, cx.pool[&packet].is_management());
            let associations = self[id].associations.as_deref_mut();
            let Some(hosts) = associations.filter(|hosts| !is_management && hosts.power_save.is_away(dst))
            else {
                return Some(packet);
            };
            if let Some((oldest, announced)) = hosts.power_save.hold(dst, packet.into()) {
                cx.lose_by(oldest.take(), DropReason::BufferOverflow, Location::Link(id), announced);
            }
        }
    }

    /// A station sends management frames alone from now on, or all.
    pub fn pause(&mut self, id: LinkId, is_paused: bool, cx: &mut Context) {
        self[id].paused = is_paused;
        self.offer(id, cx);
    }

    /// True if a paused station has nothing to send.
    pub fn is_quiet(&self, id: LinkId, cx: &Context) -> bool {
        let link = &self[id];
        let is_management = |packet: &Waiting| cx.pool[packet].is_management();
        link.paused && !link.offers() && !link.overtaking.iter().any(is_management)
    }

    /// A base station holds frames for a host from now on, also one that it has offered and is not on the air.
    pub fn doze(&mut self, id: LinkId, host: Addr, cx: &mut Context) {
        let announced = cx.current_cause();
        let Some(hosts) = self[id].associations.as_deref_mut() else { return };
        if !hosts.power_save.doze(host, announced) {
            return;
        }
        let for_host = |packet: &Packet, _: &PacketPool| packet.header.dst == host && !packet.is_management();
        if let Some(packet) = self.withdraw(id, &for_host, cx) {
            if let Some(hosts) = self[id].associations.as_deref_mut() {
                hosts.power_save.put_back(host, packet.into());
            }
            self.offer(id, cx);
        }
    }

    /// A host is back: its frames that a base station holds are next.
    pub fn wake_host(&mut self, id: LinkId, host: Addr, cx: &mut Context) {
        let hosts = self[id].associations.as_deref_mut();
        if hosts.is_some_and(|hosts| hosts.power_save.wake(host)) {
            self.offer(id, cx);
        }
    }

    /// Takes the offered packet back, if it is wanted and not on the air.
    pub(super) fn withdraw(
        &mut self,
        id: LinkId,
        wanted: &Matching<'_>,
        cx: &mut Context,
    ) -> Option<PacketId> {
        let station = self.cold[id.0 as usize].station.as_mut()?;
        let is_wanted = station.offered.packet().is_some_and(|packet| wanted(&cx.pool[packet], &cx.pool));
        if !is_wanted || !self.media[station.medium as usize].medium.withdraw(id.0, cx.now) {
            return None;
        }
        station.offered.take(Offered::Nothing)
    }

    /// Carries out a transmission. If it has a new outcome: the destination of its packet, of a beacon all hosts; whether
    /// that is a management frame; and the packet, if it is lost.
    pub fn take_transmission(
        &mut self,
        Transmission { station, started, outcome, air, free }: Transmission,
        cx: &mut Context,
    ) -> Option<(Addr, bool, Option<PacketId>)> {
        let id = LinkId(station);
        if outcome == Some(TxOutcome::Beacon) {
            return Some((Addr::BROADCAST, false, None));
        }
        let offered = self[id].station.as_ref().and_then(|station| station.offered.packet());
        let frame = offered.map(|packet| &cx.pool[packet]);
        let frame = frame.map(|packet| (packet.header.dst, packet.is_management()));
        if outcome == Some(TxOutcome::Retried) {
            return frame.map(|(dst, management)| (dst, management, None));
        }
        let link = &mut self.hot[id.0 as usize];
        link.busy += air;
        link.end = cx.now;
        let after = if free { Offered::Nothing } else { Offered::Sent };
        let packet = self[id].station.as_mut().and_then(|station| station.offered.take(after));
        let mut lost = None;
        if let (Some(packet), Some(outcome)) = (packet, outcome) {
            cx.trace_sent(&packet, started, Location::Link(id));
            if outcome.is_loss() {
                lost = Some(packet);
            } else {
                let (hot, arrival) = (&self.hot[id.0 as usize], (started, cx.scheduler.reserve()));
                self.cold[id.0 as usize].track(hot, id, packet, arrival, cx);
            }
        }
        self.offer(id, cx);
        frame.map(|(dst, management)| (dst, management, lost))
    }

    /// Sets a medium's wake-up, if it must come earlier than the pending one.
    fn arm_medium(&mut self, medium: u32, cx: &mut Context) {
        let state = &mut self.media[medium as usize];
        let Some(deadline) = state.medium.next_deadline().filter(|_| !state.awake) else { return };
        // A decision that has been made is due now.
        let deadline = deadline.max(cx.now);
        if state.armed.is_none_or(|armed| deadline < armed) {
            state.armed = Some(deadline);
            cx.scheduler.push(deadline, Event::Medium { medium });
        }
    }
}

impl Link {
    /// Reason why the base station that sends on it has not associated a host; `None`: it has, or knows nothing of
    /// association.
    pub fn why_unassociated(&self, host: Addr) -> Option<CauseId> {
        self.associations.as_ref()?.why_absent(host)
    }

    /// True if it has offered a packet to its medium, or has it on the air.
    pub(super) fn offers(&self) -> bool {
        self.station.as_ref().is_some_and(|station| station.offered.packet().is_some())
    }
}
