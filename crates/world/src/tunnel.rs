//! IP-in-IP tunnels (RFC 2003): one outer header, ToS copied both ways.

use crate::cx::{Cx, Place};
use crate::probe::Stop;
use roamlab_engine::Bytes;
use roamlab_packet::{Addr, IpHeader, PacketId};

/// Puts the packet into a tunnel; gives it back as the error if it is in too many tunnels already.
///
/// The ToS octet of the header inside is copied outwards (RFC 2983 §4, uniform model).
pub fn encap(
    packet: PacketId,
    (src, dst): (Addr, Addr),
    overhead: Bytes,
    place: Place,
    cx: &mut Cx,
) -> Result<PacketId, PacketId> {
    let tos = cx.pool[&packet].header().tos;
    let outer = IpHeader { overhead: overhead.0 as u16, ..IpHeader::new(src, dst, tos) };
    if !cx.pool[&packet].encapsulate(outer) {
        return Err(packet);
    }
    cx.trace(&packet, Stop::TunnelEncap, place);
    Ok(packet)
}

/// Takes the packet out of its outermost tunnel; the ToS octet is copied inwards, so a mark set on the way
/// survives. Returns the tunnel header.
pub fn decap(packet: &PacketId, place: Place, cx: &mut Cx) -> Option<IpHeader> {
    let outer = cx.pool[packet].decapsulate()?;
    cx.pool[packet].header_mut().tos = outer.tos;
    cx.trace(packet, Stop::TunnelDecap, place);
    Some(outer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::NodeId;
    use roamlab_engine::Time;
    use roamlab_packet::{Body, Dscp, Ecn, FlowId, Packet, Tos, UdpHeader};

    const HERE: Place = Place::Node(NodeId(0));
    const ENDS: (Addr, Addr) = (Addr::new(3, 0), Addr::new(4, 0));

    fn packet(tos: Tos, cx: &mut Cx) -> PacketId {
        let inner = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), tos);
        cx.pool.create(Packet::new(FlowId(0), inner, Bytes(512), Time::ZERO, Body::Udp(UdpHeader::default())))
    }

    #[test]
    fn the_type_of_service_is_copied_outwards_and_inwards() {
        let mut cx = Cx::default();
        let marked = Tos::default().with_dscp(Dscp::FORWARDED).with_ecn(Ecn::Ect0);
        let packet = encap(packet(marked, &mut cx), ENDS, Bytes(20), HERE, &mut cx).unwrap();
        assert_eq!((cx.pool[&packet].header().tos, cx.pool[&packet].wire_size()), (marked, Bytes(532)));
        let congested = Tos::default().with_ecn(Ecn::Ce);
        cx.pool[&packet].header_mut().tos = congested;
        assert_eq!(cx.pool[&packet].inner.tos, marked, "on the way only the outer header changes");
        assert_eq!(decap(&packet, HERE, &mut cx).map(|outer| (outer.src, outer.dst)), Some(ENDS));
        assert_eq!(cx.pool[&packet].inner.tos, congested, "the way's marks, set or cleared, survive");
        assert_eq!(decap(&packet, HERE, &mut cx), None);
    }

    #[test]
    fn a_packet_in_too_many_tunnels_comes_back() {
        let mut cx = Cx::default();
        let mut packet = packet(Tos::default(), &mut cx);
        let mut depth = 0;
        packet = loop {
            match encap(packet, ENDS, Bytes(20), HERE, &mut cx) {
                Ok(deeper) => packet = deeper,
                Err(refused) => break refused,
            }
            depth += 1;
        };
        assert_eq!((depth, cx.pool[&packet].wire_size()), (3, Bytes(512 + 60)));
    }
}
