//! The data of a capture file: the packets on selected links and nodes, with the bytes of their headers.
//!
//! Numbers of segments become numbers of bytes: a SYN and a FIN count one, every other segment counts its payload.
//! Ports are invented. A flow's sender has a separate one, its receiver [`DISCARD`]. Signalling has [`AGENTS`], and the
//! management frames of layer 2, which have no IP header on the air, [`MANAGEMENT`].

use crate::ids::{Location, Side};
use crate::memory::{Part, SLACK, bytes_soon};
use crate::selection::Selection;
use crate::stops::{PacketKind, Stop};
use crate::table::{Column, Names, Table, table};
use roamlab_engine::Time;
use roamlab_packet::wire::{Content, Segment, TcpFields, read, write};
use roamlab_packet::{Addr, FlowId, IpHeader, PacketId, PacketPool, TcpFlags, TcpHeader};
use std::collections::BTreeSet;

/// The port of every receiver (RFC 863: what comes there is thrown away).
const DISCARD: u16 = 9;
/// The port of mobility agents.
const AGENTS: u16 = 49_151;
/// The port of management frames.
const MANAGEMENT: u16 = 49_150;
/// The port of the first flow's sender, and how many there are.
const SENDERS: (u16, u32) = (49_152, 16_384);
/// The window of an end that takes no data.
const ANY_WINDOW: u16 = u16::MAX;
/// Nanoseconds of a tick of the clock that timestamps show.
const MS: u64 = 1_000_000;

table! {
    /// Captured packets.
    Frames, Frame: "frames", recorded "if the run captures packets", limit "capture at fewer nodes or links" {
        /// When.
        time_ns: Time,
        /// When its transmission began, if this is its end; otherwise as `time_ns`.
        started_ns: Time,
        /// Handed to a link, on the wire, out of a link, or lost.
        stop: Stop,
        /// Where.
        place: Location,
        /// Which flow.
        flow: FlowId,
        /// Kind of packet.
        kind: PacketKind,
        /// Segment, datagram or message number; of an acknowledgement the segment expected next.
        number: u32,
        /// The packet's number.
        serial: u64,
        /// Source of the innermost header.
        source: Addr,
        /// Destination of the innermost header.
        destination: Addr,
        /// Destination of the outermost header.
        next: Addr,
        /// Bytes on the wire, as the model counts them.
        wire_bytes: u64,
        /// Bytes of the packet as it is written, with its zeros.
        length: u32,
        /// Where in the bytes of all packets those of this one end.
        end: u64,
        /// Why it is lost.
        reason: &'static str,
    }
}

/// Fields in the headers of a flow's packets.
#[derive(Copy, Clone, Debug)]
pub struct FlowHeaders {
    /// The address of its sender.
    pub sender: Addr,
    /// Those of TCP; of another transport nothing reads them.
    pub tcp: TcpFields,
}

/// A flow on the wire.
#[derive(Copy, Clone, Debug)]
struct Wire {
    headers: FlowHeaders,
    port: u16,
    /// The number of the FIN, if one was sent.
    fin: u32,
}

/// Captured data.
#[derive(Clone, Debug)]
pub struct Capture {
    places: BTreeSet<Location>,
    flows: Vec<Wire>,
    frames: Frames,
    bytes: Vec<u8>,
}

/// A packet at a stop.
#[derive(Copy, Clone, Debug)]
pub struct Sight<'a> {
    /// Where.
    pub stop: Stop,
    /// At which place.
    pub place: Location,
    /// When its transmission began.
    pub started: Time,
    /// The packet.
    pub packet: &'a PacketId,
    /// Why it is lost.
    pub reason: &'static str,
    /// The name of the message that it carries.
    pub message: &'static str,
}

impl Capture {
    /// No packets yet at the nodes and links of these names.
    pub fn new(wanted: &[String], names: &Names, flows: impl Iterator<Item = FlowHeaders>) -> Capture {
        let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
        let places = Location::all(names).filter(|(_, name)| wanted.contains(name)).map(|(place, _)| place);
        let port = |number: u32| SENDERS.0 + (number % SENDERS.1) as u16;
        let flows =
            flows.zip(0..).map(|(headers, number)| Wire { headers, port: port(number), fin: u32::MAX });
        let (places, flows) = (places.collect(), flows.collect());
        Capture { places, flows, frames: Frames::default(), bytes: Vec::new() }
    }

    /// A packet is at a stop.
    pub fn see(&mut self, now: Time, sight: &Sight<'_>, pool: &PacketPool) {
        let packet = &pool[sight.packet];
        let headers = pool.headers(sight.packet);
        let Some(&IpHeader { src: source, dst: destination, .. }) = headers.last() else { return };
        let wire = self.flows.get_mut(packet.flow.0 as usize);
        if let Some(wire) = wire
            && source == wire.headers.sender
            && packet.flags().has(TcpFlags::FIN)
        {
            wire.fin = packet.seq();
        }
        let is_stop =
            matches!(sight.stop, Stop::LinkEnqueue | Stop::LinkTxDone | Stop::LinkArrive | Stop::Drop);
        if !is_stop || !self.places.contains(&sight.place) {
            return;
        }
        let tunnels: u64 = headers.iter().map(|header| u64::from(header.overhead)).sum();
        let datagram = packet.wire_size().0.saturating_sub(tunnels);
        let Some(length) = self.write_content(sight, pool, &headers, datagram) else { return };
        let (kind, number, _) = PacketKind::of(packet);
        self.frames.push(Frame {
            time_ns: now,
            started_ns: sight.started,
            stop: sight.stop,
            place: sight.place,
            flow: packet.flow,
            kind,
            number,
            serial: packet.serial,
            source,
            destination,
            next: packet.header.dst,
            wire_bytes: packet.wire_size().0,
            length: length as u32,
            end: self.bytes.len() as u64,
            reason: sight.reason,
        });
    }

    /// Writes the headers and the content of a packet, of which the datagram has this size. Their length; `None`: it is of no
    /// flow.
    fn write_content(
        &mut self,
        sight: &Sight<'_>,
        pool: &PacketPool,
        headers: &[IpHeader],
        datagram: u64,
    ) -> Option<usize> {
        let packet = &pool[sight.packet];
        let source = headers.last()?.src;
        let id = pool.original(packet) as u16;
        Some(match self.flows.get(packet.flow.0 as usize) {
            _ if packet.is_signal() => {
                let port = if packet.is_management() { MANAGEMENT } else { AGENTS };
                let room = (datagram as usize).saturating_sub(28);
                let name = &sight.message.as_bytes()[..room.min(sight.message.len())];
                let content = Content::Udp([port; 2], name, room - name.len());
                write(&mut self.bytes, headers, id, &content)
            }
            Some(wire) if !packet.is_tcp() => {
                // A QUIC packet is a datagram whose content is not made.
                let content = Content::Udp([wire.port, DISCARD], &[], (datagram as usize).saturating_sub(28));
                write(&mut self.bytes, headers, id, &content)
            }
            Some(_) if let Some((segment, _)) = pool.written_headers(sight.packet).and_then(read) => {
                write(&mut self.bytes, headers, id, &Content::Tcp(segment))
            }
            Some(wire) => {
                let side = if source == wire.headers.sender { Side::Sender } else { Side::Receiver };
                let tcp = pool.tcp_header(sight.packet);
                let room = datagram.saturating_sub(40 + u64::from(tcp.payload));
                let options = wire.options(side, &tcp, room);
                write(&mut self.bytes, headers, id, &Content::Tcp(wire.segment(side, &tcp, &options)))
            }
            None => return None,
        })
    }
    /// Its memory.
    pub fn part(&self) -> Part {
        let mut part = self.frames.part();
        // The headers of a packet take some 64 bytes.
        part.bytes += bytes_soon(self.bytes.len(), 64 * SLACK, self.bytes.capacity(), 1);
        part
    }

    /// Its tables: the packets, and the bytes of all of them.
    pub fn into_tables(self, names: &Names) -> [Table; 2] {
        let frames = self.frames.into_table(names, Selection::default());
        [frames, Table { name: "frame_bytes", columns: vec![("byte", Column::U8(self.bytes))] }]
    }
}

impl Wire {
    /// The number of a segment's first byte.
    fn byte(&self, segment: u32) -> u32 {
        let before_fin = segment.min(self.fin);
        let data = before_fin.saturating_sub(u32::from(self.headers.tcp.has_syn));
        let signs = (before_fin - data).wrapping_add(segment - before_fin);
        data.wrapping_mul(self.headers.tcp.segment).wrapping_add(signs)
    }

    fn segment<'a>(&self, side: Side, tcp: &TcpHeader, options: &'a [u8]) -> Segment<'a> {
        let acknowledges = tcp.flags.has(TcpFlags::ACK);
        match side {
            Side::Sender => Segment {
                ports: [self.port, DISCARD],
                seq: self.byte(tcp.seq),
                ack: if acknowledges { tcp.ack } else { 0 },
                flags: tcp.flags,
                window: ANY_WINDOW,
                options,
                payload: tcp.payload as usize,
            },
            Side::Receiver => {
                let syn = tcp.flags.has(TcpFlags::SYN);
                let bytes = u64::from(tcp.window) * u64::from(self.headers.tcp.segment);
                // Rounded up, as Linux does: the sender may use all of its window.
                let step = 1 << self.headers.tcp.shift.unwrap_or(0);
                let window = if syn { bytes } else { bytes.div_ceil(step) };
                Segment {
                    ports: [DISCARD, self.port],
                    seq: u32::from(self.headers.tcp.three_way && !syn),
                    ack: if acknowledges { self.byte(tcp.ack) } else { 0 },
                    flags: tcp.flags,
                    window: u16::try_from(window).unwrap_or(u16::MAX),
                    options,
                    payload: 0,
                }
            }
        }
    }

    /// The options of a segment that has `room` bytes for them. A SYN has its own anyway, because blocks of
    /// SACK are always there; timestamps are written where there is room for them: ns-2's take none.
    fn options(&self, side: Side, tcp: &TcpHeader, room: u64) -> Vec<u8> {
        let mut options = Vec::with_capacity(40);
        let syn = tcp.flags.has(TcpFlags::SYN);
        let blocks = tcp.sacks.as_slice();
        let sack_size = if blocks.is_empty() { 0 } else { 4 + 8 * blocks.len() };
        let stamps = tcp.timestamps.filter(|_| room >= (12 + sack_size) as u64 && 12 + sack_size <= 40);
        if syn {
            options.extend([2, 4]); // RFC 9293 §3.7.1
            options.extend(u16::try_from(self.headers.tcp.segment).unwrap_or(u16::MAX).to_be_bytes());
            if self.headers.tcp.sack && stamps.is_none() {
                options.extend([1, 1, 4, 2]); // RFC 2018 §2
            }
            if let Some(shift) = self.headers.tcp.shift.filter(|_| self.headers.tcp.three_way) {
                options.extend([1, 3, 3, shift]); // RFC 7323 §2.2
            }
        }
        if let Some(stamps) = stamps {
            // RFC 7323 §3.2. SACK permitted has the place of the padding, as in Linux.
            options.extend(if syn && self.headers.tcp.sack { [4, 2, 8, 10] } else { [1, 1, 8, 10] });
            for time in [stamps.value, stamps.echo] {
                options.extend(((time.as_nanos() / MS) as u32).to_be_bytes());
            }
        }
        let counters = tcp.accecn.counters();
        if !counters.is_empty() && options.len() + sack_size + tcp.accecn.padded_size() as usize <= 40 {
            let start = options.len();
            options.extend([tcp.accecn.kind(), (2 + 3 * counters.len()) as u8]); // RFC 9768 §3.2.3
            options.extend(counters.as_flattened());
            options.resize(start + tcp.accecn.padded_size() as usize, 1); // no operation
        }
        if sack_size > 0 && side == Side::Receiver {
            options.extend([1, 1, 5, (2 + 8 * blocks.len()) as u8]); // RFC 2018 §3
            for edge in blocks.iter().flat_map(|&(start, end)| [start, end]) {
                options.extend(self.byte(edge).to_be_bytes());
            }
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roamlab_packet::AccEcnOption;

    const FIELDS: TcpFields =
        TcpFields { segment: 1000, has_syn: true, three_way: true, sack: true, shift: Some(0) };
    const WIRE: Wire = Wire { headers: headers(FIELDS), port: 50_000, fin: u32::MAX };

    const fn headers(tcp: TcpFields) -> FlowHeaders {
        FlowHeaders { sender: Addr::node(1), tcp }
    }

    #[test]
    fn segments_count_their_bytes_and_syn_and_fin_one() {
        assert_eq!([0, 1, 2, 11].map(|number| WIRE.byte(number)), [0, 1, 1001, 10_001]);
        let closed = Wire { fin: 11, ..WIRE };
        assert_eq!([11, 12].map(|number| closed.byte(number)), [10_001, 10_002]);
        let bare = Wire { headers: headers(TcpFields { has_syn: false, ..FIELDS }), ..WIRE };
        assert_eq!([0, 1, 2].map(|number| bare.byte(number)), [0, 1000, 2000]);
        assert_eq!(bare.byte(5_000_000), 5_000_000_000u64 as u32, "the number goes round");
    }

    #[test]
    fn blocks_of_sack_are_told_in_bytes_and_timestamps_where_there_is_room() {
        let mut tcp = TcpHeader { flags: TcpFlags::ACK, ack: 3, ..TcpHeader::default() };
        tcp.sacks.push(5, 7);
        let (value, echo) = (Time::from_nanos(7_900_000), Time::from_nanos(3_000_000));
        tcp.timestamps = Some(roamlab_packet::Timestamps { value, echo });
        let sack = [1, 1, 5, 10, 0, 0, 15, 161, 0, 0, 23, 113]; // 4001, 6001
        assert_eq!(WIRE.options(Side::Receiver, &tcp, 12), sack, "no room for timestamps");
        let stamps = [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 3];
        assert_eq!(WIRE.options(Side::Receiver, &tcp, 24), [stamps, sack].concat());
    }

    /// RFC 9293 §3.7.1, RFC 2018 §2, RFC 7323 §2.2, §3.2: what is switched off is not offered.
    #[test]
    fn a_syn_offers_what_is_in_use() {
        let syn = TcpHeader { flags: TcpFlags::SYN, ..TcpHeader::default() };
        let options = |fields: TcpFields, tcp: &TcpHeader, room: u64| {
            let wire = Wire { headers: headers(fields), ..WIRE };
            let [sent, answered] = [Side::Sender, Side::Receiver].map(|side| wire.options(side, tcp, room));
            assert_eq!(sent, answered);
            sent
        };
        let mss = [2, 4, 1000u16.to_be_bytes()[0], 1000u16.to_be_bytes()[1]];
        let plain = TcpFields { sack: false, shift: None, ..FIELDS };
        assert_eq!(options(plain, &syn, 0), mss);
        assert_eq!(options(TcpFields { sack: true, ..plain }, &syn, 0), [mss, [1, 1, 4, 2]].concat());
        assert_eq!(options(TcpFields { shift: Some(7), ..plain }, &syn, 0), [mss, [1, 3, 3, 7]].concat());
        let (value, echo) = (Time::from_nanos(7_000_000), Time::ZERO);
        let stamped = TcpHeader { timestamps: Some(roamlab_packet::Timestamps { value, echo }), ..syn };
        let times = [0, 0, 0, 7, 0, 0, 0, 0];
        assert_eq!(options(plain, &stamped, 12), [&mss[..], &[1, 1, 8, 10], &times].concat());
        let all = TcpFields { sack: true, shift: Some(7), ..plain };
        assert_eq!(options(all, &stamped, 20), [&mss[..], &[1, 3, 3, 7], &[4, 2, 8, 10], &times].concat());
    }

    /// RFC 7323 §2.2: the window of a SYN is never scaled.
    #[test]
    fn the_window_of_a_syn_ack_is_written_as_it_is() {
        let wire = Wire { headers: headers(TcpFields { shift: Some(4), ..FIELDS }), ..WIRE };
        let ack = TcpHeader { ack: 1, flags: TcpFlags::ACK, window: 64, ..TcpHeader::default() };
        let syn_ack = TcpHeader { flags: TcpFlags::ACK.with(TcpFlags::SYN), ..ack };
        let window = |tcp: &TcpHeader| wire.segment(Side::Receiver, tcp, &[]).window;
        assert_eq!([window(&syn_ack), window(&ack)], [64_000, 4000]);
    }

    /// RFC 9768 §3.2.3 figure 4: kind, length, and counters of 24 bits, filled up to words.
    #[test]
    fn counters_of_accurate_ecn_stand_before_sack() {
        let mut tcp = TcpHeader { flags: TcpFlags::ACK, ack: 3, ..TcpHeader::default() };
        tcp.accecn = AccEcnOption::new(0x0001_0203, 0x0004_0506, 1, false, 3);
        let full = [172, 11, 1, 2, 3, 4, 5, 6, 0, 0, 1, 1];
        assert_eq!(WIRE.options(Side::Receiver, &tcp, 12), full);
        tcp.accecn = AccEcnOption::new(1, 7, 9, true, 2);
        tcp.sacks.push(5, 7);
        let options = WIRE.options(Side::Receiver, &tcp, 20);
        assert_eq!(options[..8], [174, 8, 0, 0, 9, 0, 0, 7]);
        assert_eq!((options.len(), options[10]), (20, 5));
    }
}
