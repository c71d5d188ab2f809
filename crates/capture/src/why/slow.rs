//! Slow periods of a flow in a capture: it gets less than half of its earlier rate (docs/metrics.md).

use crate::why::cause::{Cause, Kind, Sure, counted, lasting, rate};
use crate::why::exchange::FLOOR_NS;
use crate::why::sender::{self, Sender};
use crate::why::silence::quartile;
use roamlab_slow::{Course, LEAST_PKTS, Period, periods};
use serde::Serialize;

/// A limit with a larger share of the time is the one of a period.
const MOST_OF_IT: f64 = 0.5;
/// Packets that come this much further apart come over a slower path.
const SLOWER: f64 = 1.8;

/// A time in which the flow got less than half of its earlier rate.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Slow {
    /// Begin, in s from the first packet of the capture.
    pub start_s: f64,
    /// End.
    pub end_s: f64,
    /// The rate before it, in bit/s.
    pub before_bps: f64,
    /// The rate in it.
    pub rate_bps: f64,
    /// The capture or the flow ended before it did.
    pub cut_off: bool,
    /// The cause; `None`: the sender's own window or pacing, without a loss.
    pub cause: Option<Cause>,
    /// A stall of the flow is in it, and tells it.
    pub has_stall: bool,
    /// It in a sentence.
    pub sentence: String,
}

impl Slow {
    /// Its rates and its time.
    pub(crate) fn rates(&self) -> String {
        let lasts = lasting(((self.end_s - self.start_s) * 1e9) as i64);
        let (now, before) = (rate(self.rate_bps), rate(self.before_bps));
        format!("{now} instead of {before} for {lasts}, {:.3} to {:.3} s", self.start_s, self.end_s)
    }
}

impl Sender<'_> {
    /// The slow periods by the reports of deliveries, in order of time. Those in which the application sent nothing are none.
    pub fn slow_periods(&self, start_ns: i64) -> Vec<Slow> {
        let Some((end, _)) = self.told.last().filter(|_| self.pieces_told >= LEAST_PKTS) else {
            return Vec::new();
        };
        let limit = FLOOR_NS.max(2 * self.exchange.base());
        let told = self.told.iter().map(|(time, bytes)| (time, bytes as f64));
        let course = Course::in_order(told, self.pieces_told);
        let found = periods(&course, None, limit, end).into_iter();
        let active =
            found.filter(|each| self.limits_between(each.start_ns, each.end_ns).application < MOST_OF_IT);
        active.map(|each| self.slow(&each, course.times(), start_ns)).collect()
    }

    fn slow(&self, period: &Period, times: &[i64], start_ns: i64) -> Slow {
        let Period { start_ns: start, end_ns: end, before_bps, rate_bps, cut_off } = *period;
        let seconds = |time: i64| (time - start_ns) as f64 / 1e9;
        let cause = self.why_slow(start, end, times);
        let suspected = match &cause {
            Some(cause) => format!("; suspected first: {}", cause.words()),
            None => "; its own window or pacing kept it slow, and nothing was lost".into(),
        };
        let (start_s, end_s) = (seconds(start), seconds(end));
        let sentence = String::new();
        let made = Slow { start_s, end_s, before_bps, rate_bps, cut_off, cause, has_stall: false, sentence };
        Slow { sentence: format!("{}{suspected}", made.rates()), ..made }
    }

    /// The limit of most of a period, or the losses before and in it. `times`: of the reports.
    fn why_slow(&self, start: i64, end: i64, times: &[i64]) -> Option<Cause> {
        let limits = self.limits_between(start, end);
        let percent = |share: f64| format!("{:.0}% of the time", 100.0 * share);
        if limits.receiver >= MOST_OF_IT {
            let said = format!("the receiver's window was full {}", percent(limits.receiver));
            return Some(Cause::new(Kind::SmallWindow, Sure::Certain, said));
        }
        let apart = |from: i64, to: i64| {
            let first = times.partition_point(|time| *time < from);
            let last = times.partition_point(|time| *time < to);
            let inside = times.get(first..last.max(first)).unwrap_or(&[]);
            quartile(
                inside.windows(2).map(|pair| (pair[1] - pair[0]) as f64).filter(|gap| *gap > 0.0).collect(),
            )
        };
        let ratio =
            apart(start - 5 * FLOOR_NS, start).zip(apart(start, end)).map(|(near, far)| far / near.max(1.0));
        let slower = ratio.filter(|ratio| *ratio > SLOWER && limits.path + limits.recovery >= MOST_OF_IT);
        if let Some(ratio) = slower {
            let said = format!(
                "packets were acknowledged {ratio:.1} times further apart, and data waited {}",
                percent(limits.path)
            );
            return Some(Cause::new(Kind::SlowerPath, Sure::Likely, said));
        }
        let since = start - 5 * FLOOR_NS;
        let first = self.resends.partition_point(|resend| resend.time_ns < since);
        let again = self.resends[first..].iter().take_while(|resend| resend.time_ns < end);
        let real: Vec<_> =
            again.filter(|resend| !resend.is_needless && resend.kind != sender::Kind::KeepAlive).collect();
        if real.is_empty() {
            return None;
        }
        let expired = real.iter().filter(|resend| resend.kind == sender::Kind::Timeout).count();
        let timeouts = if expired > 0 { format!(", {}", counted(expired, "timeout")) } else { String::new() };
        let said = format!("{} sent again from 1 s before it on{timeouts}", counted(real.len(), "packet"));
        Some(Cause::new(Kind::LossBurst, Sure::Likely, said))
    }
}
