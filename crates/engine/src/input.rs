//! Files that a scenario names: recordings that drive a run.
//!
//! The core reads no files. A scenario names the files that it needs, and the program that reads the scenario provides
//! their texts. The scenario then contains the digest of each text, so it completely determines a run.

use crate::tagged;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::convert::Infallible;
use std::sync::Arc;

/// The fault of a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadLine {
    /// The line, from 1.
    pub line: usize,
    /// The fault and the expected value, without a word of the line: a scenario may name any file that its
    /// reader can read. What follows ": write" is what to write instead.
    pub message: String,
}

/// Content to read from the text of a recording.
pub trait Recording: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// The first line that is wrong.
    fn read(text: &str) -> Result<Self, BadLine>;
}

/// A file with a recording: its path, or a table with the path and the digest of its content.
#[derive(Clone, PartialEq, Debug)]
pub struct InputFile<T> {
    /// Its path, relative to the scenario's file or to the folder that the variable `ROAMLAB_DATA` names.
    pub path: String,
    /// The 64-bit FNV-1a hash of its content in hexadecimal digits: what is written must be that of the file; what is
    /// not is filled in.
    pub digest: Option<String>,
    content: Option<Arc<T>>,
}

/// Why a file's text is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// A line is wrong.
    Line(BadLine),
    /// It is another file than the one the scenario was written for: its digest.
    Digest(String),
}

impl<T: Recording> InputFile<T> {
    /// Takes the file's text in.
    ///
    /// # Errors
    /// The first line that is wrong, or a digest that is not the one expected.
    pub fn take(&mut self, text: &str) -> Result<(), Refused> {
        let digest = format!("{:016x}", fnv1a(text.as_bytes()));
        if self.digest.as_ref().is_some_and(|expected| *expected != digest) {
            return Err(Refused::Digest(digest));
        }
        self.content = Some(Arc::new(T::read(text).map_err(Refused::Line)?));
        self.digest = Some(digest);
        Ok(())
    }
}

impl<T> InputFile<T> {
    /// The same file, to be read as a recording of another kind.
    pub fn retyped<U>(self) -> InputFile<U> {
        InputFile { path: self.path, digest: self.digest, content: None }
    }

    /// Its content; `None` before it is read.
    pub fn content(&self) -> Option<&Arc<T>> {
        self.content.as_ref()
    }
}

impl<T> From<&str> for InputFile<T> {
    fn from(path: &str) -> InputFile<T> {
        InputFile { path: path.to_owned(), digest: None, content: None }
    }
}

/// The hash of Fowler, Noll and Vo, variant 1a, 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The table.
#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Named {
    /// Its path, relative to the scenario's file or to the folder that the variable `ROAMLAB_DATA` names.
    path: String,
    /// The 64-bit FNV-1a hash of its content; filled in where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl<T> Serialize for InputFile<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.digest {
            None => serializer.serialize_str(&self.path),
            Some(digest) => {
                Named { path: self.path.clone(), digest: Some(digest.clone()) }.serialize(serializer)
            }
        }
    }
}

impl<'de, T> Deserialize<'de> for InputFile<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize_text_or_table(
            deserializer,
            "the path of a file, for example \"walk.down\"",
            |path| Ok::<_, Infallible>(InputFile::from(path)),
            |Named { path, digest }| InputFile { path, digest, content: None },
        )
    }
}

impl<T> schemars::JsonSchema for InputFile<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "InputFile".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let table = generator.subschema_for::<Named>();
        schemars::json_schema!({
            "description": "A file with a recording: its path, or a table with its path and digest",
            "anyOf": [{ "type": "string", "examples": ["walk.down"] }, table],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Length(usize);

    impl Recording for Length {
        fn read(text: &str) -> Result<Length, BadLine> {
            match text {
                "" => Err(BadLine { line: 1, message: "nothing".into() }),
                text => Ok(Length(text.len())),
            }
        }
    }

    #[test]
    fn the_digest_is_filled_in_and_compared() {
        // FNV-1a of "a", from the authors' list of test vectors.
        let mut file: InputFile<Length> = InputFile::from("x");
        assert_eq!(file.take("a"), Ok(()));
        assert_eq!(
            (file.digest.as_deref(), file.content().map(|it| it.0)),
            (Some("af63dc4c8601ec8c"), Some(1))
        );
        assert!(matches!(file.take("b"), Err(Refused::Digest(_))), "another file");
        let mut file: InputFile<Length> = InputFile::from("x");
        assert!(matches!(file.take(""), Err(Refused::Line(BadLine { line: 1, .. }))));
    }
}
