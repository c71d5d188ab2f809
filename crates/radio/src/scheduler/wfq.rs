//! Weighted fair queueing with self-clocked virtual time (Golestani, "A self-clocked fair queueing scheme for broadband
//! applications", INFOCOM 1994).
//!
//! The virtual finish time of a packet of length L of a bearer of weight w is L/w after a start. The start is the later
//! of two: the finish time of the packet before it, and the virtual time at its arrival. The virtual time is the finish
//! time of the packet in transmission. The lowest finish time is served.
//!
//! A queue may drop its head at its turn, and then a smaller packet is sent in its place. Its finish time may be below the
//! virtual time, which does not fall: Golestani's never does.

use super::{BearerShare, Policy};
use roamlab_engine::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Weighted fair queueing: bearers share by weight, in bytes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {}

impl Params {
    /// Nothing can be wrong.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        Ok(())
    }
}

/// Times are in bytes per unit of weight.
#[derive(Clone, Debug)]
pub struct Wfq {
    weights: Vec<f64>,
    /// Virtual time at which each bearer's next packet starts.
    starts: Vec<f64>,
    /// Finish time of the packet in service, or the highest one before it.
    virtual_time: f64,
}

impl Wfq {
    fn finish(&self, bearer: usize, size: Bytes) -> f64 {
        self.starts[bearer] + size.0 as f64 / self.weights[bearer]
    }
}

impl Policy for Wfq {
    type Params = Params;

    const USES_WEIGHTS: bool = true;

    fn new(_: &Params, bearers: &[BearerShare]) -> Wfq {
        let weights = bearers.iter().map(|bearer| bearer.weight).collect();
        Wfq { weights, starts: vec![0.0; bearers.len()], virtual_time: 0.0 }
    }

    fn wakes(&mut self, bearer: usize) {
        self.starts[bearer] = self.starts[bearer].max(self.virtual_time);
    }

    fn rank(&self, bearer: usize, head: Bytes, _: Time) -> f64 {
        self.finish(bearer, head)
    }

    fn sends(&mut self, bearer: usize, size: Bytes, _: Time) {
        self.starts[bearer] = self.finish(bearer, size);
        self.virtual_time = self.virtual_time.max(self.starts[bearer]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::SchedulerSpec;
    use super::super::conformance::{Bench, bearer};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Golestani's theorem 1: of two bearers that both have packets all the time, the services, each over its weight,
        /// differ by one packet of each at most, over any interval.
        #[test]
        fn shares_follow_the_weights_within_a_packet(
            weights in (0.1f64..10.0, 0.1f64..10.0, 0.1f64..10.0),
            sizes in prop::collection::vec(40u64..1500, 30..300),
        ) {
            let weights = [weights.0, weights.1, weights.2];
            let bearers = weights.map(|weight| bearer(weight, 12));
            let mut bench = Bench::new(&SchedulerSpec::Wfq(Params {}), &bearers);
            for queue in 0..3 {
                sizes.iter().for_each(|&size| bench.offer(queue, Bytes(size)));
            }
            let mut served = vec![[0.0; 3]];
            while bench.queues.iter().all(|queue| !queue.is_empty()) {
                let mut sums = served[served.len() - 1];
                let (queue, size) = bench.serve().unwrap();
                sums[queue] += size.0 as f64 / weights[queue];
                served.push(sums);
            }
            let largest = *sizes.iter().max().unwrap() as f64;
            for (i, j) in [(0, 1), (0, 2), (1, 2)] {
                let ahead: Vec<f64> = served.iter().map(|sums| sums[i] - sums[j]).collect();
                let most = ahead.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let least = ahead.iter().copied().fold(f64::INFINITY, f64::min);
                let bound = largest / weights[i] + largest / weights[j];
                prop_assert!(most - least <= bound + 1e-6, "{} over {bound}", most - least);
            }
        }
    }

    #[test]
    fn a_packet_starts_at_the_later_of_the_last_finish_time_and_the_virtual_time() {
        // Golestani, eq. 3. The queue of bearer 1 drops a head of 3,000 B whose turn it would be at 3,000, and sends 40 B, which
        // finishes at 40: bearer 0 has had 1,500 B already.
        let mut wfq = Wfq::new(&Params {}, &[bearer(1.0, 12), bearer(1.0, 12), bearer(2.0, 12)]);
        let mut starts_at = |sends: usize, size: u64, wakes: usize| {
            wfq.sends(sends, Bytes(size), Time::ZERO);
            wfq.wakes(wakes);
            wfq.rank(wakes, Bytes(0), Time::ZERO)
        };
        assert_eq!(starts_at(0, 1500, 2), 1500.0, "the virtual time");
        assert_eq!(starts_at(1, 40, 0), 1500.0, "its own last packet");
        assert_eq!(starts_at(1, 60, 2), 1500.0, "of the time at which it woke first");
        assert_eq!(starts_at(2, 1000, 1), 2000.0, "1,500 and 1,000 B by a weight of 2");
    }

    #[test]
    fn the_virtual_time_does_not_fall_where_a_queue_drops_its_head() {
        // Bearers 0 and 1 wait with 1,500 and 3,000 B. Bearer 1 drops these at its turn, and its next packet of 40 B finishes
        // at 40, below the 1,500 that bearer 0 has had. Were that the virtual time, bearer 2 could send 1,460 B more than
        // bearer 0 for the time in which it had nothing.
        let mut wfq = Wfq::new(&Params {}, &[bearer(1.0, 12); 3]);
        wfq.sends(0, Bytes(1500), Time::ZERO);
        wfq.sends(1, Bytes(40), Time::ZERO);
        wfq.wakes(2);
        assert_eq!([0, 1, 2].map(|bearer| wfq.rank(bearer, Bytes(0), Time::ZERO)), [1500.0, 40.0, 1500.0]);
    }

    #[test]
    fn a_bearer_that_was_silent_gets_no_credit_for_it() {
        let mut bench = Bench::new(&SchedulerSpec::Wfq(Params {}), &[bearer(1.0, 12); 2]);
        (0..100).for_each(|_| bench.offer(0, Bytes(1000)));
        (0..50).for_each(|_| assert!(bench.serve().is_some()));
        (0..50).for_each(|_| bench.offer(1, Bytes(1000)));
        let next: Vec<usize> = (0..6).map(|_| bench.serve().unwrap().0).collect();
        assert_eq!(next, [0, 1, 0, 1, 0, 1]);
    }
}
