//! One link alone: queueing formulas, order with extraction, priority of signalling.

use roamlab_engine::{Bytes, Duration, Packets, Rate, Rng, Time};
use roamlab_packet::{
    Addr, FlowId, Format, Header, IpHeader, MessageId, Packet, PacketId, PacketPool, Tos, UdpHeader,
};
use roamlab_qdisc::{Qdisc, QueueDisc, QueueSpec};
use roamlab_world::context::Context;
use roamlab_world::dataplane::link::{End, Links};
use roamlab_world::dataplane::tx_queue::{Queue, TxQueue};
use roamlab_world::event::Event;
use roamlab_world::{LinkId, NodeId};

const ID: LinkId = LinkId(0);
const DELAY: Duration = Duration::from_millis(5);

/// A link of 1 Mbit/s and 5 ms with room for `limit` waiting packets.
fn link(limit: u32, signalling_priority: bool) -> Links {
    let mut links = Links::new(signalling_priority);
    let ends = (NodeId(0), End::Node(NodeId(1)));
    let qdisc = Qdisc::new(&QueueSpec::droptail(Packets(limit)), Rng::named(1, 1, "queue"));
    let queue = TxQueue::Shared(Queue::new(qdisc, false));
    links.add("a->b".into(), ends, (Rate::from_bps(1_000_000), DELAY), queue);
    links
}

/// A packet of `size` bytes for host `host` of subnet 1.
fn packet(cx: &mut Context, host: u32, size: u64, body: impl Into<Header>) -> PacketId {
    let inner = IpHeader::new(Addr::new(0, 0), Addr::new(1, host), Tos::default());
    let body = body.into();
    let flow = if body.format == Format::Signal { FlowId::CONTROL } else { FlowId(0) };
    let packet = Packet::make(flow, inner, Bytes(size), cx.now, body);
    cx.pool.create(packet)
}

fn datagram(cx: &mut Context, host: u32, size: u64) -> PacketId {
    packet(cx, host, size, UdpHeader::default())
}

/// Lets an event of the link happen; the packet that arrives.
fn step(links: &mut Links, event: Event, cx: &mut Context) -> Option<PacketId> {
    match event {
        Event::LinkTxDone { .. } => {
            links.tx_done(ID, cx);
            None
        }
        Event::Arrival { packet, .. } => {
            links.complete_arrival(ID);
            Some(packet.retrieve())
        }
        _ => links.arrived(ID, cx).map(|arrived| arrived.packet.take()),
    }
}

/// Lets the link work until nothing is pending; (time in ns, serial) of each arrival.
fn drain(links: &mut Links, cx: &mut Context) -> Vec<(u64, u64)> {
    let mut arrivals = Vec::new();
    while let Some((time, event)) = cx.scheduler.pop() {
        cx.now = time;
        if let Some(packet) = step(links, event, cx) {
            arrivals.push((time.as_nanos(), cx.pool.deliver(packet).serial));
        }
    }
    arrivals
}

/// Values that Poisson arrivals see: waiting times in service times, and the share that is blocked, of each
/// batch.
struct Seen {
    waits: Vec<f64>,
    blocked: Vec<f64>,
}

const BATCHES: usize = 60;
const PER_BATCH: usize = 5_000;
/// Mean service time in seconds: 12 500 B at 1 Mbit/s.
const SERVICE: f64 = 0.1;
const MEAN_SIZE: f64 = 12_500.0;

/// A number from the exponential distribution with mean 1.
fn exponential(rng: &mut Rng) -> f64 {
    -libm::log(1.0 - rng.uniform())
}

/// Poisson arrivals at `load` times the service rate, of packets whose size `size` draws.
fn poisson(load: f64, limit: u32, size: impl Fn(&mut Rng) -> u64) -> Seen {
    let (mut link, mut cx) = (link(limit, false), Context::default());
    let (mut arrivals, mut sizes) = (Rng::named(7, 0, "arrivals"), Rng::named(7, 0, "sizes"));
    let mut seen = Seen { waits: vec![0.0; BATCHES], blocked: vec![0.0; BATCHES] };
    let mut served = vec![0.0; BATCHES];
    let mut offered = 0;
    cx.scheduler.push(Time::ZERO, Event::App { flow: 0 });
    while let Some((time, event)) = cx.scheduler.pop() {
        cx.now = time;
        match event {
            Event::App { .. } if offered < BATCHES * PER_BATCH => {
                let (bytes, lost) = (size(&mut sizes), cx.probes.drops.rows.len());
                let packet = packet(&mut cx, offered as u32 % 4000, bytes, UdpHeader { seq: offered as u32 });
                link.enqueue(ID, packet, &mut cx);
                seen.blocked[offered / PER_BATCH] += (cx.probes.drops.rows.len() - lost) as f64;
                offered += 1;
                let pause = exponential(&mut arrivals) * SERVICE / load;
                cx.scheduler.push(time + Duration::from_nanos((pause * 1e9) as u64), Event::App { flow: 0 });
            }
            Event::App { .. } => {}
            event => {
                let Some(packet) = step(&mut link, event, &mut cx) else { continue };
                let packet = cx.pool.deliver(packet);
                let batch = packet.seq() as usize / PER_BATCH;
                let sojourn = time.since(packet.created).as_secs_f64() - DELAY.as_secs_f64();
                let service = packet.wire_size().0 as f64 * 8e-6;
                seen.waits[batch] += (sojourn - service) / SERVICE;
                served[batch] += 1.0;
            }
        }
    }
    seen.waits.iter_mut().zip(&served).for_each(|(wait, count)| *wait /= count);
    seen.blocked.iter_mut().for_each(|blocked| *blocked /= PER_BATCH as f64);
    seen
}

/// The mean of the batches agrees with `expected` within four of its standard errors, which are small.
fn assert_mean(what: &str, batches: &[f64], expected: f64) {
    let count = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / count;
    let variance = batches.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count - 1.0);
    let error = (variance / count).sqrt();
    assert!(error < 0.05 * expected, "{what}: the standard error {error} is too large for {expected}");
    assert!((mean - expected).abs() < 4.0 * error, "{what}: {mean} ± {error}, the formula gives {expected}");
}

#[test]
fn constant_sizes_wait_as_in_m_d_1() {
    for load in [0.3, 0.7, 0.85] {
        let seen = poisson(load, u32::MAX, |_| MEAN_SIZE as u64);
        // Pollaczek-Khinchine with a constant service time: W = ρ S / (2 (1 - ρ)).
        assert_mean(&format!("M/D/1, load {load}"), &seen.waits, load / (2.0 * (1.0 - load)));
    }
}

#[test]
fn exponential_sizes_wait_and_are_blocked_as_in_m_m_1_k() {
    for (load, places) in [(0.8, 5), (1.2, 10)] {
        let room = places - 1; // one of the places is the transmitter
        let seen = poisson(load, room, |rng| (exponential(rng) * MEAN_SIZE) as u64 + 1);
        let powers: Vec<f64> = (0..=places).map(|n| libm::pow(load, f64::from(n))).collect();
        let total: f64 = powers.iter().sum();
        let blocked = powers[places as usize] / total;
        // Little's law for the waiting packets: L_q = sum of (n - 1) p_n, W = L_q / (λ (1 - p_K)).
        let waiting: f64 = (1..=places).map(|n| f64::from(n - 1) * powers[n as usize] / total).sum();
        assert_mean(&format!("M/M/1/{places}, blocked at load {load}"), &seen.blocked, blocked);
        assert_mean(
            &format!("M/M/1/{places}, wait at load {load}"),
            &seen.waits,
            waiting / (load * (1.0 - blocked)),
        );
    }
}

/// Eight packets of 1 ms each, for hosts 0 and 1 in turn, of which those for `host` are taken off after 3.5 ms, when
/// four are in flight or in service and four wait. Serials taken; (time in ms before the propagation, serial) of
/// the arrivals.
fn extraction(host: u32, in_flight_too: bool) -> (Vec<u64>, Vec<(u64, u64)>) {
    let (mut link, mut cx) = (link(100, true), Context::default());
    link.track_flights(ID);
    for number in 0..8 {
        let packet = datagram(&mut cx, number % 2, 125);
        link.enqueue(ID, packet, &mut cx);
    }
    while let Some((time, _)) = cx.scheduler.pop_until(Time::from_nanos(3_499_999)) {
        cx.now = time;
        link.tx_done(ID, &mut cx);
    }
    cx.now = Time::from_nanos(3_500_000);
    let wanted = |packet: &Packet, _: &PacketPool| packet.header.dst == Addr::new(1, host);
    let taken = link.take_matching(ID, in_flight_too, &wanted, &mut cx);
    let serials = taken.iter().map(|packet| cx.pool[packet].serial).collect();
    let arrivals = drain(&mut link, &mut cx);
    assert_eq!(link.packets_inside(), 0);
    (serials, arrivals.into_iter().map(|(time, serial)| (time / 1_000_000 - 5, serial)).collect())
}

#[test]
fn what_is_extracted_leaves_the_others_in_order_and_on_time() {
    let waiting_only = (vec![6, 8], vec![(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 7)]);
    assert_eq!(extraction(1, false), waiting_only);
    // The transmitter finishes the slot of packet 4 at 4 ms, though no host gets it.
    assert_eq!(extraction(1, true), (vec![2, 4, 6, 8], vec![(1, 1), (3, 3), (5, 5), (6, 7)]));
    // The first in flight is among them: its pending arrival brings nothing, and nothing too early.
    assert_eq!(extraction(0, true), (vec![1, 3, 5, 7], vec![(2, 2), (4, 4), (5, 6), (6, 8)]));
}

#[test]
fn a_message_overtakes_a_full_queue_but_not_the_packet_in_service() {
    for (priority, tracked) in [(true, false), (true, true), (false, false), (false, true)] {
        let (mut link, mut cx) = (link(4, priority), Context::default());
        if tracked {
            link.track_flights(ID);
        }
        for _ in 0..5 {
            let packet = datagram(&mut cx, 0, 125);
            link.enqueue(ID, packet, &mut cx);
        }
        let message = packet(&mut cx, 0, 125, MessageId(0));
        link.enqueue(ID, message, &mut cx);
        let order: Vec<u64> = drain(&mut link, &mut cx).into_iter().map(|(_, serial)| serial).collect();
        if priority {
            assert_eq!(order, [1, 6, 2, 3, 4, 5]);
        } else {
            assert_eq!(
                order,
                [1, 2, 3, 4, 5],
                "without priority it is lost at the full queue like any other"
            );
        }
    }
}
