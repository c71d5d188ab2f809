//! Warnings of times that another time makes useless: longer than the run, or ended by something that comes before.

use crate::problem::{Problem, quoted_key};
use crate::schema::{Scenario, Way};
use roamlab_engine::Duration;
use rustc_hash::FxHashMap;

/// Delays, an overlap, faults and trajectories that the run does not outlast. Links are looked at as the warnings are taken:
/// a large network has a hundred thousand.
pub fn longer_than_the_run(scenario: &Scenario) -> impl Iterator<Item = Problem> {
    let end = scenario.run.duration;
    let links = scenario.links.iter().enumerate().flat_map(|(index, link)| {
        [("delay", Some(link.delay(Way::There))), ("reverse_delay", link.reverse_delay)]
            .map(|(field, delay)| (format!("links[{index}].{field}"), delay))
    });
    let cells = scenario
        .cells
        .iter()
        .map(|(name, cell)| (format!("cells.{}.delay", quoted_key(name)), Some(cell.delay.mean(Way::There))));
    let backhauls = scenario.cells.iter().map(|(name, cell)| {
        (format!("cells.{}.backhaul.delay", quoted_key(name)), Some(cell.backhaul.delay))
    });
    let delayed = links.chain(cells).chain(backhauls).filter_map(move |(field, delay)| {
        let delay = delay.filter(|&delay| delay >= end)?;
        let message =
            format!("what is sent here arrives {delay} later, and the run ends at {end}: nothing arrives");
        Some(Problem::at(field, message).help("write a shorter time, or lengthen `run.duration`"))
    });
    delayed.chain(other_long_times(scenario))
}

fn other_long_times(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let mut found = Vec::new();
    let overlap = scenario.radio.overlap();
    if overlap >= end {
        let message = format!(
            "a host stays in the cell before for {overlap}, and the run ends at {end}: it leaves none"
        );
        found.push(
            Problem::at("radio.overlap", message).help("write a shorter time, or lengthen `run.duration`"),
        );
    }
    for (index, fault) in scenario.faults.iter().enumerate() {
        if let Some(delay) = fault.delay.filter(|&delay| delay >= end) {
            let message =
                format!("the message would go {delay} later, and the run ends at {end}: it is lost instead");
            let help = "write a shorter time, or leave it out: a fault without `delay` loses the message";
            found.push(Problem::at(format!("faults[{index}].delay"), message).help(help));
        }
    }
    for (index, link) in scenario.links.iter().enumerate() {
        for (list, drops) in [("drops", &link.drops), ("reverse_drops", &link.reverse_drops)] {
            for (number, delay) in
                drops.iter().enumerate().filter_map(|(number, drop)| Some((number, drop.delay?)))
            {
                let message = format!(
                    "these packets would enter the link {delay} later, and the run ends at {end}: they are lost instead"
                );
                let help = "write a shorter time, or leave it out: without `delay` the packets are lost";
                let problem = Problem::at(format!("links[{index}].{list}[{number}].delay"), message);
                found.extend((delay >= end).then(|| problem.help(help)));
            }
        }
    }
    found.extend(super::measured::warnings(scenario));
    found.extend(slow_cells(scenario));
    found
}

/// Cells in which no host is long enough for a packet to arrive.
fn slow_cells(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    if scenario.radio.measurement().is_some() || scenario.hosts.iter().any(|host| host.plan.is_some()) {
        return Vec::new();
    }
    let mut longest: FxHashMap<&str, Duration> = FxHashMap::default();
    for (cell, stay) in crate::check::ways::stays(scenario, &|_| true) {
        let known = longest.entry(cell).or_default();
        *known = (*known).max(stay);
    }
    let warn = |(name, cell): (&String, &crate::schema::CellSpec)| {
        let delay = cell.delay.mean(Way::There);
        let stay = *longest.get(name.as_str()).filter(|&&stay| stay > Duration::ZERO)?;
        let message = format!(
            "a packet takes {delay} over the air, and no host is longer than {stay} in this cell: nothing arrives here"
        );
        let problem = Problem::at(format!("cells.{}.delay", quoted_key(name)), message);
        (stay <= delay && delay < end).then(|| problem.help("write a shorter time, for example \"3 ms\""))
    };
    scenario.cells.iter().filter_map(warn).collect()
}

/// Times of measurements and paths that are written, and that another one ends first.
pub fn of_written(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let mut found = frequent_alarms(scenario);
    found.extend(super::measured::of_written(scenario));
    found
}

/// False alarms that come more often than once a round trip.
fn frequent_alarms(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let warn = |(index, flow): (usize, &crate::schema::FlowSpec)| {
        let every = flow.path_change.as_ref()?.false_every?;
        let trip = crate::check::ways::of_flow(scenario, &flow.path).filter(|&trip| every < trip)?;
        let message = format!(
            "a false alarm comes every {every}, and a packet and its ACK take {trip} or more: the sender restarts all the time"
        );
        let problem = Problem::at(format!("flows[{index}].path_change.false_every"), message);
        Some(vec![problem.help(format!("write more than \"{trip}\""))])
    };
    scenario.flows.iter().enumerate().filter_map(warn).collect()
}
