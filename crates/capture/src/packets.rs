//! The packets of a connection in columns.

use crate::long::{Bytes, Element, Long, Near, Reader};
use crate::network::Ip;
use crate::tcp::{ACK, FIN, SYN, Segment};

/// Where unwrapped numbers begin: no capture has enough packets to reach 0 or the end of 64 bits from there.
const BEFORE: u64 = 1 << 62;

/// A direction of a connection: 0 from its first end to the second, 1 back.
pub type Way = usize;

/// Blocks of a selective acknowledgement: first byte, byte behind the last; unused ones are empty.
pub type Blocks = [(u64, u64); 4];

/// Packets of one connection in order of time.
#[derive(Default)]
pub struct Packets {
    stored: Long<Stored>,
    /// The blocks of selective acknowledgements: how many, and of each the first byte, next to the number that is
    /// acknowledged, and the bytes.
    blocks: Bytes,
    /// Bytes of payload, and packets, each way.
    sums: [(u64, usize); 2],
    is_unsorted: bool,
}

/// A packet as it is stored: the last ones of both ways, of which it is the last.
#[derive(Clone, Copy, Default)]
struct Stored {
    time_ns: i64,
    way: Way,
    /// The number of its first byte.
    seq: u64,
    last: [Last; 2],
    /// Where its blocks are; `None`: it has none.
    blocks: Option<usize>,
}

/// The last packet of a way.
#[derive(Clone, Copy, Default)]
struct Last {
    /// The number behind its last byte.
    end: u64,
    ack: u64,
    length: u32,
    window: u16,
    stamps: (u32, u32),
    id: u16,
    flags: u8,
    /// Bits 0 and 1: ECN; bit 2: it has timestamps.
    marks: u8,
}

/// Bits of a stored packet's first number. The way is bit 0; the others tell that a field is as expected.
const SEQ: u64 = 2;
const LENGTH: u64 = 4;
const ACKED: u64 = 8;
const WINDOW: u64 = 16;
const STAMPS: u64 = 32;
const OTHERS: u64 = 64;
/// It has no blocks.
const NO_BLOCKS: u64 = 128;

impl Element for Stored {
    fn write(&self, before: &Stored, into: &mut Bytes) {
        let (now, last) = (&self.last[self.way], &before.last[self.way]);
        let others = |last: &Last| (last.flags, last.marks);
        let mut same = self.way as u64;
        for (bit, is_same) in [
            (SEQ, self.seq == last.end),
            (LENGTH, now.length == last.length),
            (ACKED, now.ack == last.ack),
            (WINDOW, now.window == last.window),
            (STAMPS, now.stamps == last.stamps),
            (OTHERS, others(now) == others(last)),
            (NO_BLOCKS, self.blocks.is_none()),
        ] {
            same |= if is_same { 0 } else { bit };
        }
        into.put(same);
        into.put_change(before.time_ns.cast_unsigned(), self.time_ns.cast_unsigned());
        into.put_change(u64::from(last.id) + 1, u64::from(now.id));
        if same & SEQ != 0 {
            into.put_change(last.end, self.seq);
        }
        if same & LENGTH != 0 {
            into.put(u64::from(now.length));
        }
        if same & ACKED != 0 {
            into.put_change(last.ack, now.ack);
        }
        if same & WINDOW != 0 {
            into.put_change(u64::from(last.window), u64::from(now.window));
        }
        if same & STAMPS != 0 {
            into.put_change(u64::from(last.stamps.0), u64::from(now.stamps.0));
            into.put_change(u64::from(last.stamps.1), u64::from(now.stamps.1));
        }
        if same & OTHERS != 0 {
            into.put(u64::from(now.flags) << 3 | u64::from(now.marks));
        }
        if let Some(place) = self.blocks {
            into.put(place as u64);
        }
    }

    fn read(before: &Stored, from: &mut Reader<'_>) -> Stored {
        let same = from.take();
        let way = (same & 1) as Way;
        let mut now = Stored { way, last: before.last, ..Stored::default() };
        let last = &mut now.last[way];
        now.time_ns = from.take_change(before.time_ns.cast_unsigned()).cast_signed();
        last.id = from.take_change(u64::from(last.id) + 1) as u16;
        now.seq = if same & SEQ != 0 { from.take_change(last.end) } else { last.end };
        if same & LENGTH != 0 {
            last.length = from.take() as u32;
        }
        if same & ACKED != 0 {
            last.ack = from.take_change(last.ack);
        }
        if same & WINDOW != 0 {
            last.window = from.take_change(u64::from(last.window)) as u16;
        }
        if same & STAMPS != 0 {
            last.stamps.0 = from.take_change(u64::from(last.stamps.0)) as u32;
            last.stamps.1 = from.take_change(u64::from(last.stamps.1)) as u32;
        }
        if same & OTHERS != 0 {
            let others = from.take();
            (last.flags, last.marks) = ((others >> 3) as u8, others as u8 & 7);
        }
        now.blocks = (same & NO_BLOCKS != 0).then(|| from.take() as usize);
        last.end = end_of(now.seq, last.length, last.flags);
        now
    }
}

/// The number behind the last byte; SYN and FIN count one.
fn end_of(seq: u64, length: u32, flags: u8) -> u64 {
    seq + u64::from(length) + u64::from(flags & SYN != 0) + u64::from(flags & FIN != 0)
}

/// One packet.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// When, in ns.
    pub time_ns: i64,
    /// Its way.
    pub way: Way,
    /// The number of its first byte.
    pub seq: u64,
    /// The number behind its last byte; SYN and FIN count one.
    pub end: u64,
    /// The number that it acknowledges.
    pub ack: u64,
    /// Bytes of payload.
    pub length: u32,
    /// The field of the window.
    pub window: u16,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// TCP's flags.
    pub flags: u8,
    /// The ECN field.
    pub ecn: u8,
    /// IPv4's identification.
    pub id: u16,
    /// Where the blocks of its selective acknowledgement are; `None`: it has none.
    blocks: Option<usize>,
}

impl Row {
    fn of(stored: &Stored) -> Row {
        let Stored { time_ns, way, seq, last, blocks } = *stored;
        let Last { end, ack, length, window, stamps, id, flags, marks } = last[way];
        let timestamps = (marks & 4 != 0).then_some(stamps);
        Row { time_ns, way, seq, end, ack, length, window, timestamps, flags, ecn: marks & 3, id, blocks }
    }

    /// True if this flag is set.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The highest numbers of a connection, to unwrap the next ones.
#[derive(Default)]
pub struct Unwrapping([Option<u64>; 2]);

impl Unwrapping {
    /// The 64-bit number of a byte that goes this way: the one nearest to the last.
    fn number(&mut self, way: Way, low: u32) -> u64 {
        let number = self.near(way, low);
        self.0[way] = Some(number);
        number
    }

    fn near(&self, way: Way, low: u32) -> u64 {
        match self.0[way] {
            Some(last) => last.wrapping_add_signed(i64::from(low.wrapping_sub(last as u32).cast_signed())),
            None => BEFORE + u64::from(low),
        }
    }
}

impl Packets {
    /// How many they are.
    pub fn len(&self) -> usize {
        self.stored.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of payload that went each way.
    pub fn bytes(&self) -> [u64; 2] {
        self.sums.map(|(bytes, _)| bytes)
    }

    /// Packets each way.
    pub fn counts(&self) -> [usize; 2] {
        self.sums.map(|(_, count)| count)
    }

    /// The times of the first packet and of the last; `None`: there is none.
    pub fn span(&self) -> Option<(i64, i64)> {
        self.stored.first().zip(self.stored.last()).map(|(first, last)| (first.time_ns, last.time_ns))
    }

    /// Adds a packet.
    pub(crate) fn push(&mut self, known: &mut Unwrapping, time_ns: i64, way: Way, ip: Ip, segment: &Segment) {
        let seq = known.number(way, segment.seq);
        let back = 1 - way;
        let ack = if segment.flags & ACK != 0 { known.number(back, segment.ack) } else { 0 };
        let sacks = segment.options.sacks.iter().flatten();
        let blocks = (sacks.clone().count() > 0).then(|| self.blocks.len());
        if blocks.is_some() {
            self.blocks.put(sacks.clone().count() as u64);
            for (first, behind) in sacks {
                self.blocks.put_change(ack, known.near(back, *first));
                self.blocks.put(u64::from(behind.wrapping_sub(*first)));
            }
        }
        let has_stamps = segment.options.timestamps.is_some();
        let end = end_of(seq, segment.length, segment.flags);
        let last = Last {
            end,
            ack,
            length: segment.length,
            window: segment.window,
            stamps: segment.options.timestamps.unwrap_or_default(),
            id: ip.id,
            flags: segment.flags,
            marks: ip.ecn & 3 | u8::from(has_stamps) << 2,
        };
        self.add(time_ns, way, seq, last, blocks);
    }

    fn add(&mut self, time_ns: i64, way: Way, seq: u64, last: Last, blocks: Option<usize>) {
        let before = self.stored.last();
        self.is_unsorted |= before.is_some_and(|before| before.time_ns > time_ns);
        let mut both = before.map_or_else(Default::default, |before| before.last);
        both[way] = last;
        self.sums[way].0 += u64::from(last.length);
        self.sums[way].1 += 1;
        self.stored.push(Stored { time_ns, way, seq, last: both, blocks });
    }

    /// The packets in order.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        self.stored.iter().map(|stored| Row::of(&stored))
    }

    /// The blocks of a packet's selective acknowledgement, without the unused ones.
    pub fn sacks(&self, row: &Row) -> impl Iterator<Item = (u64, u64)> {
        let (mut found, mut count) = (Blocks::default(), 0);
        if let Some(place) = row.blocks {
            let mut reader = self.blocks.reader(place);
            count = (reader.take() as usize).min(found.len());
            for block in &mut found[..count] {
                let first = reader.take_change(row.ack);
                *block = (first, first + reader.take());
            }
        }
        found.into_iter().take(count).filter(|(first, behind)| first < behind)
    }

    /// Puts the packets in order of time; packets of one time stay in the order of the file. False: they were in order.
    pub(crate) fn sort(&mut self) -> bool {
        if !self.is_unsorted {
            return false;
        }
        let mut order: Vec<(i64, u32)> =
            self.stored.iter().zip(0..).map(|(stored, at)| (stored.time_ns, at)).collect();
        order.sort_unstable();
        let before = std::mem::take(self);
        let mut near = Near::new(&before.stored);
        for (_, at) in order {
            let Some(Stored { time_ns, way, seq, last, blocks }) = near.get(at as usize) else { continue };
            self.add(time_ns, way, seq, last[way], blocks);
        }
        self.blocks = before.blocks;
        true
    }

    /// True if acknowledgements fall back again and again, as they do where a clock was set back.
    pub(crate) fn falls_back(&self) -> bool {
        let (mut highest, mut back, mut all) = ([0; 2], 0_u32, 0_u32);
        for row in self.rows().filter(|row| row.ack > 0) {
            all += 1;
            back += u32::from(row.ack + 65_536 < highest[row.way]);
            highest[row.way] = highest[row.way].max(row.ack);
        }
        back > 10 && back > all / 20
    }
}
