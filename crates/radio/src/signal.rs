//! The levels of cells at the place of a host: from the plan of its visits, or from positions.
//!
//! A source returns the levels of all cells, RSRP in dBm, at times that never decrease.

use crate::visit::Visit;
use roamlab_engine::{Duration, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How loss grows with distance: `loss_at_1_m_db` + 10 · `exponent` · log10(distance), and lognormal shadowing.
///
/// The defaults are the macro cell of TR 36.942 §4.5.2 at 2 GHz, 128.1 + 37.6·log10(km) dB, without shadowing.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PathLoss {
    /// Loss at one metre, in dB. Nearer than that nothing changes.
    pub loss_at_1_m_db: f64,
    /// Path loss exponent.
    pub exponent: f64,
    /// Standard deviation of shadowing, in dB; 0: none.
    pub shadowing_db: f64,
    /// Distance over which the correlation of shadowing falls to 1/e, in metres.
    pub correlation_m: f64,
}

impl Default for PathLoss {
    fn default() -> Self {
        PathLoss { loss_at_1_m_db: 15.3, exponent: 3.76, shadowing_db: 0.0, correlation_m: 50.0 }
    }
}

impl PathLoss {
    /// Checks that this loss is possible.
    ///
    /// # Errors
    /// The field that cannot, and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let bad = |field, message: &str| Err((field, message.to_owned()));
        if !self.loss_at_1_m_db.is_finite() {
            return bad("loss_at_1_m_db", "the loss is no number: write for example 15.3");
        }
        if !(self.exponent > 0.0 && self.exponent.is_finite()) {
            return bad("exponent", "the loss must grow with distance: write for example 3.76");
        }
        if !(self.shadowing_db >= 0.0 && self.shadowing_db.is_finite()) {
            return bad("shadowing_db", "a standard deviation is not negative: write for example 8.0");
        }
        if !(self.correlation_m > 0.0 && self.correlation_m.is_finite()) {
            return bad("correlation_m", "this distance must be more than zero: write for example 50.0");
        }
        Ok(())
    }

    /// The loss at a distance without shadowing, in dB.
    pub fn at(&self, distance_m: f64) -> f64 {
        self.loss_at_1_m_db + 10.0 * self.exponent * libm::log10(distance_m.max(1.0))
    }
}

/// A cell's transmitter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transmitter {
    /// Its position, in metres.
    pub position_m: [f64; 2],
    /// Power of its reference signal, in dBm for each resource element (15 dBm: 43 dBm over 600 of them).
    #[serde(default = "reference_signal_dbm")]
    pub reference_signal_dbm: f64,
}

fn reference_signal_dbm() -> f64 {
    15.0
}

/// How a host moves: along straight lines to the last point, at a constant speed or by the times of the points.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trajectory {
    /// The points that it passes, in metres.
    pub waypoints_m: Vec<[f64; 2]>,
    /// Its speed, in metres a second; 0: it stays at the first point.
    #[serde(default)]
    pub speed_m_per_s: f64,
    /// When it is at each point, counted from `start` on, in the place of a speed. Two equal points with two times are a stop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<Duration>,
    /// When it sets out.
    #[serde(default)]
    pub start: Duration,
}

impl Trajectory {
    /// Checks that a host can move so.
    ///
    /// # Errors
    /// The field at fault, and what to write.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if self.waypoints_m.is_empty() || !self.waypoints_m.iter().flatten().all(|part| part.is_finite()) {
            let message = "expected at least one point of finite numbers: write for example `waypoints_m = [[0.0, 0.0], [1000.0, 0.0]]`";
            return Err(("waypoints_m", message.into()));
        }
        if !(self.speed_m_per_s >= 0.0 && self.speed_m_per_s.is_finite()) {
            return Err(("speed_m_per_s", "a speed is not negative: write for example 15.0".into()));
        }
        if self.times.is_empty() {
            return Ok(());
        }
        if self.speed_m_per_s > 0.0 {
            let message = "expected `times` or `speed_m_per_s`, got both: leave out one of them";
            return Err(("speed_m_per_s", message.into()));
        }
        let (points, times) = (self.waypoints_m.len(), self.times.len());
        if times != points {
            let message = format!(
                "expected a time for each of {points} points, got {times}: write as many times as points"
            );
            return Err(("times", message));
        }
        match self.times.windows(2).find(|pair| pair[0] >= pair[1]) {
            None => Ok(()),
            Some(pair) => {
                let message =
                    format!("expected rising times, got {} behind {}: write a later one", pair[1], pair[0]);
                Err(("times", message))
            }
        }
    }

    /// The highest speed on the way, in metres a second.
    pub fn fastest_m_per_s(&self) -> f64 {
        let legs = self.waypoints_m.windows(2).zip(self.times.windows(2));
        let speeds = legs
            .map(|(leg, times)| distance(leg[0], leg[1]) / times[1].saturating_sub(times[0]).as_secs_f64());
        speeds.fold(self.speed_m_per_s, f64::max)
    }

    /// True if the host leaves its first point.
    pub fn moves(&self) -> bool {
        self.fastest_m_per_s() > 0.0 && self.length_m() > 0.0
    }

    /// How far the host has come after this time on its way, in metres.
    pub fn gone_m(&self, under_way: Duration) -> f64 {
        self.after(under_way).1
    }

    /// The length of the way through all points, in metres.
    pub fn length_m(&self) -> f64 {
        self.waypoints_m.windows(2).map(|leg| distance(leg[0], leg[1])).sum()
    }

    /// Where the host is, and how far it has come.
    fn at(&self, now: Time) -> ([f64; 2], f64) {
        let start = Time::ZERO + self.start;
        self.after(if now > start { now.since(start) } else { Duration::ZERO })
    }

    /// Where the host is after this time on its way, and how far it has come.
    fn after(&self, under_way: Duration) -> ([f64; 2], f64) {
        let gone = match self.times.is_empty() {
            true => under_way.as_secs_f64() * self.speed_m_per_s,
            false => self.gone_by_times(under_way),
        };
        let mut left = gone;
        for leg in self.waypoints_m.windows(2) {
            let length = distance(leg[0], leg[1]);
            if left < length {
                let part = left / length;
                return (
                    std::array::from_fn(|axis| leg[0][axis] + part * (leg[1][axis] - leg[0][axis])),
                    gone,
                );
            }
            left -= length;
        }
        (self.waypoints_m.last().copied().unwrap_or_default(), gone - left)
    }

    fn gone_by_times(&self, under_way: Duration) -> f64 {
        let mut gone = 0.0;
        for (leg, times) in self.waypoints_m.windows(2).zip(self.times.windows(2)) {
            let length = distance(leg[0], leg[1]);
            if under_way < times[1] {
                let span = times[1].saturating_sub(times[0]).as_secs_f64();
                return gone + length * under_way.saturating_sub(times[0]).as_secs_f64() / span;
            }
            gone += length;
        }
        gone
    }
}

/// The distance of two places.
pub fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    libm::hypot(a[0] - b[0], a[1] - b[1])
}

/// Where one host's levels come from.
#[derive(Clone, Debug)]
pub enum Signal {
    /// From the plan of its visits.
    Schedule(Schedule),
    /// From positions.
    Positions(Positions),
}

impl Signal {
    /// The level of each cell now, in dBm; minus infinity for one that is not there.
    pub fn levels(&mut self, now: Time) -> Vec<f64> {
        match self {
            Signal::Schedule(schedule) => schedule.levels(now),
            Signal::Positions(positions) => positions.levels(now),
        }
    }

    /// Where the host is now, in m; `None`: nothing has a position.
    pub fn place(&self, now: Time) -> Option<[f64; 2]> {
        match self {
            Signal::Schedule(_) => None,
            Signal::Positions(positions) => Some(positions.path.at(now).0),
        }
    }
}

/// Levels that follow a plan: a cell is at its peak while it is visited and falls off before and behind that by so much
/// in a second. Two cells are equal exactly when the host turns from one to the other.
#[derive(Clone, Debug)]
pub struct Schedule {
    peak_dbm: f64,
    slope_db_per_s: f64,
    /// The times of each cell's visits.
    stays: Vec<Vec<(Time, Time)>>,
}

impl Schedule {
    /// The levels of `cells` cells along the visits, of which `cell` gives the numbers.
    pub fn new(
        (peak_dbm, slope_db_per_s): (f64, f64),
        cells: usize,
        visits: &[Visit],
        cell: impl Fn(&str) -> usize,
    ) -> Schedule {
        let mut stays = vec![Vec::new(); cells];
        for (number, visit) in visits.iter().enumerate() {
            let next = visits.get(number + 1).map_or(Time::MAX, |next| Time::ZERO + next.at);
            let until = visit.until.map_or(next, |until| Time::ZERO + until);
            stays[cell(&visit.cell)].push((Time::ZERO + visit.at, until));
        }
        Schedule { peak_dbm, slope_db_per_s, stays }
    }

    fn levels(&self, now: Time) -> Vec<f64> {
        let away = |&(from, until): &(Time, Time)| {
            let ahead = if now < from { from.since(now) } else { Duration::ZERO };
            let behind = if now > until { now.since(until) } else { Duration::ZERO };
            ahead.max(behind)
        };
        let level = |stays: &Vec<(Time, Time)>| match stays.iter().map(away).min() {
            Some(nearest) => self.peak_dbm - self.slope_db_per_s * nearest.as_secs_f64(),
            None => f64::NEG_INFINITY,
        };
        self.stays.iter().map(level).collect()
    }
}

/// Levels that follow from where the cells and the host are.
#[derive(Clone, Debug)]
pub struct Positions {
    loss: PathLoss,
    path: Trajectory,
    transmitters: Vec<Option<(Transmitter, Shadowing)>>,
}

impl Positions {
    /// The levels along `path` of these transmitters, each with its stream for shadowing.
    pub fn new(loss: PathLoss, path: Trajectory, transmitters: Vec<Option<(Transmitter, Rng)>>) -> Positions {
        let shadowed = |(transmitter, rng)| (transmitter, Shadowing { rng, last: None });
        let transmitters = transmitters.into_iter().map(|each| each.map(shadowed)).collect();
        Positions { loss, path, transmitters }
    }

    fn levels(&mut self, now: Time) -> Vec<f64> {
        let (here, gone) = self.path.at(now);
        let loss = &self.loss;
        let level = |each: &mut Option<(Transmitter, Shadowing)>| match each {
            Some((cell, shadowing)) => {
                let path_loss = loss.at(distance(here, cell.position_m));
                cell.reference_signal_dbm - path_loss - shadowing.next(loss, gone)
            }
            None => f64::NEG_INFINITY,
        };
        self.transmitters.iter_mut().map(level).collect()
    }
}

/// Shadowing along a way: a stationary Gauss-Markov sequence whose correlation falls exponentially with distance
/// (Gudmundson, Electronics Letters 27(23), 1991).
#[derive(Clone, Debug)]
struct Shadowing {
    rng: Rng,
    /// The last value in dB, and how far the host had come.
    last: Option<(f64, f64)>,
}

impl Shadowing {
    fn next(&mut self, loss: &PathLoss, gone: f64) -> f64 {
        if loss.shadowing_db == 0.0 {
            return 0.0;
        }
        let value = match self.last {
            Some((value, before)) if before == gone => value,
            Some((value, before)) => {
                let kept = libm::exp(-(gone - before) / loss.correlation_m);
                kept * value + libm::sqrt(1.0 - kept * kept) * loss.shadowing_db * self.normal()
            }
            None => loss.shadowing_db * self.normal(),
        };
        self.last = Some((value, gone));
        value
    }

    /// A standard normal number (Box and Muller, 1958).
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.rng.uniform()));
        radius * libm::cos(std::f64::consts::TAU * self.rng.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn on_a_schedule_two_cells_are_equal_when_the_host_turns() {
        let visit = |cell: &str, at, until: Option<u64>| Visit {
            cell: cell.into(),
            at: Duration::from_millis(at),
            until: until.map(Duration::from_millis),
        };
        let visits = [visit("0", 0, None), visit("1", 2000, None), visit("0", 5000, Some(6000))];
        let number = |cell: &str| cell.parse().unwrap();
        let schedule = Schedule::new((-80.0, 20.0), 3, &visits, number);
        let levels = |millis| schedule.levels(at(millis))[..2].to_vec();
        assert_eq!(levels(0), [-80.0, -120.0]);
        assert_eq!(levels(1500), [-80.0, -90.0]);
        assert_eq!(levels(2000), [-80.0, -80.0]);
        assert_eq!(levels(2500), [-90.0, -80.0]);
        assert_eq!(levels(4500), [-90.0, -80.0], "the next visit is nearer than the last one");
        assert_eq!(levels(6500), [-90.0, -110.0], "behind the plan all cells fade");
        assert_eq!(schedule.levels(at(0))[2], f64::NEG_INFINITY, "a cell out of the plan is not there");
    }

    #[test]
    fn with_times_a_host_is_at_each_point_at_its_time_and_stops_between_equal_points() {
        let path = Trajectory {
            waypoints_m: vec![[0.0, 0.0], [100.0, 0.0], [100.0, 0.0], [100.0, 50.0]],
            speed_m_per_s: 0.0,
            times: [1, 5, 9, 10].map(Duration::from_secs).to_vec(),
            start: Duration::from_secs(1),
        };
        assert_eq!(path.check(), Ok(()));
        let places = [0, 2, 4, 6, 8, 10, 11, 12].map(|seconds| path.at(at(1_000 * seconds)));
        let expected = [
            ([0.0, 0.0], 0.0),
            ([0.0, 0.0], 0.0),
            ([50.0, 0.0], 50.0),
            ([100.0, 0.0], 100.0),
            ([100.0, 0.0], 100.0),
            ([100.0, 0.0], 100.0),
            ([100.0, 50.0], 150.0),
            ([100.0, 50.0], 150.0),
        ];
        assert_eq!(places, expected);
        assert_eq!((path.fastest_m_per_s(), path.gone_m(Duration::from_millis(9_500))), (50.0, 125.0));
        let wrong = |times: &[u64]| {
            let times = times.iter().map(|&seconds| Duration::from_secs(seconds)).collect();
            Trajectory { times, ..path.clone() }.check().expect_err("refused").0
        };
        assert_eq!([wrong(&[1, 2, 3]), wrong(&[1, 5, 5, 6])], ["times"; 2]);
        let both = Trajectory { speed_m_per_s: 1.0, ..path.clone() };
        assert_eq!(both.check().expect_err("refused").0, "speed_m_per_s");
    }

    fn positions(loss: PathLoss, rng: Rng) -> Positions {
        let path = Trajectory {
            waypoints_m: vec![[0.0, 0.0], [300.0, 400.0], [300.0, 900.0]],
            speed_m_per_s: 50.0,
            times: Vec::new(),
            start: Duration::from_secs(1),
        };
        let cell = Transmitter { position_m: [0.0, 0.0], reference_signal_dbm: 15.0 };
        Positions::new(loss, path, vec![Some((cell, rng)), None])
    }

    #[test]
    fn a_host_walks_from_point_to_point_and_stops_at_the_last() {
        let path = positions(PathLoss::default(), Rng::named(1, 0, "x")).path;
        assert_eq!(path.at(at(500)), ([0.0, 0.0], 0.0));
        assert_eq!(path.at(at(6000)), ([150.0, 200.0], 250.0));
        assert_eq!(path.at(at(13_000)), ([300.0, 500.0], 600.0));
        assert_eq!(path.at(at(60_000)), ([300.0, 900.0], 1000.0));
    }

    #[test]
    fn the_default_loss_is_that_of_the_macro_cell() {
        let mut positions = positions(PathLoss::default(), Rng::named(1, 0, "x"));
        // 500 m away: 15 − (128.1 + 37.6·log10(0.5)).
        let level = positions.levels(at(11_000))[0];
        assert!((level - (15.0 - 128.1 + 37.6 * std::f64::consts::LOG10_2)).abs() < 1e-9, "{level}");
        assert_eq!(positions.levels(at(11_000))[1], f64::NEG_INFINITY);
    }

    #[test]
    fn shadowing_has_its_deviation_and_its_correlation() {
        let loss = PathLoss { shadowing_db: 8.0, ..PathLoss::default() };
        let mut shadowing = Shadowing { rng: Rng::named(1, 0, "shadowing"), last: None };
        let count = 40_000;
        let values: Vec<f64> = (0..count).map(|step| shadowing.next(&loss, 25.0 * f64::from(step))).collect();
        let mean = values.iter().sum::<f64>() / f64::from(count);
        let power = values.iter().map(|value| value * value).sum::<f64>() / f64::from(count);
        let lagged = values.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / f64::from(count);
        assert!(mean.abs() < 0.3, "{mean}");
        assert!((power / 64.0 - 1.0).abs() < 0.05, "{power}");
        assert!((lagged / power - libm::exp(-0.5)).abs() < 0.02, "{}", lagged / power);
        let here = shadowing.next(&loss, 1e6);
        assert_eq!(shadowing.next(&loss, 1e6), here, "a host that does not move keeps its shadowing");
    }

    #[test]
    fn nearer_than_a_metre_the_loss_is_that_of_a_metre() {
        let loss = PathLoss::default();
        assert_eq!([0.0, 0.5, 1.0].map(|metres| loss.at(metres)), [15.3; 3]);
        assert!((loss.at(10.0) - 52.9).abs() < 1e-9, "3.76 tens of dB more");
    }
}
