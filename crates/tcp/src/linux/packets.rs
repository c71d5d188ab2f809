//! The segments behind a gap in packets, as Linux keeps them: those that follow each other are joined (`tcp_data_queue_ofo`,
//! `tcp_try_coalesce`, `tcp_ofo_queue` in `net/ipv4/tcp_input.c`).

/// Bytes of the buffer that a packet takes in addition to its data, and that a segment takes that has joined one
/// (`skb_try_coalesce`).
pub(crate) const PACKET: u64 = 728;
pub(crate) const JOINED: u64 = 472;
/// Segments that join a packet at most (MAX_SKB_FRAGS).
const MOST_JOINED: u32 = 17;

/// The memory of `segments` segments in order that arrived one after the other. `segment`: bytes of data in each.
pub(crate) fn in_order(segments: u32, segment: u64) -> u64 {
    let packets = u64::from(segments.div_ceil(MOST_JOINED + 1));
    u64::from(segments) * (segment + JOINED) + packets * (PACKET - JOINED)
}

/// The packets behind the first gap, from first segment to one above the last, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packets {
    runs: Vec<(u32, u32)>,
    /// Segments in all of them.
    segments: u64,
}

impl Packets {
    /// Takes a segment behind a gap. True if it joins the packet that ends before it; otherwise it is a separate
    /// packet.
    pub fn take(&mut self, seq: u32) -> bool {
        self.segments += 1;
        let place = self.runs.partition_point(|&(start, _)| start <= seq);
        if let Some(before) = place.checked_sub(1).and_then(|last| self.runs.get_mut(last))
            && before.1 == seq
            && before.1 - before.0 <= MOST_JOINED
        {
            before.1 += 1;
            return true;
        }
        self.runs.insert(place, (seq, seq + 1));
        false
    }

    /// A segment has arrived in order, and all below `expected` is. Segments of the packet that the application reads first:
    /// the new one, and those that can join it; and how many packets join the one before.
    pub fn close(&mut self, expected: u32) -> (u32, u32) {
        let closed = self.runs.partition_point(|&(start, _)| start < expected);
        let (mut first, mut last, mut joins, mut packets) = (1, 1, 0, 1);
        for (start, end) in self.runs.drain(..closed) {
            self.segments -= u64::from(end - start);
            // The first segment of a packet takes a place too, which its data had in it.
            if last - 1 + (end - start - 1) < MOST_JOINED {
                (last, joins) = (last + end - start, joins + 1);
            } else {
                (last, packets) = (end - start, packets + 1);
            }
            first = if packets == 1 { last } else { first };
        }
        (first, joins)
    }

    /// True if there is no packet.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The memory of all of them. `segment`: bytes of data in a segment.
    pub fn memory(&self, segment: u64) -> u64 {
        let packets = self.runs.len() as u64;
        packets * (segment + PACKET) + (self.segments - packets) * (segment + JOINED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighteen_segments_are_in_a_packet_and_the_next_one_begins_another() {
        let mut packets = Packets::default();
        let joined: Vec<bool> = (5..24).map(|seq| packets.take(seq)).collect();
        assert_eq!((joined[0], joined[1], joined[17], joined[18]), (false, true, true, false));
        // 18 · 1448 + 728 + 17 · 472, and 1448 + 728.
        assert_eq!(packets.memory(1448), 26_064 + 728 + 8_024 + 2_176);
    }

    #[test]
    fn what_is_not_read_is_in_packets_of_eighteen() {
        assert_eq!([0, 1, 18, 19].map(|count| in_order(count, 1000)), [0, 1728, 26_752, 28_480]);
    }

    #[test]
    fn a_segment_joins_what_is_before_it_and_never_what_is_behind() {
        let mut packets = Packets::default();
        assert_eq!([7, 9, 8, 6].map(|seq| packets.take(seq)), [false, false, true, false]);
        assert_eq!(packets.runs, [(6, 7), (7, 9), (9, 10)]);
    }

    #[test]
    fn a_closed_gap_is_read_packet_by_packet() {
        let closed = |count: u32| {
            let mut packets = Packets::default();
            (5..5 + count).for_each(|seq| _ = packets.take(seq));
            packets.close(5 + count)
        };
        // 17 join the segment that closes the gap. A packet of 18 has 17 that had joined it, and does not.
        assert_eq!([closed(0), closed(1), closed(17), closed(18)], [(1, 0), (2, 1), (18, 1), (1, 0)]);
        assert_eq!(closed(40), (1, 0), "packets of 18, 18 and 4");
        let mut packets = Packets::default();
        [5, 6, 9, 10].into_iter().for_each(|seq| _ = packets.take(seq));
        assert_eq!(
            (packets.close(7), packets.runs.clone()),
            ((3, 1), vec![(9, 11)]),
            "those behind the next gap stay"
        );
    }
}
