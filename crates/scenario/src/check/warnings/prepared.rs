//! Warnings of handovers that are not prepared as they are meant to be, and of values outside the standards.

use crate::check::mobility::{at, fields_of, time};
use crate::check::ways::{Ways, between_routers};
use crate::problem::Problem;
use crate::schema::{HostSpec, Scenario};
use roamlab_engine::{Bytes, Duration};
use serde_json::Value;

/// The largest value of a time in its standard.
const LARGEST: &[(&str, u64, &str)] = &[
    ("timers.t301", 2_000, "TS 36.331 §6.3.2 has 100 ms to 2 s"),
    ("timers.t304", 10_000, "TS 36.331 §6.3.2 has 50 ms to 10 s"),
    ("timers.t311", 30_000, "TS 36.331 §6.3.2 has 1 s to 30 s"),
];

/// T310 of TS 36.331 and TS 38.331 §6.3.2, which the radio has.
const LARGEST_T310: Duration = Duration::from_secs(6);

/// The least time between two advertisements of an agent (RFC 5944 §2.1).
const LEAST_ADVERTISEMENT: Duration = Duration::from_secs(1);

/// The headers of tunnels are smaller: of IPsec with its padding about 100 B.
const LARGEST_HEADER: Bytes = Bytes(200);

/// All such warnings, in groups of which the first field that is written counts.
pub fn of_written(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let ways = Ways::of(scenario);
    let mut found = Vec::new();
    let warn = |field: String, message: String, help: &str| vec![Problem::at(field, message).help(help)];
    if let Some(t310) = scenario.radio.measurement().map(|spec| spec.t310).filter(|t310| *t310 > LARGEST_T310)
    {
        let message =
            format!("T310 is {t310}, and TS 36.331 and TS 38.331 §6.3.2 have 0 s to {LARGEST_T310}");
        found.push(warn("radio.measurement.t310".into(), message, "write for example \"1 s\""));
    }
    if scenario.network.tunnel_overhead > LARGEST_HEADER {
        let message = large_header(scenario.network.tunnel_overhead);
        found.push(warn("network.tunnel_overhead".into(), message, "write \"20 B\" for IP-in-IP"));
    }
    for (table, spec) in scenario.protocols() {
        let Some(fields) = fields_of(spec) else { continue };
        let place = |field: &str| format!("{table}.{field}");
        for (field, most, standard) in LARGEST {
            let most = Duration::from_millis(*most);
            if let Some(time) = time(&fields, field).filter(|time| *time > most) {
                found.push(warn(
                    place(field),
                    format!("it is {time}, and {standard}"),
                    &format!("write at most \"{most}\""),
                ));
            }
        }
        let size = at(&fields, "tunnel_overhead").and_then(|size| size.as_str()?.parse::<Bytes>().ok());
        if let Some(size) = size.filter(|size| *size > LARGEST_HEADER) {
            let help = "write \"36 B\" for GTP-U over UDP and IPv4";
            found.push(warn(place("tunnel_overhead"), large_header(size), help));
        }
        if let Some(interval) =
            time(&fields, "advertisement_interval").filter(|time| *time < LEAST_ADVERTISEMENT)
        {
            let message = format!(
                "advertisements are {interval} apart, and an agent sends at most one a second (RFC 5944 §2.1)"
            );
            found.push(warn(place("advertisement_interval"), message, "write \"1 s\" or more"));
        }
        let late = late_notice(&table, &fields, &ways);
        if late.is_none() {
            found.extend(unused_place(&table, &fields));
        }
        found.extend(late);
        found.extend(full_cell(scenario, &table, &fields));
        found.extend(off_path(scenario, &table, &fields, spec.domain().gateway.as_deref()));
    }
    found
}

fn large_header(size: Bytes) -> String {
    format!(
        "a tunnel header has {size}: that of IP-in-IP has 20 B, and Ethernet's packets have at most 1500 B with it"
    )
}

/// A field of the protocols whose old base station tunnels to the new one.
const TUNNELS_ON: &str = "tunnel_lifetime";

/// Fields of the protocols whose routes to a host begin at the gateway.
const ROUTED: &[&str] = &["scheme", "route_timeout"];

fn has(fields: &Value, field: &str) -> bool {
    at(fields, field).is_some()
}

fn is(fields: &Value, field: &str, value: &str) -> bool {
    at(fields, field).is_some_and(|own| own == value)
}

/// A buffer at the old base station, where each handover is announced and the old one forwards immediately.
fn unused_place(table: &str, fields: &Value) -> Option<Vec<Problem>> {
    let share = |field: &str| at(fields, field).and_then(Value::as_f64);
    let always = ["trigger.missing", "trigger.wrong"].iter().all(|field| share(field) == Some(0.0));
    let told = at(fields, "trigger.by").is_some_and(|by| by != "none");
    let is_empty = is(fields, "buffer.limit", "0 pkt");
    if !(has(fields, TUNNELS_ON) && told && always && is(fields, "buffer.at", "old")) || is_empty {
        return None;
    }
    let message = "each handover is announced before it comes, and the old base station forwards to the new one: no packet waits at the old one";
    let warn = |field: &str| {
        Problem::at(format!("{table}.buffer.{field}"), message)
            .help("write `buffer.at = \"new\"`, or `trigger = { by = \"none\" }`")
    };
    Some(vec![warn("at"), warn("limit")])
}

/// A notice that comes later than what it begins needs.
fn late_notice(table: &str, fields: &Value, ways: &Ways) -> Option<Vec<Problem>> {
    if at(fields, "trigger.by").is_none_or(|by| by == "none") {
        return None;
    }
    let lead = time(fields, "trigger.lead")?;
    let neighbour = ways.neighbour.as_ref().map(|(_, way)| *way);
    let (needs, what) = if has(fields, "preparation_lifetime") {
        (ways.air? + neighbour?, "the request and its answer by way of the new access router take")
    } else if has(fields, TUNNELS_ON) {
        (ways.air?, "prrtadv and fbu take")
    } else {
        (Duration::from_nanos(neighbour?.as_nanos() / 2), "the notice to the new base station takes")
    };
    let message = format!(
        "a handover is announced {lead} before the host leaves, and {what} {needs}: none is prepared in time"
    );
    let problem = Problem::at(format!("{table}.trigger.lead"), message);
    (lead < needs).then(|| vec![problem.help(format!("write more than \"{needs}\""))])
}

/// A limit of admission that the hosts which stay in a cell reach by themselves.
fn full_cell(scenario: &Scenario, table: &str, fields: &Value) -> Option<Vec<Problem>> {
    let limit = at(fields, "admission_limit").and_then(Value::as_u64)?;
    let entered = |host: &HostSpec| {
        let pairs = host.stays().windows(2);
        pairs.filter(|pair| pair[1].at < scenario.run.duration).map(|pair| pair[1].cell.clone()).next()
    };
    let (host, cell) = scenario.hosts.iter().find_map(|host| Some((host, entered(host)?)))?;
    let stays = |other: &&HostSpec| matches!(other.stays(), [only] if only.cell == cell);
    let residents = scenario.hosts.iter().filter(stays).count() as u64;
    let message = format!(
        "{residents} hosts stay in \"{cell}\", and it admits {limit}: it rejects each handover of \"{}\"",
        host.name
    );
    let problem = Problem::at(format!("{table}.admission_limit"), message);
    (residents >= limit)
        .then(|| vec![problem.help(format!("write {} or more, or leave this out", residents + 1))])
}

/// A gateway that packets from the home of a host to a cell do not pass.
fn off_path(scenario: &Scenario, table: &str, fields: &Value, gateway: Option<&str>) -> Option<Vec<Problem>> {
    if !ROUTED.iter().any(|field| has(fields, field)) || scenario.protocols().count() > 1 {
        return None;
    }
    let gateway = gateway?;
    let host = scenario.hosts.iter().find(|host| host.home != gateway)?;
    let (home, from) = (between_routers(scenario, &host.home), between_routers(scenario, gateway));
    let first = *home.get(gateway)?;
    let is_off = |cell: &&str| {
        let router = scenario.cells.get(*cell).map(|cell| cell.router.as_str());
        router.is_some_and(|router| {
            router != gateway
                && home.get(router).zip(from.get(router)).is_some_and(|(way, rest)| *way < first + *rest)
        })
    };
    let cell = scenario.cells_of(host).into_iter().find(is_off)?;
    let message = format!(
        "the way from \"{}\", the home of \"{}\", to \"{cell}\" does not pass \"{gateway}\": packets to it have no route there",
        host.home, host.name
    );
    let problem = Problem::at(format!("{table}.domain.gateway"), message);
    Some(vec![problem.help(format!("write \"{}\", or a node that all cells are behind", host.home))])
}
