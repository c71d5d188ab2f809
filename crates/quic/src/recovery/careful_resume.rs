//! Careful Resume (RFC 9959): a new path begins with part of what the former one carried, and checks that first.
//!
//! Observing (§3.1) is [`Saved`], taken when a path is left. The phases of the new path follow: Reconnaissance,
//! Unvalidated, Validating, Safe Retreat, and Normal.
//!
//! ASSUMPTION: the Remote Endpoint, which the RFC leaves to the implementation, is the host and not its address. So the
//! parameters of the path that is left are those of the new one.

use crate::params::MINIMUM_WINDOW;
use crate::recovery::sent_packets::Packet;
use roamlab_engine::{Duration, Time};

/// A round-trip time of a new path of this part of the saved one is too small (§4.2.1).
const SMALLEST_RTT: u64 = 2;
/// A round-trip time of more than this multiple of the saved one belongs to another path (§4.2.1).
const LARGEST_RTT: u64 = 10;
/// The threshold after a retreat, as part of the pipe (§3.5, Beta).
const BETA: f64 = 0.5;

/// Saved parameters of a path.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) struct Saved {
    /// The capacity in packets.
    pub cwnd: f64,
    /// The least round-trip time.
    pub rtt: Duration,
}

/// The round-trip times of the new path: the least one and the latest.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Rtts {
    pub min: Duration,
    pub latest: Duration,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Phase {
    /// §3.2. `acked` is the number of acknowledged packets of the path.
    Reconnaissance { acked: u32 },
    /// §3.3. `first` is the first unvalidated packet.
    Unvalidated { since: Time, first: u32, pipe: u32 },
    /// §3.4. `first` and `last` are the first and the last unvalidated packet.
    Validating { first: u32, last: u32, pipe: u32 },
    /// §3.5.
    SafeRetreat { first: u32, last: u32, pipe: u32 },
    /// §3.7.
    Normal,
}

/// The change of the window by an ACK.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// The new cwnd in packets.
    Window(f64),
    /// The path has changed: the cwnd in packets to retreat to.
    Retreat(f64),
    /// The retreat is over: the new ssthresh in packets.
    Threshold(f64),
}

/// The use of the saved parameters, on one path.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) struct CarefulResume {
    saved: Saved,
    initial_window: f64,
    phase: Phase,
}

impl CarefulResume {
    /// A path begins.
    pub fn new(saved: Saved, initial_window: f64) -> CarefulResume {
        CarefulResume { saved, initial_window, phase: Phase::Reconnaissance { acked: 0 } }
    }

    /// The parameters to save when the path is left. `own`: those that the congestion control has measured.
    ///
    /// ASSUMPTION: a path that was left in its Reconnaissance has measured none, and the saved ones stay.
    pub fn observed(&self, own: Saved) -> Saved {
        match self.phase {
            Phase::Reconnaissance { .. } => self.saved,
            // The window is not validated; the pipe is.
            Phase::Unvalidated { pipe, .. } | Phase::Validating { pipe, .. } => {
                Saved { cwnd: f64::from(pipe), ..own }
            }
            Phase::SafeRetreat { pipe, .. } => Saved { cwnd: f64::from(pipe) * BETA, ..own },
            Phase::Normal => own,
        }
    }

    /// True if acknowledgements do not grow the window (§3.3, §3.5).
    pub fn holds_window(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated { .. } | Phase::SafeRetreat { .. })
    }

    /// The jump, in whose rhythm unvalidated packets leave (§4.3.2).
    pub fn paced_jump(&self) -> Option<f64> {
        matches!(self.phase, Phase::Unvalidated { .. }).then(|| self.jump_cwnd())
    }

    /// §3.3: at most half of what was saved.
    fn jump_cwnd(&self) -> f64 {
        self.saved.cwnd / 2.0
    }

    /// §4.2.1: true if the path is the observed one.
    fn is_confirmed(&self, rtts: Rtts) -> bool {
        rtts.min > self.saved.rtt / SMALLEST_RTT && rtts.latest <= self.saved.rtt * LARGEST_RTT
    }

    /// The window is full and data waits; the next packet is `next`. The jump, if there is one now (§3.2, Path
    /// confirmed): the initial window is acknowledged, and the round-trip times fit.
    pub fn jump(&mut self, (cwnd, flight): (f64, u32), next: u32, rtts: Rtts, now: Time) -> Option<f64> {
        let Phase::Reconnaissance { acked } = self.phase else { return None };
        if f64::from(acked) < self.initial_window.floor() {
            return None;
        }
        if !self.is_confirmed(rtts) || self.jump_cwnd() <= cwnd {
            self.phase = Phase::Normal;
            return None;
        }
        self.phase = Phase::Unvalidated { since: now, first: next, pipe: flight };
        Some(self.jump_cwnd())
    }

    /// A packet was sent, with `flight` in flight now. The new window, if the jump ends by it (§3.3): it is spent, or a
    /// round trip is over.
    pub fn on_sent(&mut self, number: u32, flight: u32, latest: Duration, now: Time) -> Option<f64> {
        let Phase::Unvalidated { since, .. } = self.phase else { return None };
        let spent = f64::from(flight) + 1.0 > self.jump_cwnd();
        (spent || now.since(since) > latest).then(|| self.end_jump(number, flight))
    }

    /// §3.3, Check flight_size: the window without the part of the jump that was not used.
    fn end_jump(&mut self, last: u32, flight: u32) -> f64 {
        let Phase::Unvalidated { first, pipe, .. } = self.phase else { return self.initial_window };
        if f64::from(flight) < self.initial_window || flight <= pipe {
            self.phase = Phase::Normal;
            return f64::from(pipe).max(self.initial_window);
        }
        self.phase = Phase::Validating { first, last, pipe };
        f64::from(flight)
    }

    /// Packets of the path are acknowledged: the pipe grows (Tracking PipeSize).
    ///
    /// ASSUMPTION: by the unvalidated ones and those after, as in the example A.4. The text of §3.3 counts all, and so
    /// twice those that were in flight at the jump.
    pub fn count(&mut self, packets: &[Packet]) {
        let from = |first: u32| packets.iter().filter(|packet| packet.number >= first).count() as u32;
        match &mut self.phase {
            Phase::Reconnaissance { acked } => *acked += packets.len() as u32,
            Phase::Unvalidated { first, pipe, .. }
            | Phase::Validating { first, pipe, .. }
            | Phase::SafeRetreat { first, pipe, .. } => *pipe += from(*first),
            Phase::Normal => {}
        }
    }

    /// An ACK and the losses that it reports were processed. `largest` is the largest number acknowledged, `next` the
    /// number of the next packet.
    pub fn on_ack(&mut self, largest: u32, (next, flight): (u32, u32), rtts: Rtts, now: Time) -> Change {
        match self.phase {
            Phase::Unvalidated { .. } if !self.is_confirmed(rtts) => {
                self.retreat(next).map_or(Change::None, Change::Retreat)
            }
            Phase::Unvalidated { since, first, .. }
                if (next > first && largest >= first) || now.since(since) > rtts.latest =>
            {
                Change::Window(self.end_jump(next.saturating_sub(1), flight))
            }
            Phase::Validating { last, .. } if largest >= last => {
                self.phase = Phase::Normal;
                Change::None
            }
            Phase::SafeRetreat { last, pipe, .. } if largest >= last => {
                self.phase = Phase::Normal;
                Change::Threshold((f64::from(pipe) * BETA).max(MINIMUM_WINDOW))
            }
            _ => Change::None,
        }
    }

    /// Packets of the path are lost; the next packet is `next`. The window, if the sender retreats; otherwise the
    /// congestion control takes the loss. `persistent`: it is persistent congestion (§3.6).
    pub fn on_loss(&mut self, persistent: bool, next: u32) -> Option<f64> {
        if persistent || matches!(self.phase, Phase::Reconnaissance { .. }) {
            self.phase = Phase::Normal;
        }
        self.retreat(next)
    }

    /// §3.5: at most half of the pipe, and never less than two packets.
    fn retreat(&mut self, next: u32) -> Option<f64> {
        let (first, last, pipe) = match self.phase {
            Phase::Unvalidated { first, pipe, .. } => (first, next.saturating_sub(1), pipe),
            Phase::Validating { first, last, pipe } => (first, last, pipe),
            Phase::Reconnaissance { .. } | Phase::SafeRetreat { .. } | Phase::Normal => return None,
        };
        self.phase = Phase::SafeRetreat { first, last, pipe };
        Some((f64::from(pipe) / 2.0).max(MINIMUM_WINDOW))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + ms(millis)
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn rtts(min: u64, latest: u64) -> Rtts {
        Rtts { min: ms(min), latest: ms(latest) }
    }

    const SAVED: Saved = Saved { cwnd: 300.0, rtt: Duration::from_millis(100) };

    fn packets(numbers: std::ops::Range<u32>) -> Vec<Packet> {
        numbers.map(|number| Packet { number, segment: number, sent: at(0) }).collect()
    }

    /// The initial window of ten is acknowledged.
    fn confirmed() -> CarefulResume {
        let mut resume = CarefulResume::new(SAVED, 10.0);
        resume.count(&packets(0..10));
        resume
    }

    /// The RFC's examples: 29 packets in flight at the jump, numbered from 1; the first unvalidated one is 30.
    fn jumped() -> CarefulResume {
        let mut resume = confirmed();
        assert_eq!(resume.jump((29.0, 29), 30, rtts(100, 100), at(0)), Some(150.0));
        resume
    }

    /// All of the jump is sent: 121 packets, 30 to 150.
    fn spent() -> CarefulResume {
        let mut resume = jumped();
        for number in 30..150 {
            assert_eq!(resume.on_sent(number, number, ms(100), at(50)), None);
        }
        assert_eq!(resume.on_sent(150, 150, ms(100), at(60)), Some(150.0));
        assert!(matches!(resume.phase, Phase::Validating { first: 30, last: 150, pipe: 29 }));
        resume
    }

    #[test]
    fn nothing_is_resumed_before_the_initial_window_is_acknowledged() {
        let mut resume = CarefulResume::new(SAVED, 10.0);
        resume.count(&packets(0..9));
        assert_eq!(resume.jump((19.0, 19), 19, rtts(100, 100), at(0)), None);
        assert_eq!(resume.phase, Phase::Reconnaissance { acked: 9 });
        resume.count(&packets(9..10));
        assert_eq!(resume.jump((20.0, 20), 20, rtts(100, 100), at(0)), Some(150.0));
    }

    #[test]
    fn a_round_trip_time_of_half_the_saved_one_is_too_small() {
        // §3.2: less than or equal to saved_rtt / 2.
        assert_eq!(confirmed().jump((20.0, 20), 20, rtts(50, 80), at(0)), None);
        assert_eq!(confirmed().jump((20.0, 20), 20, rtts(51, 80), at(0)), Some(150.0));
        let mut resume = confirmed();
        resume.jump((20.0, 20), 20, rtts(50, 80), at(0));
        assert_eq!(resume.phase, Phase::Normal);
    }

    #[test]
    fn a_round_trip_time_above_ten_saved_ones_is_of_another_path() {
        assert_eq!(confirmed().jump((20.0, 20), 20, rtts(900, 1001), at(0)), None);
        assert_eq!(confirmed().jump((20.0, 20), 20, rtts(900, 1000), at(0)), Some(150.0));
    }

    #[test]
    fn a_jump_that_gains_nothing_is_none() {
        let mut resume = confirmed();
        assert_eq!(resume.jump((150.0, 150), 150, rtts(100, 100), at(0)), None);
        assert_eq!(resume.phase, Phase::Normal);
        let mut small = CarefulResume::new(Saved { cwnd: 40.0, ..SAVED }, 10.0);
        small.count(&packets(0..10));
        assert_eq!(small.jump((20.0, 20), 20, rtts(100, 100), at(0)), None, "half of 40");
    }

    #[test]
    fn a_loss_in_the_reconnaissance_ends_it() {
        // A.3: the window is as if nothing had been tried.
        let mut resume = confirmed();
        assert_eq!(resume.on_loss(false, 15), None);
        assert_eq!(resume.jump((20.0, 20), 20, rtts(100, 100), at(0)), None);
    }

    #[test]
    fn without_a_loss_the_jump_is_validated_by_its_last_packet() {
        // A.1.
        let mut resume = spent();
        assert!(!resume.holds_window(), "the window grows by the usual rules");
        resume.count(&packets(1..31));
        assert_eq!(resume.on_ack(30, (151, 120), rtts(100, 100), at(160)), Change::None);
        resume.count(&packets(31..150));
        assert_eq!(resume.on_ack(149, (300, 150), rtts(100, 100), at(170)), Change::None);
        assert_eq!(resume.phase, Phase::Validating { first: 30, last: 150, pipe: 29 + 120 });
        assert_eq!(resume.on_ack(150, (302, 150), rtts(100, 100), at(171)), Change::None);
        assert_eq!(resume.phase, Phase::Normal);
    }

    #[test]
    fn the_first_unvalidated_packet_acknowledged_ends_the_jump() {
        let mut resume = jumped();
        for number in 30..100 {
            resume.on_sent(number, number - 20, ms(100), at(90));
        }
        assert_eq!(resume.on_ack(29, (100, 70), rtts(100, 100), at(95)), Change::None);
        resume.count(&packets(30..31));
        assert_eq!(resume.on_ack(30, (100, 69), rtts(100, 100), at(100)), Change::Window(69.0));
        assert_eq!(resume.phase, Phase::Validating { first: 30, last: 99, pipe: 30 });
    }

    #[test]
    fn a_sender_without_more_data_validates_what_it_has_sent() {
        // A.2: 50 unvalidated packets, and those of the reconnaissance are acknowledged by then.
        let mut resume = jumped();
        for number in 30..80 {
            assert_eq!(resume.on_sent(number, 29, ms(100), at(50)), None);
        }
        assert_eq!(resume.on_ack(29, (80, 50), rtts(100, 100), at(101)), Change::Window(50.0));
        assert_eq!(resume.phase, Phase::Validating { first: 30, last: 79, pipe: 29 });
        resume.count(&packets(30..80));
        resume.on_ack(79, (80, 0), rtts(100, 100), at(150));
        assert_eq!(resume.phase, Phase::Normal);
    }

    #[test]
    fn a_jump_that_was_not_used_leaves_the_pipe() {
        let mut resume = jumped();
        resume.on_sent(30, 29, ms(100), at(10));
        assert_eq!(resume.on_ack(29, (31, 1), rtts(100, 100), at(101)), Change::Window(29.0));
        assert_eq!(resume.phase, Phase::Normal);
        // §3.3, Check flight_size: also with just the pipe in flight there is nothing to validate.
        let mut resume = jumped();
        resume.on_sent(30, 29, ms(100), at(10));
        assert_eq!(resume.on_ack(29, (31, 29), rtts(100, 100), at(101)), Change::Window(29.0));
        assert_eq!(resume.phase, Phase::Normal);
    }

    #[test]
    fn a_small_pipe_leaves_the_initial_window() {
        let mut resume = confirmed();
        resume.jump((10.0, 8), 18, rtts(100, 100), at(0));
        // Nine in flight are less than the initial window, though more than the pipe.
        assert_eq!(resume.on_ack(17, (27, 9), rtts(100, 100), at(101)), Change::Window(10.0));
        assert_eq!(resume.phase, Phase::Normal);
    }

    #[test]
    fn a_round_trip_ends_the_jump_at_the_next_packet() {
        let mut resume = jumped();
        assert_eq!(resume.on_sent(30, 60, ms(100), at(100)), None);
        assert_eq!(resume.on_sent(31, 61, ms(100), at(101)), Some(61.0));
    }

    #[test]
    fn a_loss_of_the_jump_retreats_to_half_of_the_pipe() {
        // A.4: packet 64 is lost, and three later ones report it: 29 + 34 + 3 = 66.
        let mut resume = spent();
        resume.count(&packets(1..64));
        resume.count(&packets(65..68));
        assert_eq!(resume.on_loss(false, 190), Some(33.0));
        assert!(resume.holds_window());
        assert_eq!(resume.phase, Phase::SafeRetreat { first: 30, last: 150, pipe: 66 });
        // The other 83 arrive. The pipe is 29 + 120, and half of it the threshold.
        resume.count(&packets(68..150));
        assert_eq!(resume.on_ack(149, (191, 40), rtts(100, 100), at(200)), Change::None);
        resume.count(&packets(150..151));
        assert_eq!(resume.on_ack(150, (191, 39), rtts(100, 100), at(201)), Change::Threshold(74.5));
        assert_eq!(resume.phase, Phase::Normal);
    }

    #[test]
    fn a_loss_before_the_jump_is_over_retreats_too() {
        let mut resume = jumped();
        resume.on_sent(30, 30, ms(100), at(10));
        assert_eq!(resume.on_loss(false, 31), Some(14.5));
        assert_eq!(resume.phase, Phase::SafeRetreat { first: 30, last: 30, pipe: 29 });
        assert_eq!(resume.on_loss(false, 40), None, "the congestion control takes what follows");
    }

    #[test]
    fn a_retreat_leaves_two_packets_at_least() {
        let mut resume = CarefulResume::new(SAVED, 2.0);
        resume.count(&packets(0..2));
        resume.jump((2.0, 2), 4, rtts(100, 100), at(0));
        assert_eq!(resume.on_loss(false, 5), Some(2.0));
        assert_eq!(resume.on_ack(4, (9, 0), rtts(100, 100), at(9)), Change::Threshold(2.0));
    }

    #[test]
    fn another_round_trip_time_during_the_jump_retreats() {
        // §3.3, Confirming the path during transmission.
        let mut resume = jumped();
        resume.on_sent(30, 30, ms(100), at(10));
        assert_eq!(resume.on_ack(20, (31, 20), rtts(45, 45), at(20)), Change::Retreat(14.5));
    }

    #[test]
    fn persistent_congestion_ends_it_in_each_phase() {
        for mut resume in [confirmed(), jumped(), spent()] {
            assert_eq!(resume.on_loss(true, 200), None);
            assert_eq!(resume.phase, Phase::Normal);
        }
    }

    #[test]
    fn what_is_saved_of_a_path_is_what_it_has_validated() {
        let own = Saved { cwnd: 200.0, rtt: ms(40) };
        let cwnd = |resume: CarefulResume| resume.observed(own).cwnd;
        assert_eq!(confirmed().observed(own), SAVED, "nothing is known of the path yet");
        assert_eq!((cwnd(jumped()), cwnd(spent())), (29.0, 29.0));
        let mut retreating = spent();
        retreating.on_loss(false, 151);
        assert_eq!(cwnd(retreating), 14.5);
        let mut normal = confirmed();
        normal.on_loss(false, 15);
        assert_eq!(normal.observed(own), own);
    }

    #[test]
    fn unvalidated_packets_alone_have_the_rhythm_of_the_jump() {
        assert_eq!(confirmed().paced_jump(), None);
        assert_eq!(jumped().paced_jump(), Some(150.0));
        assert_eq!(spent().paced_jump(), None);
        assert!(jumped().holds_window());
    }
}
