//! MRG32k3a: two linear recurrences of order 3, combined.
//!
//! P. L'Ecuyer, "Good parameters and implementations for combined multiple recursive random number generators",
//! Operations Research 47(1), 1999, table 2 and figure 1; substreams: P. L'Ecuyer, R. Simard, E. J. Chen,
//! W. D. Kelton, "An object-oriented random-number package with many long streams and substreams", Operations
//! Research 50(6), 2002. ns-2 draws from it.

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;
/// The coefficients of the first recurrence: x[n] = A12 x[n-2] − A13N x[n-3] mod M1.
const A12: u64 = 1_403_580;
const A13N: u64 = 810_728;
/// Those of the second: y[n] = A21 y[n-1] − A23N y[n-3] mod M2.
const A21: u64 = 527_612;
const A23N: u64 = 1_370_589;
/// Substreams lie 2^76 numbers apart.
const LOG2_SUBSTREAM: u32 = 76;

type Matrix = [[u64; 3]; 3];

/// The generator's state.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Mrg32k3a {
    /// x[n-3], x[n-2], x[n-1].
    x: [u64; 3],
    /// y[n-3], y[n-2], y[n-1].
    y: [u64; 3],
}

impl Mrg32k3a {
    /// Substream `substream` of the stream whose six words are all `seed`, as ns-2 seeds it; `seed` lies between
    /// 1 and 2^31 − 2.
    pub(super) fn new(seed: u64, substream: u64) -> Mrg32k3a {
        let step_x = [[0, 1, 0], [0, 0, 1], [M1 - A13N, A12, 0]];
        let step_y = [[0, 1, 0], [0, 0, 1], [M2 - A23N, 0, A21]];
        Mrg32k3a {
            x: jump(step_x, substream, [seed % M1; 3], M1),
            y: jump(step_y, substream, [seed % M2; 3], M2),
        }
    }

    /// A number in (0, 1) with 32 random bits.
    pub(super) fn uniform(&mut self) -> f64 {
        // 1/(M1 + 1), to the digits that the paper prints.
        self.whole() as f64 * 2.328_306_549_295_728e-10
    }

    /// A whole number from 1 to M1.
    pub(super) fn whole(&mut self) -> u64 {
        let x = (A12 * self.x[1] + A13N * (M1 - self.x[0])) % M1;
        let y = (A21 * self.y[2] + A23N * (M2 - self.y[0])) % M2;
        self.x = [self.x[1], self.x[2], x];
        self.y = [self.y[1], self.y[2], y];
        if x > y { x - y } else { x + M1 - y }
    }
}

/// The state `substreams`·2^76 steps later.
fn jump(step: Matrix, substreams: u64, state: [u64; 3], modulus: u64) -> [u64; 3] {
    if substreams == 0 {
        return state;
    }
    let mut power = step;
    (0..LOG2_SUBSTREAM).for_each(|_| power = product(&power, &power, modulus));
    let mut state = state;
    let mut left = substreams;
    while left > 0 {
        if left & 1 == 1 {
            state = power.map(|row| dot(row, state, modulus));
        }
        power = product(&power, &power, modulus);
        left >>= 1;
    }
    state
}

fn product(left: &Matrix, right: &Matrix, modulus: u64) -> Matrix {
    let column = |index: usize| [right[0][index], right[1][index], right[2][index]];
    left.map(|row| [0, 1, 2].map(|index| dot(row, column(index), modulus)))
}

fn dot(left: [u64; 3], right: [u64; 3], modulus: u64) -> u64 {
    let term = |index: usize| left[index] * right[index] % modulus;
    (term(0) + term(1) + term(2)) % modulus
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Value that ns-2's Tcl command makes of a draw: its upper 31 bits over 2^31 − 1.
    fn tcl(value: f64) -> f64 {
        (value * f64::from(1u32 << 31)).floor() / f64::from(i32::MAX)
    }

    #[test]
    fn the_first_thousand_draws_are_those_of_ns2() {
        let recorded = include_str!("../../../../tests/golden/ns2/default_rng_seed1_first1000.csv");
        let recorded: Vec<f64> = recorded
            .lines()
            .skip(1)
            .map(|line| line.split_once(',').expect("two fields").1.parse().expect("a number"))
            .collect();
        let mut generator = Mrg32k3a::new(1, 0);
        let ours: Vec<f64> = (0..recorded.len()).map(|_| generator.uniform()).collect();
        assert_eq!((ours.len(), ours), (1000, recorded));
    }

    /// `$rng seed s; $rng next-substream` twice at most, then `$rng uniform 0 1`.
    #[test]
    fn seeds_and_substreams_are_those_of_ns2() {
        for (seed, substream, printed) in [
            (1, 0, 0.000_339_576_974_669),
            (2, 0, 0.000_673_882_197_902),
            (7, 0, 0.002_345_406_917_085),
            (12_345, 0, 0.127_011_121_775_494),
            (2_147_483_646, 0, 0.756_458_426_712_294),
            (1, 1, 0.816_532_044_120_381),
            (7, 1, 0.715_724_310_239_649),
            (1, 2, 0.683_541_497_068_266),
        ] {
            let ours = Mrg32k3a::new(seed, substream).uniform();
            assert!((tcl(ours) - printed).abs() < 1e-14, "seed {seed}, substream {substream}: {ours}");
        }
    }

    #[test]
    fn a_long_stream_is_that_of_ns2() {
        let mut generator = Mrg32k3a::new(9, 0);
        (1..200_000).for_each(|_| {
            generator.uniform();
        });
        assert!((tcl(generator.uniform()) - 0.437_877_101_561_929).abs() < 1e-14);
    }

    #[test]
    fn substreams_follow_one_another() {
        let step: Matrix = [[0, 1, 0], [0, 0, 1], [M1 - A13N, A12, 0]];
        let once = jump(step, 1, [5; 3], M1);
        assert_eq!(jump(step, 3, [5; 3], M1), jump(step, 2, once, M1));
    }
}
