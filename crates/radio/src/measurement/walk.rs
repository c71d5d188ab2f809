//! Random levels, and the reports that TS 36.331 specifies for them: each sample is looked at with all that came before it.

use super::*;
use roamlab_engine::Rng;

const PERIOD: Duration = Duration::from_millis(40);
const CELLS: usize = 4;
const AUDIBLE_DBM: f64 = -110.0;

/// Observations of a walk. Nothing is kept but the samples and the reports.
struct Past {
    condition: Condition,
    offsets: Vec<f64>,
    t310: Duration,
    /// The share of the value before that the filter keeps (§5.5.3.2).
    kept: f64,
    times: Vec<Time>,
    levels: Vec<Vec<f64>>,
    /// Per cell, the samples at which it was reported.
    reports: Vec<Vec<usize>>,
    /// The samples from the present serving cell on, and that cell.
    serving: (usize, Option<usize>),
    searching: bool,
}

impl Past {
    /// §5.5.3.2: F = (1 - a)·F before + a·M, from the first measurement on; none of a cell that is not heard.
    fn filtered(&self, cell: usize, sample: usize) -> Option<f64> {
        let level = self.levels[sample][cell];
        let before = sample.checked_sub(1).and_then(|before| self.filtered(cell, before));
        (level >= AUDIBLE_DBM)
            .then(|| before.map_or(level, |value| self.kept * value + (1.0 - self.kept) * level))
    }

    /// How far the cell is above the serving one and its offset, if it is heard. One that is not heard is below each.
    fn lead(&self, cell: usize, sample: usize) -> Option<f64> {
        let value = |cell: usize| self.filtered(cell, sample).map(|value| value + self.offsets[cell]);
        let own = value(cell)?;
        Some(value(self.serving.1?).map_or(f64::INFINITY, |served| own - served - self.condition.offset_db))
    }

    /// §5.5.4.4: A3-1 at each sample for the time to trigger, and once until A3-2, or each report interval.
    fn is_reported(&self, cell: usize, now: usize) -> bool {
        let Condition { hysteresis_db, time_to_trigger, report_interval, .. } = self.condition;
        let since_serving = || (self.serving.0..=now).rev();
        let left =
            since_serving().find(|&sample| self.lead(cell, sample).is_none_or(|lead| lead < -hysteresis_db));
        let from = left.unwrap_or(self.serving.0);
        match self.reports[cell].iter().rev().find(|&&report| report >= from) {
            Some(&last) => {
                report_interval.is_some_and(|interval| self.times[now].since(self.times[last]) >= interval)
            }
            None => {
                let enters =
                    |&sample: &usize| self.lead(cell, sample).is_some_and(|lead| lead > hysteresis_db);
                let first = since_serving().take_while(enters).last();
                first.is_some_and(|first| self.times[now].since(self.times[first]) >= time_to_trigger)
            }
        }
    }

    /// §5.3.11: T310 runs while the serving cell is not heard. It is over once.
    fn link_fails(&self, now: usize) -> bool {
        let Some(serving) = self.serving.1 else { return false };
        let silent = |&sample: &usize| self.levels[sample][serving] < AUDIBLE_DBM;
        let first = (self.serving.0..=now).rev().take_while(silent).last();
        let is_over = |first: usize, sample: usize| self.times[sample].since(self.times[first]) >= self.t310;
        first.is_some_and(|first| is_over(first, now) && (now == first || !is_over(first, now - 1)))
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

fn random_condition(below: &mut impl FnMut(u64) -> u64) -> Condition {
    Condition {
        name: "report",
        candidates: (below(3) == 0).then(|| vec![0, 2, 3]),
        offset_db: below(3) as f64,
        hysteresis_db: below(3) as f64,
        time_to_trigger: Duration::from_millis([0, 40, 100][below(3) as usize]),
        report_interval: (below(2) == 0).then_some(Duration::from_millis(120)),
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

#[test]
fn random_levels_are_reported_as_the_whole_history_says() {
    let mut found = [0; 3];
    for number in 0..80 {
        let mut rng = Rng::named(number, 0, "levels");
        let mut below = |end: u64| (rng.uniform() * end as f64) as u64;
        // Whole dB meet each condition exactly; the filter makes other values of them.
        let filter_coefficient = [0, 0, 4, 8][below(4) as usize];
        let condition = random_condition(&mut below);
        let offsets: Vec<f64> = (0..CELLS).map(|_| below(2) as f64).collect();
        let t310 = Duration::from_millis([0, 80, 100][below(3) as usize]);
        let mut meter = Meter::new(PERIOD, t310, AUDIBLE_DBM, offsets.clone());
        meter.evaluate(filter_coefficient, vec![condition.clone()]);
        let share = libm::exp2(-f64::from(filter_coefficient) / 4.0);
        let mut past = Past {
            condition,
            offsets,
            t310,
            kept: libm::pow(1.0 - share, 40.0 / 200.0),
            times: Vec::new(),
            levels: Vec::new(),
            reports: vec![Vec::new(); CELLS],
            serving: (0, None),
            searching: false,
        };
        let mut levels = vec![-80.0; CELLS];
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
            levels.iter_mut().for_each(|level| change(level, filter_coefficient > 0, &mut below));
            let now = Time::ZERO + PERIOD * sample as u64;
            past.times.push(now);
            past.levels.push(levels.clone());
            let findings = past.findings();
            for finding in &findings {
                found[match finding {
                    Finding::Better { .. } => 0,
                    Finding::RadioLinkFailure => 1,
                    Finding::Found(_) => 2,
                }] += 1;
            }
            assert_eq!(
                meter.sample(now, &levels),
                findings,
                "walk {number}, sample {sample}: {:?}",
                past.condition
            );
        }
    }
    assert!(found.iter().all(|count| *count > 100), "{found:?}");
}
