//! The blocks of pcapng (draft-ietf-opsawg-pcapng).

use crate::fault::Read;
use crate::record::{About, LONGEST, Record, SECOND, too_long};
use crate::source::Source;
use pcap_parser::{Block, OptionCode, PcapNGOption, parse_block_be, parse_block_le};

/// Types of blocks that hold packets.
const ENHANCED: u32 = 6;
const OBSOLETE: u32 = 2;
const SIMPLE: u32 = 3;
/// Other types that are read.
const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
/// Times from here on are refused: the year 2116.
const LATEST_NS: i64 = 1 << 62;
/// `epb_flags` and `epb_dropcount`.
const FLAGS: OptionCode = OptionCode(2);
const DROPS: OptionCode = OptionCode(4);

struct Interface {
    link: i32,
    /// Ticks of its clock in a second.
    ticks: u64,
    offset_s: i64,
    check: usize,
    /// The largest count of packets that the capture lost.
    missed: u64,
}

/// The state of the section that is read.
#[derive(Default)]
pub struct Sections {
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// Interfaces of the sections before.
    before: u32,
}

impl Sections {
    /// Reads blocks up to the next packet: the size of its block. `None` at the end.
    pub fn find_packet(&mut self, source: &mut Source<'_>, about: &mut About) -> Read<Option<usize>> {
        loop {
            let head = source.peek(12)?;
            let Some(fixed) = head.first_chunk::<12>().copied() else {
                about.is_cut = !head.is_empty() || source.is_cut();
                return Ok(None);
            };
            let [kind, size, magic] =
                [0, 4, 8].map(|at| [fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
            if u32::from_le_bytes(kind) == SECTION {
                self.big_endian = u32::from_be_bytes(magic) == 0x1A2B_3C4D;
            }
            let word = if self.big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
            let (kind, size) = (word(kind), word(size) as usize);
            if size < 12 || !size.is_multiple_of(4) {
                let found = format!("a block of {size} bytes");
                return Err(source.fault(
                    found,
                    "12 bytes or more, a multiple of 4",
                    "capture again, or repair it with `pcapfix`",
                ));
            }
            if size > LONGEST {
                return Err(too_long(source, size));
            }
            let bytes = source.peek(size)?;
            if bytes.len() < size {
                about.is_cut = true;
                return Ok(None);
            }
            let behind = bytes.last_chunk().map_or(0, |last| word(*last)) as usize;
            if behind != size {
                let found = format!("a block of {size} bytes with {behind} as its length at its end");
                return Err(source.fault(
                    found,
                    "the same length at both ends",
                    "capture again, or repair it with `pcapfix`",
                ));
            }
            match kind {
                ENHANCED | OBSOLETE => return Ok(Some(size)),
                SIMPLE => about.untimed += 1,
                SECTION | INTERFACE | STATISTICS => self.describe(source, size, about)?,
                _ => {}
            }
            source.pass(size, u64::from(kind == SIMPLE));
        }
    }

    fn parsed<'s>(&self, source: &'s Source<'_>, size: usize) -> Read<Block<'s>> {
        let bytes = source.peeked(size);
        let parsed = if self.big_endian { parse_block_be(bytes) } else { parse_block_le(bytes) };
        parsed.map(|(_, block)| block).map_err(|_| {
            source.fault("a damaged block", "a block of pcapng", "capture again, or repair it with `pcapfix`")
        })
    }

    /// A block about the file.
    fn describe(&mut self, source: &Source<'_>, size: usize, about: &mut About) -> Read<()> {
        match self.parsed(source, size)? {
            Block::SectionHeader(_) => {
                self.before += self.interfaces.len() as u32;
                self.interfaces.clear();
            }
            Block::InterfaceDescription(block) => {
                let Some(ticks) = ticks(block.if_tsresol) else {
                    let found = format!("a clock with resolution {}", block.if_tsresol);
                    return Err(source.fault(found, "ticks that 64 bits can count", "capture again"));
                };
                let check = option(&block.options, OptionCode(13)).and_then(|value| value.first().copied());
                self.interfaces.push(Interface {
                    link: block.linktype.0,
                    ticks,
                    offset_s: block.if_tsoffset,
                    check: usize::from(check.unwrap_or(0)),
                    missed: 0,
                });
            }
            Block::InterfaceStatistics(block) => {
                let count = |code| {
                    let bytes = option(&block.options, OptionCode(code))?.first_chunk::<8>().copied()?;
                    Some(if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
                };
                let lost = count(5).unwrap_or(0).saturating_add(count(7).unwrap_or(0));
                if let Some(interface) = self.interfaces.get_mut(block.if_id as usize) {
                    about.missed += lost.saturating_sub(interface.missed);
                    interface.missed = interface.missed.max(lost);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The packet in a block that was found.
    pub fn packet<'s>(&mut self, source: &'s Source<'_>, size: usize, about: &mut About) -> Read<Record<'s>> {
        let Block::EnhancedPacket(block) = self.parsed(source, size)? else {
            return self.obsolete(source, size);
        };
        let Some(interface) = self.interfaces.get(block.if_id as usize) else {
            let found = format!("a packet of interface {} of {}", block.if_id, self.interfaces.len());
            return Err(source.fault(found, "an interface that the file describes before", "capture again"));
        };
        let word = |code| {
            let bytes = option(&block.options, code)?.first_chunk::<4>().copied()?;
            Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
        };
        let drops = option(&block.options, DROPS).and_then(|value| value.first_chunk::<8>().copied());
        about.missed = about.missed.saturating_add(drops.map_or(0, |bytes| {
            if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
        }));
        let is_sent = word(FLAGS).and_then(|flags| match flags & 3 {
            1 => Some(false),
            2 => Some(true),
            _ => None,
        });
        let ticks = u64::from(block.ts_high) << 32 | u64::from(block.ts_low);
        let number = self.before + block.if_id;
        record(interface, number, ticks, block.data, (block.caplen, block.origlen), is_sent).ok_or_else(
            || {
                source.fault(
                    "a time beyond the year 2262",
                    "a time in nanoseconds in 64 bits",
                    "capture again",
                )
            },
        )
    }

    /// A packet of the obsolete block: interface (16 bit), drops (16 bit), and the rest as in the enhanced one.
    fn obsolete<'s>(&self, source: &'s Source<'_>, size: usize) -> Read<Record<'s>> {
        let bytes = source.peeked(size);
        let damaged = || source.fault("a damaged block", "a packet of pcapng", "capture again");
        let word = |at: usize| {
            let bytes = bytes.get(at..at + 4)?.first_chunk().copied()?;
            Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
        };
        let [Some(first), Some(high), Some(low), Some(held), Some(length)] = [8, 12, 16, 20, 24].map(word)
        else {
            return Err(damaged());
        };
        let number = if self.big_endian { first >> 16 } else { first & 0xFFFF };
        let interface = self.interfaces.get(number as usize).ok_or_else(damaged)?;
        let data = bytes.get(28..size - 4).ok_or_else(damaged)?;
        let ticks = u64::from(high) << 32 | u64::from(low);
        record(interface, self.before + number, ticks, data, (held, length), None).ok_or_else(damaged)
    }
}

/// Ticks in a second by `if_tsresol`: a power of two, if its highest bit is set, otherwise of ten.
fn ticks(resolution: u8) -> Option<u64> {
    let power = u32::from(resolution & 0x7F);
    if resolution & 0x80 != 0 { 1_u64.checked_shl(power) } else { 10_u64.checked_pow(power) }
}

/// A packet; `data` may have padding, `sizes` are its length in the file and on the wire.
fn record<'s>(
    interface: &Interface,
    number: u32,
    ticks: u64,
    data: &'s [u8],
    sizes: (u32, u32),
    is_sent: Option<bool>,
) -> Option<Record<'s>> {
    let held = (sizes.0 as usize).min(data.len());
    let is_whole = sizes.1 as usize <= held;
    let check = if is_whole { interface.check } else { 0 };
    let ns = i128::from(ticks) * i128::from(SECOND) / i128::from(interface.ticks);
    let ns = ns + i128::from(interface.offset_s) * i128::from(SECOND);
    Some(Record {
        time_ns: i64::try_from(ns).ok().filter(|ns| (0..LATEST_NS).contains(ns))?,
        link: interface.link,
        interface: number,
        data: data.get(..held.saturating_sub(check))?,
        length: sizes.1.saturating_sub(check as u32),
        is_sent,
    })
}

fn option<'o>(options: &'o [PcapNGOption<'_>], code: OptionCode) -> Option<&'o [u8]> {
    options.iter().find(|option| option.code == code).and_then(|option| option.as_bytes().ok())
}
