//! The TCP profiles of a scenario: their names, where their rules are written, and rules that no flow reads.

use crate::problem::{Problem, quoted_key};
use crate::schema::{FlowSpec, Scenario};
use crate::suggest::refused;
use roamlab_tcp::{PARAMETERS, PROFILES, ProfileName};
use roamlab_transport::Unread;

/// The first profile that has a built-in one's name, or that is named and does not exist.
pub fn check(scenario: &Scenario) -> Result<(), Problem> {
    let built_in = || PROFILES.iter().map(|(name, _)| *name);
    if let Some(name) = scenario.tcp_profiles.keys().find(|name| built_in().any(|other| other == **name)) {
        let problem = Problem::at(table(name), "expected a new name, got that of a built-in profile");
        return Err(
            problem.help(format!("write for example `[tcp_profiles.own]` with `based_on = \"{name}\"`"))
        );
    }
    let exists = |name: &ProfileName, field: &dyn Fn() -> String| match name {
        ProfileName::Declared(name) if !scenario.tcp_profiles.contains_key(name) => {
            let names: Vec<&str> =
                built_in().chain(scenario.tcp_profiles.keys().map(String::as_str)).collect();
            let (help, _) = refused(name, &names, '"');
            Err(Problem::at(field(), format!("\"{name}\" is unknown")).help(help))
        }
        _ => Ok(()),
    };
    exists(&scenario.run.profile, &|| "run.profile".into())?;
    for (index, flow) in scenario.flows.iter().enumerate() {
        if let Some(name) = flow.transport.profile(scenario.profiles()) {
            exists(name, &|| format!("flows[{index}].transport.profile"))?;
        }
    }
    Ok(())
}

/// The field of a declared profile.
fn table(name: &str) -> String {
    format!("tcp_profiles.{}", quoted_key(name))
}

/// True if a parameter is a rule, which profiles have.
fn is_rule(name: &str) -> bool {
    name == "tick_phase" || PARAMETERS.iter().any(|known| known.name == name && known.is_rule)
}

/// The field in which a parameter of the transport of flow `index`, or a rule of its profile, is written.
pub fn place(scenario: &Scenario, index: usize, part: &str) -> String {
    match scenario.flows[index].transport.profile(scenario.profiles()) {
        Some(ProfileName::Declared(name)) if is_rule(part) => format!("{}.{part}", table(name)),
        _ => format!("flows[{index}].transport.{part}"),
    }
}

/// Profiles that no flow has; fields of transports and rules of profiles that are written, and that no connection reads.
pub fn warnings(scenario: &Scenario) -> Vec<Problem> {
    let problem = |field: String, Unread { reader, write, .. }: Unread| {
        let help = match write {
            "" => "leave it out".to_owned(),
            write => format!("write {write}, or leave it out"),
        };
        Problem::at(field, format!("this changes nothing: {reader}")).help(help)
    };
    let profiles = scenario.profiles();
    let unread = |flow: &FlowSpec| flow.transport.unread(profiles);
    let mut found = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let is_rule = |row: &Unread| flow.transport.profile(profiles).is_some() && is_rule(row.field);
        let written = unread(flow).into_iter().filter(|row| !is_rule(row));
        found.extend(written.map(|row| problem(format!("flows[{index}].transport.{}", row.field), row)));
    }
    for name in scenario.tcp_profiles.keys() {
        let has_it = |flow: &&FlowSpec| matches!(flow.transport.profile(profiles), Some(ProfileName::Declared(own)) if own == name);
        let mut connections = scenario.flows.iter().filter(has_it);
        let Some(first) = connections.next() else {
            let help = format!(
                "write `profile = \"{name}\"` in `[run]` or in the `transport` of a flow, or remove it"
            );
            found.push(Problem::at(table(name), "no flow has this profile").help(help));
            continue;
        };
        let mut rules = unread(first);
        rules.retain(|row| is_rule(row.field));
        for other in connections.map(unread) {
            rules.retain(|row| other.iter().any(|unread| unread.field == row.field));
        }
        found.extend(rules.into_iter().map(|row| problem(format!("{}.{}", table(name), row.field), row)));
    }
    found
}
