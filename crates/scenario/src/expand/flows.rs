//! Groups of flows.

use crate::names::{Patterns, member};
use crate::problem::Problem;
use crate::schema::{FlowSpec, MOST_GENERATED, Scenario};
use roamlab_traffic::AppSpec;
use roamlab_traffic::requests::Params;

/// Replaces groups of flows by their flows; of each table its first flow.
pub fn expand(scenario: &mut Scenario) -> Result<Vec<(usize, bool)>, Problem> {
    let written = std::mem::take(&mut scenario.flows);
    let all: u64 = written.iter().map(FlowSpec::number).sum();
    if all > MOST_GENERATED {
        let problem = Problem::at("flows", format!("{all} flows are too many"));
        return Err(problem.help(format!("write at most {MOST_GENERATED}")));
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
        let FlowSpec { name, path, two_way, transport, path_change, snoop, dscp, app, stagger, .. } = flow;
        for number in 0..count {
            let mut app = app.clone();
            app.delay(stagger.unwrap_or_default().saturating_mul(u64::from(number)));
            let flow = FlowSpec {
                name: member(&name, number),
                path: path.each_ref().map(|end| patterns.nth(end, number)),
                transport: transport.clone(),
                path_change: path_change.clone(),
                snoop: snoop.clone(),
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

/// Adds a flow, the one that goes back if it has two ways, and that of the requests of each.
fn add(flows: &mut Vec<FlowSpec>, mut flow: FlowSpec) {
    let back = std::mem::take(&mut flow.two_way).then(|| FlowSpec {
        name: format!("{}-back", flow.name),
        path: reversed(&flow.path),
        snoop: None,
        ..flow.clone()
    });
    for flow in [Some(flow), back].into_iter().flatten() {
        let requests = flow.app.asks().then(|| FlowSpec {
            name: format!("{}-requests", flow.name),
            path: reversed(&flow.path),
            app: AppSpec::Requests(Params { of: flow.name.clone(), start: flow.app.start(), stop: None }),
            snoop: None,
            ..flow.clone()
        });
        flows.push(flow);
        flows.extend(requests);
    }
}

fn reversed([from, to]: &[String; 2]) -> [String; 2] {
    [to.clone(), from.clone()]
}
