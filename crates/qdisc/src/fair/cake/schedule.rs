//! Whose packet is next: the tins in turn, and in each the flows.

use super::tin::{Shares, Tin};
use crate::fair::flow_hash::FlowHash;

/// Numbers that look random: a hash of how many were drawn. A copy continues in the same way, so that the
/// next packet can be foreseen.
#[derive(Copy, Clone, Debug)]
pub(super) struct Draws {
    hash: FlowHash,
    drawn: u64,
}

impl Draws {
    pub(super) fn new(hash: FlowHash) -> Draws {
        Draws { hash, drawn: 0 }
    }

    /// The upper `bits` of the next number.
    pub(super) fn next(&mut self, bits: u32) -> u64 {
        self.drawn += 1;
        self.hash.of(self.drawn) >> (64 - bits)
    }
}

/// All tins.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pub tins: Vec<Tin>,
    /// The tin whose turn it is.
    pub current: usize,
    pub shares: Shares,
    pub draws: Draws,
}

impl Schedule {
    /// Gives a flow that has a packet a turn.
    pub(super) fn begin(&mut self, tin: usize, flow: u16) {
        let draws = &mut self.draws;
        self.tins[tin].begin(flow, self.shares, &mut || draws.next(16));
    }

    /// The flow of the current tin whose packet is next, if no list changes before it is found.
    fn first(&self) -> Option<u16> {
        let tin = &self.tins[self.current];
        let is_current = tin.deficit >= 0 && tin.is_active();
        let (flow, _) = tin.first(true).filter(|_| is_current)?;
        tin.may_send(flow).then_some(flow)
    }

    /// The tin and the flow whose packet is next. There is one.
    pub(super) fn peek(&self) -> (usize, u16) {
        if let Some(flow) = self.first() {
            return (self.current, flow);
        }
        // The time decides which flows decay, and not which one sends.
        let mut later = self.clone();
        let flow = later.next(0);
        (later.current, flow)
    }

    /// The flow of the then current tin whose packet is next (`cake_dequeue`). There is one.
    pub(super) fn next(&mut self, now: i64) -> u16 {
        let mut is_first_look = true;
        loop {
            self.choose_tin();
            let (tin, draws) = (&mut self.tins[self.current], &mut self.draws);
            while let Some((flow, list)) = tin.first(is_first_look) {
                is_first_look = false;
                if tin.may_send(flow) {
                    return flow;
                }
                if !tin.end_turn((flow, list), now, self.shares, &mut || draws.next(16)) {
                    break;
                }
            }
        }
    }

    /// The next tin with flows that has not sent all that its weight permits.
    fn choose_tin(&mut self) {
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.is_active() {
                return;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.weight;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }
}
