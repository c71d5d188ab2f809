//! The domains of mobility protocols, and the refusals of the protocols.

use crate::problem::Problem;
use crate::schema::Scenario;
use crate::suggest::{known_pattern, known_value};
use roamlab_engine::Duration;
use roamlab_mobility::{Help, MobilitySpec, Refusal, is_pattern, matches};
use serde_json::Value;
use std::collections::BTreeSet;

/// Protocols of a run at most.
const MOST_PROTOCOLS: usize = 16;

/// The first problem of a mobility protocol.
pub fn check(scenario: &Scenario, routers: &BTreeSet<&str>) -> Result<(), Problem> {
    let protocols: Vec<(String, &MobilitySpec)> = scenario.protocols().collect();
    if protocols.len() > MOST_PROTOCOLS {
        let message = format!("{} mobility protocols are too many for one run", protocols.len());
        let problem = Problem::at(format!("mobility[{MOST_PROTOCOLS}]"), message);
        return Err(problem.help(format!("write at most {MOST_PROTOCOLS}")));
    }
    for (number, (table, spec)) in protocols.iter().enumerate() {
        check_members(scenario, table, spec, routers)?;
        for outer in &protocols[..number] {
            check_nested(scenario, outer, (table, spec))?;
        }
        spec.check(&scenario.topology_of(spec)).map_err(|refusal| problem(table, refusal))?;
        if spec.carries_marking_state() {
            check_estimates(scenario, table, spec)?;
        }
        if let Some(field) = spec.needs_average() {
            check_averages(scenario, &format!("{table}.{field}"), spec)?;
        }
    }
    Ok(())
}

/// Each host has a separate queue in each cell, of the same discipline, with an estimate that can be carried.
fn check_estimates(scenario: &Scenario, table: &str, spec: &MobilitySpec) -> Result<(), Problem> {
    let refuse = |message: String| Problem::at(format!("{table}.carry_marking_state"), message);
    let domain = spec.domain();
    for host in scenario.hosts.iter().filter(|host| domain.has_host(&host.name)) {
        let mut first: Option<(&str, &str)> = None;
        for name in scenario.cells_of(host).into_iter().filter(|name| domain.has_cell(name)) {
            let cell = &scenario.cells[name];
            if cell.scheduler.is_none() {
                let problem = refuse(format!(
                    "in cell \"{name}\" all hosts share a queue, and its state is the cell's"
                ));
                return Err(problem.help(
                    "give the cell a `scheduler`, so that each host has its own queue, or remove this",
                ));
            }
            let queue = cell.bearer_of(&host.name).queue;
            if !queue.has_marking_state() {
                let kind = queue.name();
                let message = format!(
                    "the `{kind}` queue of host \"{}\" in cell \"{name}\" has no estimate to carry",
                    host.name
                );
                let write = match kind {
                    "rlc" => "give it `mark_above` and a `mark_weight` below 1, or remove this",
                    _ => "write for example `bearers = { queue = { kind = \"pie\" } }`, or remove this",
                };
                return Err(refuse(message).help(write));
            }
            match first {
                Some((other, kind)) if kind != queue.name() => {
                    let message = format!(
                        "host \"{}\" has a `{kind}` queue in cell \"{other}\" and a `{}` queue in \"{name}\"",
                        host.name,
                        queue.name()
                    );
                    return Err(refuse(message).help("write the same kind for both, or remove this"));
                }
                _ => first = Some((name, queue.name())),
            }
        }
    }
    Ok(())
}

/// Each host's packets wait in a queue with an average, in each cell.
fn check_averages(scenario: &Scenario, field: &str, spec: &MobilitySpec) -> Result<(), Problem> {
    let domain = spec.domain();
    for host in scenario.hosts.iter().filter(|host| domain.has_host(&host.name)) {
        for name in scenario.cells_of(host).into_iter().filter(|name| domain.has_cell(name)) {
            let cell = &scenario.cells[name];
            let queue = match &cell.scheduler {
                Some(_) => cell.bearer_of(&host.name).queue,
                None => cell.queue.clone(),
            };
            if !queue.has_average() {
                let message =
                    format!("the `{}` queue of cell \"{name}\" has no average length", queue.name());
                let problem = Problem::at(field, message);
                return Err(problem
                    .help("write for example `queue = { kind = \"red\", limit = \"120 pkt\" }` for the cell, or remove this"));
            }
        }
    }
    Ok(())
}

/// Gateway, cells and hosts of a domain exist.
fn check_members(
    scenario: &Scenario,
    table: &str,
    spec: &MobilitySpec,
    routers: &BTreeSet<&str>,
) -> Result<(), Problem> {
    let domain = spec.domain();
    let cells: BTreeSet<&str> = scenario.cells.keys().map(String::as_str).collect();
    let hosts: BTreeSet<&str> = scenario.hosts.iter().map(|host| host.name.as_str()).collect();
    let exists = |field: String, what: &str, name: &str, names: &BTreeSet<&str>| {
        if names.contains(name) || (is_pattern(name) && names.iter().any(|known| matches(name, known))) {
            return Ok(());
        }
        let problem = Problem::at(field, format!("there is no {what} \"{name}\""));
        let names = names.iter().copied();
        Err(problem.help(if what == "node" { known_value(name, names) } else { known_pattern(name, names) }))
    };
    if let Some(gateway) = &domain.gateway {
        exists(format!("{table}.domain.gateway"), "node", gateway, routers)?;
    }
    for (number, cell) in domain.cells.iter().flatten().enumerate() {
        exists(format!("{table}.domain.cells[{number}]"), "cell", cell, &cells)?;
    }
    for (number, host) in domain.hosts.iter().flatten().enumerate() {
        exists(format!("{table}.domain.hosts[{number}]"), "host", host, &hosts)?;
    }
    Ok(())
}

/// Two domains have no host in common, or the second lies inside the first; and they mark packets in the same way.
fn check_nested(
    scenario: &Scenario,
    (first, outer): &(String, &MobilitySpec),
    (table, inner): (&str, &MobilitySpec),
) -> Result<(), Problem> {
    if let (Some(known), Some(mark)) = (outer.mark(), inner.mark())
        && known != mark
    {
        let message = format!("it marks forwarded packets with {}, and `{first}` with {}", mark.0, known.0);
        return Err(Problem::at(table, message).help("write the same code point in both"));
    }
    let (around, inside) = (outer.domain(), inner.domain());
    let shared =
        scenario.hosts.iter().find(|host| around.has_host(&host.name) && inside.has_host(&host.name));
    let Some(host) = shared else { return Ok(()) };
    let cells = || scenario.cells.keys();
    let lies_inside = cells().all(|cell| around.has_cell(cell) || !inside.has_cell(cell));
    let smaller = cells().any(|cell| around.has_cell(cell) && !inside.has_cell(cell));
    if lies_inside && smaller {
        return Ok(());
    }
    let message = format!("host \"{}\" belongs to `{first}` too, which does not lie around this", host.name);
    Err(Problem::at(format!("{table}.domain"), message).help(
        "give each protocol its own hosts, or list the outer one first and give the inner one fewer `cells`",
    ))
}

/// A protocol's refusal as a problem of the scenario; the protocol's own table is at `table`.
pub(super) fn problem(table: &str, Refusal { field, elsewhere, message, help }: Refusal) -> Problem {
    let field = if elsewhere { field } else { format!("{table}.{field}") };
    match help {
        None => Problem::from_text(field, &message),
        Some(Help::Text(text)) => Problem::at(field, message).help(text),
        Some(Help::OneOf { wanted, names }) => {
            Problem::at(field, message).help(known_value(&wanted, names.iter().map(String::as_str)))
        }
    }
}

/// The fields of a protocol, those that are not written too.
pub fn fields_of(spec: &MobilitySpec) -> Option<Value> {
    serde_json::to_value(spec).ok()
}

/// A field of a table, by its path, for example "measurement.offset_db" or "events[0].kind".
pub fn at<'a>(fields: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(fields, |table, part| match part.split_once('[') {
        Some((list, place)) => table.get(list)?.get(place.strip_suffix(']')?.parse::<usize>().ok()?),
        None => table.get(part),
    })
}

/// A time of a table, by its path.
pub fn time(fields: &Value, path: &str) -> Option<Duration> {
    at(fields, path)?.as_str()?.parse().ok()
}
