//! Warnings of times that end something before another time has passed. Times of protocols are compared with the gap, a
//! trigger's lead, a measurement, the way to another node and back, and how long a host is in a cell.

use crate::check::mobility::{fields_of, time};
use crate::check::ways::{Ways, first_handover, stays};
use crate::problem::Problem;
use crate::schema::Scenario;
use roamlab_engine::Duration;
use serde_json::Value;

/// The time that has to pass first.
#[derive(Copy, Clone, PartialEq)]
enum Other {
    /// A host is between two cells (`radio.gap`).
    Gap,
    /// Time from the notice of a handover to the handover (`trigger.lead`).
    Lead,
    /// To a host and back.
    Air,
    /// To another base station and back.
    Neighbour,
    /// From a base station to the home of its host and back.
    Home,
}

use Other::{Air, Gap, Home, Lead, Neighbour};

/// A time of a protocol, what it must outlast, what ends with it, and what follows if that comes first.
type Row = (&'static str, &'static [Other], &'static str, &'static str);

const REPEATED: &str = "what is sent is repeated";
const NO_ANSWER: &str = "each is sent twice or more often before it can be answered";
const BUFFER_LOST: &str = "what waits for the host is lost before it is there";

/// A row is about each protocol that has the field.
const ROWS: &[Row] = &[
    ("buffer.hold", &[Gap, Neighbour], "the buffer is given up", "nothing is left for the host"),
    (
        "buffer.longest_wait",
        &[Gap],
        "a packet is lost in the buffer",
        "what comes first is lost before the host is there",
    ),
    ("buffer_lifetime", &[Gap], "the buffer is given up", BUFFER_LOST),
    (
        "preparation_lifetime",
        &[Lead, Gap],
        "a prepared handover is given up",
        "it is given up before the host is there",
    ),
    ("tunnel_lifetime", &[Gap], "the tunnel from the old base station ends", BUFFER_LOST),
    ("registration_lifetime", &[Home], "a registration ends", "it ends before the host is notified"),
    ("global.lifetime", &[Home], "a registration ends", "it ends before the host is notified"),
    ("login_retransmit", &[Air], REPEATED, NO_ANSWER),
    ("retransmit", &[Air], REPEATED, NO_ANSWER),
    ("global.retransmit", &[Air], REPEATED, NO_ANSWER),
    (
        "timers.reloc_prep",
        &[Neighbour],
        "the source cancels a preparation",
        "it is cancelled before the target can answer: no handover is prepared",
    ),
    (
        "timers.joining",
        &[Neighbour],
        "a target forgets a host that does not come",
        "it forgets the host before this is commanded",
    ),
    (
        "timers.reloc_overall",
        &[Home],
        "the source takes the host back, or forgets it",
        "it does so before the path is switched",
    ),
    (
        "timers.forwarding_hold",
        &[Home],
        "a released source stops forwarding",
        "it stops before the path is switched",
    ),
    (
        "timers.t304",
        &[Air],
        "the host gives a handover up",
        "it gives each up before the new cell can answer",
    ),
    (
        "timers.t301",
        &[Air],
        "the host gives re-establishment up",
        "it gives each up before the cell can answer",
    ),
    ("timers.random_access", &[Air], "a preamble is repeated", NO_ANSWER),
    ("timers.rrc_retransmit", &[Air], REPEATED, NO_ANSWER),
    ("timers.s1_retransmit", &[Home], REPEATED, NO_ANSWER),
];

/// Times between which a host hears nothing, or that hold it up: longer than it is in a cell they end with its stay.
const SHORTER: &[(&str, &str)] = &[
    ("beacon_interval", "the host may hear no beacon of a cell"),
    ("advertisement_interval", "the host may hear no advertisement of a cell"),
    ("detection.beacon_interval", "the host may hear no beacon of a cell"),
    ("detection.delay", "a new cell is known when the host has left it"),
    ("buffer.in_order_wait", "what comes directly is held until the host has gone"),
    ("prediction_lead", "a handover is predicted before the host is in the cell that it leaves"),
    ("equaliser.delay", "packets are held until the host has gone"),
    ("redundancy.bicast", "the host has gone on before its copies end"),
    ("bicast", "the host has gone on before its copies end"),
    ("measurement.time_to_trigger", "no handover is reported in time"),
    ("conditional.events[0].time_to_trigger", NO_CANDIDATE),
    ("conditional.events[1].time_to_trigger", NO_CANDIDATE),
];

const NO_CANDIDATE: &str = "no host goes to a candidate in time";

/// The warnings, in groups of which the first field that is written counts.
pub fn of_written(scenario: &Scenario) -> Vec<Vec<Problem>> {
    let (ways, stay) = (Ways::of(scenario), longest_stay(scenario));
    let mut found = Vec::new();
    for (table, spec) in scenario.protocols() {
        let Some(fields) = fields_of(spec) else { continue };
        for (field, others, ends, effect) in ROWS {
            let Some(time) = time(&fields, field).filter(|&time| time > Duration::ZERO) else { continue };
            let longer = others.iter().filter_map(|&other| passes(scenario, &ways, &table, &fields, other));
            let Some((least, other, place)) =
                longer.filter(|(least, ..)| time <= *least).max_by_key(|(least, ..)| *least)
            else {
                continue;
            };
            let message = format!("{ends} after {time}, and {other}: {effect}");
            let mut group = vec![
                Problem::at(format!("{table}.{field}"), &message)
                    .help(format!("write more than \"{least}\"")),
            ];
            group.extend(place.map(|place| {
                Problem::at(place, message).help(format!("write less than \"{time}\", or a longer `{field}`"))
            }));
            found.push(group);
        }
        found.extend(stay.into_iter().flat_map(|stay| longer_than_stays(&table, &fields, stay)));
    }
    found
}

/// The length of the other time, its words in a message, and its field.
fn passes(
    scenario: &Scenario,
    ways: &Ways,
    table: &str,
    fields: &Value,
    other: Other,
) -> Option<(Duration, String, Option<String>)> {
    let to = |other: &str, way: Duration| {
        let from = &ways.from;
        (way, format!("a message from \"{from}\" to \"{other}\" and its answer take {way}"), None)
    };
    let passes = match other {
        Gap => {
            let gap = scenario.radio.gap();
            (gap, format!("a host is between two cells for {gap}"), Some("radio.gap".into()))
        }
        Lead => {
            let lead = time(fields, "trigger.lead")
                .filter(|_| fields.pointer("/trigger/by").is_some_and(|by| by != "none"))?;
            let place = format!("{table}.trigger.lead");
            (lead, format!("a handover is announced {lead} before the host leaves"), Some(place))
        }
        Air => {
            let way = ways.air?;
            (way, format!("a message over the air and its answer take {way}"), None)
        }
        Neighbour => {
            let (cell, way) = ways.neighbour.as_ref()?;
            to(cell, *way)
        }
        Home => {
            let (home, way) = ways.home.as_ref()?;
            to(home, *way)
        }
    };
    (passes.0 > Duration::ZERO).then_some(passes)
}

/// The longest time that a host which moves is in one cell, until the run ends; `None`: where hosts are is not known, or
/// none moves.
fn longest_stay(scenario: &Scenario) -> Option<Duration> {
    first_handover(scenario)?;
    if scenario.hosts.iter().any(|host| host.plan.is_some()) {
        return None;
    }
    stays(scenario, &super::senseless::moves).map(|(_, stay)| stay).max()
}

fn longer_than_stays(table: &str, fields: &Value, stay: Duration) -> Vec<Vec<Problem>> {
    let mut found = Vec::new();
    for (field, effect) in SHORTER {
        let Some(time) = time(fields, field).filter(|&time| time >= stay) else { continue };
        let message = format!("this time is {time}, and no host is longer than {stay} in one cell: {effect}");
        found.push(vec![
            Problem::at(format!("{table}.{field}"), message).help(format!("write less than \"{stay}\"")),
        ]);
    }
    found
}
