//! The access router: as the PAR it tunnels the packets of a departing host, as the NAR it keeps those of an arriving
//! one.
//!
//! An rtsolpr of a host that is not served has no answer. A una, hi or fbu that is older than the latest state known of the host
//! has no effect. The same holds for a una of a host that layer 2 does not have here.

use super::{Action, Input, Kind, Message, Params, Phase, RETRANSMIT, RETRANSMIT_LIMIT, RETRIES};
use crate::backoff::Backoff;
use crate::blocks::{Beacons, BufferPlace};
use crate::signal::{broadcast, send};
use crate::transitions::Role;
use crate::{Agent, Identification, L2Trigger, Newest, Via};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::{BTreeMap, BTreeSet};

crate::transitions! {
    AccessRouter, "state of a host": None "none", Prepared "prepared", Serving "serving", Initiating "initiating", Forwarding "forwarding", Left "left";
    "any" | "host arrived" | "" | "" | "same";
    "forwarding" | "host arrived" | "it is back" | "no route, route" | "serving";
    "serving, initiating" | "host gone" | "buffers, if the buffer is here" | "start buffering" | "left";
    "none, prepared, forwarding, left" | "host gone" | "" | "" | "same";
    "serving, initiating" | "handover predicted, rtsolpr" | "" | "prrtadv" | "same";
    "none, prepared, forwarding, left" | "una" | "of a present host, not older" | "no route, release, route, discard buffer" | "serving";
    "serving, initiating" | "una" | "not older" | "" | "same";
    "serving" | "fbu" | "for another access router, from the old link" | "hi" | "initiating";
    "initiating, left" | "fbu" | "for another access router, from the old link" | "hi" | "same";
    "forwarding" | "fbu" | "again, from the old link" | "fback" | "same";
    "any" | "fbu" | "from the new link" | "no route, release into tunnel, tunnel, route, discard buffer, fback" | "forwarding";
    "any" | "fbu" | "it withdraws, and the host is present" | "no route, release, route, discard buffer, fback" | "serving";
    "none, forwarding, left" | "hi" | "not older" | "no route, start buffering, hack" | "prepared";
    "prepared, serving, initiating" | "hi" | "not older" | "hack" | "same";
    "initiating, left" | "hack" | "of the last hi" | "release into tunnel, tunnel, route, discard buffer, fback" | "forwarding";
    "any" | "fback" | "for a host that has come" | "fback" | "same";
    "initiating, left" | "time" | "no hack, three times" | "hi" | "same";
    "initiating" | "time" | "no hack after that" | "" | "serving";
    "prepared, forwarding, left" | "time" | "lifetime over, the host is present" | "no route, release, route, discard buffer" | "serving";
    "prepared, forwarding, left" | "time" | "lifetime over" | "no route, discard buffer" | "none";
}

/// FMIPv6 at an access router.
#[derive(Clone, Debug)]
pub struct AccessRouter {
    address: Addr,
    params: Params,
    beacons: Beacons,
    /// Hosts that layer 2 has here.
    present: BTreeSet<Addr>,
    /// The latest state of each host, as far as it is known here.
    newest: Newest,
    visitors: BTreeMap<Addr, Visitor>,
}

/// A host whose packets come here.
#[derive(Clone, Debug)]
struct Visitor {
    state: State,
    /// Its packets go to the buffer.
    buffering: bool,
    initiating: Option<Initiating>,
}

/// A hi that waits for its hack.
#[derive(Clone, Debug)]
struct Initiating {
    to: Addr,
    id: Identification,
    timer: Backoff,
    left: u32,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum State {
    Prepared { until: Time },
    Serving,
    Forwarding { to: Addr, until: Time },
    Left { until: Time },
}

impl State {
    /// When it is over; `None`: not by time.
    fn until(self) -> Option<Time> {
        match self {
            State::Serving => None,
            State::Prepared { until } | State::Left { until } | State::Forwarding { until, .. } => {
                Some(until)
            }
        }
    }

    /// Packets that came back through the tunnel have no other route left.
    fn end_tunnel(self, host: Addr, out: &mut Vec<Action>) {
        if let State::Forwarding { to, .. } = self {
            out.push(Action::ClearRoute { host, from: Some(to) });
        }
    }
}

impl AccessRouter {
    /// An access router without hosts; the first advertisement comes at `phase`.
    pub fn new(address: Addr, phase: Duration, params: &Params) -> AccessRouter {
        AccessRouter {
            address,
            params: params.clone(),
            beacons: Beacons::new(phase, &params.detection),
            present: BTreeSet::new(),
            newest: Newest::default(),
            visitors: BTreeMap::new(),
        }
    }

    fn visitor(&mut self, host: Addr, state: State) -> &mut Visitor {
        self.visitors.entry(host).or_insert(Visitor { state, buffering: false, initiating: None })
    }

    /// The host's packets go over the air from now on, whatever became of them before.
    fn serve(&mut self, host: Addr, out: &mut Vec<Action>) {
        self.visitor(host, State::Serving).serve(host, out);
    }

    fn serves(&self, host: Addr) -> bool {
        self.visitors.get(&host).is_some_and(|visitor| visitor.state == State::Serving)
    }

    fn host_arrived(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        self.present.insert(host);
        // Messages of the host elsewhere before this one are out of date.
        self.newest.is_news(host, Identification(now.as_nanos()));
        if let Some(visitor) = self.visitors.get_mut(&host)
            && matches!(visitor.state, State::Forwarding { .. })
        {
            visitor.serve(host, out);
        }
    }

    fn host_gone(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        self.present.remove(&host);
        let keeps = self.params.buffer.is_at(BufferPlace::Old);
        if let Some(visitor) = self.visitors.get_mut(&host)
            && visitor.state == State::Serving
        {
            visitor.state = State::Left { until: now + self.params.buffer_lifetime };
            if keeps {
                visitor.buffering = true;
                out.push(Action::StartBuffering { host });
            }
        }
    }

    fn una(&mut self, host: Addr, id: Identification, out: &mut Vec<Action>) {
        if !self.present.contains(&host) || !self.newest.is_news(host, id) {
            return;
        }
        if !self.serves(host) {
            self.serve(host, out);
        }
    }

    /// Another access router expects the host to come here.
    fn hi(
        &mut self,
        (host, id): (Addr, Identification),
        (from, buffer): (Addr, bool),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        if !self.newest.is_news(host, id) {
            return;
        }
        let prepared = State::Prepared { until: now + self.params.buffer_lifetime };
        let is_new = self.state(host) != StateName::Prepared;
        let visitor = self.visitor(host, prepared);
        if visitor.state != State::Serving {
            visitor.state.end_tunnel(host, out);
            (visitor.state, visitor.initiating) = (prepared, None);
            if is_new {
                if !visitor.buffering {
                    out.push(Action::ClearRoute { host, from: None });
                }
                if buffer && !std::mem::replace(&mut visitor.buffering, true) {
                    out.push(Action::StartBuffering { host });
                }
                out.push(Action::Note { host, phase: Phase::Prepared });
            }
        }
        send(from, (host, id, Kind::HandoverAcknowledge), out);
    }

    fn fbu(
        &mut self,
        (host, id): (Addr, Identification),
        (to, from_new_link): (Addr, bool),
        now: Time,
        out: &mut Vec<Action>,
    ) {
        if !self.newest.is_news(host, id) {
            return;
        }
        let present = self.present.contains(&host);
        if to == self.address {
            if present {
                if self.state(host) != StateName::Serving {
                    self.serve(host, out);
                }
                send(host, (host, id, Kind::FastBindingAcknowledge), out);
            }
            return;
        }
        if from_new_link {
            self.forward(host, to, now, out);
            send(to, (host, id, Kind::FastBindingAcknowledge), out);
            return;
        }
        let (buffer, timer) =
            (self.params.buffer.is_at(BufferPlace::New), Backoff::start(now, RETRANSMIT, RETRANSMIT_LIMIT));
        let left = RETRIES;
        let Some(visitor) = self.visitors.get_mut(&host) else { return };
        match visitor.state {
            State::Forwarding { to: known, .. } if known == to => {
                let there = if present { host } else { to };
                send(there, (host, id, Kind::FastBindingAcknowledge), out);
            }
            State::Serving | State::Left { .. }
                if visitor.initiating.as_ref().is_none_or(|one| one.id != id) =>
            {
                visitor.initiating = Some(Initiating { to, id, timer, left });
                send(to, (host, id, Kind::HandoverInitiate { buffer }), out);
            }
            _ => {}
        }
    }

    fn hack(&mut self, host: Addr, from: Addr, id: Identification, now: Time, out: &mut Vec<Action>) {
        let Some(visitor) = self.visitors.get_mut(&host) else { return };
        if visitor.initiating.take_if(|one| one.to == from && one.id == id).is_none() {
            return;
        }
        // The NAR hands it on to a host that has left.
        let there = if visitor.state == State::Serving { host } else { from };
        send(there, (host, id, Kind::FastBindingAcknowledge), out);
        self.forward(host, from, now, out);
    }

    fn forward(&mut self, host: Addr, to: Addr, now: Time, out: &mut Vec<Action>) {
        let until = now + self.params.tunnel_lifetime;
        let visitor = self.visitor(host, State::Left { until });
        visitor.initiating = None;
        let before = std::mem::replace(&mut visitor.state, State::Forwarding { to, until });
        match before {
            State::Forwarding { to: known, .. } if known == to => return,
            _ => before.end_tunnel(host, out),
        }
        let via = Via::Tunnel(to);
        if visitor.buffering {
            out.push(Action::Release { host, via, mark: None });
        }
        out.push(Action::SetRoute { host, from: None, via, watch: false });
        // A packet that comes back from there is for this link, or for none.
        out.push(Action::SetRoute { host, from: Some(to), via: Via::Air, watch: false });
        if std::mem::take(&mut visitor.buffering) {
            out.push(Action::DiscardBuffer { host });
        }
        out.push(Action::Note { host, phase: Phase::TunnelStarted });
    }

    fn predicted(&self, host: Addr, expected: Addr, now: Time, out: &mut Vec<Action>) {
        if self.serves(host) && expected != self.address {
            out.push(Action::Note { host, phase: Phase::PredictionSent });
            let kind = Kind::PrRtAdv { expected: Some(expected) };
            send(host, (host, Identification(now.as_nanos()), kind), out);
        }
    }

    fn on_time(&mut self, now: Time, out: &mut Vec<Action>) {
        if self.beacons.are_due(now) {
            broadcast(Kind::Advertisement, out);
        }
        let buffer = self.params.buffer.is_at(BufferPlace::New);
        let present = &self.present;
        self.visitors.retain(|&host, visitor| {
            if visitor.state.until().is_some_and(|until| until <= now) {
                if present.contains(&host) {
                    visitor.serve(host, out);
                } else {
                    visitor.end(host, out);
                }
                return present.contains(&host);
            }
            if let Some(one) = visitor.initiating.as_mut().filter(|one| one.timer.at <= now) {
                if one.left == 0 {
                    visitor.initiating = None;
                } else {
                    (one.left, one.timer) = (one.left - 1, one.timer.again(now));
                    send(one.to, (host, one.id, Kind::HandoverInitiate { buffer }), out);
                }
            }
            true
        });
    }
}

impl Visitor {
    /// The host's packets go over the air, those that were kept first.
    fn serve(&mut self, host: Addr, out: &mut Vec<Action>) {
        self.state.end_tunnel(host, out);
        if std::mem::take(&mut self.buffering) {
            out.push(Action::Note { host, phase: Phase::Flushed });
            out.push(Action::Release { host, via: Via::Air, mark: None });
            out.push(Action::DiscardBuffer { host });
        }
        out.push(Action::SetRoute { host, from: None, via: Via::Air, watch: false });
        (self.state, self.initiating) = (State::Serving, None);
    }

    /// Packets for the host have no way here any more.
    fn end(&mut self, host: Addr, out: &mut Vec<Action>) {
        self.state.end_tunnel(host, out);
        out.push(Action::ClearRoute { host, from: None });
        if std::mem::take(&mut self.buffering) {
            out.push(Action::DiscardBuffer { host });
        }
        out.push(Action::Note { host, phase: Phase::TunnelEnded });
    }
}

impl Role for AccessRouter {
    fn state(&self, host: Addr) -> StateName {
        match self.visitors.get(&host).map(|visitor| (visitor.state, &visitor.initiating)) {
            None => StateName::None,
            Some((State::Prepared { .. }, _)) => StateName::Prepared,
            Some((State::Serving, None)) => StateName::Serving,
            Some((State::Serving, Some(_))) => StateName::Initiating,
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
            Input::Trigger(L2Trigger::HostArrived { host }) => self.host_arrived(host, now, out),
            Input::Trigger(L2Trigger::HostGone { host }) => self.host_gone(host, now, out),
            Input::Trigger(L2Trigger::HandoverPredicted { host, base_station }) => {
                self.predicted(host, base_station, now, out);
            }
            Input::Message { from, message: Message { host: Some(host), id, kind } } => match kind {
                Kind::Una if from == host => self.una(host, id, out),
                Kind::RtSolPr if from == host && self.serves(host) => {
                    send(host, (host, id, Kind::PrRtAdv { expected: None }), out);
                }
                Kind::FastBindingUpdate { to, from_new_link } if from == host => {
                    self.fbu((host, id), (to, from_new_link), now, out);
                }
                Kind::HandoverInitiate { buffer } => self.hi((host, id), (from, buffer), now, out),
                Kind::FastBindingAcknowledge => {
                    send(host, (host, id, Kind::FastBindingAcknowledge), out);
                }
                Kind::HandoverAcknowledge => self.hack(host, from, id, now, out),
                _ => {}
            },
            Input::Deadline => self.on_time(now, out),
            _ => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let times = self
            .visitors
            .values()
            .flat_map(|visitor| [visitor.state.until(), visitor.initiating.as_ref().map(|one| one.timer.at)]);
        times.chain([self.beacons.deadline()]).flatten().for_each(each);
    }
}
