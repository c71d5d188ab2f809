//! The two ends of a TCP connection over a stack outside of the simulation, as its packets and its reports show them.
//!
//! The stack numbers bytes from an initial number (RFC 9293 §3.4.1). Here segments are numbered: the SYN is 0, byte 0 of
//! the data is in segment 1.

use roamlab_congestion::{SenderEvent, SenderEventKind, SenderVariables};
use roamlab_engine::{Bytes, Duration, Time};
use roamlab_packet::wire::Segment;
use roamlab_packet::{AccEcnOption, SackBlocks, Side, TcpFlags, TcpHeader};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Steps of the application of a flow over a stack.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Offer {
    /// It writes this number of bytes.
    Bytes(u64),
    /// It writes whatever the stack takes.
    Unlimited,
    /// It writes nothing more. The content of the stack's buffer is still sent.
    Stop,
    /// It leaves its connection for a new one, if it has one.
    Anew,
}

/// Retransmissions that no report has explained yet.
#[derive(Clone, Debug)]
struct Again {
    /// The serial number given last before the first of them.
    last_serial: u64,
    segments: Vec<u32>,
}

/// A connection over a stack outside.
#[derive(Clone, Debug)]
pub struct Stack {
    segment: u32,
    /// The sender's port, once its SYN was seen: segments with another one are of a connection that is no more.
    port: Option<u16>,
    /// Bytes that the receiver's application has read, and segments of them that were taken.
    read: u64,
    taken: u64,
    /// Bytes that the sender's application had written when it stopped.
    pub written: Option<u64>,
    /// Number of the first byte of data of either side, once its SYN was seen.
    first: [u32; 2],
    /// Bytes of data that were sent, and that are acknowledged.
    sent: u64,
    acknowledged: u64,
    /// Bytes that have arrived, as ranges by their starts.
    arrived: BTreeMap<u64, u64>,
    /// Ends of data sent once, with the times: for the round-trip time (Karn's rule, RFC 6298 §3).
    timed: VecDeque<(u64, Time)>,
    rtt: Duration,
    again: Option<Again>,
    offers: VecDeque<Offer>,
    facts: VecDeque<SenderEvent>,
    variables: SenderVariables,
}

/// The byte with this number, which is near byte `near`; bytes are counted from the one numbered `first`.
fn unwrapped(number: u32, first: u32, near: u64) -> u64 {
    let distance = number.wrapping_sub(first).wrapping_sub(near as u32) as i32;
    near.saturating_add_signed(i64::from(distance))
}

impl Stack {
    /// A connection that has not begun, with segments of this payload.
    pub fn new(segment: Bytes) -> Stack {
        Stack {
            segment: segment.0 as u32,
            port: None,
            read: 0,
            taken: 0,
            written: None,
            first: [0; 2],
            sent: 0,
            acknowledged: 0,
            arrived: BTreeMap::new(),
            timed: VecDeque::new(),
            rtt: Duration::ZERO,
            again: None,
            offers: VecDeque::new(),
            facts: VecDeque::new(),
            variables: SenderVariables::default(),
        }
    }

    /// Payload of a full segment.
    pub fn segment(&self) -> Bytes {
        Bytes(u64::from(self.segment))
    }

    /// The application offers this number of segments, or an unlimited backlog.
    pub fn offer(&mut self, segments: Option<u64>) {
        let bytes = |segments| Offer::Bytes(segments * u64::from(self.segment));
        self.offers.push_back(segments.map_or(Offer::Unlimited, bytes));
    }

    /// The application stops.
    pub fn stop(&mut self) {
        self.offers.push_back(Offer::Stop);
    }

    /// Both ends begin a new connection.
    pub fn connect_anew(&mut self) {
        let (offers, facts, variables) =
            (std::mem::take(&mut self.offers), std::mem::take(&mut self.facts), self.variables);
        *self = Stack { offers, facts, variables, ..Stack::new(self.segment()) };
        self.offers.push_back(Offer::Anew);
    }

    /// True if a segment that this end sent is of the present connection.
    pub fn is_present(&self, side: Side, segment: &Segment<'_>) -> bool {
        self.port == Some(segment.ports[side.index()])
    }

    /// The receiver's application has read this number of further bytes; how many more segments are complete by that.
    pub fn reads(&mut self, bytes: u64) -> u64 {
        self.read += bytes;
        let whole = self.read / u64::from(self.segment);
        whole - std::mem::replace(&mut self.taken, whole)
    }

    /// Next step of the application.
    pub fn poll_offer(&mut self) -> Option<Offer> {
        self.offers.pop_front()
    }

    /// The next fact of the reports.
    pub fn poll_fact(&mut self) -> Option<SenderEvent> {
        self.facts.pop_front()
    }

    /// The sender's variables as the last report has them.
    pub fn variables(&self) -> SenderVariables {
        self.variables
    }

    /// The first segment that is not acknowledged.
    pub fn acknowledged(&self) -> u32 {
        self.number(self.acknowledged)
    }

    /// True if the first byte of a segment has arrived.
    pub fn has(&self, seq: u32) -> bool {
        let byte = u64::from(seq.saturating_sub(1)) * u64::from(self.segment);
        self.arrived.range(..=byte).next_back().is_some_and(|(_, end)| *end > byte)
    }

    fn number(&self, byte: u64) -> u32 {
        1 + (byte / u64::from(self.segment)) as u32
    }

    fn number_above(&self, byte: u64) -> u32 {
        1 + byte.div_ceil(u64::from(self.segment)) as u32
    }

    /// The bytes of a data segment of the sender.
    pub fn bytes(&self, segment: &Segment<'_>) -> Range<u64> {
        let start = unwrapped(segment.seq, self.first[0], self.sent);
        start..start + segment.payload as u64
    }

    /// An end sends a segment, now: its header as the simulation has it.
    pub fn sends(&mut self, side: Side, segment: &Segment<'_>, (now, last_serial): (Time, u64)) -> TcpHeader {
        let is_syn = segment.flags.has(TcpFlags::SYN);
        if is_syn && side == Side::Sender {
            self.port = Some(segment.ports[0]);
        }
        let is_present = self.is_present(side, segment);
        if is_syn && is_present {
            self.first[side.index()] = segment.seq.wrapping_add(1);
        }
        let (seq, ack, sacks) = match side {
            Side::Sender if is_syn => (0, 0, SackBlocks::default()),
            Side::Sender => (self.number(self.bytes(segment).start), 1, SackBlocks::default()),
            Side::Receiver => {
                let (ack, sacks) = self.acknowledges(segment);
                (u32::from(!is_syn), ack, sacks)
            }
        };
        // An old connection is left once all of its data was read: it only sends it again.
        let mut retransmission = side == Side::Sender && segment.payload > 0 && !is_present;
        if side == Side::Sender && segment.payload > 0 && is_present {
            let bytes = self.bytes(segment);
            retransmission = bytes.start < self.sent;
            if retransmission {
                self.sends_again(seq, &bytes, last_serial);
            } else {
                self.sent = bytes.end;
                self.timed.push_back((bytes.end, now));
            }
        }
        TcpHeader {
            seq,
            ack,
            flags: segment.flags,
            payload: segment.payload as u32,
            window: u32::from(segment.window),
            sacks,
            timestamps: None,
            accecn: AccEcnOption::default(),
            retransmission,
        }
    }

    fn acknowledges(&self, segment: &Segment<'_>) -> (u32, SackBlocks) {
        let byte = |number| unwrapped(number, self.first[0], self.acknowledged);
        let mut sacks = SackBlocks::default();
        segment
            .sacks()
            .for_each(|(start, end)| sacks.push(self.number(byte(start)), self.number_above(byte(end))));
        (if segment.flags.has(TcpFlags::SYN) { 1 } else { self.number_above(byte(segment.ack)) }, sacks)
    }

    fn sends_again(&mut self, seq: u32, bytes: &Range<u64>, last_serial: u64) {
        self.timed.retain(|(end, _)| *end <= bytes.start || *end > bytes.end);
        let again = self.again.get_or_insert(Again { last_serial, segments: Vec::new() });
        again.segments.push(seq);
    }

    /// Data has reached the receiver; how many of its bytes are new.
    pub fn receives(&mut self, bytes: Range<u64>) -> u64 {
        let Range { mut start, mut end } = bytes;
        let known = |from: u64, to: u64| to.saturating_sub(from);
        let mut old = 0;
        let mut merged = Vec::new();
        for (&from, &to) in self.arrived.range(..=end).rev() {
            if to < start {
                break;
            }
            old += known(from.max(bytes.start), to.min(bytes.end));
            merged.push(from);
            (start, end) = (start.min(from), end.max(to));
        }
        merged.iter().for_each(|from| _ = self.arrived.remove(from));
        self.arrived.insert(start, end);
        bytes.end - bytes.start - old
    }

    /// An acknowledgement has reached the sender.
    pub fn takes_acknowledgement(&mut self, segment: &Segment<'_>, now: Time) {
        if segment.flags.has(TcpFlags::SYN) || !segment.flags.has(TcpFlags::ACK) {
            return;
        }
        let byte = unwrapped(segment.ack, self.first[0], self.acknowledged).min(self.sent);
        self.acknowledged = self.acknowledged.max(byte);
        while let Some((_, sent)) = self.timed.front().copied().filter(|(end, _)| *end <= byte) {
            self.rtt = now.since(sent);
            self.timed.pop_front();
        }
    }

    /// Takes a report of the variables and of events since the last one; the serial number given last before what it explains, if it explains something.
    pub fn take_report(
        &mut self,
        variables: SenderVariables,
        events: &[SenderEventKind],
        now: Time,
    ) -> Option<u64> {
        self.variables = SenderVariables { rtt: self.rtt, ..variables };
        let first = self.again.as_ref().and_then(|again| again.segments.first().copied());
        for &kind in events {
            let seq = match kind {
                SenderEventKind::Timeout
                | SenderEventKind::FastRetransmit
                | SenderEventKind::TailLossProbe => first,
                _ => None,
            };
            let SenderVariables { cwnd, ssthresh, rto, srtt, .. } = self.variables;
            let seq = seq.unwrap_or_else(|| self.acknowledged());
            self.facts.push_back(SenderEvent { at: now, kind, seq, cwnd, ssthresh, rto, srtt });
        }
        self.again.as_ref().map(|again| again.last_serial)
    }

    /// The retransmissions that the last report has explained.
    pub fn explained(&mut self) -> Vec<u32> {
        self.again.take().map(|again| again.segments).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_arrived_is_counted_once() {
        let mut stack = Stack::new(Bytes(100));
        assert_eq!(stack.receives(0..100), 100);
        assert_eq!(stack.receives(200..300), 100);
        assert_eq!((stack.has(1), stack.has(2), stack.has(3)), (true, false, true));
        assert_eq!(stack.receives(50..250), 100);
        assert_eq!((stack.receives(0..300), stack.arrived.len()), (0, 1));
        assert_eq!((stack.receives(290..310), stack.has(4)), (10, true));
    }

    #[test]
    fn segments_are_taken_once_all_of_them_is_read() {
        let mut stack = Stack::new(Bytes(100));
        assert_eq!([99, 1, 250, 49, 1].map(|bytes| stack.reads(bytes)), [0, 1, 2, 0, 1]);
    }

    #[test]
    fn a_new_connection_begins_with_its_syn_and_the_old_one_s_segments_change_nothing() {
        let mut stack = Stack::new(Bytes(1000));
        let at = (Time::ZERO, 0);
        let segment = |port, seq, payload, flags| Segment {
            ports: [port, 1],
            seq,
            payload,
            flags,
            ..Segment::default()
        };
        stack.sends(Side::Sender, &segment(7, 99, 0, TcpFlags::SYN), at);
        stack.sends(Side::Sender, &segment(7, 100, 1000, TcpFlags::ACK), at);
        assert_eq!((stack.receives(0..1000), stack.reads(1000)), (1000, 1));
        stack.connect_anew();
        assert_eq!((stack.poll_offer(), stack.poll_offer()), (Some(Offer::Anew), None));
        let old = segment(7, 1100, 1000, TcpFlags::ACK);
        stack.sends(Side::Sender, &old, at);
        assert!(!stack.is_present(Side::Sender, &old) && stack.sent == 0);
        stack.sends(Side::Sender, &segment(8, 499, 0, TcpFlags::SYN), at);
        let first = segment(8, 500, 1000, TcpFlags::ACK);
        assert_eq!(stack.sends(Side::Sender, &first, at).seq, 1);
        assert!(stack.is_present(Side::Sender, &first) && stack.sent == 1000 && stack.reads(999) == 0);
    }

    #[test]
    fn numbers_of_bytes_go_round_and_become_numbers_of_segments() {
        let mut stack = Stack::new(Bytes(1000));
        let syn = Segment { seq: u32::MAX - 1500, flags: TcpFlags::SYN, ..Segment::default() };
        let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
        assert_eq!(stack.sends(Side::Sender, &syn, (at(0), 0)).seq, 0);
        let data = |byte: u32| Segment {
            seq: (u32::MAX - 1499).wrapping_add(byte),
            payload: 1000,
            flags: TcpFlags::ACK,
            ..Segment::default()
        };
        let sent = [0, 1000, 2000].map(|byte| stack.sends(Side::Sender, &data(byte), (at(1), 5)));
        assert_eq!(
            sent.map(|header| (header.seq, header.retransmission)),
            [(1, false), (2, false), (3, false)]
        );
        let ack =
            Segment { ack: (u32::MAX - 1499).wrapping_add(2000), flags: TcpFlags::ACK, ..Segment::default() };
        assert_eq!(stack.sends(Side::Receiver, &ack, (at(2), 9)).ack, 3);
        stack.takes_acknowledgement(&ack, at(31));
        assert_eq!((stack.acknowledged(), stack.rtt), (3, Duration::from_millis(30)));
        let again = stack.sends(Side::Sender, &data(2000), (at(40), 9));
        assert_eq!((again.seq, again.retransmission), (3, true));
        let variables = SenderVariables::default();
        assert_eq!(stack.take_report(variables, &[SenderEventKind::Timeout], at(40)), Some(9));
        assert_eq!(stack.poll_fact().map(|fact| (fact.seq, fact.kind)), Some((3, SenderEventKind::Timeout)));
        assert_eq!(stack.explained(), [3]);
    }
}
