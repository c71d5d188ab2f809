//! Packets of a radio bearer that do not wait behind others: signalling with separate grants, which takes no time of the
//! link, and packets that RLC sends again.

use super::{Apart, InFlight, Links, flag};
use crate::context::Context;
use crate::event::Event;
use roamlab_engine::Bytes;
use roamlab_packet::{Addr, PacketId};
use roamlab_record::Stop;
use roamlab_record::ids::{LinkId, Location};

impl Links {
    /// Signalling has separate grants on this link from now on.
    pub fn separate_signalling(&mut self, id: LinkId) {
        self.set(id, flag::APART);
    }

    /// A packet arrives after the delay of the link: it waits for the end of an outage alone, and takes no time of the link.
    pub(super) fn send_apart(&mut self, id: LinkId, packet: PacketId, cx: &mut Context) {
        let (sent, insertion) = (self[id].sends_from(cx.now), cx.scheduler.reserve());
        let earliest = sent + self.hot(id).delay;
        let apart = &mut self[id].apart;
        // After a cut of the delay nothing overtakes.
        let arrival = apart.back().map_or(earliest, |last| last.arrival.max(earliest));
        apart.push_back(Apart {
            arrival,
            flying: InFlight { started: cx.now, insertion, packet: packet.into() },
        });
        cx.scheduler.push_at(arrival, insertion, Event::TrackedArrival { link: id });
    }

    /// The packet of that kind which arrives now, if one does.
    pub(super) fn arrived_apart(&mut self, id: LinkId, cx: &mut Context) -> Option<InFlight> {
        let apart = &mut self[id].apart;
        apart.front().filter(|first| first.flying.insertion == cx.scheduler.current())?;
        apart.pop_front().map(|first| first.flying)
    }

    /// A packet that has been on the link, and was lost, is sent again before all that waits.
    pub fn enter_again(&mut self, id: LinkId, packet: PacketId, cx: &mut Context) {
        cx.trace(&packet, Stop::LinkEnqueue, Location::Link(id));
        self.overtake(id, packet, cx);
    }

    /// The packets, and bytes, in the queue that packets for `host` wait in.
    pub fn waiting_for(&self, id: LinkId, host: Addr) -> (usize, Bytes) {
        self[id].queue.waiting_for(host)
    }
}
