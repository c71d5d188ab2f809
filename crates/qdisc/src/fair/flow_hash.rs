//! The hash by which a discipline finds the queue of a flow.

use roamlab_engine::Rng;

/// A hash with a seed.
#[derive(Copy, Clone, Debug)]
pub(crate) struct FlowHash {
    seed: u64,
}

impl FlowHash {
    /// One draw is the seed.
    pub(crate) fn new(rng: &mut Rng) -> FlowHash {
        FlowHash::with_seed((rng.uniform() * (1_u64 << 53) as f64) as u64)
    }

    /// A hash of this seed.
    pub(crate) fn with_seed(seed: u64) -> FlowHash {
        FlowHash { seed }
    }

    /// The hash of a number.
    #[inline(always)]
    pub(crate) fn of(self, number: u64) -> u64 {
        mixed(number ^ self.seed)
    }

    /// The upper half of the hash: 32 bits, as a packet of Linux carries.
    #[inline(always)]
    pub(crate) fn word_of(self, number: u64) -> u32 {
        (self.of(number) >> 32) as u32
    }
}

/// SplitMix64's output function (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
#[inline(always)]
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
