//! Senders that are notified of a new path: whether there is one, and whether the sender can do what it should.

use crate::problem::Problem;
use crate::schema::{FlowSpec, LINK_UP, Scenario};
use crate::suggest::known_value;
use roamlab_engine::Duration;

/// The first problem of a flow's `path_change`; `field` is the place of a part of the flow.
pub fn check(scenario: &Scenario, flow: &FlowSpec, field: &impl Fn(&str) -> String) -> Result<(), Problem> {
    let Some(spec) = &flow.path_change else { return Ok(()) };
    let part = |part: &str| field(&format!("path_change.{part}"));
    if !flow.path.iter().any(|end| scenario.hosts.iter().any(|host| host.name == *end)) {
        let problem = Problem::at(
            field("path_change"),
            "expected a mobile host at one end of the flow: no other path changes",
        );
        return Err(problem.help("leave it out, or write a host in `path`"));
    }
    if let Err(message) = flow.transport.check_policy(spec.policy, scenario.profiles()) {
        return Err(Problem::from_text(part("policy"), &message));
    }
    let phases = || {
        let of_protocols = scenario.protocols().flat_map(|(_, protocol)| protocol.phase_names());
        [LINK_UP].into_iter().chain(of_protocols.copied())
    };
    if !phases().any(|phase| phase == spec.phase) {
        let message = format!("no handover of this scenario has a phase \"{}\"", spec.phase);
        return Err(Problem::at(part("phase"), message).help(known_value(&spec.phase, phases())));
    }
    if let Err((name, message)) = spec.delay.check_in("delay") {
        return Err(Problem::from_text(part(&name), &message));
    }
    if !(0.0..1.0).contains(&spec.missed) {
        let problem = Problem::at(
            part("missed"),
            format!("expected a probability from 0 to below 1, got {}", spec.missed),
        );
        return Err(problem.help("write for 10 % `missed = 0.1`"));
    }
    if spec.false_every == Some(Duration::ZERO) {
        let problem = Problem::at(part("false_every"), "expected a mean time above 0 s, got 0 s");
        return Err(problem.help("write for example \"20 s\", or leave it out"));
    }
    if spec.size.0 == 0 || spec.size.0 > 65_535 {
        let problem = Problem::at(part("size"), format!("expected 1 to 65535 B, got \"{}\"", spec.size));
        return Err(problem.help("write for example \"52 B\""));
    }
    Ok(())
}
