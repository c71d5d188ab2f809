//! Buffers at nodes that are not base stations; actions that a node cannot carry out.

use super::Agents;
use crate::control::fault::{Fault, FaultAction};
use crate::endpoints::flows::Carrier;
use crate::ids::AgentIndex;
use crate::run::build::build;
use crate::run::options::{Replication, RunOptions};
use crate::run::world::{Failure, Planes, World};
use roamlab_engine::{Bytes, Duration, Packets, Time};
use roamlab_mobility::{Action, BufferFlush, Buffering, Keeps, MobilityAction, Via};
use roamlab_packet::{
    Addr, DropReason, Dscp, FlowId, IpHeader, MarkingState, Packet, Received, Tos, UdpHeader,
};
use roamlab_record::ids::{Location, NodeId};
use roamlab_scenario::Scenario;
use std::collections::BTreeSet;

const SCENARIO: &str = include_str!("../../../scenario/tests/bad_scenarios/valid.toml");

const AGENT: AgentIndex = AgentIndex(0);

/// The scenario without flows after half a second: the host is in cell "bs1" below "fa1".
fn world() -> World {
    world_of(network())
}

fn network() -> &'static str {
    SCENARIO.split_once("[[flows]]").unwrap().0
}

const SECOND_CELL: &str = r#"
[cells.bs2]
router = "fa1"
rate = "2 Mbit/s"
delay = "3 ms"
queue = { kind = "droptail" }
backhaul = { rate = "10 Mbit/s", delay = "1 ms" }
"#;

fn world_of(text: &str) -> World {
    let scenario = Scenario::parse(text, "valid.toml").unwrap();
    let mut world = build(&scenario, Replication::default(), &RunOptions::default());
    run_until(&mut world, 500).unwrap();
    world
}

fn run_until(world: &mut World, millis: u64) -> Result<(), Failure> {
    let end = Time::ZERO + Duration::from_millis(millis);
    let run = world.run(end, &RunOptions::default());
    world.planes.cx.now = end;
    run
}

fn node(world: &World, name: &str) -> NodeId {
    world.planes.network.node_named(name).unwrap()
}

fn address(world: &World, name: &str) -> Addr {
    world.planes.network.address(node(world, name))
}

/// The first agent of a node wants this done.
fn act(world: &mut World, node: NodeId, action: MobilityAction) {
    let Planes { cx, network, agents } = &mut world.planes;
    agents.act(node, AGENT, action, network, cx);
}

/// A node sends the host as many packets, whose sizes tell them apart.
fn send(world: &mut World, from: &str, sizes: &[u64]) {
    let (source, host) = (node(world, from), address(world, "mh"));
    let inner = IpHeader::new(address(world, from), host, Tos::default());
    for &size in sizes {
        let body = UdpHeader::default();
        let packet = Packet::make(FlowId(0), inner, Bytes(size), world.planes.cx.now, body);
        let packet = world.planes.cx.pool.create(packet);
        world.planes.send(source, packet);
    }
}

fn held(world: &mut World, name: &str) -> usize {
    let at = node(world, name);
    world.planes.network.node(at).buffers.values().map(|buffer| buffer.len()).sum()
}

/// Sizes of what left buffers of a node.
fn released(world: &World, name: &str) -> Vec<u64> {
    let (releases, at) = (&world.planes.cx.probes.releases, node(world, name));
    let rows = releases.node.iter().zip(&releases.size_bytes);
    rows.filter(|(node, _)| **node == at).map(|(_, size)| *size).collect()
}

#[test]
fn an_access_router_and_a_gateway_buffer_as_a_base_station_does() {
    for (name, via, from) in [("fa1", "bs1", "ch"), ("ha", "fa1", "ha")] {
        for (flush, order) in
            [(BufferFlush::OldestFirst, [400, 500, 600]), (BufferFlush::NewestFirst, [600, 500, 400])]
        {
            let mut world = world();
            let (at, host) = (node(&world, name), address(&world, "mh"));
            let shape = Buffering::plain(Packets(3), Keeps::Nothing);
            world.planes.network.node(at).agents[0].buffering = Some(Buffering { flush, ..shape });
            act(&mut world, at, Action::StartBuffering { host });
            send(&mut world, from, &[400, 500, 600, 700]);
            run_until(&mut world, 700).unwrap();
            assert_eq!(held(&mut world, name), 3, "{name}");
            assert_eq!(world.planes.cx.drop_reasons().last(), Some(&DropReason::BufferOverflow));
            let next = address(&world, via);
            let via = if name == "ha" { Via::Tunnel(next) } else { Via::Neighbour(next) };
            act(&mut world, at, Action::Release { host, via, mark: None });
            assert_eq!((held(&mut world, name), released(&world, name)), (0, order.to_vec()));
            run_until(&mut world, 800).unwrap();
            // They belong to no endpoint: where they end, they have arrived.
            let reasons = world.planes.cx.drop_reasons();
            let arrived = reasons.iter().filter(|reason| **reason == DropReason::NoEndpoint).count();
            assert_eq!(arrived, 3, "{name}: {reasons:?}");
        }
    }
}

#[test]
fn a_packet_waits_no_longer_than_it_may() {
    let mut world = world();
    let (at, host) = (node(&world, "fa1"), address(&world, "mh"));
    let shape = Buffering::plain(Packets(9), Keeps::Nothing);
    let longest_wait = Some(Duration::from_millis(30));
    world.planes.network.node(at).agents[0].buffering = Some(Buffering { longest_wait, ..shape });
    act(&mut world, at, Action::StartBuffering { host });
    send(&mut world, "ch", &[400, 500]);
    run_until(&mut world, 800).unwrap();
    let drops = &world.planes.cx.probes.drops;
    let expired = drops.rows.iter().filter(|row| row.reason == DropReason::BufferExpired);
    // They come after 40 ms and 320 µs, and another 400 µs, of transmission.
    let micros: Vec<u64> = expired.map(|row| row.time_ns.as_nanos() / 1000).collect();
    assert_eq!(micros, [570_320, 570_720]);
}

/// The copies of packets that reached the host, and what its layer 2 lost.
fn reached(world: &World) -> (usize, usize) {
    let (drops, host) = (&world.planes.cx.probes.drops, Location::Node(node(world, "mh")));
    let at_host = drops.rows.iter().filter(|row| row.place == host);
    let of = |wanted| at_host.clone().filter(|row| row.reason == wanted).count();
    (of(DropReason::NoEndpoint), of(DropReason::Duplicate))
}

#[test]
fn copies_take_the_branches_of_a_route_and_the_host_takes_or_drops_the_second() {
    for (drops_duplicates, expected) in [(false, (6, 0)), (true, (3, 3))] {
        let mut world = world_of(&format!("{}\n{SECOND_CELL}", network()));
        let (fa1, mh, host) = (node(&world, "fa1"), node(&world, "mh"), address(&world, "mh"));
        let cells = ["bs1", "bs2"].map(|name| node(&world, name));
        // In both cells at the same time, with a route from the router to each.
        let Planes { cx, network, agents } = &mut world.planes;
        agents.enter(mh, network.cell_of(cells[1]).unwrap(), network, cx);
        if drops_duplicates {
            network.cells().drop_duplicates(mh);
        }
        let branch = |via| Action::AddBranch { host, from: None, via, watch: false };
        let ways = cells.map(|cell| Via::Neighbour(world.planes.network.address(cell)));
        act(&mut world, fa1, Action::ClearRoute { host, from: None });
        for (cell, way) in cells.into_iter().zip(ways) {
            act(&mut world, fa1, branch(way));
            act(&mut world, cell, branch(Via::Air));
        }
        send(&mut world, "ha", &[400, 500, 600]);
        run_until(&mut world, 800).unwrap();
        assert_eq!(reached(&world), expected);
        assert_eq!(world.planes.cx.pool.census().duplicated, 3, "copies are counted as such");
        act(&mut world, fa1, Action::RemoveBranch { host, from: None, via: ways[0] });
        send(&mut world, "ha", &[700]);
        run_until(&mut world, 1000).unwrap();
        assert_eq!(world.planes.cx.pool.census().duplicated, 3, "one way is left");
        assert_eq!(reached(&world).0, expected.0 + 1);
    }
}

#[test]
fn a_base_station_loses_copies_of_what_its_host_has_reported() {
    let mut world = world();
    let [fa1, bs1] = ["fa1", "bs1"].map(|name| node(&world, name));
    let host = address(&world, "mh");
    let mut copy = || {
        let inner = IpHeader::new(address(&world, "ch"), host, Tos::default());
        let body = UdpHeader::default();
        let pool = &mut world.planes.cx.pool;
        let original = pool.create(Packet::make(FlowId(0), inner, Bytes(400), Time::ZERO, body));
        let copy = pool.duplicate(&original);
        (pool.deliver(original).serial, copy)
    };
    let [(known, first), (_, second)] = [copy(), copy()];
    act(&mut world, bs1, Action::StartBuffering { host });
    act(&mut world, bs1, Action::Release { host, via: Via::Air, mark: None });
    act(&mut world, bs1, Action::SetRoute { host, from: None, via: Via::Air, watch: false });
    act(&mut world, bs1, Action::SkipReceived { host, received: Received::Serials([known].into()) });
    for copy in [first, second] {
        world.planes.send(fa1, copy);
    }
    run_until(&mut world, 600).unwrap();
    let drops = &world.planes.cx.probes.drops.rows;
    let [lost, reached] = ["bs1", "mh"].map(|name| Location::Node(node(&world, name)));
    let ends: Vec<_> = drops.iter().map(|row| (row.place, row.reason)).collect();
    assert_eq!(ends, [(lost, DropReason::Duplicate), (reached, DropReason::NoEndpoint)]);
}

#[test]
fn packets_take_a_branch_after_a_constant_delay_until_the_buffer_is_released() {
    let mut world = world();
    let (fa1, host) = (node(&world, "fa1"), address(&world, "mh"));
    let shape = Buffering::plain(Packets(9), Keeps::Nothing);
    world.planes.network.node(fa1).agents[0].buffering = Some(shape);
    let (via, wait) = (Via::Neighbour(address(&world, "bs1")), Duration::from_millis(30));
    act(&mut world, fa1, Action::Delay { host, via, wait });
    act(&mut world, fa1, Action::SetRoute { host, from: None, via: Via::Buffer, watch: false });
    send(&mut world, "ch", &[400, 500]);
    let times = |world: &World| {
        let times = world.planes.cx.probes.releases.time_ns.iter();
        times.map(|time| time.as_nanos() / 1_000).collect::<Vec<_>>()
    };
    run_until(&mut world, 560).unwrap();
    assert_eq!((held(&mut world, "fa1"), times(&world)), (2, vec![]));
    run_until(&mut world, 600).unwrap();
    // They come after 40 ms and 320 µs, and another 400 µs, of transmission.
    assert_eq!((held(&mut world, "fa1"), times(&world)), (0, vec![570_320, 570_720]));
    send(&mut world, "ch", &[600]);
    run_until(&mut world, 650).unwrap();
    act(&mut world, fa1, Action::Release { host, via, mark: None });
    assert_eq!(
        (held(&mut world, "fa1"), times(&world).len()),
        (0, 3),
        "waiting packets are sent immediately"
    );
    assert!(!world.planes.cx.drop_reasons().contains(&DropReason::BufferExpired));
}

#[test]
fn packets_with_the_mark_that_the_agent_names_pass_and_all_others_wait() {
    let mut world = world();
    let [fa1, bs1] = ["fa1", "bs1"].map(|name| node(&world, name));
    let host = address(&world, "mh");
    world.planes.network.node(bs1).agents[0].buffering = Some(Buffering::plain(Packets(9), Keeps::Nothing));
    let own = Dscp(5);
    act(&mut world, bs1, Action::AwaitForwarded { host, mark: own, wait: Duration::from_secs(1) });
    act(&mut world, bs1, Action::SetRoute { host, from: None, via: Via::Buffer, watch: false });
    for mark in [own, Dscp::FORWARDED, Dscp::default()] {
        let inner = IpHeader::new(address(&world, "fa1"), host, Tos::default());
        let body = UdpHeader::default();
        let packet =
            world.planes.cx.pool.create(Packet::make(FlowId(0), inner, Bytes(400), Time::ZERO, body));
        world.planes.cx.pool[&packet].set_inner_dscp(mark);
        world.planes.send(fa1, packet);
    }
    run_until(&mut world, 600).unwrap();
    assert_eq!((held(&mut world, "bs1"), reached(&world).0), (2, 1));
}

#[test]
fn a_delay_that_is_shorter_than_the_longest_wait_is_kept() {
    let mut world = world();
    let (fa1, host) = (node(&world, "fa1"), address(&world, "mh"));
    let shape = Buffering::plain(Packets(9), Keeps::Nothing);
    let longest_wait = Some(Duration::from_millis(300));
    world.planes.network.node(fa1).agents[0].buffering = Some(Buffering { longest_wait, ..shape });
    act(&mut world, fa1, Action::StartBuffering { host });
    send(&mut world, "ch", &[400]);
    run_until(&mut world, 545).unwrap();
    let (via, wait) = (Via::Neighbour(address(&world, "bs1")), Duration::from_millis(30));
    act(&mut world, fa1, Action::Delay { host, via, wait });
    send(&mut world, "fa1", &[500]);
    run_until(&mut world, 600).unwrap();
    let times = world.planes.cx.probes.releases.time_ns.iter();
    let micros: Vec<_> = times.map(|time| time.as_nanos() / 1_000).collect();
    assert_eq!(micros, [570_320, 575_000], "they came at 540.32 ms and at 545 ms");
}

#[test]
fn a_buffer_that_was_released_to_the_air_keeps_copies_of_what_is_sent_again() {
    let mut world = world();
    let (bs1, host) = (node(&world, "bs1"), address(&world, "mh"));
    let station = world.planes.network.node(bs1);
    station.agents[0].buffering = Some(Buffering::plain(Packets(3), Keeps::Sent));
    station.keeps_copies = true;
    act(&mut world, bs1, Action::StartBuffering { host });
    send(&mut world, "fa1", &[400]);
    run_until(&mut world, 550).unwrap();
    assert_eq!(held(&mut world, "bs1"), 1, "it waits");
    act(&mut world, bs1, Action::Release { host, via: Via::Air, mark: None });
    act(&mut world, bs1, Action::SetRoute { host, from: None, via: Via::Air, watch: false });
    assert_eq!(held(&mut world, "bs1"), 0);
    send(&mut world, "fa1", &[500]);
    run_until(&mut world, 600).unwrap();
    assert_eq!((held(&mut world, "bs1"), reached(&world).0), (2, 2), "copies of both");
    assert_eq!(world.planes.cx.pool.census().duplicated, 2);
}

/// Error that ends the run after an agent of a node has asked for this.
fn law(name: &str, action: impl Fn(Addr) -> MobilityAction) -> String {
    let mut world = world();
    let (at, host) = (node(&world, name), address(&world, "mh"));
    act(&mut world, at, action(host));
    match run_until(&mut world, 700) {
        Err(Failure::Law(violation)) => violation.law,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_action_that_a_node_cannot_carry_out_ends_the_run() {
    let route = |via| move |host| Action::SetRoute { host, from: None, via, watch: false };
    let nobody = Addr::new(4000, 0);
    let laws = [
        law("fa1", |host| Action::StartBuffering { host }),
        law("fa1", |host| Action::AwaitForwarded {
            host,
            mark: Dscp::FORWARDED,
            wait: Duration::from_millis(1),
        }),
        law("bs1", |host| Action::Release { host, via: Via::Air, mark: None }),
        law("fa1", route(Via::Air)),
        law("fa1", route(Via::Neighbour(nobody))),
        law("fa1", route(Via::Buffer)),
        law("ha", route(Via::ReorderQueue)),
        law("fa1", |host| Action::AwaitDrained { host }),
        law("fa1", |host| Action::SkipReceived { host, received: Received::Serials([1].into()) }),
        law("fa1", |host| Action::ReportMarking { host }),
        law("fa1", |host| Action::AdoptMarking { host, state: MarkingState::Average(1.0) }),
        law("fa1", |_| Action::Leave),
        law("fa1", |_| Action::Search),
        law("mh", |_| Action::Measure { conditions: Vec::new() }),
        law("fa1", |to| Action::ReportReceived { to }),
        law("fa1", |_| Action::Enter { base_station: nobody, after: Duration::ZERO }),
        law("fa1", |_| Action::Note { host: nobody, phase: "registered" }),
    ];
    insta::assert_snapshot!(laws.join("\n"));
}

#[test]
fn what_finds_nothing_to_do_is_no_violation() {
    for (name, action) in [
        ("bs1", (|host| Action::DiscardBuffer { host }) as fn(Addr) -> MobilityAction),
        ("bs1", |host| Action::ReleaseReorderQueue { host, via: Via::Air }),
        ("bs1", |host| Action::SkipReceived { host, received: Received::Serials([1].into()) }),
        ("bs1", |host| Action::AdoptMarking { host, state: MarkingState::Average(1.0) }),
        ("fa1", |host| Action::EndBearer { host }),
        ("fa1", |host| Action::ClearRoute { host, from: None }),
    ] {
        let mut world = world();
        let (at, host) = (node(&world, name), address(&world, "mh"));
        act(&mut world, at, action(host));
        assert_eq!(run_until(&mut world, 600), Ok(()), "{name}");
    }
}

#[test]
fn who_waits_for_the_air_is_told_when_a_medium_loses_the_last_packet() {
    let medium =
        "rate = \"2 Mbit/s\"\ndelay = \"3 ms\"\nmedium = { kind = \"shared\", frame_loss = 0.999999 }\n";
    let text = network().replacen("rate = \"2 Mbit/s\"\ndelay = \"3 ms\"\n", medium, 1);
    let mut world = world_of(&text);
    let (bs1, host) = (node(&world, "bs1"), address(&world, "mh"));
    // The host has not registered, for nothing gets across.
    act(&mut world, bs1, Action::SetRoute { host, from: None, via: Via::Air, watch: false });
    send(&mut world, "bs1", &[400]);
    act(&mut world, bs1, Action::AwaitDrained { host });
    assert_eq!(world.planes.agents.draining.len(), 1, "a packet is on the air");
    run_until(&mut world, 510).unwrap();
    assert_eq!(world.planes.cx.drop_reasons().last(), Some(&DropReason::FrameLoss));
    assert_eq!(world.planes.agents.draining.len(), 0);
}

#[test]
fn every_fault_counts_the_messages_and_of_two_the_last_has_priority() {
    let late = Duration::from_millis(5);
    let fault = |occurrences: &[u32], delay| Fault {
        message: "notification".into(),
        host: None,
        occurrences: occurrences.into(),
        delay,
        duplicate: false,
        seen: 0,
    };
    let faults = vec![fault(&[1, 4], None), fault(&[2, 4], Some(late)), fault(&[3], None)];
    let mut agents = Agents::new(faults, Vec::new());
    let actions: Vec<_> = (0..5).map(|_| agents.fault_action(("notification", None))).collect();
    let (lost, late) = (Some(FaultAction::Lose), Some(FaultAction::Delay(late)));
    assert_eq!(actions, [lost, late, lost, late, None]);
}

#[test]
fn a_host_that_changes_cells_is_out_of_range_anew() {
    let mut world = world();
    let [mh, bs1] = ["mh", "bs1"].map(|name| node(&world, name));
    let Planes { cx, network, .. } = &mut world.planes;
    let cell = network.cell_of(bs1).unwrap();
    let first = network.cells().why_unheard(mh, cell, cx);
    assert_eq!(network.cells().why_unheard(mh, cell, cx), first, "one reason for as long as it lasts");
    network.cells().note_change(mh, "link-up", None, cx);
    let second = network.cells().why_unheard(mh, cell, cx);
    assert!(second > first, "{first:?} {second:?}");
}

#[test]
fn who_buffers_waits_for_the_air_no_more() {
    let mut world = world();
    let (bs1, host) = (node(&world, "bs1"), address(&world, "mh"));
    send(&mut world, "bs1", &[400]);
    act(&mut world, bs1, Action::AwaitDrained { host });
    assert!(world.planes.agents.wait_for_air());
    act(&mut world, bs1, Action::StartBuffering { host });
    assert!(!world.planes.agents.wait_for_air());
}

#[test]
fn a_message_has_arrived_when_its_first_copy_has() {
    let arrivals = |fault: &str| {
        let signalling = &world_of(&format!("{}{fault}", network())).planes.cx.probes.signalling;
        let rows = signalling.message.iter().zip(&signalling.arrived_ns);
        rows.filter(|(name, _)| **name == "registration-request").map(|(_, at)| *at).collect::<Vec<_>>()
    };
    let fault = "[[faults]]\nmessage = \"registration-request\"\noccurrences = [1]\nduplicate = true\ndelay = \"100 ms\"\n";
    let sound = arrivals("");
    assert!(sound[0] > 0);
    assert_eq!(arrivals(fault)[0], sound[0]);
}

#[test]
fn a_run_that_records_nothing_keeps_nothing() {
    let scenario = Scenario::parse(SCENARIO, "valid.toml").unwrap();
    let tables = ["census".to_owned()];
    let options = RunOptions { tables: Some(&tables), ..RunOptions::default() };
    let mut world = build(&scenario, Replication::default(), &options);
    world.run(Time::ZERO + Duration::from_millis(900), &options).unwrap();
    let kept: Vec<_> = world.planes.cx.parts().filter(|part| part.rows > 0).map(|part| part.name).collect();
    assert_eq!(kept, [""; 0]);
}

#[test]
fn a_message_is_in_flight_as_long_as_a_packet_carries_it() {
    let mut most = 0;
    for faults in
        ["", "[[faults]]\nmessage = \"registration-request\"\noccurrences = [1]\nduplicate = true\n"]
    {
        let mut world = world_of(&format!("{}{faults}", network()));
        for millis in 500..900 {
            run_until(&mut world, millis).unwrap();
            let cx = &world.planes.cx;
            let carried: BTreeSet<_> = cx.pool.inside().filter_map(|packet| packet.message()).collect();
            assert_eq!(cx.messages.len(), carried.len(), "{millis} ms");
            most = most.max(carried.len());
        }
    }
    assert!(most > 0, "some message was in flight at some time");
}
