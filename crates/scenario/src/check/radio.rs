//! Measurements of hosts, and their requirements.

use crate::problem::{Problem, quoted_key};
use crate::schema::{CellSpec, HostSpec, Scenario, Way};
use crate::suggest::known_value;
use roamlab_engine::Duration;
use roamlab_mobility::{MobilitySpec, commanders};
use roamlab_radio::{MediumSpec, SignalSpec, Wifi};

/// The first problem of the radio.
pub fn check(scenario: &Scenario) -> Result<(), Problem> {
    let measurement = scenario.radio.measurement();
    if let Some(Err((field, message))) = measurement.map(|spec| spec.check()) {
        return Err(Problem::from_text(format!("radio.measurement.{field}"), &message));
    }
    if let Err((field, message)) = scenario.radio.check_gap() {
        return Err(Problem::from_text(format!("radio.{field}"), &message));
    }
    if let Some(Err((field, message))) = scenario.radio.roaming().map(Wifi::check) {
        return Err(Problem::from_text(format!("radio.{field}"), &message));
    }
    let by_position = measurement.is_some_and(|spec| spec.signal == SignalSpec::Positions);
    check_cells(scenario, by_position)?;
    for (index, host) in scenario.hosts.iter().enumerate() {
        let at = |part: &str| format!("hosts[{index}].{part}");
        check_trajectory(host, by_position, at)?;
        if by_position {
            check_first_visit(scenario, host, at)?;
        }
    }
    check_transitions(scenario)?;
    check_commanded(scenario)
}

/// Requests of base stations name cells and hosts of the scenario.
fn check_transitions(scenario: &Scenario) -> Result<(), Problem> {
    let Some(wifi) = scenario.radio.roaming() else { return Ok(()) };
    for (number, spec) in wifi.transitions.iter().enumerate() {
        let at = |part: &str| format!("radio.transitions[{number}].{part}");
        let of_cells = std::iter::once(("cell".to_owned(), &spec.cell)).chain(
            spec.candidates.iter().enumerate().map(|(place, cell)| (format!("candidates[{place}]"), cell)),
        );
        for (part, cell) in of_cells {
            if !scenario.cells.contains_key(cell) {
                let problem = Problem::at(at(&part), format!("there is no cell \"{cell}\""));
                return Err(problem.help(known_value(cell, scenario.cells.keys().map(String::as_str))));
            }
        }
        if let Some(place) = spec.candidates.iter().position(|cell| *cell == spec.cell) {
            let problem = Problem::at(
                at(&format!("candidates[{place}]")),
                "a host that is asked to go is in this cell",
            );
            return Err(problem.help("write another cell, or leave `candidates` out for all others"));
        }
        for (place, host) in spec.hosts.iter().enumerate() {
            if !scenario.hosts.iter().any(|known| known.name == *host) {
                let problem =
                    Problem::at(at(&format!("hosts[{place}]")), format!("there is no host \"{host}\""));
                let hosts = scenario.hosts.iter().map(|known| known.name.as_str());
                return Err(problem.help(known_value(host, hosts)));
            }
        }
        if spec.disassociates_after == Some(Duration::ZERO) {
            let problem = Problem::at(at("disassociates_after"), "expected more than 0, got 0");
            return Err(problem.help("write for example \"1 s\", or leave this out"));
        }
    }
    Ok(())
}

/// A host that measures goes to the cell that an agent commands, and needs such an agent.
fn check_commanded(scenario: &Scenario) -> Result<(), Problem> {
    let protocols: Vec<&MobilitySpec> = scenario.protocols().map(|(_, spec)| spec).collect();
    let commanded = |host: &HostSpec| {
        protocols.iter().any(|spec| spec.commands_hosts() && spec.domain().has_host(&host.name))
    };
    let measures = scenario.radio.measurement().is_some();
    if measures && scenario.radio.roaming().is_some() {
        let commander = protocols.iter().find(|spec| spec.commands_hosts());
        return commander.map_or(Ok(()), |spec| {
            let message = format!(
                "stations of 802.11 choose their cells themselves, and {} commands its hosts",
                spec.title()
            );
            let problem = Problem::at("radio.kind", message);
            Err(problem.help("write `radio.kind = \"hard\"`, or another protocol, which commands no hosts"))
        });
    }
    if !measures || scenario.hosts.iter().all(commanded) {
        return Ok(());
    }
    let others = protocols.iter().filter(|spec| !spec.commands_hosts());
    let titles: Vec<&str> = others.map(|spec| spec.title()).collect();
    let stays = match titles.as_slice() {
        [] => "there is no protocol that tells a host to change cells".to_owned(),
        titles => format!("{} tells no host to change cells", titles.join(" or ")),
    };
    let message = format!("{stays}: all that measure would stay in their first one");
    let problem = Problem::at("radio.measurement", message);
    let commanders: Vec<String> = commanders().map(|name| format!("`mobility.kind = \"{name}\"`")).collect();
    let commanders = commanders.join(" or ");
    Err(problem.help(format!("remove this, and hosts move by their `visits`; or write {commanders}")))
}

/// Positions count only where hosts measure by them.
const BY_POSITION: &str = "write `radio.measurement.signal = \"positions\"` too, or remove this";

fn check_cells(scenario: &Scenario, by_position: bool) -> Result<(), Problem> {
    for (name, cell) in &scenario.cells {
        let at = |part: &str| format!("cells.{}.{part}", quoted_key(name));
        if !(-24.0..=24.0).contains(&cell.individual_offset_db) {
            let message = format!("expected -24 to 24 dB, got {}", cell.individual_offset_db);
            return Err(
                Problem::at(at("individual_offset_db"), message).help("write a number from -24 to 24")
            );
        }
        check_bearers(scenario, name, cell)?;
        if let Err((field, message)) = cell.medium.check() {
            return Err(Problem::from_text(at(&format!("medium.{field}")), &message));
        }
        let shared = cell.scheduler.is_some() || !matches!(cell.medium, MediumSpec::Dedicated(_));
        if shared && cell.rate.is_recorded() {
            let message = "expected a constant rate with a scheduler or a shared medium, got a recorded link";
            return Err(
                Problem::at(at("rate"), message).help("write a constant rate, for example \"2 Mbit/s\"")
            );
        }
        if let Some(message) = cell.medium.refuses_rate(cell.rate.mean(Way::There)) {
            return Err(Problem::from_text(at("rate"), &message));
        }
        check_roaming(scenario, cell, at)?;
        let Some(transmitter) = &cell.transmitter else { continue };
        if !by_position {
            return Err(Problem::at(at("transmitter"), "no host measures by position").help(BY_POSITION));
        }
        if !transmitter.position_m.iter().all(|part| part.is_finite()) {
            let problem = Problem::at(at("transmitter.position_m"), "expected two finite numbers of metres");
            return Err(problem.help("write for example [0.0, 500.0]"));
        }
        if !transmitter.reference_signal_dbm.is_finite() {
            let problem = Problem::at(
                at("transmitter.reference_signal_dbm"),
                format!("expected a finite number of dBm, got {}", transmitter.reference_signal_dbm),
            );
            return Err(problem.help("write for example 15.0"));
        }
    }
    Ok(())
}

/// A cell's medium and channel are such that hosts can roam, if they do.
fn check_roaming(scenario: &Scenario, cell: &CellSpec, at: impl Fn(&str) -> String) -> Result<(), Problem> {
    let Some(wifi) = scenario.radio.roaming() else {
        return match cell.channel {
            None => Ok(()),
            Some(_) => {
                let problem = Problem::at(at("channel"), "hosts look for channels only with 802.11");
                Err(problem.help("write `radio.kind = \"802.11\"` too, or remove this"))
            }
        };
    };
    if let Some((field, message)) = cell.medium.refuses_roaming() {
        let field = if field.is_empty() { "medium".to_owned() } else { format!("medium.{field}") };
        return Err(Problem::from_text(at(&field), message));
    }
    match cell.channel.filter(|channel| !(1..=wifi.channels).contains(channel)) {
        None => Ok(()),
        Some(channel) => {
            let problem = Problem::at(
                at("channel"),
                format!("expected a channel from 1 to {}, got {channel}", wifi.channels),
            );
            Err(problem.help(format!("write 1 to {}, or raise `radio.channels`", wifi.channels)))
        }
    }
}

fn check_bearers(scenario: &Scenario, name: &str, cell: &CellSpec) -> Result<(), Problem> {
    let at = |part: &str| format!("cells.{}.{part}", quoted_key(name));
    if let Some(Err((field, message))) = cell.scheduler.as_ref().map(|spec| spec.check()) {
        return Err(Problem::from_text(at(&format!("scheduler.{field}")), &message));
    }
    let Some(bearers) = &cell.bearers else { return Ok(()) };
    let Some(scheduler) = &cell.scheduler else {
        let problem = Problem::at(at("bearers"), "without a scheduler all hosts share one queue");
        return Err(problem.help("write `scheduler = { kind = \"wfq\" }` too, or remove this"));
    };
    for (host, bearer) in &bearers.hosts {
        let at = |part: &str| at(&format!("bearers.hosts.{}{part}", quoted_key(host)));
        let enters = |spec: &&HostSpec| scenario.cells_of(spec).contains(&name);
        let mut hosts = scenario.hosts.iter().filter(enters).map(|spec| spec.name.as_str());
        if !hosts.any(|known| known == host) {
            let problem = Problem::at(at(""), format!("no host \"{host}\" enters this cell"));
            let hosts = scenario.hosts.iter().filter(enters).map(|spec| spec.name.as_str());
            return Err(problem.help(known_value(host, hosts)));
        }
        if let Some(message) = bearer.rate.and_then(|rate| cell.medium.refuses_rate(rate)) {
            return Err(Problem::from_text(at(".rate"), &message));
        }
        if !(bearer.weight > 0.0 && bearer.weight.is_finite()) {
            let problem =
                Problem::at(at(".weight"), format!("expected a weight above 0, got {}", bearer.weight));
            return Err(problem.help("write a number above 0"));
        }
        if bearer.weight != 1.0 && !scheduler.uses_weights() {
            let problem = Problem::at(at(".weight"), "the scheduler of this cell does not use weights");
            return Err(problem.help("write `scheduler = { kind = \"wfq\" }`, or remove this"));
        }
    }
    Ok(())
}

fn check_trajectory(host: &HostSpec, by_position: bool, at: impl Fn(&str) -> String) -> Result<(), Problem> {
    match &host.trajectory {
        Some(_) if !by_position => {
            Err(Problem::at(at("trajectory"), "this host does not measure by position").help(BY_POSITION))
        }
        Some(trajectory) => trajectory
            .check()
            .map_err(|(field, message)| Problem::from_text(at(&format!("trajectory.{field}")), &message)),
        None if by_position => {
            let problem =
                Problem::at(at("name"), "expected a `trajectory` with it: hosts measure by position");
            Err(problem.help("add for example `trajectory = { waypoints_m = [[0.0, 0.0]] }`"))
        }
        None => Ok(()),
    }
}

/// By position a host has one visit: the cell and the time at which it begins.
fn check_first_visit(
    scenario: &Scenario,
    host: &HostSpec,
    at: impl Fn(&str) -> String,
) -> Result<(), Problem> {
    let Some(first) = host.stays().first() else { return Ok(()) };
    if scenario.cells[&first.cell].transmitter.is_none() {
        let message = format!("cell \"{}\" has no `transmitter`", first.cell);
        let heard = scenario.cells.iter().find(|(_, cell)| cell.transmitter.is_some());
        let other = heard.map_or_else(String::new, |(name, _)| format!(", or begin in \"{name}\""));
        let help = format!(
            "write `transmitter = {{ position_m = [0.0, 0.0], reference_signal_dbm = 15.0 }}` in `[cells.{}]`{other}",
            quoted_key(&first.cell)
        );
        return Err(Problem::at(at("visits[0].cell"), message).help(help));
    }
    if host.stays().len() > 1 {
        let problem = Problem::at(
            at("visits[1]"),
            "expected one visit: hosts measure by position, and go to the next cell by its level",
        );
        return Err(problem.help("write only the visit that it begins with"));
    }
    if first.until.is_some() {
        let problem = Problem::at(
            at("visits[0].until"),
            "expected no `until`: hosts measure by position, and leave a cell by its level",
        );
        return Err(problem.help("remove this"));
    }
    Ok(())
}
