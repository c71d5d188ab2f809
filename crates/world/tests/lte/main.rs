//! LTE handover over X2 in the world: undisturbed, and in trouble.

mod causes;
#[path = "../lab/causes.rs"]
mod causes_of;
mod lab;
mod races;
mod reached;
#[path = "../lab/record.rs"]
mod record;
mod schemes;
#[path = "../lab/mod.rs"]
mod tables;
mod trouble;
mod undisturbed;
