//! Headers of link layers: what they carry, and where it begins.

/// Types of Ethernet's payloads.
pub const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
const VLAN: [u16; 3] = [0x8100, 0x88A8, 0x9100];
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PPPOE: u16 = 0x8864;
/// A field up to this value is a length (IEEE 802.3).
const LONGEST_8023: u16 = 1500;
/// More tags than any network stacks.
const MOST_TAGS: usize = 8;
/// The packet type of Linux's cooked headers of what the host sent.
const SENT_BY_US: u16 = 4;
/// The one of what it received; other ones below `SENT_BY_US` are broadcasts and packets for others.
const FOR_US: u16 = 0;

/// The content of a frame.
pub struct Below<'a> {
    /// An IP packet, perhaps cut.
    pub ip: &'a [u8],
    /// True if by the header the host of the capture sent it, false if it is for this host.
    pub is_sent: Option<bool>,
    /// The interface, if the header names it.
    pub interface: Option<u32>,
}

/// Where a part of a slice begins in it.
pub fn place(whole: &[u8], part: &[u8]) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

/// The IP packet of a frame; `None`: it carries none. `Err`: the link type is not read.
pub fn ip_of(link: i32, data: &[u8]) -> Result<Option<Below<'_>>, ()> {
    let plain = |ip| Below { ip, is_sent: None, interface: None };
    let word = |at: usize| Some(u16::from_be_bytes(*data.get(at..)?.first_chunk()?));
    Ok(match link {
        1 => data.get(12..).and_then(typed).map(plain),
        12 | 14 | 101 | 228 | 229 => Some(plain(data)),
        0 | 108 => data.get(4..).filter(|_| is_ip_family(data)).map(plain),
        9 | 50 => ppp(data.strip_prefix(&[0xFF, 0x03]).unwrap_or(data)).map(plain),
        51 => data.get(6..).and_then(ppp).map(plain),
        113 => data.get(14..).and_then(typed).map(|ip| Below { ip, is_sent: sent(word(0)), interface: None }),
        276 => {
            let kind = data.get(10).map(|kind| u16::from(*kind));
            let interface =
                data.get(4..).and_then(|bytes| bytes.first_chunk().copied()).map(u32::from_be_bytes);
            let ip = word(0).and_then(|kind| payload(kind, data.get(20..)?));
            ip.map(|ip| Below { ip, is_sent: sent(kind), interface })
        }
        _ => return Err(()),
    })
}

/// The IP packet behind a header of Ethernet.
pub fn ethernet(data: &[u8]) -> Option<&[u8]> {
    data.get(12..).and_then(typed)
}

fn sent(kind: Option<u16>) -> Option<bool> {
    match kind? {
        SENT_BY_US => Some(true),
        FOR_US => Some(false),
        _ => None,
    }
}

/// The address families of null and loopback, in either byte order: 2 is IPv4; 10, 24, 28 and 30 are IPv6.
fn is_ip_family(data: &[u8]) -> bool {
    let Some(bytes) = data.first_chunk::<4>() else { return false };
    [u32::from_be_bytes(*bytes), u32::from_le_bytes(*bytes)]
        .iter()
        .any(|family| [2, 10, 24, 28, 30].contains(family))
}

/// The IP packet behind a type of two bytes.
fn typed(data: &[u8]) -> Option<&[u8]> {
    payload(u16::from_be_bytes(*data.first_chunk()?), data.get(2..)?)
}

/// The IP packet in a payload of this type.
pub fn payload(kind: u16, data: &[u8]) -> Option<&[u8]> {
    let (mut kind, mut data) = (kind, data);
    for _ in 0..MOST_TAGS {
        if kind == IPV4 || kind == IPV6 {
            return Some(data);
        } else if VLAN.contains(&kind) {
            kind = u16::from_be_bytes(*data.get(2..)?.first_chunk()?);
            data = data.get(4..)?;
        } else if MPLS.contains(&kind) {
            let is_last = data.get(2)? & 1 == 1;
            data = data.get(4..)?;
            if is_last {
                return matches!(data.first()? >> 4, 4 | 6).then_some(data);
            }
        } else if kind == PPPOE {
            return ppp(data.get(6..)?);
        } else if kind <= LONGEST_8023 {
            // LLC with SNAP: aa aa 03, three bytes of organisation, a type.
            let behind = data.strip_prefix(&[0xAA, 0xAA, 0x03])?.get(3..)?;
            kind = u16::from_be_bytes(*behind.first_chunk()?);
            data = behind.get(2..)?;
        } else {
            return None;
        }
    }
    None
}

/// The IP packet behind PPP's protocol field, which may be compressed to one byte.
fn ppp(data: &[u8]) -> Option<&[u8]> {
    match data {
        [0x00, 0x21 | 0x57, ip @ ..] | [0x21 | 0x57, ip @ ..] => Some(ip),
        _ => None,
    }
}
