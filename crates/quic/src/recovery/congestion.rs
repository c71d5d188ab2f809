//! The window of a path (RFC 9002 §7), kept by one of the congestion controls that TCP has too.
//!
//! The algorithms count in full packets. All packets in flight are full, so that is the same as the RFC's bytes.

use crate::params::{MINIMUM_WINDOW, QuicSpec};
use crate::recovery::sent_packets::Packet;
use roamlab_congestion::{
    AckEvent, CongestionControl, ControlParams, DeliveryRate, Loss, LossEvent, LostSegment, NewPath,
    SsthreshRule, Window,
};
use roamlab_engine::{Duration, Time};

/// An ACK, apart from the packets that it acknowledges.
#[derive(Copy, Clone, Debug)]
pub(crate) struct AckContext {
    pub now: Time,
    /// One above the largest packet acknowledged, and the next packet.
    pub numbers: (u32, u32),
    pub lost: u32,
    pub rtt: Option<Duration>,
    pub srtt: Duration,
    /// Packets in flight after it.
    pub in_flight: u32,
    pub app_limited: bool,
    /// The window stays unchanged.
    pub held: bool,
    pub rate: Option<DeliveryRate>,
}

/// The congestion state of a path.
#[derive(Clone, Debug)]
pub(crate) struct Congestion {
    control: CongestionControl,
    window: Window,
    params: ControlParams,
    /// The recovery period began at this time (§7.3.2).
    recovery_start: Option<Time>,
    /// The period has not ended.
    in_recovery: bool,
    /// Packets were found lost at this time, and none sent later is acknowledged.
    latest_loss: Option<Time>,
    reductions: u64,
}

impl Congestion {
    /// The state at the beginning.
    pub fn new(spec: &QuicSpec) -> Congestion {
        let params = ControlParams::rfc(spec.segment());
        Congestion {
            control: CongestionControl::new(&spec.congestion_control),
            window: Window::new(spec.initial_cwnd(), &params),
            params,
            recovery_start: None,
            in_recovery: false,
            latest_loss: None,
            reductions: 0,
        }
    }

    /// The state of a new path. The counters continue.
    pub fn for_new_path(&self, spec: &QuicSpec) -> Congestion {
        Congestion { reductions: self.reductions, ..Congestion::new(spec) }
    }

    /// cwnd and ssthresh in packets.
    pub fn sizes(&self) -> (f64, f64) {
        self.window.sizes()
    }

    /// True if a packet may be sent. `in_flight`: packets in flight.
    pub fn permits(&self, in_flight: u32) -> bool {
        self.window.usable(0, u32::MAX) > in_flight
    }

    /// The time between two packets, if the algorithm paces.
    pub fn pacing_interval(&self) -> Option<Duration> {
        self.window.pacing_interval()
    }

    /// Cuts of the window so far.
    pub fn reductions(&self) -> u64 {
        self.reductions
    }

    /// Packets are acknowledged (§B.5): the window grows for each that was sent after the last cut. True if the
    /// recovery period ends with them.
    pub fn on_ack(&mut self, packets: &[Packet], ack: &AckContext) -> bool {
        let grows = |packet: &Packet| self.recovery_start.is_none_or(|start| packet.sent > start);
        let growing = packets.iter().filter(|packet| grows(packet)).count() as u32;
        let ends = self.in_recovery && growing > 0;
        self.in_recovery &= !ends;
        let is_later = |loss: &mut Time| packets.iter().any(|packet| packet.sent > *loss);
        self.latest_loss.take_if(|loss| is_later(loss));
        let event = AckEvent {
            now: ack.now,
            una: ack.numbers.0,
            nxt: ack.numbers.1,
            acked: packets.len() as u32,
            lost: ack.lost,
            rtt: ack.rtt,
            srtt: ack.srtt,
            in_flight: ack.in_flight,
            // To an algorithm with a model a recovery lasts until a round without a loss, as in the stacks that have BBR
            // (QUICHE's `end_recovery_at_`, msquic's `EndOfRecovery`): RFC 9002's period is the time of one cut.
            recovering: self.latest_loss.is_some(),
            rate: ack.rate,
            has_sack: true,
            ..AckEvent::default()
        };
        let before = self.window.cwnd();
        let algorithm = self.control.algorithm();
        if growing == 0 || ack.app_limited || ack.held {
            algorithm.on_other_ack(&mut self.window, &event); // §7.8: the window is not used
            self.keep_minimum(before);
            return ends;
        }
        // A window of the RFC grows with each packet acknowledged, an algorithm's with each event. The last one has the
        // measurements. All have the flight before the ACK, which shows an algorithm if its window was used.
        let one = AckEvent { acked: 1, in_flight: ack.in_flight + growing - 1, ..event };
        let bare = AckEvent { lost: 0, rtt: None, rate: None, ..one };
        for left in (0..growing).rev() {
            algorithm.on_ack(&mut self.window, if left == 0 { &one } else { &bare });
        }
        self.keep_minimum(before);
        ends
    }

    /// An algorithm that is TCP's may leave a segment, which is less than the minimum window (§7.2).
    fn keep_minimum(&mut self, before: f64) {
        let least = MINIMUM_WINDOW.min(before);
        if self.window.cwnd() < least {
            self.window.set(least);
        }
    }

    /// A packet is lost, one of those of [`on_loss`](Self::on_loss).
    pub fn on_lost_packet(&mut self, lost: &LostSegment) {
        self.control.algorithm().on_lost_segment(&mut self.window, lost);
    }

    /// True if delivery rates measured with packets that leave now do not measure the path.
    pub fn limits_itself(&self) -> bool {
        self.window.limits_itself()
    }

    /// The path is another one, but the window stays.
    pub fn on_new_path(&mut self, path: NewPath) {
        self.control.algorithm().on_new_path(&mut self.window, path);
    }

    /// The capacity of the path in packets: in slow start the window is twice what is acknowledged (RFC 9959 §4.1).
    pub fn capacity(&self) -> f64 {
        let (cwnd, ssthresh) = self.sizes();
        if cwnd < ssthresh { cwnd / 2.0 } else { cwnd }
    }

    /// Sets cwnd, in packets (RFC 9959 §3.3).
    pub fn set_cwnd(&mut self, cwnd: f64) {
        self.window.set(cwnd);
    }

    /// Sets ssthresh, in packets (RFC 9959 §3.5).
    pub fn set_ssthresh(&mut self, ssthresh: f64) {
        self.window.set_ssthresh(ssthresh);
    }

    /// A jump was too much: a recovery period begins with this window (RFC 9959 §3.5). The algorithm does not learn of
    /// it, because the window was none that it found.
    pub fn retreat(&mut self, cwnd: f64, now: Time) {
        self.set_cwnd(cwnd);
        (self.recovery_start, self.in_recovery) = (Some(now), true);
        self.reductions += 1;
    }

    /// Packets are lost, the newest of them sent at `newest` (§B.6, §B.8). True if that begins a recovery period.
    pub fn on_loss(&mut self, newest: Time, persistent: bool, now: Time) -> bool {
        let begins = self.recovery_start.is_none_or(|start| newest > start);
        self.latest_loss = Some(now);
        if !begins && !persistent {
            return false;
        }
        let cwnd = self.window.cwnd();
        let loss = LossEvent {
            found: None,
            now,
            kind: if persistent { Loss::Timeout } else { Loss::DupAcks },
            in_use: cwnd,
            ssthresh: if begins { SsthreshRule::Set } else { SsthreshRule::Keep },
            least_cwnd: MINIMUM_WINDOW.min(cwnd),
            most_cwnd: cwnd,
            params: &self.params,
        };
        let algorithm = self.control.algorithm();
        if persistent {
            // §7.6.2: as after TCP's timeout, but to the minimum window, and the period ends.
            algorithm.on_rto(&mut self.window, &loss);
            self.window.set(MINIMUM_WINDOW.min(cwnd));
            (self.recovery_start, self.in_recovery) = (None, false);
        } else {
            algorithm.on_loss(&mut self.window, &loss);
            (self.recovery_start, self.in_recovery) = (Some(now), true);
        }
        self.reductions += 1;
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roamlab_congestion::CongestionControlSpec;
    use serde::Deserialize;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn congestion() -> Congestion {
        Congestion::new(&QuicSpec::default())
    }

    /// An ACK of `count` packets that were sent at `sent` ms.
    fn acked(congestion: &mut Congestion, count: u32, sent: u64, app_limited: bool) -> bool {
        acked_each(congestion, &vec![sent; count as usize], app_limited)
    }

    /// An ACK of packets that were sent at these times in ms.
    fn acked_each(congestion: &mut Congestion, sent: &[u64], app_limited: bool) -> bool {
        let numbers = 0..sent.len() as u32;
        let packets: Vec<Packet> = (numbers.clone().zip(sent))
            .map(|(number, &sent)| Packet { number, segment: number, sent: at(sent) })
            .collect();
        let ack = AckContext {
            now: at(sent.iter().max().map_or(0, |sent| sent + 50)),
            numbers: (numbers.end, numbers.end),
            lost: 0,
            rtt: None,
            srtt: Duration::from_millis(50),
            in_flight: 0,
            app_limited,
            held: false,
            rate: None,
        };
        congestion.on_ack(&packets, &ack)
    }

    #[test]
    fn one_packet_from_behind_a_loss_ends_a_models_recovery() {
        // QUICHE: `end_recovery_at_` is passed by the largest number of an ACK, also of one that has older packets too.
        let mut congestion = congestion();
        congestion.on_loss(at(10), false, at(20));
        let mut is_over = |sent: &[u64]| {
            acked_each(&mut congestion, sent, false);
            congestion.latest_loss.is_none()
        };
        assert_eq!([is_over(&[15, 16]), is_over(&[17, 25])], [false, true]);
    }

    #[test]
    fn a_window_that_careful_resume_holds_stays() {
        // RFC 9959 §3.2: the window of the Unvalidated Phase is the jump's, also while ACKs of before come.
        let mut congestion = congestion();
        let packets = [Packet { number: 0, segment: 0, sent: at(0) }];
        let (numbers, srtt) = ((1, 2), Duration::from_millis(50));
        let ack = |held| AckContext {
            now: at(50),
            numbers,
            lost: 0,
            rtt: None,
            srtt,
            in_flight: 9,
            app_limited: false,
            held,
            rate: None,
        };
        congestion.on_ack(&packets, &ack(true));
        assert_eq!(congestion.sizes().0, 10.0);
        congestion.on_ack(&packets, &ack(false));
        assert_eq!(congestion.sizes().0, 11.0);
    }

    #[test]
    fn in_slow_start_the_window_grows_by_what_is_acknowledged() {
        // §B.5: ten packets and two, however few ACKs there are.
        let mut congestion = congestion();
        acked(&mut congestion, 2, 0, false);
        assert_eq!(congestion.sizes().0, 12.0);
        assert!(congestion.permits(11) && !congestion.permits(12));
        acked(&mut congestion, 2, 0, true);
        assert_eq!(congestion.sizes().0, 12.0, "§7.8: the window was not used");
    }

    #[test]
    fn a_loss_halves_the_window_once_in_a_recovery_period() {
        let mut congestion = congestion();
        acked(&mut congestion, 2, 0, false);
        assert!(congestion.on_loss(at(90), false, at(100)));
        assert_eq!(congestion.sizes(), (6.0, 6.0));
        assert!(!congestion.on_loss(at(100), false, at(120)), "sent before the period began");
        assert_eq!(congestion.sizes(), (6.0, 6.0));
        assert!(!acked(&mut congestion, 1, 100, false), "also");
        assert_eq!(congestion.sizes(), (6.0, 6.0));
        // The period ends with a packet sent in it: congestion avoidance, a packet in each window.
        assert!(acked(&mut congestion, 1, 101, false));
        assert_eq!(congestion.sizes().0, 6.0 + 1.0 / 6.0);
        assert!(congestion.on_loss(at(130), false, at(140)));
        assert_eq!(congestion.reductions(), 2);
    }

    #[test]
    fn a_retreat_of_careful_resume_begins_a_recovery_period() {
        // RFC 9959 §3.4: further losses of what was sent before it do not cut the window again.
        let mut congestion = congestion();
        congestion.retreat(5.0, at(100));
        assert_eq!((congestion.sizes().0, congestion.reductions()), (5.0, 1));
        assert!(!congestion.on_loss(at(90), false, at(110)) && congestion.reductions() == 1);
        assert!(acked(&mut congestion, 1, 101, false), "it ends with a packet sent in it");
        assert!(congestion.on_loss(at(120), false, at(160)));
    }

    #[test]
    fn a_model_conserves_for_the_first_round_of_losses_alone() {
        // As QUICHE's `UpdateRecoveryState`: conservation for a round, then growth, until a round has no loss.
        let bbr = CongestionControlSpec::deserialize(serde_json::json!("bbr")).unwrap();
        let spec = QuicSpec { congestion_control: bbr, ..QuicSpec::default() };
        let mut congestion = Congestion::new(&spec);
        let mut delivered = 0;
        let mut ack = |congestion: &mut Congestion, sent, now, in_flight, lost| {
            let packets = [Packet { number: 0, segment: 0, sent: at(sent) }];
            // Each ACK ends a round trip of 50 ms in which 20 packets were delivered: the model permits many more than here.
            let prior_delivered = delivered;
            delivered += 20;
            let rate = DeliveryRate {
                delivered: 20,
                interval: Duration::from_millis(50),
                prior_delivered,
                app_limited: false,
                in_flight,
                lost,
            };
            let srtt = Duration::from_millis(50);
            let (rtt, rate, now) = (Some(srtt), Some(rate), at(now));
            let context = AckContext {
                now,
                numbers: (1, 1),
                lost,
                rtt,
                srtt,
                in_flight,
                app_limited: false,
                held: false,
                rate,
            };
            congestion.on_ack(&packets, &context);
            congestion.sizes().0
        };
        ack(&mut congestion, 0, 50, 9, 0);
        assert!(congestion.on_loss(at(10), false, at(100)));
        assert_eq!(ack(&mut congestion, 50, 100, 4, 1), 5.0, "4 in flight and one acknowledged");
        assert_eq!(ack(&mut congestion, 90, 145, 4, 0), 6.0, "the round is over: the window grows");
        // The next period of the RFC, with a loss of what was sent behind the first one: it still grows, less what is lost.
        assert!(congestion.on_loss(at(110), false, at(150)));
        assert_eq!(ack(&mut congestion, 120, 150, 3, 1), 6.0, "6 - 1 + 1, not 3 + 1");
        assert_eq!(
            ack(&mut congestion, 140, 160, 3, 0),
            7.0,
            "a packet sent before the latest loss ends nothing"
        );
        assert_eq!(
            ack(&mut congestion, 151, 201, 3, 0),
            12.0,
            "a round without a loss: the window of before, and one"
        );
    }

    #[test]
    fn the_window_is_never_below_two_packets() {
        let mut congestion = congestion();
        for round in 1..6 {
            congestion.on_loss(at(100 * round), false, at(100 * round + 50));
        }
        assert_eq!(congestion.sizes(), (2.0, 2.0));
    }

    #[test]
    fn persistent_congestion_leaves_two_packets_and_half_the_window_as_threshold() {
        // §7.6.2, §B.8: the window of 10 is halved first, if the loss begins a period.
        let mut congestion = congestion();
        congestion.on_loss(at(500), true, at(600));
        assert_eq!(congestion.sizes(), (2.0, 5.0));
        // The period is over: packets sent before grow the window, in slow start.
        acked(&mut congestion, 1, 550, false);
        assert_eq!(congestion.sizes().0, 3.0);
    }

    #[test]
    fn persistent_congestion_leaves_two_packets_to_every_algorithm() {
        // §7.6.2: "the sender's congestion window MUST be reduced to the minimum congestion window".
        for &(name, _) in roamlab_congestion::CONGESTION_CONTROLS {
            let control = CongestionControlSpec::deserialize(serde_json::json!(name)).unwrap();
            let spec = QuicSpec { congestion_control: control, ..QuicSpec::default() };
            let mut congestion = Congestion::new(&spec);
            acked(&mut congestion, 2, 0, false);
            congestion.on_loss(at(500), true, at(600));
            assert_eq!(congestion.sizes().0, 2.0, "{name}");
            // §7.2: the minimum is "the smallest value the congestion window can attain".
            congestion.on_loss(at(700), false, at(750));
            acked(&mut congestion, 1, 720, true);
            assert!(congestion.sizes().0 >= 2.0, "{name}");
        }
    }

    #[test]
    fn persistent_congestion_in_a_recovery_period_keeps_the_threshold() {
        let mut congestion = congestion();
        congestion.on_loss(at(90), false, at(100));
        congestion.on_loss(at(95), true, at(700));
        assert_eq!(congestion.sizes(), (2.0, 5.0));
    }
}
