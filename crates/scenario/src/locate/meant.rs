//! Values and names that are right elsewhere: a number with its unit in a text, bytes where packets are counted, the path of
//! a field as `--set` and sweeps have it.

use super::hint;
use crate::problem::field::{Step, names, push_key, steps};
use roamlab_engine::{Bytes, Packets};
use toml::de::{DeTable, DeValue};

/// Text to write where a number is expected and the text has one, or names one: `"36 km/h"` in metres a second is 10.0.
pub fn number(field: &str, wanted: &str, text: &str) -> Option<String> {
    let whole = match wanted {
        "f64" => false,
        "u8" | "u16" | "u32" | "u64" => true,
        _ => return None,
    };
    let is_key = |step: &Step| matches!(step, Step::Key(_));
    let path = steps(field);
    let Some(Step::Key(name)) = path.iter().rev().find(|step| is_key(step)) else { return None };
    let in_list = !path.last().is_some_and(is_key);
    let write = |value: String| match in_list {
        true => format!("write the number alone: {value}"),
        false => format!("write the number alone: `{name} = {value}`"),
    };
    if matches!(name.as_str(), "dscp" | "mark")
        && let Some(code_point) = code_point(text)
    {
        let said = format!("{} is {code_point}: write `{name} = {code_point}`", text.trim().to_uppercase());
        return Some(said);
    }
    let text = text.trim().replace('\u{2212}', "-");
    if let Some(digits) = text.strip_prefix("0x").filter(|_| whole) {
        return u64::from_str_radix(digits, 16).ok().map(|value| write(value.to_string()));
    }
    let is_number = |c: char| c.is_ascii_digit() || "+-.".contains(c);
    let end = text.find(|c: char| !is_number(c)).unwrap_or(text.len());
    let (value, unit) = match text.parse::<f64>() {
        Ok(value) => (value, ""),
        Err(_) => (text[..end].parse().ok()?, text[end..].trim()),
    };
    let value = value * factor(name, &unit.to_lowercase())?;
    if !value.is_finite() {
        return None;
    }
    if whole {
        return (value >= 0.0 && value.fract() == 0.0).then(|| write(format!("{value}")));
    }
    Some(write(format!("{:?}", (value * 1e9).round() / 1e9)))
}

/// By what a number with this unit is multiplied for a field, whose name ends with its unit.
fn factor(name: &str, unit: &str) -> Option<f64> {
    const SPEEDS: &[(&str, f64)] = &[
        ("m/s", 1.0),
        ("mps", 1.0),
        ("km/h", 1.0 / 3.6),
        ("kmh", 1.0 / 3.6),
        ("kph", 1.0 / 3.6),
        ("mph", 0.44704),
    ];
    const ENDINGS: &[(&str, &[(&str, f64)])] = &[
        ("_m_per_s", SPEEDS),
        ("_db_per_s", &[("db/s", 1.0), ("dbps", 1.0)]),
        ("_dbm", &[("dbm", 1.0), ("db", 1.0)]),
        ("_db", &[("db", 1.0)]),
        ("_m", &[("m", 1.0), ("km", 1000.0)]),
        ("frame_rate", &[("fps", 1.0), ("hz", 1.0), ("/s", 1.0)]),
    ];
    if unit.is_empty() {
        return Some(1.0);
    }
    match ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)) {
        Some((_, units)) => units.iter().find(|(known, _)| *known == unit).map(|(_, factor)| *factor),
        None => match unit {
            "%" => Some(0.01),
            "pkt" | "packets" | "segments" | "mss" | "hosts" | "flows" | "times" => Some(1.0),
            _ => None,
        },
    }
}

/// The number of a code point by its name (RFC 2474, 2597, 3246, 5865, 8622).
fn code_point(text: &str) -> Option<u32> {
    let name = text.trim().to_ascii_lowercase();
    let digits = |prefix: &str| {
        let rest = name.strip_prefix(prefix)?;
        rest.chars().map(|c| c.to_digit(10)).collect::<Option<Vec<u32>>>()
    };
    match name.as_str() {
        "be" | "df" | "default" | "best-effort" | "besteffort" => return Some(0),
        "le" => return Some(1),
        "va" | "voice-admit" => return Some(44),
        "ef" => return Some(46),
        _ => {}
    }
    if let Some(&[class @ 0..=7]) = digits("cs").as_deref() {
        return Some(8 * class);
    }
    match digits("af").as_deref() {
        Some(&[class @ 1..=4, drop @ 1..=3]) => Some(8 * class + 2 * drop),
        _ => None,
    }
}

/// The message of a whole number with the range that its field has.
pub fn ranged(field: &str, message: &str) -> Option<String> {
    let (before, after) = message.split_once("a whole number from 0 to ")?;
    let (_, after) = after.split_once(',')?;
    let (least, most) = hint::range(field)?;
    Some(format!("{before}a whole number from {least} to {most},{after}"))
}

/// Text to write where a number of packets is expected and bytes are given; none where no size is written that counts.
pub fn packets(root: &DeTable<'_>, field: &str) -> Option<String> {
    let bytes = bytes(value(root, field)?)?;
    if bytes.0 >= i32::MAX as u64 {
        return Some("leave it out: in other programs so large a number is written for no limit".into());
    }
    let (table, name) = field.rsplit_once('.')?;
    let text = |path: &str| Some(value(root, path)?.as_str()?.to_owned());
    let kind = text(&format!("{table}.kind"));
    if name == "packets" && kind.is_some_and(|kind| hint::has_of_kind(table, &kind, "size")) {
        return Some(format!("`packets` are counted: write the amount as `size = \"{bytes}\"`"));
    }
    let size = |path: String| Some((text(&path)?.parse::<Bytes>().ok().filter(|size| size.0 > 0)?, path));
    let flow = table.split_once("].").filter(|(list, _)| list.starts_with("flows["));
    let (size, path) = match flow {
        Some((flow, _)) => ["transport.segment", "transport.datagram", "app.packet"]
            .iter()
            .find_map(|part| size(format!("{flow}].{part}")))?,
        None => {
            let flows = root.get("flows")?.get_ref().as_array()?.len();
            let mut sizes = (0..flows).map(|index| size(format!("flows[{index}].transport.segment")));
            let first = sizes.next()??;
            sizes.all(|size| size.is_some_and(|(size, _)| size == first.0)).then_some(first)?
        }
    };
    let count = (bytes.0 / size.0).max(1);
    Some(format!("use packets: with {size} in each, as in `{path}`, these are \"{count} pkt\""))
}

/// Text to write where a number of packets is expected and a share of the limit is given.
pub fn share(root: &DeTable<'_>, field: &str) -> Option<String> {
    let DeValue::Float(share) = value(root, field)? else { return None };
    let share: f64 = share.as_str().parse().ok().filter(|share| (0.0..1.0).contains(share))?;
    let (table, name) = field.rsplit_once('.')?;
    let limit: Packets = value(root, &format!("{table}.limit"))?.as_str()?.parse().ok()?;
    let packets = (share * f64::from(limit.0)).round();
    Some(format!("write packets: {share} of the limit of {limit} is `{name} = \"{packets} pkt\"`"))
}

/// The value of a field that is written.
pub fn value<'a, 'b>(root: &'a DeTable<'b>, field: &str) -> Option<&'a DeValue<'b>> {
    let mut steps = steps(field).into_iter();
    let Some(Step::Key(first)) = steps.next() else { return None };
    let mut value = root.get(first.as_str())?.get_ref();
    for step in steps {
        value = match step {
            Step::Key(key) => value.get(key.as_str())?.get_ref(),
            Step::Item(index) => value.get(index)?.get_ref(),
        };
    }
    Some(value)
}

fn bytes(value: &DeValue<'_>) -> Option<Bytes> {
    match value {
        DeValue::String(text) => text.parse().ok(),
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok().map(Bytes),
        DeValue::Float(number) => number.as_str().parse::<f64>().ok().map(|number| Bytes(number as u64)),
        _ => None,
    }
}

/// Where the field belongs that is written as a path: a key with dots in quotes, or tables inside each other.
pub fn path(root: &DeTable<'_>, field: &str, name: &str) -> Option<String> {
    let mut path: Vec<String> = name.split('.').map(str::to_owned).collect();
    let mut at = field.to_owned();
    if !crate::problem::field::ends_with(&at, name) {
        push_key(&mut at, name);
    }
    let mut inner = value(root, &at)?;
    while let DeValue::Table(table) = inner {
        let mut fields = table.iter();
        let (Some((key, value)), None) = (fields.next(), fields.next()) else { return None };
        path.push(key.get_ref().to_string());
        inner = value.get_ref();
    }
    let [list, element, within @ .., last] = path.as_slice() else { return None };
    let place = match (list.as_str(), within) {
        ("flows" | "hosts", []) => format!("in the table `[[{list}]]` with `name = \"{element}\"`"),
        ("flows" | "hosts", _) => {
            format!("in `{}` of the table `[[{list}]]` with `name = \"{element}\"`", within.join("."))
        }
        ("run" | "network" | "radio" | "mobility" | "record" | "cells" | "links" | "topology", _) => {
            let table = std::iter::once(element.as_str()).chain(within.iter().map(String::as_str));
            format!("in `{list}.{}`", table.collect::<Vec<_>>().join("."))
        }
        _ => return None,
    };
    Some(format!(
        "`{}` is a path, as `--set` and the `[set]` of a sweep have it: in a scenario write `{last}` {place}",
        path.join(".")
    ))
}

/// The header to write for a table whose name has a dot, and is therefore read as tables inside each other: the innermost
/// has fields of the one with the name.
pub fn dotted(root: &DeTable<'_>, table: &str, name: &str) -> Option<String> {
    if !hint::is_named(table) {
        return None;
    }
    let field = |key: &str| {
        let mut path = table.to_owned();
        push_key(&mut path, key);
        path
    };
    let mut parts = vec![name.to_owned()];
    let mut inner = value(root, &field(name))?.as_table()?;
    while !inner.keys().any(|key| hint::has(&field(key.get_ref()))) {
        let mut fields = inner.iter();
        let (Some((key, value)), None) = (fields.next(), fields.next()) else { return None };
        parts.push(key.get_ref().to_string());
        inner = value.get_ref().as_table()?;
    }
    let plain = parts.join("-").replace(|c: char| !c.is_alphanumeric() && c != '-' && c != '_', "-");
    Some(format!("a dot separates tables, and a name has none: write `[{table}-{plain}]`"))
}

/// The header to write for an element of a list that is written as a table with a name: `[hosts.phone]`.
pub fn listed(root: &DeTable<'_>, field: &str) -> Option<String> {
    let (name, fields) = value(root, field)?.as_table()?.iter().next()?;
    fields.get_ref().as_table()?;
    Some(format!(
        "these are a list: write `[[{field}]]` with `name = \"{}\"` in place of `[{field}.{0}]`",
        name.get_ref()
    ))
}

/// Text to write instead of a zero, or a number below it, that a field does not take.
pub fn of_sign(field: &str, message: &str) -> Option<String> {
    const OUTAGE: &str = "an outage is `up = false`, and `up = true` in a later change ends it";
    const DOWN: &str = "a link that fails for a time has `changes = [{ at = \"5 s\", up = false }, { at = \"8 s\", up = true }]`";
    const AWAY: &str =
        "for a time without a cell write `until` in the visit before, and begin the next one later";
    const NO_TRAFFIC: &str = "for no traffic leave the flow out, or write its `start` and `stop`";
    const SOFT: &str =
        "a host that is in both cells for a time has `kind = \"soft\"`, with `overlap = \"50 ms\"`";
    const BEGIN: &str = "times count from the begin of the run, which is \"0 s\"";
    const ZERO: &[(&str, &str, &str)] = &[
        ("links.changes", "rate", OUTAGE),
        ("links.changes", "reverse_rate", OUTAGE),
        ("links", "rate", DOWN),
        ("links", "reverse_rate", DOWN),
        ("cells", "rate", AWAY),
        ("flows.app", "rate", NO_TRAFFIC),
    ];
    const NEGATIVE: &[(&str, &str, &str)] = &[
        ("radio", "gap", SOFT),
        ("", "at", BEGIN),
        ("", "until", BEGIN),
        ("", "start", BEGIN),
        ("", "stop", BEGIN),
    ];
    let rows = match message {
        _ if message.ends_with(" is larger than 0") => ZERO,
        _ if message.starts_with("\"-") => NEGATIVE,
        _ => return None,
    };
    let mut path: Vec<String> = names(field).into_iter().flatten().collect();
    let name = path.pop()?;
    if path.len() == 2 && path[0] == "cells" {
        path.truncate(1); // not the name of the cell
    }
    let table = path.join(".");
    rows.iter()
        .find(|(within, field, _)| (within.is_empty() || *within == table) && *field == name)
        .map(|(.., help)| (*help).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_with_its_unit_is_that_of_the_field() {
        let said = |field: &str, wanted: &str, text: &str| number(field, wanted, text);
        let alone = |value: &str| Some(format!("write the number alone: {value}"));
        let speed = "hosts[0].trajectory.speed_m_per_s";
        assert_eq!(said(speed, "f64", "36 km/h"), alone("`speed_m_per_s = 10.0`"));
        assert_eq!(said("cells.a.transmitter.position_m[0]", "f64", "1.5 km"), alone("1500.0"));
        assert_eq!(
            said("radio.measurement.audible_dbm", "f64", "\u{2212}110 dBm"),
            alone("`audible_dbm = -110.0`")
        );
        assert_eq!(said("cells.a.queue.max_p", "f64", "10%"), alone("`max_p = 0.1`"));
        assert_eq!(said("flows[0].count", "u32", "10"), alone("`count = 10`"));
        assert_eq!(said("flows[0].count", "u32", "1.5"), None);
        assert_eq!(said(speed, "f64", "fast"), None);
        assert_eq!(said(speed, "f64", "3 dB"), None);
        assert_eq!(said("flows[0].dscp", "u8", "0x2e"), alone("`dscp = 46`"));
    }

    #[test]
    fn code_points_have_the_numbers_of_their_names() {
        let numbers = ["CS0", "LE", "AF11", "AF43", "EF", "cs6", "VA"].map(code_point);
        assert_eq!(numbers, [0, 1, 10, 38, 46, 48, 44].map(Some));
        assert_eq!(["AF44", "CS8", "AF1", "gold"].map(code_point), [None; 4]);
    }
}
