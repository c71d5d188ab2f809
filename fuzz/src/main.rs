//! `fuzz TARGET SECONDS [SEED]`: random inputs to one target for so long, on one thread.
//!
//! The stable toolchain has no coverage to steer by. So inputs are made from what is valid, by random edits and by
//! numbers near the edges of what is accepted. Each case is a function of seed and number: a case that fails
//! prints both, and `fuzz TARGET SECONDS SEED` reaches it again.

mod queues;
#[path = "../../crates/tcp/tests/robustness.rs"]
mod robustness;
mod scenarios;

use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs the cases of a block, which seed and number determine; how many.
type Target = fn(u64, u64) -> u32;

const TARGETS: [(&str, Target); 3] =
    [("tcp", robustness::block), ("queues", queues::block), ("scenarios", scenarios::block)];

#[expect(clippy::disallowed_methods, reason = "the time to continue is a matter of the machine's time")]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| words.get(place).map_or(Some(1), |word| word.parse::<u64>().ok());
    let target = words.first().and_then(|name| TARGETS.iter().find(|(known, _)| known == name));
    let (Some((name, block)), Some(seconds), Some(seed)) = (target, number(1), number(2)) else {
        eprintln!("usage: fuzz tcp|queues|scenarios SECONDS [SEED]");
        return ExitCode::from(2);
    };
    let (begin, limit) = (Instant::now(), Duration::from_secs(seconds));
    let (mut executions, mut blocks) = (0, 0);
    while begin.elapsed() < limit {
        let outcome = std::panic::catch_unwind(|| block(seed, blocks));
        match outcome {
            Ok(cases) => executions += u64::from(cases),
            Err(_) => {
                eprintln!("{name}: seed {seed}, block {blocks} fails");
                return ExitCode::FAILURE;
            }
        }
        blocks += 1;
    }
    println!("{name}: {executions} executions in {seconds} s from seed {seed}, none fails");
    ExitCode::SUCCESS
}
