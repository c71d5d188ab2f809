//! The causes of an agent's pending deadlines, and so of its actions at these times.

use roamlab_engine::Time;
use roamlab_record::cause::CauseId;
use std::collections::VecDeque;

/// Causes of a deadline of an agent.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct SetBy {
    /// Its cause; for one that another deadline set, the cause of that one.
    pub cause: CauseId,
    /// Cause of the messages that the agent sent when it set it.
    pub sent_by: CauseId,
}

impl SetBy {
    /// A deadline that was there from the beginning has been set by nothing else.
    const START: SetBy = SetBy { cause: CauseId::START, sent_by: CauseId::START };
}

/// An agent's pending deadlines, each with what set it first.
#[derive(Clone, Debug, Default)]
pub struct Timers {
    /// Those that it lists, in order.
    listed: Vec<(Time, SetBy)>,
    /// Those of its queue.
    queued: VecDeque<(Time, SetBy)>,
}

impl Timers {
    /// Cause of the first one.
    pub fn first(&self) -> SetBy {
        let first = self.listed.first().into_iter().chain(self.queued.front());
        first.min_by_key(|(time, _)| *time).map_or(SetBy::START, |(_, set_by)| *set_by)
    }

    /// The agent has had an input: these are the deadlines that it lists now, in order and each once. `now`
    /// gives the cause of those that are new.
    pub fn follow_list(&mut self, deadlines: &[Time], now: &mut impl FnMut() -> SetBy) {
        if deadlines.iter().eq(self.listed.iter().map(|(time, _)| time)) {
            return;
        }
        // Both are in order: an agent may have thousands.
        let mut before = std::mem::take(&mut self.listed).into_iter().peekable();
        for &time in deadlines {
            while before.next_if(|(known, _)| *known < time).is_some() {}
            let known = before.next_if(|(known, _)| *known == time);
            let known = known.or_else(|| {
                let place = self.queued.binary_search_by_key(&time, |(time, _)| *time).ok()?;
                Some(self.queued[place])
            });
            self.listed.push(known.unwrap_or_else(|| (time, now())));
        }
    }

    /// The same of its queue, in order: only its two ends are looked at.
    pub fn follow_queue(
        &mut self,
        queue: impl DoubleEndedIterator<Item = Time> + Clone,
        now: &mut impl FnMut() -> SetBy,
    ) {
        let first = queue.clone().next();
        while self.queued.front().is_some_and(|(time, _)| first.is_none_or(|first| *time < first)) {
            self.queued.pop_front();
        }
        let known = self.queued.len();
        let last = self.queued.back().map(|(time, _)| *time);
        for time in queue.rev().take_while(|time| last.is_none_or(|last| *time > last)) {
            let listed = self.listed.iter().find(|(listed, _)| *listed == time);
            let set_by = listed.map_or_else(&mut *now, |(_, set_by)| *set_by);
            self.queued.insert(known, (time, set_by));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn ns(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    fn by(cause: u32) -> impl FnMut() -> SetBy {
        move || SetBy { cause: CauseId(cause), sent_by: CauseId::START }
    }

    /// Cause of the first, as the row of its cause.
    fn first(timers: &Timers) -> CauseId {
        timers.first().cause
    }

    #[test]
    fn a_deadline_keeps_what_set_it_first() {
        let mut timers = Timers::default();
        assert_eq!(first(&timers), CauseId::START);
        timers.follow_list(&[ns(5), ns(9)], &mut by(1));
        timers.follow_queue([ns(7), ns(9)].into_iter(), &mut by(2));
        assert_eq!(first(&timers), by(1)().cause);
        timers.follow_list(&[ns(7)], &mut by(3));
        assert_eq!(first(&timers), by(2)().cause, "the queue had it before");
        timers.follow_list(&[], &mut by(4));
        timers.follow_queue([ns(9), ns(10), ns(12)].into_iter(), &mut by(4));
        assert_eq!(first(&timers), by(1)().cause, "the list had it before");
        timers.follow_queue([ns(10), ns(12)].into_iter(), &mut by(5));
        assert_eq!(first(&timers), by(4)().cause);
        timers.follow_queue([ns(12)].into_iter(), &mut by(5));
        assert_eq!(
            first(&timers),
            by(4)().cause,
            "both new ones were set at the same time, and are in order"
        );
        timers.follow_queue([].into_iter(), &mut by(5));
        assert_eq!(first(&timers), CauseId::START);
    }

    /// One more deadline for each input, and none comes: what is looked at grows with the inputs, not with their square.
    #[test]
    fn a_long_queue_is_not_looked_through() {
        for inputs in [1_000, 2_000] {
            let (mut timers, looked_at) = (Timers::default(), Cell::new(0u64));
            for input in 1..=inputs {
                let queue = (0..input).map(|time| {
                    looked_at.set(looked_at.get() + 1);
                    ns(time)
                });
                timers.follow_queue(queue, &mut by(1));
            }
            assert_eq!(timers.queued.len() as u64, inputs);
            assert!(looked_at.get() <= 3 * inputs, "{} for {inputs} inputs", looked_at.get());
        }
    }
}
