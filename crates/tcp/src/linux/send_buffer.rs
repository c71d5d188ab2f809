//! The send buffer and the packets in it: TCP has to send data in the packets in which it was written.
//!
//! The application writes until the buffer is full (`tcp_sendmsg_locked`), and again when a third of it is free
//! (`sk_stream_write_space`). The buffer is twice the window, three times with BBR. It grows if the application waits
//! for room while the window has some (`tcp_new_space`, `tcp_sndbuf_expand`). It holds packets until they are
//! acknowledged. Written data fills packets of half of the receive window, at most 64 KiB. A full packet that is first
//! in the queue leaves without waiting for a whole burst (`tcp_push_one`).
//!
//! ASSUMPTION: the application always has more to write, 256 KiB in a call that waits for room inside (`CALL`).

use crate::params::TcpParams;
use roamlab_congestion::Usage;
use std::collections::VecDeque;

/// Bytes that a packet takes in addition to its data (SKB_TRUESIZE of a head for the headers). For the size of the
/// buffer a segment takes the same, rounded up to a power of two.
const PACKET: u64 = 832;
const HEAD: u64 = 256;
const SHARED_INFO: u64 = 320;
const STRUCT: u64 = 256;
/// The largest buffer (`tcp_wmem`, third value).
const LARGEST: u64 = 4 << 20;
/// Segments of the smallest window that the buffer is for (TCP_INIT_CWND).
const LEAST_WINDOW: u32 = 10;
/// Most bytes of a packet (GSO_LEGACY_MAX_SIZE less MAX_TCP_HEADER).
pub(crate) const LARGEST_PACKET: u64 = 65_536 - 257;
/// Bytes that the application writes in one call. Only at its begin Linux asks whether the application limits the flow
/// (`tcp_rate_check_app_limited`).
///
/// ASSUMPTION: as the program that writes in the kernel that we compare with. One that does not wait inside makes a call each
/// time that there is room.
const CALL: u64 = 262_144;
/// Bytes of the timestamps option, which reduce the MSS.
const STAMPS: u64 = 12;

/// A packet that waits to be sent.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Packet {
    /// One above its last segment.
    pub end: u32,
    /// Its last segment has PSH (`tcp_mark_push`).
    pub pushed: bool,
}

/// Data that may leave.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Push {
    /// All that the window permits.
    All,
    /// One burst, however small (`tcp_push_one`).
    One,
    /// That burst has left.
    Nothing,
}

/// A call in which the application writes.
#[derive(Copy, Clone, Debug)]
struct Call {
    /// One above its last whole segment.
    end: u32,
    /// A part of it is written.
    has_written: bool,
}

/// Data that the application has written and the buffer holds.
#[derive(Clone, Debug)]
pub(crate) struct SendBuffer {
    /// Bytes of data in a segment, and what a segment of the window counts in the size.
    segment: u64,
    counted: u64,
    /// Size of the buffer in windows (`sndbuf_expand`).
    windows: u64,
    /// The number of the first segment with data.
    first: u32,
    /// Bytes that it takes (`sk_sndbuf`); 0 before the connection.
    pub size: u64,
    pub waiting: VecDeque<Packet>,
    /// One above the last segment of each packet that was sent.
    pub sent: VecDeque<u32>,
    /// One above the last segment written, and above the last one pushed (`write_seq`, `pushed_seq`).
    pub written: u32,
    pushed: u32,
    /// Segments of the largest receive window.
    pub offered: u32,
    /// The application waits for room (SOCK_NOSPACE).
    pub full: bool,
    pub push: Push,
    /// The call in which the application writes.
    call: Option<Call>,
    /// Where the latest call ends in the stream, in bytes.
    called: u64,
    /// How much of the window was in use when nothing more left.
    pub usage: Option<Usage>,
    /// An ACK has come since it was asked whether there is room.
    pub acknowledged: bool,
}

/// Where the sender is.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Place {
    pub una: u32,
    pub nxt: u32,
    pub end: u32,
    pub cwnd: u32,
    pub in_flight: u32,
}

impl SendBuffer {
    /// An empty buffer. `windows`: its size in windows.
    pub fn new(params: &TcpParams, windows: u64) -> SendBuffer {
        let segment = params.segment.0.max(1);
        let stamps = if params.timestamps { STAMPS } else { 0 };
        let first = u32::from(params.has_syn());
        SendBuffer {
            segment,
            counted: (segment + stamps + HEAD + SHARED_INFO).next_power_of_two() + STRUCT,
            windows,
            first,
            size: 0,
            waiting: VecDeque::new(),
            sent: VecDeque::new(),
            written: first,
            pushed: first,
            offered: 0,
            full: false,
            push: Push::All,
            call: None,
            called: 0,
            usage: None,
            acknowledged: false,
        }
    }

    /// Bytes of data and packets in it (`sk_wmem_queued`).
    fn queued(&self, una: u32) -> u64 {
        let packets = (self.waiting.len() + self.sent.len()) as u64;
        u64::from(self.written.saturating_sub(una)) * self.segment + packets * PACKET
    }

    /// `tcp_sndbuf_expand`.
    pub fn expand(&mut self, cwnd: u32) {
        let window = u64::from(cwnd.max(LEAST_WINDOW)) * self.counted;
        self.size = self.size.max((self.windows * window).min(LARGEST));
    }

    /// `tcp_check_space`: enlarges the buffer if the window has room, and wakes the application if the buffer has.
    pub fn look_for_room(&mut self, place: Place) {
        if !self.full {
            return;
        }
        if place.in_flight < place.cwnd {
            self.expand(place.cwnd);
        }
        let queued = self.queued(place.una);
        self.full = queued >= self.size || self.size - queued < queued / 2;
    }

    /// Segments of a packet that is full.
    fn packet(&self) -> u32 {
        let half = u64::from(self.offered) * self.segment / 2;
        ((half.min(LARGEST_PACKET) / self.segment) as u32).max(1)
    }

    /// Where the last waiting packet begins.
    fn last_begins(&self, nxt: u32) -> u32 {
        let before = self.waiting.len().checked_sub(2).and_then(|place| self.waiting.get(place));
        before.map_or(nxt, |packet| packet.end)
    }

    /// The application writes. True if it begins a call with that.
    pub fn begins_call(&mut self) -> bool {
        if self.call.is_some() {
            return false;
        }
        self.called += CALL;
        let end = self.first + u32::try_from(self.called / self.segment).unwrap_or(u32::MAX - self.first);
        self.call = Some(Call { end: end.max(self.written + 1), has_written: false });
        true
    }

    /// The application writes until something may have to leave (`tcp_sendmsg_locked`). True if it may.
    pub fn write(&mut self, place: Place) -> bool {
        while let Some(call) = self.call.filter(|_| self.written < place.end) {
            let (packet, begins) = (self.packet(), self.last_begins(place.nxt));
            let room =
                self.waiting.back().map_or(0, |last| packet.saturating_sub(last.end.saturating_sub(begins)));
            if room == 0 {
                if self.queued(place.una) >= self.size {
                    self.full = true;
                    break;
                }
                self.waiting.push_back(Packet { end: self.written, pushed: false });
                continue;
            }
            let more = room.min(place.end.min(call.end) - self.written);
            self.written += more;
            if let Some(last) = self.waiting.back_mut() {
                last.end += more;
                last.pushed &= call.has_written;
            }
            self.call = Some(Call { has_written: true, ..call });
            if self.written == call.end {
                self.end_call(self.called);
                return true;
            }
            if more < room {
                break;
            }
            if 2 * (self.written - self.pushed) > self.offered {
                self.mark();
                self.push = Push::All;
                return true;
            }
            if self.waiting.len() == 1 {
                self.push = Push::One;
                return true;
            }
        }
        if !self.full {
            self.end_call(u64::from(self.written - self.first) * self.segment);
        } else if self.call.is_some_and(|call| call.has_written) {
            self.mark();
        }
        self.push = Push::All;
        !self.waiting.is_empty()
    }

    /// A call ends here in the stream, and what waits is pushed (`tcp_push`).
    fn end_call(&mut self, at: u64) {
        (self.call, self.called, self.push) = (None, at, Push::All);
        self.mark();
    }

    /// `tcp_mark_push`.
    fn mark(&mut self) {
        self.pushed = self.written;
        if let Some(last) = self.waiting.back_mut() {
            last.pushed = true;
        }
    }

    /// A burst of `segments` segments leaves as one packet, with the part that it needs of the next one
    /// (`tcp_grow_skb`). True if its last segment was to be pushed.
    pub fn leave(&mut self, nxt: u32, segments: u32) -> bool {
        let end = nxt + segments;
        let mut pushed = false;
        while let Some(first) = self.waiting.front().copied().filter(|first| first.end <= end) {
            pushed |= first.pushed;
            self.waiting.pop_front();
        }
        self.sent.push_back(end);
        pushed
    }

    /// The packet that was sent with this segment in it ends `at` the latest, and what follows is another one
    /// (`tcp_fragment`).
    pub fn split(&mut self, seq: u32, at: u32) {
        let place = self.sent.partition_point(|&end| end <= seq);
        if self.sent.get(place).is_some_and(|&end| end > at) {
            self.sent.insert(place, at);
        }
    }

    /// Blocks report what the receiver holds: packets of it are joined, and where a block ends a packet does
    /// (`tcp_shift_skb_data`, `tcp_match_skb_to_sack`).
    pub fn join(&mut self, una: u32, start: u32, end: u32) {
        let last = self.sent.back().copied().unwrap_or(0);
        for edge in [start, end] {
            let place = self.sent.partition_point(|&sent| sent < edge);
            if edge > una && edge < last && self.sent.get(place) != Some(&edge) {
                self.sent.insert(place, edge);
            }
        }
        let [from, to] =
            [start.saturating_add(1), end].map(|edge| self.sent.partition_point(|&sent| sent < edge));
        self.sent.drain(from..to.max(from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, TcpSpec};
    use roamlab_engine::Bytes;

    /// A buffer of a flow with segments of 1448 B, whose receiver has offered 44 of them.
    fn buffer(windows: u64) -> SendBuffer {
        let spec = TcpSpec { segment: Some(Bytes(1448)), ..TcpSpec::default() };
        let mut buffer = SendBuffer::new(&spec.resolve(Profile::Linux6).unwrap(), windows);
        buffer.offered = 44;
        buffer
    }

    fn place(nxt: u32, in_flight: u32) -> Place {
        Place { una: 1, nxt, end: u32::MAX, cwnd: 10, in_flight }
    }

    /// The application writes and bursts of two leave, until the window is full. The next segment.
    fn fill(buffer: &mut SendBuffer) -> u32 {
        let mut nxt = 1;
        buffer.begins_call();
        while buffer.write(place(nxt, nxt - 1)) && !buffer.full {
            if nxt < 11 {
                buffer.leave(nxt, 2);
                nxt += 2;
            }
        }
        nxt
    }

    /// A kernel 6.12 with a window of ten had 31,856 B to send, a buffer of 46,080 B and 51,328 B in it (`SO_MEMINFO`).
    #[test]
    fn a_new_connection_has_a_window_and_a_packet() {
        let mut buffer = buffer(2);
        buffer.expand(10);
        assert_eq!((buffer.size, buffer.packet()), (2 * 10 * (2048 + 256), 22));
        let nxt = fill(&mut buffer);
        // Each burst makes room in the packet, which is filled again: 10 have left, and 22 wait.
        assert_eq!((nxt, buffer.written, buffer.waiting.len(), buffer.sent.len()), (11, 33, 1, 5));
        assert_eq!(buffer.queued(1), 32 * 1448 + 6 * 832);
    }

    #[test]
    fn the_application_writes_again_when_a_third_is_free() {
        let mut buffer = buffer(2);
        buffer.expand(10);
        fill(&mut buffer);
        // 46,080 - q >= q / 2 for q of 30,720 at most: 32 - n segments with 6 packets and less.
        let woken = |una: u32| {
            let mut buffer = buffer.clone();
            buffer.sent.retain(|&end| end > una);
            buffer.look_for_room(Place { una, ..place(33, 10) });
            !buffer.full
        };
        assert_eq!([12, 13, 14].map(woken), [false, true, true]);
    }

    /// 262,144 B are 181 segments of 1448 B and 56 B.
    #[test]
    fn the_application_writes_256_kib_in_a_call_that_waits_for_room() {
        let (mut buffer, mut begun) = (buffer(2), vec![]);
        buffer.expand(400);
        while buffer.written < 800 {
            if buffer.begins_call() {
                begun.push(buffer.written);
            }
            buffer.write(place(1, 0));
            if buffer.full {
                (buffer.full, buffer.size) = (false, 2 * buffer.size); // it waited for room
            }
        }
        assert_eq!(begun, [1, 182, 363, 544, 725], "724.1 segments in four calls");
    }

    #[test]
    fn what_is_pushed_while_a_call_waits_for_room_stays_so_and_what_ends_a_call_does_not() {
        let mut buffer = buffer(2);
        buffer.expand(10);
        fill(&mut buffer);
        let pushed = |buffer: &SendBuffer| buffer.waiting.front().is_some_and(|packet| packet.pushed);
        assert!(buffer.full && pushed(&buffer));
        (buffer.full, buffer.size) = (false, u64::MAX);
        let first = buffer.waiting.front_mut().unwrap();
        first.end -= 1; // there is room in it
        buffer.written -= 1;
        assert!(!buffer.begins_call(), "the same call");
        buffer.write(place(11, 10));
        assert!(pushed(&buffer));
        buffer.end_call(0);
        buffer.waiting.front_mut().unwrap().end -= 1;
        buffer.written -= 1;
        assert!(buffer.begins_call());
        buffer.write(place(11, 10));
        assert!(!pushed(&buffer), "another one");
    }

    #[test]
    fn it_grows_with_a_window_that_is_not_full() {
        let mut buffer = buffer(3);
        buffer.expand(10);
        fill(&mut buffer);
        let before = buffer.size;
        buffer.look_for_room(Place { cwnd: 40, ..place(33, 40) });
        assert_eq!(buffer.size, before, "a full window does not need more");
        buffer.look_for_room(Place { cwnd: 40, ..place(33, 30) });
        assert_eq!((before, buffer.size), (3 * 10 * 2304, 3 * 40 * 2304));
    }

    #[test]
    fn packets_of_what_the_receiver_holds_are_joined() {
        let mut buffer = buffer(2);
        buffer.sent = [3, 5, 7, 9, 11].into();
        buffer.join(1, 4, 8);
        assert_eq!(buffer.sent, [3, 4, 8, 9, 11], "4 to 7 are one, and end packets on both sides");
        buffer.join(1, 4, 11);
        assert_eq!(buffer.sent, [3, 4, 11]);
    }

    #[test]
    fn a_packet_that_goes_out_again_in_part_is_two() {
        let mut buffer = buffer(2);
        buffer.sent = [3, 5, 9].into();
        buffer.split(1, 2);
        assert_eq!(buffer.sent, [2, 3, 5, 9], "one of two segments");
        buffer.split(3, 5);
        buffer.split(3, 6);
        assert_eq!(buffer.sent, [2, 3, 5, 9], "all of a packet, and no more");
        let before = buffer.queued(1);
        buffer.split(5, 7);
        assert_eq!((buffer.sent.clone(), buffer.queued(1) - before), ([2, 3, 5, 7, 9].into(), 832));
    }

    #[test]
    fn a_burst_takes_what_it_lacks_from_the_next_packet() {
        let mut buffer = buffer(2);
        buffer.waiting = [(6, true), (28, false)].map(|(end, pushed)| Packet { end, pushed }).into();
        assert!(!buffer.leave(1, 4), "a segment of the first is left");
        assert!(buffer.leave(5, 2), "with the pushed end of the first");
        assert_eq!((buffer.waiting.len(), buffer.sent), (1, [5, 7].into()));
    }
}
