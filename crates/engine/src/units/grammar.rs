//! The texts of quantities: a number with a unit, and what to write in place of one that is not.

use super::error::UnitError;
use std::fmt;

/// A quantity's text form: its units with their size in base units, largest last.
pub struct Grammar {
    pub quantity: &'static str,
    base: &'static str,
    pub example: &'static str,
    pub units: &'static [(&'static str, u64)],
    /// Other spellings of its units, in small letters.
    spellings: &'static [(&'static str, &'static str)],
}

pub const TIME: Grammar = Grammar {
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

pub const RATE: Grammar = Grammar {
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

pub const SIZE: Grammar = Grammar {
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

pub const COUNT: Grammar = Grammar {
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
    pub fn parse(&self, text: &str) -> Result<u64, UnitError> {
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
    pub fn format(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
