//! Marks at the edge of the access network and after the air link; packets that a break cuts off.

use super::*;
use crate::endpoints::flows::Carrier;
use crate::run::build::build;
use crate::run::options::{Replication, RunOptions};
use crate::run::world::World;
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_mobility::Input;
use roamlab_packet::{Dscp, FlowId, Packet, Tos, UdpHeader};
use roamlab_scenario::{Scenario, TunnelEcn};

/// Two access routers and a server around a core router; a host in the cell of each.
const SCENARIO: &str = r#"
run = { duration = "1 s" }
network = { foreign_marks = "MARKS" }
radio = { kind = "hard", in_flight_at_break = "FATE" }
mobility = { kind = "mobile-ip" }
links = [
    { between = ["core", "fa1"], rate = "10 Mbit/s", delay = "1 ms" },
    { between = ["core", "fa2"], rate = "10 Mbit/s", delay = "1 ms" },
    { between = ["core", "ch"], rate = "10 Mbit/s", delay = "1 ms" },
    { between = ["core", "ha"], rate = "10 Mbit/s", delay = "1 ms" },
    { between = ["fa1", "server"], rate = "10 Mbit/s", delay = "1 ms" },
]
[cells.bs1]
router = "fa1"
rate = "2 Mbit/s"
delay = "3 ms"
queue = { kind = "droptail" }
backhaul = { rate = "10 Mbit/s", delay = "1 ms" }
[cells.bs2]
router = "fa2"
rate = "2 Mbit/s"
delay = "3 ms"
queue = { kind = "droptail" }
backhaul = { rate = "10 Mbit/s", delay = "1 ms" }
[[hosts]]
name = "mh"
home = "ha"
visits = [{ cell = "bs1", at = "0 s", until = "600 ms" }]
"#;

fn world(marks: &str, fate: &str) -> World {
    let text = SCENARIO.replace("MARKS", marks).replace("FATE", fate);
    let scenario = Scenario::parse(&text, "lab.toml").unwrap();
    let mut world = build(&scenario, Replication::default(), &RunOptions::default());
    run_until(&mut world, 500_000);
    world
}

fn run_until(world: &mut World, micros: u64) {
    let end = Time::ZERO + Duration::from_micros(micros);
    world.run(end, &RunOptions::default()).unwrap();
    world.planes.cx.now = end;
}

fn node(world: &World, name: &str) -> NodeId {
    world.planes.network.node_named(name).unwrap()
}

/// A packet that has the mark of forwarded packets and belongs to no flow, so that it ends at its destination
/// as a loss on record.
fn marked(world: &mut World, from: &str, to: &str) -> PacketId {
    let addr = |name| world.planes.network.nodes[node(world, name)].addr;
    let tos = Tos::default().with_dscp(Dscp::FORWARDED);
    let inner = IpHeader::new(addr(from), addr(to), tos);
    let body = UdpHeader::default();
    let packet = Packet::make(FlowId(0), inner, Bytes(512), world.planes.cx.now, body);
    let packet = world.planes.cx.pool.create(packet);
    world.planes.cx.probes.traced = Some(world.planes.cx.pool[&packet].serial);
    packet
}

/// Where and why a packet ended, and whether it still had the mark.
fn end(world: &mut World) -> (String, DropReason, bool) {
    run_until(world, 900_000);
    let lost = world.planes.cx.probes.drops.rows.last().unwrap();
    let place = match lost.place {
        Location::Node(node) => world.planes.network.nodes[node].name.clone(),
        Location::Link(link) => world.planes.network.links[link].name.clone(),
    };
    (place, lost.reason, lost.forwarded)
}

fn sent(marks: &str, from: &str, to: &str) -> (String, DropReason, bool) {
    let mut world = world(marks, "delivered");
    let packet = marked(&mut world, from, to);
    let from = node(&world, from);
    world.planes.send(from, packet);
    end(&mut world)
}

fn reached(place: &str, forwarded: bool) -> (String, DropReason, bool) {
    (place.into(), DropReason::NoEndpoint, forwarded)
}

fn policed(place: &str) -> (String, DropReason, bool) {
    (place.into(), DropReason::PolicedMark, true)
}

#[test]
fn a_mark_from_the_core_is_policed_at_the_access_router() {
    assert_eq!(sent("clear", "ch", "server"), reached("server", false));
    assert_eq!(sent("drop", "ch", "server"), policed("fa1"));
    assert_eq!(sent("honour", "ch", "server"), reached("server", true));
    assert_eq!(
        sent("clear", "fa2", "server"),
        reached("server", false),
        "an agent's own packet, in no tunnel"
    );
    assert_eq!(sent("drop", "ch", "ha"), reached("ha", true), "outside the access network it has no effect");
}

#[test]
fn the_record_says_who_policed_what() {
    for (marks, from, to, expected) in [
        ("clear", "ch", "server", Some(("fa1", "cleared"))),
        ("drop", "ch", "server", Some(("fa1", "dropped"))),
        ("honour", "ch", "server", None),
        ("clear", "mh", "server", Some(("bs1", "cleared"))),
        ("drop", "bs1", "server", None),
    ] {
        let mut world = world(marks, "delivered");
        let packet = marked(&mut world, from, to);
        let (serial, source) = (world.planes.cx.pool[&packet].serial, node(&world, from));
        world.planes.send(source, packet);
        end(&mut world);
        let record = &world.planes.cx.probes.policing;
        let who = record.node.first().map(|node| world.planes.network.nodes[*node].name.as_str());
        assert_eq!(who.zip(record.action.first().copied()), expected, "{marks}, {from} to {to}");
        assert!(record.serial.iter().all(|&policed| policed == serial), "once, and no other packet");
        assert!(record.serial.len() <= 1);
    }
}

/// Priority packets that the queue of bs1's air got, when a correspondent marks its own.
fn spoofed_on_the_air(marks: &str, mobility: &str) -> (u64, u64) {
    let flow = "[[flows]]\nname = \"spoofer\"\npath = [\"ch\", \"mh\"]\ndscp = 3\n\
                app = { kind = \"cbr\", start = \"100 ms\", rate = \"100 kbit/s\", packet = \"200 B\" }\n";
    let text = SCENARIO.replace("MARKS", marks).replace("FATE", "delivered");
    let text = text.replace("kind = \"mobile-ip\"", &format!("kind = \"mobile-ip\", {mobility}"));
    let scenario = Scenario::parse(&format!("{text}{flow}"), "lab.toml").unwrap();
    let mut world = build(&scenario, Replication::default(), &RunOptions::default());
    run_until(&mut world, 600_000);
    let air = world.planes.network.links.iter().position(|link| link.name == "bs1/air").unwrap();
    (world.planes.network.links.offered().nth(air).unwrap(), world.planes.cx.probes.forwarded[air])
}

#[test]
fn a_sender_in_the_core_cannot_give_itself_priority() {
    // Through the home agent's tunnel, and through its own once it knows the care-of address.
    for mobility in ["route_optimisation = false", "route_optimisation = true"] {
        let (offered, forwarded) = spoofed_on_the_air("clear", mobility);
        assert!(offered > 20, "{offered} arrive");
        assert_eq!(forwarded, 0, "remarked");
        assert_eq!(spoofed_on_the_air("drop", mobility).0, 0, "none arrives");
        let (offered, forwarded) = spoofed_on_the_air("honour", mobility);
        assert!(offered > 20 && forwarded == offered, "believed: {forwarded} of {offered}");
    }
}

#[test]
fn a_mark_from_a_mobile_host_is_policed_at_its_base_station() {
    assert_eq!(sent("clear", "mh", "server"), reached("server", false));
    assert_eq!(sent("drop", "mh", "server"), policed("bs1"));
    assert_eq!(sent("honour", "mh", "server"), reached("server", true));
}

#[test]
fn a_mark_from_a_base_station_is_believed() {
    for marks in ["clear", "drop", "honour"] {
        assert_eq!(sent(marks, "bs1", "server"), reached("server", true));
    }
}

/// Fate of a marked packet in a tunnel from `from` to fa1.
fn tunnelled(marks: &str, from: &str) -> (String, DropReason, bool) {
    tunnelled_as(marks, from, Dscp::FORWARDED)
}

/// The same if the way gives the outer header this code point.
fn tunnelled_as(marks: &str, from: &str, outer: Dscp) -> (String, DropReason, bool) {
    let mut world = world(marks, "delivered");
    let packet = marked(&mut world, "ch", "server");
    let (src, fa1) = (node(&world, from), node(&world, "fa1"));
    let ends = (world.planes.network.nodes[src].addr, world.planes.network.nodes[fa1].addr);
    let packet = tunnel::encap(
        packet,
        ends,
        (Bytes(20), TunnelEcn::Normal),
        Location::Node(src),
        &mut world.planes.cx,
    )
    .unwrap();
    let header = &mut world.planes.cx.pool[&packet].header;
    header.tos = header.tos.with_dscp(outer);
    world.planes.send(src, packet);
    end(&mut world)
}

#[test]
fn a_mark_in_a_tunnel_is_believed_only_from_a_foreign_agent() {
    assert_eq!(tunnelled("clear", "fa2"), reached("server", true));
    assert_eq!(tunnelled("drop", "fa2"), reached("server", true));
    assert_eq!(tunnelled("clear", "ch"), reached("server", false), "inside and outside of the tunnel");
    assert_eq!(tunnelled("drop", "ch"), policed("fa1"));
    let hidden = |marks| tunnelled_as(marks, "ch", Dscp::default());
    assert_eq!(
        hidden("drop"),
        policed("fa1"),
        "the inner header's mark counts, whatever mark the outer one has"
    );
}

#[test]
fn behind_the_air_link_the_mark_is_cleared() {
    for marks in ["clear", "honour"] {
        assert_eq!(sent(marks, "bs1", "mh"), reached("mh", false));
    }
}

#[test]
fn a_break_cuts_packets_off_both_ways_if_so_asked() {
    // 512 B at 2 Mbit/s are on the air from 599 to 604 ms; the host leaves at 600 ms.
    for (fate, from, to) in
        [("lost", "mh", "server"), ("delivered", "mh", "server"), ("delivered", "bs1", "mh")]
    {
        let mut world = world("clear", fate);
        run_until(&mut world, 599_000);
        let packet = marked(&mut world, from, to);
        let source = node(&world, from);
        world.planes.send(source, packet);
        let expected = match fate {
            "lost" => ("mh->bs1".to_owned(), DropReason::Detached),
            _ => (to.to_owned(), DropReason::NoEndpoint),
        };
        let (place, reason, _) = end(&mut world);
        assert_eq!((place, reason), expected, "{fate}, {from} to {to}");
    }
}

#[test]
fn with_layer_2_acknowledgement_a_packet_cut_off_on_the_downlink_is_buffered() {
    let mut world = world("clear", "lost");
    run_until(&mut world, 599_000);
    let packet = marked(&mut world, "bs1", "mh");
    let source = node(&world, "bs1");
    world.planes.send(source, packet);
    run_until(&mut world, 650_000);
    assert!(world.planes.cx.probes.trace.stop.contains(&Stop::BufferHold));
    assert!(!world.planes.cx.probes.trace.stop.contains(&Stop::LinkArrive));
    let held: usize = world.planes.network.nodes[source].buffers.values().map(|buffer| buffer.len()).sum();
    assert_eq!(held, 1);
}

#[test]
fn an_agent_that_watches_learns_of_uplink_data_and_where_they_come_from() {
    let mut world = world("honour", "delivered");
    let address = |world: &World, name| world.planes.network.nodes[node(world, name)].addr;
    let [mh, bs1, fa1] = ["mh", "bs1", "fa1"].map(|name| node(&world, name));
    let ends = (address(&world, "mh"), address(&world, "ch"));
    let up = |(host, peer)| (host, peer, Direction::Up);
    let over = |world: &World, name: &str| {
        let place = world.planes.network.links.iter().position(|link| link.name == name);
        Origin { link: place.map(|place| LinkId(place as u32)), ..Origin::default() }
    };
    let from_bs1 = over(&world, "bs1->fa1");
    assert!(world.planes.network.watchers(fa1, up(ends), from_bs1).is_empty(), "there are no watchers");
    for node in [mh, bs1, fa1] {
        world.planes.network.nodes[node].agents[0].watches_uplink = true;
    }
    for (at, link, from) in [(mh, "", None), (bs1, "mh->bs1", Some(mh)), (fa1, "bs1->fa1", Some(bs1))] {
        let neighbour = from.map(|from| world.planes.network.nodes[from].addr);
        let inputs = world.planes.network.watchers(at, up(ends), over(&world, link));
        let [(AgentIndex(0), Input::Data { host, peer, direction: Direction::Up, from, tunnelled, lost })] =
            inputs.as_slice()
        else {
            panic!("{inputs:?}");
        };
        assert_eq!(((*host, *peer), *from, *tunnelled, *lost), (ends, neighbour, false, false));
    }
    let stranger = (Addr::mobile(4000), ends.1);
    assert!(world.planes.network.watchers(fa1, up(stranger), from_bs1).is_empty(), "a host of no domain");
}

#[test]
fn a_packet_ends_at_the_node_that_its_hops_do_not_lead_beyond() {
    // core forwards it as any router, and fa1 as an access router, which may look at it.
    for looks in [false, true] {
        for (ttl, place, reason) in [
            (1, "core", DropReason::TtlExpired),
            (2, "fa1", DropReason::TtlExpired),
            (3, "server", DropReason::NoEndpoint),
        ] {
            let mut world = world("honour", "delivered");
            let packet = marked(&mut world, "ch", "server");
            world.planes.cx.pool[&packet].header.ttl = ttl;
            world.planes.cx.probes.traced = None;
            let [source, fa1] = ["ch", "fa1"].map(|name| node(&world, name));
            world.planes.network.nodes[fa1].inspects_packets = looks;
            world.planes.send(source, packet);
            assert_eq!(end(&mut world), (place.into(), reason, true), "{ttl}");
        }
    }
}

#[test]
fn a_host_without_a_cell_keeps_as_many_packets_as_it_may() {
    let mut world = world("honour", "delivered");
    run_until(&mut world, 650_000);
    let (host, limit) = (node(&world, "mh"), crate::layer2::cells::Mobile::WAITING_LIMIT);
    for number in 1..=limit + 2 {
        let packet = marked(&mut world, "mh", "server");
        world.planes.send(host, packet);
        assert_eq!(world.planes.network.cells.packets_waiting(), number.min(limit));
    }
    assert_eq!(world.planes.cx.drop_reasons(), [DropReason::LinkDown; 2]);
}
