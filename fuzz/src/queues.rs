//! Queue disciplines with any accepted parameters and any arrivals: what goes in comes out or is dropped, once.

use crate::robustness::Dice;
use roamlab_engine::{Bytes, Duration, Rate, Rng, Time};
use roamlab_packet::{Addr, Dscp, Ecn, FlowId, IpHeader, NewPacket, Packet, PacketPool, Tos, UdpHeader};
use roamlab_qdisc::{Parameters, Qdisc, QdiscCx, QueueDisc, QueueSpec};
use serde_json::{Map, Value, json};

const CASES: u32 = 200;
const ARRIVALS: u32 = 24;

/// Runs a block of cases.
pub fn block(seed: u64, number: u64) -> u32 {
    let mut dice = Dice::of(seed, number, "queues");
    // Reading parameters costs more than a case: each queue serves many.
    let Some(spec) = spec(&mut dice) else { return 1 };
    (0..CASES).for_each(|_| case(&mut dice, &spec));
    CASES
}

/// Parameters that the discipline takes, many of them at the edge; `None` if these are refused.
fn spec(dice: &mut Dice) -> Option<QueueSpec> {
    let kind = roamlab_qdisc::NAMES[dice.below(roamlab_qdisc::NAMES.len() as u32) as usize];
    let whole = read(json!({ "kind": kind, "limit": "10 pkt" }))?;
    let Ok(Value::Object(defaults)) = serde_json::to_value(&whole) else { return None };
    let mut written = Map::from_iter([("kind".to_owned(), json!(kind)), ("limit".to_owned(), packets(dice))]);
    for (field, value) in defaults {
        if written.contains_key(&field) || !dice.chance(30) {
            continue;
        }
        written.insert(field, other(dice, &value));
    }
    let spec = read(Value::Object(written))?;
    spec.validate().is_ok().then_some(spec)
}

fn read(written: Value) -> Option<QueueSpec> {
    serde_json::from_value(written).ok()
}

fn packets(dice: &mut Dice) -> Value {
    let number = [1, 2, 3, 8, 20, u32::MAX][dice.below(6) as usize];
    json!(format!("{number} pkt"))
}

/// Another value of the same kind.
fn other(dice: &mut Dice, value: &Value) -> Value {
    match value {
        Value::Bool(_) => json!(dice.chance(50)),
        Value::Number(_) if value.is_u64() => json!(dice.below(64)),
        Value::Number(_) => json!([0.0, 1e-300, 0.002, 0.5, 1.0, -1.0, -2.0][dice.below(7) as usize]),
        Value::String(text) if text.ends_with(" pkt") => packets(dice),
        Value::String(text) if text.ends_with('B') => {
            json!(["1 B", "512 B", "65535 B", "18446744073709551615 B"][dice.below(4) as usize])
        }
        Value::String(text) if text.ends_with('s') && text.contains(' ') => {
            json!(["0 s", "1 ns", "100 ms", "1000000 h"][dice.below(4) as usize])
        }
        Value::String(text) => json!(["ns2", "floyd-1993", "packets", "bytes", text][dice.below(5) as usize]),
        _ => value.clone(),
    }
}

fn case(dice: &mut Dice, spec: &QueueSpec) {
    let mut queue = Qdisc::new(spec, Rng::named(u64::from(dice.below(1000)), 0, "queue"));
    let rate = Rate::from_bps([1, 9_600, 2_000_000, u64::MAX][dice.below(4) as usize]);
    queue.attach(rate, Duration::from_millis(u64::from(dice.below(100))));
    let (mut pool, mut dropped, mut now) = (PacketPool::default(), Vec::new(), Time::ZERO);
    let mut out = 0;
    for _ in 0..1 + dice.below(ARRIVALS) {
        let pauses: &[u64] = if dice.chance(3) { &[1 << 40, 1 << 62] } else { &[0, 1, 1_000_000] };
        let pause = pauses[dice.below(pauses.len() as u32) as usize];
        now += Duration::from_nanos(pause);
        let packet = dice.chance(60).then(|| pool.create(packet(dice, now)));
        let mut cx = QdiscCx { now, rate, pool: &mut pool, dropped: &mut dropped };
        match packet {
            Some(packet) => queue.enqueue(packet, &mut cx),
            None => {
                if let Some(packet) = queue.dequeue(&mut cx) {
                    pool.deliver(packet);
                    out += 1;
                }
            }
        }
        for (packet, reason) in dropped.drain(..) {
            pool.discard(packet, reason);
        }
        let gauges = queue.gauges();
        assert!(gauges.average.is_finite() && gauges.average >= 0.0, "{gauges:?} {spec:?}");
        assert!((0.0..=1.0).contains(&gauges.coupled), "{gauges:?} {spec:?}");
        assert_eq!(pool.census().inside(), queue.packets() as u64, "{out} out of {spec:?}");
    }
}

fn packet(dice: &mut Dice, now: Time) -> NewPacket {
    let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][dice.below(4) as usize];
    let dscp = if dice.chance(30) { Dscp::FORWARDED } else { Dscp::default() };
    let inner = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), Tos::default().with_dscp(dscp).with_ecn(ecn));
    let size = Bytes([28, 40, 552, 1500, 65_535][dice.below(5) as usize]);
    Packet::make(FlowId(dice.below(4)), inner, size, now, UdpHeader::default())
}
