//! The interface of a transport's parameters in a scenario.

use roamlab_congestion::{PathPolicy, SpecError};
use roamlab_engine::{Bytes, Duration, Packets};
use roamlab_tcp::{ProfileName, Profiles};

/// Data that an application sends, by what it needs of a transport.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Data {
    /// Packets that may also be datagrams, at the times that they have.
    Packets,
    /// Datagrams, of which a late one is of no use.
    Datagrams,
    /// A file.
    File,
    /// Requests and responses.
    Requests,
}

/// A field, or a rule of the profile, whose value is valid and of no use in this run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// The field or the rule.
    pub field: &'static str,
    /// Why it is of no use.
    pub message: String,
    /// A value to write instead.
    pub help: &'static str,
}

/// A field, or a rule of the profile, that is written and that the connection does not read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Unread {
    /// The field or the rule.
    pub field: &'static str,
    /// The part that would read it.
    pub reader: &'static str,
    /// Text to write so that it is read; empty: nothing.
    pub write: &'static str,
}

/// Parameters of a transport.
pub trait Parameters {
    /// Why this build of the engine has no such ends, and what to write instead.
    fn check_build(&self) -> Result<(), &'static str> {
        Ok(())
    }

    /// True if it carries this data.
    ///
    /// # Errors
    /// Why not, and what to write instead.
    fn check_data(&self, data: Data) -> Result<(), &'static str> {
        match data {
            Data::Datagrams => Err(
                "it is sent in datagrams over UDP: leave `transport` out, or write another `kind`, as \"dash\"",
            ),
            Data::Packets | Data::File | Data::Requests => Ok(()),
        }
    }

    /// True if a node on the way can read which data a packet has, and which it acknowledges.
    fn shows_segments(&self) -> bool {
        false
    }

    /// The payload of a full segment; `None`: it has none.
    ///
    /// # Errors
    /// Which field, or which rule of its profile, cannot be right, and what to write instead.
    fn check(&self, profiles: Profiles<'_>) -> Result<Option<Bytes>, SpecError>;

    /// True if the sender can do what the policy requires at a new path.
    ///
    /// # Errors
    /// What it lacks, and what to write instead.
    fn check_policy(&self, policy: PathPolicy, profiles: Profiles<'_>) -> Result<(), String>;

    /// Fields and rules whose values are of no use in a run of this length.
    fn warnings(&self, _profiles: Profiles<'_>, _duration: Duration) -> Vec<Warning> {
        Vec::new()
    }

    /// Fields and rules that are written and that the connection does not read.
    fn unread(&self, _profiles: Profiles<'_>) -> Vec<Unread> {
        Vec::new()
    }

    /// True if it is a connection, with acknowledgements.
    fn has_connection(&self) -> bool {
        true
    }

    /// The name of the profile that fills fields in; `None`: none does.
    fn profile<'a>(&'a self, _profiles: Profiles<'a>) -> Option<&'a ProfileName> {
        None
    }

    /// The IP datagram of a full packet, and the most packets in flight if these parameters bound it; `None`: packets have
    /// the size of the application's.
    fn load(&self, profiles: Profiles<'_>) -> Option<(Bytes, Option<Packets>)>;

    /// The largest IP datagram, with room for options.
    fn largest_packet(&self, _profiles: Profiles<'_>) -> Bytes {
        Bytes(1500)
    }

    /// How long the sender waits for its first ACK: a second, or longer (RFC 6298 §2.1).
    fn first_timeout(&self, _profiles: Profiles<'_>) -> Duration {
        Duration::from_secs(1)
    }

    /// True if the sender reacts to marks of congestion.
    fn uses_ecn(&self, _profiles: Profiles<'_>) -> bool {
        false
    }

    /// The same, also where a stack outside decides whether it does.
    fn may_use_ecn(&self, profiles: Profiles<'_>) -> bool {
        self.uses_ecn(profiles)
    }

    /// True if its packets may have ECT(1).
    fn may_send_ect1(&self, _profiles: Profiles<'_>) -> bool {
        false
    }

    /// True if an end at a host may get a new address with each cell.
    fn can_migrate(&self) -> bool {
        false
    }

    /// True if the ends can be copied during a run.
    fn can_branch(&self) -> bool {
        true
    }

    /// The version of the stack outside that runs its ends, of which a run has one.
    fn stack_version(&self) -> Option<&str> {
        None
    }

    /// How often ns-2 resets an agent of this transport while it makes it; 0: the agent has no clock.
    fn ns2_resets(&self, _profiles: Profiles<'_>) -> u32 {
        0
    }
}
