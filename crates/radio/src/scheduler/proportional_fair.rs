//! Proportional fair: the bearer whose rate is highest over its average throughput (Jalali, Padovani and Pankaj,
//! VTC 2000).

use super::{BearerShare, Policy};
use roamlab_engine::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Proportional fair: a bearer is served when its rate over its average throughput is the highest.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Time constant of the average throughput.
    pub time_constant: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params { time_constant: Duration::from_secs(1) }
    }
}

impl Params {
    /// Checks that the average has a time constant.
    ///
    /// # Errors
    /// The field, and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if self.time_constant == Duration::ZERO {
            return Err(("time_constant", "this time cannot be zero: write for example \"1 s\"".into()));
        }
        Ok(())
    }
}

/// An average that decays exponentially between services.
///
/// ASSUMPTION: it decays also while the bearer has nothing to send, so that a bearer that comes back goes first.
#[derive(Copy, Clone, Debug, Default)]
struct Average {
    bits_per_s: f64,
    at: Time,
}

/// The averages, and the rates that they are compared with.
#[derive(Clone, Debug)]
pub struct ProportionalFair {
    time_constant_s: f64,
    rates: Vec<f64>,
    averages: Vec<Average>,
}

impl ProportionalFair {
    fn average(&self, bearer: usize, now: Time) -> f64 {
        let Average { bits_per_s, at } = self.averages[bearer];
        bits_per_s * libm::exp(-now.since(at).as_secs_f64() / self.time_constant_s)
    }
}

impl Policy for ProportionalFair {
    type Params = Params;

    fn new(params: &Params, bearers: &[BearerShare]) -> ProportionalFair {
        let rates = bearers.iter().map(|bearer| bearer.rate.as_bps() as f64).collect();
        let averages = vec![Average::default(); bearers.len()];
        ProportionalFair { time_constant_s: params.time_constant.as_secs_f64(), rates, averages }
    }

    fn rank(&self, bearer: usize, _: Bytes, now: Time) -> f64 {
        self.average(bearer, now) / self.rates[bearer]
    }

    fn sends(&mut self, bearer: usize, size: Bytes, now: Time) {
        let sent = size.0 as f64 * 8.0 / self.time_constant_s;
        self.averages[bearer] = Average { bits_per_s: self.average(bearer, now) + sent, at: now };
    }
}

#[cfg(test)]
mod tests {
    use super::super::SchedulerSpec;
    use super::super::conformance::{Bench, bearer};
    use super::*;

    #[test]
    fn in_the_long_run_air_time_is_shared_equally_whatever_the_rates() {
        let rates = [2, 4, 12];
        let bearers = rates.map(|mbps| bearer(1.0, mbps));
        let mut bench = Bench::new(&SchedulerSpec::ProportionalFair(Params::default()), &bearers);
        let mut bits = [0.0; 3];
        while bench.now < Time::ZERO + Duration::from_secs(20) {
            (0..3)
                .filter(|&queue| bench.queues[queue].is_empty())
                .collect::<Vec<_>>()
                .into_iter()
                .for_each(|queue| bench.offer(queue, Bytes(1500 - 400 * queue as u64)));
            let (queue, size) = bench.serve().unwrap();
            bits[queue] += size.0 as f64 * 8.0;
        }
        for (queue, mbps) in rates.into_iter().enumerate() {
            let air_time = bits[queue] / (mbps as f64 * 1e6) / 20.0;
            assert!((air_time - 1.0 / 3.0).abs() < 0.01, "{mbps} Mbit/s: {air_time}");
        }
    }

    #[test]
    fn the_average_decays_with_its_time_constant() {
        let mut policy = ProportionalFair::new(&Params::default(), &[bearer(1.0, 12)]);
        policy.sends(0, Bytes(1250), Time::ZERO);
        assert_eq!(policy.average(0, Time::ZERO), 10_000.0);
        let later = Time::ZERO + Duration::from_secs(2);
        assert!((policy.average(0, later) - 10_000.0 * libm::exp(-2.0)).abs() < 1e-9);
    }

    #[test]
    fn what_was_sent_decays_until_the_next_packet_too() {
        // 1000 B by a time constant of 1 s are 8 kbit/s, of which 1/e is left a second later.
        let mut policy = ProportionalFair::new(&Params::default(), &[bearer(1.0, 1)]);
        (0..2).for_each(|second| policy.sends(0, Bytes(1000), Time::ZERO + Duration::from_secs(second)));
        let average = policy.average(0, Time::ZERO + Duration::from_secs(1));
        assert!((average - 8_000.0 * (1.0 + libm::exp(-1.0))).abs() < 1e-6, "{average} bit/s");
    }
}
