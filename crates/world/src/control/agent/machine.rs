//! The state machine of an agent, and those of the alternatives that share the beginning of its run.

use roamlab_engine::Time;
use roamlab_mobility::{Message, MobilityAction, MobilityAgent, MobilityInput};
use roamlab_packet::Addr;
use std::collections::VecDeque;

/// The machine of an agent. Machines of alternatives run next to it: each gets the same inputs, and their
/// requests are compared.
#[derive(Clone, Debug)]
pub struct Machine {
    own: MobilityAgent,
    beside: Vec<MobilityAgent>,
}

impl Machine {
    /// A machine that runs alone.
    pub fn new(own: MobilityAgent) -> Machine {
        Machine { own, beside: Vec::new() }
    }

    /// An alternative's machine runs next to it; true if both wait for the same deadlines.
    pub fn run_beside(&mut self, other: MobilityAgent) -> bool {
        let alike = deadlines(&self.own) == deadlines(&other);
        self.beside.push(other);
        alike
    }

    /// From now on the machine of this alternative runs alone; of 0 its own.
    pub fn choose(&mut self, alternative: usize) {
        let beside = std::mem::take(&mut self.beside);
        if let Some(other) = alternative.checked_sub(1).and_then(|index| beside.into_iter().nth(index)) {
            self.own = other;
        }
    }

    /// Reacts to an input; whether all alternatives want the same.
    pub fn on(&mut self, input: MobilityInput, now: Time, out: &mut Vec<MobilityAction>) -> bool {
        if self.beside.is_empty() {
            self.own.on(input, now, out);
            return true;
        }
        let react = |other: &mut MobilityAgent| {
            let mut wanted = Vec::new();
            other.on(input.clone(), now, &mut wanted);
            (wanted, deadlines(other))
        };
        let others: Vec<(Vec<MobilityAction>, Vec<Time>)> = self.beside.iter_mut().map(react).collect();
        let before = out.len();
        self.own.on(input, now, out);
        let (wanted, times) = (&out[before..], deadlines(&self.own));
        others.iter().all(|other| other.0 == wanted && other.1 == times)
    }

    /// True if this message may change anything, for any alternative.
    pub fn heeds(&self, from: Addr, message: &Message) -> bool {
        self.own.heeds(from, message) || self.beside.iter().any(|other| other.heeds(from, message))
    }

    /// As [`Agent::deadlines`](roamlab_mobility::Agent::deadlines).
    pub fn deadlines(&self, each: &mut dyn FnMut(Time)) {
        self.own.deadlines(each);
    }

    /// As [`Agent::queue`](roamlab_mobility::Agent::queue).
    pub fn queue(&self) -> Option<&VecDeque<Time>> {
        self.own.queue()
    }

    /// As [`Agent::next_deadline`](roamlab_mobility::Agent::next_deadline).
    pub fn next_deadline(&self) -> Option<Time> {
        self.own.next_deadline()
    }
}

fn deadlines(machine: &MobilityAgent) -> Vec<Time> {
    let mut times = Vec::new();
    machine.deadlines(&mut |time| times.push(time));
    times.extend(machine.queue().into_iter().flatten());
    times
}
