//! Numbered radio bearers: two base stations and a host, whose agents do only what the tests want.

use super::*;
use crate::endpoints::flows::Carrier;
use crate::event::Event;
use crate::run::build::build;
use crate::run::options::{Replication, RunOptions};
use crate::run::world::{Planes, World};
use roamlab_engine::{Bytes, Duration, Packets, Time};
use roamlab_mobility::{BearerParams, BearerTimer, BearerValues, Buffering, Keeps, Message, RlcMode, Via};
use roamlab_packet::{
    Addr, BearerState, Counts, DropReason, FlowId, IpHeader, Packet, Received, Tos, UdpHeader,
};
use roamlab_record::ids::Location;
use roamlab_scenario::Scenario;
use std::collections::BTreeSet;

const SCENARIO: &str = r#"
run = { duration = "20 s" }
links = [
    { between = ["ch", "fa"], rate = "100 Mbit/s", delay = "1 ms" },
    { between = ["fa", "ha"], rate = "100 Mbit/s", delay = "1 ms" },
]
[cells.bs1]
router = "fa"
rate = "10 Mbit/s"
delay = "2 ms"
LOSS
queue = { kind = "droptail", limit = "500 pkt" }
backhaul = { rate = "1 Gbit/s", delay = "3 ms" }
[cells.bs2]
router = "fa"
rate = "10 Mbit/s"
delay = "2 ms"
queue = { kind = "droptail", limit = "500 pkt" }
backhaul = { rate = "1 Gbit/s", delay = "3 ms" }
[radio]
kind = "hard"
[mobility]
kind = "mobile-ip"
route_optimisation = true
[[hosts]]
name = "mh"
home = "ha"
visits = [{ cell = "bs1", at = "0 s" }, { cell = "bs2", at = "19 s" }]
[[flows]]
name = "none"
path = ["ch", "mh"]
app = { kind = "cbr", start = "19 s", rate = "8 kbit/s", packet = "1000 B" }
"#;

struct Lab {
    world: World,
    sent: u32,
    /// Some message.
    message: Message,
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn params() -> BearerParams {
    BearerParams { sn_bits: 12, t_reordering: Some(BearerTimer::After(ms(100))), ..BearerParams::default() }
}

/// The host is in the first cell, whose base station has its bearer, at 100 ms.
fn lab(params: &BearerParams) -> Lab {
    lab_of(&SCENARIO.replace("LOSS\n", ""), params.values())
}

fn lab_of(text: &str, values: BearerValues) -> Lab {
    let scenario = Scenario::parse(text, "bearer.toml").unwrap_or_else(|error| panic!("{error}"));
    let world = build(&scenario, Replication::default(), &RunOptions::default());
    let mut lab = Lab { message: some_message(&world), world, sent: 0 };
    let [ch, bs1] = ["ch", "bs1"].map(|name| lab.node(name));
    let Planes { cx, network, .. } = &mut lab.world.planes;
    let mut idle = network.agent(ch, AgentIndex(0)).clone();
    idle.buffering = Some(Buffering::plain(Packets(1000), Keeps::Nothing));
    network.number_all(&idle, values, cx);
    lab.run(100);
    lab.world.planes.cx.probes.drops.rows.clear();
    lab.adopt(bs1, Counts::default());
    lab.route(bs1, None, Via::Air);
    lab
}

/// A message that a base station sends at some time: a beacon.
fn some_message(world: &World) -> Message {
    let mut network = world.planes.network.clone();
    let station = network.node_named("bs1").unwrap();
    let (mut actions, late) = (Vec::new(), Time::ZERO + ms(10_000));
    network.agent(station, AgentIndex(0)).machine.on(Input::Deadline, late, &mut actions);
    let message = actions.into_iter().find_map(|action| match action {
        Action::Send { message, .. } => Some(message),
        _ => None,
    });
    message.unwrap()
}

impl Lab {
    fn node(&self, name: &str) -> NodeId {
        self.world.planes.network.node_named(name).unwrap()
    }

    fn address(&self, name: &str) -> Addr {
        self.world.planes.network.address(self.node(name))
    }

    fn host(&self) -> Addr {
        self.address("mh")
    }

    fn act(&mut self, node: NodeId, action: MobilityAction) {
        let Planes { cx, network, agents } = &mut self.world.planes;
        agents.act(node, AgentIndex(0), action, network, cx);
    }

    fn adopt(&mut self, node: NodeId, counts: Counts) {
        let host = self.host();
        self.act(node, Action::AdoptBearer { host, counts });
    }

    fn route(&mut self, node: NodeId, from: Option<Addr>, via: Via) {
        let host = self.host();
        self.act(node, Action::SetRoute { host, from, via, watch: false });
    }

    /// Until that time in ms.
    fn run(&mut self, millis: u64) {
        self.run_to(Time::ZERO + ms(millis));
    }

    fn run_to(&mut self, end: Time) {
        // The clock of the events continues to that time too.
        self.world.planes.cx.scheduler.push(end, Event::Ordered { node: NodeId(0) });
        self.world.run(end, &RunOptions::default()).unwrap_or_else(|failure| panic!("{failure}"));
        self.world.planes.cx.now = end;
    }

    fn now(&self) -> Time {
        self.world.planes.cx.now
    }

    /// As many packets of 1250 B from a node to another: 1 ms each on the air.
    fn send(&mut self, from: &str, to: &str, count: u32) {
        let (source, ends) = (self.node(from), (self.address(from), self.address(to)));
        for _ in 0..count {
            let body = UdpHeader { seq: self.sent };
            self.sent += 1;
            let inner = IpHeader::new(ends.0, ends.1, Tos::default());
            let packet = Packet::make(FlowId(5), inner, Bytes(1250), self.now(), body);
            let packet = self.world.planes.cx.pool.create(packet);
            self.world.planes.send(source, packet);
        }
    }

    /// One every 2 ms.
    fn send_slowly(&mut self, from: &str, to: &str, count: u32) {
        for _ in 0..count {
            self.send(from, to, 1);
            self.run_to(self.now() + ms(2));
        }
    }

    /// The numbers of the packets that were lost at a node for a reason, in order.
    fn lost(&self, name: &str, reason: DropReason) -> Vec<u32> {
        let place = Location::Node(self.node(name));
        let rows = self.world.planes.cx.probes.drops.rows.iter();
        rows.filter(|row| (row.place, row.reason) == (place, reason)).map(|row| row.seq).collect()
    }

    /// The packets that have arrived at a node: they belong to no endpoint there.
    fn arrived(&self, name: &str) -> Vec<u32> {
        self.lost(name, DropReason::NoEndpoint)
    }

    /// When a packet arrived at a node, in µs.
    fn arrival(&self, name: &str, seq: u32) -> u64 {
        let place = Location::Node(self.node(name));
        let mut rows = self.world.planes.cx.probes.drops.rows.iter();
        let is_it = |row: &&roamlab_record::Drop| {
            (row.place, row.reason, row.seq) == (place, DropReason::NoEndpoint, seq)
        };
        rows.find(is_it).unwrap().time_ns.as_nanos() / 1000
    }

    /// The reasons of all losses of data.
    fn losses(&self) -> BTreeSet<DropReason> {
        let rows = self.world.planes.cx.probes.drops.rows.iter();
        let losses = rows.map(|row| row.reason).filter(|reason| reason.loses_data());
        losses.filter(|reason| *reason != DropReason::NoEndpoint).collect()
    }

    fn state(&mut self, name: &str) -> Option<BearerState> {
        let (node, host) = (self.node(name), self.host());
        let Planes { cx, network, .. } = &mut self.world.planes;
        network.bearer_state(node, HostAtAgent { host, slot: AgentIndex(0) }, cx).unwrap()
    }

    fn report(&mut self) -> Received {
        let host = self.node("mh");
        self.world.planes.network.received_numbers(host).unwrap()
    }

    fn enter(&mut self, name: &str, after: u64) {
        let (host, base_station) = (self.node("mh"), self.address(name));
        self.act(host, Action::Enter { base_station, after: ms(after) });
    }
}

fn all(count: u32) -> Vec<u32> {
    (0..count).collect()
}

#[test]
fn packets_get_numbers_in_order_and_are_confirmed_after_the_delay_of_the_air() {
    let mut lab = lab(&params());
    lab.send("bs1", "mh", 5);
    lab.run(104);
    // At 103, 104, 105, ... ms at the host; confirmed 2 ms later.
    assert_eq!(lab.arrived("mh"), [0, 1]);
    let state = |unconfirmed| BearerState { counts: Counts { downlink: 5, uplink: 0 }, unconfirmed };
    assert_eq!(lab.state("bs1"), Some(state(0)));
    lab.run(105);
    assert_eq!(lab.state("bs1"), Some(state(1)));
    assert_eq!(lab.report(), Received::Status { first_missing: 3, later: BTreeSet::new() });
    lab.run(120);
    assert_eq!((lab.arrived("mh"), lab.state("bs1")), (all(5), Some(state(5))));
    assert_eq!(lab.world.planes.cx.pool.census().duplicated, 0, "no copy was made");
}

#[test]
fn a_handover_with_a_status_report_loses_and_repeats_nothing() {
    let mut lab = lab(&params());
    let [bs1, bs2, mh] = ["bs1", "bs2", "mh"].map(|name| lab.node(name));
    let (host, [one, two]) = (lab.host(), ["bs1", "bs2"].map(|name| lab.address(name)));
    lab.act(bs2, Action::StartBuffering { host });
    lab.route(bs2, Some(one), Via::Buffer);
    lab.route(bs2, None, Via::ReorderQueue);
    lab.send("bs1", "mh", 10);
    lab.run_to(Time::ZERO + Duration::from_micros(105_500));
    // 0, 1 and 2 have arrived, and 0 is confirmed; 3 and 4 are in the air, and 5 is being sent.
    lab.act(bs1, Action::FreezeBearer { host });
    let state = lab.state("bs1").unwrap();
    assert_eq!(state, BearerState { counts: Counts { downlink: 10, uplink: 0 }, unconfirmed: 1 });
    lab.act(bs1, Action::StartBuffering { host });
    lab.act(bs1, Action::Release { host, via: Via::Tunnel(two), mark: None });
    lab.send("bs1", "mh", 3);
    lab.send("bs2", "mh", 2);
    lab.run_to(Time::ZERO + Duration::from_micros(107_500));
    lab.act(mh, Action::Reestablish { reset: false });
    lab.enter("bs2", 60);
    lab.run(130);
    lab.adopt(bs2, state.counts);
    lab.run(168);
    let received = lab.report();
    assert_eq!(received, Received::Status { first_missing: 6, later: BTreeSet::new() });
    lab.act(bs2, Action::SkipReceived { host, received });
    assert_eq!(
        lab.lost("bs2", DropReason::Duplicate),
        [1, 2, 3, 4, 5],
        "copies of what has arrived from the source"
    );
    lab.act(bs2, Action::Release { host, via: Via::Air, mark: None });
    lab.route(bs2, Some(one), Via::Air);
    lab.act(bs2, Action::ReleaseReorderQueue { host, via: Via::Air });
    lab.run(300);
    assert_eq!(lab.arrived("mh"), all(15));
    assert_eq!(lab.losses(), BTreeSet::new());
    assert_eq!(lab.state("bs2").unwrap().counts.downlink, 15);
    lab.act(bs1, Action::EndBearer { host });
    lab.run(310);
    assert_eq!(lab.losses(), BTreeSet::new());
}

#[test]
fn packets_of_the_host_are_repeated_at_the_next_cell_and_the_network_gets_each_once() {
    let mut lab = lab(&params());
    let [bs1, bs2, mh] = ["bs1", "bs2", "mh"].map(|name| lab.node(name));
    let host = lab.host();
    lab.send("mh", "ch", 8);
    lab.run_to(Time::ZERO + Duration::from_micros(105_500));
    // 0, 1 and 2 are at the base station, and 0 is confirmed. From now on it takes none.
    lab.act(bs1, Action::FreezeBearer { host });
    let counts = lab.state("bs1").unwrap().counts;
    assert_eq!(counts, Counts { downlink: 0, uplink: 3 });
    lab.act(mh, Action::Reestablish { reset: false });
    lab.enter("bs2", 20);
    lab.send("mh", "ch", 2);
    lab.run(150);
    assert_eq!(lab.arrived("ch"), [0, 1, 2], "the new base station does not know the numbers yet");
    lab.adopt(bs2, counts);
    lab.run(300);
    assert_eq!(lab.arrived("ch"), all(10));
    assert_eq!(lab.lost("bs2", DropReason::Duplicate), [1, 2], "not confirmed, and delivered");
    assert_eq!(lab.losses(), BTreeSet::new());
}

#[test]
fn what_the_air_loses_at_random_is_sent_again() {
    let text = SCENARIO.replace("LOSS", "loss = 0.2");
    let mut lab = lab_of(&text, params().values());
    for _ in 0..100 {
        lab.send("bs1", "mh", 1);
        lab.send("mh", "ch", 1);
        lab.run_to(lab.now() + ms(2));
    }
    lab.run(3_000);
    assert_eq!(lab.arrived("mh"), (0..100).map(|each| 2 * each).collect::<Vec<_>>());
    assert_eq!(lab.arrived("ch"), (0..100).map(|each| 2 * each + 1).collect::<Vec<_>>());
    assert_eq!(lab.losses(), BTreeSet::new());
    assert_eq!(lab.state("bs1").unwrap().unconfirmed, 100);
}

#[test]
fn in_unacknowledged_mode_a_loss_is_a_gap_that_costs_t_reordering() {
    let text = SCENARIO.replace("LOSS", "loss = 0.2");
    let mut lab = lab_of(&text, BearerParams { rlc: Some(RlcMode::Um), ..params() }.values());
    lab.send_slowly("bs1", "mh", 50);
    lab.run(1_000);
    let mut arrived = lab.arrived("mh");
    let rows = lab.world.planes.cx.probes.drops.rows.iter();
    let lost: Vec<u32> = rows.filter(|row| row.reason == DropReason::RandomLoss).map(|row| row.seq).collect();
    assert!(arrived.is_sorted() && !lost.is_empty());
    arrived.extend(&lost);
    arrived.sort_unstable();
    assert_eq!(arrived, all(50));
    let first = lost[0];
    let behind = 100_000 + 2_000 * u64::from(first + 1) + 3_000;
    assert_eq!(lab.arrival("mh", first + 1), behind + 100_000, "t-Reordering after it came");
}

#[test]
fn a_discarded_packet_leaves_a_gap() {
    let discard = BearerParams { discard_timer: Some(BearerTimer::After(ms(20))), ..params() };
    let mut lab = lab(&discard);
    lab.send("bs1", "mh", 40);
    lab.run(110);
    lab.send("bs1", "mh", 15);
    lab.run(125);
    lab.send("bs1", "mh", 1);
    lab.run(600);
    // 21 have been sent or are being sent after 20 ms. Ten behind them, then, are of the second group.
    let rows = lab.world.planes.cx.probes.drops.rows.iter();
    let lost: Vec<u32> =
        rows.filter(|row| row.reason == DropReason::DiscardTimer).map(|row| row.seq).collect();
    let arrived = lab.arrived("mh");
    assert_eq!(lost[..19], (21..40).collect::<Vec<_>>());
    assert_eq!(arrived.len() + lost.len(), 56);
    assert!(arrived.is_sorted());
    assert_eq!(lab.losses(), [DropReason::DiscardTimer].into());
    // 40 was sent behind 20, at 121 ms, and waited for what will not come.
    assert_eq!(lab.arrival("mh", 40), 124_000 + 100_000);
}

#[test]
fn copies_go_to_two_base_stations_once_and_the_originals_end_without_a_loss() {
    let mut lab = lab(&params());
    let [bs1, bs2, fa] = ["bs1", "bs2", "fa"].map(|name| lab.node(name));
    let (host, [two, router]) = (lab.host(), ["bs2", "fa"].map(|name| lab.address(name)));
    lab.act(bs2, Action::StartBuffering { host });
    lab.act(fa, Action::StartBuffering { host });
    lab.send("bs1", "mh", 5);
    lab.run(104);
    let forward = |to: &[Addr], fresh| Action::ForwardBearer { host, to: to.to_vec(), fresh };
    lab.act(bs1, forward(&[two], false));
    lab.send("bs1", "mh", 2);
    lab.act(bs1, forward(&[two, router], false));
    lab.act(bs1, forward(&[two, router], false));
    lab.run(108);
    let held = |lab: &mut Lab, node| {
        let node = lab.world.planes.network.node(node);
        node.buffers.values().map(|buffer| buffer.len()).sum::<usize>()
    };
    assert_eq!((held(&mut lab, bs2), held(&mut lab, fa)), (0, 7), "the farther one gets them later");
    lab.run(120);
    assert_eq!(held(&mut lab, bs2), 7);
    lab.act(bs1, Action::FreezeBearer { host });
    lab.act(bs1, forward(&[two], true));
    lab.send("bs1", "mh", 2);
    lab.run(130);
    assert_eq!((held(&mut lab, bs2), held(&mut lab, fa)), (9, 7));
    assert_eq!(lab.arrived("mh"), all(7));
    lab.act(bs1, Action::EndBearer { host });
    assert_eq!(lab.lost("bs1", DropReason::CopyReleased), [7, 8]);
    assert_eq!(lab.losses(), BTreeSet::new());
    lab.run(140);
}

#[test]
fn in_two_cells_one_receiver_orders_what_comes_from_both() {
    let mut lab = lab(&params());
    let [bs1, bs2, mh] = ["bs1", "bs2", "mh"].map(|name| lab.node(name));
    let (host, [one, two]) = (lab.host(), ["bs1", "bs2"].map(|name| lab.address(name)));
    lab.route(bs2, None, Via::Buffer);
    lab.act(bs2, Action::StartBuffering { host });
    lab.act(mh, Action::EnterToo { base_station: two, after: ms(10) });
    lab.act(bs1, Action::ForwardBearer { host, to: vec![two], fresh: false });
    lab.send("bs1", "mh", 20);
    lab.run(112);
    lab.send("mh", "ch", 4);
    lab.run(114);
    // The second cell sends what the host has not got yet; the first one continues.
    let received = lab.report();
    assert_eq!(received, Received::Status { first_missing: 12, later: BTreeSet::new() });
    lab.act(bs2, Action::SkipReceived { host, received });
    lab.act(bs2, Action::Release { host, via: Via::Air, mark: None });
    lab.route(bs2, None, Via::Air);
    lab.act(mh, Action::UseUplink { base_station: two });
    lab.run(125);
    lab.act(bs1, Action::FreezeBearer { host });
    let counts = lab.state("bs1").unwrap().counts;
    lab.adopt(bs2, counts);
    lab.send("bs2", "mh", 3);
    lab.act(mh, Action::LeaveCell { base_station: one });
    lab.run(300);
    let downlink: Vec<u32> = (0..20).chain(24..27).collect();
    assert_eq!(lab.arrived("mh"), downlink);
    assert!(!lab.lost("mh", DropReason::Duplicate).is_empty(), "some came twice");
    assert_eq!(lab.arrived("ch"), [20, 21, 22, 23]);
    assert_eq!(lab.losses(), BTreeSet::new());
    lab.act(bs1, Action::EndBearer { host });
    lab.run(310);
    assert_eq!(lab.losses(), BTreeSet::new());
}

#[test]
fn half_of_the_numbers_are_in_use_at_most() {
    let text = SCENARIO.replace("LOSS\n", "").replace("500 pkt", "5000 pkt");
    let mut lab = lab_of(&text, params().values());
    lab.send("bs1", "mh", 2100);
    assert_eq!(lab.state("bs1").unwrap().counts.downlink, 2048);
    lab.run(2_300);
    assert_eq!(lab.arrived("mh"), all(2100));
    assert_eq!(lab.losses(), BTreeSet::new());
}

#[test]
fn numbers_that_are_used_up_end_the_run() {
    let mut lab = lab(&params());
    let bs1 = lab.node("bs1");
    lab.adopt(bs1, Counts { downlink: u32::MAX - 1, uplink: 0 });
    lab.send("bs1", "mh", 2);
    let failure = lab.world.run(Time::ZERO + ms(110), &RunOptions::default()).unwrap_err();
    assert!(failure.to_string().contains("must not wrap"), "{failure}");
}

#[test]
fn a_host_that_is_gone_is_sent_the_last_packet_again_until_the_limit() {
    let mut lab = lab(&BearerParams { max_retx_threshold: Some(2), ..params() });
    let [bs1, mh] = ["bs1", "mh"].map(|name| lab.node(name));
    lab.world.planes.cx.probes.causes.begin();
    lab.act(mh, Action::Leave);
    lab.send("bs1", "mh", 1);
    lab.run(950);
    let causes = &lab.world.planes.cx.probes.causes.rows;
    let limits = causes.kind.iter().filter(|kind| **kind == roamlab_record::cause::Kind::RetransmissionLimit);
    assert_eq!(limits.count(), 1);
    assert_eq!(lab.losses(), BTreeSet::new());
    let host = lab.host();
    lab.act(bs1, Action::EndBearer { host });
    assert_eq!(lab.lost("bs1", DropReason::BearerEnded), [0]);
    lab.run(960);
}

#[test]
fn a_new_connection_begins_with_number_0_and_without_the_old_packets() {
    let mut lab = lab(&params());
    let [bs1, bs2, mh] = ["bs1", "bs2", "mh"].map(|name| lab.node(name));
    let host = lab.host();
    lab.send("mh", "ch", 5);
    lab.send("bs1", "mh", 5);
    lab.run(103);
    lab.act(bs1, Action::EndBearer { host });
    lab.act(mh, Action::Reestablish { reset: true });
    lab.enter("bs2", 10);
    lab.adopt(bs2, Counts::default());
    lab.route(bs2, None, Via::Air);
    lab.run(120);
    lab.send("bs2", "mh", 1);
    lab.send("mh", "ch", 1);
    lab.run(200);
    assert_eq!((lab.arrived("mh").last(), lab.arrived("ch").last()), (Some(&10), Some(&11)));
    assert_eq!(lab.state("bs2").unwrap().counts, Counts { downlink: 1, uplink: 1 });
}

#[test]
fn in_unacknowledged_mode_what_was_not_sent_goes_on_with_new_numbers() {
    let mut lab = lab(&BearerParams { rlc: Some(RlcMode::Um), ..params() });
    let [bs1, bs2, mh] = ["bs1", "bs2", "mh"].map(|name| lab.node(name));
    let (host, [one, two]) = (lab.host(), ["bs1", "bs2"].map(|name| lab.address(name)));
    lab.act(bs2, Action::StartBuffering { host });
    lab.route(bs2, Some(one), Via::Buffer);
    lab.send("bs1", "mh", 10);
    lab.send("mh", "ch", 10);
    lab.run_to(Time::ZERO + Duration::from_micros(105_500));
    lab.act(bs1, Action::FreezeBearer { host });
    lab.act(bs1, Action::StartBuffering { host });
    lab.act(bs1, Action::Release { host, via: Via::Tunnel(two), mark: None });
    lab.act(mh, Action::Reestablish { reset: false });
    lab.enter("bs2", 20);
    lab.adopt(bs2, Counts::default());
    lab.run(130);
    lab.act(bs2, Action::Release { host, via: Via::Air, mark: None });
    lab.run(300);
    // 3, 4 and 5, and 13, 14 and 15, were in the air.
    let of = |first: u32| (first..first + 3).chain(first + 6..first + 10).collect::<Vec<_>>();
    assert_eq!((lab.arrived("mh"), lab.arrived("ch")), (of(0), of(10)));
    assert_eq!(lab.losses(), [DropReason::BearerEnded].into());
    assert_eq!(lab.state("bs2").unwrap().counts, Counts { downlink: 4, uplink: 4 });
}

#[test]
fn the_discard_timer_runs_on_at_the_source_and_starts_again_at_the_target_unless_it_is_carried() {
    for (carry_age, at_target) in [(false, 60), (true, 20)] {
        let discard = Some(BearerTimer::After(ms(60)));
        let mut lab = lab(&BearerParams { discard_timer: discard, carry_age, ..params() });
        let [bs1, bs2] = ["bs1", "bs2"].map(|name| lab.node(name));
        let (host, [one, two]) = (lab.host(), ["bs1", "bs2"].map(|name| lab.address(name)));
        lab.act(bs1, Action::StartBuffering { host });
        lab.send("bs1", "mh", 1);
        lab.run(120);
        lab.send("bs1", "mh", 1);
        lab.run(161);
        assert_eq!(lab.lost("bs1", DropReason::DiscardTimer), [0], "60 ms after it came");
        lab.act(bs2, Action::StartBuffering { host });
        lab.route(bs2, Some(one), Via::Buffer);
        // It arrives a little more than 6 ms later.
        lab.act(bs1, Action::Release { host, via: Via::Tunnel(two), mark: None });
        lab.run(if carry_age { 179 } else { 227 });
        assert!(lab.lost("bs2", DropReason::DiscardTimer).is_empty());
        lab.run(if carry_age { 181 } else { 229 });
        assert_eq!(lab.lost("bs2", DropReason::DiscardTimer), [1], "{at_target} ms");
    }
}

#[test]
fn signalling_with_grants_of_its_own_passes_data_and_takes_no_time() {
    for separate_signalling in [true, false] {
        let mut lab = lab(&BearerParams { separate_signalling, ..params() });
        let before = lab.world.planes.cx.probes.signalling.arrived_ns.len();
        for (from, to) in [("bs1", "mh"), ("mh", "bs1")] {
            lab.send(from, to, 3);
            let (source, to, message) = (lab.node(from), lab.address(to), lab.message.clone());
            lab.act(source, Action::Send { to, message });
        }
        let arrived = |lab: &Lab| {
            let rows = &lab.world.planes.cx.probes.signalling.arrived_ns[before..];
            rows.iter().map(|at| at / 1000).collect::<Vec<_>>()
        };
        lab.run(102);
        assert_eq!(arrived(&lab), if separate_signalling { [102_000; 2] } else { [0; 2] });
        lab.run(110);
        // Otherwise it overtakes data that wait, and takes its time of the link.
        assert_eq!(arrived(&lab).iter().all(|at| *at > 103_000), !separate_signalling);
        assert_eq!(lab.arrival("mh", 2) == 105_000, separate_signalling);
    }
}

#[test]
fn a_base_station_that_takes_the_host_back_goes_on_with_its_numbers() {
    let mut lab = lab(&params());
    let [bs1, mh] = ["bs1", "mh"].map(|name| lab.node(name));
    let host = lab.host();
    lab.send("bs1", "mh", 6);
    lab.send("mh", "ch", 6);
    lab.run_to(Time::ZERO + Duration::from_micros(103_500));
    lab.act(bs1, Action::FreezeBearer { host });
    lab.act(bs1, Action::StartBuffering { host });
    lab.send("bs1", "mh", 2);
    lab.act(mh, Action::Reestablish { reset: false });
    lab.enter("bs1", 30);
    lab.run(120);
    assert_eq!(lab.arrived("ch"), [6]);
    lab.act(bs1, Action::ResumeBearer { host });
    lab.run(140);
    let received = lab.report();
    lab.act(bs1, Action::SkipReceived { host, received });
    lab.act(bs1, Action::Release { host, via: Via::Air, mark: None });
    lab.route(bs1, None, Via::Air);
    lab.run(300);
    assert_eq!(lab.arrived("mh"), [0, 1, 2, 3, 4, 5, 12, 13]);
    assert_eq!(lab.arrived("ch"), (6..12).collect::<Vec<_>>());
    assert_eq!(lab.losses(), BTreeSet::new());
}

mod random;
