//! The language of the process inside the kernel (`python/roamlab/kernel/agent.c`): commands and answers in Ethernet frames.

use roamlab_transport::LinuxSpec;

/// IEEE 802 local experimental EtherType 1.
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];
/// EtherType of IPv4.
const IPV4: [u8; 2] = [0x08, 0x00];
/// Bytes before a frame's content.
pub const ETHERNET: usize = 14;
/// MSS without timestamps: the bytes of a segment without payload and without the IPv4 and TCP headers.
const TIMESTAMPS: u64 = 12;

/// Writes until a new order.
pub const UNLIMITED: u64 = u64::MAX;

/// Orders to the process.
pub enum Command<'a> {
    /// Give the host an address and these settings.
    SetUp { address: [u8; 4], sysctls: Vec<(&'a str, &'a str)> },
    /// Wait for the connections of a flow, and tell what their reader reads or do not.
    Listen(&'a LinuxSpec, [u16; 2], bool),
    /// Open a connection of a flow to this address, and close the one before. A local port of 0 is one that the kernel selects.
    Connect(&'a LinuxSpec, [u16; 2], [u8; 4]),
    /// Write this number of further bytes.
    Write(u64),
    /// Write nothing more, and report how much was written.
    Stop,
    /// Read the sender's variables.
    Sample,
    /// Read these counters of the host.
    Count(&'a [&'a str]),
}

/// Reports of the process.
#[derive(Debug, PartialEq)]
pub enum Answer {
    /// All hosts are there.
    Ready,
    /// A command was carried out.
    Done,
    /// Its report on a flow.
    Of(u32, Said),
    /// Counters with their values.
    Counted(Vec<(String, i64)>),
    /// The process has ended for this reason.
    Failed(String),
}

/// Report of the process on a flow.
#[derive(Debug, PartialEq)]
pub enum Said {
    /// `struct tcp_info` of its sender.
    Variables(Vec<u8>),
    /// Its reader has read this number of further bytes.
    Read(u64),
    /// Its writer has stopped; the number of bytes that it has written.
    Wrote(u64),
}

/// The card of the host with this number.
pub fn mac(host: usize) -> [u8; 6] {
    [2, 0, 0, 0, (host >> 8) as u8, host as u8]
}

/// The frame of a command to a host.
pub fn command(host: usize, flow: u32, command: &Command<'_>) -> Vec<u8> {
    let mut frame = ethernet(host, ETHER_TYPE);
    frame.push(match command {
        Command::SetUp { .. } => 1,
        Command::Listen(..) => 2,
        Command::Connect(..) => 3,
        Command::Write(_) => 4,
        Command::Stop => 5,
        Command::Sample => 6,
        Command::Count(_) => 7,
    });
    frame.extend(flow.to_le_bytes());
    match command {
        Command::SetUp { address, sysctls } => {
            frame.extend(address);
            sysctls.iter().for_each(|(key, value)| frame.extend(format!("{key}={value}\n").bytes()));
        }
        Command::Listen(spec, ports, tells) => {
            connection(&mut frame, spec, *ports, ([0; 4], u16::from(*tells)));
        }
        Command::Connect(spec, ports, to) => connection(&mut frame, spec, *ports, (*to, 0)),
        Command::Write(bytes) => frame.extend(bytes.to_le_bytes()),
        Command::Stop | Command::Sample => {}
        Command::Count(names) => frame.extend(names.join(" ").bytes()),
    }
    frame.resize(frame.len().max(60), 0);
    frame
}

fn connection(frame: &mut Vec<u8>, spec: &LinuxSpec, [local, remote]: [u16; 2], (to, tells): ([u8; 4], u16)) {
    frame.extend(to);
    let mss = (spec.segment.0 + TIMESTAMPS) as u16;
    [local, remote, mss, tells].iter().for_each(|number| frame.extend(number.to_le_bytes()));
    let mut name = [0u8; 16];
    let control = spec.congestion_control.name().as_bytes();
    name[..control.len()].copy_from_slice(control);
    frame.extend(name);
}

/// The frame of an IPv4 datagram to a host.
pub fn datagram(host: usize, headers: &[u8], zeros: usize) -> Vec<u8> {
    let mut frame = ethernet(host, IPV4);
    frame.extend(headers);
    frame.resize(frame.len() + zeros, 0);
    frame
}

fn ethernet(host: usize, kind: [u8; 2]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(1600);
    frame.extend(mac(host));
    frame.extend([2, 0, 0, 1, 0, 0]); // ours
    frame.extend(kind);
    frame
}

/// The answer in a frame, if it is one.
pub fn answer(frame: &[u8]) -> Option<Answer> {
    let (&[kind], rest) = frame.strip_prefix(&frame[..12])?.strip_prefix(&ETHER_TYPE)?.split_first_chunk()?;
    let (flow, data) = rest.split_first_chunk()?;
    let text = || String::from_utf8_lossy(data).into_owned();
    let bytes = || Some(u64::from_le_bytes(*data.first_chunk()?));
    let of = |said| Answer::Of(u32::from_le_bytes(*flow), said);
    Some(match kind {
        128 => Answer::Ready,
        129 => Answer::Done,
        130 => of(Said::Variables(data.to_vec())),
        131 => {
            let pair = |line: &str| {
                Some((line.split_once(' ')?.0.to_owned(), line.split_once(' ')?.1.parse().ok()?))
            };
            Answer::Counted(text().lines().filter_map(pair).collect())
        }
        133 => of(Said::Read(bytes()?)),
        134 => of(Said::Wrote(bytes()?)),
        _ => Answer::Failed(text()),
    })
}

/// The IPv4 datagram in a frame, if it is one.
pub fn ipv4(frame: &[u8]) -> Option<&[u8]> {
    (frame.get(12..ETHERNET)? == IPV4).then(|| &frame[ETHERNET..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_and_a_datagram_is_none() {
        let mut frame = ethernet(3, ETHER_TYPE);
        frame.extend([131, 7, 0, 0, 0]);
        frame.extend(b"RetransSegs 12\nTCPTimeouts 1\n");
        let counted = [("RetransSegs", 12), ("TCPTimeouts", 1)].map(|(name, value)| (name.to_owned(), value));
        assert_eq!(answer(&frame), Some(Answer::Counted(counted.to_vec())));
        assert_eq!((answer(&datagram(1, &[0x45], 3)), ipv4(&frame)), (None, None));
        assert_eq!(ipv4(&datagram(1, &[0x45], 3)), Some(&[0x45, 0, 0, 0][..]));
    }
}
