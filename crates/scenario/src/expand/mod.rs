//! Expands a scenario: every link, cell, host and flow becomes a separate table.
//!
//! Topologies become links and cells, groups become hosts and flows, and plans become visits. Random plans are drawn
//! when a run is built ([`Scenario::draw_plans`]). Written links, cells, hosts and flows stay in their order; generated links follow
//! the written ones.

mod flows;
mod hosts;

use crate::problem::Problem;
use crate::schema::origins::Origins;
use crate::schema::topology::At;
use crate::schema::{LinkSpec, MOST_GENERATED, Scenario, TopologySpec};
use roamlab_packet::Addr;
use std::collections::BTreeSet;

/// Replaces what generates by what it generates.
///
/// # Errors
/// The first problem, by its field in the scenario as it is written.
pub fn expand(scenario: &mut Scenario) -> Result<(), Problem> {
    let mut origins = Origins { links: scenario.links.len(), ..Origins::default() };
    check_alone(scenario)?;
    if !scenario.generates() {
        return Ok(());
    }
    scenario.written = Some(scenario.to_json());
    let topologies = std::mem::take(&mut scenario.topology);
    check_topologies(&topologies)?;
    for (number, topology) in topologies.iter().enumerate() {
        origins.topologies.push((scenario.links.len(), topology.name().to_owned()));
        add(scenario, topology, number)?;
    }
    scenario.topology = topologies;
    origins.hosts = hosts::expand(scenario)?;
    origins.flows = flows::expand(scenario)?;
    scenario.origins = origins;
    Ok(())
}

/// Fields that have a meaning in a group only.
fn check_alone(scenario: &Scenario) -> Result<(), Problem> {
    let hosts = scenario.hosts.iter().map(|host| (host.count, host.stagger));
    let flows = scenario.flows.iter().map(|flow| (flow.count, flow.stagger));
    for (list, index, (count, stagger)) in hosts
        .enumerate()
        .map(|(i, it)| ("hosts", i, it))
        .chain(flows.enumerate().map(|(i, it)| ("flows", i, it)))
    {
        if count == Some(0) {
            let problem = Problem::at(format!("{list}[{index}].count"), "expected at least 1, got 0");
            return Err(problem.help("write at least 1, or remove the table"));
        }
        if count.is_none() && stagger.is_some() {
            let problem = Problem::at(
                format!("{list}[{index}].stagger"),
                "expected a group with `stagger`, got a single one",
            );
            return Err(problem.help("write `count` too, for example `count = 10`, or remove this"));
        }
    }
    Ok(())
}

fn check_topologies(topologies: &[TopologySpec]) -> Result<(), Problem> {
    let (mut names, mut nodes) = (BTreeSet::new(), 0u64);
    for (number, topology) in topologies.iter().enumerate() {
        let field = format!("topology[{number}]");
        crate::names::check_name(topology.name(), || format!("{field}.name"))?;
        if !names.insert(topology.name()) {
            let problem = Problem::at(
                format!("{field}.name"),
                format!("there is another topology \"{}\"", topology.name()),
            );
            return Err(problem.help("give each topology its own name"));
        }
        topology.check(&field)?;
        let own = topology.size().unwrap_or_default();
        let cells = topology.cells().map_or(0, |cells| u64::from(cells.per_node));
        nodes = nodes.saturating_add(own.saturating_mul(1 + cells));
        let most = u64::from(Addr::MAX_NODES).min(MOST_GENERATED);
        if nodes > most {
            let problem = Problem::at(field, format!("{nodes} nodes and base stations are too many"));
            return Err(problem.help(format!("write fewer: topologies may have {most} together")));
        }
    }
    Ok(())
}

/// Adds the links and cells of a topology.
fn add(scenario: &mut Scenario, topology: &TopologySpec, number: usize) -> Result<(), Problem> {
    let name = topology.name();
    let plan = topology.plan();
    let node = |node: u32| format!("{name}-{}", plan.names[node as usize]);
    let kinds = topology.kinds();
    for &(from, to, kind) in &plan.links {
        let (_, link) = &kinds[kind];
        scenario.links.push(LinkSpec {
            between: [node(from), node(to)],
            rate: link.rate.into(),
            delay: link.delay.into(),
            reverse_rate: None,
            reverse_delay: None,
            queue: link.queue.clone().map(Box::new),
            reverse_queue: link.reverse_queue.clone().map(Box::new),
            loss: link.loss.clone(),
            reverse_loss: link.reverse_loss.clone(),
            drops: Vec::new(),
            reverse_drops: Vec::new(),
            changes: Vec::new(),
            outages: link.outages.clone(),
        });
    }
    let Some(cells) = topology.cells() else { return Ok(()) };
    let sites: Vec<u32> = match topology.cells_at() {
        At::Leaves => plan.leaves.clone(),
        At::All => (0..plan.names.len() as u32).collect(),
    };
    let all = sites.iter().flat_map(|site| (0..cells.per_node).map(move |_| *site));
    for (cell, site) in all.enumerate() {
        let name = format!("{name}-bs-{cell}");
        if scenario.cells.insert(name.clone(), cells.cell(node(site))).is_some() {
            let problem =
                Problem::at(format!("topology[{number}].cells"), format!("there is another cell \"{name}\""));
            return Err(problem.help("rename the cell, or the topology"));
        }
    }
    Ok(())
}
