//! The handoff of Mobile IP with buffering in the world: undisturbed, and in trouble.

mod buffers;
mod causes;
mod lab;
mod reached;
mod trouble;
mod undisturbed;
