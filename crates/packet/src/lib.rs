//! What travels: packets, their headers, the pool they live in, and the reasons they are lost.
//!
//! Values inside, bytes only at the edge: a [`Packet`] is a struct; [`wire`] writes its bytes for capture files.
//! A [`PacketId`] is neither `Copy` nor `Clone`: moving it is a hop, so a packet cannot be dropped *and* queued,
//! and a copy has to be asked for with [`PacketPool::duplicate`].

mod addr;
mod drop_reason;
mod header;
mod packet;
mod pool;
pub mod wire;

pub use addr::{Addr, FlowId, MessageId};
pub use drop_reason::DropReason;
pub use header::{
    BareTcpHeader, Dscp, Ecn, IpHeader, SackBlocks, TcpFlags, TcpHeader, Timestamps, Tos, UdpHeader,
};
pub use packet::{Body, NewPacket, Packet};
pub use pool::{Census, PacketId, PacketPool, PacketQueue, Parked, Waiting};
