//! An anonymous capture has what the capture has of connections, and no address and no payload.

use super::build::{Sketch, ipv4, pcap, pcap_of, section, udp};
use crate::{Addresses, Capture, Unwritten, Written, anonymise, explain, read};
use std::net::IpAddr;

fn key() -> [u8; 32] {
    std::array::from_fn(|at| at as u8)
}

fn addresses() -> Addresses {
    Addresses::new(key()).unwrap()
}

fn anonymous(file: &[u8]) -> (Vec<u8>, Written) {
    let mut made = Vec::new();
    let written = anonymise(file, &mut made, &mut addresses()).unwrap();
    (made, written)
}

/// All that is read of the packets, with their ends replaced.
fn rows(capture: &Capture, replace: &mut dyn FnMut(IpAddr) -> IpAddr) -> Vec<String> {
    let mut all = Vec::new();
    for flow in &capture.flows {
        let ends = flow.ends.map(|end| (replace(end.address), end.port));
        all.push(format!("{ends:?} {:?}", flow.sent));
        for row in flow.packets.rows() {
            let sacks: Vec<_> = flow.packets.sacks(&row).collect();
            all.push(format!("{row:?} {sacks:?}"));
        }
    }
    for datagrams in &capture.datagrams {
        all.push(format!("{} {} {}", datagrams.packets, datagrams.bytes, datagrams.is_quic));
    }
    all
}

fn some() -> Sketch {
    let mut sketch = Sketch::data(1000, 100);
    // MPTCP's ADD_ADDR (RFC 8684, 3.4.1), with an address.
    sketch.options = vec![30, 8, 0x30, 1, 172, 16, 254, 1];
    sketch.stamped(7, 3).sack(&[(900, 1000)])
}

/// Files of all kinds of headers, and the secrets in them: payloads, addresses of layer 2 and 3, names.
fn files() -> Vec<Vec<u8>> {
    let (ip, six) = (some().ipv4(), some().ipv6());
    let ethernet = |kind: &[u8], ip: &[u8]| [&[0xEE; 12], kind, ip].concat();
    let ends = ([192, 168, 0, 1], [192, 168, 0, 2]);
    let session = [&[0x34, 255, 0, 140, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0][..], &six].concat();
    let virtual_lan = [&[8, 0, 0, 0, 0, 0, 7, 0][..], &ethernet(&[8, 0], &ip)].concat();
    let bridged = [&[0x20, 0, 0x65, 0x58, 0, 0, 0, 9][..], &ethernet(&[8, 0], &ip)].concat();
    let quic = udp((5000, 443), &[0xC3, 0, 0, 0, 1, 8, 0xEE, 0xEE, 0xEE]);
    let cooked = [0, 4, 0, 1, 0, 6, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE, 0, 0, 8, 0];
    let cooked2 = [0x86, 0xDD, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE, 0, 0];
    let mut noted = section(false, &[(1024, ip.clone())]);
    // A block of names of hosts.
    noted.extend(super::build::block(false, 4, &[0xEE; 16]));
    vec![
        pcap(1, &[(1, ethernet(&[8, 0], &ip)), (2, ethernet(&[0x81, 0, 0, 5, 0x86, 0xDD], &six))]),
        pcap(113, &[(1, [&cooked[..], &ip].concat())]),
        pcap(276, &[(1, [&cooked2[..], &six].concat())]),
        pcap(101, &[(1, ipv4(17, ends.0, ends.1, &udp((2152, 2152), &session)))]),
        pcap(101, &[(1, ipv4(17, ends.0, ends.1, &udp((999, 4789), &virtual_lan)))]),
        pcap(101, &[(1, ipv4(47, ends.0, ends.1, &bridged)), (2, ipv4(4, ends.0, ends.1, &ip))]),
        pcap(101, &[(1, ipv4(17, [10, 0, 0, 1], [10, 0, 0, 2], &quic))]),
        pcap_of(0xA1B2_3C4D, true, 101, &[(7, ip)], 20 + 20 + 14),
        noted,
    ]
}

#[test]
fn an_anonymous_capture_tells_the_same_of_its_connections() {
    for file in files() {
        let (made, _) = anonymous(&file);
        let (before, behind) = (read(&file[..]).unwrap(), read(&made[..]).unwrap());
        let mut all = addresses();
        assert_eq!(rows(&before, &mut |old| all.replace(old)), rows(&behind, &mut |new| new));
        let same = |capture: &Capture| {
            let mut answer = explain(capture, None);
            for told in &mut answer.flows {
                (told.flow, told.receiver) = (String::new(), String::new());
                told.sentences.remove(0);
            }
            answer
        };
        assert_eq!(same(&before), same(&behind));
    }
}

#[test]
fn no_address_and_no_payload_is_left() {
    let secrets: [&[u8]; 6] =
        [&[0xEE; 3], &[10, 0, 0, 1], &[10, 0, 0, 2], &[192, 168, 0], &[0xFD; 3], &[172, 16, 254]];
    for file in files() {
        let (made, _) = anonymous(&file);
        for secret in secrets {
            assert!(!made.windows(secret.len()).any(|part| part == secret), "{secret:?} in {made:?}");
        }
    }
}

#[test]
fn common_prefixes_of_addresses_stay_as_long() {
    let mut all = addresses();
    let mut of = |text: &str| all.replace(text.parse().unwrap());
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let common = |one: IpAddr, other: IpAddr| (bits(one).0 ^ bits(other).0).leading_zeros().min(bits(one).1);
    for (one, other, length) in [
        ("10.0.0.1", "10.0.0.2", 30),
        ("10.0.0.1", "10.0.128.1", 16),
        ("10.0.0.1", "192.168.0.1", 0),
        ("2001:db8::1", "2001:db8::2", 126),
        ("2001:db8::1", "2001:db9::1", 31),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", 126),
    ] {
        let (new, other_new) = (of(one), of(other));
        assert_eq!(common(new, other_new), length, "{one} {other}");
        assert_ne!((new, new.is_ipv4()), (one.parse().unwrap(), new.is_ipv6()));
    }
    assert!(Addresses::new([5; 32]).is_none());
}

/// The sum of all words, as checksums have it.
fn sum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u64 =
        words.map(|word| u64::from(u16::from_be_bytes([word[0], *word.get(1).unwrap_or(&0)]))).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

/// With right checksums, of a packet with TCP behind a header of 20 bytes.
fn summed(mut ip: Vec<u8>) -> Vec<u8> {
    let pseudo = [0, 6, 0, (ip.len() - 20) as u8];
    let (header, body) = (!sum(&[&ip[..20]]), !sum(&[&ip[12..20], &pseudo, &ip[20..]]));
    ip[10..12].copy_from_slice(&header.to_be_bytes());
    ip[36..38].copy_from_slice(&body.to_be_bytes());
    ip
}

#[test]
fn right_checksums_stay_right_for_the_packet_with_its_payload() {
    let mut ip = some().ipv4();
    let payload = ip.len() - 100;
    ip[payload..].fill(0xA7);
    let ip = summed(ip);
    let (made, _) = anonymous(&pcap(101, &[(1, ip.clone())]));
    // Blocks of the section and of the interface, and the fields before the packet.
    let new = &made[28 + 32 + 28..][..payload];
    assert_eq!(sum(&[&new[..20]]), 0xFFFF);
    assert_eq!(sum(&[&new[12..20], &[0, 6, 0, (ip.len() - 20) as u8], &new[20..], &ip[payload..]]), 0xFFFF);
    assert_eq!(new[40..48], [1; 8], "the option with an address");
}

#[test]
fn packets_without_ip_are_left_out_and_counted() {
    let arp = [&[0xEE; 12][..], &[8, 6], &[0; 28]].concat();
    let mut file = pcap(1, &[(1, arp), (2, [&[0xEE; 12][..], &[8, 0], &some().ipv4()].concat())]);
    file.truncate(file.len() - 1);
    let (_, written) = anonymous(&file);
    assert_eq!(written, Written { packets: 0, left_out: 1, untimed: 0, is_cut: true });
    let wireless = pcap(127, &[(1, some().ipv4())]);
    let refused = anonymise(&wireless[..], Vec::new(), &mut addresses());
    let Err(Unwritten::Fault(fault)) = refused else { panic!("{refused:?}") };
    assert_eq!((fault.packet, fault.byte), (1, 24));
}
