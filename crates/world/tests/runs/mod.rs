//! Rules of every run: it repeats, and no option or order of work changes it.

mod branch;
mod determinism;
mod generated;
mod mutated_scenarios;
mod random_numbers;
mod run_options;
mod simulation;
mod streaming;
