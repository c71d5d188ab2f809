//! Content of a datagram, for the record: quinn's frames are read from its plain text (RFC 9000 §17, §19).

use crate::plain::TAG;

/// Content of a datagram.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Contents {
    /// It has a packet with a long header: one of the handshake.
    pub handshake: bool,
    /// Ranges of the stream, `[start, end)` in bytes.
    pub stream: Vec<(u64, u64)>,
    pub ping: bool,
    pub path_challenge: bool,
    pub path_response: bool,
}

impl Contents {
    /// Of a datagram whose short headers have connection IDs of `cid` bytes. What cannot be read ends it: it is then a
    /// frame that neither end sends here.
    pub fn of(datagram: &[u8], cid: usize) -> Contents {
        let mut contents = Contents::default();
        let mut rest = Reader(datagram);
        while let Some(&first) = rest.0.first() {
            let done = if first & 0x80 == 0 {
                contents.short(&mut rest, cid)
            } else {
                contents.handshake = true;
                Contents::long(&mut rest)
            };
            if done.is_none() {
                break;
            }
        }
        contents
    }

    /// Stream bytes.
    pub fn payload(&self) -> u32 {
        self.stream.iter().map(|&(start, end)| (end - start) as u32).sum()
    }

    /// Skips a packet with a long header (§17.2): none of them has data here.
    fn long(rest: &mut Reader<'_>) -> Option<()> {
        let first = rest.bytes(1)?[0];
        rest.bytes(4)?;
        for _ in 0..2 {
            let length = rest.bytes(1)?[0];
            rest.bytes(length.into())?;
        }
        if first & 0x30 == 0 {
            let token = rest.varint()?;
            rest.bytes(token)?;
        }
        let length = rest.varint()?;
        rest.bytes(length).map(|_| ())
    }

    /// A packet with a short header, which goes to the end of the datagram (§17.3.1).
    fn short(&mut self, rest: &mut Reader<'_>, cid: usize) -> Option<()> {
        let first = rest.bytes(1)?[0];
        rest.bytes(cid as u64)?;
        rest.bytes(u64::from(first & 0b11) + 1)?;
        let frames = rest.0.len().checked_sub(TAG)?;
        let mut frames = Reader(&std::mem::take(&mut rest.0)[..frames]);
        while !frames.0.is_empty() {
            self.frame(&mut frames)?;
        }
        Some(())
    }

    /// A frame (§19). `None`: it is not one that quinn sends here.
    fn frame(&mut self, rest: &mut Reader<'_>) -> Option<()> {
        let kind = rest.varint()?;
        match kind {
            0x00 | 0x1e | 0x1f => {}                // PADDING, HANDSHAKE_DONE, IMMEDIATE_ACK
            0x01 => self.ping = true,               // PING
            0x02 | 0x03 => rest.ack(kind)?,         // ACK
            0x04 => rest.varints(3)?,               // RESET_STREAM
            0x05 | 0x11 | 0x15 => rest.varints(2)?, // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED
            0x06 => {
                // CRYPTO
                rest.varint()?;
                let length = rest.varint()?;
                rest.bytes(length)?;
            }
            0x07 => {
                // NEW_TOKEN
                let length = rest.varint()?;
                rest.bytes(length)?;
            }
            0x08..=0x0f => {
                // STREAM: bit 2 has the offset, bit 1 the length
                rest.varint()?;
                let offset = if kind & 0x04 == 0 { 0 } else { rest.varint()? };
                let length = if kind & 0x02 == 0 { rest.0.len() as u64 } else { rest.varint()? };
                rest.bytes(length)?;
                self.stream.push((offset, offset + length));
            }
            0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => rest.varints(1)?, // MAX_*, *_BLOCKED, RETIRE_CONNECTION_ID
            0x18 => {
                // NEW_CONNECTION_ID, with a token of 16 bytes
                rest.varints(2)?;
                let length = rest.bytes(1)?[0];
                rest.bytes(u64::from(length) + 16)?;
            }
            0x1a | 0x1b => {
                rest.bytes(8)?;
                self.path_challenge |= kind == 0x1a;
                self.path_response |= kind == 0x1b;
            }
            0xaf => rest.varints(4)?, // ACK_FREQUENCY
            _ => return None,
        }
        Some(())
    }
}

/// Bytes that are not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        let (read, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(read)
    }

    /// A variable-length integer (§16): two bits tell how long it is.
    fn varint(&mut self) -> Option<u64> {
        let first = *self.0.first()?;
        let bytes = self.bytes(1 << (first >> 6))?;
        let value = bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
        Some(value & (u64::MAX >> 2 >> (64 - 8 * bytes.len())))
    }

    fn varints(&mut self, count: u32) -> Option<()> {
        (0..count).try_for_each(|_| self.varint().map(|_| ()))
    }

    /// The rest of an ACK frame (§19.3); kind 3 has three counts of ECN.
    fn ack(&mut self, kind: u64) -> Option<()> {
        self.varints(2)?;
        let ranges = self.varint()?;
        self.varint()?;
        for _ in 0..ranges {
            self.varints(2)?;
        }
        self.varints(if kind == 3 { 3 } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with a short header, a connection ID of two bytes and a number of one byte.
    fn short(frames: &[u8]) -> Vec<u8> {
        [&[0x40, 9, 9, 7], frames, &[0; TAG]].concat()
    }

    #[test]
    fn integers_have_one_two_four_or_eight_bytes() {
        // The examples of RFC 9000 §A.1.
        let read = |bytes: &[u8]| Reader(bytes).varint();
        assert_eq!(read(&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]), Some(151_288_809_941_952_652));
        assert_eq!(read(&[0x9d, 0x7f, 0x3e, 0x7d]), Some(494_878_333));
        assert_eq!((read(&[0x7b, 0xbd]), read(&[0x25])), (Some(15_293), Some(37)));
        assert_eq!(read(&[0x7b]), None);
    }

    #[test]
    fn the_frames_of_a_packet_are_told_apart() {
        // ACK of 5 with a gap, PING, PATH_RESPONSE, STREAM with offset 64 and length 3, STREAM to the end.
        let ack = [0x02, 5, 0, 1, 0, 0, 2];
        let response = [0x1b, 1, 2, 3, 4, 5, 6, 7, 8];
        let frames =
            [&ack[..], &[0x01], &response, &[0x0e, 3, 0x40, 64, 3, 1, 1, 1], &[0x08, 3, 1, 1]].concat();
        let contents = Contents::of(&short(&frames), 2);
        assert_eq!(contents.stream, [(64, 67), (0, 2)]);
        assert_eq!(contents.payload(), 5);
        assert!(contents.ping && contents.path_response);
        assert!(!contents.path_challenge && !contents.handshake);
    }

    #[test]
    fn a_packet_of_the_handshake_may_be_before_one_with_data() {
        // Initial: version, IDs of one byte and none, a token of one byte, two bytes of payload. Then a Handshake packet.
        let initial = [0xc0, 0, 0, 0, 1, 1, 9, 0, 1, 0, 2, 0, 0];
        let handshake = [0xe0, 0, 0, 0, 1, 1, 9, 0, 1, 0];
        let datagram = [&initial[..], &handshake, &short(&[0x08, 3, 1, 1])].concat();
        let contents = Contents::of(&datagram, 2);
        assert!(contents.handshake);
        assert_eq!(contents.stream, [(0, 2)]);
    }

    #[test]
    fn what_cannot_be_read_ends_it() {
        let contents = Contents::of(&short(&[0x01, 0x3f, 0x08, 3, 1]), 2);
        assert!(contents.ping && contents.stream.is_empty());
        assert_eq!(Contents::of(&[0x40, 9], 2), Contents::default());
    }
}
