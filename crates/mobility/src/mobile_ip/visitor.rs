//! The state of a foreign agent for one host, and the routes that follow from it.
//!
//! | the host is | packets from anywhere | packets from its old base station |
//! | --- | --- | --- |
//! | here | its base station | its base station |
//! | departed, detour on | its old base station | tunnel to the new agent |
//! | departed, no detour | tunnel to the new agent | tunnel to the new agent |
//! | here, moved within this agent, detour on | its old base station | its base station |
//!
//! An agent that keeps copies watches the packets to a host that is here: the world keeps a copy of each.

use super::{Action, Kind, Message, Params, Phase, ReplyCode, UPDATE_RETRANSMIT, UPDATE_RETRANSMIT_LIMIT};
use crate::backoff::Backoff;
use crate::signal::send;
use crate::{Identification, Via};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::BTreeSet;

/// A foreign agent's entry for a host.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    /// Of the registration or update that the entry comes from.
    pub identification: Option<Identification>,
    pub location: Location,
    /// The base station that it left last.
    pub drain: Option<Drain>,
    /// Base stations whose packets for the host have their own route.
    diverted: BTreeSet<Addr>,
}

#[derive(Copy, Clone, Debug, Default)]
pub(super) enum Location {
    #[default]
    Unknown,
    /// In a cell of this agent.
    Here {
        base_station: Addr,
        /// Requests that wait for a reply: the first of them, and until when.
        pending: Option<(Identification, Time)>,
        /// The registration that holds until then.
        confirmed: Option<Time>,
    },
    /// In a cell of this agent, whose requests since `first` had no reply in time; forgotten at `expires`.
    GivenUp { base_station: Addr, first: Identification, expires: Time },
    /// At another agent; forgotten at `expires`.
    Departed { care_of: Addr, expires: Time },
}

/// State that remains at a base station after the host has left it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Drain {
    pub base_station: Addr,
    /// The forward message is repeated until a packet comes from the base station or `give_up`.
    pub forward: Option<Backoff>,
    give_up: Time,
    /// When the detour ends.
    pub detour_until: Option<Time>,
}

impl Host {
    pub fn departed(&self) -> bool {
        matches!(self.location, Location::Departed { .. })
    }

    /// True if a message with this identification is late or repeated.
    pub fn outdates(&self, identification: Identification) -> bool {
        self.identification.is_some_and(|known| identification <= known)
    }

    /// The host came from elsewhere: it is at `base_station` (again).
    pub fn arrive(&mut self, host: Addr, base_station: Addr, params: &Params, out: &mut Vec<Action>) {
        self.stop_diverting(host, base_station, out);
        if let Some(drain) = &mut self.drain {
            drain.detour_until = None;
        }
        self.set_routes(host, params, out);
    }

    /// The host moved from one base station of this agent to another.
    pub fn move_within(
        &mut self,
        host: Addr,
        (old, new): (Addr, Addr),
        accepts: bool,
        params: &Params,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        if !accepts {
            self.stop_forwarding();
        }
        self.stop_diverting(host, new, out);
        self.leave(host, old, accepts, params, now, out);
    }

    /// The host left `old`: its packets continue to the host's place, others through its buffer or on as
    /// well. Nothing that was buffered follows the host where it is not accepted.
    pub fn leave(
        &mut self,
        host: Addr,
        old: Addr,
        accepts: bool,
        params: &Params,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        if params.keeps_copies() {
            if let Some(via) = self.onward().filter(|_| accepts) {
                let mark = params.buffer.mark_forwarded.then_some(params.buffer.mark);
                out.push(Action::Note { host, phase: Phase::ForwardingStarted });
                out.push(Action::StartBuffering { host });
                out.push(Action::Release { host, via, mark });
            }
            out.push(Action::DiscardBuffer { host });
        }
        if params.buffers() && accepts {
            let until = now + params.buffer.hold;
            self.diverted.insert(old);
            self.drain = Some(Drain {
                base_station: old,
                forward: Some(Backoff::start(now, UPDATE_RETRANSMIT, UPDATE_RETRANSMIT_LIMIT)),
                give_up: until,
                detour_until: params.buffer.detour.then_some(until),
            });
        }
        self.set_routes(host, params, out);
        self.forward_again(host, out);
    }

    /// The host is where no buffered packets are accepted: nothing is asked of its old base station any more, and what
    /// still comes passes it by.
    pub fn stop_forwarding(&mut self) {
        if let Some(drain) = &mut self.drain {
            (drain.forward, drain.detour_until) = (None, None);
        }
    }

    /// The host moved again, elsewhere. It may have been back at the old base station in between without
    /// registering here, so that the base station holds its packets again. If this message is lost too, they
    /// expire.
    pub fn ask_again(&self, host: Addr, out: &mut Vec<Action>) {
        if let (Some(identification), Some(drain)) = (self.identification, self.drain) {
            send(drain.base_station, (host, identification, Kind::Forward), out);
        }
    }

    /// Tells the old base station to forward, if it is not known to do so.
    pub fn forward_again(&self, host: Addr, out: &mut Vec<Action>) {
        if self.drain.is_some_and(|drain| drain.forward.is_some()) {
            self.ask_again(host, out);
        }
    }

    /// `base_station` has the host again: it has nothing to forward any more.
    fn stop_diverting(&mut self, host: Addr, base_station: Addr, out: &mut Vec<Action>) {
        if self.diverted.remove(&base_station) {
            out.push(Action::ClearRoute { host, from: Some(base_station) });
        }
        self.drain = self.drain.filter(|drain| drain.base_station != base_station);
    }

    /// Sets the routes that the entry implies. Only tunnelled packets to a departed host, and packets from the base
    /// station that drains, are of interest to the agent.
    pub fn set_routes(&self, host: Addr, params: &Params, out: &mut Vec<Action>) {
        let Some(onward) = self.onward() else { return };
        if let Some(drain) = self.drain {
            out.push(Action::SetRoute { host, from: Some(drain.base_station), via: onward, watch: true });
        }
        let detour = self.drain.filter(|drain| drain.detour_until.is_some());
        let via = detour.map_or(onward, |drain| Via::Neighbour(drain.base_station));
        let watch = self.departed() || params.keeps_copies();
        out.push(Action::SetRoute { host, from: None, via, watch });
    }

    /// Where its packets go.
    fn onward(&self) -> Option<Via> {
        match self.location {
            Location::Unknown | Location::GivenUp { .. } => None,
            Location::Here { base_station, .. } => Some(Via::Neighbour(base_station)),
            Location::Departed { care_of, .. } => Some(Via::Tunnel(care_of)),
        }
    }

    pub fn clear_routes(&self, host: Addr, params: &Params, out: &mut Vec<Action>) {
        if params.keeps_copies() {
            out.push(Action::DiscardBuffer { host });
        }
        out.push(Action::ClearRoute { host, from: None });
        out.extend(self.diverted.iter().map(|&from| Action::ClearRoute { host, from: Some(from) }));
    }

    pub fn pending_too_long(&self, now: Time) -> bool {
        matches!(self.location, Location::Here { pending: Some((_, until)), .. } if until <= now)
    }

    /// The answer to a request that waited too long for the home agent's (RFC 5944 §3.7.2).
    pub fn timeout_reply(&self, host: Addr) -> Message {
        let reply = Kind::RegistrationReply { code: ReplyCode::PENDING_TIMEOUT, lifetime: Duration::ZERO };
        Message::about(host, self.identification.unwrap_or_default(), reply)
    }

    /// The requests had no reply in time: the host has no routes here, but a late reply counts.
    fn give_up(
        &mut self,
        host: Addr,
        (base_station, first): (Addr, Identification),
        (params, expires): (&Params, Time),
        out: &mut Vec<Action>,
    ) {
        self.clear_routes(host, params, out);
        self.diverted.clear();
        self.drain = None;
        self.location = Location::GivenUp { base_station, first, expires };
    }

    /// Ends what has ended; `false` if that leaves nothing, and the routes are cleared.
    pub fn on_timer(&mut self, host: Addr, params: &Params, now: Time, out: &mut Vec<Action>) -> bool {
        match &mut self.location {
            Location::Departed { expires, .. } if now < *expires => {}
            Location::GivenUp { expires, .. } => return now < *expires,
            Location::Here { base_station, pending, confirmed } => {
                let over = pending.take_if(|(_, until)| *until <= now);
                *confirmed = confirmed.filter(|until| now < *until);
                if let (Some((first, _)), None) = (over, *confirmed) {
                    let requests = (*base_station, first);
                    self.give_up(host, requests, (params, now + params.registration_lifetime), out);
                    return true;
                }
                if pending.is_none() && confirmed.is_none() {
                    self.clear_routes(host, params, out);
                    return false;
                }
            }
            Location::Unknown | Location::Departed { .. } => {
                self.clear_routes(host, params, out);
                return false;
            }
        }
        let Some(drain) = &mut self.drain else { return true };
        if let Some(timer) = drain.forward.filter(|timer| timer.at <= now) {
            drain.forward = (now < drain.give_up).then(|| timer.again(now));
            self.forward_again(host, out);
        }
        if let Some(drain) = &mut self.drain
            && drain.detour_until.is_some_and(|until| until <= now)
        {
            drain.detour_until = None;
            self.set_routes(host, params, out);
        }
        true
    }

    pub fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let life = match self.location {
            Location::Unknown => [None, None],
            Location::GivenUp { expires, .. } | Location::Departed { expires, .. } => [Some(expires), None],
            Location::Here { pending, confirmed, .. } => [pending.map(|(_, until)| until), confirmed],
        };
        let forward = self.drain.and_then(|drain| Some(drain.forward?.at));
        let detour = self.drain.and_then(|drain| drain.detour_until);
        life.into_iter().chain([forward, detour]).flatten().for_each(each);
    }
}
