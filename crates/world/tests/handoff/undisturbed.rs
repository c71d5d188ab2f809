//! The undisturbed handoff: closed forms of \[mblue\] eq. 1 and table I from messages, and what buffering promises.

use super::lab::{LEAVES, Lab, MS, PROBE, Record, TCP, Trouble};
use std::collections::BTreeSet;

const NO_BUFFER: &str = "at = \"none\"";
const BASE_PROTOCOL: &str = "route_optimisation = false\nsmooth_handoff = false";

/// Serialisation in ns: of the five messages of T_N (28 B on the air; 28 B and 48 B on the backhaul; 48 B on the air;
/// the request of 82 B on both), ...
const OF_T_N: u64 = 112_000 + 22_400 + 38_400 + 192_000 + 328_000 + 65_600;
/// ... of a binding update of 48 B and a request of 52 B at 10 Mbit/s, ...
const OF_UPDATE: u64 = 38_400;
const OF_REQUEST: u64 = 41_600;
/// ... and of a segment of 512 B, tunnelled by 20 B on one wire, with its acknowledgement of 40 B.
const OF_ROUND_TRIP: u64 = 425_600 + 409_600 + 2_048_000 + 160_000 + 32_000 + 32_000;

fn probe_without_buffer(mobility: &str) -> Record {
    let flows = PROBE.into();
    Lab { mobility: mobility.into(), buffer: NO_BUFFER.into(), flows, duration_ms: 6_000, ..Lab::default() }
        .run()
}

fn phase(record: &Record, name: &str) -> u64 {
    record.phase(name, LEAVES).expect(name) - LEAVES
}

/// `measured` is `expected` ms and at most `serialisation` more.
fn assert_closed_form(what: &str, measured: u64, expected: u64, serialisation: u64) {
    let excess = measured.checked_sub(expected * MS);
    assert!(excess.is_some_and(|excess| excess <= serialisation), "{what}: {measured} ns, not {expected} ms");
}

/// Time when the last probe that is lost passes the old agent: 40 ms of propagation, and 70 B at 10 Mbit/s,
/// after it was sent. Through the home agent 120 ms and 50 B and 70 B.
fn last_loss(record: &Record, way: u64) -> u64 {
    let last = record.lost("probe").map(|loss| loss.seq).max().expect("losses");
    1_600 * MS + last * MS + way - LEAVES
}

#[test]
fn route_optimisation_takes_the_times_of_table_1() {
    let record = probe_without_buffer("");
    let [detected, notified] = ["movement-detected", "new-agent-notified"].map(|name| phase(&record, name));
    let [old, home] = ["old-agent-informed", "home-agent-registered"].map(|name| phase(&record, name));
    let correspondent = phase(&record, "correspondent-informed");
    assert_closed_form("T_B", detected, 50, 0);
    assert_closed_form("T_N", notified - detected, 12, OF_T_N);
    assert_closed_form("T_O", old - notified, 1, OF_UPDATE);
    assert_closed_form("T_HA", home - notified, 60, OF_REQUEST);
    assert_closed_form("T_CH", correspondent - home, 60, OF_UPDATE);
    assert_closed_form("T_loss", old, 63, OF_T_N + OF_UPDATE);
    assert_closed_form("T_h", correspondent, 182, OF_T_N + OF_REQUEST + OF_UPDATE);
}

#[test]
fn the_data_plane_loses_for_as_long_as_the_messages_take() {
    let record = probe_without_buffer("");
    let last = last_loss(&record, 40 * MS + 56_000);
    // Probes come every millisecond, so the last one to be lost comes up to that much before the end.
    assert_closed_form("T_loss", last + MS, 63, OF_T_N + OF_UPDATE + MS);
    // Those in flight from the old agent to the air at the break are lost too: 4 ms.
    let lost = record.lost("probe").count() as u64;
    assert!((63 - 1..=63 + 4 + 1).contains(&lost), "{lost} probes are lost in 63 ms");

    let record = probe_without_buffer(BASE_PROTOCOL);
    let last = last_loss(&record, 120 * MS + 40_000 + 56_000);
    assert_closed_form("T_loss_Base", last + MS, 182, OF_T_N + OF_REQUEST + 56_000 + MS);
    let lost = record.lost("probe").count() as u64;
    assert!((182 - 1..=182 + 4 + 1).contains(&lost), "{lost} probes are lost in 182 ms");
}

#[test]
fn the_base_protocol_takes_the_times_of_equation_1() {
    let record = probe_without_buffer(BASE_PROTOCOL);
    assert_closed_form("T_h_Base", phase(&record, "home-agent-registered"), 122, OF_T_N + OF_REQUEST);
    assert_eq!(record.phase("old-agent-informed", LEAVES), None);
    assert_eq!(record.phase("correspondent-informed", 0), None);
}

#[test]
fn the_round_trip_time_is_that_of_table_1_before_and_after() {
    for (mobility, expected, serialisation) in
        [("", 88, OF_ROUND_TRIP), (BASE_PROTOCOL, 168, OF_ROUND_TRIP + 409_600)]
    {
        // With a window of one segment, the next is sent when the last one is acknowledged.
        let flows = TCP.replace("8 pkt", "1 pkt");
        let record = Lab { mobility: mobility.into(), flows, duration_ms: 7_000, ..Lab::default() }.run();
        let sent: Vec<u64> = record.delivered("tcp").map(|segment| segment.sent).collect();
        let settled = |at: u64| (at > 2_000 * MS && at < LEAVES - 200 * MS) || at > LEAVES + 1_500 * MS;
        let trips = sent.windows(2).filter(|pair| settled(pair[0])).map(|pair| pair[1] - pair[0]);
        let trips: Vec<u64> = trips.collect();
        assert!(trips.len() > 15);
        trips.iter().for_each(|&trip| assert_closed_form("T_RTT", trip, expected, serialisation));
    }
}

/// A full window of segments and a probe every millisecond.
fn busy(buffer: &str) -> Record {
    let flows = format!("{}{PROBE}", TCP.replace("8 pkt", "64 pkt"));
    Lab { buffer: buffer.into(), flows, duration_ms: 8_000, ..Lab::default() }.run()
}

/// Packets of a flow that come after one that was sent later, since the handoff: when they were sent, and how late.
fn late(record: &Record, flow: &str) -> Vec<(u64, u64)> {
    let late = record.delivered(flow).filter(|packet| packet.late_by > 0 && packet.time > LEAVES);
    late.map(|packet| (packet.sent, packet.late_by)).collect()
}

/// Acknowledgements that repeat the one before: one for each segment above a hole.
fn duplicate_acks(record: &Record) -> usize {
    let mut missing_from = record.delivered("tcp").map(|segment| segment.seq).min().expect("segments");
    let mut above = BTreeSet::new();
    let mut duplicates = 0;
    for segment in record.delivered("tcp") {
        above.insert(segment.seq);
        let before = missing_from;
        while above.remove(&missing_from) {
            missing_from += 1;
        }
        duplicates += usize::from(before == missing_from);
    }
    duplicates
}

/// mblue.reorder, ipf.arq. Interpretation A6: the last packets on the old way and the first that the correspondent sends to
/// the new agent itself meet there. The old way is longer by three wires of 1 ms: to the old base station, back, and to
/// the new agent. So packets of the last 3 ms before the correspondent switches, plus serialisation on these wires, may
/// be overtaken by as many of the first after it. Nothing else is out of order.
#[test]
fn a_buffered_handoff_loses_nothing_twice_and_keeps_the_order_until_the_correspondent_switches() {
    let record = busy("limit = \"1000 pkt\"");
    let switch = LEAVES + phase(&record, "correspondent-informed");
    // A segment of 532 B in a tunnel, and a probe that waits behind it, on each wire.
    let longer = 3 * MS + 3 * 2 * 425_600;
    for flow in ["tcp", "probe"] {
        assert_eq!(record.lost(flow).count(), 0, "{flow}");
        assert_eq!(record.total(flow, "duplicate_pkts"), 0, "{flow}");
        for (sent, late_by) in late(&record, flow) {
            assert!(
                sent <= switch && sent + longer >= switch,
                "{flow}: sent at {sent}, not just before {switch}"
            );
            assert!(late_by <= longer / MS, "{flow}: overtaken by {late_by}");
        }
    }
    let overtaken = late(&record, "probe").len() as u64;
    assert!((1..=longer / MS).contains(&overtaken), "{overtaken} probes are overtaken");
    assert_eq!((record.total("tcp", "timeouts"), record.total("tcp", "fast_retransmits")), (0, 0));
}

/// The same with the wait that closes interpretation A6: no packet is lost, duplicated or reordered in a buffered handoff.
#[test]
fn with_the_wait_a_buffered_handoff_keeps_the_order_to_the_end() {
    let record = busy("limit = \"1000 pkt\", in_order_wait = \"10 ms\"");
    for flow in ["tcp", "probe"] {
        assert_eq!(record.lost(flow).count(), 0, "{flow}");
        assert_eq!(record.total(flow, "duplicate_pkts"), 0, "{flow}");
        assert_eq!(late(&record, flow), [], "{flow}");
        let resumed = record.delivered(flow).filter(|packet| packet.time > LEAVES + 1_000 * MS).count();
        assert!(resumed > 500, "{flow}: only {resumed} after the wait");
    }
    assert_eq!(duplicate_acks(&record), 0);
}

#[test]
fn without_the_detour_forwarded_packets_come_late_and_acknowledgements_repeat() {
    let (with, without) = (busy("limit = \"1000 pkt\""), busy("limit = \"1000 pkt\", detour = false"));
    let switch = LEAVES + phase(&without, "correspondent-informed");
    assert!(late(&without, "probe").iter().filter(|(sent, _)| *sent < switch - 100 * MS).count() > 50);
    assert!(late(&without, "tcp").len() > late(&with, "tcp").len() + 20);
    let repeated = [&with, &without].map(duplicate_acks);
    // Few, since the two streams alternate and each late segment fills a hole.
    assert!(repeated[0] <= 3 && repeated[1] >= repeated[0] + 5, "{repeated:?}");
    assert_eq!(without.lost("probe").count() + without.lost("tcp").count(), 0);
}

#[test]
fn without_layer_2_acknowledgement_packets_come_twice() {
    let run = |layer2_ack: bool| {
        let buffer = format!("limit = \"64 pkt\", layer2_ack = {layer2_ack}");
        Lab { buffer, flows: TCP.replace("8 pkt", "32 pkt"), ..Lab::default() }.run()
    };
    let (with, without) = (run(true), run(false));
    assert_eq!((with.total("tcp", "duplicate_pkts"), with.census("duplicated")), (0, 0));
    assert_eq!(with.total("tcp", "fast_retransmits"), 0);
    assert!(without.total("tcp", "duplicate_pkts") >= 32);
    assert_eq!(without.lost("tcp").count(), 0);
    assert!(without.total("tcp", "fast_retransmits") > 0, "unnecessary, since nothing was lost");
}

/// mblue.perhost.
#[test]
fn one_buffer_recovers_all_flows_of_a_host() {
    let second = TCP.replace("name = \"tcp\"", "name = \"tcp2\"");
    let flows = format!("{TCP}{second}{PROBE}");
    let run = |limit: u64| {
        Lab { buffer: format!("limit = \"{limit} pkt\""), flows: flows.clone(), ..Lab::default() }.run()
    };

    let record = run(1_000);
    let held: BTreeSet<_> = record
        .released_at(LEAVES + phase(&record, "forwarding-started"))
        .map(|release| release.flow.clone())
        .collect();
    assert_eq!(held, ["tcp", "tcp2", "probe"].map(Into::into).into());
    for flow in ["tcp", "tcp2", "probe"] {
        assert_eq!(record.lost(flow).count(), 0, "{flow}");
    }

    // The limit is the host's, not a flow's.
    let record = run(30);
    assert_eq!(record.released_at(LEAVES + phase(&record, "forwarding-started")).count(), 30);
}

#[test]
fn what_the_buffer_cannot_hold_is_counted() {
    let flows = PROBE.into();
    let record = Lab { buffer: "limit = \"10 pkt\"".into(), flows, ..Lab::default() }.run();
    // 63 ms and a millisecond for the forward message, at a probe a millisecond.
    let overflow = record.lost("probe").filter(|loss| &*loss.reason == "buffer-overflow").count();
    assert!((53..=56).contains(&overflow), "{overflow}");
    assert_eq!(record.census("buffer-overflow"), overflow as u64);
    assert!(record.lost("probe").all(|loss| &*loss.place == "bs1"));
}

#[test]
fn a_buffer_that_nobody_asks_for_expires() {
    for message in ["forward", "binding-update"] {
        // The first update notified the correspondent of the first cell.
        let all = (1..=40).filter(|&number| message == "forward" || number > 1);
        let troubles = all.map(|number| Trouble::lost(message, number)).collect();
        let record = Lab { troubles, ..Lab::default() }.run();
        let expired: Vec<_> = record.losses.iter().filter(|loss| &*loss.reason == "buffer-expired").collect();
        assert!(expired.len() > 10, "{message}: {}", expired.len());
        assert!(expired.iter().all(|loss| loss.time == LEAVES + 2_000 * MS && &*loss.place == "bs1"));
        assert_eq!(record.census("ttl-expired"), 0, "{message}");
    }
}

#[test]
fn what_is_forwarded_is_marked_and_nothing_else_and_every_time_again() {
    // The new cell's queue is so short that it drops forwarded and other packets.
    let flows = format!("{}{PROBE}", TCP.replace("8 pkt", "64 pkt"));
    let record = Lab { new_queue: "5 pkt", flows: flows.clone(), ..Lab::default() }.run();
    let forwarded: BTreeSet<u64> = record.releases.iter().map(|release| release.serial).collect();
    let here: Vec<_> = record.losses.iter().filter(|loss| &*loss.place == "bs2/air").collect();
    assert!(here.iter().any(|loss| loss.forwarded) && here.iter().any(|loss| !loss.forwarded));
    assert!(here.iter().all(|loss| loss.forwarded == forwarded.contains(&loss.serial)));
    assert!(record.releases.iter().all(|release| release.forwarded));

    // Onward after 100 ms: the second base station forwards what the first one forwarded.
    let visits = vec![("bs1", 0), ("bs2", 3_000), ("bs3", 3_100)];
    let record = Lab { visits, flows, ..Lab::default() }.run();
    let by = |node: &str| -> BTreeSet<u64> {
        record
            .releases
            .iter()
            .filter(|release| &*release.node == node)
            .map(|release| release.serial)
            .collect()
    };
    assert!(by("bs1").intersection(&by("bs2")).count() > 0);
    assert!(record.releases.iter().all(|release| release.forwarded));
}

/// mblue.local, over random phases of beacons and advertisements.
#[test]
fn the_local_handoff_protocol_finds_out_in_one_beacon_interval() {
    let detection = |mobility: &str, draw: u64| {
        let lab = Lab {
            mobility: mobility.into(),
            draw,
            duration_ms: 5_000,
            flows: PROBE.into(),
            ..Lab::default()
        };
        let record = lab.run();
        (phase(&record, "movement-detected"), phase(&record, "new-agent-notified"))
    };
    let draws = || 1..=25;
    let local: Vec<_> = draws().map(|draw| detection("tb_mode = \"uniform\"", draw)).collect();
    // A beacon of 24 B at 2 Mbit/s is heard 3.096 ms after it is sent; one that was on its way at the break counts.
    assert!(local.iter().all(|&(detected, _)| detected > 0 && detected <= 50 * MS), "{local:?}");
    assert!(local.iter().all(|&(_, notified)| notified <= 62 * MS + OF_T_N + 400_000), "{local:?}");
    let mean = local.iter().map(|&(detected, _)| detected).sum::<u64>() / 25;
    assert!((15 * MS..35 * MS).contains(&mean), "uniform over 50 ms: {mean}");
    let worst: Vec<_> = draws().map(|draw| detection("", draw).0).collect();
    assert!(worst.iter().all(|&detected| detected == 50 * MS));

    let periodic: Vec<_> = draws().map(|draw| detection("local_handoff = false", draw).0).collect();
    assert!(periodic.iter().all(|&detected| detected <= 1_000 * MS));
    let mean = periodic.iter().sum::<u64>() / 25;
    assert!((300 * MS..700 * MS).contains(&mean), "uniform over a second: {mean}");
}
