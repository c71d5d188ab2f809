//! TCP: a sender and a receiver; each loss recovery and congestion control has a file.

/// Declares the named rules of a dialect: each holds where `$holds` does.
macro_rules! rules {
    ($holds:ident: $($(#[$doc:meta])+ $rule:ident;)+) => {
        impl TcpParams {
            $($(#[$doc])+ #[inline(always)] pub(crate) fn $rule(&self) -> bool { self.$holds() })+
        }
    };
}

mod accurate;
mod control_packets;
mod episode;
mod fast_path;
mod linux;
mod ns2;
mod prr;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
mod sender;
mod sent_segments;
mod spurious;
mod state;
mod timers;

pub(crate) use linux::{Autotuning, QuickAcks, RoundAverages, SendBuffer, Unlisted, clock, wheel};
pub use receiver::TcpReceiver;
pub use sender::TcpSender;

use roamlab_engine::Bytes;
use roamlab_packet::{Ecn, TcpHeader};

/// A segment to send.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its header.
    pub header: TcpHeader,
    /// Size of the IP datagram on the wire.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
}
