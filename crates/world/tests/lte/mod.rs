//! LTE handover over X2 in the world: undisturbed, and in trouble.

mod carried;
mod causes;
mod conditional;
mod lab;
mod races;
mod reached;
mod schemes;
mod trouble;
mod undisturbed;
