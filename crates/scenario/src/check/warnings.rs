//! Warnings: the scenario is valid and runs, but a part of it has no effect.

use super::mobility::problem;
use super::queues::queues;
use crate::problem::{Problem, quoted_key};
use crate::schema::{HostSpec, Scenario};
use roamlab_engine::{Duration, Rate};
use roamlab_qdisc::Parameters;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

mod measured;
mod mismatched;
pub(super) mod no_effect;
mod ordered;
mod outlast;
mod prepared;
mod senseless;
mod slow;
mod times;
mod unread;
mod wrong_end;

/// All warnings, in the order of the fields. `stays`: there is a warning already that a plan does not move its host, and what
/// only follows from that has none.
pub fn warnings(scenario: &Scenario, stays: bool) -> impl Iterator<Item = Problem> {
    let queues = queues(scenario).into_iter().filter_map(|(path, queue)| {
        let (field, message) = queue?.warning()?;
        Some(Problem::from_text(format!("{path}.{field}"), &message))
    });
    let protocols = scenario.protocols().flat_map(|(table, spec)| {
        let warnings = spec.warnings(scenario.run.duration).into_iter();
        warnings.map(move |warning| problem(&table, warning))
    });
    never_happens(scenario, stays)
        .into_iter()
        .chain(queues)
        .chain((!stays).then(|| out_of_reach(scenario)).into_iter().flatten())
        .chain((!stays).then(|| unvisited_cells(scenario)).into_iter().flatten())
        .chain(no_effect::warnings(scenario))
        .chain(super::profiles::warnings(scenario))
        .chain(times::longer_than_the_run(scenario))
        .chain(slow::warnings(scenario))
        .chain(senseless::warnings(scenario))
        .chain(protocols)
}

/// Warnings of fields that are written. Of each group that one counts whose field is written first; a group of which none is
/// does not count: a usual value is no mistake of the user. `stays` as of [`warnings`].
pub fn of_written(scenario: &Scenario, stays: bool) -> Vec<Vec<Problem>> {
    let mut groups = unread::of_written(scenario, stays);
    groups.extend(mismatched::of_written(scenario));
    groups.extend(times::of_written(scenario));
    groups.extend(outlast::of_written(scenario));
    groups.extend(prepared::of_written(scenario));
    groups.extend(wrong_end::of_written(scenario));
    groups
}

/// From this number of fields on that come too late, the run is too short: one warning, at its duration.
const TOO_MANY: usize = 3;

/// The warnings, of which those that come of a run that is far too short are one.
pub fn of_one_short_run(end: Duration, warnings: Vec<Problem>) -> Vec<Problem> {
    let is_late = |warning: &Problem| warning.help.contains("lengthen `run.duration`");
    let (late, mut others): (Vec<Problem>, Vec<Problem>) = warnings.into_iter().partition(is_late);
    if late.len() < TOO_MANY {
        others.splice(0..0, late);
        return others;
    }
    let named: Vec<_> = late.iter().take(2).map(|warning| format!("`{}`", warning.field)).collect();
    let message = format!(
        "the run ends at {end}: too early for {} and {}",
        named.join(", "),
        match late.len() - named.len() {
            1 => "one more field".to_owned(),
            more => format!("{more} more fields"),
        }
    );
    let problem = Problem::at("run.duration", message).help("write a longer time, or earlier times there");
    others.insert(0, problem);
    others
}

/// Fields that are due when the run is over.
fn never_happens(scenario: &Scenario, stays: bool) -> Vec<Problem> {
    let end = scenario.run.duration;
    let mut warnings = Vec::new();
    let mut due = |at: Duration, field: &dyn Fn() -> String, what: &str| {
        if at >= end {
            let message = format!("{what} at {at} never comes: the run ends at {end}");
            warnings.push(
                Problem::at(field(), message).help("lengthen `run.duration`, or write an earlier time"),
            );
        }
    };
    for (index, link) in scenario.links.iter().enumerate() {
        for (number, change) in link.changes.iter().enumerate() {
            due(change.at, &|| format!("links[{index}].changes[{number}].at"), "this change");
        }
    }
    let hosts = Groups::of(&scenario.origins.hosts);
    for (index, host) in scenario.hosts.iter().enumerate().filter(|_| !stays) {
        let first = hosts.first_of(index).map(|first| scenario.hosts[first].stays());
        for (number, visit) in host.stays().iter().enumerate() {
            // Of a group with a `stagger` the first host comes in time.
            if visit.at >= end && first.is_some_and(|first| first.get(number).is_some_and(|it| it.at < end)) {
                continue;
            }
            due(visit.at, &|| format!("hosts[{index}].visits[{number}].at"), "this visit");
            if let Some(until) = visit.until.filter(|&until| until > end && visit.at < end) {
                due(until, &|| format!("hosts[{index}].visits[{number}].until"), "the end of this visit");
            }
        }
    }
    let flows = Groups::of(&scenario.origins.flows);
    let starts = |index: usize| scenario.flows[index].app.start();
    for (index, flow) in scenario.flows.iter().enumerate() {
        if flow.app.start() >= end && flows.first_of(index).is_some_and(|first| starts(first) < end) {
            continue;
        }
        due(flow.app.start(), &|| format!("flows[{index}].app.start"), "the start of this flow");
    }
    let entries =
        |index: usize| scenario.hosts[index].stays().first().map_or(Duration::ZERO, |visit| visit.at);
    warnings.extend(hosts.late("hosts", scenario.hosts.len(), end, &entries).filter(|_| !stays));
    warnings.extend(flows.late("flows", scenario.flows.len(), end, &starts));
    warnings.extend(late_starts(scenario));
    warnings.extend(silent_recordings(scenario));
    warnings
}

/// The tables of hosts or flows, if one of them is a group: the first member of each.
struct Groups {
    firsts: Vec<usize>,
}

impl Groups {
    fn of(origins: &[(usize, bool)]) -> Groups {
        Groups { firsts: origins.iter().map(|(first, _)| *first).collect() }
    }

    /// The first member of the group that this one is in, if it is another one.
    fn first_of(&self, index: usize) -> Option<usize> {
        let place = self.firsts.partition_point(|&first| first <= index).checked_sub(1)?;
        Some(self.firsts[place]).filter(|&first| first < index)
    }

    /// Groups of which the first member begins within the run, and others behind its end.
    fn late(
        &self,
        list: &'static str,
        number: usize,
        end: Duration,
        begins: &dyn Fn(usize) -> Duration,
    ) -> impl Iterator<Item = Problem> {
        let groups = self.firsts.iter().enumerate().filter_map(|(place, &first)| {
            let until = self.firsts.get(place + 1).copied().unwrap_or(number);
            let late = (first..until).filter(|&member| begins(member) >= end).count();
            let last = (first..until).map(begins).max()?;
            let message = format!(
                "{late} of the {} {list} of this group come when the run is over: the last one at {last}, and the run ends at {end}",
                until - first
            );
            let problem = Problem::at(format!("{list}[{first}].stagger"), message);
            (late > 0 && begins(first) < end)
                .then(|| problem.help("write a shorter time or a smaller `count`, or lengthen `run.duration`"))
        });
        groups.collect::<Vec<_>>().into_iter()
    }
}

/// Recorded links that could send nothing before the run is over.
fn silent_recordings(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let warn = |(field, first, _): (String, Duration, Rate)| {
        let message = format!(
            "the first opportunity of this recording is at {first}, and the run ends at {end}: nothing is sent"
        );
        let times = if field.ends_with(".table") { "the unit in their column" } else { "milliseconds" };
        let help = format!(
            "times are in {times}, from the start of the run; lengthen `run.duration`, or correct the file"
        );
        (first >= end).then(|| Problem::at(field, message).help(help))
    };
    scenario.recordings().into_iter().filter_map(warn).collect()
}

/// Flows whose start is drawn at random from a span that is longer than the run, or than the source lasts.
fn late_starts(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let warning = |(index, flow): (usize, &crate::schema::FlowSpec)| {
        let (first, last) = (flow.app.start(), flow.app.latest_start());
        let (until, what) = match flow.app.stop() {
            Some(stop) if stop < end => (stop, "it stops"),
            _ => (end, "the run ends"),
        };
        let message = format!(
            "this flow starts at a random time from {first} to {last}, and {what} at {until}: in some runs it sends nothing"
        );
        let problem = Problem::at(format!("flows[{index}].app.start_within"), message);
        (first < until && last > until).then(|| problem.help("write a shorter time"))
    };
    scenario.flows.iter().enumerate().filter_map(warning).collect()
}

/// Flows that start before the host at one of their ends enters its first cell.
fn out_of_reach(scenario: &Scenario) -> Vec<Problem> {
    let entry = |host: &HostSpec| match (&host.planned, &host.plan) {
        // The first visit is not drawn.
        (Some(planned), Some(plan)) => {
            planned.visits(plan, Duration::ZERO, None).first().map(|visit| visit.at)
        }
        _ => host.stays().first().map(|visit| visit.at),
    };
    let entries: FxHashMap<&str, Duration> =
        scenario.hosts.iter().filter_map(|host| Some((host.name.as_str(), entry(host)?))).collect();
    let mut warnings = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let start = flow.app.start();
        let mut ends = flow.path.iter().filter_map(|end| entries.get_key_value(end.as_str()));
        let late = ends.find(|(_, entered)| start < **entered && start < scenario.run.duration);
        if let Some((host, entered)) = late {
            let message =
                format!("this flow starts at {start}, before its host \"{host}\" enters a cell at {entered}");
            let help = format!(
                "start it at \"{entered}\" or later; a group of flows has a `stagger`, as its hosts have"
            );
            warnings.push(Problem::at(format!("flows[{index}].app.start"), message).help(help));
        }
    }
    warnings
}

/// Cells that are written one by one and that no host visits, and topologies of which no host visits any cell. The number of
/// cells of a topology follows from its rule, independently of where hosts go.
fn unvisited_cells(scenario: &Scenario) -> Vec<Problem> {
    let origins = &scenario.origins;
    let visited: BTreeSet<&str> = scenario.hosts.iter().flat_map(|host| scenario.cells_of(host)).collect();
    let lively: BTreeSet<usize> = visited.iter().filter_map(|name| origins.topology_of(name)).collect();
    let mut warnings = Vec::new();
    for (number, topology) in scenario.topology.iter().enumerate() {
        if topology.cells().is_some() && !lively.contains(&number) {
            let field = format!("topology[{number}].cells");
            let problem = Problem::at(field, "no host visits any of these cells");
            warnings.push(problem.help("add a visit to one of them, or remove the cells"));
        }
    }
    let idle = scenario.cells.keys().filter(|name| !visited.contains(name.as_str()));
    for name in idle.filter(|name| origins.topology_of(name).is_none()) {
        let problem = Problem::at(format!("cells.{}", quoted_key(name)), "no host visits this cell");
        warnings.push(problem.help("add a visit to it, or remove the cell"));
    }
    warnings
}
