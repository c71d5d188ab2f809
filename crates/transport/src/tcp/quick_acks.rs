//! When a receiver acknowledges, as Linux does: quick ACKs, an adaptive delay, and compressed SACKs.
//!
//! The first segments of a connection, and those behind a pause longer than the RTO or behind a copy, are acknowledged
//! one by one (`tcp_incr_quickack`). So is each that widens the window, and one with PSH when it has been read. After that
//! every second segment is, and a single one after `ato`, which follows the distance of segments (`tcp_event_data_recv`, `tcp_send_delayed_ack`). Behind a gap the first three segments are
//! acknowledged immediately. Then one ACK covers those of up to a millisecond or a twentieth of a round trip
//! (`__tcp_ack_snd_check`).

use crate::params::TcpParams;
use crate::tcp::timers::Timer;
use roamlab_engine::{Duration, Time};

/// Most quick ACKs in a row (TCP_MAX_QUICKACKS).
const MOST_QUICK: u32 = 16;
/// The least delay (TCP_ATO_MIN, TCP_DELACK_MIN), and the largest (TCP_DELACK_MAX).
const LEAST_DELAY: Duration = Duration::from_millis(40);
const MOST_DELAY: Duration = Duration::from_millis(200);
/// ACKs behind a gap before they are compressed (TCP_FASTRETRANS_THRESH), and the most that one stands for
/// (tcp_comp_sack_nr).
const UNCOMPRESSED: u32 = 3;
const MOST_COMPRESSED: u32 = 44;
/// The longest that SACKs are held (tcp_comp_sack_delay_ns), and the part of a round trip.
const MOST_COMPRESSION: Duration = Duration::from_millis(1);
const COMPRESSION_PARTS: u64 = 20;
/// What a timer without company takes longer (tcp_comp_sack_slack_ns).
const COMPRESSION_SLACK: Duration = Duration::from_micros(100);

/// What a segment means for the ACK.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum AckTime {
    /// At once.
    Now,
    /// After this time, unless another one is due earlier.
    After(Duration),
    /// With those of other segments behind the gap, at [`QuickAcks::held_until`].
    Compressed,
}

/// A segment that arrived.
#[derive(Copy, Clone, Debug)]
pub(super) struct Arrival {
    /// It was the next one expected.
    pub in_order: bool,
    /// It had arrived before.
    pub is_copy: bool,
    /// It had PSH, and the application has taken it.
    pub pushed: bool,
    /// It widens the window.
    pub widens: bool,
    /// What waits to be read leaves room for the window (`__tcp_select_window`); otherwise the ACK goes when that is read.
    pub keeps_window: bool,
    /// More than half of the room is taken.
    pub is_half_full: bool,
    /// Segments behind a gap are held now.
    pub gap: bool,
    /// It was in order and has closed the last gap.
    pub closes_gap: bool,
    /// The next segment expected, and what the last ACK expected.
    pub expected: u32,
    pub last_ack: u32,
}

/// The state of a receiver that acknowledges as Linux does.
#[derive(Clone, Debug)]
pub(super) struct QuickAcks {
    /// Segments of half of the window at most are acknowledged one by one.
    most: u32,
    /// How many are to be (icsk_ack.quick).
    quick: u32,
    /// The delay of a single segment; zero before the first.
    ato: Duration,
    last_data: Time,
    /// When the SYN was answered, until the first segment behind it.
    answered: Option<Time>,
    /// The round trip of the handshake, and the RTO that follows from it.
    rtt: Duration,
    rto: Duration,
    /// ACKs sent behind the gap at this segment, and held ones.
    gap_at: u32,
    at_gap: u32,
    held: u32,
    /// When the timer of delayed ACKs goes off, which ACKs do not stop (`inet_csk_clear_xmit_timer`).
    delayed_until: Time,
    /// Goes off when the held ones have to go.
    pub held_until: Timer,
}

impl QuickAcks {
    pub fn new(params: &TcpParams) -> QuickAcks {
        QuickAcks {
            most: (params.window.0 / 2).clamp(2, MOST_QUICK),
            quick: 0,
            ato: Duration::ZERO,
            last_data: Time::ZERO,
            answered: None,
            rtt: Duration::ZERO,
            rto: params.initial_rto,
            gap_at: 0,
            at_gap: 0,
            held: 0,
            delayed_until: Time::ZERO,
            held_until: Timer::default(),
        }
    }

    /// The SYN is answered.
    pub fn on_syn(&mut self, now: Time) {
        self.answered = Some(now);
    }

    /// The SYN/ACK is acknowledged, by an ACK alone or by the first data: the handshake is measured.
    pub fn on_handshake(&mut self, now: Time) {
        if let Some(answered) = self.answered.take() {
            self.rtt = now.since(answered);
            self.rto = self.rtt + (self.rtt * 2).max(MOST_DELAY);
        }
    }

    /// A segment with data arrived.
    pub fn on_data(&mut self, arrival: &Arrival, now: Time) -> AckTime {
        self.on_handshake(now);
        if arrival.is_copy {
            (self.quick, self.ato) = (self.quick.max(self.most), LEAST_DELAY);
        } else if arrival.in_order {
            self.adapt(now);
        }
        if arrival.widens {
            self.quick |= 1; // tcp_grow_window
        }
        let unacknowledged = arrival.expected.saturating_sub(arrival.last_ack);
        let several = unacknowledged >= 2;
        let quick = self.quick > 0;
        if several && arrival.is_half_full {
            self.quick = 0;
        }
        if several && arrival.keeps_window || quick || arrival.closes_gap || arrival.pushed {
            return AckTime::Now;
        }
        let time =
            if arrival.gap { self.behind_gap(arrival.expected, now) } else { AckTime::After(self.delay()) };
        if several { AckTime::Now } else { time } // `tcp_cleanup_rbuf`
    }

    /// A single segment is acknowledged at this time at the latest.
    pub fn delay_until(&mut self, time: Time) {
        self.delayed_until = time;
    }

    /// The delay follows the distance of segments.
    fn adapt(&mut self, now: Time) {
        let distance = now.since(self.last_data);
        if self.ato == Duration::ZERO {
            (self.quick, self.ato) = (self.most, LEAST_DELAY);
        } else if distance <= LEAST_DELAY / 2 {
            self.ato = self.ato / 2 + LEAST_DELAY / 2;
        } else if distance < self.ato {
            self.ato = (self.ato / 2 + distance).min(self.rto);
        } else if distance > self.rto {
            self.quick = self.quick.max(self.most);
        }
        self.last_data = now;
    }

    fn delay(&self) -> Duration {
        let round_trip = if self.rtt == Duration::ZERO { MOST_DELAY } else { self.rtt.max(LEAST_DELAY) };
        if self.ato > LEAST_DELAY { self.ato.min(round_trip).min(MOST_DELAY) } else { self.ato }
    }

    fn behind_gap(&mut self, expected: u32, now: Time) -> AckTime {
        if self.gap_at != expected {
            (self.gap_at, self.at_gap) = (expected, 0);
        }
        if self.held >= MOST_COMPRESSED || self.at_gap < UNCOMPRESSED {
            self.at_gap = (self.at_gap + 1).min(UNCOMPRESSED);
            return AckTime::Now;
        }
        self.held += 1;
        if !self.held_until.runs() {
            let delay = MOST_COMPRESSION.min(self.rtt / COMPRESSION_PARTS) + COMPRESSION_SLACK;
            // Also the timer of delayed ACKs ends the wait, where it runs on (`tcp_delack_timer_handler`).
            let stale = self.delayed_until.since(now);
            let ends = if stale > Duration::ZERO { delay.min(stale) } else { delay };
            self.held_until.start(now, ends);
        }
        AckTime::Compressed
    }

    /// A deadline has come; whether it is that of held ACKs. If the delay of an ACK is over, the next one is longer.
    pub fn on_deadline(&mut self, delayed: bool, now: Time) -> bool {
        if delayed {
            self.ato = (self.ato * 2).min(self.rto);
        }
        self.held_until.expired(now)
    }

    /// An ACK goes out. `is_half_full`: more than half of the room is taken, which ends quick ACKs (`__tcp_select_window`).
    pub fn on_ack(&mut self, is_half_full: bool) {
        if is_half_full {
            self.quick = 0;
        }
        self.held = 0;
        self.held_until.stop();
        if self.quick == 1 {
            self.ato = LEAST_DELAY;
        }
        self.quick = self.quick.saturating_sub(1);
    }
}
