//! Units of applications' data: the time at which each is complete, and the component that waits for it.
//!
//! A datagram belongs to the unit that contains its number. Requests and responses are in flight one at a time, so
//! segments that arrive for the first time belong to the present one. A flow whose application has neither keeps no
//! state here.

use super::{Carrier, Flows};
use crate::context::Context;
use crate::endpoints::flow::Flow;
use crate::endpoints::units::{MOST_OPEN, Open};
use crate::event::Event;
use roamlab_engine::Bytes;
use roamlab_packet::FlowId;
use roamlab_record::UnitRow;
use roamlab_record::ids::Side;
use roamlab_traffic::{App, Arrived, Offer, Unit};

impl Flows {
    /// The application has offered something: `begun` is the unit that begins with it. What is left for the transport.
    pub(super) fn note_offer(
        &mut self,
        flow: u32,
        offer: Offer,
        begun: Option<Unit>,
        net: &mut impl Carrier,
    ) -> Option<Offer> {
        let row = begun.and_then(|unit| self.record_unit(flow, unit, net.cx()));
        let state = &mut self.flows[flow as usize];
        let Some(units) = &mut state.units else { return Some(offer) };
        match (offer, begun) {
            (Offer::Request { size, connect }, _) => {
                units.awaited = row;
                let partner = units.partner?;
                if connect {
                    self.connect_anew(flow, net);
                    self.connect_anew(partner, net);
                }
                self.expect_stream(partner, size, None);
                self.ask(partner, size, net);
                None
            }
            (Offer::Bytes(size), None) if units.partner.is_some() => {
                let row = units.awaited.take();
                self.expect_stream(flow, size, row);
                Some(offer)
            }
            (_, Some(Unit { packets, .. })) => {
                let Some(first) = state.transport.next_datagram() else { return Some(offer) };
                units.open.push_back(Open { first, packets, missing: packets, row });
                if units.open.len() > MOST_OPEN {
                    units.open.pop_front();
                }
                Some(offer)
            }
            _ => Some(offer),
        }
    }

    /// A data packet of a flow with units was delivered for the first time.
    #[cold]
    pub(super) fn unit_arrived(&mut self, flow: u32, seq: u32, cx: &mut Context) {
        let state = &mut self.flows[flow as usize];
        let Some(units) = &mut state.units else { return };
        let is_stream = units.partner.is_some();
        let holds = |open: &Open| is_stream || (open.first..open.first + open.packets).contains(&seq);
        let Some(place) = units.open.iter().position(holds) else { return };
        let open = &mut units.open[place];
        open.missing -= 1;
        if open.missing > 0 {
            return;
        }
        let row = units.open.remove(place).and_then(|open| open.row);
        let partner = units.partner;
        if let Some(row) = row {
            cx.probes.units.completed_ns[row] = cx.now.as_nanos() as i64;
        }
        let Some(partner) = partner else { return };
        let (asking, what) = match state.app {
            App::Requests(_) => (partner, Arrived::Request),
            _ => (flow, Arrived::Response),
        };
        let app = &mut self.flows[asking as usize].app;
        app.arrived(what, cx.now);
        if let Some(next) = app.next_wake() {
            cx.scheduler.push(next, Event::App { flow: asking });
        }
    }

    fn record_unit(&mut self, flow: u32, unit: Unit, cx: &mut Context) -> Option<usize> {
        if !cx.probes.wanted.units {
            return None;
        }
        let state = &self.flows[flow as usize];
        let (packets, first_seq) = match state.transport.next_datagram() {
            Some(first) => (unit.packets, first),
            None => (unit.bytes.0.div_ceil(state.transport.segment()?.0) as u32, 0),
        };
        let Unit { kind, group, number, bytes: Bytes(bytes), .. } = unit;
        let row = cx.probes.units.time_ns.len();
        let (time_ns, flow) = (cx.now, FlowId(flow));
        cx.probes.units.push(UnitRow {
            time_ns,
            flow,
            kind,
            group,
            number,
            bytes,
            packets,
            first_seq,
            completed_ns: -1,
        });
        Some(row)
    }

    /// This number of bytes of a stream is offered; the application awaits the last one.
    fn expect_stream(&mut self, flow: u32, size: Bytes, row: Option<usize>) {
        let state = &mut self.flows[flow as usize];
        let Some(segment) = state.transport.segment() else { return };
        let packets = size.0.div_ceil(segment.0) as u32;
        if let Some(units) = &mut state.units {
            units.open.push_back(Open { first: 0, packets, missing: packets, row });
        }
    }

    /// A request sets out, on its own flow.
    fn ask(&mut self, flow: u32, size: Bytes, net: &mut impl Carrier) {
        let state = &mut self.flows[flow as usize];
        let Some(segment) = state.transport.segment() else { return };
        if state.is_out() {
            return;
        }
        let now = net.cx().now;
        state.offered = now;
        state.stats.started.get_or_insert(now);
        state.offer_segments(size.0.div_ceil(segment.0));
        self.pump(flow, Side::Sender, net);
    }

    /// Both ends begin again; packets on the way for the old ones have no receiver.
    fn connect_anew(&mut self, flow: u32, net: &mut impl Carrier) {
        let Flow { transport, units, .. } = &mut self.flows[flow as usize];
        if let Some(units) = units {
            units.stale = net.cx().pool.last_serial();
            transport.connect_anew();
        }
    }
}
