//! A node's route cache and paging cache, and the forwarding of packets by them.

use super::{Action, PAGING_TIMEOUT, Params};
use crate::blocks::{Equaliser, Refreshed, SoftRoutes};
use crate::{Identification, Via};
use roamlab_engine::{Duration, Time};
use roamlab_packet::Addr;
use std::collections::BTreeMap;

/// Ways are named by the adjacent node that packets of the host come from; a base station's air link by the host itself.
#[derive(Clone, Debug)]
pub struct Caches {
    routes: SoftRoutes,
    pages: SoftRoutes,
    /// Without a paging cache: route of packets for hosts that are not in the route cache; over the air if
    /// there is no other.
    floods: Option<Vec<Addr>>,
    /// The way of each host's last regular update.
    main: BTreeMap<Addr, Addr>,
    /// The way behind the delay equaliser.
    delayed: BTreeMap<Addr, Addr>,
    /// The route that the world has.
    set: BTreeMap<Addr, Vec<Via>>,
    equaliser: Equaliser,
    route_timeout: Duration,
    keep_stale: bool,
}

/// Effect of an update on the packets of its host.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// They take one more way.
    Added,
    /// They take another way.
    Switched,
    /// Nothing of the kind.
    None,
}

impl Caches {
    /// Empty ones; with `floods` there is no paging cache, and packets for unknown hosts go there.
    pub fn new(floods: Option<Vec<Addr>>, params: &Params) -> Caches {
        Caches {
            routes: SoftRoutes::default(),
            pages: SoftRoutes::default(),
            floods,
            main: BTreeMap::new(),
            delayed: BTreeMap::new(),
            set: BTreeMap::new(),
            equaliser: params.equaliser.clone(),
            route_timeout: params.route_timeout,
            keep_stale: params.keep_stale,
        }
    }

    /// The hosts whose packets have, or had, a route here.
    pub fn hosts(&self) -> impl Iterator<Item = Addr> {
        self.set.keys().copied()
    }

    /// How many routes the route cache has for a host.
    pub fn routes(&self, host: Addr) -> usize {
        self.routes.of(host).count()
    }

    /// True if the route cache has this way to a host.
    pub fn leads(&self, host: Addr, way: Addr) -> bool {
        self.routes.of(host).any(|known| known == way)
    }

    /// True if the paging cache has the host.
    pub fn is_paged(&self, host: Addr) -> bool {
        self.pages.of(host).next().is_some()
    }

    /// True if the host's copies wait in the equaliser.
    pub fn is_delaying(&self, host: Addr) -> bool {
        self.delayed.contains_key(&host)
    }

    /// A semisoft update came from `way`.
    pub fn add(
        &mut self,
        host: Addr,
        way: Addr,
        (id, now): (Identification, Time),
        out: &mut Vec<Action>,
    ) -> Change {
        let others = self.routes.of(host).any(|known| known != way);
        let refreshed = self.routes.refresh(host, way, id, now + self.route_timeout);
        let added = refreshed == Refreshed::New && others;
        let wait = self.equaliser.delay;
        if added && wait > Duration::ZERO && !self.delayed.contains_key(&host) {
            self.delayed.insert(host, way);
            out.push(Action::Delay { host, via: via(host, way), wait });
        }
        self.apply(host, out);
        if added { Change::Added } else { Change::None }
    }

    /// A regular update came from `way`.
    pub fn update(
        &mut self,
        host: Addr,
        way: Addr,
        (id, now): (Identification, Time),
        out: &mut Vec<Action>,
    ) -> Change {
        let is_other = self.main.insert(host, way).is_some_and(|main| main != way);
        let had_ways = self.routes.of(host).next().is_some();
        self.end_delay(host, way, out);
        if is_other && !self.keep_stale {
            let others: Vec<Addr> = self.routes.of(host).filter(|known| *known != way).collect();
            for other in others {
                self.routes.remove(host, other, id);
            }
        }
        self.routes.refresh(host, way, id, now + self.route_timeout);
        self.set_page(host, way, (id, now));
        self.apply(host, out);
        if is_other && had_ways { Change::Switched } else { Change::None }
    }

    /// A paging update came from `way`: the host is idle there, and at no other way.
    pub fn page(&mut self, host: Addr, way: Addr, (id, now): (Identification, Time), out: &mut Vec<Action>) {
        let others: Vec<Addr> = self.routes.of(host).filter(|known| *known != way).collect();
        for other in others {
            self.routes.remove(host, other, id);
        }
        self.end_delay(host, way, out);
        self.set_page(host, way, (id, now));
        self.apply(host, out);
    }

    fn set_page(&mut self, host: Addr, way: Addr, (id, now): (Identification, Time)) {
        if self.floods.is_some() {
            return;
        }
        let others: Vec<Addr> = self.pages.of(host).filter(|known| *known != way).collect();
        for other in others {
            self.pages.remove(host, other, id);
        }
        self.pages.refresh(host, way, id, now + PAGING_TIMEOUT);
    }

    /// A data packet of the host came from `way`.
    pub fn refresh(&mut self, host: Addr, way: Addr, now: Time, out: &mut Vec<Action>) {
        self.routes.extend(host, way, now + self.route_timeout);
        self.pages.extend(host, way, now + PAGING_TIMEOUT);
        self.end_delay(host, way, out);
        self.apply(host, out);
    }

    /// Packets in the equaliser for this way follow it, and no others wait.
    fn end_delay(&mut self, host: Addr, way: Addr, out: &mut Vec<Action>) {
        if self.delayed.get(&host) == Some(&way) {
            self.delayed.remove(&host);
            out.push(Action::Release { host, via: via(host, way), mark: None });
        }
    }

    /// Forgets what has not been refreshed.
    pub fn expire(&mut self, now: Time, out: &mut Vec<Action>) {
        let expired = [self.routes.expire(now), self.pages.expire(now)].concat();
        for (host, _) in expired {
            self.apply(host, out);
        }
    }

    /// When the first is forgotten.
    pub fn deadline(&self) -> Option<Time> {
        [self.routes.deadline(), self.pages.deadline()].into_iter().flatten().min()
    }

    /// Tells the world where packets for the host go, if that has changed.
    pub fn apply(&mut self, host: Addr, out: &mut Vec<Action>) {
        let mut ways: Vec<Addr> = self.routes.of(host).collect();
        // The first gets the packets and the others get copies.
        let main = self.main.get(&host);
        ways.sort_by_key(|way| Some(way) != main);
        if self.delayed.get(&host).is_some_and(|delayed| !ways.contains(delayed)) {
            self.delayed.remove(&host);
        }
        if ways.is_empty() {
            ways.extend(self.pages.of(host));
        }
        if ways.is_empty() {
            match self.floods.as_deref() {
                Some([]) => ways.push(host),
                Some(below) => ways.extend(below),
                None => {}
            }
        }
        let delayed = self.delayed.get(&host);
        let vias = ways.iter().map(|way| if Some(way) == delayed { Via::Buffer } else { via(host, *way) });
        let vias: Vec<Via> = vias.collect();
        let before = self.set.insert(host, vias.clone()).unwrap_or_default();
        if before == vias {
            return;
        }
        match vias.split_first() {
            None => out.push(Action::ClearRoute { host, from: None }),
            Some((&first, rest)) => {
                out.push(Action::SetRoute { host, from: None, via: first, watch: false });
                for &via in rest {
                    out.push(Action::AddBranch { host, from: None, via, watch: false });
                }
            }
        }
        if before.contains(&Via::Buffer) && !vias.contains(&Via::Buffer) {
            out.push(Action::DiscardBuffer { host });
        }
    }
}

fn via(host: Addr, way: Addr) -> Via {
    if way == host { Via::Air } else { Via::Neighbour(way) }
}
