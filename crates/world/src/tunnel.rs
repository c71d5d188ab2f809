//! IP-in-IP tunnels (RFC 2003): one outer header, ToS copied both ways.

use crate::cx::{Cx, Place};
use crate::probe::Stop;
use roamlab_engine::Bytes;
use roamlab_packet::{Addr, IpHeader, PacketId};

/// Puts the packet into a tunnel; gives it back as the error if it is in too many tunnels already.
///
/// The ToS octet of the header inside is copied outwards (RFC 2983 §4, uniform model).
pub fn encapsulate(
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
pub fn decapsulate(packet: &PacketId, place: Place, cx: &mut Cx) -> Option<IpHeader> {
    let outer = cx.pool[packet].decapsulate()?;
    cx.pool[packet].header_mut().tos = outer.tos;
    cx.trace(packet, Stop::TunnelDecap, place);
    Some(outer)
}
