//! The distributed unit: it passes RRC messages on, and orders hosts to other cells.

use super::central_unit::Units;
use super::message::Purpose;
use super::{Action, Input, Kind, Message, Params, Phase};
use crate::transitions::Role;
use crate::{Agent, Identification, L2Trigger, Via, Wire};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

mod synchronisation;

crate::transitions! {
    DistributedUnit, "state of a host": None "none", Reserved "reserved", Expecting "expecting", Active "active", Stopped "stopped";
    "any" | "host arrived" | "" | "" | "same";
    "any" | "host gone" | "" | "" | "same";
    "active, stopped, reserved" | "host gone" | "it was not ordered to a cell of this central unit" | "f1-ue-context-release-request" | "same";
    "active" | "retransmission limit" | "" | "f1-ue-context-release-request" | "same";
    "any" | "nas-service-request, rrc-measurement-report, rrc-reestablishment-request, rrc-reestablishment-complete, rrc-ltm-configuration-complete" | "of a present host" | "f1-ul-rrc-message-transfer" | "same";
    "none, active, stopped" | "rrc-reconfiguration-complete" | "of a present host" | "f1-ul-rrc-message-transfer" | "same";
    "reserved, expecting" | "rrc-reconfiguration-complete" | "the host has come: its packets follow" | "f1-ul-rrc-message-transfer, mac-uplink-grant, resume bearer, release, route" | "active";
    "any" | "f1-ue-context-setup-request" | "the host is here, or should be" | "f1-ue-context-setup-response, end bearer, resume bearer, route, f1-ue-context-release-request" | "active";
    "any" | "f1-ue-context-setup-request" | "it is to come" | "f1-ue-context-setup-response, end bearer, start buffering" | "expecting";
    "any" | "f1-ue-context-setup-request" | "it may come" | "f1-ue-context-setup-response, end bearer, start buffering" | "reserved";
    "reserved" | "f1-cu-du-cell-switch-notification" | "it is to come: packets that have overtaken this wait" | "" | "expecting";
    "any" | "f1-dl-rrc-message-transfer" | "for the host" | "rrc-setup, rrc-reestablishment, rrc-no-context" | "same";
    "active" | "f1-ue-context-modification-request" | "candidates" | "rrc-ltm-configuration, f1-ue-context-modification-response" | "same";
    "active" | "f1-ue-context-modification-request" | "a command: sends no more" | "rrc-reconfiguration, f1-ue-context-modification-response, freeze bearer, start buffering, report delivery" | "stopped";
    "active" | "l1-measurement-report" | "of a candidate: orders the host there" | "mac-cell-switch-command, f1-du-cu-cell-switch-notification, start buffering, report delivery" | "stopped";
    "active" | "time" | "a candidate without timing advance" | "pdcch-order" | "same";
    "reserved, expecting, active, stopped" | "ltm-random-access-preamble" | "of a host that may be in another cell" | "f1-du-cu-ta-information-transfer" | "same";
    "active" | "f1-cu-du-ta-information-transfer" | "of a candidate" | "" | "same";
    "reserved, stopped" | "time" | "the host is still here: orders it again" | "mac-cell-switch-command" | "same";
    "active" | "packet" | "its delivery is to be reported" | "" | "same";
    "active" | "time" | "a report is due" | "report delivery" | "same";
    "active" | "delivery reported" | "" | "f1u-delivery-status" | "same";
    "stopped" | "delivery reported" | "the last one" | "f1u-delivery-status, end bearer, start buffering" | "reserved";
    "any" | "f1-ue-context-release-command" | "" | "f1-ue-context-release-complete, end bearer, no route" | "none";
}

/// How often a host is ordered to the same cell at most.
const ORDERS: u32 = 8;

/// NR at a distributed unit.
#[derive(Clone, Debug)]
pub struct DistributedUnit {
    address: Addr,
    central: Addr,
    /// Distributed units of the same central unit.
    siblings: BTreeSet<Addr>,
    params: Arc<Params>,
    /// Hosts that layer 2 has here.
    present: BTreeSet<Addr>,
    hosts: BTreeMap<Addr, Context>,
}

/// The context of a host.
#[derive(Clone, Debug)]
struct Context {
    state: StateName,
    /// Of the newest message about it.
    id: Identification,
    /// Of the newest request that has changed the state.
    request: Identification,
    /// Its cells for switches.
    candidates: Vec<Addr>,
    /// Their timing advances.
    advances: BTreeMap<Addr, Advance>,
    /// When it is next reported what has happened to packets.
    status_at: Option<Time>,
    /// The host is ordered to another cell.
    order: Option<Order>,
    /// It is commanded to a cell of another central unit.
    leaves: bool,
}

/// An order to go to another cell.
#[derive(Copy, Clone, Debug)]
struct Order {
    target: Addr,
    /// The timing advance of the cell is known.
    timing: bool,
    id: Identification,
    /// When it is given again, and how often at most.
    again_at: Time,
    left: u32,
}

/// The timing advance of a candidate.
#[derive(Copy, Clone, Debug)]
struct Advance {
    is_known: bool,
    /// When the host is ordered to send a preamble, and how often at most.
    order_at: Option<Time>,
    left: u32,
}

impl DistributedUnit {
    /// The unit of the cell at this address, without hosts.
    pub fn new(at: Addr, units: &Units, params: &Arc<Params>) -> DistributedUnit {
        let central = units.get(&at).copied().unwrap_or(at);
        let siblings = units.iter().filter(|(_, other)| **other == central).map(|(unit, _)| *unit).collect();
        let (present, hosts) = (BTreeSet::new(), BTreeMap::new());
        DistributedUnit { address: at, central, siblings, params: Arc::clone(params), present, hosts }
    }

    fn tell(&self, host: Addr, id: Identification, kind: Kind, out: &mut Vec<Action>) {
        out.push(Message::about(host, id, kind).to(self.central));
    }

    /// A newer request about the host has come before this one.
    fn is_overtaken(&self, host: Addr, request: Identification) -> bool {
        self.hosts.get(&host).is_some_and(|known| request < known.request)
    }

    fn set_up(
        &mut self,
        (host, id): (Addr, Identification),
        purpose: Purpose,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        self.tell(host, id, Kind::UnitSetupResponse, out);
        if self.is_overtaken(host, id) {
            return;
        }
        let known = self.hosts.remove(&host);
        if known.is_some() {
            out.push(Action::EndBearer { host });
        }
        let state = match purpose {
            Purpose::Serve => {
                let to_air = Action::SetRoute { host, from: None, via: Via::Air, watch: true };
                out.extend([Action::ResumeBearer { host }, to_air]);
                StateName::Active
            }
            Purpose::Handover => {
                out.push(Action::StartBuffering { host });
                StateName::Expecting
            }
            Purpose::Candidate => {
                out.push(Action::StartBuffering { host });
                StateName::Reserved
            }
        };
        if purpose == Purpose::Serve && !self.present.contains(&host) {
            self.tell(host, id, Kind::UnitReleaseRequest { gone: true }, out);
        }
        let candidates = known.map_or(Vec::new(), |known| known.candidates);
        let (advances, status_at, order) = (BTreeMap::new(), None, None);
        let (request, leaves) = (id, false);
        let context = Context { state, id, request, candidates, advances, status_at, order, leaves };
        self.hosts.insert(host, context);
        self.synchronise_early(host, now);
    }

    /// A message of a host for the central unit.
    fn pass_up(&mut self, (host, id): (Addr, Identification), kind: Kind, now: Time, out: &mut Vec<Action>) {
        let arrives = matches!(kind, Kind::ReconfigurationComplete { .. });
        self.tell(host, id, Kind::UplinkRrcTransfer { rrc: Box::new(kind) }, out);
        let Some(known) = self.hosts.get_mut(&host).filter(|_| arrives) else { return };
        if !matches!(known.state, StateName::Reserved | StateName::Expecting) {
            return;
        }
        (known.state, known.order, known.id) = (StateName::Active, None, id);
        known.request = known.request.max(id);
        // It reports what happens to the packets that have waited here.
        known.status_at = Some(now + self.params.delivery_status_interval);
        out.push(Message::about(host, id, Kind::UplinkGrant).to(host));
        let release = Action::Release { host, via: Via::Air, mark: None };
        let to_air = Action::SetRoute { host, from: None, via: Via::Air, watch: true };
        out.extend([Action::ResumeBearer { host }, release, to_air]);
        self.synchronise_early(host, now);
    }

    /// The host is about to leave: what is sent to it later is not sent here.
    fn stop(known: &mut Context, host: Addr, out: &mut Vec<Action>) {
        (known.state, known.status_at) = (StateName::Stopped, None);
        known.advances.clear();
        out.extend([Action::StartBuffering { host }, Action::ReportDelivery { host, settled: true }]);
    }

    /// An RRC message changes the context too.
    fn modify(&mut self, (host, id): (Addr, Identification), rrc: Kind, now: Time, out: &mut Vec<Action>) {
        let Some(known) = self.hosts.get_mut(&host).filter(|known| known.state == StateName::Active) else {
            return;
        };
        let target = match &rrc {
            Kind::LtmConfiguration { candidates } => {
                known.candidates.clone_from(candidates);
                None
            }
            Kind::Reconfiguration { target, .. } => Some(*target),
            _ => None,
        };
        known.id = id;
        out.push(Message::about(host, id, rrc).to(host));
        let stopped = target.is_some();
        out.push(Message::about(host, id, Kind::UnitModificationResponse { stopped }).to(self.central));
        if let Some(target) = target {
            if !self.siblings.contains(&target) {
                known.leaves = true;
                out.push(Action::FreezeBearer { host });
            }
            Self::stop(known, host, out);
        }
        self.synchronise_early(host, now);
    }

    /// A candidate is better.
    fn order(&mut self, host: Addr, target: Addr, now: Time, out: &mut Vec<Action>) {
        let (Some(ltm), timing) = (&self.params.ltm, self.has_timing(host, target)) else { return };
        let Some(known) = self.hosts.get_mut(&host) else { return };
        if known.state != StateName::Active || !known.candidates.contains(&target) {
            return;
        }
        let id = known.id.newer(now);
        let (again_at, left) = (now + ltm.command_again, ORDERS - 1);
        (known.id, known.order) = (id, Some(Order { target, timing, id, again_at, left }));
        out.push(Action::Note { host, phase: Phase::HandoverCommanded });
        out.push(Message::about(host, id, Kind::CellSwitchCommand { target, timing }).to(host));
        out.push(Message::about(host, id, Kind::UnitCellSwitch { target }).to(self.central));
        Self::stop(known, host, out);
    }

    fn on_message(&mut self, from: Addr, message: Message, now: Time, out: &mut Vec<Action>) {
        let Message { host: Some(host), id, kind } = message else { return };
        if from == host {
            match kind {
                Kind::Preamble => self.preamble((host, id), out),
                _ if !self.present.contains(&host) => {}
                Kind::LayerOneReport { target } => self.order(host, target, now, out),
                kind => self.pass_up((host, id), kind, now, out),
            }
            return;
        }
        match kind {
            Kind::UnitSetupRequest { purpose } => self.set_up((host, id), purpose, now, out),
            Kind::UnitModificationRequest { rrc } => self.modify((host, id), *rrc, now, out),
            Kind::DownlinkRrcTransfer { rrc } => {
                out.push(Message::about(host, id, *rrc).to(host));
            }
            Kind::CentralCellSwitch { candidates } => {
                let known = self.hosts.get_mut(&host);
                if let Some(known) = known.filter(|known| known.state == StateName::Reserved) {
                    (known.state, known.candidates, known.order) = (StateName::Expecting, candidates, None);
                    known.request = known.request.max(id);
                }
            }
            Kind::CentralTimingAdvance { candidate } => self.adopt_timing(host, candidate, now),
            Kind::UnitReleaseCommand => {
                self.tell(host, id, Kind::UnitReleaseComplete, out);
                if !self.is_overtaken(host, id) && self.hosts.remove(&host).is_some() {
                    out.extend([Action::EndBearer { host }, Action::ClearRoute { host, from: None }]);
                }
            }
            _ => {}
        }
    }

    fn layer_2(&mut self, trigger: L2Trigger, now: Time, out: &mut Vec<Action>) {
        let interval = self.params.delivery_status_interval;
        match trigger {
            L2Trigger::HostArrived { host } => {
                self.present.insert(host);
            }
            L2Trigger::HostGone { host } => {
                self.present.remove(&host);
                let Some(known) = self.hosts.get_mut(&host) else { return };
                known.order = None;
                if known.state == StateName::Active || known.leaves {
                    let id = known.id;
                    self.tell(host, id, Kind::UnitReleaseRequest { gone: true }, out);
                }
            }
            L2Trigger::RetransmissionLimit { host } => {
                let known = self.hosts.get(&host).filter(|known| known.state == StateName::Active);
                if let Some(id) = known.map(|known| known.id) {
                    self.tell(host, id, Kind::UnitReleaseRequest { gone: false }, out);
                }
            }
            L2Trigger::DeliveryReported { host, done, open } => {
                let Some(known) = self.hosts.get_mut(&host) else { return };
                let (id, last) = (known.id, known.state == StateName::Stopped);
                if known.state == StateName::Active && open {
                    known.status_at = Some(now + interval);
                }
                if last {
                    known.state = StateName::Reserved;
                }
                if last || !done.is_empty() {
                    self.tell(host, id, Kind::DeliveryStatus { done, last }, out);
                }
                if last {
                    // The central unit has all packets.
                    out.extend([Action::EndBearer { host }, Action::StartBuffering { host }]);
                }
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<Action>) {
        self.order_preambles(now, out);
        let again = self.params.ltm.as_ref().map(|ltm| ltm.command_again);
        for (&host, known) in &mut self.hosts {
            if known.status_at.take_if(|at| *at <= now).is_some() {
                out.push(Action::ReportDelivery { host, settled: false });
            }
            if let Some(order) = known.order.take_if(|order| order.again_at <= now)
                && order.left > 0
                && let Some(after) = again
            {
                known.order = Some(Order { again_at: now + after, left: order.left - 1, ..order });
                let Order { target, timing, .. } = order;
                let kind = Kind::CellSwitchCommand { target, timing };
                out.push(Message::about(host, order.id, kind).to(host));
            }
        }
    }
}

impl Role for DistributedUnit {
    fn state(&self, host: Addr) -> StateName {
        self.hosts.get(&host).map_or(StateName::None, |known| known.state)
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.hosts.keys().copied()
    }
}

impl Agent for DistributedUnit {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Message { from, message } => self.on_message(from, message, now, out),
            Input::Trigger(trigger) => self.layer_2(trigger, now, out),
            Input::Deadline => self.on_timer(now, out),
            Input::Data { host, lost: false, .. } => {
                let at = now + self.params.delivery_status_interval;
                if let Some(known) =
                    self.hosts.get_mut(&host).filter(|known| known.state == StateName::Active)
                {
                    known.status_at.get_or_insert(at);
                }
            }
            Input::Data { .. } => {}
        }
    }

    fn wire(&self, message: &Message) -> Option<Wire> {
        Some(self.params.wire(&message.kind))
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        for known in self.hosts.values() {
            known.status_at.into_iter().for_each(&mut *each);
            known.order.into_iter().for_each(|order| each(order.again_at));
            known.advances.values().filter_map(Advance::deadline).for_each(&mut *each);
        }
    }
}
