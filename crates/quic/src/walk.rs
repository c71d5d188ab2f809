//! Random sequences of packets for the receiver, and a short model of when an ACK is due and of its content.
//!
//! The model keeps sets of numbers where the receiver keeps ranges, and asks at each packet what RFC 9000 §13.2 and
//! draft-ietf-quic-ack-frequency §6 ask.

use crate::{QuicHandshake, QuicPacket, QuicReceiver, QuicSpec};
use roamlab_engine::{Duration, Packets, Rng, Time};
use roamlab_packet::{QuicAck, QuicHeader};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The expected state of the receiver.
struct Model {
    spec: QuicSpec,
    /// The packets that an ACK reports, and the segments that have arrived.
    numbers: BTreeSet<u32>,
    segments: BTreeSet<u32>,
    /// When the largest number arrived.
    largest_at: Time,
    /// The largest number of a packet that asks for an ACK.
    asking: Option<u32>,
    /// The largest number in an ACK that was sent.
    reported: Option<u32>,
    /// Packets that ask for an ACK since the last ACK, and when the first of them must be acknowledged.
    waiting: u32,
    due: Option<Time>,
    at_once: bool,
    responds: bool,
    /// ACKs that were sent, and those since the last one that asked for an ACK. The number of that one, and the end of
    /// its ranges.
    sent: u32,
    unasked: u32,
    ack_requested: Option<(u32, u32)>,
    /// The sender has the acknowledgements of all packets below.
    known: u32,
}

impl Model {
    fn new(spec: &QuicSpec) -> Model {
        Model {
            spec: spec.clone(),
            numbers: BTreeSet::new(),
            segments: BTreeSet::from([0]),
            largest_at: Time::ZERO,
            asking: None,
            reported: None,
            waiting: 0,
            due: None,
            at_once: false,
            responds: false,
            sent: 0,
            unasked: 0,
            ack_requested: None,
            known: 0,
        }
    }

    /// §19.3.1: the runs of numbers, the highest first.
    fn ranges(&self) -> Vec<(u32, u32)> {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for &number in self.numbers.iter().rev() {
            match ranges.last_mut() {
                Some((start, _)) if *start == number + 1 => *start = number,
                _ => ranges.push((number, number + 1)),
            }
        }
        ranges
    }

    /// The first segment that has not arrived.
    fn expected(&self) -> u32 {
        (0..).find(|segment| !self.segments.contains(segment)).unwrap()
    }

    /// Takes a number in. True if it is new. §13.2.3: the oldest ranges are left out beyond the most.
    fn take_in(&mut self, number: u32, now: Time) -> bool {
        if self.numbers.last().is_none_or(|&largest| number > largest) {
            self.largest_at = now;
        }
        let is_new = self.numbers.insert(number);
        if let Some(&(_, end)) = self.ranges().get(self.spec.ack_ranges as usize) {
            self.numbers.retain(|&number| number >= end);
        }
        is_new
    }

    /// True if this packet, the latest that asks for an ACK, asks for an immediate one by its number; `before` was the
    /// largest that asked before.
    fn is_out_of_order(&self, number: u32, before: Option<u32>) -> bool {
        match self.spec.reordering_threshold {
            0 => false,
            1 => {
                let from = before.map_or(0, |before| before + 1).max(self.known);
                before > Some(number) || (from..number).any(|number| !self.numbers.contains(&number))
            }
            threshold => {
                // The smallest that is missing and that no ACK has let the sender declare lost.
                let is_lost =
                    |missing: u32| self.reported.is_some_and(|largest| missing + threshold <= largest);
                let largest = self.asking.unwrap();
                let mut missing = (self.known..largest).filter(|number| !self.numbers.contains(number));
                missing.find(|&number| !is_lost(number)).is_some_and(|number| largest - number >= threshold)
            }
        }
    }

    /// A packet arrives. True if its data is new, the number of segments that follow in order, and true if a later one
    /// came before.
    fn arrives(&mut self, header: &QuicHeader, now: Time) -> (bool, u32, bool) {
        if let (Some(ack), Some((number, end))) = (&header.ack, self.ack_requested)
            && ack.ranges.contains(&(number, number + 1))
        {
            // RFC 9000 §13.2.4: acknowledgements that the sender has are not repeated. The largest number is always
            // reported.
            self.known = self.known.max(end.min(*self.numbers.last().unwrap()));
            self.numbers.retain(|&number| number >= self.known);
            self.ack_requested = None;
        }
        let is_new = self.take_in(header.number, now);
        if is_new && (header.payload > 0 || header.path_challenge) {
            let before = self.asking;
            self.asking = before.max(Some(header.number));
            self.waiting += 1;
            // §13.2.2: after `ack_threshold` packets; §13.2.1: immediately, or within the delay.
            self.at_once |=
                self.is_out_of_order(header.number, before) || self.waiting > self.spec.ack_threshold.0;
            if !self.at_once {
                self.due.get_or_insert(now + self.spec.max_ack_delay);
            }
        }
        if header.payload == 0 {
            self.responds |= is_new && header.path_challenge;
            return (true, 0, false);
        }
        let out_of_order = self.segments.last().is_some_and(|&last| header.segment < last + 1 && last > 0);
        if !is_new {
            return (false, 0, out_of_order);
        }
        let expected = self.expected();
        let fresh = self.segments.insert(header.segment);
        (fresh, self.expected() - expected, out_of_order)
    }

    /// The ACK that must be sent now, if any: ranges, delay, a PATH_RESPONSE, and a PING.
    fn ack(&mut self, now: Time) -> Option<(QuicAck, bool, bool)> {
        let is_due = self.due.is_some_and(|due| due <= now);
        if !self.at_once && !self.responds && !is_due {
            return None;
        }
        (self.at_once, self.waiting, self.due) = (false, 0, None);
        self.reported = self.numbers.last().copied();
        // §13.2.5, §18.2: since the largest number arrived, in units of 8 us.
        let delay = Duration::from_micros(now.since(self.largest_at).as_nanos() / 8_000 * 8);
        let ranges = self.ranges();
        self.unasked += 1;
        let asks = self.unasked >= 20 && ranges.len() > 1;
        if asks {
            (self.unasked, self.ack_requested) = (0, Some((self.sent, ranges[0].1)));
        }
        self.sent += 1;
        Some((QuicAck { ranges, delay }, std::mem::take(&mut self.responds), asks))
    }
}

/// Bytes of a variable-length integer (§16).
fn varint(value: u32) -> u64 {
    match u32::BITS - value.leading_zeros() {
        0..=6 => 1,
        7..=14 => 2,
        15..=30 => 4,
        _ => 8,
    }
}

/// The IP datagram of these frames: IPv4, UDP, a short header with a number of 4 bytes, and AEAD's tag (§17.3.1).
fn datagram(spec: &QuicSpec, (ack, responds, asks): &(QuicAck, bool, bool)) -> u64 {
    // §19.3: type, largest number, delay, count of the other ranges, length of the first.
    let delay = (ack.delay.as_nanos() / 8_000) as u32;
    let (start, end) = ack.ranges[0];
    let fields = [end - 1, delay, ack.ranges.len() as u32 - 1, end - 1 - start];
    let mut bytes = 1 + fields.map(varint).iter().sum::<u64>();
    for pair in ack.ranges.windows(2) {
        // §19.3.1: Gap = previous_smallest - largest - 2, ACK Range Length = largest - smallest.
        let (previous, (start, end)) = (pair[0].0, pair[1]);
        bytes += varint(previous - (end - 1) - 2) + varint(end - 1 - start);
    }
    let payload = 1 + 4 + spec.connection_id.0 + 16 + bytes + u64::from(*asks) + 9 * u64::from(*responds);
    // §8.2.2: a datagram with a PATH_RESPONSE is expanded.
    20 + 8 + if *responds { payload.max(1200) } else { payload }
}

/// A receiver and its model, at one time.
struct Walk {
    receiver: QuicReceiver,
    model: Model,
    now: Time,
    /// ACKs that the receiver has sent.
    acks: usize,
}

impl Walk {
    /// Both send what is due, and it is the same.
    fn send(&mut self, place: &str) {
        self.receiver.on_deadline(self.now);
        let number = self.model.sent;
        let wanted = self.model.ack(self.now);
        let packet = self.receiver.poll_transmit(self.now);
        let size = packet.as_ref().map(|packet| packet.size.0);
        let sent = packet.map(|QuicPacket { header, .. }| {
            self.acks += 1;
            assert_eq!((header.number, header.expected), (number, self.model.expected()), "{place}");
            (*header.ack.unwrap(), header.path_response, header.ping)
        });
        assert_eq!(sent, wanted, "{place}: at {}", self.now);
        assert_eq!(size, sent.map(|sent| datagram(&self.model.spec, &sent)), "{place}: size");
        assert_eq!(self.receiver.next_deadline(), self.model.due, "{place}: at {}", self.now);
    }

    fn wait(&mut self, until: Time, place: &str) {
        while let Some(due) = self.model.due.filter(|due| *due <= until) {
            self.now = due;
            self.send(place);
        }
        self.now = until;
    }

    fn arrive(&mut self, header: &QuicHeader, place: &str) {
        let wanted = self.model.arrives(header, self.now);
        let receipt = self.receiver.on_packet(header, self.now);
        let receipt = (receipt.fresh, receipt.in_order_segments, receipt.out_of_order);
        assert_eq!(receipt, wanted, "{place}: {header:?}");
        self.send(place);
    }
}

#[test]
fn a_receiver_acknowledges_random_sequences_as_its_model_does() {
    let mut acks = 0;
    for number in 0..150 {
        let mut rng = Rng::named(number, 0, "receiver");
        let mut below = |end: u64| (rng.uniform() * end as f64) as u64;
        let spec = QuicSpec {
            handshake: QuicHandshake::None,
            ack_threshold: Packets([0, 1, 1, 3, 9][below(5) as usize]),
            reordering_threshold: [0, 1, 1, 2, 3, 5][below(6) as usize],
            ack_ranges: [1, 3, 32][below(3) as usize],
            max_ack_delay: Duration::from_millis([3, 25][below(2) as usize]),
            ..QuicSpec::default()
        };
        let (model, receiver) = (Model::new(&spec), QuicReceiver::new(Arc::new(spec)));
        let mut walk = Walk { receiver, model, now: Time::ZERO, acks: 0 };
        let (longest, loss, reordering) = (1 + below(4_000), below(12), below(6));
        let mut under_way: Vec<QuicHeader> = Vec::new();
        let (mut next, mut segment) = (0, 1);
        for step in 0..250 {
            let place = format!("sequence {number}, step {step}");
            let mut header = QuicHeader { number: next, payload: 1161, segment, ..QuicHeader::default() };
            next += 1;
            match below(16) {
                0 => (header.payload, header.segment) = (0, 0),
                1 => (header.payload, header.segment, header.path_challenge) = (0, 0, true),
                2 => header.segment = 1 + below(u64::from(segment)) as u32,
                _ => segment += 1,
            }
            // The sender acknowledges the ACK that asked for it.
            header.ack = walk.model.ack_requested.filter(|_| below(3) == 0).map(|(number, _)| {
                Box::new(QuicAck { ranges: vec![(number, number + 1)], delay: Duration::ZERO })
            });
            under_way.push(header);
            if below(100) < loss {
                under_way.pop();
            }
            if under_way.len() as u64 > below(1 + reordering) {
                let last = under_way.len() as u64;
                let header = under_way.remove(below(last.min(1 + reordering)) as usize);
                walk.arrive(&header, &place);
                if below(20) == 0 {
                    walk.arrive(&header, &place); // a copy
                }
            }
            let until = walk.now + Duration::from_micros(below(longest));
            walk.wait(until, &place);
        }
        acks += walk.acks;
    }
    assert!(acks > 10_000, "{acks}");
}
