//! Identifications of registrations, bindings and handovers.

use roamlab_engine::{Duration, Time};
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

    /// How long ago its owner gave it.
    pub(crate) fn age(self, now: Time) -> Duration {
        Duration::from_nanos(now.as_nanos().saturating_sub(self.0))
    }
}

/// The requests of one exchange. Each has a newer identification, and a reply to any of them ends the exchange.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Requests {
    first: Identification,
    last: Identification,
}

impl Requests {
    /// The first request of a new exchange.
    pub fn begin(&mut self, now: Time) -> Identification {
        self.first = self.again(now);
        self.first
    }

    /// A further request of the exchange.
    pub fn again(&mut self, now: Time) -> Identification {
        self.last = self.last.newer(now);
        self.last
    }

    /// True if a reply with this identification ends the exchange.
    pub fn are_answered(&self, id: Identification) -> bool {
        (self.first..=self.last).contains(&id)
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

    /// True if a message is not older than the newest one about its host. It is the newest then.
    pub fn is_news(&mut self, host: Addr, id: Identification) -> bool {
        let newest = self.0.entry(host).or_default();
        let is_news = id >= *newest;
        *newest = id.max(*newest);
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_to_any_request_of_an_exchange_ends_it() {
        let ms = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut requests = Requests::default();
        let earlier = requests.begin(ms(1));
        let sent = [requests.begin(ms(10)), requests.again(ms(20)), requests.again(ms(20))];
        assert!(sent.iter().all(|id| requests.are_answered(*id)) && sent.is_sorted());
        assert!(!requests.are_answered(earlier), "of the exchange before");
        assert!(!requests.are_answered(sent[2].newer(ms(30))), "not sent yet");
        assert_eq!(sent[0].age(ms(25)), Duration::from_millis(15));
    }
}
