//! What a mobility protocol's parameters need of the rest of the scenario.

use super::known;
use crate::locate::Problem;
use crate::scenario::Scenario;
use roamlab_engine::{Bytes, Duration};
use roamlab_mobility::{MobilitySpec, lte_x2, mobile_ip};
use std::collections::BTreeSet;

/// The largest IPv4 datagram (RFC 791 §3.1: the total length has 16 bits).
const LARGEST_DATAGRAM: Bytes = Bytes(65_535);

/// The first problem of the mobility protocol.
pub fn check(scenario: &Scenario, routers: &BTreeSet<&str>) -> Result<(), Problem> {
    match &scenario.mobility {
        None => Ok(()),
        Some(MobilitySpec::MobileIp(params)) => check_mobile_ip(params),
        Some(MobilitySpec::LteX2(params)) => check_lte(scenario, params, routers),
    }
}

fn check_mobile_ip(params: &mobile_ip::Params) -> Result<(), Problem> {
    params.check().map_err(|(field, message)| Problem::told(format!("mobility.{field}"), &message))?;
    if !(1..=63).contains(&params.buffer.mark.0) {
        let message = format!("{} is not a code point that marks anything", params.buffer.mark.0);
        return Err(Problem::at("mobility.buffer.mark", message).help("write a number from 1 to 63"));
    }
    check_sizes([("beacon", params.sizes.beacon), ("local", params.sizes.local)])
}

fn check_sizes(sizes: impl IntoIterator<Item = (&'static str, Bytes)>) -> Result<(), Problem> {
    for (part, size) in sizes {
        if size == Bytes(0) || size > LARGEST_DATAGRAM {
            let field = format!("mobility.sizes.{part}");
            let problem = Problem::at(field, format!("a datagram of \"{size}\" does not exist"));
            return Err(problem.help(format!("write \"1 B\" to \"{LARGEST_DATAGRAM}\"")));
        }
    }
    Ok(())
}

fn check_lte(scenario: &Scenario, params: &lte_x2::Params, routers: &BTreeSet<&str>) -> Result<(), Problem> {
    params.check().map_err(|(field, message)| Problem::told(format!("mobility.{field}"), &message))?;
    check_sizes(params.sizes.all())?;
    let overheads =
        [("tunnel_overhead", params.tunnel_overhead), ("forwarding_overhead", params.forwarding_overhead)];
    if let Some((part, _)) = overheads.iter().find(|(_, overhead)| overhead.0 > u64::from(u16::MAX)) {
        let problem = Problem::at(format!("mobility.{part}"), "a tunnel header has at most 65535 bytes");
        return Err(problem.help("write \"36 B\" for GTP-U over UDP and IPv4"));
    }
    if scenario.radio.measurement.is_none() {
        let problem =
            Problem::at("mobility.kind", "LTE hands over what hosts measure, and they measure nothing");
        return Err(problem.help("add `[radio]` with `measurement = {}`"));
    }
    if scenario.radio.gap != Duration::ZERO {
        let problem = Problem::at("radio.gap", "in LTE a handover interrupts for `mobility.detach_time`");
        return Err(problem.help("remove this"));
    }
    check_places(scenario, params, routers)?;
    check_predictions(scenario, params)
}

/// Where gateway and MME stand.
fn check_places(
    scenario: &Scenario,
    params: &lte_x2::Params,
    routers: &BTreeSet<&str>,
) -> Result<(), Problem> {
    if let Some(host) = scenario.hosts.iter().position(|host| host.home != scenario.hosts[0].home) {
        let message = format!("\"{}\" is the home of another host", scenario.hosts[0].home);
        let problem = Problem::at(format!("hosts[{host}].home"), message);
        return Err(problem.help("write the same node: the home of all hosts is the serving gateway"));
    }
    match &params.mme {
        Some(mme) if !routers.contains(mme.as_str()) => {
            let problem = Problem::at("mobility.mme", format!("there is no node \"{mme}\""));
            Err(problem.help(known(mme, routers.iter().copied())))
        }
        _ => Ok(()),
    }
}

fn check_predictions(scenario: &Scenario, params: &lte_x2::Params) -> Result<(), Problem> {
    for (index, prediction) in params.predictions.iter().flatten().enumerate() {
        let at = |part: &str| format!("mobility.predictions[{index}].{part}");
        if !scenario.hosts.iter().any(|host| host.name == prediction.host) {
            let problem = Problem::at(at("host"), format!("there is no host \"{}\"", prediction.host));
            let names = scenario.hosts.iter().map(|host| host.name.as_str());
            return Err(problem.help(known(&prediction.host, names)));
        }
        if !scenario.cells.contains_key(&prediction.cell) {
            let problem = Problem::at(at("cell"), format!("there is no cell \"{}\"", prediction.cell));
            return Err(problem.help(known(&prediction.cell, scenario.cells.keys().map(String::as_str))));
        }
    }
    Ok(())
}
