//! Random walks with TCP, buffers that overflow and signalling in trouble: whatever happens has a cause, and each chain of
//! causes reaches a root.

use super::lab::MS;
use super::reached::walk;
use crate::lab::record::{Dice, walks};
use crate::lab::results;
use roamlab_world::Replication;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A transfer to the host and one from it.
const FLOWS: &str = r#"
[[flows]]
name = "down"
path = ["server", "ue"]
transport = { kind = "tcp", variant = "DOWN", window = "40 pkt", min_rto = "200 ms" }
app = { kind = "ftp", start = "1.5 s" }
[[flows]]
name = "up"
path = ["ue", "server"]
transport = { kind = "tcp", variant = "UP", window = "12 pkt", min_rto = "200 ms" }
app = { kind = "ftp", start = "1.7 s" }
[record]
packets = true
queues = []
"#;

#[test]
fn every_chain_reaches_a_root() {
    let seen = AtomicUsize::new(0);
    walks(40, |number| {
        let mut dice = Dice::of(number, "causes");
        let mut lab = walk(number);
        let variants = ["tahoe", "reno", "newreno", "sack"];
        lab.flows = FLOWS
            .replace("DOWN", dice.one_of::<&str>(&variants))
            .replace("UP", dice.one_of::<&str>(&variants));
        lab.duration_ms = lab.visits[lab.visits.len() - 1].1 + 4_000;
        let limit = format!("buffer_limit = \"{} pkt\"", dice.one_of(&[5, 30, 1000]));
        let text = lab.text().replacen("buffer_limit = \"1000 pkt\"", &limit, 1);
        let tables = results(&text, Replication { seed: number, run: 0, trace: None });
        let stalls = crate::lab::causes::check(&tables).map_err(|problem| format!("{problem}\n{text}"))?;
        seen.fetch_add(stalls, Ordering::Relaxed);
        Ok(lab.duration_ms * MS)
    });
    assert!(seen.into_inner() > 0, "the walks have stalls");
}
