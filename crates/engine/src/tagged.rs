//! Reads a table whose `kind` selects one of several parameter sets.
//!
//! Serde's internal tagging reads the whole table into a buffer first, so an error loses its field and line. Here the
//! fields after `kind` go directly to the parameter set, so the format keeps their place. The fields before it are
//! stored, and an error in one of them names it.

use serde::de::value::{MapAccessDeserializer, SeqDeserializer};
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use std::fmt;
use std::marker::PhantomData;

/// The key that names the row.
const TAG: &str = "kind";

/// A family of parameter sets, each under its name.
pub trait Family: Sized {
    /// What the table describes: "a queue".
    const WHAT: &'static str;
    /// A complete example of such a table.
    const EXAMPLE: &'static str;
    /// The names, in the order of the table.
    const NAMES: &'static [&'static str];

    /// Reads the parameter set `kind`, one of [`Family::NAMES`].
    fn read<'de, D: Deserializer<'de>>(kind: &'static str, fields: D) -> Result<Self, D::Error>;
}

/// Reads a table of the family `F`.
pub fn deserialize<'de, F: Family, D: Deserializer<'de>>(deserializer: D) -> Result<F, D::Error> {
    deserializer.deserialize_map(Table(PhantomData))
}

/// Reads a table of the family `F`, or a name alone, which is equivalent to a table without other fields.
pub fn deserialize_or_name<'de, F: Family, D: Deserializer<'de>>(deserializer: D) -> Result<F, D::Error> {
    deserializer.deserialize_any(NameOrTable(PhantomData))
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

    fn visit_map<A: MapAccess<'de>>(self, mut rest: A) -> Result<F, A::Error> {
        let mut early = Vec::new();
        while let Some(key) = rest.next_key::<String>()? {
            if key == TAG {
                let kind = rest.next_value_seed(Kind(F::NAMES))?;
                let fields = Fields { early: early.into_iter(), value: None, rest };
                return F::read(kind, MapAccessDeserializer::new(fields));
            }
            early.push((key, rest.next_value::<Kept>()?));
        }
        let names = F::NAMES.join("\", \"");
        Err(de::Error::custom(format!("{} needs `{TAG}`; write one of \"{names}\"", F::WHAT)))
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

/// The fields of a table without `kind`: those before it, then those behind it.
struct Fields<A> {
    early: std::vec::IntoIter<(String, Kept)>,
    value: Option<(String, Kept)>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some((key, value)) = self.early.next() else { return self.rest.next_key_seed(seed) };
        let found = seed.deserialize(key.as_str().into_deserializer())?;
        self.value = Some((key, value));
        Ok(Some(found))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        let Some((key, value)) = self.value.take() else { return self.rest.next_value_seed(seed) };
        let named = |error: A::Error| de::Error::custom(format!("`{key}`: {}", error.to_string().trim_end()));
        seed.deserialize(Replay(value, PhantomData)).map_err(named)
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

/// A parameter's value that was read before it was known what it is for.
enum Kept {
    Flag(bool),
    Integer(i64),
    Real(f64),
    Text(String),
    List(Vec<Kept>),
    Table(Vec<(String, Kept)>),
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Kept;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true or false, a list or a table")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Kept, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Kept::List(list))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Kept, A::Error> {
                let mut table = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    table.push(entry);
                }
                Ok(Kept::Table(table))
            }
            fn visit_bool<E>(self, flag: bool) -> Result<Kept, E> {
                Ok(Kept::Flag(flag))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Kept, E> {
                Ok(Kept::Integer(number))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Kept, E> {
                i64::try_from(number).map(Kept::Integer).map_err(E::custom)
            }
            fn visit_f64<E>(self, number: f64) -> Result<Kept, E> {
                Ok(Kept::Real(number))
            }
            fn visit_str<E>(self, text: &str) -> Result<Kept, E> {
                Ok(Kept::Text(text.into()))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl<'de, E: de::Error> IntoDeserializer<'de, E> for Replay<E> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

/// Gives a kept value to its parameter.
struct Replay<E>(Kept, PhantomData<E>);

impl<'de, E: de::Error> Deserializer<'de> for Replay<E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.0 {
            Kept::Flag(flag) => visitor.visit_bool(flag),
            Kept::Integer(number) => visitor.visit_i64(number),
            Kept::Real(number) => visitor.visit_f64(number),
            Kept::Text(text) => visitor.visit_string(text),
            Kept::List(items) => visitor
                .visit_seq(SeqDeserializer::new(items.into_iter().map(|item| Replay(item, PhantomData)))),
            Kept::Table(entries) => {
                let rest = NoMore(PhantomData);
                visitor.visit_map(Fields { early: entries.into_iter(), value: None, rest })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, E> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, E> {
        match self.0 {
            Kept::Text(text) => text.into_deserializer().deserialize_enum(name, variants, visitor),
            _ => Err(E::custom(format!("write one of \"{}\"", variants.join("\", \"")))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}
