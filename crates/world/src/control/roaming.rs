//! Roaming with 802.11: inputs and actions of hosts, answers and detection of base stations, and the notices to agents.

use super::{Agents, HeldBack, Outgoing, send};
use crate::context::Context;
use crate::control::fault::FaultAction;
use crate::control::messages::{Content, ManagementFrame};
use crate::dataplane::network::{AirReport, Network};
use crate::event::Event;
use crate::ids::CellId;
use roamlab_mobility::L2Trigger;
use roamlab_packet::{Addr, DropReason, PacketId};
use roamlab_radio::{Management, Motion, StationAction, StationEvent};
use roamlab_record::cause::{Cause, CauseId, CurrentCause, Kind};
use roamlab_record::ids::{LinkId, Location, NodeId};

impl Agents {
    /// The plan takes a host into the coverage of a cell, or out of it: no component is notified.
    pub(super) fn change_coverage(
        &mut self,
        host: NodeId,
        (motion, cell): (Motion, CellId),
        net: &mut Network,
        cx: &mut Context,
    ) {
        let is_covered = matches!(motion, Motion::Enter { .. });
        let row = net.cells().cover(host, cell, is_covered, cx);
        if is_covered {
            cx.with_cause(CurrentCause::Row(row), |cx| self.hear(host, StationEvent::SwitchedOn, net, cx));
        }
    }

    /// A deadline of a roaming host, or of a base station that forgets hosts, may have come.
    pub fn wake_roaming(&mut self, node: NodeId, net: &mut Network, cx: &mut Context) {
        if let Some(cell) = net.cell_of(node) {
            return self.look_for_silent(cell, net, cx);
        }
        let busy = net.channel_was_busy(node);
        let led = net.cells().why_silent(node, cx);
        cx.with_cause(led, |cx| self.hear(node, StationEvent::Deadline { busy }, net, cx));
    }

    /// Layer 2 learns what was on the air.
    pub fn on_air_report(&mut self, report: AirReport, net: &mut Network, cx: &mut Context) {
        match report {
            AirReport::Beacon(cell, started) => {
                for host in net.cells().listeners(cell, started) {
                    let offer = net.cells().offer(host, cell);
                    let led = CurrentCause::New(Cause::root(Kind::OnAir).about(Some(net.address(host))));
                    cx.with_cause(led, |cx| {
                        self.hear(host, StationEvent::Cell { offer, beacon: true }, net, cx)
                    });
                }
            }
            AirReport::Attempt(host, answered) => {
                let heard = if answered { StationEvent::Answered } else { StationEvent::Unanswered };
                let led = net.cells().why_silent(host, cx);
                cx.with_cause(led, |cx| self.hear(host, heard, net, cx));
            }
            AirReport::HostSent(host, acknowledged) => self.frame_sent(host, acknowledged, net, cx),
            AirReport::Acknowledged(cell, host) => net.see(cell, host, cx),
            AirReport::GivenUp(cell, host) => {
                let led = CurrentCause::Row(
                    net.node_at(host).map_or(CauseId::START, |node| net.cells().why_unheard(node, cell, cx)),
                );
                cx.with_cause(led, |cx| self.dismiss(cell, host, "gone-by-retries", net, cx));
            }
        }
    }

    /// A management frame has arrived at a base station, or to a host.
    pub(super) fn take_frame(
        &mut self,
        node: NodeId,
        frame: ManagementFrame,
        net: &mut Network,
        cx: &mut Context,
    ) {
        let ManagementFrame { kind, host, cell } = frame;
        let addr = net.address(host);
        if node != host {
            net.see(cell, addr, cx);
            if kind == Management::NullData && net.stranger(cell, addr).is_some() {
                let refusal = ManagementFrame { kind: Management::Deauthentication, ..frame };
                return self.send_frame(node, refusal, net, cx);
            }
            if let Some(answer) = kind.answer() {
                self.send_frame(node, ManagementFrame { kind: answer, ..frame }, net, cx);
            }
            return;
        }
        match kind {
            Management::ProbeResponse => {
                let offer = net.cells().offer(host, cell);
                self.hear(host, StationEvent::Cell { offer, beacon: false }, net, cx);
            }
            Management::AuthenticationResponse => {
                self.hear(host, StationEvent::Authenticated(cell.0), net, cx)
            }
            Management::AssociationResponse | Management::ReassociationResponse => {
                self.hear(host, StationEvent::Associated(cell.0), net, cx);
                // The host has acknowledged the frame, though it may not want the cell any more.
                if net.cells().newest_cell(addr) != Some(cell) {
                    self.admit(cell, addr, net, cx);
                }
            }
            Management::Deauthentication => self.hear(host, StationEvent::Deauthenticated(cell.0), net, cx),
            Management::ProbeRequest
            | Management::AuthenticationRequest
            | Management::AssociationRequest
            | Management::ReassociationRequest
            | Management::NullData => {}
        }
    }

    /// A base station does not take data from a host that it has not associated, and reports this (§11.3).
    #[inline(never)]
    pub fn refuse(&mut self, uplink: LinkId, packet: PacketId, net: &mut Network, cx: &mut Context) {
        let Some((cell, host, cause)) = net.refuse(uplink, packet, cx) else { return };
        let frame = ManagementFrame { kind: Management::Deauthentication, host, cell };
        let (station, _) = net.base_station(cell);
        cx.with_cause(CurrentCause::Row(cause), |cx| self.send_frame(station, frame, net, cx));
    }

    /// A host hears something, and does what follows.
    fn hear(&mut self, host: NodeId, heard: StationEvent, net: &mut Network, cx: &mut Context) {
        let actions = net.cells().hear(host, heard, cx.now);
        self.act_on(host, &actions, net, cx);
        net.cells().arm_roaming(host, cx);
    }

    /// Each action leads to the next.
    fn act_on(&mut self, host: NodeId, actions: &[StationAction], net: &mut Network, cx: &mut Context) {
        let Some((action, rest)) = actions.split_first() else { return };
        let row = match *action {
            StationAction::Note(phase) => Some(net.cells().note(host, phase, host, cx)),
            StationAction::Leave(cell) => self.lose_cell(host, CellId(cell), net, cx),
            StationAction::Enter(cell) => self.associate(host, CellId(cell), net, cx),
            StationAction::Tune(channel) => {
                net.tune(host, channel, cx);
                None
            }
            StationAction::Probe => {
                self.probe(host, net, cx);
                None
            }
            StationAction::Authenticate(cell) => {
                self.request(host, CellId(cell), Management::AuthenticationRequest, net, cx);
                None
            }
            StationAction::KeepAlive(cell) => {
                self.request(host, CellId(cell), Management::NullData, net, cx);
                None
            }
            StationAction::Associate { cell, again } => {
                let kind = match again {
                    true => Management::ReassociationRequest,
                    false => Management::AssociationRequest,
                };
                self.request(host, CellId(cell), kind, net, cx);
                None
            }
        };
        match row {
            Some(row) => {
                net.cells().led_by(host, row);
                cx.with_cause(CurrentCause::Row(row), |cx| self.act_on(host, rest, net, cx));
            }
            None => self.act_on(host, rest, net, cx),
        }
    }

    /// A host gives its cell up: its own layer 2 reports that, and no other.
    fn lose_cell(
        &mut self,
        node: NodeId,
        cell: CellId,
        net: &mut Network,
        cx: &mut Context,
    ) -> Option<CauseId> {
        net.forget_frames(node, cx);
        let row = net.leave(node, cell, cx)?;
        let (host, (_, base_station)) = (net.address(node), net.base_station(cell));
        let down = L2Trigger::LinkDown { base_station };
        cx.with_cause(CurrentCause::Row(row), |cx| self.notify_agents(node, host, &down, net, cx));
        Some(row)
    }

    /// A host is associated: layer 2 of both ends reports that.
    fn associate(
        &mut self,
        node: NodeId,
        cell: CellId,
        net: &mut Network,
        cx: &mut Context,
    ) -> Option<CauseId> {
        let (_, row) = net.enter(node, cell, cx)?;
        let (host, (_, base_station)) = (net.address(node), net.base_station(cell));
        cx.with_cause(CurrentCause::Row(row), |cx| {
            self.admit(cell, host, net, cx);
            self.notify_agents(node, host, &L2Trigger::LinkUp { base_station }, net, cx);
        });
        Some(row)
    }

    /// A base station has associated a host, perhaps again.
    fn admit(&mut self, cell: CellId, host: Addr, net: &mut Network, cx: &mut Context) {
        net.admit(cell, host, cx);
        let (station, _) = net.base_station(cell);
        self.notify_agents(station, host, &L2Trigger::HostArrived { host }, net, cx);
        self.look_for_silent(cell, net, cx);
    }

    /// A base station takes a host as gone.
    fn dismiss(
        &mut self,
        cell: CellId,
        host: Addr,
        phase: &'static str,
        net: &mut Network,
        cx: &mut Context,
    ) {
        let (Some(node), (station, _)) = (net.node_at(host), net.base_station(cell)) else { return };
        let row = net.cells().note(node, phase, station, cx);
        net.dismiss(cell, host, row);
        cx.with_cause(CurrentCause::Row(row), |cx| {
            self.notify_agents(station, host, &L2Trigger::HostGone { host }, net, cx);
            net.flush_air(cell, host, row, cx);
            let frame = ManagementFrame { kind: Management::Deauthentication, host: node, cell };
            self.send_frame(station, frame, net, cx);
        });
    }

    /// A base station forgets hosts that it has had no sign of for long, and sets the time of its next look.
    fn look_for_silent(&mut self, cell: CellId, net: &mut Network, cx: &mut Context) {
        let (silent, next) = net.silent(cell, cx.now);
        let (node, _) = net.base_station(cell);
        if let Some(next) = next {
            cx.scheduler.push(next, Event::Roaming { node });
        }
        for host in silent {
            let led = CurrentCause::Row(net.cells().moved(host));
            cx.with_cause(led, |cx| self.dismiss(cell, host, "gone-by-silence", net, cx));
        }
    }

    /// A host asks on its channel who is there. Where no base station could receive it, its request takes no
    /// air.
    fn probe(&mut self, host: NodeId, net: &mut Network, cx: &mut Context) {
        let cells = net.cells().on_channel(host);
        if cells.is_empty() {
            return self.frame_sent(host, false, net, cx);
        }
        for cell in cells {
            self.request(host, cell, Management::ProbeRequest, net, cx);
        }
    }

    /// A management frame of a host has been on the air, or need not be.
    fn frame_sent(&mut self, host: NodeId, acknowledged: bool, net: &mut Network, cx: &mut Context) {
        net.cells().probed(host, cx.now);
        let sent = StationEvent::FrameSent { acknowledged };
        let about = net.address(host);
        if acknowledged || net.cells().newest_cell(about).is_none() {
            return self.hear(host, sent, net, cx);
        }
        let led = net.cells().why_silent(host, cx);
        cx.with_cause(led, |cx| self.hear(host, sent, net, cx));
    }

    fn request(&mut self, host: NodeId, cell: CellId, kind: Management, net: &mut Network, cx: &mut Context) {
        let led = cx.current_cause();
        net.cells().sent_by(host, led);
        self.send_frame(host, ManagementFrame { kind, host, cell }, net, cx);
    }

    /// A host or a base station sends a management frame.
    fn send_frame(&mut self, from: NodeId, frame: ManagementFrame, net: &mut Network, cx: &mut Context) {
        let ManagementFrame { kind, host, cell } = frame;
        let Some(link) = net.frame_link(from, host, cell) else { return };
        let Some(size) = net.cells().wifi().map(|wifi| kind.size(&wifi.sizes)) else { return };
        let (about, (_, base_station)) = (net.address(host), net.base_station(cell));
        let src = net.address(from);
        let dst = if from == host { base_station } else { about };
        let fault = self.fault_action((kind.name(), Some(about)));
        let place = Location::Node(from);
        let content = Content::Frame(frame);
        let signal = Outgoing { from, addresses: (src, dst), host: Some(about), size, content };
        let (id, packet) = send(signal, cx);
        match fault {
            None => net.send_over(link, packet, cx),
            Some(FaultAction::Lose) => {
                cx.lose(packet, DropReason::ForcedLoss, place);
                if kind == Management::ProbeRequest {
                    self.frame_sent(host, false, net, cx);
                }
            }
            Some(FaultAction::Delay(delay)) => {
                self.hold_back((HeldBack::Frame(link, packet.into()), id), (delay, place), cx);
            }
            Some(FaultAction::Duplicate(after)) => {
                let copy = cx.duplicate(&packet);
                net.send_over(link, packet, cx);
                self.send_later(HeldBack::Frame(link, copy.into()), after, cx);
            }
        }
    }
}
