//! Warnings of fields that are written and that the rest of their table makes useless: another field turns off what reads
//! them, or their time is longer than the run.

use super::queues::queues;
use crate::problem::{Problem, quoted_key};
use crate::schema::Scenario;
use roamlab_engine::Duration;
use roamlab_mobility::MobilitySpec;
use roamlab_qdisc::QueueSpec;
use roamlab_radio::{MeasurementSpec, MediumSpec, RadioSpec};
use roamlab_traffic::AppSpec;
use roamlab_transport::TransportSpec;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// The field that decides, its values with which the others are read, and these: paths inside one table.
type Rule = (&'static str, &'static [&'static str], &'static [&'static str]);

/// The table is written, whatever it has.
const ANY: &[&str] = &[];
const TOLD_BEFORE: &[&str] = &["source", "path", "no-path"];

/// A rule is about each table that has its fields.
const RULES: &[Rule] = &[
    ("local_handoff", &["false"], &["advertisement_interval", "solicitation"]),
    ("local_handoff", &["true"], &["beacon_interval", "tb_mode"]),
    (
        "route_optimisation",
        &["true"],
        &[
            "ro_trigger",
            "correspondent_retransmit",
            "warning_interval",
            "binding_lifetime",
            "binding_request_margin",
        ],
    ),
    (
        "smooth_handoff",
        &["true"],
        &[
            "update_retransmit",
            "update_retransmit_limit",
            "buffer.limit",
            "buffer.drop",
            "buffer.flush",
            "buffer.longest_wait",
            "buffer.hold",
            "buffer.mark",
            "buffer.detour",
        ],
    ),
    ("buffer.mark_forwarded", &["true"], &["buffer.mark"]),
    ("scheme", &["mnf"], &["bicast"]),
    ("scheme", &["ssf"], &["ordered_switch"]),
    (
        "scheme",
        &["msf", "ssf"],
        &["buffer.at", "buffer.limit", "buffer.drop", "buffer.flush", "buffer.longest_wait"],
    ),
    ("handoff", &["semisoft"], &["semisoft_delay", "equaliser.delay", "equaliser.limit"]),
    (
        "detection.by",
        &["advertisement", "beacon-loss"],
        &["detection.beacon_interval", "detection.lost_beacons"],
    ),
    (
        "trigger.by",
        TOLD_BEFORE,
        &["trigger.lead", "trigger.missing", "trigger.wrong", "trigger.false_alarms"],
    ),
    ("trigger.by", &["path"], &["trigger.candidates"]),
    ("trigger.by", TOLD_BEFORE, &["trigger.sets"]),
    ("trigger.by", TOLD_BEFORE, &["move_when_prepared", "preparation_lifetime"]),
    ("trigger.by", TOLD_BEFORE, &["prepare_retransmit", "prepare_retries", "stay_timeout"]),
    ("path_switch", &["predictive"], &["prediction_lead", "prediction_timeout", "predictions"]),
    ("global", ANY, &["anchor_choice", "anchor_grace"]),
    ("reordering", &["true"], &["reordering_wait"]),
    ("forwarding", &["lossless"], &["status_report"]),
    ("forwarding", &["lossless", "seamless"], &["forwarding_overhead", "mark", "reordering_wait"]),
    ("probability_unit", &["bytes"], &["byte_scaling"]),
    ("scan", &["passive"], &["passive_channel_time"]),
    ("scan", &["active"], &["probe_delay", "min_channel_time", "max_channel_time"]),
    ("signal", &["schedule"], &["peak_dbm", "slope_db_per_s"]),
    ("signal", &["positions"], &["path_loss"]),
    ("phy", &["802.11b"], &["preamble"]),
    ("pacing", &["true"], &["pacing_burst", "pacing_gain"]),
];

/// Parts of the names of times that bound something from above, or that go on behind the run: they may be any.
const BOUNDS: &[&str] = &[
    "buffer",
    "cushion",
    "discard",
    "grace",
    "hold",
    "inactivity",
    "keep_alive",
    "lifetime",
    "limit",
    "longest",
    "margin",
    "max",
    "overlap",
    "paging",
    "target",
    "time_constant",
    "timeout",
    "timer",
    "t3",
    "validity",
    "wait",
];

/// Times of a flow, which have warnings of their own.
const WARNED_ELSEWHERE: &[&str] = &["start", "stop", "start_within"];

/// All such warnings.
pub fn warnings(scenario: &Scenario) -> Vec<Problem> {
    let end = scenario.run.duration;
    let mut found = Vec::new();
    let longest = longest_stay(scenario);
    for (table, spec) in scenario.protocols() {
        found.extend(of_table::<MobilitySpec>(&table, spec, end));
        found.extend(longest.and_then(|longest| early_leads(&table, spec, longest, end)));
    }
    found.extend(of_table::<RadioSpec>("radio", &scenario.radio, end));
    if let Some(measurement) = scenario.radio.measurement() {
        found.extend(of_table::<MeasurementSpec>("radio.measurement", measurement, end));
    }
    for (name, cell) in &scenario.cells {
        found.extend(of_table::<MediumSpec>(
            &format!("cells.{}.medium", quoted_key(name)),
            &cell.medium,
            end,
        ));
    }
    for (path, queue) in queues(scenario) {
        found.extend(queue.into_iter().flat_map(|queue| of_table::<QueueSpec>(&path, queue, end)));
    }
    for (index, flow) in scenario.flows.iter().enumerate() {
        found.extend(of_table::<AppSpec>(&format!("flows[{index}].app"), &flow.app, end));
        if flow.transport.quic().is_some() {
            let table = format!("flows[{index}].transport");
            found.extend(of_table::<TransportSpec>(&table, &flow.transport, end));
        }
    }
    found
}

/// The longest time that a host is in a cell before it changes to another, where visits say so.
fn longest_stay(scenario: &Scenario) -> Option<Duration> {
    let stays = scenario.hosts.iter().flat_map(|host| host.stays().windows(2));
    stays.filter(|pair| pair[1].at >= pair[0].at).map(|pair| pair[1].at - pair[0].at).max()
}

/// A trigger's lead that is longer than every stay in a cell.
fn early_leads(table: &str, spec: &MobilitySpec, longest: Duration, end: Duration) -> Option<Problem> {
    let fields = serde_json::to_value(spec).ok()?;
    let lead: Duration = at(&fields, "trigger.lead")?.as_str()?.parse().ok()?;
    let is_told = at(&fields, "trigger.by").is_some_and(|by| by != "none");
    let message =
        format!("a host is told {lead} before it leaves, and none is longer than {longest} in a cell before");
    (is_told && lead > longest && lead < end)
        .then(|| Problem::at(format!("{table}.trigger.lead"), message).help("write a shorter time"))
}

/// The warnings about one table.
fn of_table<T: Serialize + DeserializeOwned>(table: &str, spec: &T, end: Duration) -> Vec<Problem> {
    let Ok(fields) = serde_json::to_value(spec) else { return Vec::new() };
    let mut found = Vec::new();
    for (decides, values, readers) in RULES {
        let now = at(&fields, decides).filter(|now| !now.is_null()).map(plain);
        let is_read = match now.as_deref() {
            Some(now) => values.is_empty() || values.contains(&now),
            None => !values.is_empty(),
        };
        if is_read {
            continue;
        }
        for field in readers.iter().filter(|field| is_written::<T>(&fields, field)) {
            let written = match *values {
                [] => vec![format!("`[{table}.{decides}]`")],
                values => values.iter().map(|value| toml(decides, value)).collect(),
            };
            let message = format!("this changes nothing: it is read only with {}", written.join(" or "));
            let problem = Problem::at(format!("{table}.{field}"), message);
            found.push(problem.help(format!("write {}, or leave this out", written[0])));
        }
    }
    let mut times = Vec::new();
    longer(&fields, "", end, &mut times);
    for (field, time) in times.into_iter().filter(|(field, _)| is_written::<T>(&fields, field)) {
        let message = format!("this time is {time}, and the run ends at {end}: it never passes");
        let problem = Problem::at(format!("{table}.{field}"), message);
        found.push(problem.help("write a shorter time, or lengthen `run.duration`"));
    }
    found
}

/// A field, by its path.
fn at<'a>(fields: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(fields, |table, name| table.get(name))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A field as it is written.
fn toml(field: &str, value: &str) -> String {
    match value {
        "true" | "false" => format!("`{field} = {value}`"),
        _ => format!("`{field} = \"{value}\"`"),
    }
}

/// Times that are as long as the run, by their paths.
fn longer(fields: &Value, above: &str, end: Duration, found: &mut Vec<(String, Duration)>) {
    let Some(table) = fields.as_object() else { return };
    for (name, value) in table {
        let path = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        if BOUNDS.iter().any(|part| name.contains(part)) || WARNED_ELSEWHERE.contains(&name.as_str()) {
            continue;
        }
        match value.as_str().and_then(|text| text.parse::<Duration>().ok()) {
            Some(time) if time >= end => found.push((path, time)),
            _ => longer(value, &path, end, found),
        }
    }
}

/// Whether a field has another value than it would have if it were not written.
fn is_written<T: Serialize + DeserializeOwned>(fields: &Value, path: &str) -> bool {
    let Some(own) = at(fields, path).filter(|own| !own.is_null()) else { return false };
    // A table of a kind may have another usual value in a part of it than this part has elsewhere.
    let kind = fields.get("kind").map(|kind| serde_json::json!({ "kind": kind }));
    let of_kind = || at(&reread::<T>(kind?)?, path).cloned();
    // A field that has no usual value is written.
    usual::<T>(fields, path).as_ref() != Some(own) && of_kind().as_ref() != Some(own)
}

/// The value that a field has if it is not written and the others of its table are; none if it must be written.
pub fn usual<T: Serialize + DeserializeOwned>(fields: &Value, path: &str) -> Option<Value> {
    let mut rest = fields.clone();
    let (table, name) = match path.rsplit_once('.') {
        Some((above, name)) => {
            (above.split('.').try_fold(&mut rest, |table, name| table.get_mut(name))?, name)
        }
        None => (&mut rest, path),
    };
    table.as_object_mut()?.remove(name);
    at(&reread::<T>(rest)?, path).cloned()
}

/// A table's fields with the usual values of those that are not among them.
fn reread<T: Serialize + DeserializeOwned>(mut fields: Value) -> Option<Value> {
    let kind = fields.as_object_mut()?.remove("kind");
    let mut text = fields.to_string();
    if let Some(kind) = kind {
        // Its reader wants `kind` first.
        text = format!("{{\"kind\":{kind},{}", text.strip_prefix('{')?).replace(",}", "}");
    }
    serde_json::to_value(serde_json::from_str::<T>(&text).ok()?).ok()
}
