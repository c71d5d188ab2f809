//! The simulation context: the clock, the pending events, the packets and the record.

use crate::control::messages::Messages;
use crate::event::Event;
use roamlab_engine::{Bytes, EventScheduler, Time};
use roamlab_packet::{Addr, DropReason, PacketId, PacketPool};
use roamlab_record::Part;
use roamlab_record::capture::{Capture, Sight};
use roamlab_record::cause::{Cause, CauseId, CurrentCause, follows_from_move, is_root};
use roamlab_record::ids::Location;
use roamlab_record::probe::Probes;
use roamlab_record::{PacketStep, Stop};

/// Notices to the sender of a flow.
#[derive(Copy, Clone, Debug)]
pub struct Announcement {
    /// The sender's address.
    pub to: Addr,
    /// The mobile host whose path has changed.
    pub host: Addr,
    /// Size of the message.
    pub size: Bytes,
    /// Number of the notice.
    pub notice: u32,
    /// Its cause.
    pub cause: CauseId,
}

/// A packet with a number in a radio bearer that a link, or a buffer without room, has lost.
#[derive(Copy, Clone, Debug)]
pub struct LostNumber {
    /// The link, or the node with the buffer.
    pub place: Location,
    /// Source and destination of the packet.
    pub ends: (Addr, Addr),
    /// Its number.
    pub number: u32,
    /// The row of its loss.
    pub cause: CauseId,
}

/// The context of an event.
#[derive(Debug, Default)]
pub struct Context {
    /// Now.
    pub now: Time,
    /// Pending events.
    pub scheduler: EventScheduler<Event>,
    /// All packets.
    pub pool: PacketPool,
    /// The contents of messages in flight.
    pub messages: Messages,
    /// The record.
    pub probes: Probes,
    /// The packets that go by chosen places, if that is wanted.
    pub capture: Option<Box<Capture>>,
    /// Losses of a queue discipline that are not yet recorded. A buffer in each queue takes 5 instructions more for a hop.
    pub(crate) dropped: Vec<(PacketId, DropReason)>,
    /// Losses in numbered radio bearers that these have not taken note of yet.
    pub lost_numbers: Vec<LostNumber>,
}

/// Between two events, when no loss is unrecorded.
impl Clone for Context {
    fn clone(&self) -> Context {
        let Context { now, scheduler, pool, messages, probes, capture, dropped, lost_numbers } = self;
        debug_assert!(dropped.is_empty(), "a loss is not recorded yet");
        Context {
            now: *now,
            scheduler: scheduler.clone(),
            pool: pool.clone(),
            messages: messages.clone(),
            probes: probes.clone(),
            capture: capture.clone(),
            dropped: Vec::new(),
            lost_numbers: lost_numbers.clone(),
        }
    }
}

impl Context {
    /// The packet is lost here, for a reason that is in the network itself.
    pub fn lose(&mut self, packet: PacketId, reason: DropReason, place: Location) {
        debug_assert!(is_root(reason) || !reason.loses_data(), "what led to {reason:?}?");
        let is_moved = follows_from_move(reason) && self.pool[&packet].is_moved();
        let cause = match is_moved {
            true => self.probes.causes.moved(self.mobile_end(&packet)),
            false => CauseId::NONE,
        };
        self.lose_by(packet, reason, place, cause);
    }

    /// A handover, of which the row `cause` is part, holds a packet up or redirects it.
    pub fn note_move(&mut self, packet: &PacketId, cause: CauseId) {
        self.pool[packet].set_moved();
        let host = self.mobile_end(packet);
        self.probes.causes.moves(host, cause);
    }

    /// The mobile host that a packet goes to, or else the end that it comes from.
    pub fn mobile_end(&self, packet: &PacketId) -> Addr {
        let (src, dst) = self.pool.ends(&self.pool[packet]);
        if dst.is_mobile() { dst } else { src }
    }

    /// The packet is lost here, for a reason that `cause` led to.
    pub fn lose_by(&mut self, packet: PacketId, reason: DropReason, place: Location, cause: CauseId) {
        self.trace_with(&packet, Stop::Drop, place, reason.name());
        let cause = self.probes.causes.lost(self.now, &self.pool[&packet], (reason, place), cause);
        self.packet_event(PacketStep::Drop, &packet, place, (0, cause));
        if let Some(message) = self.pool[&packet].message() {
            if let Some((at, slot)) = self.messages.lose(message, cause) {
                self.scheduler.push(at.max(self.now), Event::Repetition { slot });
            }
        } else if let Some(number) = self.pool.number(&self.pool[&packet])
            && (matches!(place, Location::Link(_)) || reason == DropReason::BufferOverflow)
        {
            self.lost_numbers.push(LostNumber {
                place,
                ends: self.pool.ends(&self.pool[&packet]),
                number,
                cause,
            });
        }
        let lost = self.pool.discard(packet, reason);
        self.probes.lost(self.now, lost, reason, (place, cause));
    }

    /// A copy of a packet, under its own serial number.
    pub fn duplicate(&mut self, original: &PacketId) -> PacketId {
        if let Some(message) = self.pool[original].message() {
            self.messages.copied(message);
        }
        self.pool.duplicate(original)
    }

    /// Adds a row to the causes.
    pub fn add_cause(&mut self, row: Cause) -> CauseId {
        self.probes.causes.add(self.now, row)
    }

    /// The row that leads to what happens now. Only for rare events: a plain data packet has none.
    pub fn current_cause(&mut self) -> CauseId {
        self.probes.causes.current(self.now)
    }

    /// Does something of which this is the cause.
    pub fn with_cause<T>(&mut self, cause: CurrentCause, what: impl FnOnce(&mut Context) -> T) -> T {
        let before = self.probes.causes.set_current(cause);
        let result = what(self);
        self.probes.causes.set_current(before);
        result
    }

    /// Records what happens to a packet, if the scenario wants packets recorded. `waiting`: packets in the queue that it
    /// is handed. `cause`: where the chain of a loss or a retransmission begins.
    pub fn packet_event(
        &mut self,
        event: PacketStep,
        packet: &PacketId,
        place: Location,
        (waiting, cause): (usize, CauseId),
    ) {
        if self.probes.wanted.packets {
            self.probes.packet(self.now, event, &self.pool[packet], place, (waiting, cause));
        }
    }

    /// Records and discards, in order, what a queue discipline has given up. `moved`: the hosts of packets in the queue
    /// that a handover has held up or redirected.
    #[inline]
    pub fn settle_drops(&mut self, place: Location, moved: &[Addr]) {
        if !self.dropped.is_empty() {
            self.settle(place, moved);
        }
    }

    fn settle(&mut self, place: Location, moved: &[Addr]) {
        let mut dropped = std::mem::take(&mut self.dropped);
        for (packet, reason) in dropped.drain(..) {
            match moved.last() {
                Some(&last) if !self.pool[&packet].is_moved() && follows_from_move(reason) => {
                    let own = self.mobile_end(&packet);
                    let host = if moved.contains(&own) { own } else { last };
                    let cause = self.probes.causes.moved(host);
                    self.lose_by(packet, reason, place, cause);
                }
                _ => self.lose(packet, reason, place),
            }
        }
        self.dropped = dropped;
    }

    /// Puts a stop of the packet's way into the trace, if this packet is traced.
    #[inline]
    pub fn trace(&mut self, packet: &PacketId, stop: Stop, place: Location) {
        self.trace_with(packet, stop, place, "");
    }

    /// The same with a word of detail.
    #[inline]
    pub fn trace_with(&mut self, packet: &PacketId, stop: Stop, place: Location, detail: &'static str) {
        if self.traces(packet) {
            self.note((stop, self.now), place, packet, detail);
        }
    }

    /// Puts the end of a transmission, which began at `started`, into the trace, if this packet is traced.
    #[inline]
    pub fn trace_sent(&mut self, packet: &PacketId, started: Time, place: Location) {
        if self.traces(packet) {
            self.note((Stop::LinkTxDone, started), place, packet, "");
        }
    }

    #[cold]
    fn note(
        &mut self,
        (stop, started): (Stop, Time),
        place: Location,
        packet: &PacketId,
        detail: &'static str,
    ) {
        if let Some(capture) = &mut self.capture {
            let message = self.pool[packet].message().map_or("", |id| self.messages.name(id));
            let sight = Sight { stop, place, started, packet, reason: detail, message };
            return capture.see(self.now, &sight, &self.pool);
        }
        self.probes.stop(self.now, stop, place, &self.pool[packet], detail);
    }

    /// Memory of the record.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        self.probes.parts().chain(self.capture.as_ref().map(|capture| capture.part()))
    }

    /// True if packets are recorded one by one, or one of them is traced.
    pub fn is_watching(&self) -> bool {
        self.probes.wanted.packets || self.is_tracing()
    }

    /// True if any packet is traced.
    pub fn is_tracing(&self) -> bool {
        self.probes.traced.is_some()
    }

    /// True if this packet, or the one it is a copy of, is traced.
    #[inline]
    pub fn traces(&self, packet: &PacketId) -> bool {
        let Some(serial) = self.probes.traced else { return false };
        let packet = &self.pool[packet];
        packet.serial == serial || self.pool.original(packet) == serial || self.capture.is_some()
    }
}

#[cfg(test)]
impl Context {
    /// The reasons of the losses so far.
    pub fn drop_reasons(&self) -> Vec<roamlab_packet::DropReason> {
        self.probes.drops.rows.iter().map(|row| row.reason).collect()
    }

    /// The packets that were lost so far.
    pub fn drop_serials(&self) -> Vec<u64> {
        self.probes.drops.rows.iter().map(|row| row.serial).collect()
    }
}
