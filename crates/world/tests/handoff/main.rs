//! The handoff of Mobile IP with buffering in the world: undisturbed, and in trouble.

mod buffers;
mod causes;
#[path = "../lab/causes.rs"]
mod causes_of;
mod lab;
mod reached;
#[path = "../lab/record.rs"]
mod record;
#[path = "../lab/mod.rs"]
mod tables;
mod trouble;
mod undisturbed;
