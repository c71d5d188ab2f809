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
mod trouble;
