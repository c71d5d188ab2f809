//! The packets of a connection in columns.

use crate::tcp::{ACK, FIN, SYN, Segment};

/// Where unwrapped numbers begin, so that one before the first that was seen is above 0.
const BEFORE: u64 = 1 << 32;

/// A direction of a connection: 0 from its first end to the second, 1 back.
pub type Way = usize;

/// Blocks of a selective acknowledgement: first byte, byte behind the last; unused ones are empty.
pub type Blocks = [(u64, u64); 4];

/// Packets of one connection, one element of each column for each packet, in order of time.
#[derive(Default)]
pub struct Packets {
    /// When, in ns.
    pub time_ns: Vec<i64>,
    /// The number of the first byte, a SYN's included, unwrapped to 64 bit.
    pub seq: Vec<u64>,
    /// The number that is acknowledged, unwrapped; 0: none.
    pub ack: Vec<u64>,
    /// Bytes of payload.
    pub length: Vec<u32>,
    /// The field of the window, which is not scaled.
    pub window: Vec<u16>,
    /// TSval.
    pub tsval: Vec<u32>,
    /// TSecr.
    pub tsecr: Vec<u32>,
    /// IPv4's identification.
    pub id: Vec<u16>,
    /// TCP's flags.
    pub flags: Vec<u8>,
    /// Bit 0: the way; bits 1 and 2: ECN; bit 3: it has timestamps.
    marks: Vec<u8>,
    /// Selective acknowledgements: the packet, and its blocks.
    sacks: Vec<(u32, Blocks)>,
}

/// One packet.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its place among the packets.
    pub at: usize,
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
}

impl Row {
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
        self.time_ns.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.time_ns.is_empty()
    }

    /// The ECN field of a packet.
    pub fn ecn(&self, at: usize) -> u8 {
        self.marks[at] >> 1 & 3
    }

    /// The way of a packet.
    pub fn way(&self, at: usize) -> Way {
        usize::from(self.marks[at] & 1)
    }

    /// Adds a packet.
    pub(crate) fn push(
        &mut self,
        known: &mut Unwrapping,
        time_ns: i64,
        way: Way,
        id: u16,
        ecn: u8,
        segment: &Segment,
    ) {
        let seq = known.number(way, segment.seq);
        let has_ack = segment.flags & ACK != 0;
        let back = 1 - way;
        self.ack.push(if has_ack { known.number(back, segment.ack) } else { 0 });
        let mut blocks = Blocks::default();
        for (into, block) in blocks.iter_mut().zip(segment.options.sacks.iter().flatten()) {
            let first = known.near(back, block.0);
            *into = (first, first + u64::from(block.1.wrapping_sub(block.0)));
        }
        if segment.options.sacks[0].is_some() {
            self.sacks.push((self.len() as u32, blocks));
        }
        let (tsval, tsecr) = segment.options.timestamps.unwrap_or_default();
        self.time_ns.push(time_ns);
        self.seq.push(seq);
        self.length.push(segment.length);
        self.window.push(segment.window);
        self.tsval.push(tsval);
        self.tsecr.push(tsecr);
        self.id.push(id);
        self.flags.push(segment.flags);
        let has_timestamps = u8::from(segment.options.timestamps.is_some());
        self.marks.push(way as u8 | ecn << 1 | has_timestamps << 3);
    }

    /// The packets in order.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        (0..self.len()).map(|at| self.row(at))
    }

    /// One packet.
    pub fn row(&self, at: usize) -> Row {
        let (flags, seq, length) = (self.flags[at], self.seq[at], self.length[at]);
        let counted = u64::from(flags & SYN != 0) + u64::from(flags & FIN != 0);
        Row {
            at,
            time_ns: self.time_ns[at],
            way: self.way(at),
            seq,
            end: seq + u64::from(length) + counted,
            ack: self.ack[at],
            length,
            window: self.window[at],
            timestamps: (self.marks[at] & 8 != 0).then(|| (self.tsval[at], self.tsecr[at])),
            flags,
        }
    }

    /// The blocks of a packet's selective acknowledgement, without the unused ones.
    pub fn sacks(&self, at: usize) -> impl Iterator<Item = (u64, u64)> + '_ {
        let found = self.sacks.binary_search_by_key(&(at as u32), |(packet, _)| *packet).ok();
        found.into_iter().flat_map(|place| self.sacks[place].1).filter(|(first, behind)| first < behind)
    }

    /// Puts the packets in order of time; packets of one time stay in the order of the file. False: they were in order.
    pub(crate) fn sort(&mut self) -> bool {
        if self.time_ns.is_sorted() {
            return false;
        }
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_by_key(|at| self.time_ns[*at as usize]);
        arrange(&mut self.time_ns, &order);
        arrange(&mut self.seq, &order);
        arrange(&mut self.ack, &order);
        arrange(&mut self.length, &order);
        arrange(&mut self.window, &order);
        arrange(&mut self.tsval, &order);
        arrange(&mut self.tsecr, &order);
        arrange(&mut self.id, &order);
        arrange(&mut self.flags, &order);
        arrange(&mut self.marks, &order);
        let mut places = vec![0; order.len()];
        for (new, old) in order.iter().enumerate() {
            places[*old as usize] = new as u32;
        }
        for (packet, _) in &mut self.sacks {
            *packet = places[*packet as usize];
        }
        self.sacks.sort_by_key(|(packet, _)| *packet);
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

fn arrange<T: Copy>(column: &mut Vec<T>, order: &[u32]) {
    *column = order.iter().map(|at| column[*at as usize]).collect();
}
