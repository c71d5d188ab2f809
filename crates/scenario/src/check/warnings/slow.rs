//! Warnings of rates, frames and delays with which a sender times out before an answer can come.

use super::senseless::{packet, smallest_packet, steady};
use crate::problem::{Problem, quoted_key};
use crate::schema::{CellSpec, FlowSpec, LinkSpec, Scenario, Way};
use roamlab_engine::{Bytes, Duration, Rate};
use roamlab_radio::MediumSpec;
use roamlab_traffic::AppSpec;
use std::cell::OnceCell;

/// A retransmission timer before the first round-trip time is known (RFC 6298 §2.1).
pub const FIRST_TIMEOUT: Duration = Duration::from_secs(1);

/// The size of an ACK without options.
const ACK: Bytes = Bytes(40);

/// Larger networks are not searched for the way of each flow.
const MOST_LINKS: usize = 2_000;
const MOST_FLOWS: usize = 200;

/// All such warnings.
pub fn warnings(scenario: &Scenario) -> Vec<Problem> {
    let mut found = slow_links(scenario);
    found.extend(slow_frames(scenario));
    found.extend(long_delays(scenario));
    if found.is_empty() {
        found.extend(long_round_trips(scenario));
    }
    found.extend(short_segments(scenario));
    found
}

/// How packets use a rate.
#[derive(Copy, Clone, PartialEq)]
enum Use {
    /// Data goes this way: a receiver acknowledges two packets together (RFC 5681 §4.2).
    Data,
    /// The other direction of a link, which may have ACKs alone.
    Back,
}

/// True if some sender waits for ACKs.
fn is_answered(scenario: &Scenario) -> bool {
    scenario.flows.iter().any(|flow| flow.transport.has_connection())
}

/// Rates at which one packet takes as long as the run, or two take as long as a sender waits for their ACK.
fn slow_links(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let Some(size) = smallest_packet(scenario).map(Bytes) else { return Vec::new() };
    let answered = is_answered(scenario);
    let mut found = Vec::new();
    let mut look = |rate: Option<Rate>, until: Duration, purpose: Use, field: &dyn Fn() -> String| {
        let Some(rate) = rate else { return };
        let takes = rate.transmission_time(size, &mut 0);
        let two = takes + takes;
        let message = if takes >= until {
            format!(
                "one packet of {size} takes {takes} at this rate, and the run ends at {end}: no data passes"
            )
        } else if answered && takes >= FIRST_TIMEOUT {
            format!(
                "one packet of {size} takes {takes} at this rate, and a sender waits {FIRST_TIMEOUT} for the first ACK: it times out"
            )
        } else if answered && purpose == Use::Data && two >= FIRST_TIMEOUT {
            format!(
                "two packets of {size} take {:.2} s at this rate, and a sender waits {FIRST_TIMEOUT} for the ACK of both: it times out",
                two.as_secs_f64()
            )
        } else {
            return;
        };
        found.push(Problem::at(field(), message).help("write a higher rate, for example \"2 Mbit/s\""));
    };
    for (index, link) in scenario.links.iter().enumerate() {
        look(steady(&link.rate), end, Use::Data, &|| format!("links[{index}].rate"));
        look(link.reverse_rate, end, Use::Back, &|| format!("links[{index}].reverse_rate"));
        for (number, change) in link.changes.iter().enumerate().filter(|(_, change)| change.at < end) {
            let at = |part: &str| format!("links[{index}].changes[{number}].{part}");
            let until = end - change.at;
            look(change.rate, until, Use::Data, &|| at("rate"));
            look(change.reverse_rate, until, Use::Back, &|| at("reverse_rate"));
        }
    }
    for (name, cell) in &scenario.cells {
        let at = |part: &str| format!("cells.{}.{part}", quoted_key(name));
        look(steady(&cell.rate), end, Use::Data, &|| at("rate"));
        look(Some(cell.backhaul.rate), end, Use::Data, &|| at("backhaul.rate"));
        for (host, bearer) in cell.bearers.iter().flat_map(|bearers| &bearers.hosts) {
            look(bearer.rate, end, Use::Data, &|| at(&format!("bearers.hosts.{}.rate", quoted_key(host))));
        }
    }
    found.extend(slow_recordings(scenario, answered));
    found
}

/// Recorded links that send a packet, on average, less often than a sender waits for its ACK.
fn slow_recordings(scenario: &Scenario, answered: bool) -> Vec<Problem> {
    let limit = if answered { FIRST_TIMEOUT } else { scenario.run.duration };
    let warn = |(field, _, mean): (String, Duration, Rate)| {
        let apart = mean.transmission_time(Bytes(1500), &mut 0); // an opportunity is one such packet
        let message = format!(
            "this recording sends a packet each {:.1} s on average, {mean}: senders time out before an answer comes",
            apart.as_secs_f64()
        );
        let help = if field.ends_with(".table") {
            "correct the file: the name of the column has the unit, for example rate_mbit_s"
        } else {
            "times in the file are in milliseconds, a line for each packet of 1500 B: correct the file"
        };
        (apart >= limit).then(|| Problem::at(field, message).help(help))
    };
    scenario.recordings().into_iter().filter_map(warn).collect()
}

/// Frames that take so long, whatever their bytes, that no answer comes in time.
fn slow_frames(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let answered = is_answered(scenario);
    let warn = |(name, cell): (&String, &CellSpec)| {
        let MediumSpec::Shared(medium) = &cell.medium else { return None };
        let (takes, both) = (medium.per_frame, medium.per_frame + medium.per_frame);
        let message = match takes >= end || !answered {
            true => format!("a frame takes {takes}, and the run ends at {end}: no data passes"),
            false => format!(
                "a packet and its ACK take {both} in their frames, and a sender waits {FIRST_TIMEOUT} for the first ACK: it times out"
            ),
        };
        let problem = Problem::at(format!("cells.{}.medium.per_frame", quoted_key(name)), message);
        (takes >= end || (answered && both >= FIRST_TIMEOUT))
            .then(|| problem.help("write a shorter time, for example \"100 us\""))
    };
    scenario.cells.iter().filter_map(warn).collect()
}

/// The time that the sender of a flow waits for its first ACK; `None`: it has no connection.
fn first_timeout(scenario: &Scenario, flow: &FlowSpec) -> Option<Duration> {
    flow.transport.has_connection().then(|| flow.transport.first_timeout(scenario.profiles()))
}

/// Delays that a packet and its ACK have over one link, longer than any sender waits.
fn long_delays(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    // Parameters of all senders are looked up only where some delay is as long as the shortest timer.
    let longest = OnceCell::new();
    let waits = || {
        *longest
            .get_or_init(|| scenario.flows.iter().map(|flow| first_timeout(scenario, flow)).max().flatten())
    };
    let mut found = Vec::new();
    let mut look = |each: Duration, both: Duration, field: &dyn Fn() -> String| {
        if both >= FIRST_TIMEOUT
            && each < end
            && let Some(waits) = waits()
            && both >= waits
        {
            let message = format!(
                "a packet and its ACK take {both} over this link, and a sender waits {waits} for the first ACK: it times out"
            );
            found.push(Problem::at(field(), message).help("write a shorter time, for example \"10 ms\""));
        }
    };
    for (index, link) in scenario.links.iter().enumerate() {
        let (there, back) = (link.delay(Way::There), link.delay(Way::Back));
        let part = |reverse: bool| if reverse { "reverse_delay" } else { "delay" };
        look(there.max(back), there + back, &|| format!("links[{index}].{}", part(back > there)));
        for (number, change) in link.changes.iter().enumerate().filter(|(_, change)| change.at < end) {
            let Some(longest) = change.delay.max(change.reverse_delay) else { continue };
            let there = change.delay.unwrap_or(there);
            let back = change.reverse_delay.or(change.delay).unwrap_or(back);
            let is_back = change.reverse_delay == Some(longest);
            look(longest, there + back, &|| format!("links[{index}].changes[{number}].{}", part(is_back)));
        }
    }
    for (name, cell) in &scenario.cells {
        for (part, delay) in [("delay", cell.delay.mean(Way::There)), ("backhaul.delay", cell.backhaul.delay)]
        {
            look(delay, delay + delay, &|| format!("cells.{}.{part}", quoted_key(name)));
        }
    }
    found
}

/// True if the ways of all flows are looked for.
fn is_small(scenario: &Scenario) -> bool {
    scenario.links.len() <= MOST_LINKS && scenario.flows.len() <= MOST_FLOWS
}

/// Flows whose packets and ACKs take longer than their senders wait, without any queue.
fn long_round_trips(scenario: &Scenario) -> Vec<Problem> {
    if !is_small(scenario) {
        return Vec::new();
    }
    let warn = |(index, flow): (usize, &FlowSpec)| {
        let waits = first_timeout(scenario, flow)?;
        let size = Bytes(packet(scenario, flow));
        let takes = |rate: Rate, bytes: Bytes| rate.transmission_time(bytes, &mut 0);
        let link = |link: &LinkSpec, way: Way| {
            let other = if way == Way::There { Way::Back } else { Way::There };
            takes(link.rate(way), size) + takes(link.rate(other), ACK)
        };
        let trip = crate::check::ways::of_flow_with(scenario, &flow.path, &link)?;
        let message = format!(
            "a packet of {size} and its ACK take {trip} on this path without any queue, and a sender waits {waits} for the first ACK: it times out"
        );
        let problem = Problem::at(format!("flows[{index}].path"), message);
        (trip >= waits).then(|| problem.help("write shorter delays or higher rates of its links"))
    };
    scenario.flows.iter().enumerate().filter_map(warn).collect()
}

/// Films whose segments last no longer than the round trip in which each is asked for.
fn short_segments(scenario: &Scenario) -> Vec<Problem> {
    if !is_small(scenario) {
        return Vec::new();
    }
    let warn = |(index, flow): (usize, &FlowSpec)| {
        let AppSpec::Dash(film) = &flow.app else { return None };
        let trip = crate::check::ways::of_flow(scenario, &flow.path)?;
        let message = format!(
            "a segment lasts {}, and a request and its answer take {trip} or more: the film is played faster than it is asked for",
            film.segment
        );
        let problem = Problem::at(format!("flows[{index}].app.segment"), message);
        (film.segment <= trip).then(|| problem.help("write a longer time, for example \"4 s\""))
    };
    scenario.flows.iter().enumerate().filter_map(warn).collect()
}
