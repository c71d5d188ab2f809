//! Round robin: the bearer that has waited longest since its last packet sends one.

use super::{BearerShare, Policy};
use roamlab_engine::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Round robin by packets: sizes, weights and rates do not count.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {}

impl Params {
    /// Nothing can be wrong.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        Ok(())
    }
}

/// The turn at which each bearer was served last.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    last: Vec<u64>,
    turn: u64,
}

impl Policy for RoundRobin {
    type Params = Params;

    fn new(_: &Params, bearers: &[BearerShare]) -> RoundRobin {
        RoundRobin { last: vec![0; bearers.len()], turn: 0 }
    }

    fn rank(&self, bearer: usize, _: Bytes, _: Time) -> f64 {
        self.last[bearer] as f64
    }

    fn sends(&mut self, bearer: usize, _: Bytes, _: Time) {
        self.turn += 1;
        self.last[bearer] = self.turn;
    }
}

#[cfg(test)]
mod tests {
    use super::super::SchedulerSpec;
    use super::super::conformance::{Bench, bearer};
    use super::*;

    #[test]
    fn every_bearer_with_a_packet_has_one_turn_a_round() {
        let mut bench = Bench::new(&SchedulerSpec::RoundRobin(Params {}), &[bearer(1.0, 12); 3]);
        for (queue, packets) in [(0, 4), (1, 2), (2, 3)] {
            (0..packets).for_each(|_| bench.offer(queue, Bytes(40 + 700 * queue as u64)));
        }
        let order: Vec<usize> = std::iter::from_fn(|| bench.serve()).map(|(queue, _)| queue).collect();
        assert_eq!(order, [0, 1, 2, 0, 1, 2, 0, 2, 0]);
    }
}
