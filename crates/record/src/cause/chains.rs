//! The rows of a run, and the state by which the row that led to something is found.

use super::{Cause, CauseId, Causes, CurrentCause, Kind, data_seq, follows_from_move, is_root, segment};
use crate::ids::{LinkId, Location};
use roamlab_engine::Time;
use roamlab_packet::{Addr, DropReason, FlowId, MessageId, Packet};
use std::collections::BTreeMap;

/// Lost messages that are looked at for one timer.
const MISSING_CONSIDERED: usize = 256;

/// The retransmissions and losses of a segment.
#[derive(Copy, Clone, Default, Debug)]
pub struct SegmentHistory {
    /// How often it was sent again.
    pub again: u32,
    /// How often it was lost.
    pub lost: u32,
    /// The packet that was lost last; 0: none with data.
    pub serial: u64,
    /// The row of its last loss.
    pub loss: CauseId,
}

impl SegmentHistory {
    /// True if nothing that was sent of it is on its way, unless it has arrived.
    pub fn all_lost(&self) -> bool {
        self.lost > self.again
    }
}

/// The part of a row by which causes are found.
#[derive(Copy, Clone, Debug)]
struct Step {
    time: Time,
    kind: Kind,
    host: Option<Addr>,
    cause: CauseId,
}

/// A message that was sent: its row, and the fields of the rows about its loss.
#[derive(Copy, Clone, Debug)]
struct Sent {
    row: CauseId,
    name: &'static str,
    at: Location,
    host: Option<Addr>,
    serial: u64,
}

/// The rows, and the state by which the row that led to something is found. The rows are only written.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// The rows.
    pub rows: Causes,
    is_on: bool,
    current: CurrentCause,
    /// A step for each row.
    steps: Vec<Step>,
    /// Messages by their numbers, and so in the order of their rows.
    messages: Vec<Sent>,
    /// Messages that were lost or held back, with the row of that.
    missing: Vec<(CauseId, CauseId)>,
    segments: BTreeMap<(FlowId, u32), SegmentHistory>,
    /// Of each flow the lost acknowledgement with the highest number.
    lost_acks: BTreeMap<FlowId, (u32, CauseId)>,
    /// The rows of changes of links.
    link_changes: Vec<CauseId>,
    /// Of each flow the last outage of a recorded link that one of its packets met, and when it ended.
    outages: BTreeMap<FlowId, (CauseId, Time)>,
    /// Of each host the row that last held up or redirected its packets.
    moves: BTreeMap<Addr, CauseId>,
    /// Of each segment of a flow, and as 0 of its acknowledgements, the last release from a buffer: its place in the order
    /// of all, when it was, and its row.
    releases: BTreeMap<(FlowId, u32), (u64, Time, CauseId)>,
    released: u64,
}

impl Chains {
    /// Rows are made from now on; the first is the start of the run.
    pub fn begin(&mut self) {
        self.is_on = true;
        self.add(Time::ZERO, Cause::root(Kind::Start));
    }

    /// True if rows are made.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Adds a row.
    pub fn add(&mut self, now: Time, row: Cause) -> CauseId {
        if !self.is_on {
            return CauseId::NONE;
        }
        let id = CauseId(self.steps.len() as u32);
        debug_assert!(row.cause == CauseId::NONE || row.cause < id, "{row:?}");
        self.steps.push(Step { time: now, kind: row.kind, host: row.host, cause: row.cause });
        self.rows.push(Cause { time_ns: now, ..row });
        if row.kind == Kind::LinkChange {
            self.link_changes.push(id);
        }
        id
    }

    /// The row that leads to what happens now, added if it is a new one.
    pub fn current(&mut self, now: Time) -> CauseId {
        let id = match self.current {
            CurrentCause::Row(id) => id,
            CurrentCause::New(row) => self.add(now, row),
        };
        self.current = CurrentCause::Row(id);
        id
    }

    /// From now on this is the cause of what happens; what was before.
    pub fn set_current(&mut self, cause: CurrentCause) -> CurrentCause {
        std::mem::replace(&mut self.current, cause)
    }

    /// An agent sends a message in the packet with this serial number; its row.
    pub fn message(
        &mut self,
        now: Time,
        name: &'static str,
        (at, host): (Location, Option<Addr>),
        serial: u64,
    ) -> CauseId {
        if !self.is_on {
            return CauseId::NONE;
        }
        let current = self.current(now);
        let message = Cause::of(Kind::Message, name, current).at(at).about(host);
        let row = self.add(now, Cause { serial, ..message });
        self.messages.push(Sent { row, name, at, host, serial });
        row
    }

    /// Cause of the actions of a host that entered a cell at the row `moved` and hears a broadcast there. It
    /// is the message, if that answers an action of the host there; otherwise the arrival.
    pub fn heard(&self, id: MessageId, host: Addr, moved: CauseId) -> CurrentCause {
        let Some(message) = self.messages.get(id.0 as usize) else { return CurrentCause::Row(CauseId::NONE) };
        let mut row = message.row;
        while row != CauseId::NONE && row > moved {
            let Step { host: about, cause, .. } = self.steps[row.0 as usize];
            if about == Some(host) {
                return CurrentCause::Row(message.row);
            }
            row = cause;
        }
        let row = Cause::of(Kind::Heard, message.name, moved.or(|| CauseId::START)).about(Some(host));
        CurrentCause::New(Cause { serial: message.serial, ..row })
    }

    /// The row of a message.
    pub fn message_row(&self, id: MessageId) -> CauseId {
        self.messages.get(id.0 as usize).map_or(CauseId::NONE, |message| message.row)
    }

    /// A fault holds a message back.
    pub fn held_back(&mut self, now: Time, id: MessageId, at: Location) {
        self.miss(now, id, Cause::root(Kind::DelayedMessage).at(at));
    }

    fn miss(&mut self, now: Time, id: MessageId, row: Cause) -> CauseId {
        let Some(&Sent { row: message, name, host, serial, .. }) = self.messages.get(id.0 as usize) else {
            return CauseId::NONE;
        };
        let name = if row.name.is_empty() { name } else { row.name };
        let row = self.add(now, Cause { name, serial, ..row.about(host) });
        self.missing.push((message, row));
        row
    }

    /// Of the messages that an agent at `at` sent because of `sent_by`, and those sent because of them, the
    /// last that was lost or held back: the row of that.
    pub fn missing(&self, sent_by: CauseId, at: Location) -> Option<CauseId> {
        let later = self.missing.iter().rev().take_while(|(message, _)| *message > sent_by);
        let is_from = |message: CauseId| {
            let mut at_row = message;
            while at_row != CauseId::NONE && at_row > sent_by {
                let Step { kind, cause, .. } = self.steps[at_row.0 as usize];
                if cause == sent_by && kind == Kind::Message {
                    let sent = self.messages.binary_search_by_key(&at_row, |message| message.row);
                    return sent.is_ok_and(|sent| self.messages[sent].at == at);
                }
                at_row = cause;
            }
            false
        };
        later.take(MISSING_CONSIDERED).find(|(message, _)| is_from(*message)).map(|&(_, row)| row)
    }

    /// A packet is lost for a reason, which `cause` led to unless the reason is in the network itself.
    pub fn lost(
        &mut self,
        now: Time,
        packet: &Packet,
        (reason, place): (DropReason, Location),
        cause: CauseId,
    ) -> CauseId {
        // A released copy and a suppressed acknowledgement are a loss for no flow.
        if !self.is_on || matches!(reason, DropReason::CopyReleased | DropReason::SuppressedAck) {
            return CauseId::NONE;
        }
        let has_cause = cause != CauseId::NONE;
        debug_assert!(has_cause != is_root(reason) || has_cause && follows_from_move(reason), "{reason:?}");
        let row = Cause::of(Kind::Loss, reason.name(), cause).at(place);
        if let Some(message) = packet.message() {
            return self.miss(now, message, row);
        }
        let row = Cause { serial: packet.serial, ..row.segment(packet.flow, data_seq(packet)) };
        let row = self.add(now, row);
        if !reason.loses_data() {
            return row;
        }
        if let Some(seq) = segment(packet) {
            let history = self.segments.entry((packet.flow, seq)).or_default();
            history.lost += 1;
            history.loss = row;
            if packet.payload() > 0 {
                history.serial = packet.serial;
            }
        } else if packet.is_of_connection() {
            let highest = self.lost_acks.entry(packet.flow).or_insert((packet.ack(), row));
            if packet.ack() >= highest.0 {
                *highest = (packet.ack(), row);
            }
        }
        row
    }

    /// A segment is sent again.
    pub fn sent_again(&mut self, flow: FlowId, seq: u32) {
        if self.is_on {
            self.segments.entry((flow, seq)).or_default().again += 1;
        }
    }

    /// The retransmissions and losses of a segment; none, if there were none.
    pub fn segment_history(&self, flow: FlowId, seq: u32) -> SegmentHistory {
        self.segments.get(&(flow, seq)).copied().unwrap_or_default()
    }

    /// The last loss of an acknowledgement for the arrival of this segment.
    pub fn lost_ack(&self, flow: FlowId, seq: u32) -> Option<CauseId> {
        self.lost_acks.get(&flow).filter(|(ack, _)| *ack > seq).map(|&(_, row)| row)
    }

    /// The first change of a link at or after `since`.
    pub fn link_change(&self, since: Time) -> Option<CauseId> {
        let first = self.link_changes.partition_point(|&row| !self.happened(row, since));
        self.link_changes.get(first).copied()
    }

    /// A packet begins to wait for an outage of a recorded link to end.
    pub fn outage(&mut self, (now, end): (Time, Time), packet: &Packet, link: LinkId) {
        if self.is_on {
            let row = Cause::root(Kind::LinkOutage).at(Location::Link(link));
            let row = Cause { serial: packet.serial, ..row.segment(packet.flow, data_seq(packet)) };
            let row = self.add(now, row);
            self.outages.insert(packet.flow, (row, end));
        }
    }

    /// The last outage of a recorded link that a packet of a flow met, if it ended at or after `since`.
    pub fn outage_of(&self, flow: FlowId, since: Time) -> Option<CauseId> {
        self.outages.get(&flow).filter(|(_, end)| *end >= since).map(|&(row, _)| row)
    }

    /// Because of this row packets of a host are held up, or redirected.
    pub fn moves(&mut self, host: Addr, row: CauseId) {
        if row != CauseId::NONE {
            self.moves.insert(host, row);
        }
    }

    /// The row that last held up or redirected packets of this host.
    pub fn moved(&self, host: Addr) -> CauseId {
        self.moves.get(&host).copied().unwrap_or_default()
    }

    /// A buffer releases a segment of a flow, or as 0 an acknowledgement, because of the row `cause`.
    pub fn release(&mut self, now: Time, (flow, seq): (FlowId, u32), cause: CauseId) {
        if self.is_on {
            self.released += 1;
            self.releases.insert((flow, seq), (self.released, now, cause));
        }
    }

    /// The row of the last release of a segment from a buffer, or of an acknowledgement of its flow, if that was at or after
    /// `since`.
    pub fn released_since(&self, flow: FlowId, seq: u32, since: Time) -> Option<CauseId> {
        let last = [0, seq].into_iter().filter_map(|seq| self.releases.get(&(flow, seq)));
        let last = last.filter(|(_, time, _)| *time >= since).max_by_key(|(order, ..)| *order);
        last.map(|&(.., row)| row)
    }

    /// True if there is such a row and it is from `since` or later.
    pub fn happened(&self, row: CauseId, since: Time) -> bool {
        self.steps.get(row.0 as usize).is_some_and(|step| step.time >= since)
    }

    /// True if the row is of that kind.
    pub fn is(&self, row: CauseId, kind: Kind) -> bool {
        self.steps.get(row.0 as usize).is_some_and(|step| step.kind == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use roamlab_engine::{Bytes, Duration};
    use roamlab_packet::{IpHeader, PacketPool, TcpFlags, TcpHeader, Tos};

    const FLOW: FlowId = FlowId(0);

    fn chains() -> Chains {
        let mut chains = Chains::default();
        chains.begin();
        chains
    }

    fn acknowledgement(ack: u32) -> Packet {
        let inner = IpHeader::new(Addr::new(1, 0), Addr::new(2, 0), Tos::default());
        let tcp = TcpHeader { ack, flags: TcpFlags::ACK, ..TcpHeader::default() };
        let mut pool = PacketPool::default();
        let packet = pool.create(Packet::make(FLOW, inner, Bytes(40), Time::ZERO, tcp));
        pool[&packet].clone()
    }

    #[test]
    fn the_highest_lost_acknowledgement_counts_and_of_equal_ones_the_last() {
        let mut chains = chains();
        let lost = (DropReason::ForcedLoss, Location::Node(NodeId(0)));
        let rows: Vec<CauseId> = [5, 9, 9, 7]
            .map(|ack| chains.lost(Time::ZERO, &acknowledgement(ack), lost, CauseId::NONE))
            .into();
        assert_eq!((chains.lost_ack(FLOW, 8), chains.lost_ack(FLOW, 9)), (Some(rows[2]), None));
    }

    #[test]
    fn the_last_release_of_a_segment_or_an_acknowledgement_counts() {
        let mut chains = chains();
        let ms = |millis| Time::ZERO + Duration::from_millis(millis);
        for (row, (at, seq)) in [(10, 7), (10, 0), (20, 8), (20, 7)].into_iter().enumerate() {
            chains.release(ms(at), (FLOW, seq), CauseId(row as u32));
        }
        let found = |seq, since| chains.released_since(FLOW, seq, ms(since)).map(|row| row.0);
        assert_eq!([7, 8, 9].map(|seq| found(seq, 10)), [Some(3), Some(2), Some(1)]);
        assert_eq!([7, 8, 9].map(|seq| found(seq, 11)), [Some(3), Some(2), None]);
        assert_eq!(found(7, 21), None);
    }

    #[test]
    fn an_outage_counts_until_its_end() {
        let mut chains = chains();
        let ms = |millis| Time::ZERO + Duration::from_millis(millis);
        chains.outage((ms(10), ms(60)), &acknowledgement(1), LinkId(0));
        let since = [10, 60, 61].map(|millis| chains.outage_of(FLOW, ms(millis)).is_some());
        assert_eq!(since, [true, true, false]);
    }
}
