//! Transition tables of roles, for their snapshots.

use crate::{Action, Agent, Input, Signal, Via};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::fmt::{Debug, Write as _};

/// A state, and how to reach it: inputs with their times in ms.
pub type Setup<'a, M> = (&'a str, &'a [(u64, Input<M>)]);

/// How a protocol's states, nodes and messages are written.
pub struct Words<A: Agent> {
    /// The state in one word.
    pub state: fn(&A) -> &'static str,
    /// The name of a node.
    pub name: fn(Addr) -> String,
    /// What a message says beside its name.
    pub detail: fn(&A::Message) -> String,
}

/// One line for each state and input, which comes a while `after` the run began; the set-up lies before.
pub fn transitions<A>(
    agent: &A,
    words: &Words<A>,
    states: &[Setup<'_, A::Message>],
    after: Time,
    inputs: &[(&str, Time, Input<A::Message>)],
) -> String
where
    A: Agent<Message: Signal + Clone, Phase: Debug> + Clone + Debug,
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

impl<A: Agent<Message: Signal, Phase: Debug>> Words<A> {
    fn via(&self, via: &Via) -> String {
        match via {
            Via::Neighbour(next) => (self.name)(*next),
            Via::Air => "air".into(),
            Via::Tunnel(end) => format!("tunnel to {}", (self.name)(*end)),
            Via::Buffer => "buffer".into(),
            Via::ReorderQueue => "reorder queue".into(),
        }
    }

    fn describe(&self, action: &Action<A::Message, A::Phase>) -> String {
        let name = self.name;
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
