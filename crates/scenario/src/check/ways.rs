//! How long messages take through the network, without queues.

use crate::schema::{CellSpec, HostSpec, LinkSpec, Scenario, Way};
use roamlab_engine::Duration;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The ways of the first handover of a scenario, each there and back.
pub struct Ways {
    /// The cell that the host leaves.
    pub from: String,
    /// Over the air of the cell that it enters.
    pub air: Option<Duration>,
    /// To the base station of the cell that it enters, with its name.
    pub neighbour: Option<(String, Duration)>,
    /// To the host's home, with its name.
    pub home: Option<(String, Duration)>,
}

impl Ways {
    /// The ways of a scenario; none where no host changes its cell.
    pub fn of(scenario: &Scenario) -> Ways {
        let mut ways = Ways { from: String::new(), air: None, neighbour: None, home: None };
        let Some((host, from, to)) = first_handover(scenario) else { return ways };
        let (Some(old), Some(new)) = (scenario.cells.get(from), scenario.cells.get(to)) else { return ways };
        let times = between_routers(scenario, &old.router);
        let twice = |delay: Duration| delay + delay;
        let air = |cell: &CellSpec| cell.delay.mean(Way::There) + cell.delay.mean(Way::Back);
        let own = twice(old.backhaul.delay);
        ways.from = from.to_owned();
        ways.air = Some(air(new));
        let wired = |node: &str| times.get(node).map(|&way| way + own);
        ways.neighbour = wired(&new.router).map(|way| (to.to_owned(), way + twice(new.backhaul.delay)));
        ways.home = wired(host).map(|way| (host.to_owned(), way));
        ways
    }
}

/// The home of the first host that changes its cell, the cell that it leaves, and the one that it enters.
pub fn first_handover(scenario: &Scenario) -> Option<(&str, &str, &str)> {
    scenario.hosts.iter().find_map(|host| {
        let mut cells = scenario.cells_of(host).into_iter();
        Some((host.home.as_str(), cells.next()?, cells.next()?))
    })
}

/// The stays of some hosts in cells, each with its cell, until the next visit or the end of the run.
pub fn stays<'a>(
    scenario: &'a Scenario,
    of: &'a dyn Fn(&HostSpec) -> bool,
) -> impl Iterator<Item = (&'a str, Duration)> {
    let end = scenario.run.duration;
    scenario.hosts.iter().filter(move |host| of(host)).flat_map(move |host| {
        let ends = host.stays().iter().skip(1).map(move |next| next.at.min(end)).chain([end]);
        host.stays()
            .iter()
            .zip(ends)
            .map(|(visit, until)| (visit.cell.as_str(), until.saturating_sub(visit.at)))
    })
}

/// Time that a link adds to its delay, in this direction and back.
type Added<'a> = &'a dyn Fn(&LinkSpec, Way) -> Duration;

/// The time from the first node to the last of a flow and back: of a host, in its first cell.
pub fn of_flow(scenario: &Scenario, path: &[String; 2]) -> Option<Duration> {
    of_flow_with(scenario, path, &|_, _| Duration::ZERO)
}

/// The same with what each wired link adds.
pub fn of_flow_with(scenario: &Scenario, path: &[String; 2], added: Added<'_>) -> Option<Duration> {
    let place = |name: &str| {
        let host = scenario.hosts.iter().find(|host| host.name == *name);
        let cell = match host {
            Some(host) => scenario.cells_of(host).first().copied(),
            None => Some(name),
        };
        match cell.and_then(|cell| scenario.cells.get(cell)) {
            Some(cell) => {
                let air = if host.is_some() { cell.delay.mean(Way::There) } else { Duration::ZERO };
                (cell.router.clone(), cell.backhaul.delay + air)
            }
            None => (name.to_owned(), Duration::ZERO),
        }
    };
    let [(from, first), (to, last)] = path.each_ref().map(|name| place(name));
    let wired = *round_trips(scenario, &from, added).get(to.as_str())?;
    Some(wired + first + first + last + last)
}

/// The time from a node of links to each other one and back, without what packets take to send.
pub fn between_routers<'a>(scenario: &'a Scenario, from: &'a str) -> FxHashMap<&'a str, Duration> {
    round_trips(scenario, from, &|_, _| Duration::ZERO)
}

/// The nodes that are reached from a node over some links.
pub fn reached<'a>(links: impl Iterator<Item = &'a LinkSpec>, from: &'a str) -> FxHashSet<&'a str> {
    let mut adjacent: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    for link in links {
        let [left, right] = &link.between;
        adjacent.entry(left).or_default().push(right);
        adjacent.entry(right).or_default().push(left);
    }
    let mut reached = FxHashSet::default();
    let mut frontier = vec![from];
    while let Some(node) = frontier.pop() {
        if reached.insert(node) {
            frontier.extend(adjacent.get(node).into_iter().flatten().filter(|next| !reached.contains(*next)));
        }
    }
    reached
}

fn round_trips<'a>(scenario: &'a Scenario, from: &'a str, added: Added<'_>) -> FxHashMap<&'a str, Duration> {
    let mut adjacent: FxHashMap<&str, Vec<(&str, Duration)>> = FxHashMap::default();
    for link in &scenario.links {
        let [left, right] = &link.between;
        let takes = link.delay(Way::There) + link.delay(Way::Back);
        adjacent.entry(left).or_default().push((right, takes + added(link, Way::There)));
        adjacent.entry(right).or_default().push((left, takes + added(link, Way::Back)));
    }
    let mut known = FxHashMap::default();
    let mut done = FxHashSet::default();
    let mut next = BinaryHeap::from([Reverse((Duration::ZERO, from))]);
    while let Some(Reverse((time, node))) = next.pop() {
        if !done.insert(node) {
            continue;
        }
        known.insert(node, time);
        for &(other, takes) in adjacent.get(node).into_iter().flatten() {
            if !done.contains(other) {
                next.push(Reverse((time + takes, other)));
            }
        }
    }
    known
}
