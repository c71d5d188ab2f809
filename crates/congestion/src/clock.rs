//! The clock of a sender that counts whole microseconds, and whole milliseconds in timestamps (`include/net/tcp.h`).

use roamlab_engine::Time;

/// The time in whole microseconds (`tcp_mstamp`).
#[inline]
pub fn whole_micros(time: Time) -> Time {
    Time::from_nanos(time.as_nanos() / 1000 * 1000)
}

/// A timestamp: whole milliseconds (TCP_TS_HZ).
#[inline]
pub fn stamp(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}
