//! Common parts of random connections of a transport: the path between the two ends, and the random choices.
//!
//! The path loses, delays, overtakes, copies and marks packets, and is dead for a time. Senders pause, and are notified of new
//! paths. So they come into states that whole runs rarely reach.

use super::digests::{Digest, Digests};
use super::fields::Dice;
use roamlab_congestion::PathPolicy;
use roamlab_engine::Time;
use roamlab_packet::Ecn;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Inputs of a walk.
pub const STEPS: usize = 800;

/// Packets on their way between two ends, in the order of arrival.
pub struct Path<P> {
    dice: Dice,
    /// In ns.
    pub delay: u64,
    /// Probabilities of a loss, of a copy, of a packet that is overtaken, and of a mark.
    loss: f64,
    copies: f64,
    late: f64,
    marks: f64,
    /// Dead from when to when, in ns.
    dead: (u64, u64),
    pub under_way: BTreeMap<(u64, u64), (P, Ecn)>,
    sent: u64,
}

impl<P: Clone> Path<P> {
    pub fn new(case: u64, way: &str) -> Path<P> {
        let mut dice = Dice::of(case, way);
        let mut rare = |most: f64| if dice.chance(0.5) { most * dice.uniform() } else { 0.0 };
        let [loss, copies, late, marks] = [0.08, 0.05, 0.1, 0.2].map(&mut rare);
        let from = (dice.uniform() * 3e9) as u64;
        let dead = if dice.chance(0.4) { (from, from + (dice.uniform() * 1.5e9) as u64) } else { (0, 0) };
        let delay = (1e6 * dice.between(1.0, 150.0)) as u64;
        Path { delay, loss, copies, late, marks, dead, dice, under_way: BTreeMap::new(), sent: 0 }
    }

    pub fn send(&mut self, packet: P, ecn: Ecn, now: Time) {
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

    pub fn next(&self) -> Option<Time> {
        self.under_way.keys().next().map(|&(at, _)| Time::from_nanos(at))
    }

    pub fn arrives(&mut self, now: Time) -> Option<(P, Ecn)> {
        let &key = self.under_way.keys().next().filter(|key| key.0 <= now.as_nanos())?;
        self.under_way.remove(&key)
    }
}

pub fn note(digest: &mut Digest, what: impl Debug) {
    digest.add_text(&format!("{what:?}"));
}

pub fn policy(dice: &mut Dice) -> PathPolicy {
    use PathPolicy::*;
    dice.one_of(&[Nothing, ProbeRtt, ForgetMinRtt, Restart, CountLost, CarefulResume, CarefulResume])
}

/// The schema of a transport's parameters.
pub fn schema<T: JsonSchema>() -> Value {
    let root = serde_json::to_value(schema_for!(T)).unwrap();
    let mut schema = json!({ "$defs": root["$defs"] });
    schema["$defs"]["TransportSpec"] = root;
    schema
}

/// Fields that are drawn more often.
pub const OFTEN: &[&str] = &[
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

/// The cases from 0 on that can be.
pub fn cases(count: u64, name: &str, walk: impl Fn(u64) -> Option<Digests>) -> Vec<(String, Digests)> {
    (0..count).filter_map(|case| Some((format!("{name}-{case}"), walk(case)?))).collect()
}

pub const ADVICE: &str = "Look at the packets of a walk at both commits.";
