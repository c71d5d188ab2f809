//! The access router: ends the tunnel from the anchor, and hands departing hosts over to the next one.
//!
//! Old inputs have no effect: an attach, login request, prepare or notify that is older than what is known of the host, and
//! an attach of a host that layer 2 does not have here.

use super::params::Unused;
use super::visitor::{Path, Preparing, State, Visitor};
use super::{
    Action, Input, Kind, Message, PREPARE_RETRANSMIT, PREPARE_RETRIES, Params, Phase, Session,
    UPDATE_RETRANSMIT, UPDATE_RETRIES,
};
use crate::blocks::{Beacons, BufferPlace};
use crate::signal::{broadcast, send};
use crate::transitions::Role;
use crate::{Agent, Identification, L2Trigger, Newest, Via};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

crate::transitions! {
    AccessRouter, "state of a host": None "none", Prepared "prepared", Serving "serving", Preparing "preparing", Forwarding "forwarding", Left "left";
    "any" | "host arrived" | "" | "" | "same";
    "serving, preparing" | "host gone" | "buffers, if the buffer is here" | "start buffering" | "left";
    "forwarding" | "host gone" | "packets for the air continue" | "start buffering, release into tunnel, tunnel, discard buffer" | "same";
    "none, prepared, left" | "host gone" | "" | "" | "same";
    "any" | "login-request" | "of a present host, for the anchor" | "login-request" | "same";
    "none, prepared, forwarding, left" | "login-response" | "of a present host, not older" | "no route, release, route, discard buffer, login-response" | "serving";
    "serving, preparing" | "login-response" | "of a present host, not older" | "login-response" | "same";
    "none, prepared, forwarding, left" | "handover-attach" | "of a present host, not older" | "handover-notify, no route, release, route, discard buffer, anchor-path-update" | "serving";
    "serving, preparing" | "handover-attach" | "of a present host, not older" | "handover-notify, anchor-path-update, handover-attach-acknowledge" | "same";
    "serving, preparing" | "anchor-path-acknowledge" | "of the last update; another anchor is nearer" | "handover-attach-acknowledge, anchor-change-request" | "same";
    "serving, preparing" | "anchor-path-acknowledge" | "of the last update, about an idle host" | "handover-attach-acknowledge" | "left";
    "serving" | "handover-prepare-request" | "not older" | "handover-prepare" | "preparing";
    "preparing, forwarding, left" | "handover-prepare-request" | "not older" | "handover-prepare" | "same";
    "forwarding" | "handover-prepare-request" | "again" | "route, handover-prepared, tunnel" | "same";
    "none, prepared" | "handover-prepare-request" | "not older" | "" | "same";
    "none, forwarding, left" | "handover-prepare" | "not older" | "no route, start buffering, route, handover-prepare-acknowledge" | "prepared";
    "prepared, serving, preparing" | "handover-prepare" | "not older" | "handover-prepare-acknowledge" | "same";
    "preparing, forwarding, left" | "handover-prepare-acknowledge" | "of the last prepare" | "handover-prepared, release into tunnel, tunnel, route, discard buffer" | "forwarding";
    "prepared, serving, preparing, left" | "handover-notify" | "not older; if it forwards or has packets" | "release into tunnel, tunnel, route, discard buffer" | "forwarding";
    "forwarding" | "handover-notify" | "not older" | "no route, tunnel, route" | "same";
    "serving, preparing" | "handover-notify" | "not older, otherwise" | "" | "left";
    "none, left" | "handover-notify" | "not older" | "" | "same";
    "any" | "logout-request" | "of the host, for the anchor" | "logout-request" | "same";
    "any" | "logout-acknowledge" | "for the host" | "route, tunnel, no route, logout-acknowledge" | "same";
    "serving, preparing" | "logout-acknowledge" | "of its session" | "no route, logout-acknowledge" | "none";
    "any" | "page-request" | "" | "page" | "same";
    "serving, preparing" | "time" | "no path acknowledge, five times" | "anchor-path-update" | "same";
    "preparing, forwarding, left" | "time" | "no prepare acknowledge, three times" | "handover-prepare" | "same";
    "preparing" | "time" | "no prepare acknowledge after that" | "" | "serving";
    "forwarding" | "time" | "lifetime over, the host has not left" | "no route, route" | "serving";
    "prepared, forwarding, left" | "time" | "lifetime over; returns what was kept, or drops it" | "no route, release into tunnel, discard buffer" | "none";
}

/// BCMP at an access router.
#[derive(Clone, Debug)]
pub struct AccessRouter {
    /// The anchor that it chooses for its hosts.
    anchor: Addr,
    address: Addr,
    params: Arc<Params>,
    beacons: Beacons,
    /// Hosts that layer 2 has here.
    present: BTreeSet<Addr>,
    /// The latest state of each host, as far as it is known here.
    newest: Newest,
    visitors: BTreeMap<Addr, Visitor>,
}

impl AccessRouter {
    /// An access router without hosts, which chooses `anchor` for them; the first advertisement comes at `phase`.
    pub fn new(address: Addr, anchor: Addr, phase: Duration, params: &Arc<Params>) -> AccessRouter {
        AccessRouter {
            anchor,
            address,
            params: Arc::clone(params),
            beacons: Beacons::new(phase, &params.detection),
            present: BTreeSet::new(),
            newest: Newest::default(),
            visitors: BTreeMap::new(),
        }
    }

    /// The host, served from now on.
    fn serve(&mut self, host: Addr, out: &mut Vec<Action>) -> &mut Visitor {
        let is_served = self.visitors.get(&host).is_some_and(|visitor| visitor.state == State::Serving);
        let visitor = self.visitors.entry(host).or_insert_with(|| Visitor::new(State::Serving));
        if !is_served {
            visitor.serve(host, out);
        }
        visitor
    }

    fn login_response(
        &mut self,
        (host, id): (Addr, Identification),
        session: Session,
        out: &mut Vec<Action>,
    ) {
        if self.present.contains(&host) && self.newest.is_news(host, id) {
            self.serve(host, out).path = Some(Path::known(session, id));
            send(host, (host, id, Kind::LoginResponse { session }), out);
        }
    }

    fn attach(&mut self, host: Addr, attach: Attach, now: Time, out: &mut Vec<Action>) {
        let Attach { id, session, former, previous, idle } = attach;
        if !self.present.contains(&host) || !self.newest.is_news(host, id) {
            return;
        }
        for &to in previous.iter().filter(|&&to| to != self.address) {
            send(to, (host, id, Kind::Notify), out);
        }
        let (retransmit, retries) = (UPDATE_RETRANSMIT, UPDATE_RETRIES);
        let visitor = self.serve(host, out);
        if let Some(path) = visitor.path.as_ref().filter(|path| path.id == id) {
            if path.acknowledged {
                return send(host, (host, id, Kind::AttachAcknowledge { known: true }), out);
            }
            if path.again.is_some() {
                return;
            }
        }
        let again = Some((now + retransmit, retries));
        let path = Path { session, former, id, idle, acknowledged: false, again };
        path.update(host, out);
        visitor.path = Some(path);
    }

    fn path_acknowledge(
        &mut self,
        (host, id): (Addr, Identification),
        (from, known): (Addr, bool),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let Some(visitor) = self.visitors.get_mut(&host) else { return };
        let awaited = |path: &&mut Path| path.id == id && path.session.anchor == from && !path.acknowledged;
        let Some(path) = visitor.path.as_mut().filter(awaited) else { return };
        (path.acknowledged, path.again) = (known, None);
        let idle = path.idle;
        send(host, (host, id, Kind::AttachAcknowledge { known }), out);
        if !known {
            visitor.path = None;
        } else if idle {
            // Packets on their way still arrive at it.
            visitor.state = State::Left { until: now + self.params.tunnel_lifetime };
        } else if self.params.anchor_change && from != self.anchor {
            send(host, (host, id, Kind::AnchorChange { anchor: self.anchor }), out);
        }
    }

    fn prepare_request(
        &mut self,
        (host, id): (Addr, Identification),
        to: Addr,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        if to == self.address || !self.newest.is_news(host, id) {
            return;
        }
        let Some(visitor) = self.visitors.get_mut(&host) else { return };
        match visitor.state {
            State::Forwarding { to: known, .. } if known == to => {
                visitor.over_air(host, (host, id, Kind::Prepared), out);
            }
            State::Prepared { .. } => {}
            _ if visitor.preparing.as_ref().is_some_and(|one| one.id == id) => {}
            _ => {
                let again = now + PREPARE_RETRANSMIT;
                visitor.preparing = Some(Preparing { to, id, again, left: PREPARE_RETRIES });
                send(to, (host, id, Kind::Prepare), out);
            }
        }
    }

    /// Another access router expects the host to come here.
    fn prepare(&mut self, (host, id): (Addr, Identification), from: Addr, now: Time, out: &mut Vec<Action>) {
        if !self.newest.is_news(host, id) {
            return;
        }
        let until = now + self.params.preparation_lifetime;
        let buffer = self.params.buffer.is_at(BufferPlace::New);
        let is_new = self.state(host) != StateName::Prepared;
        let prepared = State::Prepared { by: from, until };
        let visitor = self.visitors.entry(host).or_insert_with(|| Visitor::new(prepared));
        if visitor.state != State::Serving {
            visitor.end_tunnel(host, out);
            (visitor.state, visitor.preparing, visitor.path) = (prepared, None, None);
            if is_new {
                if buffer && !std::mem::replace(&mut visitor.buffering, true) {
                    out.push(Action::StartBuffering { host });
                } else if !visitor.buffering {
                    out.push(Action::SetRoute { host, from: None, via: Via::Air, watch: false });
                }
                out.push(Action::Note { host, phase: Phase::RouterPrepared });
            }
        }
        send(from, (host, id, Kind::PrepareAcknowledge), out);
    }

    fn prepare_acknowledge(
        &mut self,
        (host, id): (Addr, Identification),
        from: Addr,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let Some(visitor) = self.visitors.get_mut(&host) else { return };
        if visitor.preparing.take_if(|one| one.to == from && one.id == id).is_none() {
            return;
        }
        if self.present.contains(&host) {
            visitor.over_air(host, (host, id, Kind::Prepared), out);
        }
        visitor.forward(host, (from, false), now + self.params.preparation_lifetime, out);
    }

    /// The host is at another access router.
    fn notify(&mut self, (host, id): (Addr, Identification), from: Addr, now: Time, out: &mut Vec<Action>) {
        if from == self.address || !self.newest.is_news(host, id) {
            return;
        }
        let forwards = self.params.forward_after_notify;
        let Some(visitor) = self.visitors.get_mut(&host) else { return };
        let until = now + self.params.tunnel_lifetime;
        visitor.path = None;
        let tunnels = matches!(visitor.state, State::Forwarding { .. } | State::Prepared { .. });
        if forwards || tunnels || visitor.buffering {
            visitor.forward(host, (from, true), until, out);
        } else {
            (visitor.state, visitor.preparing) = (State::Left { until }, None);
        }
    }

    fn host_gone(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        self.present.remove(&host);
        let Some(visitor) = self.visitors.get_mut(&host) else { return };
        match visitor.state {
            State::Serving => {
                let until = now + self.params.tunnel_lifetime;
                (visitor.state, visitor.path) = (State::Left { until }, None);
                if self.params.buffer.is_at(BufferPlace::Old) {
                    visitor.buffering = true;
                    out.push(Action::StartBuffering { host });
                }
            }
            State::Forwarding { to, .. } if self.params.buffer.buffering().is_some() => {
                let via = Via::Tunnel(to);
                out.push(Action::StartBuffering { host });
                out.push(Action::Release { host, via, mark: None });
                out.push(Action::SetRoute { host, from: None, via, watch: false });
                out.push(Action::DiscardBuffer { host });
            }
            _ => {}
        }
    }

    fn logout_acknowledge(
        &mut self,
        (host, id): (Addr, Identification),
        session: Session,
        out: &mut Vec<Action>,
    ) {
        let message = (host, id, Kind::LogoutAcknowledge { session });
        match self.visitors.get_mut(&host) {
            Some(visitor) => visitor.over_air(host, message, out),
            None if self.present.contains(&host) => {
                out.push(Action::SetRoute { host, from: None, via: Via::Air, watch: false });
                send(host, message, out);
                out.push(Action::ClearRoute { host, from: None });
            }
            None => {}
        }
        let ends = |visitor: &mut Visitor| {
            visitor.state == State::Serving
                && visitor.path.as_ref().is_some_and(|path| path.session == session)
        };
        if self.visitors.get_mut(&host).is_some_and(ends)
            && let Some(mut visitor) = self.visitors.remove(&host)
        {
            visitor.end(host, out);
        }
    }

    fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        if self.beacons.are_due(now) {
            broadcast(Kind::Advertisement, out);
        }
        let (present, params) = (&self.present, &self.params);
        self.visitors.retain(|&host, visitor| {
            if visitor.state.until().is_some_and(|until| until <= now) {
                let stays = matches!(visitor.state, State::Forwarding { executed: false, .. })
                    && present.contains(&host);
                if stays {
                    visitor.serve(host, out);
                } else {
                    if params.unused == Unused::Returned {
                        visitor.give_back(host, out);
                    }
                    visitor.end(host, out);
                }
                return stays;
            }
            if let Some(one) = visitor.preparing.as_mut().filter(|one| one.again <= now) {
                if one.left == 0 {
                    visitor.preparing = None;
                } else {
                    (one.left, one.again) = (one.left - 1, now + PREPARE_RETRANSMIT);
                    send(one.to, (host, one.id, Kind::Prepare), out);
                }
            }
            if let Some(path) = &mut visitor.path
                && let Some((_, left)) = path.again.filter(|(at, _)| *at <= now)
            {
                path.again = left.checked_sub(1).map(|left| (now + UPDATE_RETRANSMIT, left));
                if path.again.is_some() {
                    path.update(host, out);
                }
            }
            true
        });
    }

    fn heard(
        &mut self,
        from: Addr,
        (host, id): (Addr, Identification),
        kind: Kind,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        match kind {
            Kind::LoginRequest { anchor }
                if from == host && self.present.contains(&host) && self.newest.is_news(host, id) =>
            {
                send(anchor.unwrap_or(self.anchor), (host, id, kind), out);
            }
            Kind::LoginResponse { session } => self.login_response((host, id), session, out),
            Kind::Attach { session, former, previous, idle } if from == host => {
                self.attach(host, Attach { id, session, former, previous, idle }, now, out);
            }
            Kind::PathAcknowledge { known } => self.path_acknowledge((host, id), (from, known), now, out),
            Kind::PrepareRequest { to } if from == host => self.prepare_request((host, id), to, now, out),
            Kind::Prepare => self.prepare((host, id), from, now, out),
            Kind::PrepareAcknowledge => self.prepare_acknowledge((host, id), from, now, out),
            Kind::Notify => self.notify((host, id), from, now, out),
            Kind::Logout { session } if from == host => send(session.anchor, (host, id, kind), out),
            Kind::LogoutAcknowledge { session } => self.logout_acknowledge((host, id), session, out),
            Kind::PageRequest => {
                send(Addr::BROADCAST, (host, id, Kind::Page), out);
            }
            _ => {}
        }
    }
}

/// Content of an attach.
struct Attach {
    id: Identification,
    session: Session,
    former: Option<Session>,
    previous: Vec<Addr>,
    idle: bool,
}

impl Role for AccessRouter {
    fn state(&self, host: Addr) -> StateName {
        match self.visitors.get(&host).map(|visitor| (visitor.state, &visitor.preparing)) {
            None => StateName::None,
            Some((State::Prepared { .. }, _)) => StateName::Prepared,
            Some((State::Serving, None)) => StateName::Serving,
            Some((State::Serving, Some(_))) => StateName::Preparing,
            Some((State::Forwarding { .. }, _)) => StateName::Forwarding,
            Some((State::Left { .. }, _)) => StateName::Left,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.visitors.keys().copied()
    }
}

impl Agent for AccessRouter {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Trigger(L2Trigger::HostArrived { host }) => {
                self.present.insert(host);
            }
            Input::Trigger(L2Trigger::HostGone { host }) => self.host_gone(host, now, out),
            Input::Message { from, message: Message { host: Some(host), id, kind } } => {
                self.heard(from, (host, id), kind, now, out);
            }
            Input::Deadline => self.on_time(now, out),
            _ => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let times = self.visitors.values().flat_map(Visitor::deadlines);
        times.chain([self.beacons.deadline()]).flatten().for_each(each);
    }
}
