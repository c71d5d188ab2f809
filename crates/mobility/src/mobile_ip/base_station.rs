//! The base station: sends beacons, passes the local handoff protocol on, and buffers for hosts that have left.
//!
//! Without the local handoff protocol only layer 2 reports the presence of a host. Then "host arrived" replaces the
//! handoff request, without notification.

use super::{Action, BeaconTiming, Input, Kind, Message, Params, Phase};
use crate::signal::{broadcast, send};
use crate::transitions::Role;
use crate::{Agent, Identification, L2Trigger, Via};
use roamlab_engine::{Duration, Time};
use roamlab_packet::{Addr, MarkingState};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

crate::transitions! {
    BaseStation, "state of a host": None "none", Requested "requested", Attached "attached", Buffering "buffering", Forwarding "forwarding";
    "none" | "handoff-request" | "of a present host" | "route, route to buffer, await forwarded, notification" | "requested";
    "requested, attached" | "handoff-request" | "of a present host" | "notification" | "same";
    "none, requested, attached" | "handoff-request" | "of a present host, whose queue's average decides" | "route, route to buffer, await forwarded, report marking" | "requested, attached";
    "buffering, forwarding" | "handoff-request" | "of a present host, whose queue's average decides: it is back" | "release, route, route to buffer, await forwarded, report marking" | "requested";
    "requested, attached" | "marking reported" | "an average decides whether buffered packets are accepted" | "notification" | "same";
    "buffering, forwarding" | "handoff-request" | "of a present host: it is back" | "release, route, route to buffer, await forwarded, notification" | "requested";
    "requested, attached" | "agent-advertisement" | "for the host" | "agent-advertisement" | "attached";
    "any" | "agent-solicitation" | "" | "agent-solicitation" | "same";
    "any" | "host arrived" | "with local handoff" | "" | "same";
    "none" | "host arrived" | "without local handoff" | "route, route to buffer, await forwarded" | "attached";
    "buffering, forwarding" | "host arrived" | "without local handoff" | "release, route, route to buffer, await forwarded" | "attached";
    "requested, attached" | "host gone" | "" | "start buffering" | "buffering";
    "requested, attached" | "host gone" | "without buffering" | "" | "none";
    "none, buffering, forwarding" | "host gone" | "" | "" | "same";
    "none, requested, attached" | "forward" | "about a move later than the attachment" | "start buffering, release, route to buffer" | "forwarding";
    "buffering" | "forward" | "about a move later than the attachment" | "release, route to buffer" | "forwarding";
    "forwarding" | "packet" | "restarts the hold time" | "" | "same";
    "buffering, forwarding" | "time" | "hold time over" | "no route, discard buffer" | "none";
}

/// Mobile IP at a base station.
#[derive(Clone, Debug)]
pub struct BaseStation {
    agent: Addr,
    params: Params,
    beacon_latency: Duration,
    /// The next beacon by the clock.
    next_beacon: Time,
    /// Beacons promised to hosts that arrived, ahead of the clock.
    promised: VecDeque<Time>,
    /// Hosts that layer 2 has here.
    present: BTreeSet<Addr>,
    hosts: BTreeMap<Addr, Host>,
}

#[derive(Copy, Clone, Debug)]
enum Host {
    Requested { since: Time },
    Attached { since: Time },
    Buffering { since: Time, until: Time },
    Forwarding { until: Time },
}

impl BaseStation {
    /// A base station below the foreign agent `agent`.
    ///
    /// The first beacon is sent at `beacon_phase`, later ones every beacon interval. `beacon_latency` is the time from
    /// sending a beacon to its being heard over an idle air link; it matters with [`BeaconTiming::Worst`] only.
    pub fn new(
        agent: Addr,
        beacon_phase: Duration,
        beacon_latency: Duration,
        params: &Params,
    ) -> BaseStation {
        BaseStation {
            agent,
            params: params.clone(),
            beacon_latency,
            next_beacon: Time::ZERO + beacon_phase,
            promised: VecDeque::new(),
            present: BTreeSet::new(),
            hosts: BTreeMap::new(),
        }
    }

    fn host_arrived(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        self.present.insert(host);
        if !self.params.local_handoff {
            self.attach(host, out);
            self.hosts.insert(host, Host::Attached { since: now });
            return;
        }
        if self.params.tb_mode == BeaconTiming::Worst {
            // The clock restarts; a host that arrived a little earlier still gets its own beacon.
            let beacon = now + self.params.beacon_interval.saturating_sub(self.beacon_latency);
            if self.promised.back() != Some(&beacon) {
                self.promised.push_back(beacon);
            }
            self.next_beacon = beacon + self.params.beacon_interval;
        }
    }

    /// Packets for the host go over the air from now on; what waits for it goes first.
    fn attach(&self, host: Addr, out: &mut Vec<Action>) {
        match self.hosts.get(&host) {
            Some(Host::Requested { .. } | Host::Attached { .. }) => return,
            Some(Host::Buffering { .. } | Host::Forwarding { .. }) => {
                out.push(Action::Release { host, via: Via::Air, mark: None });
            }
            None => {}
        }
        let wait = self.params.buffer.in_order_wait;
        if wait == Duration::ZERO || !self.params.buffers() {
            out.push(Action::SetRoute { host, from: None, via: Via::Air, watch: false });
        } else {
            out.push(Action::SetRoute { host, from: None, via: Via::Buffer, watch: false });
            out.push(Action::AwaitForwarded { host, mark: self.params.buffer.mark, wait });
        }
    }

    fn handoff_requested(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        if !self.present.contains(&host) {
            // The host left while its request was on the air: its packets continue to wait.
            return;
        }
        self.attach(host, out);
        if !matches!(self.hosts.get(&host), Some(Host::Requested { .. } | Host::Attached { .. })) {
            self.hosts.insert(host, Host::Requested { since: now });
        }
        match self.params.forward_below() {
            Some(_) => out.push(Action::ReportMarking { host }),
            None => self.notify(host, true, out),
        }
    }

    /// Layer 2 reports the average of the queue that the host's packets wait in.
    fn marking_reported(&self, host: Addr, state: Option<&MarkingState>, out: &mut Vec<Action>) {
        let Some(below) = self.params.forward_below() else { return };
        let is_long = matches!(state, Some(MarkingState::Average(average)) if *average >= below.0 as f64);
        self.notify(host, !is_long, out);
    }

    fn notify(&self, host: Addr, accepts: bool, out: &mut Vec<Action>) {
        send(self.agent, (host, Identification::default(), Kind::Notification { accepts }), out);
    }

    fn relay_advertisement(&mut self, message: Message, out: &mut Vec<Action>) {
        let Some(host) = message.host else {
            return out.push(message.to(Addr::BROADCAST));
        };
        if let Some(Host::Requested { since } | Host::Attached { since }) = self.hosts.get(&host).copied() {
            self.hosts.insert(host, Host::Attached { since });
            out.push(message.to(host));
        }
    }

    fn host_gone(&mut self, host: Addr, now: Time, out: &mut Vec<Action>) {
        self.present.remove(&host);
        let Some(Host::Requested { since } | Host::Attached { since }) = self.hosts.get(&host).copied()
        else {
            return;
        };
        if !self.params.buffers() {
            // The route stays: the queue does not know that no host listens any more.
            self.hosts.remove(&host);
            return;
        }
        out.push(Action::StartBuffering { host });
        self.hosts.insert(host, Host::Buffering { since, until: now + self.params.buffer.hold });
    }

    fn forward(&mut self, host: Addr, moved: Time, now: Time, out: &mut Vec<Action>) {
        match self.hosts.get(&host) {
            Some(Host::Forwarding { .. }) => return,
            Some(Host::Requested { since } | Host::Attached { since } | Host::Buffering { since, .. })
                if moved <= *since =>
            {
                return;
            }
            Some(Host::Buffering { .. }) => {}
            Some(Host::Requested { .. } | Host::Attached { .. }) | None => {
                out.push(Action::StartBuffering { host });
            }
        }
        let mark = self.params.buffer.mark_forwarded.then_some(self.params.buffer.mark);
        out.push(Action::Note { host, phase: Phase::ForwardingStarted });
        out.push(Action::Release { host, via: Via::Neighbour(self.agent), mark });
        out.push(Action::SetRoute { host, from: None, via: Via::Buffer, watch: true });
        self.hosts.insert(host, Host::Forwarding { until: now + self.params.buffer.hold });
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<Action>) {
        let promised = self.promised.front().is_some_and(|beacon| *beacon <= now);
        while self.promised.front().is_some_and(|beacon| *beacon <= now) {
            self.promised.pop_front();
        }
        let by_clock = self.next_beacon <= now;
        if by_clock {
            self.next_beacon += self.params.beacon_interval;
        }
        if self.params.local_handoff && (by_clock || promised) {
            broadcast(Kind::Beacon, out);
        }
        self.hosts.retain(|&host, state| match *state {
            Host::Buffering { until, .. } | Host::Forwarding { until } if until <= now => {
                out.push(Action::ClearRoute { host, from: None });
                out.push(Action::DiscardBuffer { host });
                out.push(Action::Note { host, phase: Phase::ForwardingEnded });
                false
            }
            _ => true,
        });
    }
}

impl Role for BaseStation {
    fn state(&self, host: Addr) -> StateName {
        match self.hosts.get(&host) {
            None => StateName::None,
            Some(Host::Requested { .. }) => StateName::Requested,
            Some(Host::Attached { .. }) => StateName::Attached,
            Some(Host::Buffering { .. }) => StateName::Buffering,
            Some(Host::Forwarding { .. }) => StateName::Forwarding,
        }
    }

    fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.hosts.keys().copied()
    }
}

impl Agent for BaseStation {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Trigger(L2Trigger::HostArrived { host }) => self.host_arrived(host, now, out),
            Input::Trigger(L2Trigger::HostGone { host }) => self.host_gone(host, now, out),
            Input::Trigger(L2Trigger::MarkingReported { host, state }) => {
                self.marking_reported(host, state.as_ref(), out);
            }
            Input::Deadline => self.on_timer(now, out),
            Input::Data { host, .. } => {
                if let Some(Host::Forwarding { until }) = self.hosts.get_mut(&host) {
                    *until = now + self.params.buffer.hold;
                }
            }
            Input::Message { from, message } => match (&message.kind, message.host) {
                (Kind::HandoffRequest, Some(host)) => self.handoff_requested(host, now, out),
                (Kind::AgentSolicitation, _) => out.push(message.to(self.agent)),
                (Kind::AgentAdvertisement { .. }, _) if from == self.agent => {
                    self.relay_advertisement(message, out);
                }
                (Kind::Forward, Some(host)) if from == self.agent => {
                    self.forward(host, Time::from_nanos(message.id.0), now, out);
                }
                _ => {}
            },
            Input::Trigger(_) => {}
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let beacon = self.params.local_handoff.then_some(self.next_beacon);
        let holds = self.hosts.values().filter_map(|state| match *state {
            Host::Buffering { until, .. } | Host::Forwarding { until } => Some(until),
            Host::Requested { .. } | Host::Attached { .. } => None,
        });
        holds.chain(beacon).for_each(each);
    }

    fn queue(&self) -> Option<&VecDeque<Time>> {
        Some(&self.promised)
    }
}
