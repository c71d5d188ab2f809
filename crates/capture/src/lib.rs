//! Captures of other programs: packet captures are read into columns, and the stalls of their TCP flows are explained.
//!
//! It knows nothing of the simulator. [`read`] takes a file in pcap or pcapng; a file that is none is a [`Fault`] with the
//! number of a packet and a byte. Payloads are never kept. [`anonymise`] writes a capture that may be given away.

mod anonymise;
mod fault;
mod flows;
mod link;
mod long;
mod network;
mod packets;
mod path;
mod pcapng;
mod qlog;
mod record;
mod records;
mod source;
mod tcp;
#[cfg(test)]
mod tests;
mod why;
mod writer;

pub use anonymise::{Addresses, Unwritten, Written, anonymise};
pub use fault::{Fault, Read};
pub use flows::{Capture, Datagrams, Flow, Opened, read};
pub use network::End;
pub use packets::{Blocks, Packets, Row, Way};
pub use path::{Bursts, Course, Gap, Kept, Longer, Path, Rate, WithPath, explain_with_path};
pub use qlog::explain_qlog;
pub use why::{
    Aligned, Answer, Cause, Column, Explored, Facts, Kind, Limits, Marks, Resends, Slow, Spike, Stall, Stop,
    Sure, Table, Timeout, Told, Trips, explain, explore, marks,
};
