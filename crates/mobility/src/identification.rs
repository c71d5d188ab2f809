//! Identifications of registrations, bindings and handovers.

use roamlab_engine::Time;

/// The 64-bit identification of a registration or binding: its sender's clock in nanoseconds, never used twice
/// (RFC 5944 §5.7.1). What is not newer never overrides what is known.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Identification(pub u64);

impl Identification {
    /// The one that its owner gives at `now`.
    pub fn newer(self, now: Time) -> Identification {
        Identification(now.as_nanos().max(self.0 + 1))
    }
}
