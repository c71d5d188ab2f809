//! Checks beyond the types of a scenario: names that must exist, times that must fit, nodes that must be reachable.

use crate::names::{check_name, messages};
use crate::problem::{Problem, quoted_key};
use crate::schema::{FlowSpec, Scenario};
use crate::suggest::{is_close, known_value};
use roamlab_engine::{Bytes, Duration, RandomNumbers};
use roamlab_mobility::{is_pattern, matches};
use roamlab_packet::Addr;
use roamlab_traffic::AppSpec;
use roamlab_transport::Data;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

mod channel;
mod loss;
mod mobility;
mod path_change;
mod profiles;
mod queues;
mod radio;
mod recorded;
mod snoop;
mod warnings;
mod ways;

pub use warnings::no_effect::idle_plans;
pub use warnings::{of_one_short_run, of_written, warnings};

/// The name of signalling among the flows of a result.
pub const SIGNALLING: &str = "signalling";

/// The longest run: it ends before the pending events do ([`EventScheduler::END`](roamlab_engine::EventScheduler::END)).
const LONGEST_RUN: Duration = Duration::from_secs(3600 * 80_000);

/// Most segments of a file: sequence numbers have 32 bits, with room for a SYN and a FIN.
const MOST_SEGMENTS: u64 = u32::MAX as u64 - 2;

/// The first problem of a scenario.
pub fn check(scenario: &Scenario) -> Result<(), Problem> {
    if scenario.run.duration.as_nanos() == 0 {
        return Err(
            Problem::at("run.duration", "expected more than 0 s, got 0 s").help("write for example \"40 s\"")
        );
    }
    if scenario.run.duration > LONGEST_RUN {
        let problem = Problem::at(
            "run.duration",
            format!("expected at most \"{LONGEST_RUN}\", got \"{}\"", scenario.run.duration),
        );
        return Err(problem.help(format!("write at most \"{LONGEST_RUN}\"")));
    }
    if scenario.network.tunnel_overhead.0 > u64::from(u16::MAX) {
        let problem = Problem::at(
            "network.tunnel_overhead",
            format!("expected at most 65535 B, got \"{}\"", scenario.network.tunnel_overhead),
        );
        return Err(problem.help("write \"20 B\" for IP-in-IP"));
    }
    let routers = check_links(scenario)?;
    recorded::check(scenario)?;
    check_forced(scenario)?;
    check_cells(scenario, &routers)?;
    check_server(scenario, &routers)?;
    queues::check(scenario)?;
    loss::check(scenario)?;
    loss::check_outages(scenario)?;
    check_hosts(scenario, &routers)?;
    mobility::check(scenario, &routers)?;
    radio::check(scenario)?;
    channel::check(scenario)?;
    profiles::check(scenario)?;
    check_flows(scenario, &routers)?;
    check_faults(scenario)?;
    check_record(scenario)?;
    check_connected(scenario)?;
    let nodes = routers.len() + scenario.cells.len() + scenario.hosts.len();
    if nodes > Addr::MAX_NODES as usize {
        let most = Addr::MAX_NODES;
        let problem = Problem::at("links", format!("expected at most {most} nodes, got {nodes}"));
        return Err(problem.help(format!("write at most {most} nodes, base stations and hosts included")));
    }
    Ok(())
}

/// True if a run of the scenario can have this seed.
pub fn check_seed(scenario: &Scenario, seed: u64) -> Result<(), Problem> {
    let largest = scenario.run.random_numbers.largest_seed();
    if scenario.run.random_numbers == RandomNumbers::Chacha || (1..=largest).contains(&seed) {
        return Ok(());
    }
    let message = format!("expected a seed from 1 to {largest} for the generator of ns-2, got {seed}");
    Err(Problem::at("run.random_numbers", message)
        .help("run with seed 1, or write random_numbers = \"chacha\""))
}

/// Checks the links; the names of the nodes at their ends.
fn check_links(scenario: &Scenario) -> Result<BTreeSet<&str>, Problem> {
    let mut pairs = FxHashSet::default();
    for (index, link) in scenario.links.iter().enumerate() {
        let [left, right] = &link.between;
        let field = format!("links[{index}].between");
        if left == right {
            let message = format!("expected two nodes, got \"{left}\" twice");
            return Err(Problem::at(field, message).help("write two different names"));
        }
        if !pairs.insert((left.min(right), left.max(right))) {
            let problem =
                Problem::at(field, format!("there is another link between \"{left}\" and \"{right}\""));
            let is_back = scenario.links[..index].iter().any(|other| other.between == [right.as_str(), left]);
            return Err(problem.help(match is_back {
                true => "a link leads both ways: write `reverse_rate`, `reverse_delay` and `reverse_queue` in the first, and remove this one",
                false => "remove one of the two",
            }));
        }
        for (end, name) in link.between.iter().enumerate() {
            check_name(name, || format!("links[{index}].between[{end}]"))?;
        }
    }
    Ok(scenario.links.iter().flat_map(|link| link.between.iter().map(String::as_str)).collect())
}

/// Checks what is done to links by force: drops of flows that exist, changes that change something.
fn check_forced(scenario: &Scenario) -> Result<(), Problem> {
    for (index, link) in scenario.links.iter().enumerate() {
        for (list, drops) in [("drops", &link.drops), ("reverse_drops", &link.reverse_drops)] {
            for (number, drop) in drops.iter().enumerate() {
                let field = |part: &str| format!("links[{index}].{list}[{number}].{part}");
                let flows = || scenario.flows.iter().map(|flow| flow.name.as_str());
                if let Some(flow) = drop.flow.as_deref().filter(|flow| !flows().any(|name| name == *flow)) {
                    let problem = Problem::at(field("flow"), format!("there is no flow \"{flow}\""));
                    return Err(problem.help(known_value(flow, flows())));
                }
                if drop.packets.is_empty() {
                    let problem = Problem::at(field("packets"), "expected packet numbers, got an empty list");
                    return Err(problem.help("write ordinals, counted from 0, for example [40, 41]"));
                }
                if drop.delay == Some(Duration::ZERO) {
                    let problem = Problem::at(field("delay"), "expected more than 0 s, got 0 s");
                    return Err(
                        problem.help("write for example \"20 ms\", or leave it out to lose the packets")
                    );
                }
            }
        }
        for (number, change) in link.changes.iter().enumerate() {
            let changes_rate = change.rate.is_some() || change.reverse_rate.is_some();
            let changes_delay = change.delay.is_some() || change.reverse_delay.is_some();
            if !changes_rate && !changes_delay && change.up.is_none() {
                let field = format!("links[{index}].changes[{number}]");
                let problem = Problem::at(field, "expected a change, got only its time");
                return Err(problem.help("write `rate`, `delay` or `up` too, for example `up = false`"));
            }
        }
    }
    Ok(())
}

fn check_cells(scenario: &Scenario, routers: &BTreeSet<&str>) -> Result<(), Problem> {
    for (name, cell) in &scenario.cells {
        check_name(name, || format!("cells.{}", quoted_key(name)))?;
        if routers.contains(name.as_str()) {
            let problem =
                Problem::at(format!("cells.{name}"), format!("\"{name}\" is a node of a link already"));
            return Err(problem.help("a cell brings its own base station: give it another name"));
        }
        if !routers.contains(cell.router.as_str()) {
            let problem =
                Problem::at(format!("cells.{name}.router"), format!("there is no node \"{}\"", cell.router));
            return Err(problem.help(node_help(scenario, &cell.router, routers)));
        }
    }
    Ok(())
}

/// The node of the authentication server of 802.11 exists.
fn check_server(scenario: &Scenario, routers: &BTreeSet<&str>) -> Result<(), Problem> {
    let server = scenario.radio.roaming().and_then(|wifi| wifi.security.server.as_deref());
    match server.filter(|server| !routers.contains(server)) {
        None => Ok(()),
        Some(server) => {
            let problem = Problem::at("radio.security.server", format!("there is no node \"{server}\""));
            Err(problem.help(node_help(scenario, server, routers)))
        }
    }
}

/// The help where a node of the wired network is expected.
fn node_help(scenario: &Scenario, wanted: &str, routers: &BTreeSet<&str>) -> String {
    let nodes = || routers.iter().map(|name| format!("\"{name}\"")).take(40).collect::<Vec<_>>().join(", ");
    let is_host = scenario.hosts.iter().any(|host| host.name == wanted);
    let is_cell = scenario.cells.contains_key(wanted);
    match (is_host, is_cell) {
        (true, _) => format!("\"{wanted}\" is a mobile host; write one of the nodes of links: {}", nodes()),
        (_, true) => format!("\"{wanted}\" is a cell; write one of the nodes of links: {}", nodes()),
        _ => known_value(wanted, routers.iter().copied()),
    }
}

/// The end of a wired link that has the name of a mobile host, if the node has no other link and nothing needs it as a node:
/// it is the host that is meant.
fn wired_host(scenario: &Scenario, host: &str) -> Option<Problem> {
    let mut ends =
        scenario.links.iter().enumerate().flat_map(|(index, link)| {
            link.between.iter().enumerate().map(move |(end, name)| (index, end, name))
        });
    let mut own = ends.by_ref().filter(|(_, _, name)| *name == host);
    let ((index, end, _), None) = (own.next()?, own.next()) else { return None };
    let is_home = scenario.hosts.iter().any(|other| other.home == host);
    if is_home || scenario.cells.values().any(|cell| cell.router == host) {
        return None;
    }
    let other = &scenario.links[index].between[1 - end];
    if let Some(number) = scenario.hosts.iter().position(|each| each.name == host)
        && !scenario.cells.iter().any(|(name, cell)| [name, &cell.router].contains(&other))
    {
        let message = format!("\"{host}\" has a wired link to \"{other}\", and a mobile host has none");
        let problem = Problem::at(format!("hosts[{number}].name"), message);
        return Some(problem.help(
            "remove this host if the node does not move: only mobile hosts are in `[[hosts]]`; otherwise remove the link",
        ));
    }
    let message =
        format!("\"{host}\" is a mobile host: it has no wired link, and is reached through its cells");
    let problem = Problem::at(format!("links[{index}].between[{end}]"), message);
    Some(problem.help("remove this link; if another node is meant, give one of the two another name"))
}

fn check_hosts(scenario: &Scenario, routers: &BTreeSet<&str>) -> Result<(), Problem> {
    let mut names = FxHashSet::default();
    for (index, host) in scenario.hosts.iter().enumerate() {
        let field = |part: &str| format!("hosts[{index}].{part}");
        check_name(&host.name, || field("name"))?;
        if let Some(problem) = wired_host(scenario, &host.name) {
            return Err(problem);
        }
        let taken = routers.contains(host.name.as_str()) || scenario.cells.contains_key(&host.name);
        if taken || !names.insert(&host.name) {
            let problem = Problem::at(field("name"), format!("the name \"{}\" is taken", host.name));
            return Err(problem.help("give the host its own name"));
        }
        if !routers.contains(host.home.as_str()) {
            let problem = Problem::at(field("home"), format!("there is no node \"{}\"", host.home));
            return Err(problem.help(node_help(scenario, &host.home, routers)));
        }
        if host.visits.is_none() && host.plan.is_none() {
            let problem = Problem::at(field("visits"), "it is missing");
            let help = "add for example `visits = [{ cell = \"bs1\", at = \"0 s\" }]`, or a `plan`";
            return Err(problem.help(help));
        }
        for (number, visit) in host.stays().iter().enumerate() {
            if !scenario.cells.contains_key(&visit.cell) {
                let field = field(&format!("visits[{number}].cell"));
                let problem = Problem::at(field, format!("there is no cell \"{}\"", visit.cell));
                return Err(problem.help(known_value(&visit.cell, scenario.cells.keys().map(String::as_str))));
            }
        }
        let early = host.stays().windows(2).position(|pair| pair[1].at < pair[0].at);
        if let Some(number) = early.map(|before| before + 1) {
            let at = host.stays()[number - 1].at;
            let message = format!(
                "expected a time of {at} or later, when the visit before begins, got {}",
                host.stays()[number].at
            );
            let problem = Problem::at(field(&format!("visits[{number}].at")), message);
            return Err(problem.help("write the visits in the order of their times, or a later time"));
        }
        if let Err((number, part, message)) = scenario.radio.plan(host.stays(), None) {
            return Err(Problem::from_text(field(&format!("visits[{number}].{part}")), &message));
        }
    }
    Ok(())
}

/// All nodes that may be the end of a flow.
fn ends_of_flows<'a>(scenario: &'a Scenario, routers: &BTreeSet<&'a str>) -> impl Iterator<Item = &'a str> {
    let base_stations = scenario.cells.keys().map(String::as_str);
    let hosts = scenario.hosts.iter().map(|host| host.name.as_str());
    routers.iter().copied().chain(base_stations).chain(hosts)
}

/// Refuses ends of a flow that do not exist, or are one node.
fn check_path(
    scenario: &Scenario,
    flow: &FlowSpec,
    (routers, nodes): (&BTreeSet<&str>, &FxHashSet<&str>),
    field: &impl Fn(&str) -> String,
) -> Result<(), Problem> {
    for (end, name) in flow.path.iter().enumerate() {
        if !nodes.contains(name.as_str()) {
            if flow.count.is_none() && is_pattern(name) {
                let problem = Problem::at(
                    field(&format!("path[{end}]")),
                    format!("expected a node, got the pattern \"{name}\""),
                );
                return Err(problem.help("write `count` too, for example `count = 10`, or a node"));
            }
            let problem = Problem::at(field(&format!("path[{end}]")), format!("there is no node \"{name}\""));
            let is_group = ends_of_flows(scenario, routers).any(|end| end == crate::names::member(name, 0));
            let all = match is_group {
                true => format!(", or `count` for a flow with each, and \"{name}-*\" here"),
                false => String::new(),
            };
            return Err(problem.help(known_value(name, ends_of_flows(scenario, routers)) + &all));
        }
    }
    if flow.path[0] == flow.path[1] {
        let problem =
            Problem::at(field("path"), format!("expected two nodes, got \"{}\" twice", flow.path[0]));
        return Err(problem.help("write two different names"));
    }
    Ok(())
}

fn check_flows(scenario: &Scenario, routers: &BTreeSet<&str>) -> Result<(), Problem> {
    let mut names = FxHashSet::default();
    let nodes: FxHashSet<&str> = ends_of_flows(scenario, routers).collect();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let field = |part: &str| format!("flows[{index}].{part}");
        check_name(&flow.name, || field("name"))?;
        if flow.name == SIGNALLING {
            let message = format!("\"{SIGNALLING}\" is the name of signalling in the results");
            return Err(Problem::at(field("name"), message).help("give the flow another name"));
        }
        if !names.insert(&flow.name) {
            let problem = Problem::at(field("name"), format!("there is another flow \"{}\"", flow.name));
            return Err(problem.help("give each flow its own name"));
        }
        check_path(scenario, flow, (routers, &nodes), &field)?;
        if flow.dscp.0 > 63 {
            let problem = Problem::at(
                field("dscp"),
                format!("expected a code point from 0 to 63, got {}", flow.dscp.0),
            );
            return Err(problem.help(format!(
                "write a number from 0 to 63; as a byte of type of service, whose last two bits are of ECN, it is {}",
                flow.dscp.0 / 4
            )));
        }
        if let AppSpec::Requests(params) = &flow.app {
            let answers = |other: &&FlowSpec| other.name == params.of && other.app.asks();
            if !scenario.flows.iter().any(|other| answers(&other)) {
                let message = format!("there is no flow \"{}\" that answers requests", params.of);
                let problem = Problem::at(field("app.of"), message);
                return Err(problem.help(
                    "write a flow with a \"web\" or \"dash\" application: it brings its requests with it",
                ));
            }
        }
        if let Err((part, message)) = flow.app.validate() {
            return Err(Problem::from_text(field(&format!("app.{part}")), &message));
        }
        check_transport(scenario, index, flow)?;
        path_change::check(scenario, flow, &field)?;
        snoop::check(scenario, flow, &field)?;
    }
    Ok(())
}

/// The build has the transport, it carries the application's data, and its fields are right.
fn check_transport(scenario: &Scenario, index: usize, flow: &FlowSpec) -> Result<(), Problem> {
    let transport = &flow.transport;
    let at = |field: &'static str| {
        move |message: &str| Problem::from_text(format!("flows[{index}].{field}"), message)
    };
    let data = match &flow.app {
        app if app.is_datagrams() => Data::Datagrams,
        AppSpec::Ftp(_) => Data::File,
        AppSpec::Web(_) | AppSpec::Dash(_) | AppSpec::Requests(_) => Data::Requests,
        _ => Data::Packets,
    };
    transport.check_build().map_err(at("transport.kind"))?;
    transport.check_data(data).map_err(at("app.kind"))?;
    let segment = transport.check(scenario.profiles());
    let refused = |(part, message): (&str, String)| {
        Problem::from_text(profiles::place(scenario, index, part), &message)
    };
    let segment = segment.map_err(refused)?;
    let mut versions = scenario.flows.iter().filter_map(|flow| flow.transport.stack_version());
    if let Some(own) = transport.stack_version()
        && let Some(other) = versions.find(|&version| version != own)
    {
        let message = format!("a run has one kernel, and another flow names {other}: write \"{other}\"");
        return Err(at("transport.version")(&message));
    }
    let refused = |(part, message): (&'static str, String)| at(part)(&message);
    segment.map_or(Ok(()), |segment| check_file(&flow.app, segment).map_err(refused))
}

/// A file has a number for each of its segments.
fn check_file(app: &AppSpec, segment: Bytes) -> Result<(), (&'static str, String)> {
    let AppSpec::Ftp(file) = app else { return Ok(()) };
    let largest = Bytes(segment.0 * MOST_SEGMENTS);
    if file.size.is_some_and(|size| size > largest) {
        let message = format!("segments of {segment} have numbers for \"{largest}\": write at most that");
        return Err(("app.size", message));
    }
    if file.packets.is_some_and(|packets| u64::from(packets.0) > MOST_SEGMENTS) {
        return Err((
            "app.packets",
            format!("segments have no more numbers: write at most \"{MOST_SEGMENTS} pkt\""),
        ));
    }
    Ok(())
}

fn check_faults(scenario: &Scenario) -> Result<(), Problem> {
    for (index, fault) in scenario.faults.iter().enumerate() {
        let field = |part: &str| format!("faults[{index}].{part}");
        let names = messages;
        if !names().any(|name| name == fault.message) {
            let problem = Problem::at(field("message"), format!("there is no message \"{}\"", fault.message));
            return Err(problem.help(known_value(&fault.message, names())));
        }
        if let Some(host) =
            fault.host.as_ref().filter(|name| !scenario.hosts.iter().any(|h| h.name == **name))
        {
            let problem = Problem::at(field("host"), format!("there is no host \"{host}\""));
            return Err(problem.help(known_value(host, scenario.hosts.iter().map(|host| host.name.as_str()))));
        }
        if fault.delay == Some(Duration::ZERO) && !fault.duplicate {
            let problem = Problem::at(field("delay"), "expected more than 0 s, got 0 s");
            return Err(problem.help("write for example \"20 ms\", or leave it out to lose the messages"));
        }
        if fault.occurrences.is_empty() || fault.occurrences.contains(&0) {
            let problem =
                Problem::at(field("occurrences"), "expected numbers from 1 on, got 0 or an empty list");
            return Err(problem.help("write for example `occurrences = [1]`"));
        }
    }
    Ok(())
}

fn check_record(scenario: &Scenario) -> Result<(), Problem> {
    let Some(queues) = scenario.record.queues.as_ref().filter(|queues| !queues.is_empty()) else {
        return Ok(());
    };
    let names: Vec<String> = scenario.queue_names().collect();
    for (index, queue) in queues.iter().enumerate() {
        if !names.iter().any(|name| matches(queue, name)) {
            let problem =
                Problem::at(format!("record.queues[{index}]"), format!("there is no queue \"{queue}\""));
            return Err(problem.help(queue_help(scenario, queue, &names)));
        }
    }
    Ok(())
}

/// The help for an unknown name of a queue: the downlink of a cell, the queues at a node, or a name that is near.
fn queue_help(scenario: &Scenario, wanted: &str, names: &[String]) -> String {
    let parts =
        |name: &str| name.split("->").flat_map(|part| part.split('/')).map(str::to_owned).collect::<Vec<_>>();
    let own = parts(wanted);
    if let Some(cell) = own.first().filter(|cell| scenario.cells.contains_key(*cell)) {
        return format!(
            "write \"{cell}/air\" for the downlink of the cell, or \"*->{cell}\" for the links to it"
        );
    }
    match names.iter().any(|name| own.len() == 1 && parts(name).contains(&own[0])) {
        true => format!(
            "write \"{wanted}->*\" for the queues at \"{wanted}\", or \"*->{wanted}\" for those to it"
        ),
        false => known_value(wanted, names.iter().map(String::as_str)),
    }
}

/// Every node must be reachable from every other over wired links and backhauls.
fn check_connected(scenario: &Scenario) -> Result<(), Problem> {
    let Some(first) = scenario.links.first() else { return Ok(()) };
    let reached = ways::reached(scenario.links.iter(), &first.between[0]);
    if let Some(problem) = slip(scenario, &reached) {
        return Err(problem);
    }
    for (index, link) in scenario.links.iter().enumerate() {
        if let Some(end) = link.between.iter().position(|name| !reached.contains(name.as_str())) {
            let message =
                format!("no path of links leads from \"{}\" to \"{}\"", first.between[0], link.between[end]);
            let problem = Problem::at(format!("links[{index}].between[{end}]"), message);
            return Err(problem.help("add the missing link, or correct the name"));
        }
    }
    Ok(())
}

/// An end of a link that nothing else names, if a node of the other part of the network has almost its name. Names that
/// differ in their numbers are no slips.
fn slip(scenario: &Scenario, reached: &FxHashSet<&str>) -> Option<Problem> {
    let ends = || scenario.links.iter().flat_map(|link| link.between.iter().map(String::as_str));
    let apart: FxHashSet<&str> = ends().filter(|name| !reached.contains(name)).collect();
    if apart.is_empty() {
        return None;
    }
    let mut links: BTreeMap<&str, usize> = BTreeMap::new();
    ends().for_each(|name| *links.entry(name).or_default() += 1);
    let cells = scenario.cells.values().map(|cell| &cell.router);
    let flows = scenario.flows.iter().flat_map(|flow| &flow.path);
    let named: BTreeSet<&str> =
        cells.chain(flows).chain(scenario.hosts.iter().map(|host| &host.home)).map(String::as_str).collect();
    let letters = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let like = |one: &str, other: &str| {
        one.eq_ignore_ascii_case(other) || (is_close(one, other) && letters(one) != letters(other))
    };
    for (index, link) in scenario.links.iter().enumerate() {
        for (end, name) in link.between.iter().enumerate() {
            let name = name.as_str();
            let others = if apart.contains(name) { reached } else { &apart };
            let is_alone = links[name] == 1 && !named.contains(name);
            if let Some(other) = others.iter().find(|other| is_alone && like(name, other)) {
                let message = format!("no path of links leads from \"{name}\" to \"{other}\"");
                let problem = Problem::at(format!("links[{index}].between[{end}]"), message);
                return Some(problem.help(format!("did you mean \"{other}\"?")));
            }
        }
    }
    None
}
