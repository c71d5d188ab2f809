//! Moves: before a host changes cells the rate falls, and behind it the rate rises again.

use roamlab_engine::{Duration, DurationLaw, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parts of a line from one point of a curve to the next, in each of which the factor is constant.
const PARTS: u64 = 8;

/// How the rate falls before a move and rises behind it: points of two curves, with lines between them. Where curves of two
/// moves meet, the smaller factor counts.
///
/// The defaults are mean rates around 1,963 handovers of downloads, as parts of the mean within 10 s around each (drives of
/// PAM 2025, CC0).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Moves {
    /// From one move to the next, and from the start of the run to the first; a time, or a law. Absent: the moves of the host
    /// that visits the cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<DurationLaw>,
    /// Times before a move, each with a factor of the rate, the longest first. Before the first the factor is 1.
    #[schemars(extend("examples" = [[["4 s", 1.0], ["0 s", 0.5]]]))]
    pub before: Vec<(Duration, f64)>,
    /// Times behind a move, each with a factor of the rate, the shortest first. Behind the last the factor is 1.
    #[schemars(extend("examples" = [[["0 s", 0.5], ["2 s", 1.0]]]))]
    pub after: Vec<(Duration, f64)>,
}

impl Default for Moves {
    fn default() -> Self {
        let points = |list: &[(u64, f64)]| {
            list.iter().map(|&(millis, factor)| (Duration::from_millis(millis), factor)).collect()
        };
        Moves {
            between: None,
            before: points(&[(4000, 1.0), (2500, 0.9), (750, 0.8), (0, 0.55)]),
            after: points(&[(0, 0.45), (500, 0.65), (1000, 0.85), (3000, 1.0)]),
        }
    }
}

/// A field that is wrong, and what to write.
pub type Fault = (String, String);

/// When the factor of the rate changes, and to what.
pub type MovesAt = Vec<(u64, f64)>;

impl Moves {
    /// Checks the curves.
    ///
    /// # Errors
    /// The field, and what to write.
    pub fn check(&self) -> Result<(), Fault> {
        if let Some(law) = &self.between {
            law.check_in("between")?;
            if law.mean() < Duration::from_millis(10) {
                let message = format!(
                    "expected 10 ms or more from a move to the next, got {} on average; write for example \"20 s\"",
                    law.mean()
                );
                return Err(("between".into(), message));
            }
        }
        for (name, points, falls) in [("before", &self.before, true), ("after", &self.after, false)] {
            let example =
                if falls { "[[\"4 s\", 1.0], [\"0 s\", 0.5]]" } else { "[[\"0 s\", 0.5], [\"2 s\", 1.0]]" };
            if points.len() > 100 {
                let message =
                    format!("expected at most 100 points, got {}; write for example {example}", points.len());
                return Err((name.into(), message));
            }
            if let Some((time, _)) = points.iter().find(|(time, _)| *time > Duration::from_secs(3600)) {
                let message = format!("expected times up to 1 h, got {time}; write for example {example}");
                return Err((name.into(), message));
            }
            if let Some((_, factor)) = points.iter().find(|(_, factor)| !(0.0..=10.0).contains(factor)) {
                let message =
                    format!("expected factors from 0 to 10, got {factor}; write for example {example}");
                return Err((name.into(), message));
            }
            let ordered =
                |pair: &[(Duration, f64)]| if falls { pair[0].0 > pair[1].0 } else { pair[0].0 < pair[1].0 };
            if !points.windows(2).all(ordered) {
                let order = if falls { "the longest time first" } else { "the shortest time first" };
                return Err((name.into(), format!("expected {order}; write for example {example}")));
            }
        }
        Ok(())
    }

    /// Changes of the factor that random moves make in a run, on average; 0 without a law of their times.
    pub(super) fn changes(&self, duration: Duration) -> u64 {
        let Some(law) = &self.between else { return 0 };
        let each = PARTS * (self.before.len() + self.after.len() + 1) as u64;
        (duration.as_nanos() / law.mean().as_nanos().max(1)).saturating_mul(each)
    }

    /// When moves are, in ns: those given, or drawn ones until the end of the run.
    pub(super) fn times(&self, given: &[Duration], duration: Duration, rng: &mut Rng) -> Vec<u64> {
        let Some(law) = &self.between else { return given.iter().map(|time| time.as_nanos()).collect() };
        drawn_times(law, duration, rng)
    }

    /// The factor over time: pieces with a constant factor, in order; before the first it is 1.
    pub(super) fn factors(&self, moves: &[u64]) -> MovesAt {
        let mut edges: Vec<u64> = moves.iter().flat_map(|&at| self.pieces(at)).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut moves = moves.to_vec();
        moves.sort_unstable();
        let (mut first, mut found): (usize, MovesAt) = (0, Vec::with_capacity(edges.len()));
        let reach = self.reach();
        for (place, &edge) in edges.iter().enumerate() {
            // Within a piece the curves are as in its middle.
            let middle = edges.get(place + 1).map_or(edge.saturating_add(1), |next| edge + (next - edge) / 2);
            while first < moves.len() && moves[first].saturating_add(reach.1) < middle {
                first += 1;
            }
            let near = moves[first..].iter().take_while(|&&at| at <= middle.saturating_add(reach.0));
            let factor = near.map(|&at| self.factor(at, middle)).fold(None, |least: Option<f64>, factor| {
                Some(least.map_or(factor, |least| least.min(factor)))
            });
            found.push((edge, factor.unwrap_or(1.0)));
        }
        found
    }

    /// How long before and behind a move its curves reach, in ns.
    fn reach(&self) -> (u64, u64) {
        let (first, last) = (self.before.first(), self.after.last());
        (first.map_or(0, |point| point.0.as_nanos()), last.map_or(0, |point| point.0.as_nanos()))
    }

    /// Where the pieces of the curves around a move begin, and where the last one ends.
    fn pieces(&self, at: u64) -> Vec<u64> {
        let mut edges: Vec<u64> = Vec::new();
        let before = self.before.iter().map(|point| at.checked_sub(point.0.as_nanos()));
        let times: Vec<u64> = before
            .flatten()
            .chain([at])
            .chain(self.after.iter().map(|point| at.saturating_add(point.0.as_nanos())))
            .collect();
        for pair in times.windows(2) {
            edges.extend((0..PARTS).map(|part| pair[0] + (pair[1] - pair[0]) * part / PARTS));
        }
        edges.extend(times.last());
        edges
    }

    /// The factor at a time of the move at another one.
    fn factor(&self, at: u64, time: u64) -> f64 {
        let away = |point: &(Duration, f64)| (point.0.as_nanos() as f64, point.1);
        if time < at {
            // From the latest point back.
            let points: Vec<(f64, f64)> = self.before.iter().rev().map(away).collect();
            return on_line(&points, (at - time) as f64);
        }
        on_line(&self.after.iter().map(away).collect::<Vec<_>>(), (time - at) as f64)
    }
}

/// Times by a law, in ns, the last one behind the end of the run.
pub(super) fn drawn_times(law: &DurationLaw, duration: Duration, rng: &mut Rng) -> Vec<u64> {
    let (mut at, mut times) = (Duration::ZERO, Vec::new());
    while at <= duration {
        at += law.draw(rng).max(Duration::from_millis(1));
        times.push(at.as_nanos());
    }
    times
}

/// The height of a curve at a place: 1 behind its last point, and that of the first point before it.
fn on_line(points: &[(f64, f64)], place: f64) -> f64 {
    let next = points.partition_point(|point| point.0 < place);
    match (next.checked_sub(1).map(|last| points[last]), points.get(next)) {
        (_, None) => 1.0,
        (None, Some(point)) => point.1,
        (Some(last), Some(point)) => last.1 + (point.1 - last.1) * (place - last.0) / (point.0 - last.0),
    }
}
