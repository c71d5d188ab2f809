//! The receiving end: an ACK for every second packet, immediately where packets are missing, delayed otherwise (RFC 9000
//! §13.2, draft-ietf-quic-ack-frequency).

use crate::QuicPacket;
use crate::params::{QuicHandshake, QuicSpec};
use crate::ranges::Ranges;
use crate::recovery::rtt::RttEstimator;
use crate::wire;
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_packet::{QuicAck, QuicHeader, Receipt, SeqSet};
use std::sync::Arc;

/// Number of ACKs of which one asks for an acknowledgement of itself, so that old ranges need not be repeated (RFC 9000
/// §13.2.4).
///
/// ASSUMPTION: the RFC leaves the number open ("at most once per round trip").
const ASK_EVERY: u32 = 20;

/// Most doublings of the probe timeout with which a new address is announced.
const MOST_DOUBLINGS: u32 = 16;

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub struct QuicReceiver {
    spec: Arc<QuicSpec>,
    /// Segments that have arrived; segment 0 is the handshake.
    received: SeqSet,
    highest_end: u32,
    numbers: Ranges,
    /// When the packet with the largest number arrived.
    largest_at: Time,
    /// One above the largest number of a packet that asks for an ACK (RFC 9000 §13.2: any but one that has an ACK alone).
    asking_end: u32,
    /// One above the largest number of the last ACK.
    reported_end: u32,
    /// Packets that wait for an ACK.
    waiting: u32,
    delayed: Option<Time>,
    ack_due: bool,
    /// The number of the handshake's packet that is to be answered.
    answer_due: Option<u32>,
    next_number: u32,
    /// ACKs since the last one that asked for an acknowledgement of itself.
    unasked: u32,
    /// That one's number, and one above the largest number that it acknowledges.
    ack_requested: Option<(u32, u32)>,
    rtt: RttEstimator,
    /// When the handshake was answered, until the first data measure the round trip.
    answered: Option<Time>,
    /// A packet that is none of the handshake has arrived, so it is confirmed.
    confirmed: bool,
    /// How often this end's host has got a new address, and how many of them this end has taken.
    moves: u32,
    path: u32,
    /// The other end does not use the address yet.
    announcement: Option<Announcement>,
    /// A PATH_CHALLENGE is to be answered.
    response_due: bool,
}

/// The announcement of a new address: PINGs, until the other end uses the address (RFC 9000 §9.2).
#[derive(Copy, Clone, Debug)]
struct Announcement {
    /// When the next one goes out.
    next: Time,
    sent: u32,
}

impl QuicReceiver {
    /// A receiver that has seen nothing.
    pub fn new(spec: Arc<QuicSpec>) -> QuicReceiver {
        let mut received = SeqSet::default();
        if spec.handshake == QuicHandshake::None {
            received.insert(0);
            received.advance();
        }
        QuicReceiver {
            received,
            highest_end: 0,
            numbers: Ranges::new(spec.ack_ranges as usize),
            largest_at: Time::ZERO,
            asking_end: 0,
            reported_end: 0,
            waiting: 0,
            delayed: None,
            ack_due: false,
            answer_due: None,
            next_number: 0,
            unasked: 0,
            ack_requested: None,
            rtt: RttEstimator::new(spec.initial_rtt, spec.granularity, spec.max_ack_delay),
            answered: None,
            confirmed: spec.handshake == QuicHandshake::None,
            moves: 0,
            path: 0,
            announcement: None,
            response_due: false,
            spec,
        }
    }

    /// The receiver of a new connection like this one.
    #[must_use]
    pub fn anew(&self) -> QuicReceiver {
        QuicReceiver::new(Arc::clone(&self.spec))
    }

    /// The parameters of the connection.
    pub fn spec(&self) -> &QuicSpec {
        &self.spec
    }

    /// A packet arrived.
    pub fn on_packet(&mut self, header: &QuicHeader, now: Time) -> Receipt {
        if header.handshake {
            self.answer_due = Some(header.number);
            let fresh = self.received.insert(0);
            self.received.advance();
            return Receipt { fresh, in_order_segments: 0, out_of_order: false };
        }
        if let (Some(ack), Some((number, known))) = (&header.ack, self.ack_requested)
            && ack.ranges.iter().any(|&(start, end)| start <= number && number < end)
        {
            self.numbers.forget_below(known);
            self.ack_requested = None;
        }
        if let Some(answered) = self.answered.take() {
            self.rtt.sample(now.since(answered), Duration::ZERO, now);
        }
        self.confirmed = true;
        self.take_address(now);
        self.announcement = self.announcement.filter(|_| header.path != self.path);
        let (number, end) = (header.number, self.numbers.end());
        let is_new = self.numbers.insert(number);
        if is_new && number >= end {
            self.largest_at = now;
        }
        if is_new && (header.payload > 0 || header.path_challenge) {
            self.ask(number, now);
        }
        if header.payload == 0 {
            // ASSUMPTION: an address that this end has left is gone, so a challenge to it has no answer. Its packet is
            // acknowledged, as data to that address is.
            self.response_due |= is_new && header.path_challenge && header.path == self.path;
            return Receipt { fresh: true, in_order_segments: 0, out_of_order: false };
        }
        let out_of_order = header.segment < self.highest_end;
        if !is_new {
            return Receipt { fresh: false, in_order_segments: 0, out_of_order };
        }
        let (fresh, in_order_segments) = self.received.take(header.segment);
        self.highest_end = self.highest_end.max(header.segment + 1);
        Receipt { fresh, in_order_segments, out_of_order }
    }

    /// The new packet `number` asks for an ACK, which is sent immediately or within the delay.
    fn ask(&mut self, number: u32, now: Time) {
        let before = self.asking_end;
        self.asking_end = before.max(number + 1);
        self.waiting += 1;
        if self.reports_gap(number, before) || self.waiting > self.spec.ack_threshold.0 {
            self.ack_due = true;
        } else if self.delayed.is_none() {
            self.delayed = Some(now + self.spec.max_ack_delay);
        }
    }

    /// True if packet `number` requires an immediate report of a gap. `before` was one above the largest number that
    /// asked for an ACK.
    fn reports_gap(&self, number: u32, before: u32) -> bool {
        let threshold = self.spec.reordering_threshold;
        match threshold {
            0 => false,
            // RFC 9000 §13.2.1: below one that asked, or with missing packets between the largest of them and this one.
            1 => {
                number < before || self.numbers.first_missing(before).is_some_and(|missing| missing < number)
            }
            // The smallest missing number that no ACK has let the sender declare lost, and the largest that asked for an ACK.
            _ => {
                let reported = self.reported_end.saturating_sub(threshold);
                let missing = self.numbers.first_missing(reported);
                missing.is_some_and(|missing| missing + threshold < self.asking_end)
            }
        }
    }

    /// The next packet to send; call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<QuicPacket> {
        if let Some(number) = self.answer_due.take() {
            // ASSUMPTION: the answer fits into one datagram, and its loss is repaired by the other end's repetition.
            let ack = QuicAck { ranges: vec![(number, number + 1)], delay: Duration::ZERO };
            self.answered = Some(now);
            return Some(QuicPacket { header: self.header(ack, true, false), size: self.spec.packet_size() });
        }
        let announces = self.announces(now);
        let responds = std::mem::take(&mut self.response_due);
        if !std::mem::take(&mut self.ack_due) && !announces && !responds {
            return None;
        }
        (self.delayed, self.waiting, self.reported_end) = (None, 0, self.numbers.end());
        // §19.3: the delay is written in units of the exponent.
        let held = now.since(self.largest_at).as_nanos();
        let delay = Duration::from_nanos(held / wire::ACK_DELAY_UNIT_NS * wire::ACK_DELAY_UNIT_NS);
        let ack = QuicAck { ranges: self.numbers.to_vec(), delay };
        self.unasked += 1;
        let asks = self.unasked >= ASK_EVERY && ack.ranges.len() > 1;
        if asks {
            (self.unasked, self.ack_requested) = (0, Some((self.next_number, self.numbers.end())));
        }
        let header = self.header(ack, false, asks || announces);
        let header = QuicHeader { path_response: responds, ..header };
        let below = self.numbers.size_below();
        let size = Bytes(wire::IP_UDP + wire::answer_of_size(&header, below, self.spec.connection_id));
        Some(QuicPacket { header, size })
    }

    /// True if the new address is announced now; the next announcement is after a probe timeout.
    fn announces(&mut self, now: Time) -> bool {
        let Some(Announcement { next, sent }) = self.announcement.filter(|due| due.next <= now) else {
            return false;
        };
        let next = next.max(now) + self.rtt.pto() * (1 << sent.min(MOST_DOUBLINGS));
        self.announcement = Some(Announcement { next, sent: sent + 1 });
        true
    }

    /// This end has a new address, and announces it by a PING.
    pub fn on_path_change(&mut self, now: Time) {
        self.moves += u32::from(self.spec.migration.is_some());
        self.take_address(now);
    }

    /// Takes the latest address. RFC 9000 §9: not before the handshake is confirmed; until then the old one serves.
    fn take_address(&mut self, now: Time) {
        if self.confirmed && self.path != self.moves {
            self.path = self.moves;
            self.announcement = Some(Announcement { next: now, sent: 0 });
        }
    }

    fn header(&mut self, ack: QuicAck, handshake: bool, ping: bool) -> QuicHeader {
        let (number, expected) = (self.next_number, self.received.base());
        self.next_number += 1;
        let (ack, path) = (Some(Box::new(ack)), self.path);
        QuicHeader { number, handshake, ping, ack, path, expected, ..QuicHeader::default() }
    }

    /// When a delayed ACK or the next announcement of a new address is due.
    pub fn next_deadline(&self) -> Option<Time> {
        self.delayed.into_iter().chain(self.announcement.map(|due| due.next)).min()
    }

    /// The time of a deadline has come; an early wake-up is a no-op.
    pub fn on_deadline(&mut self, now: Time) {
        if self.delayed.is_some_and(|due| due <= now) {
            self.delayed = None;
            self.ack_due = true;
        }
    }

    /// The next segment expected: everything below has arrived.
    pub fn next_expected(&self) -> u32 {
        self.received.base()
    }

    /// True if the segment has arrived.
    pub fn has(&self, segment: u32) -> bool {
        self.received.contains(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QuicHandshake;
    use roamlab_engine::Packets;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn receiver(spec: QuicSpec) -> QuicReceiver {
        QuicReceiver::new(Arc::new(QuicSpec { handshake: QuicHandshake::None, ..spec }))
    }

    fn packet(number: u32, segment: u32) -> QuicHeader {
        QuicHeader { number, segment, payload: 1161, ..QuicHeader::default() }
    }

    /// Packets arrive at a time: the ranges and the delay of the ACK that is sent.
    fn arrive(
        receiver: &mut QuicReceiver,
        numbers: &[u32],
        now: Time,
    ) -> Option<(Vec<(u32, u32)>, Duration)> {
        numbers.iter().for_each(|&number| _ = receiver.on_packet(&packet(number, number + 1), now));
        let ack = *receiver.poll_transmit(now)?.header.ack?;
        Some((ack.ranges, ack.delay))
    }

    #[test]
    fn every_second_packet_is_acknowledged_at_once() {
        let mut receiver = receiver(QuicSpec::default());
        assert_eq!(arrive(&mut receiver, &[0], at(0)), None);
        assert_eq!(receiver.next_deadline(), Some(at(25)));
        assert_eq!(arrive(&mut receiver, &[1], at(5)), Some((vec![(0, 2)], Duration::ZERO)));
        assert_eq!(receiver.next_deadline(), None);
    }

    #[test]
    fn a_single_packet_waits_for_the_delay_and_the_ack_says_so() {
        let mut receiver = receiver(QuicSpec::default());
        arrive(&mut receiver, &[0], at(10));
        receiver.on_deadline(at(34));
        assert_eq!(receiver.poll_transmit(at(34)), None);
        receiver.on_deadline(at(35));
        // 25 ms are 3125 units of 8 us; a rest below a unit is lost.
        assert_eq!(arrive(&mut receiver, &[], at(35)), Some((vec![(0, 1)], Duration::from_millis(25))));
        arrive(&mut receiver, &[1], at(40));
        let later = at(40) + Duration::from_micros(15);
        assert_eq!(arrive(&mut receiver, &[2], at(40)).unwrap().1, Duration::ZERO);
        arrive(&mut receiver, &[3], at(40));
        receiver.ack_due = true;
        assert_eq!(arrive(&mut receiver, &[], later).unwrap().1, Duration::from_micros(8));
    }

    #[test]
    fn a_gap_is_reported_at_once_and_once() {
        let mut receiver = receiver(QuicSpec::default());
        arrive(&mut receiver, &[0, 1], at(0));
        assert_eq!(arrive(&mut receiver, &[3], at(1)).unwrap().0, [(3, 4), (0, 2)]);
        assert_eq!(
            arrive(&mut receiver, &[4], at(2)),
            None,
            "no packet is missing before it that was not before"
        );
        // 2 comes late: immediately again.
        assert_eq!(arrive(&mut receiver, &[2], at(3)).unwrap().0, [(0, 5)]);
        // Also where nothing else waits: "a packet number less than another ack-eliciting packet" (§13.2.1).
        assert_eq!(arrive(&mut receiver, &[6], at(4)).unwrap().0, [(6, 7), (0, 5)]);
        assert_eq!(arrive(&mut receiver, &[5], at(5)).unwrap().0, [(0, 7)]);
    }

    #[test]
    fn only_a_packet_that_asks_for_an_ack_is_out_of_order_or_shows_a_gap() {
        // RFC 9000 §13.2.1: "less than another ack-eliciting packet", and "larger than the highest-numbered
        // ack-eliciting packet [with] missing packets between that packet and this packet". Each packet has its number,
        // and true if it has data, false if it has an ACK alone. The result is true if the last one is acknowledged
        // immediately.
        let at_once = |packets: &[(u32, bool)]| {
            let mut receiver = receiver(QuicSpec { ack_threshold: Packets(9), ..QuicSpec::default() });
            let arrive = |&(number, has_data): &(u32, bool)| {
                let alone = QuicHeader { number, ..QuicHeader::default() };
                receiver.on_packet(&if has_data { packet(number, number + 1) } else { alone }, at(0));
                receiver.poll_transmit(at(0)).is_some()
            };
            packets.iter().map(arrive).fold(false, |_, last| last)
        };
        let (data, ack) = (true, false);
        assert!(!at_once(&[(0, data), (2, ack), (1, data)]), "1 is below a packet that asks for nothing");
        assert!(!at_once(&[(0, data), (1, ack), (2, data)]), "1 has arrived");
        assert!(at_once(&[(0, data), (2, ack), (3, data)]), "1 is missing");
        assert!(!at_once(&[(0, data), (2, ack)]), "an ACK shows no gap");
        assert!(at_once(&[(0, data), (3, data), (1, ack), (2, data)]), "2 is below 3");
    }

    #[test]
    fn a_copy_of_a_challenge_has_no_second_answer() {
        // RFC 9000 §12.3: a packet whose number has been processed is discarded.
        let mut receiver = receiver(QuicSpec::default());
        let challenge = QuicHeader { number: 0, path_challenge: true, ..QuicHeader::default() };
        let answers = [(); 2].map(|()| {
            receiver.on_packet(&challenge, at(0));
            receiver.poll_transmit(at(0)).map(|answer| answer.header.path_response)
        });
        assert_eq!(answers, [Some(true), None]);
    }

    #[test]
    fn the_ack_delay_is_that_of_the_largest_number() {
        let mut receiver = receiver(QuicSpec::default());
        arrive(&mut receiver, &[1], at(0)).unwrap();
        arrive(&mut receiver, &[2], at(4));
        // 0 is late and makes an ACK 6 ms after 2 arrived.
        assert_eq!(arrive(&mut receiver, &[0], at(10)), Some((vec![(0, 3)], Duration::from_millis(6))));
    }

    #[test]
    fn a_packet_without_data_may_be_the_largest_whose_delay_is_reported() {
        // RFC 9000 §13.2.5: the delay since the packet with the largest number came. A challenge is answered
        // immediately.
        let mut receiver = receiver(QuicSpec::default());
        arrive(&mut receiver, &[0], at(0));
        let challenge = QuicHeader { number: 1, path_challenge: true, ..QuicHeader::default() };
        receiver.on_packet(&challenge, at(20));
        assert_eq!(arrive(&mut receiver, &[], at(20)), Some((vec![(0, 2)], Duration::ZERO)));
    }

    #[test]
    fn the_other_end_may_ask_for_fewer_acks() {
        let spec = QuicSpec { ack_threshold: Packets(4), reordering_threshold: 0, ..QuicSpec::default() };
        let mut receiver = receiver(spec);
        assert_eq!(arrive(&mut receiver, &[0, 1, 2, 3], at(0)), None);
        assert_eq!(arrive(&mut receiver, &[5], at(1)).unwrap().0, [(5, 6), (0, 4)]);
        assert_eq!(arrive(&mut receiver, &[9], at(2)), None, "no gap is reported immediately");
    }

    #[test]
    fn a_reordering_threshold_waits_for_so_many_later_packets() {
        let spec = QuicSpec { ack_threshold: Packets(9), reordering_threshold: 3, ..QuicSpec::default() };
        let mut receiver = receiver(spec);
        // 1 is missing; 4 is three above it.
        assert_eq!(arrive(&mut receiver, &[0, 2, 3], at(0)), None);
        assert_eq!(arrive(&mut receiver, &[4], at(1)).unwrap().0, [(2, 5), (0, 1)]);
        // The ACK of 4 lets the sender declare 1 lost, so it is no reason any more.
        assert_eq!(arrive(&mut receiver, &[5, 6], at(2)), None);
    }

    #[test]
    fn the_twentieth_ack_with_a_gap_asks_for_an_ack_of_itself() {
        let mut receiver = receiver(QuicSpec { ack_threshold: Packets(0), ..QuicSpec::default() });
        let mut acks = Vec::new();
        for number in (0..22).filter(|&number| number != 3) {
            receiver.on_packet(&packet(number, number + 1), at(1));
            acks.push(receiver.poll_transmit(at(1)).unwrap());
        }
        let asking: Vec<u32> =
            acks.iter().filter(|ack| ack.header.ping).map(|ack| ack.header.number).collect();
        assert_eq!(asking, [19]);
        assert_eq!(acks[19].size.0, acks[18].size.0 + 1);
        assert_eq!(acks[20].header.ack.as_ref().unwrap().ranges, [(4, 22), (0, 3)]);
        // The sender acknowledges that ACK, so it has the acknowledgements of 0 to 20.
        let known = QuicAck { ranges: vec![(19, 20)], delay: Duration::ZERO };
        receiver.on_packet(&QuicHeader { ack: Some(Box::new(known)), ..packet(22, 23) }, at(2));
        assert_eq!(receiver.poll_transmit(at(2)).unwrap().header.ack.unwrap().ranges, [(21, 23)]);
    }

    #[test]
    fn only_an_ack_of_the_packet_that_asked_says_what_the_sender_knows() {
        // RFC 9000 §13.2.4: the receiver stops to report what an ACK reported that is acknowledged itself. Packet 19 asked, and
        // reported up to packet 20; the ranges are `[start, end)`.
        let reported_from = |ranges: &[(u32, u32)]| {
            let mut receiver = receiver(QuicSpec { ack_threshold: Packets(0), ..QuicSpec::default() });
            for number in (0..22).filter(|&number| number != 3) {
                receiver.on_packet(&packet(number, number + 1), at(1));
                receiver.poll_transmit(at(1)).unwrap();
            }
            let ack = QuicAck { ranges: ranges.to_vec(), delay: Duration::ZERO };
            receiver.on_packet(&QuicHeader { ack: Some(Box::new(ack)), ..packet(22, 23) }, at(2));
            receiver.poll_transmit(at(2)).unwrap().header.ack.unwrap().ranges.last().unwrap().0
        };
        let others: [&[(u32, u32)]; 4] = [&[(18, 19)], &[(20, 21)], &[(20, 22), (0, 19)], &[]];
        assert_eq!(others.map(reported_from), [0; 4]);
        let its: [&[(u32, u32)]; 4] = [&[(19, 20)], &[(0, 20)], &[(19, 22)], &[(21, 22), (19, 20), (0, 5)]];
        assert_eq!(its.map(reported_from), [21; 4]);
    }

    #[test]
    fn a_copy_of_a_packet_is_ignored_and_a_repeated_segment_is_not_fresh() {
        let mut receiver = receiver(QuicSpec::default());
        assert_eq!(receiver.on_packet(&packet(0, 1), at(0)).in_order_segments, 1);
        assert!(!receiver.on_packet(&packet(0, 1), at(1)).fresh);
        assert_eq!(receiver.waiting, 1);
        let again = receiver.on_packet(&packet(1, 1), at(2));
        assert_eq!((again.fresh, again.in_order_segments, again.out_of_order), (false, 0, true));
        assert_eq!(receiver.poll_transmit(at(2)).unwrap().header.ack.unwrap().ranges, [(0, 2)]);
    }
}
