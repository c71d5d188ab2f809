//! The congestion controls, one file for each, and what several of them share.

pub(crate) mod bbr;
pub(crate) mod bbr3;
pub(crate) mod cubic;
pub(crate) mod dctcp;
mod linux;
#[cfg(test)]
pub(crate) mod paced;
pub(crate) mod prague;
pub(crate) mod reno;
pub(crate) mod slow_start;
pub(crate) mod vegas;
