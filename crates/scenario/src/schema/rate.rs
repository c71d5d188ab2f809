//! The rate of a link: constant, or recorded.

use roamlab_engine::{InputFile, Rate, tagged};
use roamlab_radio::{LossSpec, Opportunities};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The rate of a link: a constant one, or a recorded one.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LinkRate {
    /// The same at all times.
    Constant(Rate),
    /// When a recorded link could send.
    Recorded(RecordedRate),
}

/// The delivery opportunities of a recorded link, in Mahimahi's format.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedRate {
    /// File of the opportunities; of a wired link from its first node to its second, of a cell down to its hosts. Its path
    /// is relative to the scenario's file, or to the folder that the variable `ROAMLAB_DATA` names.
    pub trace: InputFile<Opportunities>,
    /// File of the opportunities of the other direction; absent: the same. Each host of a cell has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<InputFile<Opportunities>>,
}

/// A direction of a link.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Way {
    /// From the first node to the second; down to the hosts of a cell.
    There,
    /// The other one.
    Back,
}

impl Way {
    /// The random loss of this direction, if there is any.
    pub(super) fn loss<'a>(
        self,
        each: Option<&'a LossSpec>,
        reverse: Option<&'a LossSpec>,
    ) -> Option<&'a LossSpec> {
        let loss = if self == Way::Back { reverse.or(each) } else { each };
        loss.filter(|loss| loss.can_lose())
    }
}

impl LinkRate {
    /// The rate, of a recorded link its mean, in this direction.
    pub fn mean(&self, way: Way) -> Rate {
        match self {
            LinkRate::Constant(rate) => *rate,
            LinkRate::Recorded(rate) => {
                // Files are read before they are needed.
                rate.file(way).content().map_or(Rate::from_bps(1), |trace| trace.mean_rate())
            }
        }
    }

    /// The recording, if it is one.
    pub fn recorded(&self) -> Option<&RecordedRate> {
        match self {
            LinkRate::Constant(_) => None,
            LinkRate::Recorded(rate) => Some(rate),
        }
    }
}

impl RecordedRate {
    /// The file of a direction.
    pub fn file(&self, way: Way) -> &InputFile<Opportunities> {
        match (way, &self.reverse) {
            (Way::Back, Some(reverse)) => reverse,
            _ => &self.trace,
        }
    }
}

impl From<Rate> for LinkRate {
    fn from(rate: Rate) -> LinkRate {
        LinkRate::Constant(rate)
    }
}

impl<'de> Deserialize<'de> for LinkRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize_text_or_table(
            deserializer,
            "a rate with its unit, for example \"2 Mbit/s\"",
            |text| text.parse().map(LinkRate::Constant),
            LinkRate::Recorded,
        )
    }
}
