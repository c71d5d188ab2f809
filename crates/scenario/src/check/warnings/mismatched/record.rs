//! Records without rows, and names that are written twice.

use crate::problem::Problem;
use crate::schema::Scenario;
use roamlab_mobility::matches;
use roamlab_tcp::ProfileName;
use std::collections::BTreeSet;

/// Tables of senders, where no flow has a connection; and what is named twice.
pub(super) fn of_record(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let mut found = Vec::new();
    if !scenario.flows.is_empty() && !scenario.flows.iter().any(|flow| flow.transport.has_connection()) {
        for field in ["record.tcp", "record.variables"] {
            let problem = Problem::at(field, "no flow has a connection: this table has no rows");
            found.push(vec![
                problem.help("write `transport = { kind = \"tcp\" }` in a flow, or leave this out"),
            ]);
        }
    }
    // The usual profile is what all scenarios begin with.
    let reads = || scenario.flows.iter().any(|flow| flow.transport.profile(scenario.profiles()).is_some());
    if scenario.run.profile != ProfileName::default() && !scenario.flows.is_empty() && !reads() {
        let problem = Problem::at("run.profile", "no flow is one of our TCP: nothing reads this");
        found.push(vec![problem.help("write `transport = { kind = \"tcp\" }` in a flow, or leave this out")]);
    }
    let patterns = scenario.record.queues.as_deref().unwrap_or_default();
    let names: Vec<String> = if patterns.len() > 1 { scenario.queue_names().collect() } else { Vec::new() };
    let adds = |number: usize| {
        let own = names.iter().filter(|name| matches(&patterns[number], name));
        own.into_iter().any(|name| !patterns[..number].iter().any(|before| matches(before, name)))
    };
    if let Some(number) = (1..patterns.len()).find(|&number| !adds(number)) {
        let pattern = &patterns[number];
        let message = format!("all queues of \"{pattern}\" are in this list before it");
        found.push(vec![Problem::at("record.queues", message).help("leave it out")]);
    }
    let mut twice = |field: String, item: Option<String>| {
        let Some(item) = item else { return };
        let problem = Problem::at(field, format!("{item} is listed twice"));
        found.push(vec![problem.help("write it once")]);
    };
    for (index, link) in scenario.links.iter().enumerate() {
        for (name, drops) in [("drops", &link.drops), ("reverse_drops", &link.reverse_drops)] {
            for (number, drop) in drops.iter().enumerate() {
                let before = drops[..number].iter().filter(|before| before.flow == drop.flow);
                let known: BTreeSet<_> = before.flat_map(|before| &before.packets).collect();
                let again = drop.packets.iter().find(|packet| known.contains(packet));
                let item = repeated(&drop.packets).or_else(|| again.map(|packet| format!("packet {packet}")));
                twice(format!("links[{index}].{name}[{number}].packets"), item);
            }
        }
    }
    for (index, fault) in scenario.faults.iter().enumerate() {
        twice(format!("faults[{index}].occurrences"), repeated(&fault.occurrences));
    }
    twice("record.queues".into(), scenario.record.queues.as_deref().and_then(repeated));
    for (table, spec) in scenario.protocols() {
        let domain = spec.domain();
        twice(format!("{table}.domain.cells"), domain.cells.as_deref().and_then(repeated));
        twice(format!("{table}.domain.hosts"), domain.hosts.as_deref().and_then(repeated));
    }
    found
}

/// The first item that a list has a second time.
fn repeated<T: Ord + std::fmt::Debug>(items: &[T]) -> Option<String> {
    let mut seen = BTreeSet::new();
    items.iter().find(|item| !seen.insert(*item)).map(|item| format!("{item:?}"))
}
