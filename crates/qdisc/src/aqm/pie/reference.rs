//! Random arrivals and departures, against the pseudo-code of RFC 8033, appendix A, with delays from times of arrival (§5.2).

use super::Params;
use crate::QueueDisc;
use crate::aqm::pie::Pie;
use crate::conformance::{Bench, PLAIN, packet};
use roamlab_engine::{Bytes, Duration, Packets, Rng, Time};
use roamlab_packet::{DropReason, Ecn};
use std::collections::VecDeque;

#[derive(PartialEq, Debug)]
enum Fate {
    Queued,
    Early,
    Full,
}

/// The variables of appendix A. Times are in seconds.
struct Model {
    params: Params,
    rng: Rng,
    /// When each arrived, and its size.
    waiting: VecDeque<(Time, u64)>,
    updates: u64,
    drop_prob: f64,
    accu_prob: f64,
    qdelay: f64,
    qdelay_old: f64,
    burst_allowance: Duration,
}

impl Model {
    /// `status_update` and `calculate_drop_prob`, each T_UPDATE.
    fn update(&mut self) {
        let Params { target, update_interval, max_burst, .. } = self.params;
        let reference = target.as_secs_f64();
        let mut p = self.params.alpha * (self.qdelay - reference)
            + self.params.beta * (self.qdelay - self.qdelay_old);
        p /= match self.drop_prob {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        if self.params.cap_growth && self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        if self.drop_prob < 0.0 {
            self.drop_prob = 0.0;
        }
        if self.qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 0.98;
        }
        if self.drop_prob > 1.0 {
            self.drop_prob = 1.0;
        }
        let short = |delay: f64| delay < reference / 2.0;
        self.burst_allowance = self.burst_allowance.saturating_sub(update_interval);
        if self.drop_prob == 0.0 && short(self.qdelay) && short(self.qdelay_old) {
            self.burst_allowance = max_burst;
        }
        self.qdelay_old = self.qdelay;
    }

    fn advance(&mut self, now: Time) {
        let due = now.as_nanos() / self.params.update_interval.as_nanos();
        (self.updates..due).for_each(|_| self.update());
        self.updates = due;
    }

    /// `drop_early`.
    fn drops_early(&mut self) -> bool {
        let bytes: u64 = self.waiting.iter().map(|(_, size)| size).sum();
        let calm = self.qdelay_old < self.params.target.as_secs_f64() / 2.0 && self.drop_prob < 0.2;
        if calm || bytes <= 2 * self.params.mean_packet.0 {
            return false;
        }
        if !self.params.derandomise {
            return self.rng.uniform() < self.drop_prob;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.accu_prob < 0.85 {
            return false;
        }
        self.accu_prob >= 8.5 || self.rng.uniform() < self.drop_prob
    }

    fn enqueue(&mut self, size: u64, ect: bool, now: Time) -> Fate {
        self.advance(now);
        if self.waiting.len() >= self.params.limit.0 as usize {
            self.accu_prob = 0.0;
            return Fate::Full;
        }
        if self.burst_allowance == Duration::ZERO && self.drops_early() {
            self.accu_prob = 0.0;
            // §5.1: marked instead, up to `mark_ecnth`.
            if !(ect && self.params.mark_ecn && self.drop_prob <= self.params.mark_p_max) {
                return Fate::Early;
            }
        }
        self.waiting.push_back((now, size));
        Fate::Queued
    }

    fn dequeue(&mut self, now: Time) -> bool {
        self.advance(now);
        let Some((arrived, _)) = self.waiting.pop_front() else { return false };
        self.qdelay = if self.waiting.is_empty() { 0.0 } else { now.since(arrived).as_secs_f64() };
        true
    }
}

#[test]
fn each_arrival_has_the_fate_that_the_pseudo_code_gives_it() {
    #[expect(clippy::disallowed_methods, reason = "a test may be asked for more")]
    let wanted = std::env::var("ROAMLAB_SEQUENCES").ok().and_then(|count| count.parse().ok());
    let (mut early, mut full) = (0, 0);
    for number in 0..wanted.unwrap_or(60) {
        let mut rng = Rng::named(number, 0, "pie");
        let mut below = |end: u64| (rng.uniform() * end as f64) as u64;
        let params = Params {
            limit: Packets([30, 1000][below(2) as usize]),
            target: Duration::from_millis([5, 15][below(2) as usize]),
            update_interval: Duration::from_millis([1, 15][below(2) as usize]),
            max_burst: Duration::from_millis([0, 150][below(2) as usize]),
            mean_packet: Bytes([500, 1500][below(2) as usize]),
            mark_ecn: below(2) == 0,
            derandomise: below(4) > 0,
            cap_growth: below(2) == 0,
            ..Params::default()
        };
        let mut bench = Bench::<Pie>::new(&params);
        let mut model = Model {
            burst_allowance: params.max_burst,
            params,
            rng: Rng::named(1, 0, "bench"),
            waiting: VecDeque::new(),
            updates: 0,
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay: 0.0,
            qdelay_old: 0.0,
        };
        // Loads that change: arrivals among ten events.
        let mut load = 6;
        for step in 0..3_000 {
            let place = format!("sequence {number}, step {step}");
            if below(200) == 0 {
                load = 3 + below(6);
            }
            if below(10) < load {
                let (size, ect) = ([100, 1000, 1500][below(3) as usize], below(2) == 0);
                let tos = if ect { PLAIN.with_ecn(Ecn::Ect0) } else { PLAIN };
                let is_lost = bench.offer_is_lost(packet(0, size, tos));
                let fate = match is_lost.then(|| bench.last_reason().unwrap()) {
                    None => Fate::Queued,
                    Some(DropReason::EarlyDrop) => Fate::Early,
                    Some(_) => Fate::Full,
                };
                assert_eq!(fate, model.enqueue(size, ect, bench.now), "{place}");
                (early, full) =
                    (early + u32::from(fate == Fate::Early), full + u32::from(fate == Fate::Full));
            } else {
                assert_eq!(bench.serve().is_some(), model.dequeue(bench.now), "{place}");
            }
            let (ours, theirs) = (bench.queue.gauges().probability, model.drop_prob);
            assert!((ours - theirs).abs() < 1e-12, "{place}: {ours} {theirs}");
            bench.wait(Duration::from_micros(below(2_000)));
        }
    }
    assert!(early > 1_000 && full > 100, "{early} {full}");
}
