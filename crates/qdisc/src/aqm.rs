//! Active queue management: disciplines that drop or mark before the queue is full.

pub mod blue;
pub mod codel;
pub mod dualpi2;
pub mod linux_red;
pub mod mblue;
pub mod mred;
pub mod pie;
pub mod red;

pub(crate) mod drop_probability;
pub(crate) mod updates;
