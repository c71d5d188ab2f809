//! Fields of flows that another part makes useless.

use crate::check::queues::{goes_by_code_points, queues};
use crate::problem::Problem;
use crate::schema::{FlowSpec, Scenario};
use roamlab_traffic::AppSpec;

/// Code points that no queue uses, and films whose player never asks for the best quality.
pub(super) fn of_flows(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let values = queues(scenario).into_iter().filter_map(|(_, queue)| serde_json::to_value(queue?).ok());
    let sorted = values.into_iter().any(|queue| goes_by_code_points(&queue));
    let marks: Vec<u8> = scenario.protocols().filter_map(|(_, spec)| Some(spec.mark()?.0)).collect();
    let hosts = scenario.host_names();
    let is_host = |name: &String| hosts.contains(name.as_str());
    let mut found = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let at = |part: &str| format!("flows[{index}].{part}");
        if flow.dscp.0 != 0 && !sorted && !marks.contains(&flow.dscp.0) {
            let message =
                "no queue of the network uses code points: these packets are treated as all others are";
            let help = "write a queue that does, for example `{ kind = \"cake\" }`, or leave this out";
            found.push(vec![Problem::at(at("dscp"), message).help(help)]);
        }
        if flow.transport.can_migrate() && !flow.path.iter().any(is_host) {
            let message = "no end of this flow is a mobile host: its address never changes";
            let problem = Problem::at(at("transport.migration"), message);
            found.push(vec![problem.help("write a host in `path`, or leave this out")]);
        }
        if let (AppSpec::Web(_) | AppSpec::Dash(_), [server, .., client]) = (&flow.app, &flow.path[..])
            && is_host(server)
            && !is_host(client)
        {
            let message = format!("the first node is the server: here the mobile host \"{server}\"");
            let help = format!("write `path = [\"{client}\", \"{server}\"]` if the host asks");
            found.push(vec![Problem::at(at("path"), message).help(help)]);
        }
        found.extend(of_app(flow, at));
    }
    found
}

/// Fields of an application; `at`: the path of one.
fn of_app(flow: &FlowSpec, at: impl Fn(&str) -> String) -> Vec<Vec<Problem>> {
    let mut found = Vec::new();
    if let AppSpec::Conference(call) = &flow.app
        && call.intra_every == 1
    {
        let problem = Problem::at(
            at("app.intra_factor"),
            "with `intra_every = 1` all frames have one size: none is larger",
        );
        found.push(vec![problem.help("write a larger `intra_every`, or leave this out")]);
    }
    if let AppSpec::Web(pages) = &flow.app
        && pages.objects == 1
    {
        let problem =
            Problem::at(at("app.between_objects"), "a page has one object: there is no time between two");
        found.push(vec![problem.help("write a larger `objects`, or leave this out")]);
    }
    if let AppSpec::Dash(film) = &flow.app
        && film.rates.len() == 1
    {
        let of = ["app.reservoir", "app.cushion"];
        let message = "there is one quality: the buffer chooses none";
        let help = "write two `rates` or more, or leave this out";
        found.push(of.iter().map(|part| Problem::at(at(part), message).help(help)).collect());
    }
    found.extend(unreached_quality(flow, at));
    found
}

/// A buffer that is never as full as the best quality needs.
fn unreached_quality(flow: &FlowSpec, at: impl Fn(&str) -> String) -> Option<Vec<Problem>> {
    let AppSpec::Dash(film) = &flow.app else { return None };
    let full = film.reservoir + film.cushion;
    // Requested segments fill the buffer up to a segment below its end at the latest.
    let most = film.buffer.saturating_sub(film.segment);
    if film.rates.len() <= 1 || most >= full {
        return None;
    }
    let message = format!(
        "the best quality is asked for with {full} in the buffer (`reservoir` and `cushion`), and with more than {most} nothing is asked for"
    );
    let help = format!("write a `buffer` of at least \"{}\", or a shorter `cushion`", full + film.segment);
    let of = ["app.buffer", "app.cushion", "app.reservoir", "app.segment"];
    Some(of.iter().map(|part| Problem::at(at(part), &message).help(&help)).collect())
}
