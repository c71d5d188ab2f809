//! When a receiver acknowledges, as Linux does: quick ACKs, an adaptive delay, and compressed SACKs.
//!
//! The first segments of a connection, and those behind a pause longer than the RTO or behind a copy, are acknowledged
//! one by one (`tcp_incr_quickack`). So is each that widens the window, and one with PSH when it has been read. After that
//! every second segment is, and a single one after `ato`, which follows the distance of segments (`tcp_event_data_recv`, `tcp_send_delayed_ack`). Behind a gap the first three segments are
//! acknowledged immediately. Then one ACK covers those of up to a millisecond or a twentieth of a round trip
//! (`__tcp_ack_snd_check`).

use crate::params::TcpParams;
use crate::timers::Timer;
use roamlab_engine::{Duration, Time};

/// Most quick ACKs in a row (TCP_MAX_QUICKACKS).
const MOST_QUICK: u32 = 16;
/// The least delay (TCP_ATO_MIN, TCP_DELACK_MIN), and the largest (TCP_DELACK_MAX).
const LEAST_DELAY: Duration = Duration::from_millis(40);
const MOST_DELAY: Duration = Duration::from_millis(200);
/// ACKs behind a gap before they are compressed (TCP_FASTRETRANS_THRESH), and the most that one replaces
/// (tcp_comp_sack_nr).
const UNCOMPRESSED: u32 = 3;
const MOST_COMPRESSED: u32 = 44;
/// The longest that SACKs are held (tcp_comp_sack_delay_ns), and the part of a round trip.
const MOST_COMPRESSION: Duration = Duration::from_millis(1);
const COMPRESSION_PARTS: u64 = 20;
/// Most that the timer may be late, to expire with another one (tcp_comp_sack_slack_ns).
const COMPRESSION_SLACK: Duration = Duration::from_micros(100);

/// SACK blocks that an ACK is expected to report, however many there are (TCP_SACK_BLOCKS_EXPECTED).
const BLOCKS_EXPECTED: usize = 2;

/// The time of the ACK of a segment.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum AckTime {
    /// Immediately, before the application reads (`__tcp_ack_snd_check`).
    Now,
    /// When the application has read (`tcp_cleanup_rbuf`). The timer has been set to this time before that.
    WhenRead(Option<Duration>),
    /// After this time, unless another one is due earlier.
    After(Duration),
    /// With those of other segments behind the gap, at [`QuickAcks::held_until`].
    Compressed,
}

/// A segment that arrived.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Arrival {
    /// It was the next one expected.
    pub in_order: bool,
    /// It had arrived before and is in order.
    pub is_copy: bool,
    /// An ACK has covered it and what follows: it is answered and not processed (`tcp_sequence`).
    pub is_old: bool,
    /// The application reads it immediately.
    pub is_read: bool,
    /// It had PSH.
    pub pushed: bool,
    /// It widens the window.
    pub widens: bool,
    /// Unread data leaves room for the window (`__tcp_select_window`). Otherwise the ACK waits until it is read.
    pub keeps_window: bool,
    /// More than half of the room is taken.
    pub is_half_full: bool,
    /// The sender may have a small window: a mark begins to be echoed, or a segment is not ECN-capable that was sent again
    /// (`__tcp_ecn_check_ce`).
    pub asks_two: bool,
    /// Segments behind a gap are held now.
    pub gap: bool,
    /// It was in order and has closed the last gap.
    pub closes_gap: bool,
    /// The next segment expected, and what the last ACK expected.
    pub expected: u32,
    pub last_ack: u32,
    /// The round trip that the receiver has measured, if it measures one (`rcv_rtt_est`).
    pub round_trip: Option<Duration>,
}

/// The state of a receiver that acknowledges as Linux does.
#[derive(Clone, Debug)]
pub(crate) struct QuickAcks {
    /// Segments of half of the window at most are acknowledged one by one.
    most: u32,
    /// How many are to be (icsk_ack.quick).
    quick: u32,
    /// An ACK would cover a segment that none has covered yet; only such a one is a quick ACK (ICSK_ACK_SCHED).
    scheduled: bool,
    /// The delay of a single segment, in whole ticks; zero before the first.
    ato: Duration,
    /// The tick of the latest segment in order, or of the end of the handshake before it (`lrcvtime`).
    last_data: u64,
    /// The latest segment of any kind, whose time the timestamp of a held ACK has.
    last_arrival: Time,
    tick: Duration,
    /// When the SYN was answered, until the first segment behind it.
    answered: Option<Time>,
    /// The round trip of the handshake, and the RTO that follows from it.
    rtt: Duration,
    rto: Duration,
    /// ACKs sent behind the gap at this segment, and held ones.
    gap_at: u32,
    at_gap: u32,
    held: u32,
    /// The tick at which the ACK that waits is due.
    due: Option<u64>,
    /// When the timer of delayed ACKs expires. ACKs do not stop it (`inet_csk_clear_xmit_timer`).
    delayed_until: Time,
    /// Expires when the held ACKs have to be sent.
    pub held_until: Timer,
}

impl QuickAcks {
    pub fn new(params: &TcpParams) -> QuickAcks {
        QuickAcks {
            most: (params.window.0 / 2).clamp(2, MOST_QUICK),
            quick: 0,
            scheduled: false,
            ato: Duration::ZERO,
            last_data: 0,
            last_arrival: Time::ZERO,
            tick: params.tick.max(Duration::from_nanos(1)),
            answered: None,
            rtt: Duration::ZERO,
            rto: params.initial_rto,
            gap_at: 0,
            at_gap: 0,
            held: 0,
            due: None,
            delayed_until: Time::ZERO,
            held_until: Timer::default(),
        }
    }

    /// The SYN is answered.
    pub fn on_syn(&mut self, now: Time) {
        self.answered = Some(now);
    }

    /// The SYN/ACK is acknowledged, by an ACK alone or by the first data: the handshake is measured.
    #[inline]
    pub fn on_handshake(&mut self, now: Time) {
        if let Some(answered) = self.answered.take() {
            self.rtt = now.since(answered);
            self.rto = self.in_ticks(self.rtt + (self.rtt * 2).max(MOST_DELAY));
            self.last_data = self.ticks(now);
        }
    }

    /// A time in whole ticks, rounded up (`usecs_to_jiffies`).
    #[inline]
    fn in_ticks(&self, time: Duration) -> Duration {
        self.tick * time.as_nanos().div_ceil(self.tick.as_nanos())
    }

    /// A segment with data arrived.
    #[inline(always)]
    pub fn on_data(&mut self, arrival: &Arrival, now: Time) -> AckTime {
        self.on_handshake(now);
        self.last_arrival = now;
        if arrival.is_old {
            self.expect_quick();
            return AckTime::Now;
        }
        self.scheduled = true;
        if arrival.is_copy {
            self.expect_quick();
        } else if arrival.in_order {
            self.adapt(now);
        }
        if arrival.asks_two {
            (self.quick, self.ato) = (self.quick.max(self.most.min(2)), LEAST_DELAY);
        }
        self.widened(arrival.widens);
        let several = arrival.expected.saturating_sub(arrival.last_ack) >= 2;
        if several && arrival.is_half_full {
            self.quick = 0;
        }
        if several && arrival.keeps_window || self.quick > 0 || arrival.closes_gap {
            return AckTime::Now;
        }
        let time = if arrival.gap { self.behind_gap(arrival, now) } else { self.later(now) };
        // `tcp_cleanup_rbuf`
        let when_read = arrival.is_read && (several || arrival.pushed && !arrival.gap);
        match time {
            AckTime::After(delay) if when_read => AckTime::WhenRead(Some(delay)),
            AckTime::Compressed if when_read => AckTime::WhenRead(None),
            other => other,
        }
    }

    /// The ACK waits, unless another one does and has waited most of its time (`tcp_send_delayed_ack`).
    #[inline]
    fn later(&mut self, now: Time) -> AckTime {
        let delay = self.delay();
        let (now, ticks) = (self.ticks(now), delay.as_nanos() / self.tick.as_nanos());
        if self.due.is_some_and(|due| due <= now + ticks / 4) {
            return AckTime::Now;
        }
        self.due = Some(self.due.map_or(now + ticks, |due| due.min(now + ticks)));
        AckTime::After(delay)
    }

    /// The next segments are acknowledged one by one (`tcp_enter_quickack_mode`).
    fn expect_quick(&mut self) {
        (self.quick, self.ato) = (self.quick.max(self.most), LEAST_DELAY);
    }

    /// True if a segment behind a gap sends the held ACK immediately, and has no separate ACK (`tcp_sack_new_ofo_skb`).
    /// `block` is the index of the SACK block that the segment extends, or the number of blocks if it begins another
    /// one.
    pub fn flushes_for_block(&self, block: impl FnOnce() -> usize) -> bool {
        self.held > 0 && block() >= BLOCKS_EXPECTED
    }

    /// A segment that widens the window makes the next ACK a quick one (`tcp_grow_window`).
    pub fn widened(&mut self, widens: bool) {
        self.quick |= u32::from(widens);
    }

    /// A single segment is acknowledged at this time at the latest.
    pub fn delay_until(&mut self, time: Time) {
        self.delayed_until = time;
    }

    /// The delay follows the distance of segments.
    #[inline]
    fn adapt(&mut self, now: Time) {
        let now = self.ticks(now);
        let distance = self.tick * (now - self.last_data);
        if self.ato == Duration::ZERO {
            (self.quick, self.ato) = (self.most, LEAST_DELAY);
        } else if distance <= LEAST_DELAY / 2 {
            self.ato = self.half() + LEAST_DELAY / 2;
        } else if distance < self.ato {
            self.ato = self.bounded(self.half() + distance);
        } else if distance > self.rto {
            self.quick = self.quick.max(self.most);
        }
        self.last_data = now;
    }

    /// The kernel's clock at this time, in ticks (`jiffies`).
    #[inline]
    fn ticks(&self, time: Time) -> u64 {
        time.as_nanos() / self.tick.as_nanos()
    }

    /// A delay, of the RTO and 200 ms at most.
    #[inline]
    fn bounded(&self, delay: Duration) -> Duration {
        delay.min(self.rto).min(MOST_DELAY)
    }

    /// Half of the delay in whole ticks.
    #[inline]
    fn half(&self) -> Duration {
        self.tick * (self.ato.as_nanos() / self.tick.as_nanos() / 2)
    }

    #[inline]
    fn delay(&self) -> Duration {
        if self.ato <= LEAST_DELAY {
            return self.ato;
        }
        let rtt = self.in_ticks(self.rtt);
        self.ato.min(if rtt == Duration::ZERO { MOST_DELAY } else { rtt.max(LEAST_DELAY) })
    }

    #[inline(never)]
    fn behind_gap(&mut self, arrival: &Arrival, now: Time) -> AckTime {
        if self.held >= MOST_COMPRESSED {
            return AckTime::Now;
        }
        if self.gap_at != arrival.expected {
            (self.gap_at, self.at_gap) = (arrival.expected, 0);
        }
        if self.at_gap < UNCOMPRESSED {
            self.at_gap += 1;
            return AckTime::Now;
        }
        self.held += 1;
        if !self.held_until.runs() {
            let rtt = arrival.round_trip.map_or(self.rtt, |measured| measured.min(self.rtt));
            let delay = MOST_COMPRESSION.min(rtt / COMPRESSION_PARTS) + COMPRESSION_SLACK;
            // Also the timer of delayed ACKs ends the wait, where it runs on (`tcp_delack_timer_handler`).
            let stale = self.delayed_until.since(now);
            let ends = if stale > Duration::ZERO { delay.min(stale) } else { delay };
            self.held_until.start(now, ends);
        }
        AckTime::Compressed
    }

    /// A deadline has come: the time that the timestamp of the held ACK has, if it is that of held ACKs. The timer of those
    /// does not read the clock (`tcp_compressed_ack_kick`). If the delay of an ACK is over (`delayed`), the next one is longer.
    pub fn on_deadline(&mut self, delayed: bool, now: Time) -> Option<Time> {
        if delayed {
            self.ato = self.bounded(self.ato * 2);
        }
        let by_delay = now >= self.delayed_until && self.delayed_until > self.last_arrival;
        self.held_until.expired(now).then_some(if by_delay { now } else { self.last_arrival })
    }

    /// An ACK goes out. `is_half_full`: more than half of the room is taken, which ends quick ACKs (`__tcp_select_window`).
    #[inline]
    pub fn on_ack(&mut self, is_half_full: bool) {
        if is_half_full {
            self.quick = 0;
        }
        (self.held, self.due) = (0, None);
        self.held_until.stop();
        if !std::mem::take(&mut self.scheduled) {
            return;
        }
        if self.quick == 1 {
            self.ato = LEAST_DELAY;
        }
        self.quick = self.quick.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpSpec};

    fn rules() -> QuickAcks {
        QuickAcks::new(&TcpSpec::default().resolve(Profile::Linux6).unwrap())
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn each_gap_has_three_acks_before_they_are_compressed() {
        // `__tcp_ack_snd_check`: dup_ack_counter begins again where rcv_nxt is not that of the latest gap.
        let mut rules = rules();
        let mut behind = |expected| {
            let arrival = Arrival {
                in_order: false,
                is_copy: false,
                is_old: false,
                is_read: false,
                pushed: false,
                widens: false,
                keeps_window: true,
                is_half_full: false,
                asks_two: false,
                gap: true,
                closes_gap: false,
                expected,
                last_ack: expected,
                round_trip: None,
            };
            rules.behind_gap(&arrival, Time::ZERO)
        };
        let three = [AckTime::Now, AckTime::Now, AckTime::Now, AckTime::Compressed];
        assert_eq!([5; 4].map(&mut behind), three);
        assert_eq!([9; 4].map(&mut behind), three);
    }

    #[test]
    fn segments_that_come_closer_than_the_delay_adapt_it() {
        // `tcp_event_data_recv`: up to 20 ms it nears 40; below the delay half of it and the distance; otherwise it stays.
        let after = |distance| {
            let mut rules = QuickAcks { ato: ms(100), ..rules() };
            rules.adapt(Time::ZERO + ms(distance));
            rules.ato
        };
        assert_eq!([20, 96, 100, 500].map(after), [ms(70), ms(146), ms(100), ms(100)]);
    }
}
