//! Packets, their headers, the pool that holds them, and the reasons for their loss.
//!
//! A [`Packet`] is a struct; [`wire`] writes its bytes for capture files. A [`PacketId`] is neither `Copy` nor `Clone`,
//! and a hop moves it. So a packet cannot be dropped *and* queued, and a copy needs an explicit call of
//! [`PacketPool::duplicate`].

mod addr;
mod bearer;
mod drop_reason;
mod header;
mod line;
mod marking_state;
mod packet;
mod pool;
mod receipt;
mod seq_set;
pub mod wire;

pub use addr::{Addr, FlowId, MessageId, Side};
pub use bearer::{BearerState, Counts, Received};
pub use drop_reason::DropReason;
pub use header::{
    AccEcnOption, BareTcpHeader, Dscp, Ecn, Format, Header, IpHeader, QuicAck, QuicHeader, SackBlocks,
    TcpFlags, TcpHeader, Timestamps, Tos, UdpHeader,
};
pub use line::PacketLine;
pub use marking_state::MarkingState;
pub use packet::{NewPacket, Packet};
pub use pool::{Census, PacketId, PacketPool, Parked, Snapshot, Waiting};
pub use receipt::Receipt;
pub use seq_set::SeqSet;
