//! The mobility protocols of a scenario: one table, or a list of them.

use roamlab_mobility::MobilitySpec;
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// The mobility protocols of a scenario.
#[expect(clippy::large_enum_variant, reason = "a scenario has one")]
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Protocols {
    /// `[mobility]`: one.
    One(MobilitySpec),
    /// `[[mobility]]`: several, from the outermost domain to the innermost.
    Several(Vec<MobilitySpec>),
}

impl Protocols {
    /// Each with its field in the scenario.
    pub fn iter(&self) -> impl Iterator<Item = (String, &MobilitySpec)> {
        let (specs, listed) = match self {
            Protocols::One(spec) => (std::slice::from_ref(spec), false),
            Protocols::Several(specs) => (specs.as_slice(), true),
        };
        let field = move |number| if listed { format!("mobility[{number}]") } else { "mobility".into() };
        specs.iter().enumerate().map(move |(number, spec)| (field(number), spec))
    }
}

impl<'de> Deserialize<'de> for Protocols {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrSeveral;
        impl<'de> Visitor<'de> for OneOrSeveral {
            type Value = Protocols;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of a mobility protocol or a list of them")
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Protocols, A::Error> {
                MobilitySpec::deserialize(MapAccessDeserializer::new(table)).map(Protocols::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Protocols, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Protocols::Several)
            }
        }
        deserializer.deserialize_any(OneOrSeveral)
    }
}
