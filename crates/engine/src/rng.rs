//! Named random streams, and ns-2's single one.
//!
//! A named stream is a function of (seed, run, name): the SHA-256 digest of the three keys a ChaCha8 generator. Two
//! components never share one, so a new component does not change the numbers of the others. In ns-2 all components
//! draw from one generator in the order of their events. To repeat a run of ns-2 draw for draw, a run can do the same.

mod mrg32k3a;

use crate::time::Duration;
use mrg32k3a::Mrg32k3a;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cell::Cell;
use std::rc::Rc;

/// Where random numbers come from.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RandomNumbers {
    /// A separate ChaCha8 stream for every component.
    #[default]
    Chacha,
    /// ns-2's generator, MRG32k3a: one stream for all components.
    Ns2,
}

impl RandomNumbers {
    /// The largest seed. ns-2 refuses 0, which asks for the time of day, and 2^31 − 1.
    pub fn largest_seed(self) -> u64 {
        match self {
            RandomNumbers::Chacha => u64::MAX,
            RandomNumbers::Ns2 => (1 << 31) - 2,
        }
    }
}

/// All random streams of a run.
#[derive(Clone, Debug)]
pub enum Streams {
    /// One stream per name.
    Named {
        /// The seed of the ensemble.
        seed: u64,
        /// The number of the replication within it.
        run: u64,
    },
    /// One stream under all names.
    Shared(Rng),
}

impl Streams {
    /// The streams of replication `run` under `seed`. With [`RandomNumbers::Ns2`] all six words of the state are
    /// `seed` (`$defaultRNG seed`), which lies between 1 and [`RandomNumbers::largest_seed`], and `run` is the
    /// substream (`$defaultRNG next-substream`, so often).
    pub fn new(source: RandomNumbers, seed: u64, run: u64) -> Streams {
        match source {
            RandomNumbers::Chacha => Streams::Named { seed, run },
            RandomNumbers::Ns2 => Streams::Shared(Rng::shared(seed, run)),
        }
    }

    /// The stream of a component.
    pub fn named(&self, name: &str) -> Rng {
        match self {
            Streams::Named { seed, run } => Rng::named(*seed, *run, name),
            Streams::Shared(rng) => rng.clone(),
        }
    }

    /// The one stream that all components share, if they do.
    pub fn shared(&self) -> Option<Rng> {
        match self {
            Streams::Named { .. } => None,
            Streams::Shared(rng) => Some(rng.clone()),
        }
    }
}

/// One stream of random numbers. Clones of a shared one are that stream too.
#[derive(Clone, Debug)]
pub struct Rng(Generator);

#[derive(Clone, Debug)]
enum Generator {
    Own(Box<ChaCha8Rng>),
    Shared(Rc<Cell<Mrg32k3a>>),
}

impl Rng {
    /// The stream `name` ("bs2/air/red") of replication `run` under `seed`.
    pub fn named(seed: u64, run: u64, name: &str) -> Rng {
        let mut hash = Sha256::new();
        hash.update(seed.to_le_bytes());
        hash.update(run.to_le_bytes());
        hash.update(name.as_bytes());
        Rng(Generator::Own(Box::new(ChaCha8Rng::from_seed(hash.finalize().into()))))
    }

    /// Substream `run` of MRG32k3a from `seed`, 1 to 2^31 − 2. Its clones are that stream too.
    pub fn shared(seed: u64, run: u64) -> Rng {
        Rng(Generator::Shared(Rc::new(Cell::new(Mrg32k3a::new(seed, run)))))
    }

    /// Restarts a shared stream, and so all its clones, from another seed. It does not change a named stream.
    pub fn restart(&self, seed: u64) {
        if let Generator::Shared(state) = &self.0 {
            state.set(Mrg32k3a::new(seed, 0));
        }
    }

    /// A number in [0, 1) with 53 random bits; with ns-2's generator in (0, 1) with 32.
    pub fn uniform(&mut self) -> f64 {
        match &mut self.0 {
            Generator::Own(generator) => (generator.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64),
            Generator::Shared(state) => {
                let mut generator = state.get();
                let value = generator.uniform();
                state.set(generator);
                value
            }
        }
    }

    /// 32 random bits; with ns-2's generator its whole number, from 1 to 4,294,967,087.
    pub fn word(&mut self) -> u32 {
        match &mut self.0 {
            Generator::Own(generator) => generator.next_u32(),
            Generator::Shared(state) => {
                let mut generator = state.get();
                let value = generator.whole();
                state.set(generator);
                value as u32
            }
        }
    }

    /// An exponentially distributed time.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        let nanos = -libm::log(1.0 - self.uniform()) * mean.as_nanos() as f64;
        Duration::from_nanos(nanos as u64)
    }

    /// A duration in [0, `end`); zero if `end` is zero, which draws nothing from a stream that is shared.
    pub fn uniform_duration(&mut self, end: Duration) -> Duration {
        match &mut self.0 {
            Generator::Own(generator) => {
                let wide = u128::from(generator.next_u64()) * u128::from(end.as_nanos());
                Duration::from_nanos((wide >> 64) as u64)
            }
            Generator::Shared(_) if end == Duration::ZERO => Duration::ZERO,
            Generator::Shared(_) => Duration::from_nanos((self.uniform() * end.as_nanos() as f64) as u64),
        }
    }
}

/// The place that a number in [0, 1) chooses among weights of 0 or more, in proportion to them.
pub fn weighted(weights: impl Iterator<Item = f64> + Clone, uniform: f64) -> usize {
    let mut left = uniform * weights.clone().sum::<f64>();
    let chosen = weights.clone().position(|weight| {
        left -= weight;
        left < 0.0
    });
    // Sums are rounded: nothing may be left for the last one.
    let last = || weights.enumerate().filter(|(_, weight)| *weight > 0.0).last();
    chosen.unwrap_or_else(|| last().map_or(0, |(place, _)| place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_stream_restarts_with_its_clones_and_a_named_one_does_not() {
        let (mut shared, mut own) = (Rng::shared(7, 0), Rng::named(1, 0, "own"));
        let mut clone = shared.clone();
        let numbers = [shared.uniform(), clone.uniform()];
        assert_ne!(numbers[0], numbers[1]);
        shared.restart(7);
        assert_eq!(numbers, [clone.uniform(), shared.uniform()]);
        let first = own.uniform();
        own.restart(7);
        assert_ne!(own.uniform(), first);
    }

    #[test]
    fn a_stream_is_a_function_of_seed_run_and_name() {
        let draw = |seed, run, name| Rng::named(seed, run, name).uniform();
        assert_eq!(draw(1, 0, "bs2/air/red"), draw(1, 0, "bs2/air/red"));
        assert_ne!(draw(1, 0, "bs2/air/red"), draw(1, 0, "bs1/air/red"));
        assert_ne!(draw(1, 0, "bs2/air/red"), draw(1, 1, "bs2/air/red"));
        assert_ne!(draw(1, 0, "bs2/air/red"), draw(2, 0, "bs2/air/red"));
    }

    #[test]
    fn the_components_of_ns2_share_one_stream() {
        let streams = |run| Streams::new(RandomNumbers::Ns2, 1, run);
        let mut alone = streams(0).named("queue");
        let expected: Vec<f64> = (0..4).map(|_| alone.uniform()).collect();
        let (shared, end) = (streams(0), Duration::from_secs(1));
        let (mut queue, mut flow) = (shared.named("queue"), shared.named("flow"));
        assert_eq!([queue.uniform(), flow.uniform()], expected[..2]);
        assert_eq!(flow.uniform_duration(Duration::ZERO), Duration::ZERO);
        assert_eq!(flow.uniform_duration(end), Duration::from_nanos((expected[2] * 1e9) as u64));
        assert_eq!(queue.uniform(), expected[3]);
        assert_ne!(streams(1).named("queue").uniform(), expected[0]);
    }

    #[test]
    fn components_have_streams_of_their_own_otherwise() {
        let streams = Streams::new(RandomNumbers::Chacha, 3, 5);
        assert_eq!(streams.named("a").uniform(), Rng::named(3, 5, "a").uniform());
        assert!(streams.shared().is_none());
    }

    #[test]
    fn draws_are_portable() {
        let mut rng = Rng::named(1, 0, "portable");
        let draws: Vec<_> = (0..3).map(|_| rng.uniform().to_bits()).collect();
        insta::assert_debug_snapshot!(draws);
    }

    #[test]
    fn uniform_numbers_are_uniform() {
        let mut rng = Rng::named(7, 0, "uniform");
        let n = 100_000;
        let mean = (0..n).map(|_| rng.uniform()).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 4.0 * (1.0f64 / 12.0 / f64::from(n)).sqrt(), "mean {mean}");
        let end = Duration::from_millis(50);
        assert!((0..1000).all(|_| rng.uniform_duration(end) < end));
        assert_eq!(rng.uniform_duration(Duration::ZERO), Duration::ZERO);
    }
}
