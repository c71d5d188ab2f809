//! The receive window as Linux grows it: dynamic right-sizing, `tcp_rcv_space_adjust` in `net/ipv4/tcp_input.c`.
//!
//! A connection offers half of a buffer of 128 KiB, less a segment. The receiver counts the data that the application
//! reads in a round trip. If that is more than ever, the bound of the window becomes twice of it and 16 segments, and
//! more for a flow that grows (kernels up to 6.16). The window that is offered follows the bound by two segments for
//! each that arrives (`tcp_grow_window`), and each that widens it is acknowledged immediately. The round-trip time is
//! that of echoed timestamps, or else the time that a whole window takes.
//!
//! ASSUMPTION: the share of data in the memory of packets (`scaling_ratio`) is 170/256, as measured for segments of 1448 B
//! in a kernel 6.12. It depends on the driver.

use super::packets::{JOINED, PACKET, Packets, in_order};
use crate::params::TcpParams;
use roamlab_engine::{Duration, Time};

/// The buffer of a new connection in bytes (`tcp_rmem`, second value), and the share of data in it.
const FIRST_BUFFER: u64 = 131_072;
const SHARE: u64 = 170;
const SHARE_OF: u64 = 256;
/// Segments added to twice the data read in a round trip.
const CUSHION: u64 = 16;
/// A smaller part of the buffer is not offered.
const LEAST_PART: u64 = 16;
/// Segments that the first flight is taken to have (TCP_INIT_CWND).
const FIRST_FLIGHT: u32 = 10;
/// The unit of timestamps (TCP_TS_HZ).
const STAMP: u64 = 1_000_000;

/// A segment with data that no ACK has covered, and what the receiver has since.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Received {
    pub now: Time,
    /// The time that it echoes.
    pub echo: Option<Time>,
    /// The segment, and the next one expected since.
    pub seq: u32,
    pub expected: u32,
    /// Segments that the application has not taken.
    pub unread: u32,
    /// It had not arrived before.
    pub fresh: bool,
}

/// Bytes of data that a buffer of this size has room for (`tcp_win_from_space`).
fn data_in(buffer: u64) -> u64 {
    buffer * SHARE / SHARE_OF
}

/// The next multiple of a power of two.
fn up_to(step: u64, bytes: u64) -> u64 {
    (bytes + (step - 1)) & !(step - 1)
}

/// The time between two, by a clock of whole microseconds (`tcp_mstamp`).
fn micros(from: Time, to: Time) -> u64 {
    to.as_nanos() / 1000 - from.as_nanos() / 1000
}

/// The window of a receiver, in bytes of data.
#[derive(Clone, Debug)]
pub(crate) struct Autotuning {
    segment: u64,
    /// Of the largest buffer (`tcp_rmem`, third value).
    most: u64,
    /// The buffer, with the memory of packets (`sk_rcvbuf`).
    buffer: u64,
    /// Most bytes that may be advertised (`rcv_ssthresh`).
    offered: u64,
    /// Bytes of data that the buffer has room for (`tcp_space`).
    free: u64,
    /// The window of the latest ACK in bytes (`rcv_wnd`), and the segment that it expected (`rcv_wup`).
    window: u64,
    expected: u32,
    /// The packets behind a gap.
    packets: Packets,
    /// Also a segment behind a gap widens the window; without SACK its ACK would be no duplicate.
    grows_behind_gaps: bool,
    /// The round-trip time in eighths of a microsecond; zero before the first (`rcv_rtt_est`).
    rtt_8: u64,
    /// The time echoed last.
    echo: Time,
    /// The end of the window that was offered at this time.
    timed: Option<(u32, Time)>,
    /// Most that was taken in a round trip (`rcvq_space.space`).
    taken: u32,
    /// The segment up to which the application had read at this time. Later reads are counted from there.
    counted: (u32, Time),
    /// In order: segments of the packet that is read first.
    first: u32,
}

impl Autotuning {
    pub fn new(params: &TcpParams) -> Autotuning {
        let segment = params.segment.0.max(1);
        let most = u64::from(params.window.0) * segment;
        let buffer = FIRST_BUFFER.min(Autotuning::largest_buffer(params));
        // Half of the buffer (`tcp_select_initial_window`), of which a segment is kept back (`tcp_init_buffer_space`).
        let offered = (FIRST_BUFFER / 2).saturating_sub(segment).clamp(segment.min(most), most);
        Autotuning {
            segment,
            most,
            buffer,
            offered,
            free: data_in(buffer),
            window: offered,
            expected: 1,
            packets: Packets::default(),
            grows_behind_gaps: params.sack_blocks > 0,
            rtt_8: 0,
            echo: Time::ZERO,
            timed: None,
            taken: ((offered / segment) as u32).min(FIRST_FLIGHT),
            counted: (1, Time::ZERO),
            first: 0,
        }
    }

    /// The largest buffer in bytes, with the memory of packets.
    pub fn largest_buffer(params: &TcpParams) -> u64 {
        (u64::from(params.window.0) * params.segment.0 * SHARE_OF).div_ceil(SHARE)
    }

    /// The round trip that was measured, if one was.
    pub fn round_trip(&self) -> Option<Duration> {
        (self.rtt_8 > 0).then(|| Duration::from_nanos(1000 * self.rtt_8 / 8))
    }

    /// The bytes to advertise, in steps of `2^shift`: the free room, and never less than before (`tcp_select_window`).
    #[inline]
    pub fn window(&self, expected: u32, shift: u8) -> u64 {
        self.selected(shift).max(up_to(1 << shift, self.left(expected)))
    }

    /// An ACK offers these bytes behind the segments below `expected`.
    #[inline]
    pub fn advertised(&mut self, bytes: u64, expected: u32) {
        (self.window, self.expected) = (bytes, expected);
    }

    /// Free room in bytes, in steps of `2^shift` (`__tcp_select_window`).
    #[inline]
    fn selected(&self, shift: u8) -> u64 {
        let (step, bound) = (1 << shift, self.bound());
        if !self.is_half_full() {
            return up_to(step, self.free.min(self.offered).min(bound));
        }
        let free = self.free & !(step - 1);
        let is_small = free < bound / LEAST_PART || free < self.segment;
        if is_small { 0 } else { up_to(step, free.min(self.offered)) }
    }

    /// The bytes of data that the buffer has room for (`window_clamp`).
    #[inline]
    fn bound(&self) -> u64 {
        data_in(self.buffer).min(self.most)
    }

    /// The same in segments.
    pub fn segments(&self) -> u32 {
        (self.bound() / self.segment) as u32
    }

    /// True if the window that was offered last need not become smaller.
    #[inline]
    pub fn keeps_window(&self, shift: u8) -> bool {
        self.selected(shift) >= self.window
    }

    /// True if more than half of the room is taken.
    #[inline]
    pub fn is_half_full(&self) -> bool {
        self.free < self.bound() / 2
    }

    /// The SYN arrived, or the ACK that completes the handshake.
    pub fn on_handshake(&mut self, now: Time) {
        self.counted.1 = now;
    }

    /// A segment with data arrived. True if it widens the window.
    #[inline(always)]
    pub fn on_data(&mut self, segment: &Received) -> bool {
        let gap = segment.seq >= segment.expected;
        self.measure(segment, gap);
        if !segment.fresh {
            return false;
        }
        if !gap && self.is_plain() {
            let free = data_in(self.buffer.saturating_sub(in_order(segment.unread.max(1), self.segment)));
            (self.first, self.free) = (1, free);
            return self.widen(free);
        }
        // A segment in order has yet to be read. One behind a gap counts only if it has joined a packet there.
        let behind = self.packets.memory(self.segment);
        let joins = gap && self.packets.take(segment.seq);
        let behind = if joins { self.packets.memory(self.segment) } else { behind };
        let unread = in_order(segment.unread.max(u32::from(!gap)), self.segment);
        let free = data_in(self.buffer.saturating_sub(unread + behind));
        let widens = (!gap || self.grows_behind_gaps) && self.widen(free);
        if gap {
            self.free = data_in(self.buffer.saturating_sub(unread + self.packets.memory(self.segment)));
            return widens;
        }
        let (first, joins) = self.packets.close(segment.expected);
        self.first = first;
        // Segments behind the gap wait with this one, or have their place among those that the application does not
        // read.
        let behind = if segment.unread == 0 {
            behind - u64::from(joins) * (PACKET - JOINED)
        } else {
            self.packets.memory(self.segment)
        };
        self.free = data_in(self.buffer.saturating_sub(unread + behind));
        widens
    }

    /// True if nothing is behind a gap.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.packets.is_empty()
    }

    /// Widens the window towards the free room, by two segments at most. True if it does.
    #[inline]
    fn widen(&mut self, free: u64) -> bool {
        let room = free.min(self.most).saturating_sub(self.offered);
        self.offered += room.min(2 * self.segment);
        room > 0
    }

    /// The application has read all segments below `expected`, of which `advanced` were new. The window is adjusted when it
    /// has read the first packet.
    #[inline]
    pub fn is_read(&mut self, expected: u32, advanced: u32, now: Time) {
        self.on_read(expected, advanced.saturating_sub(self.first), now);
        self.holds(0);
    }

    /// `unread` segments wait for the application.
    #[inline]
    pub fn holds(&mut self, unread: u32) {
        let memory = in_order(unread, self.segment) + self.packets.memory(self.segment);
        self.free = data_in(self.buffer.saturating_sub(memory));
    }

    /// True if the window has become twice the rest of the offered one, so that an ACK announces it
    /// (`__tcp_cleanup_rbuf`).
    #[inline]
    pub fn opens(&self, expected: u32, shift: u8) -> bool {
        let left = self.left(expected);
        if 2 * left > self.bound() {
            return false;
        }
        let selected = self.selected(shift);
        selected > 0 && selected >= 2 * left
    }

    /// The rest of the window that was offered last (`tcp_receive_window`).
    #[inline]
    fn left(&self, expected: u32) -> u64 {
        let taken = u64::from(expected.saturating_sub(self.expected)) * self.segment;
        self.window.saturating_sub(taken)
    }

    /// The application has read the segments below `expected`, except the last `unread` (`tcp_rcv_space_adjust`).
    #[inline]
    pub fn on_read(&mut self, expected: u32, unread: u32, now: Time) {
        let read = expected - unread;
        let (from, since) = self.counted;
        if self.rtt_8 == 0 || micros(since, now) < self.rtt_8 / 8 {
            return;
        }
        let taken = read.saturating_sub(from).saturating_sub(unread);
        if taken > self.taken {
            self.grow(taken);
        }
        self.counted = (read, now);
    }

    /// Sets the bound to twice the data that was read, which is a round trip old. Growth is expected to repeat.
    fn grow(&mut self, taken: u32) {
        let (before, now) = (u64::from(self.taken), u64::from(taken));
        self.taken = taken;
        let steady = (2 * now + CUSHION) * self.segment;
        let window = steady + 2 * (steady * (now - before) / before);
        self.buffer = self.buffer.max(window.min(self.most) * SHARE_OF / SHARE);
    }

    /// `tcp_rcv_rtt_measure_ts`, and `tcp_rcv_rtt_measure`: a window takes a round trip at least.
    #[inline]
    fn measure(&mut self, segment: &Received, gap: bool) {
        let stamp = |time: Time| time.as_nanos() / STAMP;
        if let Some(echo) = segment.echo.filter(|&echo| echo != Time::ZERO && stamp(echo) != stamp(self.echo))
        {
            self.echo = echo;
            let stamps = stamp(segment.now).saturating_sub(stamp(echo));
            if stamps > 0 {
                self.take_sample(stamps * STAMP / 1000, true);
            }
        }
        let expected = segment.seq + 1; // a gap behind it closes later
        if gap || !segment.fresh || self.timed.is_some_and(|(end, _)| expected < end) {
            return;
        }
        if let Some((_, at)) = self.timed {
            self.take_sample(micros(at, segment.now).max(1), false);
        }
        self.timed = Some((expected + (self.window / self.segment) as u32, segment.now));
    }

    /// `tcp_rcv_rtt_update`: a shorter time counts immediately, and a longer one by an eighth if it is no window's.
    fn take_sample(&mut self, micros: u64, counts_if_longer: bool) {
        if self.rtt_8 == 0 || 8 * micros < self.rtt_8 {
            self.rtt_8 = 8 * micros;
        } else if counts_if_longer {
            self.rtt_8 = self.rtt_8 - self.rtt_8 / 8 + micros;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpSpec};
    use roamlab_engine::{Bytes, Duration, Packets};

    const RTT: Duration = Duration::from_millis(100);

    /// A receiver whose application reads everything immediately.
    struct Flow {
        window: Autotuning,
        now: Time,
        expected: u32,
    }

    impl Flow {
        fn new(spec: TcpSpec) -> Flow {
            let spec = TcpSpec { segment: Some(Bytes(1000)), ..spec };
            let mut window = Autotuning::new(&spec.resolve(Profile::Linux6).unwrap());
            let now = Time::from_nanos(1_000_000_000);
            window.on_handshake(now);
            Flow { window, now, expected: 1 }
        }

        fn received(&self, echo: Option<Time>) -> Received {
            let (now, expected) = (self.now, self.expected);
            Received { now, echo, seq: expected - 1, expected, unread: 0, fresh: true }
        }

        /// Bound and window in segments.
        fn sizes(&self) -> (u32, u32) {
            (self.window.segments(), (self.window.offered / 1000) as u32)
        }

        /// `segments` segments, a round trip after those that they echo.
        fn flight(&mut self, segments: u32) -> (u32, u32) {
            self.now += RTT;
            let echo = Some(Time::ZERO + (self.now.since(Time::ZERO) - RTT));
            for _ in 0..segments {
                self.expected += 1;
                let segment = self.received(echo);
                self.window.on_data(&segment);
                self.window.is_read(self.expected, 1, self.now);
            }
            self.sizes()
        }
    }

    #[test]
    fn the_first_window_is_half_of_the_buffer_but_for_a_segment() {
        let flow = Flow::new(TcpSpec::default());
        // 131,072 · 170 / 256 = 87,040 B; 65,536 - 1000 B; of the 3,145 segments of 3 MiB.
        assert_eq!((flow.window.bound(), flow.window.offered, flow.window.most), (87_040, 64_536, 3_145_000));
        let small = Flow::new(TcpSpec { window: Some(Packets(20)), ..TcpSpec::default() });
        assert_eq!(small.sizes(), (20, 20));
    }

    #[test]
    fn a_window_is_in_steps_and_a_sixteenth_of_the_buffer_or_less_is_none() {
        let mut flow = Flow::new(TcpSpec::default());
        flow.window.advertised(flow.window.window(1, 7), 1);
        // 64,536 B to a multiple of 128 B: it need not become smaller.
        assert_eq!((flow.window.window, flow.window.keeps_window(7)), (64_640, true));
        // Below half of 87,040 B what is free is cut to a multiple, and if that is below 5,440 B nothing is offered.
        let mut selected = |free| {
            flow.window.free = free;
            flow.window.selected(7)
        };
        assert_eq!([43_600, 43_000, 5_568, 5_500].map(&mut selected), [43_648, 42_880, 5_504, 0]);
    }

    #[test]
    fn a_slow_start_stays_ahead() {
        let mut flow = Flow::new(TcpSpec::default());
        // The first segment of a flight ends the count of the flight before. Ten in the first are no more than ten.
        assert_eq!(flow.flight(10), (87, 84));
        assert_eq!(flow.flight(20), (87, 85), "a segment waits to be read");
        // 20 in a round trip, 10 before: 56 + 2·56·10/10 = 168. Each of the other 39 segments opens by two.
        // The buffer is a whole number of bytes, so that its share is a byte less.
        assert_eq!(flow.flight(40), (167, 163));
        // 40 after 20: 96 + 2·96·20/20 = 288.
        assert_eq!(flow.flight(80), (287, 286));
        // 80 after 40: 176 + 2·176·40/40 = 528; 59 segments open by two each.
        assert_eq!(flow.flight(60), (527, 404));
    }

    #[test]
    fn a_steady_flow_keeps_its_window() {
        let mut flow = Flow::new(TcpSpec::default());
        (0..20).for_each(|_| _ = flow.flight(30));
        // 30 after 10: 76 + 2·76·20/10 = 380.
        assert_eq!(flow.flight(30), (379, 378));
        assert_eq!(flow.window.taken, 30);
    }

    #[test]
    fn the_bound_is_that_of_the_largest_buffer() {
        let mut flow = Flow::new(TcpSpec { window: Some(Packets(100)), ..TcpSpec::default() });
        (0..4).for_each(|_| _ = flow.flight(60));
        assert_eq!(flow.flight(60), (99, 98));
    }

    #[test]
    fn what_is_behind_a_gap_takes_room() {
        let mut flow = Flow::new(TcpSpec::default());
        let first = Received { seq: 2, ..flow.received(None) };
        let mut widens = Vec::new();
        for seq in 2..22 {
            widens.push(flow.window.on_data(&Received { seq, ..first }));
        }
        // n segments in one packet take 256 + 1472·n B, which leaves room for 86,870 - 977·n of data. Before the n-th
        // 62,536 + 2000·n are offered: there is room up to n = 8.
        assert_eq!(widens.iter().filter(|&&widens| widens).count(), 8);
        assert!(widens[..8].iter().all(|&widens| widens));
        let variant = serde_json::from_str("\"newreno\"").unwrap();
        let mut flow = Flow::new(TcpSpec { variant, ..TcpSpec::default() });
        assert!(!flow.window.on_data(&first), "its ACK is to be a duplicate");
    }

    #[test]
    fn a_shorter_round_trip_counts_at_once_and_a_longer_one_by_an_eighth() {
        let mut flow = Flow::new(TcpSpec::default());
        let mut rtt_after = |rtt: u64, unread: u32| {
            flow.now += RTT;
            flow.expected += 1;
            let echo = Some(Time::ZERO + (flow.now.since(Time::ZERO) - Duration::from_millis(rtt)));
            let segment = Received { unread, ..flow.received(echo) };
            flow.window.on_data(&segment);
            Duration::from_micros(flow.window.rtt_8 / 8)
        };
        let ms = Duration::from_millis;
        assert_eq!(
            [rtt_after(100, 0), rtt_after(60, 1), rtt_after(140, 0), rtt_after(150, 1)],
            [100, 60, 70, 80].map(ms)
        );
    }

    /// packetdrill `receiver_rtt/rcv-rtt-without-timestamps-new`: a window takes a round trip.
    #[test]
    fn without_timestamps_a_window_is_timed() {
        let mut flow = Flow::new(TcpSpec { window: Some(Packets(5)), ..TcpSpec::default() });
        let mut arrive = |segments: u32, after: Duration| {
            flow.now += after;
            for _ in 0..segments {
                flow.expected += 1;
                let segment = flow.received(None);
                flow.window.on_data(&segment);
            }
            Duration::from_micros(flow.window.rtt_8 / 8)
        };
        assert_eq!(arrive(2, RTT), Duration::ZERO);
        assert_eq!(arrive(4, RTT), RTT, "five more than the first");
        assert_eq!(arrive(5, RTT * 2), RTT, "a longer one does not count");
    }

    #[test]
    fn nothing_is_counted_before_a_round_trip_is_known() {
        let mut flow = Flow::new(TcpSpec::default());
        flow.now += RTT;
        flow.expected += 50;
        flow.window.on_read(flow.expected, 0, flow.now);
        assert_eq!((flow.window.segments(), flow.window.counted.0), (87, 1));
    }
}
