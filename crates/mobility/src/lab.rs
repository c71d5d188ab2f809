//! The test laboratory of all protocols: a role in each of its states gets each input, and a snapshot has the results.

use crate::transitions::{Row, Table, VERBS, action_number, describe};
use crate::{
    Action, Agent, Direction, Identification, Input, Kind, L2Trigger, Protocol, Signal, Topology, Via,
};
use roamlab_engine::Time;
use roamlab_packet::{Addr, Received};
use std::cell::RefCell;
use std::collections::BTreeSet;
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

/// A set-up that continues.
pub fn and<M: Clone>(setup: &[(u64, Input<M>)], more: &[(u64, Input<M>)]) -> Vec<(u64, Input<M>)> {
    [setup, more].concat()
}

/// The field that a protocol refuses in its parameters; `None`: they can run.
pub fn refused<P: Protocol>(params: &P, topology: &Topology) -> Option<String> {
    params.check(topology).err().map(|refusal| refusal.field)
}

/// A state, and how to reach it: inputs with their times in ms.
pub type Setup<'a, M> = (&'a str, &'a [(u64, Input<M>)]);

/// A role of a protocol, as the laboratory sees it.
pub trait Subject: Agent {
    /// The state in one word, of a host if there is one for each.
    fn state(&self, host: Addr) -> &'static str;

    /// The role's table; `None`: the role has no table.
    fn table(&self) -> Option<TableOf>;

    /// Delivers an input whether a row has it or not.
    fn on_without_table(
        &mut self,
        input: Input<Self::Message>,
        now: Time,
        out: &mut Vec<Action<Self::Message, Self::Phase>>,
    );
}

/// The table of a role, with the words of its actions.
#[derive(Clone, Debug)]
pub struct TableOf {
    role: &'static str,
    states: &'static [&'static str],
    rows: &'static [Row],
    actions: Vec<&'static str>,
}

impl TableOf {
    /// That of a role with its messages.
    pub fn new<R: Table, K: Kind>() -> TableOf {
        let actions = K::NAMES.iter().chain(VERBS).copied().collect();
        TableOf { role: std::any::type_name::<R>(), states: R::STATES, rows: R::ROWS, actions }
    }

    /// The words of a set.
    fn words(words: &[&'static str], set: u128) -> Vec<&'static str> {
        words.iter().enumerate().filter(|(place, _)| set & (1 << place) != 0).map(|(_, word)| *word).collect()
    }
}

/// A step of a role about the host: sets with one bit, except the actions.
#[derive(Copy, Clone, Debug)]
struct Seen {
    from: u128,
    input: u128,
    actions: u128,
    next: u128,
}

thread_local! {
    /// The steps of this test, and the tables of the roles.
    static SEEN: RefCell<Vec<(TableOf, Seen)>> = const { RefCell::new(Vec::new()) };
}

/// Compares the tables of all roles of this test with their steps: every row has happened, with each of its actions and
/// next states.
pub fn assert_every_row_happens() {
    let missing = missing_rows(&SEEN.take());
    assert!(
        missing.is_empty(),
        "rows that do not happen:\n{}",
        missing.into_iter().collect::<Vec<_>>().join("\n")
    );
}

fn missing_rows(seen: &[(TableOf, Seen)]) -> BTreeSet<String> {
    let mut missing = BTreeSet::new();
    for (table, _) in seen {
        let steps: Vec<Seen> =
            seen.iter().filter(|(other, _)| other.role == table.role).map(|(_, step)| *step).collect();
        for row in table.rows {
            let leads =
                |next: u128, from: u128| if row.next == 0 { next == from } else { row.next & next != 0 };
            let fits = |step: &&Seen| row.fits(step.from, step.input) && leads(step.next, step.from);
            let happened = || steps.iter().filter(fits);
            let actions = happened().fold(0, |all, step| all | step.actions);
            let next = happened().fold(0, |all, step| all | step.next);
            let never = TableOf::words(&table.actions, row.does & !actions);
            let nowhere = TableOf::words(table.states, row.next & !next);
            if happened().next().is_none() || !never.is_empty() || !nowhere.is_empty() {
                let row = row.cells.join(" | ");
                missing.insert(format!("{}: {row}: never: {never:?} {nowhere:?}", table.role));
            }
        }
    }
    missing
}

/// One test for a protocol: a snapshot of each case, which has the name of its function, and all rows of its tables.
macro_rules! cases {
    ($($case:ident),+ $(,)?) => {
        #[test]
        fn every_state_and_every_input() {
            $(insta::assert_snapshot!(stringify!($case), $case());)+
            $crate::lab::assert_every_row_happens();
        }
    };
}

pub(crate) use cases;

/// How the snapshots of a protocol name its nodes and messages.
pub struct Words<A: Agent> {
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

/// Delivers an input to a role, and notes the step.
fn step<A, K>(role: &mut A, input: &Input<Signal<K>>, now: Time) -> Vec<Action<Signal<K>, A::Phase>>
where
    A: Subject<Message = Signal<K>, Phase: Debug> + Clone + Debug,
    K: Kind + Clone + Debug,
{
    let (before, mut freely) = (role.state(HOST), role.clone());
    let (mut actions, mut others) = (Vec::new(), Vec::new());
    role.on(input.clone(), now, &mut actions);
    freely.on_without_table(input.clone(), now, &mut others);
    let is_same = actions.len() == others.len() && format!("{role:?}") == format!("{freely:?}");
    assert!(is_same, "{before}: no row has {input:?}, which does or changes something");
    if let Some(table) = role.table() {
        let state = |word: &str| 1 << table.states.iter().position(|known| *known == word).unwrap();
        let seen = Seen {
            from: state(before),
            input: 1 << describe(input).1,
            actions: actions.iter().filter_map(action_number).fold(0, |all, action| all | 1 << action),
            next: state(role.state(HOST)),
        };
        SEEN.with_borrow_mut(|steps| steps.push((table, seen)));
    }
    actions
}

/// One line for each state and input, which comes a while `after` the run began; the set-up lies before.
pub fn transitions<A, K>(
    agent: &A,
    words: &Words<A>,
    states: &[Setup<'_, Signal<K>>],
    after: Time,
    inputs: &[(&str, Time, Input<Signal<K>>)],
) -> String
where
    A: Subject<Message = Signal<K>, Phase: Debug> + Clone + Debug,
    K: Kind + Clone + Debug,
{
    let mut text = String::new();
    for (state, setup) in states {
        let mut reached = agent.clone();
        for (at, input) in *setup {
            step(&mut reached, input, ms(*at));
        }
        let _ = writeln!(text, "{state} = {}", reached.state(HOST));
        for (label, delay, input) in inputs {
            let mut next = reached.clone();
            let actions = step(&mut next, input, after + delay.since(Time::ZERO));
            if let Input::Message { from, message } = input
                && !reached.heeds(*from, message)
            {
                let untouched = actions.is_empty() && format!("{next:?}") == format!("{reached:?}");
                assert!(untouched, "{state}: does not heed \"{label}\", which changes something");
            }
            let described: Vec<_> = actions.iter().map(|action| words.describe(action)).collect();
            let _ = writeln!(text, "  {label:<34} -> {:<11} {}", next.state(HOST), described.join("; "));
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
            Via::Relay { source, to } => format!("tunnel from {} to {}", self.name(*source), self.name(*to)),
            Via::Discard => "nowhere".into(),
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
            Action::SkipReceived { received: Received::Serials(received), .. } => {
                format!("skip {received:?}")
            }
            Action::SkipReceived { received, .. } => format!("skip {received:?}"),
            Action::ReportMarking { .. } => "report marking".into(),
            Action::AdoptMarking { state, .. } => format!("adopt {state:?}"),
            Action::Leave => "leave".into(),
            Action::Enter { base_station, after } => format!("enter {} after {after}", name(*base_station)),
            Action::Search => "search".into(),
            Action::BreakLaw { problem } => panic!("{problem}"),
            Action::Note { phase, .. } => format!("note {phase:?}"),
            bearer => self.describe_bearer(bearer),
        }
    }

    /// A request about numbered bearers, or about several cells.
    fn describe_bearer(&self, action: &Action<A::Message, A::Phase>) -> String {
        let name = |addr| self.name(addr);
        match action {
            Action::AdoptBearer { counts, .. } => format!("adopt {counts:?}"),
            Action::FreezeBearer { .. } => "freeze bearer".into(),
            Action::ResumeBearer { .. } => "resume bearer".into(),
            Action::ReportBearer { .. } => "report bearer".into(),
            Action::ForwardBearer { to, fresh, .. } => {
                let to: Vec<String> = to.iter().map(|&to| name(to)).collect();
                format!(
                    "forward bearer to {}{}",
                    to.join(", "),
                    if *fresh { ", with fresh packets" } else { "" }
                )
            }
            Action::ServeThrough { unit, .. } => format!("serve through {}", name(*unit)),
            Action::RecoverBearer { repeat, .. } => {
                format!("recover bearer{}", if *repeat { "" } else { ", without repeating" })
            }
            Action::ReportDelivery { settled, .. } => {
                format!("report delivery{}", if *settled { " when settled" } else { "" })
            }
            Action::Reestablish { reset } => {
                format!("re-establish bearers{}", if *reset { ", new" } else { "" })
            }
            Action::EnterToo { base_station, after } => {
                format!("enter {} too after {after}", name(*base_station))
            }
            Action::UseUplink { base_station } => format!("send to {}", name(*base_station)),
            Action::LeaveCell { base_station } => format!("leave {}", name(*base_station)),
            other => unreachable!("{} has its own words", std::any::type_name_of_val(other)),
        }
    }
}

#[test]
fn a_row_that_does_not_happen_as_it_is_written_is_found() {
    const fn row(cells: [&'static str; 5], does: u128, next: u128) -> Row {
        Row { from: 1, inputs: 1, does, next, cells }
    }
    const ROWS: &[Row] = &[
        row(["a", "x", "", "sing", "b"], 0b01, 0b10),
        row(["a", "x", "", "sing, dance", "b"], 0b11, 0b10),
        row(["a", "x", "", "sing", "a, b"], 0b01, 0b11),
        row(["a", "x", "", "", "same"], 0, 0),
    ];
    let table = TableOf { role: "singer", states: &["a", "b"], rows: ROWS, actions: vec!["sing", "dance"] };
    let seen = [(table, Seen { from: 1, input: 1, actions: 1, next: 0b10 })];
    let missing: Vec<String> = missing_rows(&seen).into_iter().collect();
    assert_eq!(
        missing,
        [
            "singer: a | x |  |  | same: never: [] []",
            "singer: a | x |  | sing | a, b: never: [] [\"a\"]",
            "singer: a | x |  | sing, dance | b: never: [\"dance\"] []",
        ]
    );
}
