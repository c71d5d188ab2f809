//! Warnings of two fields of one table whose values are the wrong way round: the smaller one has the larger value.

use crate::check::mobility::at;
use crate::problem::Problem;
use roamlab_engine::{Bytes, Duration, Packets};
use serde_json::Value;

/// The smaller field, the larger one, whether they may be equal, and what happens otherwise.
type Order = (&'static str, &'static str, bool, &'static str);

const NEVER_DOUBLED: &str = "the wait between two repetitions never doubles";
const ENDS_FIRST: &str = "it ends before it is renewed";

/// An order is about each table that has both fields.
const ORDERS: &[Order] = &[
    ("login_retransmit", "login_retransmit_limit", true, NEVER_DOUBLED),
    ("global.retransmit", "global.retransmit_limit", true, NEVER_DOUBLED),
    ("timers.rrc_retransmit", "timers.retransmit_limit", true, NEVER_DOUBLED),
    ("timers.s1_retransmit", "timers.retransmit_limit", true, NEVER_DOUBLED),
    ("renewal_margin", "registration_lifetime", false, ENDS_FIRST),
    ("binding_request_margin", "binding_lifetime", false, ENDS_FIRST),
    ("global.renewal_margin", "global.lifetime", false, ENDS_FIRST),
    ("hours.login", "hours.logout", false, "the host logs out before it has logged in"),
    (
        "detach_time",
        "timers.t304",
        false,
        "a host gives each handover up before it has the link of the new cell",
    ),
    (
        "detach_time",
        "timers.reloc_overall",
        false,
        "a source forgets a host before it has the link of the new cell",
    ),
    (
        "detach_time",
        "timers.joining",
        false,
        "a target forgets a host before it has the link of the new cell",
    ),
    (
        "detach_time",
        "timers.forwarding_hold",
        false,
        "a source stops forwarding before the host has the link of the new cell",
    ),
    ("timers.reloc_overall", "timers.joining", true, "a target forgets a host before its source does"),
    (
        "timers.cell_entry",
        "timers.t311",
        false,
        "a host gives re-establishment up before it has entered a cell",
    ),
    ("prediction_lead", "prediction_timeout", true, "a predicted handover is given up before it comes"),
    ("route_update_time", "route_timeout", false, ENDS_FIRST),
    ("buffer.longest_wait", "buffer.hold", true, "the buffer is given up before a packet has waited so long"),
    ("d2", "d1", true, "the probability falls in larger steps than it rises in"),
    ("keep_alive", "ap_inactivity", false, "a base station gives an idle host up before it gives a sign"),
    ("mark_above", "discard_timer", false, "a packet is discarded before it is marked"),
    ("flow_limit", "limit", true, "the queue is full before a flow has its limit"),
    ("step", "target", true, "packets of the low-latency queue wait longer than those of the classic one"),
    ("target", "rtt", false, "the acceptable wait is no shorter than a round-trip time"),
];

/// The warnings about a table: for each pair the larger field's, and the smaller one's.
pub fn of_table(table: &str, fields: &Value) -> Vec<Vec<Problem>> {
    let mut found = Vec::new();
    for (small, large, equal, effect) in ORDERS {
        let values = [small, large].map(|field| at(fields, field).filter(|value| !value.is_null()));
        let [Some(least), Some(most)] = values else { continue };
        let Some((below, above)) = number(least).zip(number(most)) else { continue };
        if below < above || (*equal && below == above) {
            continue;
        }
        let (least, most) = (plain(least), plain(most));
        let is = if below == above { "as long as" } else { "more than" };
        let message = |field: &str| {
            let (own, other, than) = match field == *large {
                true => (&most, format!("`{small}`, {least}"), if below == above { is } else { "less than" }),
                false => (&least, format!("`{large}`, {most}"), is),
            };
            format!("{own} is {than} {other}: {effect}")
        };
        let help = |field: &str| match (field == *large, *equal) {
            (true, true) => format!("write at least {least}"),
            (true, false) => format!("write more than {least}"),
            (false, true) => format!("write at most {most}"),
            (false, false) => format!("write less than {most}"),
        };
        let problem = |field: &str| Problem::at(format!("{table}.{field}"), message(field)).help(help(field));
        found.push(vec![problem(large), problem(small)]);
    }
    found
}

/// A quantity in its smallest unit.
fn number(value: &Value) -> Option<f64> {
    if let Some(number) = value.as_f64() {
        return Some(number);
    }
    let text = value.as_str()?;
    let time = || text.parse::<Duration>().map(|time| time.as_nanos() as f64);
    let packets = || text.parse::<Packets>().map(|packets| f64::from(packets.0));
    time().ok().or_else(|| packets().ok()).or_else(|| text.parse::<Bytes>().map(|size| size.0 as f64).ok())
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| format!("\"{text}\""))
}
