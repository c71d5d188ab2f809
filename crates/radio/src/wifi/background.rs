//! Roaming by signal: when a station scans although it has a cell, and whether it goes to a cell that it has found.
//!
//! Source: wpa_supplicant, the module `simple` of background scans (`bgscan_simple.c`) and the choice within a network
//! (`wpa_supplicant_need_to_roam_within_ess` in `events.c`); mac80211, the monitor of signal levels (`mlme.c`).
//!
//! DEVIATION: wpa_supplicant also compares estimated throughputs and bands. The rate of a cell does not depend on the level
//! here, so it compares levels alone.
//!
//! ASSUMPTION: levels are not rounded to whole dBm, and the last one counts: mac80211 averages those of beacons.

use roamlab_engine::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How strong a station receives a cell; the greater is stronger.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Strength {
    /// When it came into the cell's coverage last.
    ///
    /// ASSUMPTION: without levels a station hears that cell best into whose coverage it came last.
    Since(Time),
    /// The level in thousandths of a dBm.
    Level(i64),
}

impl Strength {
    /// That of a level in dBm; minus infinity is the least one.
    pub fn of_level(dbm: f64) -> Strength {
        Strength::Level(milli(dbm))
    }
}

fn milli(db: f64) -> i64 {
    libm::round(db * 1e3) as i64
}

/// Scans of a station that has a cell, as `bgscan = "simple:short:threshold:long"` of wpa_supplicant.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BackgroundScan {
    /// Time between two scans while the cell is weaker than the threshold.
    pub short_interval: Duration,
    /// The threshold, in dBm.
    pub threshold_dbm: f64,
    /// Time between two scans else.
    pub long_interval: Duration,
    /// A level counts as another one when it differs from the last reported one by more than this, in dB.
    pub monitor_hysteresis_db: f64,
    /// A cell that is stronger than this is not left, in dBm.
    pub keep_above_dbm: f64,
    /// Levels of the present cell at which the difference that is needed becomes another one, in dBm, falling.
    pub level_steps_dbm: Vec<f64>,
    /// By how much another cell has to be stronger, in dB: at or above the first step, then below each.
    pub min_difference_db: Vec<f64>,
}

/// ASSUMPTION: NetworkManager's `simple:30:-65:300`, which it writes for networks of several access points. The monitor's
/// hysteresis is that of `bgscan_simple.c`. 25 dB above a noise of -89 dBm (2.4 GHz) is -64 dBm; the steps and
/// differences are those of `events.c`.
impl Default for BackgroundScan {
    fn default() -> BackgroundScan {
        BackgroundScan {
            short_interval: Duration::from_secs(30),
            threshold_dbm: -65.0,
            long_interval: Duration::from_secs(300),
            monitor_hysteresis_db: 4.0,
            keep_above_dbm: -64.0,
            level_steps_dbm: vec![-70.0, -75.0, -80.0, -85.0],
            min_difference_db: vec![5.0, 4.0, 3.0, 2.0, 1.0],
        }
    }
}

impl BackgroundScan {
    /// Checks that a station can scan so.
    ///
    /// # Errors
    /// The field at fault, and what to write.
    pub(super) fn check(&self) -> Result<(), (String, String)> {
        let bad = |field: &str, message: String| Err((format!("background_scan.{field}"), message));
        for (field, wait) in [("short_interval", self.short_interval), ("long_interval", self.long_interval)]
        {
            if wait < Duration::from_millis(1) {
                return bad(field, "expected 1 ms or more: write for example \"30 s\"".to_owned());
            }
        }
        if self.long_interval < self.short_interval {
            let least = self.short_interval;
            return bad(
                "long_interval",
                format!("it is less than `short_interval`: write at least \"{least}\""),
            );
        }
        let levels = [
            ("threshold_dbm", self.threshold_dbm, "-65.0"),
            ("keep_above_dbm", self.keep_above_dbm, "-64.0"),
        ];
        for (field, level, example) in levels {
            if !level.is_finite() {
                return bad(field, format!("the level is no number: write for example {example}"));
            }
        }
        if !(self.monitor_hysteresis_db >= 0.0 && self.monitor_hysteresis_db.is_finite()) {
            return bad("monitor_hysteresis_db", "expected 0 dB or more: write for example 4.0".to_owned());
        }
        let falls = |pair: &[f64]| pair[0] > pair[1];
        if !(self.level_steps_dbm.iter().all(|step| step.is_finite())
            && self.level_steps_dbm.windows(2).all(falls))
        {
            return bad(
                "level_steps_dbm",
                "expected falling levels: write for example [-70.0, -80.0]".to_owned(),
            );
        }
        let (differences, steps) = (self.min_difference_db.len(), self.level_steps_dbm.len());
        if differences != steps + 1 {
            let message = format!(
                "expected one more than the {steps} of `level_steps_dbm`, got {differences}: write {} numbers",
                steps + 1
            );
            return bad("min_difference_db", message);
        }
        match self.min_difference_db.iter().all(|&each| (0.0..=100.0).contains(&each)) {
            true => Ok(()),
            false => bad("min_difference_db", "expected 0 to 100 dB each: write for example 5.0".to_owned()),
        }
    }

    /// True if a station in a cell of the first level goes to one of the second, in thousandths of a dBm.
    pub(super) fn prefers(&self, present: i64, other: i64) -> bool {
        let passed = self.level_steps_dbm.iter().take_while(|&&step| present < milli(step)).count();
        other > present
            && present <= milli(self.keep_above_dbm)
            && other - present >= milli(self.min_difference_db[passed])
    }
}

/// A scan comes immediately when the cell becomes weaker and the last one is older than this (`bgscan_simple.c`).
const RECENT: Duration = Duration::from_secs(1);
/// The same when it becomes weaker still.
const OLD: Duration = Duration::from_secs(10);

/// Time of the next scan of a station in one cell.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    spec: BackgroundScan,
    /// It takes the short interval.
    short: bool,
    /// Scans by the short interval; scans by the long one are subtracted.
    short_scans: u64,
    /// When the last one began; first when the station entered the cell.
    last: Time,
    /// When the next one is due; `None`: one is under way.
    due: Option<Time>,
    /// The level that was reported last.
    reported: Option<i64>,
}

impl Schedule {
    /// That of a station that has just entered a cell with this level.
    pub(super) fn begin(spec: BackgroundScan, level: i64, now: Time) -> Schedule {
        let short = level < milli(spec.threshold_dbm);
        let mut new = Schedule { spec, short, short_scans: 0, last: now, due: None, reported: None };
        new.due = Some(now + new.interval());
        new
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    fn interval(&self) -> Duration {
        if self.short { self.spec.short_interval } else { self.spec.long_interval }
    }

    /// Scans by the short interval at most: those of a long interval.
    fn has_scans_left(&self) -> bool {
        let (long, short) = (self.spec.long_interval.as_nanos(), self.spec.short_interval.as_nanos());
        self.short_scans <= long / short + 1
    }

    /// A scan begins.
    pub(super) fn scan_begins(&mut self, now: Time) {
        if self.short {
            self.short_scans += 1;
            self.short = self.has_scans_left();
        } else {
            self.short_scans = self.short_scans.saturating_sub(1);
        }
        (self.last, self.due) = (now, None);
    }

    /// A scan has ended, and the station stays.
    pub(super) fn scan_ends(&mut self, now: Time) {
        self.due = Some(now + self.interval());
    }

    /// The level of the cell, in thousandths of a dBm: mac80211 reports a change across the threshold, or a further one.
    pub(super) fn measure(&mut self, level: i64, now: Time) {
        let (threshold, hysteresis) =
            (milli(self.spec.threshold_dbm), milli(self.spec.monitor_hysteresis_db));
        let falls = level < threshold && self.reported.is_none_or(|last| level < last - hysteresis);
        let rises = level > threshold && self.reported.is_none_or(|last| level > last + hysteresis);
        if !(falls || rises) {
            return;
        }
        self.reported = Some(level);
        if self.spec.short_interval == self.spec.long_interval {
            return;
        }
        let (BackgroundScan { short_interval, long_interval, .. }, last) = (&self.spec, self.last);
        let due = match (self.short, falls) {
            (false, true) if now > last + RECENT && self.has_scans_left() => Some(now),
            (false, true) if last + *long_interval > now + *short_interval => Some(now + *short_interval),
            (true, false) => Some(now + *long_interval),
            (true, true) if now > last + OLD => Some(now),
            _ => None,
        };
        self.short = falls;
        // A scan that is under way sets the next time itself.
        if self.due.is_some() {
            self.due = due.or(self.due);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// `simple:30:-65:300`, entered at 0 with this level in dBm.
    fn entered(dbm: i64) -> Schedule {
        Schedule::begin(BackgroundScan::default(), dbm * 1000, at(0))
    }

    #[test]
    fn the_difference_that_is_needed_falls_with_the_level() {
        let spec = BackgroundScan::default();
        let needed = |present: i64| {
            (0..=60).map(|tenth| tenth * 100).find(|more| spec.prefers(present, present + more))
        };
        // At -70 dBm 5 dB, below it 4 dB, and so on; a level above -64 dBm is kept.
        let levels =
            [-63_999, -64_000, -70_000, -70_001, -75_000, -75_001, -80_000, -80_001, -85_000, -85_001];
        let expected = [
            None,
            Some(5000),
            Some(5000),
            Some(4000),
            Some(4000),
            Some(3000),
            Some(3000),
            Some(2000),
            Some(2000),
            Some(1000),
        ];
        assert_eq!(levels.map(needed), expected);
        let one = BackgroundScan { level_steps_dbm: vec![], min_difference_db: vec![0.0], ..spec };
        assert!(
            !one.prefers(-80_000, -80_000) && one.prefers(-80_000, -79_999),
            "an equal cell is not better"
        );
    }

    #[test]
    fn a_weak_cell_is_scanned_by_the_short_interval_and_a_strong_one_by_the_long_one() {
        assert_eq!(
            [-66, -65, -40].map(|dbm| entered(dbm).due()),
            [30_000, 300_000, 300_000].map(|ms| Some(at(ms)))
        );
    }

    #[test]
    fn a_cell_that_becomes_weak_is_scanned_at_once_and_then_by_the_short_interval() {
        let mut schedule = entered(-50);
        schedule.measure(-50_000, at(40));
        schedule.measure(-65_000, at(5_000));
        assert_eq!(schedule.due(), Some(at(300_000)), "the threshold itself is neither above nor below");
        schedule.measure(-65_001, at(6_000));
        assert_eq!(schedule.due(), Some(at(6_000)));
        schedule.scan_begins(at(6_000));
        schedule.measure(-69_002, at(6_050));
        assert_eq!(schedule.due(), None, "it is under way");
        schedule.scan_ends(at(6_100));
        assert_eq!(schedule.due(), Some(at(36_100)));
        // 4 dB further, within 10 s of the last one and later.
        schedule.measure(-73_003, at(15_999));
        assert_eq!(schedule.due(), Some(at(36_100)));
        schedule.measure(-77_004, at(16_001));
        assert_eq!(schedule.due(), Some(at(16_001)));
    }

    #[test]
    fn within_a_second_of_the_entry_the_short_interval_begins_and_no_scan() {
        let mut schedule = entered(-50);
        schedule.measure(-66_000, at(1_000));
        assert_eq!(schedule.due(), Some(at(31_000)));
        schedule.measure(-61_500, at(2_000));
        assert_eq!(schedule.due(), Some(at(302_000)), "4.5 dB more: the long one again");
        let mut small = entered(-66);
        small.measure(-66_000, at(10));
        small.measure(-62_000, at(2_000));
        assert_eq!(small.due(), Some(at(30_000)), "4 dB are no change");
    }

    #[test]
    fn a_station_scans_by_the_short_interval_for_a_long_one_at_most() {
        let mut schedule = entered(-70);
        let mut now = at(0);
        // 300 / 30 + 1 = 11 scans more than that by which it notices.
        for scan in 1..=12 {
            now = schedule.due().unwrap();
            assert_eq!(now, at(30_000 * scan));
            schedule.scan_begins(now);
            schedule.scan_ends(now);
        }
        assert_eq!(schedule.due(), Some(now + Duration::from_secs(300)));
    }
}
