//! Long lists in little memory: each element is written as its differences to the one before.

use std::collections::VecDeque;

/// Elements from one that is kept whole to the next: what is read to get a single one, at most.
const BLOCK: usize = 128;

/// Blocks that are kept where single elements are read.
const MOST_KNOWN: usize = 16;

/// An element of a list.
pub trait Element: Copy + Default {
    /// Writes it, next to the one before.
    fn write(&self, before: &Self, into: &mut Bytes);
    /// Reads what `write` has written.
    fn read(before: &Self, from: &mut Reader<'_>) -> Self;
}

/// Written numbers: seven bits in a byte, the lowest ones first, so that small numbers are short.
#[derive(Default)]
pub struct Bytes(Vec<u8>);

impl Bytes {
    /// Adds a number.
    pub fn put(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Adds how much a number is above another, or below it.
    pub fn put_change(&mut self, from: u64, to: u64) {
        let change = to.wrapping_sub(from).cast_signed();
        self.put((change << 1 ^ change >> 63).cast_unsigned());
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Reads from a place on, at which a number begins.
    pub fn reader(&self, from: usize) -> Reader<'_> {
        Reader(self.0.get(from..).unwrap_or(&[]))
    }
}

/// Numbers that were written, in order.
#[derive(Clone, Copy)]
pub struct Reader<'l>(&'l [u8]);

impl Reader<'_> {
    /// The next number.
    pub fn take(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        while let [byte, rest @ ..] = self.0 {
            self.0 = rest;
            number |= u64::from(byte & 0x7F) << shift;
            if *byte < 0x80 || shift >= 63 {
                break;
            }
            shift += 7;
        }
        number
    }

    /// The number of which the change was written.
    pub fn take_change(&mut self, from: u64) -> u64 {
        let written = self.take();
        from.wrapping_add_signed((written >> 1).cast_signed() ^ -(written & 1).cast_signed())
    }
}

/// A list that grows at its end.
pub struct Long<T> {
    bytes: Bytes,
    /// The first element of each block, and where the others of it begin.
    firsts: Vec<(T, usize)>,
    last: Option<T>,
    len: usize,
}

impl<T> Default for Long<T> {
    fn default() -> Long<T> {
        Long { bytes: Bytes::default(), firsts: Vec::new(), last: None, len: 0 }
    }
}

impl<T: Element> Long<T> {
    /// How many elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds one.
    pub fn push(&mut self, element: T) {
        match self.last {
            Some(before) if !self.len.is_multiple_of(BLOCK) => element.write(&before, &mut self.bytes),
            _ => self.firsts.push((element, self.bytes.len())),
        }
        self.last = Some(element);
        self.len += 1;
    }

    /// The first element.
    pub fn first(&self) -> Option<T> {
        self.firsts.first().map(|(first, _)| *first)
    }

    /// The last one.
    pub fn last(&self) -> Option<T> {
        self.last
    }

    /// The element at a place.
    pub fn get(&self, at: usize) -> Option<T> {
        self.from(at).next()
    }

    /// All elements.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { list: self, at: 0, before: T::default(), reader: self.bytes.reader(0) }
    }

    /// The elements from a place on.
    pub fn from(&self, at: usize) -> Iter<'_, T> {
        let mut iter = self.iter();
        iter.at = at / BLOCK * BLOCK;
        for _ in iter.at..at.min(self.len) {
            iter.next();
        }
        iter.at = iter.at.max(at);
        iter
    }

    /// The number of elements at the begin of which something is true, for a list in which it is true for no others.
    pub fn partition_point(&self, is_true: impl Fn(&T) -> bool) -> usize {
        let block = self.firsts.partition_point(|(first, _)| is_true(first));
        let Some(block) = block.checked_sub(1) else { return 0 };
        let start = block * BLOCK;
        start + self.from(start).take(BLOCK).take_while(is_true).count()
    }
}

/// The elements of a list in order.
pub struct Iter<'l, T> {
    list: &'l Long<T>,
    at: usize,
    before: T,
    reader: Reader<'l>,
}

impl<T: Element> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if self.at >= self.list.len {
            return None;
        }
        if self.at.is_multiple_of(BLOCK) {
            let (first, place) = self.list.firsts.get(self.at / BLOCK)?;
            (self.before, self.reader) = (*first, self.list.bytes.reader(*place));
        } else {
            self.before = T::read(&self.before, &mut self.reader);
        }
        self.at += 1;
        Some(self.before)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.list.len.saturating_sub(self.at);
        (left, Some(left))
    }
}

/// Elements by their places, each of which is mostly near one of the last.
pub struct Near<'l, T> {
    list: &'l Long<T>,
    /// The blocks that were read last, and their numbers.
    known: VecDeque<(usize, Vec<T>)>,
}

impl<'l, T: Element> Near<'l, T> {
    /// The elements of a list.
    pub fn new(list: &'l Long<T>) -> Near<'l, T> {
        Near { list, known: VecDeque::new() }
    }

    /// The element at a place.
    pub fn get(&mut self, at: usize) -> Option<T> {
        let block = at / BLOCK;
        let known = self.known.iter().position(|(number, _)| *number == block).unwrap_or_else(|| {
            self.known.truncate(MOST_KNOWN - 1);
            self.known.push_front((block, self.list.from(block * BLOCK).take(BLOCK).collect()));
            0
        });
        self.known.get(known).and_then(|(_, elements)| elements.get(at % BLOCK)).copied()
    }
}

/// Two numbers, for example a time and a length of time.
impl Element for (i64, i64) {
    fn write(&self, before: &Self, into: &mut Bytes) {
        into.put_change(before.0.cast_unsigned(), self.0.cast_unsigned());
        into.put_change(before.1.cast_unsigned(), self.1.cast_unsigned());
    }

    fn read(before: &Self, from: &mut Reader<'_>) -> Self {
        let first = from.take_change(before.0.cast_unsigned());
        (first.cast_signed(), from.take_change(before.1.cast_unsigned()).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Long, Near};

    #[test]
    fn a_list_gives_what_was_added() {
        let odd = [0, 1, -1, 63, 64, -64, -65, i64::MAX, i64::MIN, 1 << 35];
        let all: Vec<(i64, i64)> =
            (0..3 * BLOCK + 7).map(|at| (odd[at % odd.len()], odd[at / 3 % odd.len()])).collect();
        let mut list = Long::default();
        assert!(list.iter().next().is_none() && list.get(0).is_none() && list.first().is_none());
        for element in &all {
            list.push(*element);
        }
        assert_eq!(list.iter().collect::<Vec<_>>(), all);
        assert_eq!((list.len(), list.first(), list.last()), (all.len(), Some(all[0]), all.last().copied()));
        for at in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, all.len() - 1, all.len(), all.len() + 5 * BLOCK] {
            assert_eq!(list.get(at), all.get(at).copied(), "{at}");
            assert_eq!(list.from(at).count(), all.len().saturating_sub(at), "{at}");
        }
        let mut near = Near::new(&list);
        for at in (0..all.len() + 3).rev().chain((0..all.len()).step_by(37)) {
            assert_eq!(near.get(at), all.get(at).copied(), "{at}");
        }
    }

    #[test]
    fn the_end_of_a_part_is_found() {
        let mut list = Long::default();
        for at in 0..500 {
            list.push((at / 3, 0));
        }
        for time in -1..170 {
            let expected = (0..500).filter(|at| at / 3 < time).count();
            assert_eq!(list.partition_point(|(at, _)| *at < time), expected, "{time}");
        }
    }
}
