//! The clock of timestamps: whole milliseconds (`include/net/tcp.h`).

use roamlab_congestion::stamp;
use roamlab_engine::{Duration, Time};

/// The round-trip time in the resolution of timestamps (`tcp_rtt_tsopt_us`).
pub(crate) fn stamps_between(sent: Time, now: Time) -> Duration {
    Duration::from_millis(stamp(now).saturating_sub(stamp(sent)).max(1))
}

/// When what is echoed was sent, by its timestamp.
pub(crate) fn in_stamps(sent: Time, now: Time) -> Time {
    Time::ZERO + now.since(Time::ZERO).saturating_sub(stamps_between(sent, now))
}
