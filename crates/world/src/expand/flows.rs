//! Groups of flows.

use super::MOST;
use crate::locate::Problem;
use crate::names::{Patterns, member};
use crate::scenario::{FlowSpec, Scenario};

/// Replaces groups of flows by their flows; of each table its first flow.
pub fn expand(scenario: &mut Scenario) -> Result<Vec<(usize, bool)>, Problem> {
    let written = std::mem::take(&mut scenario.flows);
    let size = |flow: &FlowSpec| u64::from(flow.count.unwrap_or(1)) * (1 + u64::from(flow.two_way));
    let all: u64 = written.iter().map(size).sum();
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
            add(&mut flows, flow);
            continue;
        };
        for end in 0..2 {
            patterns.find(&flow.path[end], || format!("flows[{index}].path[{end}]"))?;
        }
        let FlowSpec { name, path, two_way, transport, dscp, app, stagger, .. } = flow;
        for number in 0..count {
            let mut app = app.clone();
            app.delay(stagger.unwrap_or_default().saturating_mul(u64::from(number)));
            let flow = FlowSpec {
                name: member(&name, number),
                path: path.each_ref().map(|end| patterns.nth(end, number)),
                transport: transport.clone(),
                dscp,
                app,
                count: None,
                stagger: None,
                two_way,
            };
            add(&mut flows, flow);
        }
    }
    scenario.flows = flows;
    Ok(firsts)
}

/// Adds a flow, and the one that goes back if it has two ways.
fn add(flows: &mut Vec<FlowSpec>, mut flow: FlowSpec) {
    let back = std::mem::take(&mut flow.two_way).then(|| {
        let [from, to] = flow.path.clone();
        FlowSpec { name: format!("{}-back", flow.name), path: [to, from], ..flow.clone() }
    });
    flows.push(flow);
    flows.extend(back);
}
