//! Hosts that measure, and hosts with commands of their agents; the tests give the commands.

use super::*;
use crate::endpoints::flows::Carrier;
use crate::run::build::build;
use crate::run::options::{Replication, RunOptions};
use crate::run::world::{Planes, World};
use roamlab_engine::{Bytes, Time};
use roamlab_mobility::Events;
use roamlab_packet::{DropReason, FlowId, IpHeader, Packet, Tos, UdpHeader};
use roamlab_radio::{Condition, Event, Test};
use roamlab_record::ids::Location;
use roamlab_scenario::Scenario;

/// A host that turns from one cell to the other at 2 s, and out of coverage at 6 s.
const SCHEDULE: &str = r#"
run = { duration = "20 s" }
links = [{ between = ["ch", "fa"], rate = "10 Mbit/s", delay = "1 ms" }]
[cells.bs1]
router = "fa"
rate = "2 Mbit/s"
delay = "3 ms"
queue = { kind = "droptail" }
backhaul = { rate = "10 Mbit/s", delay = "1 ms" }
[cells.bs2]
router = "fa"
rate = "2 Mbit/s"
delay = "3 ms"
queue = { kind = "droptail" }
backhaul = { rate = "10 Mbit/s", delay = "1 ms" }
[radio]
kind = "hard"
[radio.measurement]
period = "40 ms"
slope_db_per_s = 20.0
peak_dbm = -80.0
audible_dbm = -110.0
t310 = "100 ms"
[[hosts]]
name = "mh"
home = "ch"
visits = [{ cell = "bs1", at = "0 s" }, { cell = "bs2", at = "2 s", until = "6 s" }]
"#;

/// The same cells a kilometre apart, and a host that walks from one to the other.
fn positions() -> String {
    let visits = SCHEDULE.find("visits").unwrap();
    let text = SCHEDULE[..visits].replace("period = ", "signal = \"positions\"\nperiod = ");
    let at = |cell: &str, x: &str| format!("[cells.{cell}]\ntransmitter = {{ position_m = [{x}, 0.0] }}");
    let text = text.replace("[cells.bs1]", &at("bs1", "0.0")).replace("[cells.bs2]", &at("bs2", "1000.0"));
    text + "visits = [{ cell = \"bs1\", at = \"0 s\" }]\n\
            trajectory = { waypoints_m = [[100.0, 0.0], [900.0, 0.0]], speed_m_per_s = 100.0 }\n"
}

/// Without the protocol that commands its hosts, which a scenario cannot go without: the tests give the commands.
fn world(text: &str) -> World {
    let text = format!("{text}\n[mobility]\nkind = \"lte-x2\"\n");
    let mut scenario = Scenario::parse(&text, "test").unwrap_or_else(|error| panic!("{error}"));
    scenario.mobility = None;
    build(&scenario, Replication::default(), &RunOptions::default())
}

fn run_until(world: &mut World, millis: u64) {
    let end = Time::ZERO + Duration::from_millis(millis);
    world.run(end, &RunOptions::default()).unwrap();
    world.planes.cx.now = end;
}

fn node(world: &World, name: &str) -> NodeId {
    world.planes.network.node_named(name).unwrap()
}

fn address(world: &World, name: &str) -> Addr {
    world.planes.network.address(node(world, name))
}

fn command_entry(world: &mut World, host: NodeId, base_station: Addr, after: Duration) {
    let Planes { cx, network, agents } = &mut world.planes;
    agents.command_entry(host, (base_station, after), network, cx);
}

const REPORT: Condition = Condition {
    name: "report",
    candidates: None,
    event: Event {
        test: Test::Offset { offset_db: 2.0, hysteresis_db: 1.0 },
        time_to_trigger: Duration::from_millis(80),
    },
    second: None,
    report_interval: None,
    leaves_at_once: true,
    unfiltered: false,
};

/// The record of handovers: when, in ms, and what.
fn phases(world: &World) -> Vec<(u64, &'static str)> {
    let handovers = &world.planes.cx.probes.handovers;
    let millis = handovers.time_ns.iter().map(|time| time.as_nanos() / 1_000_000);
    millis.zip(handovers.phase.iter().copied()).collect()
}

#[test]
fn event_a3_comes_when_the_schedule_has_turned_by_offset_and_hysteresis() {
    let mut world = world(SCHEDULE);
    run_until(&mut world, 100);
    let host = node(&world, "mh");
    world.planes.network.cells().evaluate(host, 0, vec![REPORT]);
    run_until(&mut world, 4000);
    // 20 dB/s: more than 3 dB after 150 ms, first measured at 2.16 s, held for 80 ms. The cell is silent 1.5 s after the
    // turn, first measured at 3.52 s, and T310 later the link has failed.
    let expected = [(0, "link-up"), (2240, "neighbour-better"), (3640, "radio-link-failure")];
    assert_eq!(phases(&world), expected);
}

#[test]
fn a_commanded_host_leaves_and_enters_after_the_detach_time() {
    let mut world = world(SCHEDULE);
    run_until(&mut world, 2300);
    let (host, bs2) = (node(&world, "mh"), address(&world, "bs2"));
    command_entry(&mut world, host, bs2, Duration::from_millis(30));
    run_until(&mut world, 4000);
    assert_eq!(phases(&world), [(0, "link-up"), (2300, "link-down"), (2330, "link-up")]);
    let cells = world.planes.network.cells();
    let (there, cell) = (cells.count_in(CellId(1)), CellId(1));
    assert_eq!((there, cells.hearer(cell, 0).map(|(hearer, _)| hearer)), (1, Some(host)));
    assert_eq!(world.planes.cx.probes.handovers.visit, [0, 0, 1]);
}

#[test]
fn the_last_command_counts() {
    let mut world = world(SCHEDULE);
    run_until(&mut world, 2300);
    let (host, bs1, bs2) = (node(&world, "mh"), address(&world, "bs1"), address(&world, "bs2"));
    command_entry(&mut world, host, bs2, Duration::from_millis(30));
    run_until(&mut world, 2310);
    command_entry(&mut world, host, bs1, Duration::from_millis(30));
    run_until(&mut world, 2335);
    let Planes { cx, network, agents } = &mut world.planes;
    agents.leave_all(host, network, cx);
    run_until(&mut world, 3000);
    assert_eq!(phases(&world), [(0, "link-up"), (2300, "link-down")], "leaving ends every command");
    let router = address(&world, "fa");
    command_entry(&mut world, host, router, Duration::ZERO);
    run_until(&mut world, 3400);
    assert_eq!(phases(&world).len(), 2, "a node without a cell cannot be entered");
}

#[test]
fn a_cell_that_cannot_be_heard_is_not_entered_and_a_search_finds_one_that_can() {
    let mut world = world(SCHEDULE);
    run_until(&mut world, 300);
    let (host, bs2) = (node(&world, "mh"), address(&world, "bs2"));
    command_entry(&mut world, host, bs2, Duration::from_millis(30));
    run_until(&mut world, 400);
    assert_eq!(phases(&world), [(0, "link-up"), (300, "link-down")]);
    world.planes.network.cells().search(host);
    run_until(&mut world, 600);
    assert_eq!(phases(&world)[2..], [(440, "cell-found")]);
}

#[test]
fn out_of_hearing_nothing_gets_across_in_either_direction() {
    let mut world = world(SCHEDULE);
    let lost = |world: &mut World, millis| {
        run_until(world, millis);
        let host = node(world, "mh");
        let packet = |world: &World, src, dst| {
            let header = IpHeader::new(src, dst, Tos::default());
            Packet::make(FlowId(9), header, Bytes(500), world.planes.cx.now, UdpHeader::default())
        };
        let (mh, ch) = (address(world, "mh"), address(world, "ch"));
        let up = packet(world, mh, ch);
        let up = world.planes.cx.pool.create(up);
        world.planes.send(host, up);
        let down = packet(world, ch, mh);
        let down = world.planes.cx.pool.create(down);
        let air = world.planes.network.cells().air(CellId(0));
        world.planes.network.send_over(air, down, &mut world.planes.cx);
        run_until(world, millis + 100);
        let drops = std::mem::take(&mut world.planes.cx.probes.drops);
        let at_link = |place: &Location| matches!(place, Location::Link(_));
        let on_the_way = drops.rows.iter().filter(|row| at_link(&row.place)).count();
        let expected = [DropReason::Detached, DropReason::NoEndpoint];
        assert!(drops.rows.iter().all(|row| expected.contains(&row.reason)));
        on_the_way
    };
    assert_eq!(lost(&mut world, 3300), 0, "heard: both reach a node that has no use for them");
    assert_eq!(lost(&mut world, 3600), 2);
}

#[test]
fn by_position_a_host_can_enter_any_cell() {
    let text = positions().replace("audible_dbm = -110.0", "audible_dbm = -120.0");
    let mut world = world(&text);
    let host = node(&world, "mh");
    run_until(&mut world, 100);
    world.planes.network.cells().evaluate(host, 0, vec![REPORT]);
    run_until(&mut world, 6000);
    // Half way after 4 s. With 37.6·log10(d) the second cell is 3 dB better 546 m from the first, after 4.46 s.
    assert_eq!(phases(&world), [(0, "link-up"), (4560, "neighbour-better")]);
    let bs2 = address(&world, "bs2");
    command_entry(&mut world, host, bs2, Duration::from_millis(30));
    run_until(&mut world, 6100);
    assert_eq!(phases(&world)[2..], [(6000, "link-down"), (6030, "link-up")]);
}

/// The host evaluates this condition for the second cell, as its agent asks for it.
fn evaluate(world: &mut World, events: &str) {
    let (host, bs2) = (node(world, "mh"), address(world, "bs2"));
    let condition = super::Condition {
        name: "execute",
        candidates: Some(vec![bs2]),
        events: serde_json::from_str::<Events>(events).unwrap(),
        filter_coefficient: 0,
        report_interval: None,
        leaves_at_once: false,
        unfiltered: false,
    };
    Agents::evaluate(host, &[condition], &mut world.planes.network).unwrap();
}

/// When the second cell meets a condition of these events, in ms. The host begins 100 m from the first cell, and walks to
/// the second one, at 1000 m, by 100 m in a second.
fn met(events: &str) -> Vec<u64> {
    let text = positions().replace("audible_dbm = -110.0", "audible_dbm = -140.0");
    let mut world = world(&text);
    run_until(&mut world, 20);
    evaluate(&mut world, events);
    run_until(&mut world, 10_000);
    let found = phases(&world).split_off(1);
    assert!(found.iter().all(|(_, phase)| *phase == "neighbour-better"), "{found:?}");
    found.into_iter().map(|(millis, _)| millis).collect()
}

#[test]
fn each_event_is_met_at_its_place_or_time() {
    // Beyond 400 m from the first cell after 3 s, within 500 m of the second after 4 s; both strictly.
    let d1 =
        "{ \"kind\": \"d1\", \"distance1_m\": 400, \"distance2_m\": 500, \"time_to_trigger\": \"0 ms\" }";
    assert_eq!(met(&format!("[{d1}]")), [4040]);
    let point = d1.replace("400,", "400, \"reference1\": [-500.0, 0.0], \"reference2\": \"serving\",");
    // Within 500 m of the first cell, and at 100 m beyond 400 m from the point already.
    assert_eq!(met(&format!("[{point}]")), [40]);
    // 15 − (15.3 + 37.6·log10(d)): below −90 dBm beyond 243 m, above −90 dBm at 757 m.
    let a5 = "{ \"kind\": \"a5\", \"threshold1_dbm\": -90, \"threshold2_dbm\": -90, \"time_to_trigger\": \"0 ms\" }";
    assert_eq!(met(&format!("[{a5}]")), [6600]);
    let a4 = "{ \"kind\": \"a4\", \"threshold_dbm\": -90 }";
    assert_eq!(met(&format!("[{a4}]")), [6720], "100 ms later, by a measurement each 40 ms");
    let t1 = "{ \"kind\": \"t1\", \"t1_threshold\": \"3 s\", \"duration\": \"2.5 s\" }";
    assert_eq!(met(&format!("[{t1}]")), [3040]);
    let a3 = "{ \"kind\": \"a3\", \"time_to_trigger\": \"80 ms\" }";
    // 3 dB better 546 m from the first cell, after 4.46 s.
    assert_eq!(met(&format!("[{a3}]")), [4560]);
    assert_eq!(met(&format!("[{a3}, {t1}]")), [4560], "within the window");
    assert_eq!(met(&format!("[{a3}, {}]", t1.replace("3 s", "7.01 s"))), [7040]);
    assert_eq!(
        met(&format!("[{a3}, {}]", t1.replace("3 s", "1 s"))),
        [] as [u64; 0],
        "the window ends at 3.5 s"
    );
    assert_eq!(met(&format!("[{d1}, {a4}]")), [6720]);
}

#[test]
fn without_positions_no_distance_is_known() {
    let mut world = world(SCHEDULE);
    run_until(&mut world, 100);
    evaluate(&mut world, "[{ \"kind\": \"d1\", \"distance1_m\": 0, \"distance2_m\": 3276250 }]");
    run_until(&mut world, 3000);
    assert_eq!(phases(&world), [(0, "link-up")]);
}

#[test]
fn t310_starts_after_n310_measurements() {
    let mut world = world(&SCHEDULE.replace("t310 = \"100 ms\"", "t310 = \"100 ms\"\nn310 = 3\nn311 = 2"));
    run_until(&mut world, 4000);
    // Silent at 3.52 s, 3.56 s and 3.6 s, and T310 later.
    assert_eq!(phases(&world), [(0, "link-up"), (3720, "radio-link-failure")]);
}
