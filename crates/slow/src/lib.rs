//! Slow periods of a flow: it gets less than half of its earlier rate, or of the rate sent. `docs/metrics.md` defines them.
//!
//! It takes times and bytes alone, of the record of a run and of a capture.

/// The rate before is that of this number of limits.
const BEFORE: i64 = 5;
/// A window that holds fewer packets at the rate before shows no rate.
pub const LEAST_PKTS: usize = 4;

/// A span in which a flow receives less than half of what it did before, in ns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Period {
    /// Its start.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
    /// The rate that it is measured by: that before the period, or the one at which datagrams are sent.
    pub before_bps: f64,
    /// The rate in the period.
    pub rate_bps: f64,
    /// It lasts to the end of the record.
    pub cut_off: bool,
}

/// Bytes over time.
#[derive(Debug)]
pub struct Course {
    /// Times at which packets came, each once.
    times: Vec<i64>,
    /// Bytes before the first of these times, and up to each.
    whole: Vec<f64>,
    packets: usize,
}

impl Course {
    /// The times of packets in ns, and their bytes.
    pub fn new(packets: impl IntoIterator<Item = (i64, f64)>) -> Course {
        let mut each: Vec<(i64, f64)> = packets.into_iter().collect();
        each.sort_by_key(|(time, _)| *time);
        let count = each.len();
        Course::in_order(each, count)
    }

    /// The same in order of time. `packets`: how many they are, where several are one element.
    pub fn in_order(bytes: impl IntoIterator<Item = (i64, f64)>, packets: usize) -> Course {
        let (mut times, mut whole, mut sum) = (Vec::new(), vec![0.0], 0.0);
        for (time, size) in bytes {
            sum += size;
            if times.last() == Some(&time) {
                whole.pop();
            } else {
                times.push(time);
            }
            whole.push(sum);
        }
        Course { times, whole, packets }
    }

    /// The times at which packets came, each once.
    pub fn times(&self) -> &[i64] {
        &self.times
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
        self.whole.last().copied().unwrap_or(0.0) / self.packets as f64
    }
}

/// The instants from `begin` to `end`, which are among them, at which a packet begins or ceases to be in a window of two
/// limits around the time.
fn instants<'c>(
    courses: &[&'c Course],
    limit: i64,
    begin: i64,
    end: i64,
) -> impl Iterator<Item = i64> + use<'c> {
    let edges = courses.iter().flat_map(|course| [(&course.times, -limit), (&course.times, limit)]);
    let mut lists: Vec<_> =
        edges.map(|(times, by)| times.iter().map(move |time| time + by).peekable()).collect();
    std::iter::successors((begin <= end).then_some(begin), move |now| {
        if *now >= end {
            return None;
        }
        let mut next = end;
        for list in &mut lists {
            while list.next_if(|edge| edge <= now).is_some() {}
            next = list.peek().map_or(next, |&edge| edge.min(next));
        }
        Some(next)
    })
}

/// Where the rate in a window of 2 limits around a time is below half of the one before, for more than a limit, in order of
/// time. `sent`: it is compared with the rate of these in the same window, as that of datagrams is. `limit` and `end`, the end
/// of the record, in ns.
pub fn periods(arrived: &Course, sent: Option<&Course>, limit: i64, end: i64) -> Vec<Period> {
    let base = sent.unwrap_or(arrived);
    let Some(&begin) = base.times.first() else { return Vec::new() };
    let courses: Vec<&Course> = std::iter::once(arrived).chain(sent).collect();
    let around = |time: i64| ((time - limit).max(begin), (time + limit).min(end));
    let (mut now, mut before, size) = (arrived.rates(), base.rates(), base.size());
    let values = instants(&courses, limit, begin, end).map(|time| {
        let (from, to) = around(time);
        let (since, until) =
            if sent.is_some() { (from, to) } else { ((time - BEFORE * limit).max(begin), time) };
        let reference = before(since, until);
        let shows = (sent.is_some() || time - begin >= limit)
            && reference * 2.0 * limit as f64 >= LEAST_PKTS as f64 * size;
        (time, now(from, to), if shows { reference } else { 0.0 })
    });
    let mut joined: Vec<(i64, i64, f64)> = Vec::new();
    for (start, stop, reference) in spans(values, sent.is_none()) {
        match joined.last_mut() {
            Some((_, last, _)) if start - *last < limit => *last = stop,
            _ => joined.push((start, stop, reference)),
        }
    }
    joined.retain(|(start, stop, _)| stop - start > limit);
    let period = |(start_ns, end_ns, reference)| Period {
        start_ns,
        end_ns,
        before_bps: 8e9 * reference,
        rate_bps: 8e9 * arrived.rates()(start_ns, end_ns),
        cut_off: end_ns >= end,
    };
    joined.into_iter().map(period).collect()
}

/// Spans in which the second of `values` is below half of the third; `fixed`: of the third where the span begins. The first is
/// the time. The rate in a window is the same from one of the times to the next.
fn spans(mut values: impl Iterator<Item = (i64, f64, f64)>, fixed: bool) -> Vec<(i64, i64, f64)> {
    let mut found = Vec::new();
    let mut next = values.next();
    while let Some(first) = next {
        let (start, now, before) = first;
        if now >= before / 2.0 {
            next = values.next();
            continue;
        }
        let (mut last, mut behind) = (first, None);
        while last.1 < if fixed { before } else { last.2 } / 2.0
            && let Some(value) = values.next()
        {
            last = value;
            behind = Some(value);
        }
        found.push((start, last.0, before));
        next = behind;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Course, periods};

    const MS: i64 = 1_000_000;

    /// 100 packets a second, 20 a second from 5 to 7 s.
    #[test]
    fn the_example_of_the_definition() {
        let fast = |from: i64, to: i64| (from..to).map(|at| (at * 10 * MS, 1500.0));
        let slow = (100..140).map(|at| (at * 50 * MS, 1500.0));
        let course = Course::new(fast(0, 500).chain(slow).chain(fast(700, 1000)));
        let found = periods(&course, None, 200 * MS, 10_000 * MS);
        assert_eq!(found.len(), 1, "{found:?}");
        let length = (found[0].end_ns - found[0].start_ns) as f64 / 1e9;
        // A packet each 50 ms shows an edge to within that.
        assert!((length - 1.9).abs() < 0.05, "{found:?}");
        assert!((1.1e6..1.2e6).contains(&found[0].before_bps) && !found[0].cut_off, "{found:?}");
        assert!(periods(&Course::new(fast(0, 1000)), None, 200 * MS, 10_000 * MS).is_empty());
        assert!(periods(&Course::new([]), None, 200 * MS, 10_000 * MS).is_empty());
    }
}
