//! MBLUE: the base station's queue that lets the packets of an arriving host pass.
//!
//! "Modified BLUE Packet Buffer for Base-Stations in Mobile IP-based Networks" (MBLUE section III-C, eq. 4, fig. 7 and
//! 8, table III). Each point that the text leaves open (M1–M11) is a parameter, or an `ASSUMPTION:` if only one
//! interpretation makes sense.

use crate::aqm::drop_probability::{DropProbability, IdleMode, Steps};
use crate::fifo::Fifo;
use crate::forwarded::{Exemption, ForwardedAtFull, validate_mark};
use crate::{BadField, Gauges, Parameters, QdiscCx, QueueDisc};
use roamlab_engine::{Duration, Packets, Rng, Time};
use roamlab_packet::{DropReason, Dscp, MarkingState, PacketId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// MBLUE: BLUE that starts dropping at a threshold, never drops forwarded packets and stops dropping for them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Packets that may wait (`q_limit`; default 120 pkt, MBLUE table III).
    pub limit: Packets,
    /// Queue length at and above which the drop probability rises (`TH_b`; default 80 pkt, MBLUE table III).
    pub threshold: Packets,
    /// Added to the drop probability by an unmarked arrival at or above the threshold, 0 to 1 (default 1e-4,
    /// MBLUE table III).
    pub d1: f64,
    /// Taken from the drop probability when the buffer is empty, 0 to 1 (default 1e-5, MBLUE table III).
    pub d2: f64,
    /// Least time between two changes of the drop probability (default 1 ms, MBLUE table III).
    pub freeze_time: Duration,
    /// M2: fate of a marked packet that finds the queue full (default reject: the reserve of `limit` −
    /// `threshold` is to make this rare).
    pub forwarded_at_full: ForwardedAtFull,
    /// M2: whether a marked packet that is rejected still sets the drop probability to zero (default true:
    /// eq. 4 is about its arrival).
    pub rejected_mark_resets: bool,
    /// M3: whether setting the drop probability to zero counts as an update and so freezes it (default false:
    /// eq. 4 does not set `last_update` there).
    pub reset_sets_last_update: bool,
    /// M4: whether an unmarked arrival raises the drop probability before it is tested against it
    /// (default true, the order of fig. 8).
    pub update_before_test: bool,
    /// M5: whether an overflow below the threshold raises the drop probability, as in BLUE. It can only happen
    /// if marked packets do not count (default false).
    pub update_on_overflow: bool,
    /// M6: whether marked packets count in the queue length that is held against the threshold
    /// (default true: it is the physical queue).
    pub count_forwarded: bool,
    /// M6: whether the packet in service counts in the queue length, against threshold and limit
    /// (default false).
    pub count_in_service: bool,
    /// M9: the DSCP of the inner header that marks forwarded packets, 1 to 63 (default 3, 000011: experimental
    /// and local use).
    #[schemars(with = "u8", range(min = 1, max = 63))]
    pub mark: Dscp,
    /// M11: whether each marked packet sets the drop probability to zero, or only one that finds no marked
    /// packet waiting (default true: each).
    pub reset_on_every_mark: bool,
    /// When the buffer counts as empty (default event-and-arrival; BLUE's B3).
    pub idle_mode: IdleMode,
    /// True if more than `freeze_time` must have passed; false: exactly that time is enough (default true:
    /// more; BLUE's B4).
    pub freeze_strict: bool,
    /// True if rises and falls freeze each other, false if each kind only itself (default true: one
    /// `last_update`; BLUE's B4).
    pub shared_last_update: bool,
    /// True if the run's beginning counts as an update (default false; BLUE's B4).
    pub first_update_waits: bool,
    /// True if the drop probability is kept between 0 and 1 (default true; BLUE's B5).
    pub clamp: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Packets(120),
            threshold: Packets(80),
            d1: 1e-4,
            d2: 1e-5,
            freeze_time: Duration::from_millis(1),
            forwarded_at_full: ForwardedAtFull::Reject,
            rejected_mark_resets: true,
            reset_sets_last_update: false,
            update_before_test: true,
            update_on_overflow: false,
            count_forwarded: true,
            count_in_service: false,
            mark: Dscp::FORWARDED,
            reset_on_every_mark: true,
            idle_mode: IdleMode::EventAndArrival,
            freeze_strict: true,
            shared_last_update: true,
            first_update_waits: false,
            clamp: true,
        }
    }
}

impl Params {
    fn is_full(&self, line: &Fifo) -> bool {
        line.packets() + usize::from(self.count_in_service) >= self.limit.0 as usize
    }

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
        if self.threshold.0 == 0 || self.threshold > self.limit {
            let message = format!("it must lie within the queue: write \"1 pkt\" to \"{}\"", self.limit);
            return Err(("threshold", message));
        }
        validate_mark(self.mark)?;
        self.steps().validate()
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct Mblue {
    params: Params,
    exemption: Exemption,
    p_m: DropProbability,
    fifo: Fifo,
    rng: Rng,
}

impl Mblue {
    fn is_full(&self) -> bool {
        self.params.is_full(&self.fifo)
    }

    /// The queue length that is held against `TH_b`.
    fn q_length(&self) -> usize {
        let waiting = if self.params.count_forwarded { self.fifo.packets() } else { self.fifo.ordinary() };
        waiting + usize::from(self.params.count_in_service)
    }

    /// MBLUE eq. 4: "when a marked packet arrives: queue packet, `P_m` = 0".
    fn enqueue_marked(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        let room = self.exemption.find_room(&mut self.fifo, |line| self.params.is_full(line), cx);
        let resets = self.params.reset_on_every_mark || self.fifo.forwarded() == 0;
        if resets && (room.admits || self.params.rejected_mark_resets) {
            self.p_m.reset(cx.now, self.params.reset_sets_last_update);
        }
        if !room.admits {
            return cx.drop(packet, DropReason::ForwardedOverflow);
        }
        self.fifo.push(packet, cx.pool);
    }

    /// MBLUE eq. 4: "when an unmarked packet arrives: if q_length ≥ `TH_b` …", then fig. 7 (a) and (d).
    fn enqueue_unmarked(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        let is_full = self.is_full();
        let is_above = self.q_length() >= self.params.threshold.0 as usize;
        let raises = is_above || is_full && self.params.update_on_overflow;
        if raises && self.params.update_before_test {
            self.p_m.increase(cx.now);
        }
        // ASSUMPTION: M1: a packet that finds no room is an overflow, and no test is made for it.
        let is_unlucky = !is_full && self.rng.uniform() < self.p_m.value();
        if raises && !self.params.update_before_test {
            self.p_m.increase(cx.now);
        }
        if is_full {
            return cx.drop(packet, DropReason::QueueOverflow);
        }
        if is_unlucky {
            return cx.drop(packet, DropReason::EarlyDrop);
        }
        self.fifo.push(packet, cx.pool);
    }
}

impl QueueDisc for Mblue {
    type Params = Params;

    fn new(params: &Params, rng: Rng) -> Mblue {
        let p_m = DropProbability::new(params.steps());
        let exemption = Exemption::of(params.mark, params.forwarded_at_full);
        Mblue { params: params.clone(), exemption, p_m, fifo: Fifo::with_mark(params.mark), rng }
    }

    /// The random test of an unmarked packet takes one draw, whatever `P_m` is; a marked one takes none.
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        self.p_m.on_arrival(!self.fifo.is_empty(), cx.now);
        if self.exemption.spares(&packet, cx.pool) {
            self.enqueue_marked(packet, cx);
        } else {
            self.enqueue_unmarked(packet, cx);
        }
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
