//! TCP's header and options.
//!
//! The options are read here, because `etherparse` ends at the first one that it does not know.

/// The option kinds of RFC 9293, 7323, 2018 and 8684.
const MSS: u8 = 2;
const SCALE: u8 = 3;
const PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MPTCP: u8 = 30;
/// The largest shift of a window (RFC 7323, 2.3).
const MOST_SCALE: u8 = 14;

/// Flags of a segment.
pub const FIN: u8 = 1;
/// It opens a connection.
pub const SYN: u8 = 2;
/// The connection is given up.
pub const RST: u8 = 4;
/// Its acknowledgement number is valid.
pub const ACK: u8 = 16;

/// A segment, as its header has it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// The flags, without NS.
    pub flags: u8,
    /// The window field.
    pub window: u16,
    /// The bytes of its payload.
    pub length: u32,
    /// The options.
    pub options: Options,
}

/// Options of a segment.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Options {
    /// The largest segment.
    pub mss: Option<u16>,
    /// The shift of later windows.
    pub scale: Option<u8>,
    /// Selective acknowledgements are permitted.
    pub permitted: bool,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// Blocks of a selective acknowledgement: first byte, byte behind the last.
    pub sacks: [Option<(u32, u32)>; 4],
    /// The connection has several paths.
    pub multipath: bool,
}

/// The segment at the begin of `data`, with `length` bytes of header and payload on the wire. The options may be cut.
pub fn segment(data: &[u8], length: usize) -> Option<Segment> {
    let fixed = data.first_chunk::<20>()?;
    let word = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let header = usize::from(fixed[12] >> 4) * 4;
    if header < 20 {
        return None;
    }
    let options = data.get(20..header.min(data.len())).unwrap_or(&[]);
    Some(Segment {
        seq: word(4),
        ack: word(8),
        flags: fixed[13],
        window: u16::from_be_bytes([fixed[14], fixed[15]]),
        length: u32::try_from(length.saturating_sub(header)).ok()?,
        options: options_of(options),
    })
}

fn options_of(data: &[u8]) -> Options {
    let mut found = Options::default();
    let mut rest = data;
    while let [kind, behind @ ..] = rest {
        match kind {
            0 => break,
            1 => {
                rest = behind;
                continue;
            }
            _ => {}
        }
        let Some(size) = behind.first().map(|size| usize::from(*size)).filter(|size| *size >= 2) else {
            break;
        };
        let Some(value) = rest.get(2..size) else { break };
        rest = &rest[size..];
        match (*kind, value) {
            (MSS, [high, low]) => found.mss = Some(u16::from_be_bytes([*high, *low])),
            (SCALE, [shift]) => found.scale = Some((*shift).min(MOST_SCALE)),
            (PERMITTED, _) => found.permitted = true,
            (SACK, blocks) => {
                let (pairs, _) = blocks.as_chunks::<8>();
                for (into, block) in found.sacks.iter_mut().zip(pairs) {
                    *into = Some(pair(block));
                }
            }
            (TIMESTAMPS, value) => found.timestamps = value.first_chunk().map(pair),
            (MPTCP, _) => found.multipath = true,
            _ => {}
        }
    }
    found
}

fn pair(bytes: &[u8; 8]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = *bytes;
    (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
}
