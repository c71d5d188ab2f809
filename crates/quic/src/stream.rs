//! The data of the stream: new, lost and arrived segments.
//!
//! DEVIATION: there is one stream, and no flow control limits it (as if the other end gave all the credit that can be
//! used).

use roamlab_packet::SeqSet;
use std::collections::BTreeSet;

/// The segments of the sender's stream. The handshake counts as segment 0, as TCP's SYN does, and the data follow from 1.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// The next new segment.
    next: u32,
    /// One above the last segment offered.
    end: u32,
    arrived: SeqSet,
    /// Lost, and to be sent again.
    lost: BTreeSet<u32>,
    /// Where the next probe without other data begins.
    probe_from: u32,
}

impl Stream {
    /// No data, and no handshake yet.
    pub fn new() -> Stream {
        Stream { next: 1, end: 1, arrived: SeqSet::default(), lost: BTreeSet::new(), probe_from: 0 }
    }

    /// `segments` more are offered, or an unlimited backlog.
    pub fn offer(&mut self, segments: Option<u64>) {
        let end = segments.map_or(u64::MAX, |count| u64::from(self.end).saturating_add(count));
        self.end = u32::try_from(end).unwrap_or(u32::MAX);
    }

    /// Ends the data: nothing new is sent from now on.
    pub fn stop(&mut self) {
        self.end = self.next;
    }

    /// True if no segment is to be sent, neither a new one nor one again.
    pub fn is_empty(&self) -> bool {
        self.lost.is_empty() && self.next >= self.end
    }

    /// The segment to be sent next, and true if it was sent before: lost ones come first (RFC 9000 §13.3).
    pub fn take(&mut self) -> Option<(u32, bool)> {
        if let Some(segment) = self.lost.pop_first() {
            return Some((segment, true));
        }
        if self.next >= self.end {
            return None;
        }
        self.next += 1;
        Some((self.next - 1, false))
    }

    /// A probe timeout: probes without other data begin with the oldest outstanding segment.
    pub fn begin_probe(&mut self) {
        self.probe_from = self.first_outstanding();
    }

    /// The segment of a probe (RFC 9002 §6.2.4): the next one to be sent, or else outstanding data.
    ///
    /// ASSUMPTION: with nothing outstanding it is the last segment. The RFC permits any frame that asks for an ACK.
    pub fn take_probe(&mut self) -> Option<(u32, bool)> {
        if let Some(taken) = self.take() {
            return Some(taken);
        }
        let outstanding = [self.probe_from, 0].map(|from| self.arrived.first_missing(from));
        let segment = outstanding.into_iter().find(|&segment| segment < self.next);
        let segment = segment.or_else(|| self.next.checked_sub(1).filter(|&last| last > 0))?;
        self.probe_from = segment + 1;
        Some((segment, true))
    }

    /// A packet with this segment is lost: it has to go again, unless it has arrived in another packet.
    pub fn lost(&mut self, segment: u32) {
        if !self.arrived.contains(segment) {
            self.lost.insert(segment);
        }
    }

    /// A packet with this segment is acknowledged.
    pub fn arrived(&mut self, segment: u32) {
        if !self.lost.is_empty() {
            self.lost.remove(&segment);
        }
        self.arrived.take(segment);
    }

    /// The first segment that is not acknowledged.
    pub fn first_outstanding(&self) -> u32 {
        self.arrived.base()
    }

    /// True if everything offered is acknowledged.
    pub fn finished(&self) -> bool {
        self.arrived.base() >= self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream with this number of segments, its handshake done.
    fn stream(segments: u64) -> Stream {
        let mut stream = Stream::new();
        stream.arrived(0);
        stream.offer(Some(segments));
        stream
    }

    #[test]
    fn what_is_lost_goes_before_what_is_new() {
        let mut stream = stream(4);
        assert_eq!([stream.take(), stream.take()], [Some((1, false)), Some((2, false))]);
        stream.lost(2);
        stream.lost(1);
        assert_eq!([stream.take(), stream.take()], [Some((1, true)), Some((2, true))]);
        stream.lost(2);
        stream.arrived(2);
        assert_eq!(stream.take(), Some((3, false)), "it has arrived in another packet");
        stream.lost(2);
        assert_eq!(stream.take(), Some((4, false)));
        assert!(stream.is_empty() && !stream.finished());
    }

    #[test]
    fn a_probe_takes_new_data_and_then_outstanding_data_in_turn() {
        let mut stream = stream(3);
        stream.take();
        stream.take();
        stream.arrived(1);
        stream.begin_probe();
        assert_eq!(stream.take_probe(), Some((3, false)));
        assert_eq!([stream.take_probe(), stream.take_probe()], [Some((2, true)), Some((3, true))]);
        assert_eq!(stream.take_probe(), Some((2, true)), "it begins again");
        stream.arrived(2);
        stream.arrived(3);
        assert_eq!(stream.take_probe(), Some((3, true)), "all has arrived");
    }
}
