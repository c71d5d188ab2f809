//! The interface of a way to change cells: the motions of a host, and its link while it is in several cells.

use crate::MeasurementSpec;
use crate::visit::Visit;
use roamlab_engine::{Duration, DurationLaw, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fate of packets whose transmission over the air began before the host left.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InFlightAtBreak {
    /// They still arrive (the default interpretation: the packet in transmission finishes).
    #[default]
    Delivered,
    /// They are lost on the air.
    Lost,
}

/// A change of the air links of one host.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Motion {
    /// It leaves the cell of the visit with this number.
    Leave {
        /// Index into the host's visits.
        visit: usize,
    },
    /// It enters the cell of the visit with this number.
    Enter {
        /// Index into the host's visits.
        visit: usize,
    },
}

/// The number of a visit that cannot be, its field at fault, and what was expected and what to write.
pub type BadVisit = (usize, &'static str, String);

/// Which link a host in several cells sends on.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UplinkChoice {
    /// That of the cell it entered last.
    #[default]
    Newest,
    /// That of the cell it entered first: it changes over when it leaves that cell.
    Oldest,
    /// All: a copy of each packet on each.
    All,
}

/// Treatment of a packet of which a host has had a copy.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// It is passed on to IP.
    #[default]
    Pass,
    /// Layer 2 drops it.
    Drop,
}

/// Gives a stream of random numbers, if one is needed.
pub type Stream<'a> = &'a dyn Fn() -> Rng;

/// A way to change cells; its parameters represent it.
pub(crate) trait Radio {
    /// The motions of a host with these visits, in order of time. Without a stream of random numbers a drawn gap takes no time.
    fn plan(&self, visits: &[Visit], stream: Option<Stream<'_>>) -> Result<Vec<(Time, Motion)>, BadVisit>;

    /// See [`RadioSpec::gap`](crate::RadioSpec::gap); `None`: it has none.
    fn gap(&self) -> Option<&DurationLaw> {
        None
    }

    /// See [`RadioSpec::overlap`](crate::RadioSpec::overlap).
    fn overlap(&self) -> Duration {
        Duration::ZERO
    }

    /// See [`RadioSpec::in_flight_at_break`](crate::RadioSpec::in_flight_at_break).
    fn in_flight_at_break(&self) -> InFlightAtBreak;

    /// See [`RadioSpec::measurement`](crate::RadioSpec::measurement).
    fn measurement(&self) -> Option<&MeasurementSpec> {
        None
    }

    /// See [`RadioSpec::uplink`](crate::RadioSpec::uplink).
    fn uplink(&self) -> UplinkChoice {
        UplinkChoice::default()
    }

    /// See [`RadioSpec::duplicates`](crate::RadioSpec::duplicates).
    fn duplicates(&self) -> Duplicates {
        Duplicates::default()
    }
}
