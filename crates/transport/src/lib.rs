//! Sans-IO TCP, QUIC and UDP endpoints.
//!
//! An endpoint never reads a clock and never sends. `now` is an argument. After every input the caller takes output
//! with `poll_transmit`, gets the time of the next wake-up from `next_deadline`, and reads events with `poll_fact`. So
//! an endpoint's output is a function of its parameters and its inputs.
//!
//! * [`TcpSpec`] has the fields of a scenario, [`TcpParams`] every knob filled in by a [`Profile`].
//! * [`TcpSender`] and [`TcpReceiver`] are the two ends of a one-way bulk transfer, counting in segments.
//! * Loss recovery (`tcp/recovery/`) and congestion control (`congestion/`) are separate; a variant names one of each.
//! * [`QuicSender`] and [`QuicReceiver`] are the same for QUIC; [`QuicSpec`] has its parameters.
//! * [`PathPolicy`] is what a sender does that is notified of a new path.
//! * [`UdpSender`] and [`UdpReceiver`] number datagrams.

mod congestion;
mod family;
mod linux;
mod params;
mod path_policy;
mod quic;
mod quinn;
mod spec;
mod tcp;
mod udp;
#[cfg(test)]
mod walks;

pub use congestion::{
    CONGESTION_CONTROLS, CongestionControlSpec, Halving, PathPolicy, SenderEvent, SenderEventKind,
    SenderVariables,
};
pub use family::{TRANSPORTS, TransportSpec, UdpSpec};
pub use linux::{LinuxControl, LinuxSpec};
pub use params::{
    AckRule, Backoff, Handshake, KNOBS, Knob, PROFILES, PartialDeflation, Profile, RecoveryKind, Reduction,
    RtoRule, SpuriousDetection, TcpParams, VARIANTS, Variant,
};
pub use quic::{Migration, QuicHandshake, QuicPacket, QuicReceiver, QuicSender, QuicSpec};
pub use quinn::{QuinnControl, QuinnSpec};
pub use roamlab_packet::Receipt;
pub use spec::TcpSpec;
pub use tcp::{Segment, TcpReceiver, TcpSender};
pub use udp::{UdpReceiver, UdpSender};
