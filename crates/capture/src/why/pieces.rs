//! The pieces of a sender's data in the order of their numbers. What is acknowledged cumulatively does not change, and is
//! kept in little memory.

use crate::long::{Bytes, Element, Long, Reader};
use crate::packets::Row;

/// Acknowledged pieces that wait to be packed.
const MOST_WAITING: usize = 4_096;

/// No time.
pub const NEVER: i64 = i64::MAX;

/// Data that were first sent in one packet.
#[derive(Clone, Copy, Default, Debug)]
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
    /// Data that a packet sends first.
    pub fn new(start: u64, end: u64, row: &Row) -> Piece {
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

/// All pieces.
#[derive(Default)]
pub struct Pieces {
    /// Those that are acknowledged cumulatively, except the last ones of them.
    done: Long<Piece>,
    /// The others.
    open: Vec<Piece>,
    /// How many of the others are acknowledged cumulatively.
    waiting: usize,
    /// Ranges of numbers below those of `open` that were reported as received twice.
    twice: Vec<(u64, u64)>,
}

impl Pieces {
    /// How many.
    pub fn len(&self) -> usize {
        self.done.len() + self.open.len()
    }

    /// The piece at a place.
    pub fn get(&self, at: usize) -> Option<Piece> {
        match at.checked_sub(self.done.len()) {
            Some(at) => self.open.get(at).copied(),
            None => self.done.get(at).map(|piece| self.whole(piece)),
        }
    }

    /// The first one.
    pub fn first(&self) -> Option<Piece> {
        self.get(0)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Piece> + '_ {
        self.range(0, usize::MAX)
    }

    /// Those from one place up to another.
    pub fn range(&self, from: usize, upto: usize) -> impl Iterator<Item = Piece> + '_ {
        let open = self.open.get(from.saturating_sub(self.done.len())..).unwrap_or(&[]);
        let all = self.done.from(from).map(|piece| self.whole(piece)).chain(open.iter().copied());
        all.take(upto.saturating_sub(from))
    }

    fn whole(&self, piece: Piece) -> Piece {
        let at = self.twice.partition_point(|(_, end)| *end < piece.end);
        let is_twice = self.twice.get(at).is_some_and(|(start, _)| *start < piece.end);
        Piece { twice: piece.twice || is_twice, ..piece }
    }

    /// The number of pieces at the begin of which something is true, by bisection: pieces are not delivered in their order.
    pub fn partition_point(&self, is_true: impl Fn(&Piece) -> bool) -> usize {
        let (mut base, mut size) = (0, self.len());
        while size > 1 {
            let middle = base + size / 2;
            if self.get(middle).is_some_and(|piece| is_true(&piece)) {
                base = middle;
            }
            size -= size / 2;
        }
        base + usize::from(self.get(base).is_some_and(|piece| is_true(&piece)))
    }

    /// The place of the piece that holds a byte, or of the first behind it.
    pub fn place(&self, number: u64) -> usize {
        match self.done.last() {
            Some(last) if last.end > number => self.done.partition_point(|piece| piece.end <= number),
            _ => self.done.len() + self.open.partition_point(|piece| piece.end <= number),
        }
    }

    /// Pieces that may still change, from the place of a byte up to that of another.
    pub fn changing(&mut self, from: u64, upto: u64) -> &mut [Piece] {
        let place = |number: u64| self.open.partition_point(|piece| piece.end <= number);
        let (from, upto) = (place(from), place(upto));
        self.open.get_mut(from..upto).unwrap_or(&mut [])
    }

    /// The pieces that are not acknowledged cumulatively.
    pub fn unacknowledged(&mut self) -> &mut [Piece] {
        self.open.get_mut(self.waiting..).unwrap_or(&mut [])
    }

    /// The same, to read.
    pub fn outstanding(&self) -> &[Piece] {
        self.open.get(self.waiting..).unwrap_or(&[])
    }

    /// Adds a piece behind all others.
    pub fn push(&mut self, piece: Piece) {
        self.open.push(piece);
    }

    /// Adds a piece in front of the first one behind its numbers.
    pub fn insert(&mut self, piece: Piece) {
        let at = self.open.partition_point(|other| other.end <= piece.start);
        self.open.insert(at, piece);
    }

    /// Splits the piece around a number, if it begins none and may still change.
    pub fn split(&mut self, number: u64) {
        let at = self.open.partition_point(|piece| piece.end <= number);
        let inside = self.open.get_mut(at).filter(|piece| piece.start < number && piece.end > number);
        let Some(piece) = inside else { return };
        let behind = Piece { start: number, ..*piece };
        piece.end = number;
        self.open.insert(at + 1, behind);
    }

    /// This number of further pieces is acknowledged cumulatively.
    pub fn acknowledge(&mut self, count: usize) {
        self.waiting += count;
        if self.waiting < MOST_WAITING {
            return;
        }
        for piece in self.open.drain(..self.waiting) {
            self.done.push(piece);
        }
        self.waiting = 0;
    }

    /// Marks pieces as received twice.
    pub fn mark_twice(&mut self, start: u64, end: u64) {
        for piece in self.changing(start, end) {
            piece.twice = true;
        }
        let Some(last) = self.done.last().filter(|last| start < last.end) else { return };
        let (mut start, mut end) = (start, end.min(last.end));
        let first = self.twice.partition_point(|range| range.1 < start);
        let behind = self.twice.partition_point(|range| range.0 <= end);
        for range in self.twice.drain(first..behind.max(first)) {
            (start, end) = (start.min(range.0), end.max(range.1));
        }
        self.twice.insert(first, (start, end));
    }
}

/// Bits of a packed piece's first number: fields that are as expected.
const FOLLOWS: u64 = 1;
const SAME_SIZE: u64 = 2;
const SAME_TOLD: u64 = 4;
const SENT_ONCE: u64 = 8;
const SAME_ECHO: u64 = 16;
const HAS_ECHO: u64 = 32;
const TWICE: u64 = 64;

impl Element for Piece {
    fn write(&self, before: &Piece, into: &mut Bytes) {
        let is_once = self.times == 1 && self.again_ns == NEVER && self.last_ns == self.sent_ns;
        let bits = [
            (FOLLOWS, self.start == before.end),
            (SAME_SIZE, self.bytes() == before.bytes()),
            (SAME_TOLD, self.told_ns == before.told_ns),
            (SENT_ONCE, is_once),
            (SAME_ECHO, self.echo == before.echo),
            (HAS_ECHO, self.echo.is_some()),
            (TWICE, self.twice),
        ];
        let bits = bits.iter().filter(|(_, is_set)| *is_set).fold(0, |all, (bit, _)| all | bit);
        into.put(bits);
        let change = |into: &mut Bytes, from: i64, to: i64| {
            into.put_change(from.cast_unsigned(), to.cast_unsigned());
        };
        change(into, before.sent_ns, self.sent_ns);
        if bits & FOLLOWS == 0 {
            into.put_change(before.end, self.start);
        }
        if bits & SAME_SIZE == 0 {
            into.put(self.bytes());
        }
        if bits & SAME_TOLD == 0 {
            change(into, before.told_ns, self.told_ns);
        }
        if bits & (SAME_ECHO | HAS_ECHO) == HAS_ECHO {
            let word = |echo: Option<u32>| u64::from(echo.unwrap_or(0));
            into.put_change(word(before.echo), word(self.echo));
        }
        if bits & SENT_ONCE == 0 {
            into.put(u64::from(self.times));
            change(into, self.sent_ns, self.again_ns);
            change(into, self.sent_ns, self.last_ns);
            into.put(self.again_tsval.map_or(0, |tsval| u64::from(tsval) + 1));
        }
    }

    fn read(before: &Piece, from: &mut Reader<'_>) -> Piece {
        let bits = from.take();
        let change = |from: &mut Reader<'_>, base: i64| from.take_change(base.cast_unsigned()).cast_signed();
        let sent_ns = change(from, before.sent_ns);
        let start = if bits & FOLLOWS == 0 { from.take_change(before.end) } else { before.end };
        let size = if bits & SAME_SIZE == 0 { from.take() } else { before.bytes() };
        let told_ns = if bits & SAME_TOLD == 0 { change(from, before.told_ns) } else { before.told_ns };
        let echo = match bits & (SAME_ECHO | HAS_ECHO) {
            HAS_ECHO => Some(from.take_change(u64::from(before.echo.unwrap_or(0))) as u32),
            0 => None,
            _ => before.echo,
        };
        let mut piece = Piece {
            start,
            end: start + size,
            sent_ns,
            again_ns: NEVER,
            again_tsval: None,
            last_ns: sent_ns,
            times: 1,
            told_ns,
            echo,
            twice: bits & TWICE != 0,
        };
        if bits & SENT_ONCE == 0 {
            piece.times = from.take() as u32;
            piece.again_ns = change(from, sent_ns);
            piece.last_ns = change(from, sent_ns);
            piece.again_tsval = from.take().checked_sub(1).map(|tsval| tsval as u32);
        }
        piece
    }
}
