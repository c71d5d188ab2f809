//! The requests of a protocol when it is installed: its roles at nodes, and capabilities by name.

use crate::cellular::BearerValues;
use roamlab_engine::{Bytes, Duration, Packets, Time};
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A protocol's roles, and the capabilities that it asks the world for.
#[derive(Clone, PartialEq, Debug)]
pub struct Installation<R> {
    /// Who plays which role.
    pub roles: Vec<Placement<R>>,
    /// Bytes that a tunnel adds; `None`: `network.tunnel_overhead`.
    pub tunnel_overhead: Option<Bytes>,
    /// Bytes that a tunnel from a base station adds; `None`: `network.tunnel_overhead`.
    pub forwarding_overhead: Option<Bytes>,
    /// The layer 2 of hosts drops packets that it has got already.
    pub drops_duplicates: bool,
    /// Base stations are notified of these handovers in advance, right or wrong.
    pub predictions: Vec<Prediction>,
    /// At a node with a role, some packets without a route are discarded: those that leave a tunnel, arrive
    /// at the host's home, or come from their next router. They are discarded and not routed home, because it
    /// would come back (RFC 5944 §3.7.2.2).
    pub discards_unknown: bool,
    /// A message from a node to itself is delivered immediately.
    pub delivers_to_self: bool,
    /// A host clears the code point of each packet that it receives over the air.
    pub clears_code_point: bool,
    /// All hosts have a numbered radio bearer: layer 2 numbers their data packets at base stations and hosts, and delivers
    /// them in order.
    pub bearers: Option<BearerValues>,
    /// Base stations that are distributed units, if there are some.
    pub units: Option<Units>,
}

/// Base stations whose numbered bearers end at other nodes (TS 38.401): the base station has RLC and MAC, its central unit
/// has PDCP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Units {
    /// The base stations, each with its central unit, which has no cell.
    pub central: Vec<(Addr, Addr)>,
    /// Bytes that a tunnel between them adds.
    pub overhead: Bytes,
}

/// A role at a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Placement<R> {
    /// The node.
    pub at: Addr,
    /// The role.
    pub role: R,
    /// The buffers that it has there; `None`: it asks for none.
    pub buffering: Option<Buffering>,
    /// It is notified of each data packet that a host of its domain sends through there, and at the host
    /// itself of each that arrives ([`Input::Data`](crate::Input)).
    pub watches_uplink: bool,
}

/// The buffers of a role at a node, one for each host. Any node can have them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Buffering {
    /// Packets that one host's buffer holds.
    pub limit: Packets,
    /// Which packet a full buffer loses.
    pub drop: BufferDrop,
    /// A packet that has waited this long is lost; `None`: it waits until the role removes it.
    pub longest_wait: Option<Duration>,
    /// In which order a buffer is emptied.
    pub flush: BufferFlush,
    /// (At a base station) which of the packets that it has sent it still has.
    pub keeps: Keeps,
}

/// Which of the packets that a base station has sent to a host that leaves it still has.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Keeps {
    /// Those that will not arrive: layer 2 reports which packets the host has got.
    Unacknowledged,
    /// Copies of what it sent last.
    Sent,
    /// Copies of what is in flight, which layer 2 has not acknowledged yet.
    InFlight,
    /// None.
    Nothing,
}

/// Which packet a full buffer loses.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferDrop {
    /// The one that comes.
    Newest,
    /// The one that has waited longest.
    Oldest,
}

/// In which order a buffer is emptied.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferFlush {
    /// In the order of arrival.
    OldestFirst,
    /// Against it.
    NewestFirst,
}

impl Buffering {
    /// Buffers that lose packets when they are full, keep them as long as requested, and return them in the
    /// order of arrival.
    pub fn plain(limit: Packets, keeps: Keeps) -> Buffering {
        let (drop, flush) = (BufferDrop::Newest, BufferFlush::OldestFirst);
        Buffering { limit, drop, longest_wait: None, flush, keeps }
    }
}

/// A prediction that a host will turn to another cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prediction {
    /// Time of the notice to the base station that has the host.
    pub at: Time,
    /// The host.
    pub host: Addr,
    /// The base station that it is expected at.
    pub base_station: Addr,
}

impl<R> Installation<R> {
    /// An installation without roles, which asks for nothing.
    pub fn empty() -> Installation<R> {
        Installation {
            roles: Vec::new(),
            tunnel_overhead: None,
            forwarding_overhead: None,
            drops_duplicates: false,
            predictions: Vec::new(),
            discards_unknown: false,
            delivers_to_self: false,
            clears_code_point: false,
            bearers: None,
            units: None,
        }
    }

    /// Gives the node `at` a role without buffers.
    pub fn place(&mut self, at: Addr, role: impl Into<R>) {
        self.place_with(at, role, None);
    }

    /// The same with a buffer for each host, if there is one.
    pub fn place_with(&mut self, at: Addr, role: impl Into<R>, buffering: Option<Buffering>) {
        self.roles.push(Placement { at, role: role.into(), buffering, watches_uplink: false });
    }

    /// Its requests except roles and predictions: which nodes have a role, and all capabilities.
    pub fn frame(&self) -> Installation<()>
    where
        R: Clone,
    {
        Installation { predictions: Vec::new(), ..self.clone() }.map(|_| ())
    }

    /// The installation with its roles turned into another type.
    pub(crate) fn map<S>(self, role: impl Fn(R) -> S) -> Installation<S> {
        let Installation {
            roles,
            tunnel_overhead,
            forwarding_overhead,
            drops_duplicates,
            predictions,
            discards_unknown,
            delivers_to_self,
            clears_code_point,
            bearers,
            units,
        } = self;
        let place = |Placement { at, role: one, buffering, watches_uplink }| Placement {
            at,
            role: role(one),
            buffering,
            watches_uplink,
        };
        Installation {
            roles: roles.into_iter().map(place).collect(),
            tunnel_overhead,
            forwarding_overhead,
            drops_duplicates,
            predictions,
            discards_unknown,
            delivers_to_self,
            clears_code_point,
            bearers,
            units,
        }
    }
}
