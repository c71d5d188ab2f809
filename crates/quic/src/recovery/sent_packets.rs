//! The record of packets sent: acknowledgement, loss detection (RFC 9002 §6.1), persistent congestion (§7.6).
//!
//! Packet numbers never repeat, so every acknowledged packet tells when it was sent. An ACK costs a look at what it newly
//! acknowledges and at what may be lost, however many packets are remembered.

use crate::intervals::Intervals;
use roamlab_congestion::{DeliveryRate, DeliverySampler, LostSegment, Stamp};
use roamlab_engine::{Duration, Time};
use std::collections::VecDeque;
use std::ops::Range;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum State {
    InFlight,
    Acknowledged,
    Lost,
}

/// A packet that was sent.
#[derive(Copy, Clone, Debug)]
struct Record {
    segment: u32,
    state: State,
    stamp: Stamp,
}

/// A packet that is acknowledged or lost.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Packet {
    pub number: u32,
    pub segment: u32,
    pub sent: Time,
}

/// The news of an ACK.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Acknowledged {
    /// Packets acknowledged for the first time, in order.
    pub packets: Vec<Packet>,
    /// Segments of packets that had been declared lost.
    pub late: Vec<u32>,
    /// The largest packet of the ACK is acknowledged for the first time: how long ago it was sent.
    pub latest_rtt: Option<Duration>,
    /// The delivery rate that the ACK measures.
    pub rate: Option<DeliveryRate>,
}

/// When packets are lost.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Thresholds {
    pub packets: u32,
    pub time: Duration,
}

/// The packets sent and not forgotten.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentPackets {
    /// Record `i` is that of packet `first + i`.
    records: VecDeque<Record>,
    first: u32,
    /// No packet below is in flight.
    open_from: u32,
    /// The packets that are acknowledged, from `first` on.
    acknowledged: Intervals,
    /// Of this path.
    in_flight: u32,
    /// Packets below are of an old path: they do not count in the window.
    own_from: u32,
    /// Packets below are of an old path: they measure no round-trip time.
    sampled_from: u32,
    /// In flight of old paths.
    foreign: u32,
    largest_acknowledged: Option<u32>,
    /// When the last packet was sent.
    last_sent: Time,
    delivery: DeliverySampler,
    /// Room for what the next ACK reports, so that none is allocated for each.
    fresh: Vec<Range<u32>>,
    spare: Vec<Packet>,
    /// Records looked at.
    #[cfg(test)]
    looks: u64,
}

impl SentPackets {
    /// The number of the next packet.
    pub fn next_number(&self) -> u32 {
        self.first + self.records.len() as u32
    }

    /// Packets in flight that count in the window.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// True if any packet is in flight, on this path or on an old one.
    pub fn any_in_flight(&self) -> bool {
        self.in_flight + self.foreign > 0
    }

    /// True if a packet counts in the window.
    pub fn is_own(&self, number: u32) -> bool {
        number >= self.own_from
    }

    /// The packets sent so far are of an old path (RFC 9000 §9.4). `frees`: they do not count in the window.
    pub fn leave_path(&mut self, frees: bool) {
        self.sampled_from = self.next_number();
        if frees {
            self.own_from = self.next_number();
            self.foreign += std::mem::take(&mut self.in_flight);
        }
    }

    /// Declares everything in flight lost: the segments.
    pub fn abandon(&mut self) -> Vec<u32> {
        let open = self.open_from.saturating_sub(self.first) as usize;
        let records = self.records.iter_mut().skip(open);
        let lost = records.filter(|record| record.state == State::InFlight).map(|record| {
            record.state = State::Lost;
            record.segment
        });
        let lost = lost.collect();
        (self.in_flight, self.foreign, self.open_from) = (0, 0, self.next_number());
        lost
    }

    /// A packet without stream data goes out, of which no acknowledgement is expected.
    pub fn sent_without_data(&mut self, now: Time) {
        let (in_flight, last_sent) = (self.in_flight, self.last_sent);
        self.sent(0, now);
        if let Some(record) = self.records.back_mut() {
            record.state = State::Acknowledged;
        }
        (self.in_flight, self.last_sent) = (in_flight, last_sent);
    }

    /// A packet is no longer in flight.
    fn remove(in_flight: &mut u32, foreign: &mut u32, is_own: bool) {
        *if is_own { in_flight } else { foreign } -= 1;
    }

    /// The largest packet acknowledged so far.
    pub fn largest_acknowledged(&self) -> Option<u32> {
        self.largest_acknowledged
    }

    /// When the last packet was sent.
    pub fn last_sent(&self) -> Time {
        self.last_sent
    }

    /// A packet with a segment goes out.
    pub fn sent(&mut self, segment: u32, now: Time) {
        let alone = self.in_flight == 0;
        self.in_flight += 1;
        let stamp = self.delivery.stamp(alone, self.in_flight, now);
        self.last_sent = now;
        self.records.push_back(Record { segment, state: State::InFlight, stamp });
    }

    /// The window permits more than the application has.
    pub fn note_app_limited(&mut self) {
        self.delivery.note_app_limited(self.in_flight);
    }

    /// An ACK arrived, with the ranges `[start, end)`, the largest first.
    pub fn on_ack(&mut self, ranges: &[(u32, u32)], now: Time) -> Acknowledged {
        let mut acknowledged =
            Acknowledged { packets: std::mem::take(&mut self.spare), ..Acknowledged::default() };
        acknowledged.packets.clear();
        let Some(&(_, end)) = ranges.first() else { return acknowledged };
        let largest = end.saturating_sub(1);
        if largest >= self.next_number() {
            return acknowledged; // RFC 9000 §13.1: nothing was sent with this number
        }
        self.largest_acknowledged = self.largest_acknowledged.max(Some(largest));
        let mut newest: Option<Stamp> = None;
        let mut fresh = std::mem::take(&mut self.fresh);
        // Below the first record there is nothing new.
        let open = ranges.iter().take_while(|&&(_, end)| end > self.first).count();
        for &(start, end) in ranges[..open].iter().rev() {
            self.acknowledged.insert(start.max(self.first), end, &mut fresh);
            for number in fresh.drain(..).flatten() {
                #[cfg(test)]
                (self.looks += 1);
                let record = &mut self.records[(number - self.first) as usize];
                let before = std::mem::replace(&mut record.state, State::Acknowledged);
                match before {
                    State::Acknowledged => continue,
                    State::Lost => {
                        acknowledged.late.push(record.segment);
                        continue;
                    }
                    State::InFlight => {
                        let is_own = number >= self.own_from;
                        SentPackets::remove(&mut self.in_flight, &mut self.foreign, is_own);
                    }
                }
                let Record { segment, stamp, .. } = *record;
                let sent = stamp.sent;
                newest = Some(stamp);
                self.delivery.deliver(1);
                acknowledged.packets.push(Packet { number, segment, sent });
                if number == largest && number >= self.sampled_from {
                    acknowledged.latest_rtt = Some(now.since(sent));
                }
            }
        }
        self.fresh = fresh;
        acknowledged.rate = newest.and_then(|newest| self.delivery.rate(&newest, now));
        acknowledged
    }

    /// The packets that an ACK has reported are processed: the next one reuses their memory.
    pub fn give_back(&mut self, packets: Vec<Packet>) {
        self.spare = packets;
    }

    /// Declares packets lost (RFC 9002 §A.10): them, and when the next one will be if no ACK arrives.
    pub fn detect_lost(&mut self, thresholds: Thresholds, now: Time) -> (Vec<Packet>, Option<Time>) {
        let (mut lost, mut loss_time) = (Vec::new(), None);
        let Some(largest) = self.largest_acknowledged.filter(|&largest| largest >= self.first) else {
            return (lost, loss_time);
        };
        let start = self.open_from.max(self.first);
        let range = (start - self.first) as usize..(largest.max(start) - self.first) as usize;
        self.open_from = largest.max(start);
        for (record, number) in self.records.range_mut(range).zip(start..) {
            #[cfg(test)]
            (self.looks += 1);
            if record.state != State::InFlight {
                continue;
            }
            let due = record.stamp.sent + thresholds.time;
            if due <= now || largest - number >= thresholds.packets {
                record.state = State::Lost;
                let is_own = number >= self.own_from;
                SentPackets::remove(&mut self.in_flight, &mut self.foreign, is_own);
                lost.push(Packet { number, segment: record.segment, sent: record.stamp.sent });
            } else {
                self.open_from = self.open_from.min(number);
                loss_time = Some(loss_time.map_or(due, |earliest: Time| earliest.min(due)));
            }
        }
        (lost, loss_time)
    }

    /// A packet that was declared lost, for the congestion control.
    pub fn lose(&mut self, packet: &Packet, now: Time) -> Option<LostSegment> {
        let record = self.records.get((packet.number - self.first) as usize)?;
        Some(self.delivery.lose(packet.number, &record.stamp, now))
    }

    /// True if packets that are lost now prove persistent congestion (RFC 9002 §7.6.2). Two of them were sent more than
    /// `period` apart, both after the first sample of the round-trip time, and none sent between them has arrived.
    pub fn is_persistent(&self, lost: &[Packet], first_sample: Option<Time>, period: Duration) -> bool {
        let (Some(oldest), Some(first_sample)) = (lost.first(), first_sample) else { return false };
        let mut since: Option<Time> = None;
        let mut lost = lost.iter().peekable();
        let records = self.records.range((oldest.number - self.first) as usize..);
        for (record, number) in records.zip(oldest.number..) {
            let is_lost_now = lost.next_if(|packet| packet.number == number).is_some();
            if record.state == State::Acknowledged {
                since = None;
            } else if is_lost_now && record.stamp.sent > first_sample {
                let start = *since.get_or_insert(record.stamp.sent);
                if record.stamp.sent.since(start) > period {
                    return true;
                }
            }
            if lost.peek().is_none() {
                return false;
            }
        }
        false
    }

    /// Forgets packets of which nothing more is expected: acknowledged ones, and lost ones after `memory`.
    pub fn forget(&mut self, memory: Duration, now: Time) {
        let is_done = |record: &Record| match record.state {
            State::InFlight => false,
            State::Acknowledged => true,
            State::Lost => record.stamp.sent + memory <= now,
        };
        while self.records.front().is_some_and(is_done) {
            self.records.pop_front();
            self.first += 1;
        }
        self.acknowledged.forget_below(self.first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roamlab_engine::Rng;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Packets sent at these times in ms, packet `n` with segment `n`.
    fn sent(times: &[u64]) -> SentPackets {
        let mut packets = SentPackets::default();
        times.iter().zip(0..).for_each(|(&time, segment)| packets.sent(segment, at(time)));
        packets
    }

    fn numbers(packets: &[Packet]) -> Vec<u32> {
        packets.iter().map(|packet| packet.number).collect()
    }

    const RFC: Thresholds = Thresholds { packets: 3, time: Duration::from_millis(90) };

    #[test]
    fn three_later_packets_make_a_loss() {
        // §6.1.1: 0 and 1 are three and two below 3.
        let mut packets = sent(&[0, 0, 0, 0]);
        packets.on_ack(&[(2, 4)], at(80));
        let (lost, next) = packets.detect_lost(RFC, at(80));
        assert_eq!((numbers(&lost), next, packets.in_flight()), (vec![0], Some(at(90)), 1));
        // §6.1.2: 1 is lost 90 ms after it was sent.
        let (lost, next) = packets.detect_lost(RFC, at(90));
        assert_eq!((numbers(&lost), next, packets.in_flight()), (vec![1], None, 0));
    }

    #[test]
    fn packets_above_the_largest_acknowledged_are_never_lost() {
        let mut packets = sent(&[0, 0, 0]);
        packets.on_ack(&[(0, 1)], at(500));
        assert_eq!(packets.detect_lost(RFC, at(1000)), (vec![], None));
    }

    #[test]
    fn only_a_new_largest_packet_is_a_sample() {
        let mut packets = sent(&[0, 10, 20]);
        assert_eq!(packets.on_ack(&[(1, 2)], at(100)).latest_rtt, Some(ms(90)));
        // 0 is new, but the largest is not.
        let ack = packets.on_ack(&[(0, 2)], at(110));
        assert_eq!((numbers(&ack.packets), ack.latest_rtt), (vec![0], None));
        assert_eq!(packets.on_ack(&[(0, 9)], at(120)), Acknowledged::default(), "8 was never sent");
    }

    #[test]
    fn a_lost_packet_that_is_acknowledged_is_late() {
        let mut packets = sent(&[0, 0, 0, 0]);
        packets.on_ack(&[(3, 4)], at(80));
        assert_eq!(numbers(&packets.detect_lost(RFC, at(80)).0), [0]);
        packets.forget(ms(1000), at(80));
        let ack = packets.on_ack(&[(0, 1)], at(85));
        assert_eq!((ack.packets.len(), ack.late), (0, vec![0]));
        assert_eq!(packets.in_flight(), 2);
    }

    #[test]
    fn packets_of_an_old_path_are_neither_counted_nor_measured() {
        let mut packets = sent(&[0, 0, 0, 0]);
        packets.leave_path(true);
        packets.sent(4, at(50));
        assert_eq!((packets.in_flight(), packets.any_in_flight()), (1, true));
        let ack = packets.on_ack(&[(3, 4)], at(100));
        assert_eq!((numbers(&ack.packets), ack.latest_rtt, packets.in_flight()), (vec![3], None, 1));
        assert_eq!(numbers(&packets.detect_lost(RFC, at(100)).0), [0, 1, 2]);
        assert_eq!(packets.on_ack(&[(3, 5)], at(120)).latest_rtt, Some(ms(70)));
        assert!(!packets.any_in_flight());
    }

    #[test]
    fn all_can_be_abandoned() {
        let mut packets = sent(&[0, 0, 0]);
        packets.on_ack(&[(1, 2)], at(50));
        assert_eq!(packets.abandon(), [0, 2]);
        assert_eq!((packets.in_flight(), packets.on_ack(&[(0, 3)], at(60)).late), (0, vec![0, 2]));
    }

    #[test]
    fn packets_are_forgotten_in_order() {
        let mut packets = sent(&[0, 0, 0, 0]);
        packets.on_ack(&[(1, 2)], at(80));
        packets.forget(ms(50), at(80));
        assert_eq!(packets.first, 0, "packet 0 is in flight");
        packets.on_ack(&[(0, 2)], at(81));
        packets.forget(ms(50), at(81));
        assert_eq!((packets.first, packets.next_number()), (2, 4));
    }

    /// True if it is persistent congestion, with a sample at `sample` ms and a period of 300 ms.
    fn is_persistent(packets: &mut SentPackets, sample: Option<u64>) -> bool {
        let lost = packets.detect_lost(RFC, at(2000)).0;
        packets.is_persistent(&lost, sample.map(at), ms(300))
    }

    #[test]
    fn losses_over_more_than_the_period_are_persistent_congestion() {
        let check = |times: &[u64], acks: &[(u32, u32)], sample| {
            let mut packets = sent(times);
            packets.on_ack(acks, at(2000));
            is_persistent(&mut packets, sample)
        };
        // The last packet is acknowledged; those before are lost.
        assert!(check(&[10, 150, 311, 400], &[(3, 4)], Some(5)), "301 ms");
        assert!(!check(&[10, 150, 310, 400], &[(3, 4)], Some(5)), "300 ms do not exceed 300 ms");
        assert!(!check(&[10, 150, 311, 400], &[(3, 4)], Some(10)), "the first was not sent after the sample");
        assert!(!check(&[10, 150, 311, 400], &[(3, 4)], None), "there is no sample");
        assert!(!check(&[10, 150, 311, 400], &[(3, 4), (1, 2)], Some(5)), "one between them arrived");
        assert!(!check(&[10, 20, 150, 321, 400], &[(4, 5), (1, 2)], Some(5)), "150 to 321");
        assert!(check(&[10, 20, 150, 451, 500], &[(4, 5), (1, 2)], Some(5)), "150 to 451");
    }

    #[test]
    fn the_example_of_the_rfc_is_persistent_congestion() {
        // §7.6.3: packets 1 to 9 of the text are 0 to 8. The probe timeout is 2 s, the period 6 s; 8 - 1 = 7.
        let mut packets = sent(&[0, 1000, 2000, 3000, 4000, 5000, 6000, 8000, 12_000]);
        packets.on_ack(&[(0, 1)], at(1200));
        packets.forget(ms(6000), at(1200));
        packets.on_ack(&[(8, 9)], at(12_200));
        let lost = packets.detect_lost(Thresholds { packets: 3, time: ms(1125) }, at(12_200)).0;
        assert_eq!(numbers(&lost), [1, 2, 3, 4, 5, 6, 7]);
        assert!(packets.is_persistent(&lost, Some(at(500)), ms(6000)));
        assert!(!packets.is_persistent(&lost, Some(at(500)), ms(7000)));
    }

    #[test]
    fn an_ack_looks_at_what_is_new_however_many_losses_are_remembered() {
        // Of each five packets one is lost; each ACK reports four new ones, in 32 ranges. None is forgotten meanwhile.
        const GROUPS: u32 = 2000;
        let mut packets = SentPackets::default();
        packets.sent(0, at(0));
        packets.on_ack(&[(0, 1)], at(80));
        for group in 0..GROUPS {
            (0..5).for_each(|place| packets.sent(5 * group + place + 1, at(100)));
            let ranges: Vec<_> =
                (0..=group).rev().take(32).map(|group| (5 * group + 2, 5 * group + 6)).collect();
            let ack = packets.on_ack(&ranges, at(180));
            assert_eq!(ack.packets.len(), 4);
            let lost = packets.detect_lost(RFC, at(180)).0;
            assert_eq!(numbers(&lost), [5 * group + 1]);
            packets.forget(ms(1000), at(180));
        }
        assert_eq!((packets.in_flight(), packets.records.len()), (0, 5 * GROUPS as usize));
        // Four acknowledged; and five below the largest, with the largest of the ACK before.
        assert!(packets.looks <= u64::from(10 * GROUPS), "{} looks", packets.looks);
    }

    #[test]
    fn a_walk_over_all_records_would_find_the_same() {
        // Random packets in flight, acknowledged and lost, against the definition: each record below the largest.
        for seed in 0..50 {
            let mut rng = Rng::named(seed, 0, "sent packets");
            let mut below = |end: u32| (rng.uniform() * f64::from(end)) as u32;
            let mut packets = SentPackets::default();
            for step in 1..200 {
                let now = at(10 * step);
                (0..below(6)).for_each(|_| packets.sent(packets.next_number(), now));
                let next = packets.next_number();
                if next == 0 {
                    continue;
                }
                let start = next.saturating_sub(1 + below(30));
                let first = (start, (start + 1 + below(8)).min(next));
                let second = (start.saturating_sub(12), start.saturating_sub(2 + below(6)));
                let ranges: Vec<_> = [first, second].into_iter().filter(|range| range.0 < range.1).collect();
                let is_new = |number: u32| {
                    let state = packets.records.get(number.checked_sub(packets.first)? as usize)?.state;
                    (state == State::InFlight).then_some(number)
                };
                let expected: Vec<u32> = ranges.iter().rev().flat_map(|&(start, end)| start..end).collect();
                let expected: Vec<u32> = expected.into_iter().filter_map(is_new).collect();
                assert_eq!(numbers(&packets.on_ack(&ranges, now).packets), expected);
                let largest = packets.largest_acknowledged().unwrap();
                let open = packets.records.iter().zip(packets.first..);
                let open =
                    open.filter(|(record, number)| record.state == State::InFlight && *number < largest);
                let (late, waiting): (Vec<_>, Vec<_>) = open.partition(|(record, number)| {
                    record.stamp.sent + RFC.time <= now || largest - number >= RFC.packets
                });
                let late: Vec<u32> = late.into_iter().map(|(_, number)| number).collect();
                let due = waiting.iter().map(|(record, _)| record.stamp.sent + RFC.time).min();
                let (lost, next) = packets.detect_lost(RFC, now);
                assert_eq!((numbers(&lost), next), (late, due), "seed {seed}, step {step}");
                packets.forget(ms(u64::from(below(400))), now);
                if step % 70 == 0 {
                    packets.abandon();
                }
                let in_flight = packets.records.iter().filter(|record| record.state == State::InFlight);
                assert_eq!(in_flight.count() as u32, packets.in_flight());
            }
        }
    }

    #[test]
    fn the_delivery_rate_is_what_arrived_while_a_packet_was_in_flight() {
        let mut packets = sent(&[0, 10, 20, 30]);
        packets.on_ack(&[(0, 2)], at(100));
        packets.sent(4, at(100));
        // Packet 4 was sent when 2 were delivered at 100 ms; 3 more are at 200 ms.
        let rate = packets.on_ack(&[(0, 5)], at(200)).rate.unwrap();
        assert_eq!((rate.delivered, rate.interval, rate.prior_delivered), (3, ms(100), 2));
    }

    #[test]
    fn what_is_given_up_is_not_in_flight_on_any_path() {
        // RFC 9002 §6.2.1: no probe timeout without packets in flight, also of those that an earlier path has left.
        let mut packets = SentPackets::default();
        (0..3).for_each(|segment| packets.sent(segment, Time::ZERO));
        packets.leave_path(true);
        packets.sent(3, Time::ZERO);
        assert_eq!((packets.in_flight(), packets.any_in_flight()), (1, true));
        assert_eq!(packets.abandon(), [0, 1, 2, 3]);
        assert_eq!((packets.in_flight(), packets.any_in_flight()), (0, false));
        packets.on_ack(&[(0, 4)], Time::ZERO);
        assert!(!packets.any_in_flight(), "late ones change nothing");
    }

    #[test]
    fn the_last_packet_that_asks_for_an_ack_is_the_last_with_data() {
        // RFC 9002 §6.2.1: the probe timeout counts from the last packet that asks for an ACK; an ACK does not.
        let mut packets = sent(&[0, 10]);
        packets.sent_without_data(at(50));
        assert_eq!((packets.last_sent(), packets.in_flight(), packets.next_number()), (at(10), 2, 3));
    }
}
