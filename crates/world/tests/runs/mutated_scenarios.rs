//! Random edits of valid scenarios: a report with a place, or a run that keeps the laws.

#[path = "../../../scenario/tests/bad_scenarios/mutate.rs"]
mod mutate;

use mutate::mutate;
use proptest::prelude::*;
use roamlab_engine::Duration;
use roamlab_world::{Replication, RunOptions, Scenario, run};
use std::sync::atomic::{AtomicU32, Ordering};

const VALID: &str = include_str!("../../../scenario/tests/bad_scenarios/valid.toml");

const MBLUE: &str = include_str!("../../../../python/roamlab/papers/mblue/scenario.toml");

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is written, the answer is a report with a place, or a run that keeps the laws.
    #[test]
    fn no_text_panics_and_what_is_accepted_runs(
        valid in prop::bool::ANY,
        edits in prop::collection::vec(any::<(u8, usize, usize)>(), 1..4),
    ) {
        let text = if valid { VALID } else { MBLUE };
        let text = edits.into_iter().fold(text.to_owned(), |text, edit| mutate(&text, edit));
        match Scenario::parse(&text, "lab.toml") {
            Err(error) => {
                prop_assert!(error.line <= text.lines().count().max(1) + 1, "{error}");
                prop_assert!(!error.problem.help.is_empty(), "{error}");
            }
            Ok(mut scenario) => {
                scenario.run.duration = scenario.run.duration.min(Duration::from_millis(700));
                let patience = AtomicU32::new(2);
                let keep_going = |_| patience.fetch_sub(1, Ordering::Relaxed) > 1;
                let options = RunOptions { keep_going: &keep_going, ..RunOptions::default() };
                let outcome = run(&scenario, Replication::default(), &options);
                prop_assert!(outcome.is_ok(), "{:?}\n{text}", outcome.err());
            }
        }
    }
}
