//! Random histories end as they were recorded: what each step serves, drops, marks and shows.

#[path = "../../../../tests/recorded/digests.rs"]
mod digests;
#[expect(dead_code, reason = "other tests read the rest")]
#[path = "../../../../tests/recorded/fields.rs"]
mod fields;

use super::operations::{history, specs};
use super::{Bench, Step};
use crate::{Gauges, Parameters, Qdisc, QueueDisc, QueueSpec};
use digests::{Digest, Digests, Records};
use fields::{Dice, Fields};
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_packet::{Addr, Dscp, FlowId, IpHeader, NewPacket, Packet, Tos, UdpHeader};
use serde_json::{Value, json};

const RECORDS: Records = Records::new("queues.txt", &["fates", "gauges"]);
/// Queues with random parameters, and steps of a history.
const DRAWN: u64 = 1_500;
const STEPS: usize = 4_000;

/// A queue with random parameters, if there is one of this number.
fn drawn(schema: &Value, number: u64) -> Option<QueueSpec> {
    let mut dice = Dice::of(number, "queue");
    let often = &[
        "limit",
        "target",
        "interval",
        "rules",
        "mark_ecn",
        "quantum",
        "spare_forwarded",
        "forwarded_at_full",
        "overflow_resets_count",
        "update_interval",
        "max_burst",
    ];
    let fields = Fields { schema, case: number, often };
    let kind = fields.kind("QueueSpec", "kind");
    let chance = dice.one_of(&[0.1, 0.3, 0.6]);
    let mut values = fields.some(fields.definition("QueueSpec", kind), "queue", chance, &[]);
    values.insert("kind".into(), kind.into());
    let spec: QueueSpec = serde_json::from_value(values.into()).ok()?;
    spec.validate().is_ok().then_some(spec)
}

/// Code points of packets of all classes.
const CLASSES: [u8; 6] = [0, 8, 26, 34, 46, 48];

/// Packets as they come in a walk: of this number of flows between some hosts, of one size or of many, with
/// classes or without.
struct Traffic {
    flows: u32,
    size: Option<u64>,
    has_classes: bool,
    /// Times are a multiple of this, so that they meet those of the parameters.
    grain: u64,
}

impl Traffic {
    fn of(walk: u64) -> Traffic {
        let mut dice = Dice::of(walk, "traffic");
        let size = dice.one_of(&[None, Some(500), Some(1000), Some(1500)]);
        let grain = dice.one_of(&[1, 1, 100_000, 500_000]);
        Traffic { flows: dice.one_of(&[4, 4, 12, 80]), size, has_classes: dice.chance(0.5), grain }
    }

    fn packet(&self, flow: u32, size: u64, tos: Tos) -> NewPacket {
        let flow = (flow + 4 * (size % 20) as u32) % self.flows;
        let class = Dscp(CLASSES[flow as usize % CLASSES.len()]);
        let tos = if self.has_classes && tos.dscp() == Dscp(0) { tos.with_dscp(class) } else { tos };
        let header = IpHeader::new(Addr::new(1 + flow % 3, 0), Addr::new(9 + flow % 2, 0), tos);
        let body = UdpHeader::default();
        Packet::make(FlowId(flow), header, Bytes(self.size.unwrap_or(size)), Time::ZERO, body)
    }
}

/// Effect of a history on a queue: the fates of packets, and its state after each step.
fn walk(spec: &QueueSpec, number: u64) -> Digests {
    let mut bench = Bench::<Qdisc>::new(spec);
    let traffic = Traffic::of(number);
    let [mut fates, mut gauges] = [Digest::EMPTY; 2];
    for step in history(number).into_iter().take(STEPS) {
        let lost = bench.dropped.len();
        match step {
            Step::Offer { flow, size, tos } => drop(bench.offer(traffic.packet(flow, size, tos))),
            Step::Serve => match bench.serve_packet() {
                Some(served) => {
                    [served.serial, served.header.tos.0.into()].into_iter().for_each(|value| fates.add(value))
                }
                None => fates.add(u64::MAX),
            },
            Step::Extract(flow) => {
                bench.take_matching(FlowId(flow)).into_iter().for_each(|serial| fates.add(serial))
            }
            Step::Wait(span) => {
                bench.wait(Duration::from_nanos(span.as_nanos().next_multiple_of(traffic.grain)))
            }
        }
        for (packet, reason) in &bench.dropped[lost..] {
            fates.add(bench.pool[packet].serial);
            fates.add(*reason as u64);
        }
        let Gauges { average, probability, coupled, sojourn, forwarded } = bench.queue.gauges();
        [average, probability, coupled].iter().for_each(|value| gauges.add(value.to_bits()));
        let counts =
            [sojourn.as_nanos(), forwarded as u64, bench.queue.packets() as u64, bench.queue.bytes().0];
        counts.into_iter().for_each(|value| gauges.add(value));
        gauges.add(bench.head().unwrap_or(u64::MAX));
    }
    gauges.add_text(&format!("{:?}", bench.queue.marking_state()));
    vec![fates.value(), gauges.value()]
}

#[test]
fn random_histories_end_as_recorded() {
    let root = serde_json::to_value(schemars::schema_for!(QueueSpec)).unwrap();
    let mut schema = json!({ "$defs": root["$defs"] });
    schema["$defs"]["QueueSpec"] = root;
    let listed = specs()
        .into_iter()
        .enumerate()
        .map(|(number, spec)| (format!("{}-{number}", spec.name()), number as u64, spec));
    let drawn = (0..DRAWN).filter_map(|number| {
        let spec = drawn(&schema, number)?;
        Some((format!("d{number}"), number, spec))
    });
    let cases: Vec<_> = listed
        .chain(drawn)
        .flat_map(|(name, number, spec)| {
            (0..2).map(move |nth| (format!("{name}-{nth}"), walk(&spec, 1000 + 2 * number + nth)))
        })
        .collect();
    assert!(cases.len() > 500, "{}", cases.len());
    RECORDS.check(&cases, "Look at the queue's histories at both commits.");
}
