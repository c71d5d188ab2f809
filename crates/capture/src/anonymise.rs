//! Captures that may be given away: addresses replaced, payloads cut, comments and names left out.
//!
//! An address is replaced by another one with the same length of common prefixes (ipcrypt-pfx, draft-denis-ipcrypt), so that
//! networks stay networks. Addresses of layer 2 are zero. Options of IP and of TCP that may hold more than numbers of the
//! connection are no-operations. Checksums that were right are right for the packet with its payload, and wrong ones stay
//! wrong (RFC 1624). Times, ports, lengths and the order of packets stay.

use crate::fault::Fault;
use crate::link::{ip_of, place};
use crate::network::{GRE, MOST_TUNNELS, TCP, TUNNELS, UDP, VXLAN, bridged, gre, is_quic, tunnelled};
use crate::records::Records;
use crate::writer::Writer;
use ipcrypt_rs::IpcryptPfx;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// Options of TCP that stay: end, none, MSS, scale, permission and blocks of SACK, timestamps, AccECN (RFC 9768).
const KEPT_OPTIONS: [u8; 9] = [0, 1, 2, 3, 4, 5, 8, 172, 174];
/// Bytes of the two addresses at the begin of a frame of Ethernet.
const ETHERNET_ADDRESSES: usize = 12;
/// Bytes of a long header of QUIC up to its version (RFC 9000, 17.2).
const QUIC_VERSION: usize = 6;
/// Protocol numbers of IPv6's headers: options for each hop and for the destination, fragments.
const OPTIONS: [u8; 2] = [0, 60];
const FRAGMENT: u8 = 44;
/// The option that fills a header of options (RFC 8200, 4.2).
const PAD_N: u8 = 1;

/// Why a capture could not be made anonymous.
#[derive(Debug, thiserror::Error)]
pub enum Unwritten {
    /// The capture cannot be read.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The result cannot be written.
    #[error(transparent)]
    Output(#[from] std::io::Error),
}

/// The content of an anonymous capture.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Written {
    /// Packets that were written.
    pub packets: u64,
    /// Packets that carry no IP, for example ARP; they are left out.
    pub left_out: u64,
    /// Packets without a time; they are left out.
    pub untimed: u64,
    /// The file ends within a record.
    pub is_cut: bool,
}

/// Replaces addresses, in all captures the same one by the same one.
pub struct Addresses {
    cipher: IpcryptPfx,
    known: FxHashMap<IpAddr, IpAddr>,
}

impl Addresses {
    /// With a random key. `None`: its halves are equal, which no random key's are.
    pub fn new(key: [u8; 32]) -> Option<Addresses> {
        let (first, second) = key.split_at(16);
        (first != second).then(|| Addresses { cipher: IpcryptPfx::new(key), known: FxHashMap::default() })
    }

    /// The address in the place of this one.
    pub fn replace(&mut self, address: IpAddr) -> IpAddr {
        *self.known.entry(address).or_insert_with(|| match self.cipher.encrypt_ipaddr(address) {
            // An IPv6 address whose image is one of IPv4's mapped ones.
            IpAddr::V4(mapped) if address.is_ipv6() => IpAddr::V6(mapped.to_ipv6_mapped()),
            other => other,
        })
    }

    fn ipv4(&mut self, bytes: &mut [u8]) {
        if let Some(four) = bytes.first_chunk_mut::<4>()
            && let IpAddr::V4(new) = self.replace(IpAddr::V4(Ipv4Addr::from(*four)))
        {
            *four = new.octets();
        }
    }

    fn ipv6(&mut self, bytes: &mut [u8]) {
        if let Some(sixteen) = bytes.first_chunk_mut::<16>()
            && let IpAddr::V6(new) = self.replace(IpAddr::V6(Ipv6Addr::from(*sixteen)))
        {
            *sixteen = new.octets();
        }
    }
}

/// Writes a capture in pcapng that shows who sent how much and when, but not who and what.
///
/// # Errors
/// The capture cannot be read, or the result not be written.
pub fn anonymise(
    input: impl std::io::Read,
    output: impl Write,
    addresses: &mut Addresses,
) -> Result<Written, Unwritten> {
    let mut records = Records::new(input)?;
    let mut writer = Writer::new(output)?;
    let mut written = Written::default();
    while let Some(mut record) = records.next()? {
        let link = record.link;
        let Ok(kept) = anonymous(link, record.data, addresses) else {
            return Err(records.unread(link).into());
        };
        match kept {
            Some(frame) => {
                record.data = &frame;
                writer.packet(&record)?;
                written.packets += 1;
            }
            None => written.left_out += 1,
        }
    }
    (written.untimed, written.is_cut) = (records.about().untimed, records.about().is_cut);
    writer.finish()?;
    Ok(written)
}

/// A frame without what tells who or what; `None`: it carries no IP. `Err`: the link type is not read.
fn anonymous(link: i32, old: &[u8], addresses: &mut Addresses) -> Result<Option<Vec<u8>>, ()> {
    let Some(below) = ip_of(link, old)? else { return Ok(None) };
    let at = place(old, below.ip);
    let mut frame = Frame { old, new: old.to_vec(), addresses };
    match link {
        1 => frame.clear(0, ETHERNET_ADDRESSES),
        113 => frame.clear(6, 8),
        276 => frame.clear(12, 8),
        _ => {}
    }
    let end = frame.ip(at, MOST_TUNNELS);
    let mut new = frame.new;
    Ok(end.map(|end| {
        new.truncate(end);
        new
    }))
}

struct Frame<'a> {
    old: &'a [u8],
    new: Vec<u8>,
    addresses: &'a mut Addresses,
}

impl<'a> Frame<'a> {
    fn clear(&mut self, at: usize, bytes: usize) {
        let end = self.new.len().min(at + bytes);
        if let Some(part) = self.new.get_mut(at..end) {
            part.fill(0);
        }
    }

    /// One option as long as all were, or more than one if it is too long for that.
    fn pad(&mut self, at: usize, size: usize) {
        let mut done = 0;
        while done + 2 <= size {
            let long = (size - done - 2).min(255);
            self.new[at + done] = PAD_N;
            self.new[at + done + 1] = long as u8;
            done += 2 + long;
        }
    }

    fn from(&self, at: usize) -> &'a [u8] {
        &self.old[at..]
    }

    fn word(&self, at: usize) -> Option<u16> {
        Some(u16::from_be_bytes(*self.old.get(at..)?.first_chunk()?))
    }

    /// The IP packet at this place: the end of what is kept.
    fn ip(&mut self, at: usize, tunnels: usize) -> Option<usize> {
        match self.old.get(at)? >> 4 {
            4 => {
                let body = at + usize::from(self.old[at] & 15) * 4;
                if body < at + 20 || self.old.len() < body {
                    return None;
                }
                self.addresses.ipv4(&mut self.new[at + 12..]);
                self.addresses.ipv4(&mut self.new[at + 16..]);
                self.new[at + 20..body].fill(1);
                let is_first = self.word(at + 6)? & 0x1FFF == 0;
                let ends = at + 12..at + 20;
                self.correct(at + 10, &ends, at + 20..body);
                Some(if is_first { self.body(self.old[at + 9], body, &ends, tunnels) } else { body })
            }
            6 if self.old.len() >= at + 40 => {
                self.addresses.ipv6(&mut self.new[at + 8..]);
                self.addresses.ipv6(&mut self.new[at + 24..]);
                let (mut next, mut body) = (self.old[at + 6], at + 40);
                let ends = at + 8..at + 40;
                loop {
                    let Some(head) = self.old.get(body..).and_then(<[u8]>::first_chunk::<8>) else {
                        return Some(body);
                    };
                    let size = match next {
                        kind if OPTIONS.contains(&kind) => 8 + usize::from(head[1]) * 8,
                        FRAGMENT => 8,
                        _ => return Some(self.body(next, body, &ends, tunnels)),
                    };
                    if self.old.len() < body + size {
                        return Some(body);
                    }
                    if OPTIONS.contains(&next) {
                        self.clear(body + 2, size - 2);
                        self.pad(body + 2, size - 2);
                    }
                    let is_later = next == FRAGMENT && u16::from_be_bytes([head[2], head[3]]) & !7 != 0;
                    (next, body) = (head[0], body + size);
                    if is_later {
                        return Some(body);
                    }
                }
            }
            _ => None,
        }
    }

    /// The content of an IP packet: the end of what is kept.
    fn body(&mut self, protocol: u8, at: usize, ends: &Range<usize>, tunnels: usize) -> usize {
        let content = self.from(at);
        match protocol {
            TCP if content.len() >= 20 => self.tcp(at, ends),
            UDP if content.len() >= 8 => self.udp(at, ends, tunnels),
            GRE => {
                if let Some(header) = bridged(content) {
                    self.clear(at + header, ETHERNET_ADDRESSES);
                }
                gre(content).and_then(|inner| self.tunnel(inner, tunnels)).unwrap_or(at)
            }
            number if TUNNELS.contains(&number) => self.tunnel(content, tunnels).unwrap_or(at),
            _ => at,
        }
    }

    /// The packet in a tunnel.
    fn tunnel(&mut self, inner: &[u8], tunnels: usize) -> Option<usize> {
        let at = place(self.old, inner);
        self.ip(at, tunnels.checked_sub(1)?)
    }

    fn tcp(&mut self, at: usize, ends: &Range<usize>) -> usize {
        let header = usize::from(self.old[at + 12] >> 4) * 4;
        if header < 20 {
            return at;
        }
        let end = self.old.len().min(at + header);
        let mut option = at + 20;
        while option < end {
            let kind = self.old[option];
            let size = match kind {
                0 => end - option,
                1 => 1,
                _ => self.old.get(option + 1).map_or(0, |size| usize::from(*size)),
            };
            // The rest is damaged or cut.
            let size = if size == 0 { end - option } else { size.min(end - option) };
            if kind == 0 {
                self.new[option..option + size].fill(0);
            } else if !KEPT_OPTIONS.contains(&kind) {
                self.new[option..option + size].fill(1);
            }
            option += size;
        }
        self.correct(at + 16, ends, at..end);
        end
    }

    fn udp(&mut self, at: usize, ends: &Range<usize>, tunnels: usize) -> usize {
        let content = self.from(at);
        let ports = [self.word(at), self.word(at + 2)].map(Option::unwrap_or_default);
        if ports[1] == VXLAN {
            self.clear(at + 16, ETHERNET_ADDRESSES);
        }
        let inner = tunnelled(ports[0], ports[1], content);
        let end = match inner.and_then(|inner| self.tunnel(inner, tunnels)) {
            Some(end) => end,
            None if is_quic(&content[8..]) => at + 8 + QUIC_VERSION,
            None => at + 8,
        };
        if self.word(at + 6) != Some(0) {
            self.correct(at + 6, ends, at..end);
            if self.new[at + 6..at + 8] == [0, 0] {
                self.new[at + 6..at + 8].fill(0xFF);
            }
        }
        end
    }

    /// Corrects the checksum at a place by all changes of addresses and in a part (RFC 1624, equation 3).
    fn correct(&mut self, checksum: usize, ends: &Range<usize>, part: Range<usize>) {
        let Some(old) = self.word(checksum) else { return };
        let mut sum = u64::from(!old);
        for part in [ends.clone(), part] {
            let (before, behind) = (&self.old[part.clone()], &self.new[part]);
            for (old, new) in before.chunks(2).zip(behind.chunks(2)) {
                sum += u64::from(!word_of(old)) + u64::from(word_of(new));
            }
        }
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        self.new[checksum..checksum + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
}

fn word_of(bytes: &[u8]) -> u16 {
    u16::from_be_bytes([bytes[0], bytes.get(1).copied().unwrap_or(0)])
}
