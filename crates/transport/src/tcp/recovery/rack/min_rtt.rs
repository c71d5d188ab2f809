//! The least round-trip time of a connection, which bounds the reordering window.

use roamlab_engine::{Duration, Time};

/// The least value of a window of time, from three candidates of which each is the least since the one before (as in
/// Linux, lib/win_minmax.c; Nichols).
#[derive(Clone, Debug, Default)]
pub(super) struct WindowedMin {
    /// The best one first.
    candidates: Option<[(Time, Duration); 3]>,
}

/// Linux tcp_min_rtt_wlen.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

impl WindowedMin {
    /// The least round-trip time of the last five minutes; zero before the first.
    pub fn least(&self) -> Duration {
        self.candidates.map_or(Duration::ZERO, |candidates| candidates[0].1)
    }

    /// A segment sent once took so long to be acknowledged.
    #[inline(always)]
    pub fn note(&mut self, rtt: Duration, now: Time) {
        match &mut self.candidates {
            Some([best, second, third]) if rtt > best.1 && now.since(third.0) <= MIN_RTT_WINDOW => {
                if rtt <= second.1 {
                    (*second, *third) = ((now, rtt), (now, rtt));
                } else if rtt <= third.1 {
                    *third = (now, rtt);
                }
                self.age(rtt, now);
            }
            _ => self.candidates = Some([(now, rtt); 3]), // a new least one, or nothing left in the window
        }
    }

    fn age(&mut self, rtt: Duration, now: Time) {
        let Some([best, second, third]) = &mut self.candidates else { return };
        let age = now.since(best.0);
        if age > MIN_RTT_WINDOW {
            (*best, *second, *third) = (*second, *third, (now, rtt));
            if now.since(best.0) > MIN_RTT_WINDOW {
                (*best, *second, *third) = (*second, *third, (now, rtt));
            }
        } else if second.0 == best.0 && age > MIN_RTT_WINDOW / 4 {
            (*second, *third) = ((now, rtt), (now, rtt));
        } else if third.0 == second.0 && age > MIN_RTT_WINDOW / 2 {
            *third = (now, rtt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_least_is_forgotten_after_five_minutes() {
        let mut min = WindowedMin::default();
        assert_eq!(min.least(), Duration::ZERO);
        min.note(ms(40), at(0));
        min.note(ms(80), at(1));
        assert_eq!(min.least(), ms(40));
        (1..=30).for_each(|n| min.note(ms(80), at(10 * n)));
        assert_eq!(min.least(), ms(40), "300 s later");
        min.note(ms(80), at(301));
        assert_eq!(min.least(), ms(80));
        min.note(ms(30), at(302));
        assert_eq!(min.least(), ms(30), "a lower one counts at once");
        min.note(ms(90), at(1000));
        assert_eq!(min.least(), ms(90), "nothing was measured in the window");
    }
}
