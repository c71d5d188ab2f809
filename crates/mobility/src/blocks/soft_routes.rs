//! The soft state of route repair: routes of hosts' packets that expire unless they are refreshed.

use super::check_times;
use crate::{Identification, Refusal};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How soft state is kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SoftState {
    /// Time between two refreshes. Default 10 s.
    pub refresh: Duration,
    /// Time after which a route that has not been refreshed is removed. Default 30 s.
    pub lifetime: Duration,
}

impl Default for SoftState {
    fn default() -> Self {
        SoftState::USUAL
    }
}

impl SoftState {
    /// A lifetime of three refreshes.
    pub const USUAL: SoftState =
        SoftState { refresh: Duration::from_secs(10), lifetime: Duration::from_secs(30) };

    /// Refuses what cannot run.
    ///
    /// # Errors
    /// The field of `table`, and what to write instead.
    pub fn check(&self, table: &str) -> Result<(), Refusal> {
        check_times(table, [("refresh", self.refresh), ("lifetime", self.lifetime)])?;
        if self.lifetime <= self.refresh {
            let message = "state would be forgotten before it is refreshed";
            let refusal = Refusal::at(format!("{table}.lifetime"), message);
            return Err(refusal.help(format!("write more than \"{}\"", self.refresh)));
        }
        Ok(())
    }
}

/// Effect of a refresh.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Refreshed {
    /// The way was not there.
    New,
    /// It was.
    Known,
    /// Nothing: the way's state is newer.
    Stale,
}

/// A node's ways for each host, by the adjacent node that they lead to. Of the messages about one way only
/// newer ones count; a way that was removed leaves its identification for the rest of its lifetime.
#[derive(Clone, Debug, Default)]
pub struct SoftRoutes {
    ways: BTreeMap<(Addr, Addr), Entry>,
}

#[derive(Copy, Clone, Debug)]
struct Entry {
    id: Identification,
    until: Time,
    removed: bool,
}

impl SoftRoutes {
    /// The host's packets go this way too, until a time.
    pub fn refresh(&mut self, host: Addr, way: Addr, id: Identification, until: Time) -> Refreshed {
        let known = self.ways.get(&(host, way)).copied();
        if known.is_some_and(|known| id < known.id || (known.removed && id == known.id)) {
            return Refreshed::Stale;
        }
        self.ways.insert((host, way), Entry { id, until, removed: false });
        if known.is_some_and(|known| !known.removed) { Refreshed::Known } else { Refreshed::New }
    }

    /// A way that is there lives on, by no message that could be late.
    pub fn extend(&mut self, host: Addr, way: Addr, until: Time) -> bool {
        let entry = self.ways.get_mut(&(host, way)).filter(|entry| !entry.removed);
        entry.map(|entry| entry.until = entry.until.max(until)).is_some()
    }

    /// The host's packets do not go this way any more; whether they did and this is no older.
    pub fn remove(&mut self, host: Addr, way: Addr, id: Identification) -> bool {
        match self.ways.get_mut(&(host, way)) {
            Some(entry) if id >= entry.id => {
                entry.id = id;
                !std::mem::replace(&mut entry.removed, true)
            }
            _ => false,
        }
    }

    /// The hosts that have ways, or had.
    pub fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.ways.keys().map(|(host, _)| *host)
    }

    /// The ways of a host.
    pub fn of(&self, host: Addr) -> impl Iterator<Item = Addr> {
        let range = self.ways.range((host, FIRST)..).take_while(move |((known, _), _)| *known == host);
        range.filter(|(_, entry)| !entry.removed).map(|((_, way), _)| *way)
    }

    /// Forgets ways whose time is up, and gives them.
    pub fn expire(&mut self, now: Time) -> Vec<(Addr, Addr)> {
        let mut expired = Vec::new();
        self.ways.retain(|&key, entry| {
            let over = entry.until <= now;
            expired.extend((over && !entry.removed).then_some(key));
            !over
        });
        expired
    }

    /// When the first one's time is up.
    pub fn deadline(&self) -> Option<Time> {
        self.ways.values().map(|entry| entry.until).min()
    }
}

/// Below every address.
const FIRST: Addr = Addr::new(0, 0);

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Addr = Addr::mobile(7);
    const OTHER: Addr = Addr::mobile(8);
    const A: Addr = Addr::new(1, 0);
    const B: Addr = Addr::new(2, 0);

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_late_message_changes_nothing() {
        let mut routes = SoftRoutes::default();
        let id = Identification;
        assert_eq!(routes.refresh(HOST, A, id(5), ms(50)), Refreshed::New);
        assert_eq!(routes.refresh(HOST, A, id(5), ms(60)), Refreshed::Known);
        assert!(!routes.remove(HOST, A, id(4)), "a late prune");
        assert!(routes.remove(HOST, A, id(6)));
        assert!(!routes.remove(HOST, A, id(6)), "a duplicate");
        assert_eq!(routes.refresh(HOST, A, id(5), ms(70)), Refreshed::Stale, "a late join");
        assert_eq!(routes.refresh(HOST, A, id(6), ms(70)), Refreshed::Stale, "one of the prune's own time");
        assert!(!routes.extend(HOST, A, ms(80)));
        assert_eq!(routes.of(HOST).count(), 0);
        assert_eq!(routes.refresh(HOST, A, id(7), ms(90)), Refreshed::New);
    }

    #[test]
    fn ways_belong_to_a_host_and_end_with_their_time() {
        let mut routes = SoftRoutes::default();
        for (host, way, until) in [(HOST, A, 10), (HOST, B, 20), (OTHER, A, 30)] {
            routes.refresh(host, way, Identification(1), ms(until));
        }
        assert_eq!(routes.of(HOST).collect::<Vec<_>>(), [A, B]);
        assert!(routes.extend(HOST, B, ms(40)) && !routes.extend(OTHER, B, ms(40)));
        assert!(routes.extend(HOST, B, ms(25)), "and takes no time away");
        assert_eq!((routes.deadline(), routes.expire(ms(9))), (Some(ms(10)), vec![]));
        assert_eq!(routes.expire(ms(30)), [(HOST, A), (OTHER, A)]);
        assert_eq!((routes.of(HOST).collect::<Vec<_>>(), routes.deadline()), (vec![B], Some(ms(40))));
    }

    #[test]
    fn state_that_ends_before_it_is_refreshed_is_refused() {
        let state = |refresh, lifetime| SoftState {
            refresh: Duration::from_secs(refresh),
            lifetime: Duration::from_secs(lifetime),
        };
        let refused = |state: SoftState| state.check("tree").err().map(|refusal| refusal.field);
        assert_eq!(refused(state(10, 30)), None);
        assert_eq!(refused(state(0, 30)).as_deref(), Some("tree.refresh"));
        assert_eq!(refused(state(30, 30)).as_deref(), Some("tree.lifetime"));
    }
}
