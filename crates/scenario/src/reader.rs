//! Reads a value from the tree of a TOML text.
//!
//! A derived reader is compiled for each way in which its format offers values. The reader of the crate `toml` has four
//! such ways. This one has one, so it takes half the time to compile. It gives each reader what it asks for, and nothing
//! else. In each table `kind` comes first, wherever it is written, because the other fields depend on it.

use roamlab_engine::tagged::TAG;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess};
use serde::de::{Unexpected, VariantAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::vec;
use toml::de::{DeTable, DeValue};

/// A value, and the bytes of the text that it is written in.
struct Node<'de> {
    value: Value<'de>,
    at: Range<usize>,
}

enum Value<'de> {
    Boolean(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Text(Cow<'de, str>),
    /// A value that no field takes, as written: a date, a number with too many digits.
    Other(String),
    List(Vec<Node<'de>>),
    Table(Vec<(Key<'de>, Node<'de>)>),
}

struct Key<'de> {
    name: Cow<'de, str>,
    at: Range<usize>,
}

/// Why a value cannot be read.
#[derive(Debug)]
pub struct Unread {
    /// The reason, in the words of serde or of the TOML reader.
    pub message: String,
    /// The bytes of the text that it is about, if it has a place.
    pub at: Option<Range<usize>>,
}

impl Unread {
    fn within(mut self, at: &Range<usize>) -> Unread {
        self.at.get_or_insert_with(|| at.clone());
        self
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Unread {}

impl de::Error for Unread {
    fn custom<T: fmt::Display>(message: T) -> Unread {
        Unread { message: message.to_string(), at: None }
    }
}

/// A value from TOML.
///
/// # Errors
/// The first problem, with its place in the text.
pub fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, Unread> {
    let tree = DeTable::parse(text)
        .map_err(|error| Unread { message: error.message().to_owned(), at: error.span() })?;
    let at = tree.span();
    T::deserialize(Node { value: Value::of_table(tree.into_inner()), at })
}

impl<'de> Value<'de> {
    fn of_table(table: DeTable<'de>) -> Value<'de> {
        let of_field = |(key, value): (toml::Spanned<Cow<'de, str>>, toml::Spanned<DeValue<'de>>)| {
            let at = key.span();
            (Key { name: key.into_inner(), at }, Node::of_toml(value))
        };
        Value::Table(table.into_iter().map(of_field).collect()).with_kind_first()
    }

    fn with_kind_first(mut self) -> Value<'de> {
        if let Value::Table(fields) = &mut self {
            fields.sort_by_key(|(key, _)| key.name != TAG);
        }
        self
    }
}

impl<'de> Node<'de> {
    fn of_toml(node: toml::Spanned<DeValue<'de>>) -> Node<'de> {
        let at = node.span();
        let value = match node.into_inner() {
            DeValue::String(text) => Value::Text(text),
            DeValue::Integer(number) => {
                let (digits, radix) = (number.as_str(), number.radix());
                match (i64::from_str_radix(digits, radix), u64::from_str_radix(digits, radix)) {
                    (Ok(number), _) => Value::Integer(number),
                    (_, Ok(number)) => Value::Unsigned(number),
                    _ => Value::Other(format!("the number {number}")),
                }
            }
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(number) => Value::Float(number),
                Err(_) => Value::Other(format!("the number {number}")),
            },
            DeValue::Boolean(flag) => Value::Boolean(flag),
            DeValue::Datetime(date) => Value::Other(format!("the date {date}")),
            DeValue::Array(items) => Value::List(items.into_iter().map(Node::of_toml).collect()),
            DeValue::Table(table) => Value::of_table(table),
        };
        Node { value, at }
    }

    /// The error of a reader that expects something else.
    fn unexpected(&self, expected: &dyn de::Expected) -> Unread {
        let found = match &self.value {
            Value::Boolean(flag) => Unexpected::Bool(*flag),
            Value::Integer(number) => Unexpected::Signed(*number),
            Value::Unsigned(number) => Unexpected::Unsigned(*number),
            Value::Float(number) => Unexpected::Float(*number),
            Value::Text(text) => Unexpected::Str(text),
            Value::Other(text) => Unexpected::Other(text),
            Value::List(_) => Unexpected::Seq,
            Value::Table(_) => Unexpected::Map,
        };
        <Unread as de::Error>::invalid_type(found, expected).within(&self.at)
    }

    fn number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        match self.value {
            Value::Integer(number) => visitor.visit_i64(number),
            Value::Unsigned(number) => visitor.visit_u64(number),
            Value::Float(number) => visitor.visit_f64(number),
            _ => return Err(self.unexpected(&visitor)),
        }
        .map_err(|error: Unread| error.within(&self.at))
    }

    fn text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        let Value::Text(text) = &self.value else { return Err(self.unexpected(&visitor)) };
        visitor.visit_str(text).map_err(|error: Unread| error.within(&self.at))
    }

    fn list<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        let Value::List(items) = self.value else { return Err(self.unexpected(&visitor)) };
        let mut items = Items(items.into_iter());
        let read = visitor.visit_seq(&mut items).and_then(|list| match items.0.len() {
            0 => Ok(list),
            1 => Err(de::Error::custom("1 entry more than expected")),
            more => Err(de::Error::custom(format!("{more} entries more than expected"))),
        });
        read.map_err(|error: Unread| error.within(&self.at))
    }

    fn table<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        let Value::Table(fields) = self.value else { return Err(self.unexpected(&visitor)) };
        let fields = Fields { fields: fields.into_iter(), value: None };
        visitor.visit_map(fields).map_err(|error: Unread| error.within(&self.at))
    }
}

/// Each reader is given what it asks for and nothing else, which keeps what is compiled for it small.
impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Unread;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        match self.value {
            Value::Boolean(_) => self.deserialize_bool(visitor),
            Value::Integer(_) | Value::Unsigned(_) | Value::Float(_) => self.number(visitor),
            Value::Text(_) => self.text(visitor),
            Value::Other(_) => Err(self.unexpected(&visitor)),
            Value::List(_) => self.list(visitor),
            Value::Table(_) => self.table(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        let Value::Boolean(flag) = self.value else { return Err(self.unexpected(&visitor)) };
        visitor.visit_bool(flag).map_err(|error: Unread| error.within(&self.at))
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.number(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.number(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.number(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.number(visitor)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.number(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.number(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.text(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unread> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.list(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Unread> {
        self.list(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        self.table(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unread> {
        self.table(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unread> {
        let Value::Text(name) = &self.value else { return Err(self.unexpected(&OneOf(names))) };
        visitor.visit_enum(Name(name)).map_err(|error: Unread| error.within(&self.at))
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i128 u128 f32 char bytes byte_buf unit unit_struct tuple_struct identifier ignored_any
    }
}

/// The entries of a list.
struct Items<'de>(vec::IntoIter<Node<'de>>);

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = Unread;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Unread> {
        let Some(node) = self.0.next() else { return Ok(None) };
        let at = node.at.clone();
        seed.deserialize(node).map(Some).map_err(|error| error.within(&at))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// The fields of a table.
struct Fields<'de> {
    fields: vec::IntoIter<(Key<'de>, Node<'de>)>,
    value: Option<Node<'de>>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Unread;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Unread> {
        let Some((key, value)) = self.fields.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(Name(&key.name)).map(Some).map_err(|error| error.within(&key.at))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Unread> {
        let node = self.value.take().ok_or_else(|| <Unread as de::Error>::custom("a value without a key"))?;
        let at = node.at.clone();
        seed.deserialize(node).map_err(|error| error.within(&at))
    }
}

/// The name of a field, or of a variant without fields.
struct Name<'a>(&'a str);

impl<'de> Deserializer<'de> for Name<'_> {
    type Error = Unread;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unread> {
        visitor.visit_str(self.0)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for Name<'_> {
    type Error = Unread;
    type Variant = NoFields;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, NoFields), Unread> {
        Ok((seed.deserialize(self)?, NoFields))
    }
}

struct OneOf(&'static [&'static str]);

impl de::Expected for OneOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of \"{}\"", self.0.join("\", \""))
    }
}

/// Content of a variant that is a name alone.
struct NoFields;

impl NoFields {
    fn refused<T>() -> Result<T, Unread> {
        Err(<Unread as de::Error>::custom("expected a table with parameters, got a name alone"))
    }
}

impl<'de> VariantAccess<'de> for NoFields {
    type Error = Unread;

    fn unit_variant(self) -> Result<(), Unread> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, Unread> {
        NoFields::refused()
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Unread> {
        NoFields::refused()
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Unread> {
        NoFields::refused()
    }
}
