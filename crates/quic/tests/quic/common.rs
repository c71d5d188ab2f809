//! Shared parts: a sender, what it has sent, and ACKs.

use roamlab_congestion::{SenderEvent, SenderEventKind};
use roamlab_engine::{Duration, Time};
use roamlab_packet::{QuicAck, QuicHeader};
use roamlab_quic::{QuicHandshake, QuicPacket, QuicSender, QuicSpec};
use std::sync::Arc;

pub fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Without handshake and pacing, so that a test can follow the packets.
pub fn bare() -> QuicSpec {
    QuicSpec { handshake: QuicHandshake::None, pacing: false, ..QuicSpec::default() }
}

pub fn sender(spec: QuicSpec) -> QuicSender {
    QuicSender::new(Arc::new(spec))
}

/// The packets that leave at `now`: their numbers and segments.
pub fn sent(sender: &mut QuicSender, now: Time) -> Vec<(u32, u32)> {
    std::iter::from_fn(|| sender.poll_transmit(now))
        .map(|QuicPacket { header, .. }| (header.number, header.segment))
        .collect()
}

/// The same of the packets with data alone.
pub fn sent_data(sender: &mut QuicSender, now: Time) -> Vec<(u32, u32)> {
    sent(sender, now).into_iter().filter(|&(_, segment)| segment > 0).collect()
}

/// An ACK of these ranges, the largest first, arrives.
pub fn ack(sender: &mut QuicSender, ranges: &[(u32, u32)], now: Time) {
    let ack = QuicAck { ranges: ranges.to_vec(), delay: Duration::ZERO };
    sender.on_packet(&QuicHeader { ack: Some(Box::new(ack)), ..QuicHeader::default() }, now);
}

pub fn facts(sender: &mut QuicSender) -> Vec<SenderEvent> {
    std::iter::from_fn(|| sender.poll_fact()).collect()
}

pub fn kinds(sender: &mut QuicSender) -> Vec<SenderEventKind> {
    facts(sender).into_iter().map(|fact| fact.kind).collect()
}

/// New packets with new segments, of which the first is 1.
pub fn numbered(numbers: std::ops::Range<u32>) -> Vec<(u32, u32)> {
    numbers.map(|number| (number, number + 1)).collect()
}

/// A packet from the address `path` that acknowledges the first ten packets.
pub fn from_address(path: u32, number: u32, ping: bool, path_response: bool) -> QuicHeader {
    let ack = Some(Box::new(QuicAck { ranges: vec![(0, 10)], delay: Duration::ZERO }));
    QuicHeader { number, ack, ping, path_response, path, ..QuicHeader::default() }
}
