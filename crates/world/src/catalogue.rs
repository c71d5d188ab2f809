//! What a scenario can name, for `roamlab list`.

use roamlab_mobility::Message;
use roamlab_packet::DropReason;
use serde_json::{Value, json};

/// Families, with the name and one-line summary of each member, as JSON.
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
    let catalogue = json!({
        "queue disciplines": rows(&mut { disciplines }),
        "tcp variants": pairs(roamlab_transport::VARIANTS),
        "tcp profiles": pairs(roamlab_transport::PROFILES),
        "applications": pairs(roamlab_traffic::App::ALL),
        "schedulers": pairs(roamlab_radio::SCHEDULERS),
        "mobility protocols": pairs(roamlab_mobility::PROTOCOLS),
        "messages": names(&mut Message::names()),
        "drop reasons": names(&mut DropReason::ALL.iter().map(|reason| reason.name())),
    });
    catalogue.to_string()
}
