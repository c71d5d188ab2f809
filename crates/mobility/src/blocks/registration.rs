//! A mobile host's registration with a base station. It is repeated until it is acknowledged, and names the earlier
//! base stations.

use crate::Identification;
use crate::backoff::Backoff;
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;

/// The last registration of a mobile host.
#[derive(Clone, Debug)]
pub struct Registration {
    /// Time to the first repetition, and what later ones double up to.
    retransmit: (Duration, Duration),
    id: Identification,
    /// When it is repeated; `None`: it has been acknowledged, or there is no base station to register with.
    again: Option<Backoff>,
    /// Base stations that may have a way to the host: the last one that acknowledged, and those tried since.
    visited: Vec<Addr>,
}

impl Registration {
    /// None yet. Repetitions come after the first of `retransmit`, doubled up to the second.
    pub fn new(retransmit: (Duration, Duration)) -> Registration {
        Registration { retransmit, id: Identification::default(), again: None, visited: Vec::new() }
    }

    /// Difference from earlier ones.
    pub fn id(&self) -> Identification {
        self.id
    }

    /// True if it waits for its acknowledgement.
    pub fn is_pending(&self) -> bool {
        self.again.is_some()
    }

    /// When it is repeated, if it is.
    pub fn deadline(&self) -> Option<Time> {
        self.again.map(|again| again.at)
    }

    /// A new one is sent now to a base station.
    pub fn begin(&mut self, base_station: Addr, now: Time) {
        self.id = self.id.newer(now);
        self.again = Some(Backoff::start(now, self.retransmit.0, self.retransmit.1));
        self.visited.retain(|visited| *visited != base_station);
        self.visited.push(base_station);
    }

    /// The other base stations that may have a way to the host, in the order in which it visited them.
    pub fn previous(&self, base_station: Addr) -> Vec<Addr> {
        self.visited.iter().copied().filter(|visited| *visited != base_station).collect()
    }

    /// True if it has to be repeated now.
    pub fn repeats(&mut self, now: Time) -> bool {
        let due = self.again.filter(|again| again.at <= now);
        self.again = due.map(|again| again.again(now)).or(self.again);
        due.is_some()
    }

    /// True if this acknowledgement is the one that it waits for.
    pub fn is_acknowledged(&mut self, id: Identification, by: Addr) -> bool {
        let expected = id == self.id && self.again.take().is_some();
        if expected {
            self.visited = vec![by];
        }
        expected
    }

    /// There is no base station to register with.
    pub fn give_up(&mut self) {
        self.again = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_base_station_that_may_have_a_way_is_named_once_by_its_last_visit() {
        let [a, b, c] = [1, 2, 3].map(Addr::node);
        let wait = Duration::from_millis(100);
        let mut registration = Registration::new((wait, wait * 10));
        for base_station in [a, b, a, c] {
            registration.begin(base_station, Time::ZERO);
        }
        assert_eq!(registration.previous(c), [b, a]);
        let id = registration.id();
        assert!(registration.is_acknowledged(id, c) && !registration.is_acknowledged(id, c));
        assert_eq!(registration.previous(c), [], "that one has the way now");
    }
}
