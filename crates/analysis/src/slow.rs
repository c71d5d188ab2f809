//! Slow periods of a flow: it gets less than half of its earlier rate, or of the rate sent. `docs/metrics.md` defines them.

use crate::record::{Arrivals, FLOOR_NS, Record};
use crate::table::{Fault, Values};
use serde::{Deserialize, Serialize};

/// The rate before is that of this number of limits.
const BEFORE: i64 = 5;
/// A window that holds fewer packets at the rate before shows no rate.
const LEAST_PKTS: usize = 4;

/// A span in which a flow receives less than half of what it did before, in ns from the start of the run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SlowPeriod {
    /// The flow.
    pub flow: String,
    /// Its start.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
    /// The rate that it is measured by: that before the period, or the one at which datagrams are sent.
    pub before_bps: f64,
    /// The rate in the period.
    pub rate_bps: f64,
    /// It lasts to the end of the run.
    pub cut_off: bool,
}

impl SlowPeriod {
    /// How long it is.
    pub fn length_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }
}

impl Record<'_> {
    /// True if slow periods of a flow can be found: it is a file or of datagrams, and its records are there.
    pub fn has_slow_periods(&self, flow: &str) -> Result<bool, Fault> {
        let recorded = |table: &str| self.scenario["record"][table] == true;
        Ok(recorded("deliveries")
            && if self.connects(flow)? {
                self.table_of(flow)["app"]["kind"] == "ftp"
            } else {
                recorded("packets")
            })
    }

    /// The slow periods of a file transfer or of a flow of datagrams, in order of time; of other flows none. Reads `flows`
    /// and `deliveries`, of datagrams `packets` too.
    pub fn slow_periods(&self, flow: &str) -> Result<Vec<SlowPeriod>, Fault> {
        if !self.has_slow_periods(flow)? {
            return Ok(Vec::new());
        }
        let arrivals = Arrivals::of(self, flow)?;
        if arrivals.fresh.len() < LEAST_PKTS {
            return Ok(Vec::new());
        }
        let bytes = self.table("deliveries")?.numbers("bytes")?;
        let arrived = Course::new(&arrivals.fresh, arrivals.times, bytes, 0);
        let sent = if self.connects(flow)? { None } else { Some(self.datagrams(flow, arrivals.delay_ns)?) };
        let limit = FLOOR_NS.max(2 * arrivals.delay_ns);
        Ok(periods(flow, &arrived, sent.as_ref(), limit, self.end(flow)?))
    }

    /// Sent datagrams, and when they would arrive without waiting.
    fn datagrams(&self, flow: &str, delay_ns: i64) -> Result<Course, Fault> {
        let table = self.table("packets")?;
        let (is_send, is_datagram) =
            (table.words("event")?.among(&["send"]), table.words("kind")?.among(&["datagram"]));
        let rows: Vec<usize> =
            self.rows("packets", flow)?.filter(|&row| is_send(row) && is_datagram(row)).collect();
        Ok(Course::new(&rows, table.numbers("time_ns")?, table.numbers("wire_bytes")?, delay_ns))
    }
}

/// Bytes over time.
#[derive(Debug)]
struct Course {
    times: Vec<i64>,
    /// Bytes of the first 0, 1, 2, … packets.
    whole: Vec<f64>,
}

impl Course {
    fn new(rows: &[usize], times: Values<'_>, sizes: Values<'_>, later: i64) -> Course {
        let mut each: Vec<(i64, f64)> =
            rows.iter().map(|&row| (times.int(row) + later, sizes.real(row))).collect();
        each.sort_by_key(|(time, _)| *time);
        let mut sum = 0.0;
        let sums = each.iter().map(|(_, size)| {
            sum += size;
            sum
        });
        let whole = std::iter::once(0.0).chain(sums).collect();
        Course { times: each.into_iter().map(|(time, _)| time).collect(), whole }
    }

    /// Bytes per ns in spans (begin, end], for spans whose ends never fall.
    fn rates(&self) -> impl FnMut(i64, i64) -> f64 {
        let (mut low, mut high) = (0, 0);
        let behind = |mut at: usize, time: i64| {
            while self.times.get(at).is_some_and(|packet| *packet <= time) {
                at += 1;
            }
            at
        };
        move |begin, end| {
            (low, high) = (behind(low, begin), behind(high, end));
            (self.whole[high] - self.whole[low]) / (end - begin).max(1) as f64
        }
    }

    /// The mean size of a packet.
    fn size(&self) -> f64 {
        self.whole.last().copied().unwrap_or(0.0) / self.times.len() as f64
    }
}

/// The instants from `begin` to `end`, which are among them, at which a packet begins or ceases to be in a window of two
/// limits around the time.
fn instants(courses: &[&Course], limit: i64, begin: i64, end: i64) -> Vec<i64> {
    if end < begin {
        return Vec::new();
    }
    let edges = courses.iter().flat_map(|course| [(&course.times, -limit), (&course.times, limit)]);
    let mut lists: Vec<_> =
        edges.map(|(times, by)| times.iter().map(move |time| time + by).peekable()).collect();
    let (mut found, mut now) = (vec![begin], begin);
    while now < end {
        let mut next = end;
        for list in &mut lists {
            while list.next_if(|&edge| edge <= now).is_some() {}
            next = list.peek().map_or(next, |&edge| edge.min(next));
        }
        found.push(next);
        now = next;
    }
    found
}

/// Where the rate in a window of 2 limits around a time is below half of the one before, for more than a limit. Of datagrams
/// it is compared with the rate at which they are sent, in the same window.
fn periods(flow: &str, arrived: &Course, sent: Option<&Course>, limit: i64, end: i64) -> Vec<SlowPeriod> {
    let base = sent.unwrap_or(arrived);
    let Some(&begin) = base.times.first() else { return Vec::new() };
    let courses: Vec<&Course> = std::iter::once(arrived).chain(sent).collect();
    let at = instants(&courses, limit, begin, end);
    let around = |time: i64| ((time - limit).max(begin), (time + limit).min(end));
    let mut rate = arrived.rates();
    let now: Vec<f64> = at.iter().map(|&time| around(time)).map(|(from, to)| rate(from, to)).collect();
    let mut rate = base.rates();
    let size = base.size();
    let reference = |&time: &i64| {
        let (from, to) =
            if sent.is_some() { around(time) } else { ((time - BEFORE * limit).max(begin), time) };
        let before = rate(from, to);
        let shows = (sent.is_some() || time - begin >= limit)
            && before * 2.0 * limit as f64 >= LEAST_PKTS as f64 * size;
        if shows { before } else { 0.0 }
    };
    let before: Vec<f64> = at.iter().map(reference).collect();
    let mut joined: Vec<(i64, i64, f64)> = Vec::new();
    for (start, stop, reference) in spans(&at, &now, &before, sent.is_none()) {
        match joined.last_mut() {
            Some((_, last, _)) if start - *last < limit => *last = stop,
            _ => joined.push((start, stop, reference)),
        }
    }
    joined.retain(|(start, stop, _)| stop - start > limit);
    let period = |(start_ns, end_ns, reference)| SlowPeriod {
        flow: flow.to_owned(),
        start_ns,
        end_ns,
        before_bps: 8e9 * reference,
        rate_bps: 8e9 * arrived.rates()(start_ns, end_ns),
        cut_off: end_ns >= end,
    };
    joined.into_iter().map(period).collect()
}

/// Spans in which `now` is below half of `before`; `fixed`: of the value of `before` where the span begins. The rate in a
/// window is the same from one of the times to the next.
fn spans(at: &[i64], now: &[f64], before: &[f64], fixed: bool) -> Vec<(i64, i64, f64)> {
    let (mut found, mut place) = (Vec::new(), 0);
    while place < at.len() {
        let first = place;
        place += 1;
        if now[first] >= before[first] / 2.0 {
            continue;
        }
        let mut last = first;
        while last + 1 < at.len() && now[last] < before[if fixed { first } else { last }] / 2.0 {
            last += 1;
        }
        found.push((at[first], at[last], before[first]));
        place = last.max(place);
    }
    found
}
