//! Sans-IO TCP endpoints: a sender and a receiver of a one-way bulk transfer, which count in segments.
//!
//! An endpoint never reads a clock and never sends. `now` is an argument. After every input the caller takes output
//! with `poll_transmit`, gets the time of the next wake-up from `next_deadline`, and reads events with `poll_fact`. So
//! an endpoint's output is a function of its parameters and its inputs.
//!
//! * [`TcpSpec`] has the fields of a connection in a scenario, [`TcpProfile`] the rules of a profile, and [`TcpParams`] all
//!   of both, with the values of a [`Profile`]. [`Profiles`] finds the profile of a connection.
//! * [`TcpSender`] and [`TcpReceiver`] are the two ends.
//! * Each loss recovery has a file in `recovery/`. Congestion control is the crate `congestion`; a variant names one of each.

/// Declares the named rules of a dialect: each holds where `$holds` does.
macro_rules! rules {
    ($holds:ident: $($(#[$doc:meta])+ $rule:ident;)+) => {
        impl TcpParams {
            $($(#[$doc])+ #[inline(always)] pub(crate) fn $rule(&self) -> bool { self.$holds() })+
        }
    };
}

#[cfg(test)]
mod bottleneck;
mod control_packets;
mod linux;
mod ns2;
mod params;
mod profiles;
mod receiver;
mod recovery;
mod rtt;
mod sender;
mod short_cut;
mod spec;
mod state;
mod timers;
#[cfg(test)]
mod walks;

pub(crate) use linux::{Autotuning, QuickAcks, RoundAverages, SendBuffer, Unlisted, clock, wheel};
pub use params::{
    AckRule, Backoff, Handshake, PARAMETERS, PROFILES, Parameter, PartialDeflation, Profile, RecoveryKind,
    Reduction, RtoRule, SpuriousDetection, TcpParams, VARIANTS, Variant,
};
pub use profiles::{ProfileName, Profiles, TcpProfile};
pub use receiver::TcpReceiver;
pub use sender::TcpSender;
pub use short_cut::StampedAck;
pub use spec::TcpSpec;

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
