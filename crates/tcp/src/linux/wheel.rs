//! The wheel that timers are in (`kernel/time/timer.c`).

use roamlab_engine::{Duration, Time};

/// The deltas in ticks from which on a level is used (LVL_START), and by how much a tick of one is coarser than that of the level
/// below (LVL_CLK_SHIFT).
const FIRST_LEVEL: u64 = 63;
const LEVEL_SHIFT: u32 = 3;
const HIGHEST_LEVEL: u32 = 8;
/// Ticks that are counted at time zero, by the ticks of level 2.
///
/// ASSUMPTION: as in the kernel that we compare with. On another host the number is arbitrary.
const FIRST_TICKS: u64 = 8;

/// When a timer expires that is started now for `span` (`calc_wheel_index`). It is on a tick; after more than 62 ticks
/// on every eighth, after more than 503 on every 64th. So it is never early, and late by up to an eighth.
#[inline(never)]
pub(crate) fn expiry(tick: Duration, now: Time, span: Duration) -> Time {
    let tick = tick.as_nanos().max(1);
    let ticks = span.as_nanos().div_ceil(tick);
    let elapsed = now.as_nanos() / tick;
    // Where a timer that expires starts another one, the wheel has counted its tick already (`__run_timers`).
    // ASSUMPTION: a timer has caused all that happens on a tick.
    let ahead = ticks.saturating_sub(u64::from(elapsed * tick == now.as_nanos()));
    let mut level = 0;
    while level < HIGHEST_LEVEL && ahead >= FIRST_LEVEL << (LEVEL_SHIFT * level) {
        level += 1;
    }
    let shift = LEVEL_SHIFT * level;
    let due = (elapsed + FIRST_TICKS).saturating_add(ticks);
    let fires = ((due >> shift) + 1) << shift;
    Time::from_nanos((fires - FIRST_TICKS).saturating_mul(tick))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expiry in ms of a timer. `armed`: when it is started, and `span`: for how long, both in microseconds.
    fn fires(armed: u64, span: u64) -> u64 {
        let now = Time::ZERO + Duration::from_micros(armed);
        expiry(Duration::from_millis(1), now, Duration::from_micros(span)).as_nanos() / 1_000_000
    }

    #[test]
    fn a_timer_goes_off_on_a_tick_that_its_length_makes_coarse() {
        // 248 + 3 is tick 251, which has begun: the next one.
        assert_eq!(fires(248_382, 2_140), 252);
        // As a kernel 6.12 was seen to do: 3999 + 99 to a multiple of 8, and 4264 + 518 to one of 64 less 8.
        assert_eq!((fires(3_999_829, 98_690), fires(4_264_000, 518_000)), (4104, 4792));
        assert_eq!((fires(4_361_000, 498_000), fires(4_792_000, 1_036_000)), (4864, 5880));
        // By a timer that expires at 3712 ms 504 ticks are 503 to the wheel, so that it is a multiple of 8 and none of
        // 64.
        assert_eq!((fires(3_712_000, 504_000), fires(3_712_001, 504_000)), (4224, 4280));
    }
}
