//! The mobile host: detects its moves, and registers.
//!
//! A reply to any request of the present registration ends it. RFC 5944 §3.6.2 compares a reply with the most recent
//! request alone: then no host registers whose home agent is farther away than the wait between two requests.
//!
//! DEVIATION: a host accepts a reply to each request that it has sent to its present agent for its present registration.
//!
//! All other inputs have no effect: a reply to a request of an earlier registration, a beacon when there is no need for one, any message
//! from another cell. Its base station is the one that it has received last, even while it is in an older cell too.

use super::{
    Action, BeaconTiming, Input, Kind, Message, Params, Phase, REGISTRATION_PROCESSING,
    REGISTRATION_RETRANSMIT, RETRANSMIT_LIMIT,
};
use crate::backoff::Backoff;
use crate::identification::Requests;
use crate::signal::send;
use crate::transitions::Role;
use crate::{Agent, Identification, L2Trigger};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;

crate::transitions! {
    MobileHost, "state": Detached "detached", Listening "listening", Requested "requested", Registering "registering", Registered "registered";
    "any" | "link up" | "" | "" | "listening";
    "any" | "link up" | "without local handoff, with solicitation" | "agent-solicitation" | "listening";
    "listening" | "time" | "no advertisement" | "agent-solicitation" | "same";
    "listening, requested, registering, registered" | "link down" | "to its base station" | "" | "detached";
    "listening" | "beacon" | "of its cell" | "handoff-request" | "requested";
    "requested" | "beacon" | "of its cell" | "handoff-request" | "same";
    "listening" | "agent-advertisement" | "through its cell, without local handoff" | "registration-request" | "registering";
    "requested" | "agent-advertisement" | "through its cell" | "registration-request" | "registering";
    "registering" | "time" | "no reply; a newer identification" | "handoff-request, registration-request" | "same";
    "registering" | "registration-reply" | "to a request of this registration, accepted" | "" | "registered";
    "registered" | "time" | "lifetime nearly over" | "registration-request" | "registering";
}

/// Solicitations at the base rate before the back-off begins, and its limit (RFC 5944 §2.4).
const EARLY_SOLICITATIONS: u32 = 3;
const LONGEST_SOLICITATION_INTERVAL: Duration = Duration::from_secs(60);
/// Time between the first solicitations (RFC 5944 §2.4).
const SOLICITATION_INTERVAL: Duration = Duration::from_secs(1);

/// Mobile IP at a mobile host.
#[derive(Clone, Debug)]
pub struct MobileHost {
    home_address: Addr,
    home_agent: Addr,
    params: Params,
    state: State,
    /// Those of the present registration; replies to any other are stale.
    requests: Requests,
    /// Duration of the last accepted registration, from its request to the reply.
    round_trip: Duration,
    /// Agents that got a request since the last reply, and the one that the reply came through: they may hold
    /// packets or routes for this host.
    visited: Vec<Addr>,
}

#[derive(Copy, Clone, Debug)]
enum State {
    Detached,
    Listening { base_station: Addr, since: Time, solicitation: Option<Backoff>, solicited: u32 },
    Requested { base_station: Addr },
    Registering { base_station: Addr, agent: Addr, retransmit: Backoff, handover: bool },
    Registered { base_station: Addr, agent: Addr, renew_at: Time },
}

impl MobileHost {
    /// A host without a link.
    pub fn new(home_address: Addr, home_agent: Addr, params: &Params) -> MobileHost {
        MobileHost {
            home_address,
            home_agent,
            params: params.clone(),
            state: State::Detached,
            requests: Requests::default(),
            round_trip: Duration::ZERO,
            visited: Vec::new(),
        }
    }

    /// The base station that it has heard last, if it is in that cell still.
    fn base_station(&self) -> Option<Addr> {
        match self.state {
            State::Detached => None,
            State::Listening { base_station, .. }
            | State::Requested { base_station }
            | State::Registering { base_station, .. }
            | State::Registered { base_station, .. } => Some(base_station),
        }
    }

    fn link_up(&mut self, base_station: Addr, now: Time, out: &mut Vec<Action>) {
        let solicits = self.params.solicitation && !self.params.local_handoff;
        if solicits {
            out.push(self.solicitation(base_station));
        }
        let solicitation =
            solicits.then(|| Backoff::start(now, SOLICITATION_INTERVAL, LONGEST_SOLICITATION_INTERVAL));
        self.state = State::Listening { base_station, since: now, solicitation, solicited: 1 };
    }

    /// The first wait (RFC 5944 §3.6.3). The host knows the round trip from its last registration, wherever it was then.
    fn registration_timer(&self, now: Time) -> Backoff {
        let round_trips = match self.round_trip {
            Duration::ZERO => Duration::ZERO,
            round_trip => round_trip * 2 + REGISTRATION_PROCESSING,
        };
        let wait = REGISTRATION_RETRANSMIT.max(round_trips);
        Backoff::start(now, wait, RETRANSMIT_LIMIT)
    }

    fn solicitation(&self, base_station: Addr) -> Action {
        self.message(Kind::AgentSolicitation).to(base_station)
    }

    fn hear_beacon(&mut self, from: Addr, now: Time, out: &mut Vec<Action>) {
        match self.state {
            State::Listening { base_station, since, .. } if base_station == from => {
                // A beacon that was on its way when the host arrived is not the one that restarted for it.
                let fresh = now.since(since) * 4 >= self.params.beacon_interval * 3;
                if self.params.tb_mode == BeaconTiming::Worst && !fresh {
                    return;
                }
                self.note(Phase::MovementDetected, out);
            }
            State::Requested { base_station } if base_station == from => {}
            _ => return,
        }
        self.state = State::Requested { base_station: from };
        out.push(self.handoff_request(from));
    }

    /// A message of no registration.
    fn message(&self, kind: Kind) -> Message {
        Message::about(self.home_address, Identification::default(), kind)
    }

    fn handoff_request(&self, base_station: Addr) -> Action {
        self.message(Kind::HandoffRequest).to(base_station)
    }

    fn hear_advertisement(&mut self, from: Addr, agent: Addr, now: Time, out: &mut Vec<Action>) {
        match self.state {
            // With the local handoff protocol no node has requested it in this stay: it is left from an
            // earlier one, and the base station does not know that the host is back.
            State::Listening { base_station, .. } if base_station == from && !self.params.local_handoff => {
                self.note(Phase::MovementDetected, out);
            }
            State::Requested { base_station } if base_station == from => {}
            _ => return,
        }
        self.note(Phase::RegistrationSent, out);
        self.register((from, agent), true, now, out);
    }

    /// Begins a registration, after a handover or before the last one ends.
    fn register(
        &mut self,
        (base_station, agent): (Addr, Addr),
        handover: bool,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let retransmit = self.registration_timer(now);
        self.state = State::Registering { base_station, agent, retransmit, handover };
        let id = self.requests.begin(now);
        self.send_request((base_station, agent), id, out);
    }

    fn send_request(
        &mut self,
        (base_station, agent): (Addr, Addr),
        id: Identification,
        out: &mut Vec<Action>,
    ) {
        let previous = if self.params.smooth_handoff {
            self.visited.iter().copied().filter(|visited| *visited != agent).collect()
        } else {
            Vec::new()
        };
        if !self.visited.contains(&agent) {
            self.visited.push(agent);
        }
        let request = Kind::RegistrationRequest {
            home_agent: self.home_agent,
            care_of: agent,
            lifetime: self.params.registration_lifetime,
            previous,
            base_station,
        };
        send(agent, (self.home_address, id, request), out);
    }

    fn take_reply(&mut self, id: Identification, lifetime: Duration, now: Time, out: &mut Vec<Action>) {
        let State::Registering { base_station, agent, handover, .. } = self.state else { return };
        self.round_trip = id.age(now);
        let margin = self.params.renewal_margin;
        let until_renewal = if margin < lifetime { lifetime - margin } else { lifetime / 2 };
        self.state = State::Registered { base_station, agent, renew_at: now + until_renewal };
        self.visited = vec![agent];
        if handover {
            self.note(Phase::Registered, out);
        }
    }

    fn on_timer(&mut self, now: Time, out: &mut Vec<Action>) {
        match self.state {
            State::Listening { base_station, since, solicitation: Some(timer), solicited }
                if timer.at <= now =>
            {
                out.push(self.solicitation(base_station));
                let early = solicited + 1 < EARLY_SOLICITATIONS;
                let same = Backoff::start(now, timer.interval, timer.limit);
                let solicitation = Some(if early { same } else { timer.again(now) });
                self.state = State::Listening { base_station, since, solicitation, solicited: solicited + 1 };
            }
            State::Registering { base_station, agent, retransmit, handover } if retransmit.at <= now => {
                let retransmit = retransmit.again(now);
                self.state = State::Registering { base_station, agent, retransmit, handover };
                // The advertisement may belong to an earlier stay in this cell, and the request of this one
                // be lost. Then the base station does not know that the host is back, and the reply ends
                // there.
                if self.params.local_handoff {
                    out.push(self.handoff_request(base_station));
                }
                let id = self.requests.again(now);
                self.send_request((base_station, agent), id, out);
            }
            State::Registered { base_station, agent, renew_at } if renew_at <= now => {
                self.register((base_station, agent), false, now, out);
            }
            _ => {}
        }
    }

    fn note(&self, phase: Phase, out: &mut Vec<Action>) {
        out.push(Action::Note { host: self.home_address, phase });
    }
}

impl Role for MobileHost {
    fn state(&self, _: Addr) -> StateName {
        match self.state {
            State::Detached => StateName::Detached,
            State::Listening { .. } => StateName::Listening,
            State::Requested { .. } => StateName::Requested,
            State::Registering { .. } => StateName::Registering,
            State::Registered { .. } => StateName::Registered,
        }
    }
}

impl Agent for MobileHost {
    type Message = Message;
    type Phase = Phase;

    fn on(&mut self, input: Input, now: Time, out: &mut Vec<Action>) {
        match input {
            Input::Trigger(L2Trigger::LinkUp { base_station }) => self.link_up(base_station, now, out),
            Input::Trigger(L2Trigger::LinkDown { base_station })
                if self.base_station() == Some(base_station) =>
            {
                self.state = State::Detached;
            }
            Input::Deadline => self.on_timer(now, out),
            Input::Message { from, message: Message { kind: Kind::Beacon, .. } }
                if self.params.local_handoff =>
            {
                self.hear_beacon(from, now, out);
            }
            Input::Message { from, message: Message { kind: Kind::AgentAdvertisement { agent }, .. } } => {
                self.hear_advertisement(from, agent, now, out);
            }
            Input::Message {
                message: Message { id, kind: Kind::RegistrationReply { code, lifetime }, .. },
                ..
            } if self.requests.are_answered(id) && code.accepted() => self.take_reply(id, lifetime, now, out),
            Input::Message { .. } | Input::Trigger(_) | Input::Data { .. } => {}
        }
    }

    fn heeds(&self, from: Addr, message: &Message) -> bool {
        match (&message.kind, self.state) {
            (Kind::Beacon, State::Listening { base_station, .. } | State::Requested { base_station }) => {
                base_station == from
            }
            (Kind::Beacon, _) => false,
            _ => true,
        }
    }

    fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        let timer = match self.state {
            State::Listening { solicitation, .. } => solicitation.map(|timer| timer.at),
            State::Registering { retransmit, .. } => Some(retransmit.at),
            State::Registered { renew_at, .. } => Some(renew_at),
            State::Detached | State::Requested { .. } => None,
        };
        timer.into_iter().for_each(each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_solicitations_a_second_apart_and_each_further_one_after_twice_the_time() {
        // RFC 5944 §2.4.1: three initial ones at most one per second, then a binary exponential backoff.
        let [home, agent, cell] = [1, 2, 3].map(|number| Addr::new(0, number));
        let params = Params { local_handoff: false, solicitation: true, ..Params::default() };
        let (mut host, mut out) = (MobileHost::new(home, agent, &params), Vec::new());
        host.link_up(cell, Time::ZERO, &mut out);
        let mut sent = vec![0];
        while sent.len() < 9 {
            let mut due = None;
            host.deadlines(&mut |time| due = Some(time));
            let now = due.unwrap();
            out.clear();
            host.on_timer(now, &mut out);
            assert_eq!(out.len(), 1);
            sent.push(now.since(Time::ZERO).as_nanos() / 1_000_000_000);
        }
        assert_eq!(sent, [0, 1, 2, 4, 8, 16, 32, 64, 124], "at most a minute apart");
    }
}
