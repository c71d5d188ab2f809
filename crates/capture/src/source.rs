//! The bytes of a capture in order, unpacked, with a buffer of bounded size.

use crate::fault::{Fault, Read};
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use std::io::{BufRead, BufReader, Cursor, ErrorKind};

/// Bytes that are read in one piece.
const PIECE: usize = 1 << 20;
/// The magic number of zstd's frames that hold no data (RFC 8878, 3.1.2); its last four bits are free.
const SKIPPABLE: u32 = 0x184D_2A50;

/// A file in pieces.
pub struct Source<'a> {
    input: Box<dyn std::io::Read + 'a>,
    buffer: Vec<u8>,
    start: usize,
    /// The place in the file of what is at `start`.
    offset: u64,
    /// The packets before it.
    packets: u64,
    ended: bool,
    cut: bool,
}

impl<'a> Source<'a> {
    /// The content of a file, unpacked if gzip or zstd packed it.
    pub fn new(input: impl std::io::Read + 'a) -> Read<Source<'a>> {
        let mut source = Source::plain(Box::new(input));
        let start: [u8; 6] = std::array::from_fn({
            let head = source.peek(6)?;
            move |at| head.get(at).copied().unwrap_or(0)
        });
        let packed = match start {
            [0x1F, 0x8B, ..] => "gzip",
            [0x28, 0xB5, 0x2F, 0xFD, ..] => "zstd",
            [0xFD, b'7', b'z', b'X', b'Z', _] => return Err(source.packed("xz", "unxz")),
            [b'B', b'Z', b'h', ..] => return Err(source.packed("bzip2", "bunzip2")),
            _ => return Ok(source),
        };
        let Source { input, buffer, .. } = source;
        let whole = BufReader::with_capacity(PIECE, std::io::Read::chain(Cursor::new(buffer), input));
        Ok(Source::plain(if packed == "gzip" {
            Box::new(MultiGzDecoder::new(whole))
        } else {
            Box::new(Zstd { frame: None, rest: Some(whole) })
        }))
    }

    fn plain(input: Box<dyn std::io::Read + 'a>) -> Source<'a> {
        Source { input, buffer: Vec::new(), start: 0, offset: 0, packets: 0, ended: false, cut: false }
    }

    fn packed(&self, form: &str, program: &str) -> Fault {
        let remedy = format!("`{program}` the file first, or pack it with gzip or zstd");
        self.fault(
            format!("it is packed with {form}"),
            "a capture, plain or packed with gzip or zstd",
            &remedy,
        )
    }

    /// The next bytes, as many as asked for; fewer only at the end of the file.
    pub fn peek(&mut self, bytes: usize) -> Read<&[u8]> {
        while self.buffer.len() - self.start < bytes && !self.ended {
            self.buffer.drain(..self.start);
            self.start = 0;
            let held = self.buffer.len();
            self.buffer.resize(held + PIECE.max(bytes), 0);
            let got = loop {
                match self.input.read(&mut self.buffer[held..]) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    other => break other,
                }
            };
            let got = match got {
                // A packed file that was cut: what could be unpacked is read.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    self.cut = true;
                    0
                }
                other => other.map_err(|error| {
                    let found = format!("the file cannot be read on: {error}");
                    self.fault(found, "a whole file", "copy or unpack the file again")
                })?,
            };
            self.buffer.truncate(held + got);
            self.ended = got == 0;
        }
        let end = self.buffer.len().min(self.start.saturating_add(bytes));
        Ok(&self.buffer[self.start..end])
    }

    /// Continues behind these bytes, which were peeked. `packets`: how many of them ended there.
    pub fn pass(&mut self, bytes: usize, packets: u64) {
        let bytes = bytes.min(self.buffer.len() - self.start);
        self.start += bytes;
        self.offset += bytes as u64;
        self.packets += packets;
    }

    /// The bytes that were peeked last.
    pub fn peeked(&self, bytes: usize) -> &[u8] {
        &self.buffer[self.start..self.buffer.len().min(self.start + bytes)]
    }

    /// The place in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many packets were passed.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// True if a packed file ends within its packed data.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// A fault in the record that begins here.
    pub fn fault(&self, problem: impl Into<String>, expected: &str, remedy: &str) -> Fault {
        Fault {
            packet: if self.packets == 0 && self.offset == 0 { 0 } else { self.packets + 1 },
            byte: self.offset,
            problem: problem.into(),
            expected: expected.into(),
            remedy: remedy.into(),
        }
    }
}

/// The frames of zstd, one behind the other.
struct Zstd<R: BufRead> {
    frame: Option<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>,
    rest: Option<R>,
}

impl<R: BufRead> std::io::Read for Zstd<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let got = frame.read(into)?;
                if got > 0 || into.is_empty() {
                    return Ok(got);
                }
                self.rest = self.frame.take().map(StreamingDecoder::into_inner);
            }
            let Some(mut rest) = self.rest.take() else { return Ok(0) };
            let head = rest.fill_buf()?;
            if head.is_empty() {
                return Ok(0);
            }
            let magic = head.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            if magic & !15 == SKIPPABLE {
                let mut header = [0; 8];
                rest.read_exact(&mut header)?;
                let [_, _, _, _, size @ ..] = header;
                let size = u64::from(u32::from_le_bytes(size));
                std::io::copy(&mut std::io::Read::take(&mut rest, size), &mut std::io::sink())?;
                self.rest = Some(rest);
                continue;
            }
            self.frame = Some(StreamingDecoder::new(rest).map_err(std::io::Error::other)?);
        }
    }
}
