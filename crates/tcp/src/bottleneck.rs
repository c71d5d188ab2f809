//! TCP over a bottleneck with the congestion controls that have a model of the path. The tests of the crate `congestion` look
//! into the models, with a sender of no protocol; these look at what the loss recoveries and the pacing of TCP make of them.

#[path = "../../congestion/src/tests/path.rs"]
mod path;

/// The ends that the path asks for.
mod sender {
    use crate::{Profile, TcpReceiver, TcpSender, TcpSpec, Variant};
    pub(super) use roamlab_congestion::CongestionControlSpec;
    use roamlab_congestion::PathPolicy;
    use roamlab_engine::{Bytes, Duration, Time};
    use roamlab_packet::{Ecn, TcpHeader};

    #[derive(Copy, Clone)]
    pub struct Segment {
        pub seq: u32,
        pub retransmission: bool,
        header: TcpHeader,
    }

    pub type Ack = TcpHeader;

    pub struct Sender(TcpSender);

    impl Sender {
        pub fn offer(&mut self, segments: Option<u64>) {
            self.0.offer(segments);
        }

        pub fn cwnd(&self) -> f64 {
            self.0.variables().cwnd
        }

        pub fn on_new_path(&mut self, policy: PathPolicy, now: Time) -> Option<u32> {
            self.0.on_new_path(policy, now)
        }

        pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
            while self.0.poll_fact().is_some() {}
            let header = self.0.poll_transmit(now)?.header;
            Some(Segment { seq: header.seq, retransmission: header.retransmission, header })
        }

        pub fn on_ack(&mut self, header: &Ack, now: Time) {
            self.0.on_segment(header, Ecn::NotEct, now);
        }

        pub fn next_deadline(&self) -> Option<Time> {
            self.0.next_deadline()
        }

        pub fn on_deadline(&mut self, now: Time) {
            self.0.on_deadline(now);
        }
    }

    pub struct Receiver(TcpReceiver);

    impl Receiver {
        pub fn on_segment(&mut self, segment: Segment, now: Time) -> bool {
            self.0.on_segment(&segment.header, Ecn::NotEct, now).fresh
        }

        pub fn poll_transmit(&mut self, now: Time) -> Option<Ack> {
            if self.next_deadline().is_some_and(|due| due <= now) {
                self.0.on_deadline(now);
            }
            self.0.poll_transmit(now).map(|segment| segment.header)
        }

        pub fn next_deadline(&self) -> Option<Time> {
            self.0.next_deadline()
        }
    }

    /// By RFC 6675.
    pub fn ends(control: &CongestionControlSpec) -> (Sender, Receiver) {
        of(Profile::Rfc, Some(Variant::Sack), Some(*control))
    }

    pub fn of(
        profile: Profile,
        variant: Option<Variant>,
        congestion_control: Option<CongestionControlSpec>,
    ) -> (Sender, Receiver) {
        let segment = Some(Bytes(1000));
        let spec = TcpSpec { variant, congestion_control, segment, ..TcpSpec::default() };
        let params = spec.resolve(profile).unwrap();
        (Sender(TcpSender::new(&params, Duration::ZERO)), Receiver(TcpReceiver::new(&params)))
    }
}

use crate::{Profile, Variant};
use path::Path;
use roamlab_congestion::PathPolicy;
use roamlab_engine::Duration;

const MILLISECOND: Duration = Duration::from_millis(1);
/// Segments per second of the link. A round trip of 40 ms carries 50.
const RATE: f64 = 1250.0;

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "expected {expected} within {tolerance}, found {found}");
}

fn in_range(name: &str, found: f64, range: std::ops::Range<f64>) {
    assert!(range.contains(&found), "{name}: {found}, and not in {range:?}");
}

/// A transfer without end: BBR over RFC 6675.
fn bbr() -> Path {
    let mut path = Path::new("bbr".into());
    path.sender.offer(None);
    path
}

/// After Startup and some cycles.
fn bbr_later() -> Path {
    let mut path = bbr();
    path.run_ms(4000);
    path
}

/// A transfer without end: BBR version 3 over RACK.
fn bbr3(profile: Profile) -> Path {
    let mut path = Path::between(sender::of(profile, Some(Variant::Bbr3), None));
    path.sender.offer(None);
    path
}

/// After Startup and some cycles, with a round trip of 100 ms and a buffer that loses nothing.
fn bbr3_later() -> Path {
    let mut path = bbr3(Profile::Rfc);
    (path.one_way, path.buffer) = (MILLISECOND * 50, 4000);
    path.run_ms(4000);
    path
}

#[test]
fn the_steady_rate_is_the_links_with_a_short_queue() {
    let mut path = bbr_later();
    let mut queued = 0;
    let mut rate = 0.0;
    for _ in 0..200 {
        rate += path.run_ms(20) / 200.0;
        queued += path.queued();
    }
    near(rate, RATE, 25.0);
    assert!(queued / 200 < 12, "a queue of {} segments", queued / 200);
}

#[test]
fn probe_rtt_leaves_four_segments_or_half_of_the_product() {
    let mut path = bbr_later();
    let low: u64 = (0..1200).map(|_| u64::from((path.run_ms(10), path.sender.cwnd()).1 <= 4.0)).sum();
    in_range("BBR, ms", 10.0 * low as f64, 200.0..400.0);
    near(path.run_ms(1000), RATE, 40.0);
    let mut path = bbr3(Profile::Rfc);
    path.run_ms(1500);
    let cwnds = (0..5000).map(|_| (path.run_ms(1), path.sender.cwnd()).1);
    near(cwnds.fold(f64::INFINITY, f64::min), 0.5 * RATE * 0.0416, 1.5);
}

#[test]
fn a_product_below_a_segment_has_four_in_flight() {
    for (mut path, first, later, tolerance) in
        [(bbr(), 8000, 4000, 5.0), (bbr3(Profile::Rfc), 6000, 8000, 3.0)]
    {
        (path.rate, path.one_way) = (100.0, MILLISECOND * 2);
        path.run_ms(first);
        assert!(path.sender.cwnd() >= 4.0);
        near(path.run_ms(later), 100.0, tolerance);
    }
}

#[test]
fn ten_times_the_rate_and_a_tenth_are_found() {
    let mut path = bbr_later();
    (path.rate, path.buffer) = (10.0 * RATE, 500);
    assert!(path.run_ms(100) < 2000.0, "a quarter more for each round");
    path.run_ms(1000);
    let rate = path.run_ms(500);
    assert!(rate > 9.0 * RATE, "{rate}");
    let mut path = bbr_later();
    path.rate = 0.1 * RATE;
    path.run_ms(15_200);
    near(path.run_ms(4000), 0.1 * RATE, 6.0);
    let mut path = bbr3(Profile::Rfc);
    (path.rate, path.buffer) = (10.0 * RATE, 500);
    path.run_ms(4000);
    (path.rate, path.buffer) = (RATE, 50);
    path.run_ms(11_000);
    near(path.run_ms(3000), RATE, 0.05 * RATE);
}

#[test]
fn losses_of_one_in_two_hundred_cost_little() {
    let [rate, reno] = ["bbr", "reno"].map(|control| {
        let mut path = Path::new(control.into());
        path.loss = 0.005;
        path.sender.offer(None);
        path.run_ms(4000);
        path.run_ms(8000)
    });
    assert!(rate > 0.9 * RATE, "{rate}");
    assert!(reno < 0.6 * rate, "Reno: {reno}");
}

#[test]
fn a_policed_flow_conforms_to_the_tokens() {
    let mut path = bbr3(Profile::Rfc);
    path.run_ms(2000);
    (path.rate, path.policer) = (500.0, Some(100.0));
    path.run_ms(10_000);
    let (sent, lost) = (path.sent, path.lost);
    near(path.run_ms(10_000), 500.0, 50.0);
    let losses = (path.lost - lost) as f64 / (path.sent - sent) as f64;
    assert!(losses < 0.05, "{losses}");
}

#[test]
fn a_needless_timeout_is_undone() {
    let mut path = bbr3(Profile::Linux6);
    path.buffer = 1000;
    path.run_ms(3000);
    let cwnd = path.sender.cwnd();
    path.held_until = path.now + MILLISECOND * 600;
    assert!((0..600).any(|_| (path.run_ms(1), path.sender.cwnd()).1 < 0.1 * cwnd), "no timeout");
    path.run_ms(800);
    near(path.sender.cwnd(), cwnd, 0.2 * cwnd);
}

#[test]
fn a_gap_without_losses_leaves_the_rate() {
    for gap in [30, 60, 300, 900] {
        let mut path = bbr_later();
        path.buffer = 3000;
        path.held_until = path.now + MILLISECOND * gap;
        path.run_ms(gap + 2500);
        near(path.run_ms(2000), RATE, 40.0);
        let mut path = bbr3_later();
        path.held_until = path.now + MILLISECOND * gap;
        path.run_ms(gap + 2000);
        in_range("BBR version 3", path.run_ms(2000) / RATE, 0.98..1.01);
    }
}

#[test]
fn a_gap_that_loses_all_is_repaired() {
    // RACK finds the losses of short gaps with the first ACK behind them. In 300 ms a probe is lost after two round trips,
    // and the segments behind it wait for the reordering window. In 900 ms the timer expires: 50 ms to the last ACK, two
    // round trips to the probe, a second to the timeout. What it finds lost has lowered the short-term rate until the next
    // Refill, at most three seconds later.
    for (gap, least, most) in [(30, 0, 200), (60, 0, 200), (300, 300, 800), (900, 1250, 4300)] {
        let mut path = bbr3_later();
        (path.held_until, path.buffer) = (path.now + MILLISECOND * gap, 0);
        path.run_ms(gap);
        path.buffer = 4000;
        let mut waited = gap;
        while path.run_ms(100) < 0.9 * RATE && waited < 10_000 {
            waited += 100;
        }
        assert!((least..most).contains(&waited), "{gap} ms: {waited} ms");
        assert!(path.lost > gap.min(125), "{} segments", path.lost); // 1250 per second, and a product at least
    }
}

#[test]
fn a_longer_path_behind_a_gap_is_filled_again() {
    for gap in [30, 60, 300, 900] {
        let mut path = bbr_later();
        path.buffer = 3000;
        (path.held_until, path.one_way) = (path.now + MILLISECOND * gap, MILLISECOND * 40);
        path.run_ms(gap + 2500);
        in_range("BBR", path.run_ms(2000) / RATE, 0.8..1.01);
        path.run_ms(14_000);
        in_range("BBR, later", path.run_ms(10_000) / RATE, 0.92..1.01);
        let mut path = bbr3_later();
        (path.held_until, path.one_way) = (path.now + MILLISECOND * gap, MILLISECOND * 100);
        path.run_ms(gap + 2000);
        in_range("BBR version 3", path.run_ms(2000) / RATE, 0.98..1.01);
        path.run_ms(10_000);
        in_range("BBR version 3, later", path.run_ms(10_000) / RATE, 0.95..1.01);
    }
}

/// The rate until 4 s after the path has become four times as long, from a time in ms on, as a share of the link's.
fn told_of_a_longer_path(mut path: Path, from: u64, policy: PathPolicy) -> f64 {
    (path.one_way, path.buffer) = (path.one_way * 4, 4000);
    path.sender.on_new_path(policy, path.now);
    path.run_ms(from);
    path.run_ms(4000 - from) / RATE
}

#[test]
fn a_sender_that_is_told_of_a_longer_path_uses_it_at_once() {
    // Two products of the old time, 100 segments, in 160 ms are half of 1250 per second.
    in_range("BBR", told_of_a_longer_path(bbr_later(), 1000, PathPolicy::Nothing), 0.25..0.51);
    for policy in [PathPolicy::ForgetMinRtt, PathPolicy::ProbeRtt] {
        in_range("BBR", told_of_a_longer_path(bbr_later(), 1000, policy), 0.9..1.01);
        in_range("BBR version 3", told_of_a_longer_path(bbr3_later(), 2000, policy), 0.85..1.01);
    }
}

#[test]
fn probe_rtt_at_once_and_a_restart_have_their_windows() {
    let mut path = bbr_later();
    path.sender.on_new_path(PathPolicy::ProbeRtt, path.now);
    assert_eq!(path.sender.cwnd(), 4.0);
    let mut path = bbr3_later();
    path.sender.on_new_path(PathPolicy::ProbeRtt, path.now);
    near(path.sender.cwnd(), 62.5, 1.5);
    path.run_ms(1000);
    assert!(path.run_ms(1000) > 0.9 * RATE);
    let mut path = bbr_later();
    path.buffer = 400; // Startup overshoots, as that of a new connection does
    assert_eq!(path.sender.on_new_path(PathPolicy::Restart, path.now), Some(0));
    assert_eq!(path.sender.cwnd(), 10.0);
    path.run_ms(2000);
    near(path.run_ms(2000), RATE, 40.0);
    for policy in [PathPolicy::Restart, PathPolicy::CountLost] {
        let mut path = bbr3_later();
        let lost = path.sender.on_new_path(policy, path.now).unwrap();
        assert_eq!((lost > 0, path.sender.cwnd()), (policy == PathPolicy::CountLost, 10.0));
        path.run_ms(3000);
        assert!(path.run_ms(2000) > 0.95 * RATE, "{policy:?}");
    }
}
