//! The reordering window of RACK (RFC 8985 §6.2 step 4) and its adaptation by D-SACK.

use roamlab_engine::Duration;

/// Recoveries without a D-SACK after which the window is as in the beginning.
const PERSISTENCE: u32 = 16;
/// Most steps (`tcp_rack_update_reo_wnd`).
const MOST_STEPS: u32 = 255;

/// How long a segment may be late before it counts as lost.
#[derive(Clone, Debug)]
pub(super) struct ReorderingWindow {
    /// A segment has arrived behind one sent later.
    pub reordering_seen: bool,
    steps: u32,
    persistence: u32,
    /// The window was widened in the round trip that ends with the ACK of this segment.
    round: Option<u32>,
}

impl Default for ReorderingWindow {
    fn default() -> ReorderingWindow {
        ReorderingWindow { reordering_seen: false, steps: 1, persistence: 0, round: None }
    }
}

impl ReorderingWindow {
    /// A D-SACK came on an ACK that expects `una`: one step more, once per round trip.
    pub fn on_dsack(&mut self, una: u32, snd_max: u32) {
        if self.round.is_some_and(|end| una < end) {
            return;
        }
        self.round = Some(snd_max);
        self.steps = (self.steps + 1).min(MOST_STEPS);
        self.persistence = PERSISTENCE;
    }

    /// A recovery is over.
    pub fn on_exit(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            self.steps = 1;
        }
    }

    /// The window. `eager`: a recovery is on, or as many segments as the threshold of duplicate ACKs were reported.
    pub fn length(&self, eager: bool, min_rtt: Duration, srtt: Duration) -> Duration {
        if eager && !self.reordering_seen {
            return Duration::ZERO;
        }
        (min_rtt * u64::from(self.steps) / 4).min(srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_quarter_of_the_minimum_rtt_and_nothing_in_a_recovery_without_reordering() {
        let mut window = ReorderingWindow::default();
        assert_eq!(window.length(false, ms(40), ms(60)), ms(10));
        assert_eq!(window.length(true, ms(40), ms(60)), ms(0));
        window.reordering_seen = true;
        assert_eq!(window.length(true, ms(40), ms(60)), ms(10));
    }

    #[test]
    fn each_round_trip_with_a_dsack_adds_a_quarter_up_to_srtt() {
        let mut window = ReorderingWindow { reordering_seen: true, ..ReorderingWindow::default() };
        window.on_dsack(10, 20);
        assert_eq!(window.length(true, ms(40), ms(60)), ms(20));
        window.on_dsack(19, 30);
        assert_eq!(window.length(true, ms(40), ms(60)), ms(20), "the same round trip");
        window.on_dsack(20, 30);
        assert_eq!(window.length(true, ms(40), ms(60)), ms(30));
        (3..9).for_each(|round| window.on_dsack(10 * round, 10 * round + 10));
        assert_eq!(window.length(true, ms(40), ms(60)), ms(60), "never above srtt");
    }

    #[test]
    fn sixteen_recoveries_without_a_dsack_end_it() {
        let mut window = ReorderingWindow { reordering_seen: true, ..ReorderingWindow::default() };
        window.on_dsack(10, 20);
        (0..15).for_each(|_| window.on_exit());
        assert_eq!(window.length(true, ms(40), ms(60)), ms(20));
        window.on_exit();
        assert_eq!(window.length(true, ms(40), ms(60)), ms(10));
    }
}
