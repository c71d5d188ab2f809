//! Named random streams.
//!
//! A stream is a function of (seed, run, name): the SHA-256 digest of the three keys a ChaCha8 generator.
//! Two components never share a stream, so adding one changes nobody else's numbers.

use crate::time::Duration;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng};
use sha2::{Digest, Sha256};

/// One named stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(ChaCha8Rng);

impl Rng {
    /// The stream `name` ("bs2/air/red") of replication `run` under `seed`.
    pub fn named(seed: u64, run: u64, name: &str) -> Rng {
        let mut hash = Sha256::new();
        hash.update(seed.to_le_bytes());
        hash.update(run.to_le_bytes());
        hash.update(name.as_bytes());
        Rng(ChaCha8Rng::from_seed(hash.finalize().into()))
    }

    /// A number in [0, 1) with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A duration in [0, `end`); zero if `end` is zero.
    pub fn uniform_duration(&mut self, end: Duration) -> Duration {
        let wide = u128::from(self.0.next_u64()) * u128::from(end.as_nanos());
        Duration::from_nanos((wide >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_a_function_of_seed_run_and_name() {
        let draw = |seed, run, name| Rng::named(seed, run, name).uniform();
        assert_eq!(draw(1, 0, "bs2/air/red"), draw(1, 0, "bs2/air/red"));
        assert_ne!(draw(1, 0, "bs2/air/red"), draw(1, 0, "bs1/air/red"));
        assert_ne!(draw(1, 0, "bs2/air/red"), draw(1, 1, "bs2/air/red"));
        assert_ne!(draw(1, 0, "bs2/air/red"), draw(2, 0, "bs2/air/red"));
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
