//! UDP (RFC 768): numbered datagrams.

use roamlab_engine::Bytes;
use roamlab_packet::{Receipt, SeqSet, UdpHeader};

/// Numbers the datagrams of a flow.
#[derive(Clone, Debug, Default)]
pub struct UdpSender {
    next: u32,
}

impl UdpSender {
    /// The number of the next datagram.
    pub fn next_number(&self) -> u32 {
        self.next
    }

    /// A datagram of `size` bytes on the wire, headers included (as ns-2's `Agent/UDP` counts).
    pub fn datagram(&mut self, size: Bytes) -> (UdpHeader, Bytes) {
        let header = UdpHeader { seq: self.next };
        self.next += 1;
        (header, size)
    }
}

/// Tells first arrivals from copies, and late ones from those in order.
#[derive(Clone, Debug, Default)]
pub struct UdpReceiver {
    seen: SeqSet,
    highest_end: u32,
}

/// Datagrams below the highest one received by more than this are forgotten and taken for copies.
const MEMORY: u32 = 65_536;

impl UdpReceiver {
    /// A datagram arrived. UDP delivers in the order of arrival, so every fresh datagram counts as deliverable.
    pub fn on_datagram(&mut self, header: &UdpHeader) -> Receipt {
        let out_of_order = header.seq < self.highest_end;
        self.highest_end = self.highest_end.max(header.seq + 1);
        self.seen.forget_below(self.highest_end.saturating_sub(MEMORY));
        let fresh = self.seen.insert(header.seq);
        Receipt { fresh, in_order_segments: u32::from(fresh), out_of_order }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_not_fresh_and_a_late_datagram_is_out_of_order() {
        let (mut sender, mut receiver) = (UdpSender::default(), UdpReceiver::default());
        let headers: Vec<UdpHeader> = (0..3).map(|_| sender.datagram(Bytes(200)).0).collect();
        let receipt =
            |fresh, out_of_order| Receipt { fresh, in_order_segments: u32::from(fresh), out_of_order };
        assert_eq!(receiver.on_datagram(&headers[0]), receipt(true, false));
        assert_eq!(receiver.on_datagram(&headers[2]), receipt(true, false));
        assert_eq!(receiver.on_datagram(&headers[1]), receipt(true, true));
        assert_eq!(receiver.on_datagram(&headers[2]), receipt(false, true));
    }
}
