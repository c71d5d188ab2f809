//! `transfer PROFILE SEGMENTS`: a transfer between the two ends of a connection over a path without loss, for counting
//! what a segment and its ACK cost. Start-up cancels between two lengths:
//!
//! ```text
//! valgrind --tool=callgrind target/release/examples/transfer ns2-2009 100000
//! ```

use roamlab_engine::{Bytes, Duration, Packets, Time};
use roamlab_packet::Ecn;
use roamlab_tcp::{Profile, TcpReceiver, TcpSender, TcpSpec};
use std::collections::VecDeque;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let profile = match words.first().map(String::as_str) {
        Some("rfc") => Some(Profile::Rfc),
        Some("ns2-2009") => Some(Profile::Ns2_2009),
        _ => None,
    };
    let segments = words.get(1).and_then(|word| word.parse().ok());
    match profile.zip(segments).and_then(|(profile, segments)| transfer(profile, segments)) {
        Some(sent) => {
            println!("{sent} segments");
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("usage: transfer rfc|ns2-2009 SEGMENTS");
            ExitCode::from(2)
        }
    }
}

/// Sends a file; how many segments that took.
fn transfer(profile: Profile, segments: u64) -> Option<u64> {
    let spec = TcpSpec { window: Some(Packets(64)), segment: Some(Bytes(1460)), ..TcpSpec::default() };
    let params = spec.resolve(profile).ok()?;
    let (mut sender, mut receiver) = (TcpSender::new(&params, Duration::ZERO), TcpReceiver::new(&params));
    let mut flying = VecDeque::new();
    let (mut now, mut sent) = (Time::ZERO, 0);
    sender.offer(Some(segments));
    while !sender.finished() {
        now += Duration::from_micros(12);
        while let Some(segment) = sender.poll_transmit(now) {
            flying.push_back(segment.header);
            sent += 1;
        }
        while sender.poll_fact().is_some() {}
        match flying.pop_front() {
            Some(header) => {
                receiver.on_segment(&header, Ecn::NotEct, now);
            }
            None => {
                now = receiver.next_deadline()?;
                receiver.on_deadline(now);
            }
        }
        while let Some(ack) = receiver.poll_transmit(now) {
            sender.on_segment(&ack.header, Ecn::NotEct, now);
        }
    }
    Some(sent)
}
