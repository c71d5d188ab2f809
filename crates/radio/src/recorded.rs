//! Recorded links: a link that sends at the times of a recording of a real one.
//!
//! The format is that of Mahimahi (Netravali et al., USENIX ATC 2015, §4; `mm-link`). Each line is a time in whole
//! milliseconds from the start, at which 1500 bytes can be delivered. A repeated line is one more such opportunity in
//! that millisecond. At its end the trace begins again, shifted by its last time.
//!
//! An opportunity carries up to 1500 bytes of the waiting packets, in order: several small packets, or a part of a
//! large one. A packet arrives with its last byte. The rest of an opportunity goes to the next packet, and is lost if
//! none waits. A packet can use opportunities after the moment of its arrival at the link, not those of that moment.
//!
//! DEVIATION: `mm-link` counts 1504 bytes for an opportunity and 4 more than its IP packet for each packet (the header
//! of its TUN device). Here neither is counted: an IP packet of 1500 B takes one opportunity in either.

use roamlab_engine::{BadLine, Bytes, Duration, Rate, Recording, Time};
use std::sync::Arc;

/// Bytes that an opportunity carries.
const CARRIES: u64 = 1500;

/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

/// The latest time of a trace in ms: half a century, so that no sum of times overflows.
const LATEST: u64 = 50 * 366 * 86_400_000;

/// The delivery opportunities of a recorded link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opportunities {
    /// In ms, none earlier than the one before; the last is the period, and not 0.
    at: Vec<u64>,
}

impl Recording for Opportunities {
    fn read(text: &str) -> Result<Opportunities, BadLine> {
        let mut at: Vec<u64> = Vec::with_capacity(text.len() / 6);
        let wrong = |line, message: String| Err(BadLine { line, message });
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let Ok(time) = line.trim_ascii().parse::<u64>() else {
                let what = match line.trim_ascii() {
                    "" => "an empty line",
                    text if text.starts_with('-') => "the time is negative",
                    _ => "this is not a time",
                };
                let expected = "expected a whole number of milliseconds from the start of the trace";
                return wrong(number, format!("{what}; {expected}: write for example 12"));
            };
            if let Some(last) = at.last().filter(|last| time < **last) {
                let message =
                    format!("{time} ms is earlier than the line before, {last} ms; expected times in order");
                return wrong(number, format!("{message}: write a time from {last} on"));
            }
            if time > LATEST {
                return wrong(number, format!("{time} ms is too late: write at most {LATEST}"));
            }
            at.push(time);
        }
        match at.last() {
            None => wrong(1, "the file is empty; expected a time in milliseconds on each line".into()),
            Some(0) => wrong(at.len(), "the trace lasts no time; expected a last time above 0".into()),
            Some(_) => Ok(Opportunities { at }),
        }
    }
}

impl Opportunities {
    /// When the trace begins again.
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.at[self.at.len() - 1] * MS)
    }

    /// When the first opportunity is.
    pub fn first(&self) -> Duration {
        Duration::from_nanos(self.at[0] * MS)
    }

    /// How many opportunities it has.
    pub fn count(&self) -> usize {
        self.at.len()
    }

    /// Its average rate, at least 1 bit/s.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.at.len() as u128 * u128::from(8 * CARRIES * 1000);
        let bps = bits / u128::from(self.at[self.at.len() - 1]);
        Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1))
    }

    /// The first opportunity at this time or later, as a number of repetitions and a place in the trace.
    fn first_from(&self, time: Time) -> (u64, usize) {
        let time = time.as_nanos().div_ceil(MS);
        if time == 0 {
            return (0, 0);
        }
        let period = self.at[self.at.len() - 1];
        // The end of a repetition is its last opportunity, and the time 0 of the next one.
        let cycle = (time - 1) / period;
        (cycle, self.at.partition_point(|at| *at < time - cycle * period))
    }

    fn time((cycle, place): (u64, usize), at: &[u64]) -> Time {
        Time::from_nanos((cycle * at[at.len() - 1] + at[place]) * MS)
    }
}

/// A transmitter that sends at the opportunities of a trace.
#[derive(Clone, Debug)]
pub struct RecordedTransmitter {
    trace: Arc<Opportunities>,
    /// The first opportunity that is neither used nor past.
    next: (u64, usize),
    /// When the last used one was, and bytes that it has left.
    used: Time,
    left: u64,
}

impl RecordedTransmitter {
    /// A transmitter at the beginning of its trace.
    pub fn new(trace: Arc<Opportunities>) -> RecordedTransmitter {
        RecordedTransmitter { trace, next: (0, 0), used: Time::ZERO, left: 0 }
    }

    /// When the last byte of a packet of this size is delivered that begins `now`; `waited`: it follows
    /// immediately on the one before it, in whose opportunity it may have a share.
    pub fn transmission_end(&mut self, now: Time, size: Bytes, waited: bool) -> Time {
        let mut needed = size.0;
        if waited && now == self.used {
            let share = needed.min(self.left);
            (needed, self.left) = (needed - share, self.left - share);
            if needed == 0 {
                return now;
            }
        }
        let from = if waited { now } else { now + Duration::from_nanos(1) };
        self.next = self.next.max(self.trace.first_from(from));
        loop {
            self.used = Opportunities::time(self.next, &self.trace.at);
            self.next = match self.next {
                (cycle, place) if place + 1 == self.trace.at.len() => (cycle + 1, 0),
                (cycle, place) => (cycle, place + 1),
            };
            if needed <= CARRIES {
                self.left = CARRIES - needed;
                return self.used;
            }
            needed -= CARRIES;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trace(times: &[u64]) -> Arc<Opportunities> {
        let text: String = times.iter().map(|time| format!("{time}\n")).collect();
        Arc::new(Opportunities::read(&text).unwrap())
    }

    fn ms(time: u64) -> Time {
        Time::from_nanos(time * MS)
    }

    #[test]
    fn a_bad_trace_is_refused_by_its_line() {
        for (text, line, part) in [
            ("", 1, "empty"),
            ("1\n\n2\n", 2, "an empty line"),
            ("1\n-2\n", 2, "negative"),
            ("1\n2\n1\n", 3, "earlier than the line before, 2 ms"),
            ("0\n0\n", 2, "lasts no time"),
            ("time\n1\n", 1, "this is not a time"),
            ("1.5\n", 1, "whole number of milliseconds"),
            ("99999999999999999999\n", 1, "this is not a time"),
            ("9999999999999999999\n", 1, "too late"),
        ] {
            let bad = Opportunities::read(text).unwrap_err();
            assert_eq!(bad.line, line, "{text:?}: {}", bad.message);
            assert!(bad.message.contains(part), "{text:?}: {}", bad.message);
        }
        assert_eq!(Opportunities::read("1\r\n2").unwrap(), Opportunities { at: vec![1, 2] });
    }

    #[test]
    fn opportunities_are_shared_split_and_lost_as_by_mm_link() {
        let mut link = RecordedTransmitter::new(trace(&[0, 5, 5, 9]));
        // Handed over at 0: the opportunity of that moment is past. 700 + 700 B share the first at 5 ms.
        assert_eq!(link.transmission_end(ms(0), Bytes(700), false), ms(5));
        assert_eq!(link.transmission_end(ms(5), Bytes(700), true), ms(5));
        // Of 1500 B the first 100 B leave immediately, the rest with the second at 5 ms, which has 100 B left
        // for the next.
        assert_eq!(link.transmission_end(ms(5), Bytes(1500), true), ms(5));
        assert_eq!(link.transmission_end(ms(5), Bytes(101), true), ms(9), "the last byte at 9 ms");
        // The link was idle since 9 ms: what is left of that is lost, and so is the one at 9 ms + 0 of the next round.
        assert_eq!(link.transmission_end(ms(9), Bytes(40), false), ms(14));
        assert_eq!(link.transmission_end(ms(14), Bytes(4000), true), ms(18), "40 + 4000 B: 14, 14 and 18 ms");
        assert_eq!(
            link.transmission_end(ms(100), Bytes(1), false),
            ms(104),
            "the 12th round begins at 99 ms"
        );
    }

    /// The table of `docs/import.md`: 1500 B at 1 ms, 3000 B at 3 ms, 1500 B at 7 and at 8 ms.
    #[test]
    fn packets_of_1000_bytes_arrive_as_worked_out_by_hand() {
        let mut link = RecordedTransmitter::new(trace(&[1, 3, 3, 7]));
        let mut now = ms(0);
        let mut arrivals = Vec::new();
        for number in 0..8 {
            now = link.transmission_end(now, Bytes(1000), number > 0);
            arrivals.push(now);
        }
        assert_eq!(arrivals, [1, 3, 3, 3, 7, 7, 8, 10].map(ms));
    }

    #[test]
    fn the_mean_rate_is_that_of_all_opportunities() {
        let trace = trace(&[1, 2, 3, 12]);
        assert_eq!((trace.mean_rate(), trace.count()), (Rate::from_bps(4_000_000), 4));
        assert_eq!(trace.period(), Duration::from_millis(12));
    }

    proptest! {
        /// Against `mm-link`'s own loop, in its words: burn each opportunity in turn, whatever waits.
        #[test]
        fn packets_leave_when_burning_each_opportunity_says_so(
            gaps in prop::collection::vec(0u64..6, 1..12),
            packets in prop::collection::vec((0u64..30, 1u64..4000), 1..40)
        ) {
            let mut times: Vec<u64> =
                gaps.iter().scan(0, |sum, gap| { *sum += gap; Some(*sum) }).collect();
            *times.last_mut().unwrap() += 1;
            let mut handed = 0;
            let queue: Vec<(u64, u64)> = packets.iter().map(|(gap, size)| { handed += gap; (handed, *size) }).collect();
            let period = times[times.len() - 1];
            let (mut expected, mut head, mut served) = (Vec::new(), 0, 0);
            'rounds: for round in 0.. {
                for time in &times {
                    let (now, mut bytes) = (round * period + time, 1500);
                    while bytes > 0 && head < queue.len() && queue[head].0 < now {
                        let share = bytes.min(queue[head].1 - served);
                        (bytes, served) = (bytes - share, served + share);
                        if served == queue[head].1 {
                            expected.push(now);
                            (head, served) = (head + 1, 0);
                        }
                    }
                    if head == queue.len() {
                        break 'rounds;
                    }
                }
            }
            let mut link = RecordedTransmitter::new(trace(&times));
            let mut free = 0;
            for (&(handed, size), expected) in queue.iter().zip(expected) {
                let waited = handed < free;
                let end = link.transmission_end(ms(handed.max(free)), Bytes(size), waited);
                prop_assert_eq!(end, ms(expected));
                free = expected;
            }
        }
    }
}
