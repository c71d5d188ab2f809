//! BLUE, as in the MBLUE paper.
//!
//! W. Feng, K. Shin, D. Kandlur, D. Saha, "The BLUE active queue management algorithms", IEEE/ACM ToN 10(4), 2002.
//! Parameters and interpretation are from the MBLUE paper (section III-B, eq. 3 and table III). Each point that the
//! text leaves open (B1–B6) is a parameter.

use crate::aqm::drop_probability::{DropProbability, IdleMode, Steps};
use crate::fifo::Fifo;
use crate::{BadField, Gauges, Parameters, QdiscCx, QueueDisc};
use roamlab_engine::{Duration, Packets, Rng, Time};
use roamlab_packet::{DropReason, MarkingState, PacketId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// BLUE: drops with a probability that rises with each overflow and falls when the link is idle.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Packets that may wait (`q_limit`; default 120 pkt, MBLUE table III).
    pub limit: Packets,
    /// Added to the drop probability at a loss, 0 to 1 (default 1e-4, MBLUE table III).
    pub d1: f64,
    /// Taken from the drop probability when the buffer is empty, 0 to 1 (default 1e-5, MBLUE table III).
    pub d2: f64,
    /// Least time between two changes of the drop probability (default 1 ms, MBLUE table III).
    pub freeze_time: Duration,
    /// B1: whether a random drop counts as a loss too. Eq. 3 states this literally, but that feeds back on
    /// itself: once positive, the probability grows until the queue empties. Prose and original name overflow
    /// only (default false).
    pub update_on_random_drop: bool,
    /// B2: whether a full queue is looked at before the random test (default true). Otherwise a packet may be
    /// an early drop although it had no room anyway.
    pub overflow_first: bool,
    /// B3: when the buffer counts as empty (default event-and-arrival).
    pub idle_mode: IdleMode,
    /// B3: whether the packet in service counts towards `limit`, so that one packet less may wait
    /// (default false).
    pub count_in_service: bool,
    /// B4: whether more than `freeze_time` must have passed, as eq. 3, or exactly that is enough (default
    /// true: more).
    pub freeze_strict: bool,
    /// B4: whether rises and falls freeze each other (one `last_update`, as eq. 3) or each kind only itself
    /// (default true: one).
    pub shared_last_update: bool,
    /// B4: whether the run's beginning counts as an update, so that the first one waits for `freeze_time`
    /// (default false).
    pub first_update_waits: bool,
    /// B5: whether the drop probability is kept between 0 and 1 (default true).
    pub clamp: bool,
    /// B6: whether an ECN-capable packet is marked where another would be dropped at random (default false:
    /// the paper drops).
    pub mark_ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Packets(120),
            d1: 1e-4,
            d2: 1e-5,
            freeze_time: Duration::from_millis(1),
            update_on_random_drop: false,
            overflow_first: true,
            idle_mode: IdleMode::EventAndArrival,
            count_in_service: false,
            freeze_strict: true,
            shared_last_update: true,
            first_update_waits: false,
            clamp: true,
            mark_ecn: false,
        }
    }
}

impl Params {
    fn steps(&self) -> Steps {
        Steps {
            d1: self.d1,
            d2: self.d2,
            freeze_time: self.freeze_time,
            freeze_strict: self.freeze_strict,
            shared_last_update: self.shared_last_update,
            first_update_waits: self.first_update_waits,
            clamp: self.clamp,
            idle_mode: self.idle_mode,
        }
    }
}

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        crate::validate_limit(self.limit, self.count_in_service)?;
        self.steps().validate()
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct Blue {
    params: Params,
    p_m: DropProbability,
    fifo: Fifo,
    rng: Rng,
}

impl QueueDisc for Blue {
    type Params = Params;

    fn new(params: &Params, rng: Rng) -> Blue {
        let p_m = DropProbability::new(params.steps());
        Blue { params: params.clone(), p_m, fifo: Fifo::default(), rng }
    }

    /// MBLUE eq. 3. The random test takes one draw, whatever `P_m` is.
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        self.p_m.on_arrival(!self.fifo.is_empty(), cx.now);
        let q_length = self.fifo.packets() + usize::from(self.params.count_in_service);
        let is_full = q_length >= self.params.limit.0 as usize;
        let is_spared = is_full && self.params.overflow_first;
        if !is_spared && self.rng.uniform() < self.p_m.value() {
            if self.params.update_on_random_drop {
                self.p_m.increase(cx.now);
            }
            if !(self.params.mark_ecn && cx.mark_ce(&packet)) {
                return cx.drop(packet, DropReason::EarlyDrop);
            }
        }
        if is_full {
            self.p_m.increase(cx.now);
            return cx.drop(packet, DropReason::QueueOverflow);
        }
        self.fifo.push(packet, cx.pool);
    }

    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        let packet = self.fifo.pop(cx.pool);
        self.p_m.on_dequeue(packet.is_some(), cx.now);
        packet
    }

    crate::waits_in!(fifo, taken);

    /// `P_m`; with `idle_mode = "continuous"` as of the last arrival.
    fn gauges(&self) -> Gauges {
        Gauges { probability: self.p_m.value(), forwarded: self.fifo.forwarded(), ..Gauges::default() }
    }

    fn marking_state(&self) -> Option<MarkingState> {
        Some(MarkingState::Probability(self.p_m.value()))
    }

    fn adopt(&mut self, state: &MarkingState, now: Time) {
        self.p_m.adopt(state, now);
    }
}

#[cfg(test)]
mod tests;
