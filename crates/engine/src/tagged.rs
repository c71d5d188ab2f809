//! Reads a table whose `kind` selects one of several parameter sets.
//!
//! Serde's internal tagging reads the whole table into a buffer first, so an error loses its field and line. Here `kind`
//! comes first, and the other fields go directly to the parameter set, so the format keeps their place. The reader of
//! scenarios moves `kind` to the front of each table.

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// The key that names the row.
pub const TAG: &str = "kind";

/// A family of parameter sets, each under its name.
pub trait Family: Sized {
    /// Name of the table: "a queue".
    const WHAT: &'static str;
    /// A complete example of such a table.
    const EXAMPLE: &'static str;
    /// The names, in the order of the table.
    const NAMES: &'static [&'static str];

    /// Reads the parameter set `kind`, one of [`Family::NAMES`].
    fn read<'de, D: Deserializer<'de>>(kind: &'static str, fields: D) -> Result<Self, D::Error>;
}

/// Reads a table of the family `F`, of which [`TAG`] is the first field.
pub fn deserialize<'de, F: Family, D: Deserializer<'de>>(deserializer: D) -> Result<F, D::Error> {
    deserializer.deserialize_map(Table(PhantomData))
}

/// Reads a table of the family `F`, or a name alone, which is equivalent to a table without other fields.
pub fn deserialize_or_name<'de, F: Family, D: Deserializer<'de>>(deserializer: D) -> Result<F, D::Error> {
    deserializer.deserialize_any(NameOrTable(PhantomData))
}

/// Reads a value that is a text or a table. `expected` is the text of what to write; a text that `of_text`
/// refuses is an error.
pub fn deserialize_text_or_table<'de, V, T, X, D>(
    deserializer: D,
    expected: &'static str,
    of_text: impl FnOnce(&str) -> Result<V, X>,
    of_table: impl FnOnce(T) -> V,
) -> Result<V, D::Error>
where
    T: Deserialize<'de>,
    X: fmt::Display,
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(TextOrTable { expected, of_text, of_table, table: PhantomData })
}

struct TextOrTable<F, G, T> {
    expected: &'static str,
    of_text: F,
    of_table: G,
    table: PhantomData<T>,
}

impl<'de, V, T, X, F, G> Visitor<'de> for TextOrTable<F, G, T>
where
    T: Deserialize<'de>,
    X: fmt::Display,
    F: FnOnce(&str) -> Result<V, X>,
    G: FnOnce(T) -> V,
{
    type Value = V;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<V, E> {
        (self.of_text)(text).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<V, A::Error> {
        T::deserialize(MapAccessDeserializer::new(table)).map(self.of_table)
    }
}

struct NameOrTable<F>(PhantomData<F>);

impl<'de, F: Family> Visitor<'de> for NameOrTable<F> {
    type Value = F;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Table::<F>(PhantomData).expecting(f)
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<F, E> {
        let kind = Kind(F::NAMES).deserialize(name.into_deserializer())?;
        F::read(kind, MapAccessDeserializer::new(NoMore(PhantomData)))
    }

    fn visit_map<A: MapAccess<'de>>(self, rest: A) -> Result<F, A::Error> {
        Table(PhantomData).visit_map(rest)
    }
}

struct Table<F>(PhantomData<F>);

impl<'de, F: Family> Visitor<'de> for Table<F> {
    type Value = F;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, for example {}", F::WHAT, F::EXAMPLE)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<F, A::Error> {
        let first = fields.next_key::<String>()?;
        if first.as_deref() != Some(TAG) {
            let names = F::NAMES.join("\", \"");
            let other =
                first.filter(|key| ["type", "name", "model", "class", "algorithm"].contains(&key.as_str()));
            let place = other.map(|key| format!(" as `{TAG}`, instead of `{key}`")).unwrap_or_default();
            let message = format!("{} needs `{TAG}`; write one of \"{names}\"{place}", F::WHAT);
            return Err(de::Error::custom(message));
        }
        let kind = fields.next_value_seed(Kind(F::NAMES))?;
        F::read(kind, MapAccessDeserializer::new(fields))
    }
}

/// The value of `kind`: one of the names.
struct Kind(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Kind {
    type Value = &'static str;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        let kind = String::deserialize(deserializer)?;
        let known = self.0.iter().find(|name| **name == kind);
        known.copied().ok_or_else(|| de::Error::unknown_variant(&kind, self.0))
    }
}

/// The end of a table.
struct NoMore<E>(PhantomData<E>);

impl<'de, E: de::Error> MapAccess<'de> for NoMore<E> {
    type Error = E;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, _: K) -> Result<Option<K::Value>, E> {
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, _: V) -> Result<V::Value, E> {
        Err(E::custom("a value without a key"))
    }
}
