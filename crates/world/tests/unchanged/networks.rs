//! Random scenarios: a network by hand, and random fields of all that a scenario has.

use super::fields::{Dice, Fields, inline, lines};
use serde_json::{Map, Value};

mod flows;
mod lte;
mod mobility;
mod wireless_lan;
mod wires;

/// Fields of which many others depend.
const OFTEN: &[&str] = &[
    "variant",
    "recovery",
    "congestion_control",
    "ecn",
    "migration",
    "mark_ecn",
    "limit",
    "rules",
    "measurement",
    "medium",
    "trigger",
    "buffer",
    "conditional",
    "detection",
    "handoff",
    "scheme",
    "isolation",
    "tins",
    "spare_forwarded",
    "signal",
    "timestamps",
    "delayed_ack",
    "pacing",
    "spurious_detection",
];

/// The scenario of a case.
pub struct Case<'a> {
    fields: Fields<'a>,
    dice: Dice,
    /// How likely a field is.
    chance: f64,
    /// Flows so far.
    flows: usize,
    /// The profile of the run.
    profile: &'static str,
    /// The profiles of flows with changed rules.
    profiles: String,
    text: String,
}

/// The scenario of this number. Half of the cases have wires alone, as most of transport and queues needs no host.
pub fn text(schema: &Value, number: u64) -> String {
    let mut dice = Dice::of(number, "case");
    let fields = Fields { schema, case: number, often: OFTEN };
    let chance = dice.one_of(&[0.0, 0.02, 0.05, 0.15]);
    let mut case =
        Case { fields, dice, chance, flows: 0, profile: "", profiles: String::new(), text: String::new() };
    match number % 10 {
        0..=4 => case.wires(),
        5 | 6 => case.mobility(),
        7 => case.lte(),
        _ => case.wireless_lan(),
    }
    case.text + &case.profiles
}

impl Case<'_> {
    fn put(&mut self, text: &str) {
        self.text += text;
        self.text.push('\n');
    }

    fn run(&mut self, least: f64, most: f64) {
        self.profile = self.dice.one_of(&[
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
        let profile = self.profile;
        let seconds = self.dice.between(least, most);
        let numbers = if self.dice.chance(0.03) { "\nrandom_numbers = \"ns2\"" } else { "" };
        self.put(&format!("[run]\nduration = \"{seconds:.2} s\"\nprofile = \"{profile}\"{numbers}\n[record]\npackets = true\nvariables = true"));
        self.put("queues = [\"*\"]");
        let network = self.table("NetworkSpec", "", "network", 0.6);
        self.put(&format!("[network]\n{}", lines(&network)));
    }

    /// Fields of a definition, of which each is as likely as `factor` times the others.
    fn table(&mut self, name: &str, kind: &str, place: &str, factor: f64) -> Map<String, Value> {
        let node = self.fields.definition(name, kind);
        self.fields.some(
            node,
            place,
            factor * self.chance,
            &["queue", "uplink_queue", "measurement", "bearers", "scheduler", "medium"],
        )
    }

    fn queue(&mut self, place: &str) -> String {
        let kind = self.fields.kind("QueueSpec", place).to_owned();
        let node = self.fields.definition("QueueSpec", &kind);
        let fields = self.fields.some(node, place, 3.0 * self.chance, &[]);
        format!("{{ kind = \"{kind}\"{} }}", inline(&fields))
    }

    fn delay(&mut self, least: f64, most: f64) -> String {
        format!("\"{:.0} us\"", 1e6 * self.dice.between(least, most))
    }

    fn loss(&mut self) -> String {
        match self.dice.below(3) {
            0 => format!(
                "{{ kind = \"gilbert-elliott\", good_to_bad = {:.4}, bad_to_good = {:.3} }}",
                self.dice.between(0.002, 0.05),
                self.dice.between(0.1, 0.9)
            ),
            _ => format!("{:.4}", self.dice.between(0.002, 0.1)),
        }
    }

    /// A cell below a router, and what else it has: a queue, a scheduler, a medium.
    fn cell(&mut self, name: &str, router: &str, rate: f64, more: &str) {
        let queue = self.queue(&format!("{name}.queue"));
        let (delay, wire) = (self.delay(0.0001, 0.01), self.delay(0.0001, 0.01));
        self.put(&format!(
            "[cells.{name}]\nrouter = \"{router}\"\nrate = \"{rate:.0} bit/s\"\ndelay = {delay}\nqueue = {queue}\n\
             backhaul = {{ rate = \"10 Mbit/s\", delay = {wire} }}\n{more}"
        ));
        if more.contains("medium") {
            return; // it decides itself what is lost, and whose turn it is
        }
        if self.dice.chance(0.2) {
            let loss = self.loss();
            self.put(&format!("loss = {loss}"));
        }
        if self.dice.chance(0.25) {
            let (weight, scheduler) =
                (self.dice.between(0.3, 4.0), self.dice.one_of(&["wfq", "round-robin", "proportional-fair"]));
            let queue = self.queue(&format!("{name}.bearer"));
            let weighs = scheduler == "wfq" && name == "bs1";
            let hosts = if weighs {
                format!(", hosts = {{ h0 = {{ weight = {weight:.2} }} }}")
            } else {
                String::new()
            };
            self.put(&format!(
                "scheduler = {{ kind = \"{scheduler}\" }}\nbearers = {{ queue = {queue}{hosts} }}"
            ));
        }
    }
}
