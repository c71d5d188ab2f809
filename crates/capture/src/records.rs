//! The records of a capture file: packets with their time, link type and length on the wire.

use crate::fault::{Fault, Read};
use crate::pcapng::Sections;
use crate::record::{About, LONGEST, Record, SECOND, too_long};
use crate::source::Source;
use pcap_parser::{PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified};
use std::fmt::Write as _;

enum Format {
    Pcap(PcapHeader),
    Pcapng(Sections),
}

/// A file, packet by packet.
pub struct Records<'a> {
    source: Source<'a>,
    format: Format,
    /// The bytes and packets of the record that was given last.
    last: (usize, u64),
    about: About,
}

impl<'a> Records<'a> {
    /// The records of a file, plain or packed.
    pub fn new(input: impl std::io::Read + 'a) -> Read<Records<'a>> {
        let mut source = Source::new(input)?;
        let head = source.peek(24)?.to_vec();
        if head.is_empty() {
            return Err(source.fault(
                "it is empty",
                "a capture",
                "capture again: `tcpdump -i any -s 128 -w FILE`",
            ));
        }
        let format = if head.starts_with(&[0x0A, 0x0D, 0x0D, 0x0A]) {
            Format::Pcapng(Sections::default())
        } else if let Ok((_, header)) = pcap_parser::parse_pcap_header(&head) {
            source.pass(24, 0);
            Format::Pcap(header)
        } else {
            return Err(unknown(&source, &head));
        };
        Ok(Records { source, format, last: (0, 0), about: About::default() })
    }

    /// The next packet; `None` behind the last one.
    pub fn next(&mut self) -> Read<Option<Record<'_>>> {
        let (bytes, packets) = std::mem::take(&mut self.last);
        self.source.pass(bytes, packets);
        match &mut self.format {
            Format::Pcap(header) => {
                let Some(size) = pcap_size(&mut self.source, header, &mut self.about)? else {
                    return Ok(None);
                };
                self.last = (size, 1);
                pcap_record(&self.source, header, size, &mut self.about).map(Some)
            }
            Format::Pcapng(sections) => {
                let Some(size) = sections.find_packet(&mut self.source, &mut self.about)? else {
                    return Ok(None);
                };
                self.last = (size, 1);
                sections.packet(&self.source, size, &mut self.about).map(Some)
            }
        }
    }

    /// The packet that was given last, from 1, and the byte at which its record begins.
    pub fn place(&self) -> (u64, u64) {
        (self.source.packets() + 1, self.source.offset())
    }

    /// The fault of the packet that was given last, whose link type is not read.
    pub fn unread(&self, link: i32) -> Fault {
        let (packet, byte) = self.place();
        // The link types of captures of Wi-Fi.
        let wireless = if [105, 119, 127].contains(&link) { ", 802.11 frames" } else { "" };
        Fault {
            packet,
            byte,
            problem: format!("a link layer of type {link}{wireless}"),
            expected: "Ethernet, raw IP, Linux cooked, PPP, null or loopback".into(),
            remedy: "capture on an interface of IP: `tcpdump -i any -s 128 -w FILE`".into(),
        }
    }

    /// The statements of the file about itself, complete once the last packet was given.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The bytes that were read, unpacked.
    pub fn bytes(&self) -> u64 {
        self.source.offset()
    }
}

/// The fault of a file that is no capture.
fn unknown(source: &Source<'_>, head: &[u8]) -> Fault {
    let text = head.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    let found = if text {
        "it is text".to_owned()
    } else {
        head.iter().take(4).fold("it begins with the bytes".to_owned(), |mut said, byte| {
            let _ = write!(said, " {byte:02x}");
            said
        })
    };
    source.fault(
        found,
        "a capture in pcap or pcapng, plain or packed with gzip or zstd",
        "name the file that `tcpdump -w` or Wireshark wrote",
    )
}

/// The size of the next record of a pcap file; `None` at the end.
fn pcap_size(source: &mut Source<'_>, header: &PcapHeader, about: &mut About) -> Read<Option<usize>> {
    let fixed = if header.is_modified_format() { 24 } else { 16 };
    let head = source.peek(fixed)?;
    if head.len() < fixed {
        about.is_cut = !head.is_empty() || source.is_cut();
        return Ok(None);
    }
    let held = head.get(8..12).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or_default();
    let held = if header.is_bigendian() { u32::from_be_bytes(held) } else { u32::from_le_bytes(held) };
    let size = fixed.saturating_add(held as usize);
    if size > LONGEST {
        return Err(too_long(source, size));
    }
    if source.peek(size)?.len() < size {
        about.is_cut = true;
        return Ok(None);
    }
    Ok(Some(size))
}

fn pcap_record<'s>(
    source: &'s Source<'_>,
    header: &PcapHeader,
    size: usize,
    about: &mut About,
) -> Read<Record<'s>> {
    let bytes = source.peeked(size);
    let parsed = match (header.is_modified_format(), header.is_bigendian()) {
        (true, false) => parse_pcap_frame_modified(bytes),
        (false, false) => parse_pcap_frame(bytes),
        (_, true) => parse_pcap_frame_be(bytes),
    };
    let Ok((_, frame)) = parsed else {
        return Err(source.fault("a damaged record", "a record of pcap", "capture again"));
    };
    let unit = if header.is_nanosecond_precision() { 1 } else { 1000 };
    let part = i64::from(frame.ts_usec) * unit;
    about.carried += u64::from(part >= SECOND);
    // The upper bits of the link type tell the length of a check sequence behind each packet.
    let network = header.network.0;
    let check = if network & 0x0400_0000 != 0 { (network as u32 >> 28) as usize * 2 } else { 0 };
    let data = frame.data;
    let is_whole = frame.origlen as usize <= data.len();
    let data = if is_whole { &data[..data.len().saturating_sub(check)] } else { data };
    Ok(Record {
        time_ns: i64::from(frame.ts_sec) * SECOND + part,
        link: network & 0xFFFF,
        interface: 0,
        data,
        length: frame.origlen.saturating_sub(check as u32),
        is_sent: None,
    })
}
