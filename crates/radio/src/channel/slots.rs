//! Slots: a satellite network gives a terminal another satellite, beam and rate at fixed times. The defaults are Starlink's.
//!
//! Edges of slots at the seconds 12, 27, 42 and 57 of a minute: measured in records of pings of 2023 (CC BY-SA 4.0; see
//! docs/models/channel.md), from whose first halves the delays are. Rates and their growth under a sustained queue: "Dissecting the StarLink"
//! (SIGCOMM 2026). Loss: APNIC 2024 near edges; the loss elsewhere is that of LeoCC's emulator, rounded. Changes outside the
//! grid by terminals in motion: arXiv 2601.13790.

use crate::channel::growth::Growth;
use crate::channel::moves::drawn_times;
use crate::channel::{Drawn, Fault, Process, Setting};
use crate::series::{CERTAIN, Series};
use roamlab_engine::{DrawnDuration, Duration, DurationLaw, Quantiles, Rate, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Slots. At each edge the delay is drawn again, the rate falls back, and packets are lost more often.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How long a slot lasts.
    pub period: Duration,
    /// When the first slot of the run ends.
    pub phase: Duration,
    /// Time from one further edge outside of these times to the next, of a terminal in motion; a time, or a law. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switches: Option<DurationLaw>,
    /// Rate down to the hosts of a cell, or from the first node, at the beginning of a slot.
    pub rate: Rate,
    /// The same of the other direction.
    pub reverse_rate: Rate,
    /// The rate grows to this multiple of the first one while packets wait; 1: it does not.
    pub growth: f64,
    /// The same of the other direction.
    pub reverse_growth: f64,
    /// How long packets have to wait in a slot, all in all, until the rate has grown as far as it does.
    pub growth_time: Duration,
    /// Round-trip time that a slot adds, half of it to each direction; a time, or a law.
    pub rtt: DurationLaw,
    /// Round-trip time that the beginning of a slot adds in addition.
    pub transient: DurationLaw,
    /// How long that beginning lasts.
    pub transient_length: Duration,
    /// Probability that a packet is lost that arrives near an edge; 0 to below 1.
    pub edge_loss: f64,
    /// How far from an edge, before it and behind it, that is.
    pub edge_span: Duration,
    /// Probability that another packet is lost; 0 to below 1.
    pub loss: f64,
    /// The same of the other direction.
    pub reverse_loss: f64,
}

impl Default for Params {
    fn default() -> Self {
        let law = |points: &[(f64, u64)]| {
            let points =
                points.iter().map(|&(share, micros)| (share, Duration::from_micros(micros))).collect();
            DurationLaw::Drawn(DrawnDuration::Quantiles(Quantiles { points }))
        };
        Params {
            period: Duration::from_secs(15),
            phase: Duration::from_secs(12),
            switches: None,
            rate: Rate::from_bps(100_000_000),
            reverse_rate: Rate::from_bps(30_000_000),
            growth: 3.4,
            reverse_growth: 2.0,
            growth_time: Duration::from_millis(400),
            rtt: law(&[
                (0.0, 0),
                (0.05, 6100),
                (0.1, 8000),
                (0.25, 11_200),
                (0.5, 16_000),
                (0.75, 22_900),
                (0.9, 36_200),
                (0.95, 47_000),
                (1.0, 86_800),
            ]),
            transient: law(&[(0.0, 0), (0.25, 0), (0.5, 9500), (0.95, 62_600), (1.0, 110_000)]),
            transient_length: Duration::from_millis(500),
            edge_loss: 0.01,
            edge_span: Duration::from_millis(500),
            loss: 1e-4,
            reverse_loss: 2e-3,
        }
    }
}

impl Params {
    /// The edges of a run, in ns, the last one behind its end.
    fn edges(&self, duration: Duration, rng: &mut Rng) -> Vec<u64> {
        let end = duration.as_nanos();
        let mut edges = Vec::new();
        let mut at = self.phase.as_nanos();
        while at <= end {
            edges.push(at);
            at += self.period.as_nanos();
        }
        edges.push(at);
        if let Some(law) = &self.switches {
            edges.extend(drawn_times(law, duration, rng));
        }
        edges.retain(|edge| *edge > 0);
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Checks growth and probabilities.
    fn check_numbers(&self) -> Result<(), Fault> {
        for (name, growth) in [("growth", self.growth), ("reverse_growth", self.reverse_growth)] {
            if !(1.0..=1000.0).contains(&growth) {
                return Err((
                    name.into(),
                    format!("expected 1 to 1000, got {growth}; write 1.0 for a rate that does not grow"),
                ));
            }
        }
        for (name, loss) in
            [("edge_loss", self.edge_loss), ("loss", self.loss), ("reverse_loss", self.reverse_loss)]
        {
            if !(0.0..1.0).contains(&loss) {
                return Err((
                    name.into(),
                    format!("{loss} is no probability from 0 to below 1; write for example 0.01"),
                ));
            }
        }
        Ok(())
    }

    /// Losses over time: near edges, and elsewhere.
    fn losses(&self, edges: &[u64], elsewhere: f64) -> Series<crate::series::Losses> {
        let span = self.edge_span.as_nanos();
        let units = |loss: f64| (loss * CERTAIN as f64) as u64;
        let (mut times, mut values) = (vec![0], vec![units(elsewhere)]);
        let mut add = |time: u64, loss: f64| {
            while times.len() > 1 && times.last().is_some_and(|last| *last >= time) {
                times.pop();
                values.pop();
            }
            if times.last().is_some_and(|last| *last < time) {
                times.push(time);
                values.push(units(loss));
            } else {
                values[0] = units(loss);
            }
        };
        for &edge in edges {
            if span > 0 {
                add(edge.saturating_sub(span), self.edge_loss);
                add(edge.saturating_add(span), elsewhere);
            }
        }
        Series::of(times, values)
    }
}

impl Process for Params {
    fn check(&self) -> Result<(), Fault> {
        if self.period < Duration::from_millis(10) {
            let message = format!("expected 10 ms or more, got {}; write for example \"15 s\"", self.period);
            return Err(("period".into(), message));
        }
        for (name, law) in [
            ("rtt", Some(&self.rtt)),
            ("transient", Some(&self.transient)),
            ("switches", self.switches.as_ref()),
        ] {
            let Some(law) = law else { continue };
            law.check_in(name)?;
            let most = Duration::from_secs(600);
            if name != "switches" && law.mean() > most {
                return Err((
                    name.into(),
                    format!(
                        "expected at most {most}, got {} on average; write for example \"20 ms\"",
                        law.mean()
                    ),
                ));
            }
        }
        if self.switches.as_ref().is_some_and(|law| law.mean() < Duration::from_millis(10)) {
            return Err((
                "switches".into(),
                "expected 10 ms or more on average; write for example \"7 s\", or leave it out".into(),
            ));
        }
        self.check_numbers()?;
        for (name, time) in [("transient_length", self.transient_length), ("edge_span", self.edge_span)] {
            if time > self.period {
                return Err((
                    name.into(),
                    format!(
                        "expected at most the period, {}, got {time}; write for example \"500 ms\"",
                        self.period
                    ),
                ));
            }
        }
        Ok(())
    }

    fn draw(&self, setting: &Setting<'_>, rng: Rng) -> Drawn {
        let mut rng = rng;
        let edges = self.edges(setting.duration, &mut rng);
        let (rate, growth, loss) = match setting.back {
            false => (self.rate, self.growth, self.loss),
            true => (self.reverse_rate, self.reverse_growth, self.reverse_loss),
        };
        let (mut times, mut delays) = (Vec::new(), Vec::new());
        for (number, begin) in std::iter::once(0).chain(edges.iter().copied()).enumerate() {
            let (slot, transient) = (self.rtt.draw(&mut rng), self.transient.draw(&mut rng));
            // ASSUMPTION: a run begins in the middle of a slot.
            let end = edges.get(number).copied().unwrap_or(u64::MAX);
            let settled = begin.saturating_add(self.transient_length.as_nanos());
            let half = |time: Duration| (time.as_nanos() / 2).min(1_000_000_000_000);
            if number > 0 && settled > begin {
                times.push(begin);
                delays.push(half(slot + transient));
            }
            if number == 0 || settled < end {
                times.push(if number == 0 { 0 } else { settled });
                delays.push(half(slot));
            }
        }
        Drawn {
            rates: Arc::new(Series::of(vec![0], vec![rate.as_bps()])),
            delays: Some(Series::of(times, delays)),
            losses: Some(self.losses(&edges, loss)),
            growth: (growth > 1.0).then(|| Growth::new(edges, growth, self.growth_time)),
        }
    }

    fn mean_rate(&self, back: bool) -> Rate {
        if back { self.reverse_rate } else { self.rate }
    }

    fn between(&self) -> (Duration, &'static str) {
        match self.switches.as_ref().map(DurationLaw::mean) {
            Some(mean) if mean < self.period => (mean, "switches"),
            _ => (self.period, "period"),
        }
    }

    fn loses(&self) -> bool {
        self.edge_loss > 0.0 || self.loss > 0.0 || self.reverse_loss > 0.0
    }

    fn delays(&self) -> bool {
        true
    }
}
