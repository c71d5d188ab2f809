//! IP and tunnels: the innermost packet of TCP or UDP.

use crate::link::{ethernet, payload, place};
use crate::tcp::{Segment, segment};
use etherparse::LaxIpSlice;
use std::net::IpAddr;

/// Tunnels in tunnels that are looked through.
pub const MOST_TUNNELS: usize = 8;
/// Protocol numbers of IP.
pub const TUNNELS: [u8; 2] = [4, 41];
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const GRE: u8 = 47;
const ESP: u8 = 50;
/// Ports of tunnels over UDP.
const GTP_U: u16 = 2152;
pub const VXLAN: u16 = 4789;
/// GRE's type of a bridged frame of Ethernet.
const BRIDGED: u16 = 0x6558;
/// GTP-U's message that carries a packet (TS 29.281, 7.3.3).
const G_PDU: u8 = 255;

/// The ends of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct End {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

/// The header of IP that flows need.
#[derive(Clone, Copy, Debug)]
pub struct Ip {
    /// IPv4's identification; 0 for IPv6.
    pub id: u16,
    /// The ECN field.
    pub ecn: u8,
}

/// A packet by its kind.
pub enum Packet {
    /// A segment of TCP.
    Tcp(End, End, Ip, Segment),
    /// A datagram of UDP, the bytes of its payload, and true if it begins as QUIC's long header does.
    Udp(End, End, u32, bool),
    /// A fragment behind the first one, without ports.
    Fragment,
    /// Encrypted as a whole.
    Opaque,
    /// Neither TCP nor UDP, or cut before their ports.
    Other,
}

/// The packet in `data`, of which `length` bytes were on the wire.
pub fn packet(data: &[u8], length: u32) -> Packet {
    let (mut data, mut length) = (data, length as usize);
    for _ in 0..=MOST_TUNNELS {
        let Ok((ip, _)) = LaxIpSlice::from_slice(data) else { return Packet::Other };
        let below = ip.payload();
        let before = place(data, below.payload);
        let (header, total, id, ecn, offset) = described(&ip, length);
        let body = total.saturating_sub(before);
        if below.fragmented && offset > 0 {
            return Packet::Fragment;
        }
        let inner = match below.ip_number.0 {
            TCP => {
                let ends = ends(header, below.payload);
                let Some(((from, to), segment)) = ends.zip(segment(below.payload, body)) else {
                    return Packet::Other;
                };
                return Packet::Tcp(from, to, Ip { id, ecn }, segment);
            }
            UDP => {
                let Some((from, to)) = ends(header, below.payload) else { return Packet::Other };
                match tunnelled(from.port, to.port, below.payload) {
                    Some(inner) => inner,
                    None => {
                        let content = below.payload.get(8..).unwrap_or(&[]);
                        return Packet::Udp(from, to, body.saturating_sub(8) as u32, is_quic(content));
                    }
                }
            }
            ESP => return Packet::Opaque,
            number if TUNNELS.contains(&number) => below.payload,
            GRE => match gre(below.payload) {
                Some(inner) => inner,
                None => return Packet::Other,
            },
            _ => return Packet::Other,
        };
        let passed = place(data, inner);
        (data, length) = (inner, total.saturating_sub(passed));
    }
    Packet::Other
}

/// Source and destination, total length, identification, ECN, and the offset of a fragment. The length is the IP header's;
/// that of super-segments above 64 KiB is 0 there, and then it is the one on the wire.
fn described(ip: &LaxIpSlice<'_>, length: usize) -> ((IpAddr, IpAddr), usize, u16, u8, u16) {
    let ends = (ip.source_addr(), ip.destination_addr());
    match ip {
        LaxIpSlice::Ipv4(ip) => {
            let header = ip.header();
            let total = match header.total_len() {
                0 => length,
                total => usize::from(total),
            };
            let offset = header.fragments_offset().value();
            (ends, total, header.identification(), header.ecn().value(), offset)
        }
        LaxIpSlice::Ipv6(ip) => {
            let header = ip.header();
            let total = match header.payload_length() {
                0 => length,
                below => usize::from(below) + 40,
            };
            // The offset is in an extension header. A first fragment begins with ports as a whole packet does.
            let offset = u16::from(ip.extensions().is_fragmenting_payload() && !is_first(ip));
            (ends, total, 0, header.traffic_class() & 3, offset)
        }
    }
}

fn is_first(ip: &etherparse::LaxIpv6Slice<'_>) -> bool {
    ip.extensions().clone().into_iter().all(|part| match part {
        etherparse::Ipv6ExtensionSlice::Fragment(part) => part.fragment_offset().value() == 0,
        _ => true,
    })
}

fn ends((from, to): (IpAddr, IpAddr), transport: &[u8]) -> Option<(End, End)> {
    let [a, b, c, d] = *transport.first_chunk()?;
    let ends = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    Some((End { address: from, port: ends.0 }, End { address: to, port: ends.1 }))
}

/// The IP packet in a datagram of UDP that is a tunnel's.
pub fn tunnelled(from: u16, to: u16, udp: &[u8]) -> Option<&[u8]> {
    let content = udp.get(8..)?;
    if to == GTP_U || from == GTP_U {
        return gtp(content);
    }
    if to == VXLAN {
        return ethernet(content.get(8..)?);
    }
    None
}

/// The packet behind a header of GTP-U and its extension headers (TS 29.281, 5.1 and 5.2).
fn gtp(data: &[u8]) -> Option<&[u8]> {
    let flags = *data.first()?;
    if flags >> 5 != 1 || flags & 0x10 == 0 || *data.get(1)? != G_PDU {
        return None;
    }
    if flags & 7 == 0 {
        return data.get(8..);
    }
    let mut next = *data.get(11)?;
    let mut rest = data.get(12..)?;
    // A header has at least 4 bytes, so this ends.
    while flags & 4 != 0 && next != 0 {
        let size = usize::from(*rest.first()?) * 4;
        next = *rest.get(size.checked_sub(1)?)?;
        rest = rest.get(size..)?;
    }
    Some(rest)
}

/// The IP packet behind a header of GRE (RFC 2784, 2890).
pub fn gre(data: &[u8]) -> Option<&[u8]> {
    let (header, kind) = gre_header(data)?;
    let inner = data.get(header..)?;
    if kind == BRIDGED { ethernet(inner) } else { payload(kind, inner) }
}

/// The length of a header of GRE behind which there is a frame of Ethernet.
pub fn bridged(data: &[u8]) -> Option<usize> {
    gre_header(data).filter(|(_, kind)| *kind == BRIDGED).map(|(header, _)| header)
}

/// The length of the header, and the type of its content.
fn gre_header(data: &[u8]) -> Option<(usize, u16)> {
    let [flags, version, high, low] = *data.first_chunk()?;
    if version & 7 != 0 {
        return None;
    }
    let optional = [0x80, 0x20, 0x10].iter().filter(|bit| flags & **bit != 0).count();
    Some((4 + 4 * optional, u16::from_be_bytes([high, low])))
}

/// True for a long header of QUIC, version 1 or 2 (RFC 9000, 17.2, and 9369).
pub fn is_quic(data: &[u8]) -> bool {
    let Some([first, version @ .., _]) = data.first_chunk::<6>() else { return false };
    first & 0xC0 == 0xC0 && [1, 0x6B33_43CF].contains(&u32::from_be_bytes(*version))
}
