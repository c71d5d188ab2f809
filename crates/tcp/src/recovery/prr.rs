//! Proportional rate reduction: RFC 9937 (RFC 6937 before it).
//!
//! A recovery does not cut cwnd immediately. Each ACK permits as many segments as bring the flight to ssthresh over one
//! round trip: ssthresh / RecoverFS of the delivered ones. Below ssthresh it permits the delivered number, and one more
//! where the ACK advances and reports no further loss. The recovery determines which segments are lost and in flight.

/// The counters of one recovery, in segments.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Prr {
    /// Segments that may be delivered in the recovery (RecoverFS).
    recover_fs: u32,
    delivered: u32,
    out: u32,
}

impl Prr {
    /// An echo of congestion begins a reduction from this window, as a loss does (`tcp_enter_cwr`).
    pub fn of_echo(before: f64) -> Prr {
        Prr::of(before as u32)
    }

    /// A recovery with this RecoverFS begins.
    pub fn of(recover_fs: u32) -> Prr {
        Prr { recover_fs: recover_fs.max(1), ..Prr::default() }
    }

    /// An ACK reports `delivered` segments and leaves `in_flight`: cwnd in segments. `safe`: the ACK advances and
    /// reports no further loss (SafeACK).
    pub fn on_ack(&mut self, delivered: u32, in_flight: u32, ssthresh: f64, safe: bool) -> u32 {
        self.delivered += delivered;
        let permitted = if f64::from(in_flight) > ssthresh {
            let share = f64::from(self.delivered) * ssthresh / f64::from(self.recover_fs);
            (share.ceil() as u32).saturating_sub(self.out)
        } else {
            let credit = self.delivered.saturating_sub(self.out).max(delivered) + u32::from(safe);
            credit.min((ssthresh - f64::from(in_flight)) as u32)
        };
        in_flight + permitted.max(u32::from(self.out == 0))
    }

    /// A segment goes out in the recovery.
    pub fn sent(&mut self) {
        self.out += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments that each ACK of one segment permits, if all of them are sent. `in_flight` no longer counts the ACK's
    /// segment.
    fn permits(prr: &mut Prr, in_flight: &mut u32, ssthresh: f64, safe: bool) -> u32 {
        *in_flight -= 1;
        let count = prr.on_ack(1, *in_flight, ssthresh, safe) - *in_flight;
        (0..count).for_each(|_| prr.sent());
        *in_flight += count;
        count
    }

    #[test]
    fn half_of_what_is_delivered_goes_out_while_more_than_ssthresh_is_in_flight() {
        // 20 in flight, one of them lost, ssthresh 10: ceil(n * 10 / 20) after n ACKs.
        let (mut prr, mut in_flight) = (Prr::of(20), 19);
        let sent: Vec<u32> = (0..10).map(|_| permits(&mut prr, &mut in_flight, 10.0, false)).collect();
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!((prr.delivered, prr.out, in_flight), (10, 5, 14));
    }

    #[test]
    fn seven_tenths_of_what_is_delivered_follow_another_factor() {
        // ssthresh 7 of 10: ceil(0.7 n) = 1 2 3, then in flight is 7 and below.
        let (mut prr, mut in_flight) = (Prr::of(10), 10);
        let sent: Vec<u32> = (0..3).map(|_| permits(&mut prr, &mut in_flight, 7.0, false)).collect();
        assert_eq!((sent, in_flight), (vec![1, 1, 1], 10));
    }

    #[test]
    fn below_ssthresh_the_conservative_bound_permits_what_was_delivered() {
        // 10 in flight, 7 of them lost: 3 left, ssthresh 5. Each ACK permits itself, and one more if it is safe.
        let mut prr = Prr::of(10);
        assert_eq!(prr.on_ack(1, 2, 5.0, false), 3, "one delivered, one permitted");
        prr.sent();
        assert_eq!(prr.on_ack(1, 2, 5.0, true), 4, "a safe ACK: one more");
        (0..2).for_each(|_| prr.sent());
        assert_eq!(prr.on_ack(1, 3, 5.0, true), 5);
        (0..2).for_each(|_| prr.sent());
        assert_eq!(prr.on_ack(1, 4, 5.0, true), 5, "never above ssthresh");
    }

    #[test]
    fn credit_that_was_not_used_remains() {
        let mut prr = Prr::of(10);
        assert_eq!(prr.on_ack(1, 2, 5.0, false), 3);
        // The application had nothing: three delivered, none sent.
        assert_eq!(prr.on_ack(2, 0, 5.0, false), 3);
    }

    #[test]
    fn the_first_ack_permits_a_retransmission_in_any_case() {
        assert_eq!(Prr::of(10).on_ack(0, 5, 5.0, false), 6, "at ssthresh");
        assert_eq!(Prr::of(10).on_ack(0, 9, 5.0, false), 10, "above it");
        let mut later = Prr::of(10);
        later.sent();
        assert_eq!(later.on_ack(0, 9, 5.0, false), 9, "not once something was sent");
    }
}
