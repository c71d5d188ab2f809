//! Events of measurements, and the state of each of them for each neighbour (TS 36.331 §5.5.4, TS 38.331 §5.3.5.13.4
//! and §5.5.4).

use crate::signal::distance;
use roamlab_engine::{Duration, Time};

/// A condition on neighbours: one event, or two that both hold. Cells are numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    /// Its name, which each finding carries.
    pub name: &'static str,
    /// The neighbours that it is about; `None`: all.
    pub candidates: Option<Vec<usize>>,
    /// The event.
    pub event: Event,
    /// A second event that has to be met too, each after its own time to trigger.
    pub second: Option<Event>,
    /// Until a neighbour that stays better is reported again; `None`: it is not.
    pub report_interval: Option<Duration>,
    /// One measurement at which a leaving condition holds ends its event; else it has to hold for the time to trigger.
    pub leaves_at_once: bool,
    /// It is about levels that the layer-3 filter has not changed.
    pub unfiltered: bool,
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
    /// T310 is over: the serving cell was out of sync for so long.
    RadioLinkFailure,
    /// The strongest cell that can be heard, when one was searched for.
    Found(usize),
}

/// An event, with its time to trigger.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Event {
    /// The entry and the leaving condition.
    pub test: Test,
    /// How long the entry condition has to hold before the event is met.
    pub time_to_trigger: Duration,
}

/// The conditions of an event for a neighbour.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Test {
    /// The neighbour is better than the serving cell by an offset (event A3). Levels have the cells' own offsets.
    Offset {
        /// Off, in dB.
        offset_db: f64,
        /// Hys, in dB.
        hysteresis_db: f64,
    },
    /// The serving cell is below a level, without its offset, and the neighbour, with its offset, above another one
    /// (event A5; A4: the first level is infinite).
    Thresholds {
        /// Thresh1, in dBm.
        serving_below_dbm: f64,
        /// Thresh2, in dBm.
        neighbour_above_dbm: f64,
        /// Hys, in dB.
        hysteresis_db: f64,
    },
    /// The host is far from one place and near another one (event D1). A place that is not known meets nothing.
    Distances {
        /// Reference 1.
        from: Reference,
        /// Thresh1, in m.
        beyond_m: f64,
        /// Reference 2.
        to: Reference,
        /// Thresh2, in m.
        within_m: f64,
        /// Hys, in m.
        hysteresis_m: f64,
    },
    /// It is later than a time, and not later than another one (event T1).
    Window {
        /// Thresh1.
        from: Time,
        /// Thresh1 and the duration.
        until: Time,
    },
}

/// A place from which distances are measured.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Reference {
    /// This point, in m.
    Point([f64; 2]),
    /// The transmitter of the serving cell.
    Serving,
    /// The transmitter of the neighbour.
    Neighbour,
}

/// A condition, and what is known of it for each cell.
#[derive(Clone, Debug)]
pub(super) struct Evaluation {
    pub(super) condition: Condition,
    cells: Vec<Neighbour>,
}

/// State of a condition for one cell.
#[derive(Copy, Clone, Debug, Default)]
struct Neighbour {
    /// The event, and the second one if there is one.
    events: [State; 2],
    /// When it was reported last, if it is in the list of triggered cells.
    reported: Option<Time>,
}

/// State of an event for one cell.
#[derive(Copy, Clone, Debug, Default)]
struct State {
    /// Since when the entry condition holds.
    entered: Option<Time>,
    /// Since when the leaving condition holds, while the event is met.
    left: Option<Time>,
    /// The event is met.
    is_met: bool,
}

/// A measurement.
#[derive(Copy, Clone)]
pub(super) struct Sample<'a> {
    pub(super) now: Time,
    /// The filtered level of each cell, in dBm; minus infinity out of hearing.
    pub(super) levels: &'a [f64],
    /// Ocn of each cell, in dB.
    pub(super) offsets: &'a [f64],
    pub(super) serving: usize,
    /// Where the host is.
    pub(super) here: Option<[f64; 2]>,
    /// Where the cells' transmitters are.
    pub(super) sites: &'a [Option<[f64; 2]>],
}

impl Evaluation {
    /// A condition of which nothing is known for any of this number of cells.
    pub(super) fn new(condition: Condition, cells: usize) -> Evaluation {
        Evaluation { condition, cells: vec![Neighbour::default(); cells] }
    }

    /// Nothing is known for any cell.
    pub(super) fn forget(&mut self) {
        self.cells.fill(Neighbour::default());
    }

    /// Takes over the state that another condition with as many events has of candidates that both name.
    pub(super) fn keep_candidates(&mut self, known: &Evaluation) {
        let (Some(before), Some(candidates)) = (&known.condition.candidates, &self.condition.candidates)
        else {
            return;
        };
        if known.condition.second.is_some() != self.condition.second.is_some() {
            return;
        }
        for &cell in candidates.iter().filter(|cell| before.contains(cell)) {
            self.cells[cell] = known.cells[cell];
        }
    }

    /// Both events for each candidate.
    ///
    /// ASSUMPTION: a cell out of hearing meets no condition, also one of distance and time alone (TS 38.331 §5.3.5.13.4
    /// leaves to the host how it detects that cell).
    pub(super) fn compare(&mut self, sample: &Sample<'_>, findings: &mut Vec<Finding>) {
        let Condition { name, event, second, report_interval, leaves_at_once, .. } = self.condition;
        let candidates = self.condition.candidates.as_deref();
        for (number, cell) in self.cells.iter_mut().enumerate() {
            if number == sample.serving || candidates.is_some_and(|candidates| !candidates.contains(&number))
            {
                continue;
            }
            let [one, other] = &mut cell.events;
            let meets = one.update(&event, sample, number, leaves_at_once);
            let meets_second =
                second.is_none_or(|second| other.update(&second, sample, number, leaves_at_once));
            if !(meets && meets_second) {
                cell.reported = None;
                continue;
            }
            let is_due = cell.reported.is_none_or(|last| {
                report_interval.is_some_and(|interval| sample.now.since(last) >= interval)
            });
            if is_due && sample.levels[number] > f64::NEG_INFINITY {
                cell.reported = Some(sample.now);
                findings.push(Finding::Better { condition: name, cell: number });
            }
        }
    }
}

impl State {
    /// True if the event is met, with this measurement.
    fn update(&mut self, event: &Event, sample: &Sample<'_>, cell: usize, leaves_at_once: bool) -> bool {
        let (enters, leaves) = event.test.holds(sample, cell);
        let is_over = |since: Time| sample.now.since(since) >= event.time_to_trigger;
        if !leaves {
            self.left = None;
        } else if self.is_met && (leaves_at_once || is_over(*self.left.get_or_insert(sample.now))) {
            *self = State::default();
        }
        if !enters {
            self.entered = None;
        } else if !self.is_met && is_over(*self.entered.get_or_insert(sample.now)) {
            self.is_met = true;
        }
        self.is_met
    }
}

impl Test {
    /// True if the entry condition holds, and if the leaving condition does.
    fn holds(&self, sample: &Sample<'_>, cell: usize) -> (bool, bool) {
        let with_offset = |cell: usize| sample.levels[cell] + sample.offsets[cell];
        let silent = sample.levels[cell] == f64::NEG_INFINITY;
        match *self {
            Test::Offset { offset_db, hysteresis_db } => {
                // A serving cell out of hearing is worse than any neighbour.
                let (level, served) = (with_offset(cell), with_offset(sample.serving));
                let enters = level - hysteresis_db > served + offset_db;
                (enters, level + hysteresis_db < served + offset_db || silent)
            }
            Test::Thresholds { serving_below_dbm, neighbour_above_dbm, hysteresis_db } => {
                let (level, served) = (with_offset(cell), sample.levels[sample.serving]);
                let enters =
                    served + hysteresis_db < serving_below_dbm && level - hysteresis_db > neighbour_above_dbm;
                let leaves =
                    served - hysteresis_db > serving_below_dbm || level + hysteresis_db < neighbour_above_dbm;
                (enters, leaves || silent)
            }
            Test::Distances { from, beyond_m, to, within_m, hysteresis_m } => {
                let to_place = |reference: Reference| {
                    let place = match reference {
                        Reference::Point(point) => Some(point),
                        Reference::Serving => sample.sites[sample.serving],
                        Reference::Neighbour => sample.sites[cell],
                    };
                    Some(distance(sample.here?, place?))
                };
                let (Some(far), Some(near)) = (to_place(from), to_place(to)) else { return (false, true) };
                let enters = far - hysteresis_m > beyond_m && near + hysteresis_m < within_m;
                (enters, far + hysteresis_m < beyond_m || near - hysteresis_m > within_m)
            }
            Test::Window { from, until } => {
                let is_over = sample.now > until;
                (sample.now > from && !is_over, is_over)
            }
        }
    }
}
