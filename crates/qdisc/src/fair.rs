//! Fair queues: disciplines with a queue for each flow.

pub mod cake;
pub mod fq;
pub mod fq_codel;

mod flow_hash;
mod lazy_table;
