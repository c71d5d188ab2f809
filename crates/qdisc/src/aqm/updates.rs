//! The updates of a controller at equal intervals, made up for at each arrival and departure.

use roamlab_engine::{Duration, Time};

/// The growth of a PI controller's probability in an update. It is `alpha` for each second of `delay` above
/// `target`, `beta` for each second by which it has grown since `before` (RFC 8033 §4.2, RFC 9332 appendix
/// A.1).
pub(crate) fn pi_growth(
    (alpha, beta): (f64, f64),
    target: Duration,
    delay: Duration,
    before: Duration,
) -> f64 {
    let [target, delay, before] = [target, delay, before].map(Duration::as_secs_f64);
    alpha * (delay - target) + beta * (delay - before)
}

/// Updates at the multiples of a period.
#[derive(Clone, Debug)]
pub(crate) struct Updates {
    period: Duration,
    next: Time,
}

/// ASSUMPTION: of the updates for which nothing arrived or left, only the last ones, of this number, are
/// made. A controller with constant inputs is stationary by then.
const MOST: u64 = 1 << 14;

impl Updates {
    pub(crate) fn each(period: Duration) -> Updates {
        Updates { period, next: Time::ZERO + period }
    }

    /// Makes the updates that are due; `update` gets the time of each.
    #[inline(always)]
    pub(crate) fn make_up(&mut self, now: Time, update: impl FnMut(Time)) {
        if now >= self.next {
            self.make_up_due(now, update);
        }
    }

    #[inline(never)]
    fn make_up_due(&mut self, now: Time, mut update: impl FnMut(Time)) {
        let period = self.period.as_nanos().max(1);
        let due = now.since(self.next).as_nanos() / period;
        if due > MOST {
            self.next += Duration::from_nanos((due - MOST) * period);
        }
        while now >= self.next && self.next.as_nanos() < u64::MAX {
            update(self.next);
            self.next += Duration::from_nanos(period);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_made_up_for_once_each() {
        let (mut updates, mut made) = (Updates::each(Duration::from_millis(15)), Vec::new());
        for now in [14, 15, 29, 60, 60] {
            updates.make_up(Time::from_nanos(now * 1_000_000), |at| made.push(at.as_nanos() / 1_000_000));
        }
        assert_eq!(made, [15, 30, 45, 60]);
    }

    #[test]
    fn after_an_age_only_the_last_are_made() {
        let (mut updates, mut made) = (Updates::each(Duration::from_millis(1)), Vec::new());
        updates.make_up(Time::from_nanos(1 << 62), |at| made.push(at));
        assert_eq!(made.len() as u64, MOST + 1);
        assert!(made.last().is_some_and(|last| (1 << 62) - last.as_nanos() < 1_000_000));
    }
}
