//! Ends of slow start before a loss: HyStart (Ha & Rhee 2011), and HyStart++ (RFC 9406).
//!
//! A round begins when the last segment sent in the one before is acknowledged. Both compare round-trip times of
//! rounds. HyStart also measures how long the ACKs of a round follow each other closely.

use crate::{AckEvent, Window};
use roamlab_engine::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Round-trip times that a round must have had (RFC 9406 §4.3; `HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;
/// Bounds of the increase that counts (RFC 9406 §4.3; `HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const LEAST_INCREASE: Duration = Duration::from_millis(4);
const MOST_INCREASE: Duration = Duration::from_millis(16);
/// The increase that counts is this part of the round-trip time.
const PART: u64 = 8;

/// The end of slow start, other than a loss.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum SlowStart {
    /// In no other way (RFC 5681 §3.1).
    #[serde(rename = "standard")]
    Standard,
    /// By a train of ACKs that is as long as half the shortest round-trip time, or by longer round-trip times (Ha &
    /// Rhee 2011; `tcp_cubic.c`).
    #[serde(rename = "hystart")]
    HyStart,
    /// By longer round-trip times, after five rounds of slower growth in which they stay (RFC 9406). Only in the first
    /// slow start of a connection.
    #[serde(rename = "hystart++")]
    HyStartPlusPlus,
}

/// The rule that watches a slow start.
#[derive(Clone, Debug)]
pub(crate) enum Watch {
    None,
    HyStart(HyStart),
    PlusPlus(HyStartPlusPlus),
}

impl Watch {
    pub fn new(kind: SlowStart) -> Watch {
        match kind {
            SlowStart::Standard => Watch::None,
            SlowStart::HyStart => Watch::HyStart(HyStart::default()),
            SlowStart::HyStartPlusPlus => Watch::PlusPlus(HyStartPlusPlus::default()),
        }
    }

    /// True if it needs the round-trip time of each ACK.
    pub fn needs_samples(&self, window: &Window) -> bool {
        let over = match self {
            Watch::None => true,
            Watch::HyStart(watch) => watch.found,
            Watch::PlusPlus(watch) => watch.over,
        };
        !over && window.cwnd < window.ssthresh
    }

    /// An ACK that is measured before the window grows; it may end slow start.
    #[inline]
    pub fn measure(&mut self, window: &mut Window, ack: &AckEvent) {
        if let Watch::HyStart(watch) = self {
            watch.measure(window, ack);
        }
    }

    /// How many segments this ACK adds in slow start, if standard slow start would add `standard`.
    pub fn growth(&mut self, window: &mut Window, ack: &AckEvent, standard: f64) -> f64 {
        match self {
            Watch::PlusPlus(watch) if !watch.over => watch.growth(window, ack),
            _ => standard,
        }
    }

    /// True if it compares round-trip times with shortest ones.
    pub fn keeps_min_rtt(&self) -> bool {
        !matches!(self, Watch::None)
    }

    /// The shortest round-trip times are those of an old path.
    pub fn forget_min_rtt(&mut self) {
        match self {
            Watch::None => {}
            Watch::HyStart(watch) => (watch.delay_min, watch.shortest, watch.samples) = (None, None, 0),
            Watch::PlusPlus(watch) => (watch.last, watch.current, watch.samples) = (None, None, 0),
        }
    }

    /// A loss, or an echo of congestion.
    pub fn on_loss(&mut self, by_timeout: bool) {
        match self {
            Watch::None => {}
            Watch::HyStart(watch) if by_timeout => *watch = HyStart::default(),
            Watch::HyStart(_) => {}
            Watch::PlusPlus(watch) => watch.over = true,
        }
    }
}

/// Ha & Rhee 2011, as `hystart_update` in `net/ipv4/tcp_cubic.c` has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct HyStart {
    /// The shortest round-trip time since the latest timeout.
    delay_min: Option<Duration>,
    found: bool,
    round_start: Time,
    /// The latest ACK that followed the one before within 2 ms.
    last_ack: Time,
    /// The round ends when more than this is acknowledged.
    end: u32,
    /// The shortest of this round, and how many there were.
    shortest: Option<Duration>,
    samples: u32,
}

impl HyStart {
    /// A smaller window is left alone.
    const LOW_WINDOW: f64 = 16.0;
    /// ACKs that are farther apart end a train.
    const ACK_DELTA: Duration = Duration::from_millis(2);

    fn measure(&mut self, window: &mut Window, ack: &AckEvent) {
        let Some(rtt) = ack.rtt else { return };
        let delay_min = self.delay_min.map_or(rtt, |shortest| shortest.min(rtt));
        self.delay_min = Some(delay_min);
        if self.found || window.cwnd >= window.ssthresh {
            return;
        }
        if ack.una > self.end {
            (self.round_start, self.last_ack) = (ack.now, ack.now);
            (self.end, self.shortest, self.samples) = (ack.nxt, None, 0);
        }
        if window.cwnd < HyStart::LOW_WINDOW {
            return;
        }
        if ack.now.since(self.last_ack) <= HyStart::ACK_DELTA {
            self.last_ack = ack.now;
            let longest = delay_min + aggregation(window, ack);
            let longest = if window.pacing_interval().is_none() { longest / 2 } else { longest };
            self.found = ack.now.since(self.round_start) > longest;
        }
        let shortest = self.shortest.map_or(rtt, |shortest| shortest.min(rtt));
        self.shortest = Some(shortest);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            self.found |= shortest > delay_min + increase(delay_min);
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }
}

/// The longest time that TSO and GRO may hold data back: four of the largest bursts at the rate of slow start, at most
/// 1 ms (`hystart_ack_delay`).
fn aggregation(window: &Window, ack: &AckEvent) -> Duration {
    const BURST: f64 = 65_536.0;
    let bytes = 2.0 * window.cwnd * f64::from(window.segment);
    let seconds = 4.0 * BURST * ack.srtt.as_secs_f64() / bytes;
    Duration::from_nanos((1e9 * seconds) as u64).min(Duration::from_millis(1))
}

/// The increase of a round-trip time that counts.
fn increase(rtt: Duration) -> Duration {
    (rtt / PART).clamp(LEAST_INCREASE, MOST_INCREASE)
}

/// RFC 9406.
#[derive(Clone, Debug, Default)]
pub(crate) struct HyStartPlusPlus {
    /// The first slow start is over.
    over: bool,
    /// The round ends when this is acknowledged (windowEnd).
    end: u32,
    /// lastRoundMinRTT, currentRoundMinRTT, rttSampleCount.
    last: Option<Duration>,
    current: Option<Duration>,
    samples: u32,
    /// In conservative slow start: cssBaselineMinRtt, and its rounds that are over.
    conservative: Option<(Duration, u32)>,
}

impl HyStartPlusPlus {
    /// §4.3: the growth of conservative slow start is divided by this, for this number of rounds.
    const DIVISOR: f64 = 4.0;
    const ROUNDS: u32 = 5;
    /// L: most segments that an ACK adds, if the sender does not pace.
    const LIMIT: u32 = 8;

    fn growth(&mut self, window: &mut Window, ack: &AckEvent) -> f64 {
        let limit = if window.pacing_interval().is_none() { HyStartPlusPlus::LIMIT } else { u32::MAX };
        let full = f64::from(ack.acked.min(limit));
        let divisor = if self.conservative.is_some() { HyStartPlusPlus::DIVISOR } else { 1.0 };
        self.measure(ack);
        if ack.una >= self.end {
            self.end_round(ack);
        }
        if self.over {
            window.ssthresh = window.cwnd + full / divisor;
        }
        full / divisor
    }

    fn measure(&mut self, ack: &AckEvent) {
        let Some(rtt) = ack.rtt else { return };
        let current = self.current.map_or(rtt, |shortest| shortest.min(rtt));
        self.current = Some(current);
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        match (self.conservative, self.last) {
            (None, Some(last)) if current >= last + increase(last) => self.conservative = Some((current, 0)),
            // There was no increase: slow start continues.
            (Some((baseline, _)), _) if current < baseline => self.conservative = None,
            _ => {}
        }
    }

    fn end_round(&mut self, ack: &AckEvent) {
        (self.last, self.current, self.samples, self.end) = (self.current, None, 0, ack.nxt);
        if let Some((_, rounds)) = &mut self.conservative {
            *rounds += 1; // also the one in which it began
            self.over = *rounds >= HyStartPlusPlus::ROUNDS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::connections::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// A slow start in which each ACK acknowledges a segment.
    struct Flow {
        watch: Watch,
        window: Window,
        now: Time,
        una: u32,
    }

    impl Flow {
        fn new(kind: SlowStart, cwnd: f64) -> Flow {
            let params = RFC;
            let mut window = Window::new(cwnd, &params);
            window.ssthresh = 1000.0;
            Flow { watch: Watch::new(kind), window, now: Time::from_nanos(1), una: 1 }
        }

        fn ack(&mut self, rtt: u64, spacing: Duration) {
            self.now += spacing;
            self.una += 1;
            let nxt = self.una + self.window.cwnd as u32;
            let rtt = Some(MILLISECOND * rtt);
            let srtt = MILLISECOND * 100;
            let (una, now) = (self.una, self.now);
            let ack = AckEvent { now, una, nxt, acked: 1, rtt, srtt, ..AckEvent::default() };
            self.watch.measure(&mut self.window, &ack);
            if self.window.cwnd < self.window.ssthresh {
                let growth = self.watch.growth(&mut self.window, &ack, 1.0);
                self.window.grow(growth);
            }
        }

        fn acks(&mut self, count: u32, rtt: u64) {
            (0..count).for_each(|_| self.ack(rtt, MILLISECOND * 5));
        }

        /// ACKs up to the end of the round.
        fn rest_of_round(&mut self, rtt: u64) {
            let Watch::PlusPlus(watch) = &self.watch else { panic!("HyStart++") };
            let end = watch.end;
            while self.una < end {
                self.ack(rtt, MILLISECOND);
            }
        }

        fn in_conservative(&self) -> bool {
            let Watch::PlusPlus(watch) = &self.watch else { panic!("HyStart++") };
            watch.conservative.is_some()
        }

        fn ended(&self) -> bool {
            self.window.cwnd >= self.window.ssthresh
        }
    }

    #[test]
    fn the_increase_is_an_eighth_within_4_and_16_ms() {
        let of = |rtt| increase(MILLISECOND * rtt);
        assert_eq!((of(8), of(100), of(200)), (MILLISECOND * 4, MILLISECOND * 25 / 2, MILLISECOND * 16));
    }

    #[test]
    fn hystart_ends_by_delay_after_eight_samples() {
        let mut flow = Flow::new(SlowStart::HyStart, 20.0);
        flow.acks(1, 100);
        flow.acks(20, 113); // 100 ms is in this round: the shortest of the round
        flow.acks(8, 113);
        assert!(!flow.ended(), "eight samples of the next round");
        flow.acks(1, 113);
        assert!(flow.ended(), "nothing below 112.5 ms, and one more sample");
        assert_eq!(flow.window.ssthresh, flow.window.cwnd);
    }

    #[test]
    fn hystart_takes_no_smaller_increase() {
        let mut flow = Flow::new(SlowStart::HyStart, 20.0);
        flow.acks(1, 100);
        flow.acks(200, 112);
        assert!(!flow.ended());
    }

    #[test]
    fn hystart_leaves_small_windows_alone() {
        let mut flow = Flow::new(SlowStart::HyStart, 4.0);
        flow.acks(1, 100);
        flow.acks(11, 200);
        assert_eq!((flow.window.cwnd, flow.ended()), (16.0, false));
    }

    #[test]
    fn hystart_ends_by_a_train_of_half_a_round_trip() {
        let mut flow = Flow::new(SlowStart::HyStart, 200.0);
        flow.acks(1, 100); // the round begins
        // ACKs 1 ms apart: (100 + 1) / 2 ms is exceeded by the 51st.
        for count in 1..=51 {
            assert!(!flow.ended(), "{count}");
            flow.ack(100, MILLISECOND);
        }
        assert!(flow.ended());
    }

    #[test]
    fn hystart_needs_a_whole_round_trip_if_the_sender_paces() {
        let mut flow = Flow::new(SlowStart::HyStart, 200.0);
        flow.window.pacing_rate = 4000.0;
        flow.acks(1, 100);
        (0..101).for_each(|_| flow.ack(100, MILLISECOND));
        assert!(!flow.ended());
        flow.ack(100, MILLISECOND);
        assert!(flow.ended());
    }

    #[test]
    fn hystart_train_is_broken_by_a_pause() {
        let mut flow = Flow::new(SlowStart::HyStart, 200.0);
        flow.acks(1, 100);
        (0..40).for_each(|_| flow.ack(100, MILLISECOND));
        flow.ack(100, MILLISECOND * 3);
        (0..100).for_each(|_| flow.ack(100, MILLISECOND));
        assert!(!flow.ended(), "no later ACK of the round is within 2 ms of the train's last");
    }

    #[test]
    fn hystart_begins_anew_after_a_timeout() {
        let mut flow = Flow::new(SlowStart::HyStart, 20.0);
        flow.acks(1, 100);
        flow.acks(60, 150);
        assert!(flow.ended() && !flow.watch.needs_samples(&flow.window));
        flow.window.ssthresh = 1000.0;
        flow.watch.on_loss(false);
        assert!(!flow.watch.needs_samples(&flow.window));
        flow.watch.on_loss(true);
        assert!(flow.watch.needs_samples(&flow.window));
        flow.acks(60, 150);
        assert!(!flow.ended(), "150 ms is the shortest now");
    }

    /// HyStart, whose shortest round-trip time is `base`, with nine samples of `rtt` in a round.
    fn hystart_with(base: u64, rtt: u64) -> bool {
        let mut flow = Flow::new(SlowStart::HyStart, 20.0);
        flow.acks(1, base);
        flow.acks(20, base);
        flow.acks(9, rtt);
        flow.ended()
    }

    #[test]
    fn hystart_takes_more_than_4_ms_on_a_short_path() {
        assert_eq!((hystart_with(8, 12), hystart_with(8, 13)), (false, true));
    }

    #[test]
    fn hystart_takes_no_more_than_16_ms_on_a_long_path() {
        assert_eq!((hystart_with(400, 416), hystart_with(400, 417)), (false, true));
    }

    #[test]
    fn hystart_goes_on_if_one_sample_of_the_round_is_short() {
        let mut flow = Flow::new(SlowStart::HyStart, 20.0);
        flow.acks(21, 100);
        flow.acks(3, 130);
        flow.acks(1, 105);
        flow.acks(15, 130);
        assert!(!flow.ended());
    }

    #[test]
    fn hystart_keeps_the_shortest_of_all_rounds() {
        let mut flow = Flow::new(SlowStart::HyStart, 20.0);
        flow.acks(1, 100);
        flow.acks(20, 106);
        flow.acks(40, 112);
        assert!(!flow.ended(), "12 ms above 100 ms, not yet 12.5");
        flow.acks(40, 113);
        assert!(flow.ended(), "7 ms above the round before");
    }

    #[test]
    fn hystart_of_a_new_path_takes_its_first_sample_as_the_shortest() {
        let mut flow = Flow::new(SlowStart::HyStart, 20.0);
        flow.acks(21, 100);
        flow.watch.forget_min_rtt();
        flow.acks(60, 150);
        assert!(!flow.ended());
        flow.acks(100, 170);
        assert!(flow.ended(), "20 ms above 150 ms, 16 count");
    }

    #[test]
    fn hystart_adds_what_aggregation_may_hold_back_to_the_train() {
        let flow = Flow::new(SlowStart::HyStart, 200.0);
        // 4 x 65536 B at 2 x 200 kB in 100 ms: 65.5 ms, of which 1 ms counts; at a hundred times the rate 0.655 ms.
        let ack = AckEvent { srtt: MILLISECOND * 100, ..AckEvent::default() };
        assert_eq!(aggregation(&flow.window, &ack), MILLISECOND);
        let fast = AckEvent { srtt: MILLISECOND, ..ack };
        assert_eq!(aggregation(&flow.window, &fast), Duration::from_nanos(655_360));
    }

    /// HyStart++ in its second round, after 10 ACKs of 100 ms.
    fn second_round() -> Flow {
        let mut flow = Flow::new(SlowStart::HyStartPlusPlus, 10.0);
        flow.acks(1, 100);
        flow.rest_of_round(100);
        flow
    }

    #[test]
    fn plus_plus_is_conservative_after_eight_longer_samples() {
        let mut flow = second_round();
        flow.acks(7, 113);
        assert!(!flow.in_conservative());
        flow.acks(1, 113);
        assert!(flow.in_conservative() && !flow.ended());
        let before = flow.window.cwnd;
        flow.acks(4, 113);
        assert_eq!(flow.window.cwnd, before + 1.0, "a quarter of a segment on each ACK");
    }

    #[test]
    fn plus_plus_takes_an_increase_of_an_eighth() {
        let mut flow = second_round();
        flow.acks(8, 112);
        assert!(!flow.in_conservative(), "112 ms is below 112.5 ms");
    }

    #[test]
    fn plus_plus_resumes_if_the_increase_goes() {
        let mut flow = second_round();
        flow.acks(8, 120);
        assert!(flow.in_conservative());
        flow.acks(1, 119);
        assert!(!flow.in_conservative());
        let before = flow.window.cwnd;
        flow.acks(1, 119);
        assert_eq!(flow.window.cwnd, before + 1.0);
    }

    #[test]
    fn plus_plus_ends_after_five_rounds_of_which_the_first_is_partial() {
        let mut flow = second_round();
        flow.acks(8, 120);
        for round in 1..=5 {
            assert!(!flow.ended(), "{round}");
            flow.rest_of_round(120);
        }
        assert!(flow.ended() && !flow.watch.needs_samples(&flow.window));
    }

    #[test]
    fn plus_plus_adds_at_most_eight_segments_without_pacing() {
        let mut flow = Flow::new(SlowStart::HyStartPlusPlus, 30.0);
        let ack = AckEvent { acked: 20, ..AckEvent::default() };
        assert_eq!(flow.watch.growth(&mut flow.window, &ack, 1.0), 8.0);
        flow.window.pacing_rate = 1000.0;
        assert_eq!(flow.watch.growth(&mut flow.window, &ack, 1.0), 20.0);
    }

    #[test]
    fn plus_plus_is_for_the_first_slow_start() {
        let mut flow = second_round();
        flow.watch.on_loss(true);
        let ack = AckEvent { acked: 2, ..AckEvent::default() };
        assert_eq!(flow.watch.growth(&mut flow.window, &ack, 1.0), 1.0);
    }

    /// HyStart++ whose first round had `base`, with eight samples of `rtt` in the second.
    fn conservative_with(base: u64, rtt: u64) -> bool {
        let mut flow = Flow::new(SlowStart::HyStartPlusPlus, 10.0);
        flow.acks(1, base);
        flow.rest_of_round(base);
        flow.acks(8, rtt);
        flow.in_conservative()
    }

    #[test]
    fn plus_plus_takes_4_ms_on_a_short_path() {
        assert_eq!((conservative_with(8, 11), conservative_with(8, 12)), (false, true));
    }

    #[test]
    fn plus_plus_takes_16_ms_on_a_long_path() {
        assert_eq!((conservative_with(400, 415), conservative_with(400, 416)), (false, true));
    }

    #[test]
    fn plus_plus_has_nothing_to_compare_in_the_first_round() {
        let mut flow = Flow::new(SlowStart::HyStartPlusPlus, 30.0);
        let Watch::PlusPlus(watch) = &mut flow.watch else { panic!("HyStart++") };
        watch.end = 1000;
        flow.acks(9, 100);
        flow.acks(9, 500);
        assert!(!flow.in_conservative());
    }

    #[test]
    fn plus_plus_compares_with_the_round_before_and_no_earlier_one() {
        let mut flow = second_round();
        flow.rest_of_round(110); // 10 ms above 100 ms: less than 12.5
        flow.rest_of_round(120); // 10 ms above 110 ms: less than 13.75
        assert!(!flow.in_conservative());
        flow.acks(8, 135); // 15 ms, which are an eighth of 120 ms
        assert!(flow.in_conservative());
    }

    #[test]
    fn plus_plus_goes_by_the_shortest_of_a_round() {
        let mut flow = second_round();
        flow.acks(7, 130);
        flow.acks(1, 112);
        flow.acks(2, 130);
        assert!(!flow.in_conservative());
    }

    #[test]
    fn plus_plus_needs_eight_samples_to_resume_in_a_later_round() {
        let mut flow = second_round();
        flow.acks(8, 120);
        flow.rest_of_round(120);
        flow.acks(7, 119);
        assert!(flow.in_conservative());
        flow.acks(1, 119);
        assert!(!flow.in_conservative());
    }

    #[test]
    fn plus_plus_limits_an_ack_before_it_takes_a_quarter() {
        let mut flow = second_round();
        flow.acks(8, 120);
        let ack = AckEvent { acked: 20, una: flow.una, ..AckEvent::default() };
        assert_eq!(flow.watch.growth(&mut flow.window, &ack, 20.0), 2.0);
    }

    #[test]
    fn plus_plus_ends_with_a_loss_in_conservative_slow_start() {
        let mut flow = second_round();
        flow.acks(8, 120);
        flow.watch.on_loss(false);
        assert!(!flow.watch.needs_samples(&flow.window));
    }

    #[test]
    fn plus_plus_sets_ssthresh_to_the_window_at_its_end() {
        let mut flow = second_round();
        flow.acks(8, 120);
        (0..5).for_each(|_| flow.rest_of_round(120));
        assert_eq!(flow.window.ssthresh, flow.window.cwnd);
    }

    #[test]
    fn standard_slow_start_needs_nothing() {
        let mut flow = Flow::new(SlowStart::Standard, 20.0);
        assert!(!flow.watch.needs_samples(&flow.window));
        flow.acks(1, 100);
        flow.acks(100, 500);
        assert_eq!(flow.window.cwnd, 121.0);
    }
}
