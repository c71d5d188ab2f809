//! Laws for every combination of congestion control, recovery, profile, ECN and settings, over TCP and QUIC, and the cases
//! that showed them to be needed.
//!
//! With data to send, a window and a queue of at least the path's product, an open path and no random loss,
//! goodput is at least 85 % of the path. Behind a timeout it is half of it within max(2 s, 2 log2(product) +
//! 4 round trips), and a series of timeouts is no longer. No silence is longer than the timer in force, or
//! the tail loss probe's. Each packet has one end. With random loss goodput is at least a third of the
//! algorithm's law.

mod cases;
mod channels;
mod draw;
mod files;
mod laws;
mod quic;
mod table;
mod text;

use draw::Draw;
use laws::broken;
use roamlab_world::Replication;
use std::fmt::Debug;
use std::ops::Range;

const DRAW: Replication = Replication { seed: 1, run: 0, trace: None };
/// Draws of `make test`; `ROAMLAB_COMBINATIONS` has another number, or draws from one number to another: `412..413`.
const DRAWS: u64 = 40;

/// Draws by their numbers, and fails with all that break a law. `draws` of them, or `ROAMLAB_COMBINATIONS`. Each failure is
/// printed when it is found.
#[expect(clippy::disallowed_methods, reason = "how many draws are tried is no input of a run")]
fn hold<D: Debug>(draws: u64, draw: impl Fn(u64) -> D, broken: impl Fn(&D) -> Vec<String>) {
    let wanted = std::env::var("ROAMLAB_COMBINATIONS").unwrap_or_else(|_| draws.to_string());
    let (from, until) = wanted.split_once("..").unwrap_or(("0", &wanted));
    let numbers: Range<u64> = from.parse().unwrap()..until.parse().unwrap();
    let mut failures = 0;
    for number in numbers.clone() {
        let draw = draw(number);
        let broken = broken(&draw);
        if !broken.is_empty() {
            println!("draw {number}: {broken:?}\n{draw:?}\n");
            failures += 1;
        }
    }
    assert_eq!(failures, 0, "of the draws {numbers:?}");
}

#[test]
fn laws_hold_in_random_combinations() {
    hold(DRAWS, Draw::new, broken);
}
