//! Links whose rate and delay are from files: they send at the times of a recording of a real link, or with the rates of a
//! table, and their delays follow a file. Links with outages that hold packets.

use super::{Link, Links, Start, flag};
use crate::context::Context;
use crate::event::Event;
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_packet::PacketId;
use roamlab_radio::{Delays, FileTransmitter, Order, Outages, Player, Rates};
use roamlab_record::ids::LinkId;

/// A packet that a recorded link needs so long for, or that waits so long for another one, meets an outage. It is half of the shortest stall that
/// `roamlab why` reports: a recording that makes one leaves a row.
const OUTAGE: Duration = Duration::from_millis(100);

impl Links {
    /// Makes a link send as a file specifies. It takes the way of links whose rate is no whole number of nanoseconds a
    /// byte, so that others pay nothing for it.
    pub fn record_of(&mut self, id: LinkId, transmitter: FileTransmitter) {
        self.hot[id.0 as usize].ns_per_byte = 0;
        self[id].recorded = Some(Box::new(transmitter));
    }

    /// The rate that a queue discipline sees follows a table.
    pub fn follow_rates(&mut self, id: LinkId, rates: Player<Rates>) {
        self[id].steps.get_or_insert_default().rates = Some(rates);
    }

    /// The delay follows a file. Packets in flight are listed, as their order may be another one than that of sending.
    pub fn follow_delays(&mut self, id: LinkId, delays: Player<Delays>, order: Order) {
        self.set(id, flag::TRACKED);
        let link = &mut self[id];
        link.order = order;
        link.steps.get_or_insert_default().delays = Some(delays);
    }

    /// Links whose rate or delay follows a file begin with its first value.
    pub fn begin_steps(&mut self, cx: &mut Context) {
        for id in (0..self.cold.len() as u32).map(LinkId) {
            if let Some(steps) = &mut self[id].steps {
                steps.insertion = cx.scheduler.reserve();
                self.step(id, cx);
            }
        }
    }

    /// The rate or the delay of a link takes its value of this moment.
    pub fn step(&mut self, id: LinkId, cx: &mut Context) {
        let (link, hot) = (&mut self.cold[id.0 as usize], &mut self.hot[id.0 as usize]);
        let Some(steps) = &mut link.steps else { return };
        let (rate, delay, next) = steps.at(cx.now);
        link.rate = rate.unwrap_or(link.rate);
        hot.delay = delay.unwrap_or(hot.delay);
        if let Some(next) = next {
            cx.scheduler.push_once(next, steps.insertion, Event::LinkStep { link: id });
        }
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
        let least = |transmitter: &FileTransmitter| transmitter.outage(cx.pool[packet].wire_size(), OUTAGE);
        let (paused, least) = match &self.recorded {
            Some(transmitter) if time >= OUTAGE => (time, least(transmitter)),
            _ => (time - sending, OUTAGE),
        };
        if self.has_pauses() && paused >= least {
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
    use roamlab_radio::{Opportunities, RecordedTransmitter};
    use roamlab_record::ids::NodeId;
    use std::sync::Arc;

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
        let trace = Arc::new(Opportunities::read("5\n300\n").unwrap());
        links.record_of(id, FileTransmitter::Opportunities(RecordedTransmitter::new(trace)));
        let header = IpHeader::new(Addr::new(0, 0), Addr::new(1, 0), Tos::default());
        let body = UdpHeader::default();
        let packet = cx.pool.create(Packet::make(FlowId(0), header, Bytes(1500), cx.now, body));
        links.enqueue(id, packet, &mut cx);
        let known = [299, 300, 301].map(|millis| cx.probes.causes.outage_of(FlowId(0), ms(millis)).is_some());
        assert_eq!(known, [true, true, false]);
    }
}
