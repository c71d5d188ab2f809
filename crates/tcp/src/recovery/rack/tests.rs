use crate::TcpSender;
use crate::{Profile, SpuriousDetection, TcpProfile, TcpSpec};
use roamlab_engine::{Duration, Packets, Time};
use roamlab_packet::{Ecn, SackBlocks, TcpFlags, TcpHeader};

/// The round-trip time of all segments.
const RTT: Duration = Duration::from_millis(100);

struct Connection {
    sender: TcpSender,
    now: Time,
}

impl Connection {
    fn established() -> Connection {
        let spec = TcpSpec {
            recovery: Some(crate::RecoveryKind::Rack),
            spurious_detection: Some(SpuriousDetection::None),
            window: Some(Packets(1000)),
            ..TcpSpec::default()
        };
        let unprobed = TcpProfile { tail_loss_probe: Some(false), ..Profile::Rfc.into() };
        let params = spec.resolve(&unprobed).unwrap();
        let mut connection = Connection { sender: TcpSender::new(params, Duration::ZERO), now: Time::ZERO };
        connection.send(0);
        connection.ack(1, &[]);
        connection
    }

    /// The application offers `segments` more. Returns what goes out.
    fn send(&mut self, segments: u64) -> Vec<u32> {
        self.sender.offer(Some(segments));
        std::iter::from_fn(|| self.sender.poll_transmit(self.now)).map(|segment| segment.header.seq).collect()
    }

    /// The segments sent after an ACK with these SACK blocks, which comes a round trip later.
    fn ack(&mut self, ack: u32, blocks: &[(u32, u32)]) -> Vec<u32> {
        self.now += RTT;
        let mut sacks = SackBlocks::default();
        blocks.iter().for_each(|&(start, end)| sacks.push(start, end));
        let header = TcpHeader { ack, sacks, flags: TcpFlags::ACK, window: 1000, ..TcpHeader::default() };
        self.sender.on_segment(&header, Ecn::NotEct, self.now);
        self.send(0)
    }

    /// The next deadline; how long it is away, and what goes out.
    fn deadline(&mut self) -> (Duration, Vec<u32>) {
        let at = self.sender.next_deadline().unwrap();
        let wait = at.since(self.now);
        self.now = at;
        self.sender.on_deadline(at);
        (wait, self.send(0))
    }

    /// Sends two segments of which the second alone arrives; how long the first may be late. It is sent again, and
    /// arrives.
    fn reordering_window(&mut self) -> Duration {
        let sent = self.send(2);
        self.ack(sent[0], &[(sent[1], sent[1] + 1)]);
        let (wait, repaired) = self.deadline();
        assert_eq!(repaired, [sent[0]]);
        self.ack(sent[1] + 1, &[]);
        wait
    }

    /// Sends a segment that is lost; its timeout repairs it.
    fn times_out(&mut self) {
        let sent = self.send(1);
        let (_, repaired) = self.deadline();
        assert_eq!(repaired, sent, "{:?}", self.sender.variables());
        self.ack(sent[0] + 1, &[]);
    }
}

#[test]
fn recoveries_behind_timeouts_count_among_the_sixteen_that_end_a_wider_window() {
    // RFC 8985 §6.2 step 4: RACK.reo_wnd_persist falls at the end of a fast or RTO recovery.
    let mut connection = Connection::established();
    let sent = connection.send(1);
    connection.ack(sent[0] + 1, &[]);
    connection.ack(sent[0] + 1, &[(sent[0], sent[0] + 1)]);
    assert_eq!(connection.reordering_window(), RTT / 2, "a quarter more by a D-SACK; 1 of 16");
    (0..14).for_each(|_| connection.times_out());
    assert_eq!(connection.reordering_window(), RTT / 2, "before the end of the 16th");
    assert_eq!(connection.reordering_window(), RTT / 4);
}
