//! Who has paths switched in the core network: requests of base stations and hosts, one after the other for each host.
//!
//! A request that is next after a newer one was done is answered with a failure.

use super::message::{Message, Out};
use super::params::Rules;
use crate::backoff::Backoff;
use crate::identification::Identification;
use crate::signal::Signal;
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::{BTreeMap, VecDeque};

/// The path switches of all hosts.
#[derive(Clone, Debug)]
pub(crate) struct PathSwitching {
    gateway: Addr,
    hosts: BTreeMap<Addr, Host>,
}

#[derive(Clone, Debug, Default)]
struct Host {
    /// Of the newest request that was begun.
    id: Identification,
    /// Where the path goes since that request is done.
    base_station: Option<Addr>,
    /// Under way.
    change: Option<Change>,
    queue: VecDeque<Request>,
}

impl Host {
    /// A request for service is done. The host may have repeated it meanwhile: the identification of its last request, which is
    /// answered in place of the first.
    fn repeated(&mut self, done: Request) -> Option<Identification> {
        let is_same = |waits: &Request| (waits.asks, waits.from) == (done.asks, done.from);
        if done.asks != Asks::Service {
            return None;
        }
        let last = self.queue.iter().filter(|waits| is_same(waits)).map(|waits| waits.id).max()?;
        self.queue.retain(|waits| !is_same(waits));
        self.id = self.id.max(last);
        Some(last)
    }
}

/// A request that the path of a host go to a base station.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    pub from: Addr,
    pub id: Identification,
    pub base_station: Addr,
    pub asks: Asks,
}

/// Who asks for a path, and wants which answer.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Asks {
    /// A host for a new connection.
    Service,
    /// A base station, which gets an answer.
    Switch,
    /// A base station that the core network has prepared: it gets no answer.
    Notice,
}

#[derive(Clone, Debug)]
struct Change {
    request: Request,
    /// Others who ask for the same.
    also: Vec<Addr>,
    /// When the request to the gateway is repeated, if it is.
    retry: Option<Backoff>,
    /// When it is given up, if it is.
    until: Option<Time>,
}

impl PathSwitching {
    /// It knows no host; `gateway` switches the paths.
    pub fn new(gateway: Addr) -> PathSwitching {
        PathSwitching { gateway, hosts: BTreeMap::new() }
    }

    /// A request has come.
    pub fn requested(
        &mut self,
        host: Addr,
        request: Request,
        now: Time,
        (rules, out): (&Rules, &mut dyn Out),
    ) {
        let service = request.asks == Asks::Service;
        let known = match service {
            true => self.hosts.entry(host).or_default(),
            false => match self.hosts.get_mut(&host) {
                Some(known) => known,
                None => return refuse(host, request, out),
            },
        };
        match &mut known.change {
            Some(change) if change.request.id == request.id => {
                if !service && request.from != change.request.from && !change.also.contains(&request.from) {
                    change.also.push(request.from);
                }
            }
            None if known.id == request.id && !service => answer(host, request, request.from, out),
            _ if request.id <= known.id => refuse(host, request, out),
            Some(_) => {
                // Of the repeated service requests of a host the last one is enough.
                known
                    .queue
                    .retain(|waits| !(waits.asks == Asks::Service && service && waits.from == request.from));
                if !known.queue.contains(&request) {
                    known.queue.push_back(request);
                }
            }
            None => self.begin(host, request, now, (rules, out)),
        }
    }

    fn begin(&mut self, host: Addr, request: Request, now: Time, (rules, out): (&Rules, &mut dyn Out)) {
        let Some(known) = self.hosts.get_mut(&host) else { return };
        known.id = request.id;
        known.change = Some(Change {
            request,
            also: Vec::new(),
            retry: rules.core_retry(now),
            until: rules.switch_wait.map(|wait| now + wait),
        });
        self.ask(host, out);
    }

    fn ask(&self, host: Addr, out: &mut dyn Out) {
        let Some(change) = self.hosts.get(&host).and_then(|known| known.change.as_ref()) else { return };
        let Request { id, base_station, asks, .. } = change.request;
        let complete = asks == Asks::Notice;
        let message = Message::ModifyBearerRequest { base_station, complete };
        out.send(self.gateway, Signal::about(host, id, message));
    }

    /// The gateway has answered; the base station that the path went to before, if it went to another one.
    pub fn modified(
        &mut self,
        host: Addr,
        id: Identification,
        now: Time,
        (rules, out): (&Rules, &mut dyn Out),
    ) -> Option<Addr> {
        let known = self.hosts.get_mut(&host)?;
        let change = known.change.take_if(|change| change.request.id == id)?;
        let Request { from, base_station, asks, .. } = change.request;
        let id = known.repeated(change.request).unwrap_or(id);
        let old = known.base_station.replace(base_station).filter(|&old| old != base_station);
        if asks == Asks::Service {
            out.send(base_station, Signal::about(host, id, Message::InitialContextSetup));
            if let Some(old) = old {
                out.send(old, Signal::about(host, id, Message::ContextReleaseCommand));
            }
        } else {
            for asked in std::iter::once(from).chain(change.also) {
                answer(host, change.request, asked, out);
            }
        }
        self.next(host, now, (rules, out));
        old
    }

    /// Requests that have waited for their turn.
    fn next(&mut self, host: Addr, now: Time, (rules, out): (&Rules, &mut dyn Out)) {
        while let Some(known) = self.hosts.get_mut(&host)
            && known.change.is_none()
            && let Some(next) = known.queue.pop_front()
        {
            self.requested(host, next, now, (rules, out));
        }
    }

    /// The gateway has not answered in time: the sessions of the host are released.
    fn give_up(&mut self, host: Addr, now: Time, (rules, out): (&Rules, &mut dyn Out)) {
        let Some(known) = self.hosts.get_mut(&host) else { return };
        let late = |change: &mut Change| change.until.is_some_and(|until| until <= now);
        let Some(Change { request, also, .. }) = known.change.take_if(late) else { return };
        // A host repeats its request for service.
        if request.asks != Asks::Service {
            for asked in std::iter::once(request.from).chain(also) {
                let failure = Message::PathSwitchRequestFailure { released: true };
                out.send(asked, Signal::about(host, request.id, failure));
            }
        }
        self.next(host, now, (rules, out));
    }

    /// Some of its deadlines may have come.
    pub fn on_timer(&mut self, now: Time, (rules, out): (&Rules, &mut dyn Out)) {
        for host in self.hosts.keys().copied().collect::<Vec<_>>() {
            self.give_up(host, now, (rules, out));
        }
        let mut again = Vec::new();
        for (&host, known) in &mut self.hosts {
            let retry = known.change.as_mut().and_then(|change| change.retry.as_mut());
            if let Some(retry) = retry.filter(|retry| retry.at <= now) {
                *retry = retry.again(now);
                again.push(host);
            }
        }
        again.into_iter().for_each(|host| self.ask(host, out));
    }

    /// Gives `each` all times at which it wants [`on_timer`](Self::on_timer).
    pub fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        for change in self.hosts.values().filter_map(|known| known.change.as_ref()) {
            change.until.into_iter().chain(change.retry.map(|retry| retry.at)).for_each(&mut *each);
        }
    }

    /// `None`: the host is not known; else whether a request is under way.
    pub fn is_busy(&self, host: Addr) -> Option<bool> {
        self.hosts.get(&host).map(|known| known.change.is_some())
    }

    /// The hosts that are known.
    pub fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.hosts.keys().copied()
    }
}

fn answer(host: Addr, request: Request, to: Addr, out: &mut dyn Out) {
    if request.asks != Asks::Notice {
        out.send(to, Signal::about(host, request.id, Message::PathSwitchRequestAck));
    }
}

fn refuse(host: Addr, request: Request, out: &mut dyn Out) {
    // A service request is repeated by its host, with a newer identification.
    if request.asks == Asks::Switch {
        out.send(
            request.from,
            Signal::about(host, request.id, Message::PathSwitchRequestFailure { released: false }),
        );
    }
}
