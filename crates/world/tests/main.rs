//! Whole runs: one program for all tests, so that they are linked once and share the processors.

mod applications;
mod branch;
mod causes;
mod combinations;
mod dcf;
mod determinism;
mod domains;
mod far;
mod forced;
mod generated;
mod handoff;
mod lab;
mod link;
mod lte;
mod medium;
mod micro;
mod moves;
mod mutated_scenarios;
mod ns2;
mod path_change;
mod queues;
mod quic_gap;
#[cfg(feature = "quinn")]
mod quinn;
mod random_loss;
mod random_numbers;
mod recorded;
mod recovery;
mod roaming;
mod run_options;
mod scheduler;
mod simulation;
mod soft;
mod streaming;
mod validation;
mod way_of_a_packet;
