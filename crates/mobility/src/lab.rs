//! The test laboratory of all protocols: a role in each of its states gets each input, and a snapshot has the results.

use crate::protocol::check_sizes;
use crate::{
    Action, Agent, Direction, Identification, Input, Kind, L2Trigger, Protocol, Signal, Topology, Via,
};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::fmt::{Debug, Write as _};

/// The mobile host of all tests.
pub const HOST: Addr = Addr::new(1, 1);
/// A base station or access router.
pub const HERE: Addr = Addr::new(10, 0);
/// A second one.
pub const THERE: Addr = Addr::new(11, 0);
/// A third one.
pub const ELSEWHERE: Addr = Addr::new(12, 0);
/// The other end of the host's flows.
pub const PEER: Addr = Addr::new(2, 0);
/// Without delay.
pub const NOW: Time = Time::ZERO;

/// A time in ms.
pub const fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// An identification: a clock in ms.
pub const fn id(millis: u64) -> Identification {
    Identification(millis * 1_000_000)
}

/// The clock of an identification, in ms.
pub const fn clock(id: Identification) -> u64 {
    id.0 / 1_000_000
}

/// A message about the host arrives; its identification is a clock in ms.
pub fn hear<K>(from: Addr, millis: u64, kind: K) -> Input<Signal<K>> {
    Input::Message { from, message: Signal::about(HOST, id(millis), kind) }
}

/// A message about no host arrives.
pub fn hear_all<K>(from: Addr, kind: K) -> Input<Signal<K>> {
    Input::Message { from, message: Signal { host: None, id: Identification::default(), kind } }
}

/// The host hears a base station from now on.
pub fn up<M>(base_station: Addr) -> Input<M> {
    Input::Trigger(L2Trigger::LinkUp { base_station })
}

/// The host hears a base station no more.
pub fn down<M>(base_station: Addr) -> Input<M> {
    Input::Trigger(L2Trigger::LinkDown { base_station })
}

/// The host has entered the cell.
pub fn arrived<M>() -> Input<M> {
    Input::Trigger(L2Trigger::HostArrived { host: HOST })
}

/// The host has left the cell.
pub fn gone<M>() -> Input<M> {
    Input::Trigger(L2Trigger::HostGone { host: HOST })
}

/// The host is expected to go to a base station.
pub fn predicted<M>(base_station: Addr) -> Input<M> {
    Input::Trigger(L2Trigger::HandoverPredicted { host: HOST, base_station })
}

/// A data packet passes.
pub fn data<M>(direction: Direction, from: Option<Addr>, tunnelled: bool) -> Input<M> {
    Input::Data { host: HOST, peer: PEER, direction, from, tunnelled, lost: false }
}

/// A set-up that goes on.
pub fn and<M: Clone>(setup: &[(u64, Input<M>)], more: &[(u64, Input<M>)]) -> Vec<(u64, Input<M>)> {
    [setup, more].concat()
}

/// The field that a protocol refuses in its parameters; `None`: they can run.
pub fn refused<P: Protocol>(params: &P, topology: &Topology) -> Option<String> {
    let sizes = check_sizes::<P::Kind>(params.sizes());
    sizes.and_then(|()| params.check(topology)).err().map(|refusal| refusal.field)
}

/// A state, and how to reach it: inputs with their times in ms.
pub type Setup<'a, M> = (&'a str, &'a [(u64, Input<M>)]);

/// How the snapshots of a protocol name its nodes and messages.
pub struct Words<A: Agent> {
    /// The state in one word.
    pub state: fn(&A) -> &'static str,
    /// The names of nodes.
    pub names: &'static [(Addr, &'static str)],
    /// The fields of a message that the snapshot has behind its name.
    pub detail: fn(&A::Message) -> String,
}

/// The name of a node.
pub fn name(names: &[(Addr, &'static str)], addr: Addr) -> String {
    names
        .iter()
        .find(|(known, _)| *known == addr)
        .map_or_else(|| addr.to_string(), |(_, name)| (*name).into())
}

/// One line for each state and input, which comes a while `after` the run began; the set-up lies before.
pub fn transitions<A, K>(
    agent: &A,
    words: &Words<A>,
    states: &[Setup<'_, A::Message>],
    after: Time,
    inputs: &[(&str, Time, Input<A::Message>)],
) -> String
where
    A: Agent<Message = Signal<K>, Phase: Debug> + Clone + Debug,
    K: Kind + Clone,
{
    let mut text = String::new();
    for (state, setup) in states {
        let mut reached = agent.clone();
        let mut ignored = Vec::new();
        for (at, input) in *setup {
            reached.on(input.clone(), Time::ZERO + Duration::from_millis(*at), &mut ignored);
        }
        let _ = writeln!(text, "{state} = {}", (words.state)(&reached));
        for (label, delay, input) in inputs {
            let mut next = reached.clone();
            let mut actions = Vec::new();
            let now = after + delay.since(Time::ZERO);
            next.on(input.clone(), now, &mut actions);
            if let Input::Message { from, message } = input
                && !reached.heeds(*from, message)
            {
                let untouched = actions.is_empty() && format!("{next:?}") == format!("{reached:?}");
                assert!(untouched, "{state}: does not heed \"{label}\", which changes something");
            }
            let described: Vec<_> = actions.iter().map(|action| words.describe(action)).collect();
            let _ = writeln!(text, "  {label:<34} -> {:<11} {}", (words.state)(&next), described.join("; "));
        }
    }
    text
}

impl<K: Kind, A: Agent<Message = Signal<K>, Phase: Debug>> Words<A> {
    fn name(&self, addr: Addr) -> String {
        name(self.names, addr)
    }

    fn via(&self, via: &Via) -> String {
        match via {
            Via::Neighbour(next) => self.name(*next),
            Via::Air => "air".into(),
            Via::Tunnel(end) => format!("tunnel to {}", self.name(*end)),
            Via::Buffer => "buffer".into(),
            Via::ReorderQueue => "reorder queue".into(),
        }
    }

    fn describe(&self, action: &Action<A::Message, A::Phase>) -> String {
        let name = |addr| self.name(addr);
        let source = |from: &Option<Addr>| from.map_or(String::new(), |from| format!(" from {}", name(from)));
        match action {
            Action::Send { to, message } => {
                format!("{}{} to {}", message.name(), (self.detail)(message), name(*to))
            }
            Action::SetRoute { from, via, watch, .. } => {
                format!("route{}: {}{}", source(from), self.via(via), if *watch { ", watched" } else { "" })
            }
            Action::ClearRoute { from, .. } => format!("no route{}", source(from)),
            Action::AddBranch { from, via, watch, .. } => {
                let watched = if *watch { ", watched" } else { "" };
                format!("branch{}: {}{watched}", source(from), self.via(via))
            }
            Action::RemoveBranch { from, via, .. } => {
                format!("no branch{}: {}", source(from), self.via(via))
            }
            Action::StartBuffering { .. } => "start buffering".into(),
            Action::Release { via, mark, .. } => {
                format!("release: {}{}", self.via(via), if mark.is_some() { ", marked" } else { "" })
            }
            Action::Delay { via, wait, .. } => format!("delay by {wait}: {}", self.via(via)),
            Action::AwaitForwarded { .. } => "await forwarded packets".into(),
            Action::ReleaseReorderQueue { via, .. } => format!("release reorder queue: {}", self.via(via)),
            Action::DiscardBuffer { .. } => "discard buffer".into(),
            Action::EndBearer { .. } => "end bearer".into(),
            Action::Measure { .. } => "measure".into(),
            Action::ReportReceived { to } => format!("status report to {}", name(*to)),
            Action::AwaitDrained { .. } => "await empty air".into(),
            Action::SkipReceived { received, .. } => format!("skip {received:?}"),
            Action::Leave => "leave".into(),
            Action::Enter { base_station, after } => format!("enter {} after {after}", name(*base_station)),
            Action::Search => "search".into(),
            Action::Note { phase, .. } => format!("note {phase:?}"),
        }
    }
}
