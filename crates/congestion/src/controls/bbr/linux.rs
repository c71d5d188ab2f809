//! BBR as in Linux 6 (`net/ipv4/tcp_bbr.c`). It begins when the SYN is acknowledged, and segments that leave the
//! network before the next burst do not count as in flight. Rates are in segments per 2^24 microseconds, gains in
//! 1/256, and divisions round down.

use super::law::{Law, Real};
use super::{Bbr, Params};
use crate::{Choice, Laws};
use crate::{Found, stamp, whole_micros};
use roamlab_engine::{Duration, Time};

/// A rate of one (BW_UNIT).
const UNIT_SHIFT: u32 = 24;
const MICROS: f64 = 1e6;
/// Parts of a gain (BBR_UNIT).
const GAIN_SHIFT: u32 = 8;
/// Pacing rate per estimated rate, in millionths (`bbr_pacing_margin_percent`).
const PACED: u64 = 990_000;

/// Whole microseconds.
fn micros(time: Duration) -> u64 {
    time.as_nanos() / 1000
}

/// Whole units of a rate in segments per second.
fn units(rate: f64) -> u64 {
    (rate * f64::from(1 << UNIT_SHIFT) / MICROS + 0.5) as u64
}

fn per_second(units: u64) -> f64 {
    units as f64 * MICROS / f64::from(1 << UNIT_SHIFT)
}

fn parts(gain: f64) -> u64 {
    (gain * f64::from(1 << GAIN_SHIFT) + 0.5) as u64
}

/// The kernel's law.
#[derive(Copy, Clone, Debug)]
pub struct Linux;

impl Law for Linux {
    const BEGINS_AT_SYN: bool = true;
    const RECOVERS_BY_ACKS: bool = true;
    const TAKES_TIMEOUT_WINDOW: bool = true;
    const IS_TIMED_BY_DELIVERIES: bool = true;
    const WAITS_FOR_BURST: bool = true;
    const KEEPS_EQUAL_RTT: bool = false;

    fn known(found: Option<Found>) -> Option<Found> {
        found
    }

    fn time(now: Time) -> Time {
        whole_micros(now)
    }

    /// Zero for less than a microsecond.
    fn rate(segments: u32, time: Duration) -> f64 {
        (u64::from(segments) << UNIT_SHIFT).checked_div(micros(time)).map_or(0.0, per_second)
    }

    /// `bbr_rate_bytes_per_sec`.
    fn paced(rate: f64, gain: f64, segment: u32) -> f64 {
        let bytes = (units(rate) * u64::from(segment) * parts(gain)) >> GAIN_SHIFT;
        ((u128::from(bytes) * u128::from(PACED)) >> UNIT_SHIFT) as f64 / f64::from(segment.max(1))
    }

    /// `bbr_bdp`.
    fn product(rate: f64, rtt: Duration, gain: f64) -> f64 {
        let scaled = (units(rate) * micros(rtt) * parts(gain)) >> GAIN_SHIFT;
        scaled.div_ceil(1 << UNIT_SHIFT) as f64
    }

    fn mean(one: f64, other: f64) -> f64 {
        per_second((units(one) + units(other)) >> 1)
    }

    /// Whole milliseconds of the clock.
    fn span(from: Time, to: Time) -> Duration {
        Duration::from_millis(stamp(to).saturating_sub(stamp(from)))
    }

    fn delivered(rate: f64, time: Duration) -> u32 {
        ((units(rate) * micros(time)) >> UNIT_SHIFT) as u32
    }
}

impl Choice for Params {
    type Own = Bbr<Real>;
    type Other = Bbr<Linux>;

    fn law(&self) -> Laws<Bbr<Real>, Bbr<Linux>> {
        if self.as_linux { Laws::Other(Bbr::new(self)) } else { Laws::Own(Bbr::new(self)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_division_is_cut_off() {
        // Eleven segments in 61 ms are 3025.3 units, and 3025 units 180.3 segments per second.
        let eleven = Linux::rate(11, Duration::from_millis(61));
        assert_eq!((units(eleven), (eleven * 1000.0) as u64), (3025, 180_304));
        // 3025 · 1448 · 739 / 256 = 12,644,405.9; · 990,000 / 2^24 = 746,128.9 bytes per second.
        assert_eq!(Linux::paced(eleven, 739.0 / 256.0, 1448) * 1448.0, 746_128.0);
        // 3025 · 166,417 · 739 / 256 / 2^24 = 86.6 segments.
        assert_eq!(Linux::product(eleven, Duration::from_nanos(166_417_999), 739.0 / 256.0), 87.0);
        assert_eq!(Linux::rate(1, Duration::from_nanos(999)), 0.0);
    }
}
