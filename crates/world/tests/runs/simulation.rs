//! A run that is driven from outside: one half of a flow lives there, and everything else is as if it did not.

use crate::lab::{results, rows};
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Dscp, TcpHeader, Tos};
use roamlab_tcp::{Profile, TcpParams, TcpReceiver, TcpSender, TcpSpec, Variant};
use roamlab_world::{Datagram, Payload, Replication, RunOptions, Scenario, Simulation, Table};
use roamlab_world::{NodeId, Side};
use std::sync::Arc;

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };

/// A bottleneck with RED that two files share, the first for a host that changes cells at 4 s.
const NETWORK: &str = r#"
[run]
duration = "8 s"
profile = "own"
[tcp_profiles.own]
based_on = "rfc"
tick_phase = "0 s"
[mobility]
kind = "mobile-ip"
[[links]]
between = ["ch", "r"]
rate = "2.3 Mbit/s"
delay = "7 ms"
queue = { kind = "red", limit = "60 pkt", min_threshold = "5 pkt", max_threshold = "30 pkt" }
[[links]]
between = ["r", "ha"]
rate = "10 Mbit/s"
delay = "3 ms"
[cells.bs1]
router = "r"
rate = "1.9 Mbit/s"
delay = "3 ms"
queue = { kind = "droptail", limit = "20 pkt" }
backhaul = { rate = "10 Mbit/s", delay = "1 ms" }
[cells.bs2]
router = "r"
rate = "1.7 Mbit/s"
delay = "2 ms"
queue = { kind = "droptail", limit = "20 pkt" }
backhaul = { rate = "10 Mbit/s", delay = "1 ms" }
[[hosts]]
name = "mh"
home = "ha"
visits = [{ cell = "bs1", at = "0 s" }, { cell = "bs2", at = "4 s" }]
[[flows]]
name = "half"
path = ["ch", "mh"]
transport = { kind = "tcp", variant = "sack", window = "40 pkt", segment = "1000 B" }
app = { kind = "ftp", start = "1 s" }
[[flows]]
name = "other"
path = ["ch", "ha"]
transport = { kind = "tcp", variant = "newreno", window = "40 pkt", segment = "900 B" }
app = { kind = "ftp", start = "1.3 s" }
"#;

/// When the half flow's application starts.
const START: Time = Time::from_nanos(1_000_000_000);

fn params() -> Arc<TcpParams> {
    let spec = TcpSpec {
        variant: Some(Variant::Sack),
        window: Some("40 pkt".parse().unwrap()),
        segment: Some("1000 B".parse().unwrap()),
        ..TcpSpec::default()
    };
    Arc::new(spec.resolve(Profile::default()).unwrap())
}

/// One end of the flow, outside.
enum Half {
    Sender(Box<TcpSender>),
    Receiver(Box<TcpReceiver>),
}

impl Half {
    fn take(&mut self, datagram: &Datagram, now: Time) {
        let Payload::Header(header) = datagram.payload.clone() else { panic!("{datagram:?}") };
        let header = TcpHeader::from(header);
        match self {
            Half::Sender(sender) => sender.on_segment(&header, datagram.tos.ecn(), now),
            Half::Receiver(receiver) => {
                receiver.on_segment(&header, datagram.tos.ecn(), now);
            }
        }
    }

    fn next_deadline(&self) -> Option<Time> {
        match self {
            Half::Sender(sender) => sender.next_deadline(),
            Half::Receiver(receiver) => receiver.next_deadline(),
        }
    }

    fn on_deadline(&mut self, now: Time) {
        match self {
            Half::Sender(sender) => sender.on_deadline(now),
            Half::Receiver(receiver) => receiver.on_deadline(now),
        }
    }

    fn poll(&mut self, now: Time) -> Option<roamlab_tcp::Segment> {
        match self {
            Half::Sender(sender) => sender.poll_transmit(now),
            Half::Receiver(receiver) => receiver.poll_transmit(now),
        }
    }
}

/// Drives the run with one end of the flow outside, from event to event.
fn driven(side: Side) -> Vec<Table> {
    let scenario = Scenario::parse(NETWORK, "half.toml").unwrap();
    let mut run = Simulation::new(&scenario, DRAW, &RunOptions::default());
    let flow = run.flow("half").unwrap();
    run.take_out(flow, side);
    let (here, there) = match side {
        Side::Sender => ("ch", "mh"),
        Side::Receiver => ("mh", "ch"),
    };
    let [here, there] = [here, there].map(|name| run.node(name).unwrap());
    let (source, destination) = (run.address(here), run.address(there));
    let mut half = match side {
        Side::Sender => Half::Sender(Box::new(TcpSender::new(params(), Duration::ZERO))),
        Side::Receiver => Half::Receiver(Box::new(TcpReceiver::new(params()))),
    };
    let mut started = side == Side::Receiver;
    let send = |run: &mut Simulation, half: &mut Half, node: NodeId| {
        while let Some(segment) = half.poll(run.now()) {
            let tos = Tos::default().with_dscp(Dscp::default()).with_ecn(segment.ecn);
            let payload = Payload::Header(segment.header.into());
            run.inject(node, &Datagram { flow, source, destination, tos, size: segment.size, payload });
        }
    };
    loop {
        let start = (!started).then_some(START);
        let own = [half.next_deadline(), start].into_iter().flatten().min();
        let next = match (run.next_event(), own) {
            (None, _) => break,
            (Some(event), own) => own.map_or(event, |own| own.min(event)),
        };
        run.advance_to(next, &RunOptions::default()).unwrap();
        if !started && next >= START {
            started = true;
            let Half::Sender(sender) = &mut half else { panic!("only a sender starts") };
            sender.offer(None);
        }
        if half.next_deadline().is_some_and(|deadline| deadline <= next) {
            half.on_deadline(next);
        }
        send(&mut run, &mut half, here);
        while let Some(egress) = run.poll_egress() {
            assert_eq!((egress.time, egress.node), (next, here));
            half.take(&egress.datagram, next);
            send(&mut run, &mut half, here);
        }
    }
    run.finish(&RunOptions::default()).unwrap()
}

fn compared(tables: &[Table], inside: &[Table], table: &str, columns: [&str; 4]) -> usize {
    let (found, expected) = (rows(tables, table, columns), rows(inside, table, columns));
    assert_eq!(found.len(), expected.len(), "{table}");
    for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "row {row} of {table}");
    }
    found.len()
}

#[test]
fn a_receiver_outside_changes_nothing_to_the_nanosecond() {
    let (inside, tables) = (results(NETWORK, DRAW), driven(Side::Receiver));
    assert!(compared(&tables, &inside, "tcp", ["time_ns", "flow", "event", "cwnd"]) > 500);
    assert!(compared(&tables, &inside, "queue", ["time_ns", "queue", "packets", "average"]) > 1000);
    assert!(compared(&tables, &inside, "drops", ["time_ns", "place", "reason", "seq"]) > 5);
    assert!(compared(&tables, &inside, "handovers", ["time_ns", "host", "phase", "node"]) > 5);
    compared(&tables, &inside, "links", ["link", "offered_pkts", "busy_ns", "forwarded_pkts"]);
}

#[test]
fn a_sender_outside_changes_nothing_to_the_nanosecond() {
    let (inside, tables) = (results(NETWORK, DRAW), driven(Side::Sender));
    assert!(compared(&tables, &inside, "deliveries", ["time_ns", "flow", "seq", "sent_ns"]) > 1000);
    assert!(compared(&tables, &inside, "queue", ["time_ns", "queue", "packets", "average"]) > 1000);
    assert!(compared(&tables, &inside, "drops", ["time_ns", "place", "reason", "seq"]) > 5);
    compared(&tables, &inside, "links", ["link", "offered_pkts", "busy_ns", "forwarded_pkts"]);
}

#[test]
fn time_goes_as_far_as_it_is_told_and_ends_with_the_run() {
    let scenario = Scenario::parse(NETWORK, "half.toml").unwrap();
    let mut run = Simulation::new(&scenario, DRAW, &RunOptions::default());
    let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
    run.advance_to(at(1_500), &RunOptions::default()).unwrap();
    assert_eq!(run.now(), at(1_500));
    assert!(run.next_event().is_some_and(|next| next > at(1_500)));
    run.advance_to(at(60_000), &RunOptions::default()).unwrap();
    assert_eq!((run.now(), run.next_event(), run.poll_egress()), (at(8_000), None, None));
    let (whole, stepped) = (results(NETWORK, DRAW), run.finish(&RunOptions::default()).unwrap());
    assert_eq!(whole, stepped, "a stop on the way changes nothing");
}

/// A packet that is put in takes as long as on an idle link, if the link has fallen idle without an event.
#[test]
fn a_packet_that_is_put_in_leaves_no_earlier_than_it_came() {
    let network = r#"
        run.duration = "1 s"
        [[links]]
        between = ["a", "b"]
        rate = "10 Mbit/s"
        delay = "50 ms"
        [[flows]]
        name = "f"
        path = ["a", "b"]
        app = { kind = "program" }
    "#;
    let scenario = Scenario::parse(network, "line.toml").unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions::default();
    let mut run = Simulation::new(&scenario, DRAW, &options);
    let (flow, a, b) = (run.flow("f").unwrap(), run.node("a").unwrap(), run.node("b").unwrap());
    let (source, destination) = (run.address(a), run.address(b));
    let size = roamlab_engine::Bytes(1250); // 1 ms
    // The second waits for the first; the third and the fourth find an idle link while the first is under way.
    for micros in [10_000, 10_400, 12_300, 20_000] {
        run.advance_to(Time::from_nanos(micros * 1000), &options).unwrap();
        let payload = Payload::Written([0x45; 1250].into());
        run.inject(a, &Datagram { flow, source, destination, tos: Tos::default(), size, payload });
    }
    let mut arrived = Vec::new();
    while let Some(next) = run.next_event() {
        run.advance_to(next, &options).unwrap();
        while let Some(egress) = run.poll_egress() {
            arrived.push(egress.time.as_nanos() / 1000);
        }
    }
    assert_eq!(arrived, [61_000, 62_000, 63_300, 71_000]);
}

/// Packets of programs between a node and a host that changes cells at 4 s.
fn programs() -> String {
    let network =
        NETWORK.split("[[flows]]").next().unwrap_or_default().replace("red\",", "red\", mark_ecn = true,");
    let flow = |name: &str, path: &str| {
        format!("[[flows]]\nname = \"{name}\"\npath = [{path}]\napp = {{ kind = \"program\" }}\n")
    };
    network + &flow("up", "\"mh\", \"ch\"") + &flow("down", "\"ch\", \"mh\"")
}

/// A packet of a program is bytes that the network does not read. It comes out as it went in, except the
/// octet that queues mark, and the record has it.
#[test]
fn packets_of_a_program_come_out_as_they_went_in() {
    let scenario = Scenario::parse(&programs(), "programs.toml").unwrap_or_else(|error| panic!("{error}"));
    let options = RunOptions::default();
    let mut run = Simulation::new(&scenario, DRAW, &options);
    let (flow, ch, mh) = (run.flow("down").unwrap(), run.node("ch").unwrap(), run.node("mh").unwrap());
    let (source, destination) = (run.address(ch), run.address(mh));
    let bytes = |number: u32| [&[0x45; 26][..], &number.to_be_bytes()].concat().into_boxed_slice();
    let (mut arrived, mut marked, mut number) = (Vec::new(), 0, 0);
    // 2.4 Mbit/s for a bottleneck of 1.9: RED marks, and the queue of the cell overflows.
    for millis in (1_000..7_000).step_by(5) {
        run.advance_to(Time::from_nanos(millis * 1_000_000), &options).unwrap();
        let payload = Payload::Written(bytes(number));
        let (tos, size) = (Tos(0b10), roamlab_engine::Bytes(1500));
        run.inject(ch, &Datagram { flow, source, destination, tos, size, payload });
        number += 1;
        while let Some(egress) = run.poll_egress() {
            let Payload::Written(found) = egress.datagram.payload else { panic!("{:?}", egress.datagram) };
            let told = u32::from_be_bytes(found[26..].try_into().unwrap());
            assert_eq!((egress.node, &found), (mh, &bytes(told)));
            marked += u32::from(egress.datagram.tos == Tos(0b11));
            arrived.push(told);
        }
    }
    while let Some(next) = run.next_event() {
        run.advance_to(next, &options).unwrap();
    }
    let mut late = 0;
    while run.poll_egress().is_some() {
        late += 1;
    }
    assert!(arrived.is_sorted() && marked > 0, "{marked} marks");
    let tables = run.finish(&options).unwrap();
    let delivered = arrived.len() as u64 + late;
    let totals = rows(&tables, "flows", ["flow", "kind", "sent_pkts", "delivered_pkts"]);
    let [up, down] = &totals[..] else { panic!("{totals:?}") };
    let expected = [u64::from(number).to_string(), delivered.to_string()];
    assert_eq!(down[..2], ["down", "program"].map(String::from));
    assert_eq!(down[2..], expected);
    assert_eq!(up[2..], ["0", "0"].map(String::from));
    let [_, [dropped]] = &rows(&tables, "flows", ["dropped_pkts"])[..] else { panic!("{totals:?}") };
    let lost: u64 = dropped.parse().unwrap();
    assert_eq!(delivered + lost, u64::from(number));
    assert!(lost > 100, "the bottleneck and the handover lose packets: {lost}");
}
