//! Random walks with up to six signalling messages lost or late: the host is reached again within the bound that
//! docs/models/lte-x2.md states.
//!
//! `ROAMLAB_WALKS=10000 cargo test -p roamlab-world --test runs lte::reached` runs more than 300.

use super::lab::{Lab, MS, TURNS, Trouble};
use super::trouble::{MESSAGES, OTHERS, SCHEMES};
use crate::lab::record::{Dice, walks};

/// From the last entry of a cell, or the host's last turn, to the first datagram. It is the time of six
/// repetitions (0.2, 0.4, 0.8, 1.6, 2 and 2 s). Then comes a link that fails in between, with T310, T311, T301 and
/// the source's wait (1 + 3 + 0.3 + 1 s), and the search for a cell.
pub const BOUND: u64 = 13_000 * MS;

/// A datagram each 50 ms.
const PULSE: &str = r#"
[[flows]]
name = "udp"
path = ["server", "ue"]
app = { kind = "cbr", start = "1.6 s", rate = "16 kbit/s", packet = "100 B" }
[record]
queues = []
"#;

/// A random scenario.
pub fn walk(number: u64) -> Lab {
    let mut dice = Dice::of(number, "lte");
    let scheme = *dice.one_of(&[&SCHEMES[..], &OTHERS[..]].concat());
    let mut lab = Lab { flows: PULSE.into(), ..Lab::with(scheme.1) };
    if dice.below(4) == 0 {
        lab.radio = "t310 = \"100 ms\"\nslope_db_per_s = 60.0".into();
    }
    lab.visits.truncate(1);
    let mut at = TURNS / MS;
    for _ in 0..1 + dice.below(5) {
        lab.visits.push((*dice.one_of(&["enb1", "enb2", "enb3"]), at));
        at += 10 + if dice.below(2) == 0 { dice.below(300) } else { dice.below(3_000) };
    }
    let (burst, first) = (*dice.one_of(&MESSAGES), 1 + dice.below(5) as u32);
    let in_a_row = dice.below(2) == 0;
    for number in 0..dice.below(7) as u32 {
        let message = if in_a_row { burst } else { *dice.one_of(&MESSAGES) };
        let occurrence = if in_a_row { first + number } else { 1 + dice.below(6) as u32 };
        let delay_ms = (dice.below(3) == 0).then(|| 1 + dice.below(2_000));
        lab.troubles.push(Trouble { delay_ms, ..Trouble::lost(message, occurrence) });
    }
    lab.duration_ms = lab.visits[lab.visits.len() - 1].1 + 2 * BOUND / MS;
    lab
}

#[test]
fn every_covered_host_is_reached_again_within_the_bound() {
    walks(300, |number| {
        let lab = walk(number);
        lab.run().reached_again("udp", BOUND).map_err(|problem| format!("{problem}\n{lab:?}"))
    });
}
