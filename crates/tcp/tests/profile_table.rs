//! The table of profiles in `docs/models/tcp.md` is the one that the code makes.

use roamlab_tcp::{PARAMETERS, Profile, TcpSpec, VARIANTS};
use serde_json::{Map, Value};
use std::fmt::Write;

const PROFILES: [(&str, Profile); 6] = [
    ("rfc", Profile::Rfc),
    ("linux-6", Profile::Linux6),
    ("linux-6-bbr", Profile::Linux6Bbr),
    ("ns2-2009", Profile::Ns2_2009),
    ("ns2-2003", Profile::Ns2_2003),
    ("ns2-2001", Profile::Ns2_2001),
];

fn parameters(profile: Profile, variant: &str) -> Map<String, Value> {
    let spec = TcpSpec { variant: serde_json::from_value(variant.into()).unwrap(), ..TcpSpec::default() };
    let Value::Object(mut parameters) = serde_json::to_value(spec.resolve(profile).unwrap()).unwrap() else {
        panic!("parameters are a table");
    };
    parameters.remove("profile");
    parameters.remove("variant");
    parameters
}

fn cell(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A row for every parameter, with a mark where the profiles differ, and below it what variants change.
fn table() -> String {
    let columns = PROFILES.map(|(_, profile)| parameters(profile, "reno"));
    let mut text = String::from(
        "| TCP parameter | set by | rfc | linux-6 | linux-6-bbr | ns2-2009 | ns2-2003 | ns2-2001 | |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for name in columns[0].keys() {
        let cells = columns.each_ref().map(|column| cell(&column[name]));
        let mark = if cells.iter().all(|other| *other == cells[0]) { "" } else { "differs" };
        let is_rule = PARAMETERS.iter().any(|known| known.name == name && known.is_rule);
        let set_by = if is_rule { "profile" } else { "flow" };
        writeln!(text, "| `{name}` | {set_by} | {} | {mark} |", cells.join(" | ")).unwrap();
    }
    text += "\n| variant | profile | parameters that differ from Reno's |\n|---|---|---|\n";
    for (variant, _) in VARIANTS.iter().filter(|(variant, _)| *variant != "reno") {
        for (index, (name, profile)) in PROFILES.iter().enumerate() {
            let own = parameters(*profile, variant);
            let changed = own.iter().filter(|(name, value)| columns[index][*name] != **value);
            let changed: Vec<String> =
                changed.map(|(name, value)| format!("`{name}` {}", cell(value))).collect();
            writeln!(text, "| {variant} | {name} | {} |", changed.join(", ")).unwrap();
        }
    }
    text
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test may read the documentation")]
fn the_documented_table_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models/tcp.md");
    let document = std::fs::read_to_string(path).unwrap_or_default();
    let table = table();
    assert!(document.contains(&table), "docs/models/tcp.md needs this table:\n\n{table}");
}
