//! Micro-mobility protocols in the world: what a handover loses, and handovers in trouble.

mod lab;
mod mandm;
#[path = "../lab/record.rs"]
mod record;
