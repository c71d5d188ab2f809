//! Random connections of QUIC do what they did when they were recorded: each packet, each fact and all variables.

#[path = "../../../tests/recorded/connections.rs"]
mod connections;
#[path = "../../../tests/recorded/digests.rs"]
mod digests;
#[expect(dead_code, reason = "other tests read the rest")]
#[path = "../../../tests/recorded/fields.rs"]
mod fields;

use crate::{QuicReceiver, QuicSender, QuicSpec};
use connections::{ADVICE, OFTEN, Path, STEPS, cases, note, policy, schema};
use digests::{Digest, Digests, Records};
use fields::{Dice, Fields};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Ecn;
use serde_json::Value;
use std::sync::Arc;

/// Random fields of QUIC.
fn fields_of(schema: &Value, case: u64) -> Value {
    let chance = Dice::of(case, "chance").one_of(&[0.0, 0.03, 0.1]);
    let fields = Fields { schema, case, often: OFTEN };
    let mut values = fields.some(fields.definition("TransportSpec", "quic"), "quic", chance, &[]);
    let control = values.get("congestion_control").map(Value::to_string).unwrap_or_default();
    if control.contains("dctcp") || control.contains("prague") {
        values.remove("congestion_control"); // they go by ECN
    }
    values.into()
}

/// A connection of QUIC, if these parameters can be.
fn quic(schema: &Value, case: u64) -> Option<Digests> {
    let mut dice = Dice::of(case, "quic walk");
    let spec: QuicSpec = serde_json::from_value(fields_of(schema, case)).ok()?;
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

#[test]
fn random_connections_of_quic_do_as_recorded() {
    const RECORDS: Records = Records::new("quic.txt", &["packets", "facts", "variables"]);
    let schema = schema::<QuicSpec>();
    let cases = cases(800, "quic", |case| quic(&schema, case));
    assert!(cases.len() > 400, "{}", cases.len());
    RECORDS.check(&cases, ADVICE);
}
