//! Links that send nothing for times: those of a recording of a real link, and those with outages that hold packets.

use super::{Link, Links, Start};
use crate::context::Context;
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_packet::PacketId;
use roamlab_radio::{Opportunities, Outages, RecordedTransmitter};
use roamlab_record::ids::LinkId;
use std::sync::Arc;

/// A packet that a recorded link needs so long for, or that waits so long for another one, meets an outage. It is half of the shortest stall that
/// `roamlab why` reports: a recording that makes one leaves a row.
const OUTAGE: Duration = Duration::from_millis(100);

impl Links {
    /// Makes a link send at the opportunities of a trace. It takes the way of links whose rate is no whole number of
    /// nanoseconds a byte, so that others pay nothing for it.
    pub fn record_of(&mut self, id: LinkId, trace: &Arc<Opportunities>) {
        self.hot[id.0 as usize].ns_per_byte = 0;
        self[id].recorded = Some(Box::new(RecordedTransmitter::new(Arc::clone(trace))));
    }

    /// Makes a link send nothing in outages. It takes the same way.
    pub fn hold_in(&mut self, id: LinkId, outages: Outages) {
        self.hot[id.0 as usize].ns_per_byte = 0;
        self[id].held = Some(Box::new(outages));
    }
}

impl Link {
    /// True if it sends nothing for times.
    pub(super) fn has_pauses(&self) -> bool {
        self.recorded.is_some() || self.held.is_some()
    }

    /// When a packet can be sent that takes no time and does not wait for others: now, or where an outage ends.
    pub(super) fn sends_from(&mut self, now: Time) -> Time {
        self.held.as_mut().map_or(now, |outages| outages.end_of(now, Duration::ZERO))
    }

    /// As [`Link::transmission_time`], of a packet that is sent now. An outage that it meets is noted.
    pub(super) fn own_transmission_time(
        &mut self,
        id: LinkId,
        packet: &PacketId,
        start: Start,
        cx: &mut Context,
    ) -> Duration {
        let sending = self.transmission_time(packet, start, cx);
        let time =
            self.held.as_mut().map_or(sending, |outages| outages.end_of(cx.now, sending).since(cx.now));
        let paused = if self.recorded.is_some() { time } else { time - sending };
        if self.has_pauses() && paused >= OUTAGE {
            cx.probes.causes.outage((cx.now, cx.now + time), &cx.pool[packet], id);
        }
        time
    }

    /// How long a packet of this size takes that is sent now, if the link is a recorded one.
    pub(super) fn recorded_time(&mut self, size: Bytes, start: Start, cx: &Context) -> Option<Duration> {
        let transmitter = self.recorded.as_mut()?;
        Some(transmitter.transmission_end(cx.now, size, start == Start::FromQueue).since(cx.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataplane::link::End;
    use crate::dataplane::tx_queue::TxQueue;
    use roamlab_engine::{Rate, Recording};
    use roamlab_packet::{Addr, FlowId, IpHeader, Packet, Tos, UdpHeader};
    use roamlab_record::ids::NodeId;

    #[test]
    fn an_outage_lasts_until_its_packet_is_sent() {
        let ms = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut cx = Context { now: ms(10), ..Context::default() };
        cx.probes.causes.begin();
        let mut links = Links::new(false);
        let way = (NodeId(0), End::Node(NodeId(1)));
        let id = links.add(
            "a->b".into(),
            way,
            (Rate::from_bps(1_000_000), Duration::ZERO),
            TxQueue::droptail(10, false),
        );
        links.record_of(id, &Arc::new(Opportunities::read("5\n300\n").unwrap()));
        let header = IpHeader::new(Addr::new(0, 0), Addr::new(1, 0), Tos::default());
        let body = UdpHeader::default();
        let packet = cx.pool.create(Packet::make(FlowId(0), header, Bytes(1500), cx.now, body));
        links.enqueue(id, packet, &mut cx);
        let known = [299, 300, 301].map(|millis| cx.probes.causes.outage_of(FlowId(0), ms(millis)).is_some());
        assert_eq!(known, [true, true, false]);
    }
}
