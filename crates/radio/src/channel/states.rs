//! A Markov chain with a step in time: in each step the link is in a state, which has rates, a loss and a delay.
//!
//! A hidden Markov model (L. R. Rabiner, "A tutorial on hidden Markov models", Proceedings of the IEEE 77(2), 1989): the rates of
//! a state have a distribution, given by its quantiles, and each step draws one of them.

use crate::channel::moves::{Moves, MovesAt};
use crate::channel::{Drawn, Fault, Process, Setting, rate_of};
use crate::series::{CERTAIN, Quantity, Rates, Series};
use roamlab_engine::{Duration, Rate, Rng, weighted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// States at most.
const MOST: usize = 64;

/// 2 to this power are the steps after which a chain has settled.
const DOUBLINGS: u32 = 20;

/// A chain of states. The state at the start of a run is drawn by how often the chain is in each.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// How long a step lasts: its state and its rate are constant.
    #[schemars(extend("examples" = ["500 ms"]))]
    pub step: Duration,
    /// The states.
    pub states: Vec<State>,
    /// For each state the probability of each state of the next step; a row adds up to 1.
    #[schemars(extend("examples" = [[[0.9, 0.1], [0.2, 0.8]]]))]
    pub next: Vec<Vec<f64>>,
    /// Effect of moves on the rate; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<Moves>,
}

/// A state of a link.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Rates in Mbit/s that rise: quantiles at equal distances, from the lowest rate to the highest. Each step draws a rate, on
    /// a line from one to the next. One alone: the rate.
    #[schemars(extend("examples" = [[2.0, 4.0, 9.5]]))]
    pub rate_mbit_s: Vec<f64>,
    /// Probability that a packet is lost that arrives in this state; 0 to 1.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub loss: f64,
    /// Addition of the state to the delay of the link.
    #[serde(default)]
    pub extra_delay: Duration,
}

impl State {
    fn mean_mbit_s(&self) -> f64 {
        let rates = &self.rate_mbit_s;
        match rates.len() {
            1 => rates[0],
            count => {
                let lines: f64 = rates.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).sum();
                lines / (count - 1) as f64
            }
        }
    }

    /// A rate in bit/s.
    fn draw(&self, uniform: f64) -> f64 {
        let lines = self.rate_mbit_s.len() - 1;
        let place = uniform * lines as f64;
        let line = (place as usize).min(lines.saturating_sub(1));
        let (low, high) = (self.rate_mbit_s[line], self.rate_mbit_s[(line + 1).min(lines)]);
        (low + (high - low) * (place - line as f64)) * 1e6
    }
}

impl Process for Params {
    fn check(&self) -> Result<(), Fault> {
        if self.step < Duration::from_millis(1) {
            let message = format!("expected 1 ms or more, got {}; write for example \"500 ms\"", self.step);
            return Err(("step".into(), message));
        }
        let count = self.states.len();
        if count == 0 || count > MOST {
            let message = format!(
                "expected 1 to {MOST} states, got {count}; write for example [{{ rate_mbit_s = [20.0] }}, {{ rate_mbit_s = [2.0] }}]"
            );
            return Err(("states".into(), message));
        }
        for (number, state) in self.states.iter().enumerate() {
            state.check().map_err(|(field, message)| (format!("states[{number}].{field}"), message))?;
        }
        if self.states.iter().all(|state| state.mean_mbit_s() == 0.0) {
            return Err((
                "states".into(),
                "every rate is 0: nothing is ever sent; write a rate above 0 in some state".into(),
            ));
        }
        self.check_next()
    }

    fn draw(&self, setting: &Setting<'_>, rng: Rng) -> Drawn {
        let mut rng = rng;
        let step = self.step.as_nanos();
        let end = setting.duration.as_nanos().saturating_add(step);
        let factors = self.moves.as_ref().map(|moves| {
            let times = moves.times(setting.moves, setting.duration, &mut rng);
            moves.factors(&times)
        });
        let mut state = weighted(self.shares().into_iter(), rng.uniform());
        let (mut times, mut rates) = (Vec::new(), Vec::new());
        let (mut delays, mut losses) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < end {
            let now = &self.states[state];
            times.push(at);
            rates.push(now.draw(rng.uniform()));
            delays.push(now.extra_delay.as_nanos());
            losses.push((now.loss * CERTAIN as f64) as u64);
            state = weighted(self.next[state].iter().copied(), rng.uniform());
            at = at.saturating_add(step);
        }
        let rates = with_factors(&times, &rates, factors.unwrap_or_default());
        Drawn {
            rates: Arc::new(rates),
            delays: self.delays().then(|| Series::of(times.clone(), delays)),
            losses: self.loses().then(|| Series::of(times, losses)),
            growth: None,
        }
    }

    fn mean_rate(&self, _back: bool) -> Rate {
        let mean: f64 =
            self.shares().iter().zip(&self.states).map(|(share, state)| share * state.mean_mbit_s()).sum();
        rate_of(mean * 1e6)
    }

    fn between(&self) -> (Duration, &'static str) {
        (self.step, "step")
    }

    fn moves(&self) -> Option<&Moves> {
        self.moves.as_ref()
    }

    fn loses(&self) -> bool {
        self.states.iter().any(|state| state.loss > 0.0)
    }

    fn delays(&self) -> bool {
        self.states.iter().any(|state| state.extra_delay > Duration::ZERO)
    }
}

impl State {
    fn check(&self) -> Result<(), (&'static str, String)> {
        const GREATEST: f64 = 1e9;
        let rates = &self.rate_mbit_s;
        let rises = rates.windows(2).all(|pair| pair[0] <= pair[1]);
        if rates.is_empty()
            || rates.len() > 1000
            || !rises
            || !rates.iter().all(|rate| (0.0..=GREATEST).contains(rate))
        {
            let message =
                "expected 1 to 1000 rates from 0 to 10^9 Mbit/s that rise; write for example [2.0, 4.0, 9.5]";
            return Err(("rate_mbit_s", message.into()));
        }
        if !(0.0..=1.0).contains(&self.loss) {
            return Err((
                "loss",
                format!("{} is no probability from 0 to 1; write for example 0.01", self.loss),
            ));
        }
        if self.extra_delay.as_nanos() > crate::series::Delays::GREATEST {
            return Err((
                "extra_delay",
                format!("expected at most 1 h, got {}; write for example \"20 ms\"", self.extra_delay),
            ));
        }
        Ok(())
    }
}

impl Params {
    fn check_next(&self) -> Result<(), Fault> {
        let count = self.states.len();
        if self.next.len() != count {
            let message = format!(
                "expected {count} rows, one for each state, got {}; write for each state the probability of each state of the next step",
                self.next.len()
            );
            return Err(("next".into(), message));
        }
        for (number, row) in self.next.iter().enumerate() {
            let field = format!("next[{number}]");
            if row.len() != count {
                let message = format!(
                    "expected {count} probabilities, one for each state, got {}; write 0.0 for a state that does not follow",
                    row.len()
                );
                return Err((field, message));
            }
            let sum: f64 = row.iter().sum();
            if !row.iter().all(|share| (0.0..=1.0).contains(share)) || (sum - 1.0).abs() > 1e-3 {
                let message = format!(
                    "expected probabilities from 0 to 1 that add up to 1, got {row:?}; write them so that their sum is 1"
                );
                return Err((field, message));
            }
        }
        Ok(())
    }

    /// How often the chain is in each state: the mean of its distributions over many steps from all states in equal parts.
    pub(super) fn shares(&self) -> Vec<f64> {
        let count = self.states.len();
        // Half of each step stays, so that a chain that alternates settles too.
        let half = |from: usize, row: &[f64]| {
            let sum: f64 = row.iter().sum();
            let stays = |to: usize| if from == to { 0.5 } else { 0.0 };
            row.iter().enumerate().map(|(to, next)| stays(to) + 0.5 * next / sum).collect::<Vec<f64>>()
        };
        let mut steps: Vec<Vec<f64>> =
            self.next.iter().enumerate().map(|(from, row)| half(from, row)).collect();
        for _ in 0..DOUBLINGS {
            steps = squared(&steps);
        }
        (0..count).map(|to| steps.iter().map(|row| row[to]).sum::<f64>() / count as f64).collect()
    }
}

/// The probabilities of twice as many steps. Each row adds up to 1.
fn squared(steps: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let row = |from: &Vec<f64>| {
        let mut after = vec![0.0; from.len()];
        for (share, row) in from.iter().zip(steps) {
            after.iter_mut().zip(row).for_each(|(after, next)| *after += share * next);
        }
        let sum: f64 = after.iter().sum();
        after.iter_mut().for_each(|share| *share /= sum);
        after
    };
    steps.iter().map(row).collect()
}

/// Rates in bit/s times factors, as a series.
fn with_factors(times: &[u64], rates: &[f64], factors: MovesAt) -> Series<Rates> {
    let mut edges: Vec<u64> = times.iter().copied().chain(factors.iter().map(|factor| factor.0)).collect();
    edges.sort_unstable();
    edges.dedup();
    let (mut values, mut place, mut factor) = (Vec::with_capacity(edges.len()), 0, 0);
    for &edge in &edges {
        while place + 1 < times.len() && times[place + 1] <= edge {
            place += 1;
        }
        while factor < factors.len() && factors[factor].0 <= edge {
            factor += 1;
        }
        let times = factor.checked_sub(1).map_or(1.0, |last| factors[last].1);
        values.push(((rates[place] * times) as u64).min(Rates::GREATEST));
    }
    Series::of(edges, values)
}
