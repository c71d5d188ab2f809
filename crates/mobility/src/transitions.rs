//! Transition tables. Builds with debug assertions (tests, fuzzers) compare each change of a role's state with its
//! table: a change that no row of the input permits ends the run as a violated law. Other builds do not check, so that
//! a missing row does not end a user's run.
//!
//! A row has five cells: states, inputs, a condition in words, actions, next states. States are those of the role's
//! table, inputs are messages and [`TRIGGERS`], actions are messages and [`VERBS`]; other words do not compile. A row
//! whose condition is not met has no effect. The laboratory compares all cells but the condition with what the role
//! does.

#[cfg(test)]
use crate::Via;
use crate::{Action, Agent, Input, Kind, L2Trigger, Signal};
use roamlab_engine::Time;
use roamlab_packet::Addr;

/// The inputs that are no messages.
pub const TRIGGERS: &[&str] = &[
    "link up",
    "link down",
    "host arrived",
    "host gone",
    "neighbour better",
    "handover predicted",
    "drained",
    "radio link failure",
    "cell found",
    "packets received",
    "marking reported",
    "bearer reported",
    "retransmission limit",
    "delivery reported",
    "packet",
    "time",
];

/// The place of `time` in [`TRIGGERS`].
const TIME: usize = TRIGGERS.len() - 1;

/// The actions that send no message and that are no phase. `route` and `release` lead to a neighbour or to the air.
pub const VERBS: &[&str] = &[
    "route",
    "tunnel",
    "drop packets",
    "route to buffer",
    "route to reorder queue",
    "no route",
    "copies",
    "copies to buffer",
    "no copies",
    "start buffering",
    "release",
    "release into tunnel",
    "await forwarded",
    "delay",
    "release reorder queue",
    "discard buffer",
    "end bearer",
    "measure",
    "report received",
    "await drained",
    "skip received",
    "report marking",
    "adopt marking",
    "adopt bearer",
    "freeze bearer",
    "resume bearer",
    "report bearer",
    "forward bearer",
    "serve through",
    "recover bearer",
    "report delivery",
    "re-establish bearers",
    "leave",
    "enter",
    "enter too",
    "use uplink",
    "leave cell",
    "search",
];

/// A row; each set has a bit for each word.
#[derive(Debug)]
pub struct Row {
    /// The states in which it holds.
    pub from: u128,
    /// Its inputs.
    pub inputs: u128,
    /// Its possible actions.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "every build checks its words, and only the laboratory compares it")
    )]
    pub does: u128,
    /// The states that may follow; 0: the same.
    pub next: u128,
    /// The cells as they are written.
    #[cfg(test)]
    pub cells: [&'static str; 5],
}

/// The table of a role, as [`transitions!`] makes it.
pub trait Table {
    /// The names of its states.
    type State: Copy;

    /// True if there is a state for each host. The first name is that of a host that is not known.
    const PER_HOST: bool;
    /// The names of its states as words.
    const STATES: &'static [&'static str];
    /// Its rows.
    const ROWS: &'static [Row];

    /// The place of a state among the words.
    fn place(state: Self::State) -> usize;
}

/// A role with its table.
pub trait Role: Agent + Table {
    /// The present state, of a host if there is one for each.
    fn state(&self, host: Addr) -> Self::State;

    /// The hosts that have a state; nothing for a role with one state.
    fn hosts(&self) -> impl Iterator<Item = Addr> {
        std::iter::empty()
    }
}

/// Runs a role and its table.
pub trait Machine: Agent {
    /// Delivers an input. A build with debug assertions compares the change of state with the table.
    fn step(
        &mut self,
        input: Input<Self::Message>,
        now: Time,
        out: &mut Vec<Action<Self::Message, Self::Phase>>,
    );

    /// The state in one word.
    #[cfg(test)]
    fn word(&self, host: Addr) -> &'static str;

    /// The name of the role and its table, with the words of its inputs and actions.
    #[cfg(test)]
    fn table(&self) -> Option<crate::lab::TableOf>;
}

impl<K: Kind, R: Role<Message = Signal<K>>> Machine for R {
    fn step(&mut self, input: Input<Signal<K>>, now: Time, out: &mut Vec<Action<Signal<K>, R::Phase>>) {
        if !cfg!(debug_assertions) {
            return self.on(input, now, out);
        }
        let (host, word) = describe(&input);
        // Without a host in particular the input may change the state of any.
        let of_all = R::PER_HOST && host.is_none();
        let with_state = |role: &R, host| (host, R::place(role.state(host)));
        let all: Vec<(Addr, usize)> =
            if of_all { self.hosts().map(|host| with_state(self, host)).collect() } else { Vec::new() };
        let one = with_state(self, host.unwrap_or(Addr::BROADCAST));
        self.on(input, now, out);
        let before = all.iter().chain((!of_all).then_some(&one));
        let next =
            |&(host, from): &(Addr, usize)| illegal_move::<R, K>(from, word, R::place(self.state(host)));
        let problem = before.into_iter().find_map(next);
        out.extend(problem.map(|problem| Action::BreakLaw { problem }));
    }

    #[cfg(test)]
    fn word(&self, host: Addr) -> &'static str {
        R::STATES[R::place(self.state(host))]
    }

    #[cfg(test)]
    fn table(&self) -> Option<crate::lab::TableOf> {
        Some(crate::lab::TableOf::new::<R, K>())
    }
}

impl Row {
    /// True if it holds in one of these states for one of these inputs.
    pub const fn fits(&self, from: u128, inputs: u128) -> bool {
        self.from & from != 0 && self.inputs & inputs != 0
    }
}

/// The states that an input may lead to: several timers may be due at the same time.
fn reached(rows: &[Row], from: u128, word: usize) -> u128 {
    let fitting = rows.iter().filter(|row| row.fits(from, 1 << word));
    let states = fitting.fold(from, |all, row| all | row.next);
    if states == from { states } else { reached(rows, states, word) }
}

fn illegal_move<R: Table, K: Kind>(from: usize, word: usize, next: usize) -> Option<String> {
    let is_legal = next == from || reached(R::ROWS, 1 << from, word) & (1 << next) != 0;
    (!is_legal).then(|| {
        let (from, next, input) = (R::STATES[from], R::STATES[next], input_word::<K>(word));
        format!("went from \"{from}\" to \"{next}\" on \"{input}\", and its table has no such row")
    })
}

/// The word of an input.
pub fn input_word<K: Kind>(number: usize) -> &'static str {
    K::NAMES.iter().chain(TRIGGERS).nth(number).copied().unwrap_or_default()
}

/// The host that an input is about, and its place among messages and triggers.
pub fn describe<K: Kind>(input: &Input<Signal<K>>) -> (Option<Addr>, usize) {
    let (host, trigger) = match input {
        Input::Message { message, .. } => return (message.host, message.kind.number()),
        Input::Trigger(trigger) => match trigger {
            L2Trigger::LinkUp { .. } => (None, 0),
            L2Trigger::LinkDown { .. } => (None, 1),
            L2Trigger::HostArrived { host } => (Some(*host), 2),
            L2Trigger::HostGone { host } => (Some(*host), 3),
            L2Trigger::NeighbourBetter { .. } => (None, 4),
            L2Trigger::HandoverPredicted { host, .. } => (Some(*host), 5),
            L2Trigger::Drained { host } => (Some(*host), 6),
            L2Trigger::RadioLinkFailure => (None, 7),
            L2Trigger::CellFound { .. } => (None, 8),
            L2Trigger::Received { .. } => (None, 9),
            L2Trigger::MarkingReported { host, .. } => (Some(*host), 10),
            L2Trigger::BearerReported { host, .. } => (Some(*host), 11),
            L2Trigger::RetransmissionLimit { host } => (Some(*host), 12),
            L2Trigger::DeliveryReported { host, .. } => (Some(*host), 13),
        },
        Input::Data { host, .. } => (Some(*host), 14),
        Input::Deadline => (None, TIME),
    };
    (host, K::NAMES.len() + trigger)
}

/// The place of an action among messages and verbs; `None`: it is a phase, or a message that is about no host.
#[cfg(test)]
pub fn action_number<K: Kind, P>(action: &Action<Signal<K>, P>) -> Option<usize> {
    let to_buffer = |via: &Via| matches!(via, Via::Buffer);
    let verb = match action {
        Action::Send { message, .. } => return message.host.map(|_| message.kind.number()),
        Action::Note { .. } | Action::BreakLaw { .. } => return None,
        Action::SetRoute { via, .. } => match via {
            Via::Neighbour(_) | Via::Air => "route",
            Via::Tunnel(_) | Via::Relay { .. } => "tunnel",
            Via::Nowhere => "drop packets",
            Via::Buffer => "route to buffer",
            Via::ReorderQueue => "route to reorder queue",
        },
        Action::ClearRoute { .. } => "no route",
        Action::AddBranch { via, .. } if to_buffer(via) => "copies to buffer",
        Action::AddBranch { .. } => "copies",
        Action::RemoveBranch { .. } => "no copies",
        Action::StartBuffering { .. } => "start buffering",
        Action::Release { via: Via::Tunnel(_), .. } => "release into tunnel",
        Action::Release { .. } => "release",
        Action::AwaitForwarded { .. } => "await forwarded",
        Action::Delay { .. } => "delay",
        Action::ReleaseReorderQueue { .. } => "release reorder queue",
        Action::DiscardBuffer { .. } => "discard buffer",
        Action::EndBearer { .. } => "end bearer",
        Action::Measure { .. } => "measure",
        Action::ReportReceived { .. } => "report received",
        Action::AwaitDrained { .. } => "await drained",
        Action::SkipReceived { .. } => "skip received",
        Action::ReportMarking { .. } => "report marking",
        Action::AdoptMarking { .. } => "adopt marking",
        Action::AdoptBearer { .. } => "adopt bearer",
        Action::FreezeBearer { .. } => "freeze bearer",
        Action::ResumeBearer { .. } => "resume bearer",
        Action::ReportBearer { .. } => "report bearer",
        Action::ForwardBearer { .. } => "forward bearer",
        Action::ServeThrough { .. } => "serve through",
        Action::RecoverBearer { .. } => "recover bearer",
        Action::ReportDelivery { .. } => "report delivery",
        Action::Reestablish { .. } => "re-establish bearers",
        Action::EnterToo { .. } => "enter too",
        Action::UseUplink { .. } => "use uplink",
        Action::LeaveCell { .. } => "leave cell",
        Action::Leave => "leave",
        Action::Enter { .. } => "enter",
        Action::Search => "search",
    };
    VERBS.iter().position(|known| *known == verb).map(|place| K::NAMES.len() + place)
}

/// The set of the words in a cell, which commas separate. The first word of the first list is bit 0.
///
/// # Panics
/// If a word is in no list. The tables are constants, so this ends the compilation.
pub const fn set(cell: &str, lists: &[&[&str]]) -> u128 {
    let bytes = cell.as_bytes();
    let (mut set, mut start) = (0, 0);
    while start < bytes.len() {
        let mut end = start;
        while end < bytes.len() && bytes[end] != b',' {
            end += 1;
        }
        set |= 1 << place(bytes, start, end, lists);
        start = end + 2;
    }
    set
}

const fn place(cell: &[u8], start: usize, end: usize, lists: &[&[&str]]) -> usize {
    let (mut place, mut list) = (0, 0);
    while list < lists.len() {
        let mut word = 0;
        while word < lists[list].len() {
            if is_same(cell, start, end, lists[list][word].as_bytes()) {
                return place;
            }
            (place, word) = (place + 1, word + 1);
        }
        list += 1;
    }
    panic!("a cell of a transition table has a word that is no state, message, trigger or verb")
}

const fn is_same(cell: &[u8], start: usize, end: usize, word: &[u8]) -> bool {
    let mut at = 0;
    while at < word.len() && start + at < end && cell[start + at] == word[at] {
        at += 1;
    }
    at == word.len() && start + at == end
}

/// As [`set`], of states: `any` has all of them, and `same` none.
pub const fn states(cell: &str, words: &[&str]) -> u128 {
    if is_same(cell.as_bytes(), 0, cell.len(), b"any") {
        return (1 << words.len()) - 1;
    }
    if is_same(cell.as_bytes(), 0, cell.len(), b"same") {
        return 0;
    }
    set(cell, &[words])
}

/// Makes the transition table of a role: the enum `StateName` and the rows, whose words are checked. The heading is
/// `state`, or `state of a host` if the role has one for each host.
macro_rules! transitions {
    (
        $role:ident, $heading:literal: $($state:ident $word:literal),+;
        $($from:literal | $input:literal | $when:literal | $does:literal | $next:literal;)+
    ) => {
        /// The names of the states.
        #[derive(Copy, Clone, PartialEq, Eq, Debug)]
        pub enum StateName {
            $(#[doc = $word] $state,)+
        }

        impl $crate::transitions::Table for $role {
            type State = StateName;

            const PER_HOST: bool = $heading.len() > "state".len();
            const STATES: &'static [&'static str] = &[$($word,)+];
            const ROWS: &'static [$crate::transitions::Row] = &[$($crate::transitions::Row {
                from: $crate::transitions::states($from, Self::STATES),
                inputs: $crate::transitions::set(
                    $input,
                    &[<Kind as $crate::Kind>::NAMES, $crate::transitions::TRIGGERS],
                ),
                does: $crate::transitions::set(
                    $does,
                    &[<Kind as $crate::Kind>::NAMES, $crate::transitions::VERBS],
                ),
                next: $crate::transitions::states($next, Self::STATES),
                #[cfg(test)]
                cells: [$from, $input, $when, $does, $next],
            },)+];

            fn place(state: StateName) -> usize {
                state as usize
            }
        }
    };
}

pub(crate) use transitions;
