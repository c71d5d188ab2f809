//! The names that a scenario can use, for `roamlab list`.

use roamlab_engine::MeasuredDurations;
use roamlab_packet::DropReason;
use roamlab_radio::MeasuredChannel;
use roamlab_tcp::{PARAMETERS, Profile, TcpSpec, Variant};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Families, with the name and one-line summary of each member, as JSON. Measured durations have the points of their
/// quantile functions too, in ms.
pub fn catalogue() -> String {
    let rows = |rows: &mut dyn Iterator<Item = (&str, String)>| -> Value {
        rows.map(|(name, summary)| json!({ "name": name, "summary": summary })).collect()
    };
    let pairs = |pairs: &'static [(&'static str, &'static str)]| {
        rows(&mut pairs.iter().map(|(name, summary)| (*name, (*summary).to_owned())))
    };
    let disciplines =
        roamlab_qdisc::NAMES.iter().map(|name| (*name, roamlab_qdisc::summary(name).unwrap_or_default()));
    let names =
        |names: &mut dyn Iterator<Item = &'static str>| rows(&mut names.map(|name| (name, String::new())));
    let durations: Value = MeasuredDurations::ALL
        .iter()
        .map(|table| {
            let (measured, curve) = (table.points_ms(), table.curve_ms());
            json!({ "name": table.name(), "summary": table.summary(), "measured_ms": measured, "curve_ms": curve })
        })
        .collect();
    let catalogue = json!({
        "queue disciplines": rows(&mut { disciplines }),
        "transports": pairs(roamlab_transport::TRANSPORTS),
        "tcp variants": pairs(roamlab_tcp::VARIANTS),
        "tcp congestion controls": pairs(roamlab_congestion::CONGESTION_CONTROLS),
        "tcp profiles": pairs(roamlab_tcp::PROFILES),
        "applications": pairs(roamlab_traffic::App::ALL),
        "radios": pairs(roamlab_radio::RADIOS),
        "media": pairs(roamlab_radio::MEDIA),
        "channels": pairs(roamlab_radio::CHANNELS),
        "measured channels": names(&mut MeasuredChannel::ALL.iter().map(|channel| channel.name())),
        "loss models": pairs(roamlab_radio::LOSS_MODELS),
        "schedulers": pairs(roamlab_radio::SCHEDULERS),
        "plans of movement": pairs(roamlab_radio::PLANS),
        "topologies": pairs(crate::schema::topology::TOPOLOGIES),
        "mobility protocols": pairs(roamlab_mobility::PROTOCOLS),
        "measured durations": durations,
        "messages": names(&mut crate::names::messages()),
        "drop reasons": names(&mut DropReason::ALL.iter().map(|reason| reason.name())),
    });
    catalogue.to_string()
}

/// Every parameter of a TCP profile for one variant, as a JSON list. A row has `parameter`, `value`, `unit` (empty if it has
/// none) and `meaning` with its source. `rule` is true if a profile sets it, and false if a flow does. `toml` is the value
/// as TOML. `rfc` is what the profile "rfc" has, unit included, and `differs` is true if that is another value.
///
/// `None` if there is no such profile or variant. Parameters that follow from others are shown for the
/// default window and segment, which are rows themselves.
pub fn tcp_profile(profile: &str, variant: &str) -> Option<String> {
    let variant: Variant = named(variant)?;
    let (own, rfc) = (parameters(named(profile)?, variant)?, parameters(Profile::Rfc, variant)?);
    let rows = PARAMETERS.iter().map(|parameter| {
        let (text, standard) = (text(&own[parameter.name]), text(&rfc[parameter.name]));
        let (value, unit) = match parameter.kind {
            "Packets" | "Bytes" | "Duration" => text.split_once(' ').unwrap_or((&text, "")),
            _ => (text.as_str(), ""),
        };
        let meaning: Vec<&str> = parameter.doc.split_whitespace().collect();
        json!({
            "parameter": parameter.name,
            "value": value,
            "unit": unit,
            "meaning": meaning.join(" "),
            "rule": parameter.is_rule,
            "toml": toml(&own[parameter.name]),
            "rfc": standard,
            "differs": text != standard,
        })
    });
    Some(rows.collect::<Value>().to_string())
}

/// The variant of a TCP connection that names none, under a profile; `None` if there is no such profile.
pub fn usual_variant(profile: &str) -> Option<String> {
    let params = TcpSpec::default().resolve(named::<Profile>(profile)?).ok()?;
    Some(text(&serde_json::to_value(params.variant).ok()?))
}

fn named<T: DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(name.into()).ok()
}

fn parameters(profile: Profile, variant: Variant) -> Option<Map<String, Value>> {
    let spec = TcpSpec { variant: Some(variant), ..TcpSpec::default() };
    match serde_json::to_value(spec.resolve(profile).ok()?).ok()? {
        Value::Object(parameters) => Some(parameters),
        _ => None,
    }
}

/// A value as TOML.
fn toml(value: &Value) -> String {
    toml::Value::try_from(value).map_or_else(|_| text(value), |value| value.to_string())
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
