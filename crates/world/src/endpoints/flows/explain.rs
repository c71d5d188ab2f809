//! The causes of a sender's window cuts and retransmissions: facts that the sender cannot know, found in the network.

use super::{Carrier, Flows};
use roamlab_congestion::{SenderEvent, SenderEventKind};
use roamlab_engine::Time;
use roamlab_packet::{FlowId, Packet};
use roamlab_record::cause::{Cause, CauseId, Kind, segment};
use roamlab_record::ids::NodeId;

impl Flows {
    /// The row of the causes for what a sender reports; none if its window opens.
    #[cold]
    pub(super) fn why_reduced(&mut self, flow: u32, fact: &SenderEvent, net: &mut impl Carrier) -> CauseId {
        let kind = match fact.kind {
            SenderEventKind::Timeout => Kind::Timeout,
            SenderEventKind::FastRetransmit => Kind::FastRetransmit,
            SenderEventKind::EcnReduction => Kind::CongestionMark,
            SenderEventKind::PersistentCongestion => Kind::PersistentCongestion,
            SenderEventKind::SafeRetreat => Kind::SafeRetreat,
            SenderEventKind::IdleRestart => Kind::Idle,
            SenderEventKind::RackMark => Kind::RackMark,
            SenderEventKind::TailLossProbe => Kind::TailLossProbe,
            SenderEventKind::TailLoss => Kind::TailLoss,
            // Causes that last after a timeout, a cut of the window or a change of cells.
            SenderEventKind::Window
            | SenderEventKind::RecoveryExit
            | SenderEventKind::Spurious
            | SenderEventKind::Migration
            | SenderEventKind::PathChange
            | SenderEventKind::Jump => {
                return self.flows[flow as usize].cause;
            }
        };
        if !net.cx().probes.causes.is_on() {
            return CauseId::NONE;
        }
        let cause = match kind {
            // The segments that RACK has just marked are the cause of the cut of the window.
            Kind::FastRetransmit if self.follows(flow, Kind::RackMark, net) => {
                self.flows[flow as usize].cause
            }
            Kind::Timeout
            | Kind::FastRetransmit
            | Kind::RackMark
            | Kind::PersistentCongestion
            | Kind::SafeRetreat => self.why_sent_again(flow, fact, net),
            Kind::TailLossProbe => {
                let awaited = SenderEvent { seq: self.acknowledged(flow), ..*fact };
                self.why_sent_again(flow, &awaited, net)
            }
            Kind::TailLoss => self.flows[flow as usize].cause,
            _ => CauseId::NONE,
        };
        let row = Cause::of(kind, "", cause).segment(FlowId(flow), fact.seq);
        let row = net.cx().add_cause(row);
        self.flows[flow as usize].cause = row;
        row
    }

    /// True if the flow's latest row is of this kind and of now.
    fn follows(&self, flow: u32, kind: Kind, net: &mut impl Carrier) -> bool {
        let (row, cx) = (self.flows[flow as usize].cause, net.cx());
        cx.probes.causes.is(row, kind) && cx.probes.causes.happened(row, cx.now)
    }

    /// The first segment outstanding.
    fn acknowledged(&self, flow: u32) -> u32 {
        let variables = self.flows[flow as usize].transport.variables();
        variables.map_or(0, |(_, acknowledged)| acknowledged)
    }

    /// Why no acknowledgement of a segment has come: all of its transmissions were lost, or the acknowledgement was. Or one
    /// of them is late: a buffer holds it, or has held it; its way has changed; a recorded link is out; or it is only slow.
    fn why_sent_again(&self, flow: u32, fact: &SenderEvent, net: &mut impl Carrier) -> CauseId {
        let (id, seq) = (FlowId(flow), fact.seq);
        let has_arrived = self.flows[flow as usize].transport.has(seq);
        let causes = &net.cx().probes.causes;
        let history = causes.segment_history(id, seq);
        if !has_arrived && history.all_lost() {
            return history.loss;
        }
        if matches!(fact.kind, SenderEventKind::Timeout | SenderEventKind::TailLossProbe)
            && has_arrived
            && let Some(lost) = causes.lost_ack(id, seq)
        {
            return lost;
        }
        let is_late = |packet: &&Packet| {
            let acknowledges = packet.is_of_connection() && segment(packet).is_none() && packet.ack() > seq;
            packet.flow == id && if has_arrived { acknowledges } else { segment(packet) == Some(seq) }
        };
        let late = net.cx().pool.inside().filter(is_late).min_by_key(|packet| packet.serial);
        let late = late.map(|packet| (packet.serial, packet.created));
        if late.is_none() && history.loss != CauseId::NONE {
            return history.loss;
        }
        // A timer runs for as long as its timeout; what held a segment up that has arrived did so in that time.
        let timer = Time::from_nanos(net.cx().now.as_nanos().saturating_sub(fact.rto.as_nanos()));
        let since = late.map_or(timer, |(_, created)| created.min(timer));
        let held = late.and_then(|(serial, _)| net.holder(self.nodes_of(flow), serial));
        let held = held.or_else(|| net.cx().probes.causes.released_since(id, seq, since));
        let held = held.or_else(|| self.moved_since(flow, since, net));
        let held = held.or_else(|| net.cx().probes.causes.link_change(since));
        let held = held.or_else(|| net.cx().probes.causes.outage_of(id, since));
        held.unwrap_or_else(|| {
            let kind = if has_arrived && late.is_none() { Kind::DelayedAck } else { Kind::Underway };
            let serial = late.map_or(0, |(serial, _)| serial);
            net.cx().add_cause(Cause { serial, ..Cause::root(kind).segment(id, seq) })
        })
    }

    /// The last change of cells of an end of a flow, if it was at or after `since`.
    fn moved_since(&self, flow: u32, since: Time, net: &mut impl Carrier) -> Option<CauseId> {
        let moves = self.nodes_of(flow).map(|end| net.last_change(end));
        moves.into_iter().filter(|&row| net.cx().probes.causes.happened(row, since)).max()
    }

    fn nodes_of(&self, flow: u32) -> [NodeId; 2] {
        [self.flows[flow as usize].src, self.flows[flow as usize].dst]
    }
}
