//! UDP (RFC 768): numbered datagrams.

use crate::endpoints::{Arrival, Endpoints, FlowPacket, StraightPath};
use crate::family::Setting;
use crate::parameters::{Data, Parameters};
use roamlab_congestion::{PathPolicy, SpecError};
use roamlab_engine::{Bytes, Packets, Time};
use roamlab_packet::{Ecn, Format, Receipt, SeqSet, Side, UdpHeader};
use roamlab_tcp::Profiles;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// UDP. It has no parameters.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UdpSpec {}

pub(crate) use UdpSpec as Spec;

/// Bytes of the IP and UDP headers of a datagram.
const HEADERS: u64 = 28;

/// The two ends of a flow of datagrams.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    sender: UdpSender,
    receiver: UdpReceiver,
}

/// The ends of a flow.
pub(crate) fn ends(_spec: &UdpSpec, _setting: &Setting<'_>) -> Option<Ends> {
    Some(Ends::default())
}

impl StraightPath for Ends {}

impl Endpoints for Ends {
    fn segment(&self) -> Option<Bytes> {
        None
    }

    fn offer(&mut self, _segments: Option<u64>) {}

    fn stop(&mut self) {}

    fn poll(&mut self, _side: Side, _now: Time) -> Option<FlowPacket> {
        None
    }

    fn deliver(&mut self, side: Side, packet: FlowPacket, _now: Time) -> Option<Arrival> {
        if packet.header.format != Format::Udp || side == Side::Sender {
            return None;
        }
        let receipt = self.receiver.on_datagram(&packet.header.into());
        Some(Arrival { has_data: true, ..Arrival::new(receipt, packet.size.0.saturating_sub(HEADERS)) })
    }

    fn stops(&self) -> [&'static str; 2] {
        ["udp.datagram", "udp.on_datagram"]
    }

    fn next_datagram(&self) -> Option<u32> {
        Some(self.sender.next_number())
    }

    fn datagram(&mut self, size: Bytes) -> Option<FlowPacket> {
        let (header, size) = self.sender.datagram(size);
        Some(FlowPacket { header: header.into(), size, ecn: Ecn::NotEct })
    }
}

impl Parameters for UdpSpec {
    fn check_data(&self, data: Data) -> Result<(), &'static str> {
        match data {
            Data::Packets | Data::Datagrams => Ok(()),
            Data::File => Err(
                "a file transfer needs TCP or QUIC: write `transport = { kind = \"tcp\", variant = \"reno\" }` too, or \
                 `{ kind = \"quic\" }`, or another `kind` of `app`, as \"cbr\"",
            ),
            Data::Requests => Err(
                "requests and responses need TCP or QUIC: write `transport = { kind = \"tcp\", variant = \"newreno\" }` too, \
                 or `{ kind = \"quic\" }`",
            ),
        }
    }

    fn check(&self, _profiles: Profiles<'_>) -> Result<Option<Bytes>, SpecError> {
        Ok(None)
    }

    fn check_policy(&self, _policy: PathPolicy, _profiles: Profiles<'_>) -> Result<(), String> {
        Err("a sender of datagrams has no window: write the transport \"tcp\" or \"quic\", or leave \
             `path_change` out"
            .into())
    }

    fn has_connection(&self) -> bool {
        false
    }

    fn load(&self, _profiles: Profiles<'_>) -> Option<(Bytes, Option<Packets>)> {
        None
    }
}

/// Numbers the datagrams of a flow.
#[derive(Clone, Debug, Default)]
pub struct UdpSender {
    next: u32,
}

impl UdpSender {
    /// The number of the next datagram.
    pub fn next_number(&self) -> u32 {
        self.next
    }

    /// A datagram of `size` bytes on the wire, headers included (as ns-2's `Agent/UDP` counts).
    pub fn datagram(&mut self, size: Bytes) -> (UdpHeader, Bytes) {
        let header = UdpHeader { seq: self.next };
        self.next += 1;
        (header, size)
    }
}

/// Tells first arrivals from copies, and late ones from those in order.
#[derive(Clone, Debug, Default)]
pub struct UdpReceiver {
    seen: SeqSet,
    highest_end: u32,
}

/// Datagrams below the highest one received by more than this are forgotten and taken for copies.
const MEMORY: u32 = 65_536;

impl UdpReceiver {
    /// A datagram arrived. UDP delivers in the order of arrival, so every fresh datagram counts as deliverable.
    pub fn on_datagram(&mut self, header: &UdpHeader) -> Receipt {
        let out_of_order = header.seq < self.highest_end;
        self.highest_end = self.highest_end.max(header.seq + 1);
        self.seen.forget_below(self.highest_end.saturating_sub(MEMORY));
        let fresh = self.seen.insert(header.seq);
        Receipt { fresh, in_order_segments: u32::from(fresh), out_of_order }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_not_fresh_and_a_late_datagram_is_out_of_order() {
        let (mut sender, mut receiver) = (UdpSender::default(), UdpReceiver::default());
        let headers: Vec<UdpHeader> = (0..3).map(|_| sender.datagram(Bytes(200)).0).collect();
        let receipt =
            |fresh, out_of_order| Receipt { fresh, in_order_segments: u32::from(fresh), out_of_order };
        assert_eq!(receiver.on_datagram(&headers[0]), receipt(true, false));
        assert_eq!(receiver.on_datagram(&headers[2]), receipt(true, false));
        assert_eq!(receiver.on_datagram(&headers[1]), receipt(true, true));
        assert_eq!(receiver.on_datagram(&headers[2]), receipt(false, true));
    }
}
