//! LTE handover over X2 in the world: undisturbed, and in trouble.

mod lab;
mod races;
mod reached;
#[path = "../lab/record.rs"]
mod record;
mod schemes;
mod trouble;
mod undisturbed;
