//! Measurements of a host: levels of cells, filtered; event A3; cells out of coverage (TS 36.331 §5.3.11, §5.5.3.2,
//! §5.5.4.4).
//!
//! A [`Meter`] gets the levels at regular times and returns the reports of layer 2. It reads no clock and does not know
//! the source of the levels ([`crate::signal`]).

use roamlab_engine::{Duration, Time};

/// Event A3, as [`Meter::evaluate`] takes it.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct A3 {
    /// Off, in dB.
    pub offset_db: f64,
    /// Hys, in dB.
    pub hysteresis_db: f64,
    /// How long the entry condition has to hold.
    pub time_to_trigger: Duration,
    /// k of the layer-3 filter.
    pub filter_coefficient: u8,
    /// Until a neighbour that stays better is reported again; `None`: it is not.
    pub report_interval: Option<Duration>,
}

/// What a measurement reveals; cells are numbers.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// Event A3 holds for this neighbour.
    Better(usize),
    /// The serving cell could not be heard for T310.
    RadioLinkFailure,
    /// The strongest cell that can be heard, when one was searched for.
    Found(usize),
}

/// What is known of one cell.
#[derive(Copy, Clone, Debug, Default)]
struct Neighbour {
    /// F of the layer-3 filter, in dBm; `None` before the first measurement.
    filtered: Option<f64>,
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
    event: Option<A3>,
    cells: Vec<Neighbour>,
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
        let (cells, levels) =
            (vec![Neighbour::default(); offsets.len()], vec![f64::NEG_INFINITY; offsets.len()]);
        let (event, serving, deaf, searching) = (None, None, None, false);
        Meter { period, t310, audible_dbm, offsets, event, cells, levels, serving, deaf, searching }
    }

    /// Evaluates `event` from now on, in place of any before.
    pub fn evaluate(&mut self, event: A3) {
        self.event = Some(event);
        self.forget();
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

    /// Whether `cell` could be heard at the last measurement.
    pub fn hears(&self, cell: usize) -> bool {
        self.levels[cell] >= self.audible_dbm
    }

    /// Whether the serving cell could not be heard at the last measurement.
    pub fn is_deaf(&self) -> bool {
        self.deaf.is_some()
    }

    /// Takes the levels of all cells in, in dBm; minus infinity for a cell that is not there. What layer 2 has to
    /// report, in this order: radio link failure, better neighbours by number, the cell found.
    pub fn sample(&mut self, now: Time, levels: &[f64]) -> Vec<Finding> {
        let mut findings = Vec::new();
        self.levels.copy_from_slice(levels);
        findings.extend(self.supervise(now));
        self.filter();
        if let (Some(event), Some(serving)) = (self.event, self.serving) {
            self.compare(event, serving, now, &mut findings);
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
        for cell in &mut self.cells {
            (cell.entered, cell.reported) = (None, None);
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
        let k = self.event.map_or(0, |event| event.filter_coefficient);
        let kept_at_200_ms = 1.0 - libm::exp2(-f64::from(k) / 4.0);
        let periods = self.period.as_secs_f64() / FILTER_PERIOD.as_secs_f64();
        let kept = libm::pow(kept_at_200_ms, periods);
        for (cell, &level) in self.cells.iter_mut().zip(&self.levels) {
            cell.filtered = (level >= self.audible_dbm).then_some(match cell.filtered {
                Some(filtered) => kept * filtered + (1.0 - kept) * level,
                None => level,
            });
        }
    }

    /// Event A3 of TS 36.331 §5.5.4.4 for each neighbour.
    fn compare(&mut self, event: A3, serving: usize, now: Time, findings: &mut Vec<Finding>) {
        // A serving cell out of hearing is worse than any neighbour.
        let served = self.cells[serving].filtered.unwrap_or(f64::NEG_INFINITY) + self.offsets[serving];
        for (number, cell) in self.cells.iter_mut().enumerate().filter(|(number, _)| *number != serving) {
            let level = cell.filtered.unwrap_or(f64::NEG_INFINITY) + self.offsets[number];
            let enters = level - event.hysteresis_db > served + event.offset_db;
            let leaves = level + event.hysteresis_db < served + event.offset_db || cell.filtered.is_none();
            if leaves {
                cell.reported = None;
            }
            if !enters {
                cell.entered = None;
            }
            let due = match cell.reported {
                Some(last) => event.report_interval.is_some_and(|interval| now.since(last) >= interval),
                None => enters && now.since(*cell.entered.get_or_insert(now)) >= event.time_to_trigger,
            };
            if due {
                cell.reported = Some(now);
                findings.push(Finding::Better(number));
            }
        }
    }

    fn strongest(&self) -> Option<usize> {
        let heard = (0..self.levels.len()).filter(|&cell| self.hears(cell));
        heard.max_by(|&a, &b| self.levels[a].total_cmp(&self.levels[b]).then(b.cmp(&a)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: A3 = A3 {
        offset_db: 2.0,
        hysteresis_db: 1.0,
        time_to_trigger: Duration::from_millis(80),
        filter_coefficient: 0,
        report_interval: None,
    };
    const PERIOD: Duration = Duration::from_millis(40);

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn meter(event: A3, offsets: [f64; 3]) -> Meter {
        let mut meter = Meter::new(PERIOD, Duration::from_millis(100), -110.0, offsets.into());
        meter.evaluate(event);
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
        assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &[-76.9; 10]), [(80, Finding::Better(1))]);
        let interrupted = [-76.0, -76.0, -77.0, -76.0, -76.0, -76.0];
        assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &interrupted), [(200, Finding::Better(1))]);
    }

    #[test]
    fn a_triggered_cell_is_reported_again_only_after_the_leaving_condition() {
        // Left when Mn + 1 < −78, that is below −79; −78 neither enters nor leaves.
        let levels = |dip: f64| [[-76.0; 4], [dip; 4], [-76.0; 4]].concat();
        assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &levels(-78.0)), [(80, Finding::Better(1))]);
        let again = [(80, Finding::Better(1)), (400, Finding::Better(1))];
        assert_eq!(findings(&mut meter(EVENT, [0.0; 3]), &levels(-79.5)), again);
    }

    #[test]
    fn a_cell_that_stays_better_is_repeated_at_the_report_interval() {
        let event = A3 { report_interval: Some(Duration::from_millis(120)), ..EVENT };
        let found = findings(&mut meter(event, [0.0; 3]), &[-70.0; 10]);
        assert_eq!(found.iter().map(|(millis, _)| *millis).collect::<Vec<_>>(), [80, 200, 320]);
    }

    #[test]
    fn the_cells_own_offsets_count() {
        assert_eq!(findings(&mut meter(EVENT, [0.0, 4.0, 0.0]), &[-80.9; 4]), [(80, Finding::Better(1))]);
        assert_eq!(findings(&mut meter(EVENT, [0.0, 4.0, 0.0]), &[-81.0; 4]), []);
        assert_eq!(findings(&mut meter(EVENT, [4.0, 0.0, 0.0]), &[-73.0; 4]), []);
    }

    #[test]
    fn a_new_serving_cell_and_a_new_event_start_afresh() {
        let mut meter = meter(EVENT, [0.0; 3]);
        assert_eq!(findings(&mut meter, &[-76.0; 3]), [(80, Finding::Better(1))]);
        meter.evaluate(EVENT);
        assert_eq!(findings(&mut meter, &[-76.0; 3]), [(80, Finding::Better(1))]);
        meter.serve(Some(1));
        let levels = [-70.0, -80.0, f64::NEG_INFINITY];
        assert_eq!(meter.sample(at(1000), &levels), []);
        assert_eq!(meter.sample(at(1080), &levels), [Finding::Better(0)]);
    }

    #[test]
    fn the_filter_keeps_its_time_constant_at_any_period() {
        // k = 4: a = 1/2 at 200 ms. A step of 8 dB is half done after 200 ms, three quarters after 400.
        for (period, steps) in [(200, 1), (100, 2), (40, 5), (20, 10)] {
            let period = Duration::from_millis(period);
            let mut meter = Meter::new(period, Duration::from_millis(100), -110.0, vec![0.0; 2]);
            meter.evaluate(A3 { filter_coefficient: 4, ..EVENT });
            meter.sample(at(0), &[-80.0, -90.0]);
            let mut after = |steps| {
                (0..steps).for_each(|_| drop(meter.sample(at(1), &[-80.0, -82.0])));
                meter.cells[1].filtered.unwrap_or_default()
            };
            assert!((after(steps) + 86.0).abs() < 1e-9);
            assert!((after(steps) + 84.0).abs() < 1e-9);
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
        assert_eq!(meter.sample(at(80), &levels), [Finding::Better(1)]);
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
}
