//! The scoreboard of SACK: the segments above `una` that the receiver holds, and the numbers that follow from them.
//!
//! All numbers are updated as blocks arrive, so no query costs more than a step per 64 segments.

use roamlab_packet::SackBlocks;
use roamlab_packet::SeqSet;

/// The sender's scoreboard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    sacked: SeqSet,
    count: u32,
    highest_end: u32,
}

impl Scoreboard {
    /// Takes in the blocks of an ACK that expects `una`; how many segments below `snd_max` they newly report.
    pub fn update(&mut self, una: u32, snd_max: u32, blocks: &SackBlocks) -> u32 {
        self.advance(una);
        let mut added = 0;
        for &(start, end) in blocks.as_slice() {
            // A block below `una` is a D-SACK (RFC 2883), one above `snd_max` is none that we could believe.
            if start < una || end > snd_max || start >= end {
                continue;
            }
            added += self.insert(start, end);
        }
        added
    }

    /// The receiver holds `start..end`; how many of them are news.
    pub fn insert(&mut self, start: u32, end: u32) -> u32 {
        let added = self.sacked.insert_range(start, end);
        self.highest_end = self.highest_end.max(end);
        self.count += added;
        added
    }

    /// Everything below `una` has been acknowledged.
    pub fn advance(&mut self, una: u32) {
        if self.count > 0 {
            self.count -= self.sacked.count(self.sacked.base(), una);
        }
        self.sacked.forget_below(una);
        self.highest_end = self.highest_end.max(una);
    }

    /// Forgets all blocks.
    pub fn clear(&mut self, una: u32) {
        *self = Scoreboard::default();
        self.advance(una);
    }

    /// Segments above `una` that the receiver holds.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// One above the highest segment that the receiver is known to hold; `una` if it holds none above.
    pub fn highest_end(&self) -> u32 {
        self.highest_end
    }

    /// True if the receiver is known to hold the segment.
    pub fn contains(&self, seq: u32) -> bool {
        self.sacked.contains(seq)
    }

    /// The lowest segment from `from` on that the receiver may lack.
    pub fn next_hole(&self, from: u32) -> u32 {
        self.sacked.first_missing(from)
    }

    /// How many of `start..end` the receiver may lack.
    pub fn holes(&self, start: u32, end: u32) -> u32 {
        let start = start.max(self.sacked.base());
        end.saturating_sub(start) - self.sacked.count(start, end)
    }

    /// The highest segment below `end` that the receiver may lack; none if all of them are acknowledged.
    pub fn last_hole(&self, end: u32) -> Option<u32> {
        let base = self.sacked.base();
        let last = end.checked_sub(1).filter(|&last| last >= base)?;
        self.sacked.run_start(last).checked_sub(1).filter(|&seq| seq >= base)
    }

    /// The bound below which every hole has at least `threshold` reported segments above it (RFC 6675 §4 IsLost);
    /// `una` if there is none.
    pub fn lost_below(&self, threshold: u32) -> u32 {
        self.sacked.nth_from_top(threshold).unwrap_or(self.sacked.base())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(ranges: &[(u32, u32)]) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        ranges.iter().for_each(|&(start, end)| blocks.push(start, end));
        blocks
    }

    #[test]
    fn blocks_are_counted_once_and_nonsense_is_refused() {
        let mut board = Scoreboard::default();
        assert_eq!(board.update(10, 100, &blocks(&[(12, 14), (16, 17)])), 3);
        assert_eq!(board.update(10, 100, &blocks(&[(12, 15), (16, 17)])), 1, "only 14 is new");
        assert_eq!(board.update(10, 100, &blocks(&[(3, 5), (9, 12), (99, 101), (20, 20)])), 0);
        assert_eq!((board.count(), board.highest_end()), (4, 17));
        assert_eq!((board.next_hole(10), board.next_hole(12), board.holes(10, 20)), (10, 15, 6));
        assert_eq!(
            (board.last_hole(20), board.last_hole(17), board.last_hole(15)),
            (Some(19), Some(15), Some(11))
        );
        assert_eq!((board.contains(13), board.contains(15), board.contains(9)), (true, false, true));
    }

    /// Four million questions over as many holes: a question that goes through the holes below takes hours.
    #[test]
    fn the_next_hole_is_found_without_those_below() {
        const HOLES: u32 = 4_000_000;
        let mut board = Scoreboard::default();
        for hole in 0..HOLES {
            board.update(0, 2 * HOLES + 1, &blocks(&[(2 * hole + 1, 2 * hole + 2)]));
            assert_eq!(board.next_hole(2 * hole + 1), 2 * hole + 2);
        }
        assert_eq!((board.next_hole(0), board.count()), (0, HOLES));
    }

    #[test]
    fn a_hole_is_lost_with_three_segments_above_it() {
        let mut board = Scoreboard::default();
        board.update(0, 100, &blocks(&[(5, 7)]));
        assert_eq!(board.lost_below(3), 0);
        board.update(0, 100, &blocks(&[(9, 10)]));
        assert_eq!(board.lost_below(3), 5, "5, 6 and 9 are above 4, but only 9 above 8");
        board.update(0, 100, &blocks(&[(11, 13)]));
        assert_eq!(board.lost_below(3), 9);
        board.advance(12);
        assert_eq!((board.count(), board.lost_below(3), board.lost_below(1)), (1, 12, 12));
        board.clear(12);
        assert_eq!((board.count(), board.highest_end(), board.next_hole(12)), (0, 12, 12));
    }
}
