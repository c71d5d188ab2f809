//! Random levels and places, and the reports that TS 36.331 and TS 38.331 specify for them: each sample is looked at with
//! all that came before it.

use super::*;
use roamlab_engine::Rng;

const PERIOD: Duration = Duration::from_millis(40);
const CELLS: usize = 4;
const AUDIBLE_DBM: f64 = -110.0;

/// Observations of a walk. Nothing is kept but the samples and the reports.
struct Past {
    condition: Condition,
    offsets: Vec<f64>,
    sites: Vec<Option<[f64; 2]>>,
    t310: Duration,
    n310: usize,
    n311: usize,
    /// The share of the value before that the filter keeps (§5.5.3.2).
    kept: f64,
    times: Vec<Time>,
    levels: Vec<Vec<f64>>,
    filtered: Vec<Vec<Option<f64>>>,
    places: Vec<[f64; 2]>,
    /// Per cell, the samples at which it was reported.
    reports: Vec<Vec<usize>>,
    /// The samples from the present serving cell on, and that cell.
    serving: (usize, Option<usize>),
    searching: bool,
}

impl Past {
    /// §5.5.3.2: F = (1 - a)·F before + a·M, from the first measurement on; none of a cell that is not heard.
    fn add(&mut self, now: Time, levels: &[f64], place: [f64; 2]) {
        let kept = self.kept;
        let filter = |(cell, &level): (usize, &f64)| {
            let before = self.filtered.last().and_then(|before| before[cell]);
            (level >= AUDIBLE_DBM)
                .then(|| before.map_or(level, |value: f64| kept * value + (1.0 - kept) * level))
        };
        let filtered = levels.iter().enumerate().map(filter).collect();
        self.filtered.push(filtered);
        self.times.push(now);
        self.levels.push(levels.to_vec());
        self.places.push(place);
    }

    fn filtered(&self, cell: usize, sample: usize) -> Option<f64> {
        self.filtered[sample][cell]
    }

    /// How far the cell is above the serving one and its offset, if it is heard. One that is not heard is below each.
    fn lead(&self, cell: usize, sample: usize, offset_db: f64) -> Option<f64> {
        let value = |cell: usize| self.filtered(cell, sample).map(|value| value + self.offsets[cell]);
        let own = value(cell)?;
        Some(value(self.serving.1?).map_or(f64::INFINITY, |served| own - served - offset_db))
    }

    fn distance(&self, reference: Reference, cell: usize, sample: usize) -> Option<f64> {
        let place = match reference {
            Reference::Point(point) => point,
            Reference::Serving => self.sites[self.serving.1?]?,
            Reference::Neighbour => self.sites[cell]?,
        };
        let here = self.places[sample];
        Some(libm::hypot(here[0] - place[0], here[1] - place[1]))
    }

    /// A3-1, A4-1, A5-1 and A5-2, D1-1 and D1-2, T1-1 (TS 38.331 §5.5.4.4 to 5.5.4.16).
    fn enters(&self, test: Test, cell: usize, sample: usize) -> bool {
        match test {
            Test::Offset { offset_db, hysteresis_db } => {
                self.lead(cell, sample, offset_db).is_some_and(|lead| lead > hysteresis_db)
            }
            Test::Thresholds { serving_below_dbm, neighbour_above_dbm, hysteresis_db } => {
                let served = self.serving.1.and_then(|serving| self.filtered(serving, sample));
                let level = self.filtered(cell, sample).map(|level| level + self.offsets[cell]);
                served.is_none_or(|served| served < serving_below_dbm - hysteresis_db)
                    && level.is_some_and(|level| level > neighbour_above_dbm + hysteresis_db)
            }
            Test::Distances { from, beyond_m, to, within_m, hysteresis_m } => {
                self.distance(from, cell, sample).is_some_and(|far| far > beyond_m + hysteresis_m)
                    && self.distance(to, cell, sample).is_some_and(|near| near < within_m - hysteresis_m)
            }
            Test::Window { from, until } => self.times[sample] > from && self.times[sample] <= until,
        }
    }

    /// A3-2, A4-2, A5-3 or A5-4, D1-3 or D1-4, T1-2; and a cell that is not heard, except in the last two.
    fn leaves(&self, test: Test, cell: usize, sample: usize) -> bool {
        match test {
            Test::Offset { offset_db, hysteresis_db } => {
                self.lead(cell, sample, offset_db).is_none_or(|lead| lead < -hysteresis_db)
            }
            Test::Thresholds { serving_below_dbm, neighbour_above_dbm, hysteresis_db } => {
                let served = self.serving.1.and_then(|serving| self.filtered(serving, sample));
                let level = self.filtered(cell, sample).map(|level| level + self.offsets[cell]);
                served.is_some_and(|served| served > serving_below_dbm + hysteresis_db)
                    || level.is_none_or(|level| level < neighbour_above_dbm - hysteresis_db)
            }
            Test::Distances { from, beyond_m, to, within_m, hysteresis_m } => {
                self.distance(from, cell, sample).is_none_or(|far| far < beyond_m - hysteresis_m)
                    || self.distance(to, cell, sample).is_none_or(|near| near > within_m + hysteresis_m)
            }
            Test::Window { until, .. } => self.times[sample] > until,
        }
    }

    /// The first of the samples in a row up to this one, from the serving cell on, at which something holds.
    fn first_in_row(&self, sample: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
        (self.serving.0..=sample).rev().take_while(|&sample| holds(sample)).last()
    }

    /// An event is met by the entry condition at each sample for the time to trigger, until the leaving condition holds for
    /// as long (§5.3.5.13.4), or once.
    fn is_met(&self, event: Event, cell: usize, now: usize) -> bool {
        let holds_long = |sample: usize, holds: &dyn Fn(usize) -> bool, time: Duration| {
            let first = self.first_in_row(sample, holds);
            first.is_some_and(|first| self.times[sample].since(self.times[first]) >= time)
        };
        let enters = |sample: usize| self.enters(event.test, cell, sample);
        let leaves = |sample: usize| self.leaves(event.test, cell, sample);
        let leave_time = if self.condition.leaves_at_once { Duration::ZERO } else { event.time_to_trigger };
        let last = |holds: &dyn Fn(usize) -> bool, time: Duration| {
            (self.serving.0..=now).rev().find(|&sample| holds_long(sample, holds, time))
        };
        last(&enters, event.time_to_trigger)
            .is_some_and(|met| last(&leaves, leave_time).is_none_or(|left| left < met))
    }

    /// Once while both events are met, or each report interval.
    fn is_reported(&self, cell: usize, now: usize) -> bool {
        let Condition { event, second, report_interval, .. } = self.condition;
        let both = |sample: usize| {
            self.is_met(event, cell, sample) && second.is_none_or(|second| self.is_met(second, cell, sample))
        };
        let Some(from) = self.first_in_row(now, both) else { return false };
        let is_due = match self.reports[cell].iter().rev().find(|&&report| report >= from) {
            Some(&last) => {
                report_interval.is_some_and(|interval| self.times[now].since(self.times[last]) >= interval)
            }
            None => true,
        };
        is_due && self.levels[now][cell] >= AUDIBLE_DBM
    }

    /// §5.3.10: the last N310 samples of these are out of sync, or the last N311 in sync.
    fn in_a_row(&self, last: usize, count: usize, in_sync: bool) -> bool {
        let Some(serving) = self.serving.1 else { return false };
        let is_so = |sample: usize| (self.levels[sample][serving] >= AUDIBLE_DBM) == in_sync;
        last + 1 >= self.serving.0 + count && (last + 1 - count..=last).all(is_so)
    }

    /// §5.3.10: T310 runs from N310 samples out of sync on, until N311 in sync. It is over once.
    fn link_fails(&self, now: usize) -> bool {
        let stopped = (self.serving.0..=now).rev().find(|&sample| self.in_a_row(sample, self.n311, true));
        let from = stopped.map_or(self.serving.0, |stopped| stopped + 1);
        let Some(started) = (from..=now).find(|&sample| self.in_a_row(sample, self.n310, false)) else {
            return false;
        };
        let is_over = |sample: usize| self.times[sample].since(self.times[started]) >= self.t310;
        is_over(now) && (now == started || !is_over(now - 1))
    }

    fn findings(&mut self) -> Vec<Finding> {
        let now = self.times.len() - 1;
        let mut findings = Vec::new();
        findings.extend(self.link_fails(now).then_some(Finding::RadioLinkFailure));
        for cell in (0..CELLS).filter(|cell| self.serving.1.is_some_and(|serving| serving != *cell)) {
            let is_candidate = self.condition.candidates.as_ref().is_none_or(|known| known.contains(&cell));
            if is_candidate && self.is_reported(cell, now) {
                self.reports[cell].push(now);
                findings.push(Finding::Better { condition: self.condition.name, cell });
            }
        }
        let levels = &self.levels[now];
        let best = levels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if self.searching && best >= AUDIBLE_DBM {
            self.searching = false;
            findings.extend(levels.iter().position(|level| *level == best).map(Finding::Found));
        }
        findings
    }
}

fn random_event(below: &mut impl FnMut(u64) -> u64) -> Event {
    let reference = |number| match number {
        0 => Reference::Serving,
        1 => Reference::Neighbour,
        _ => Reference::Point([3.0, 4.0]),
    };
    let test = match below(6) {
        0..=2 => Test::Offset { offset_db: below(3) as f64, hysteresis_db: below(3) as f64 },
        3 => Test::Thresholds {
            serving_below_dbm: if below(2) == 0 { f64::INFINITY } else { -75.0 },
            neighbour_above_dbm: -80.0 + below(4) as f64,
            hysteresis_db: below(2) as f64,
        },
        4 => Test::Distances {
            from: reference(below(3)),
            beyond_m: below(5) as f64,
            to: reference(below(3)),
            within_m: 6.0 + below(8) as f64,
            hysteresis_m: below(2) as f64,
        },
        _ => {
            let from = Time::ZERO + PERIOD * below(40);
            let until = from + PERIOD * (10 + below(40));
            return Event { test: Test::Window { from, until }, time_to_trigger: Duration::ZERO };
        }
    };
    Event { test, time_to_trigger: Duration::from_millis([0, 40, 100][below(3) as usize]) }
}

fn random_condition(below: &mut impl FnMut(u64) -> u64) -> Condition {
    Condition {
        name: "report",
        candidates: (below(3) == 0).then(|| vec![0, 2, 3]),
        event: random_event(below),
        second: (below(2) == 0).then(|| random_event(below)),
        report_interval: (below(2) == 0).then_some(Duration::from_millis(120)),
        leaves_at_once: below(2) == 0,
        unfiltered: false,
    }
}

/// Changes a level at random; without a filter to a whole number of dB.
fn change(level: &mut f64, is_filtered: bool, below: &mut impl FnMut(u64) -> u64) {
    let fraction = if is_filtered { below(1 << 20) as f64 / f64::from(1 << 20) } else { 0.0 };
    match below(8) {
        0 => *level = -200.0,
        1 | 2 => *level = AUDIBLE_DBM,
        3..=5 => *level = -80.0 + below(8) as f64 + fraction,
        _ => {}
    }
}

/// A meter and its observations, with the same parameters.
fn random_walk(below: &mut impl FnMut(u64) -> u64) -> (Meter, Past, bool) {
    // Whole dB meet each condition exactly; the filter makes other values of them.
    let filter_coefficient = [0, 0, 4, 8][below(4) as usize];
    let condition = random_condition(below);
    let offsets: Vec<f64> = (0..CELLS).map(|_| below(2) as f64).collect();
    let sites: Vec<Option<[f64; 2]>> =
        (0..CELLS).map(|_| (below(8) > 0).then(|| [below(9) as f64, below(9) as f64])).collect();
    let t310 = Duration::from_millis([0, 80, 100][below(3) as usize]);
    let (n310, n311) = (1 + below(3), 1 + below(3));
    let mut meter = Meter::new(PERIOD, t310, AUDIBLE_DBM, offsets.clone())
        .with_counts(n310 as u32, n311 as u32)
        .with_sites(sites.clone());
    meter.evaluate(filter_coefficient, vec![condition.clone()]);
    let share = libm::exp2(-f64::from(filter_coefficient) / 4.0);
    let past = Past {
        condition,
        offsets,
        sites,
        t310,
        n310: n310 as usize,
        n311: n311 as usize,
        kept: libm::pow(1.0 - share, 40.0 / 200.0),
        times: Vec::new(),
        levels: Vec::new(),
        filtered: Vec::new(),
        places: Vec::new(),
        reports: vec![Vec::new(); CELLS],
        serving: (0, None),
        searching: false,
    };
    (meter, past, filter_coefficient > 0)
}

#[test]
fn random_levels_are_reported_as_the_whole_history_says() {
    let (mut found, mut tests) = ([0; 3], [0; 4]);
    for number in 0..240 {
        let mut rng = Rng::named(number, 0, "levels");
        let mut below = |end: u64| (rng.uniform() * end as f64) as u64;
        let (mut meter, mut past, is_filtered) = random_walk(&mut below);
        let (mut levels, mut place) = (vec![-80.0; CELLS], [4.0; 2]);
        for sample in 0..80 {
            if sample == 0 || below(16) == 0 {
                let cell = Some(below(CELLS as u64) as usize).filter(|_| below(8) > 0);
                meter.serve(cell);
                past.serving = (sample, cell);
                past.reports.iter_mut().for_each(Vec::clear);
            }
            if below(10) == 0 {
                meter.search();
                past.searching = true;
            }
            levels.iter_mut().for_each(|level| change(level, is_filtered, &mut below));
            if below(3) == 0 {
                place = [below(9) as f64, below(9) as f64];
            }
            let now = Time::ZERO + PERIOD * sample as u64;
            past.add(now, &levels, place);
            let findings = past.findings();
            for finding in &findings {
                found[match finding {
                    Finding::Better { .. } => 0,
                    Finding::RadioLinkFailure => 1,
                    Finding::Found(_) => 2,
                }] += 1;
                let Finding::Better { .. } = finding else { continue };
                for event in [Some(past.condition.event), past.condition.second].into_iter().flatten() {
                    tests[match event.test {
                        Test::Offset { .. } => 0,
                        Test::Thresholds { .. } => 1,
                        Test::Distances { .. } => 2,
                        Test::Window { .. } => 3,
                    }] += 1;
                }
            }
            meter.locate(Some(place));
            let sampled = meter.sample(now, &levels);
            assert_eq!(sampled, findings, "walk {number}, sample {sample}: {:?}", past.condition);
        }
    }
    assert!(found.iter().chain(&tests).all(|count| *count > 100), "{found:?} {tests:?}");
}
