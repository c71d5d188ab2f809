//! Layer 2 of hosts that roam with 802.11: their stations, the management frames of both ends, and the notices to agents.
//!
//! The station's automaton, the medium access and the parameters are in the crate `radio`; what a host can receive is in
//! the cells.

use crate::context::Context;
use crate::control::messages::{Content, ManagementFrame};
use crate::control::{Agents, Outgoing, Way, receive};
use crate::dataplane::network::{Network, TxReport};
use crate::event::Event;
use crate::ids::CellId;
use roamlab_engine::Time;
use roamlab_mobility::L2Trigger;
use roamlab_packet::{Addr, PacketId};
use roamlab_radio::{
    Management, ManagementSizes, Motion, Security, Station, StationAction, StationEvent, TxOutcome, Wifi,
};
use roamlab_record::cause::{Cause, CauseId, CurrentCause, Kind};
use roamlab_record::ids::{Location, NodeId};
use std::collections::VecDeque;
use std::sync::Arc;

pub(crate) mod association;
mod base_station;
mod keys;
pub(crate) mod power_save;
mod request;
mod transitions;

pub use request::Request;

/// The stations of the hosts that roam.
#[derive(Clone, Debug)]
pub struct Stations {
    /// By the nodes of the hosts; empty, if hosts do not roam.
    hosts: Vec<Option<Box<Host>>>,
    sizes: ManagementSizes,
    security: Security,
    server: Option<Server>,
    /// Requests of base stations to their hosts.
    requests: Vec<Request>,
}

/// The authentication server.
#[derive(Clone, Debug)]
struct Server {
    node: NodeId,
    /// Requests whose answers it computes, when each is ready, and the rows of their arrivals.
    computes: VecDeque<(Time, ManagementFrame, CauseId)>,
}

/// A host's station, and the causes of what it does.
#[derive(Clone, Debug)]
struct Host {
    station: Station,
    /// Since when it waits for responses to its probe requests.
    probed: Time,
    /// When its pending wake-up is due.
    armed: Option<Time>,
    /// The row of the causes of its last phase, and what led to the frames that it sent last.
    led: CauseId,
    sent_by: CauseId,
}

impl Stations {
    /// Stations that are switched off, if hosts roam, and the node of their authentication server; `is_host` is of each node.
    pub fn new(
        wifi: Option<&Wifi>,
        server: Option<NodeId>,
        requests: Vec<Request>,
        is_host: impl Iterator<Item = bool>,
    ) -> Stations {
        let Some(wifi) = wifi else {
            let (sizes, security) = (ManagementSizes::default(), Security::default());
            return Stations { hosts: Vec::new(), sizes, security, server: None, requests };
        };
        let numbers = |request: &Request| request.candidates.iter().map(|cell| cell.0).collect();
        let candidates: Arc<[Vec<u32>]> = requests.iter().map(numbers).collect();
        let host = || Host {
            station: Station::new(wifi.clone()).with_candidates(Arc::clone(&candidates)),
            probed: Time::ZERO,
            armed: None,
            led: CauseId::START,
            sent_by: CauseId::START,
        };
        let hosts = is_host.map(|is_host| is_host.then(|| Box::new(host()))).collect();
        let server = server.map(|node| Server { node, computes: VecDeque::new() });
        Stations { hosts, sizes: (*wifi.sizes).clone(), security: wifi.security.clone(), server, requests }
    }

    fn host(&mut self, node: NodeId) -> Option<&mut Host> {
        self.hosts.get_mut(node.0 as usize)?.as_deref_mut()
    }
}

/// The stations at an event, with the parts that they use.
pub struct Wlan<'a> {
    /// The stations.
    pub stations: &'a mut Stations,
    /// The agents, which learn of changes and whose faults frames meet.
    pub agents: &'a mut Agents,
    /// The network, which carries frames.
    pub net: &'a mut Network,
    /// The context.
    pub cx: &'a mut Context,
}

impl Wlan<'_> {
    /// The plan takes a host into the coverage of a cell, or out of it: only its station is notified.
    pub fn move_host(&mut self, host: NodeId) {
        let Some((motion, cell, row)) = self.net.cells().next_motion(host, self.cx) else { return };
        if self.net.cells().measures(host) {
            return; // its measurements begin now
        }
        self.led_by(CurrentCause::Row(row), |wlan| {
            wlan.cover(host, cell, matches!(motion, Motion::Enter { .. }));
        });
    }

    /// A host measures its cells: those that it hears cover it.
    pub fn measure(&mut self, host: NodeId) {
        let about = Some(self.net.address(host));
        for (cell, is_covered) in self.net.cells().measure_coverage(host, self.cx) {
            let root = self.cx.add_cause(Cause::root(Kind::Measurement).about(about));
            self.led_by(CurrentCause::Row(root), |wlan| wlan.cover(host, cell, is_covered));
        }
        let own = self.stations.host(host).and_then(|host| host.station.cell());
        if let Some(cell) = own {
            let strength = self.net.cells().strength(host, CellId(cell));
            self.hear(host, StationEvent::Level(cell, strength));
        }
    }

    /// A host comes into the coverage of a cell, or leaves it.
    fn cover(&mut self, host: NodeId, cell: CellId, is_covered: bool) {
        let row = self.net.cells().cover(host, cell, is_covered, self.cx);
        if is_covered {
            self.led_by(CurrentCause::Row(row), |wlan| wlan.hear(host, StationEvent::SwitchedOn));
        }
    }

    /// A deadline of a host, or of a base station that forgets hosts, may have come.
    pub fn wake(&mut self, node: NodeId) {
        self.server_computed(node);
        if let Some(cell) = self.net.cell_of(node) {
            self.ask_again(cell);
            self.requests_due(cell);
            return self.look_for_silent(cell);
        }
        let since = self.stations.host(node).map_or(Time::ZERO, |host| host.probed);
        let busy = self.net.channel_was_busy(node, since);
        let led = self.why_silent(node);
        self.led_by(led, |wlan| wlan.hear(node, StationEvent::Deadline { busy }));
    }

    /// An attempt to send a frame has ended.
    pub fn on_tx_report(&mut self, report: TxReport) {
        let TxReport { from, management, outcome, .. } = report;
        match self.net.cell_of(from) {
            Some(cell) => self.base_station_sent(cell, report),
            None if !management => {
                let led = self.why_silent(from);
                self.led_by(led, |wlan| {
                    wlan.hear(from, StationEvent::Sent { management, outcome });
                    wlan.hear_if_quiet(from);
                });
            }
            None if outcome == TxOutcome::Retried => {}
            None => self.frame_sent(from, outcome),
        }
    }

    /// A management frame has arrived at a base station, or at a host.
    #[inline(never)]
    pub fn receive(&mut self, node: NodeId, packet: PacketId) {
        let Some((id, _, Content::Frame(frame))) = receive(packet, self.cx) else { return };
        let led = CurrentCause::Row(self.cx.probes.causes.message_row(id));
        self.led_by(led, |wlan| {
            if node == frame.host {
                wlan.host_receives(frame)
            } else {
                wlan.base_station_receives(node, frame)
            }
        });
    }

    /// Does something of which this is the cause.
    fn led_by(&mut self, cause: CurrentCause, what: impl FnOnce(&mut Wlan<'_>)) {
        let Wlan { stations, agents, net, cx } = self;
        cx.with_cause(cause, |cx| what(&mut Wlan { stations, agents, net, cx }));
    }

    fn host_receives(&mut self, frame: ManagementFrame) {
        let ManagementFrame { kind, host, cell, .. } = frame;
        match kind {
            Management::ProbeResponse => {
                let offer = self.net.cells().offer(host, cell);
                self.hear(host, StationEvent::Cell { offer, beacon: false });
            }
            Management::AuthenticationResponse | Management::FastAuthenticationResponse => {
                self.hear(host, StationEvent::Authenticated(cell.0));
            }
            Management::AssociationResponse
            | Management::ReassociationResponse
            | Management::FastReassociationResponse => {
                self.hear(host, StationEvent::Associated(cell.0));
                // The host has acknowledged the frame, though it may not want the cell any more.
                let addr = self.net.address(host);
                if self.net.cells().newest_cell(addr) == Some(cell) {
                    return;
                }
                match kind == Management::FastReassociationResponse || !self.stations.security.has_keys() {
                    true => self.associate(cell, addr),
                    false => self.begin_keys(frame),
                }
            }
            Management::EapRequest => self.answer(Management::EapResponse, frame),
            Management::KeyMessage1 => self.answer(Management::KeyMessage2, frame),
            Management::KeyMessage3 => self.answer(Management::KeyMessage4, frame),
            Management::NeighbourReportResponse => {
                let channels = self.net.cells().channels_of_others(cell);
                self.hear(host, StationEvent::Neighbours { cell: cell.0, channels });
            }
            Management::Deauthentication => self.hear(host, StationEvent::Deauthenticated(cell.0)),
            Management::Disassociation => self.hear(host, StationEvent::Disassociated(cell.0)),
            Management::TransitionRequest => {
                let channels = self.channels_of_candidates(frame.number);
                self.hear(host, StationEvent::Transition { cell: cell.0, request: frame.number, channels });
            }
            _ => {} // what a host sends
        }
    }

    /// A host answers a request for its keys, of the base station that it is associated with.
    fn answer(&mut self, kind: Management, frame: ManagementFrame) {
        let ManagementFrame { host, cell, .. } = frame;
        if self.stations.host(host).is_some_and(|known| known.station.cell() == Some(cell.0)) {
            self.request(ManagementFrame { kind, ..frame });
        }
    }

    /// A host's station gets an input, and does what follows.
    fn hear(&mut self, host: NodeId, heard: StationEvent) {
        let mut actions = Vec::new();
        if let Some(Host { station, .. }) = self.stations.host(host) {
            station.on(heard, self.cx.now, &mut actions);
        }
        self.act_on(host, &actions);
        self.arm(host);
    }

    /// Sets a host's wake-up, if it must come earlier than the pending one.
    fn arm(&mut self, node: NodeId) {
        let Some(host) = self.stations.host(node) else { return };
        host.armed = host.armed.filter(|armed| *armed > self.cx.now);
        // A time that has passed while it was away is now.
        let Some(deadline) = host.station.next_deadline().map(|time| time.max(self.cx.now)) else { return };
        if host.armed.is_none_or(|armed| deadline < armed) {
            host.armed = Some(deadline);
            self.cx.scheduler.push(deadline, Event::Roaming { node });
        }
    }

    /// Each action leads to the next.
    fn act_on(&mut self, host: NodeId, actions: &[StationAction]) {
        let Some((action, rest)) = actions.split_first() else { return };
        let row = self.act(host, *action);
        let Some(row) = row else { return self.act_on(host, rest) };
        if let Some(host) = self.stations.host(host) {
            host.led = row;
        }
        self.led_by(CurrentCause::Row(row), |wlan| wlan.act_on(host, rest));
    }

    /// A station's action is carried out; the row of the causes of a change.
    fn act(&mut self, host: NodeId, action: StationAction) -> Option<CauseId> {
        match action {
            StationAction::Note(phase) => return Some(self.net.cells().note(host, phase, host, self.cx)),
            StationAction::Leave(cell) => return self.leave_cell(host, CellId(cell)),
            StationAction::Enter(cell) => return self.enter_cell(host, CellId(cell)),
            StationAction::Tune(channel) => self.net.tune(host, channel, self.cx),
            StationAction::Probe => self.probe(host),
            StationAction::Authenticate(cell) => {
                self.ask(host, CellId(cell), Management::AuthenticationRequest);
            }
            StationAction::FastAuthenticate(cell) => {
                self.ask(host, CellId(cell), Management::FastAuthenticationRequest);
            }
            StationAction::KeepAlive(cell) => self.ask(host, CellId(cell), Management::NullData),
            StationAction::Doze(cell) => {
                self.net.pause(host, CellId(cell), true, self.cx);
                self.ask(host, CellId(cell), Management::PowerSave);
            }
            StationAction::Wake(cell) => {
                self.ask(host, CellId(cell), Management::Awake);
                self.net.pause(host, CellId(cell), false, self.cx);
            }
            StationAction::Respond { cell, status, .. } => {
                let kind = Management::TransitionResponse;
                self.request(ManagementFrame { kind, host, cell: CellId(cell), number: status });
            }
            StationAction::Associate { cell, again } => {
                let kind = match again {
                    true => Management::ReassociationRequest,
                    false => Management::AssociationRequest,
                };
                self.ask(host, CellId(cell), kind);
            }
            StationAction::FastAssociate(cell) => {
                self.ask(host, CellId(cell), Management::FastReassociationRequest);
            }
            StationAction::AskNeighbours(cell) => {
                self.ask(host, CellId(cell), Management::NeighbourReportRequest);
            }
        }
        None
    }

    /// A host gives its cell up: its own layer 2 reports that, and no other.
    fn leave_cell(&mut self, node: NodeId, cell: CellId) -> Option<CauseId> {
        self.net.forget_frames(node, self.cx);
        self.net.pause(node, cell, false, self.cx);
        self.net.cells().count_visit(node);
        let row = self.net.leave(node, cell, self.cx)?;
        let (_, base_station) = self.net.base_station(cell);
        self.led_by(CurrentCause::Row(row), |wlan| {
            wlan.notify(node, node, &L2Trigger::LinkDown { base_station })
        });
        Some(row)
    }

    /// A host is associated: layer 2 of both ends reports that.
    fn enter_cell(&mut self, node: NodeId, cell: CellId) -> Option<CauseId> {
        let (_, row) = self.net.enter(node, cell, self.cx)?;
        let (_, base_station) = self.net.base_station(cell);
        self.led_by(CurrentCause::Row(row), |wlan| {
            wlan.associate(cell, wlan.net.address(node));
            wlan.notify(node, node, &L2Trigger::LinkUp { base_station });
        });
        Some(row)
    }

    /// Layer 2 tells the agents of a host's domains at a node.
    fn notify(&mut self, node: NodeId, host: NodeId, trigger: &L2Trigger) {
        let host = self.net.address(host);
        self.agents.notify_agents(node, host, trigger, self.net, self.cx);
    }

    /// A host asks on its channel who is there. Where no base station could receive it, its request takes no air.
    fn probe(&mut self, host: NodeId) {
        let cells = self.net.cells().on_channel(host);
        if cells.is_empty() {
            return self.frame_sent(host, TxOutcome::NotReceived);
        }
        for cell in cells {
            self.ask(host, cell, Management::ProbeRequest);
        }
    }

    /// A host that is about to leave the channel of its cell has nothing left to send there.
    fn hear_if_quiet(&mut self, node: NodeId) {
        let about = self.net.address(node);
        let cell = self.net.cells().newest_cell(about);
        if cell.is_some_and(|cell| self.net.is_quiet(node, cell, self.cx)) {
            self.hear(node, StationEvent::Quiet);
        }
    }

    /// A management frame of a host has been on the air, or need not be.
    fn frame_sent(&mut self, node: NodeId, outcome: TxOutcome) {
        if let Some(host) = self.stations.host(node) {
            host.probed = self.cx.now;
        }
        let sent = StationEvent::Sent { management: true, outcome };
        let about = self.net.address(node);
        let hear = |wlan: &mut Wlan<'_>| {
            wlan.hear(node, sent);
            wlan.hear_if_quiet(node);
        };
        if outcome == TxOutcome::Received || self.net.cells().newest_cell(about).is_none() {
            return hear(self);
        }
        let led = self.why_silent(node);
        self.led_by(led, hear);
    }

    /// A host sends a request to a base station.
    fn ask(&mut self, host: NodeId, cell: CellId, kind: Management) {
        let station = self.stations.host(host).map(|known| &known.station);
        let number = station.map_or(0, |station| match kind {
            Management::AssociationRequest | Management::ReassociationRequest => station.rounds_at(cell.0),
            Management::FastAuthenticationRequest => station.first_key_at().unwrap_or(cell.0),
            _ => 0,
        });
        self.request(ManagementFrame { kind, host, cell, number });
    }

    /// A host sends a frame to a base station.
    fn request(&mut self, frame: ManagementFrame) {
        let led = self.cx.current_cause();
        if let Some(host) = self.stations.host(frame.host) {
            host.sent_by = led;
        }
        self.send_frame(frame.host, frame);
    }

    /// A host or a base station sends a management frame.
    fn send_frame(&mut self, from: NodeId, frame: ManagementFrame) {
        let ManagementFrame { kind, host, cell, .. } = frame;
        let cells = self.net.cells();
        let link = if from == host { cells.uplink_to(host, cell) } else { Some(cells.air(cell)) };
        let Some(link) = link else { return };
        let (about, (_, base_station)) = (self.net.address(host), self.net.base_station(cell));
        let dst = if from == host { base_station } else { about };
        let signal = Outgoing {
            repetition: 0,
            from,
            addresses: (self.net.address(from), dst),
            host: Some(about),
            size: kind.size(&self.stations.sizes),
            content: Content::Frame(frame),
        };
        let sets_out = self.agents.send_signal(Way::Link(link), signal, self.net, self.cx);
        let is_awaited = matches!(
            kind,
            Management::ProbeRequest
                | Management::PowerSave
                | Management::Awake
                | Management::TransitionResponse
        );
        if !sets_out && is_awaited {
            self.frame_sent(host, TxOutcome::NotReceived);
        }
    }

    /// Cause of a host's deadline that has come, or of an attempt to send that was not acknowledged: the host
    /// has left its cell, or the medium has lost something. While it looks for a cell, the loss of its last
    /// request.
    fn why_silent(&mut self, node: NodeId) -> CurrentCause {
        let Some(host) = self.stations.host(node) else { return CurrentCause::default() };
        let about = Some(Addr::mobile(node.0));
        if let Some(cell) = host.station.cell() {
            return match self.net.cells().coverage_ended(node, CellId(cell)) {
                Some(row) => CurrentCause::Row(row),
                None if host.station.scans_at().is_some_and(|time| time <= self.cx.now) => {
                    CurrentCause::New(Cause::root(Kind::Measurement).about(about))
                }
                None => CurrentCause::New(Cause::root(Kind::OnAir).about(about)),
            };
        }
        let place = Location::Node(node);
        let missing = self.cx.probes.causes.missing(host.sent_by, place);
        let cause = missing.unwrap_or(host.led.or(|| CauseId::START));
        CurrentCause::New(Cause::of(Kind::Timer, "", cause).at(place).about(about))
    }
}
