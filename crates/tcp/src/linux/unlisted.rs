//! Segments that RACK does not find lost again until they are sent again.
//!
//! RACK looks through a list in the order of transmissions. A segment that it finds lost leaves that list
//! (`tcp_rack_detect_loss`), and comes back when it is sent again. An undo takes the mark back
//! (`tcp_undo_cwnd_reduction`), but does not put the segment into the list. So only the retransmission timer finds its
//! loss then.

use crate::recovery::scoreboard::Scoreboard;
use std::ops::Range;

/// Which segments are not in the list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unlisted {
    /// RACK has found these lost, if they are not reported.
    found: Range<u32>,
    /// They are in flight, but not in the list: an undo has taken the mark back, or they were sent again.
    unmarked: Range<u32>,
}

impl Unlisted {
    /// RACK finds what is not reported of these lost.
    pub fn find(&mut self, segments: Range<u32>) {
        let joins = self.found.start < segments.start && segments.start <= self.found.end;
        let start = if joins { self.found.start } else { segments.start };
        self.found = start..segments.end;
    }

    /// The marks are taken back; `una`: the first outstanding segment.
    pub fn unmark(&mut self, una: u32) {
        let found = std::mem::take(&mut self.found);
        if found.end > una {
            self.unmarked.start = self.unmarked.start.max(una);
            self.leave_out(found.start.max(una)..found.end);
        }
    }

    /// The first transmissions of these are not looked at any more.
    pub fn leave_out(&mut self, segments: Range<u32>) {
        let joins = self.unmarked.start < self.unmarked.end;
        let start = if joins { segments.start.min(self.unmarked.start) } else { segments.start };
        let end = if joins { segments.end.max(self.unmarked.end) } else { segments.end };
        self.unmarked = start..end;
    }

    /// The first one of them is lost again.
    pub fn lose(&mut self, seq: u32) {
        if self.unmarked.start == seq && self.unmarked.end > seq {
            self.unmarked.start += 1;
        }
    }

    /// The retransmission timer finds all that is old, in the list or not.
    pub fn clear(&mut self) {
        *self = Unlisted::default();
    }

    /// Those of the segments whose mark was taken back and that are not reported.
    pub fn unmarked(&self, board: &Scoreboard, segments: Range<u32>) -> u32 {
        let (start, end) = (self.unmarked.start.max(segments.start), self.unmarked.end.min(segments.end));
        if start < end { board.holes(start, end) } else { 0 }
    }

    /// The first segment from here on that is neither reported nor unmarked.
    pub fn next_hole(&self, board: &Scoreboard, from: u32) -> u32 {
        let hole = board.next_hole(from);
        if self.unmarked.contains(&hole) { board.next_hole(self.unmarked.end) } else { hole }
    }

    /// The last such segment below `end`.
    pub fn last_hole(&self, board: &Scoreboard, end: u32) -> Option<u32> {
        let hole = board.last_hole(end)?;
        if self.unmarked.contains(&hole) { board.last_hole(self.unmarked.start) } else { Some(hole) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_and_unmarked_is_skipped_until_the_timer() {
        let mut board = Scoreboard::default();
        board.advance(10);
        board.insert(12, 13);
        let mut unlisted = Unlisted::default();
        unlisted.find(10..14);
        unlisted.find(14..16);
        assert_eq!(unlisted.unmarked(&board, 10..20), 0, "they are lost");
        assert_eq!(unlisted.next_hole(&board, 10), 10);
        unlisted.unmark(11);
        assert_eq!(unlisted.unmarked(&board, 10..20), 4, "11, 13, 14 and 15");
        assert_eq!(unlisted.next_hole(&board, 11), 16);
        assert_eq!((unlisted.last_hole(&board, 18), unlisted.last_hole(&board, 16)), (Some(17), Some(10)));
        unlisted.clear();
        assert_eq!((unlisted.unmarked(&board, 10..20), unlisted.next_hole(&board, 11)), (0, 11));
    }

    #[test]
    fn nothing_is_left_below_what_was_unmarked_once_that_is_acknowledged() {
        let mut board = Scoreboard::default();
        let mut unlisted = Unlisted::default();
        unlisted.find(100..400);
        unlisted.unmark(100);
        // A later ACK acknowledges the first of them, words of the set below it are gone.
        for una in [100, 101, 300] {
            board.advance(una);
            assert_eq!(
                (unlisted.last_hole(&board, 400), unlisted.last_hole(&board, 402)),
                (None, Some(401)),
                "{una}"
            );
        }
    }

    #[test]
    fn what_is_acknowledged_is_forgotten() {
        let board = Scoreboard::default();
        let mut unlisted = Unlisted::default();
        unlisted.find(0..4);
        unlisted.unmark(4);
        assert_eq!(unlisted.unmarked(&board, 0..9), 0);
        unlisted.find(6..8);
        unlisted.unmark(5);
        assert_eq!(unlisted.unmarked(&board, 0..9), 2);
    }
}
