//! The access and mobility management function: requests path switches, one after the other for each host, by a block of
//! [`cellular`](crate::cellular), and prepares handovers over N2.

use super::outbox::Outbox;
use super::{Action, Input, Kind, Message, Params, Phase, Step};
use crate::cellular::{Asks, PathSwitching, Request, Rules};
use crate::transitions::Role;
use crate::{Agent, Identification, Wire};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::BTreeMap;
use std::sync::Arc;

crate::transitions! {
    Amf, "state of a host": Unknown "unknown", Idle "idle", Required "required", Commanded "commanded", Switching "switching";
    "unknown, idle" | "nas-service-request" | "newer" | "sbi-update-sm-context-request" | "switching";
    "required, commanded" | "nas-service-request" | "newer" | "sbi-update-sm-context-request" | "switching";
    "idle, required, commanded" | "ng-path-switch-request" | "newer" | "sbi-update-sm-context-request" | "switching";
    "unknown, idle, required, commanded, switching" | "ng-path-switch-request" | "of no host that is known, or older" | "ng-path-switch-request-failure" | "same";
    "idle, required, commanded" | "ng-path-switch-request" | "of the handover that is done" | "ng-path-switch-request-acknowledge" | "same";
    "switching" | "ng-path-switch-request, nas-service-request, ng-handover-notify" | "newer: waits for its turn; of the handover under way: is answered too" | "" | "same";
    "switching" | "sbi-update-sm-context-response" | "of the last request; the next one follows" | "ng-path-switch-request-acknowledge, ng-initial-context-setup, ng-ue-context-release-command, sbi-update-sm-context-request" | "idle, switching";
    "switching" | "sbi-update-sm-context-response" | "of the last request, behind which a handover continues" | "ng-path-switch-request-acknowledge" | "required, commanded";
    "idle, required, commanded" | "ng-handover-required" | "newer" | "sbi-update-sm-context-request" | "required";
    "switching" | "ng-handover-required" | "newer" | "sbi-update-sm-context-request" | "same";
    "required, switching" | "sbi-update-sm-context-response" | "a handover is required" | "ng-handover-request" | "same";
    "required, switching" | "ng-handover-request-acknowledge" | "of its target" | "sbi-update-sm-context-request" | "same";
    "required" | "sbi-update-sm-context-response" | "the target is ready" | "ng-handover-command" | "commanded";
    "switching" | "sbi-update-sm-context-response" | "the target is ready" | "ng-handover-command" | "same";
    "required" | "ng-handover-failure" | "of its target" | "ng-handover-preparation-failure" | "idle";
    "switching" | "ng-handover-failure" | "of its target" | "ng-handover-preparation-failure" | "same";
    "commanded, switching" | "ng-uplink-ran-status-transfer" | "of its source" | "ng-downlink-ran-status-transfer" | "same";
    "commanded" | "ng-handover-notify" | "of its target" | "sbi-update-sm-context-request" | "switching";
    "required, commanded" | "ng-handover-cancel" | "of its source" | "ng-ue-context-release-command, ng-handover-cancel-acknowledge" | "idle";
    "switching" | "ng-handover-cancel" | "of its source" | "ng-ue-context-release-command, ng-handover-cancel-acknowledge" | "same";
    "unknown, idle, switching" | "ng-handover-cancel" | "of no handover" | "ng-handover-cancel-acknowledge" | "same";
    "unknown, idle, required, commanded, switching" | "ng-ue-context-release-request" | "" | "ng-ue-context-release-command" | "same";
    "switching" | "time" | "the SMF has not confirmed it: the sessions are released" | "ng-path-switch-request-failure, sbi-update-sm-context-request" | "idle, required, commanded, switching";
    "idle, required, commanded, switching" | "time" | "of the source of a handover that was notified" | "ng-ue-context-release-command" | "same";
}

/// NR at the access and mobility management function.
#[derive(Clone, Debug)]
pub struct Amf {
    smf: Addr,
    params: Arc<Params>,
    rules: Box<Rules>,
    paths: PathSwitching,
    handovers: BTreeMap<Addr, Handover>,
    /// Sources that are released then.
    releases: Vec<(Time, Addr, Identification, Addr)>,
}

/// A handover over N2.
#[derive(Copy, Clone, Debug)]
struct Handover {
    id: Identification,
    source: Addr,
    target: Addr,
    /// The cell of the target.
    cell: Addr,
    commanded: bool,
}

impl Amf {
    /// A function that knows no host.
    pub fn new(smf: Addr, params: &Arc<Params>) -> Amf {
        Amf {
            smf,
            params: Arc::clone(params),
            rules: Box::new(params.rules(None)),
            paths: PathSwitching::new(smf),
            handovers: BTreeMap::new(),
            releases: Vec::new(),
        }
    }

    fn requested(&mut self, host: Addr, request: Request, now: Time, out: &mut Vec<Action>) {
        let out = &mut Outbox { out, amf: self.smf, by_core: false, dual: false };
        self.paths.requested(host, request, now, (&self.rules, out));
    }

    /// The handover of a host with this identification.
    fn handover(&self, host: Addr, id: Identification) -> Option<Handover> {
        self.handovers.get(&host).copied().filter(|handover| handover.id == id)
    }

    fn on_message(
        &mut self,
        from: Addr,
        (host, id, kind): (Addr, Identification, Kind),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let send = |to: Addr, kind: Kind, out: &mut Vec<Action>| {
            out.push(Message::about(host, id, kind).to(to));
        };
        let handover = self.handover(host, id);
        match (kind, handover) {
            (Kind::ServiceRequest { .. }, _) => {
                if self.handovers.get(&host).is_some_and(|handover| handover.id < id) {
                    self.handovers.remove(&host);
                }
                let request = Request { from, id, base_station: from, asks: Asks::Service };
                self.requested(host, request, now, out);
            }
            (Kind::PathSwitchRequest { base_station }, _) => {
                self.requested(host, Request { from, id, base_station, asks: Asks::Switch }, now, out);
            }
            (Kind::UpdateResponse { step }, _) => self.updated(host, (id, step), now, out),
            (Kind::HandoverRequired { target, cell }, None) => {
                let handover = Handover { id, source: from, target, cell, commanded: false };
                self.required(host, handover, out);
            }
            (Kind::NgHandoverRequestAcknowledge, Some(Handover { source, target, .. })) if from == target => {
                send(self.smf, Kind::UpdateRequest { step: Step::Forward { source, target } }, out);
            }
            (Kind::HandoverFailure, Some(Handover { source, target, commanded: false, .. }))
                if from == target =>
            {
                self.handovers.remove(&host);
                send(source, Kind::NgHandoverPreparationFailure { target }, out);
            }
            (Kind::UplinkStatusTransfer { counts }, Some(Handover { source, target, .. }))
                if from == source =>
            {
                send(target, Kind::DownlinkStatusTransfer { counts }, out);
            }
            (Kind::HandoverNotify, Some(Handover { source, target, commanded: true, .. }))
                if from == target =>
            {
                self.handovers.remove(&host);
                self.releases.push((now + self.params.release_after, host, id, source));
                let request = Request { from, id, base_station: target, asks: Asks::Notice };
                self.requested(host, request, now, out);
            }
            (Kind::NgHandoverCancel, _) => {
                if let Some(Handover { target, .. }) = handover.filter(|handover| handover.source == from) {
                    self.handovers.remove(&host);
                    send(target, Kind::ContextReleaseCommand, out);
                }
                send(from, Kind::NgHandoverCancelAcknowledge, out);
            }
            (Kind::ContextReleaseRequest, _) => send(from, Kind::ContextReleaseCommand, out),
            _ => {}
        }
    }

    /// A source asks for a handover. A path of the host has to be known, and no newer handover.
    fn required(&mut self, host: Addr, handover: Handover, out: &mut Vec<Action>) {
        let known = self.handovers.get(&host).map(|known| known.id);
        if self.paths.is_busy(host).is_some() && known.is_none_or(|known| known < handover.id) {
            self.handovers.insert(host, handover);
            let request = Kind::UpdateRequest { step: Step::Prepare };
            out.push(Message::about(host, handover.id, request).to(self.smf));
        }
    }

    /// The SMF has answered.
    fn updated(&mut self, host: Addr, (id, step): (Identification, Step), now: Time, out: &mut Vec<Action>) {
        if let Step::Switch { .. } = step {
            let out = &mut Outbox { out, amf: self.smf, by_core: false, dual: false };
            self.paths.modified(host, id, now, (&self.rules, out));
            return;
        }
        let Some(handover) = self.handovers.get_mut(&host).filter(|handover| handover.id == id) else {
            return;
        };
        let Handover { source, target, cell, .. } = *handover;
        let (to, kind) = match step {
            Step::Prepare => (target, Kind::NgHandoverRequest { source, cell }),
            _ => {
                handover.commanded = true;
                (source, Kind::HandoverCommand { target })
            }
        };
        out.push(Message::about(host, id, kind).to(to));
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<Action>) {
        for &(_, host, id, source) in self.releases.iter().filter(|(at, ..)| *at <= now) {
            out.push(Message::about(host, id, Kind::ContextReleaseCommand).to(source));
        }
        self.releases.retain(|(at, ..)| now < *at);
        let out = &mut Outbox { out, amf: self.smf, by_core: false, dual: false };
        self.paths.on_timer(now, (&self.rules, out));
    }
}

impl Role for Amf {
    fn state(&self, host: Addr) -> StateName {
        match (self.paths.is_busy(host), self.handovers.get(&host)) {
            (None, _) => StateName::Unknown,
            (Some(true), _) => StateName::Switching,
            (Some(false), None) => StateName::Idle,
            (Some(false), Some(Handover { commanded: false, .. })) => StateName::Required,
            (Some(false), Some(Handover { commanded: true, .. })) => StateName::Commanded,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.paths.hosts()
    }
}

impl Agent for Amf {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Deadline => self.on_timer(now, out),
            Input::Message { from, message: Message { host: Some(host), id, kind } } => {
                self.on_message(from, (host, id, kind), now, out);
            }
            Input::Message { .. } | Input::Trigger(_) | Input::Data { .. } => {}
        }
    }

    fn wire(&self, message: &Message) -> Option<Wire> {
        Some(self.params.wire(&message.kind))
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.releases.iter().for_each(|&(at, ..)| each(at));
        self.paths.deadlines(each);
    }
}
