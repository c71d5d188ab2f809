//! M-RED: RED that neither counts nor tests the packets that an old base station forwards.
//!
//! "TCP Performance Enhancement by Implicit Priority Forwarding (IPF) Packet Buffering Scheme for Mobile IP Based
//! Networks" (IPF section III, figs. 5 to 7). `q_size_np` and `avg_q_np` are those of the non-priority packets, and
//! RED's own code drops these packets by them. A priority packet is dropped only if the queue is full. Each point that
//! the text leaves open (R1–R10) is a parameter.

use crate::aqm::red::admit;
use crate::aqm::red::detector::{Arrival, Detector};
use crate::aqm::red::params::red_params;
use crate::aqm::red::{ByteScaling, CountArrivals, IdleStart, Rules, Unit};
use crate::fifo::Fifo;
use crate::forwarded::{Exemption, ForwardedAtFull, validate_mark};
use crate::{BadField, Gauges, Matching, Parameters, QdiscCx, QueueDisc};
use roamlab_engine::{Bytes, Duration, Packets, Rate, Rng, Time};
use roamlab_packet::{DropReason, Dscp, MarkingState, PacketId};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// R2: when the idle period of `avg_q_np` runs.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NpIdle {
    /// While nothing waits at all; a priority packet ends it.
    QueueEmpty,
    /// While no non-priority packet waits.
    NonPriorityEmpty,
}

red_params! {
    /// M-RED: RED that neither counts nor drops forwarded packets unless the queue is full.
    "mred"
    sizes {
        /// Packets that may wait, of both kinds; with `threshold_unit = "bytes"` times `mean_packet`. Default
        /// 300 pkt (IPF section IV-B).
        limit: Packets = Packets(300), Packets(300);
        /// R6: `avg_q_np` at which dropping begins. Default 100 pkt (IPF section IV-B.1).
        min_threshold: Packets = Packets(100), Packets(100);
        /// R6: `avg_q_np` at which `p_b` has reached `max_p`. Default 200 pkt (IPF section IV-B.1).
        max_threshold: Packets = Packets(200), Packets(200);
    }
    own {
        /// R9: the DSCP of the inner header that marks priority packets, 1 to 63 (default 3, 000011: experimental
        /// and local use).
        #[schemars(with = "u8", range(min = 1, max = 63))]
        mark: Dscp = Dscp::FORWARDED;
        /// R1: whether a priority arrival is a sample of `q_size_np` for `avg_q_np` (default false, as an average
        /// of in-profile packets in RIO is taken at in-profile arrivals).
        average_on_priority: bool = false;
        /// R2: when the idle period of `avg_q_np` runs (default queue-empty: the link can send nothing).
        np_idle: NpIdle = NpIdle::QueueEmpty;
        /// R3: whether a priority arrival counts among the packets spared since the last drop (default false).
        count_priority: bool = false;
        /// R3: whether an overflow of a priority packet is one for `overflow_resets_count` (default false).
        priority_overflow_resets_count: bool = false;
        /// R4: whether a priority packet is let in while `avg_q_np` is so high that every other one is dropped
        /// (default true).
        priority_passes_max: bool = true;
        /// R5: fate of a priority packet that finds the queue full (default reject).
        forwarded_at_full: ForwardedAtFull = ForwardedAtFull::Reject;
    }
}

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        crate::aqm::red::Params::from(self).validate()?;
        validate_mark(self.mark)
    }

    fn warning(&self) -> Option<BadField> {
        crate::aqm::red::Params::from(self).warning()
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct Mred {
    params: Params,
    exemption: Exemption,
    detector: Detector,
    fifo: Fifo,
    rng: Rng,
}

impl Mred {
    /// `q_size_np`, in the unit of its average.
    fn q_size_np(&self) -> f64 {
        self.detector.params.length(self.fifo.ordinary(), self.fifo.ordinary_bytes())
    }

    /// Lets a priority packet in, if there is room.
    fn enqueue_priority(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        let size = cx.pool[&packet].wire_size();
        let was_idle = self.detector.is_idle();
        self.note_priority(&Arrival { now: cx.now, size, waiting: self.q_size_np(), rate: cx.rate });
        let lost = self.priority_fails(size, cx);
        match lost {
            Some(reason) => cx.drop(packet, reason),
            None => self.fifo.push(packet, cx.pool),
        }
        if was_idle && (lost.is_some() || self.params.np_idle == NpIdle::NonPriorityEmpty) {
            self.detector.resume_idle(cx.now);
        }
    }

    /// R1 to R3: what a priority arrival is to the average and to the count.
    fn note_priority(&mut self, arrival: &Arrival) {
        if self.params.average_on_priority {
            self.detector.update_average(arrival);
        } else {
            self.detector.end_idle(arrival);
        }
        if self.params.count_priority {
            self.detector.count_untested(arrival.size);
        }
    }

    /// R4, R5: why a priority packet is not let in. May drop another for it.
    fn priority_fails(&mut self, size: Bytes, cx: &mut QdiscCx<'_>) -> Option<DropReason> {
        if !self.params.priority_passes_max && self.detector.is_certain() {
            return Some(DropReason::EarlyDrop);
        }
        let params = &self.detector.params;
        let room = self.exemption.find_room(&mut self.fifo, |line| params.is_full(line, size), cx);
        if room.pushed_out {
            self.detector.on_overflow();
            if self.params.np_idle == NpIdle::NonPriorityEmpty && self.fifo.ordinary() == 0 {
                self.detector.resume_idle(cx.now);
            }
        }
        if room.admits {
            return None;
        }
        if self.params.priority_overflow_resets_count {
            self.detector.on_overflow();
        }
        Some(DropReason::ForwardedOverflow)
    }

    /// Tells the idle clock what waits of `before` packets, now that some have left.
    fn note_departure(&mut self, (packets, ordinary): (usize, usize), cx: &QdiscCx<'_>) {
        let (before, after) = match self.params.np_idle {
            NpIdle::QueueEmpty => (packets, self.fifo.packets()),
            NpIdle::NonPriorityEmpty => (ordinary, self.fifo.ordinary()),
        };
        self.detector.on_dequeue(before > 0, after > 0, cx.now);
    }

    fn waiting(&self) -> (usize, usize) {
        (self.fifo.packets(), self.fifo.ordinary())
    }
}

impl QueueDisc for Mred {
    type Params = Params;

    fn new(params: &Params, rng: Rng) -> Mred {
        let detector = Detector::new(params.into());
        let exemption = Exemption::of(params.mark, params.forwarded_at_full);
        Mred { params: params.clone(), exemption, detector, fifo: Fifo::with_mark(params.mark), rng }
    }

    /// IPF fig. 6. A priority packet takes no draw.
    fn attach(&mut self, rate: Rate, delay: Duration) {
        self.detector.attach(rate, delay);
    }

    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        if self.exemption.spares(&packet, cx.pool) {
            return self.enqueue_priority(packet, cx);
        }
        let waiting = self.q_size_np();
        let admitted = admit(packet, waiting, (&mut self.detector, &self.fifo, &mut self.rng), cx);
        if let Some(packet) = admitted {
            self.fifo.push(packet, cx.pool);
        }
    }

    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        let before = self.waiting();
        let packet = self.fifo.pop(cx.pool);
        self.note_departure(before, cx);
        packet
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut QdiscCx<'_>) -> Vec<PacketId> {
        let before = self.waiting();
        let taken = self.fifo.take_matching(wanted, cx.pool);
        if !taken.is_empty() {
            self.note_departure(before, cx);
        }
        taken
    }

    crate::waits_in!(fifo);

    fn gauges(&self) -> Gauges {
        self.detector.gauges(&self.fifo)
    }

    fn marking_state(&self) -> Option<MarkingState> {
        Some(self.detector.marking_state())
    }

    fn adopt(&mut self, state: &MarkingState, now: Time) {
        self.detector.adopt(state, now);
    }
}

#[cfg(test)]
mod tests;
