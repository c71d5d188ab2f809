//! Steps that the core network orders, or that follow after a time: a new connection and the end of one, the acknowledgement
//! of a target, and the command of a source.

use super::{Due, GNodeB, Host, StateName};
use crate::Identification;
use crate::cellular::{self, Bearer, Context, Out as _, State};
use crate::nr::{Action, ForwardFrom, Kind};
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Addr, Counts};

impl GNodeB {
    /// The AMF has given the host a new connection here.
    pub(super) fn set_up(&mut self, (host, id): (Addr, Identification), now: Time, out: &mut Vec<Action>) {
        let known = self.hosts.get(&host);
        if !self.present.contains(&host) || known.is_some_and(|known| id <= known.context.id) {
            return;
        }
        let is_answered = |known: &Host| known.set_up.is_some_and(|(at, _)| at + id.age(now) >= now);
        if known.is_some_and(|known| is_answered(known) && known.name() == StateName::Serving) {
            return self.connected_again((host, id), now, out);
        }
        let sender = &mut self.outbox(out);
        match known {
            Some(known) => known.context.bearer.end(sender),
            // Packets of the last connection may have come, and waited for their numbers.
            None => sender.push(cellular::Action::EndBearer { host }),
        }
        let bearer = Bearer::attached(host, id, sender);
        self.retrievals.remove(&host);
        let context = Context::new(id, State::Serving, bearer);
        let mut new = Host::new(context);
        (new.numbered, new.set_up) = (true, Some((now, id)));
        self.hosts.insert(host, new);
        out.push(Action::AdoptBearer { host, counts: Counts::default() });
        self.connect((host, id), out);
    }

    fn connect(&self, (host, id): (Addr, Identification), out: &mut Vec<Action>) {
        let messages = [Kind::ConnectionSetup, Kind::MeasurementConfiguration];
        messages.into_iter().for_each(|kind| self.send(host, (host, id), kind, out));
    }

    /// The host has the connection that it has asked for first with this identification.
    pub(super) fn has_answered(&self, host: Addr, first: Identification) -> bool {
        let known = self.hosts.get(&host).filter(|known| known.name() == StateName::Serving);
        known.and_then(|known| known.set_up).is_some_and(|(_, id)| id >= first)
    }

    /// The host has repeated its request, and has the connection.
    pub(super) fn connected_again(
        &mut self,
        (host, id): (Addr, Identification),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        self.renew(host, id);
        self.attach(host, now, out);
        self.connect((host, id), out);
    }

    /// The path of a host was not switched, and its sessions are released: it needs another connection.
    ///
    /// DEVIATION: over N2 this is another message. The host learns it as a failure of its link.
    pub(super) fn sessions_released(
        &mut self,
        (host, id): (Addr, Identification),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let mut ended = false;
        self.with(host, now, out, |known, env| {
            let context = &known.context;
            let asked = id == context.id || context.path.is_some_and(|path| path.id == id);
            let expected = matches!(context.state, State::Prepared { .. });
            ended = asked && context.is_active() && !expected;
            if ended {
                context.bearer.end(env.out);
            }
            !ended
        });
        if ended && self.present.contains(&host) {
            self.send(host, (host, id), Kind::NoContext, out);
        }
    }

    /// The time of the next step of a handover has come.
    pub(super) fn next_step(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        let Some(known) = self.hosts.get_mut(&host) else { return };
        let Some((_, due)) = known.due.take_if(|(at, _)| *at <= now) else { return };
        let id = known.context.id;
        match due {
            Due::Admit => {
                let State::Prepared { source, .. } = known.context.state else { return };
                let (to, kind) = match self.by_core() {
                    true => (self.amf, Kind::NgHandoverRequestAcknowledge),
                    false => (source, Kind::HandoverRequestAcknowledge),
                };
                self.send(host, (to, id), kind, out);
            }
            Due::Ready(target) => {
                self.with(host, now, out, |known, env| {
                    known.context.target_is_ready(target, env);
                    true
                });
            }
            Due::Command(target) => {
                let dual = self.params.daps;
                self.send(host, (host, id), Kind::Reconfiguration { target, dual }, out);
            }
        }
    }

    /// The target has acknowledged.
    pub(super) fn target_is_ready(
        &mut self,
        host: Addr,
        (target, id): (Addr, Identification),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let (delay, from) = (self.params.command_delay, self.params.forward_from);
        let conditional = self.params.conditional.is_some();
        let mut command_later = false;
        self.with(host, now, out, |known, env| {
            let prepares = matches!(known.context.state, State::Preparing { target: expected, .. } if expected == target);
            if id != known.context.id || !(prepares || conditional) {
                return true;
            }
            if !conditional && delay > Duration::ZERO {
                match from {
                    ForwardFrom::Command => {
                        known.due = Some((now + delay, Due::Ready(target)));
                        if let State::Preparing { until, .. } = &mut known.context.state {
                            *until = now + delay + env.rules.timers.reloc_prep;
                        }
                        return true;
                    }
                    ForwardFrom::Acknowledge => {
                        known.due = Some((now + delay, Due::Command(target)));
                        command_later = true;
                    }
                }
            }
            known.marked = false;
            known.context.target_is_ready(target, env);
            true
        });
        if command_later {
            let is_command = |action: &Action| matches!(action, Action::Send { message, .. } if matches!(message.kind, Kind::Reconfiguration { .. }));
            out.retain(|action| !is_command(action));
        }
    }
}
