use super::*;
use crate::header::Tos;

const SRC: Addr = Addr::new(1, 0);
const DST: Addr = Addr::new(2, 3);

fn header(overhead: u16, tos: u8) -> IpHeader {
    IpHeader { overhead, ..IpHeader::new(SRC, DST, Tos(tos)) }
}

fn written(headers: &[IpHeader], content: &Content<'_>) -> (Vec<u8>, usize) {
    let mut out = Vec::new();
    let length = write(&mut out, headers, 7, content);
    (out, length)
}

/// As a receiver checks it: the sum over all with the checksum in its place is all ones.
fn is_whole(start: u32, bytes: &[u8]) -> bool {
    checksum(start, bytes) == 0
}

fn pseudo(kind: u8, length: usize) -> u32 {
    let mut bytes = [SRC.octets(), DST.octets()].concat();
    bytes.extend([0, kind, (length >> 8) as u8, length as u8]);
    sum(0, &bytes)
}

/// The example of RFC 1071 §3: the sum of 00 01 f2 03 f4 f5 f6 f7 is ddf2 after the carries.
#[test]
fn the_checksum_is_that_of_the_rfc() {
    assert_eq!(checksum(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    assert_eq!(checksum(0, &[0xab]), !0xab00, "a byte alone is the upper one");
}

#[test]
fn a_segment_has_every_field_in_its_place() {
    let flags = TcpFlags::ACK.with(TcpFlags::ECE).with(TcpFlags::FIN);
    let options = [1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 4];
    let segment = Segment {
        ports: [50_000, 9],
        seq: 0x0102_0304,
        ack: 0x0506_0708,
        flags,
        window: 0x1122,
        options: &options,
        payload: 512,
    };
    let (bytes, length) = written(&[header(0, 0b10)], &Content::Tcp(segment));
    assert_eq!((bytes.len(), length), (52, 564));
    assert_eq!(bytes[..10], [0x45, 0b10, 2, 52, 0, 7, 0, 0, 64, 6]);
    assert_eq!(bytes[12..20], [10, 0, 0, 1, 11, 0, 0x20, 3]);
    assert_eq!(bytes[20..36], [0xc3, 0x50, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 0x80, 0x51, 0x11, 0x22]);
    assert_eq!(bytes[38..], [&[0, 0], &options[..]].concat());
    assert!(is_whole(0, &bytes[..20]) && is_whole(pseudo(6, 544), &bytes[20..]));
}

/// RFC 9768 §3.1 figure 2: AE is the last of the reserved bits, CWR and ECE are before URG.
#[test]
fn the_ace_field_has_its_three_bits() {
    let segment = |ace| Segment { flags: TcpFlags::ACK.with_ace(ace), ..Segment::default() };
    let bits =
        [0b101, 0b010].map(|ace| written(&[header(0, 0)], &Content::Tcp(segment(ace))).0[32..34].to_vec());
    assert_eq!(bits, [[0x51, 0x50], [0x50, 0x90]]);
}

#[test]
fn options_are_filled_up_to_words() {
    let segment = Segment { options: &[3, 3, 7], ..Segment::default() };
    let (bytes, length) = written(&[header(0, 0)], &Content::Tcp(segment));
    assert_eq!((length, bytes[32] >> 4, &bytes[40..]), (44, 6, &[3, 3, 7, 0][..]));
}

#[test]
fn a_datagram_begins_with_its_text_and_ends_with_zeros() {
    let (bytes, length) = written(&[header(0, 0)], &Content::Udp([1, 2], b"hello", 95));
    assert_eq!((length, &bytes[20..26], &bytes[28..]), (128, &[0, 1, 0, 2, 0, 108][..], &b"hello"[..]));
    assert!(is_whole(pseudo(17, 108), &bytes[20..]));
}

#[test]
fn a_tunnel_takes_the_form_that_its_overhead_tells() {
    let content = Content::Udp([1, 2], b"", 72);
    let (plain, _) = written(&[header(0, 0)], &content);
    for (overhead, size) in [(20, 20), (36, 36), (40, 40), (0, 0), (24, 20)] {
        let (bytes, length) = written(&[header(overhead, 3), header(0, 0)], &content);
        assert_eq!((length, &bytes[size..]), (100 + size, &plain[..]), "{overhead} B");
    }
    let (ip, _) = written(&[header(20, 3), header(0, 0)], &content);
    assert_eq!((ip[1], &ip[2..4], ip[9]), (3, &[0, 120][..], 4));
    let (gtp, _) = written(&[header(36, 0), header(0, 0)], &content);
    assert_eq!((&gtp[2..4], gtp[9]), (&[0, 136][..], 17));
    let ports_lengths = [0x08, 0x68, 0x08, 0x68, 0, 116, 0, 0, 0x30, 0xff, 0, 100, 11, 0, 0x20, 3];
    assert_eq!(gtp[20..36], ports_lengths);
    let (six, _) = written(&[header(40, 0xff), header(0, 0)], &content);
    assert_eq!(six[..8], [0x6f, 0xf0, 0, 0, 0, 100, 4, 64]);
    let (nested, length) = written(&[header(20, 0), header(40, 0), header(0, 0)], &content);
    assert_eq!((length, nested[9], nested[26]), (160, 41, 4));
    assert!(is_whole(0, &nested[..20]));
}

#[test]
fn what_ipv4_cannot_say_is_cut() {
    let segment = Segment { payload: 1_000_000, ..Segment::default() };
    let (bytes, length) = written(&[header(20, 0), header(0, 0)], &Content::Tcp(segment));
    assert_eq!((length, &bytes[2..4], &bytes[22..24]), (65_535, &[255, 255][..], &[255, 235][..]));
}

#[test]
fn addresses_are_those_that_are_shown() {
    for addr in [SRC, DST, Addr::node(70_000)] {
        assert_eq!(addr.octets().map(|octet| octet.to_string()).join("."), addr.to_string());
    }
    assert_eq!(Addr::BROADCAST.octets(), [255; 4]);
}

#[test]
fn a_mark_keeps_the_checksum_right() {
    // The example of RFC 1071 by Wikipedia's page on the IPv4 header's checksum: b861 with ToS 0.
    let mut header: [u8; 20] =
        [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
    remark(&mut header, Tos(3));
    assert_eq!(header[1], 3);
    assert!(is_whole(0, &header));
}

#[test]
fn a_packet_is_known_by_its_addresses_if_it_is_whole() {
    let (mut bytes, _) = written(&[header(0, 3)], &Content::Udp([1, 2], b"data", 0));
    assert_eq!(addressed(&bytes), Some(([SRC.octets(), DST.octets()], Tos(3))));
    bytes.push(0);
    assert_eq!((addressed(&bytes), addressed(&bytes[..19]), addressed(&[])), (None, None, None));
    bytes.pop();
    bytes[0] = 0x65;
    assert_eq!(addressed(&bytes), None);
}
