//! Keys of 802.11: base stations ask hosts for them, their server for those of EAP, and each other for those of fast
//! transition.

use super::{Server, Wlan};
use crate::control::messages::{Content, ManagementFrame};
use crate::control::{Outgoing, Way};
use crate::event::Event;
use crate::ids::CellId;
use roamlab_engine::Time;
use roamlab_radio::{Authenticator, AuthenticatorAction, AuthenticatorEvent, Management, StationEvent};
use roamlab_record::cause::{Cause, CauseId, CurrentCause, Kind};
use roamlab_record::ids::{Location, NodeId};

impl Wlan<'_> {
    /// A host is associated: its base station asks for its keys.
    pub(super) fn begin_keys(&mut self, frame: ManagementFrame) {
        let ManagementFrame { host, cell, number: rounds, .. } = frame;
        let (now, addr) = (self.cx.now, self.net.address(host));
        let mut actions = Vec::new();
        let authenticator = Authenticator::begin(rounds, now, &mut actions);
        if let Some(hosts) = self.net.associations(cell) {
            hosts.add_unauthorised(addr, authenticator, now);
        }
        self.net.wake(cell, addr, self.cx);
        self.authenticate(frame, &actions);
    }

    /// A frame of a host with keys has arrived.
    pub(super) fn key_frame(&mut self, frame: ManagementFrame) {
        self.hear_key(
            frame,
            match frame.kind {
                Management::EapResponse => AuthenticatorEvent::EapResponse(frame.number),
                Management::KeyMessage2 => AuthenticatorEvent::KeyMessage(2),
                _ => AuthenticatorEvent::KeyMessage(4),
            },
        );
    }

    /// An authenticator gets an input, and does what follows.
    fn hear_key(&mut self, frame: ManagementFrame, heard: AuthenticatorEvent) {
        let (now, addr) = (self.cx.now, self.net.address(frame.host));
        let Some(hosts) = self.net.associations(frame.cell) else { return };
        let Some((authenticator, _)) = hosts.authenticator(addr) else { return };
        let mut actions = Vec::new();
        authenticator.on(heard, now, &mut actions);
        self.authenticate(frame, &actions);
    }

    /// Authenticators of a base station have waited long enough for an answer.
    pub(super) fn ask_again(&mut self, cell: CellId) {
        let now = self.cx.now;
        let (node, _) = self.net.base_station(cell);
        let hosts = self.net.associations(cell).map(|hosts| hosts.unanswered(now)).unwrap_or_default();
        for addr in hosts {
            let asked_by =
                self.net.associations(cell).and_then(|hosts| hosts.authenticator(addr).map(|each| each.1));
            let asked_by = asked_by.unwrap_or(CauseId::START);
            let place = Location::Node(node);
            let cause = self.cx.probes.causes.missing(asked_by, place).unwrap_or(asked_by);
            let led = CurrentCause::New(Cause::of(Kind::Timer, "", cause).at(place).about(Some(addr)));
            let Some(host) = self.net.node_at(addr) else { continue };
            let frame = ManagementFrame { kind: Management::KeyMessage1, host, cell, number: 0 };
            self.led_by(led, |wlan| wlan.hear_key(frame, AuthenticatorEvent::Deadline));
        }
    }

    /// The actions of an authenticator are carried out, and its wake-up is set.
    fn authenticate(&mut self, frame: ManagementFrame, actions: &[AuthenticatorAction]) {
        let ManagementFrame { host, cell, .. } = frame;
        let (node, _) = self.net.base_station(cell);
        let (addr, led) = (self.net.address(host), self.cx.current_cause());
        let sends = |kind, number| ManagementFrame { kind, host, cell, number };
        for action in actions {
            match *action {
                AuthenticatorAction::EapRequest(round) => {
                    self.send_frame(node, sends(Management::EapRequest, round));
                }
                AuthenticatorAction::KeyMessage(1) => {
                    self.send_frame(node, sends(Management::KeyMessage1, 0))
                }
                AuthenticatorAction::KeyMessage(_) => {
                    self.send_frame(node, sends(Management::KeyMessage3, 0))
                }
                AuthenticatorAction::AskServer(round) => {
                    let server = self.stations.server.as_ref().map(|server| server.node);
                    server.into_iter().for_each(|server| {
                        self.send_wired((node, server), sends(Management::RadiusRequest, round));
                    });
                }
                AuthenticatorAction::Authorise => self.authorise(frame),
                AuthenticatorAction::Fail => {
                    self.dismiss(cell, addr, "gone-by-keys", Management::Deauthentication)
                }
            }
        }
        let Some(hosts) = self.net.associations(cell) else { return };
        let Some((authenticator, asked_by)) = hosts.authenticator(addr) else { return };
        if !actions.is_empty() {
            *asked_by = led;
        }
        if let Some(deadline) = authenticator.next_deadline() {
            self.cx.scheduler.push(deadline, Event::Roaming { node });
        }
    }

    /// A host has its keys: its data pass.
    fn authorise(&mut self, ManagementFrame { host, cell, .. }: ManagementFrame) {
        let addr = self.net.address(host);
        if let Some(hosts) = self.net.associations(cell) {
            hosts.give_key(addr);
        }
        self.hear(host, StationEvent::Authorised(cell.0));
        // The base station has the last message, though the host may not want the cell any more.
        if self.net.cells().newest_cell(addr) != Some(cell) {
            self.associate(cell, addr);
        }
    }

    /// A host wants to change cells by fast transition: its base station to be has its key, or asks for it.
    pub(super) fn find_key(&mut self, frame: ManagementFrame) {
        let (addr, (node, _)) = (self.net.address(frame.host), self.net.base_station(frame.cell));
        if self.net.associations(frame.cell).is_some_and(|hosts| hosts.has_key(addr)) {
            return self
                .send_frame(node, ManagementFrame { kind: Management::FastAuthenticationResponse, ..frame });
        }
        let (holder, _) = self.net.base_station(CellId(frame.number));
        self.send_wired((node, holder), ManagementFrame { kind: Management::KeyRequest, ..frame });
    }

    /// A message between base stations, or with the server, has arrived at a node.
    pub fn receive_wired(&mut self, node: NodeId, frame: ManagementFrame, row: CauseId) {
        let (now, (station, _)) = (self.cx.now, self.net.base_station(frame.cell));
        self.led_by(CurrentCause::Row(row), |wlan| match frame.kind {
            Management::RadiusRequest => {
                let ready = now + wlan.stations.security.server_time;
                let Some(server) = &mut wlan.stations.server else { return };
                server.computes.push_back((ready, frame, row));
                wlan.cx.scheduler.push(ready, Event::Roaming { node });
            }
            Management::RadiusAnswer => {
                wlan.hear_key(frame, AuthenticatorEvent::ServerAnswer(frame.number));
            }
            Management::KeyRequest => {
                wlan.send_wired((node, station), ManagementFrame { kind: Management::KeyAnswer, ..frame });
            }
            Management::KeyAnswer => {
                let addr = wlan.net.address(frame.host);
                if let Some(hosts) = wlan.net.associations(frame.cell) {
                    hosts.give_key(addr);
                }
                wlan.find_key(frame);
            }
            _ => {} // crosses the air
        });
    }

    /// The server sends the answers that it has computed.
    pub(super) fn server_computed(&mut self, node: NodeId) {
        while let Some((frame, row)) =
            self.stations.server.as_mut().and_then(|server| server.ready(node, self.cx.now))
        {
            let (station, _) = self.net.base_station(frame.cell);
            self.led_by(CurrentCause::Row(row), |wlan| {
                wlan.send_wired((node, station), ManagementFrame { kind: Management::RadiusAnswer, ..frame });
            });
        }
    }

    fn send_wired(&mut self, (from, to): (NodeId, NodeId), frame: ManagementFrame) {
        let size = frame.kind.size(&self.stations.sizes);
        let signal = Outgoing {
            repetition: 0,
            from,
            addresses: (self.net.address(from), self.net.address(to)),
            host: Some(self.net.address(frame.host)),
            size,
            content: Content::Wired(frame, size),
        };
        self.agents.send_signal(Way::Routed(from, None), signal, self.net, self.cx);
    }
}

impl Server {
    /// Takes the next answer that is ready now, if the server is at this node.
    fn ready(&mut self, node: NodeId, now: Time) -> Option<(ManagementFrame, CauseId)> {
        let is_ready = self.node == node && self.computes.front().is_some_and(|(ready, ..)| *ready <= now);
        let (_, frame, row) = if is_ready { self.computes.pop_front()? } else { return None };
        Some((frame, row))
    }
}
