//! The clock of TCP: whole microseconds, and whole milliseconds in timestamps (`include/net/tcp.h`).

use roamlab_engine::{Duration, Time};

/// The time in whole microseconds (`tcp_mstamp`).
pub(crate) fn whole_micros(time: Time) -> Time {
    Time::from_nanos(time.as_nanos() / 1000 * 1000)
}

/// A timestamp: whole milliseconds (TCP_TS_HZ).
pub(crate) fn stamp(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

/// The round-trip time as far as timestamps say it (`tcp_rtt_tsopt_us`).
pub(crate) fn stamps_between(sent: Time, now: Time) -> Duration {
    Duration::from_millis(stamp(now).saturating_sub(stamp(sent)).max(1))
}

/// When what is echoed was sent, by its timestamp.
pub(crate) fn in_stamps(sent: Time, now: Time) -> Time {
    Time::ZERO + now.since(Time::ZERO).saturating_sub(stamps_between(sent, now))
}
