//! The interface of a protocol's folder: its parameters, and through them its roles, messages and phases.

use crate::agent::Agent;
use crate::domain::Domain;
use crate::installation::Installation;
use crate::signal::{Kind, Signal};
use crate::topology::Topology;
use roamlab_engine::{Duration, Rng};
use roamlab_packet::Dscp;

/// The header of a protocol's tunnels.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Tunnels {
    /// It has no tunnels.
    None,
    /// The protocol gives the size of the header.
    Own,
    /// The network gives the size of the header.
    OfNetwork,
}

/// A mobility protocol; its parameters represent it.
pub trait Protocol: Sized {
    /// A role at one node.
    type Role: Agent<Message = Signal<Self::Kind>, Phase = Self::Phase>;
    /// The messages between its roles.
    type Kind: Kind;
    /// The phases of its handovers.
    type Phase: Step;

    /// Its table in a scenario, for reports.
    const EXAMPLE: &'static str;
    /// Its name in reports.
    const TITLE: &'static str;
    /// It tells hosts which cell to go to; otherwise they go as their visits specify.
    const COMMANDS_HOSTS: bool = false;
    /// All its hosts have numbered radio bearers.
    const NUMBERS_PACKETS: bool = false;
    /// The header of its tunnels.
    const TUNNELS: Tunnels = Tunnels::OfNetwork;

    /// The part of the network that it is about.
    fn domain(&self) -> &Domain;

    /// The code point that it marks forwarded packets with, and that the edge of the access network polices; `None`: it
    /// marks none.
    fn mark(&self) -> Option<Dscp> {
        None
    }

    /// Refuses what cannot run on this topology, whose addresses are not known yet.
    ///
    /// # Errors
    /// The first field that is refused, and what to write instead.
    fn check(&self, topology: &Topology) -> Result<(), Refusal>;

    /// Warnings about it in a run that ends at `end`: it runs, and part of it has no effect.
    fn warnings(&self, _end: Duration) -> Vec<Refusal> {
        Vec::new()
    }

    /// True if its base stations hand over the estimate by which a host's queue drops or marks.
    fn carries_marking_state(&self) -> bool {
        false
    }

    /// The field, if any, by which its base stations need the average of the queue before their air link.
    fn needs_average(&self) -> Option<&'static str> {
        None
    }

    /// Time between two messages that each of its base stations sends to all; `None`: they send none by the clock.
    fn broadcast_interval(&self) -> Option<Duration> {
        None
    }

    /// Gives nodes their roles, and lists what the protocol needs from the world. `stream` is the random
    /// stream of a component, by its name.
    fn install(&self, topology: &Topology, stream: &dyn Fn(&str) -> Rng) -> Installation<Self::Role>;
}

/// Beginning of every protocol's `impl Protocol for Params`: its roles, title and example, and the field `domain` of its
/// parameters.
macro_rules! protocol {
    ($role:ident, $title:literal, $example:literal) => {
        type Role = $role;
        type Kind = Kind;
        type Phase = Phase;

        const EXAMPLE: &'static str = $example;
        const TITLE: &'static str = $title;

        fn domain(&self) -> &$crate::Domain {
            &self.domain
        }
    };
}

pub(crate) use protocol;

/// The phases of a protocol's handovers.
pub trait Step: Copy + 'static {
    /// The names of all phases.
    const NAMES: &'static [&'static str];

    /// The phase as written in records and tables.
    fn name(self) -> &'static str;
}

/// Makes the enum of a protocol's phases.
macro_rules! phases {
    ($(#[$doc:meta])* $phases:ident: $($(#[$phase_doc:meta])* $phase:ident $name:literal,)+) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $phases {
            $($(#[$phase_doc])* $phase,)+
        }

        impl $crate::Step for $phases {
            const NAMES: &'static [&'static str] = &[$($name,)+];

            fn name(self) -> &'static str {
                match self {
                    $($phases::$phase => $name,)+
                }
            }
        }
    };
}

pub(crate) use phases;

/// A field that a protocol refuses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The field: "buffer.hold".
    pub field: String,
    /// It is a field of the scenario ("radio.gap") and not of the protocol's own table.
    pub elsewhere: bool,
    /// The fault and the expected value; without `help` also what to write, behind ": write".
    pub message: String,
    /// The text to write instead.
    pub help: Option<Help>,
}

/// The text to write instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Help {
    /// This.
    Text(String),
    /// The name closest to the one that is wanted.
    OneOf {
        /// The name that does not exist.
        wanted: String,
        /// Those that do.
        names: Vec<String>,
    },
}

impl Refusal {
    /// A refusal of a parameter of the protocol.
    pub fn at(field: impl Into<String>, message: impl Into<String>) -> Refusal {
        Refusal { field: field.into(), elsewhere: false, message: message.into(), help: None }
    }

    /// A refusal of another field of the scenario.
    pub fn elsewhere(field: impl Into<String>, message: impl Into<String>) -> Refusal {
        Refusal { elsewhere: true, ..Refusal::at(field, message) }
    }

    /// The text to write instead.
    #[must_use]
    pub fn help(self, text: impl Into<String>) -> Refusal {
        Refusal { help: Some(Help::Text(text.into())), ..self }
    }

    /// A name that does not exist, and those that do.
    #[must_use]
    pub fn known<'a>(self, wanted: &str, names: impl Iterator<Item = &'a str>) -> Refusal {
        let names = names.map(str::to_owned).collect();
        Refusal { help: Some(Help::OneOf { wanted: wanted.into(), names }), ..self }
    }
}

impl Topology {
    /// The node that all hosts have as their home: the one of this `role` in the protocol.
    pub(crate) fn common_home(&self, role: &str) -> Result<Option<&String>, Refusal> {
        let first = self.hosts.first().map(|host| &host.home);
        let home = self.gateway.as_ref().or(first);
        let Some(other) = self.hosts.iter().find(|host| Some(&host.home) != home) else { return Ok(home) };
        let message = match &self.gateway {
            Some(gateway) => format!("\"{gateway}\" is the {role}"),
            None => format!("\"{}\" is the home of another host", self.hosts[0].home),
        };
        let refusal = Refusal::elsewhere(format!("hosts[{}].home", other.number), message);
        Err(refusal.help(format!("write the same node: the home of all hosts is the {role}")))
    }

    /// Refuses the name of a node in `field` that is no router.
    pub(crate) fn check_router(&self, field: &str, name: Option<&String>) -> Result<(), Refusal> {
        let Some(name) = name.filter(|name| !self.routers.contains(name)) else { return Ok(()) };
        let refusal = Refusal::at(field, format!("there is no node \"{name}\""));
        Err(refusal.known(name, self.routers.iter().map(String::as_str)))
    }
}
