//! Groups of flows.

use super::MOST;
use crate::locate::Problem;
use crate::names::{Patterns, member};
use crate::scenario::{FlowSpec, Scenario};

/// Replaces groups of flows by their flows; of each table its first flow.
pub fn expand(scenario: &mut Scenario) -> Result<Vec<(usize, bool)>, Problem> {
    let written = std::mem::take(&mut scenario.flows);
    let all: u64 = written.iter().map(|flow| u64::from(flow.count.unwrap_or(1))).sum();
    if all > MOST {
        let problem = Problem::at("flows", format!("{all} flows are too many"));
        return Err(problem.help(format!("write at most {MOST}")));
    }
    let mut flows = Vec::with_capacity(all as usize);
    let mut firsts = Vec::with_capacity(written.len());
    let hosts = scenario.hosts.iter().map(|host| host.name.as_str());
    let nodes = scenario.links.iter().flat_map(|link| &link.between).map(String::as_str).chain(hosts);
    let mut patterns = Patterns::new(nodes, "node");
    for (index, flow) in written.into_iter().enumerate() {
        firsts.push((flows.len(), false));
        let Some(count) = flow.count else {
            flows.push(flow);
            continue;
        };
        for end in 0..2 {
            patterns.find(&flow.path[end], || format!("flows[{index}].path[{end}]"))?;
        }
        let FlowSpec { name, path, transport, dscp, app, stagger, .. } = flow;
        for number in 0..count {
            let mut app = app.clone();
            app.delay(stagger.unwrap_or_default().saturating_mul(u64::from(number)));
            flows.push(FlowSpec {
                name: member(&name, number),
                path: path.each_ref().map(|end| patterns.nth(end, number)),
                transport: transport.clone(),
                dscp,
                app,
                count: None,
                stagger: None,
            });
        }
    }
    scenario.flows = flows;
    Ok(firsts)
}
