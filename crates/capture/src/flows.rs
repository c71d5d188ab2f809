//! The connections in a capture.

use crate::fault::{Fault, Read};
use crate::link::{ip_of, place};
use crate::network::{End, Ip, Packet, packet};
use crate::packets::{Packets, Unwrapping, Way};
use crate::record::SECOND;
use crate::records::Records;
use crate::tcp::{ACK, SYN, Segment};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Connections that are kept. Of more, as in a scan of ports, the packets are counted.
const MOST_FLOWS: usize = 200_000;
/// A packet that is seen again on another interface within this time is the same one.
const SAME_NS: i64 = 5_000_000;
/// Packets that are remembered for that.
const MOST_REMEMBERED: usize = 65_536;
/// The order of packets may differ from that of their times by as much; a larger step back may be a clock's.
const DISORDER_NS: i64 = SECOND;
/// A capture that lasts longer is one whose clock was set.
const LONGEST_NS: u64 = 400 * 86_400 * SECOND.cast_unsigned();

/// A TCP connection.
pub struct Flow {
    /// Its ends: the sender of the first packet, and the other.
    pub ends: [End; 2],
    /// Its packets.
    pub packets: Packets,
    /// The options of each end's SYN; `None`: it is not in the capture.
    pub opened: [Option<Opened>; 2],
    /// How many packets of each way the host of the capture received and sent, as far as the file has that.
    pub sent: [[u32; 2]; 2],
    unwrapping: Unwrapping,
}

/// The options of a SYN.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// Its number.
    pub isn: u32,
    /// The largest segment that its sender takes.
    pub mss: Option<u16>,
    /// The shift of its sender's windows.
    pub scale: Option<u8>,
    /// Its sender takes selective acknowledgements.
    pub permitted: bool,
    /// The connection may have several paths.
    pub multipath: bool,
}

impl Flow {
    fn new(ends: [End; 2]) -> Flow {
        Flow {
            ends,
            packets: Packets::default(),
            opened: [None; 2],
            sent: [[0; 2]; 2],
            unwrapping: Unwrapping::default(),
        }
    }

    /// The shift of an end's windows; `None`: a SYN is missing.
    pub fn scale(&self, way: Way) -> Option<u8> {
        let [first, second] = self.opened;
        let (first, second) = (first?, second?);
        Some(match first.scale.zip(second.scale) {
            Some(scales) => [scales.0, scales.1][way],
            None => 0,
        })
    }
}

/// Datagrams of UDP between two ends.
pub struct Datagrams {
    /// The ends.
    pub ends: [End; 2],
    /// How many.
    pub packets: u64,
    /// Bytes of payload.
    pub bytes: u64,
    /// One of them begins as QUIC's long header does.
    pub is_quic: bool,
}

/// The content of a capture.
#[derive(Default)]
pub struct Capture {
    /// The TCP connections, in the order of their first packets.
    pub flows: Vec<Flow>,
    /// UDP.
    pub datagrams: Vec<Datagrams>,
    /// All packets of the file.
    pub packets: u64,
    /// Bytes of the file, unpacked.
    pub bytes: u64,
    /// Time of the first packet, in ns.
    pub start_ns: i64,
    /// Time of the last packet, in ns.
    pub end_ns: i64,
    /// Parts that are left out, or were put right.
    pub notes: Vec<String>,
}

/// Reads a capture, plain or packed.
pub fn read(input: impl std::io::Read) -> Read<Capture> {
    let mut records = Records::new(input)?;
    let mut reading = Reading::default();
    while let Some(record) = records.next()? {
        reading.packets += 1;
        let Ok(below) = ip_of(record.link, record.data) else {
            let link = record.link;
            return Err(records.unread(link));
        };
        let (time_ns, mut interface) = (record.time_ns, record.interface);
        let first = reading.times.map_or(time_ns, |(first, _)| first);
        if time_ns.abs_diff(first) > LONGEST_NS {
            return Err(reading.jump(&records, time_ns.abs_diff(first)));
        }
        let Some(below) = below else {
            reading.other += 1;
            reading.tell_time(time_ns, interface, &records);
            continue;
        };
        interface = below.interface.unwrap_or(interface);
        let before = place(record.data, below.ip);
        let length = record.length.saturating_sub(before as u32);
        let found = packet(below.ip, length);
        let is_sent = record.is_sent.or(below.is_sent);
        reading.take(found, time_ns, interface, is_sent);
        reading.tell_time(time_ns, interface, &records);
    }
    reading.finish(&records)
}

#[derive(Default)]
struct Reading {
    flows: Vec<Flow>,
    known: FxHashMap<(End, End), usize>,
    datagrams: FxHashMap<(End, End), Datagrams>,
    packets: u64,
    other: u64,
    fragments: u64,
    opaque: u64,
    twice: u64,
    left_out: u64,
    times: Option<(i64, i64)>,
    latest: FxHashMap<u32, i64>,
    /// The largest step back in time, and where it was.
    step: (i64, Option<(u64, u64)>),
    recent: FxHashMap<u64, (i64, u32)>,
}

impl Reading {
    fn jump(&self, records: &Records<'_>, by_ns: u64) -> Fault {
        let (packet, byte) = records.place();
        Fault {
            packet,
            byte,
            problem: format!("its time is {:.0} days from the first one's", by_ns as f64 / 86_400e9),
            expected: "a clock that was not set during the capture".into(),
            remedy: format!("take the part before it: `editcap -r FILE PART 1-{}`", packet.saturating_sub(1)),
        }
    }

    fn tell_time(&mut self, time_ns: i64, interface: u32, records: &Records<'_>) {
        let (first, last) = self.times.unwrap_or((time_ns, time_ns));
        self.times = Some((first.min(time_ns), last.max(time_ns)));
        let latest = self.latest.entry(interface).or_insert(time_ns);
        let step = latest.saturating_sub(time_ns);
        *latest = (*latest).max(time_ns);
        if step > self.step.0 {
            self.step = (step, Some(records.place()));
        }
    }

    fn take(&mut self, found: Packet, time_ns: i64, interface: u32, is_sent: Option<bool>) {
        match found {
            Packet::Tcp(from, to, ip, segment) => {
                if self.is_known(time_ns, interface, &(from, to), ip, &segment) {
                    self.twice += 1;
                } else {
                    self.segment(from, to, time_ns, ip, &segment, is_sent);
                }
            }
            Packet::Udp(from, to, bytes, is_quic) => {
                let ends = [from.min(to), from.max(to)];
                if self.datagrams.len() >= MOST_FLOWS && !self.datagrams.contains_key(&(ends[0], ends[1])) {
                    self.left_out += 1;
                    return;
                }
                let empty = Datagrams { ends, packets: 0, bytes: 0, is_quic: false };
                let all = self.datagrams.entry((ends[0], ends[1])).or_insert(empty);
                all.packets += 1;
                all.bytes += u64::from(bytes);
                all.is_quic |= is_quic;
            }
            Packet::Fragment => self.fragments += 1,
            Packet::Opaque => self.opaque += 1,
            Packet::Other => self.other += 1,
        }
    }

    /// True for a packet that was seen on another interface just before, as bridges and tunnels show them.
    fn is_known(
        &mut self,
        time_ns: i64,
        interface: u32,
        ends: &(End, End),
        ip: Ip,
        segment: &Segment,
    ) -> bool {
        if self.latest.len() < 2 && self.latest.contains_key(&interface) {
            return false;
        }
        let mut hasher = FxHasher::default();
        let fixed = (segment.seq, segment.ack, segment.flags, segment.window, segment.length);
        (ends, ip.id, fixed, segment.options.timestamps, segment.options.sacks).hash(&mut hasher);
        if self.recent.len() >= MOST_REMEMBERED {
            self.recent.retain(|_, (time, _)| time_ns.saturating_sub(*time).abs() < SAME_NS);
            if self.recent.len() >= MOST_REMEMBERED {
                self.recent.clear();
            }
        }
        let before = self.recent.insert(hasher.finish(), (time_ns, interface));
        before.is_some_and(|(time, other)| other != interface && time_ns.saturating_sub(time).abs() < SAME_NS)
    }

    fn segment(
        &mut self,
        from: End,
        to: End,
        time_ns: i64,
        ip: Ip,
        segment: &Segment,
        is_sent: Option<bool>,
    ) {
        let key = (from.min(to), from.max(to));
        let is_syn = segment.flags & SYN != 0;
        let place = self.known.get(&key).copied().filter(|place| {
            let flow = &self.flows[*place];
            let way = usize::from(flow.ends[0] != from);
            // A SYN with another number opens a new connection with the same ports.
            !is_syn || flow.opened[way].map_or(segment.flags & ACK != 0, |opened| opened.isn == segment.seq)
        });
        let Some(place) = place.or_else(|| self.open(key, from, to)) else {
            self.left_out += 1;
            return;
        };
        let flow = &mut self.flows[place];
        let way = usize::from(flow.ends[0] != from);
        if is_syn {
            let options = segment.options;
            flow.opened[way] = Some(Opened {
                isn: segment.seq,
                mss: options.mss,
                scale: options.scale,
                permitted: options.permitted,
                multipath: options.multipath,
            });
        }
        if let Some(is_sent) = is_sent {
            let count = &mut flow.sent[way][usize::from(is_sent)];
            *count = count.saturating_add(1);
        }
        flow.packets.push(&mut flow.unwrapping, time_ns, way, ip, segment);
    }

    fn open(&mut self, key: (End, End), from: End, to: End) -> Option<usize> {
        if self.flows.len() >= MOST_FLOWS {
            return None;
        }
        self.known.insert(key, self.flows.len());
        self.flows.push(Flow::new([from, to]));
        Some(self.flows.len() - 1)
    }

    fn finish(mut self, records: &Records<'_>) -> Read<Capture> {
        let mut sorted = false;
        for flow in &mut self.flows {
            sorted |= flow.packets.sort();
        }
        if let (step, Some((packet, byte))) = self.step
            && step > DISORDER_NS
            && self.flows.iter().any(|flow| flow.packets.falls_back())
        {
            return Err(Fault {
                packet,
                byte,
                problem: format!("the clock runs back by {:.3} s", step as f64 / 1e9),
                expected: "a clock that was not set during the capture".into(),
                remedy: format!(
                    "take the part before it: `editcap -r FILE PART 1-{}`",
                    packet.saturating_sub(1)
                ),
            });
        }
        let notes = self.notes(records, sorted);
        let mut datagrams: Vec<_> = self.datagrams.into_values().collect();
        datagrams.sort_by_key(|all| (std::cmp::Reverse(all.packets), all.ends));
        let (start_ns, end_ns) = self.times.unwrap_or_default();
        let (packets, bytes) = (self.packets, records.bytes());
        Ok(Capture { flows: self.flows, datagrams, packets, bytes, start_ns, end_ns, notes })
    }

    fn notes(&self, records: &Records<'_>, sorted: bool) -> Vec<String> {
        let about = records.about();
        let counted = [
            (about.missed, "packets were lost by the capture itself; they look like losses of the path"),
            (about.untimed, "packets have no time, as simple packet blocks of pcapng, and are left out"),
            (about.carried, "packets have a fraction of a second above 1, which is carried over"),
            (self.fragments, "fragments of IP without ports are left out"),
            (self.opaque, "packets are encrypted as a whole (ESP) and are left out"),
            (self.twice, "packets are there twice, on two interfaces, and are counted once"),
            (self.left_out, "packets are of connections beyond the 200,000 that are kept, and are left out"),
        ];
        let mut notes: Vec<String> = Vec::new();
        if about.is_cut {
            notes.push(format!("the file ends within a record, at byte {}", records.bytes()));
        }
        if sorted {
            notes.push(format!(
                "packets were not in order of time, by up to {:.6} s; they are sorted",
                self.step.0 as f64 / 1e9
            ));
        }
        notes.extend(
            counted.iter().filter(|(count, _)| *count > 0).map(|(count, said)| format!("{count} {said}")),
        );
        notes
    }
}
