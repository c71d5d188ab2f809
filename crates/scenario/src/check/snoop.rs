//! Flows whose segments base stations keep.

use crate::problem::Problem;
use crate::schema::{FlowSpec, Scenario};
use roamlab_engine::Duration;

/// The first problem of a flow's `snoop`; `field` is the place of a part of the flow.
pub fn check(scenario: &Scenario, flow: &FlowSpec, field: &impl Fn(&str) -> String) -> Result<(), Problem> {
    let Some(spec) = &flow.snoop else { return Ok(()) };
    let refuse = |message: &str, help: &str| Err(Problem::at(field("snoop"), message).help(help));
    if !flow.transport.shows_segments() {
        return refuse(
            "a base station reads the headers of TCP alone: QUIC hides its own, and UDP acknowledges nothing",
            "write `transport = { kind = \"tcp\" }`, or remove this",
        );
    }
    let receiver = &flow.path[1];
    if !scenario.hosts.iter().any(|host| host.name == *receiver) {
        let message = format!(
            "expected a mobile host as the receiver, got \"{receiver}\": no base station sends to it"
        );
        return refuse(&message, "write a host as the second end of `path`, or remove this");
    }
    let numbering = scenario
        .protocols()
        .map(|(_, protocol)| protocol)
        .find(|protocol| protocol.numbers_packets() && protocol.domain().has_host(receiver));
    if let Some(protocol) = numbering {
        let message = format!(
            "{} numbers the packets of \"{receiver}\" and sends lost ones again: a base station cannot add copies",
            protocol.title()
        );
        return refuse(&message, "write another protocol, or remove this");
    }
    if scenario.radio.roaming().is_some() {
        return refuse(
            "stations of 802.11 send lost frames again themselves, in the order of their queue",
            "write another radio, or remove this",
        );
    }
    if scenario.radio.overlap() > Duration::ZERO {
        return refuse(
            "with two cells at a time two base stations would keep the same segments",
            "write `radio = { kind = \"hard\" }`, or remove this",
        );
    }
    if let Some((name, _)) = scenario.cells.iter().find(|(_, cell)| cell.scheduler.is_some()) {
        let message = format!("the cell \"{name}\" has a scheduler, and no place in front of a host's queue");
        return refuse(&message, "write cells without `scheduler`, or remove this");
    }
    spec.check().map_err(|(part, message)| Problem::from_text(field(&format!("snoop.{part}")), &message))
}
