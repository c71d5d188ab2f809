//! The interface of the two ends of a flow.

use crate::Stack;
use roamlab_congestion::{PathPolicy, SenderEvent, SenderVariables};
use roamlab_engine::{Bytes, Time};
use roamlab_packet::wire::TcpFields;
use roamlab_packet::{BareTcpHeader, Ecn, Header, Receipt, Side, Timestamps};
use roamlab_tcp::StampedAck;
use std::fmt::Debug;
use std::ops::Range;

/// A packet as an end sends it or gets it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowPacket {
    /// Its content.
    pub header: Header,
    /// Size of the IP datagram on the wire.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
}

/// Meaning of a packet's arrival at an end.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Arrival {
    /// It has data: a packet that only opens a connection or acknowledges has none.
    pub has_data: bool,
    /// The data had not arrived before.
    pub fresh: bool,
    /// The application can have data now that it could not have before.
    pub deliverable: bool,
    /// Bytes of the data, of a fresh packet those that are new.
    pub bytes: u64,
}

impl Arrival {
    /// Arrival of a packet with this number of bytes of data at a receiver.
    #[inline]
    pub fn new(receipt: Receipt, bytes: u64) -> Arrival {
        let Receipt { fresh, in_order_segments, .. } = receipt;
        Arrival { has_data: bytes > 0, fresh, deliverable: in_order_segments > 0, bytes }
    }
}

/// The two ends of a flow: one sends data, the other gets it.
///
/// The ends are sans-IO. They never read a clock and never send: `now` is an argument. After every input of an end the
/// caller takes its packets by [`poll`](Self::poll) until there is none, its events by [`poll_event`](Self::poll_event),
/// and wakes it at its [`deadline`](Self::deadline).
///
/// The methods of every packet are called directly (`Self: Sized`), all others through `dyn`.
///
/// Segments are numbered from 1; 0 opens a connection. A transport without connections has the methods
/// [`next_datagram`](Self::next_datagram) and [`datagram`](Self::datagram) instead of segments.
pub trait Endpoints: Debug {
    /// Payload of a full segment; `None`: it sends datagrams as the application makes them.
    fn segment(&self) -> Option<Bytes>;

    /// The application offers this number of segments, or an unlimited backlog.
    fn offer(&mut self, segments: Option<u64>);

    /// The application stops.
    fn stop(&mut self);

    /// The next packet that the end on this side sends now.
    fn poll(&mut self, side: Side, now: Time) -> Option<FlowPacket>
    where
        Self: Sized;

    /// A packet has arrived at the end on this side. `None`: it is none of this transport's.
    fn deliver(&mut self, side: Side, packet: FlowPacket, now: Time) -> Option<Arrival>
    where
        Self: Sized;

    /// When the end on this side has to be woken.
    fn deadline(&self, _side: Side) -> Option<Time>
    where
        Self: Sized,
    {
        None
    }

    /// The time of a deadline of the end on this side has come.
    fn on_deadline(&mut self, _side: Side, _now: Time) {}

    /// The next event of the sender.
    fn poll_event(&mut self) -> Option<SenderEvent>
    where
        Self: Sized,
    {
        None
    }

    /// The sender's variables, and the first segment that is not acknowledged.
    fn variables(&self) -> Option<(SenderVariables, u32)> {
        None
    }

    /// True if a segment has arrived.
    fn has(&self, _segment: u32) -> bool {
        false
    }

    /// Both ends begin a new connection.
    fn connect_anew(&mut self) {}

    /// Stops of a traced packet where an end makes it and where an end takes it, as in the table of stops.
    fn stops(&self) -> [&'static str; 2] {
        ["transport.poll", "transport.deliver"]
    }

    /// True if a packet with data has one segment.
    fn counts_segments(&self) -> bool {
        true
    }

    /// True if the receiver may be the end that opens the connection.
    fn opens_at_receiver(&self) -> bool {
        false
    }

    /// True if an end of the connection may get a new address.
    fn migrates(&self) -> bool {
        false
    }

    /// The end on this side has a new address.
    fn on_path_change(&mut self, _side: Side, _now: Time) {}

    /// The sender is notified of a new path; the number of segments that it has counted lost, or `None` if it has done
    /// nothing.
    fn on_new_path(&mut self, _policy: PathPolicy, _now: Time) -> Option<u32> {
        None
    }

    /// Fields of its TCP headers in a capture; none of another transport.
    fn tcp_fields(&self) -> Option<TcpFields> {
        None
    }

    /// The number of the next datagram.
    fn next_datagram(&self) -> Option<u32> {
        None
    }

    /// Makes a datagram of this size on the wire.
    fn datagram(&mut self, _size: Bytes) -> Option<FlowPacket> {
        None
    }

    /// The connection over a stack outside of the simulation, which has both ends.
    fn stack(&self) -> Option<&Stack> {
        None
    }

    /// The same, to change it.
    fn stack_mut(&mut self) -> Option<&mut Stack> {
        None
    }
}

/// A segment with timestamps and no other option.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct StampedSegment {
    /// Its header.
    pub header: BareTcpHeader,
    /// Its timestamps.
    pub stamps: Timestamps,
    /// Size of the IP datagram on the wire.
    pub size: Bytes,
}

/// The straight path of ends whose segments mostly have no options, or timestamps alone: an input that is the expected one,
/// while nothing unusual is in progress, takes few instructions. Every result is that of the other path.
///
/// A transport without one changes nothing.
pub trait StraightPath {
    /// Brings what the next packet at the end on this side needs into the cache.
    #[inline(always)]
    fn prefetch(&self, _side: Side) {}

    /// The sender takes an ACK of new data and nothing else. `false`, and no change: it is one for
    /// [`deliver`](Endpoints::deliver). If it has taken it, [`take_quota`](Self::take_quota) comes next.
    #[inline(always)]
    fn on_bare_ack(&mut self, _header: &BareTcpHeader, _now: Time) -> bool {
        false
    }

    /// The sender's next burst may leave, and nothing else is due. `false`, and no change: it is one for
    /// [`on_deadline`](Endpoints::on_deadline). Otherwise [`take_quota`](Self::take_quota) comes next, or
    /// [`next_stamped`](Self::next_stamped) if the sender [is stamped](Self::is_stamped).
    #[inline(always)]
    fn on_pacing_deadline(&mut self, _now: Time) -> bool {
        false
    }

    /// Numbers of the segments that may leave now, and the size on the wire of each. Then
    /// [`end_quota`](Self::end_quota) comes.
    #[inline(always)]
    fn take_quota(&mut self) -> (Range<u32>, Bytes) {
        (0..0, Bytes(0))
    }

    /// One of these segments leaves.
    #[inline(always)]
    fn bare_segment(&mut self, _segment: u32, _now: Time) -> BareTcpHeader {
        BareTcpHeader::default()
    }

    /// All of them have left; the sender's deadline.
    #[inline(always)]
    fn end_quota(&mut self, _now: Time) -> Option<Time> {
        None
    }

    /// The receiver takes the next segment that it expects: whether an ACK is due. `None`, and no change: it is one for
    /// [`deliver`](Endpoints::deliver).
    #[inline(always)]
    fn on_bare_segment(&mut self, _header: &BareTcpHeader, _now: Time) -> Option<bool> {
        None
    }

    /// After that the receiver's deadline, and the ACK with its size on the wire, if it is due.
    #[inline(always)]
    fn bare_answer(&self, _is_due: bool) -> (Option<Time>, Option<(BareTcpHeader, Bytes)>) {
        (None, None)
    }

    /// True if the sender's segments have timestamps.
    #[inline(always)]
    fn is_stamped(&self) -> bool {
        false
    }

    /// As [`on_bare_ack`](Self::on_bare_ack), of an ACK with timestamps. Then [`next_stamped`](Self::next_stamped) comes.
    #[inline(always)]
    fn on_stamped_ack(&mut self, _header: &BareTcpHeader, _stamps: Timestamps, _now: Time) -> bool {
        false
    }

    /// The next segment with data that may leave now. When there is none, [`end_stamped`](Self::end_stamped) comes.
    #[inline(always)]
    fn next_stamped(&mut self, _now: Time) -> Option<StampedSegment> {
        None
    }

    /// As [`end_quota`](Self::end_quota). `by_ack`: an ACK permitted the segments, and not the end of a wait of pacing.
    /// `has_sent`: there was one.
    #[inline(always)]
    fn end_stamped(&mut self, _by_ack: bool, _has_sent: bool, _now: Time) -> Option<Time> {
        None
    }

    /// As [`on_bare_segment`](Self::on_bare_segment), of a segment with timestamps.
    #[inline(always)]
    fn on_stamped_segment(
        &mut self,
        _header: &BareTcpHeader,
        _stamps: Timestamps,
        _now: Time,
    ) -> Option<StampedAck> {
        None
    }

    /// As [`bare_answer`](Self::bare_answer), of an ACK with timestamps.
    #[inline(always)]
    fn stamped_answer(&self, _is_due: bool, _now: Time) -> (Option<Time>, Option<StampedSegment>) {
        (None, None)
    }
}

/// The methods of [`Endpoints`] that a connection passes on to its `sender` and its `receiver`, two boxes.
macro_rules! both_ends {
    () => {
        fn offer(&mut self, segments: Option<u64>) {
            self.sender.offer(segments);
        }

        fn stop(&mut self) {
            self.sender.stop();
        }

        #[inline]
        fn deadline(&self, side: roamlab_packet::Side) -> Option<roamlab_engine::Time> {
            match side {
                roamlab_packet::Side::Sender => self.sender.next_deadline(),
                roamlab_packet::Side::Receiver => self.receiver.next_deadline(),
            }
        }

        fn on_deadline(&mut self, side: roamlab_packet::Side, now: roamlab_engine::Time) {
            match side {
                roamlab_packet::Side::Sender => self.sender.on_deadline(now),
                roamlab_packet::Side::Receiver => self.receiver.on_deadline(now),
            }
        }

        #[inline]
        fn poll_event(&mut self) -> Option<roamlab_congestion::SenderEvent> {
            self.sender.poll_fact()
        }

        fn variables(&self) -> Option<(roamlab_congestion::SenderVariables, u32)> {
            Some((self.sender.variables(), self.sender.acknowledged()))
        }

        fn has(&self, segment: u32) -> bool {
            self.receiver.has(segment)
        }

        fn connect_anew(&mut self) {
            (*self.sender, *self.receiver) = (self.sender.anew(), self.receiver.anew());
        }

        fn on_new_path(
            &mut self,
            policy: roamlab_congestion::PathPolicy,
            now: roamlab_engine::Time,
        ) -> Option<u32> {
            self.sender.on_new_path(policy, now)
        }
    };
}

pub(crate) use both_ends;
