//! Quantities with units, and their text form at the edge of the system ("2 Mbit/s", "63 ms", "512 B").
//!
//! The parser is exact: a value that is not a whole number of base units ("0.5 ns") is refused, as is a number
//! without a unit.

mod error;
mod grammar;

pub use error::UnitError;

use crate::time::Duration;
use grammar::{COUNT, RATE, SIZE, TIME};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// A bit rate in bit/s; never zero when it comes from text.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rate(u64);

/// A size in bytes.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bytes(pub u64);

/// A number of packets (queue limits, windows).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Packets(pub u32);

/// Gives a quantity `FromStr`, `Display`, serde's traits (text only) and a JSON schema.
macro_rules! quantity {
    ($type:ident, $grammar:ident, $name:literal, from: $from:expr, to: $to:expr) => {
        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                let value = $grammar.parse(text)?;
                let convert: fn(u64) -> Option<$type> = $from;
                convert(value).ok_or_else(|| {
                    let (text, quantity) = (text.to_owned(), $grammar.quantity);
                    match value {
                        0 => UnitError::Zero { text, quantity },
                        _ => UnitError::OutOfRange { text, quantity },
                    }
                })
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let convert: fn(&$type) -> u64 = $to;
                $grammar.format(convert(self), f)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl de::Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "{} with its unit, for example \"{}\"", $grammar.quantity, $grammar.example)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let units = $grammar.units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("|");
                schemars::json_schema!({
                    "type": "string",
                    "description": format!("{} with its unit", $grammar.quantity),
                    "examples": [$grammar.example],
                    "pattern": format!("^\\s*[0-9]+(\\.[0-9]+)?\\s*({units})\\s*$"),
                })
            }
        }
    };
}

quantity!(Duration, TIME, "Duration", from: |v| Some(Duration::from_nanos(v)), to: |d| d.as_nanos());
quantity!(Rate, RATE, "Rate", from: |v| (v > 0).then_some(Rate(v)), to: |r| r.0);
quantity!(Bytes, SIZE, "Bytes", from: |v| Some(Bytes(v)), to: |b| b.0);
quantity!(Packets, COUNT, "Packets", from: |v| u32::try_from(v).ok().map(Packets), to: |p| u64::from(p.0));

impl Rate {
    /// A rate of `bps` bit/s.
    ///
    /// # Panics
    /// If `bps` is zero: a link that never sends is not a link.
    pub const fn from_bps(bps: u64) -> Rate {
        assert!(bps > 0, "a rate is positive");
        Rate(bps)
    }

    /// The rate in bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Serialisation time of `size` bytes. The part below one nanosecond is kept in `remainder` (in units of
    /// 1/rate ns) and counts towards the next packet, so a train of packets ends on the exact time.
    pub fn transmission_time(self, size: Bytes, remainder: &mut u64) -> Duration {
        const BIT_NS: u64 = 8 * 1_000_000_000;
        // 128 bits cost several times as much, and only sizes above 2 GB need them.
        let small = size.0.checked_mul(BIT_NS).and_then(|bits_ns| bits_ns.checked_add(*remainder));
        if let Some(bits_ns) = small {
            *remainder = bits_ns % self.0;
            return Duration::from_nanos(bits_ns / self.0);
        }
        let bits_ns = u128::from(size.0) * u128::from(BIT_NS) + u128::from(*remainder);
        *remainder = (bits_ns % u128::from(self.0)) as u64;
        Duration::from_nanos((bits_ns / u128::from(self.0)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_is_exact() {
        assert_eq!("63 ms".parse(), Ok(Duration::from_millis(63)));
        assert_eq!("2.5Mbit/s".parse(), Ok(Rate(2_500_000)));
        assert_eq!("0.1 s".parse(), Ok(Duration::from_millis(100)));
        assert_eq!("512 B".parse(), Ok(Bytes(512)));
        assert_eq!("120 pkt".parse(), Ok(Packets(120)));
        assert_eq!("1.5 KiB".parse(), Ok(Bytes(1536)));
    }

    #[test]
    fn bad_text_says_what_to_write() {
        let message = |text: &str| text.parse::<Duration>().unwrap_err().to_string();
        assert_eq!(message("63"), "\"63\" has no unit; write for example \"63 ms\"");
        assert_eq!(message("0.5 ns"), "\"0.5 ns\" is not a whole number of nanoseconds; round it to one");
        assert!(message("-3 ms").contains("non-negative"), "{}", message("-3 ms"));
        assert!(message("3 Mbit/s").contains("use one of ns, us"), "{}", message("3 Mbit/s"));
        assert!(message("99999999999999999999 h").contains("out of range"));
        let rate = |text: &str| text.parse::<Rate>().unwrap_err().to_string();
        assert_eq!(
            rate("20 Mbit/s 5 Mbit/s"),
            "\"Mbit/s 5 Mbit/s\" is not a unit of a rate; write one value: \"20 Mbit/s\""
        );
        assert!(rate("${4,16} Mbit/s").contains("; write one value, as \""));
        assert_eq!(rate("10Mbps"), "\"Mbps\" is not a unit of a rate; write \"10 Mbit/s\"");
        assert!(
            rate("10 MB/s").ends_with("; write bits instead of bytes: \"80 Mbit/s\""),
            "{}",
            rate("10 MB/s")
        );
        assert!(rate("10 Mb/s").ends_with("; write \"10 Mbit/s\""), "{}", rate("10 Mb/s"));
        assert!(rate("1e30 Gbit/s").contains("has an exponent; write all digits"), "{}", rate("1e30 Gbit/s"));
        assert!(message("20 msec").ends_with("; write \"20 ms\""), "{}", message("20 msec"));
        let packets = |text: &str| text.parse::<Packets>().unwrap_err().to_string();
        assert!(packets("100p").ends_with("; write \"100 pkt\""), "{}", packets("100p"));
        // 64,000 / 1448 is 44.2.
        assert!(
            packets("64 kB").ends_with("with 1448 B in each these are \"44 pkt\""),
            "{}",
            packets("64 kB")
        );
        assert!(packets("1 000 pkt").ends_with("; write \"1000 pkt\""), "{}", packets("1 000 pkt"));
        assert!(
            rate("4,5 Mbit/s").ends_with("is not a rate; write \"4.5 Mbit/s\""),
            "{}",
            rate("4,5 Mbit/s")
        );
        assert!(rate("1_000_000 bit/s").ends_with("; write \"1000000 bit/s\""));
        let both = "; write \"1000 kbit/s\" or \"1.000 kbit/s\"";
        assert!(rate("1,000 kbit/s").ends_with(both), "{}", rate("1,000 kbit/s"));
        assert!(
            message("00:01:20.5").ends_with("is not a time; write \"80.5 s\""),
            "{}",
            message("00:01:20.5")
        );
        assert!(message("2:00").ends_with("; write \"120 s\""), "{}", message("2:00"));
        assert!(message("10 m").ends_with("; write \"10 min\" or \"10 ms\""), "{}", message("10 m"));
        assert!(packets("1 BDP").contains("rate times time"), "{}", packets("1 BDP"));
        assert!("0 bit/s".parse::<Rate>().is_err());
        assert!("1. s".parse::<Duration>().is_err());
        assert!("".parse::<Duration>().is_err());
    }

    #[test]
    fn a_million_packets_at_3_mbit_end_on_the_exact_time() {
        let (rate, mut remainder, mut total) = (Rate::from_bps(3_000_000), 0, Duration::ZERO);
        for _ in 0..1_000_000 {
            total += rate.transmission_time(Bytes(1500), &mut remainder);
        }
        assert_eq!(total, Duration::from_secs(4_000));
        assert_eq!(remainder, 0);
    }

    proptest! {
        #[test]
        fn display_and_parse_are_inverse(ns in any::<u64>(), bps in 1u64.., bytes in any::<u64>()) {
            let time = Duration::from_nanos(ns);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
            prop_assert_eq!(Rate(bps).to_string().parse(), Ok(Rate(bps)));
            prop_assert_eq!(Bytes(bytes).to_string().parse(), Ok(Bytes(bytes)));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = text.parse::<Duration>();
            let _ = text.parse::<Rate>();
        }
    }
}
