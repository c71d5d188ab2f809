//! The contract of every scheduler: each row of the table is checked.

use super::{BearerShare, CellScheduler, SchedulerSpec};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use roamlab_engine::{Bytes, Rate, Time};
use std::collections::VecDeque;

/// A scheduler, its bearers' queues, and the clock of a transmitter that is never idle while a packet waits.
pub(crate) struct Bench {
    pub now: Time,
    pub queues: Vec<VecDeque<Bytes>>,
    bearers: Vec<BearerShare>,
    scheduler: CellScheduler,
}

/// A bearer.
pub(crate) fn bearer(weight: f64, mbps: u64) -> BearerShare {
    BearerShare { weight, rate: Rate::from_bps(mbps * 1_000_000) }
}

impl Bench {
    pub(crate) fn new(spec: &SchedulerSpec, bearers: &[BearerShare]) -> Bench {
        Bench {
            now: Time::ZERO,
            queues: vec![VecDeque::new(); bearers.len()],
            bearers: bearers.into(),
            scheduler: CellScheduler::new(spec, bearers),
        }
    }

    /// A packet arrives at a bearer.
    pub(crate) fn offer(&mut self, bearer: usize, size: Bytes) {
        if self.queues[bearer].is_empty() {
            self.scheduler.wakes(bearer);
        }
        self.queues[bearer].push_back(size);
    }

    /// The transmitter sends a packet: which bearer's, and its size.
    pub(crate) fn serve(&mut self) -> Option<(usize, Bytes)> {
        let heads = self.queues.iter().enumerate();
        let heads = heads.filter_map(|(bearer, queue)| Some((bearer, *queue.front()?)));
        let bearer = self.scheduler.choose(heads, self.now)?;
        let size = self.queues[bearer].pop_front()?;
        self.scheduler.sends(bearer, size, self.now);
        self.now += self.bearers[bearer].rate.transmission_time(size, &mut 0);
        Some((bearer, size))
    }
}

/// One thing that happens to a cell with four bearers.
#[derive(Clone, Debug)]
enum Step {
    Offer(usize, u64),
    Serve,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0usize..4, 40u64..1500).prop_map(|(bearer, size)| Step::Offer(bearer, size)),
        Just(Step::Serve),
    ];
    prop::collection::vec(step, 1..400)
}

/// Checks that work is conserved, that twins are equal, and that no bearer starves.
pub(crate) fn check(spec: &SchedulerSpec) {
    let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&steps(), |steps| {
        let served = follow(spec, &steps)?;
        prop_assert_eq!(served, follow(spec, &steps)?, "twin runs differ");
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    nobody_starves(spec);
}

const BEARERS: [(f64, u64); 4] = [(1.0, 12), (4.0, 12), (1.0, 3), (2.0, 6)];

/// Walks through the steps; who was served.
fn follow(spec: &SchedulerSpec, steps: &[Step]) -> Result<Vec<usize>, TestCaseError> {
    let mut bench = Bench::new(spec, &BEARERS.map(|(weight, mbps)| bearer(weight, mbps)));
    let mut order = Vec::new();
    for step in steps {
        match *step {
            Step::Offer(bearer, size) => bench.offer(bearer, Bytes(size)),
            Step::Serve => {
                let waiting: usize = bench.queues.iter().map(VecDeque::len).sum();
                let served = bench.serve();
                prop_assert_eq!(served.is_some(), waiting > 0, "the transmitter idles while a packet waits");
                order.extend(served.map(|(bearer, _)| bearer));
            }
        }
    }
    Ok(order)
}

/// Of four bearers that always have packets, none waits longer than the most unequal of their weights, rates and sizes
/// together explain: 4 × 4 × 1500/500 turns of each of the others.
fn nobody_starves(spec: &SchedulerSpec) {
    let mut bench = Bench::new(spec, &BEARERS.map(|(weight, mbps)| bearer(weight, mbps)));
    let mut waited = [0; 4];
    for turn in 0..5000 {
        for queue in 0..4 {
            while bench.queues[queue].len() < 2 {
                bench.offer(queue, Bytes(500 + 250 * ((turn + queue as u64) % 5)));
            }
        }
        let served = bench.serve().map(|(bearer, _)| bearer);
        for (queue, waited) in waited.iter_mut().enumerate() {
            *waited = if served == Some(queue) { 0 } else { *waited + 1 };
            assert!(*waited <= 3 * 48, "bearer {queue} has starved for {waited} turns at turn {turn}");
        }
    }
}
