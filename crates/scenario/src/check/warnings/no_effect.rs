//! Warnings of what is written and changes nothing: hosts that no protocol knows, moves that change nothing, faults on messages
//! that no part sends, changes to what is there already.

use crate::check::queues::{marks, queues};
use crate::names::PATH_CHANGE;
use crate::problem::Problem;
use crate::schema::{ChangeSpec, HostSpec, LinkSpec, Scenario};
use crate::suggest::known_value;
use roamlab_engine::{Duration, Time};
use roamlab_mobility::{MobilitySpec, matches};
use roamlab_radio::{Management, Motion, SignalSpec, Trajectory, Visit};
use roamlab_traffic::AppSpec;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use std::collections::BTreeSet;

/// All such warnings.
pub fn warnings(scenario: &Scenario) -> Vec<Problem> {
    let mut found = unused_parts(scenario);
    found.extend(unwatched_hosts(scenario));
    found.extend(dead_ends(scenario));
    found.extend(unknown_hosts(scenario));
    found.extend(idle_moves(scenario));
    found.extend(unseen_handovers(scenario));
    found.extend(empty_files(scenario));
    found.extend(unsent_messages(scenario));
    found.extend(idle_changes(scenario));
    found.extend(news_of_no_path(scenario));
    found.extend(unmarked(scenario));
    found
}

/// Parts that nothing uses: a scenario without flows, hosts at the end of no flow, a protocol without hosts.
fn unused_parts(scenario: &Scenario) -> Vec<Problem> {
    let mut found = Vec::new();
    let hosts = scenario.host_names();
    let is_host = |name: &String| hosts.contains(name.as_str());
    if scenario.flows.is_empty() {
        found.push(Problem::at("flows", "there are no flows: no data is sent").help(
            "add for example `[[flows]]` with `path = [\"a\", \"b\"]`, `transport = { kind = \"tcp\" }` and `app = { kind = \"ftp\" }`",
        ));
    } else if !scenario.hosts.is_empty() && !scenario.flows.iter().any(|flow| flow.path.iter().any(is_host)) {
        let host = &scenario.hosts[0].name;
        let message = "no flow has a mobile host at an end: their moves change nothing for the data";
        found.push(Problem::at("hosts", message).help(format!("write \"{host}\" in the `path` of a flow")));
    }
    if scenario.hosts.is_empty() && scenario.mobility.is_some() {
        let problem = Problem::at("mobility", "there are no mobile hosts: the protocol has nothing to do");
        found.push(problem.help("add `[[hosts]]`, or remove the protocol"));
    }
    found
}

/// Hosts that change cells and are the end of no flow, though others are: the first three, a group as one.
fn unwatched_hosts(scenario: &Scenario) -> Vec<Problem> {
    const NAMED: usize = 3;
    let ends: FxHashSet<&str> =
        scenario.flows.iter().flat_map(|flow| flow.path.iter().map(String::as_str)).collect();
    if !scenario.hosts.iter().any(|host| ends.contains(host.name.as_str())) {
        return Vec::new(); // `unused_parts` reports it
    }
    let firsts: Vec<usize> = match scenario.origins.hosts.as_slice() {
        [] => (0..scenario.hosts.len()).collect(),
        tables => tables.iter().map(|(first, _)| *first).collect(),
    };
    let by_position = scenario.radio.measurement().is_some_and(|spec| spec.signal == SignalSpec::Positions);
    let goes = |host: &HostSpec| {
        let entered = |pair: &[Visit]| pair[1].at < scenario.run.duration && pair[0].cell != pair[1].cell;
        (host.plan.is_some() && host.stays().is_empty() && scenario.cells_of(host).len() > 1)
            || host.stays().windows(2).any(entered)
            || (by_position && host.trajectory.as_ref().is_some_and(Trajectory::moves))
    };
    let mut found = Vec::new();
    for (place, &first) in firsts.iter().enumerate() {
        let until = firsts.get(place + 1).copied().unwrap_or(scenario.hosts.len());
        let group = &scenario.hosts[first..until];
        let unwatched: Vec<&HostSpec> =
            group.iter().filter(|host| !ends.contains(host.name.as_str()) && goes(host)).collect();
        let Some(host) = unwatched.first() else { continue };
        let name = &host.name;
        let (message, help) = match group {
            [_] => (
                format!(
                    "host \"{name}\" changes cells, and is the end of no flow: no data sees its handovers"
                ),
                format!("add a flow with \"{name}\" in its `path`, or write it in the `path` of one"),
            ),
            group => (
                format!(
                    "{} of the {} hosts of this group are the end of no flow: no data sees their handovers",
                    unwatched.len(),
                    group.len()
                ),
                format!(
                    "write `count = {}` in a flow, and \"{}*\" in its `path`",
                    group.len(),
                    name.trim_end_matches(|c: char| c.is_ascii_digit())
                ),
            ),
        };
        found.push(Problem::at(format!("hosts[{first}].name"), message).help(help));
    }
    found.truncate(NAMED);
    found
}

/// Nodes with one link that nothing else in the scenario names, and the nodes that lead to those alone: no data can begin,
/// end or pass there. Of a chain of them the link to the rest of the network is named.
fn dead_ends(scenario: &Scenario) -> Vec<Problem> {
    let mut links: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (index, link) in scenario.links.iter().enumerate() {
        link.between.iter().for_each(|name| links.entry(name).or_default().push(index));
    }
    let cells = scenario.cells.values().map(|cell| &cell.router);
    let flows = scenario.flows.iter().flat_map(|flow| &flow.path);
    let used: BTreeSet<&str> =
        cells.chain(flows).chain(scenario.hosts.iter().map(|host| &host.home)).map(String::as_str).collect();
    let written = match scenario.origins.links {
        own @ 1.. if !scenario.topology.is_empty() => own,
        _ => scenario.links.len(),
    };
    let next: Vec<&str> = links
        .iter()
        .filter(|(node, own)| matches!(own.as_slice(), [only] if *only < written) && !used.contains(*node))
        .map(|(node, _)| *node)
        .collect();
    if next.is_empty() {
        return Vec::new();
    }
    let Ok(Value::Object(mut tables)) = serde_json::from_str(&scenario.to_json()) else { return Vec::new() };
    tables.remove("links");
    let mut named = BTreeSet::new();
    texts(&Value::Object(tables), &mut named);
    let is_named =
        |node: &str| used.contains(node) || named.iter().any(|name| name == node || matches(name, node));
    let dead = dead_nodes(scenario, &links, next, written, is_named);
    let nodes: BTreeSet<&str> =
        scenario.links.iter().flat_map(|link| link.between.iter().map(String::as_str)).collect();
    let warn = |(index, link): (usize, &LinkSpec)| {
        let is_dead = link.between.each_ref().map(|name| dead.contains(name.as_str()));
        let end = is_dead.iter().position(|dead| *dead)?;
        if is_dead == [true, true] && link.between.iter().any(|name| links[name.as_str()].len() > 1) {
            return None;
        }
        let node = link.between[end].as_str();
        let message = match links[node].len() {
            1 => format!("\"{node}\" has no other link, and nothing else names it: no data goes this way"),
            _ => format!(
                "nothing else names \"{node}\" or a node that is behind it alone: no data goes this way"
            ),
        };
        let help = known_value(node, nodes.difference(&dead).copied());
        let problem = Problem::at(format!("links[{index}].between[{end}]"), message);
        Some(problem.help(format!("{help}; or remove the link")))
    };
    scenario.links.iter().enumerate().filter_map(warn).collect()
}

/// The nodes of `next` that nothing names, and those that lead to such nodes alone.
fn dead_nodes<'a>(
    scenario: &'a Scenario,
    links: &FxHashMap<&'a str, Vec<usize>>,
    mut next: Vec<&'a str>,
    written: usize,
    is_named: impl Fn(&str) -> bool,
) -> BTreeSet<&'a str> {
    let mut dead = BTreeSet::new();
    while let Some(node) = next.pop() {
        if is_named(node) || !dead.insert(node) {
            continue;
        }
        for name in links[node].iter().flat_map(|&index| &scenario.links[index].between) {
            let is_dead = |index: &&usize| {
                let between = &scenario.links[**index].between;
                **index < written && between.iter().any(|end| dead.contains(end.as_str()))
            };
            let left = links[name.as_str()].len() - links[name.as_str()].iter().filter(is_dead).count();
            if !dead.contains(name.as_str()) && left <= 1 {
                next.push(name);
            }
        }
    }
    dead
}
/// All texts in a value.
fn texts(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => drop(found.insert(text.clone())),
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// True if some protocol follows the host, in this cell if one is given.
fn is_followed(scenario: &Scenario, host: &str, cell: Option<&str>) -> bool {
    scenario.protocols().any(|(_, spec)| {
        let domain = spec.domain();
        domain.has_host(host) && cell.is_none_or(|cell| domain.has_cell(cell))
    })
}

/// Hosts at an end of a flow that no protocol follows.
fn unknown_hosts(scenario: &Scenario) -> Vec<Problem> {
    let mut found = Vec::new();
    let ends: BTreeSet<&str> =
        scenario.flows.iter().flat_map(|flow| flow.path.iter().map(String::as_str)).collect();
    let reached = scenario.hosts.iter().enumerate().filter(|(_, host)| ends.contains(host.name.as_str()));
    for (index, host) in reached {
        let at = |part: &str| format!("hosts[{index}].{part}");
        let name = &host.name;
        if !is_followed(scenario, name, None) {
            let message = format!(
                "no mobility protocol follows host \"{name}\": packets to it reach \"{}\", and none arrives",
                host.home
            );
            let help = match scenario.protocols().next() {
                None => {
                    let (first, _) = roamlab_mobility::PROTOCOLS[0];
                    format!(
                        "write `[mobility]` with `kind = \"{first}\"`, or another protocol of `roamlab list`"
                    )
                }
                Some((table, _)) => format!("add \"{name}\" to `{table}.domain.hosts`"),
            };
            found.push(Problem::at(at("home"), message).help(help));
            continue;
        }
        let outside = host.stays().iter().position(|visit| !is_followed(scenario, name, Some(&visit.cell)));
        if let Some(number) = outside {
            let cell = &host.stays()[number].cell;
            let message = format!(
                "no mobility protocol follows host \"{name}\" in cell \"{cell}\": nothing reaches it there"
            );
            let problem = Problem::at(at(&format!("visits[{number}].cell")), message);
            found.push(problem.help(format!("add \"{cell}\" to `mobility.domain.cells`")));
        }
    }
    found
}

/// Moves that change nothing: no cell at all, the cell where the host is, one that it enters behind the end of the run.
fn idle_moves(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let mut found = Vec::new();
    for (index, host) in scenario.hosts.iter().enumerate() {
        let at = |part: String| format!("hosts[{index}].{part}");
        if host.visits.as_ref().is_some_and(Vec::is_empty) {
            let problem = Problem::at(at("visits".into()), "this host is never in a cell");
            found.push(problem.help("write for example `visits = [{ cell = \"bs1\", at = \"0 s\" }]`"));
        }
        let stays = host.stays();
        for (number, pair) in stays.windows(2).enumerate() {
            if pair[0].cell == pair[1].cell && pair[0].until.is_none() && pair[1].at < end {
                let message = format!(
                    "the host is in \"{}\" already: it leaves this cell and enters it again",
                    pair[1].cell
                );
                let problem = Problem::at(at(format!("visits[{}].cell", number + 1)), message);
                found.push(problem.help(
                    "write another cell; for a time without coverage write `until` in the visit before",
                ));
            }
        }
        found.extend(late_entry(scenario, host, at));
    }
    found
}

/// Plans by which no host moves: they have one cell, or no moves, or their first one comes behind the end of the run. What they generate has lost them: the written scenario has them.
pub fn idle_plans(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let written =
        scenario.written.as_ref().and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let hosts = written.as_ref().and_then(|written| written.get("hosts")?.as_array());
    let time = |plan: &serde_json::Value, name: &str| plan.get(name)?.as_str()?.parse::<Duration>().ok();
    let warning = |(index, host): (usize, &serde_json::Value)| {
        let plan = host.get("plan")?;
        let field = |part: &str| format!("hosts[{index}].plan{part}");
        let stay = "write `kind = \"stay\"` for a host that does not move";
        let alone = plan.get("kind").is_some_and(|kind| kind != "stay" && kind != "schedule")
            && scenario.cells.keys().filter(|name| goes_to(plan, name)).count() == 1;
        if alone {
            let part = if plan.get("cells").is_some() { ".cells" } else { "" };
            let message = "this plan has one cell: the host never moves";
            return Some(Problem::at(field(part), message).help(format!("write two cells or more; {stay}")));
        }
        if plan.get("moves").is_some_and(|moves| *moves == 0) {
            let message = "the host changes its cell 0 times: it never moves";
            let help = format!("write a larger number, or leave it out; {stay}");
            return Some(Problem::at(field(".moves"), message).help(help));
        }
        let name = host.get("name").and_then(serde_json::Value::as_str);
        let is_it = |known: &&HostSpec| Some(known.name.as_str()) == name;
        let stays_once = || scenario.hosts.iter().find(is_it).is_some_and(|host| host.stays().len() == 1);
        if plan.get("kind").is_some_and(|kind| kind == "schedule") && stays_once() {
            let message = format!("the file moves this host to no other cell before the run ends at {end}");
            let help =
                "times are in seconds from the start of the run: correct them, or lengthen `run.duration`";
            return Some(Problem::at(field(".file"), message).help(help));
        }
        if let Some(at) = time(plan, "at").filter(|&at| at >= end) {
            let message =
                format!("the host enters its first cell at {at}, and the run ends at {end}: it is in none");
            let help = "write an earlier time, or lengthen `run.duration`";
            return Some(Problem::at(field(".at"), message).help(help));
        }
        let dwell =
            time(plan, "dwell").filter(|&dwell| dwell + time(plan, "at").unwrap_or_default() >= end)?;
        let message = format!(
            "the host stays in its first cell for {dwell}, and the run ends at {end}: it never moves"
        );
        let help = "write a shorter time, lengthen `run.duration`, or write `kind = \"stay\"`";
        Some(Problem::at(field(".dwell"), message).help(help))
    };
    let mut found: Vec<Problem> = hosts.into_iter().flatten().enumerate().filter_map(warning).collect();
    found.extend(lone_members(written.as_ref()));
    found
}

/// Groups of one member whose members are to begin one after the other.
fn lone_members(written: Option<&serde_json::Value>) -> Vec<Problem> {
    let mut found = Vec::new();
    for list in ["hosts", "flows"] {
        let rows = written.and_then(|written| written.get(list)?.as_array());
        for (index, row) in rows.into_iter().flatten().enumerate() {
            let is_alone = row.get("count").is_some_and(|count| *count == 1);
            if is_alone && row.get("stagger").is_some_and(|stagger| !stagger.is_null()) {
                let problem = Problem::at(
                    format!("{list}[{index}].stagger"),
                    "this group has one member: none is later",
                );
                found.push(problem.help("write a larger `count`, or leave this out"));
            }
        }
    }
    found
}
/// True if a written plan has a cell of this name.
fn goes_to(plan: &serde_json::Value, cell: &str) -> bool {
    let listed = plan.get("cells").and_then(|cells| cells.as_array()).filter(|cells| !cells.is_empty());
    listed.is_none_or(|cells| {
        cells.iter().filter_map(|name| name.as_str()).any(|name| name == cell || matches(name, cell))
    })
}

/// Applications that stop when they start.
fn empty_files(scenario: &Scenario) -> Vec<Problem> {
    // A stream of constant rate sends its first datagram even so, as in ns-2.
    let is_empty = |app: &AppSpec| !matches!(app, AppSpec::Cbr(_)) && app.stop() == Some(app.start());
    let warning = |(index, flow): (usize, &crate::schema::FlowSpec)| {
        let message = format!("this flow stops at {}, when it starts: it sends nothing", flow.app.start());
        Problem::at(format!("flows[{index}].app.stop"), message).help("write a later time, or leave it out")
    };
    scenario.flows.iter().enumerate().filter(|(_, flow)| is_empty(&flow.app)).map(warning).collect()
}

/// A visit that begins within the run, while its host is still between cells when the run ends.
fn late_entry(scenario: &Scenario, host: &HostSpec, at: impl Fn(String) -> String) -> Option<Problem> {
    let end = scenario.run.duration;
    let motions = scenario.radio.plan(host.stays(), None).ok()?;
    let (entered, visit) = motions.into_iter().find_map(|(time, motion)| match motion {
        Motion::Enter { visit } if time >= Time::ZERO + end && host.stays()[visit].at < end => {
            Some((time, visit))
        }
        _ => None,
    })?;
    let cell = &host.stays()[visit].cell;
    let entered = Duration::from_nanos(entered.as_nanos());
    let gap = scenario.radio.gap();
    let message =
        format!("the host would enter \"{cell}\" at {entered}, after a gap of {gap}: the run ends at {end}");
    let problem = Problem::at(at(format!("visits[{visit}].at")), message);
    Some(problem.help("shorten `radio.gap`, lengthen `run.duration`, or write an earlier time"))
}

/// Handovers before the first packet of each flow of their host, or after the last: no flow sees anything of them.
fn unseen_handovers(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let mut times: FxHashMap<&str, (Duration, Duration)> = FxHashMap::default();
    for flow in &scenario.flows {
        let (start, stop) = (flow.app.start(), flow.app.last_offer().unwrap_or(end).min(end));
        for node in &flow.path {
            let known = times.entry(node).or_insert((start, stop));
            *known = (known.0.min(start), known.1.max(stop));
        }
    }
    let mut found = Vec::new();
    for (index, host) in scenario.hosts.iter().enumerate() {
        let Some(&(first, last)) = times.get(host.name.as_str()).filter(|(first, _)| *first < end) else {
            continue;
        };
        for (number, visit) in host.stays().iter().enumerate().skip(1).filter(|(_, visit)| visit.at < end) {
            let (message, help) = if visit.at + scenario.radio.gap() < first {
                let message = format!(
                    "the host enters this cell at {}, and its first flow starts at {first}: no flow sees the handover",
                    visit.at
                );
                (message, "write a later time, or an earlier `start` in the `app` of a flow")
            } else if visit.at > last {
                let message = format!(
                    "the host enters this cell at {}, and its last flow ends at {last}: no flow sees the handover",
                    visit.at
                );
                (message, "write an earlier time, or a later `stop` or more `packets` in the `app` of a flow")
            } else {
                continue;
            };
            found.push(Problem::at(format!("hosts[{index}].visits[{number}].at"), message).help(help));
        }
    }
    found
}

/// Faults on messages that nothing in this scenario sends.
fn unsent_messages(scenario: &Scenario) -> Vec<Problem> {
    let mut sent: BTreeSet<&str> =
        scenario.protocols().flat_map(|(_, spec)| spec.messages().iter().copied()).collect();
    if let Some(wifi) = scenario.radio.roaming() {
        sent.extend(Management::names_with(wifi));
    }
    if scenario.flows.iter().any(|flow| flow.path_change.is_some()) {
        sent.insert(PATH_CHANGE);
    }
    let unsent =
        scenario.faults.iter().enumerate().filter(|(_, fault)| !sent.contains(fault.message.as_str()));
    let warning = |(index, fault): (usize, &crate::schema::FaultSpec)| {
        let titles: Vec<_> = scenario.protocols().map(|(_, spec)| spec.title()).collect();
        let senders = MobilitySpec::senders_of(&fault.message).collect::<Vec<_>>().join(" or ");
        let who = match titles.as_slice() {
            [] => "nothing in this scenario sends it".to_owned(),
            titles => format!("{} sends no such message", titles.join(" or ")),
        };
        let whose = if senders.is_empty() { String::new() } else { format!(" (it is one of {senders})") };
        let listed: Vec<_> = sent.iter().take(8).map(|name| format!("\"{name}\"")).collect();
        let help = match listed.as_slice() {
            [] => "write a `[mobility]` protocol, or remove the fault".to_owned(),
            listed => format!(
                "write a message that is sent here, for example {}, or remove the fault",
                listed.join(", ")
            ),
        };
        let message = format!("this fault never happens: {who}{whose}");
        Problem::at(format!("faults[{index}].message"), message).help(help)
    };
    unsent.map(warning).collect()
}

/// State of a link at some moment.
struct State {
    values: [Option<String>; 5],
}

const FIELDS: [&str; 5] = ["rate", "reverse_rate", "delay", "reverse_delay", "up"];

impl State {
    fn of(link: &LinkSpec) -> State {
        use crate::schema::Way::{Back, There};
        let rate = |way| (!link.rate.is_recorded()).then(|| link.rate(way).to_string());
        let delay = |way| Some(link.delay(way).to_string());
        State { values: [rate(There), rate(Back), delay(There), delay(Back), Some("true".into())] }
    }

    /// Fields that a change writes, each way.
    fn written(change: &ChangeSpec) -> [Option<String>; 5] {
        let rate = change.rate.map(|rate| rate.to_string());
        let delay = change.delay.map(|delay| delay.to_string());
        [
            rate.clone(),
            change.reverse_rate.map(|rate| rate.to_string()).or(rate),
            delay.clone(),
            change.reverse_delay.map(|delay| delay.to_string()).or(delay),
            change.up.map(|up| up.to_string()),
        ]
    }
}

/// Changes of links to what they are already, or that another one at the same time replaces.
fn idle_changes(scenario: &Scenario) -> Vec<Problem> {
    let mut found = Vec::new();
    for (index, link) in scenario.links.iter().enumerate().filter(|(_, link)| !link.changes.is_empty()) {
        let mut order: Vec<usize> = (0..link.changes.len()).collect();
        order.sort_by_key(|&number| link.changes[number].at);
        let mut state = State::of(link);
        for (place, &number) in order.iter().enumerate() {
            let change = &link.changes[number];
            let written = State::written(change);
            let at = |part: &str| format!("links[{index}].changes[{number}].{part}");
            let is_changed = |field: usize| written[field].is_some() && written[field] != state.values[field];
            let changed = (0..FIELDS.len()).any(is_changed);
            if !changed && let Some(field) = written.iter().position(Option::is_some) {
                let name = FIELDS[field];
                let now = written[field].as_deref().unwrap_or_default();
                let message = match name {
                    "up" => format!(
                        "the link is {} already: this changes nothing",
                        if now == "true" { "up" } else { "down" }
                    ),
                    _ => format!("the {} is {now} already: this changes nothing", name.replace('_', " ")),
                };
                found.push(Problem::at(at(name), message).help("write another value, or remove the change"));
            }
            let replaced = order.get(place + 1).map(|&next| &link.changes[next]).is_some_and(|next| {
                let later = State::written(next);
                next.at == change.at
                    && (0..FIELDS.len()).all(|it| written[it].is_none() || later[it].is_some())
            });
            if replaced {
                let message = format!("another change at {} replaces this one", change.at);
                found.push(
                    Problem::at(at("at"), message).help("write another time, or remove one of the two"),
                );
            }
            for (value, new) in state.values.iter_mut().zip(written) {
                *value = new.or(value.take());
            }
        }
    }
    found
}

/// Senders that are notified of new paths, though their hosts stay where they are.
fn news_of_no_path(scenario: &Scenario) -> Vec<Problem> {
    if scenario.radio.measurement().is_some_and(|spec| spec.signal == SignalSpec::Positions) {
        return Vec::new();
    }
    let moves = |name: &String| {
        let host = scenario.hosts.iter().find(|host| host.name == *name);
        host.is_some_and(super::senseless::moves)
    };
    let still = |flow: &crate::schema::FlowSpec| {
        flow.path_change.as_ref().is_some_and(|spec| spec.false_every.is_none())
            && !flow.path.iter().any(moves)
    };
    let warn = |(index, _)| {
        let message = "its hosts stay in one cell: there is no new path to be notified of";
        Problem::at(format!("flows[{index}].path_change"), message).help("add a visit, or remove this")
    };
    scenario.flows.iter().enumerate().filter(|(_, flow)| still(flow)).map(warn).collect()
}

/// Senders that go by marks, where no queue on the way of their data marks packets.
fn unmarked(scenario: &Scenario) -> Vec<Problem> {
    let marking: Vec<String> = queues(scenario)
        .into_iter()
        .filter_map(|(path, queue)| queue.is_some_and(marks).then_some(path))
        .collect();
    let up = |path: &String| path == "network.uplink_queue";
    let down =
        |path: &String| path.starts_with("cells.") && !path.contains(".backhaul.") && path.ends_with("queue");
    let hosts = scenario.host_names();
    let is_host = |name: &String| hosts.contains(name.as_str());
    let hears = |flow: &crate::schema::FlowSpec| flow.transport.uses_ecn(scenario.profiles());
    let warn = |(index, flow): (usize, &crate::schema::FlowSpec)| {
        let (where_, help) = match flow.path.each_ref().map(is_host) {
            _ if marking.is_empty() => (
                "no queue of the network marks packets",
                "write `mark_ecn = true` in a queue that can mark, for example `{ kind = \"codel\", mark_ecn = true }`",
            ),
            [false, true] if marking.iter().all(up) => (
                "only queues of the uplink mark packets, and its data goes down",
                "write a queue that marks in the cells, or in a link on its way",
            ),
            [true, false] if marking.iter().all(down) => (
                "only queues of the downlink mark packets, and its data goes up",
                "write a queue that marks as `network.uplink_queue`, or in a link on its way",
            ),
            _ => return None,
        };
        let message = format!("this flow uses ECN, and {where_}: they are dropped instead");
        Some(Problem::at(format!("flows[{index}].transport"), message).help(help))
    };
    scenario.flows.iter().enumerate().filter(|(_, flow)| hears(flow)).filter_map(warn).collect()
}
