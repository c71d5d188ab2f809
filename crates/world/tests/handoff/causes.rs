//! Random walks with TCP, losses by force, links that change and signalling in trouble: whatever happens has a cause, and
//! each chain of causes reaches a root.

use super::lab::{Lab, MS};
use super::reached::walk;
use crate::lab::record::{Dice, walks};
use crate::lab::results;
use roamlab_world::Replication;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A transfer to the host and one from it.
const FLOWS: &str = r#"
[tcp_profiles.own]
based_on = "ns2-2009"
handshake = "three-way"
[[flows]]
name = "down"
path = ["ch", "mh"]
transport = { kind = "tcp", variant = "DOWN", window = "20 pkt" }
app = { kind = "ftp", start = "1.5 s" }
[[flows]]
name = "up"
path = ["mh", "ch"]
transport = { kind = "tcp", variant = "UP", window = "12 pkt", profile = "own" }
app = { kind = "ftp", start = "1.7 s" }
[record]
packets = true
queues = []
"#;

/// Change of the link between the correspondent and the first cell's router.
fn trouble(dice: &mut Dice) -> String {
    let at = 1_000 + dice.below(6_000);
    let end = at + 20 + dice.below(2_000);
    match dice.below(5) {
        0 => format!("drops = [{{ packets = [{}] }}]\n", list(dice, 300)),
        1 => format!("reverse_drops = [{{ packets = [{}] }}]\n", list(dice, 300)),
        2 => format!("changes = [{{ at = \"{at} ms\", up = false }}, {{ at = \"{end} ms\", up = true }}]\n"),
        3 => format!(
            "changes = [{{ at = \"{at} ms\", delay = \"900 ms\" }}, {{ at = \"{end} ms\", delay = \"40 ms\" }}]\n"
        ),
        _ => String::new(),
    }
}

fn list(dice: &mut Dice, below: u64) -> String {
    let mut ordinals: Vec<u64> = (0..1 + dice.below(20)).map(|_| dice.below(below)).collect();
    ordinals.sort_unstable();
    ordinals.dedup();
    ordinals.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

fn text(number: u64) -> (Lab, String) {
    let mut dice = Dice::of(number, "causes");
    let mut lab = walk(number);
    let variants = ["tahoe", "reno", "newreno", "sack"];
    lab.flows =
        FLOWS.replace("DOWN", dice.one_of::<&str>(&variants)).replace("UP", dice.one_of::<&str>(&variants));
    lab.duration_ms = lab.visits[lab.visits.len() - 1].1 + 4_000;
    lab.new_queue = dice.one_of::<&str>(&["4 pkt", "20 pkt", "1000 pkt"]);
    let limit = *dice.one_of(&["3 pkt", "20 pkt", "1000 pkt"]);
    lab.buffer = lab.buffer.replace("1000 pkt", limit);
    let wire = "between = [\"ch\", \"fa1\"]\n";
    let text = lab.text().replacen(wire, &format!("{wire}{}", trouble(&mut dice)), 1);
    (lab, text)
}

#[test]
fn every_chain_reaches_a_root() {
    let seen = AtomicUsize::new(0);
    walks(60, |number| {
        let (lab, text) = text(number);
        let tables = results(&text, Replication { seed: number, run: 0, trace: None });
        let stalls = crate::lab::causes::check(&tables).map_err(|problem| format!("{problem}\n{text}"))?;
        seen.fetch_add(stalls, Ordering::Relaxed);
        Ok(lab.duration_ms * MS)
    });
    assert!(seen.into_inner() > 20, "the walks have stalls");
}
