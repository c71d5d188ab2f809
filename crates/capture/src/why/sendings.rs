//! The sender's data as a capture between it and the receiver shows them: sendings, acknowledgements, what is outstanding.

use crate::packets::Row;
use crate::why::pieces::{NEVER, Piece, Pieces};

/// A packet with data, by whether it was sent before.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sent {
    /// Bytes that were never seen before.
    pub fresh: u64,
    /// The part of it that was sent before.
    pub again: Option<Again>,
}

/// Data that were sent again.
#[derive(Clone, Copy, Debug)]
pub struct Again {
    /// The number of the first byte.
    pub start: u64,
    /// The number behind the last byte.
    pub end: u64,
    /// How often it was sent by now.
    pub times: u32,
    /// Its delivery was reported before.
    pub is_told: bool,
    /// The time since it was sent last.
    pub after_ns: i64,
}

/// The report of an acknowledgement.
#[derive(Clone, Copy, Default, Debug)]
pub struct Report {
    /// Pieces of which delivery is new.
    pub pieces: usize,
    /// Pieces by the cumulative acknowledgement.
    pub below: usize,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Pieces that were sent once and are reported behind later ones.
    reordered: usize,
    /// The time from sending to the report of the newest piece that was sent once.
    pub rtt_ns: Option<i64>,
    /// The block of a duplicate selective acknowledgement (RFC 2883).
    pub twice: Option<(u64, u64)>,
}

/// All data of a sender.
#[derive(Default)]
pub struct Sendings {
    /// In order of their numbers.
    pub pieces: Pieces,
    /// The highest cumulative acknowledgement.
    pub una: u64,
    /// The highest number that was sent.
    pub highest: u64,
    /// Bytes of which no delivery was reported.
    pub outstanding: u64,
    /// All bytes, each counted once.
    pub bytes: u64,
    /// Bytes that were acknowledged and never seen.
    pub unseen: u64,
    /// Packets that were sent once and reported behind later ones.
    pub reordered: usize,
    /// It was acknowledged selectively at least once.
    pub has_blocks: bool,
    /// The highest number that was acknowledged selectively before.
    highest_block: u64,
    /// The blocks that the last selective acknowledgement had.
    known: Vec<(u64, u64)>,
}

impl Sendings {
    /// A packet with data.
    pub fn send(&mut self, row: &Row) -> Sent {
        let (start, end) = (row.seq, row.seq + u64::from(row.length));
        if self.una == 0 {
            self.una = start;
        }
        let mut sent = Sent::default();
        if start < self.highest {
            sent.again = self.send_again(row, end.min(self.highest));
            sent.fresh += self.fill(row, end.min(self.highest));
        }
        if end > self.highest {
            let fresh = start.max(self.highest);
            self.pieces.push(Piece::new(fresh, end, row));
            sent.fresh += end - fresh;
            self.highest = end;
        }
        self.outstanding += sent.fresh;
        self.bytes += sent.fresh;
        sent
    }

    fn send_again(&mut self, row: &Row, end: u64) -> Option<Again> {
        if end <= self.una {
            return Some(Again { start: row.seq, end, times: 2, is_told: true, after_ns: 0 });
        }
        // A piece that is acknowledged cumulatively does not change any more.
        let start = row.seq.max(self.una);
        self.pieces.split(start);
        self.pieces.split(end);
        let pieces = self.pieces.changing(start, end);
        if pieces.is_empty() {
            return None;
        }
        let mut again = Again { start: row.seq, end, times: 0, is_told: true, after_ns: NEVER };
        for piece in pieces {
            again.is_told &= piece.told_ns != NEVER;
            again.after_ns = again.after_ns.min(row.time_ns - piece.last_ns);
            if piece.again_ns == NEVER {
                piece.again_ns = row.time_ns;
                piece.again_tsval = row.timestamps.map(|(tsval, _)| tsval);
            }
            piece.last_ns = row.time_ns;
            piece.times += 1;
            again.times = again.times.max(piece.times);
        }
        Some(again)
    }

    /// Pieces for bytes below the highest that are seen for the first time: a loss before the capture, or by it.
    fn fill(&mut self, row: &Row, end: u64) -> u64 {
        let (mut cursor, mut filled) = (row.seq.max(self.una), 0);
        while cursor < end {
            match self.pieces.changing(cursor, u64::MAX).first() {
                Some(piece) if piece.start <= cursor => cursor = piece.end,
                other => {
                    let stop = other.map_or(end, |piece| piece.start.min(end));
                    self.pieces.insert(Piece::new(cursor, stop, row));
                    filled += stop - cursor;
                    cursor = stop;
                }
            }
        }
        filled
    }

    /// An acknowledgement with its selective blocks.
    pub fn acknowledge(&mut self, row: &Row, blocks: impl Iterator<Item = (u64, u64)>) -> Report {
        let mut report = Report::default();
        let blocks: Vec<(u64, u64)> = blocks.collect();
        if row.ack > self.una && self.una > 0 {
            // The capture lacks data that are acknowledged. A FIN counts one.
            if row.ack > self.highest + 1 {
                self.unseen += row.ack - self.highest;
                self.highest = row.ack;
            }
            self.una = row.ack;
            self.pieces.split(row.ack);
            let echo = row.timestamps.map(|(_, echo)| echo);
            let pieces = self.pieces.unacknowledged();
            let count = pieces.partition_point(|piece| piece.end <= row.ack);
            for piece in &mut pieces[..count] {
                deliver(piece, row.time_ns, echo, self.highest_block, &mut report);
            }
            report.below = report.pieces;
            self.pieces.acknowledge(count);
        }
        for (number, (start, end)) in blocks.iter().copied().enumerate() {
            let outer = blocks.get(1).is_some_and(|outer| number == 0 && outer.0 <= start && end <= outer.1);
            if number == 0 && (end <= row.ack || outer) {
                report.twice = Some((start, end));
                self.pieces.mark_twice(start, end);
                continue;
            }
            for (start, end) in self.unknown(start, end.min(self.highest)) {
                self.pieces.split(start);
                self.pieces.split(end);
                for piece in self.pieces.changing(start, end) {
                    deliver(piece, row.time_ns, None, self.highest_block, &mut report);
                }
            }
        }
        self.outstanding = self.outstanding.saturating_sub(report.bytes);
        self.reordered += report.reordered;
        self.has_blocks |= !blocks.is_empty();
        let highest = blocks.iter().map(|(_, end)| *end).max().unwrap_or(0);
        self.highest_block = self.highest_block.max(highest.min(self.highest));
        if !blocks.is_empty() || report.below > 0 {
            self.known = blocks;
        }
        report
    }

    /// The parts of a block that the last acknowledgement did not have.
    fn unknown(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut parts = vec![(start, end)];
        for (from, to) in &self.known {
            let cut = parts
                .iter()
                .flat_map(|(start, end)| [(*start, (*end).min(*from)), ((*start).max(*to), *end)]);
            parts = cut.filter(|(start, end)| start < end).collect();
        }
        parts
    }

    /// True for an acknowledgement without data that repeats the number of the last one while data are outstanding.
    pub fn is_repeated(&self, row: &Row) -> bool {
        row.length == 0 && row.ack == self.una && self.outstanding > 0
    }

    /// True if later data than the lowest outstanding are reported.
    pub fn has_holes(&self) -> bool {
        self.highest_block > self.una
    }

    /// The number of the lowest byte of which delivery was not reported.
    pub fn lowest(&self) -> Option<u64> {
        self.pieces.outstanding().iter().find(|piece| piece.told_ns == NEVER).map(|piece| piece.start)
    }
}

/// Notes that a piece was reported, if it was not before.
fn deliver(piece: &mut Piece, time_ns: i64, echo: Option<u32>, highest_block: u64, report: &mut Report) {
    if piece.told_ns != NEVER {
        return;
    }
    piece.told_ns = time_ns;
    piece.echo = echo;
    report.bytes += piece.bytes();
    report.pieces += 1;
    report.reordered += usize::from(piece.times == 1 && piece.end <= highest_block);
    if piece.times == 1 {
        let rtt = time_ns - piece.sent_ns;
        report.rtt_ns = Some(report.rtt_ns.map_or(rtt, |least| least.min(rtt)));
    }
}
