//! Random fields with random values, from the JSON schema of what they are fields of. A field that is added
//! to the schema is drawn too, and only the cases that draw it change.

use serde_json::{Map, Value};

/// Random numbers of a place: the same in each case of this number, whatever else is drawn.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The numbers of a place in a case.
    pub fn of(case: u64, place: &str) -> Dice {
        let fold = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let mut dice = Dice(place.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fold) ^ case << 32);
        dice.next();
        dice
    }

    /// A random number (splitmix64).
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        (self.uniform() * end as f64) as u64
    }

    /// True if something of this probability happens.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }

    /// One of these names, by which it is chosen: one more name changes only the cases that it is chosen in.
    pub fn one_by_name<'a>(&self, names: &[&'a str]) -> &'a str {
        let place = |name: &&&str| Dice::of(self.0, name).next();
        names.iter().max_by_key(place).copied().unwrap_or_default()
    }

    /// A number between two, uniform in its logarithm, with three digits.
    pub fn between(&mut self, least: f64, most: f64) -> f64 {
        let value = least * libm::pow(most / least, self.uniform());
        let unit = libm::pow(10.0, libm::floor(libm::log10(value)) - 2.0);
        libm::round(value / unit) * unit
    }
}

/// Fields that a caller has to write itself, or that would lead out of the case.
const LEFT_OUT: &[&str] = &[
    "kind",
    "sets",
    "name",
    "count",
    "stagger",
    "file",
    "predictions",
    "cells",
    "areas",
    "hosts",
    "gateway",
    "mme",
    "domain",
    "trace",
    "paging_areas",
    "loads",
    "home_network",
    "sysctls",
    "rates",
    "anchors",
    "foreign",
    "burst",
    "profile",
    "based_on",
];

/// Recoveries of TCP, each with what it alone, or above all, reads.
const FOCUSES: &[(&str, &[&str])] = &[
    ("reno", &["repeat_fast_retransmit", "inflate_always", "guard_fast_retransmit", "limited_transmit"]),
    (
        "newreno",
        &["impatient", "partial_deflation", "cap_cwnd_on_exit", "inflate_always", "spurious_detection"],
    ),
    (
        "rfc6675",
        &["reduction", "limited_transmit", "dupack_threshold", "spurious_detection", "dsack", "timestamps"],
    ),
    ("fack", &["fack_rampdown", "fack_overdamping", "limited_transmit", "spurious_detection"]),
    ("ns2-fack", &["fack_rampdown", "fack_overdamping"]),
    ("rack", &["reduction", "tail_loss_probe", "dsack", "spurious_detection", "timestamps", "pacing"]),
];

/// The fields of TCP's transport in a case, and the rules of its profile. Half of the cases have one recovery in view.
pub fn tcp(
    schema: &Value,
    case: u64,
    place: &str,
    chance: f64,
    often: &[&str],
) -> (Map<String, Value>, Map<String, Value>) {
    let mut dice = Dice::of(case, place);
    let focus = Some(dice.one_of(FOCUSES)).filter(|_| dice.chance(0.5));
    let often = [often, focus.map_or(&[][..], |(_, fields)| fields)].concat();
    let fields = Fields { schema, case, often: &often };
    let mut values = fields.some(fields.definition("TransportSpec", "tcp"), place, chance, &[]);
    let rules = fields.some(fields.definition("TcpProfile", ""), place, chance, &[]);
    if let Some((recovery, _)) = focus {
        values.insert("recovery".into(), recovery.into());
        values.remove("variant");
    }
    (values, rules)
}

/// The fields of a schema.
pub struct Fields<'a> {
    /// The whole schema, whose definitions are referred to.
    pub schema: &'a Value,
    pub case: u64,
    /// Fields that are drawn more often.
    pub often: &'a [&'a str],
}

impl Fields<'_> {
    fn resolve<'b>(&'b self, node: &'b Value) -> &'b Value {
        match node["$ref"].as_str() {
            Some(name) => &self.schema["$defs"][name.rsplit('/').next().unwrap_or_default()],
            None => node,
        }
    }

    /// The definition of this name; of one with kinds that of this kind.
    pub fn definition(&self, name: &str, kind: &str) -> &Value {
        let node = &self.schema["$defs"][name];
        let of_kind = |node: &&Value| node["properties"]["kind"]["const"] == kind;
        node["oneOf"].as_array().and_then(|all| all.iter().find(of_kind)).unwrap_or(node)
    }

    /// The kinds that a definition has.
    pub fn kinds(&self, name: &str) -> Vec<&str> {
        let all = self.schema["$defs"][name]["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
        all.iter().filter_map(|node| node["properties"]["kind"]["const"].as_str()).collect()
    }

    /// One of the kinds that a definition has.
    pub fn kind(&self, name: &str, place: &str) -> &str {
        Dice::of(self.case, place).one_by_name(&self.kinds(name))
    }

    /// Some fields of an object, each with this probability. The fields `but` are left out.
    pub fn some(&self, node: &Value, place: &str, chance: f64, but: &[&str]) -> Map<String, Value> {
        let mut fields = Map::new();
        for (name, field) in node["properties"].as_object().into_iter().flatten() {
            if LEFT_OUT.contains(&name.as_str()) || but.contains(&name.as_str()) {
                continue;
            }
            let place = format!("{place}.{name}");
            let mut dice = Dice::of(self.case, &place);
            let is_required =
                node["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
            let likely = if self.often.contains(&name.as_str()) { chance.max(0.3) } else { chance };
            if (dice.chance(likely) || is_required)
                && let Some(value) = self.value(field, &field["default"], &place, &mut dice, likely)
            {
                fields.insert(name.clone(), value);
            }
        }
        fields
    }

    fn value(
        &self,
        node: &Value,
        default: &Value,
        place: &str,
        dice: &mut Dice,
        chance: f64,
    ) -> Option<Value> {
        if place.ends_with(".threshold") || place.ends_with(".min_threshold") && default == "40 pkt" {
            return Some(format!("{} pkt", 1 + dice.below(4)).into()); // below the limit, whatever that is
        }
        if place.ends_with(".points") {
            let longest = format!("{} ms", 10 + dice.below(90));
            return Some(serde_json::json!([[0.1, "5 ms"], [0.9, longest]])); // of a quantile function: they rise
        }
        if let Some(quantity) = node["$ref"].as_str().and_then(|name| quantity(name, default, dice)) {
            return Some(quantity.into());
        }
        let node = self.resolve(node);
        if let Some(values) = node["enum"].as_array() {
            let names: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            return Some(dice.one_by_name(&names).into());
        }
        if node["const"].is_string() {
            return Some(node["const"].clone());
        }
        if let Some(all) = node["anyOf"].as_array().or(node["oneOf"].as_array()) {
            // A word, a kind of a table, or a form.
            let name = |node: &Value| {
                let names =
                    [&node["const"], &node["properties"]["kind"]["const"], &node["$ref"], &node["type"]];
                names.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned()
            };
            let named: Vec<(String, &Value)> =
                all.iter().map(|node| (name(node), node)).filter(|(name, _)| name != "null").collect();
            let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
            let chosen = dice.one_by_name(&names);
            let (_, node) = named.iter().find(|(name, _)| name == chosen)?;
            return self.value(node, default, place, dice, chance);
        }
        if node["properties"].is_object() {
            let mut fields = self.some(node, place, chance.max(0.3), &[]);
            let kind = &node["properties"]["kind"]["const"];
            if kind.is_string() {
                fields.insert("kind".into(), kind.clone());
            }
            return Some(fields.into());
        }
        scalar(node, default, place, dice)
    }
}

/// A random truth value or number.
fn scalar(node: &Value, default: &Value, place: &str, dice: &mut Dice) -> Option<Value> {
    let most = node["maximum"].as_f64().unwrap_or(f64::MAX);
    match node["type"].as_str().or(node["type"][0].as_str())? {
        "boolean" => Some(dice.chance(0.5).into()),
        "integer" => {
            let end = default.as_u64().map_or(9, |default| if default < 8 { 2 * default + 3 } else { 9 });
            let least = node["minimum"].as_u64().unwrap_or(0);
            Some(dice.below(end).max(least).min(most as u64).into())
        }
        "number" if place.ends_with("_db") => Some((0.5 * dice.below(9) as f64).into()), // as it is signalled
        "number" => {
            let default = default.as_f64().unwrap_or(0.0);
            let value = if default == 0.0 { 0.3 * dice.uniform() } else { default * dice.between(0.25, 4.0) };
            Some(value.min(most).into())
        }
        _ => None,
    }
}

/// A random quantity: around its default, or of the size that small cases have.
fn quantity(name: &str, default: &Value, dice: &mut Dice) -> Option<String> {
    let default = default.as_str().and_then(|text| text.split_once(' '));
    let scaled = |units: &[(&str, f64)]| {
        let (number, unit) = default?;
        let factor = units.iter().find(|(name, _)| *name == unit)?.1;
        Some(number.parse::<f64>().ok()? * factor).filter(|&value| value > 0.0)
    };
    match name.rsplit('/').next()? {
        "Duration" => {
            let default =
                scaled(&[("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)]);
            let seconds = match default {
                Some(default) => dice.between(0.05 * default, 4.0 * default),
                None if dice.chance(0.1) => 0.0,
                None => dice.between(1e-3, 0.4),
            };
            Some(format!("{:.0} us", (seconds * 1e6).max(1.0)))
        }
        "Packets" => Some(format!("{:.0} pkt", dice.between(4.0, 60.0))),
        "Bytes" => {
            let default = scaled(&[("B", 1.0), ("kB", 1e3), ("KiB", 1024.0), ("MB", 1e6)]);
            let size = match default {
                Some(default) if default <= 4000.0 => dice.between(0.4 * default, 2.5 * default),
                Some(_) => dice.between(3e3, 6e4),
                None => dice.between(100.0, 3000.0),
            };
            Some(format!("{size:.0} B"))
        }
        "Rate" => {
            let default = scaled(&[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)]);
            let rate = default.map_or((1e5, 5e6), |default| (0.3 * default, 2.0 * default));
            Some(format!("{:.0} bit/s", dice.between(rate.0, rate.1)))
        }
        _ => None,
    }
}

/// The fields as in an inline table of TOML: `, FIELD = VALUE` for each.
pub fn inline(fields: &Map<String, Value>) -> String {
    fields.iter().map(|(name, value)| format!(", {name} = {}", in_toml(value))).collect()
}

/// The fields, each in a line.
pub fn lines(fields: &Map<String, Value>) -> String {
    fields.iter().map(|(name, value)| format!("{name} = {}\n", in_toml(value))).collect()
}

fn in_toml(value: &Value) -> String {
    match value {
        Value::Object(fields) => format!("{{ {} }}", inline(fields).trim_start_matches(", ")),
        other => other.to_string(),
    }
}
