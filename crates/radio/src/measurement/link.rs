//! Supervision of the radio link: N310, T310 and N311 (TS 36.331 §5.3.11, TS 38.331 §5.3.10).

use roamlab_engine::{Duration, Time};

/// The supervision of the serving cell. Each measurement is one indication of the physical layer.
///
/// ASSUMPTION: in sync is a level: there is no model of interference in which a cell could be strong and yet lost.
#[derive(Clone, Debug)]
pub(super) struct Supervision {
    pub(super) t310: Duration,
    /// Indications of out of sync in a row that start T310.
    pub(super) n310: u32,
    /// Indications of in sync in a row that stop it.
    pub(super) n311: u32,
    /// Out of sync in a row.
    lost: u32,
    /// In sync in a row.
    heard: u32,
    /// Since when T310 runs; and whether its expiry was reported.
    running: Option<(Time, bool)>,
}

impl Supervision {
    /// One out of sync starts T310, and one in sync stops it.
    pub(super) fn new(t310: Duration) -> Supervision {
        Supervision { t310, n310: 1, n311: 1, lost: 0, heard: 0, running: None }
    }

    /// There is another serving cell, or none: T310 stops.
    pub(super) fn restart(&mut self) {
        (self.lost, self.heard, self.running) = (0, 0, None);
    }

    /// True if the last indication was out of sync.
    pub(super) fn is_out_of_sync(&self) -> bool {
        self.lost > 0
    }

    /// An indication; true if the link has failed now: T310 is over. Once, until it is stopped.
    pub(super) fn indicate(&mut self, in_sync: bool, now: Time) -> bool {
        if in_sync {
            (self.lost, self.heard) = (0, self.heard.saturating_add(1));
            if self.heard >= self.n311 {
                self.running = None;
            }
        } else {
            (self.lost, self.heard) = (self.lost.saturating_add(1), 0);
            if self.lost >= self.n310 {
                self.running.get_or_insert((now, false));
            }
        }
        let over = |(since, reported): &&mut (Time, bool)| !*reported && now.since(*since) >= self.t310;
        match self.running.as_mut().filter(over) {
            Some((_, reported)) => {
                *reported = true;
                true
            }
            None => false,
        }
    }
}
