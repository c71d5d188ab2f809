//! Identifications of registrations, bindings and handovers.

use roamlab_engine::Time;
use roamlab_packet::Addr;
use std::collections::BTreeMap;

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

/// The newest identification of each host, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Newest(BTreeMap<Addr, Identification>);

impl Newest {
    /// That of a host; 0 if none is known.
    pub fn of(&self, host: Addr) -> Identification {
        self.0.get(&host).copied().unwrap_or_default()
    }

    /// Whether a message is not older than the newest one about its host. It is the newest then.
    pub fn is_news(&mut self, host: Addr, id: Identification) -> bool {
        let newest = self.0.entry(host).or_default();
        let is_news = id >= *newest;
        *newest = id.max(*newest);
        is_news
    }
}
