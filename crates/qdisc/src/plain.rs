//! Plain queues: disciplines that drop only what finds no room, or has no time left.

pub mod droptail;
pub mod head_drop;
pub mod rlc;
