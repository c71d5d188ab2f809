//! Flows with their endpoints, and the ends outside the simulation.

pub(crate) mod flow;
pub(crate) mod flows;
pub mod outside;
pub(crate) mod path_notice;
pub(crate) mod timeouts;
pub(crate) mod units;
