//! Measurements of a host: levels of cells, filtered; conditions on them ([`Event`]); cells out of coverage (TS 36.331
//! §5.3.11, §5.5.3.2, §5.5.4; TS 38.331 §5.3.10, §5.5.3.2, §5.5.4).
//!
//! A [`Meter`] gets the levels at regular times and returns the reports of layer 2. It reads no clock and does not know
//! the source of the levels ([`crate::signal`]).

mod events;
mod link;

pub use events::{Condition, Event, Finding, Reference, Test};
use events::{Evaluation, Sample};
use link::Supervision;
use roamlab_engine::{Duration, Time};

/// The measurements of one host.
#[derive(Clone, Debug)]
pub struct Meter {
    period: Duration,
    link: Supervision,
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
    /// Where the cells' transmitters and the host are, in m.
    sites: Vec<Option<[f64; 2]>>,
    here: Option<[f64; 2]>,
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
            link: Supervision::new(t310),
            audible_dbm,
            offsets,
            filter_coefficient: 0,
            evaluations: Vec::new(),
            filtered: vec![None; cells],
            levels: vec![f64::NEG_INFINITY; cells],
            serving: None,
            sites: vec![None; cells],
            here: None,
            searching: false,
        }
    }

    /// The same with `n310` indications in a row that start T310, and `n311` that stop it.
    #[must_use]
    pub fn with_counts(mut self, n310: u32, n311: u32) -> Meter {
        (self.link.n310, self.link.n311) = (n310, n311);
        self
    }

    /// The same with the places of the cells' transmitters, in m.
    #[must_use]
    pub fn with_sites(self, sites: Vec<Option<[f64; 2]>>) -> Meter {
        Meter { sites, ..self }
    }

    /// Where the host is at the next measurement, in m.
    pub fn locate(&mut self, here: Option<[f64; 2]>) {
        self.here = here;
    }

    /// Evaluates these conditions from now on, each in place of one of its name. `filter_coefficient` is k of the layer-3
    /// filter. Filtered levels stay, and so does what is known of a candidate that both name (TS 36.331 §5.5.2.3: a
    /// candidate that is added leaves the measurement of the others as it is).
    pub fn evaluate(&mut self, filter_coefficient: u8, conditions: Vec<Condition>) {
        self.filter_coefficient = filter_coefficient;
        for condition in conditions {
            let mut new = Evaluation::new(condition, self.offsets.len());
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
        self.link.restart();
        self.evaluations.iter_mut().for_each(Evaluation::forget);
    }

    /// True if `cell` could be heard at the last measurement.
    pub fn hears(&self, cell: usize) -> bool {
        self.levels[cell] >= self.audible_dbm
    }

    /// The level of `cell` at the last measurement, in dBm; minus infinity: it is not there.
    pub fn level(&self, cell: usize) -> f64 {
        self.levels[cell]
    }

    /// True if the serving cell could not be heard at the last measurement.
    pub fn is_deaf(&self) -> bool {
        self.link.is_out_of_sync()
    }

    /// Takes the levels of all cells in, in dBm; minus infinity for a cell that is not there. What layer 2 has to
    /// report, in this order: radio link failure, better neighbours by condition and number, the cell found.
    pub fn sample(&mut self, now: Time, levels: &[f64]) -> Vec<Finding> {
        let mut findings = Vec::new();
        self.levels.copy_from_slice(levels);
        if let Some(serving) = self.serving
            && self.link.indicate(self.hears(serving), now)
        {
            findings.push(Finding::RadioLinkFailure);
        }
        self.filter();
        if let Some(serving) = self.serving.filter(|_| !self.evaluations.is_empty()) {
            let levels: Vec<f64> =
                self.filtered.iter().map(|level| level.unwrap_or(f64::NEG_INFINITY)).collect();
            let (offsets, sites) = (self.offsets.as_slice(), self.sites.as_slice());
            let sample = Sample { now, levels: &levels, offsets, serving, here: self.here, sites };
            let heard = |&level: &f64| if level >= self.audible_dbm { level } else { f64::NEG_INFINITY };
            let is_needed = self.evaluations.iter().any(|evaluation| evaluation.condition.unfiltered);
            let own: Vec<f64> = self.levels.iter().filter(|_| is_needed).map(heard).collect();
            for evaluation in &mut self.evaluations {
                match evaluation.condition.unfiltered {
                    false => evaluation.compare(&sample, &mut findings),
                    true => evaluation.compare(&Sample { levels: &own, ..sample }, &mut findings),
                }
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

#[cfg(test)]
mod walk;

#[cfg(test)]
mod tests;
