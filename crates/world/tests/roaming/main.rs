//! Roaming with 802.11 in whole runs: its phases against sums by hand, frames lost, holes, and what the old cell suffers.

#[path = "../lab/causes.rs"]
mod causes_of;
mod facts;
mod lab;
mod phases;
#[expect(dead_code, reason = "other laboratories ask for more of it")]
#[path = "../lab/record.rs"]
mod record;
#[expect(dead_code, reason = "other laboratories ask for more of it")]
#[path = "../lab/mod.rs"]
mod tables;
mod trouble;
