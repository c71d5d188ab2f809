//! The bytes of a packet's headers, for capture files. Payloads are zeros that are not written; all checksums include
//! these zeros.
//!
//! IPv4 (RFC 791), TCP (RFC 9293) with the options that a header has, UDP (RFC 768). The overhead of a tunnel header
//! selects its form: IP in IP (20 B, RFC 2003), GTP-U over UDP (36 B, 3GPP TS 29.281 §5.1), IPv6 around it (40 B, RFC
//! 2473). A header of 0 B has no bytes; one of any other size is written as IP in IP.

use crate::addr::Addr;
use crate::header::{IpHeader, TcpFlags, Tos};

/// Content behind the innermost IP header.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// A TCP segment.
    Tcp(Segment<'a>),
    /// A UDP datagram: its source and destination ports, the bytes that its payload begins with, and the zeros behind them.
    Udp([u16; 2], &'a [u8], usize),
}

/// A TCP segment as on the wire, with numbers of bytes.
#[derive(Clone, Debug, Default)]
pub struct Segment<'a> {
    /// Source and destination ports.
    pub ports: [u16; 2],
    /// Number of the first byte.
    pub seq: u32,
    /// Number of the byte expected next.
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// Window, as in the field.
    pub window: u16,
    /// Options, at most 40 bytes; a number of them that is not a multiple of four is filled up.
    pub options: &'a [u8],
    /// Bytes of the payload.
    pub payload: usize,
}

/// Fields that the TCP headers of a flow have in common.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct TcpFields {
    /// Payload of a segment.
    pub segment: u32,
    /// Segment 0 is a SYN.
    pub has_syn: bool,
    /// The receiver has a SYN too.
    pub three_way: bool,
    /// The receiver sends blocks of SACK.
    pub sack: bool,
    /// The shift of the receiver's window, if SYNs offer one (RFC 7323 §2).
    pub shift: Option<u8>,
}

/// The sizes of headers in bytes.
const IPV4: usize = 20;
const IPV6: usize = 40;
const UDP: usize = 8;
const TCP: usize = 20;
const GTP_U: usize = 8;

/// The longest datagram whose length fits into the IPv4 header.
const LONGEST: usize = 65_535;

/// GTP-U's port (3GPP TS 29.281 §4.4.2.3).
const GTP_U_PORT: u16 = 2152;

/// Protocol numbers.
mod protocol {
    pub(super) const IPV4: u8 = 4;
    pub(super) const TCP: u8 = 6;
    pub(super) const UDP: u8 = 17;
    pub(super) const IPV6: u8 = 41;
}

/// The form of a tunnel header.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Form {
    IpInIp,
    GtpU,
    Ipv6,
}

impl Form {
    fn of(overhead: u16) -> Option<Form> {
        match overhead {
            0 => None,
            36 => Some(Form::GtpU),
            40 => Some(Form::Ipv6),
            _ => Some(Form::IpInIp),
        }
    }

    const fn size(self) -> usize {
        match self {
            Form::IpInIp => IPV4,
            Form::GtpU => IPV4 + UDP + GTP_U,
            Form::Ipv6 => IPV6,
        }
    }
}

/// Appends the bytes of a packet with these headers, the outermost first, except the zeros at its end; `id`:
/// what its IPv4 headers are identified by. The length of the packet with its zeros, which is cut to the
/// longest length of IPv4.
pub fn write(out: &mut Vec<u8>, headers: &[IpHeader], id: u16, content: &Content<'_>) -> usize {
    let Some((inner, outer)) = headers.split_last() else { return 0 };
    let forms: Vec<(Form, &IpHeader)> =
        outer.iter().filter_map(|header| Some((Form::of(header.overhead)?, header))).collect();
    let room = LONGEST - forms.iter().map(|(form, _)| form.size()).sum::<usize>() - IPV4;
    let (transport, length) = transport(inner, content, room);
    let kind = match content {
        Content::Tcp(_) => protocol::TCP,
        Content::Udp(..) => protocol::UDP,
    };
    let mut left = forms.iter().map(|(form, _)| form.size()).sum::<usize>() + IPV4 + length;
    let whole = left;
    for (place, (form, header)) in forms.iter().enumerate() {
        let inside = match forms.get(place + 1) {
            Some((Form::Ipv6, _)) => protocol::IPV6,
            _ => protocol::IPV4,
        };
        match form {
            Form::IpInIp => ipv4(out, header, id, inside, left),
            Form::Ipv6 => ipv6(out, header, inside, left - IPV6),
            Form::GtpU => {
                ipv4(out, header, id, protocol::UDP, left);
                // The checksum 0 means that there is none (3GPP TS 29.281 §4.4.2.0 leaves it to the sender).
                for word in [GTP_U_PORT, GTP_U_PORT, (left - IPV4) as u16, 0] {
                    out.extend(word.to_be_bytes());
                }
                out.extend([0x30, 0xff]); // version 1, no options; G-PDU
                out.extend(((left - form.size()) as u16).to_be_bytes());
                out.extend(inner.dst.octets()); // the tunnel is named by the host that it leads to
            }
        }
        left -= form.size();
    }
    ipv4(out, inner, id, kind, left);
    out.extend(transport);
    whole
}

/// The TCP segment behind an IPv4 header, and the length of both headers; `None` if these bytes are no such
/// headers. Bytes behind them may be missing.
pub fn read(bytes: &[u8]) -> Option<(Segment<'_>, usize)> {
    let word = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let number = |at: usize| Some(u32::from(word(at)?) << 16 | u32::from(word(at + 2)?));
    let ip = usize::from(bytes.first()? & 15) * 4;
    if bytes[0] >> 4 != 4 || ip < IPV4 || *bytes.get(9)? != protocol::TCP {
        return None;
    }
    let headers = ip + usize::from(bytes.get(ip + 12)? >> 4) * 4;
    let segment = Segment {
        ports: [word(ip)?, word(ip + 2)?],
        seq: number(ip + 4)?,
        ack: number(ip + 8)?,
        flags: flags_of(*bytes.get(ip + 13)?),
        window: word(ip + 14)?,
        options: bytes.get(ip + TCP..headers)?,
        payload: usize::from(word(2)?).checked_sub(headers)?,
    };
    Some((segment, headers))
}

/// Source and destination of an IPv4 packet, its octet of the type of service and its length; `None` if these bytes are no such
/// packet, or not the whole of one.
pub fn addressed(bytes: &[u8]) -> Option<([[u8; 4]; 2], Tos)> {
    let header = bytes.first_chunk::<IPV4>()?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let address = |at: usize| header[at..].first_chunk().copied();
    let is_whole = header[0] >> 4 == 4 && length == bytes.len();
    is_whole.then_some(([address(12)?, address(16)?], Tos(header[1])))
}

/// Writes the octet of the type of service into an IPv4 header, and keeps its checksum right.
pub fn remark(bytes: &mut [u8], tos: Tos) {
    let old = u16::from_be_bytes([bytes[0], bytes[1]]);
    let new = u16::from_be_bytes([bytes[0], tos.0]);
    // RFC 1624 §3, equation 3.
    let sum = u32::from(!u16::from_be_bytes([bytes[10], bytes[11]])) + u32::from(!old) + u32::from(new);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    bytes[1] = tos.0;
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// An IPv4 header of a datagram of `length` bytes.
fn ipv4(out: &mut Vec<u8>, header: &IpHeader, id: u16, protocol: u8, length: usize) {
    let start = out.len();
    out.extend([0x45, header.tos.0]);
    out.extend((length as u16).to_be_bytes());
    out.extend(id.to_be_bytes());
    out.extend([0, 0, header.ttl, protocol, 0, 0]);
    out.extend(header.src.octets());
    out.extend(header.dst.octets());
    let sum = checksum(0, &out[start..]);
    out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
}

/// An IPv6 header before `length` bytes. Addresses are the IPv4 ones behind a prefix of our own network (RFC
/// 4193).
fn ipv6(out: &mut Vec<u8>, header: &IpHeader, protocol: u8, length: usize) {
    out.extend([0x60 | header.tos.0 >> 4, header.tos.0 << 4, 0, 0]);
    out.extend((length as u16).to_be_bytes());
    out.extend([protocol, header.ttl]);
    for addr in [header.src, header.dst] {
        out.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        out.extend(addr.octets());
    }
}

/// Bytes behind the IP header, without its zeros; its length with them, `room` at most.
fn transport(ip: &IpHeader, content: &Content<'_>, room: usize) -> (Vec<u8>, usize) {
    let mut out = Vec::with_capacity(64);
    let (length, kind, place) = match content {
        Content::Tcp(segment) => {
            for port in segment.ports {
                out.extend(port.to_be_bytes());
            }
            out.extend(segment.seq.to_be_bytes());
            out.extend(segment.ack.to_be_bytes());
            let options = segment.options.len().next_multiple_of(4);
            let accurate_ecn = u8::from(segment.flags.has(TcpFlags::AE)); // RFC 9768 §3.1: in the octet of the data offset
            out.extend([((TCP + options) << 2) as u8 | accurate_ecn, flag_bits(segment.flags)]);
            out.extend(segment.window.to_be_bytes());
            out.extend([0, 0, 0, 0]); // checksum, urgent pointer
            out.extend(segment.options);
            out.resize(TCP + options, 0); // a zero ends the list of options
            ((TCP + options + segment.payload).min(room), protocol::TCP, 16)
        }
        Content::Udp(ports, begins, zeros) => {
            let length = (UDP + begins.len() + zeros).min(room);
            for word in [ports[0], ports[1], length as u16, 0] {
                out.extend(word.to_be_bytes());
            }
            out.extend(begins.iter().take(length - UDP));
            (length, protocol::UDP, 6)
        }
    };
    let mut pseudo = Vec::with_capacity(12);
    pseudo.extend(ip.src.octets());
    pseudo.extend(ip.dst.octets());
    pseudo.extend([0, kind]);
    pseudo.extend((length as u16).to_be_bytes());
    let sum = match checksum(sum(0, &pseudo), &out) {
        0 if kind == protocol::UDP => 0xffff, // 0 would mean that there is none
        sum => sum,
    };
    out[place..place + 2].copy_from_slice(&sum.to_be_bytes());
    (out, length)
}

/// Position of the flags in a TCP header.
const FLAG_PLACES: [(TcpFlags, u8); 6] = [
    (TcpFlags::FIN, 0),
    (TcpFlags::SYN, 1),
    (TcpFlags::PSH, 3),
    (TcpFlags::ACK, 4),
    (TcpFlags::ECE, 6),
    (TcpFlags::CWR, 7),
];

fn flag_bits(flags: TcpFlags) -> u8 {
    FLAG_PLACES.into_iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, place)| 1 << place).sum()
}

fn flags_of(bits: u8) -> TcpFlags {
    let set = FLAG_PLACES.into_iter().filter(|(_, place)| bits & 1 << place != 0);
    set.fold(TcpFlags::default(), |flags, (flag, _)| flags.with(flag))
}

impl Segment<'_> {
    /// The blocks of the SACK option (RFC 2018 §3), in bytes.
    pub fn sacks(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut rest = self.options;
        let mut found: &[u8] = &[];
        while let [kind, after @ ..] = rest {
            let length = match kind {
                0 => break,
                1 => 1,
                _ => usize::from(after.first().copied().unwrap_or(2)).max(2),
            };
            if *kind == 5 {
                found = rest.get(2..length).unwrap_or(&[]);
            }
            rest = rest.get(length..).unwrap_or(&[]);
        }
        let number = |edge: &[u8]| edge.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
        found.chunks_exact(8).map(move |block| (number(&block[..4]), number(&block[4..])))
    }
}

/// The sum of 16-bit words, the last of which may lack a byte.
fn sum(start: u32, bytes: &[u8]) -> u32 {
    bytes.chunks(2).fold(start, |sum, pair| {
        sum + u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))
    })
}

/// The Internet checksum (RFC 1071).
fn checksum(start: u32, bytes: &[u8]) -> u16 {
    let mut sum = sum(start, bytes);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

impl Addr {
    /// The IPv4 address that it is shown as.
    pub fn octets(self) -> [u8; 4] {
        if self == Addr::BROADCAST {
            return [255; 4];
        }
        let [_, high, middle, low] = (self.number() as u32).to_be_bytes();
        [if self.is_mobile() { 11 } else { 10 }, high, middle, low]
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
