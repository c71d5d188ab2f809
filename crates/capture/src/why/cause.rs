//! The causes of a stall, and how sure they are.

use serde::Serialize;

/// How sure a cause is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sure {
    /// The packets show it.
    Certain,
    /// It fits, and what else fits is rare.
    Likely,
    /// It fits, and other causes fit as well.
    Possible,
}

/// Kinds of causes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Nothing passed for a while, and what was under way waited and came then.
    PathHeld,
    /// Nothing passed for a while, and what was sent then was lost.
    PathLost,
    /// The round trip grew and stayed long.
    DelayStep,
    /// The round trip grew and fell again.
    DelaySpike,
    /// Packets come further apart than before.
    SlowerPath,
    /// The delay was at its largest when packets were lost.
    QueueFull,
    /// The last data before a pause was lost.
    TailLoss,
    /// The repair of a loss was lost as well.
    RetransmissionLost,
    /// Losses among packets that arrived.
    LossBurst,
    /// The data arrived, and acknowledgements did not.
    AcksLost,
    /// The receiver's window was closed.
    ZeroWindow,
    /// The receiver's window was full.
    SmallWindow,
    /// The application had nothing to send.
    ApplicationIdle,
    /// A policer dropped what was above its rate.
    Policer,
    /// The receiver's limit of data was reached (RFC 9000, section 4).
    FlowControl,
    /// The connection moved to another path (RFC 9000, section 9).
    PathChanged,
}

impl Kind {
    /// Its name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Kind::PathHeld => "path silent, packets held",
            Kind::PathLost => "path silent, packets lost",
            Kind::DelayStep => "delay step",
            Kind::DelaySpike => "delay spike",
            Kind::SlowerPath => "slower path",
            Kind::QueueFull => "queue full",
            Kind::TailLoss => "tail loss",
            Kind::RetransmissionLost => "retransmission lost",
            Kind::LossBurst => "loss burst",
            Kind::AcksLost => "ACKs lost",
            Kind::ZeroWindow => "zero window",
            Kind::SmallWindow => "small window",
            Kind::ApplicationIdle => "application idle",
            Kind::Policer => "policer",
            Kind::FlowControl => "flow control",
            Kind::PathChanged => "path changed",
        }
    }
}

/// A cause of a stall.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cause {
    /// Its kind.
    pub kind: Kind,
    /// How sure it is.
    pub sure: Sure,
    /// The packets that show it, in words.
    pub evidence: String,
}

impl Cause {
    /// A cause.
    pub fn new(kind: Kind, sure: Sure, evidence: impl Into<String>) -> Cause {
        Cause { kind, sure, evidence: evidence.into() }
    }

    /// As a part of a sentence.
    pub fn words(&self) -> String {
        let sure = match self.sure {
            Sure::Certain => "certain",
            Sure::Likely => "likely",
            Sure::Possible => "possible",
        };
        format!("{} ({sure}): {}", self.kind.name(), self.evidence)
    }
}

/// "1 packet", "2 packets".
pub fn counted(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// A length of time in ms or s.
pub fn lasting(nanoseconds: i64) -> String {
    match nanoseconds as f64 / 1e9 {
        seconds if seconds.abs() < 0.9995 => format!("{:.3} s", seconds),
        seconds => format!("{seconds:.2} s"),
    }
}

/// The middle of values; `None` without values.
pub fn median(mut values: Vec<i64>) -> Option<i64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}

/// A rate with its unit.
pub fn rate(bps: f64) -> String {
    scaled(bps, "bit/s", &[(1e6, "Mbit/s"), (1e3, "kbit/s")])
}

/// A number with three digits in the first unit that it reaches.
pub fn scaled(value: f64, unit: &str, larger: &[(f64, &str)]) -> String {
    let (size, unit) = larger.iter().copied().find(|(size, _)| value >= *size).unwrap_or((1.0, unit));
    let value = value / size;
    let digits = [99.95, 9.995].iter().filter(|limit| value < **limit).count();
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::{rate, scaled};

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(rate(1_770_434.0), "1.77 Mbit/s");
        assert_eq!(rate(12_000_000.0), "12 Mbit/s");
        assert_eq!(rate(1_234_567_890.0), "1235 Mbit/s");
        assert_eq!(rate(999.0), "999 bit/s");
        assert_eq!(scaled(0.0, "B", &[]), "0 B");
        assert_eq!(scaled(30_720.0, "B", &[(1e3, "kB")]), "30.7 kB");
    }
}
