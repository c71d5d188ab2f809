//! Flows that a base station helps, on its air link: their data enters the link, and their acknowledgements come from the host.

use super::{Helped, Links, flag};
use crate::context::Context;
use crate::event::Event;
use roamlab_engine::Time;
use roamlab_mobility::snoop::{Params, Reaction, Snoop};
use roamlab_packet::{Addr, FlowId, PacketId, Snapshot};
use roamlab_record::ids::LinkId;

impl Helped {
    /// The local timer has an event, if it runs.
    fn watch(&mut self, link: LinkId, flow: FlowId, cx: &mut Context) {
        let Some(deadline) = self.snoop.deadline() else { return };
        if self.alarm.is_none_or(|alarm| deadline < alarm) {
            self.alarm = Some(deadline);
            cx.scheduler.push(deadline, Event::LocalTimer { link, flow });
        }
    }
}

impl Links {
    /// The base station at the beginning of an air link helps a flow to a host.
    pub fn help(&mut self, id: LinkId, (flow, host): (FlowId, Addr), params: &Params) {
        let helped = Helped { host, snoop: Snoop::new(params.clone()), alarm: None };
        self[id].helped.get_or_insert_default().flows.insert(flow, helped);
        self.set(id, flag::HELPED);
    }

    fn helped(&mut self, id: LinkId, flow: FlowId) -> Option<&mut Helped> {
        self[id].helped.as_mut()?.flows.get_mut(&flow)
    }

    /// The host of a flow that is helped at an air link.
    pub fn helped_host(&mut self, id: LinkId, flow: FlowId) -> Option<Addr> {
        self.helped(id, flow).map(|helped| helped.host)
    }

    /// True if the packet is data for the host of a flow that the base station helps.
    pub(super) fn is_helped(&mut self, id: LinkId, packet: &PacketId, cx: &Context) -> bool {
        let packet = &cx.pool[packet];
        let is_data = packet.is_tcp() && packet.payload() > 0;
        is_data && self.helped(id, packet.flow).is_some_and(|helped| helped.host == packet.header.dst)
    }

    /// Data of such a flow enters the link. A segment for which the queue loses a packet is not kept: congestion must show.
    pub(super) fn enter_helped(&mut self, id: LinkId, packet: PacketId, cx: &mut Context) {
        let (flow, seq) = (cx.pool[&packet].flow, cx.pool[&packet].seq());
        let (segment, inside) = (cx.pool.snapshot(&packet), cx.pool.census().inside());
        self.enter(id, packet, cx);
        let is_full = cx.pool.census().inside() < inside;
        let Some(helped) = self.helped(id, flow) else { return };
        match is_full {
            true => helped.snoop.on_full_queue(seq),
            false => helped.snoop.on_data(cx.now, seq, segment),
        }
        helped.watch(id, flow, cx);
    }

    /// An acknowledgement without data comes from a host: the next segment that it expects, and its window. True if it ends
    /// at the base station.
    pub fn suppresses(
        &mut self,
        id: LinkId,
        (flow, host): (FlowId, Addr),
        (ack, window): (u32, u32),
        cx: &mut Context,
    ) -> bool {
        let Some(helped) = self.helped(id, flow).filter(|helped| helped.host == host) else { return false };
        let reaction = helped.snoop.on_ack(cx.now, ack, window);
        helped.watch(id, flow, cx);
        let resent = match reaction {
            Reaction::Forward => return false,
            Reaction::Suppress => None,
            Reaction::Resend(segment) => Some(segment),
        };
        let keeps = helped.snoop.relies_on_kept(ack);
        if let Some(flows) = self[id].helped.as_mut().filter(|_| !keeps) {
            let law = format!("an acknowledgement of {ack} is suppressed, and the segment is not kept");
            flows.broken.get_or_insert((law, cx.now));
        }
        self.resend(id, resent, cx);
        true
    }

    /// The local timer of a base station for a flow may have expired.
    pub fn local_timer(&mut self, id: LinkId, flow: FlowId, cx: &mut Context) {
        let Some(helped) = self.helped(id, flow) else { return };
        helped.alarm = helped.alarm.filter(|&alarm| alarm > cx.now);
        let resent = helped.snoop.on_deadline(cx.now);
        helped.watch(id, flow, cx);
        self.resend(id, resent, cx);
    }

    /// A copy of a segment goes before all that waits for the air.
    fn resend(&mut self, id: LinkId, segment: Option<Snapshot>, cx: &mut Context) {
        let Some(segment) = segment else { return };
        let copy = cx.pool.restore(segment);
        self.enter_again(id, copy, cx);
    }

    /// A host leaves: the state of its flows at the air link is lost.
    pub fn forget_helped(&mut self, id: LinkId, host: Addr) {
        let Some(helped) = &mut self[id].helped else { return };
        helped.flows.values_mut().filter(|flow| flow.host == host).for_each(|flow| flow.snoop.forget());
    }

    /// The first law that help for a flow has violated, and when.
    pub fn helped_violation(&mut self) -> Option<(String, Time)> {
        self.cold.iter_mut().find_map(|link| link.helped.as_mut()?.broken.take())
    }
}
