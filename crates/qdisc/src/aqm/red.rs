//! RED by the rules of its paper or by those of ns-2, or a combination.
//!
//! S. Floyd, V. Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM ToN 1(4), 1993;
//! ns-2.35's `Queue/RED`, whose variable each parameter names. `rules` fills in the defaults of one of the two; every
//! single rule can then be set separately.
//!
//! DEVIATION: the defaults of `rules = "ns2"` are ns-2's last fixed ones (5, 15, 0.002). Its present ones, by which it
//! sizes thresholds and weight by the link, are written as 0, 0 and −1.

pub(crate) mod detector;
pub(crate) mod params;

pub use params::{ByteScaling, CountArrivals, IdleStart, Params, Rules, Unit};

use crate::fifo::Fifo;
use crate::{Gauges, Matching, QdiscCx, QueueDisc};
use detector::{Arrival, Detector, Verdict};
use roamlab_engine::{Duration, Rate, Rng, Time};
use roamlab_packet::{DropReason, MarkingState, PacketId};

/// The discipline.
#[derive(Clone, Debug)]
pub struct Red {
    pub(crate) detector: Detector,
    fifo: Fifo,
    rng: Rng,
}

/// Puts an arriving packet to the test of `detector`, whose average is about the `waiting` ones, and gives it back for
/// `line` if it passes and there is room.
///
/// The average decides first, then the limit, as in ns-2; a packet that fails both is an overflow.
#[inline(always)]
pub(crate) fn admit(
    packet: PacketId,
    waiting: f64,
    (detector, line, rng): (&mut Detector, &Fifo, &mut Rng),
    cx: &mut QdiscCx<'_>,
) -> Option<PacketId> {
    let size = cx.pool[&packet].wire_size();
    let arrival = Arrival { now: cx.now, size, waiting, rate: cx.rate };
    let was_idle = detector.is_idle();
    let stays = match detector.decide(&arrival, || rng.uniform()) {
        Verdict::Pass => true,
        Verdict::Notify => detector.params.mark_ecn && cx.mark_ce(&packet),
        Verdict::Drop => false,
    };
    if detector.params.is_full(line, size) {
        detector.on_overflow();
        cx.drop(packet, DropReason::QueueOverflow);
    } else if stays {
        return Some(packet);
    } else {
        cx.drop(packet, DropReason::EarlyDrop);
    }
    if was_idle {
        detector.resume_idle(cx.now);
    }
    None
}

impl Red {
    #[inline(always)]
    fn admit(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        let waiting = self.detector.params.length(self.fifo.packets(), self.fifo.bytes());
        admit(packet, waiting, (&mut self.detector, &self.fifo, &mut self.rng), cx)
    }
}

impl QueueDisc for Red {
    type Params = Params;

    fn new(params: &Params, rng: Rng) -> Red {
        Red { detector: Detector::new(params.into()), fifo: Fifo::default(), rng }
    }

    fn attach(&mut self, rate: Rate, delay: Duration) {
        self.detector.attach(rate, delay);
    }

    #[inline]
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        if let Some(packet) = self.admit(packet, cx) {
            self.fifo.push(packet, cx.pool);
        }
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        let packet = self.fifo.pop(cx.pool);
        self.detector.on_dequeue(packet.is_some(), !self.fifo.is_empty(), cx.now);
        packet
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut QdiscCx<'_>) -> Vec<PacketId> {
        let taken = self.fifo.take_matching(wanted, cx.pool);
        if !taken.is_empty() {
            self.detector.on_dequeue(true, !self.fifo.is_empty(), cx.now);
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
