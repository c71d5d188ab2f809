//! Random walks with up to six signalling messages lost or late: the host is reached again within the bound that
//! docs/models/mobile-ip.md states.
//!
//! `ROAMLAB_WALKS=10000 cargo test -p roamlab-world --test runs handoff::reached` runs more than 300.

use super::lab::{Lab, MS, RED, Trouble};
use crate::lab::record::{Dice, walks};
use std::fmt::Write;

/// From the last entry of a cell to the first datagram that comes through it. That is the time of six
/// requests whose repetitions come after 1, 2, 4, 8, 8 and 8 s, and of
/// the handoff itself with its beacon (or periodic advertisement). Then comes a second that the home agent waits between two answers to warnings.
const BOUND: u64 = 33_000 * MS;

/// A datagram each 100 ms.
const PULSE: &str = r#"
[[flows]]
name = "udp"
path = ["ch", "mh"]
app = { kind = "cbr", start = "1.6 s", rate = "8 kbit/s", packet = "100 B" }
[record]
queues = []
"#;

const SETTINGS: [&str; 8] = [
    "",
    "local_handoff = false",
    "route_optimisation = false",
    "smooth_handoff = false",
    "ro_trigger = \"registration\"",
    "ro_trigger = \"warning\"",
    "tb_mode = \"uniform\"",
    "local_handoff = false\nsolicitation = true",
];

const BUFFERS: [&str; 5] =
    ["", "at = \"none\"", "layer2_ack = false", "detour = false", "in_order_wait = \"10 ms\""];

/// Buffers that came later: a walk that draws none of them is as it was.
const LATER_BUFFERS: [&str; 2] = ["at = \"foreign-agent\"", "forward_below = \"2 pkt\""];

const MESSAGES: [&str; 11] = [
    "beacon",
    "handoff-request",
    "notification",
    "agent-advertisement",
    "registration-request",
    "registration-reply",
    "binding-update",
    "binding-acknowledge",
    "binding-warning",
    "binding-request",
    "forward",
];

/// A random scenario.
pub fn walk(number: u64) -> Lab {
    let mut dice = Dice::of(number, "mobile-ip");
    let mut lab = Lab { flows: PULSE.into(), draw: number, ..Lab::default() };
    lab.mobility = (*dice.one_of(&SETTINGS)).into();
    let buffer = dice.one_of(&BUFFERS);
    let _ = write!(lab.buffer, "{buffer}");
    let overlap = dice.below(5).saturating_sub(2) * 60;
    lab.radio = match overlap {
        0 => format!("kind = \"hard\"\ngap = \"{} ms\"", dice.below(3) * 30),
        overlap => format!("kind = \"soft\"\noverlap = \"{overlap} ms\""),
    };
    lab.visits.truncate(1);
    let mut at = 3_000;
    for _ in 0..1 + dice.below(4) {
        lab.visits.push((*dice.one_of(&["bs1", "bs2", "bs3"]), at));
        at += 61 + if dice.below(2) == 0 { dice.below(300) } else { dice.below(4_000) };
    }
    // A burst of losses of one kind is what repetitions are for; any mixture may come, too.
    let (burst, first) = (*dice.one_of(&MESSAGES), 1 + dice.below(8) as u32);
    let in_a_row = dice.below(2) == 0;
    for number in 0..dice.below(7) as u32 {
        let message = if in_a_row { burst } else { *dice.one_of(&MESSAGES) };
        let occurrence = if in_a_row { first + number } else { 1 + dice.below(12) as u32 };
        let delay_ms = (dice.below(3) == 0).then(|| 1 + dice.below(2_000));
        lab.troubles.push(Trouble { delay_ms, ..Trouble::lost(message, occurrence) });
    }
    if dice.below(4) == 0 {
        lab.discipline = RED;
        lab.buffer = format!("limit = \"1000 pkt\", {}", dice.one_of(&LATER_BUFFERS));
    }
    lab.duration_ms = lab.visits[lab.visits.len() - 1].1 + 60 + BOUND / MS + 1_000;
    lab
}

#[test]
fn every_covered_host_is_reached_again_within_the_bound() {
    walks(300, |number| {
        let lab = walk(number);
        // No warning is sent to the home agent then (docs/models/mobile-ip.md).
        if lab.mobility.contains("smooth_handoff = false") && lab.mobility.contains("warning") {
            return Ok(0);
        }
        lab.run().reached_again("udp", BOUND).map_err(|problem| format!("{problem}\n{lab:?}"))
    });
}
