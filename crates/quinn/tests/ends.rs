//! Two ends of quinn over a wire that loses and delays packets: the data arrives as a whole, and the record is consistent.

use roamlab_congestion::SenderEventKind;
use roamlab_engine::{Bytes, Duration, Rng, Time};
use roamlab_packet::QuicHeader;
use roamlab_quic::QuicPacket;
use roamlab_quinn::{EndRole, QuinnControl, QuinnEnd, QuinnSpec};
use std::collections::BTreeMap;
use std::sync::Arc;

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// Result of a transfer.
struct Outcome {
    /// The sender's packets with data.
    data: Vec<QuicHeader>,
    /// New bytes that arrived.
    fresh: u64,
    facts: Vec<SenderEventKind>,
    /// How often the sender's window has fallen, and what the sender counts.
    falls: u64,
    reductions: u64,
    end: Time,
}

/// Transfers a file of `segments` segments over a link of 20 ms that loses packets at random. The client's address changes at
/// the times `moves`, in ms.
fn transfer(
    spec: &QuinnSpec,
    uploads: bool,
    segments: u64,
    (loss, seed): (f64, u64),
    moves: &[u64],
) -> Outcome {
    let spec = Arc::new(spec.clone());
    let end = |is_client, sends| QuinnEnd::new(Arc::clone(&spec), EndRole { is_client, sends }, seed);
    let mut ends = [end(uploads, true), end(!uploads, false)];
    let client = usize::from(!uploads);
    let mut rng = Rng::named(seed, 0, "quinn");
    let mut wire: BTreeMap<(Time, u64), (usize, QuicHeader)> = BTreeMap::new();
    let (mut order, mut now, mut fresh, mut data) = (0, at(0), 0, Vec::new());
    let (mut cwnd, mut falls) = (0.0, 0);
    let (mut facts, mut moves) = (Vec::new(), moves.iter().map(|&millis| at(millis)).peekable());
    ends[0].offer(Some(segments));
    ends[client].open();
    while fresh < segments * spec.segment().0 {
        assert!(now < at(600_000), "{fresh} bytes after ten minutes");
        for side in [0, 1] {
            while let Some(QuicPacket { header, size }) = ends[side].poll_transmit(now) {
                let bytes = header.datagram.as_ref().map_or(0, |datagram| datagram.len() as u64);
                assert_eq!(size, Bytes(bytes + 28));
                assert!(size.0 <= spec.packet_size().0);
                if side == 0 && header.payload > 0 {
                    data.push(QuicHeader { datagram: None, ..header.clone() });
                }
                order += 1;
                if rng.uniform() >= loss {
                    wire.insert((now + Duration::from_millis(20), order), (1 - side, header));
                }
            }
        }
        facts.extend(std::iter::from_fn(|| ends[0].poll_fact()).map(|fact| fact.kind));
        let arrival = wire.keys().next().map(|&(time, _)| time);
        let due = [arrival, ends[0].next_deadline(), ends[1].next_deadline(), moves.peek().copied()];
        now = due.into_iter().flatten().min().expect("an end that waits has a timer").max(now);
        if moves.next_if(|&time| time <= now).is_some() {
            ends[client].on_path_change();
        }
        if arrival.is_some_and(|arrival| arrival <= now)
            && let Some((_, (to, header))) = wire.pop_first()
        {
            fresh += ends[to].on_packet(&header, now).1;
        }
        ends.iter_mut().for_each(|end| end.on_deadline(now));
        let before = std::mem::replace(&mut cwnd, ends[0].variables().cwnd);
        falls += u64::from(cwnd < before);
    }
    Outcome { data, fresh, facts, falls, reductions: ends[0].variables().reductions, end: now }
}

#[test]
fn a_file_arrives_whatever_is_lost() {
    for seed in 0..12 {
        let loss = [0.0, 0.01, 0.05][seed as usize % 3];
        let outcome = transfer(&QuinnSpec::default(), seed % 2 == 0, 400, (loss, seed), &[]);
        assert_eq!(outcome.fresh, 400 * 1159);
        let again = outcome.data.iter().filter(|header| header.retransmission).count();
        assert_eq!(again > 0, loss > 0.0, "{again} packets were sent again, seed {seed}");
        assert_eq!(outcome.facts.contains(&SenderEventKind::FastRetransmit), loss > 0.0, "seed {seed}");
        // RFC 9002 §7.3.2: the window falls once in a recovery, however many ACKs find losses.
        let repairs =
            outcome.facts.iter().filter(|&&kind| kind == SenderEventKind::FastRetransmit).count() as u64;
        assert_eq!(outcome.reductions, outcome.falls, "seed {seed}");
        assert!(repairs <= outcome.falls, "seed {seed}: {repairs} of {}", outcome.falls);
        // The numbers of new data rise; a packet that is not full may have that of the next one.
        let numbers: Vec<u32> = outcome
            .data
            .iter()
            .filter(|header| !header.retransmission)
            .map(|header| header.segment)
            .collect();
        assert!(numbers.windows(2).all(|pair| pair[0] <= pair[1]), "seed {seed}");
    }
}

#[test]
fn the_seed_makes_a_transfer_repeat() {
    let spec =
        QuinnSpec { congestion_control: QuinnControl::NewReno, datagram: Bytes(1400), migration: true };
    let run = |seed| transfer(&spec, false, 300, (0.02, seed), &[150, 700]);
    let (one, same, other) = (run(3), run(3), run(4));
    assert_eq!((&one.data, one.end), (&same.data, same.end));
    assert_ne!(one.data, other.data);
}

#[test]
fn a_moving_client_makes_the_server_migrate_and_a_moving_sender_keeps_its_window() {
    let spec = QuinnSpec { migration: true, ..QuinnSpec::default() };
    let migrations = |uploads, spec: &QuinnSpec| {
        let facts = transfer(spec, uploads, 2000, (0.0, 1), &[200, 300]).facts;
        facts.iter().filter(|&&kind| kind == SenderEventKind::Migration).count()
    };
    assert_eq!(migrations(false, &spec), 2);
    assert_eq!(migrations(true, &spec), 0);
    assert_eq!(migrations(false, &QuinnSpec::default()), 0, "its address stays");
}
