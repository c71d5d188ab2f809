//! RED without its queue: average, spacing and idle clock. M-RED passes other arrivals to it.

use super::params::{ByteScaling, CountArrivals, IdleStart, Params, Unit};
use crate::Gauges;
use crate::fifo::Fifo;
use roamlab_engine::{Bytes, Duration, Packets, Rate, Time};
use roamlab_packet::MarkingState;

/// RED's decision for an arriving packet.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Let it in.
    Pass,
    /// Let its sender know: mark it if it can be marked, otherwise drop it.
    Notify,
    /// Drop it.
    Drop,
}

/// An arrival as the detector sees it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Arrival {
    pub now: Time,
    /// Size on the wire.
    pub size: Bytes,
    /// Queue length before it joins, in the unit of the average.
    pub waiting: f64,
    /// Rate of the link.
    pub rate: Rate,
}

/// RED without its queue: average, spacing and idle clock.
#[derive(Clone, Debug)]
pub(crate) struct Detector {
    pub(crate) params: Params,
    /// The two thresholds in the unit of the average.
    thresholds: (f64, f64),
    pub(crate) average: f64,
    pub(crate) p_b: f64,
    pub(crate) count: i64,
    count_bytes: u64,
    pub(super) above_min: bool,
    pub(crate) idle_since: Option<Time>,
    /// The link's rate at the beginning.
    initial_rate: Option<Rate>,
    /// `(1 − w_q)^m` of the first whole numbers `m`, as far as they were needed. A power costs as much as the
    /// rest of an arrival, and behind a queue that is mostly empty each arrival takes one.
    decays: Vec<f64>,
}

/// Powers that are kept at most.
const DECAYS: u64 = 64;

impl Detector {
    pub(crate) fn new(params: Params) -> Detector {
        let count = match params.count_arrivals {
            CountArrivals::InBand => -1,
            CountArrivals::All => 0,
        };
        let idle_since = Some(Time::ZERO);
        let thresholds = (params.in_unit(params.min_threshold), params.in_unit(params.max_threshold));
        Detector {
            params,
            thresholds,
            average: 0.0,
            p_b: 0.0,
            count,
            count_bytes: 0,
            above_min: false,
            idle_since,
            initial_rate: None,
            decays: Vec::new(),
        }
    }

    /// Sets the parameters that ns-2 derives from the rate and propagation delay of the link.
    pub(crate) fn attach(&mut self, rate: Rate, delay: Duration) {
        let (min, max, weight) = self.params.sized(rate, delay);
        let unit = self.params.in_unit(Packets(1));
        self.thresholds = (min * unit, max * unit);
        self.params.queue_weight = weight;
        self.decays.clear();
        self.initial_rate = Some(rate);
    }

    /// Takes the arrival into the average and decides. `uniform` is drawn from once if, and only if, a
    /// probability is put to the test.
    #[inline(always)]
    pub(crate) fn decide(&mut self, arrival: &Arrival, uniform: impl FnOnce() -> f64) -> Verdict {
        self.update_average(arrival);
        if self.params.count_arrivals == CountArrivals::All {
            self.count_one(arrival.size);
        }
        let is_short = self.params.spare_short_queue && arrival.waiting <= 1.0;
        if self.average < self.thresholds.0 || is_short {
            self.p_b = 0.0;
            self.above_min = false;
            if self.params.count_arrivals == CountArrivals::InBand {
                self.count = -1;
            }
            return Verdict::Pass;
        }
        if self.is_certain() && !self.params.use_mark_p {
            // RFC 3168 §7: beyond the last threshold packets are dropped, not marked.
            self.p_b = 1.0;
            self.reset_count();
            return Verdict::Drop;
        }
        let is_first = !std::mem::replace(&mut self.above_min, true);
        if is_first && self.params.spare_first {
            (self.count, self.count_bytes) = (1, arrival.size.0);
            return Verdict::Pass;
        }
        if self.params.count_arrivals == CountArrivals::InBand {
            self.count_one(arrival.size);
        }
        self.p_b = self.params.initial_probability(self.thresholds, self.average);
        if uniform() > self.final_probability(arrival.size) {
            return Verdict::Pass;
        }
        self.reset_count();
        let may_mark = !self.params.use_mark_p || self.p_b < self.params.mark_p_max;
        if may_mark { Verdict::Notify } else { Verdict::Drop }
    }

    /// The queue lost a packet because it was full.
    pub(crate) fn on_overflow(&mut self) {
        if self.params.overflow_resets_count {
            self.reset_count();
        }
    }

    /// The link took a packet, or asked for one without result, and `waiting` is true if others remain.
    #[inline(always)]
    pub(crate) fn on_dequeue(&mut self, found: bool, waiting: bool, now: Time) {
        if !found || !waiting && self.params.idle_start == IdleStart::QueueEmpty {
            self.idle_since.get_or_insert(now);
        }
    }

    /// An arrival ended the idle period but did not stay.
    pub(crate) fn resume_idle(&mut self, now: Time) {
        self.idle_since = Some(now);
    }

    /// True if an idle period is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle_since.is_some()
    }

    /// The state as a record shows it; the average in packets.
    pub(crate) fn gauges(&self, line: &Fifo) -> Gauges {
        let average = self.average / self.params.in_unit(Packets(1));
        Gauges { average, probability: self.p_b, forwarded: line.forwarded(), ..Gauges::default() }
    }

    /// The average.
    pub(crate) fn marking_state(&self) -> MarkingState {
        MarkingState::Average(self.average / self.params.in_unit(Packets(1)))
    }

    /// Continues from another average; an idle period restarts.
    pub(crate) fn adopt(&mut self, state: &MarkingState, now: Time) {
        if let MarkingState::Average(average) = *state {
            self.average = average * self.params.in_unit(Packets(1));
            self.idle_since = self.idle_since.map(|_| now);
        }
    }

    /// 1993 eq. 1, and section XI for idle periods: `(1 − w_q)^m` as if m packets had met an empty queue.
    #[inline(always)]
    pub(crate) fn update_average(&mut self, arrival: &Arrival) {
        let was_idle = self.is_idle();
        self.end_idle(arrival);
        if !was_idle || self.params.sample_after_idle {
            let keep = 1.0 - self.params.queue_weight;
            self.average = self.average * keep + self.params.queue_weight * arrival.waiting;
        }
    }

    /// The idle period ends, if there is one: the average has decayed by it.
    #[inline(always)]
    pub(crate) fn end_idle(&mut self, arrival: &Arrival) {
        let Some(since) = self.idle_since.take() else { return };
        let bits = 8 * self.params.mean_packet.0;
        self.average *= if self.params.whole_idle_packets {
            self.decay(whole_packets(since, arrival.now, self.initial_rate.unwrap_or(arrival.rate), bits))
        } else {
            let idle_s = arrival.now.since(since).as_secs_f64();
            libm::pow(1.0 - self.params.queue_weight, idle_s / (bits as f64 / arrival.rate.as_bps() as f64))
        };
    }

    /// `(1 − w_q)^missed`, of whole packets.
    #[inline(always)]
    fn decay(&mut self, missed: u64) -> f64 {
        match self.decays.get(missed as usize) {
            Some(&known) => known,
            None => self.decay_anew(missed),
        }
    }

    #[cold]
    #[inline(never)]
    fn decay_anew(&mut self, missed: u64) -> f64 {
        let keep = 1.0 - self.params.queue_weight;
        if missed >= DECAYS {
            return libm::pow(keep, missed as f64);
        }
        while self.decays.len() as u64 <= missed {
            self.decays.push(libm::pow(keep, self.decays.len() as f64));
        }
        self.decays[missed as usize]
    }

    /// Counts an arrival that is let in without a test as one that was spared.
    pub(crate) fn count_untested(&mut self, size: Bytes) {
        let in_band = self.average >= self.thresholds.0 && !self.is_certain();
        if in_band || self.params.count_arrivals == CountArrivals::All {
            self.count_one(size);
        }
    }

    /// True if the average lies beyond the last threshold.
    pub(crate) fn is_certain(&self) -> bool {
        self.average >= self.certain_from()
    }

    /// The average from which no packet is let in.
    fn certain_from(&self) -> f64 {
        let factor = if self.params.gentle { 2.0 } else { 1.0 };
        factor * self.thresholds.1
    }

    /// `p_a` of a packet, from `p_b`.
    #[inline(always)]
    fn final_probability(&self, size: Bytes) -> f64 {
        let relative_size = || size.0 as f64 / self.params.mean_packet.0 as f64;
        match (self.params.probability_unit, self.params.byte_scaling) {
            (Unit::Packets, _) => self.params.spaced_probability(self.p_b, self.count as f64),
            (Unit::Bytes, ByteScaling::BeforeSpacing) => {
                self.params.spaced_probability((self.p_b * relative_size()).min(1.0), self.count as f64)
            }
            (Unit::Bytes, ByteScaling::AfterSpacing) => {
                let count = self.count_bytes / self.params.mean_packet.0;
                let p_a = self.params.spaced_probability(self.p_b, count as f64);
                if p_a < 1.0 { (p_a * relative_size()).min(1.0) } else { p_a }
            }
        }
    }

    fn count_one(&mut self, size: Bytes) {
        self.count += 1;
        self.count_bytes += size.0;
    }

    fn reset_count(&mut self) {
        (self.count, self.count_bytes) = (0, 0);
    }
}

/// Whole packets of `bits` that fit between two instants at `rate`.
///
/// Under ACK clocking the span often *is* a whole number of packets. The count is exact; with ns-2's double clock
/// rounding errors decide between m and m − 1.
#[inline]
pub(super) fn whole_packets(since: Time, now: Time, rate: Rate, bits: u64) -> u64 {
    let span = now.since(since).as_nanos();
    // In 64 bits wherever they do: a division in 128 costs as much as a power.
    if let (Some(bit_nanoseconds), Some(bits)) =
        (span.checked_mul(rate.as_bps()), bits.checked_mul(1_000_000_000))
    {
        return bit_nanoseconds / bits;
    }
    let bit_nanoseconds = u128::from(span) * u128::from(rate.as_bps());
    u64::try_from(bit_nanoseconds / (1_000_000_000 * u128::from(bits))).unwrap_or(u64::MAX)
}
