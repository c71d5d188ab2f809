//! The anchor point: gives hosts sessions, tunnels their packets to their access routers, and pages them.

use super::{Action, Input, Kind, Message, PAGE_RETRANSMIT, PAGE_RETRIES, Params, Phase, Session};
use crate::blocks::{Gate, Knock};
use crate::signal::send;
use crate::transitions::Role;
use crate::{Agent, Direction, Identification, Via, mobile_ip};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::BTreeMap;
use std::sync::Arc;

crate::transitions! {
    Anchor, "state of a host": None "none", Bound "bound", Idle "idle", Paging "paging";
    "any" | "login-request" | "newer: another session" | "release into tunnel, tunnel, discard buffer, login-response" | "bound";
    "any" | "login-request" | "newer, with authentication" | "authentication-request" | "same";
    "any" | "authentication-answer" | "accepted: the request that waits" | "release into tunnel, tunnel, discard buffer, login-response" | "bound";
    "any" | "authentication-answer" | "refused" | "" | "same";
    "any" | "time" | "no answer of the server, five times" | "authentication-request" | "same";
    "bound, idle, paging" | "login-request" | "again" | "login-response" | "same";
    "bound, idle, paging" | "anchor-path-update" | "of the session, not older" | "release into tunnel, tunnel, discard buffer, anchor-path-acknowledge" | "bound";
    "bound" | "anchor-path-update" | "of the session, of an idle host" | "start buffering, anchor-path-acknowledge" | "idle";
    "any" | "anchor-path-update" | "of another session: denies it; of an idle host again" | "anchor-path-acknowledge" | "same";
    "bound, idle, paging" | "logout-request" | "of the session" | "no route, discard buffer, logout-acknowledge" | "none";
    "any" | "logout-request" | "of another session" | "logout-acknowledge" | "same";
    "idle" | "packet" | "for the host, to each access router of the area" | "page-request" | "paging";
    "paging" | "time" | "no answer, three times" | "page-request" | "same";
    "paging" | "time" | "no answer after that" | "discard buffer, start buffering" | "idle";
    "bound, idle, paging" | "global-registration-request" | "to the home agent" | "global-registration-request" | "same";
    "bound, idle, paging" | "global-registration-reply" | "to the host" | "global-registration-reply" | "same";
    "bound, idle, paging" | "time" | "lifetime over" | "no route, discard buffer" | "none";
}

/// BCMP at an anchor.
#[derive(Clone, Debug)]
pub struct Anchor {
    address: Addr,
    params: Arc<Params>,
    /// The access routers of the paging area of each.
    areas: Arc<BTreeMap<Addr, Vec<Addr>>>,
    /// The number of the next session.
    next: u32,
    bindings: BTreeMap<Addr, Binding>,
    /// Login requests that wait for the server, each with its access router.
    gate: Gate<Addr>,
}

#[derive(Clone, Debug)]
struct Binding {
    session: u32,
    access_router: Addr,
    id: Identification,
    until: Time,
    packets: Packets,
}

/// State of a host's packets.
#[derive(Copy, Clone, Debug)]
enum Packets {
    /// They go to its access router.
    Tunnelled,
    /// The host is idle: they are kept.
    Kept {
        /// It is paged; `None`: none has come yet.
        paging: Option<Paging>,
    },
}

/// A page that waits for the host.
#[derive(Copy, Clone, Debug)]
struct Paging {
    again: Time,
    left: u32,
}

impl Anchor {
    /// An anchor without sessions; `areas` has the access routers of the paging area of each, and `server` knows the users.
    pub fn new(
        address: Addr,
        areas: &Arc<BTreeMap<Addr, Vec<Addr>>>,
        server: Option<Addr>,
        params: &Arc<Params>,
    ) -> Anchor {
        let (areas, params) = (Arc::clone(areas), Arc::clone(params));
        Anchor { address, params, areas, next: 1, bindings: BTreeMap::new(), gate: Gate::new(server) }
    }

    /// A host wants a session. A new one waits for the server, if there is one.
    fn login_requested(
        &mut self,
        (host, id): (Addr, Identification),
        from: Addr,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        if self.bindings.get(&host).is_some_and(|known| id <= known.id) {
            return self.login((host, id), from, now, out);
        }
        match self.gate.knock((host, id), from, now) {
            Knock::In(from) => self.login((host, id), from, now, out),
            Knock::Ask(asked) => self.ask(host, asked, out),
            Knock::Wait => {}
        }
    }

    fn ask(&self, host: Addr, id: Identification, out: &mut Vec<Action>) {
        if let Some(server) = self.gate.server {
            send(server, (host, id, Kind::AuthenticationRequest), out);
        }
    }

    fn authenticated(
        &mut self,
        of: (Addr, Identification),
        accepted: bool,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        if let Some((id, access_router)) = self.gate.answered(of, accepted) {
            // The next session needs another answer.
            self.gate.forget(of.0);
            self.login((of.0, id), access_router, now, out);
        }
    }

    fn login(&mut self, (host, id): (Addr, Identification), from: Addr, now: Time, out: &mut Vec<Action>) {
        let until = now + self.params.session.lifetime;
        let known = self.bindings.get_mut(&host);
        if known.as_ref().is_some_and(|known| id < known.id) {
            return;
        }
        let number = match known {
            Some(known) if id == known.id => known.session,
            known => {
                let (session, packets) = (self.next, Packets::Tunnelled);
                let binding = Binding { session, access_router: from, id, until, packets };
                match known {
                    Some(known) => {
                        known.tunnel(host, from, out);
                        *known = binding;
                    }
                    None => {
                        let via = Via::Tunnel(from);
                        out.push(Action::SetRoute { host, from: None, via, watch: false });
                        self.bindings.insert(host, binding);
                    }
                }
                out.push(Action::Note { host, phase: Phase::LoggedIn });
                self.next += 1;
                self.next - 1
            }
        };
        let session = Session { anchor: self.address, number };
        send(from, (host, id, Kind::LoginResponse { session }), out);
    }

    fn path_update(
        &mut self,
        (host, id): (Addr, Identification),
        (from, session, idle): (Addr, Session, bool),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let binding = self.bindings.get_mut(&host).filter(|binding| binding.session == session.number);
        let known = binding.is_some();
        if let Some(binding) = binding {
            if id < binding.id {
                return;
            }
            (binding.id, binding.until) = (id, now + self.params.session.lifetime);
            match (binding.packets, idle) {
                (Packets::Tunnelled, false) if binding.access_router == from => {}
                (_, false) => {
                    binding.tunnel(host, from, out);
                    out.push(Action::Note { host, phase: Phase::PathSwitched });
                }
                (Packets::Kept { .. }, true) => {}
                (Packets::Tunnelled, true) => {
                    binding.packets = Packets::Kept { paging: None };
                    out.push(Action::StartBuffering { host });
                    out.push(Action::Note { host, phase: Phase::Idle });
                }
            }
            binding.access_router = from;
        }
        send(from, (host, id, Kind::PathAcknowledge { known }), out);
    }

    fn logout(
        &mut self,
        (host, id): (Addr, Identification),
        (from, session): (Addr, Session),
        out: &mut Vec<Action>,
    ) {
        if self.bindings.get(&host).is_some_and(|binding| binding.session == session.number)
            && let Some(binding) = self.bindings.remove(&host)
        {
            binding.end(host, out);
        }
        send(from, (host, id, Kind::LogoutAcknowledge { session }), out);
    }

    fn data(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(binding) = self.bindings.get_mut(&host) else { return };
        if let Packets::Kept { paging: unpaged @ None } = &mut binding.packets {
            *unpaged = Some(Paging { again: now + PAGE_RETRANSMIT, left: PAGE_RETRIES });
            out.push(Action::Note { host, phase: Phase::Paged });
            binding.page(host, &self.areas, out);
        }
    }

    fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        for (host, id) in self.gate.on_time(now) {
            self.ask(host, id, out);
        }
        let areas = &self.areas;
        self.bindings.retain(|&host, binding| {
            if binding.until <= now {
                binding.end(host, out);
                return false;
            }
            if let Packets::Kept { paging: Some(paging) } = &mut binding.packets
                && paging.again <= now
            {
                if let Some(left) = paging.left.checked_sub(1) {
                    *paging = Paging { again: now + PAGE_RETRANSMIT, left };
                    binding.page(host, areas, out);
                } else {
                    binding.packets = Packets::Kept { paging: None };
                    out.extend([Action::DiscardBuffer { host }, Action::StartBuffering { host }]);
                }
            }
            true
        });
    }
}

impl Binding {
    /// Packets go through a tunnel to this access router, those that were kept first.
    fn tunnel(&mut self, host: Addr, to: Addr, out: &mut Vec<Action>) {
        let via = Via::Tunnel(to);
        let kept = matches!(self.packets, Packets::Kept { .. });
        if kept {
            out.push(Action::Release { host, via, mark: None });
        }
        out.push(Action::SetRoute { host, from: None, via, watch: false });
        if kept {
            out.push(Action::DiscardBuffer { host });
        }
        self.packets = Packets::Tunnelled;
    }

    fn page(&self, host: Addr, areas: &BTreeMap<Addr, Vec<Addr>>, out: &mut Vec<Action>) {
        let area = areas.get(&self.access_router).map_or(&[][..], Vec::as_slice);
        area.iter().for_each(|&to| send(to, (host, self.id, Kind::PageRequest), out));
    }

    fn end(&self, host: Addr, out: &mut Vec<Action>) {
        out.push(Action::ClearRoute { host, from: None });
        if matches!(self.packets, Packets::Kept { .. }) {
            out.push(Action::DiscardBuffer { host });
        }
        out.push(Action::Note { host, phase: Phase::LoggedOut });
    }
}

impl Role for Anchor {
    fn state(&self, host: Addr) -> StateName {
        match self.bindings.get(&host).map(|binding| binding.packets) {
            None => StateName::None,
            Some(Packets::Kept { paging: Some(_) }) => StateName::Paging,
            Some(Packets::Kept { paging: None }) => StateName::Idle,
            Some(Packets::Tunnelled) => StateName::Bound,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.bindings.keys().copied()
    }
}

impl Agent for Anchor {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Message { from, message: Message { host: Some(host), id, kind } } => {
                match kind {
                    Kind::LoginRequest { .. } => self.login_requested((host, id), from, now, out),
                    Kind::AuthenticationAnswer { accepted } if Some(from) == self.gate.server => {
                        self.authenticated((host, id), accepted, now, out);
                    }
                    Kind::PathUpdate { session, idle } => {
                        self.path_update((host, id), (from, session, idle), now, out);
                    }
                    Kind::Logout { session } => self.logout((host, id), (from, session), out),
                    Kind::GlobalRequest {
                        request: mobile_ip::Kind::RegistrationRequest { home_agent, .. },
                    } if self.bindings.contains_key(&host) => send(home_agent, (host, id, kind), out),
                    Kind::GlobalReply { .. } if self.bindings.contains_key(&host) => {
                        send(host, (host, id, kind), out);
                    }
                    _ => {}
                }
            }
            Input::Data { host, direction: Direction::Down, .. } => self.data(host, now, out),
            Input::Deadline => self.on_time(now, out),
            _ => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let pages = self.bindings.values().filter_map(|binding| match binding.packets {
            Packets::Kept { paging } => Some(paging?.again),
            Packets::Tunnelled => None,
        });
        self.bindings
            .values()
            .map(|binding| binding.until)
            .chain(pages)
            .chain(self.gate.deadlines())
            .for_each(each);
    }
}
