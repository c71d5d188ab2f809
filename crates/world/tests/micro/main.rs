//! Micro-mobility protocols in the world: what a handover loses, and handovers in trouble.

mod cellular_ip;
mod lab;
mod mandm;
mod reached;
#[path = "../lab/record.rs"]
mod record;
mod trouble;
