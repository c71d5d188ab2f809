//! Outages of a link at random times: it is up for a time, sends nothing for another, and so on. See
//! docs/models/durations.md.
//!
//! An alternating renewal process (D. R. Cox, "Renewal Theory", Methuen 1962, chapter 7): all times are independent. Groups
//! of outages come from a mixture of a short and a long law between them.

use roamlab_engine::{Duration, DurationLaw, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Outages follow each other no faster than this on average, so that a run draws no billions of them.
const FASTEST: Duration = Duration::from_millis(1);

/// Outages at random times, the same in both directions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutageSpec {
    /// From the end of an outage to the beginning of the next one, and from the start of the run to the first; a time, or a law.
    pub between: DurationLaw,
    /// How long an outage lasts; a time, or a law.
    pub length: DurationLaw,
    /// Effect on packets.
    pub packets: OutagePackets,
}

/// Effect of an outage on packets.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutagePackets {
    /// None is sent: they wait in the queue, and one that is being sent continues behind the outage.
    Held,
    /// They are sent as ever, and lost where they arrive.
    Lost,
}

impl OutageSpec {
    /// Checks that a link can have these outages.
    ///
    /// # Errors
    /// The field below `outages`, and what to write.
    pub fn check(&self) -> Result<(), (String, String)> {
        for (name, law) in [("between", &self.between), ("length", &self.length)] {
            law.check_in(name)?;
            if law.mean() == Duration::ZERO {
                let message =
                    "expected times above 0 s, got 0 s; write for example \"20 s\", or leave `outages` out";
                return Err((name.to_owned(), message.to_owned()));
            }
        }
        let cycle = self.between.mean() + self.length.mean();
        if cycle < FASTEST {
            let message = format!(
                "expected an outage in {FASTEST} at most, got one in {cycle} on average; write longer times"
            );
            return Err(("between".to_owned(), message));
        }
        Ok(())
    }
}

/// The outages of a link, drawn as time passes. Times that are asked for do not fall.
#[derive(Clone, Debug)]
pub struct Outages {
    spec: OutageSpec,
    rng: Rng,
    /// When the last drawn outage ends.
    drawn: Time,
    /// Outages that are not over, in order: from when to when.
    ahead: VecDeque<(Time, Time)>,
}

impl Outages {
    /// The outages of a run. `rng` is the link's own stream; the other direction has a clone.
    ///
    /// ASSUMPTION: the link is up when a run begins.
    pub fn new(spec: OutageSpec, rng: Rng) -> Outages {
        Outages { spec, rng, drawn: Time::ZERO, ahead: VecDeque::new() }
    }

    /// Their effect on packets.
    pub fn packets(&self) -> OutagePackets {
        self.spec.packets
    }

    /// The outage at this time, from when to when.
    pub fn at(&mut self, now: Time) -> Option<(Time, Time)> {
        while self.ahead.front().is_some_and(|&(_, end)| end <= now) {
            self.ahead.pop_front();
        }
        Some(self.number(0, now)).filter(|&(begin, _)| begin <= now)
    }

    /// When a transmission is over that begins now and takes so long without outages.
    pub fn end_of(&mut self, now: Time, takes: Duration) -> Time {
        self.at(now);
        let (mut free, mut left) = (now, takes);
        for number in 0.. {
            let (begin, end) = self.number(number, now);
            let until_then = begin.since(free);
            // The last time that there is: an outage lasts forever.
            let is_forever = free == Time::MAX;
            if is_forever || (left <= until_then && free < begin) {
                break;
            }
            (free, left) = (end, left - until_then);
        }
        free + left
    }

    /// The outage of this number among those that are not over at `now`.
    fn number(&mut self, number: usize, now: Time) -> (Time, Time) {
        while self.ahead.len() <= number {
            let begin = self.drawn + self.spec.between.draw(&mut self.rng);
            self.drawn = begin + self.spec.length.draw(&mut self.rng);
            if self.drawn > now {
                self.ahead.push_back((begin, self.drawn));
            }
        }
        self.ahead[number]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + ms(millis)
    }

    /// An outage of 50 ms behind each 100 ms.
    fn regular() -> Outages {
        let (between, length) = (DurationLaw::Constant(ms(100)), DurationLaw::Constant(ms(50)));
        let spec = OutageSpec { between, length, packets: OutagePackets::Held };
        Outages::new(spec, Rng::named(1, 0, "outages"))
    }

    #[test]
    fn a_link_is_out_from_the_beginning_of_an_outage_and_not_at_its_end() {
        let mut outages = regular();
        let out =
            [0, 99, 100, 149, 150, 249, 250, 1000, 1001, 1050].map(|time| outages.at(at(time)).is_some());
        assert_eq!(out, [false, false, true, true, false, false, true, true, true, false]);
        assert_eq!(regular().at(at(260)), Some((at(250), at(300))));
    }

    #[test]
    fn a_transmission_continues_behind_each_outage_that_it_meets() {
        let end = |now, takes| regular().end_of(at(now), ms(takes));
        assert_eq!(end(0, 60), at(60));
        assert_eq!(end(0, 100), at(100), "it ends where the outage begins");
        assert_eq!(end(90, 20), at(160));
        assert_eq!(end(100, 20), at(170));
        assert_eq!(end(149, 0), at(150));
        assert_eq!(end(50, 250), at(400), "50 ms, an outage, 100 ms, an outage, 100 ms");
        let mut outages = regular();
        outages.end_of(at(110), ms(500));
        assert_eq!(outages.at(at(120)), Some((at(100), at(150))), "a look ahead forgets none");
    }

    #[test]
    fn lengths_and_times_between_have_their_means() {
        let between: DurationLaw =
            serde_json::from_str(r#"{"kind": "exponential", "mean": "200 ms"}"#).unwrap();
        let length: DurationLaw =
            serde_json::from_str(r#"{"kind": "exponential", "mean": "50 ms"}"#).unwrap();
        let spec = OutageSpec { between, length, packets: OutagePackets::Lost };
        let mut outages = Outages::new(spec, Rng::named(2, 0, "outages"));
        let count = 2_000_000;
        let out = (0..count).filter(|&time| outages.at(at(time)).is_some()).count() as f64 / count as f64;
        // A fifth of the time; 8,000 cycles give a relative deviation of about sqrt(2 / 8000) of 0.8 * 0.2.
        assert!((out - 0.2).abs() < 4.0 * 0.0158 * 0.16, "{out}");
    }

    #[test]
    fn outages_without_length_or_too_many_are_refused() {
        let field = |between: u64, length: u64| {
            let law = |nanos| DurationLaw::Constant(Duration::from_nanos(nanos));
            let spec =
                OutageSpec { between: law(between), length: law(length), packets: OutagePackets::Held };
            spec.check().err().map(|(field, _)| field)
        };
        assert_eq!(field(0, 1_000_000), Some("between".into()));
        assert_eq!(field(1_000_000, 0), Some("length".into()));
        assert_eq!(field(400_000, 400_000), Some("between".into()));
        assert_eq!(field(600_000, 400_000), None);
    }
}
