//! How hosts change cells: a family of kinds, one file and one row each.

mod hard;
mod motion;
mod soft;

pub use hard::HardHandover;
pub use motion::{BadVisit, Duplicates, InFlightAtBreak, Motion, Stream, UplinkChoice};
pub use soft::SoftHandover;

pub(crate) use motion::Radio;
pub(crate) use soft::overlapping;

use crate::MeasurementSpec;
use crate::visit::Visit;
use crate::wifi::Wifi;
use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Duration, DurationLaw, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

macro_rules! radios {
    ($($name:literal => $type:ident: $summary:literal,)+) => {
        /// How a host changes cells: `kind` names the way, the other fields are its parameters.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum RadioSpec {
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $type($type),
            )+
        }

        /// Names and one-line summaries of all ways to change cells.
        pub const RADIOS: &[(&str, &str)] = &[$(($name, $summary),)+];

        impl Family for RadioSpec {
            const WHAT: &'static str = "a radio";
            const EXAMPLE: &'static str = "{ kind = \"hard\", gap = \"30 ms\" }";
            const NAMES: &'static [&'static str] = &[$($name,)+];

            fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                match kind {
                    $($name => $type::deserialize(fields).map(RadioSpec::$type),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::NAMES)),
                }
            }
        }

        impl RadioSpec {
            fn kind(&self) -> &dyn Radio {
                match self {
                    $(RadioSpec::$type(radio) => radio,)+
                }
            }
        }
    };
}

radios! {
    "hard" => HardHandover: "A host is in at most one cell: it leaves one, is unreachable for a gap, and enters the next",
    "soft" => SoftHandover: "A host enters the next cell before it leaves the last: it is in both for a while",
    "802.11" => Wifi:
        "A host detects that its cell is gone, scans, authenticates and associates, by frames on the air",
}

impl Default for RadioSpec {
    fn default() -> RadioSpec {
        RadioSpec::HardHandover(HardHandover::default())
    }
}

impl<'de> Deserialize<'de> for RadioSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl RadioSpec {
    /// The motions of a host with these visits, in order; of a host that measures, only the first. Without a stream of random
    /// numbers a drawn gap takes no time.
    ///
    /// # Errors
    /// The number and the field of the first visit that does not go with the one before it, and what to write.
    pub fn plan(
        &self,
        visits: &[Visit],
        stream: Option<Stream<'_>>,
    ) -> Result<Vec<(Time, Motion)>, BadVisit> {
        let mut motions = self.kind().plan(visits, stream)?;
        if self.measurement().is_some() {
            motions.truncate(1);
        }
        Ok(motions)
    }

    /// Time between leaving a cell and entering the next; the mean of one that is drawn.
    pub fn gap(&self) -> Duration {
        self.kind().gap().map_or(Duration::ZERO, DurationLaw::mean)
    }

    /// The same; `None`: it is drawn.
    pub fn constant_gap(&self) -> Option<Duration> {
        match self.kind().gap() {
            Some(DurationLaw::Drawn(_)) => None,
            Some(DurationLaw::Constant(gap)) => Some(*gap),
            None => Some(Duration::ZERO),
        }
    }

    /// Checks that gaps can be drawn.
    ///
    /// # Errors
    /// The field below the radio, and what to write.
    pub fn check_gap(&self) -> Result<(), (String, String)> {
        self.kind().gap().map_or(Ok(()), |gap| gap.check_in("gap"))
    }

    /// How long a host stays in the cell that it comes from after it has entered the next.
    pub fn overlap(&self) -> Duration {
        self.kind().overlap()
    }

    /// Fate of packets in flight when the host leaves.
    pub fn in_flight_at_break(&self) -> InFlightAtBreak {
        self.kind().in_flight_at_break()
    }

    /// Measurements of hosts; `None`: none, and every host moves as its visits specify.
    pub fn measurement(&self) -> Option<&MeasurementSpec> {
        self.kind().measurement()
    }

    /// Measurements that agents command hosts by; `None` with 802.11, whose stations choose their cells themselves.
    pub fn reported_measurement(&self) -> Option<&MeasurementSpec> {
        self.measurement().filter(|_| self.roaming().is_none())
    }

    /// Which link a host in several cells sends on.
    pub fn uplink(&self) -> UplinkChoice {
        self.kind().uplink()
    }

    /// Treatment of a packet of which a host has had a copy.
    pub fn duplicates(&self) -> Duplicates {
        self.kind().duplicates()
    }

    /// How hosts roam; `None`: layer 2 knows where they are.
    pub fn roaming(&self) -> Option<&Wifi> {
        match self {
            RadioSpec::Wifi(wifi) => Some(wifi),
            RadioSpec::HardHandover(_) | RadioSpec::SoftHandover(_) => None,
        }
    }
}
