//! Warnings of values that are valid one by one, and that no run of this length, link or packet can use.

use crate::problem::{Problem, quoted_key};
use crate::schema::{FlowSpec, HostSpec, LinkRate, Scenario};
use roamlab_engine::{Bytes, Duration, Rate};
use roamlab_mobility::MobilitySpec;
use roamlab_radio::{MediumSpec, SignalSpec};
use roamlab_traffic::AppSpec;

/// All such warnings.
pub fn warnings(scenario: &Scenario) -> Vec<Problem> {
    let mut found = longer_than_the_run(scenario);
    found.extend(scenario.flows.iter().enumerate().flat_map(|(index, flow)| of_flow(scenario, index, flow)));
    found.extend(unused_rts(scenario));
    found.extend(overlapping_channels(scenario));
    found.extend(unused_buffer(scenario));
    found
}

/// Delays and an overlap that the run does not outlast.
fn longer_than_the_run(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let mut found = Vec::new();
    let mut delayed = |field: String, delay: Duration| {
        if delay >= end {
            let message = format!(
                "what is sent here arrives {delay} later, and the run ends at {end}: nothing arrives"
            );
            found.push(Problem::at(field, message).help("write a shorter time, or lengthen `run.duration`"));
        }
    };
    for (index, link) in scenario.links.iter().enumerate() {
        delayed(format!("links[{index}].delay"), link.delay);
    }
    for (name, cell) in &scenario.cells {
        delayed(format!("cells.{}.delay", quoted_key(name)), cell.delay);
    }
    let overlap = scenario.radio.overlap();
    if overlap >= end {
        let message = format!(
            "a host stays in the cell before for {overlap}, and the run ends at {end}: it leaves none"
        );
        found.push(
            Problem::at("radio.overlap", message).help("write a shorter time, or lengthen `run.duration`"),
        );
    }
    found
}

/// The largest packet that a link carries without fragments: a jumbo frame's.
const LARGEST_PACKET: Bytes = Bytes(9000);

/// What a flow writes that its run cannot use.
fn of_flow(scenario: &Scenario, index: usize, flow: &FlowSpec) -> Vec<Problem> {
    let end = scenario.run.duration;
    let mut found = Vec::new();
    let mut warn = |part: &str, message: String, help: &str| {
        found.push(Problem::at(format!("flows[{index}].{part}"), message).help(help));
    };
    if let Some(stop) = flow.app.stop().filter(|&stop| stop > end) {
        let message = format!("the flow would stop at {stop}: the run ends at {end}");
        warn("app.stop", message, "lengthen `run.duration`, write an earlier time, or leave it out");
    }
    if let Some(tcp) = flow.transport.tcp()
        && let Ok(params) = tcp.resolve(scenario.run.profile)
    {
        let (segment, header) = (params.segment, params.header);
        if tcp.segment.is_some() && Bytes(segment.0 + header.0) > LARGEST_PACKET {
            let message = format!(
                "with its header a segment has {}: Ethernet's packets have at most 1500 B, or {LARGEST_PACKET} in jumbo frames",
                Bytes(segment.0 + header.0)
            );
            warn(
                "transport.segment",
                message,
                "write for example \"1448 B\"; how much may be in flight is `window`",
            );
        }
        if tcp.segment.is_some() && segment < header {
            let message = format!("a segment of {segment} is smaller than its header of {header}");
            warn("transport.segment", message, "write for example \"1448 B\"");
        }
        if tcp.min_rto.is_some_and(|least| least >= end) {
            let message = format!(
                "the retransmission timer runs for {} at least, and the run ends at {end}: it never expires",
                params.min_rto
            );
            warn(
                "transport.min_rto",
                message,
                "write a shorter time, for example \"200 ms\", or lengthen `run.duration`",
            );
        }
    }
    if let AppSpec::Dash(film) = &flow.app
        && let (Some(&lowest), Some(widest)) = (film.rates.first(), widest(scenario, flow))
        && lowest > widest
    {
        let message = format!(
            "the lowest quality needs {lowest}, and the network gives an end of this flow at most {widest}: the film stalls for ever"
        );
        warn("app.rates", message, "write a lower rate first");
    }
    found
}

fn steady(rate: &LinkRate) -> Option<Rate> {
    match rate {
        LinkRate::Constant(rate) => Some(*rate),
        LinkRate::Recorded(_) => None,
    }
}

/// The rate of the fastest link at the end of a flow that has the slower ones; none if one is recorded.
fn widest(scenario: &Scenario, flow: &FlowSpec) -> Option<Rate> {
    let mut slowest: Option<Rate> = None;
    for end in &flow.path {
        let host = scenario.hosts.iter().find(|host| host.name == *end);
        let mut rates = Vec::new();
        match host {
            Some(host) => {
                for name in scenario.cells_of(host) {
                    rates.push(steady(&scenario.cells.get(name)?.rate)?);
                }
            }
            None => {
                for link in scenario.links.iter().filter(|link| link.between.contains(end)) {
                    rates.push(steady(&link.rate)?);
                }
            }
        }
        let fastest = rates.into_iter().max()?;
        slowest = Some(slowest.map_or(fastest, |rate| rate.min(fastest)));
    }
    slowest
}

/// Thresholds of 802.11 that no frame exceeds, but for the one that the standard writes for "never".
fn unused_rts(scenario: &Scenario) -> Vec<Problem> {
    const NEVER: Bytes = Bytes(2347); // dot11RTSThreshold's default
    const ADDED: u64 = 36; // MAC header, check sequence, LLC and SNAP
    let size = |flow: &FlowSpec| match (&flow.app, flow.transport.tcp()) {
        (AppSpec::Cbr(params), _) => params.packet.0,
        (_, Some(tcp)) => {
            tcp.resolve(scenario.run.profile).map_or(1500, |params| params.segment.0 + params.header.0 + 12)
        }
        _ => 1500,
    };
    let largest = scenario.flows.iter().map(size).max().unwrap_or_default().max(1500) + ADDED;
    let unused = scenario.cells.iter().filter_map(|(name, cell)| match &cell.medium {
        MediumSpec::Dcf(params) if params.rts_threshold != NEVER && params.rts_threshold.0 >= largest => {
            Some((name, params.rts_threshold))
        }
        _ => None,
    });
    let warn = |(name, threshold): (&String, Bytes)| {
        let message = format!("no frame of this scenario is longer than {threshold}: no RTS is sent");
        let field = format!("cells.{}.medium.rts_threshold", quoted_key(name));
        Problem::at(field, message)
            .help("write a smaller size, for example \"500 B\", or leave it out for no RTS")
    };
    unused.map(warn).collect()
}

/// Channels that are written so near to each other that they overlap at 2.4 GHz.
fn overlapping_channels(scenario: &Scenario) -> Vec<Problem> {
    const APART: u32 = 5;
    let written: Vec<_> =
        scenario.cells.iter().filter_map(|(name, cell)| Some((name, cell.channel?))).collect();
    let mut found = Vec::new();
    for (place, &(name, channel)) in written.iter().enumerate() {
        let near = written[..place].iter().find(|(_, other)| {
            let apart = other.abs_diff(channel);
            0 < apart && apart < APART
        });
        if let Some((other, before)) = near {
            let message = format!(
                "channels {before} of \"{other}\" and {channel} overlap at 2.4 GHz; here cells on different channels do not disturb each other"
            );
            let problem = Problem::at(format!("cells.{}.channel", quoted_key(name)), message);
            found.push(problem.help("write channels that are five apart, as 1, 6 and 11"));
        }
    }
    found
}

/// Whether a host may change its cell.
pub fn moves(host: &HostSpec) -> bool {
    host.plan.is_some() || host.stays().len() > 1
}

/// A buffer for hosts that change cells, where none does, and one that is nowhere and has a size.
fn unused_buffer(scenario: &Scenario) -> Vec<Problem> {
    let by_position = scenario.radio.measurement().is_some_and(|spec| spec.signal == SignalSpec::Positions);
    let still = !scenario.hosts.is_empty() && !by_position && !scenario.hosts.iter().any(moves);
    let mut found = Vec::new();
    for (table, spec) in scenario.protocols() {
        let Ok(written) = serde_json::to_value(spec) else { continue };
        for field in ["buffer", "buffer_limit"] {
            let mut usual = written.clone();
            let Some(own) = usual.as_object_mut().and_then(|fields| fields.remove(field)) else { continue };
            let Some(mut usual) = reread(usual).and_then(|usual| usual.get(field).cloned()) else { continue };
            let nowhere = own.get("at").is_some_and(|at| at == "none");
            if nowhere {
                usual["at"] = own["at"].clone();
            }
            if own == usual {
                continue;
            }
            if nowhere {
                let problem = Problem::at(
                    format!("{table}.{field}.at"),
                    "packets wait nowhere: the other fields of this buffer change nothing",
                );
                found.push(problem.help("write where packets wait, or leave the other fields out"));
            } else if still {
                let problem = Problem::at(
                    format!("{table}.{field}"),
                    "no host changes its cell: no packet waits in this buffer",
                );
                found.push(problem.help("add a visit, or leave this out"));
            }
        }
    }
    found
}

/// A protocol's fields with the defaults of those that are not among them.
fn reread(mut fields: serde_json::Value) -> Option<serde_json::Value> {
    let kind = fields.as_object_mut()?.remove("kind")?;
    let rest = fields.to_string();
    // Its reader wants `kind` first.
    let text = format!("{{\"kind\":{kind},{}", rest.strip_prefix('{')?).replace(",}", "}");
    serde_json::to_value(serde_json::from_str::<MobilitySpec>(&text).ok()?).ok()
}
