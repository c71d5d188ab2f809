//! Pacing: how fast segments leave, and how many of them together.
//!
//! The rate is the congestion control's, or with the parameter `pacing` a rule for those that have none: 200 % of the
//! window per smoothed round-trip time below half of ssthresh, 120 % above (`tcp_update_pacing_rate`). A burst has what
//! the rate gives in a millisecond, as TSO has it (`tcp_tso_autosize`).
//!
//! DEVIATION: a host also bounds what one flow has in its own queue (TSQ: what the rate gives in a millisecond, two
//! bursts at least). The sender does not know that queue. With pacing a burst waits there.

use crate::Window;
use roamlab_engine::{Duration, Time};

/// Segments at the start of a connection that are not paced (`tcp_update_skb_after_send`).
const UNPACED: u32 = 10;
/// Smallest burst in segments (`tcp_min_tso_segs`).
const LEAST_BURST: u32 = 2;
/// Largest burst in bytes (`sk_gso_max_size`).
const LARGEST_BURST: u64 = 65_536;
/// The part of the rate in a burst: 2^-10 s (`sk_pacing_shift`).
const BURST_SECONDS: f64 = 1.0 / 1024.0;
/// A round-trip time of so many microseconds halves what is added to a burst on short paths (`tcp_tso_rtt_log` 9).
const RTT_UNIT: u64 = 512;
/// A burst that makes up for its lateness leaves behind what arrives at the same instant. A wait counts from a time that the
/// clock gives after an ACK has arrived, and of two soft interrupts that of received packets runs before that of timers. Bursts and
/// the ACKs of an earlier round trip often have the same distance, so both come at one instant.
const BEHIND: Duration = Duration::from_nanos(1);

impl Window {
    /// Whether segments are paced.
    #[inline(always)]
    pub fn is_paced(&self) -> bool {
        self.pacing_rate.is_finite() && self.pacing_rate > 0.0
    }

    /// The time between two segments; `None` without pacing.
    #[inline]
    pub fn pacing_interval(&self) -> Option<Duration> {
        self.is_paced().then(|| Duration::from_nanos((1e9 / self.pacing_rate) as u64))
    }

    /// The rule for a congestion control without a rate of its own.
    pub fn pace_by_window(&mut self, in_flight: u32, srtt: Duration, segment: u32) {
        if srtt == Duration::ZERO {
            return;
        }
        self.pace(self.rate_by_window(in_flight, srtt), srtt, segment, LEAST_BURST);
    }

    /// Segments of a burst by the same rule, with a round-trip time that is known.
    pub fn burst_by_window(&self, in_flight: u32, srtt: Duration, segment: u32) -> u32 {
        burst(self.rate_by_window(in_flight, srtt) * f64::from(segment), srtt, segment, LEAST_BURST)
    }

    /// Segments of a burst.
    #[inline]
    pub fn burst(&self) -> u32 {
        self.burst
    }

    fn rate_by_window(&self, in_flight: u32, srtt: Duration) -> f64 {
        let ratio = if self.cwnd < self.ssthresh / 2.0 { 2.0 } else { 1.2 };
        ratio * self.cwnd.max(f64::from(in_flight)) / srtt.as_secs_f64()
    }

    /// Paces at so many segments per second, in bursts of at least `least` segments.
    ///
    /// DEVIATION: in `tcp_tso_autosize` the share for short paths follows the shortest round-trip time, here a given one.
    pub(super) fn pace(&mut self, rate: f64, rtt: Duration, segment: u32, least: u32) {
        self.pacing_rate = rate;
        self.burst = burst(rate * f64::from(segment), rtt, segment, least);
    }
}

/// Segments of a burst at a rate in bytes per second.
fn burst(rate: f64, rtt: Duration, segment: u32, least: u32) -> u32 {
    let halvings = rtt.as_nanos() / 1000 / RTT_UNIT;
    let short_path = LARGEST_BURST.checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX)).unwrap_or(0);
    let bytes = ((rate * BURST_SECONDS) as u64).saturating_add(short_path).min(LARGEST_BURST);
    ((bytes / u64::from(segment.max(1))) as u32).max(least)
}

/// When the next burst may leave.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    /// When the next burst could leave, which may be past.
    next: Time,
    /// Until then nothing leaves.
    waits: bool,
    /// That time has come, and what else happens at that instant is dealt with first.
    due: bool,
    /// To the instant: a burst that leaves later than it could makes up for it in the wait for the next one, up
    /// to half of that (`tcp_update_skb_after_send`).
    makes_up: bool,
    /// Segments of the burst that is leaving.
    left: u32,
}

impl Pacer {
    /// That of a connection.
    pub fn of(makes_up: bool) -> Pacer {
        Pacer { makes_up, ..Pacer::default() }
    }

    /// When the next burst could leave, which may be past.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// How long the next burst has to wait.
    #[inline]
    pub fn left_to_wait(&self, now: Time) -> Duration {
        if self.waits { self.next.since(now) } else { Duration::ZERO }
    }

    /// When the next burst may leave; the end of time if none waits.
    #[inline(always)]
    pub fn deadline(&self) -> Time {
        match self.waits {
            true => self.next + if self.due { BEHIND } else { Duration::ZERO },
            false => Time::MAX,
        }
    }

    /// Whether the next segment has to wait.
    #[inline]
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// The time of a deadline has come.
    #[inline]
    pub fn on_deadline(&mut self, now: Time) {
        if self.next > now {
            return;
        }
        // What waits goes out next.
        self.due = self.makes_up && self.waits && !self.due && self.next == now;
        self.waits = self.due;
    }

    /// Whether a segment is paced that is among the first `number` with data.
    #[inline]
    pub fn paces(window: &Window, number: u32) -> bool {
        window.is_paced() && number > UNPACED
    }

    /// How many segments may leave now, after `number` with data: those that are not paced, and a burst.
    #[inline(always)]
    pub fn permits(&self, window: &Window, number: u32) -> u32 {
        match (self.waits(), window.is_paced()) {
            (true, _) => 0,
            (false, true) => UNPACED.saturating_sub(number) + window.burst.saturating_sub(self.left).max(1),
            (false, false) => u32::MAX,
        }
    }

    /// A segment leaves; it is among the first `number` with data.
    #[inline]
    pub fn sent(&mut self, window: &Window, number: u32, now: Time) {
        let counts = self.makes_up && window.is_paced();
        if !counts && !Pacer::paces(window, number) {
            return;
        }
        self.left += 1;
        if self.left >= window.burst {
            self.end_burst(window, number, now);
        }
    }

    /// No further segment leaves now. The next burst waits for what left to pass at the rate.
    pub fn end_burst(&mut self, window: &Window, number: u32, now: Time) {
        let left = u64::from(std::mem::take(&mut self.left));
        if left == 0 {
            return;
        }
        let Some(interval) = window.pacing_interval() else { return };
        if !self.makes_up {
            (self.next, self.waits) = (now + interval * left, true);
            return;
        }
        if number < UNPACED {
            self.next = now;
            return;
        }
        let wait = Duration::from_nanos((1e9 * left as f64 / window.pacing_rate) as u64); // of all bytes together
        let wait = wait.saturating_sub(now.since(self.next).min(wait / 2));
        (self.next, self.waits) = (now.max(self.next) + wait, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::connections::*;

    const RTT: Duration = Duration::from_millis(100);

    fn window(cwnd: f64, ssthresh: f64) -> Window {
        let params = RFC;
        Window { ssthresh, ..Window::new(cwnd, &params) }
    }

    #[test]
    fn the_rate_is_twice_the_window_in_slow_start_and_a_fifth_above_it_later() {
        let rate = |cwnd, ssthresh, in_flight| {
            let mut window = window(cwnd, ssthresh);
            window.pace_by_window(in_flight, RTT, 1000);
            window.pacing_rate
        };
        assert_eq!(rate(10.0, 1000.0, 10), 200.0);
        assert_eq!(rate(10.0, 20.0, 10), 120.0, "from half of ssthresh on");
        assert_eq!(rate(10.0, 21.0, 10), 200.0);
        assert_eq!(rate(10.0, 2.0, 40), 480.0, "what is outstanding counts if it is more");
        let mut unmeasured = window(10.0, 2.0);
        unmeasured.pace_by_window(10, Duration::ZERO, 1000);
        assert!(unmeasured.pacing_interval().is_none());
    }

    #[test]
    fn a_burst_is_a_millisecond_of_the_rate_within_two_segments_and_64_kib() {
        assert_eq!(burst(120_000.0, RTT, 1000, 2), 2);
        assert_eq!(burst(120_000.0, RTT, 1000, 1), 1);
        assert_eq!(burst(10_240_000.0, RTT, 1000, 2), 10); // 10,240,000 / 1024
        assert_eq!(burst(1e9, RTT, 1448, 2), 45); // 65,536 / 1448
        // 2 ms: 65,536 / 2^3 more.
        assert_eq!(burst(0.0, Duration::from_millis(2), 1024, 2), 8);
        assert_eq!(burst(0.0, Duration::from_millis(8), 1024, 2), 2);
    }

    #[test]
    fn a_burst_leaves_and_the_next_waits_for_its_time() {
        let (mut pacer, mut window, now) = (Pacer::default(), window(40.0, 2.0), Time::ZERO);
        window.pace(1000.0, RTT, 1000, 2);
        (1..=10).for_each(|number| pacer.sent(&window, number, now));
        assert!(!pacer.waits(), "the first ten are not paced");
        pacer.sent(&window, 11, now);
        assert!(!pacer.waits());
        pacer.sent(&window, 12, now);
        assert_eq!(pacer.deadline(), now + Duration::from_millis(2));
        pacer.on_deadline(now + Duration::from_millis(1));
        assert!(pacer.waits(), "an early wake-up");
        pacer.on_deadline(now + Duration::from_millis(2));
        assert!(!pacer.waits());
    }

    /// `tcp_update_skb_after_send`: 1000 segments per second, two in a burst.
    #[test]
    fn a_late_burst_of_linux_makes_up_for_half_of_the_wait_at_most() {
        let (mut pacer, mut window) = (Pacer { makes_up: true, ..Pacer::default() }, window(40.0, 2.0));
        window.pace(1000.0, RTT, 1000, 2);
        let ms = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut burst = |number: u32, at: u64| {
            (0..2).for_each(|_| pacer.on_deadline(ms(at) + BEHIND)); // behind what else happens then
            pacer.sent(&window, number, ms(at));
            pacer.sent(&window, number + 1, ms(at));
            pacer.waits().then(|| pacer.deadline().as_nanos() / 100_000)
        };
        assert_eq!(burst(7, 0), None);
        assert_eq!(burst(9, 0), Some(20), "the tenth is paced, and the ninth with it");
        assert_eq!(burst(11, 2), Some(40));
        assert_eq!(burst(13, 5), Some(60), "a ms late");
        assert_eq!(burst(15, 20), Some(210), "14 ms late");
    }

    #[test]
    fn a_burst_of_linux_leaves_behind_what_else_happens_at_its_instant() {
        for makes_up in [true, false] {
            let (mut pacer, mut window) = (Pacer::of(makes_up), window(40.0, 2.0));
            window.pace(1000.0, RTT, 1000, 2);
            pacer.sent(&window, 11, Time::ZERO);
            pacer.sent(&window, 12, Time::ZERO);
            let due = Time::ZERO + Duration::from_millis(2);
            pacer.on_deadline(due);
            assert_eq!(pacer.waits(), makes_up);
            assert_eq!(pacer.deadline(), if makes_up { due + BEHIND } else { Time::MAX });
            pacer.on_deadline(due + BEHIND);
            assert!(!pacer.waits());
        }
    }

    #[test]
    fn a_wait_of_linux_is_that_of_all_bytes_of_a_burst() {
        let (mut pacer, mut window) = (Pacer::of(true), window(40.0, 2.0));
        window.pace(300_000.0, RTT, 1000, 2);
        (12..=14).for_each(|number| pacer.sent(&window, number, Time::ZERO));
        pacer.end_burst(&window, 14, Time::ZERO);
        // 3 / 300,000 s; three times what is cut off of 1 / 300,000 would be 9,999 ns.
        assert_eq!(pacer.deadline(), Time::from_nanos(10_000));
    }

    #[test]
    fn a_burst_that_the_window_ends_waits_for_less() {
        let (mut pacer, mut window, now) = (Pacer::default(), window(40.0, 2.0), Time::ZERO);
        window.pace(1000.0, RTT, 1000, 4);
        pacer.sent(&window, 11, now);
        pacer.end_burst(&window, 11, now);
        assert_eq!(pacer.deadline(), now + Duration::from_millis(1));
        pacer.on_deadline(now + Duration::from_millis(1));
        pacer.end_burst(&window, 11, now + Duration::from_millis(1));
        assert!(!pacer.waits(), "nothing left");
    }
}
