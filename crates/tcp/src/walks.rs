//! Random connections of TCP do what they did when they were recorded: each packet, each fact and all variables.

#[path = "../../../tests/recorded/connections.rs"]
mod connections;
#[path = "../../../tests/recorded/digests.rs"]
mod digests;
#[expect(dead_code, reason = "other tests read the rest")]
#[path = "../../../tests/recorded/fields.rs"]
mod fields;

use crate::{TcpParams, TcpProfile, TcpReceiver, TcpSender, TcpSpec};
use connections::{ADVICE, OFTEN, Path, STEPS, cases, note, policy, schema};
use digests::{Digest, Digests, Records};
use fields::Dice;
use roamlab_engine::{Duration, Time};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Random parameters of TCP, and random rules of its profile.
fn fields_of(schema: &Value, case: u64) -> (Map<String, Value>, Map<String, Value>) {
    let chance = Dice::of(case, "chance").one_of(&[0.0, 0.03, 0.1]);
    fields::tcp(schema, case, "tcp", chance, OFTEN)
}

/// The parameters of a case, if they can be.
fn params_of(schema: &Value, case: u64, dice: &mut Dice) -> Option<Arc<TcpParams>> {
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
    let (parameters, mut rules) = fields_of(schema, case);
    rules.insert("based_on".into(), profile.into());
    let spec: TcpSpec = serde_json::from_value(parameters.into()).ok()?;
    let profile: TcpProfile = serde_json::from_value(rules.into()).ok()?;
    let params = Arc::new(spec.resolve(&profile).ok()?);
    if profile.reduction.is_some_and(|rule| rule != params.reduction) {
        return None; // its recovery does not read it
    }
    Some(params)
}

/// A connection of TCP, if these parameters can be.
fn tcp(schema: &Value, case: u64) -> Option<Digests> {
    let mut dice = Dice::of(case, "tcp walk");
    let params = params_of(schema, case, &mut dice)?;
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

#[test]
fn random_connections_of_tcp_do_as_recorded() {
    const RECORDS: Records = Records::new("tcp.txt", &["packets", "facts", "variables"]);
    let mut schema = schema::<TcpSpec>();
    let of_profile = self::schema::<TcpProfile>();
    schema["$defs"]["TcpProfile"] = of_profile["$defs"]["TransportSpec"].clone();
    for (name, definition) in of_profile["$defs"].as_object().unwrap() {
        if name != "TransportSpec" {
            schema["$defs"][name] = definition.clone();
        }
    }
    let cases = cases(2000, "tcp", |case| tcp(&schema, case));
    assert!(cases.len() > 700, "{}", cases.len());
    RECORDS.check(&cases, ADVICE);
}
