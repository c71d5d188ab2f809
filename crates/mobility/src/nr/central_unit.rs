//! The central unit: the base station for hosts and for other nodes, and the one that moves hosts between its distributed
//! units.
//!
//! A base station in two nodes (TS 38.401): a central unit with RRC and PDCP, and distributed units with RLC and MAC, F1
//! between them (TS 38.473). Each cell is one distributed unit. The central unit is the base station for all others:
//! no message of Xn or NG, no path switch and no end marker belongs to a switch between its distributed units. Between
//! central units a handover goes over Xn, or over N2 through the AMF.
//!
//! Handover between distributed units (TS 38.401 §8.2.1.1); `==` are packets.
//!
//! ```text
//!        UE          source DU        target DU          CU
//!        |-measurement->|-----------------|------------->|   NeighbourReported
//!        |   report     |                 |<-UE context--|
//!        |              |                 |  setup       |
//!        |              |                 |-response---->|   HandoverPrepared
//!        |              |<-UE context modification-------|   HandoverCommanded
//!        |<-reconfigu---|                 |              |
//!        |  ration      |-response, delivery status----->|
//!      T304             |                 |<=============|   what is not confirmed, and what follows
//!        |-reconfiguration complete------>|------------->|   HandoverConfirmed
//!        |<===============================|              |
//!        |              |<-UE context release------------|
//! ```
//!
//! L1/L2-triggered mobility (LTM, TS 38.300 §9.2.3.5): the candidates are prepared before, and the distributed unit orders the
//! switch.
//!
//! ```text
//!        UE          source DU        target DU          CU
//!        |              |                 |<-UE context--|   of each candidate that the host reports
//!        |              |                 |  setup       |
//!        |<-ltm-config--|<-UE context modification-------|
//!        |-complete---->|-----------------|------------->|
//!        |<-PDCCH order-|                 |              |   of each candidate
//!        |-preamble---------------------->|-DU-CU TA---->|
//!        |              |<-CU-DU TA information transfer-|
//!        |-L1 report--->|                 |              |
//!        |<-cell switch-|-cell switch notification------>|   HandoverCommanded
//!        |  command     |                 |<-------------|
//!      T304             |-delivery status--------------->|
//!        |              |                 |<=============|   what is not confirmed, and what follows
//!        |-reconfiguration complete------>|------------->|   HandoverConfirmed
//!        |<-grant-------|-----------------|              |   AccessGranted: T304 stops
//!        |<===============================|              |
//! ```
//!
//! Without a valid timing advance random access comes before the complete message, and stops T304. The cell that the host has
//! left stays a candidate. Packets that overtake the notification wait at the target. Requests that change a context have an
//! order: one that comes late does not undo a newer one.
//!
//! | lost | recovered by |
//! | --- | --- |
//! | L1 report | the next one |
//! | cell switch command | the distributed unit orders again, as long as it has the host |
//! | cell switch notification of the source | the complete message at the target |
//! | cell switch notification to the target | the same |
//! | delivery status | the complete message: all that is not confirmed is repeated then |
//! | PDCCH order, preamble, the timing advance | another order; without it the switch has random access |
//! | messages of the preparation | the next measurement report, after TXnRELOCprep |
//! | complete message, grant | T304: a candidate, or re-establishment |
//!
//! ASSUMPTION: a distributed unit reports delivery by messages that are repeated if they are lost, in operation one for each
//! interval in which it has something to report. A packet for which it has no room is reported like one that it gives up.
//!
//! DEVIATION: all base stations are split, or none. With them there is no conditional handover and no DAPS, and bearers are in
//! acknowledged mode. RLC is always re-established, as each cell has its own.

use super::message::Purpose;
use super::{Action, GNodeB, Input, Kind, Message, Params, Phase};
use crate::transitions::{Machine as _, Role};
use crate::{Agent, Identification, L2Trigger, Wire};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

mod switching;

/// The central unit of each cell, by its base station.
pub(super) type Units = BTreeMap<Addr, Addr>;

crate::transitions! {
    CentralUnit, "state of a host": None "none", Reached "reached", Preparing "preparing", Switching "switching", Admitting "admitting";
    "any" | "f1-ul-rrc-message-transfer" | "a request of the host" | "f1-ue-context-setup-request, nas-service-request, start buffering, route to buffer, f1-dl-rrc-message-transfer" | "reached";
    "reached, switching, preparing" | "f1-ue-context-setup-response" | "of the distributed unit that has the host: it gets what was sent there before, too" | "serve through, recover bearer" | "same";
    "reached" | "f1-ul-rrc-message-transfer" | "the host is at a distributed unit that was released" | "f1-dl-rrc-message-transfer" | "same";
    "reached" | "f1-ul-rrc-message-transfer" | "a report of a cell of another central unit" | "xn-handover-request, ng-handover-required" | "same";
    "reached" | "f1-ul-rrc-message-transfer" | "a report of a cell of another distributed unit" | "f1-ue-context-setup-request" | "preparing";
    "reached" | "f1-ul-rrc-message-transfer" | "the same, with LTM: a new candidate; one that is prepared" | "f1-ue-context-setup-request, f1-ue-context-modification-request" | "same";
    "reached" | "f1-ue-context-setup-response" | "of a candidate" | "f1-ue-context-modification-request" | "same";
    "preparing" | "f1-ue-context-setup-response" | "of the target" | "f1-ue-context-modification-request" | "switching";
    "preparing" | "time" | "TXnRELOCprep" | "f1-ue-context-release-command" | "reached";
    "switching" | "f1-ue-context-modification-response" | "the source sends no more" | "serve through" | "same";
    "reached" | "f1-du-cu-cell-switch-notification" | "newer, to a candidate" | "serve through, f1-cu-du-cell-switch-notification" | "switching";
    "reached" | "f1-du-cu-cell-switch-notification" | "the same, in a handover to another base station, which is off" | "serve through, f1-cu-du-cell-switch-notification, xn-handover-cancel, resume bearer, gtpu-end-marker, release, route, route to reorder queue" | "switching";
    "reached, preparing, switching" | "f1-du-cu-ta-information-transfer" | "of a candidate" | "f1-cu-du-ta-information-transfer" | "same";
    "reached" | "f1-ul-rrc-message-transfer" | "the host has gone, and is back at its distributed unit" | "skip received, release, route, f1-ue-context-setup-request" | "same";
    "reached" | "f1-ul-rrc-message-transfer" | "the same, at the candidate" | "serve through, xn-handover-cancel, resume bearer, gtpu-end-marker, start buffering, release, route, route to reorder queue, skip received, recover bearer" | "same";
    "reached, switching" | "f1u-delivery-status" | "" | "skip received" | "same";
    "switching" | "f1u-delivery-status" | "the last one of the source" | "recover bearer" | "same";
    "reached, switching" | "f1-ul-rrc-message-transfer" | "the host is at another distributed unit" | "serve through, skip received, release, route, route to reorder queue, recover bearer, f1-ue-context-release-command, f1-ue-context-setup-request" | "reached";
    "preparing, switching, admitting" | "f1-ul-rrc-message-transfer" | "the host continues its connection elsewhere" | "f1-ue-context-setup-request, f1-ue-context-release-command, start buffering, f1-dl-rrc-message-transfer" | "reached";
    "switching" | "xn-retrieve-ue-context-request" | "newer: the host has come elsewhere" | "f1-ue-context-release-command, xn-retrieve-ue-context-response" | "reached";
    "switching" | "time" | "the host has not come: it stays" | "f1-ue-context-setup-request, f1-ue-context-release-command" | "reached";
    "reached" | "f1-ue-context-release-request" | "the host has gone; RLC has given a packet up" | "start buffering, f1-dl-rrc-message-transfer" | "same";
    "reached, preparing" | "f1-ue-context-release-request" | "the host has gone, and had no connection" | "f1-ue-context-release-command" | "none";
    "any" | "xn-handover-request, ng-handover-request" | "newer, the host is not here: a context of its cell first" | "f1-ue-context-setup-request" | "admitting";
    "admitting" | "f1-ue-context-setup-response" | "of its cell" | "start buffering, serve through" | "reached";
    "admitting" | "time" | "TXnRELOCprep" | "f1-ue-context-release-command" | "none";
    "admitting" | "time" | "the same; the base station has a context of the last handover" | "f1-ue-context-release-command" | "reached";
    "any" | "ng-initial-context-setup" | "of a present host" | "route, adopt bearer, f1-dl-rrc-message-transfer" | "same";
    "reached, preparing, switching" | "time, ng-ue-context-release-command" | "the base station has no context any more" | "f1-ue-context-release-command" | "none";
    "reached" | "xn-handover-request-acknowledge, ng-handover-command" | "commands the host" | "f1-ue-context-modification-request" | "same";
    "reached" | "f1-ue-context-modification-response, time" | "the host is commanded to another central unit" | "freeze bearer, report bearer, start buffering, release into tunnel, route to buffer, route to reorder queue" | "same";
    "reached, preparing, switching" | "xn-ue-context-release, xn-handover-cancel, gtpu-end-marker" | "the host is elsewhere" | "f1-ue-context-release-command" | "none";
}

/// NR at a central unit.
#[derive(Clone, Debug)]
pub struct CentralUnit {
    address: Addr,
    gnodeb: GNodeB,
    units: Units,
    params: Arc<Params>,
    hosts: BTreeMap<Addr, Link>,
    /// The host that asks for what is being done, and its distributed unit: the answer goes through that.
    asking: Option<(Addr, Addr)>,
    /// The newest request to a distributed unit about its context: one that comes late does not undo what follows it.
    newest_request: Identification,
}

/// The way to a host.
#[derive(Clone, Debug)]
struct Link {
    /// The distributed unit that has the host.
    unit: Addr,
    /// That one has not answered yet whether it has a context.
    asked: bool,
    /// The one that gets its packets.
    through: Addr,
    /// Those that have a context of it; until when the answer is awaited.
    contexts: BTreeMap<Addr, Option<Time>>,
    switch: Switch,
    /// The cell of another central unit to which the host is to go.
    cell: Option<Addr>,
}

/// A switch between distributed units.
#[derive(Clone, Debug)]
enum Switch {
    None,
    /// A handover request that waits for the context of its cell.
    Admitting {
        from: Addr,
        request: Box<Message>,
        until: Time,
    },
    Preparing {
        target: Addr,
        until: Time,
    },
    /// Another central unit has acknowledged a handover, and the host is commanded to it: numbers and packets follow when the
    /// distributed unit takes nothing more from the host.
    Leaving {
        from: Addr,
        acknowledge: Box<Message>,
        until: Time,
    },
    Switching {
        source: Addr,
        target: Addr,
        until: Time,
        /// Of the order to the host.
        id: Identification,
    },
}

impl Link {
    fn new(unit: Addr) -> Link {
        Link {
            unit,
            asked: false,
            through: unit,
            contexts: BTreeMap::new(),
            switch: Switch::None,
            cell: None,
        }
    }

    /// The distributed units to which the host can be ordered.
    fn candidates(&self) -> Vec<Addr> {
        self.contexts.iter().filter(|(_, awaited)| awaited.is_none()).map(|(unit, _)| *unit).collect()
    }
}

impl CentralUnit {
    /// A central unit without hosts.
    /// `relay`: the node through which packets are forwarded.
    pub fn new(
        address: Addr,
        (amf, relay): (Addr, Option<Addr>),
        units: &Units,
        params: &Arc<Params>,
    ) -> CentralUnit {
        CentralUnit {
            address,
            gnodeb: GNodeB::new(address, (amf, relay), params),
            units: units.clone(),
            params: Arc::clone(params),
            hosts: BTreeMap::new(),
            asking: None,
            newest_request: Identification::default(),
        }
    }

    fn is_unit(&self, unit: Addr) -> bool {
        self.units.get(&unit) == Some(&self.address)
    }

    fn central_of(&self, cell: Addr) -> Addr {
        self.units.get(&cell).copied().unwrap_or(cell)
    }

    fn send(&self, to: Addr, (host, id): (Addr, Identification), kind: Kind, out: &mut Vec<Action>) {
        out.push(Message::about(host, id, kind).to(to));
    }

    /// Hands an input to the base station, whose messages to hosts go through distributed units.
    fn pass(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        let commanded: BTreeSet<Addr> =
            self.hosts.keys().copied().filter(|&host| self.gnodeb.has_commanded(host)).collect();
        let mut actions = Vec::new();
        self.gnodeb.step(input, now, &mut actions);
        for host in commanded {
            if self.gnodeb.serves(host) {
                // It takes the host back.
                self.serve_again(host, out);
            }
        }
        for action in actions {
            match action {
                Action::Send { to, message } if message.host == Some(to) => self.send_rrc(to, message, out),
                Action::Send {
                    to,
                    message: Message { host: Some(host), id, kind: Kind::HandoverRequest { plan, .. } },
                } => {
                    let cell = self.hosts.get(&host).and_then(|link| link.cell).unwrap_or(to);
                    self.send(to, (host, id), Kind::HandoverRequest { plan, cell }, out);
                }
                Action::Send {
                    to,
                    message: Message { host: Some(host), id, kind: Kind::HandoverRequired { target, .. } },
                } => {
                    let cell = self.hosts.get(&host).and_then(|link| link.cell).unwrap_or(target);
                    self.send(to, (host, id), Kind::HandoverRequired { target, cell }, out);
                }
                other => out.push(other),
            }
        }
        self.forget_contexts(out);
    }

    /// An RRC message goes through the distributed unit that has the host.
    fn send_rrc(&self, host: Addr, message: Message, out: &mut Vec<Action>) {
        let link = self.hosts.get(&host);
        let asking = self.asking.filter(|(asking, _)| *asking == host).map(|(_, unit)| unit);
        let Some(unit) = asking.or(link.map(|link| link.unit)) else { return };
        let kind = match message.kind {
            // The distributed unit has sent it.
            Kind::Reconfiguration { .. } => return,
            other => Kind::DownlinkRrcTransfer { rrc: Box::new(other) },
        };
        self.send(unit, (host, message.id), kind, out);
    }

    /// Distributed units need no context of a host that the base station does not have.
    fn forget_contexts(&mut self, out: &mut Vec<Action>) {
        let gnodeb = &self.gnodeb;
        let gone = |(host, link): &(&Addr, &Link)| {
            let waits = matches!(link.switch, Switch::Admitting { .. });
            !gnodeb.has(**host) && !gnodeb.is_present(**host) && !waits
        };
        let gone: Vec<Addr> = self.hosts.iter().filter(gone).map(|(host, _)| *host).collect();
        for host in gone {
            let Some(link) = self.hosts.remove(&host) else { continue };
            for unit in link.contexts.into_keys() {
                self.send(unit, (host, Identification::default()), Kind::UnitReleaseCommand, out);
            }
        }
    }

    /// A message of a host, through a distributed unit.
    fn uplink(
        &mut self,
        unit: Addr,
        (host, id): (Addr, Identification),
        rrc: Kind,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        if !self.is_unit(unit) {
            return;
        }
        self.asking = Some((host, unit));
        let returns = !self.gnodeb.is_present(host) && matches!(rrc, Kind::ReconfigurationComplete { .. });
        if returns {
            // Perhaps it had gone, and is at a candidate now.
            self.pass(Input::Trigger(L2Trigger::HostArrived { host }), now, out);
        }
        let rrc = match rrc {
            Kind::ReconfigurationComplete { received } if self.is_switched(host, unit, id) => {
                self.switched(host, unit, (id, received), now, out);
                return;
            }
            Kind::ReconfigurationComplete { received } if returns && self.is_back(host, unit, id) => {
                self.returned(host, (id, received), now, out);
                return;
            }
            Kind::ReconfigurationComplete { .. } if self.is_elsewhere(host, unit) => {
                let rrc = Box::new(Kind::NoContext);
                self.send(unit, (host, id), Kind::DownlinkRrcTransfer { rrc }, out);
                return;
            }
            Kind::LtmComplete => return,
            Kind::MeasurementReport { target } if self.gnodeb.has(host) => {
                let Some(report) = self.measured(host, target, now, out) else { return };
                report
            }
            Kind::ReestablishmentRequest { previous } => {
                let previous = self.central_of(previous);
                if previous == self.address {
                    // A distributed unit may have ordered the host without success.
                    self.gnodeb.renew(host, id);
                }
                self.move_to(host, unit, out);
                Kind::ReestablishmentRequest { previous }
            }
            Kind::ServiceRequest { first } => {
                self.gnodeb.hold(host, now, out);
                self.move_to(host, unit, out);
                Kind::ServiceRequest { first }
            }
            other => other,
        };
        if !self.gnodeb.is_present(host) {
            self.pass(Input::Trigger(L2Trigger::HostArrived { host }), now, out);
        }
        self.pass(Input::Message { from: host, message: Message::about(host, id, rrc) }, now, out);
    }

    /// The measurement report of a host, with the central unit of the cell as its target. `None`: the cell is of this central unit,
    /// which begins a switch, or a switch of the host is under way.
    fn measured(&mut self, host: Addr, target: Addr, now: Time, out: &mut Vec<Action>) -> Option<Kind> {
        let central = self.central_of(target);
        if central == self.address {
            self.reported(host, target, now, out);
            return None;
        }
        let link = self.hosts.get_mut(&host).filter(|link| matches!(link.switch, Switch::None))?;
        if self.gnodeb.serves(host) {
            link.cell = Some(target);
        }
        Some(Kind::MeasurementReport { target: central })
    }

    /// The host is at this distributed unit, without a switch.
    fn move_to(&mut self, host: Addr, unit: Addr, out: &mut Vec<Action>) {
        let id = self.gnodeb.newest(host);
        let link = self.hosts.entry(host).or_insert_with(|| Link::new(unit));
        let others: Vec<Addr> = link.contexts.keys().copied().filter(|other| *other != unit).collect();
        *link = Link::new(unit);
        link.contexts.insert(unit, None);
        link.asked = true;
        for other in others {
            self.send(other, (host, id), Kind::UnitReleaseCommand, out);
        }
        self.send(unit, (host, id), Kind::UnitSetupRequest { purpose: Purpose::Serve }, out);
    }

    /// A request to expect a host, of another base station or of the AMF.
    fn requested(&mut self, from: Addr, message: Message, now: Time, out: &mut Vec<Action>) {
        let (Some(host), Kind::HandoverRequest { cell, .. } | Kind::NgHandoverRequest { cell, .. }) =
            (message.host, &message.kind)
        else {
            return;
        };
        let (cell, id) = (*cell, message.id);
        if !self.is_unit(cell) || self.gnodeb.is_present(host) || id <= self.gnodeb.newest(host) {
            return self.pass(Input::Message { from, message }, now, out);
        }
        let until = now + self.params.timers.preparation;
        let link = self.hosts.entry(host).or_insert_with(|| Link::new(cell));
        let others: Vec<Addr> = link.contexts.keys().copied().filter(|other| *other != cell).collect();
        *link = Link::new(cell);
        link.contexts.insert(cell, Some(until));
        link.switch = Switch::Admitting { from, request: Box::new(message), until };
        for other in others {
            self.send(other, (host, id), Kind::UnitReleaseCommand, out);
        }
        self.send(cell, (host, id), Kind::UnitSetupRequest { purpose: Purpose::Handover }, out);
    }

    fn on_message(&mut self, from: Addr, message: Message, now: Time, out: &mut Vec<Action>) {
        let Some(host) = message.host else { return };
        let about = (host, message.id);
        match message.kind {
            Kind::UplinkRrcTransfer { rrc } => {
                self.uplink(from, about, *rrc, now, out);
                self.asking = None;
            }
            Kind::UnitSetupResponse => self.context_is_set_up(host, from, now, out),
            Kind::HandoverRequestAcknowledge => self.target_is_ready(host, (from, from), message, now, out),
            Kind::HandoverCommand { target } => self.target_is_ready(host, (from, target), message, now, out),
            Kind::UnitModificationResponse { stopped: true } => self.source_stops(host, from, now, out),
            Kind::UnitModificationResponse { stopped: false } => {}
            Kind::UnitCellSwitch { target } => self.unit_switches(about, (from, target), now, out),
            Kind::DeliveryStatus { done, last } => self.delivered(host, from, (done, last), out),
            Kind::UnitTimingAdvance => self.pass_timing(about, from, out),
            Kind::UnitReleaseRequest { gone } => self.link_failed(host, from, gone, now, out),
            Kind::UnitReleaseComplete => {}
            Kind::HandoverRequest { .. } | Kind::NgHandoverRequest { .. } => {
                self.requested(from, message, now, out)
            }
            Kind::RetrieveContextRequest { .. } | Kind::ContextReleaseCommand => {
                self.host_is_elsewhere(about, now, out);
                self.pass(Input::Message { from, message }, now, out);
            }
            _ => self.pass(Input::Message { from, message }, now, out),
        }
    }

    /// The radio link of a distributed unit has failed.
    fn link_failed(&mut self, host: Addr, unit: Addr, gone: bool, now: Time, out: &mut Vec<Action>) {
        let is_here = |link: &&Link| link.unit == unit && !matches!(link.switch, Switch::Switching { .. });
        if self.hosts.get(&host).filter(is_here).is_some() {
            let trigger =
                if gone { L2Trigger::HostGone { host } } else { L2Trigger::RetransmissionLimit { host } };
            self.pass(Input::Trigger(trigger), now, out);
        }
    }

    /// Requests that change a context of a distributed unit have an order.
    fn number_requests(&mut self, now: Time, actions: &mut [Action]) {
        for action in actions {
            if let Action::Send { message, .. } = action
                && matches!(
                    message.kind,
                    Kind::UnitSetupRequest { .. } | Kind::UnitReleaseCommand | Kind::CentralCellSwitch { .. }
                )
            {
                self.newest_request = self.newest_request.newer(now);
                message.id = self.newest_request;
            }
        }
    }

    fn note(host: Addr, phase: Phase, out: &mut Vec<Action>) {
        out.push(Action::Note { host, phase });
    }
}

impl Role for CentralUnit {
    fn state(&self, host: Addr) -> StateName {
        match self.hosts.get(&host).map(|link| &link.switch) {
            None => StateName::None,
            Some(Switch::None | Switch::Leaving { .. }) => StateName::Reached,
            Some(Switch::Admitting { .. }) => StateName::Admitting,
            Some(Switch::Preparing { .. }) => StateName::Preparing,
            Some(Switch::Switching { .. }) => StateName::Switching,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.hosts.keys().copied()
    }
}

impl Agent for CentralUnit {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        let before = out.len();
        match input {
            Input::Message { from, message } => self.on_message(from, message, now, out),
            Input::Deadline => {
                self.on_timer(now, out);
                self.pass(Input::Deadline, now, out);
            }
            other => self.pass(other, now, out),
        }
        self.number_requests(now, &mut out[before..]);
    }

    fn wire(&self, message: &Message) -> Option<Wire> {
        Some(self.params.wire(&message.kind))
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.gnodeb.deadlines(each);
        for link in self.hosts.values() {
            match link.switch {
                Switch::None => {}
                Switch::Admitting { until, .. }
                | Switch::Preparing { until, .. }
                | Switch::Leaving { until, .. }
                | Switch::Switching { until, .. } => each(until),
            }
            link.contexts.values().copied().flatten().for_each(&mut *each);
        }
    }
}
