//! The buffer of a receiver and the time of its ACKs, in the kernel's order. A segment is put into the buffer and
//! may widen the window (`tcp_data_queue`), then it is acknowledged (`__tcp_ack_snd_check`). Then the application reads, and
//! what it has read may be acknowledged too (`tcp_cleanup_rbuf`).

use super::autotuning::Received;
use super::quick_acks::{AckTime, Arrival};
use crate::receiver::TcpReceiver;
use crate::timers::Timer;
use roamlab_engine::Time;
use roamlab_packet::{TcpFlags, TcpHeader};

/// How often a SYN/ACK is sent again (`tcp_synack_retries`).
const SYN_ACK_RETRIES: u8 = 5;

impl TcpReceiver {
    /// The ACK of the SYN/ACK arrived.
    pub(crate) fn complete_handshake(&mut self, now: Time) {
        if let Some(tuning) = &mut self.autotuning {
            tuning.on_handshake(now);
        }
        if let Some(rules) = &mut self.quick_acks {
            rules.on_handshake(now);
        }
    }

    /// A segment that arrived when `expected` was the next one, as its ACK needs it.
    pub(crate) fn arrival(
        &self,
        header: &TcpHeader,
        [fresh, fills_gap, widens]: [bool; 3],
        expected: u32,
    ) -> Arrival {
        let gap = self.received.base() < self.highest_end;
        let in_order = header.seq == expected;
        let [keeps_window, is_half_full] = self.room();
        Arrival {
            in_order,
            is_copy: !fresh && header.seq < expected,
            is_old: self.only_answers(header.seq),
            is_read: in_order && self.reads_at_once,
            pushed: header.flags.has(TcpFlags::PSH),
            widens,
            keeps_window,
            is_half_full,
            asks_two: self.asks_two,
            gap,
            closes_gap: fills_gap && !gap,
            expected: self.received.base(),
            last_ack: self.last_ack,
            round_trip: self.autotuning.as_ref().and_then(|tuning| tuning.round_trip()),
        }
    }

    /// The ACK of a segment that has `advanced` the segments in order. That of a SYN or FIN (`is_sign`) is sent
    /// immediately, and so is that of another mark than before.
    pub(crate) fn acknowledge_in_order(
        &mut self,
        arrival: &Arrival,
        advanced: u32,
        [is_sign, mark_changes]: [bool; 2],
        now: Time,
    ) {
        let Some(rules) = &mut self.quick_acks else { return };
        let time = if is_sign { AckTime::Now } else { rules.on_data(arrival, now) };
        let time = if mark_changes { AckTime::Now } else { time };
        self.delay_ack(time, now);
        if time == AckTime::Now {
            self.acknowledge(now);
        }
        let opens = self.reads_at_once && advanced > 0 && self.is_read(advanced, now);
        if matches!(time, AckTime::WhenRead(_)) || opens {
            self.acknowledge(now);
        }
        if is_sign && let Some(rules) = &mut self.quick_acks {
            rules.on_syn(now);
        }
    }

    /// The timer of an ACK that waits.
    #[inline]
    pub(super) fn delay_ack(&mut self, time: AckTime, now: Time) {
        let (AckTime::After(delay) | AckTime::WhenRead(Some(delay))) = time else { return };
        let Some(rules) = &mut self.quick_acks else { return };
        let mut later = Timer::default();
        later.start_by(self.params.wheel(), now, delay);
        self.delayed = self.delayed.earlier(&later);
        rules.delay_until(self.delayed.deadline().unwrap_or(now));
    }

    /// The application has read all segments in order, the last `advanced` of them now. True if that has opened the
    /// window so far that an ACK announces it.
    #[inline]
    pub(super) fn is_read(&mut self, advanced: u32, now: Time) -> bool {
        if let Some(tuning) = &mut self.autotuning {
            tuning.is_read(self.received.base(), advanced, now);
        }
        self.opens()
    }

    /// The application has read some of the segments in order; `unread` of them are left.
    pub(crate) fn take_reading(&mut self, now: Time) {
        if let Some(tuning) = &mut self.autotuning {
            tuning.on_read(self.received.base(), self.unread, now);
            tuning.holds(self.unread);
        }
    }

    /// True if the data read has opened the window so far that an ACK announces it.
    fn opens(&self) -> bool {
        let (expected, shift) = (self.received.base(), self.shift.unwrap_or(0));
        self.autotuning.as_ref().is_some_and(|tuning| tuning.opens(expected, shift))
    }

    /// A segment arrived. True if it widens the window.
    pub(crate) fn tune(&mut self, header: &TcpHeader, fresh: bool, now: Time) -> bool {
        let is_data = header.payload > 0 && !self.only_answers(header.seq);
        let Some(tuning) = &mut self.autotuning else { return false };
        if header.flags.has(TcpFlags::SYN) {
            tuning.on_handshake(now);
        }
        let echo = header.timestamps.map(|timestamps| timestamps.echo);
        let (seq, expected, unread) = (header.seq, self.received.base(), self.unread);
        is_data && tuning.on_data(&Received { now, echo, seq, expected, unread, fresh })
    }

    /// True if the buffer has room for the window that was offered last, and true if more than half of it is taken.
    pub(crate) fn room(&self) -> [bool; 2] {
        self.autotuning.as_ref().map_or([true, false], |tuning| {
            [tuning.keeps_window(self.shift.unwrap_or(0)), tuning.is_half_full()]
        })
    }

    /// True if a segment that arrived behind a gap sends the held ACK immediately, and has no separate ACK.
    pub(crate) fn flushes_for_block(&self, seq: u32) -> bool {
        let block = || {
            let run = self.received.run_start(seq)..self.received.first_missing(seq);
            self.reported.iter().position(|other| run.contains(other)).unwrap_or(self.reported.len())
        };
        seq >= self.received.base()
            && self.quick_acks.as_ref().is_some_and(|rules| rules.flushes_for_block(block))
    }

    /// A segment arrived that has no separate ACK; `widens`: it widens the window.
    pub(crate) fn widened(&mut self, widens: bool) {
        if let Some(rules) = &mut self.quick_acks {
            rules.widened(widens);
        }
    }

    /// The SYN/ACK has gone out: the timer of its request runs, each time twice as long (`reqsk_timeout`). It is that of
    /// delayed ACKs, of which there are none yet.
    pub(crate) fn await_third_segment(&mut self, now: Time) {
        if !self.params.repeats_syn_ack() {
            return;
        }
        let expired = *self.unanswered.get_or_insert(0);
        let span = self.params.initial_rto * (1 << expired);
        self.delayed.start_by(self.params.wheel(), now, span.min(self.params.max_rto));
    }

    /// The SYN/ACK goes out again (`reqsk_timer_handler`).
    pub(crate) fn answer_again(&mut self, now: Time) {
        let Some(expired) = &mut self.unanswered else { return };
        if *expired == SYN_ACK_RETRIES {
            return;
        }
        *expired += 1;
        self.syn_due = true;
        self.acknowledge(now);
        if let Some(rules) = &mut self.quick_acks {
            rules.on_syn(now);
        }
    }

    /// True if a SYN is one that was answered before: Linux sends the same SYN/ACK again, which echoes the first SYN
    /// (`tcp_check_req`).
    pub(crate) fn repeats_answer(&self, syn: bool) -> bool {
        syn && self.params.repeats_syn_ack() && self.received.base() > 0
    }

    /// True if Linux answers a segment and does nothing else with it: an ACK has covered it and more (`tcp_sequence`).
    pub(crate) fn only_answers(&self, seq: u32) -> bool {
        self.quick_acks.is_some() && seq + 1 < self.last_ack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Segment;
    use crate::{Profile, TcpProfile, TcpSpec};
    use roamlab_engine::{Bytes, Duration, Packets};
    use roamlab_packet::{Ecn, Timestamps};

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    /// A receiver with the profile `linux-6`.
    struct End(TcpReceiver);

    impl End {
        /// It has answered a SYN at 1 s, and the handshake is complete `rtt_ms` later.
        fn new(rtt_ms: u64, profile: TcpProfile) -> End {
            let mut end = End(TcpReceiver::new(TcpSpec::default().resolve(profile).unwrap()));
            end.arrives(0, TcpFlags::SYN, 1_000_000);
            let bare = TcpHeader { seq: 1, flags: TcpFlags::ACK, ..TcpHeader::default() };
            end.0.on_segment(&bare, Ecn::NotEct, at(1_000_000 + 1000 * rtt_ms));
            end
        }

        fn arrives(&mut self, seq: u32, flags: TcpFlags, micros: u64) -> Vec<Segment> {
            let timestamps = Some(Timestamps { value: at(micros), echo: Time::ZERO });
            let header = TcpHeader { seq, flags, payload: 1448, timestamps, ..TcpHeader::default() };
            self.0.on_segment(&header, Ecn::NotEct, at(micros));
            self.sent()
        }

        /// The segments that the ACKs of a segment of data expect next.
        fn acks(&mut self, seq: u32, micros: u64) -> Vec<u32> {
            self.arrives(seq, TcpFlags::ACK, micros).iter().map(|sent| sent.header.ack).collect()
        }

        fn sent(&mut self) -> Vec<Segment> {
            std::iter::from_fn(|| self.0.poll_transmit(Time::ZERO)).collect()
        }

        /// The segment that the next deadline sends: when, and the time in its timestamp.
        fn fires(&mut self) -> Option<(u64, u64)> {
            let due = self.0.next_deadline()?;
            self.0.on_deadline(due);
            let stamp = self.sent().first()?.header.timestamps?.value;
            Some((due.as_nanos() / 1000, stamp.as_nanos() / 1000))
        }
    }

    fn fixed() -> TcpProfile {
        TcpProfile { receive_autotuning: Some(false), ..Profile::Linux6.into() }
    }

    /// The receiver of a long flow, its quick ACKs used up: 19 is expected at 2 s, and no ACK waits.
    fn later() -> End {
        let mut end = End::new(100, fixed());
        (1..=18).for_each(|seq| _ = end.acks(seq, 1_800_000 + u64::from(seq) * 10_000));
        end
    }

    #[test]
    fn a_held_ack_has_the_time_of_the_latest_segment() {
        let mut end = later();
        (20..=22).for_each(|seq| assert_eq!(end.acks(seq, 2_000_000 + u64::from(seq)), [19]));
        assert_eq!(end.acks(23, 2_100_000), Vec::<u32>::new());
        // 1 ms and 0.1 ms after it, with its time (`tcp_compressed_ack_kick`).
        assert_eq!(end.fires(), Some((2_101_100, 2_100_000)));
    }

    #[test]
    fn the_timer_of_an_earlier_delayed_ack_reads_the_clock() {
        let mut end = later();
        // 19 waits for 40 ms. 20 ends that, and the timer runs on to the tick behind 2,040 ms.
        assert_eq!([end.acks(19, 2_000_500), end.acks(20, 2_010_000)], [vec![], vec![21]]);
        (22..=24).for_each(|seq| assert_eq!(end.acks(seq, 2_020_000 + u64::from(seq)), [21]));
        assert_eq!(end.acks(25, 2_040_200), Vec::<u32>::new());
        assert_eq!(end.fires(), Some((2_041_000, 2_041_000)));
    }

    #[test]
    fn what_an_ack_has_covered_is_answered_and_takes_no_quick_ack() {
        let mut end = later();
        assert_eq!([end.acks(3, 2_000_000), end.acks(3, 2_001_000)], [[19], [19]]);
        // All sixteen are left (`tcp_send_dupack`).
        (19..35).for_each(|seq| assert_eq!(end.acks(seq, 2_002_000 + u64::from(seq) * 1000), [seq + 1]));
        assert_eq!(end.acks(35, 2_040_000), Vec::<u32>::new());
    }

    #[test]
    fn the_timestamp_of_what_an_ack_has_covered_is_not_echoed() {
        let echo = |seq: u32| {
            let sent = later().arrives(seq, TcpFlags::ACK, 2_000_000);
            sent[0].header.timestamps.map(|timestamps| timestamps.echo)
        };
        assert_eq!(echo(17), Some(at(1_970_000)), "that of 17, the first one that the last ACK covered");
        assert_eq!(echo(18), Some(at(2_000_000)), "the last one that was acknowledged is still looked at");
    }

    #[test]
    fn a_copy_behind_a_gap_brings_no_quick_acks() {
        let mut end = later();
        (20..=23).for_each(|seq| _ = end.acks(seq, 2_000_000 + u64::from(seq)));
        assert_eq!(end.acks(21, 2_000_100), Vec::<u32>::new());
    }

    #[test]
    fn after_a_first_segment_behind_a_gap_acks_are_quick_only_while_the_window_grows() {
        let mut end = End::new(100, Profile::Linux6.into());
        // Its ACK is the quick one of a wider window, which makes the delay known. There was no pause since the handshake.
        assert_eq!(end.acks(3, 1_110_000), [1]);
        (1..=2).for_each(|seq| _ = end.acks(seq, 1_111_000 + u64::from(seq)));
        let acks: Vec<usize> =
            (4..=17).map(|seq| end.acks(seq, 1_120_000 + u64::from(seq) * 100).len()).collect();
        assert_eq!(acks[..4], [1; 4]);
        assert_eq!(acks[10..].iter().sum::<usize>(), 2, "every second: {acks:?}");
    }

    #[test]
    fn a_third_block_sends_the_held_ack_and_none_of_its_own() {
        let mut end = later();
        for (number, seq) in [20, 21, 23, 24].into_iter().enumerate() {
            assert_eq!(end.acks(seq, 2_000_000 + number as u64).len(), usize::from(number < 3));
        }
        // 24 is held. 26 begins a third block: the ACK that goes does not report it.
        let sent = end.arrives(26, TcpFlags::ACK, 2_000_010);
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0].header.sacks.as_slice(), [(23, 25), (20, 22)]);
        assert!(end.0.quick_acks.as_ref().is_some_and(|rules| !rules.held_until.runs()));
    }

    #[test]
    fn a_block_without_room_comes_back_when_two_are_joined() {
        let mut end = later();
        let mut last = Vec::new();
        for (number, seq) in [21, 23, 25, 27, 24].into_iter().enumerate() {
            let mut sent = end.arrives(seq, TcpFlags::ACK, 2_000_000 + 10_000 * number as u64);
            let due = end.0.next_deadline().filter(|_| sent.is_empty());
            due.into_iter().for_each(|due| end.0.on_deadline(due));
            sent.extend(end.sent());
            last = sent[0].header.sacks.as_slice().to_vec();
        }
        assert_eq!(last, [(23, 26), (27, 28), (21, 22)]);
    }

    #[test]
    fn the_window_scale_is_that_of_the_buffer_with_the_memory_of_packets() {
        // 2,885 · 1,448 B of data are in 6 MiB, which is above 2^22 B; without their packets below it.
        let shift = |tuned: bool| {
            let spec =
                TcpSpec { window: Some(Packets(2885)), segment: Some(Bytes(1448)), ..TcpSpec::default() };
            let profile = TcpProfile { receive_autotuning: Some(tuned), ..Profile::Linux6.into() };
            TcpReceiver::new(spec.resolve(profile).unwrap()).window_shift()
        };
        assert_eq!([shift(true), shift(false)], [Some(7), Some(6)]);
    }
}
