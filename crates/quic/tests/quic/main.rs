//! QUIC's two ends: numbers worked out by hand from RFC 9000 and RFC 9002.

mod common;
mod migration;
mod recovery;
mod transfers;
