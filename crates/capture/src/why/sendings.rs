//! The sender's data as a capture between it and the receiver shows them: sendings, acknowledgements, what is outstanding.

use crate::packets::Row;

/// No time.
pub const NEVER: i64 = i64::MAX;

/// Data that were first sent in one packet.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The number of the first byte.
    pub start: u64,
    /// The number behind the last byte.
    pub end: u64,
    /// When it was sent first.
    pub sent_ns: i64,
    /// When it was sent again first; [`NEVER`]: it was not.
    pub again_ns: i64,
    /// TSval of that.
    pub again_tsval: Option<u32>,
    /// When it was sent last.
    pub last_ns: i64,
    /// How often it was sent.
    pub times: u32,
    /// When its delivery was reported; [`NEVER`]: it was not.
    pub told_ns: i64,
    /// TSecr of the acknowledgement that reported it, if it advanced.
    pub echo: Option<u32>,
    /// It was reported as received twice.
    pub twice: bool,
}

impl Piece {
    fn new(start: u64, end: u64, row: &Row) -> Piece {
        Piece {
            start,
            end,
            sent_ns: row.time_ns,
            again_ns: NEVER,
            again_tsval: None,
            last_ns: row.time_ns,
            times: 1,
            told_ns: NEVER,
            echo: None,
            twice: false,
        }
    }

    /// Bytes of it.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// True if its first sending arrived, by the reports. The acknowledgement echoes a timestamp from before (Eifel, RFC 3522),
    /// or the report came sooner than a round trip `least` after the second sending, or it arrived twice. A selective
    /// acknowledgement echoes an older time (RFC 7323, 4.3), which shows nothing.
    pub fn first_arrived(&self, least: i64) -> bool {
        if self.told_ns == NEVER {
            return false;
        }
        let early = self.again_ns.saturating_add(least - least / 20);
        self.times == 1 || self.told_ns < early || self.twice || self.echoes_first()
    }

    /// True if the echoed timestamp is from before the second sending.
    pub fn echoes_first(&self) -> bool {
        let pair = self.echo.zip(self.again_tsval);
        pair.is_some_and(|(echo, again)| echo.wrapping_sub(again).cast_signed() < 0)
    }
}

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
    /// The time from sending to the report of the newest piece that was sent once.
    pub rtt_ns: Option<i64>,
    /// The block of a duplicate selective acknowledgement (RFC 2883).
    pub twice: Option<(u64, u64)>,
}

/// All data of a sender.
#[derive(Default)]
pub struct Sendings {
    /// In order of their numbers.
    pub pieces: Vec<Piece>,
    /// The first piece that is not acknowledged cumulatively.
    first: usize,
    /// The highest cumulative acknowledgement.
    pub una: u64,
    /// The highest number that was sent.
    pub highest: u64,
    /// Bytes of which no delivery was reported.
    pub outstanding: u64,
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
    /// The piece that holds a byte, or the first behind it.
    pub fn place(&self, number: u64) -> usize {
        self.pieces.partition_point(|piece| piece.end <= number)
    }

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
        sent
    }

    fn send_again(&mut self, row: &Row, end: u64) -> Option<Again> {
        if end <= self.una {
            return Some(Again { start: row.seq, end, times: 2, is_told: true, after_ns: 0 });
        }
        self.split(row.seq);
        self.split(end);
        let range = self.place(row.seq)..self.place(end);
        let pieces = self.pieces.get_mut(range).filter(|pieces| !pieces.is_empty())?;
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
        let mut at = self.place(cursor);
        while cursor < end {
            match self.pieces.get(at) {
                Some(piece) if piece.start <= cursor => cursor = piece.end,
                other => {
                    let stop = other.map_or(end, |piece| piece.start.min(end));
                    self.pieces.insert(at, Piece::new(cursor, stop, row));
                    filled += stop - cursor;
                    cursor = stop;
                }
            }
            at += 1;
        }
        filled
    }

    /// Splits the piece around a number, if it begins none.
    fn split(&mut self, number: u64) {
        let at = self.place(number);
        let Some(piece) = self.pieces.get_mut(at).filter(|piece| piece.start < number && piece.end > number)
        else {
            return;
        };
        let mut behind = *piece;
        piece.end = number;
        behind.start = number;
        self.pieces.insert(at + 1, behind);
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
            self.split(row.ack);
            let echo = row.timestamps.map(|(_, echo)| echo);
            while let Some(end) =
                self.pieces.get(self.first).map(|piece| piece.end).filter(|end| *end <= row.ack)
            {
                report.below += usize::from(self.deliver(self.first, row.time_ns, echo, &mut report));
                debug_assert!(end <= row.ack, "pieces are in order");
                self.first += 1;
            }
        }
        for (number, (start, end)) in blocks.iter().copied().enumerate() {
            let outer = blocks.get(1).is_some_and(|outer| number == 0 && outer.0 <= start && end <= outer.1);
            if number == 0 && (end <= row.ack || outer) {
                report.twice = Some((start, end));
                self.mark_twice(start, end);
                continue;
            }
            for (start, end) in self.unknown(start, end.min(self.highest)) {
                self.split(start);
                self.split(end);
                for at in self.place(start)..self.place(end) {
                    self.deliver(at, row.time_ns, None, &mut report);
                }
            }
        }
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

    fn deliver(&mut self, at: usize, time_ns: i64, echo: Option<u32>, report: &mut Report) -> bool {
        let Some(piece) = self.pieces.get_mut(at).filter(|piece| piece.told_ns == NEVER) else {
            return false;
        };
        piece.told_ns = time_ns;
        piece.echo = echo;
        let bytes = piece.bytes();
        self.outstanding = self.outstanding.saturating_sub(bytes);
        report.pieces += 1;
        self.reordered += usize::from(piece.times == 1 && piece.end <= self.highest_block);
        if piece.times == 1 {
            report.rtt_ns =
                Some(report.rtt_ns.map_or(time_ns - piece.sent_ns, |rtt| rtt.min(time_ns - piece.sent_ns)));
        }
        true
    }

    fn mark_twice(&mut self, start: u64, end: u64) {
        for at in self.place(start)..self.place(end) {
            self.pieces[at].twice = true;
        }
    }

    /// True if later data than the lowest outstanding are reported.
    pub fn has_holes(&self) -> bool {
        self.highest_block > self.una
    }

    /// The number of the lowest byte of which delivery was not reported.
    pub fn lowest(&self) -> Option<u64> {
        self.pieces[self.first..].iter().find(|piece| piece.told_ns == NEVER).map(|piece| piece.start)
    }
}
