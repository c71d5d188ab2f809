//! The blocks of pcapng that are written (draft-ietf-opsawg-pcapng): little endian, times in nanoseconds.

use crate::record::Record;
use std::io::{Result, Write};

/// `if_tsresol`: ticks of 10⁻⁹ s.
const NANOSECONDS: [u8; 8] = [9, 0, 1, 0, 9, 0, 0, 0];
/// `epb_flags`, which has the direction of a packet.
const FLAGS: [u8; 4] = [2, 0, 4, 0];
/// The end of a list of options.
const END: [u8; 4] = [0; 4];

/// A file to which packets are written.
pub struct Writer<W: Write> {
    output: W,
    /// Link types and numbers of the interfaces that are described.
    interfaces: Vec<(i32, u32)>,
}

impl<W: Write> Writer<W> {
    /// A file with its first block.
    pub fn new(output: W) -> Result<Writer<W>> {
        let mut writer = Writer { output, interfaces: Vec::new() };
        let mut section = 0x1A2B_3C4D_u32.to_le_bytes().to_vec();
        section.extend([1, 0, 0, 0]);
        section.extend([0xFF; 8]);
        writer.block(0x0A0D_0D0A, &section)?;
        Ok(writer)
    }

    /// Writes a packet, and before it the interface if it is a new one.
    pub fn packet(&mut self, record: &Record<'_>) -> Result<()> {
        let interface = (record.link, record.interface);
        let number = match self.interfaces.iter().position(|known| *known == interface) {
            Some(number) => number,
            None => {
                let mut described = (record.link as u16).to_le_bytes().to_vec();
                described.extend([0; 6]);
                described.extend(NANOSECONDS);
                described.extend(END);
                self.block(1, &described)?;
                self.interfaces.push(interface);
                self.interfaces.len() - 1
            }
        };
        let ticks = record.time_ns.cast_unsigned();
        let held = record.data.len() as u32;
        let mut packet = Vec::with_capacity(record.data.len() + 40);
        for word in [number as u32, (ticks >> 32) as u32, ticks as u32, held, record.length] {
            packet.extend(word.to_le_bytes());
        }
        packet.extend(record.data);
        packet.resize(packet.len().next_multiple_of(4), 0);
        if let Some(is_sent) = record.is_sent {
            packet.extend(FLAGS);
            packet.extend(if is_sent { 2_u32 } else { 1 }.to_le_bytes());
            packet.extend(END);
        }
        self.block(6, &packet)
    }

    /// Writes what is buffered.
    pub fn finish(mut self) -> Result<()> {
        self.output.flush()
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> Result<()> {
        let size = (body.len() as u32 + 12).to_le_bytes();
        self.output.write_all(&kind.to_le_bytes())?;
        self.output.write_all(&size)?;
        self.output.write_all(body)?;
        self.output.write_all(&size)
    }
}
