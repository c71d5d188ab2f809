//! The movement of a host from cell to cell, if its visits are not listed: one file per kind, one row per file in the
//! table below.
//!
//! A plan has a list of cells. A kind determines the next cell. The times are the same for all kinds: the host leaves
//! for its first cell at `at`, and then for another behind each `dwell`, until it has changed cells `moves` times or the run
//! ends. A new kind needs a file with `Params` and the struct that implements [`Route`], its `mod` line and its row.

pub mod line;
pub mod ping_pong;
pub mod random_neighbour;
pub mod schedule;
pub mod stay;

use crate::Visit;
use roamlab_engine::tagged::{self, Family};
use roamlab_engine::{Duration, DurationLaw, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Data of the network for a plan.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cells {
    /// The names of the plan's cells, in order.
    pub names: Vec<String>,
    /// The neighbours of each, for a plan that asks for them.
    pub neighbours: Vec<Vec<usize>>,
}

/// The order in which a host visits cells. Cells are numbers, by their place in the plan's list.
pub trait Route: Sized {
    /// Its parameters.
    type Params;

    /// It draws random numbers.
    const IS_RANDOM: bool = false;

    /// The route of one host.
    fn new(params: &Self::Params) -> Self;

    /// The cell after `at`; `None`: the host stays. `rng` is the host's own stream; a route that is not random gets none.
    fn next(&mut self, at: usize, cells: &Cells, rng: Option<&mut Rng>) -> Option<usize>;
}

/// Which cells, and when.
#[derive(Copy, Clone, Debug)]
pub struct Itinerary<'a> {
    /// Names or patterns of cells; empty: all of the scenario.
    pub cells: &'a [String],
    /// The cell that the first host begins in; absent: the first of the list.
    pub begin: Option<&'a str>,
    /// When the host enters its first cell.
    pub at: Duration,
    /// How long it stays in a cell; `None`: forever.
    pub dwell: Option<&'a DurationLaw>,
    /// Changes of cell at most.
    pub moves: Option<u32>,
}

/// Parameters of a plan by which a host moves.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// The cells, in order: names, or patterns with `*`; absent: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<String>,
    /// The cell in which the first host of the group begins, the others further down the list; absent: the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<String>,
    /// When it turns to its first cell.
    #[serde(default)]
    pub at: Duration,
    /// Time between turning to one cell and turning to the next; or a law, by which each is drawn from the host's stream
    /// `HOST/plan`. ASSUMPTION: a drawn time is longer than the gap of the radio; a shorter one becomes 1 ns longer than it.
    pub dwell: DurationLaw,
    /// How often it changes cells at most; absent: as long as the run lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<u32>,
}

impl Steps {
    fn itinerary(&self) -> Itinerary<'_> {
        let Steps { cells, begin, at, dwell, moves } = self;
        Itinerary { cells, begin: begin.as_deref(), at: *at, dwell: Some(dwell), moves: *moves }
    }
}

macro_rules! plans {
    ($($name:literal => $module:ident::$type:ident: $summary:literal,)+) => {
        /// A plan as a scenario describes it: `kind` names it, the other fields are its parameters.
        #[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum PlanSpec {
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $type($module::Params),
            )+
        }

        /// Names and one-line summaries of all plans.
        pub const PLANS: &[(&str, &str)] = &[$(($name, $summary),)+];

        impl Family for PlanSpec {
            const WHAT: &'static str = "a plan of movement";
            const EXAMPLE: &'static str = "{ kind = \"line\", dwell = \"5 s\" }";
            const NAMES: &'static [&'static str] = &[$($name,)+];

            fn read<'de, D: Deserializer<'de>>(kind: &str, fields: D) -> Result<Self, D::Error> {
                match kind {
                    $($name => $module::Params::deserialize(fields).map(PlanSpec::$type),)+
                    _ => Err(serde::de::Error::unknown_variant(kind, Self::NAMES)),
                }
            }
        }

        impl PlanSpec {
            /// Which cells, and when.
            pub fn itinerary(&self) -> Itinerary<'_> {
                match self {
                    $(PlanSpec::$type(params) => params.itinerary(),)+
                }
            }

            /// It draws random numbers: each run has its own visits.
            pub fn is_random(&self) -> bool {
                let draws_times = matches!(self.itinerary().dwell, Some(DurationLaw::Drawn(_)));
                draws_times || match self {
                    $(PlanSpec::$type(_) => $module::$type::IS_RANDOM,)+
                }
            }
        }

        /// The route of one host.
        #[derive(Debug)]
        enum AnyRoute {
            $($type($module::$type),)+
        }

        impl AnyRoute {
            fn new(spec: &PlanSpec) -> AnyRoute {
                match spec {
                    $(PlanSpec::$type(params) => AnyRoute::$type(Route::new(params)),)+
                }
            }

            fn next(&mut self, at: usize, cells: &Cells, rng: Option<&mut Rng>) -> Option<usize> {
                match self {
                    $(AnyRoute::$type(route) => route.next(at, cells, rng),)+
                }
            }
        }
    };
}

plans! {
    "stay" => stay::Stay: "Stays in its cell",
    "line" => line::Line: "Goes through the list of cells to its end",
    "ping-pong" => ping_pong::PingPong: "Goes through the list of cells and back again, forever",
    "schedule" => schedule::Scheduled: "Follows a file of handovers",
    "random-neighbour" => random_neighbour::RandomNeighbour: "Goes to a random neighbour of its cell each time",
}

impl<'de> Deserialize<'de> for PlanSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl PlanSpec {
    /// Visits of a host at most, in a run of this length; with drawn times on average.
    pub fn most_visits(&self, duration: Duration) -> u64 {
        let Itinerary { at, dwell: Some(dwell), moves, .. } = self.itinerary() else { return 1 };
        let fit = duration.saturating_sub(at).as_nanos() / dwell.mean().as_nanos().max(1);
        moves.map_or(fit, |moves| fit.min(u64::from(moves))).saturating_add(1)
    }

    /// The visits of a host that begins in cell `first`, `late` after the plan's beginning: each a cell and when the host
    /// turns to it. The first always takes place, the others before `end`. No drawn stay is shorter than `shortest`.
    pub fn visits(
        &self,
        cells: &Cells,
        (first, late): (usize, Duration),
        (shortest, end): (Duration, Duration),
        mut rng: Option<&mut Rng>,
    ) -> Vec<(usize, Duration)> {
        let Itinerary { at, dwell, moves, .. } = self.itinerary();
        let mut visits = vec![(first, at + late)];
        let Some(dwell) = dwell else { return visits };
        let mut route = AnyRoute::new(self);
        let (mut cell, mut time) = (first, at + late);
        while moves.is_none_or(|moves| visits.len() <= moves as usize) {
            time += match (dwell, &mut rng) {
                (DurationLaw::Constant(dwell), _) => *dwell,
                (law, Some(rng)) => law.draw(rng).max(shortest),
                (law, None) => law.mean().max(shortest),
            };
            if time >= end {
                break;
            }
            let Some(next) = route.next(cell, cells, rng.as_deref_mut()) else { break };
            cell = next;
            visits.push((cell, time));
        }
        visits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(count: usize) -> Cells {
        let beside = |cell: usize| [cell.checked_sub(1), (cell + 1 < count).then_some(cell + 1)];
        Cells {
            names: (0..count).map(|cell| format!("bs{cell}")).collect(),
            neighbours: (0..count).map(|cell| beside(cell).into_iter().flatten().collect()).collect(),
        }
    }

    fn plan(text: &str) -> PlanSpec {
        serde_json::from_str(text).unwrap()
    }

    fn visited(text: &str, first: usize, seconds: u64, rng: Option<&mut Rng>) -> Vec<usize> {
        let visits = plan(text).visits(
            &cells(4),
            (first, Duration::ZERO),
            (Duration::ZERO, Duration::from_secs(seconds)),
            rng,
        );
        visits.into_iter().map(|(cell, _)| cell).collect()
    }

    #[test]
    fn each_kind_has_its_order() {
        let line = r#"{"kind": "line", "dwell": "1 s"}"#;
        assert_eq!(visited(line, 0, 100, None), [0, 1, 2, 3]);
        assert_eq!(visited(line, 2, 100, None), [2, 3]);
        let ping_pong = r#"{"kind": "ping-pong", "dwell": "1 s"}"#;
        assert_eq!(visited(ping_pong, 0, 9, None), [0, 1, 2, 3, 2, 1, 0, 1, 2]);
        assert_eq!(visited(ping_pong, 3, 3, None), [3, 2, 1]);
        assert_eq!(visited(r#"{"kind": "stay"}"#, 1, 100, None), [1]);
        assert_eq!(visited(r#"{"kind": "ping-pong", "dwell": "1 s", "moves": 2}"#, 0, 100, None), [0, 1, 2]);
    }

    #[test]
    fn visits_come_every_dwell_and_later_by_as_much_as_the_host_is_late() {
        let plan = plan(r#"{"kind": "line", "at": "2 s", "dwell": "3 s"}"#);
        let visits = plan.visits(
            &cells(4),
            (0, Duration::from_secs(1)),
            (Duration::ZERO, Duration::from_secs(9)),
            None,
        );
        assert_eq!(visits, [(0, Duration::from_secs(3)), (1, Duration::from_secs(6))]);
        assert!(visits.len() as u64 <= plan.most_visits(Duration::from_secs(9)));
    }

    #[test]
    fn drawn_stays_follow_their_law_and_are_longer_than_the_gap() {
        let text = r#"{"kind": "ping-pong", "dwell": {"kind": "exponential", "mean": "1 s"}}"#;
        let (plan, shortest) = (plan(text), Duration::from_millis(100));
        assert!(plan.is_random());
        let mut rng = Rng::named(1, 0, "mh/plan");
        let end = Duration::from_secs(10_000);
        let visits = plan.visits(&cells(4), (0, Duration::ZERO), (shortest, end), Some(&mut rng));
        let stays: Vec<f64> = visits.windows(2).map(|pair| (pair[1].1 - pair[0].1).as_secs_f64()).collect();
        assert!(stays.iter().all(|&stay| stay >= 0.1));
        // E max(X, 0.1) = 0.1 + exp(-0.1) of an exponential X with mean 1; the deviation of the mean of 10,000 is 0.01.
        let mean = stays.iter().sum::<f64>() / stays.len() as f64;
        assert!((mean - (0.1 + libm::exp(-0.1))).abs() < 0.04, "{mean}");
    }

    #[test]
    fn a_random_route_takes_each_neighbour_and_no_other_cell() {
        let text = r#"{"kind": "random-neighbour", "dwell": "1 s"}"#;
        let walk = |name: &str| visited(text, 1, 400, Some(&mut Rng::named(1, 0, name)));
        let (one, other) = (walk("a/plan"), walk("b/plan"));
        assert_eq!(one.len(), 400);
        assert!(one.windows(2).all(|pair| pair[0].abs_diff(pair[1]) == 1), "{one:?}");
        let ways: std::collections::BTreeSet<_> = one.windows(2).map(|pair| (pair[0], pair[1])).collect();
        assert_eq!(ways.len(), 6, "every way between neighbours was taken: {ways:?}");
        assert_ne!(one, other, "each host has its own stream");
        assert_eq!(one, walk("a/plan"));
    }
}
