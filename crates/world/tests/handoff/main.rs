//! The handoff of Mobile IP with buffering in the world: undisturbed, and in trouble.

mod buffers;
mod lab;
mod reached;
#[path = "../lab/record.rs"]
mod record;
mod trouble;
mod undisturbed;
