//! The kinds of events.

use roamlab_packet::{FlowId, Parked};
use roamlab_record::ids::{LinkId, NodeId, Side};

/// All kinds of events. Flat, small and made of handles: events are the hottest data of a run. With a tag of
/// four bytes the compiler copies it as whole words.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Event {
    /// A link has put its packet on the wire and may take the next, which waits.
    LinkTxDone {
        /// Which link.
        link: LinkId,
    },
    /// A packet arrives over a link that does not keep track of those in flight.
    Arrival {
        /// Which link.
        link: LinkId,
        /// The packet.
        packet: Parked,
    },
    /// The first packet in flight on a link that keeps track of them arrives, or one would have that was taken off the air.
    TrackedArrival {
        /// Which link.
        link: LinkId,
    },
    /// A packet that was held back on entering a link enters it.
    LateEntry {
        /// Which link.
        link: LinkId,
        /// The packet.
        packet: Parked,
    },
    /// A link changes.
    LinkChange {
        /// Which link.
        link: LinkId,
        /// Place in the link's list of changes.
        index: u32,
    },
    /// The rate or the delay of a link takes the next value of its file.
    LinkStep {
        /// Which link.
        link: LinkId,
    },
    /// An endpoint's deadline may have come.
    Endpoint {
        /// Which flow.
        flow: u32,
        /// Which end.
        side: Side,
    },
    /// An application wakes.
    App {
        /// Which flow.
        flow: u32,
    },
    /// A mobility agent's deadline may have come.
    Agent {
        /// At which node.
        node: NodeId,
    },
    /// The next motion of a host's plan.
    Motion {
        /// Which host.
        node: NodeId,
    },
    /// A host that its agent has sent to a cell may be there.
    Entry {
        /// Which host.
        node: NodeId,
    },
    /// A deadline of a roaming host, or of a base station that forgets hosts, may have come.
    Roaming {
        /// Which host or base station.
        node: NodeId,
    },
    /// A host measures its cells.
    Measurement {
        /// Which host.
        node: NodeId,
    },
    /// A base station may have waited long enough for forwarded packets of some host.
    Ordered {
        /// Which base station.
        node: NodeId,
    },
    /// A timer of a numbered radio bearer may have expired.
    Bearer {
        /// The base station, or the host itself.
        node: NodeId,
        /// The host.
        host: NodeId,
    },
    /// The same, when packets that arrive at the same time have arrived: the event before schedules it. A field in the place
    /// of a separate event would be one byte more, copied with each event: four instructions a hop.
    BearerLast {
        /// The base station, or the host itself.
        node: NodeId,
        /// The host.
        host: NodeId,
    },
    /// The local timer of a base station for a flow that it helps may have expired.
    LocalTimer {
        /// Its air link.
        link: LinkId,
        /// The flow.
        flow: FlowId,
    },
    /// A base station is notified of a coming handover.
    Prediction {
        /// Place in the list of predictions.
        number: u32,
    },
    /// A medium that links share may have decided something.
    Medium {
        /// Which medium.
        medium: u32,
    },
    /// An endpoint notices that the path of a flow has changed, or believes so.
    PathNotice {
        /// Place in the list of notices.
        number: u32,
    },
    /// A message that was lost is sent again by its transport.
    Repetition {
        /// Place in the list of repetitions.
        slot: u32,
    },
    /// A message that a fault has delayed sets out.
    Delayed {
        /// Place in the list of delayed messages.
        slot: u32,
    },
}

const _: () = assert!(size_of::<Event>() <= 16);
