//! Advice on a field, from the scenario's own schema: its documentation and an example.

use super::place::Shape;
use crate::problem::field::names;
use crate::schema::schema;
use crate::suggest::words::{Meaning, meaning};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Text to write in `field`; `missing`: it is not there yet.
pub fn hint(field: &str, missing: bool) -> Option<String> {
    let path = names(field);
    let value = find(&path)?;
    let example = match path.last()? {
        Some(name) => format!("{name} = {}", SCHEMA.example(value)),
        None => SCHEMA.example(value),
    };
    let about = value.get("description").and_then(Value::as_str).map(|text| text.replace('\n', " "));
    let about = about.map(|text| format!(" ({})", text.trim_end_matches('.'))).unwrap_or_default();
    let verb = if missing { "add" } else { "write" };
    Some(format!("{verb} for example `{example}`{about}"))
}

/// True if there is such a field in some kind of the table around it.
pub fn has(field: &str) -> bool {
    find(&names(field)).is_some()
}

/// True if the table has a name of the user's choice: `cells.bs1`.
pub fn is_named(table: &str) -> bool {
    let path = names(table);
    let Some((Some(name), around)) = path.split_last() else { return false };
    let field = |around: &Value| SCHEMA.step(around, Some(name.as_str())).is_some();
    let listed = |around: &Value| around.get("properties").is_some_and(|fields| fields.get(name).is_some());
    find(around).is_some_and(|around| {
        around.get("additionalProperties").is_some_and(Value::is_object) && field(around) && !listed(around)
    })
}

/// True if this kind of the table has a field of this name.
pub fn has_of_kind(table: &str, kind: &str, name: &str) -> bool {
    kinds_with(table, name).contains(&kind)
}

/// The least and the largest number that a field can have, if it has both.
pub fn range(field: &str) -> Option<(u64, u64)> {
    let value = find(&names(field))?;
    Some((value.get("minimum")?.as_u64()?, value.get("maximum")?.as_u64()?))
}

/// True if a value of this form can be written in `field`.
pub fn takes(field: &str, shape: Shape) -> bool {
    let mut shapes = Vec::new();
    if let Some(found) = find(&names(field)) {
        SCHEMA.shapes(found, &mut shapes);
    }
    shapes.is_empty() || shapes.contains(&shape)
}

/// How the table or the name in `field` is switched off, if it can be.
pub fn off(field: &str) -> Option<String> {
    /// Without these another table or field counts.
    const INHERITED: &[&str] = &["queue", "reverse_queue", "congestion_control"];
    let path = names(field);
    let value = find(&path)?;
    let name = path.last()?.as_deref()?;
    if SCHEMA.has_none(value) {
        return Some(format!("to switch it off write `{name} = \"none\"`"));
    }
    let mut shapes = Vec::new();
    SCHEMA.shapes(value, &mut shapes);
    if !shapes.contains(&Shape::Table) {
        return None;
    }
    let mut parts = Vec::new();
    SCHEMA.below(value, &mut |part, inner| {
        parts.extend(part.filter(|_| SCHEMA.has_none(inner)).map(str::to_owned));
    });
    if let Some(part) = parts.first() {
        return Some(format!("to switch it off write `{name} = {{ {part} = \"none\" }}`"));
    }
    let is_optional = ["oneOf", "anyOf"].iter().any(|key| {
        let branches = value.get(key).and_then(Value::as_array);
        branches.into_iter().flatten().any(|branch| branch.get("type").is_some_and(|kind| kind == "null"))
    });
    (is_optional && !INHERITED.contains(&name)).then(|| format!("to have none leave `{name}` out"))
}

/// The `kind` of the table `field` that this text means, if it is written where the table is expected.
pub fn kind(field: &str, text: &str) -> Option<String> {
    let mut kinds = Vec::new();
    SCHEMA.kinds(find(&names(field))?, &mut kinds);
    match meaning(text, &kinds) {
        Some(Meaning::Name(kind)) => Some(kind),
        _ => None,
    }
}

/// A name that the schema does not have, and the tables that have it.
const OUTSIDE: &[(&str, &str)] = &[
    (
        "seed",
        "a scenario has no seed: write `--seed 7` at the command line, `seed=7` in Python, or `seed = 7` in a sweep",
    ),
    ("replications", "`replications` is a field of a sweep, which names the scenario: see docs/sweeps.md"),
    ("metrics", "`metrics` is a field of a sweep, which names the scenario: see docs/sweeps.md"),
    ("scenario", "`scenario` is a field of a sweep, which names the scenario: see docs/sweeps.md"),
    ("set", "`[set]` is a table of a sweep: write each field in its own table"),
    ("grid", "`[grid]` is a table of a sweep, which names the scenario: see docs/sweeps.md"),
    ("baseline", "`baseline` is a field of a sweep, which names the scenario: see docs/sweeps.md"),
];

/// How a part of the whole scenario is written, if the field `name` of the table `within` has the name of one: `[record]`.
pub fn part(name: &str, within: &str) -> Option<String> {
    let part = SCHEMA.root.get("properties")?.get(name).filter(|_| !within.is_empty())?;
    let list = part.get("type").is_some_and(|kind| kind == "array");
    let named = part.get("additionalProperties").is_some();
    let header = header(&match (list, named) {
        (true, _) => vec![Some(name.to_owned()), None],
        (false, true) => vec![Some(name.to_owned()), Some("NAME".into())],
        (false, false) => vec![Some(name.to_owned())],
    });
    Some(format!("`{name}` is no part of this table but of the whole scenario: write `{header}`"))
}

/// Where a field of this name belongs, if not in the table `within`: "`gap` is a field of `[radio]`".
pub fn elsewhere(name: &str, within: &str) -> Option<String> {
    const LISTED: usize = 4;
    let found = SCHEMA.sections(name);
    let own = header(&names(within));
    let mut kinds = kinds_with(within, name);
    kinds.dedup();
    if let Some((last, rest)) = kinds.split_last() {
        let first: String = rest.iter().take(LISTED).map(|kind| format!("\"{kind}\", ")).collect();
        return Some(format!(
            "`{name}` is a field of other kinds of this table: {first}\"{last}\": after a change of `kind` write the whole table"
        ));
    }
    let listed: Vec<_> =
        found.iter().filter(|section| **section != own).take(LISTED).map(|it| format!("`{it}`")).collect();
    match listed.split_last() {
        Some((last, [])) => Some(format!("`{name}` is a field of {last}")),
        Some((last, rest)) => Some(format!("`{name}` is a field of {} and {last}", rest.join(", "))),
        None => OUTSIDE.iter().find(|(other, _)| *other == name).map(|(_, where_)| (*where_).to_owned()),
    }
}

/// The header of a table as TOML has it; `None` is an item of a list, and a list's own header is double.
fn header(path: &[Option<String>]) -> String {
    let names: Vec<_> = path.iter().flatten().map(String::as_str).collect();
    let inner = names.join(".");
    if path.last() == Some(&None) { format!("[[{inner}]]") } else { format!("[{inner}]") }
}

/// The kinds of a table that have a field of this name.
fn kinds_with(table: &str, name: &str) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    if let Some(value) = find(&names(table)) {
        SCHEMA.kinds_with(value, name, None, &mut kinds);
    }
    kinds
}

/// The schema of a field.
fn find(path: &[Option<String>]) -> Option<&'static Value> {
    path.iter().try_fold(SCHEMA.root, |value, name| SCHEMA.step(value, name.as_deref()))
}

/// The scenario's schema, read once.
static ROOT: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(&schema()).unwrap_or_default());
static SCHEMA: LazyLock<Schema<'static>> = LazyLock::new(|| Schema { root: &ROOT });

struct Schema<'a> {
    root: &'a Value,
}

impl<'a> Schema<'a> {
    /// The definition that a schema refers to.
    fn target(&self, schema: &'a Value) -> Option<&'a Value> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        self.root.get("$defs")?.get(name)
    }

    /// The schemas of which a value may, or must, satisfy several.
    fn branches(&self, schema: &'a Value) -> impl Iterator<Item = &'a Value> + use<'a> {
        let branches = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
        let is_null = |branch: &&Value| branch.get("type").is_some_and(|kind| kind == "null");
        branches.flatten().filter(move |branch| !is_null(branch)).chain(self.target(schema))
    }

    /// The schema of a table's field, or of a list's items.
    fn step(&self, schema: &'a Value, name: Option<&str>) -> Option<&'a Value> {
        let own = match name {
            Some(name) => schema
                .get("properties")
                .and_then(|properties| properties.get(name))
                .or_else(|| schema.get("additionalProperties").filter(|other| other.is_object())),
            None => schema.get("items"),
        };
        own.or_else(|| self.branches(schema).find_map(|branch| self.step(branch, name)))
    }

    /// The forms that a value can have; a form that no schema names is left out.
    fn shapes(&self, schema: &'a Value, found: &mut Vec<Shape>) {
        let kinds = match schema.get("type") {
            Some(Value::Array(kinds)) => kinds.as_slice(),
            Some(kind) => std::slice::from_ref(kind),
            None => &[],
        };
        found.extend(kinds.iter().filter_map(Value::as_str).filter_map(|kind| match kind {
            "object" => Some(Shape::Table),
            "array" => Some(Shape::List),
            "null" => None,
            _ => Some(Shape::Single),
        }));
        if schema.get("const").or_else(|| schema.get("enum")).is_some() {
            found.push(Shape::Single);
        }
        self.branches(schema).for_each(|branch| self.shapes(branch, found));
    }

    /// True if one of the names that a value can be is "none".
    fn has_none(&self, schema: &'a Value) -> bool {
        let listed = schema.get("enum").and_then(Value::as_array);
        schema.get("const").is_some_and(|name| name == "none")
            || listed.is_some_and(|names| names.iter().any(|name| name == "none"))
            || self.branches(schema).any(|branch| self.has_none(branch))
    }

    /// The names that the `kind` of a table can have.
    fn kinds(&self, schema: &'a Value, found: &mut Vec<&'a str>) {
        let kind = schema.get("properties").and_then(|fields| fields.get("kind"));
        found.extend(kind.and_then(|kind| kind.get("const")).and_then(Value::as_str));
        self.branches(schema).for_each(|branch| self.kinds(branch, found));
    }

    /// The kinds of a table that have a field of this name.
    fn kinds_with(&self, schema: &'a Value, name: &str, kind: Option<&'a str>, found: &mut Vec<&'a str>) {
        let fields = schema.get("properties");
        let own = fields.and_then(|fields| fields.get("kind")?.get("const")?.as_str()).or(kind);
        if let (Some(kind), true) = (own, fields.is_some_and(|fields| fields.get(name).is_some())) {
            found.push(kind);
        }
        self.branches(schema).for_each(|branch| self.kinds_with(branch, name, own, found));
    }

    /// The headers of the tables that have a field of this name, those nearest to the root first.
    fn sections(&self, name: &str) -> Vec<String> {
        const DEPTH: usize = 4;
        let mut found = Vec::new();
        let mut level: Vec<(Vec<Option<String>>, &'a Value)> = vec![(Vec::new(), self.root)];
        for _ in 0..DEPTH {
            let mut next = Vec::new();
            for (path, schema) in level {
                self.below(schema, &mut |step, inner| {
                    if step == Some(name) && !path.is_empty() {
                        found.push(header(&path));
                    }
                    next.push((path.iter().cloned().chain([step.map(str::to_owned)]).collect(), inner));
                });
            }
            level = next;
        }
        let mut seen = BTreeSet::new();
        // One table, or a list of several: written once.
        found.retain(|section| seen.insert(section.trim_matches(['[', ']']).to_owned()));
        found
    }

    /// Calls `each` with every field of a table, the fields of a table of names as `NAME`, and the items of a list.
    fn below(&self, schema: &'a Value, each: &mut dyn FnMut(Option<&str>, &'a Value)) {
        let fields = schema.get("properties").and_then(Value::as_object);
        fields.into_iter().flatten().for_each(|(name, inner)| each(Some(name.as_str()), inner));
        if let Some(inner) = schema.get("additionalProperties").filter(|inner| inner.is_object()) {
            each(Some("NAME"), inner);
        }
        if let Some(inner) = schema.get("items") {
            each(None, inner);
        }
        self.branches(schema).for_each(|branch| self.below(branch, each));
    }

    /// Suggested value: the schema's own example or default, or a value made of what it requires.
    fn example(&self, schema: &'a Value) -> String {
        let plain = |value: &&Value| value.is_string() || value.is_number() || value.is_boolean();
        let given = schema.get("examples").and_then(|examples| examples.get(0));
        if let Some(list) = given.filter(|value| value.is_array()) {
            return list.to_string();
        }
        let given = given.or_else(|| schema.get("const")).or_else(|| schema.get("default"));
        if let Some(given) = given.filter(plain) {
            return given.to_string();
        }
        // A field that may be absent has the type ["array", "null"].
        let kind = schema.get("type").map(|kind| kind.get(0).unwrap_or(kind));
        match kind.and_then(Value::as_str) {
            Some("boolean") => "true".into(),
            Some("integer") => "1".into(),
            Some("number") => "0.5".into(),
            Some("string") => "\"name\"".into(),
            Some("array") => {
                let item = schema.get("items").map(|items| self.example(items)).unwrap_or_default();
                let count = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1) as usize;
                format!("[{}]", vec![item; count].join(", "))
            }
            Some("object") => self.table(schema),
            _ => self.branches(schema).next().map_or_else(|| "…".into(), |branch| self.example(branch)),
        }
    }

    fn table(&self, schema: &'a Value) -> String {
        const LISTED: usize = 3;
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let field = |name: &'a Value| {
            let name = name.as_str()?;
            Some(format!("{name} = {}", self.example(schema.get("properties")?.get(name)?)))
        };
        let fields: Vec<_> = required.filter_map(field).collect();
        if fields.is_empty() {
            let names = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            let names = names.map(|(name, inner)| format!("{name} = {}", self.example(inner)));
            let names: Vec<_> = names.filter(|field| !field.contains('…')).take(LISTED).collect();
            return if names.is_empty() { "{}".into() } else { format!("{{ {} }}", names.join(", ")) };
        }
        format!("{{ {} }}", fields.join(", "))
    }
}
