//! NR handover in the world: the worked examples of the protocol's specification to the microsecond, and trouble.

mod conditional;
mod draw;
mod dual;
mod excuses;
mod faults;
mod lab;
mod laws;
mod ltm;
mod n2;
mod reestablishment;
mod trouble;
mod units;
mod uplink;
mod walks;
mod xn;
