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
mod cc;
mod control_packets;
mod delivery_rate;
mod episode;
mod fact;
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
mod seq_set;
mod spurious;
mod state;
mod timers;
mod windowed_best;

pub(crate) use cc::{
    AckEvent, CongestionControl, Feedback, Loss, LossEvent, NewPath, RecoveryStep, SsthreshRule, Window,
};
pub use cc::{CONGESTION_CONTROLS, CongestionControlSpec};
pub(crate) use delivery_rate::{DeliveryRate, DeliverySampler, LostSegment, Stamp};
pub use fact::{TcpFact, TcpFactKind, TcpVariables};
pub(crate) use linux::{
    Autotuning, Found, Known, QuickAcks, RoundAverages, SendBuffer, Unlisted, Usage, clock, wheel,
};
pub use receiver::TcpReceiver;
pub use sender::TcpSender;
pub(crate) use seq_set::SeqSet;

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

/// What the arrival of a segment or datagram meant to the receiver.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    /// It had not arrived before.
    pub fresh: bool,
    /// Segments that the application can have now, and could not before.
    pub in_order_segments: u32,
    /// One with a higher number arrived before it.
    pub out_of_order: bool,
}
