//! Micro-mobility protocols in the world: what a handover loses, and handovers in trouble.

mod bcmp;
mod bcmp_networks;
mod cellular_ip;
mod chart;
mod fmipv6;
mod hawaii;
mod lab;
mod mandm;
mod reached;
#[expect(dead_code, reason = "other laboratories ask for more of it")]
#[path = "../lab/record.rs"]
mod record;
mod trouble;
