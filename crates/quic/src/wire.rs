//! Sizes on the wire: packets with a short header (RFC 9000 §17.3.1) over UDP and IPv4.

use roamlab_engine::Bytes;
use roamlab_packet::{QuicAck, QuicHeader};

/// IPv4 and UDP headers.
pub(crate) const IP_UDP: u64 = 28;
/// The first byte of a short header and a packet number.
///
/// ASSUMPTION: the number has its longest form, 4 bytes; RFC 9000 §17.1 leaves that to the sender.
const SHORT_HEADER: u64 = 1 + 4;
/// The tag of AEAD (RFC 9001 §5.3).
const TAG: u64 = 16;
/// Type, stream identifier and offset of a STREAM frame without length (§19.8).
///
/// ASSUMPTION: the offset has its longest form, 8 bytes, so that all segments have one size.
const STREAM_FRAME: u64 = 1 + 1 + 8;
/// A PATH_CHALLENGE or PATH_RESPONSE frame (§19.17). A PING has one byte (§19.2).
const PATH_FRAME: u64 = 1 + 8;
/// The ACK delay field counts 2^3 microseconds (§18.2: the default of `ack_delay_exponent`).
pub(crate) const ACK_DELAY_UNIT_NS: u64 = 8_000;

/// Bytes of a packet in addition to its frames, without UDP and IP.
const fn overhead(connection_id: Bytes) -> u64 {
    SHORT_HEADER + connection_id.0 + TAG
}

/// A datagram with a PATH_CHALLENGE or PATH_RESPONSE has this size, unless the limit of an address that is not validated
/// permits no such one (§8.2.1, §8.2.2).
pub(crate) const EXPANDED: u64 = 1200;

/// Stream data in a full datagram.
pub(crate) const fn payload(datagram: Bytes, connection_id: Bytes) -> u64 {
    datagram.0.saturating_sub(overhead(connection_id) + STREAM_FRAME)
}

/// The UDP payload of a packet without stream data, not expanded.
pub(crate) fn control_payload(header: &QuicHeader, connection_id: Bytes) -> u64 {
    let ack = header.ack.as_ref().map_or(0, |ack| ack_frame(ack, ranges_below(ack.ranges.iter())));
    without_ack(header, connection_id) + ack
}

/// The same of a packet whose ranges below the first are known to take `below` bytes, of the end that gets the data.
pub(crate) fn answer_of_size(header: &QuicHeader, below: u64, connection_id: Bytes) -> u64 {
    let ack = header.ack.as_ref().map_or(0, |ack| ack_frame(ack, below));
    expanded(header, without_ack(header, connection_id) + ack)
}

fn without_ack(header: &QuicHeader, connection_id: Bytes) -> u64 {
    let path = PATH_FRAME * (u64::from(header.path_challenge) + u64::from(header.path_response));
    overhead(connection_id) + path + u64::from(header.ping)
}

/// The UDP payload of a packet of the end that gets the data, whose limit is far.
pub(crate) fn answer_payload(header: &QuicHeader, connection_id: Bytes) -> u64 {
    expanded(header, control_payload(header, connection_id))
}

fn expanded(header: &QuicHeader, payload: u64) -> u64 {
    let least = if header.path_response { EXPANDED } else { 0 };
    payload.max(least)
}

/// An ACK frame without ECN counts (§19.3), whose ranges below the first take `below` bytes.
fn ack_frame(ack: &QuicAck, below: u64) -> u64 {
    let Some(&(start, end)) = ack.ranges.first() else { return 0 };
    let largest = u64::from(end) - 1;
    let delay = ack.delay.as_nanos() / ACK_DELAY_UNIT_NS;
    let count = ack.ranges.len() as u64 - 1;
    1 + varint(largest) + varint(delay) + varint(count) + varint(u64::from(end - start) - 1) + below
}

/// Bytes of the ranges below the first in an ACK frame.
pub(crate) fn ranges_below<'a>(mut ranges: impl Iterator<Item = &'a (u32, u32)>) -> u64 {
    let Some(&(mut smallest, _)) = ranges.next() else { return 0 };
    let mut size = 0;
    for &(start, end) in ranges {
        // A gap is written as two less than the distance of the numbers next to it.
        size += varint(u64::from(smallest - end) - 1) + varint(u64::from(end - start) - 1);
        smallest = start;
    }
    size
}

/// Bytes of a variable-length integer (§16).
const fn varint(value: u64) -> u64 {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roamlab_engine::Duration;

    #[test]
    fn a_full_datagram_carries_its_size_less_headers_and_tag() {
        // 1200 - (1 + 8 + 4) - 16 - (1 + 1 + 8).
        assert_eq!(payload(Bytes(1200), Bytes(8)), 1161);
    }

    #[test]
    fn an_ack_is_as_long_as_its_numbers() {
        let size = |ranges: &[(u32, u32)], delay| {
            let ack = QuicAck { ranges: ranges.to_vec(), delay: Duration::from_micros(delay) };
            let header = QuicHeader { ack: Some(Box::new(ack)), ..QuicHeader::default() };
            IP_UDP + control_payload(&header, Bytes(8))
        };
        // 28 + 13 + 16 and a frame of type, largest, delay, count, first range.
        assert_eq!(size(&[(0, 10)], 0), 57 + 5);
        // 63 is the largest of one byte: numbers 0 to 63, a delay of 63 * 8 us.
        assert_eq!(size(&[(0, 64)], 504), 57 + 5);
        assert_eq!(size(&[(0, 65)], 512), 57 + 1 + 2 + 2 + 1 + 2);
        // A gap and a length for each further range.
        assert_eq!(size(&[(8, 10), (0, 7)], 0), 57 + 5 + 2);
        assert_eq!(size(&[(99, 100), (0, 7)], 0), 57 + 6 + 3);
        // RFC 9000 §19.3.1: a gap counts from the range before it, here 49 numbers each time.
        assert_eq!(size(&[(200, 201), (150, 151), (100, 101)], 0), 57 + 6 + 2 + 2);
        let asks = QuicHeader { ping: true, path_challenge: true, ..QuicHeader::default() };
        assert_eq!(control_payload(&asks, Bytes(8)), 29 + 1 + 9);
    }
}
