//! The sender's view of an address that has changed: its validation (RFC 9000 §8.2) and the limit until then (§8.1).
//!
//! A challenge that the limit kept small validates the address and not the size of its datagrams. So another one in an
//! expanded datagram follows (§8.2.1).

use crate::wire;
use roamlab_engine::{Duration, Time};

/// Bytes that may be sent to an address that is not validated, for each byte received from it (§8.1).
const AMPLIFICATION: u64 = 3;

/// A new address of the other end that is not validated yet.
#[derive(Clone, Debug)]
pub(crate) struct Validation {
    /// Bytes of UDP payload received from the address, and sent to it.
    received: u64,
    sent: u64,
    /// The next PATH_CHALLENGE goes out.
    challenge: Time,
    /// It repeats after this time.
    interval: Duration,
    /// The attempt ends.
    end: Time,
    /// A challenge was not expanded.
    ///
    /// ASSUMPTION: the answer is to that one, though a later one was expanded.
    was_small: bool,
    /// The address is validated, and nothing limits what is sent to it: the size of datagrams is validated.
    of_size: bool,
}

impl Validation {
    /// A packet came from a new address. `pto` is the present probe timeout, `new_pto` that of a new path (§8.2.4).
    pub fn new(received: u64, (pto, new_pto): (Duration, Duration), now: Time) -> Validation {
        // ASSUMPTION: PATH_CHALLENGE frames repeat as often as packets of a handshake (§8.2.1: no more often than that).
        let (interval, end) = (new_pto, now + pto.max(new_pto) * 3);
        Validation { received, sent: 0, challenge: now, interval, end, was_small: false, of_size: false }
    }

    /// The address has answered: the validation of the size of its datagrams, if a challenge was small (§8.2.3).
    ///
    /// ASSUMPTION: nothing follows from its failure. Datagrams of all sizes cross the networks here.
    pub fn answered(self, timeouts: (Duration, Duration), now: Time) -> Option<Validation> {
        let next = Validation { of_size: true, ..Validation::new(0, timeouts, now) };
        (self.was_small && !self.of_size).then_some(next)
    }

    /// True if the address itself is being validated.
    pub fn is_of_address(&self) -> bool {
        !self.of_size
    }

    /// Another packet came from the address.
    pub fn received(&mut self, bytes: u64) {
        self.received += bytes;
    }

    /// True if a datagram of this size may be sent to it.
    pub fn permits(&self, bytes: u64) -> bool {
        self.of_size || self.sent + bytes <= AMPLIFICATION * self.received
    }

    /// The size of a datagram with a challenge that has `bytes` without padding; `None` if the limit permits none.
    pub fn challenge_size(&mut self, bytes: u64) -> Option<u64> {
        let sizes = [bytes.max(wire::EXPANDED), bytes];
        let size = sizes.into_iter().find(|&size| self.permits(size))?;
        self.was_small |= size < wire::EXPANDED;
        Some(size)
    }

    /// A datagram was sent to it.
    pub fn sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// True if a PATH_CHALLENGE is due; the next one is later.
    pub fn take_challenge(&mut self, now: Time) -> bool {
        let due = self.challenge <= now;
        if due {
            self.challenge = now + self.interval;
        }
        due
    }

    /// When something is to be done.
    pub fn deadline(&self) -> Time {
        self.challenge.min(self.end)
    }

    /// True if the attempt has failed.
    pub fn has_failed(&self, now: Time) -> bool {
        self.end <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn three_times_what_was_received_may_be_sent() {
        let pto = Duration::from_millis(100);
        let mut validation = Validation::new(400, (pto, pto), at(0));
        assert!(validation.permits(1200) && !validation.permits(1201));
        validation.sent(1200);
        assert!(!validation.permits(1));
        validation.received(40);
        assert!(validation.permits(120) && !validation.permits(121));
    }

    #[test]
    fn a_challenge_is_expanded_where_the_limit_permits_it() {
        // §8.2.1: 3 x 399 is less than 1200 B, 3 x 400 is not.
        let pto = Duration::from_millis(100);
        let mut small = Validation::new(399, (pto, pto), at(0));
        let mut full = Validation::new(400, (pto, pto), at(0));
        assert_eq!((small.challenge_size(43), full.challenge_size(43)), (Some(43), Some(1200)));
        assert_eq!(Validation::new(14, (pto, pto), at(0)).challenge_size(43), None, "3 x 14 is 42");
        // Its answer validates the address, and another challenge the size: that one is not limited, and the last.
        assert!(full.answered((pto, pto), at(50)).is_none());
        let mut size = small.answered((pto, pto), at(50)).unwrap();
        assert!(!size.is_of_address() && size.take_challenge(at(50)) && size.permits(100_000));
        assert_eq!((size.challenge_size(43), size.deadline()), (Some(1200), at(150)));
        assert!(size.answered((pto, pto), at(90)).is_none());
    }

    #[test]
    fn it_is_given_up_after_three_timeouts_of_the_longer_kind() {
        // §8.2.4: three times the larger of the present timeout and that of a new path, 333 + 4 * 166.5 + 25.
        let (pto, new_pto) = (Duration::from_millis(100), Duration::from_millis(1024));
        let mut validation = Validation::new(1200, (pto, new_pto), at(50));
        assert!(validation.take_challenge(at(50)) && !validation.take_challenge(at(50)));
        assert_eq!(validation.deadline(), at(1074));
        assert!(validation.take_challenge(at(1074)));
        assert!(validation.take_challenge(at(2098)));
        assert_eq!(validation.deadline(), at(3122));
        assert!(!validation.has_failed(at(3121)) && validation.has_failed(at(3122)));
    }

    #[test]
    fn each_datagram_counts_until_the_address_is_validated() {
        let pto = Duration::from_millis(100);
        let mut validation = Validation::new(1200, (pto, pto), at(0));
        (0..3).for_each(|_| validation.sent(1200));
        assert!(!validation.permits(1), "3 x 1200 B have gone");
        validation.received(1);
        assert!(validation.permits(3) && !validation.permits(4));
    }

    #[test]
    fn a_challenge_repeats_after_the_timeout_of_a_new_path() {
        // §8.2.1: no more often than packets of a handshake, whatever the present path's timeout is.
        let (pto, new_pto) = (Duration::from_millis(20), Duration::from_millis(1024));
        let mut validation = Validation::new(1200, (pto, new_pto), at(0));
        assert!(validation.take_challenge(at(0)));
        assert!(!validation.take_challenge(at(1023)) && validation.take_challenge(at(1024)));
    }

    #[test]
    fn a_longer_present_timeout_gives_the_address_more_time() {
        let (pto, new_pto) = (Duration::from_millis(2000), Duration::from_millis(1024));
        let validation = Validation::new(1200, (pto, new_pto), at(0));
        assert!(!validation.has_failed(at(5999)) && validation.has_failed(at(6000)));
    }
}
