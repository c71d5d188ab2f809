//! Why a sender cut its window or sent again: what it could not know, found in the network.

use crate::cause::{Cause, CauseId, Kind, segment};
use crate::flow::Transport;
use crate::world::World;
use roamlab_engine::Time;
use roamlab_packet::{FlowId, Packet};
use roamlab_transport::{TcpFact, TcpFactKind};

impl World {
    /// The row of the causes for what a sender reports; none if its window opens.
    #[cold]
    pub(crate) fn why_reduced(&mut self, flow: u32, fact: &TcpFact) -> CauseId {
        let kind = match fact.kind {
            TcpFactKind::Timeout => Kind::Timeout,
            TcpFactKind::FastRetransmit => Kind::FastRetransmit,
            TcpFactKind::EcnReduction => Kind::CongestionMark,
            TcpFactKind::IdleRestart => Kind::Idle,
            // What goes on after a timeout or a cut of the window.
            TcpFactKind::Window | TcpFactKind::RecoveryExit | TcpFactKind::Spurious => {
                return self.flows[flow as usize].cause;
            }
        };
        if !self.cx.probes.causes.is_on() {
            return CauseId::NONE;
        }
        let cause = match kind {
            Kind::Timeout | Kind::FastRetransmit => self.why_sent_again(flow, fact),
            _ => CauseId::NONE,
        };
        let row = Cause::of(kind, "", cause).segment(FlowId(flow), fact.seq);
        let row = self.cx.add_cause(row);
        self.flows[flow as usize].cause = row;
        row
    }

    /// Why no acknowledgement of a segment has come: all of its transmissions were lost, or the acknowledgement was. Or one
    /// of them is late: a buffer holds it, or has held it; its way has changed; or it is only slow.
    fn why_sent_again(&mut self, flow: u32, fact: &TcpFact) -> CauseId {
        let (id, seq) = (FlowId(flow), fact.seq);
        let has_arrived = match &self.flows[flow as usize].transport {
            Transport::Tcp { receiver, .. } => receiver.has(seq),
            Transport::Udp { .. } => false,
        };
        let causes = &self.cx.probes.causes;
        let fate = causes.fate(id, seq);
        if !has_arrived && fate.all_lost() {
            return fate.loss;
        }
        if fact.kind == TcpFactKind::Timeout
            && has_arrived
            && let Some(lost) = causes.lost_ack(id, seq)
        {
            return lost;
        }
        let is_late = |packet: &&Packet| {
            let acknowledges = packet.is_tcp() && segment(packet).is_none() && packet.ack() > seq;
            packet.flow == id && if has_arrived { acknowledges } else { segment(packet) == Some(seq) }
        };
        let late = self.cx.pool.inside().filter(is_late).min_by_key(|packet| packet.serial);
        let late = late.map(|packet| (packet.serial, packet.created));
        if late.is_none() && fate.loss != CauseId::NONE {
            return fate.loss;
        }
        // A timer runs for as long as its timeout; what held a segment up that has arrived did so in that time.
        let timer = Time::from_nanos(self.cx.now.as_nanos().saturating_sub(fact.rto.as_nanos()));
        let since = late.map_or(timer, |(_, created)| created.min(timer));
        let held = late.and_then(|(serial, _)| self.holder(flow, serial));
        let held = held.or_else(|| self.released_since(id, seq, since));
        let held = held.or_else(|| self.moved_since(flow, since));
        let held = held.or_else(|| self.cx.probes.causes.link_change(since));
        held.unwrap_or_else(|| {
            let kind = if has_arrived && late.is_none() { Kind::DelayedAck } else { Kind::Underway };
            let serial = late.map_or(0, |(serial, _)| serial);
            self.cx.add_cause(Cause { serial, ..Cause::root(kind).segment(id, seq) })
        })
    }

    /// What led to the buffer that holds a packet, or to the host that waits for a link with it.
    fn holder(&self, flow: u32, serial: u64) -> Option<CauseId> {
        let ends = [self.flows[flow as usize].src, self.flows[flow as usize].dst];
        for end in ends {
            let Some(mobile) = &self.nodes[end.0 as usize].mobile else { continue };
            if mobile.waiting.iter().any(|packet| self.cx.pool[packet].serial == serial) {
                return Some(mobile.moved.or(|| CauseId::START));
            }
        }
        let mut buffers = self.nodes.iter().flat_map(|node| node.buffers.values());
        let holder = buffers.find(|buffer| buffer.holds(serial, &self.cx.pool));
        holder.map(|buffer| buffer.cause).filter(|&cause| cause != CauseId::NONE)
    }

    /// What let a segment out of a buffer, or an acknowledgement of its flow, if that was at or after `since`.
    fn released_since(&self, flow: FlowId, seq: u32, since: Time) -> Option<CauseId> {
        let releases = &self.cx.probes.releases;
        let first = releases.time_ns.partition_point(|&time| time < since);
        let is_meant = |row: &usize| releases.flow[*row] == flow && [0, seq].contains(&releases.seq[*row]);
        (first..releases.time_ns.len()).rev().find(is_meant).map(|row| releases.cause[row])
    }

    /// The last change of cells of an end of a flow, if it was at or after `since`.
    fn moved_since(&self, flow: u32, since: Time) -> Option<CauseId> {
        let ends = [self.flows[flow as usize].src, self.flows[flow as usize].dst];
        let moves = ends.iter().filter_map(|end| Some(self.nodes[end.0 as usize].mobile.as_ref()?.moved));
        moves.filter(|&row| self.cx.probes.causes.happened(row, since)).max()
    }
}
