//! Triggers: the advance notices of handovers to base stations, and their recipients.

use crate::{HostSite, Prediction, Refusal, Topology};
use roamlab_engine::{Duration, Rng, Time};
use roamlab_packet::Addr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Recipients of the notice before a host changes cells (\[ripple\] section II.C).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TriggerBy {
    /// None: the handover is reactive.
    None,
    /// The old base station, shortly before; it names the new one (source trigger).
    Source,
    /// The old base station, shortly before; it names some of the candidate set (path trigger).
    Path,
    /// The whole candidate set, as long as the host is there (no-path trigger).
    NoPath,
}

/// The trigger of a handover.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Trigger {
    /// Recipients. Default "none".
    pub by: TriggerBy,
    /// How long before the host turns to its next cell. Default 100 ms.
    pub lead: Duration,
    /// Base stations that a path trigger names: the expected one, and the first of the set. Default 2.
    #[schemars(range(min = 1))]
    pub candidates: u32,
    /// The candidate set of each cell, most likely first; absent: the cells that hosts of the scenario change to from
    /// there, most often first. ASSUMPTION: the sources do not specify how a network knows its neighbours; it
    /// learns them from its own handovers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sets: Option<BTreeMap<String, Vec<String>>>,
    /// Share of handovers without a trigger. Default 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub missing: f64,
    /// Share of triggers that expect another cell of the set. Default 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub wrong: f64,
    /// Share of stays with a trigger in their middle and no handover. Default 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub false_alarms: f64,
}

impl Default for Trigger {
    fn default() -> Self {
        Trigger {
            by: TriggerBy::None,
            lead: Duration::from_millis(100),
            candidates: 2,
            sets: None,
            missing: 0.0,
            wrong: 0.0,
            false_alarms: 0.0,
        }
    }
}

impl Trigger {
    /// Refuses what cannot run; the table is `trigger`.
    ///
    /// # Errors
    /// The field, and what to write instead.
    pub fn check(&self, topology: &Topology) -> Result<(), Refusal> {
        if self.candidates == 0 {
            return Err(Refusal::at("trigger.candidates", "expected at least 1 candidate, got 0")
                .help("write 1 or more"));
        }
        let shares = [("missing", self.missing), ("wrong", self.wrong), ("false_alarms", self.false_alarms)];
        if let Some((part, _)) = shares.iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            let refusal = Refusal::at(format!("trigger.{part}"), "a share lies between 0 and 1");
            return Err(refusal.help("write for example 0.1"));
        }
        let names = || topology.cells.iter().map(|cell| cell.name.as_str());
        let unknown = |name: &str| names().all(|known| known != name);
        for (cell, set) in self.sets.iter().flatten() {
            if let Some(name) = [cell].into_iter().chain(set).find(|name| unknown(name)) {
                let refusal =
                    Refusal::at(format!("trigger.sets.{cell}"), format!("there is no cell \"{name}\""));
                return Err(refusal.known(name, names()));
            }
        }
        Ok(())
    }

    /// The candidate set of each cell.
    pub fn sets(&self, topology: &Topology) -> CarSets {
        let mut changes: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for (from, to, _) in topology.hosts.iter().flat_map(handovers) {
            *changes.entry(from).or_default().entry(to).or_default() += 1;
        }
        let mut sets = CarSets::default();
        for cell in &topology.cells {
            let listed = self.sets.as_ref().map(|sets| sets.get(&cell.name).cloned().unwrap_or_default());
            let names = listed.unwrap_or_else(|| {
                let mut known: Vec<(&str, usize)> =
                    changes.get(cell.name.as_str()).into_iter().flatten().map(|(to, n)| (*to, *n)).collect();
                known.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
                known.into_iter().map(|(name, _)| name.to_owned()).collect()
            });
            let others = names.iter().filter(|name| **name != cell.name).map(|name| topology.address(name));
            sets.sets.insert(topology.address(&cell.name), others.collect());
        }
        sets
    }

    /// Notices to base stations, from the plans of the hosts. `stream` is the random stream of a component.
    pub fn predictions(&self, topology: &Topology, stream: &dyn Fn(&str) -> Rng) -> Vec<Prediction> {
        let mut predictions = Vec::new();
        if matches!(self.by, TriggerBy::None | TriggerBy::NoPath) {
            return predictions;
        }
        let sets = self.sets(topology);
        for host in &topology.hosts {
            let mut draw = stream(&format!("{}/trigger", host.name));
            let address = topology.address(&host.name);
            let mut since = host.visits.first().map_or(Duration::ZERO, |first| first.at);
            for (from, to, at) in handovers(host) {
                // All are drawn, so that one share changes nothing of what the others draw.
                let [missing, wrong, alarm, other] = std::array::from_fn(|_| draw.uniform());
                let set = sets.of(topology.address(from));
                let others: Vec<Addr> =
                    set.iter().copied().filter(|cell| *cell != topology.address(to)).collect();
                let another = || others.get((other * others.len() as f64) as usize).copied();
                if alarm < self.false_alarms
                    && let Some(base_station) = another().or(set.first().copied())
                {
                    let middle = Duration::from_nanos((at - since).as_nanos() / 2);
                    predictions.push(Prediction {
                        at: Time::ZERO + since + middle,
                        host: address,
                        base_station,
                    });
                }
                let expected = if wrong < self.wrong { another() } else { Some(topology.address(to)) };
                if missing >= self.missing
                    && let Some(base_station) = expected
                {
                    let at = Time::ZERO + at.saturating_sub(self.lead);
                    predictions.push(Prediction { at, host: address, base_station });
                }
                since = at;
            }
        }
        predictions
    }

    /// The base stations that a trigger names, if `expected` is predicted.
    pub fn names(&self, expected: Addr, set: &[Addr]) -> Vec<Addr> {
        match self.by {
            TriggerBy::None => Vec::new(),
            TriggerBy::Source => vec![expected],
            TriggerBy::NoPath => set.to_vec(),
            TriggerBy::Path => {
                let others = set.iter().copied().filter(|cell| *cell != expected);
                [expected].into_iter().chain(others).take(self.candidates as usize).collect()
            }
        }
    }
}

/// A host's changes from one cell straight to another: from, to, when.
fn handovers(host: &HostSite) -> impl Iterator<Item = (&str, &str, Duration)> {
    host.visits.windows(2).filter_map(|pair| match pair {
        [from, to] if from.cell != to.cell && from.until.is_none_or(|until| until >= to.at) => {
            Some((from.cell.as_str(), to.cell.as_str(), to.at))
        }
        _ => None,
    })
}

/// The base stations that a host may reach, by the one where it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CarSets {
    sets: BTreeMap<Addr, Vec<Addr>>,
}

impl CarSets {
    /// Those of one base station.
    pub fn of(&self, base_station: Addr) -> &[Addr] {
        self.sets.get(&base_station).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CellSite, Stay};
    use roamlab_engine::Rate;

    /// A host that walks a, b, a, c, a, b, each stay a second, and leaves coverage after a stay in b.
    fn network() -> Topology {
        let cell = |name: &str| CellSite {
            name: name.into(),
            router: "r".into(),
            rate: Rate::from_bps(1),
            delay: Duration::ZERO,
        };
        let walk = ["a", "b", "a", "c", "a", "b", "c"].into_iter().enumerate();
        let stay = |(n, cell): (usize, &str)| Stay {
            cell: cell.into(),
            at: Duration::from_secs(n as u64 * if n == 6 { 2 } else { 1 }),
            until: (n == 5).then_some(Duration::from_secs(6)),
        };
        let names = ["a", "b", "c", "mh"];
        let address =
            |(n, name): (usize, &str)| (name.to_owned(), Addr::new(n as u32, u32::from(name == "mh")));
        Topology {
            cells: ["a", "b", "c"].map(cell).into(),
            hosts: vec![HostSite {
                number: 0,
                name: "mh".into(),
                home: "gw".into(),
                visits: walk.map(stay).collect(),
            }],
            addresses: names.into_iter().enumerate().map(address).collect(),
            ..Topology::default()
        }
    }

    fn predicted(trigger: Trigger) -> Vec<(u64, Addr)> {
        let predictions = trigger.predictions(&network(), &|name| Rng::named(1, 0, name));
        predictions.into_iter().map(|one| (one.at.as_nanos() / 1_000_000, one.base_station)).collect()
    }

    const A: Addr = Addr::new(0, 0);
    const B: Addr = Addr::new(1, 0);
    const C: Addr = Addr::new(2, 0);

    #[test]
    fn a_set_has_the_cells_that_hosts_change_to_most_often_first() {
        let trigger = Trigger::default();
        let sets = trigger.sets(&network());
        assert_eq!((sets.of(A), sets.of(B), sets.of(C)), (&[B, C][..], &[A][..], &[A][..]));
        let listed = BTreeMap::from([("a".to_owned(), vec!["c".to_owned(), "a".to_owned()])]);
        let sets = Trigger { sets: Some(listed), ..trigger }.sets(&network());
        assert_eq!((sets.of(A), sets.of(B)), (&[C][..], &[][..]));
    }

    #[test]
    fn a_trigger_comes_before_each_handover() {
        let source = Trigger { by: TriggerBy::Source, ..Trigger::default() };
        let right = [(900, B), (1_900, A), (2_900, C), (3_900, A), (4_900, B)];
        assert_eq!(predicted(source.clone()), right);
        assert_eq!(predicted(Trigger { missing: 1.0, ..source.clone() }), []);
        // The cells b and c have no other neighbour to expect.
        assert_eq!(predicted(Trigger { wrong: 1.0, ..source.clone() }), [(900, C), (2_900, B), (4_900, C)]);
        let alarms = predicted(Trigger { false_alarms: 1.0, missing: 1.0, ..source });
        assert_eq!(alarms, [(500, C), (1_500, A), (2_500, B), (3_500, A), (4_500, C)]);
        for by in [TriggerBy::None, TriggerBy::NoPath] {
            assert_eq!(predicted(Trigger { by, ..Trigger::default() }), []);
        }
    }

    #[test]
    fn a_trigger_names_one_some_or_all() {
        let names = |by| Trigger { by, ..Trigger::default() }.names(C, &[A, B, C]);
        assert_eq!(names(TriggerBy::None), []);
        assert_eq!(names(TriggerBy::Source), [C]);
        assert_eq!(names(TriggerBy::Path), [C, A]);
        assert_eq!(names(TriggerBy::NoPath), [A, B, C]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |trigger: Trigger| trigger.check(&network()).err().map(|refusal| refusal.field);
        assert_eq!(refused(Trigger::default()), None);
        let nobody = Trigger { candidates: 0, ..Trigger::default() };
        assert_eq!(refused(nobody).as_deref(), Some("trigger.candidates"));
        let wrong = Trigger { wrong: 1.5, ..Trigger::default() };
        assert_eq!(refused(wrong).as_deref(), Some("trigger.wrong"));
        let listed = BTreeMap::from([("a".to_owned(), vec!["x".to_owned()])]);
        let sets = Trigger { sets: Some(listed), ..Trigger::default() };
        assert_eq!(refused(sets).as_deref(), Some("trigger.sets.a"));
    }

    #[test]
    fn a_stay_that_ends_as_the_next_begins_is_a_handover() {
        let mut host = network().hosts.remove(0);
        let count = |host: &HostSite| handovers(host).count();
        let before = count(&host);
        host.visits[0].until = Some(host.visits[1].at);
        assert_eq!(count(&host), before);
        host.visits[0].until = Some(host.visits[1].at - Duration::from_nanos(1));
        assert_eq!(count(&host), before - 1, "the host is in no cell in between");
    }
}
