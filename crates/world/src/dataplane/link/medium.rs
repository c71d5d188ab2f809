//! Links that are stations on a medium: they send when the medium permits it.

use super::{Link, Links, Offered, SharedMedium, Station, flag};
use crate::context::Context;
use crate::event::Event;
use roamlab_engine::{Rng, Time};
use roamlab_packet::{Addr, Packet, PacketId, Waiting};
use roamlab_qdisc::Matching;
use roamlab_radio::{AnyMedium, Fate, Frame, Loss, Outcome, Role};
use roamlab_record::ids::{LinkId, Location};

/// True if a frame on this link to this address, which began at this time, gets across to its receiver.
pub type GetsAcross<'a> = &'a dyn Fn(&Link, &Packet, Time) -> bool;

/// Result that an outcome has for a station's packet.
#[derive(Debug)]
pub enum Settled {
    /// Nothing new.
    Known,
    /// It is received: who it is for, and whether it is a management frame.
    Received(Addr, bool),
    /// It was not acknowledged, and will be sent again; whether it is a management frame.
    Unanswered(bool),
    /// It is lost, and why.
    Lost(PacketId, Loss),
    /// A beacon was sent.
    Beacon,
}

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
    pub fn decide(&mut self, medium: u32, cx: &Context, gets_across: GetsAcross<'_>) -> Option<Outcome> {
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
        let urgent = self[id].overtaking.pop_front().map(Waiting::take);
        let Some(packet) = urgent.or_else(|| self[id].next(id, cx.now, cx).0) else { return };
        let link = &mut self[id];
        let (size, dst) = (cx.pool[&packet].wire_size(), cx.pool[&packet].header.dst);
        let (management, broadcast) = (cx.pool[&packet].is_management(), cx.pool[&packet].is_for_all());
        let rate = link.queue.rate(dst).unwrap_or(link.rate);
        link.station = Some(Station { medium, offered: Offered::Packet(packet.into()) });
        let frame = Frame { station: id.0, size, rate, broadcast, management };
        self.media[medium as usize].medium.offer(frame, cx.now);
        self.arm_medium(medium, cx);
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

    /// Carries out an outcome.
    pub fn take_outcome(&mut self, outcome: Outcome, cx: &mut Context) -> Settled {
        let Outcome { station, started, fate, air, free } = outcome;
        let id = LinkId(station);
        match fate {
            Some(Fate::Beacon) => return Settled::Beacon,
            Some(Fate::Unanswered) => {
                let offered = self[id].station.as_ref().and_then(|station| station.offered.packet());
                return Settled::Unanswered(offered.is_some_and(|packet| cx.pool[packet].is_management()));
            }
            _ => {}
        }
        let link = &mut self.hot[id.0 as usize];
        link.busy += air;
        link.end = cx.now;
        let after = if free { Offered::Nothing } else { Offered::Sent };
        let packet = self[id].station.as_mut().and_then(|station| station.offered.take(after));
        let mut settled = Settled::Known;
        if let (Some(packet), Some(fate)) = (packet, fate) {
            cx.trace_sent(&packet, started, Location::Link(id));
            match fate {
                Fate::Received => {
                    let sent = &cx.pool[&packet];
                    settled = Settled::Received(sent.header.dst, sent.is_management());
                    let insertion = cx.scheduler.reserve();
                    self.cold[id.0 as usize].track(
                        &self.hot[id.0 as usize],
                        id,
                        packet,
                        (started, insertion),
                        cx,
                    );
                }
                Fate::Lost(loss) => settled = Settled::Lost(packet, loss),
                Fate::Beacon | Fate::Unanswered => unreachable!("no packet's end"),
            }
        }
        self.offer(id, cx);
        settled
    }

    /// Sets a medium's wake-up, if it must come earlier than the pending one.
    fn arm_medium(&mut self, medium: u32, cx: &mut Context) {
        let state = &mut self.media[medium as usize];
        let Some(deadline) = state.medium.next_deadline().filter(|_| !state.awake) else { return };
        if state.armed.is_none_or(|armed| deadline < armed) {
            state.armed = Some(deadline);
            cx.scheduler.push(deadline, Event::Medium { medium });
        }
    }
}

impl Link {
    /// True if it has offered a packet to its medium, or has it on the air.
    pub(super) fn offers(&self) -> bool {
        self.station.as_ref().is_some_and(|station| station.offered.packet().is_some())
    }
}
