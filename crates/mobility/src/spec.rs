//! The table of mobility protocols, a row for each folder. It generates the enums of parameters, roles and messages.

use crate::agent::{Action, Agent, Input, Repeat, Wire};
use crate::domain::Domain;
use crate::installation::Installation;
use crate::protocol::{Protocol, Refusal, Step, Tunnels};
use crate::signal::{Kind, Signal};
use crate::topology::Topology;
use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Bytes, Duration, Rng, Time};
use roamlab_packet::{Addr, Dscp};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::VecDeque;

/// Requests of a role.
type AskedOf<Role> = Vec<Action<<Role as Agent>::Message, <Role as Agent>::Phase>>;

/// Input of an agent of any protocol.
pub type MobilityInput = Input<Message>;

/// Request of an agent of any protocol.
pub type MobilityAction = Action<Message, &'static str>;

macro_rules! protocols {
    ($($name:literal => $module:ident as $variant:ident: $summary:literal,)+) => {
        /// A mobility protocol as a scenario describes it: `kind` names it, the other fields are its parameters.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum MobilitySpec {
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $variant(crate::$module::Params),
            )+
        }

        /// Names and one-line summaries of all mobility protocols.
        pub const PROTOCOLS: &[(&str, &str)] = &[$(($name, $summary),)+];

        /// The names of all messages.
        pub fn message_names() -> impl Iterator<Item = &'static str> {
            [$(<crate::$module::Kind as Kind>::NAMES,)+].into_iter().flatten().copied()
        }

        /// The names of the protocols that tell hosts which cell to go to.
        pub fn commanders() -> impl Iterator<Item = &'static str> {
            let rows = [$(($name, <crate::$module::Params as Protocol>::COMMANDS_HOSTS),)+];
            rows.into_iter().filter(|(_, commands)| *commands).map(|(name, _)| name)
        }

        /// Content of a message: that of one protocol.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub(crate) enum Content {
            $($variant(crate::$module::Message),)+
        }

        impl MobilitySpec {
            /// The names of its messages.
            pub fn messages(&self) -> &'static [&'static str] {
                match self {
                    $(MobilitySpec::$variant(_) => <crate::$module::Kind as Kind>::NAMES,)+
                }
            }

            /// The protocols that have a message of this name.
            pub fn senders_of(message: &str) -> impl Iterator<Item = &'static str> {
                let rows = [$(($name, <crate::$module::Kind as Kind>::NAMES),)+];
                rows.into_iter().filter(move |(_, names)| names.contains(&message)).map(|(name, _)| name)
            }

            /// The names of the phases of its handovers.
            pub fn phase_names(&self) -> &'static [&'static str] {
                match self {
                    $(MobilitySpec::$variant(_) => <crate::$module::Phase as Step>::NAMES,)+
                }
            }

            /// The protocol's name in reports.
            pub fn title(&self) -> &'static str {
                match self {
                    $(MobilitySpec::$variant(_) => <crate::$module::Params as Protocol>::TITLE,)+
                }
            }

            /// True if it tells hosts which cell to go to.
            pub fn commands_hosts(&self) -> bool {
                match self {
                    $(MobilitySpec::$variant(_) => <crate::$module::Params as Protocol>::COMMANDS_HOSTS,)+
                }
            }

            /// True if all its hosts have numbered radio bearers.
            pub fn numbers_packets(&self) -> bool {
                match self {
                    $(MobilitySpec::$variant(_) => <crate::$module::Params as Protocol>::NUMBERS_PACKETS,)+
                }
            }

            /// The header of its tunnels.
            pub fn tunnels(&self) -> Tunnels {
                match self {
                    $(MobilitySpec::$variant(_) => <crate::$module::Params as Protocol>::TUNNELS,)+
                }
            }

            /// The part of the network that it is about.
            pub fn domain(&self) -> &Domain {
                match self {
                    $(MobilitySpec::$variant(params) => Protocol::domain(params),)+
                }
            }

            /// The code point that it marks forwarded packets with.
            pub fn mark(&self) -> Option<Dscp> {
                match self {
                    $(MobilitySpec::$variant(params) => Protocol::mark(params),)+
                }
            }

            /// Refuses what cannot run on this topology, whose addresses are not known yet.
            ///
            /// # Errors
            /// The first field that is refused, and what to write instead.
            pub fn check(&self, topology: &Topology) -> Result<(), Refusal> {
                match self {
                    $(MobilitySpec::$variant(params) => Protocol::check(params, topology),)+
                }
            }

            /// Warnings about it in a run that ends at `end`.
            pub fn warnings(&self, end: Duration) -> Vec<Refusal> {
                match self {
                    $(MobilitySpec::$variant(params) => Protocol::warnings(params, end),)+
                }
            }

            /// True if its base stations hand over the estimate by which a host's queue drops or marks.
            pub fn carries_marking_state(&self) -> bool {
                match self {
                    $(MobilitySpec::$variant(params) => Protocol::carries_marking_state(params),)+
                }
            }

            /// The field, if any, by which its base stations need the average of the queue before their air link.
            pub fn needs_average(&self) -> Option<&'static str> {
                match self {
                    $(MobilitySpec::$variant(params) => Protocol::needs_average(params),)+
                }
            }

            /// Time between two messages that each of its base stations sends to all.
            pub fn broadcast_interval(&self) -> Option<Duration> {
                match self {
                    $(MobilitySpec::$variant(params) => Protocol::broadcast_interval(params),)+
                }
            }

            /// Gives nodes their agents, and lists what the protocol needs from the world.
            pub fn install(
                &self,
                topology: &Topology,
                stream: &dyn Fn(&str) -> Rng,
            ) -> Installation<MobilityAgent> {
                match self {
                    $(MobilitySpec::$variant(params) => {
                        let agent = |role| MobilityAgent::$variant(role, Vec::new());
                        params.install(topology, stream).map(agent)
                    })+
                }
            }
        }

        /// A role of any mobility protocol at one node and, for what it asks for, a vector that is empty but while it reacts.
        #[derive(Clone, Debug)]
        pub enum MobilityAgent {
            $(
                #[doc = $summary]
                $variant(
                    <crate::$module::Params as Protocol>::Role,
                    AskedOf<<crate::$module::Params as Protocol>::Role>,
                ),
            )+
        }

        impl MobilityAgent {
            /// Reacts to `input`; what is to be done is appended to `out`. Another protocol's message changes nothing.
            pub fn on(&mut self, input: MobilityInput, now: Time, out: &mut Vec<MobilityAction>) {
                match self {
                    $(MobilityAgent::$variant(role, actions) => {
                        let own = |message: Message| match message.into_content() {
                            Content::$variant(message) => Some(message),
                            _ => None,
                        };
                        let Some(input) = input.try_map(own) else { return };
                        role.on(input, now, actions);
                        let role = &*role;
                        let seal = |message| Message::new(message, |own| role.wire(own), Content::$variant);
                        out.extend(actions.drain(..).map(|action| action.map(seal, Step::name)));
                    })+
                }
            }

            /// True if this message may change anything; `false`: [`on`](Self::on) would do nothing.
            pub fn heeds(&self, from: Addr, message: &Message) -> bool {
                match (self, &message.content) {
                    $((MobilityAgent::$variant(role, ..), Content::$variant(own)) => role.heeds(from, own),)+
                    _ => false,
                }
            }

            /// When the agent wants [`Input::Deadline`]; `None`: never.
            pub fn next_deadline(&self) -> Option<Time> {
                match self {
                    $(MobilityAgent::$variant(role, ..) => role.next_deadline(),)+
                }
            }

            /// As [`Agent::queue`](crate::Agent::queue).
            pub fn queue(&self) -> Option<&VecDeque<Time>> {
                match self {
                    $(MobilityAgent::$variant(role, ..) => role.queue(),)+
                }
            }

            /// As [`Agent::deadlines`](crate::Agent::deadlines).
            pub fn deadlines(&self, each: &mut dyn FnMut(Time)) {
                match self {
                    $(MobilityAgent::$variant(role, ..) => role.deadlines(each),)+
                }
            }
        }

        /// The sizes of all messages.
        #[cfg(test)]
        fn sizes() -> Vec<(&'static str, Bytes)> {
            let mut all = Vec::new();
            $(all.extend(crate::$module::Kind::sizes());)+
            all
        }

        impl Family for MobilitySpec {
            const WHAT: &'static str = "a mobility protocol";
            const EXAMPLE: &'static str = [$(<crate::$module::Params as Protocol>::EXAMPLE,)+][0];
            const NAMES: &'static [&'static str] = &[$($name,)+];

            fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                match kind {
                    $($name => crate::$module::Params::deserialize(fields).map(MobilitySpec::$variant),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::NAMES)),
                }
            }
        }
    };
}

protocols! {
    "mobile-ip" => mobile_ip as MobileIp:
        "Mobile IPv4 with route optimisation, smooth and local handoff, and buffering at base stations or foreign agents",
    "lte-x2" => lte_x2 as LteX2:
        "LTE handover over X2 with data forwarding; standard, fast and predictive path switch",
    "nr" => nr as Nr:
        "NR handover over Xn and N2 with numbered bearers; conditional handover, re-establishment",
    "cellular-ip" => cellular_ip as CellularIp:
        "Cellular IP: route and paging caches set by packets from hosts; hard and semisoft handoff",
    "hawaii" => hawaii as Hawaii:
        "HAWAII: path set-up hop by hop; unicast and multicast non-forwarding, multiple and single stream forwarding",
    "mandm" => mandm as Mandm:
        "M&M, multicast-based micro-mobility: candidate sets with triggers and buffers, bicast",
    "fmipv6" => fmipv6 as Fmipv6:
        "FMIPv6, fast handovers of Mobile IPv6: predictive and reactive, with an anchor",
    "bcmp" => bcmp as Bcmp:
        "BCMP: anchor points with tunnels, planned and unplanned handovers, change of the anchor, paging",
}

impl<'de> Deserialize<'de> for MobilitySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

/// A signalling message: its data for the world, and inside those for its protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    name: &'static str,
    host: Option<Addr>,
    wire: Wire,
    in_band: bool,
    content: Content,
}

impl Message {
    pub(crate) fn new<K: Kind>(
        signal: Signal<K>,
        wire: impl FnOnce(&Signal<K>) -> Option<Wire>,
        content: impl FnOnce(Signal<K>) -> Content,
    ) -> Message {
        let wire = wire(&signal).unwrap_or_else(|| Wire {
            size: signal.kind.size(),
            repeat: None,
            random_access: false,
        });
        Message {
            name: signal.name(),
            host: signal.host,
            wire,
            in_band: signal.kind.in_band(),
            content: content(signal),
        }
    }

    /// The name as written in records and tables.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The home address of the mobile host that the message is about; `None`: about none in particular.
    pub const fn host(&self) -> Option<Addr> {
        self.host
    }

    /// Bytes on the wire, IP header included.
    pub const fn size(&self) -> Bytes {
        self.wire.size
    }

    /// How its transport repeats it when it is lost; `None`: it does not.
    pub const fn repeat(&self) -> Option<Repeat> {
        self.wire.repeat
    }

    /// True if a host sends it in the cell of its recipient, also if it is not in that cell.
    pub const fn random_access(&self) -> bool {
        self.wire.random_access
    }

    /// True if it travels with data, in their queues, and overtakes none.
    pub const fn in_band(&self) -> bool {
        self.in_band
    }

    pub(crate) fn into_content(self) -> Content {
        self.content
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_message_has_a_name_of_its_own_and_a_size() {
        let names: BTreeSet<&str> = message_names().collect();
        assert_eq!(names.len(), message_names().count());
        assert!(sizes().iter().all(|(_, size)| (7..=1500).contains(&size.0)));
    }

    #[test]
    fn parameters_are_written_as_they_are_read_and_unknown_ones_are_refused() {
        for (name, _) in PROTOCOLS {
            let read = |text: &str| serde_json::from_str::<MobilitySpec>(text);
            let defaults = read(&format!(r#"{{"kind": "{name}"}}"#)).unwrap();
            assert_eq!(read(&serde_json::to_string(&defaults).unwrap()).unwrap(), defaults);
            assert!(read(&format!(r#"{{"kind": "{name}", "of_nothing": "1 B"}}"#)).is_err());
        }
    }
}
