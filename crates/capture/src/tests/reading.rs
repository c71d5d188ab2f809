//! Formats, link layers, tunnels, and files that are damaged.

use super::build::{Sketch, block, ipv4, pcap, pcap_of, section, udp};
use crate::{Capture, Fault, read};
use std::io::Write;

fn some() -> Sketch {
    Sketch::data(1000, 100).stamped(7, 3)
}

fn one(bytes: &[u8]) -> Capture {
    read(bytes).unwrap()
}

fn fault(bytes: &[u8]) -> Fault {
    read(bytes).err().unwrap()
}

/// The capture has one flow with the packet of `some`.
fn holds(capture: &Capture) {
    let [flow] = &capture.flows[..] else { panic!("{} flows, {:?}", capture.flows.len(), capture.notes) };
    let row = flow.packets.rows().next().unwrap();
    assert_eq!((row.seq as u32, row.length, row.timestamps), (1000, 100, Some((7, 3))));
    assert_eq!((flow.ends[0].port, flow.ends[1].port), (5000, 80));
    assert_eq!(row.ecn, 2);
    assert!([0, 7].contains(&row.id), "IPv6 has no identification");
}

#[test]
fn every_form_of_pcap_is_read() {
    let ip = some().ipv4();
    for (magic, big, time) in [
        (0xA1B2_C3D4, false, 5_000_007_u64),
        (0xA1B2_C3D4, true, 5_000_007),
        (0xA1B2_3C4D, false, 5_000_007_000),
        (0xA1B2_3C4D, true, 5_000_007_000),
        (0xA1B2_CD34, false, 5_000_007),
    ] {
        for snap in [usize::MAX, 20 + 32] {
            let capture = one(&pcap_of(magic, big, 101, &[(time, ip.clone())], snap));
            holds(&capture);
            assert_eq!(capture.start_ns, 5_000_007_000, "{magic:x} {big}");
        }
    }
}

#[test]
fn every_link_layer_is_looked_through() {
    let (ip, six) = (some().ipv4(), some().ipv6());
    let before = |head: &[u8], ip: &[u8]| [head, ip].concat();
    let ethernet = |kind: &[u8]| [&[2; 12], kind].concat();
    for (link, packet) in [
        (1, before(&ethernet(&[8, 0]), &ip)),
        (1, before(&ethernet(&[0x86, 0xDD]), &six)),
        (1, before(&ethernet(&[0x81, 0, 0, 5, 8, 0]), &ip)),
        (1, before(&ethernet(&[0x88, 0xA8, 0, 5, 0x81, 0, 0, 6, 8, 0]), &ip)),
        (1, before(&ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 100, 0, 0x21]), &ip)),
        (1, before(&ethernet(&[0x88, 0x47, 0, 0, 0, 64, 0, 0, 1, 64]), &ip)),
        (1, before(&ethernet(&[0, 160, 0xAA, 0xAA, 3, 0, 0, 0, 8, 0]), &ip)),
        (101, ip.clone()),
        (228, ip.clone()),
        (229, six.clone()),
        (12, ip.clone()),
        (0, before(&[2, 0, 0, 0], &ip)),
        (0, before(&[0, 0, 0, 30], &six)),
        (108, before(&[0, 0, 0, 2], &ip)),
        (9, before(&[0xFF, 3, 0, 0x21], &ip)),
        (9, before(&[0x57], &six)),
        (113, before(&[0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0], &ip)),
        (276, before(&[0x86, 0xDD, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0], &six)),
    ] {
        holds(&one(&pcap(link, &[(1, packet)])));
    }
    let sent = [0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0];
    assert_eq!(one(&pcap(113, &[(1, before(&sent, &ip))])).flows[0].sent[0], [0, 1]);
    let found = fault(&pcap(127, &[(1, ip)]));
    assert_eq!((found.packet, found.byte), (1, 24));
    assert!(found.problem.contains("802.11"), "{found}");
}

#[test]
fn a_check_sequence_behind_a_packet_is_cut() {
    let packet = [&[2; 12][..], &[8, 0], &some().ipv4(), &[9; 4]].concat();
    holds(&one(&pcap(1 | 0x0400_0000 | 2 << 28, &[(1, packet)])));
}

#[test]
fn tunnels_are_looked_through() {
    let ip = some().ipv4();
    let ends = ([192, 168, 0, 1], [192, 168, 0, 2]);
    let plain = [&[0x30, 255, 0, 132, 0, 0, 0, 1][..], &ip].concat();
    // With a sequence number and the extension header of a PDU session.
    let session = [&[0x34, 255, 0, 140, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0][..], &some().ipv6()].concat();
    let virtual_lan = [&[8, 0, 0, 0, 0, 0, 7, 0][..], &[2; 12], &[8, 0], &ip].concat();
    for outer in [
        ipv4(4, ends.0, ends.1, &ip),
        ipv4(41, ends.0, ends.1, &some().ipv6()),
        ipv4(47, ends.0, ends.1, &[&[0, 0, 8, 0][..], &ip].concat()),
        ipv4(47, ends.0, ends.1, &[&[0x20, 0, 8, 0, 0, 0, 0, 9][..], &ip].concat()),
        ipv4(17, ends.0, ends.1, &udp((2152, 2152), &plain)),
        ipv4(17, ends.0, ends.1, &udp((2152, 2152), &session)),
        ipv4(17, ends.0, ends.1, &udp((999, 4789), &virtual_lan)),
        ipv4(4, ends.0, ends.1, &ipv4(17, ends.0, ends.1, &udp((2152, 2152), &plain))),
    ] {
        holds(&one(&pcap(101, &[(1, outer)])));
    }
}

#[test]
fn udp_is_counted_and_quic_is_known() {
    let ends = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let first = udp((5000, 443), &[0xC3, 0, 0, 0, 1, 8, 1, 2, 3]);
    let answer = udp((443, 5000), &[0x40; 30]);
    let packets = [(1, ipv4(17, ends.0, ends.1, &first)), (2, ipv4(17, ends.1, ends.0, &answer))];
    let capture = one(&pcap(101, &packets));
    let [datagrams] = &capture.datagrams[..] else { panic!() };
    assert_eq!((datagrams.packets, datagrams.bytes, datagrams.is_quic), (2, 39, true));
}

#[test]
fn options_are_read_behind_unknown_ones_and_where_they_are_cut() {
    let mut sketch = Sketch::data(1000, 100);
    sketch.options = vec![30, 4, 0, 0];
    let sketch = sketch.stamped(7, 3);
    holds(&one(&pcap(101, &[(1, sketch.ipv4())])));
    let cut = pcap_of(0xA1B2_C3D4, false, 101, &[(1, sketch.ipv4())], 20 + 20 + 10);
    assert_eq!(one(&cut).flows[0].packets.rows().next().unwrap().timestamps, None);
    let sacked = Sketch::ack(500).sack(&[(900, 1000), (700, 800)]);
    let capture = one(&pcap(101, &[(1, Sketch::data(400, 100).ipv4()), (2, sacked.ipv4())]));
    let packets = &capture.flows[0].packets;
    let row = packets.rows().nth(1).unwrap();
    let blocks: Vec<_> = packets.sacks(&row).map(|(start, end)| (start as u32, end - start)).collect();
    assert_eq!(blocks, [(900, 100), (700, 100)]);
}

#[test]
fn sections_of_pcapng_have_their_own_byte_order_and_interfaces() {
    let packets = [(1024, some().ipv4()), (1536, Sketch::data(1100, 100).ipv4())];
    let mut file = section(false, &packets[..1]);
    file.extend(section(true, &packets[1..]));
    let capture = one(&file);
    holds(&capture);
    let flow = &capture.flows[0];
    assert_eq!(flow.packets.span(), Some((1_000_000_000, 1_500_000_000)));
    assert_eq!(flow.sent[0], [0, 2], "by their flags this host sent them");
}

#[test]
fn a_packet_on_two_interfaces_is_counted_once() {
    let mut file = section(false, &[(1024, some().ipv4())]);
    file.extend(section(false, &[(1025, some().ipv4()), (2048, some().ipv4())]));
    let capture = one(&file);
    assert_eq!(capture.flows[0].packets.len(), 2);
    assert!(capture.notes.iter().any(|note| note.contains("twice")), "{:?}", capture.notes);
}

#[test]
fn packed_files_are_unpacked() {
    let file = pcap(101, &[(1, some().ipv4())]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&file).unwrap();
    let gzip = gzip.finish().unwrap();
    holds(&one(&gzip));
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = |part: &[u8]| ruzstd::encoding::compress_to_vec(part, level);
    holds(&one(&zstd(&file)));
    // Two frames with one between them that holds no data.
    let skipped = [&0x184D_2A53_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), &[1, 2, 3]].concat();
    holds(&one(&[zstd(&file[..50]), skipped, zstd(&file[50..])].concat()));
    let long = pcap(101, &vec![(1, some().ipv4()); 1000]);
    let mut cut = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    cut.write_all(&long).unwrap();
    let cut = cut.finish().unwrap();
    let capture = one(&cut[..cut.len() / 2]);
    assert!(capture.packets > 100, "{}", capture.packets);
    assert!(capture.notes[0].contains("ends within a record"));
    assert!(fault(&[0xFD, b'7', b'z', b'X', b'Z', 0, 1]).problem.contains("xz"));
    assert!(fault(b"BZh91AY").problem.contains("bzip2"));
}

#[test]
fn a_cut_last_record_is_a_note() {
    let file = pcap(101, &[(1, some().ipv4()), (2, some().ipv4())]);
    for cut in [1, 10, 160] {
        let capture = one(&file[..file.len() - cut]);
        assert_eq!(capture.packets, 1);
        assert!(capture.notes[0].contains("ends within a record"), "{:?}", capture.notes);
    }
    let file = section(false, &[(1, some().ipv4())]);
    assert_eq!(one(&file[..file.len() - 3]).packets, 0);
}

#[test]
fn damage_is_told_with_packet_and_byte() {
    assert!(fault(b"").problem.contains("empty"));
    assert!(fault(b"{\"qlog_version\": 1}").problem.contains("text"));
    assert!(fault(&[1, 2, 3, 4, 5]).problem.contains("01 02 03 04"));
    let packet = some().ipv4();
    let mut file = pcap(101, &[(1, packet.clone()), (2, packet.clone())]);
    let second = 24 + 16 + packet.len();
    file[second + 8..second + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let found = fault(&file);
    assert_eq!((found.packet, found.byte), (2, second as u64));
    let good = section(false, &[(1, packet.clone())]);
    let mut bad = good.clone();
    let last = bad.len() - 4;
    bad[last] ^= 4;
    let found = fault(&bad);
    assert_eq!(found.packet, 1);
    assert!(found.problem.contains("at its end"), "{found}");
    let foreign = [good, block(false, 6, &[&[7][..], &[0; 19]].concat())].concat();
    assert!(fault(&foreign).problem.contains("interface"), "{}", fault(&foreign));
}

#[test]
fn packets_are_put_in_order_of_time_and_a_clock_that_is_set_back_is_refused() {
    let packet = |number: u64| {
        let sketch = if number.is_multiple_of(2) {
            Sketch::data(1000 * number as u32, 1000)
        } else {
            Sketch::ack(1000 * number as u32 + 1)
        };
        (number * 100_000, sketch.ipv4())
    };
    let mut packets: Vec<_> = (0..200).map(packet).collect();
    packets.reverse();
    let capture = one(&pcap(101, &packets));
    assert!(capture.flows[0].packets.rows().map(|row| row.time_ns).is_sorted());
    assert!(capture.notes[0].contains("sorted"), "{:?}", capture.notes);
    packets.reverse();
    for (time, _) in &mut packets[100..] {
        *time -= 8_000_000;
    }
    let found = fault(&pcap(101, &packets));
    assert_eq!(found.packet, 101);
    assert!(found.problem.contains("runs back by 7.9"), "{found}");
}

#[test]
fn numbers_are_unwrapped_and_a_new_connection_is_a_new_flow() {
    let near = u32::MAX - 500;
    let rows = [
        Sketch::data(near, 1000),
        Sketch::ack(near.wrapping_add(1000)),
        Sketch::data(near.wrapping_add(1000), 1000),
    ];
    let packets: Vec<_> = rows.iter().zip(1..).map(|(row, time)| (time, row.ipv4())).collect();
    let capture = one(&pcap(101, &packets));
    let rows: Vec<_> = capture.flows[0].packets.rows().collect();
    assert_eq!((rows[2].seq - rows[0].seq, rows[1].ack), (1000, rows[2].seq));
    let open = |isn| Sketch::data(isn, 0).flags(2).opening(7);
    let rows = [open(5), open(5), Sketch::data(6, 10), open(900_000), Sketch::data(900_001, 10)];
    let packets: Vec<_> = rows.iter().zip(1..).map(|(row, time)| (time, row.ipv4())).collect();
    let capture = one(&pcap(101, &packets));
    assert_eq!(capture.flows.iter().map(|flow| flow.packets.len()).collect::<Vec<_>>(), [3, 2]);
}
