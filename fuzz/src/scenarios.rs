//! Scenarios with random edits: a report with a place, or a run that keeps the laws within its memory.

#[path = "../../crates/scenario/tests/bad_scenarios/mutate.rs"]
mod mutate;

use crate::robustness::Dice;
use mutate::mutate;
use roamlab_engine::{Bytes, Duration};
use roamlab_scenario::{Scenario, estimate};
use roamlab_world::{Failure, Replication, RunOptions, run};
use std::cell::Cell;

const CASES: u32 = 20;

/// The edited text.
const VALID: [&str; 4] = [
    include_str!("../../crates/scenario/tests/bad_scenarios/valid.toml"),
    include_str!("../../python/roamlab/papers/mblue/scenario.toml"),
    include_str!("../../examples/lte.toml"),
    include_str!("../../examples/handover.toml"),
];

/// Runs a block of cases.
pub fn block(seed: u64, number: u64) -> u32 {
    let mut dice = Dice::of(seed, number, "scenarios");
    (0..CASES).for_each(|_| case(&mut dice));
    CASES
}

fn case(dice: &mut Dice) {
    let mut text = VALID[dice.below(4) as usize].to_owned();
    for _ in 0..1 + dice.below(3) {
        let edit = (dice.below(256) as u8, dice.below(u32::MAX) as usize, dice.below(u32::MAX) as usize);
        text = mutate(&text, edit);
    }
    let mut scenario = match Scenario::parse(&text, "fuzz.toml") {
        Ok(scenario) => scenario,
        Err(error) => {
            assert!(error.line <= text.lines().count().max(1) + 1, "{error}");
            assert!(!error.problem.help.is_empty(), "{error}");
            return;
        }
    };
    for warning in scenario.warnings(&text, "fuzz.toml") {
        assert!(!warning.problem.field.is_empty() && !warning.problem.help.is_empty(), "{warning}");
    }
    let _ = estimate(&scenario);
    scenario.run.duration = scenario.run.duration.min(Duration::from_millis(300));
    let patience = Cell::new(2);
    let keep_going = |_| {
        patience.set(patience.get() - 1);
        patience.get() > 0
    };
    let memory = Some(Bytes(200_000_000));
    let options = RunOptions { keep_going: &keep_going, memory, ..RunOptions::default() };
    match run(&scenario, Replication { seed: 1, run: 0, trace: None }, &options) {
        Ok(_) | Err(Failure::Memory(_)) => {}
        Err(failure) => panic!("{failure}\n{text}"),
    }
}
