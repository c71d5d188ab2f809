//! The sending end: what goes out and when, the loss detection timer (RFC 9002 §6.2, §A.8, §A.9), and its reports.

use crate::QuicPacket;
use crate::params::{QuicHandshake, QuicSpec};
use crate::path::Validation;
use crate::ranges::Ranges;
use crate::recovery::careful_resume::CarefulResume;
use crate::recovery::congestion::{AckContext, Congestion};
use crate::recovery::pacer::{self, Pacer};
use crate::recovery::rtt::RttEstimator;
use crate::recovery::sent_packets::{Packet, SentPackets, Thresholds};
use crate::stream::Stream;
use crate::wire;
use roamlab_congestion::{SenderEvent, SenderEventKind, SenderVariables};
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_packet::{QuicAck, QuicHeader};
use std::collections::VecDeque;
use std::sync::Arc;

mod paths;
mod resume;

/// Most doublings of the probe timeout; more do not fit into a time.
const MOST_DOUBLINGS: u32 = 32;
/// Probe timeouts for which lost packets are remembered: an ACK may still come (RFC 9002 §A.1 leaves it open).
const MEMORY: u64 = 3;

/// The handshake of the sending end.
#[derive(Clone, Debug)]
enum Handshake {
    /// These packets were sent so far, and none is answered; `due`: one is to be sent.
    Underway {
        sent: Vec<Time>,
        due: bool,
    },
    Done,
}

/// The sending end of a connection.
///
/// After every input (`offer`, `on_packet`, `on_deadline`) call [`poll_transmit`](Self::poll_transmit) until it
/// gives `None`, at the time of the input.
#[derive(Clone, Debug)]
pub struct QuicSender {
    spec: Arc<QuicSpec>,
    handshake: Handshake,
    stream: Stream,
    sent: SentPackets,
    rtt: RttEstimator,
    congestion: Congestion,
    pacer: Pacer,
    /// When the pacer lets the next packet go; nothing else holds it back.
    pacing: Option<Time>,
    /// The loss detection timer.
    timer: Option<Time>,
    /// When the time threshold makes the next packet lost.
    loss_time: Option<Time>,
    /// Probe timeouts since the last ACK.
    pto_count: u32,
    /// Probes that are due.
    probes: u32,
    /// The numbers of the other end's packets that wait for an ACK, and when that goes out at the latest (RFC 9000
    /// §13.2.1).
    ack_requested_by: Option<(Ranges, Time)>,
    /// The largest number of a packet of the other end.
    largest_received: Option<u32>,
    /// New addresses of this end's host that are not taken yet.
    moves: u32,
    /// The address to which packets go, and the last one that was validated.
    path: u32,
    validated: u32,
    validation: Option<Validation>,
    /// The address that was left, to be challenged too (RFC 9000 §9.3.3).
    left: Option<u32>,
    /// With Careful Resume, after the first change of paths.
    resume: Option<CarefulResume>,
    /// Packets declared lost since the last ACK.
    lost: u32,
    timeouts: u64,
    facts: VecDeque<SenderEvent>,
}

impl QuicSender {
    /// A sender with nothing to send.
    pub fn new(spec: Arc<QuicSpec>) -> QuicSender {
        let mut stream = Stream::new();
        let handshake = match spec.handshake {
            QuicHandshake::OneRtt => Handshake::Underway { sent: Vec::new(), due: true },
            QuicHandshake::None => {
                stream.arrived(0);
                Handshake::Done
            }
        };
        QuicSender {
            handshake,
            stream,
            sent: SentPackets::default(),
            rtt: RttEstimator::new(spec.initial_rtt, spec.granularity, spec.max_ack_delay),
            congestion: Congestion::new(&spec),
            pacer: Pacer::new(spec.burst()),
            pacing: None,
            timer: None,
            loss_time: None,
            pto_count: 0,
            probes: 0,
            ack_requested_by: None,
            largest_received: None,
            moves: 0,
            path: 0,
            validated: 0,
            validation: None,
            left: None,
            resume: None,
            lost: 0,
            timeouts: 0,
            facts: VecDeque::new(),
            spec,
        }
    }

    /// The sender of a new connection like this one.
    #[must_use]
    pub fn anew(&self) -> QuicSender {
        QuicSender::new(Arc::clone(&self.spec))
    }

    /// The application offers `segments` more, or an unlimited backlog.
    pub fn offer(&mut self, segments: Option<u64>) {
        self.stream.offer(segments);
    }

    /// The application stops: no new data is sent from now on. Lost data is still sent again.
    pub fn stop(&mut self) {
        self.stream.stop();
    }

    /// A packet of the other end arrived.
    pub fn on_packet(&mut self, header: &QuicHeader, now: Time) {
        let Some(ack) = &header.ack else { return };
        if header.handshake {
            return self.on_answer(ack, now);
        }
        // RFC 9002 §2: a PING and a PATH_RESPONSE ask for an ACK; an ACK frame does not.
        if header.ping || header.path_response {
            let due = now + self.spec.max_ack_delay;
            let none = || (Ranges::new(self.spec.ack_ranges as usize), due);
            self.ack_requested_by.get_or_insert_with(none).0.insert(header.number);
        }
        self.look_at_path(header, now);
        let app_limited = self.congestion.permits(self.sent.in_flight()) && self.stream.is_empty();
        let report = self.sent.on_ack(&ack.ranges, now);
        report.late.iter().for_each(|&segment| self.stream.arrived(segment));
        if report.packets.is_empty() {
            return self.sent.give_back(report.packets);
        }
        report.packets.iter().for_each(|packet| self.stream.arrived(packet.segment));
        if let Some(latest) = report.latest_rtt {
            self.rtt.sample(latest, ack.delay, now);
        }
        let mut own = report.packets;
        own.retain(|packet| self.sent.is_own(packet.number));
        if let Some(resume) = &mut self.resume {
            resume.count(&own);
        }
        self.detect_lost(now);
        let largest = self.sent.largest_acknowledged();
        let context = AckContext {
            now,
            numbers: (largest.map_or(0, |number| number + 1), self.sent.next_number()),
            lost: std::mem::take(&mut self.lost),
            rtt: report.latest_rtt,
            srtt: self.rtt.measured().unwrap_or_default(),
            in_flight: self.sent.in_flight(),
            app_limited,
            held: self.resume.as_ref().is_some_and(CarefulResume::holds_window),
            rate: report.rate,
        };
        self.pto_count = 0;
        let before = self.congestion.sizes();
        let ends = self.congestion.on_ack(&own, &context);
        self.sent.give_back(own);
        self.note_limits();
        if let Some(largest) = largest {
            self.follow_resume(largest, now);
        }
        if ends {
            self.record(SenderEventKind::RecoveryExit, self.stream.first_outstanding(), now);
        } else if self.congestion.sizes() != before {
            self.record(SenderEventKind::Window, self.stream.first_outstanding(), now);
        }
        self.sent.forget(self.rtt.pto() * MEMORY, now);
        self.set_timer();
    }

    /// In ProbeRTT the algorithm itself keeps little in flight, so packets that leave now measure no rate of the path
    /// (draft-ietf-ccwg-bbr-06 §5.3.4.4, MarkConnectionAppLimited).
    fn note_limits(&mut self) {
        if self.congestion.limits_itself() {
            self.sent.note_app_limited();
        }
    }

    /// The other end answers the handshake.
    fn on_answer(&mut self, ack: &QuicAck, now: Time) {
        let Handshake::Underway { sent, .. } = &self.handshake else { return };
        let number = ack.ranges.first().map_or(0, |&(_, end)| end.saturating_sub(1));
        let Some(&sent) = sent.get(number as usize) else { return };
        self.rtt.sample(now.since(sent), ack.delay, now);
        self.handshake = Handshake::Done;
        self.stream.arrived(0);
        self.pto_count = 0;
        self.set_timer();
        self.take_address(now);
    }

    /// Declares packets lost, and cuts the window for them.
    fn detect_lost(&mut self, now: Time) {
        let time = self.rtt.loss_delay(self.spec.time_threshold);
        let thresholds = Thresholds { packets: self.spec.packet_threshold, time };
        let (lost, loss_time) = self.sent.detect_lost(thresholds, now);
        self.loss_time = loss_time;
        lost.iter().for_each(|packet| self.stream.lost(packet.segment));
        let lost: Vec<Packet> = lost.into_iter().filter(|packet| self.sent.is_own(packet.number)).collect();
        let (Some(first), Some(last)) = (lost.first(), lost.last()) else { return };
        self.lost += lost.len() as u32;
        let period = self.rtt.pto() * u64::from(self.spec.persistent_congestion_threshold);
        let persistent = self.sent.is_persistent(&lost, self.rtt.first_sample(), period);
        let Packet { segment, .. } = *first;
        let next = self.sent.next_number();
        if let Some(cwnd) = self.resume.as_mut().and_then(|resume| resume.on_loss(persistent, next)) {
            self.congestion.retreat(cwnd, now);
            return self.record(SenderEventKind::SafeRetreat, segment, now);
        }
        let begins = self.congestion.on_loss(last.sent, persistent, now);
        for lost in lost.iter().filter_map(|packet| self.sent.lose(packet, now)) {
            self.congestion.on_lost_packet(&lost);
        }
        if persistent {
            self.rtt.restart_min();
            self.record(SenderEventKind::PersistentCongestion, segment, now);
        } else if begins {
            self.record(SenderEventKind::FastRetransmit, segment, now);
        }
    }

    /// The probe timeout with its backoff.
    fn pto(&self) -> Duration {
        let base = match self.handshake {
            Handshake::Underway { .. } => self.rtt.handshake_pto(),
            Handshake::Done => self.rtt.pto(),
        };
        base * (1 << self.pto_count)
    }

    /// RFC 9002 §A.8.
    fn set_timer(&mut self) {
        let outstanding_since = match &self.handshake {
            Handshake::Underway { sent, .. } => sent.last().copied(),
            // §6.2.2.1: at the limit of an address that is not validated nothing could be sent.
            Handshake::Done if !self.permits_data() => None,
            Handshake::Done => self.sent.any_in_flight().then_some(self.sent.last_sent()),
        };
        self.timer = self.loss_time.or_else(|| outstanding_since.map(|since| since + self.pto()));
    }

    /// True if the address may be sent a full packet.
    fn permits_data(&self) -> bool {
        self.validation.as_ref().is_none_or(|validation| validation.permits(self.spec.datagram.0))
    }

    /// When the sender has to be woken.
    pub fn next_deadline(&self) -> Option<Time> {
        let validation = self.validation.as_ref().map(Validation::deadline);
        // At the limit of an address no ACK can leave; packets from the address raise the limit.
        let ack = self.ack_requested_by.as_ref().map(|&(_, due)| due).filter(|_| self.permits_ack());
        self.timer.into_iter().chain(self.pacing).chain(validation).chain(ack).min()
    }

    /// The time of a deadline has come; an early wake-up is a no-op.
    pub fn on_deadline(&mut self, now: Time) {
        if let Some(failed) = self.validation.take_if(|validation| validation.has_failed(now))
            && failed.is_of_address()
        {
            self.path = self.validated; // RFC 9000 §9.3.2
            self.set_timer();
        }
        if self.timer.is_none_or(|timer| timer > now) {
            return;
        }
        if self.loss_time.is_some() {
            self.detect_lost(now);
            return self.set_timer();
        }
        // §6.2.4: nothing is declared lost, and the window stays.
        self.pto_count = (self.pto_count + 1).min(MOST_DOUBLINGS);
        self.timeouts += 1;
        match &mut self.handshake {
            Handshake::Underway { due, .. } => *due = true,
            Handshake::Done => {
                self.probes = self.spec.probes;
                self.stream.begin_probe();
            }
        }
        self.record(SenderEventKind::Timeout, self.stream.first_outstanding(), now);
        self.set_timer();
    }

    /// The next packet to send; call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<QuicPacket> {
        self.pacing = None;
        if matches!(self.handshake, Handshake::Underway { .. }) {
            return self.poll_handshake(now);
        }
        if self.validation.as_mut().is_some_and(|validation| validation.take_challenge(now))
            && let Some(packet) = self.challenge(now)
        {
            return Some(packet);
        }
        if let Some(left) = self.left.take() {
            return Some(self.control(left, true, wire::EXPANDED, now));
        }
        if self.ack_requested_by.as_ref().is_some_and(|&(_, due)| due <= now) && self.permits_ack() {
            return Some(self.control(self.path, false, 0, now));
        }
        if !self.permits_data() {
            return None;
        }
        // §6.2.4, §7.5: the window and the pacing do not hold a probe back.
        if self.probes > 0 {
            self.probes -= 1;
            let (segment, again) = self.stream.take_probe()?;
            return Some(self.data(segment, again, now));
        }
        let permitted = self.congestion.permits(self.sent.in_flight());
        if self.stream.is_empty() {
            if permitted {
                self.sent.note_app_limited();
            }
            return None;
        }
        if !permitted && !self.jumps(now) {
            return None;
        }
        if let Some(interval) = self.pacing_interval() {
            self.pacing = self.pacer.blocked_until(interval, now);
            if self.pacing.is_some() {
                return None;
            }
            self.pacer.sent();
        }
        let (segment, again) = self.stream.take()?;
        Some(self.data(segment, again, now))
    }

    /// The time between two packets; `None` without pacing.
    fn pacing_interval(&self) -> Option<Duration> {
        let by_window =
            || pacer::interval(self.rtt.smoothed(), self.congestion.sizes().0, self.spec.pacing_gain);
        if let Some(jump) = self.resume.as_ref().and_then(CarefulResume::paced_jump) {
            return Some(pacer::interval(self.rtt.latest(), jump, 1.0)); // RFC 9959 §4.3.2
        }
        self.congestion.pacing_interval().or_else(|| self.spec.pacing.then(by_window))
    }

    /// A packet of the handshake, padded (RFC 9000 §14.1), if one is due.
    fn poll_handshake(&mut self, now: Time) -> Option<QuicPacket> {
        let Handshake::Underway { sent, due } = &mut self.handshake else { return None };
        if self.stream.is_empty() || !std::mem::take(due) {
            return None;
        }
        let number = sent.len() as u32;
        sent.push(now);
        let header =
            QuicHeader { number, handshake: true, retransmission: number > 0, ..QuicHeader::default() };
        self.set_timer();
        Some(QuicPacket { header, size: self.spec.packet_size() })
    }

    /// A packet with a PATH_CHALLENGE for the new address, if the limit permits one.
    fn challenge(&mut self, now: Time) -> Option<QuicPacket> {
        let bytes = self.control_bytes(true);
        let size = self.validation.as_mut()?.challenge_size(bytes)?;
        Some(self.control(self.path, true, size, now))
    }

    /// A packet without data for the address `path`, of `least` bytes of UDP payload at least.
    fn control(&mut self, path: u32, path_challenge: bool, least: u64, now: Time) -> QuicPacket {
        let bytes = self.control_bytes(path_challenge).max(least);
        let (number, ack) = (self.sent.next_number(), self.ack());
        if let Some(validation) = self.validation.as_mut().filter(|_| path == self.path) {
            validation.sent(bytes);
        }
        self.sent.sent_without_data(now);
        self.ack_requested_by = None;
        let header = QuicHeader { number, path, ack, path_challenge, ..QuicHeader::default() };
        QuicPacket { header, size: Bytes(bytes + wire::IP_UDP) }
    }

    /// The bytes of a packet without data, before padding.
    fn control_bytes(&self, path_challenge: bool) -> u64 {
        let header = QuicHeader { ack: self.ack(), path_challenge, ..QuicHeader::default() };
        wire::control_payload(&header, self.spec.connection_id)
    }

    /// True if the address may be sent an ACK alone.
    fn permits_ack(&self) -> bool {
        self.validation.as_ref().is_none_or(|validation| validation.permits(self.control_bytes(false)))
    }

    /// The ACK frame that the other end has asked for.
    ///
    /// ASSUMPTION: its delay is not measured by that end.
    fn ack(&self) -> Option<Box<QuicAck>> {
        let (numbers, _) = self.ack_requested_by.as_ref()?;
        Some(Box::new(QuicAck { ranges: numbers.to_vec(), delay: Duration::ZERO }))
    }

    /// A full packet with a segment.
    fn data(&mut self, segment: u32, retransmission: bool, now: Time) -> QuicPacket {
        let number = self.sent.next_number();
        self.sent.sent(segment, now);
        if let Some(validation) = &mut self.validation {
            validation.sent(self.spec.datagram.0);
        }
        let (in_flight, latest) = (self.sent.in_flight(), self.rtt.latest());
        if let Some(resume) = &mut self.resume
            && let Some(cwnd) = resume.on_sent(number, in_flight, latest, now)
        {
            self.congestion.set_cwnd(cwnd);
        }
        self.set_timer();
        let payload = self.spec.segment().0 as u32;
        // ASSUMPTION: the rare ACK frame in a packet with data waits for the next packet, and takes no room.
        let (path, ack) = (self.path, self.ack());
        self.ack_requested_by = None;
        let header =
            QuicHeader { number, segment, payload, path, ack, retransmission, ..QuicHeader::default() };
        QuicPacket { header, size: self.spec.packet_size() }
    }

    fn record(&mut self, kind: SenderEventKind, seq: u32, at: Time) {
        let (cwnd, ssthresh) = self.congestion.sizes();
        let (rto, srtt) = (self.pto(), self.rtt.measured().unwrap_or_default());
        self.facts.push_back(SenderEvent { at, kind, seq, cwnd, ssthresh, rto, srtt });
    }

    /// The next fact, in the order in which they happened; call until `None`. A timeout is a probe timeout, a fast
    /// retransmit the beginning of a recovery period.
    pub fn poll_fact(&mut self) -> Option<SenderEvent> {
        self.facts.pop_front()
    }

    /// Packets in flight.
    pub fn in_flight(&self) -> u32 {
        self.sent.in_flight()
    }

    /// True if everything offered has been acknowledged.
    pub fn finished(&self) -> bool {
        self.stream.finished()
    }

    /// The first segment that is not acknowledged.
    pub fn acknowledged(&self) -> u32 {
        self.stream.first_outstanding()
    }

    /// The sender's variables. The retransmission timeout is the probe timeout.
    pub fn variables(&self) -> SenderVariables {
        let (cwnd, ssthresh) = self.congestion.sizes();
        SenderVariables {
            cwnd,
            ssthresh,
            rtt: self.rtt.latest(),
            srtt: self.rtt.measured().unwrap_or_default(),
            rttvar: self.rtt.variation(),
            rto: self.pto(),
            backoff: 1 << self.pto_count,
            timeouts: self.timeouts,
            reductions: self.congestion.reductions(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roamlab_congestion::PathPolicy;

    #[test]
    fn a_sender_with_a_full_window_is_not_limited_by_its_application() {
        // draft-ietf-ccwg-bbr §4.1.2.4: only if what is in flight is less than the window. The initial window is 10 packets.
        let limits = |segments| {
            let spec = QuicSpec { handshake: QuicHandshake::None, pacing: false, ..QuicSpec::default() };
            let mut sender = QuicSender::new(Arc::new(spec));
            sender.offer(Some(segments));
            while sender.poll_transmit(Time::ZERO).is_some() {}
            let next = sender.sent.next_number();
            sender.sent.sent(99, Time::ZERO);
            let later = Time::ZERO + Duration::from_millis(50);
            sender.sent.on_ack(&[(next, next + 1)], later).rate.is_some_and(|rate| rate.app_limited)
        };
        assert_eq!([9, 10].map(limits), [true, false]);
    }

    #[test]
    fn the_shortest_round_trip_of_a_path_that_was_left_is_forgotten() {
        // RFC 9002 §5.2: min_rtt is of one network path. The next sample is the shortest of the new one.
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let spec = QuicSpec { handshake: QuicHandshake::None, ..QuicSpec::default() };
        let mut sender = QuicSender::new(Arc::new(spec));
        sender.rtt.sample(Duration::from_millis(50), Duration::ZERO, at(50));
        sender.on_new_path(PathPolicy::ForgetMinRtt, at(60));
        sender.rtt.sample(Duration::from_millis(90), Duration::ZERO, at(150));
        assert_eq!(sender.rtt.min(), Duration::from_millis(90));
    }
}
