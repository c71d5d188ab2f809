//! PIE (RFC 8033): drops arrivals with a probability that a controller sets by the time in the queue.
//!
//! Each `update_interval` the probability grows by `alpha` times the excess of the delay over `target`, and by `beta`
//! times its growth since the last update. Both are scaled down while the probability is small (RFC 8033 §4.2). The delay is
//! that of the packet that left last, measured by its time of arrival, and 0 when nothing waits, as in Linux.

use crate::aqm::updates::{Updates, pi_growth};
use crate::forwarded::{Exemption, exempting_params, validate_mark};
use crate::timed::Timed;
use crate::{BadField, Gauges, Matching, Parameters, QdiscCx, QueueDisc, Rules};
use roamlab_engine::{Bytes, Duration, Packets, Rng, Time};
use roamlab_packet::{MarkingState, PacketId};

exempting_params! {
    /// PIE: drops or marks arrivals with a probability that a controller sets by the time in the queue.
    own {
        /// Whose rules (default rfc). Linux's end a burst by the time between departures, add 0.02 an update above 250 ms,
        /// and shrink the probability at an idle link by 1/64.
        rules: Rules = Rules::Rfc;
        /// Packets that may wait (default 1000 pkt, Linux's `pie`).
        limit: Packets = Packets(1000);
        /// Time in the queue that the controller aims at (`QDELAY_REF`; default 15 ms, RFC 8033 §4.2).
        target: Duration = Duration::from_millis(15);
        /// Time between two updates of the probability, 1 ms or more (`T_UPDATE`; default 15 ms, RFC 8033 §4.2).
        update_interval: Duration = Duration::from_millis(15);
        /// Growth of the probability for each second of delay above the target (default 0.125, RFC 8033 §4.2).
        alpha: f64 = 0.125;
        /// Growth of the probability for each second by which the delay has grown (default 1.25, RFC 8033 §4.2).
        beta: f64 = 1.25;
        /// Time for which a burst is let in after a time without congestion (`MAX_BURST`; default 150 ms, RFC 8033
        /// §4.4).
        max_burst: Duration = Duration::from_millis(150);
        /// Nothing is dropped early while no more bytes wait than twice these (`MEAN_PKTSIZE`; default 1500 B).
        mean_packet: Bytes = Bytes(1500);
        /// True if an ECN-capable packet is marked instead of dropped (default false, Linux's `pie`).
        mark_ecn: bool = false;
        /// With `mark_ecn`, the probability above which ECN-capable packets are dropped like others (`mark_ecnth`; default
        /// 0.1, RFC 8033 §5.1).
        mark_p_max: f64 = 0.1;
        /// True if drops are kept apart, none before the sum of probabilities is 0.85 and one for sure from
        /// 8.5 on (RFC 8033 §5.4; default true, as Linux).
        derandomise: bool = true;
        /// True if a probability of 0.1 or more grows by at most 0.02 an update (RFC 8033 §5.5; default true,
        /// as Linux).
        cap_growth: bool = true;
    }
}

impl Parameters for Params {
    fn validate(&self) -> Result<(), BadField> {
        crate::validate_limit(self.limit, false)?;
        crate::validate_update_interval(self.update_interval)?;
        crate::validate_gain("alpha", self.alpha)?;
        crate::validate_gain("beta", self.beta)?;
        crate::validate_probability("mark_p_max", self.mark_p_max)?;
        validate_mark(self.mark)
    }
}

/// The controller.
#[derive(Clone, Debug)]
struct Controller {
    params: Params,
    drop_prob: f64,
    /// The delay now: of the packet that left last, and 0 if nothing waits.
    qdelay: Duration,
    qdelay_old: Duration,
    burst_allowance: Duration,
    /// The sum of probabilities since the last drop.
    accu_prob: f64,
    /// When a packet left last, since Linux began to measure a burst.
    last_departure: Option<Time>,
}

/// Linux's unit of time is 2^6 ns (`PSCHED_SHIFT`).
const LINUX_UNIT: u32 = 6;

/// Linux: above this delay the probability grows by 0.02 an update more.
const LONG: Duration = Duration::from_millis(250);

/// RFC 8033 §4.2: by what the gains are divided for a small probability.
fn divisor(drop_prob: f64) -> f64 {
    const STEPS: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    STEPS.into_iter().find(|(below, _)| drop_prob < *below).map_or(1.0, |(_, divisor)| divisor)
}

impl Controller {
    fn new(params: &Params) -> Controller {
        Controller {
            params: params.clone(),
            drop_prob: 0.0,
            qdelay: Duration::ZERO,
            qdelay_old: Duration::ZERO,
            burst_allowance: params.max_burst,
            accu_prob: 0.0,
            last_departure: None,
        }
    }

    fn is_linux(&self) -> bool {
        self.params.rules == Rules::Linux
    }

    /// A time as the rules see it.
    #[inline(always)]
    fn seen(&self, time: Time) -> Time {
        if self.is_linux() { Time::from_nanos(time.as_nanos() >> LINUX_UNIT << LINUX_UNIT) } else { time }
    }

    /// RFC 8033 §4.2 and §4.4, while `waiting` bytes wait.
    fn update(&mut self, waiting: Bytes) {
        self.update_probability(waiting);
        let is_short = |delay: Duration| delay < self.params.target / 2;
        let is_calm = self.drop_prob == 0.0 && is_short(self.qdelay) && is_short(self.qdelay_old);
        if !self.is_linux() {
            self.burst_allowance = self.burst_allowance.saturating_sub(self.params.update_interval);
        } else if is_calm {
            (self.accu_prob, self.last_departure) = (0.0, None);
        }
        if is_calm {
            self.burst_allowance = self.params.max_burst;
        }
        self.qdelay_old = self.qdelay;
    }

    fn update_probability(&mut self, waiting: Bytes) {
        let Params { target, alpha, beta, cap_growth, .. } = self.params;
        let growth = pi_growth((alpha, beta), target, self.qdelay, self.qdelay_old);
        let mut growth = growth / divisor(self.drop_prob);
        if cap_growth && self.drop_prob >= 0.1 {
            growth = growth.min(0.02);
        }
        if self.is_linux() && self.qdelay > LONG {
            growth += 0.02;
        }
        self.drop_prob = (self.drop_prob + growth).max(0.0);
        let is_idle = self.qdelay == Duration::ZERO && self.qdelay_old == Duration::ZERO;
        match self.params.rules {
            Rules::Rfc if is_idle => self.drop_prob *= 0.98,
            // `pie_calculate_probability`: not while a little waits.
            Rules::Linux if is_idle && waiting == Bytes(0) => self.drop_prob -= self.drop_prob / 64.0,
            Rules::Rfc | Rules::Linux => {}
        }
        // Linux's probability has 8 bits above 1.
        self.drop_prob = self.drop_prob.min(if self.is_linux() { 256.0 } else { 1.0 });
    }

    /// Takes note of a departure after a time in the queue; `rest` are the bytes that wait behind it.
    fn note_departure(&mut self, now: Time, sojourn: Duration, rest: Bytes) {
        self.qdelay = if rest == Bytes(0) { Duration::ZERO } else { sojourn };
        if self.is_linux() {
            let since = self.last_departure.map_or(Duration::ZERO, |last| now.since(last));
            self.burst_allowance = self.burst_allowance.saturating_sub(since);
            self.last_departure = Some(now);
        }
    }

    /// True if less than two packets wait, as far as the rules see.
    fn is_short(&self, waiting: Bytes) -> bool {
        let two = self.params.mean_packet.0.saturating_mul(2);
        match self.params.rules {
            Rules::Rfc => waiting.0 <= two,
            Rules::Linux => waiting.0 < two,
        }
    }

    /// RFC 8033 §4.1, §4.4 and §5.4: whether an arrival is to be dropped or marked, while `waiting` bytes wait.
    fn drops_early(&mut self, waiting: Bytes, rng: &mut Rng) -> bool {
        if self.burst_allowance > Duration::ZERO {
            return false;
        }
        let delay = if self.is_linux() { self.qdelay } else { self.qdelay_old };
        let is_calm = delay < self.params.target / 2 && self.drop_prob < 0.2;
        if is_calm || self.is_short(waiting) {
            return false;
        }
        if !self.params.derandomise {
            return rng.uniform() < self.drop_prob;
        }
        self.accu_prob = if self.drop_prob == 0.0 { 0.0 } else { self.accu_prob + self.drop_prob };
        if self.accu_prob >= 8.5 {
            // In Linux a mark leaves the sum unchanged, so that marks follow until a packet is lost.
            self.accu_prob = if self.is_linux() { self.accu_prob } else { 0.0 };
            return true;
        }
        let drops = self.accu_prob >= 0.85 && rng.uniform() < self.drop_prob;
        if drops {
            self.accu_prob = 0.0;
        }
        drops
    }
}

/// The discipline.
#[derive(Clone, Debug)]
pub struct Pie {
    controller: Controller,
    updates: Updates,
    exemption: Exemption,
    line: Timed,
    sojourn: Duration,
    rng: Rng,
}

impl Pie {
    #[inline(always)]
    fn catch_up(&mut self, now: Time) {
        let (controller, waiting) = (&mut self.controller, self.line.bytes());
        self.updates.make_up(now, |_| controller.update(waiting));
    }
}

impl QueueDisc for Pie {
    type Params = Params;

    fn new(params: &Params, rng: Rng) -> Pie {
        Pie {
            controller: Controller::new(params),
            updates: Updates::each(params.update_interval),
            exemption: params.exemption(),
            line: Timed::with_mark(params.mark),
            sojourn: Duration::ZERO,
            rng,
        }
    }

    /// A spared packet takes no draw and adds nothing to the sum of probabilities.
    #[inline(never)]
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        self.catch_up(cx.now);
        let limit = self.controller.params.limit.0 as usize;
        let Some(packet) = self.exemption.admit(packet, &mut self.line, |line| line.packets() >= limit, cx)
        else {
            self.controller.accu_prob = 0.0;
            return;
        };
        let now = self.controller.seen(cx.now);
        let is_spared = self.exemption.spares(&packet, cx.pool);
        if !is_spared && self.controller.drops_early(self.line.bytes(), &mut self.rng) {
            let marks = self.controller.params.mark_ecn
                && self.controller.drop_prob <= self.controller.params.mark_p_max;
            match cx.notify(packet, marks) {
                Some(packet) => self.line.push(packet, now, cx.pool),
                None => self.controller.accu_prob = 0.0,
            }
            return;
        }
        self.line.push(packet, now, cx.pool);
    }

    #[inline(never)]
    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        self.catch_up(cx.now);
        let now = self.controller.seen(cx.now);
        let left = self.line.pop(now, cx.pool);
        self.sojourn = left.as_ref().map_or(Duration::ZERO, |(_, sojourn)| *sojourn);
        let (packet, sojourn) = left?;
        self.controller.note_departure(now, sojourn, self.line.bytes());
        Some(packet)
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut QdiscCx<'_>) -> Vec<PacketId> {
        self.catch_up(cx.now);
        let taken = self.line.take_matching(wanted, cx.pool);
        if self.line.is_empty() {
            self.controller.qdelay = Duration::ZERO;
        }
        taken
    }

    crate::waits_in!(line);

    fn gauges(&self) -> Gauges {
        let (probability, forwarded) = (self.controller.drop_prob, self.line.forwarded());
        Gauges { probability, sojourn: self.sojourn, forwarded, ..Gauges::default() }
    }

    fn marking_state(&self) -> Option<MarkingState> {
        let Controller { drop_prob, qdelay_old, burst_allowance, .. } = self.controller;
        Some(MarkingState::Controller { probability: drop_prob, delay: qdelay_old, burst: burst_allowance })
    }

    fn adopt(&mut self, state: &MarkingState, now: Time) {
        self.catch_up(now);
        if let MarkingState::Controller { probability, delay, burst } = *state {
            self.controller.drop_prob = probability;
            (self.controller.qdelay_old, self.controller.burst_allowance) = (delay, burst);
        }
    }
}

#[cfg(test)]
mod reference;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ForwardedAtFull;
    use crate::conformance::{Bench, MARKED, PLAIN, check, packet};
    use roamlab_packet::{DropReason, Ecn};

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn controller() -> Controller {
        Controller::new(&Params::default())
    }

    fn linux() -> Controller {
        Controller::new(&Params { rules: Rules::Linux, ..Params::default() })
    }

    /// An update while the delay is `qdelay` and a little waits.
    fn update(pie: &mut Controller, qdelay: Duration) {
        pie.qdelay = qdelay;
        pie.update(Bytes(3000));
    }

    #[track_caller]
    fn assert_close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value} instead of {expected}");
    }

    #[test]
    fn the_first_growth_is_scaled_down_2048_times() {
        // (0.125 · (0.1 − 0.015) + 1.25 · (0.1 − 0)) / 2048
        let mut pie = controller();
        update(&mut pie, ms(100));
        assert_close(pie.drop_prob, (0.010_625 + 0.125) / 2048.0);
    }

    #[test]
    fn gains_are_divided_as_the_rfc_lists() {
        for (drop_prob, expected) in [
            (0.0, 2048.0),
            (0.000_001, 512.0),
            (0.000_01, 128.0),
            (0.000_1, 32.0),
            (0.001, 8.0),
            (0.01, 2.0),
            (0.1, 1.0),
        ] {
            assert_eq!(divisor(drop_prob), expected, "{drop_prob}");
        }
    }

    #[test]
    fn a_delay_at_the_target_changes_nothing() {
        let mut pie = Controller { drop_prob: 0.05, qdelay_old: ms(15), ..controller() };
        update(&mut pie, ms(15));
        assert_close(pie.drop_prob, 0.05);
    }

    #[test]
    fn a_falling_delay_lowers_the_probability() {
        // 0.15 + 0.125 · (0.020 − 0.015) + 1.25 · (0.020 − 0.030)
        let mut pie = Controller { drop_prob: 0.15, qdelay_old: ms(30), ..controller() };
        update(&mut pie, ms(20));
        assert_close(pie.drop_prob, 0.15 + 0.000_625 - 0.0125);
    }

    #[test]
    fn a_large_probability_grows_by_at_most_a_fiftieth() {
        // Uncapped: 0.125 · 0.985 + 1.25 = 1.373.
        for (cap_growth, expected) in [(true, 0.32), (false, 1.0)] {
            let params = Params { cap_growth, ..Params::default() };
            let mut pie = Controller { drop_prob: 0.3, ..Controller::new(&params) };
            update(&mut pie, ms(1000));
            assert_close(pie.drop_prob, expected);
        }
    }

    #[test]
    fn without_delay_it_decays_by_a_fiftieth_too() {
        // (0.5 − 0.125 · 0.015) · 0.98
        let mut pie = Controller { drop_prob: 0.5, ..controller() };
        update(&mut pie, Duration::ZERO);
        assert_close(pie.drop_prob, (0.5 - 0.001_875) * 0.98);
    }

    #[test]
    fn the_burst_allowance_lasts_ten_updates_and_comes_back_with_the_calm() {
        let mut pie = controller();
        for left in (0..10).rev() {
            update(&mut pie, ms(100));
            assert_eq!(pie.burst_allowance, ms(15) * left);
        }
        pie.drop_prob = 0.0;
        update(&mut pie, ms(7));
        assert_eq!(pie.burst_allowance, Duration::ZERO, "the last delay was 100 ms");
        update(&mut pie, ms(7));
        assert_eq!((pie.drop_prob, pie.burst_allowance), (0.0, ms(150)));
    }

    /// A controller that may drop, at a probability.
    fn dropping(drop_prob: f64, params: &Params) -> Controller {
        let burst_allowance = Duration::ZERO;
        Controller { drop_prob, qdelay_old: ms(20), burst_allowance, ..Controller::new(params) }
    }

    #[test]
    fn drops_are_kept_apart() {
        // The sum of 0.1 an arrival reaches 0.85 at the ninth; 8.5 at the 85th at the latest.
        let (mut pie, mut rng) = (dropping(0.1, &Params::default()), Rng::named(1, 0, "pie"));
        let mut gaps = Vec::new();
        let mut gap = 0;
        while gaps.len() < 2000 {
            gap += 1;
            if pie.drops_early(Bytes(100_000), &mut rng) {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        let (least, most) = (gaps.iter().min(), gaps.iter().max());
        assert!(least == Some(&9) && most <= Some(&86), "{least:?} to {most:?}");
        // Eight arrivals without a test, then on average ten with one.
        let mean = gaps.iter().sum::<u64>() as f64 / 2000.0;
        assert!((mean - 18.0).abs() < 0.7, "{mean}");
    }

    #[test]
    fn a_short_queue_and_a_short_delay_are_safe() {
        let (mut rng, certain) =
            (Rng::named(1, 0, "pie"), Params { derandomise: false, ..Params::default() });
        assert!(dropping(1.0, &certain).drops_early(Bytes(3001), &mut rng));
        assert!(!dropping(1.0, &certain).drops_early(Bytes(3000), &mut rng), "twice MEAN_PKTSIZE");
        let calm = Controller { qdelay_old: ms(7), ..dropping(0.19, &certain) };
        assert!((0..100).all(|_| !calm.clone().drops_early(Bytes(9000), &mut rng)));
        let burst = Controller { burst_allowance: ms(1), ..dropping(1.0, &certain) };
        assert!(!burst.clone().drops_early(Bytes(9000), &mut rng));
    }

    #[test]
    fn in_linux_the_burst_ends_by_the_time_between_departures() {
        let mut pie = linux();
        for (at, left) in [(1000, 150), (1060, 90), (1060, 90), (1145, 5), (1200, 0)] {
            pie.note_departure(Time::from_nanos(at * 1_000_000), ms(20), Bytes(1500));
            assert_eq!(pie.burst_allowance, ms(left), "at {at} ms");
        }
        update(&mut pie, ms(20));
        assert_eq!(pie.burst_allowance, Duration::ZERO, "an update leaves it");
    }

    #[test]
    fn in_linux_a_delay_above_250_ms_adds_a_fiftieth_and_an_idle_link_takes_a_64th() {
        let mut pie = Controller { drop_prob: 0.3, qdelay_old: ms(251), ..linux() };
        update(&mut pie, ms(251));
        // 0.125 · 0.236 is more than the cap of 0.02.
        assert_close(pie.drop_prob, 0.3 + 0.02 + 0.02);
        let idle = |waiting| {
            let mut pie = Controller { drop_prob: 0.5, ..linux() };
            pie.update(Bytes(waiting));
            pie.drop_prob
        };
        assert_close(idle(0), (0.5 - 0.001_875) * 63.0 / 64.0);
        assert_close(idle(40), 0.5 - 0.001_875);
    }

    #[test]
    fn in_linux_the_delay_now_and_two_whole_packets_decide() {
        let params = Params { rules: Rules::Linux, derandomise: false, ..Params::default() };
        let mut rng = Rng::named(1, 0, "pie");
        let late = Controller { qdelay: ms(20), ..dropping(1.0, &params) };
        assert!(late.clone().drops_early(Bytes(3000), &mut rng));
        assert!(!late.clone().drops_early(Bytes(2999), &mut rng));
        let short_now = Controller { qdelay: ms(7), drop_prob: 0.19, ..late };
        assert!((0..100).all(|_| !short_now.clone().drops_early(Bytes(9000), &mut rng)));
    }

    /// A full link: two packets arrive and one leaves each millisecond.
    fn overload(params: &Params, tos: roamlab_packet::Tos, millis: u64) -> Bench<Pie> {
        let mut bench = Bench::<Pie>::new(params);
        for _ in 0..millis {
            bench.offer_many(2, tos);
            bench.wait(ms(1));
            bench.serve();
        }
        bench
    }

    #[test]
    fn an_overload_is_brought_to_the_target() {
        // Open loop: half of the arrivals must go. The delay settles around 15 ms.
        let bench = overload(&Params::default(), PLAIN, 60_000);
        assert!(bench.queue.packets() < 60, "{}", bench.queue.packets());
        let probability = bench.queue.gauges().probability;
        assert!((0.4..1.0).contains(&probability), "{probability}");
        assert_eq!(bench.last_reason(), Some(DropReason::EarlyDrop));
    }

    #[test]
    fn marks_replace_drops_up_to_a_tenth() {
        let marking = Params { mark_ecn: true, ..Params::default() };
        let (mut bench, ect) = (Bench::<Pie>::new(&marking), PLAIN.with_ecn(Ecn::Ect0));
        bench.queue.controller = dropping(0.1, &Params { derandomise: false, ..marking.clone() });
        assert_eq!(bench.offer_many(400, ect), 0);
        let marked = (0..400)
            .filter(|_| bench.serve_packet().is_some_and(|packet| packet.header.tos.ecn() == Ecn::Ce));
        let marked = marked.count();
        assert!((20..60).contains(&marked), "{marked} of 400");
        bench.queue.controller = dropping(0.11, &Params { derandomise: false, ..marking });
        assert!(bench.offer_many(400, ect) > 0, "above a tenth they are dropped");
    }

    #[test]
    fn forwarded_packets_are_dropped_like_others_unless_they_are_spared() {
        for (spare_forwarded, early) in [(false, true), (true, false)] {
            let bench = overload(&Params { spare_forwarded, ..Params::default() }, MARKED, 3000);
            let has_early = bench.dropped.iter().any(|(_, reason)| *reason == DropReason::EarlyDrop);
            assert_eq!(has_early, early);
        }
    }

    #[test]
    fn a_full_queue_loses_arrivals_and_starts_the_sum_again() {
        let mut bench = Bench::<Pie>::new(&Params { limit: Packets(5), ..Params::default() });
        bench.queue.controller.accu_prob = 0.7;
        assert_eq!(bench.offer_many(6, PLAIN), 1);
        assert_eq!(bench.last_reason(), Some(DropReason::QueueOverflow));
        assert_eq!(bench.queue.controller.accu_prob, 0.0);
    }

    #[test]
    fn an_idle_time_is_made_up_for() {
        let mut bench = overload(&Params::default(), PLAIN, 20_000);
        assert!(bench.queue.gauges().probability > 0.1);
        bench.drain();
        bench.wait(ms(15 * 2000));
        bench.offer(packet(0, 512, PLAIN));
        assert_eq!(bench.queue.gauges().probability, 0.0);
        assert_eq!(bench.queue.controller.burst_allowance, ms(150));
    }

    #[test]
    fn a_carried_probability_is_not_made_up_for() {
        // Ten seconds without a packet. The next update is at 10.005 s: from 20 ms to 0, and 15 ms too short, so
        // 0.5 − 0.125 · 0.015 − 1.25 · 0.02. Then 0.5 is a drop in two for sure: 0.85 is passed by the second.
        let mut bench = Bench::<Pie>::new(&Params::default());
        bench.wait(ms(10_000));
        let carried = MarkingState::Controller { probability: 0.5, delay: ms(20), burst: Duration::ZERO };
        bench.queue.adopt(&carried, bench.now);
        bench.offer_many(1, PLAIN);
        assert_close(bench.queue.gauges().probability, 0.5);
        bench.wait(ms(5));
        bench.offer_many(1, PLAIN);
        assert_close(bench.queue.gauges().probability, 0.5 - 0.001_875 - 0.025);
        // A state of another discipline changes nothing.
        bench.queue.adopt(&MarkingState::Average(3.0), bench.now);
        assert_close(bench.queue.gauges().probability, 0.5 - 0.001_875 - 0.025);
    }

    #[test]
    fn other_parameters_keep_the_contract_too() {
        let eager = Params {
            target: Duration::from_micros(100),
            update_interval: ms(1),
            alpha: 100.0,
            beta: 100.0,
            max_burst: Duration::ZERO,
            ..Params::default()
        };
        check(&eager);
        let forwarded_at_full = ForwardedAtFull::PushOut;
        check(&Params { rules: Rules::Linux, ..eager.clone() });
        let limit = Packets(9);
        check(&Params { limit, mark_ecn: true, spare_forwarded: true, forwarded_at_full, ..eager });
    }

    #[test]
    fn growth_is_capped_from_a_tenth_on() {
        // RFC 8033 §5.2: 0.125 · 0.185 + 1.25 · 0.2 = 0.273125, half of it below 0.1; at most 0.02 from there on.
        for (drop_prob, cap_growth, expected) in
            [(0.099, true, 0.099 + 0.136_562_5), (0.1, true, 0.12), (0.1, false, 0.373_125)]
        {
            let params = Params { cap_growth, ..Params::default() };
            let mut pie = Controller { drop_prob, ..Controller::new(&params) };
            update(&mut pie, ms(200));
            assert_close(pie.drop_prob, expected);
        }
    }

    #[test]
    fn a_queue_that_is_empty_has_no_delay() {
        // RFC 8033 §4.2 and `pie_process_dequeue`: the next update sees 0, however long the last packet waited.
        for mut pie in [controller(), linux()] {
            let now = Time::from_nanos(5_000_000);
            pie.note_departure(now, ms(20), Bytes(1500));
            assert_eq!(pie.qdelay, ms(20));
            pie.note_departure(now, ms(20), Bytes(0));
            assert_eq!(pie.qdelay, Duration::ZERO);
        }
    }
}
