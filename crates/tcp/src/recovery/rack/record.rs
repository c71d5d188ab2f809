//! When each outstanding segment was sent, which of them the receiver holds, and which are lost.

use super::min_rtt::WindowedMin;
use crate::Unlisted;
use crate::clock::stamps_between;
use crate::recovery::scoreboard::Scoreboard;
use crate::recovery::spurious::FirstBlock;
use crate::state::SendState;
use roamlab_congestion::{stamp, whole_micros};
use roamlab_engine::{Duration, Time};
use roamlab_packet::TcpHeader;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// Summary of what an ACK reports.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct AckSummary {
    /// Segments delivered, by the ACK itself or by its blocks.
    pub delivered: u32,
    /// The ACK itself acknowledges a segment that was sent again.
    pub acknowledges_repeat: bool,
    /// A segment sent once has arrived behind one sent later.
    pub reordered: bool,
    /// A segment sent once, below the recovery point, has arrived.
    pub original: bool,
    /// The latest transmission known to be delivered may be another one.
    pub advances_rack: bool,
    /// One above the segment that the ACK reports to have arrived twice (D-SACK).
    pub repeated_end: Option<u32>,
    /// When the first and the last of the segments went out that its blocks report and that were sent once.
    pub reported_sent: Option<Time>,
    pub last_reported_sent: Option<Time>,
    /// When the last of the segments went out that the ACK itself acknowledges, not reported before, and sent once.
    pub last_acknowledged_sent: Option<Time>,
}

impl AckSummary {
    /// The round-trip time of the last segment reported, in whole microseconds (`tcp_ack_update_rtt`). If the ACK
    /// acknowledges one that was sent again, the time is that of the echo, in milliseconds.
    pub fn rtt(&self, advances: bool, echo: Option<Time>, now: Time) -> Option<Duration> {
        let acknowledged = self.last_acknowledged_sent.filter(|_| !self.acknowledges_repeat);
        let since = |sent: Time| whole_micros(now).since(whole_micros(sent));
        let by_record = self.last_reported_sent.or(acknowledged).map(since);
        by_record.or_else(|| echo.filter(|_| advances).map(|echo| stamps_between(echo, now)))
    }
}

/// The result of a search for losses.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Marks {
    /// The lowest segment marked.
    pub first: Option<u32>,
    pub count: u32,
    /// Those of them that had been sent again.
    pub again: u32,
    /// How long segments may still be late that others have overtaken.
    pub wait: Option<Duration>,
}

/// The part of an ACK that reports a segment.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum By {
    /// The number that it expects.
    Ack,
    /// A SACK block.
    Block,
}

/// True if an ACK answers an earlier transmission than this one, by the time that it echoes (RFC 8985 §6.2 step 2).
fn echoes_earlier(state: &SendState, sent: Time, by: By) -> bool {
    let Some(echo) = state.echo else { return false };
    if state.params.compares_stamps() { by == By::Ack && stamp(echo) < stamp(sent) } else { echo < sent }
}

#[derive(Copy, Clone, Debug)]
struct Repeat {
    at: Time,
    /// It is not known to be lost.
    is_live: bool,
    /// Set where an undo has taken back the loss before it, and out of the list; true if it is lost now. It is not sent
    /// again then, because it still counts as on its way (`tcp_mark_skb_lost`, `tcp_xmit_retransmit_queue`).
    stuck: Option<bool>,
}

/// The transmissions of all outstanding segments.
///
/// First transmissions are in the order of the segments, so that those that are over lie below a bound. Repeated ones
/// are in a queue in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    board: Scoreboard,
    /// When segment `base + i` was sent first.
    sent: VecDeque<Time>,
    base: u32,
    /// First transmissions below are over: delivered or lost.
    over_below: u32,
    /// Lost segments below have been sent again, or are in `lost_again`.
    repeated_below: u32,
    repeats: BTreeMap<u32, Repeat>,
    queue: VecDeque<(Time, u32)>,
    live: u32,
    lost_again: BTreeSet<u32>,
    /// Segments that an undo has taken out of RACK's list.
    unlisted: Unlisted,
    /// RACK.xmit_ts, RACK.end_seq: the latest transmission delivered.
    latest: (Time, u32),
    /// RACK.rtt.
    rtt: Duration,
    /// RACK.min_RTT.
    min_rtt: WindowedMin,
    /// Segments marked so far, each time that they are.
    marked: u32,
}

impl Record {
    /// A segment is sent. True if for the first time. A probe does not count as one more in flight.
    pub fn on_sent(&mut self, seq: u32, is_probe: bool, now: Time) -> bool {
        if seq >= self.base + self.sent.len() as u32 {
            self.on_new_sent(now);
            return true;
        }
        let earlier = self.repeats.insert(seq, Repeat { at: now, is_live: !is_probe, stuck: None });
        self.live -= u32::from(earlier.is_some_and(|repeat| repeat.is_live));
        if !is_probe {
            self.live += 1;
            self.lost_again.remove(&seq);
            self.queue.push_back((now, seq));
        }
        false
    }

    #[inline(always)]
    pub fn on_new_sent(&mut self, now: Time) {
        self.sent.push_back(now);
    }

    /// An ACK of segments in order arrived, and nothing is amiss. The round-trip time that it measures.
    #[inline(always)]
    pub fn on_fast_ack(&mut self, state: &SendState, now: Time) -> Option<Duration> {
        let count = state.una - self.base;
        let sent = self.sent.get(count as usize - 1).copied();
        let mut measured = None;
        if let Some(sent) = sent {
            self.rtt = now.since(sent);
            self.latest = (sent, state.una - 1);
            let by_ack = state.params.min_rtt_by_ack();
            let rtt = if by_ack { whole_micros(now).since(whole_micros(sent)) } else { self.rtt };
            self.min_rtt.note(rtt, now);
            measured = Some(rtt);
        }
        (0..count).for_each(|_| _ = self.sent.pop_front());
        self.base = state.una;
        self.board.advance(state.una);
        measured
    }

    /// True if nothing is reported, lost or sent again, and nothing outstanding was sent before the delivered segments.
    pub fn is_plain(&self, una: u32) -> bool {
        let nothing_amiss = self.board.count() == 0 && self.repeats.is_empty() && self.over_below <= una;
        nothing_amiss && self.is_in_order()
    }

    /// True if all outstanding segments were sent behind the latest that is known to be delivered.
    fn is_in_order(&self) -> bool {
        let (at, seq) = self.latest;
        let is_behind = self.sent.front().is_none_or(|&first| first >= at);
        seq <= self.base && is_behind && self.queue.is_empty()
    }

    /// The least round-trip time; zero before the first.
    pub fn min_rtt(&self) -> Duration {
        self.min_rtt.least()
    }

    /// The least round-trip time is that of an old path.
    pub fn forget_min_rtt(&mut self) {
        self.min_rtt = WindowedMin::default();
    }

    /// Segments found to be lost so far; one that is lost repeatedly counts each time.
    pub fn marked(&self) -> u32 {
        self.marked
    }

    /// Segments above the acknowledged ones that the receiver holds.
    pub fn reported(&self) -> u32 {
        self.board.count()
    }

    /// Segments sent again and not known to be lost.
    pub fn under_way(&self) -> u32 {
        self.live
    }

    /// True if a segment that was sent again is under way, or the first one was (`tcp_any_retrans_done`).
    pub fn has_repeats(&self) -> bool {
        self.live > 0 || self.repeats.contains_key(&self.base)
    }

    /// A recovery was not needed: nothing is lost. By the rule `undo_leaves_list` (`leaves`) RACK does not find the
    /// same losses again. Retransmissions are judged by their time alone (RFC 8985 §5.2: `Segment.xmit_ts`).
    pub fn unmark(&mut self, una: u32, leaves: bool) {
        if leaves {
            self.unlisted.unmark(una);
        }
        let mut repeats = self.repeats.iter().filter(|(_, repeat)| repeat.is_live).map(|(&seq, _)| seq);
        if let Some(first) = repeats.next() {
            self.unlisted.leave_out(first..repeats.next_back().unwrap_or(first) + 1);
        }
        if leaves {
            self.repeats
                .values_mut()
                .filter(|repeat| repeat.is_live)
                .for_each(|repeat| repeat.stuck = Some(false));
        }
        (self.over_below, self.repeated_below) = (una, una);
        self.lost_again.clear();
    }

    /// Segments in flight: first transmissions that are not over, and repeated ones not known to be lost.
    pub fn in_flight(&self, state: &SendState) -> u32 {
        let first = self.over_below.max(state.una).max(state.path_from);
        let unmarked = self.unlisted.unmarked(&self.board, state.una.max(state.path_from)..first);
        self.board.holes(first, state.snd_max) + unmarked + self.live
    }

    /// True if this ACK answers the first transmission of the first outstanding segment, which is asked of a SYN.
    pub fn first_is_answered(&self, state: &SendState) -> bool {
        let answered =
            state.echo.zip(self.sent.front()).is_some_and(|(echo, &sent)| stamp(echo) == stamp(sent));
        answered && state.params.undoes_syn()
    }

    /// How many segments an ACK reports that no other has reported.
    pub fn delivered_by(&self, state: &SendState, header: &TcpHeader) -> u32 {
        let blocks = header.sacks.as_slice().iter();
        let valid = blocks.filter(|(start, end)| *start >= header.ack && *end <= state.snd_max);
        self.board.holes(state.una, header.ack)
            + valid.map(|&(start, end)| self.board.holes(start, end)).sum::<u32>()
    }

    /// An ACK arrived, which the state is yet to take in.
    pub fn on_ack(&mut self, state: &SendState, header: &TcpHeader, now: Time) -> AckSummary {
        let mut summary = AckSummary::default();
        let ack = header.ack.max(self.base); // others may have overtaken it
        let fack = self.board.highest_end();
        if self.is_of_plain(header) {
            self.deliver_in_order(ack, fack, state, &mut summary, now);
            return summary;
        }
        let mut blocks = [(0, 0); 4];
        let count = header.sacks.as_slice().len();
        blocks[..count].copy_from_slice(header.sacks.as_slice());
        let blocks = &mut blocks[..count];
        if let Some(block) = FirstBlock::of(header).filter(|block| block.repeats) {
            summary.repeated_end = Some(block.end);
        }
        blocks.sort_unstable();
        for &(start, end) in blocks.iter() {
            if start < ack || end > state.snd_max || start >= end {
                continue;
            }
            let mut seq = self.board.next_hole(start);
            while seq < end {
                let sent = self.sent_once(seq);
                summary.reported_sent = summary.reported_sent.or(sent);
                summary.last_reported_sent = sent.or(summary.last_reported_sent);
                self.deliver(seq, fack, By::Block, state, &mut summary, now);
                seq = self.board.next_hole(seq + 1);
            }
            self.board.insert(start, end);
        }
        for seq in self.base..ack {
            summary.acknowledges_repeat |= self.repeats.contains_key(&seq);
            if !self.board.contains(seq) {
                summary.last_acknowledged_sent = self.sent_once(seq).or(summary.last_acknowledged_sent);
                self.deliver(seq, fack, By::Ack, state, &mut summary, now);
            }
        }
        if state.params.min_rtt_by_ack()
            && let Some(rtt) = summary.rtt(header.ack > state.una, state.echo, now)
        {
            self.min_rtt.note(rtt, now);
        }
        let gone = (ack - self.base) as usize;
        self.sent.drain(..gone.min(self.sent.len()));
        self.base = ack;
        self.board.advance(self.base);
        if self.repeats.is_empty() {
            self.queue.clear();
        }
        summary
    }

    /// True if an ACK reports only segments that were sent once, and no others were reported before.
    #[inline]
    fn is_of_plain(&self, header: &TcpHeader) -> bool {
        header.sacks.is_empty()
            && self.board.count() == 0
            && self.repeats.is_empty()
            && self.lost_again.is_empty()
    }

    /// As [`deliver`](Self::deliver) for each segment below `ack`, where the ACK [is plain](Self::is_of_plain).
    fn deliver_in_order(
        &mut self,
        ack: u32,
        fack: u32,
        state: &SendState,
        summary: &mut AckSummary,
        now: Time,
    ) {
        let by_ack = state.params.min_rtt_by_ack();
        for seq in self.base..ack {
            let Some(first) = self.sent.pop_front() else { break };
            summary.delivered += 1;
            summary.reordered |= seq + 1 < fack;
            summary.original |= seq < state.recovery_point;
            summary.last_acknowledged_sent = Some(first);
            let rtt = now.since(first);
            if !by_ack {
                self.min_rtt.note(rtt, now);
            }
            summary.advances_rack = true;
            self.rtt = rtt;
            self.latest = self.latest.max((first, seq));
        }
        if by_ack && let Some(rtt) = summary.rtt(ack > state.una, state.echo, now) {
            self.min_rtt.note(rtt, now);
        }
        self.base = ack;
        self.board.advance(ack);
        self.queue.clear();
    }

    /// When a segment went out, if it went out once.
    fn sent_once(&self, seq: u32) -> Option<Time> {
        if self.repeats.contains_key(&seq) {
            None
        } else {
            self.sent.get((seq - self.base) as usize).copied()
        }
    }

    /// When the first outstanding segment went out last.
    pub fn head_sent(&self) -> Option<Time> {
        self.repeats.get(&self.base).map(|repeat| repeat.at).or_else(|| self.sent.front().copied())
    }

    fn deliver(
        &mut self,
        seq: u32,
        fack: u32,
        by: By,
        state: &SendState,
        summary: &mut AckSummary,
        now: Time,
    ) {
        let Some(&first) = self.sent.get((seq - self.base) as usize) else { return };
        summary.delivered += 1;
        let repeat = self.repeats.remove(&seq);
        self.lost_again.remove(&seq);
        self.live -= u32::from(repeat.is_some_and(|repeat| repeat.is_live));
        let sent = repeat.map_or(first, |repeat| repeat.at);
        let rtt = now.since(sent);
        if repeat.is_none() {
            // §6.2 step 3; the ACK of a segment sent once is a measurement.
            summary.reordered |= seq + 1 < fack;
            summary.original |= seq < state.recovery_point;
            if !state.params.min_rtt_by_ack() {
                self.min_rtt.note(rtt, now);
            }
        } else {
            // §6.2 step 2: it may be the ACK of the transmission before.
            if rtt < self.min_rtt.least() || echoes_earlier(state, sent, by) {
                return;
            }
        }
        summary.advances_rack = true;
        self.rtt = rtt;
        self.latest = self.latest.max((sent, seq));
    }

    /// §6.2 step 5: marks what was overtaken longer than a round trip and `lateness` after it was sent.
    pub fn mark_overtaken(&mut self, snd_max: u32, lateness: Duration, now: Time) -> Marks {
        let mut marks = Marks::default();
        let (rtt, latest, base) = (self.rtt, self.latest, self.base);
        if self.is_in_order() {
            return marks; // nothing that is outstanding was overtaken
        }
        let is_over = |sent: Time| now.since(sent) >= rtt + lateness;
        let wait = |sent: Time| (rtt + lateness).saturating_sub(now.since(sent));
        // First transmissions. The bound of those that are over only rises.
        let in_time = self.sent.partition_point(|&sent| is_over(sent)) as u32 + base;
        let [before, until] = [
            self.sent.partition_point(|&sent| sent < latest.0) as u32 + base,
            self.sent.partition_point(|&sent| sent <= latest.0) as u32 + base,
        ];
        let overtaken = before.max(until.min(latest.1)); // of those sent at the same time the ones below it
        let bound = in_time.min(overtaken).min(snd_max);
        let from = self.over_below.max(base);
        if bound > from {
            let hole = self.unlisted.next_hole(&self.board, from);
            marks.count = self.board.holes(from, bound) - self.unlisted.unmarked(&self.board, from..bound);
            marks.first = (hole < bound).then_some(hole);
            self.over_below = bound;
            self.unlisted.find(from..bound);
        }
        if overtaken > bound
            && let Some(last) = self.unlisted.last_hole(&self.board, overtaken).filter(|&last| last >= bound)
        {
            marks.wait = Some(wait(self.sent[(last - base) as usize]));
        }
        // Repeated ones.
        while let Some(&(sent, seq)) = self.queue.front() {
            let is_current = self.repeats.get(&seq).is_some_and(|repeat| repeat.is_live && repeat.at == sent);
            if is_current && !((sent, seq) < latest && is_over(sent)) {
                break;
            }
            self.queue.pop_front();
            if is_current {
                if !self.sticks(seq) {
                    self.lose_again(seq);
                    marks.again += 1;
                }
                marks.count += 1;
                marks.first = Some(marks.first.map_or(seq, |first| first.min(seq)));
            }
        }
        let overtaken = self.queue.partition_point(|&repeat| repeat < latest);
        if let Some(&(sent, _)) = overtaken.checked_sub(1).and_then(|last| self.queue.get(last)) {
            marks.wait = marks.wait.max(Some(wait(sent)));
        }
        self.marked += marks.count - marks.again;
        marks
    }

    /// A segment that was sent again is lost. True if it is `stuck`.
    fn sticks(&mut self, seq: u32) -> bool {
        let Some(stuck) = self.repeats.get_mut(&seq).and_then(|repeat| repeat.stuck.as_mut()) else {
            return false;
        };
        *stuck = true;
        self.unlisted.lose(seq);
        true
    }

    fn lose_again(&mut self, seq: u32) {
        if let Some(repeat) = self.repeats.get_mut(&seq).filter(|repeat| repeat.is_live) {
            repeat.is_live = false;
            self.unlisted.lose(seq);
            self.live -= 1;
            self.marked += 1;
            self.lost_again.insert(seq);
        }
    }

    /// §6.3: the retransmission timer expired. The first segment is lost, and all that are older than a round trip and
    /// `lateness`.
    pub fn mark_at_timeout(&mut self, una: u32, snd_max: u32, lateness: Duration, now: Time) {
        // A receiver that reported `una` and does not acknowledge it has thrown away what it held (RFC 2018 §8).
        if self.board.contains(una) {
            self.board.clear(una);
        }
        let limit = self.rtt + lateness;
        let over = self.sent.partition_point(|&sent| now.since(sent) >= limit) as u32 + self.base;
        let before = self.over_below.max(una);
        self.marked += self.unlisted.unmarked(&self.board, una..before);
        self.unlisted.clear();
        self.over_below = self.over_below.max(over).max(una + 1).min(snd_max);
        self.marked += self.board.holes(before, self.over_below);
        let old = self.repeats.iter().filter(|(_, repeat)| now.since(repeat.at) >= limit);
        let old: Vec<u32> = old.map(|(&seq, _)| seq).collect();
        old.into_iter().for_each(|seq| self.lose_again(seq));
        self.lose_again(una);
        self.repeated_below = una;
    }

    /// Everything in flight is lost.
    pub fn lose_all(&mut self, una: u32, snd_max: u32) {
        self.unlisted.clear();
        let again: Vec<u32> = self.repeats.keys().copied().collect();
        again.into_iter().for_each(|seq| self.lose_again(seq));
        (self.over_below, self.repeated_below) = (snd_max, una);
    }

    /// Segments that are lost and were not sent again are sent again from here on.
    pub fn repeat_from(&mut self, una: u32) {
        self.repeated_below = una;
    }

    /// Lost segments that were not sent again lie here, other than those lost repeatedly.
    pub fn waiting(&self, una: u32) -> Range<u32> {
        self.repeated_below.max(una)..self.over_below
    }

    /// Lost segments from here on, sent again or not.
    fn lost_from(&self, from: u32) -> u32 {
        let unmarked = self.unlisted.unmarked(&self.board, from..self.over_below);
        self.board.holes(from, self.over_below) - unmarked
    }

    /// True if a segment is lost, sent again or not.
    pub fn has_lost(&self, una: u32) -> bool {
        let sticks = || self.repeats.values().any(|repeat| repeat.stuck == Some(true));
        self.lost_from(una) > 0 || !self.lost_again.is_empty() || sticks()
    }

    /// True if a lost segment is not on its way again (`lost_out` > `retrans_out`).
    pub fn waits_to_repeat(&self, una: u32) -> bool {
        self.lost_from(self.waiting(una).start) > 0 || !self.lost_again.is_empty()
    }

    /// The lowest lost segment that is not on its way again.
    pub fn next_lost(&mut self, una: u32) -> Option<u32> {
        let mut hole = self.unlisted.next_hole(&self.board, self.repeated_below.max(una));
        while hole < self.over_below && self.repeats.get(&hole).is_some_and(|repeat| repeat.is_live) {
            hole = self.unlisted.next_hole(&self.board, hole + 1);
        }
        self.repeated_below = hole;
        let first = (hole < self.over_below).then_some(hole);
        let again = self.lost_again.first().copied();
        let next = first.into_iter().chain(again).min()?;
        if Some(next) == first {
            self.repeated_below = next + 1;
        }
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpSpec};

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn an_ack_that_echoes_an_earlier_time_answers_an_earlier_transmission_and_a_block_only_by_the_rfc() {
        let earlier = |profile, echo| {
            let mut state =
                SendState::new(TcpSpec::default().resolve(profile).unwrap().into(), Duration::ZERO);
            state.echo = Some(at(echo));
            [By::Ack, By::Block].map(|by| echoes_earlier(&state, at(5_800), by))
        };
        assert_eq!(earlier(Profile::Linux6, 4_999), [true, false]);
        assert_eq!(earlier(Profile::Linux6, 5_200), [false, false], "the same millisecond");
        assert_eq!(earlier(Profile::Rfc, 5_200), [true, true]);
        assert_eq!(earlier(Profile::Rfc, 5_800), [false, false]);
    }

    #[test]
    fn a_round_trip_is_of_the_last_segment_sent_once_and_of_timestamps_behind_one_sent_again() {
        let (now, echo) = (at(50_900), Some(at(9_950)));
        let micros = |micros| Some(Duration::from_micros(micros));
        let plain = AckSummary { last_acknowledged_sent: Some(at(10_100)), ..AckSummary::default() };
        assert_eq!(plain.rtt(true, echo, now), micros(40_800));
        let again = AckSummary { acknowledges_repeat: true, ..plain };
        assert_eq!(again.rtt(true, echo, now), micros(41_000), "of 50 and 9");
        assert_eq!(again.rtt(false, echo, now), None, "a duplicate ACK echoes what it did before");
        let reported = AckSummary { last_reported_sent: Some(at(20_000)), ..again };
        assert_eq!(reported.rtt(true, echo, now), micros(30_900));
    }
}
