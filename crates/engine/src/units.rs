//! Quantities with units, and their text form at the edge of the system ("2 Mbit/s", "63 ms", "512 B").
//!
//! The parser is exact: a value that is not a whole number of base units ("0.5 ns") is refused, as is a number
//! without a unit.

use crate::time::Duration;
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

/// Why a text is not a quantity.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnitError {
    /// The number has no unit behind it.
    #[error("\"{text}\" has no unit; write for example \"{example}\"")]
    MissingUnit {
        /// The text that was written.
        text: String,
        /// Possible texts.
        example: String,
    },
    /// The unit is not one of this quantity.
    #[error("\"{unit}\" is not a unit of {quantity}; {instead}")]
    UnknownUnit {
        /// Text behind the number.
        unit: String,
        /// "a time", "a rate", …
        quantity: &'static str,
        /// The text to write instead.
        instead: String,
    },
    /// The number is written with an exponent.
    #[error(
        "\"{text}\" has an exponent; write all digits, with a unit that keeps them few, for example \"{example}\""
    )]
    Exponent {
        /// The text that was written.
        text: String,
        /// Possible texts.
        example: &'static str,
    },
    /// The number is written as a country or a clock has it: "4,5 Mbit/s", "1 000 B", "00:00:20".
    #[error("\"{text}\" is not {quantity}; write {instead}")]
    Spelled {
        /// The text that was written.
        text: String,
        /// "a time", "a rate", …
        quantity: &'static str,
        /// The text to write instead.
        instead: String,
    },
    /// No number, a sign, or too many digits.
    #[error(
        "\"{text}\" is not {quantity}; write a non-negative number with a unit, for example \"{example}\""
    )]
    NotANumber {
        /// The text that was written.
        text: String,
        /// "a time", "a rate", …
        quantity: &'static str,
        /// Possible texts.
        example: &'static str,
    },
    /// The value is not a whole number of base units.
    #[error("\"{text}\" is not a whole number of {base}; round it to one")]
    Lossy {
        /// The text that was written.
        text: String,
        /// The base unit.
        base: &'static str,
    },
    /// The value is zero where that has no meaning.
    #[error("\"{text}\" is out of range: {quantity} is larger than 0")]
    Zero {
        /// The text that was written.
        text: String,
        /// "a rate".
        quantity: &'static str,
    },
    /// The value does not fit.
    #[error("\"{text}\" is out of range for {quantity}")]
    OutOfRange {
        /// The text that was written.
        text: String,
        /// "a time", "a rate", …
        quantity: &'static str,
    },
}

/// A quantity's text form: its units with their size in base units, largest last.
struct Grammar {
    quantity: &'static str,
    base: &'static str,
    example: &'static str,
    units: &'static [(&'static str, u64)],
    /// Other spellings of its units, in small letters.
    spellings: &'static [(&'static str, &'static str)],
}

const TIME: Grammar = Grammar {
    quantity: "a time",
    base: "nanoseconds",
    example: "63 ms",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("\u{3bc}s", 1_000), // the Greek letter, which looks the same
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    spellings: &[
        ("nsec", "ns"),
        ("usec", "us"),
        ("microseconds", "us"),
        ("msec", "ms"),
        ("msecs", "ms"),
        ("millis", "ms"),
        ("milliseconds", "ms"),
        ("sec", "s"),
        ("secs", "s"),
        ("second", "s"),
        ("seconds", "s"),
        ("mins", "min"),
        ("minute", "min"),
        ("minutes", "min"),
        ("hr", "h"),
        ("hour", "h"),
        ("hours", "h"),
    ],
};
const RATE: Grammar = Grammar {
    quantity: "a rate",
    base: "bit/s",
    example: "2 Mbit/s",
    units: &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)],
    spellings: &[
        ("bps", "bit/s"),
        ("b/s", "bit/s"),
        ("bits/s", "bit/s"),
        ("kbps", "kbit/s"),
        ("kb/s", "kbit/s"),
        ("kbit", "kbit/s"),
        ("kbit/s", "kbit/s"),
        ("k", "kbit/s"),
        ("mbps", "Mbit/s"),
        ("mb/s", "Mbit/s"),
        ("mbit", "Mbit/s"),
        ("mbit/s", "Mbit/s"),
        ("m", "Mbit/s"),
        ("gbps", "Gbit/s"),
        ("gb/s", "Gbit/s"),
        ("gbit", "Gbit/s"),
        ("gbit/s", "Gbit/s"),
        ("g", "Gbit/s"),
    ],
};
const SIZE: Grammar = Grammar {
    quantity: "a size",
    base: "bytes",
    example: "512 B",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
    ],
    spellings: &[
        ("b", "B"),
        ("byte", "B"),
        ("bytes", "B"),
        ("octets", "B"),
        ("kb", "kB"),
        ("k", "kB"),
        ("kib", "KiB"),
        ("mb", "MB"),
        ("m", "MB"),
        ("mib", "MiB"),
        ("gb", "GB"),
        ("g", "GB"),
    ],
};
const COUNT: Grammar = Grammar {
    quantity: "a number of packets",
    base: "packets",
    example: "120 pkt",
    units: &[("pkt", 1)],
    spellings: &[
        ("p", "pkt"),
        ("pkts", "pkt"),
        ("packet", "pkt"),
        ("packets", "pkt"),
        ("pck", "pkt"),
        ("pcks", "pkt"),
        ("seg", "pkt"),
        ("segment", "pkt"),
        ("segments", "pkt"),
        ("mss", "pkt"),
    ],
};

/// Long forms in units, and their short ones.
const SPELLED: &[(&str, &str)] = &[
    ("/second", "/s"),
    ("/sec", "/s"),
    ("bits", "bit"),
    ("Bits", "bit"),
    ("Bytes", "B"),
    ("Byte", "B"),
    ("bytes", "B"),
    ("byte", "B"),
];

/// Larger units in small letters, and what they are in a known one.
const LARGER: &[(&str, f64, &str)] = &[
    ("d", 24.0, "h"),
    ("day", 24.0, "h"),
    ("days", 24.0, "h"),
    ("tbit/s", 1000.0, "Gbit/s"),
    ("tbps", 1000.0, "Gbit/s"),
    ("kpkt", 1000.0, "pkt"),
    ("tb", 1000.0, "GB"),
];

/// The text with plain signs in place of those that look like them, and without brackets and signs before the number: wide
/// digits, other slashes, invisible characters.
fn plain(text: &str) -> String {
    let signs = |c: char| match c {
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '[' | ']' | '(' | ')' => None,
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0),
        '\u{2044}' | '\u{2215}' => Some('/'),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some('-'),
        'с' => Some('s'),
        'м' | 'М' => Some(if c == 'м' { 'm' } else { 'M' }),
        _ => Some(c),
    };
    let text: String = text.chars().filter_map(signs).collect();
    let text = text.trim_start_matches(['+', '~', '≈', '=', '<', '>', '≤', '≥', ' ']);
    let text = text.trim_end_matches(['.', ',', ';', ' ']);
    if text.starts_with('.') { format!("0{text}") } else { text.replace(". ", " ") }
}

/// A segment of TCP that fills an Ethernet frame, of which an example of a window counts some.
const SEGMENT: u64 = 1448;

impl Grammar {
    /// `text` in base units.
    fn parse(&self, text: &str) -> Result<u64, UnitError> {
        let text = text.trim();
        self.read(text).map_err(|error| match plain(text) {
            plain if plain == text => error,
            plain => self.read(&plain).err().unwrap_or_else(|| {
                let instead = format!("\"{plain}\"");
                UnitError::Spelled { text: text.into(), quantity: self.quantity, instead }
            }),
        })
    }

    /// `text` in base units, without a look at signs that resemble others.
    fn read(&self, text: &str) -> Result<u64, UnitError> {
        let quantity = self.quantity;
        let not_a_number = || UnitError::NotANumber { text: text.into(), quantity, example: self.example };
        if text.contains("${") {
            let instead = format!(
                "one value, as \"{}\": several are an axis of a sweep (docs/sweeps.md)",
                self.example
            );
            return Err(UnitError::Spelled { text: text.into(), quantity, instead });
        }
        let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = (&text[..number_end], text[number_end..].trim_start());
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || fraction.contains('.') || (number.contains('.') && fraction.is_empty()) {
            return Err(not_a_number());
        }
        if let Some(instead) = self.respelled(text) {
            return Err(UnitError::Spelled { text: text.into(), quantity, instead });
        }
        if unit.is_empty() {
            let unit = self.example.split(' ').next_back().unwrap_or_default();
            return Err(UnitError::MissingUnit { text: text.into(), example: format!("{text} {unit}") });
        }
        let Some(&(_, scale)) = self.units.iter().find(|(name, _)| *name == unit) else {
            if unit
                .strip_prefix(['e', 'E'])
                .is_some_and(|rest| rest.starts_with(|c: char| "+-0123456789".contains(c)))
            {
                return Err(UnitError::Exponent { text: text.into(), example: self.example });
            }
            let instead = self.instead_of(number, unit);
            return Err(UnitError::UnknownUnit { unit: unit.into(), quantity, instead });
        };
        let fraction = fraction.trim_end_matches('0');
        if whole.len() + fraction.len() > 30 {
            return Err(UnitError::OutOfRange { text: text.into(), quantity });
        }
        let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| not_a_number())?;
        let divisor = 10u128.pow(fraction.len() as u32);
        let out_of_range = || UnitError::OutOfRange { text: text.into(), quantity };
        let scaled = digits.checked_mul(u128::from(scale)).ok_or_else(out_of_range)?;
        if scaled % divisor != 0 {
            return Err(UnitError::Lossy { text: text.into(), base: self.base });
        }
        u64::try_from(scaled / divisor).map_err(|_| out_of_range())
    }

    /// Text to write in place of a number with a comma, with groups of digits, or of a clock.
    fn respelled(&self, text: &str) -> Option<String> {
        let end = text.rfind(|c: char| c.is_ascii_digit())? + 1;
        let (number, unit) = (&text[..end], text[end..].trim());
        let unit = if unit.is_empty() { self.example.split(' ').next_back()? } else { unit };
        let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if self.base == TIME.base {
            let (clock, fraction) = number.split_once('.').unwrap_or((number, "0"));
            let parts: Vec<&str> = clock.split(':').filter(is_number).collect();
            if (2..=3).contains(&parts.len()) && clock == parts.join(":") {
                let sum = parts
                    .iter()
                    .try_fold(0u64, |sum, part| sum.checked_mul(60)?.checked_add(part.parse().ok()?))?;
                let fraction = fraction.trim_end_matches('0');
                let dot = if fraction.is_empty() { "" } else { "." };
                return Some(format!("\"{sum}{dot}{fraction} s\""));
            }
        }
        let groups: Vec<&str> = number.split([',', '_', ' ', '\'']).collect();
        let (whole, fraction) = groups.last()?.split_once('.').unwrap_or((groups.last()?, "0"));
        let inner = &groups[..groups.len() - 1];
        if inner.is_empty() || !inner.iter().chain([&whole, &fraction]).all(is_number) {
            return None;
        }
        let is_grouped = inner[1..].iter().chain([&whole]).all(|group| group.len() == 3);
        let joined = number.replace([',', '_', ' ', '\''], "");
        let point = (groups.len() == 2 && number.contains(',') && !number.contains('.'))
            .then(|| number.replace(',', "."));
        match (is_grouped, point) {
            (true, Some(point)) => Some(format!("\"{joined} {unit}\" or \"{point} {unit}\"")),
            (true, None) => Some(format!("\"{joined} {unit}\"")),
            (false, Some(point)) => Some(format!("\"{point} {unit}\"")),
            (false, None) => None,
        }
    }

    /// Text to write in place of a number with a unit that this quantity does not have.
    fn instead_of(&self, number: &str, unit: &str) -> String {
        // As iperf has them: "Mbits/sec", "MBytes".
        let unit = &SPELLED.iter().fold(unit.to_owned(), |unit, (long, short)| unit.replace(long, short));
        let small = unit.to_lowercase();
        let bytes_per_second = |prefix: &str| {
            let scale = unit.strip_suffix("B/s").or_else(|| unit.strip_suffix("Bps"))?;
            (scale.eq_ignore_ascii_case(prefix))
                .then(|| number.parse::<f64>().map(|value| value * 8.0).ok())
                .flatten()
        };
        if self.base == RATE.base {
            for (prefix, unit) in [("", "bit/s"), ("k", "kbit/s"), ("M", "Mbit/s"), ("G", "Gbit/s")] {
                if let Some(bits) = bytes_per_second(prefix) {
                    return format!("write bits instead of bytes: \"{bits} {unit}\"");
                }
            }
        }
        if self.base == SIZE.base
            && let Some(scale) = small.strip_suffix("bit")
            && let Some(name) =
                ["B", "kB", "MB", "GB"].iter().find(|name| name.to_lowercase() == format!("{scale}b"))
            && let Ok(bits) = number.parse::<f64>()
        {
            return format!("write bytes instead of bits: \"{} {name}\"", bits / 8.0);
        }
        let spelled = self.spellings.iter().find(|(spelling, _)| *spelling == small).map(|(_, name)| name);
        let same = || self.units.iter().map(|(name, _)| name).find(|name| name.to_lowercase() == small);
        if let Some(name) = spelled.or_else(same) {
            return format!("write \"{number} {name}\"");
        }
        let larger = LARGER.iter().find(|(name, ..)| *name == small);
        if let (Some((_, factor, name)), Ok(value)) = (larger, number.parse::<f64>())
            && self.units.iter().any(|(known, _)| known == name)
        {
            return format!("write \"{} {name}\"", value * factor);
        }
        if self.base == TIME.base && small == "m" {
            return format!("write \"{number} min\" or \"{number} ms\"");
        }
        if self.base == COUNT.base {
            if let Ok(bytes) = SIZE.parse(&format!("{number} {unit}")) {
                let packets = (bytes / SEGMENT).max(1);
                return format!("use packets: with {SEGMENT} B in each these are \"{packets} pkt\"");
            }
            if TIME.parse(&format!("{number} {unit}")).is_ok() || small == "bdp" {
                return "use packets: rate times time, divided by the size of a packet, as in \"120 pkt\""
                    .into();
            }
        }
        // A mean with its deviation, or a range.
        let first = unit.split(|c: char| c.is_whitespace() || c == ',').next().unwrap_or_default();
        if unit.contains(|c: char| c.is_ascii_digit()) && self.units.iter().any(|(name, _)| *name == first) {
            return format!("write one value: \"{number} {first}\"");
        }
        let names = self.units.iter().map(|(name, _)| *name).filter(|name| !name.contains('\u{3bc}'));
        format!("use one of {}", names.collect::<Vec<_>>().join(", "))
    }

    /// `value` in the largest unit that keeps it a whole number.
    fn format(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let smallest = self.units[0];
        let (name, scale) = self
            .units
            .iter()
            .filter(|(name, scale)| name.is_ascii() && value > 0 && value.is_multiple_of(*scale))
            .max_by_key(|(_, scale)| *scale)
            .unwrap_or(&smallest);
        write!(f, "{} {name}", value / scale)
    }
}

/// Gives a quantity `FromStr`, `Display`, serde's traits (text only) and a JSON schema.
macro_rules! quantity {
    ($type:ident, $grammar:ident, $name:literal, from: $from:expr, to: $to:expr) => {
        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                let value = $grammar.parse(text)?;
                let convert: fn(u64) -> Option<$type> = $from;
                let (text, quantity) = (text.to_owned(), $grammar.quantity);
                convert(value).ok_or(match value {
                    0 => UnitError::Zero { text, quantity },
                    _ => UnitError::OutOfRange { text, quantity },
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
