//! A packet of a capture file, whatever its format.

use crate::fault::Fault;
use crate::source::Source;

/// The longest record that is read, in bytes. `tcpdump` cuts packets at 262,144.
pub const LONGEST: usize = 16 << 20;
/// Nanoseconds of a second.
pub const SECOND: i64 = 1_000_000_000;

/// A packet of the file.
pub struct Record<'a> {
    /// When, in ns since 1970 or what the clock of the capture counts from.
    pub time_ns: i64,
    /// The type of its link layer header: tcpdump.org's LINKTYPE.
    pub link: i32,
    /// Its interface, by number.
    pub interface: u32,
    /// The bytes that the file holds.
    pub data: &'a [u8],
    /// Its length on the wire.
    pub length: u32,
    /// True if the host of the capture sent it, false if it received it.
    pub is_sent: Option<bool>,
}

/// The statements of a file about itself.
#[derive(Default)]
pub struct About {
    /// Packets that the capture lost: by the counts in the file.
    pub missed: u64,
    /// The file ends within a record.
    pub is_cut: bool,
    /// Packets without a time, which are left out.
    pub untimed: u64,
    /// Packets whose fraction of a second is a second or more.
    pub carried: u64,
}

/// The fault of a record that is longer than any packet.
pub fn too_long(source: &Source<'_>, size: usize) -> Fault {
    source.fault(
        format!("a record of {size} bytes"),
        &format!("at most {LONGEST} bytes, the file is damaged here"),
        &format!(
            "keep what is before it: `head -c {} FILE > WHOLE`, if the file is not packed",
            source.offset()
        ),
    )
}
