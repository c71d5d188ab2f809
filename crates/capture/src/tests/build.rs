//! Captures made byte by byte.

/// A segment to build.
#[derive(Clone)]
pub struct Sketch {
    /// True: from the sender of the data.
    pub ahead: bool,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub length: u16,
    pub options: Vec<u8>,
}

impl Sketch {
    pub fn data(seq: u32, length: u16) -> Sketch {
        Sketch { ahead: true, seq, ack: 1, flags: 16, window: 500, length, options: Vec::new() }
    }

    pub fn ack(ack: u32) -> Sketch {
        Sketch { ahead: false, seq: 1, ack, flags: 16, window: 500, length: 0, options: Vec::new() }
    }

    pub fn flags(self, flags: u8) -> Sketch {
        Sketch { flags, ..self }
    }

    pub fn window(self, window: u16) -> Sketch {
        Sketch { window, ..self }
    }

    /// Timestamps in ms.
    pub fn stamped(mut self, tsval: u32, tsecr: u32) -> Sketch {
        self.options.extend([1, 1, 8, 10]);
        self.options.extend(tsval.to_be_bytes());
        self.options.extend(tsecr.to_be_bytes());
        self
    }

    pub fn sack(mut self, blocks: &[(u32, u32)]) -> Sketch {
        self.options.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for (start, end) in blocks {
            self.options.extend(start.to_be_bytes());
            self.options.extend(end.to_be_bytes());
        }
        self
    }

    /// MSS 1448 and a scale of windows.
    pub fn opening(mut self, scale: u8) -> Sketch {
        self.options.extend([2, 4, 5, 168, 1, 3, 3, scale]);
        self
    }

    fn tcp(&self) -> Vec<u8> {
        let ports: (u16, u16) = if self.ahead { (5000, 80) } else { (80, 5000) };
        let mut made = Vec::new();
        made.extend(ports.0.to_be_bytes());
        made.extend(ports.1.to_be_bytes());
        made.extend(self.seq.to_be_bytes());
        made.extend(self.ack.to_be_bytes());
        let words = 5 + self.options.len().div_ceil(4);
        made.extend([(words as u8) << 4, self.flags]);
        made.extend(self.window.to_be_bytes());
        made.extend([0; 4]);
        made.extend(&self.options);
        made.resize(words * 4 + usize::from(self.length), 0);
        made
    }

    /// Over IPv4.
    pub fn ipv4(&self) -> Vec<u8> {
        let (from, to) =
            if self.ahead { ([10, 0, 0, 1], [10, 0, 0, 2]) } else { ([10, 0, 0, 2], [10, 0, 0, 1]) };
        ipv4(6, from, to, &self.tcp())
    }

    /// Over IPv6, behind an extension header.
    pub fn ipv6(&self) -> Vec<u8> {
        let tcp = self.tcp();
        let mut made = vec![0x60, 0x20, 0, 0];
        made.extend((tcp.len() as u16 + 8).to_be_bytes());
        made.extend([60, 64]);
        let ends = if self.ahead { [1_u8, 2] } else { [2, 1] };
        for end in ends {
            made.extend([0xFD; 15]);
            made.push(end);
        }
        made.extend([6, 0, 1, 4, 0, 0, 0, 0]);
        made.extend(tcp);
        made
    }
}

pub fn ipv4(protocol: u8, from: [u8; 4], to: [u8; 4], content: &[u8]) -> Vec<u8> {
    let mut made = vec![0x45, 2];
    made.extend((content.len() as u16 + 20).to_be_bytes());
    made.extend([0, 7, 0, 0, 64, protocol, 0, 0]);
    made.extend(from);
    made.extend(to);
    made.extend(content);
    made
}

pub fn udp(ports: (u16, u16), content: &[u8]) -> Vec<u8> {
    let mut made = Vec::new();
    made.extend(ports.0.to_be_bytes());
    made.extend(ports.1.to_be_bytes());
    made.extend((content.len() as u16 + 8).to_be_bytes());
    made.extend([0, 0]);
    made.extend(content);
    made
}

/// A file of pcap in microseconds, of packets with their times in µs.
pub fn pcap(link: u32, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    pcap_of(0xA1B2_C3D4, false, link, packets, usize::MAX)
}

/// The same with a magic number, a byte order, and at most `snap` bytes of each packet. The fraction is the one given.
pub fn pcap_of(magic: u32, big: bool, link: u32, packets: &[(u64, Vec<u8>)], snap: usize) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let short = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let unit = if magic == 0xA1B2_3C4D { 1_000_000_000 } else { 1_000_000 };
    let mut made = Vec::new();
    made.extend(word(magic));
    made.extend(short(2));
    made.extend(short(4));
    for value in [0, 0, 0, link] {
        made.extend(word(value));
    }
    for (time, data) in packets {
        let held = &data[..data.len().min(snap)];
        for value in [(time / unit) as u32, (time % unit) as u32, held.len() as u32, data.len() as u32] {
            made.extend(word(value));
        }
        if magic == 0xA1B2_CD34 {
            made.extend([0; 8]);
        }
        made.extend(held);
    }
    made
}

/// A block of pcapng.
pub fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let size = word(body.len() as u32 + 12);
    [&word(kind)[..], &size, &body, &size].concat()
}

/// A section of pcapng with one interface of raw IP, and its packets with their times in ticks of 2^-10 s.
pub fn section(big: bool, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let short = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let header = [&word(0x1A2B_3C4D)[..], &short(1), &short(0), &[0xFF; 8]].concat();
    let mut made = block(big, 0x0A0D_0D0A, &header);
    let resolution = [&short(9)[..], &short(1), &[0x8A, 0, 0, 0], &[0; 4]].concat();
    made.extend(block(big, 1, &[&short(101)[..], &[0, 0], &word(0), &resolution].concat()));
    for (time, data) in packets {
        let mut body = Vec::new();
        for value in [0, (time >> 32) as u32, *time as u32, data.len() as u32, data.len() as u32] {
            body.extend(word(value));
        }
        body.extend(data);
        body.resize(body.len().next_multiple_of(4), 0);
        // epb_flags: outbound.
        body.extend([&short(2)[..], &short(4), &word(2), &[0; 4]].concat());
        made.extend(block(big, 6, &body));
    }
    made
}
