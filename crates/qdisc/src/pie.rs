//! PIE (RFC 8033): drops arrivals with a probability that a controller sets by the time in the queue.
//!
//! Each `update_interval` the probability grows by `alpha` times the excess of the delay over `target`, and by `beta`
//! times its growth since the last update. Both are scaled down while the probability is small (RFC 8033 §4.2). The delay is
//! that of the packet that left last, measured by its time of arrival, and 0 when nothing waits, as in Linux.

use crate::forwarded::{Exemption, exempting_params, validate_mark};
use crate::timed::Timed;
use crate::updates::{Updates, pi_growth};
use crate::{BadField, Gauges, Matching, Parameters, QdiscCx, QueueDisc};
use roamlab_engine::{Bytes, Duration, Packets, Rng};
use roamlab_packet::PacketId;

exempting_params! {
    /// PIE: drops or marks arrivals with a probability that a controller sets by the time in the queue.
    own {
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
        /// Whether an ECN-capable packet is marked instead of dropped (default false, Linux's `pie`).
        mark_ecn: bool = false;
        /// With `mark_ecn`, the probability above which ECN-capable packets are dropped like others (`mark_ecnth`; default
        /// 0.1, RFC 8033 §5.1).
        mark_p_max: f64 = 0.1;
        /// Whether drops are kept apart, none before the sum of probabilities is 0.85 and one for sure from 8.5 on
        /// (RFC 8033 §5.4; default true, as Linux).
        derandomise: bool = true;
        /// Whether a probability of 0.1 or more grows by at most 0.02 an update (RFC 8033 §5.5; default true, as Linux).
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
    qdelay_old: Duration,
    burst_allowance: Duration,
    /// The sum of probabilities since the last drop.
    accu_prob: f64,
}

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
            qdelay_old: Duration::ZERO,
            burst_allowance: params.max_burst,
            accu_prob: 0.0,
        }
    }

    /// RFC 8033 §4.2 and §4.4, for a delay of `qdelay` now.
    fn update(&mut self, qdelay: Duration) {
        let Params { target, update_interval, alpha, beta, max_burst, cap_growth, .. } = self.params;
        let growth = pi_growth((alpha, beta), target, qdelay, self.qdelay_old);
        let growth = growth / divisor(self.drop_prob);
        let growth = if cap_growth && self.drop_prob >= 0.1 { growth.min(0.02) } else { growth };
        self.drop_prob += growth;
        if qdelay == Duration::ZERO && self.qdelay_old == Duration::ZERO {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        let is_short = |delay: Duration| delay < target / 2;
        self.burst_allowance = self.burst_allowance.saturating_sub(update_interval);
        if self.drop_prob == 0.0 && is_short(qdelay) && is_short(self.qdelay_old) {
            self.burst_allowance = max_burst;
        }
        self.qdelay_old = qdelay;
    }

    /// RFC 8033 §4.1, §4.4 and §5.4: whether an arrival is to be dropped or marked, while `waiting` bytes wait.
    fn drops_early(&mut self, waiting: Bytes, rng: &mut Rng) -> bool {
        if self.burst_allowance > Duration::ZERO {
            return false;
        }
        let is_calm = self.qdelay_old < self.params.target / 2 && self.drop_prob < 0.2;
        if is_calm || waiting.0 <= self.params.mean_packet.0.saturating_mul(2) {
            return false;
        }
        if !self.params.derandomise {
            return rng.uniform() < self.drop_prob;
        }
        self.accu_prob = if self.drop_prob == 0.0 { 0.0 } else { self.accu_prob + self.drop_prob };
        let drops = self.accu_prob >= 0.85 && (self.accu_prob >= 8.5 || rng.uniform() < self.drop_prob);
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
    /// How long the packet that left last had waited; 0 if nothing waits now.
    qdelay: Duration,
    sojourn: Duration,
    rng: Rng,
}

impl Pie {
    #[inline(always)]
    fn catch_up(&mut self, cx: &QdiscCx<'_>) {
        let (controller, qdelay) = (&mut self.controller, self.qdelay);
        self.updates.make_up(cx.now, |_| controller.update(qdelay));
    }

    fn note_departure(&mut self, sojourn: Duration) {
        self.sojourn = sojourn;
        self.qdelay = if self.line.is_empty() { Duration::ZERO } else { sojourn };
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
            qdelay: Duration::ZERO,
            sojourn: Duration::ZERO,
            rng,
        }
    }

    /// A spared packet takes no draw and adds nothing to the sum of probabilities.
    #[inline(never)]
    fn enqueue(&mut self, packet: PacketId, cx: &mut QdiscCx<'_>) {
        self.catch_up(cx);
        let limit = self.controller.params.limit.0 as usize;
        let Some(packet) = self.exemption.admit(packet, &mut self.line, |line| line.packets() >= limit, cx)
        else {
            self.controller.accu_prob = 0.0;
            return;
        };
        let is_spared = self.exemption.spares(&packet, cx.pool);
        if !is_spared && self.controller.drops_early(self.line.bytes(), &mut self.rng) {
            let marks = self.controller.params.mark_ecn
                && self.controller.drop_prob <= self.controller.params.mark_p_max;
            let stays = cx.notify(packet, marks);
            return stays.into_iter().for_each(|packet| self.line.push(packet, cx.now, cx.pool));
        }
        self.line.push(packet, cx.now, cx.pool);
    }

    #[inline(never)]
    fn dequeue(&mut self, cx: &mut QdiscCx<'_>) -> Option<PacketId> {
        self.catch_up(cx);
        let left = self.line.pop(cx.now, cx.pool);
        self.note_departure(left.as_ref().map_or(Duration::ZERO, |(_, sojourn)| *sojourn));
        left.map(|(packet, _)| packet)
    }

    fn take_matching(&mut self, wanted: &Matching<'_>, cx: &mut QdiscCx<'_>) -> Vec<PacketId> {
        self.catch_up(cx);
        let taken = self.line.take_matching(wanted, cx.pool);
        if self.line.is_empty() {
            self.qdelay = Duration::ZERO;
        }
        taken
    }

    fn head(&self) -> Option<&PacketId> {
        self.line.head()
    }

    fn packets(&self) -> usize {
        self.line.packets()
    }

    fn bytes(&self) -> Bytes {
        self.line.bytes()
    }

    fn gauges(&self) -> Gauges {
        let (probability, forwarded) = (self.controller.drop_prob, self.line.forwarded());
        Gauges { probability, sojourn: self.sojourn, forwarded, ..Gauges::default() }
    }
}

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

    #[track_caller]
    fn assert_close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value} instead of {expected}");
    }

    #[test]
    fn the_first_growth_is_scaled_down_2048_times() {
        // (0.125 · (0.1 − 0.015) + 1.25 · (0.1 − 0)) / 2048
        let mut pie = controller();
        pie.update(ms(100));
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
        pie.update(ms(15));
        assert_close(pie.drop_prob, 0.05);
    }

    #[test]
    fn a_falling_delay_lowers_the_probability() {
        // 0.15 + 0.125 · (0.020 − 0.015) + 1.25 · (0.020 − 0.030)
        let mut pie = Controller { drop_prob: 0.15, qdelay_old: ms(30), ..controller() };
        pie.update(ms(20));
        assert_close(pie.drop_prob, 0.15 + 0.000_625 - 0.0125);
    }

    #[test]
    fn a_large_probability_grows_by_at_most_a_fiftieth() {
        // Uncapped: 0.125 · 0.985 + 1.25 = 1.373.
        for (cap_growth, expected) in [(true, 0.32), (false, 1.0)] {
            let params = Params { cap_growth, ..Params::default() };
            let mut pie = Controller { drop_prob: 0.3, ..Controller::new(&params) };
            pie.update(ms(1000));
            assert_close(pie.drop_prob, expected);
        }
    }

    #[test]
    fn without_delay_it_decays_by_a_fiftieth_too() {
        // (0.5 − 0.125 · 0.015) · 0.98
        let mut pie = Controller { drop_prob: 0.5, ..controller() };
        pie.update(Duration::ZERO);
        assert_close(pie.drop_prob, (0.5 - 0.001_875) * 0.98);
    }

    #[test]
    fn the_burst_allowance_lasts_ten_updates_and_comes_back_with_the_calm() {
        let mut pie = controller();
        for left in (0..10).rev() {
            pie.update(ms(100));
            assert_eq!(pie.burst_allowance, ms(15) * left);
        }
        pie.drop_prob = 0.0;
        pie.update(ms(7));
        assert_eq!(pie.burst_allowance, Duration::ZERO, "the last delay was 100 ms");
        pie.update(ms(7));
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
    fn other_parameters_keep_the_contract_too() {
        let eager = Params {
            target: Duration::from_micros(100),
            update_interval: ms(1),
            alpha: 100.0,
            beta: 100.0,
            max_burst: Duration::ZERO,
            ..Params::default()
        };
        check::<Pie>(&eager);
        let forwarded_at_full = ForwardedAtFull::PushOut;
        let limit = Packets(9);
        check::<Pie>(&Params { limit, mark_ecn: true, spare_forwarded: true, forwarded_at_full, ..eager });
    }
}
