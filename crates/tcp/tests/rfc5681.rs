//! Scripts for the profile `rfc`: the inputs, the outputs, and the window in between.

use roamlab_congestion::SenderEventKind;
use roamlab_engine::{Bytes, Duration, Packets, Time};
use roamlab_packet::{Ecn, TcpFlags, TcpHeader};
use roamlab_tcp::{Profile, TcpParams, TcpSender, TcpSpec};

/// No segment.
const NOTHING: [u32; 0] = [];

struct Script {
    sender: TcpSender,
    now: Time,
}

impl Script {
    /// A connection whose SYN has been acknowledged after 100 ms, with `offered` segments to send.
    fn established(spec: TcpSpec, offered: Option<u64>) -> Script {
        let params = Script::params(spec);
        let mut script = Script { sender: TcpSender::new(&params, Duration::ZERO), now: Time::ZERO };
        script.sender.offer(offered);
        assert_eq!(script.sends(), [0]);
        script.wait(100);
        script
    }

    fn params(spec: TcpSpec) -> TcpParams {
        let spec = TcpSpec { window: Some(Packets(1000)), segment: Some(Bytes(1460)), ..spec };
        spec.resolve(Profile::Rfc).unwrap()
    }

    fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }

    fn sends(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.sender.poll_transmit(self.now)).map(|segment| segment.header.seq).collect()
    }

    /// An ACK arrives that expects `ack`; gives what is sent on it.
    fn ack(&mut self, ack: u32) -> Vec<u32> {
        let header = TcpHeader { ack, flags: TcpFlags::ACK, window: 1000, ..TcpHeader::default() };
        self.sender.on_segment(&header, Ecn::NotEct, self.now);
        self.sends()
    }

    /// The sender's deadline comes; gives what is sent.
    fn deadline(&mut self) -> Vec<u32> {
        self.now = self.sender.next_deadline().unwrap();
        self.sender.on_deadline(self.now);
        self.sends()
    }

    fn window(&self) -> (f64, f64) {
        let variables = self.sender.variables();
        (variables.cwnd, variables.ssthresh)
    }

    fn facts(&mut self) -> Vec<(SenderEventKind, u32)> {
        let facts = std::iter::from_fn(|| self.sender.poll_fact());
        facts.filter(|fact| fact.kind != SenderEventKind::Window).map(|fact| (fact.kind, fact.seq)).collect()
    }
}

#[test]
fn slow_start_from_the_initial_window() {
    // RFC 5681 §3.1: three segments for an SMSS of 1096 to 2190 bytes, and one more per ACK.
    let spec = TcpSpec { initial_window: Some(Packets(3)), ..TcpSpec::default() };
    let mut script = Script::established(spec, None);
    assert_eq!(script.ack(1), [1, 2, 3]);
    script.wait(100);
    assert_eq!(script.ack(2), [4, 5]);
    assert_eq!(script.ack(4), [6, 7, 8], "one segment of growth per ACK, whatever it covers");
    assert_eq!(script.sender.variables().cwnd, 5.0);
}

#[test]
fn fast_retransmit_and_fast_recovery() {
    // RFC 5681 §3.2, with ten segments 1..=10 in flight of which the first is lost.
    let spec = TcpSpec { initial_window: Some(Packets(10)), ..TcpSpec::default() };
    let mut script = Script::established(spec, None);
    assert_eq!(script.ack(1).len(), 10);
    script.wait(100);
    assert_eq!(script.ack(1), [11], "limited transmit (RFC 3042)");
    assert_eq!(script.ack(1), [12]);
    assert_eq!(script.ack(1), [1], "step 3: the lost segment");
    assert_eq!(script.window(), (5.0, 5.0), "half of FlightSize without limited transmit (step 2)");
    // cwnd + inflation = 5 + 3, and 12 are in flight: the fifth further duplicate lets new data go.
    assert_eq!((0..4).flat_map(|_| script.ack(1)).collect::<Vec<_>>(), NOTHING);
    assert_eq!(script.ack(1), [13], "step 4: inflated to 13");
    script.wait(100);
    assert_eq!(script.ack(13), [14, 15, 16, 17], "step 6: deflated to ssthresh, without growth");
    assert_eq!(script.window(), (5.0, 5.0));
    assert_eq!(script.facts(), [(SenderEventKind::FastRetransmit, 1), (SenderEventKind::RecoveryExit, 13)]);
}

#[test]
fn a_timeout_goes_back_and_a_second_one_leaves_ssthresh_alone() {
    let spec = TcpSpec { initial_window: Some(Packets(10)), ..TcpSpec::default() };
    let mut script = Script::established(spec, None);
    script.ack(1);
    // RFC 6298 (2.2): R = 100 ms gives 100 + 4 * 50 ms, below the minimum of 1 s.
    assert_eq!(script.sender.next_deadline(), Some(script.now + Duration::from_secs(1)));
    assert_eq!(script.deadline(), [1]);
    assert_eq!(script.window(), (1.0, 5.0));
    assert_eq!(script.sender.next_deadline(), Some(script.now + Duration::from_secs(2)), "(5.5) doubled");
    assert_eq!(script.deadline(), [1]);
    assert_eq!(script.window(), (1.0, 5.0), "RFC 5681 §3.1: held for a segment that timed out before");
    script.wait(100);
    assert_eq!(script.ack(2), [2, 3], "slow start through what was outstanding");
    let backoff = script.sender.variables().backoff;
    assert_eq!(
        backoff, 4,
        "Karn: the ACK of a retransmission is no measurement and does not end the backoff"
    );
    assert_eq!(script.ack(11), [11, 12, 13]);
    script.wait(100);
    script.ack(12);
    assert_eq!(script.sender.variables().backoff, 1);
    assert_eq!(script.facts(), [(SenderEventKind::Timeout, 1), (SenderEventKind::Timeout, 1)]);
}

#[test]
fn two_lost_syns_cost_the_initial_window() {
    let mut sender = TcpSender::new(Script::params(TcpSpec::default()), Duration::ZERO);
    sender.offer(None);
    let mut script = Script { sender, now: Time::ZERO };
    assert_eq!(script.sends(), [0]);
    assert_eq!(script.deadline(), [0]);
    assert_eq!(script.now, Time::ZERO + Duration::from_secs(1));
    let one_lost = script.sender.clone();
    assert_eq!(script.deadline(), [0]);
    assert_eq!(script.ack(1), [1], "RFC 6928 §2: more than one SYN was sent again");
    let mut script = Script { sender: one_lost, now: script.now };
    assert!(script.ack(1).len() > 1, "RFC 6928 §2");
}

#[test]
fn an_idle_connection_restarts_with_the_restart_window() {
    let spec = TcpSpec { initial_window: Some(Packets(3)), ..TcpSpec::default() };
    let mut script = Script::established(spec, Some(8));
    assert_eq!(script.ack(1), [1, 2, 3]);
    script.wait(100);
    assert_eq!((2..=4).flat_map(|ack| script.ack(ack)).collect::<Vec<_>>(), [4, 5, 6, 7, 8]);
    script.wait(100);
    assert_eq!(script.ack(9), NOTHING);
    assert!(script.sender.finished());
    assert_eq!(script.window().0, 7.0);
    assert_eq!(script.deadline(), NOTHING);
    assert_eq!(script.window().0, 3.0, "RFC 5681 §4.1: min(IW, cwnd) after an RTO without sending");
    assert_eq!(script.sender.next_deadline(), None);
    assert_eq!(script.facts(), [(SenderEventKind::IdleRestart, 9)]);
    script.sender.offer(Some(9));
    assert_eq!(script.sends(), [9, 10, 11]);
}

#[test]
fn duplicate_acks_with_nothing_outstanding_are_none() {
    let mut script = Script::established(TcpSpec::default(), Some(2));
    assert_eq!(script.ack(1), [1, 2]);
    script.wait(100);
    script.ack(3);
    (0..5).for_each(|_| assert_eq!(script.ack(3), NOTHING));
    assert_eq!(script.facts(), vec![]);
}

#[test]
fn duplicate_acks_never_call_for_data_that_was_not_offered() {
    // Under ns-2's rules duplicate ACKs count even with nothing outstanding.
    let params = TcpSpec::default().resolve(Profile::Ns2_2009).unwrap();
    let mut script = Script { sender: TcpSender::new(&params, Duration::ZERO), now: Time::ZERO };
    script.sender.offer(Some(2));
    assert_eq!(script.sends(), [0]);
    assert_eq!(script.ack(1), [1, 2]);
    script.ack(3);
    (0..5).for_each(|_| assert_eq!(script.ack(3), NOTHING));
    assert_eq!(script.facts(), [(SenderEventKind::FastRetransmit, 3)], "the window is cut nevertheless");
}
