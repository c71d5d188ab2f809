//! The mobility management entity: requests path switches, one after the other for each host.
//!
//! A request that is next after a newer one was done is answered with a failure.

use super::{Action, Input, Kind, Message, Params, Phase};
use crate::backoff::Backoff;
use crate::transitions::Role;
use crate::{Agent, Identification};
use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::{BTreeMap, VecDeque};

crate::transitions! {
    Mme, "state of a host": Unknown "unknown", Idle "idle", Modifying "modifying";
    "unknown" | "path-switch-request" | "" | "path-switch-request-failure" | "same";
    "unknown, idle" | "service-request" | "newer" | "modify-bearer-request" | "modifying";
    "idle" | "path-switch-request" | "newer" | "modify-bearer-request" | "modifying";
    "idle" | "path-switch-request" | "of the handover that is done" | "path-switch-request-ack" | "same";
    "idle, modifying" | "path-switch-request" | "older" | "path-switch-request-failure" | "same";
    "modifying" | "path-switch-request, service-request" | "newer: waits for its turn; of the handover under way: is answered too" | "" | "same";
    "modifying" | "modify-bearer-response" | "of the last request; the next request follows" | "path-switch-request-ack, initial-context-setup, ue-context-release-command" | "idle";
    "modifying" | "modify-bearer-response" | "the same, and another request waits" | "path-switch-request-ack, modify-bearer-request" | "same";
    "modifying" | "time" | "no response" | "modify-bearer-request" | "same";
}

/// LTE at the mobility management entity.
#[derive(Clone, Debug)]
pub struct Mme {
    gateway: Addr,
    params: Params,
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

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Request {
    from: Addr,
    id: Identification,
    base_station: Addr,
    service: bool,
}

#[derive(Clone, Debug)]
struct Change {
    request: Request,
    /// Others who ask for the same.
    also: Vec<Addr>,
    retry: Backoff,
}

impl Mme {
    /// An entity that knows no host; the gateway of all is `gateway`.
    pub fn new(gateway: Addr, params: &Params) -> Mme {
        Mme { gateway, params: params.clone(), hosts: BTreeMap::new() }
    }

    fn requested(&mut self, host: Addr, request: Request, now: Time, out: &mut Vec<Action>) {
        let known = match request.service {
            true => self.hosts.entry(host).or_default(),
            false => match self.hosts.get_mut(&host) {
                Some(known) => known,
                None => return refuse(host, request, out),
            },
        };
        match &mut known.change {
            Some(change) if change.request.id == request.id => {
                if !request.service
                    && request.from != change.request.from
                    && !change.also.contains(&request.from)
                {
                    change.also.push(request.from);
                }
            }
            None if known.id == request.id && !request.service => {
                out.push(Message::about(host, request.id, Kind::PathSwitchRequestAck).to(request.from));
            }
            _ if request.id <= known.id => refuse(host, request, out),
            Some(_) => {
                // Of the repeated service requests of a host the last one is enough.
                known.queue.retain(|waits| !(waits.service && request.service && waits.from == request.from));
                if !known.queue.contains(&request) {
                    known.queue.push_back(request);
                }
            }
            None => self.begin(host, request, now, out),
        }
    }

    fn begin(&mut self, host: Addr, request: Request, now: Time, out: &mut Vec<Action>) {
        let Some(known) = self.hosts.get_mut(&host) else { return };
        known.id = request.id;
        let retry = self.params.timers.s1_retry(now);
        known.change = Some(Change { request, also: Vec::new(), retry });
        self.ask(host, out);
    }

    fn ask(&self, host: Addr, out: &mut Vec<Action>) {
        let Some(change) = self.hosts.get(&host).and_then(|known| known.change.as_ref()) else { return };
        let Request { id, base_station, .. } = change.request;
        out.push(Message::about(host, id, Kind::ModifyBearerRequest { base_station }).to(self.gateway));
    }

    fn modified(&mut self, host: Addr, id: Identification, now: Time, out: &mut Vec<Action>) {
        let Some(known) = self.hosts.get_mut(&host) else { return };
        let Some(change) = known.change.take_if(|change| change.request.id == id) else { return };
        let Request { from, base_station, service, .. } = change.request;
        let old = known.base_station.replace(base_station);
        if service {
            out.push(Message::about(host, id, Kind::InitialContextSetup).to(base_station));
            if let Some(old) = old.filter(|&old| old != base_station) {
                out.push(Message::about(host, id, Kind::ContextReleaseCommand).to(old));
            }
        } else {
            for asked in std::iter::once(from).chain(change.also) {
                out.push(Message::about(host, id, Kind::PathSwitchRequestAck).to(asked));
            }
        }
        while let Some(known) = self.hosts.get_mut(&host)
            && known.change.is_none()
            && let Some(next) = known.queue.pop_front()
        {
            self.requested(host, next, now, out);
        }
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<Action>) {
        let mut again = Vec::new();
        for (&host, known) in &mut self.hosts {
            if let Some(change) = known.change.as_mut().filter(|change| change.retry.at <= now) {
                change.retry = change.retry.again(now);
                again.push(host);
            }
        }
        again.into_iter().for_each(|host| self.ask(host, out));
    }
}

fn refuse(host: Addr, request: Request, out: &mut Vec<Action>) {
    // A service request is repeated by its host, with a newer identification.
    if !request.service {
        out.push(Message::about(host, request.id, Kind::PathSwitchRequestFailure).to(request.from));
    }
}

impl Role for Mme {
    fn state(&self, host: Addr) -> StateName {
        match self.hosts.get(&host) {
            None => StateName::Unknown,
            Some(Host { change: None, .. }) => StateName::Idle,
            Some(Host { change: Some(_), .. }) => StateName::Modifying,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.hosts.keys().copied()
    }
}

impl Agent for Mme {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Deadline => self.on_timer(now, out),
            Input::Message { from, message } => {
                let Message { host: Some(host), id, kind } = message else { return };
                match kind {
                    Kind::PathSwitchRequest { base_station } => {
                        self.requested(host, Request { from, id, base_station, service: false }, now, out);
                    }
                    Kind::ServiceRequest => {
                        self.requested(
                            host,
                            Request { from, id, base_station: from, service: true },
                            now,
                            out,
                        );
                    }
                    Kind::ModifyBearerResponse => self.modified(host, id, now, out),
                    _ => {}
                }
            }
            Input::Trigger(_) | Input::Data { .. } => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.hosts.values().filter_map(|known| Some(known.change.as_ref()?.retry.at)).for_each(each);
    }
}
