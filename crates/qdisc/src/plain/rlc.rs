//! The transmission buffer of a radio bearer. It has a limit in packets and bytes, as RLC's queue, and a timer after which
//! a packet is discarded, as PDCP's (TS 38.323 §5.3). It marks by the time in the queue: the packet's own, or a mean.
//!
//! ASSUMPTION: TS 23.501 §5.37.3 lets the base station mark for L4S by congestion, and leaves the rule open:
//! it uses the time in this queue.
//!
//! The defaults are those of srsRAN Project (commit 4bf1543936): 16,384 SDUs and 6,172,672 B a bearer, and a discard timer
//! for each 5QI.

use crate::forwarded::{Exemption, exempting_params, validate_mark};
use crate::timed::Timed;
use crate::{BadField, Gauges, Matching, Parameters, QdiscCx, QueueDisc};
use roamlab_engine::{Bytes, Duration, Packets, Rng, Time};
use roamlab_packet::{DropReason, MarkingState, PacketId};

exempting_params! {
    /// A bearer's buffer: limits in packets and bytes as RLC's, PDCP's discard timer, and marks by the time in the queue.
    own {
        /// Packets (SDUs) that may wait (default 16384 pkt, srsRAN).
        limit: Packets = Packets(16_384);
        /// Bytes that may wait (default 6172672 B, srsRAN).
        limit_bytes: Bytes = Bytes(6_172_672);
        /// The kind of traffic (TS 23.501 table 5.7.4-1) whose discard timer in srsRAN holds where `discard_timer` is not
        /// written: 1 to 10, 69, 70 or 82 to 88.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "u8")]
        five_qi: Option<u8> = None;
        /// A packet that has waited so long is lost: one of 3GPP's values (TS 38.331, `discardTimer`), "0.5 ms" to "2 s".
        /// Without it and without `five_qi` there is no such time.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Duration")]
        discard_timer: Option<Duration> = None;
        /// An ECN-capable packet that has waited longer is marked when it leaves; without it none is.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Duration")]
        mark_above: Option<Duration> = None;
        /// Weight of a packet in the mean time in the queue that is held against `mark_above`, above 0 to 1 (default 1: the
        /// time of the packet itself).
        mark_weight: f64 = 1.0;
    }
}

/// 3GPP's values in µs (TS 38.331: `discardTimer`, `discardTimerExt-r16`, `discardTimerExt2-r17`).
const DISCARD_TIMERS: [u64; 22] = [
    500, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 75_000, 100_000,
    150_000, 200_000, 250_000, 300_000, 500_000, 750_000, 1_500_000, 2_000_000,
];

/// srsRAN's discard timer for a kind of traffic in ms; `None` within: infinity.
fn discard_timer_of(five_qi: u8) -> Option<Option<u64>> {
    Some(match five_qi {
        1 | 5 => Some(100),
        2 => Some(150),
        3 => Some(50),
        4 | 6 | 8 => Some(300),
        7 | 9 => None,
        10 => Some(1500),
        69 => Some(60),
        70 => Some(200),
        82..=88 => Some(10),
        _ => return None,
    })
}

impl Params {
    fn longest_wait(&self) -> Option<Duration> {
        let preset = || discard_timer_of(self.five_qi?).flatten().map(Duration::from_millis);
        self.discard_timer.or_else(preset)
    }
}

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        crate::validate_limit(self.limit, false)?;
        crate::validate_byte_limit(Some(self.limit_bytes))?;
        if let Some(five_qi) = self.five_qi.filter(|five_qi| discard_timer_of(*five_qi).is_none()) {
            let message =
                format!("srsRAN has no values for 5QI {five_qi}: write 1 to 10, 69, 70 or 82 to 88");
            return Err(("five_qi", message));
        }
        if let Some(timer) = self.discard_timer
            && !DISCARD_TIMERS.iter().any(|micros| Duration::from_micros(*micros) == timer)
        {
            let after = DISCARD_TIMERS.map(Duration::from_micros).into_iter().find(|value| *value > timer);
            let near = after.unwrap_or(Duration::from_micros(2_000_000));
            return Err((
                "discard_timer",
                format!("{timer} is none of 3GPP's values: write for example \"{near}\""),
            ));
        }
        if !(self.mark_weight > 0.0 && self.mark_weight <= 1.0) {
            let message = format!("{} is no weight: write a number above 0, up to 1", self.mark_weight);
            return Err(("mark_weight", message));
        }
        validate_mark(self.mark)
    }

    fn warning(&self) -> Option<BadField> {
        (self.mark_weight < 1.0 && self.mark_above.is_none()).then(|| {
            let message =
                "nothing is marked, so that the mean has no effect: write `mark_above = \"10 ms\"` too";
            ("mark_weight", message.into())
        })
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct Rlc {
    limit: usize,
    limit_bytes: u64,
    longest_wait: Option<Duration>,
    mark_above: Option<Duration>,
    mark_weight: f64,
    exemption: Exemption,
    line: Timed,
    sojourn: Duration,
    /// The mean time in the queue in ns.
    mean_ns: f64,
}

impl Rlc {
    /// Discards packets that have waited as long as the timer.
    ///
    /// DEVIATION: the timer is looked at when a packet arrives, leaves or is taken out, not when it expires.
    fn discard(&mut self, cx: &mut QdiscCx<'_>) {
        let Some(longest) = self.longest_wait else { return };
        while self.line.head_sojourn(cx.now) >= longest {
            let Some((packet, _)) = self.line.pop(cx.now, cx.pool) else { return };
            cx.drop(packet, DropReason::EarlyDrop);
        }
    }

    /// Takes a departure into the mean. With weight 1 that is the time of this packet, to the nanosecond.
    fn note_departure(&mut self, sojourn: Duration) {
        self.sojourn = sojourn;
        self.mean_ns += self.mark_weight * (sojourn.as_nanos() as f64 - self.mean_ns);
    }

    fn is_slow(&self) -> bool {
        self.mark_above.is_some_and(|limit| self.mean_ns > limit.as_nanos() as f64)
    }
}

impl QueueDisc for Rlc {
    type Params = Params;

    fn new(params: &Params, _: Rng) -> Rlc {
        Rlc {
            limit: params.limit.0 as usize,
            limit_bytes: params.limit_bytes.0,
            longest_wait: params.longest_wait(),
            mark_above: params.mark_above,
            mark_weight: params.mark_weight,
            exemption: params.exemption(),
            line: Timed::with_mark(params.mark),
            sojourn: Duration::ZERO,
            mean_ns: 0.0,
        }
    }

    #[inline(never)]
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        self.discard(cx);
        let (limit, room) = (self.limit, self.limit_bytes.checked_sub(cx.pool[&packet].wire_size().0));
        let is_full = |line: &Timed| line.packets() >= limit || room.is_none_or(|room| line.bytes().0 > room);
        if let Some(packet) = self.exemption.admit(packet, &mut self.line, is_full, cx) {
            self.line.push(packet, cx.now, cx.pool);
        }
    }

    #[inline(never)]
    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        self.discard(cx);
        let Some((packet, sojourn)) = self.line.pop(cx.now, cx.pool) else {
            self.sojourn = Duration::ZERO;
            return None;
        };
        self.note_departure(sojourn);
        if self.is_slow() && !self.exemption.spares(&packet, cx.pool) {
            let _is_capable = cx.mark_ce(&packet);
        }
        Some(packet)
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut QdiscCx<'_>) -> Vec<PacketId> {
        self.discard(cx);
        self.line.take_matching(wanted, cx.pool)
    }

    crate::waits_in!(line);

    fn gauges(&self) -> Gauges {
        Gauges { sojourn: self.sojourn, forwarded: self.line.forwarded(), ..Gauges::default() }
    }

    /// The mean; none where a packet is marked by its own time alone.
    fn marking_state(&self) -> Option<MarkingState> {
        let has_mean = self.mark_above.is_some() && self.mark_weight < 1.0;
        has_mean.then(|| MarkingState::Delay(Duration::from_nanos(self.mean_ns as u64)))
    }

    fn adopt(&mut self, state: &MarkingState, _: Time) {
        if let MarkingState::Delay(mean) = *state {
            self.mean_ns = mean.as_nanos() as f64;
        }
    }
}

#[cfg(test)]
mod tests;
