//! Measurements of a host: levels of cells, filtered; conditions on them (event A3); cells out of coverage (TS 36.331
//! §5.3.11, §5.5.3.2, §5.5.4.4).
//!
//! A [`Meter`] gets the levels at regular times and returns the reports of layer 2. It reads no clock and does not know
//! the source of the levels ([`crate::signal`]).

use roamlab_engine::{Duration, Time};

/// A condition on the measured levels of neighbours: event A3. Cells are numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    /// Its name, which each finding carries.
    pub name: &'static str,
    /// The neighbours that it is about; `None`: all.
    pub candidates: Option<Vec<usize>>,
    /// Off, in dB.
    pub offset_db: f64,
    /// Hys, in dB.
    pub hysteresis_db: f64,
    /// How long the entry condition has to hold.
    pub time_to_trigger: Duration,
    /// Until a neighbour that stays better is reported again; `None`: it is not.
    pub report_interval: Option<Duration>,
}

/// Results of a measurement; cells are numbers.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// A condition holds for a neighbour.
    Better {
        /// The name of the condition.
        condition: &'static str,
        /// The neighbour.
        cell: usize,
    },
    /// The serving cell could not be heard for T310.
    RadioLinkFailure,
    /// The strongest cell that can be heard, when one was searched for.
    Found(usize),
}

/// A condition, and what is known of it for each cell.
#[derive(Clone, Debug)]
struct Evaluation {
    condition: Condition,
    cells: Vec<Neighbour>,
}

/// State of a condition for one cell.
#[derive(Copy, Clone, Debug, Default)]
struct Neighbour {
    /// Since when the entry condition holds.
    entered: Option<Time>,
    /// When it was reported last, if it is in the list of triggered cells.
    reported: Option<Time>,
}

/// The measurements of one host.
#[derive(Clone, Debug)]
pub struct Meter {
    period: Duration,
    t310: Duration,
    audible_dbm: f64,
    /// Ocn of each cell, in dB.
    offsets: Vec<f64>,
    /// k of the layer-3 filter, which all conditions share.
    filter_coefficient: u8,
    evaluations: Vec<Evaluation>,
    /// F of the layer-3 filter for each cell, in dBm; `None`: it cannot be heard.
    filtered: Vec<Option<f64>>,
    /// The levels of the last measurement, in dBm.
    levels: Vec<f64>,
    serving: Option<usize>,
    /// Since when the serving cell cannot be heard; and whether that was reported.
    deaf: Option<(Time, bool)>,
    searching: bool,
}

/// The rate of measurements that the filter coefficient assumes (TS 36.331 §5.5.3.2).
const FILTER_PERIOD: Duration = Duration::from_millis(200);

impl Meter {
    /// A meter that has measured nothing; `offsets` are the cells' individual offsets Ocn in dB.
    pub fn new(period: Duration, t310: Duration, audible_dbm: f64, offsets: Vec<f64>) -> Meter {
        let cells = offsets.len();
        Meter {
            period,
            t310,
            audible_dbm,
            offsets,
            filter_coefficient: 0,
            evaluations: Vec::new(),
            filtered: vec![None; cells],
            levels: vec![f64::NEG_INFINITY; cells],
            serving: None,
            deaf: None,
            searching: false,
        }
    }

    /// Evaluates these conditions from now on, each in place of one of its name. `filter_coefficient` is k of the layer-3
    /// filter. Filtered levels stay, and so does what is known of a candidate that both name (TS 36.331 §5.5.2.3: a
    /// candidate that is added leaves the measurement of the others as it is).
    pub fn evaluate(&mut self, filter_coefficient: u8, conditions: Vec<Condition>) {
        self.filter_coefficient = filter_coefficient;
        for condition in conditions {
            let cells = vec![Neighbour::default(); self.offsets.len()];
            let mut new = Evaluation { condition, cells };
            match self.evaluations.iter_mut().find(|known| known.condition.name == new.condition.name) {
                Some(known) => {
                    new.keep_candidates(known);
                    *known = new;
                }
                None => self.evaluations.push(new),
            }
        }
    }

    /// Looks for the strongest cell that can be heard.
    pub fn search(&mut self) {
        self.searching = true;
    }

    /// The host is in this cell now, or in none. Nothing is known to be better than it yet; filtered levels stay.
    pub fn serve(&mut self, cell: Option<usize>) {
        self.serving = cell;
        self.deaf = None;
        self.forget();
    }

    /// True if `cell` could be heard at the last measurement.
    pub fn hears(&self, cell: usize) -> bool {
        self.levels[cell] >= self.audible_dbm
    }

    /// True if the serving cell could not be heard at the last measurement.
    pub fn is_deaf(&self) -> bool {
        self.deaf.is_some()
    }

    /// Takes the levels of all cells in, in dBm; minus infinity for a cell that is not there. What layer 2 has to
    /// report, in this order: radio link failure, better neighbours by condition and number, the cell found.
    pub fn sample(&mut self, now: Time, levels: &[f64]) -> Vec<Finding> {
        let mut findings = Vec::new();
        self.levels.copy_from_slice(levels);
        findings.extend(self.supervise(now));
        self.filter();
        if let Some(serving) = self.serving.filter(|_| !self.evaluations.is_empty()) {
            let levels: Vec<f64> = self
                .filtered
                .iter()
                .zip(&self.offsets)
                .map(|(filtered, offset)| filtered.unwrap_or(f64::NEG_INFINITY) + offset)
                .collect();
            for evaluation in &mut self.evaluations {
                evaluation.compare(&levels, serving, now, &mut findings);
            }
        }
        if self.searching
            && let Some(cell) = self.strongest()
        {
            self.searching = false;
            findings.push(Finding::Found(cell));
        }
        findings
    }

    fn forget(&mut self) {
        for evaluation in &mut self.evaluations {
            evaluation.cells.fill(Neighbour::default());
        }
    }

    /// T310, started by the first measurement at which the serving cell cannot be heard.
    ///
    /// ASSUMPTION: N310 and N311 are 1, and in sync is a level: there is no model of interference in which a cell could
    /// be strong and yet lost.
    fn supervise(&mut self, now: Time) -> Option<Finding> {
        let serving = self.serving?;
        if self.hears(serving) {
            self.deaf = None;
            return None;
        }
        let (since, reported) = self.deaf.get_or_insert((now, false));
        if *reported || now.since(*since) < self.t310 {
            return None;
        }
        *reported = true;
        Some(Finding::RadioLinkFailure)
    }

    /// F = (1 − a)·F + a·M with a = 2^(-k/4), adapted to our rate so that its time constant stays
    /// (TS 36.331 §5.5.3.2). A cell out of hearing is forgotten.
    fn filter(&mut self) {
        let kept_at_200_ms = 1.0 - libm::exp2(-f64::from(self.filter_coefficient) / 4.0);
        let periods = self.period.as_secs_f64() / FILTER_PERIOD.as_secs_f64();
        let kept = libm::pow(kept_at_200_ms, periods);
        for (filtered, &level) in self.filtered.iter_mut().zip(&self.levels) {
            *filtered = (level >= self.audible_dbm).then_some(match *filtered {
                Some(filtered) => kept * filtered + (1.0 - kept) * level,
                None => level,
            });
        }
    }

    fn strongest(&self) -> Option<usize> {
        let heard = (0..self.levels.len()).filter(|&cell| self.hears(cell));
        heard.max_by(|&a, &b| self.levels[a].total_cmp(&self.levels[b]).then(b.cmp(&a)))
    }
}

impl Evaluation {
    fn keep_candidates(&mut self, known: &Evaluation) {
        let (Some(before), Some(candidates)) = (&known.condition.candidates, &self.condition.candidates)
        else {
            return;
        };
        for &cell in candidates.iter().filter(|cell| before.contains(cell)) {
            self.cells[cell] = known.cells[cell];
        }
    }

    /// Event A3 of TS 36.331 §5.5.4.4 for each candidate. Levels have the cells' offsets; that of a cell out of hearing is
    /// minus infinity.
    fn compare(&mut self, levels: &[f64], serving: usize, now: Time, findings: &mut Vec<Finding>) {
        let Condition { name, offset_db, hysteresis_db, time_to_trigger, report_interval, .. } =
            self.condition;
        let candidates = self.condition.candidates.as_deref();
        // A serving cell out of hearing is worse than any neighbour.
        let served = levels[serving];
        for (number, cell) in self.cells.iter_mut().enumerate() {
            if number == serving || candidates.is_some_and(|candidates| !candidates.contains(&number)) {
                continue;
            }
            let level = levels[number];
            let enters = level - hysteresis_db > served + offset_db;
            let leaves = level + hysteresis_db < served + offset_db || level == f64::NEG_INFINITY;
            if leaves {
                cell.reported = None;
            }
            if !enters {
                cell.entered = None;
            }
            let due = match cell.reported {
                Some(last) => report_interval.is_some_and(|interval| now.since(last) >= interval),
                None => enters && now.since(*cell.entered.get_or_insert(now)) >= time_to_trigger,
            };
            if due {
                cell.reported = Some(now);
                findings.push(Finding::Better { condition: name, cell: number });
            }
        }
    }
}

#[cfg(test)]
mod walk;

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: Condition = Condition {
        name: "report",
        candidates: None,
        offset_db: 2.0,
        hysteresis_db: 1.0,
        time_to_trigger: Duration::from_millis(80),
        report_interval: None,
    };
    const PERIOD: Duration = Duration::from_millis(40);

    fn better(cell: usize) -> Finding {
        Finding::Better { condition: "report", cell }
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn meter(event: Condition, offsets: [f64; 3]) -> Meter {
        let mut meter = Meter::new(PERIOD, Duration::from_millis(100), -110.0, offsets.into());
        meter.evaluate(0, vec![event]);
        meter.serve(Some(0));
        meter
    }

    /// The times and findings of a meter whose serving cell stays at -80 dBm and whose first neighbour has these levels,
    /// one each 40 ms.
    fn findings(meter: &mut Meter, neighbour: &[f64]) -> Vec<(u64, Finding)> {
        let mut found = Vec::new();
        for (step, &level) in neighbour.iter().enumerate() {
            let millis = 40 * step as u64;
            let levels = [-80.0, level, f64::NEG_INFINITY];
            found.extend(meter.sample(at(millis), &levels).into_iter().map(|finding| (millis, finding)));
        }
        found
    }

    #[test]
    fn the_entry_condition_is_strict_and_must_hold_for_the_time_to_trigger() {
        // Mn − 1 > −80 + 2 first holds above −77.
        assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &[-77.0; 10]), []);
        assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &[-76.9; 10]), [(80, better(1))]);
        let interrupted = [-76.0, -76.0, -77.0, -76.0, -76.0, -76.0];
        assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &interrupted), [(200, better(1))]);
    }

    #[test]
    fn a_triggered_cell_is_reported_again_only_after_the_leaving_condition() {
        // Left when Mn + 1 < −78, that is below −79; −78 neither enters nor leaves.
        let levels = |dip: f64| [[-76.0; 4], [dip; 4], [-76.0; 4]].concat();
        for dip in [-77.5, -78.0, -78.5, -79.0] {
            assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &levels(dip)), [(80, better(1))], "{dip}");
        }
        let again = [(80, better(1)), (400, better(1))];
        assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &levels(-79.5)), again);
        // Without hysteresis entry and leaving meet: left below −78.
        let event = Condition { hysteresis_db: 0.0, ..EVENT };
        assert_eq!(findings(&mut meter(event.clone(), [0.0; 3]), &levels(-78.0)), [(80, better(1))]);
        assert_eq!(findings(&mut meter(event, [0.0; 3]), &levels(-78.5)), again);
        // One measurement is enough to leave; the time to trigger begins again with the next entry.
        let dip = [[-76.0; 4].as_slice(), &[-79.5], &[-76.0; 4]].concat();
        assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &dip), [(80, better(1)), (280, better(1))]);
        // The offset of the neighbour counts for leaving as well.
        let with_offset = |dip| findings(&mut meter(EVENT, [0.0, 3.0, 0.0]), &levels(dip));
        assert_eq!(with_offset(-82.0), [(80, better(1))]);
        assert_eq!(with_offset(-82.5), again);
    }

    /// A neighbour that swings about the offset by less than the hysteresis causes no handover, nor one that is better for less
    /// than the time to trigger.
    #[test]
    fn a_small_or_short_swing_causes_no_ping_pong() {
        // 25 swings of 320 ms about the offset of 2 dB.
        for (swing, reports) in [(0.9, 0), (1.1, 25)] {
            let levels: Vec<f64> =
                (0..200).map(|step| if step % 8 < 4 { -78.0 + swing } else { -78.0 - swing }).collect();
            assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &levels).len(), reports, "{swing} dB");
        }
        let late = Condition { time_to_trigger: Duration::from_millis(128), ..EVENT };
        let levels: Vec<f64> = (0..200).map(|step| if step % 8 < 4 { -70.0 } else { -90.0 }).collect();
        // It is better at four measurements in a row, for 120 ms: less than the time to trigger.
        assert_eq!(findings(&mut meter(late, [0.0; 3]), &levels), []);
    }

    #[test]
    fn a_cell_that_stays_better_is_repeated_at_the_report_interval() {
        let event = Condition { report_interval: Some(Duration::from_millis(120)), ..EVENT };
        let found = findings(&mut meter(event, [0.0; 3]), &[-70.0; 10]);
        assert_eq!(found.iter().map(|(millis, _)| *millis).collect::<Vec<_>>(), [80, 200, 320]);
    }

    #[test]
    fn the_cells_own_offsets_count() {
        assert_eq!(findings(&mut meter(EVENT, [0.0, 4.0, 0.0]), &[-80.9; 4]), [(80, better(1))]);
        assert_eq!(findings(&mut meter(EVENT, [0.0, 4.0, 0.0]), &[-81.0; 4]), []);
        assert_eq!(findings(&mut meter(EVENT, [4.0, 0.0, 0.0]), &[-73.0; 4]), []);
    }

    #[test]
    fn a_new_serving_cell_and_a_new_event_start_afresh() {
        let mut meter = meter(EVENT, [0.0; 3]);
        assert_eq!(findings(&mut meter, &[-76.0; 3]), [(80, better(1))]);
        meter.evaluate(0, vec![EVENT]);
        assert_eq!(findings(&mut meter, &[-76.0; 3]), [(80, better(1))]);
        meter.serve(Some(1));
        let levels = [-70.0, -80.0, f64::NEG_INFINITY];
        assert_eq!(meter.sample(at(1000), &levels), []);
        assert_eq!(meter.sample(at(1080), &levels), [better(0)]);
    }

    /// As for a conditional handover (TS 36.331 §5.3.5.9): the host reports early, and goes to one of two candidates late.
    #[test]
    fn each_condition_is_met_by_its_own_candidates_at_its_own_time() {
        let execute = |offset_db, candidates: &[usize]| Condition {
            name: "execute",
            candidates: Some(candidates.to_vec()),
            offset_db,
            ..EVENT
        };
        let mut meter = Meter::new(PERIOD, Duration::from_millis(100), -110.0, vec![0.0; 4]);
        let early = Condition { time_to_trigger: Duration::ZERO, ..EVENT };
        meter.evaluate(0, vec![early, execute(3.0, &[1, 2])]);
        meter.serve(Some(0));
        // Cell 3 is the best, and no candidate; cell 1 becomes 4 dB better, which is not enough, and cell 2 5 dB.
        let mut found = Vec::new();
        for step in 0..4 {
            let levels = [-80.0, -76.0, -75.0, -70.0];
            found
                .extend(meter.sample(at(40 * step), &levels).into_iter().map(|finding| (40 * step, finding)));
        }
        let late = Finding::Better { condition: "execute", cell: 2 };
        assert_eq!(found, [(0, better(1)), (0, better(2)), (0, better(3)), (80, late)]);
    }

    #[test]
    fn the_filter_keeps_its_time_constant_at_any_period() {
        // k = 4: a = 1/2 at 200 ms. A step of 8 dB is half done after 200 ms, three quarters after 400.
        for (period, steps) in [(200, 1), (100, 2), (40, 5), (20, 10)] {
            let period = Duration::from_millis(period);
            let mut meter = Meter::new(period, Duration::from_millis(100), -110.0, vec![0.0; 2]);
            meter.evaluate(4, vec![EVENT]);
            meter.sample(at(0), &[-80.0, -90.0]);
            let mut after = |steps| {
                (0..steps).for_each(|_| drop(meter.sample(at(1), &[-80.0, -82.0])));
                meter.filtered[1].unwrap_or_default()
            };
            assert!((after(steps) + 86.0).abs() < 1e-9);
            assert!((after(steps) + 84.0).abs() < 1e-9);
        }
        // F = (1 − a)·F + a·M, a = 2^(−k/4), at 200 ms: a step of 8 dB.
        for (coefficient, level) in
            [(0, -82.0), (2, -84.343_145_750_507_62), (8, -88.0), (12, -89.0), (16, -89.5)]
        {
            let mut meter = Meter::new(FILTER_PERIOD, Duration::from_millis(100), -110.0, vec![0.0; 2]);
            meter.evaluate(coefficient, vec![EVENT]);
            meter.sample(at(0), &[-80.0, -90.0]);
            meter.sample(at(200), &[-80.0, -82.0]);
            let filtered = meter.filtered[1].unwrap_or_default();
            assert!((filtered - level).abs() < 1e-9, "k = {coefficient}: {filtered}");
        }
    }

    #[test]
    fn silence_for_t310_is_a_radio_link_failure_once() {
        let mut meter = meter(EVENT, [0.0; 3]);
        let silent = [-111.0, f64::NEG_INFINITY, f64::NEG_INFINITY];
        let heard = [-110.0, f64::NEG_INFINITY, f64::NEG_INFINITY];
        assert_eq!(meter.sample(at(0), &silent), []);
        assert_eq!(meter.sample(at(80), &heard), []);
        assert!(!meter.is_deaf());
        let times: Vec<u64> = (3..12).map(|step| step * 40).collect();
        let failures =
            times.iter().filter(|&&millis| meter.sample(at(millis), &silent) == [Finding::RadioLinkFailure]);
        assert_eq!(
            failures.collect::<Vec<_>>(),
            [&240],
            "silent since 120 ms, T310 of 100 ms, measured each 40 ms"
        );
        assert!(meter.is_deaf());
        meter.serve(None);
        assert_eq!(meter.sample(at(600), &silent), []);
    }

    #[test]
    fn a_serving_cell_out_of_hearing_is_worse_than_any_neighbour() {
        let mut meter = meter(EVENT, [0.0; 3]);
        let levels = [-120.0, -109.0, f64::NEG_INFINITY];
        assert_eq!(meter.sample(at(0), &levels), []);
        assert_eq!(meter.sample(at(80), &levels), [better(1)]);
    }

    #[test]
    fn a_search_finds_the_strongest_cell_as_soon_as_one_is_heard() {
        let mut meter = meter(EVENT, [0.0; 3]);
        meter.serve(None);
        meter.search();
        assert_eq!(meter.sample(at(0), &[-111.0, -112.0, -120.0]), []);
        assert_eq!(meter.sample(at(40), &[-100.0, -90.0, -90.0]), [Finding::Found(1)]);
        assert_eq!(meter.sample(at(80), &[-100.0, -90.0, -90.0]), [], "once");
    }

    #[test]
    fn a_neighbour_that_was_better_than_the_old_cell_has_the_whole_time_to_trigger_with_the_new_one() {
        // TS 36.331 §5.5.4.1: the event of a new serving cell is evaluated from its own entry condition on.
        let mut meter = meter(EVENT, [0.0; 3]);
        let levels = [-90.0, -80.0, -70.0];
        assert_eq!(meter.sample(at(0), &levels), []);
        assert_eq!(meter.sample(at(40), &levels), []);
        meter.serve(Some(1));
        assert_eq!([80, 120].map(|millis| meter.sample(at(millis), &levels)), [vec![], vec![]]);
        assert_eq!(meter.sample(at(160), &levels), [better(2)]);
    }

    #[test]
    fn a_radio_link_has_failed_when_t310_is_over_not_a_measurement_later() {
        // TS 36.331 §5.3.11.3: at the expiry of T310.
        let mut meter = Meter::new(PERIOD, PERIOD * 3, -110.0, vec![0.0]);
        meter.serve(Some(0));
        let silent = [0, 40, 80, 120].map(|millis| meter.sample(at(millis), &[-111.0]));
        assert_eq!(silent, [vec![], vec![], vec![], vec![Finding::RadioLinkFailure]]);
    }

    #[test]
    fn t310_of_a_cell_that_was_left_does_not_go_on_in_the_next() {
        // TS 36.331 §5.3.5.4: a handover stops T310. Cell 1 is silent from 80 ms on.
        let mut meter = Meter::new(PERIOD, PERIOD * 3, -110.0, vec![0.0; 2]);
        meter.serve(Some(0));
        let silent = |meter: &mut Meter, millis| meter.sample(at(millis), &[-111.0; 2]);
        assert_eq!([0, 40].map(|millis| silent(&mut meter, millis)), [vec![], vec![]]);
        meter.serve(Some(1));
        let later = [80, 120, 160, 200].map(|millis| silent(&mut meter, millis));
        assert_eq!(later, [vec![], vec![], vec![], vec![Finding::RadioLinkFailure]]);
    }

    #[test]
    fn a_candidate_of_the_old_and_of_the_new_condition_keeps_its_time_to_trigger() {
        // TS 36.331 §5.5.2.3: changed parts are configured, the rest continues. Cell 1 is met from 0 ms on,
        // cell 3 from 40 ms on.
        let execute = |candidates: &[usize]| Condition { candidates: Some(candidates.to_vec()), ..EVENT };
        let mut meter = Meter::new(PERIOD, Duration::from_millis(100), -110.0, vec![0.0; 4]);
        meter.evaluate(0, vec![execute(&[1, 2])]);
        meter.serve(Some(0));
        let levels = [-80.0, -70.0, -70.0, -70.0];
        assert_eq!(meter.sample(at(0), &levels), []);
        meter.evaluate(0, vec![execute(&[1, 3])]);
        let found = [40, 80, 120, 160].map(|millis| meter.sample(at(millis), &levels));
        assert_eq!(found, [vec![], vec![better(1)], vec![better(3)], vec![]]);
        // A candidate that has been reported is not reported again because another one is added.
        meter.evaluate(0, vec![execute(&[1, 2, 3])]);
        let found = [200, 240, 280].map(|millis| meter.sample(at(millis), &levels));
        assert_eq!(found, [vec![], vec![], vec![better(2)]]);
    }

    #[test]
    fn a_cell_that_is_heard_again_begins_with_the_level_that_it_has() {
        // TS 36.331 §5.5.3.2: the first measurement is not filtered. Out of hearing there is none.
        let mut meter = Meter::new(FILTER_PERIOD, Duration::from_millis(100), -110.0, vec![0.0; 2]);
        meter.evaluate(4, vec![EVENT]);
        let filtered =
            [(0, -90.0), (200, -111.0), (400, f64::NEG_INFINITY), (600, -80.0)].map(|(millis, level)| {
                meter.sample(at(millis), &[-80.0, level]);
                meter.filtered[1]
            });
        assert_eq!(filtered, [Some(-90.0), None, None, Some(-80.0)]);
    }
}
