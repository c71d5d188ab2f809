//! Warnings of fields that are written and that the rest of their table makes useless: another field turns off what reads
//! them, or their time is longer than the run.

use crate::check::mobility::{at, time};
use crate::check::queues::queues;
use crate::problem::{Problem, quoted_key};
use crate::schema::Scenario;
use roamlab_engine::Duration;
use roamlab_radio::SignalSpec;
use serde_json::Value;

/// The field that decides, its values with which the others are read (or `!` and the one with which they are not), and these:
/// paths inside one table.
type Rule = (&'static str, &'static [&'static str], &'static [&'static str]);

/// The table is written, whatever it has.
const ANY: &[&str] = &[];
const TOLD_BEFORE: &[&str] = &["source", "path", "no-path"];

/// A rule is about each table that has its fields.
const RULES: &[Rule] = &[
    ("local_handoff", &["false"], &["advertisement_interval", "solicitation"]),
    ("local_handoff", &["true"], &["beacon_interval", "tb_mode", "buffer.forward_below"]),
    ("route_optimisation", &["true"], &["ro_trigger", "binding_lifetime", "binding_request_margin"]),
    (
        "smooth_handoff",
        &["true"],
        &[
            "buffer.at",
            "buffer.limit",
            "buffer.drop",
            "buffer.flush",
            "buffer.longest_wait",
            "buffer.hold",
            "buffer.mark_forwarded",
            "buffer.mark",
            "buffer.layer2_ack",
            "buffer.in_order_wait",
            "buffer.detour",
            "buffer.forward_below",
        ],
    ),
    ("buffer.mark_forwarded", &["true"], &["buffer.mark"]),
    (
        "buffer.at",
        &["!none"],
        &[
            "buffer.limit",
            "buffer.drop",
            "buffer.flush",
            "buffer.longest_wait",
            "buffer.hold",
            "buffer.detour",
            "buffer.forward_below",
        ],
    ),
    (
        "buffer.at",
        &["!foreign-agent"],
        &[
            "buffer.drop",
            "buffer.longest_wait",
            "buffer.hold",
            "buffer.layer2_ack",
            "buffer.in_order_wait",
            "buffer.detour",
        ],
    ),
    ("scheme", &["mnf"], &["bicast"]),
    ("scheme", &["ssf"], &["ordered_switch"]),
    ("scheme", &["msf", "ssf"], &["buffer.at", "buffer.limit", "buffer.drop", "buffer.longest_wait"]),
    ("handoff", &["semisoft"], &["equaliser.delay", "equaliser.limit"]),
    ("detection.by", &["advertisement", "beacon-loss"], &["detection.beacon_interval"]),
    (
        "trigger.by",
        TOLD_BEFORE,
        &["trigger.lead", "trigger.missing", "trigger.wrong", "trigger.false_alarms"],
    ),
    ("trigger.by", &["path"], &["trigger.candidates"]),
    ("trigger.by", TOLD_BEFORE, &["trigger.sets"]),
    ("trigger.by", TOLD_BEFORE, &["move_when_prepared", "preparation_lifetime", "unused"]),
    ("path_switch", &["predictive"], &["prediction_lead", "prediction_timeout", "predictions"]),
    ("global", ANY, &["anchor_grace"]),
    ("forwarding", &["lossless"], &["status_report"]),
    ("forwarding", &["lossless", "seamless"], &["mark"]),
    ("probability_unit", &["bytes"], &["byte_scaling"]),
    ("mark_ecn", &["true"], &["use_mark_p", "mark_p_max"]),
    ("use_mark_p", &["true"], &["mark_p_max"]),
    ("spare_forwarded", &["true"], &["mark", "forwarded_at_full"]),
    ("scan", &["passive"], &["passive_channel_time"]),
    (
        "scan",
        &["active"],
        &[
            "probe_delay",
            "min_channel_time",
            "max_channel_time",
            "sizes.probe_request",
            "sizes.probe_response",
        ],
    ),
    ("signal", &["schedule"], &["peak_dbm", "slope_db_per_s"]),
    ("signal", &["positions"], &["path_loss"]),
    ("phy", &["802.11b"], &["preamble"]),
    ("pacing", &["true"], &["pacing_burst", "pacing_gain"]),
    ("notice", &["message"], &["size"]),
];

/// Parts of the names of times that bound something from above, or that end behind the run: they may be any.
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
    "wait",
];

/// Times of a flow, which have separate warnings.
const WARNED_ELSEWHERE: &[&str] = &["start", "stop", "start_within"];

/// The tables that rules are about, by their fields.
fn tables(scenario: &Scenario) -> Vec<(String, Value)> {
    let mut tables = Vec::new();
    let mut add =
        |table: String, spec: serde_json::Result<Value>| tables.extend(spec.ok().map(|spec| (table, spec)));
    for (table, spec) in scenario.protocols() {
        add(table, serde_json::to_value(spec));
    }
    add("radio".into(), serde_json::to_value(&scenario.radio));
    if let Some(measurement) = scenario.radio.measurement() {
        add("radio.measurement".into(), serde_json::to_value(measurement));
    }
    for (name, cell) in &scenario.cells {
        add(format!("cells.{}.medium", quoted_key(name)), serde_json::to_value(&cell.medium));
    }
    for (path, queue) in queues(scenario) {
        let Some(queue) = queue else { continue };
        add(path, serde_json::to_value(queue));
    }
    for (index, flow) in scenario.flows.iter().enumerate() {
        add(format!("flows[{index}].app"), serde_json::to_value(&flow.app));
        if flow.transport.profile(scenario.profiles()).is_none() {
            add(format!("flows[{index}].transport"), serde_json::to_value(&flow.transport));
        }
        if let Some(path_change) = &flow.path_change {
            add(format!("flows[{index}].path_change"), serde_json::to_value(path_change));
        }
    }
    tables
}

/// All such warnings, in groups of which the first field that is written counts.
pub fn of_written(scenario: &Scenario, stays: bool) -> Vec<Vec<Problem>> {
    let end = scenario.run.duration;
    let mut found = Vec::new();
    let longest = longest_stay(scenario);
    for (table, fields) in tables(scenario) {
        found.extend(of_table(&table, &fields, end));
        found.extend(super::ordered::of_table(&table, &fields));
        found.extend(
            longest.and_then(|longest| early_lead(&table, &fields, longest, end)).map(|early| vec![early]),
        );
    }
    if !stays {
        found.extend(unused_buffers(scenario).into_iter().map(|problem| vec![problem]));
    }
    found
}

/// The longest time that a host is in a cell before it changes to another, where visits give one.
fn longest_stay(scenario: &Scenario) -> Option<Duration> {
    let stays = scenario.hosts.iter().flat_map(|host| host.stays().windows(2));
    stays.filter(|pair| pair[1].at >= pair[0].at).map(|pair| pair[1].at - pair[0].at).max()
}

/// A trigger's lead that is longer than every stay in a cell.
fn early_lead(table: &str, fields: &Value, longest: Duration, end: Duration) -> Option<Problem> {
    let lead = time(fields, "trigger.lead")?;
    let is_told = at(fields, "trigger.by").is_some_and(|by| by != "none");
    let message = format!(
        "a host is notified {lead} before it leaves, and none is longer than {longest} in a cell before"
    );
    (is_told && lead > longest && lead < end)
        .then(|| Problem::at(format!("{table}.trigger.lead"), message).help("write a shorter time"))
}

/// Buffers for hosts that change cells, where none does.
fn unused_buffers(scenario: &Scenario) -> Vec<Problem> {
    let by_position = scenario.radio.measurement().is_some_and(|spec| spec.signal == SignalSpec::Positions);
    if scenario.hosts.is_empty() || by_position || scenario.hosts.iter().any(super::senseless::moves) {
        return Vec::new();
    }
    let tables = scenario
        .protocols()
        .flat_map(|(table, _)| ["buffer", "buffer_limit"].map(|field| format!("{table}.{field}")));
    let message = "no host changes its cell: no packet waits in this buffer";
    tables.map(|field| Problem::at(field, message).help("add a visit, or leave this out")).collect()
}

/// The warnings about one table.
fn of_table(table: &str, fields: &Value, end: Duration) -> Vec<Vec<Problem>> {
    let mut found = Vec::new();
    for (decides, values, readers) in RULES {
        let now = at(fields, decides).filter(|now| !now.is_null()).map(plain);
        let is_read = match (now.as_deref(), values) {
            (Some(now), [not]) if not.starts_with('!') => !not.ends_with(now),
            (Some(now), values) => values.is_empty() || values.contains(&now),
            (None, values) => !values.is_empty(),
        };
        if is_read {
            continue;
        }
        let (when, help) = match *values {
            [] => (format!("only with `[{table}.{decides}]`"), format!("write `[{table}.{decides}]`")),
            [not] if not.starts_with('!') => {
                let now = toml(decides, now.as_deref().unwrap_or_default());
                (format!("in no case with {now}"), format!("write another `{decides}`"))
            }
            values => {
                let written: Vec<_> = values.iter().map(|value| toml(decides, value)).collect();
                (format!("only with {}", written.join(" or ")), format!("write {}", written[0]))
            }
        };
        // Of a table in this one only the first field is named: what reads one reads the others.
        let within = |field: &str| field.rsplit_once('.').map(|(table, _)| table.to_owned());
        for together in readers.chunk_by(|one, other| within(one).is_some() && within(one) == within(other)) {
            let warn = |field: &&str| {
                let message = format!("this changes nothing: it is read {when}");
                Problem::at(format!("{table}.{field}"), message).help(format!("{help}, or leave this out"))
            };
            found.push(together.iter().map(warn).collect());
        }
    }
    let mut times = Vec::new();
    longer(fields, "", end, &mut times);
    for (field, time) in times {
        let message = format!("this time is {time}, and the run ends at {end}: it never passes");
        let problem = Problem::at(format!("{table}.{field}"), message);
        found.push(vec![problem.help("write a shorter time, or lengthen `run.duration`")]);
    }
    found
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
