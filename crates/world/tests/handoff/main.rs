//! The handoff of Mobile IP with buffering in the world: undisturbed, and in trouble.

mod lab;
mod trouble;
mod undisturbed;
