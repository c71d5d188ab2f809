//! Runs that share a beginning: it is simulated once, and then branches.
//!
//! Alternatives are scenarios that differ only in the parameters of their mobility protocols. In the run of the first,
//! the agents of all run in parallel and get the same inputs. While they request the same actions and deadlines, the
//! run is that of each. Just before the first handover may begin, the world is cloned for each alternative, which
//! continues with its own agents. Alternatives that differ earlier share nothing.

use crate::run::build::{Shared, build_shared};
use crate::run::options::{Replication, RunOptions};
use crate::run::world::{Failure, World};
use crate::run::{conclude, last_instant, run};
use roamlab_engine::Time;
use roamlab_record::Table;
use roamlab_scenario::{NetworkSize, Scenario, are_alternatives};

/// A beginning that is a smaller part of the run than this is not worth the clone.
const WORTHWHILE: f64 = 0.1;

/// Runs alternatives, each to its end, and gives `each` of them its place and its tables, as [`run`] would;
/// returns the number of those that continued from a common beginning.
///
/// # Panics
/// If `options` wants a stream or a capture, which are of one run.
pub fn run_alternatives(
    scenarios: &[&Scenario],
    draw: Replication,
    options: &RunOptions<'_>,
    mut each: impl FnMut(usize, Result<Vec<Table>, Failure>),
) -> usize {
    assert!(options.stream.is_none() && options.capture.is_none(), "a stream is one run's");
    let mut alone: Vec<usize> = (0..scenarios.len()).collect();
    if let Some((first, others)) = scenarios.split_first()
        && let Some((world, shared)) = beginning(first, others, draw, options)
    {
        alone.retain(|place| *place != 0 && !shared.contains(&(place - 1)));
        for (number, place) in shared.iter().enumerate() {
            each(place + 1, finish(world.clone(), number + 1, first, options));
        }
        each(0, finish(world, 0, first, options));
    }
    let shared = scenarios.len() - alone.len();
    for place in alone {
        each(place, run(scenarios[place], draw, options));
    }
    shared
}

/// The world just before the first handover may begin, and the places of the others that share it; `None`: no other does, or
/// they have differed.
fn beginning(
    first: &Scenario,
    others: &[&Scenario],
    draw: Replication,
    options: &RunOptions<'_>,
) -> Option<(World, Vec<usize>)> {
    let fits = options.memory.is_none_or(|memory| NetworkSize::of(first).bytes() <= memory.0);
    if !fits || draw.trace.is_some() || !others.iter().all(|other| are_alternatives(first, other)) {
        return None;
    }
    let Shared { mut world, alternatives, second_visit } = build_shared(first, others, draw, options);
    let branches = [second_visit, world.planes.agents.first_prediction()].into_iter().flatten().min()?;
    let part = branches.since(Time::ZERO).as_secs_f64() / first.run.duration.as_secs_f64();
    if alternatives.is_empty() || !(WORTHWHILE..1.0).contains(&part) {
        return None;
    }
    // A run that fails here fails again alone, with its own name.
    world.advance(last_instant(branches), options).ok()?;
    (!world.planes.agents.differ()).then_some((world, alternatives))
}

/// An alternative continues alone, to the end.
fn finish(
    mut world: World,
    alternative: usize,
    scenario: &Scenario,
    options: &RunOptions<'_>,
) -> Result<Vec<Table>, Failure> {
    let end = Time::ZERO + scenario.run.duration;
    world.planes.agents.choose(alternative, &mut world.planes.network);
    world.run(last_instant(end), options)?;
    Ok(conclude(world, end, options))
}
