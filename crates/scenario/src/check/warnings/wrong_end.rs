//! Warnings of disciplines on a way that only ACKs take: the data of every flow goes the other way.

use crate::check::queues::acts;
use crate::check::ways::reached;
use crate::problem::{Problem, quoted_key};
use crate::schema::{FlowSpec, LinkSpec, Scenario};
use roamlab_qdisc::QueueSpec;
use roamlab_traffic::AppSpec;
use rustc_hash::{FxHashMap, FxHashSet};

/// A larger scenario is not looked at: each link with a discipline costs a walk through all others and all flows.
const MOST: usize = 2000;

/// All such warnings, in groups of which the first field that is written counts.
pub fn of_written(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let mut found = Vec::new();
    if scenario.links.len().max(scenario.hosts.len()).max(scenario.flows.len()) > MOST {
        return found;
    }
    for (index, link) in scenario.links.iter().enumerate() {
        let written = [("queue", &link.queue), ("reverse_queue", &link.reverse_queue)];
        let is_there = written.map(|(_, queue)| queue.is_some());
        let other = match written.map(|(_, queue)| queue.as_deref().is_some_and(acts)) {
            [true, false] => 1,
            [false, true] => 0,
            _ if is_there == [true, false] => 1,
            _ if is_there == [false, true] => 0,
            _ => continue,
        };
        let Some([there, back]) = ways(scenario, link) else { continue };
        let [own, opposite] = if other == 1 { [there, back] } else { [back, there] };
        if own > 0 || opposite == 0 {
            continue;
        }
        let (name, instead) = (written[1 - other].0, written[other].0);
        let (from, to) = (&link.between[other], &link.between[1 - other]);
        let message = format!(
            "this queue holds ACKs alone: the data of every flow goes from \"{from}\" to \"{to}\", and waits in the other queue"
        );
        let problem = Problem::at(format!("links[{index}].{name}"), message);
        found
            .push(vec![problem.help(format!("write it as `{instead}`, or exchange the nodes of `between`"))]);
    }
    found.extend(of_air(scenario));
    found
}

/// How many flows send data through a link each way; none where it is not known which way some flow takes.
fn ways(scenario: &Scenario, link: &LinkSpec) -> Option<[usize; 2]> {
    let [left, right] = link.between.each_ref().map(String::as_str);
    let others = scenario.links.iter().filter(|other| other.between != link.between);
    let near = reached(others, left);
    if near.contains(right) {
        return None;
    }
    let is_near = |name: &str| -> Option<bool> {
        if let Some(host) = scenario.hosts.iter().find(|host| host.name == name) {
            let cells = scenario.cells_of(host).into_iter().filter_map(|cell| scenario.cells.get(cell));
            let mut sides = cells.map(|cell| near.contains(cell.router.as_str()));
            let first = near.contains(host.home.as_str());
            return sides.all(|side| side == first).then_some(first);
        }
        let router = scenario.cells.get(name).map_or(name, |cell| cell.router.as_str());
        Some(near.contains(router))
    };
    let mut counts = [0, 0];
    for flow in scenario.flows.iter().filter(|flow| !is_request(flow)) {
        match flow.path.each_ref().map(|end| is_near(end)) {
            [Some(true), Some(false)] => counts[0] += 1,
            [Some(false), Some(true)] => counts[1] += 1,
            [Some(_), Some(_)] => {}
            _ => return None,
        }
    }
    Some(counts)
}

/// Small packets that ask for the data of another flow.
fn is_request(flow: &FlowSpec) -> bool {
    matches!(flow.app, AppSpec::Requests(_))
}

/// Disciplines of cells where all data goes up, and of the uplink where all goes down.
fn of_air(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let hosts = scenario.host_names();
    let flows = || scenario.flows.iter().filter(|flow| !is_request(flow));
    let goes = |end: usize| -> FxHashSet<&str> {
        flows().map(|flow| flow.path[end].as_str()).filter(|name| hosts.contains(name)).collect()
    };
    let [up, down] = [goes(0), goes(1)];
    let problem = |field: String, way: &str, help: &str| {
        let message = format!("this queue holds ACKs alone: the data of every flow of its hosts goes {way}");
        vec![Problem::at(field, message).help(help)]
    };
    let mut found = Vec::new();
    if acts(&scenario.network.uplink_queue) && up.is_empty() && !down.is_empty() {
        let field = "network.uplink_queue.kind".to_owned();
        found.push(problem(field, "down", "write it as the `queue` of the cells, or leave this out"));
    }
    let mut visitors: FxHashMap<&str, [bool; 2]> = FxHashMap::default();
    for host in &scenario.hosts {
        let own = [up.contains(host.name.as_str()), down.contains(host.name.as_str())];
        for cell in scenario.cells_of(host) {
            let known = visitors.entry(cell).or_default();
            *known = [known[0] || own[0], known[1] || own[1]];
        }
    }
    for (name, cell) in &scenario.cells {
        let Some(&[up, down]) = visitors.get(name.as_str()) else { continue };
        // A base station may be the end of a flow, too.
        if up == down || scenario.flows.iter().any(|flow| flow.path.contains(name)) {
            continue;
        }
        let at = |part: &str| format!("cells.{}.{part}.kind", quoted_key(name));
        let is_acting = |queue: &Option<QueueSpec>| queue.as_ref().is_some_and(acts);
        let (queue, back) = (is_acting(&cell.backhaul.queue), is_acting(&cell.backhaul.reverse_queue));
        if up && acts(&cell.queue) && cell.scheduler.is_none() {
            found.push(problem(
                at("queue"),
                "up",
                "write it as `network.uplink_queue`, or a drop-tail queue here",
            ));
        }
        if up && queue && !back {
            found.push(problem(at("backhaul.queue"), "up", "write it as `reverse_queue`, or leave this out"));
        }
        if down && back && !queue {
            found.push(problem(
                at("backhaul.reverse_queue"),
                "down",
                "write it as `queue`, or leave this out",
            ));
        }
    }
    found
}
