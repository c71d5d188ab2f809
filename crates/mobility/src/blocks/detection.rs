//! Movement detection: how a host detects that it is in another cell.

use super::check_times;
use crate::{L2Trigger, Refusal};
use roamlab_engine::{Duration, Rng, Time};
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Way in which a host detects that it is in another cell.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DetectedBy {
    /// Layer 2 reports it immediately.
    LinkLayer,
    /// It hears the beacon of a base station that it did not hear before, and turns to it.
    Advertisement,
    /// It has missed beacons of its base station, and turns to the one that it heard last.
    BeaconLoss,
}

/// Movement detection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Detection {
    /// Means of detection. Default "link-layer".
    pub by: DetectedBy,
    /// How much later layer 3 of the host knows. Default 0 ns.
    pub delay: Duration,
    /// Time between two beacons of a base station; none are sent with "link-layer". Default 100 ms.
    pub beacon_interval: Duration,
}

impl Default for Detection {
    fn default() -> Self {
        Detection {
            by: DetectedBy::LinkLayer,
            delay: Duration::ZERO,
            beacon_interval: Duration::from_millis(100),
        }
    }
}

/// A base station is heard no more when this many of its beacons are missing and half another interval has passed.
const LOST_BEACONS: u64 = 3;

/// Least time between two beacons. IEEE 802.11 counts beacon intervals in units of 1.024 ms.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

impl Detection {
    /// Refuses what cannot run; the table is `detection`.
    ///
    /// # Errors
    /// The field, and what to write instead.
    pub fn check(&self) -> Result<(), Refusal> {
        check_times("detection", [("beacon_interval", self.beacon_interval)])?;
        if self.beacon_interval < SHORTEST_INTERVAL {
            let refusal = Refusal::at("detection.beacon_interval", "no base station sends that often");
            return Err(refusal.help(format!("write at least \"{SHORTEST_INTERVAL}\"")));
        }
        Ok(())
    }

    /// Time between two beacons of a base station; `None`: it sends none.
    pub fn interval(&self) -> Option<Duration> {
        (self.by != DetectedBy::LinkLayer).then_some(self.beacon_interval)
    }

    /// When a cell sends its first beacon, from the cell's random stream.
    pub fn phase(&self, cell: &str, stream: &dyn Fn(&str) -> Rng) -> Duration {
        stream(&format!("{cell}/beacon")).uniform_duration(self.beacon_interval)
    }

    /// How long a base station counts as heard after a beacon.
    fn memory(&self) -> Duration {
        let half = Duration::from_nanos(self.beacon_interval.as_nanos() / 2);
        self.beacon_interval.saturating_mul(LOST_BEACONS) + half
    }
}

/// When a base station sends its beacons.
#[derive(Clone, Debug)]
pub struct Beacons {
    next: Option<Time>,
    interval: Duration,
}

impl Beacons {
    /// The first beacon comes at `phase`.
    pub fn new(phase: Duration, detection: &Detection) -> Beacons {
        let next = detection.interval().map(|_| Time::ZERO + phase);
        Beacons { next, interval: detection.beacon_interval }
    }

    /// True if a beacon is to be sent now.
    pub fn are_due(&mut self, now: Time) -> bool {
        let due = self.next.is_some_and(|next| next <= now);
        if due {
            self.next = Some(now + self.interval);
        }
        due
    }

    /// When the next one is sent.
    pub fn deadline(&self) -> Option<Time> {
        self.next
    }
}

/// Result of the detection.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// Its base station is this one now.
    Moved(Addr),
    /// It has no base station any more.
    Lost,
}

/// Movement detection at a host.
#[derive(Clone, Debug)]
pub struct Detector {
    detection: Detection,
    /// Base stations that are heard, in the order in which they were first heard, and until when they count as such.
    heard: Vec<(Addr, Time)>,
    current: Option<Addr>,
    /// The base station that layer 3 learns of at this time.
    pending: Option<(Addr, Time)>,
}

impl Detector {
    /// For a host that hears no base station.
    pub fn new(detection: &Detection) -> Detector {
        Detector { detection: detection.clone(), heard: Vec::new(), current: None, pending: None }
    }

    /// The host's base station, as far as it knows.
    pub fn current(&self) -> Option<Addr> {
        self.current
    }

    /// Layer 2 reports.
    pub fn on_trigger(&mut self, trigger: &L2Trigger, now: Time) -> Option<Found> {
        if self.detection.by != DetectedBy::LinkLayer {
            return None;
        }
        match *trigger {
            L2Trigger::LinkUp { base_station } => {
                self.heard.retain(|(known, _)| *known != base_station);
                self.heard.push((base_station, Time::MAX));
            }
            L2Trigger::LinkDown { base_station } => self.heard.retain(|(known, _)| *known != base_station),
            _ => return None,
        }
        self.choose(now)
    }

    /// The host hears a beacon.
    pub fn on_beacon(&mut self, base_station: Addr, now: Time) -> Option<Found> {
        if self.detection.by == DetectedBy::LinkLayer {
            return None;
        }
        let until = now + self.detection.memory();
        match self.heard.iter_mut().find(|(known, _)| *known == base_station) {
            Some(known) => known.1 = until,
            None => self.heard.push((base_station, until)),
        }
        self.choose(now)
    }

    /// Time has passed.
    pub fn on_time(&mut self, now: Time) -> Option<Found> {
        self.heard.retain(|(_, until)| *until > now);
        if let Some((base_station, _)) = self.pending.take_if(|(_, at)| *at <= now) {
            self.current = Some(base_station);
            // It may be gone by now: then the choice names the next one.
            return self.choose(now).or(Some(Found::Moved(base_station)));
        }
        self.choose(now)
    }

    /// When time matters next.
    pub fn deadline(&self) -> Option<Time> {
        let ends = self.heard.iter().map(|(_, until)| *until).filter(|until| *until < Time::MAX);
        ends.chain(self.pending.map(|(_, at)| at)).min()
    }

    fn choose(&mut self, now: Time) -> Option<Found> {
        let newest = self.heard.last().map(|(base_station, _)| *base_station);
        let stays = self.current.filter(|current| self.heard.iter().any(|(known, _)| known == current));
        let wanted = match self.detection.by {
            DetectedBy::LinkLayer | DetectedBy::Advertisement => newest,
            DetectedBy::BeaconLoss => stays.or(newest),
        };
        let Some(wanted) = wanted.filter(|wanted| Some(*wanted) != stays) else {
            self.pending = None;
            return self.lose(stays);
        };
        if self.detection.delay == Duration::ZERO {
            self.current = Some(wanted);
            return Some(Found::Moved(wanted));
        }
        if self.pending.is_none_or(|(target, _)| target != wanted) {
            self.pending = Some((wanted, now + self.detection.delay));
        }
        self.lose(stays)
    }

    /// The base station is forgotten if it is heard no more.
    fn lose(&mut self, stays: Option<Addr>) -> Option<Found> {
        (std::mem::replace(&mut self.current, stays).is_some() && stays.is_none()).then_some(Found::Lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Found::{Lost, Moved};

    const A: Addr = Addr::new(1, 0);
    const B: Addr = Addr::new(2, 0);

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn detector(by: DetectedBy, delay: u64) -> Detector {
        Detector::new(&Detection { by, delay: Duration::from_millis(delay), ..Detection::default() })
    }

    fn up(base_station: Addr) -> L2Trigger {
        L2Trigger::LinkUp { base_station }
    }

    fn down(base_station: Addr) -> L2Trigger {
        L2Trigger::LinkDown { base_station }
    }

    #[test]
    fn layer_2_tells_at_once_and_the_newest_cell_counts() {
        let mut host = detector(DetectedBy::LinkLayer, 0);
        assert_eq!(host.on_trigger(&up(A), ms(0)), Some(Moved(A)));
        assert_eq!(host.on_trigger(&up(B), ms(10)), Some(Moved(B)));
        assert_eq!(host.on_trigger(&down(A), ms(20)), None, "it is in the other one");
        assert_eq!(host.on_trigger(&up(A), ms(30)), Some(Moved(A)));
        assert_eq!(host.on_trigger(&down(A), ms(40)), Some(Moved(B)), "it turns back");
        assert_eq!(host.on_trigger(&down(B), ms(50)), Some(Lost));
        assert_eq!((host.current(), host.deadline()), (None, None));
        assert_eq!(host.on_beacon(B, ms(60)), None);
    }

    #[test]
    fn layer_3_may_learn_later_and_only_what_still_holds() {
        let mut host = detector(DetectedBy::LinkLayer, 30);
        assert_eq!(host.on_trigger(&up(A), ms(0)), None);
        assert_eq!(host.on_time(ms(30)), Some(Moved(A)));
        assert_eq!(host.on_trigger(&down(A), ms(100)), Some(Lost));
        assert_eq!(host.on_trigger(&up(B), ms(110)), None);
        assert_eq!(host.deadline(), Some(ms(140)));
        assert_eq!((host.on_time(ms(120)), host.current()), (None, None));
        assert_eq!(host.on_trigger(&down(B), ms(130)), None, "it was there too briefly");
        assert_eq!((host.on_time(ms(140)), host.deadline()), (None, None));
    }

    #[test]
    fn an_advertisement_of_an_unheard_base_station_moves_the_host() {
        let mut host = detector(DetectedBy::Advertisement, 0);
        assert_eq!(host.on_trigger(&up(A), ms(0)), None);
        assert_eq!(host.on_beacon(A, ms(40)), Some(Moved(A)));
        assert_eq!(host.on_beacon(B, ms(90)), Some(Moved(B)));
        assert_eq!(host.on_beacon(A, ms(140)), None, "it is heard still");
        assert_eq!(host.on_beacon(A, ms(240)), None);
        assert_eq!(host.on_time(ms(440)), Some(Moved(A)), "three beacons of the other are missing");
        assert_eq!(host.on_time(ms(590)), Some(Lost));
    }

    #[test]
    fn with_beacon_loss_a_host_stays_while_it_hears_its_base_station() {
        let mut host = detector(DetectedBy::BeaconLoss, 0);
        assert_eq!(host.on_beacon(A, ms(0)), Some(Moved(A)));
        assert_eq!(host.on_beacon(B, ms(90)), None);
        assert_eq!(host.on_beacon(B, ms(290)), None);
        assert_eq!(host.deadline(), Some(ms(350)));
        assert_eq!(host.on_time(ms(350)), Some(Moved(B)));
    }

    #[test]
    fn beacons_come_at_their_interval_unless_layer_2_tells() {
        let detection = Detection { by: DetectedBy::Advertisement, ..Detection::default() };
        let mut beacons = Beacons::new(Duration::from_millis(30), &detection);
        assert!(!beacons.are_due(ms(29)) && beacons.are_due(ms(30)) && !beacons.are_due(ms(129)));
        assert_eq!(beacons.deadline(), Some(ms(130)));
        assert_eq!(Beacons::new(Duration::ZERO, &Detection::default()).deadline(), None);
    }

    #[test]
    fn what_cannot_run_is_refused() {
        let refused = |detection: Detection| detection.check().err().map(|refusal| refusal.field);
        assert_eq!(refused(Detection::default()), None);
        let interval = |beacon_interval| refused(Detection { beacon_interval, ..Detection::default() });
        assert_eq!(interval(Duration::ZERO).as_deref(), Some("detection.beacon_interval"));
        assert_eq!(interval(Duration::from_micros(1)).as_deref(), Some("detection.beacon_interval"));
    }
}
