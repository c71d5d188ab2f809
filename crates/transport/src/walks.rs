//! Random connections do what they did when they were recorded: each packet, each fact and all variables.
//!
//! The path between the two ends loses, delays, overtakes, copies and marks packets, and is dead for a time. Senders pause, and
//! are notified of new paths. So they come into states that whole runs rarely reach.

#[path = "../../../tests/recorded/digests.rs"]
mod digests;
#[expect(dead_code, reason = "other tests read the rest")]
#[path = "../../../tests/recorded/fields.rs"]
mod fields;

use crate::{
    PathPolicy, Profile, QuicReceiver, QuicSender, QuicSpec, TcpReceiver, TcpSender, TcpSpec, TransportSpec,
};
use digests::{Digest, Digests, Records};
use fields::{Dice, Fields};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Ecn;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// Inputs of a walk.
const STEPS: usize = 800;

/// What travels between two ends, in the order of arrival.
struct Path<P> {
    dice: Dice,
    delay: u64,
    /// Probabilities of a loss, of a copy, of a packet that is overtaken, and of a mark.
    loss: f64,
    copies: f64,
    late: f64,
    marks: f64,
    /// Dead from when to when, in ns.
    dead: (u64, u64),
    under_way: BTreeMap<(u64, u64), (P, Ecn)>,
    sent: u64,
}

impl<P: Clone> Path<P> {
    fn new(case: u64, way: &str) -> Path<P> {
        let mut dice = Dice::of(case, way);
        let mut rare = |most: f64| if dice.chance(0.5) { most * dice.uniform() } else { 0.0 };
        let [loss, copies, late, marks] = [0.08, 0.05, 0.1, 0.2].map(&mut rare);
        let from = (dice.uniform() * 3e9) as u64;
        let dead = if dice.chance(0.4) { (from, from + (dice.uniform() * 1.5e9) as u64) } else { (0, 0) };
        let delay = (1e6 * dice.between(1.0, 150.0)) as u64;
        Path { delay, loss, copies, late, marks, dead, dice, under_way: BTreeMap::new(), sent: 0 }
    }

    fn send(&mut self, packet: P, ecn: Ecn, now: Time) {
        let now = now.as_nanos();
        if (self.dead.0..self.dead.1).contains(&now) || self.dice.chance(self.loss) {
            return;
        }
        let ecn = if ecn != Ecn::NotEct && self.dice.chance(self.marks) { Ecn::Ce } else { ecn };
        let copies = 1 + u64::from(self.dice.chance(self.copies));
        for _ in 0..copies {
            let late = if self.dice.chance(self.late) {
                (self.dice.uniform() * 2.0 * self.delay as f64) as u64
            } else {
                0
            };
            // A millisecond is the time on a link.
            let at = now + self.delay + late + (self.dice.uniform() * 1e6) as u64;
            self.under_way.insert((at, self.sent), (packet.clone(), ecn));
            self.sent += 1;
        }
    }

    fn next(&self) -> Option<Time> {
        self.under_way.keys().next().map(|&(at, _)| Time::from_nanos(at))
    }

    fn arrives(&mut self, now: Time) -> Option<(P, Ecn)> {
        let &key = self.under_way.keys().next().filter(|key| key.0 <= now.as_nanos())?;
        self.under_way.remove(&key)
    }
}

fn note(digest: &mut Digest, what: impl Debug) {
    digest.add_text(&format!("{what:?}"));
}

fn policy(dice: &mut Dice) -> PathPolicy {
    use PathPolicy::*;
    dice.one_of(&[Nothing, ProbeRtt, ForgetMinRtt, Restart, CountLost, CarefulResume, CarefulResume])
}

fn schema() -> Value {
    let root = serde_json::to_value(schemars::schema_for!(TransportSpec)).unwrap();
    let mut schema = json!({ "$defs": root["$defs"] });
    schema["$defs"]["TransportSpec"] = root;
    schema
}

const OFTEN: &[&str] = &[
    "variant",
    "recovery",
    "congestion_control",
    "ecn",
    "accecn",
    "timestamps",
    "delayed_ack",
    "pacing",
    "spurious_detection",
    "reduction",
    "tail_loss_probe",
    "migration",
    "window",
    "handshake",
    "initial_window",
    "sack_blocks",
    "dsack",
];

/// Random fields of a transport of this kind.
fn fields_of(schema: &Value, kind: &str, case: u64) -> Value {
    let chance = Dice::of(case, "chance").one_of(&[0.0, 0.03, 0.1]);
    if kind == "tcp" {
        return fields::tcp(schema, case, kind, chance, OFTEN).into();
    }
    let fields = Fields { schema, case, often: OFTEN };
    let mut values = fields.some(fields.definition("TransportSpec", kind), kind, chance, &[]);
    let control = values.get("congestion_control").map(Value::to_string).unwrap_or_default();
    if control.contains("dctcp") || control.contains("prague") {
        values.remove("congestion_control"); // they go by ECN
    }
    values.into()
}

/// A connection of TCP, if these parameters can be.
fn tcp(schema: &Value, case: u64) -> Option<Digests> {
    let mut dice = Dice::of(case, "tcp walk");
    let profile = dice.one_of(&[
        "rfc",
        "rfc",
        "rfc",
        "linux-6",
        "linux-6",
        "linux-6-bbr",
        "ns2-2001",
        "ns2-2003",
        "ns2-2009",
    ]);
    let profile: Profile = serde_json::from_value(profile.into()).unwrap();
    let spec: TcpSpec = serde_json::from_value(fields_of(schema, "tcp", case)).ok()?;
    let params = Arc::new(spec.resolve(profile).ok()?);
    let (mut sender, mut receiver) =
        (TcpSender::new(Arc::clone(&params), Duration::ZERO), TcpReceiver::new(params));
    let (mut forth, mut back) = (Path::new(case, "forth"), Path::new(case, "back"));
    let [mut packets, mut facts, mut variables] = [Digest::EMPTY; 3];
    let mut now = Time::ZERO;
    let holds = dice.chance(0.3);
    if holds {
        receiver.hold();
    }
    sender.offer(if dice.chance(0.5) { None } else { Some(1 + dice.below(60)) });
    for _ in 0..STEPS {
        for segment in std::iter::from_fn(|| sender.poll_transmit(now)).take(300) {
            note(&mut packets, segment);
            forth.send(segment.header, segment.ecn, now);
        }
        for segment in std::iter::from_fn(|| receiver.poll_transmit(now)).take(300) {
            note(&mut packets, segment);
            back.send(segment.header, segment.ecn, now);
        }
        while let Some(fact) = sender.poll_fact() {
            note(&mut facts, fact);
        }
        note(&mut variables, sender.variables());
        let timers = [sender.next_deadline(), receiver.next_deadline()];
        let next = [forth.next(), back.next()].into_iter().chain(timers).flatten().min();
        match dice.below(60) {
            0 => sender.offer(Some(1 + dice.below(30))),
            1 if holds => receiver.read(1 + dice.below(20) as u32, now),
            2 if dice.chance(0.2) => drop(sender.on_new_path(policy(&mut dice), now)),
            3 if dice.chance(0.1) => sender.close(),
            // Nothing happens for a time, so that it is idle.
            4 => now = next.map_or(now + Duration::from_millis(900), |next| next.max(now)),
            _ => {
                let Some(next) = next else {
                    sender.offer(Some(1 + dice.below(30)));
                    now += Duration::from_millis(dice.below(1500));
                    continue;
                };
                now = next.max(now);
                if let Some((header, ecn)) = forth.arrives(now) {
                    note(&mut packets, receiver.on_segment(&header, ecn, now));
                } else if let Some((header, ecn)) = back.arrives(now) {
                    sender.on_segment(&header, ecn, now);
                } else {
                    sender.on_deadline(now);
                    receiver.on_deadline(now);
                }
                if holds && dice.chance(0.7) {
                    receiver.read(1 + dice.below(3) as u32, now);
                }
            }
        }
    }
    Some([packets, facts, variables].map(Digest::value).to_vec())
}

/// A connection of QUIC, if these parameters can be.
fn quic(schema: &Value, case: u64) -> Option<Digests> {
    let mut dice = Dice::of(case, "quic walk");
    let spec: QuicSpec = serde_json::from_value(fields_of(schema, "quic", case)).ok()?;
    spec.check().ok()?;
    let moves = spec.migration.is_some();
    let spec = Arc::new(spec);
    let (mut sender, mut receiver) = (QuicSender::new(Arc::clone(&spec)), QuicReceiver::new(spec));
    let (mut forth, mut back) = (Path::new(case, "forth"), Path::new(case, "back"));
    let [mut packets, mut facts, mut variables] = [Digest::EMPTY; 3];
    let mut now = Time::ZERO;
    sender.offer(if dice.chance(0.5) { None } else { Some(1 + dice.below(60)) });
    for _ in 0..STEPS {
        for packet in std::iter::from_fn(|| sender.poll_transmit(now)).take(300) {
            note(&mut packets, &packet);
            forth.send(packet.header, Ecn::NotEct, now);
        }
        for packet in std::iter::from_fn(|| receiver.poll_transmit(now)).take(300) {
            note(&mut packets, &packet);
            back.send(packet.header, Ecn::NotEct, now);
        }
        while let Some(fact) = sender.poll_fact() {
            note(&mut facts, fact);
        }
        note(&mut variables, sender.variables());
        let timers = [sender.next_deadline(), receiver.next_deadline()];
        let next = [forth.next(), back.next()].into_iter().chain(timers).flatten().min();
        match dice.below(60) {
            0 => sender.offer(Some(1 + dice.below(30))),
            1 if moves => {
                receiver.on_path_change(now);
                // The new path has another delay, and what was under way may be lost.
                let delay = (1e6 * dice.between(1.0, 150.0)) as u64;
                (forth.delay, back.delay) = (delay, delay);
                if dice.chance(0.5) {
                    forth.under_way.clear();
                }
            }
            2 if moves && dice.chance(0.3) => sender.on_path_change(now),
            3 if dice.chance(0.2) => drop(sender.on_new_path(policy(&mut dice), now)),
            _ => {
                let Some(next) = next else {
                    sender.offer(Some(1 + dice.below(30)));
                    now += Duration::from_millis(dice.below(1500));
                    continue;
                };
                now = next.max(now);
                if let Some((header, _)) = forth.arrives(now) {
                    note(&mut packets, receiver.on_packet(&header, now));
                } else if let Some((header, _)) = back.arrives(now) {
                    sender.on_packet(&header, now);
                } else {
                    sender.on_deadline(now);
                    receiver.on_deadline(now);
                }
            }
        }
    }
    Some([packets, facts, variables].map(Digest::value).to_vec())
}

/// The cases from 0 on that can be.
fn cases(count: u64, name: &str, walk: impl Fn(u64) -> Option<Digests>) -> Vec<(String, Digests)> {
    (0..count).filter_map(|case| Some((format!("{name}-{case}"), walk(case)?))).collect()
}

const ADVICE: &str = "Look at the packets of a walk at both commits.";

#[test]
fn random_connections_of_tcp_do_as_recorded() {
    const RECORDS: Records = Records::new("tcp.txt", &["packets", "facts", "variables"]);
    let schema = schema();
    let cases = cases(2000, "tcp", |case| tcp(&schema, case));
    assert!(cases.len() > 700, "{}", cases.len());
    RECORDS.check(&cases, ADVICE);
}

#[test]
fn random_connections_of_quic_do_as_recorded() {
    const RECORDS: Records = Records::new("quic.txt", &["packets", "facts", "variables"]);
    let schema = schema();
    let cases = cases(800, "quic", |case| quic(&schema, case));
    assert!(cases.len() > 400, "{}", cases.len());
    RECORDS.check(&cases, ADVICE);
}
