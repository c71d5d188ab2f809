//! Recorded digests: what random runs and walks did when they were recorded, and whether they still do it.
//!
//! A file has a line for each case: its name, and a digest of 16 bits for each of some groups. A change that concerns one
//! group of one case stays unseen once in 65,536 times. The record proves that nothing has changed, not that it is right.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The variable that has the records written again. The only value is "again".
const RECORD: &str = "ROAMLAB_RECORD";

/// A digest of numbers and texts in their order. It is the same on each machine.
#[derive(Copy, Clone, Debug)]
pub struct Digest(u64);

impl Digest {
    /// That of nothing.
    pub const EMPTY: Digest = Digest(0xcbf2_9ce4_8422_2325);

    /// Adds a number.
    pub fn add(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }

    /// Adds a text.
    pub fn add_text(&mut self, text: &str) {
        self.add(text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            self.add(chunk.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)));
        }
    }

    /// Its value, as it is recorded.
    pub fn value(self) -> u16 {
        (self.0 ^ self.0 >> 16 ^ self.0 >> 32 ^ self.0 >> 48) as u16
    }
}

/// The digests of a case, in the order of the groups.
pub type Digests = Vec<u16>;

/// The records of a file.
pub struct Records {
    /// The file, below `tests/recorded`.
    file: &'static str,
    /// Subject of the digests of a line.
    groups: &'static [&'static str],
}

impl Records {
    /// The records of a file whose lines have a digest for each of these groups.
    pub const fn new(file: &'static str, groups: &'static [&'static str]) -> Records {
        Records { file, groups }
    }

    /// True if they are written again, and not compared.
    #[expect(clippy::disallowed_methods, reason = "a test may be asked to record")]
    pub fn are_written(&self) -> bool {
        std::env::var(RECORD).is_ok_and(|value| value == "again")
    }

    /// The recorded cases by their names.
    #[expect(clippy::disallowed_methods, reason = "the records are a file, so that new ones need no build")]
    pub fn read(&self) -> Vec<(String, Digests)> {
        let text =
            std::fs::read_to_string(self.path()).unwrap_or_else(|error| panic!("{}: {error}", self.file));
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            let name = words.next().expect("a name").to_owned();
            (name, words.map(|word| u16::from_str_radix(word, 16).expect("a digest")).collect())
        };
        text.lines().filter(|line| !line.starts_with('#')).map(line).collect()
    }

    /// Writes these cases in place of the old ones.
    #[expect(clippy::disallowed_methods, reason = "the records are a file")]
    pub fn write(&self, cases: &[(String, Digests)]) {
        let mut text = format!(
            "# Digests of {}; written by `make record`, see tests/README.md, \"Recorded digests\".\n",
            self.groups.join(", ")
        );
        for (name, digests) in cases {
            text += name;
            digests.iter().for_each(|digest| write!(text, " {digest:04x}").unwrap());
            text.push('\n');
        }
        std::fs::write(self.path(), text).unwrap_or_else(|error| panic!("{}: {error}", self.file));
    }

    fn path(&self) -> String {
        format!("{}/../../tests/recorded/{}", env!("CARGO_MANIFEST_DIR"), self.file)
    }

    /// Compares these cases with the recorded ones, or writes them if that is asked for. `advice` is how to
    /// examine a difference.
    pub fn check(&self, cases: &[(String, Digests)], advice: &str) {
        if self.are_written() {
            self.write(cases);
            return;
        }
        let recorded: BTreeMap<String, Digests> = self.read().into_iter().collect();
        let mut differences = Vec::new();
        for (name, digests) in cases {
            let others = recorded.get(name).map_or(&[][..], Vec::as_slice);
            let differs = |&group: &usize| others.get(group) != digests.get(group);
            let groups: Vec<&str> =
                (0..self.groups.len()).filter(differs).map(|group| self.groups[group]).collect();
            if !groups.is_empty() {
                differences.push(format!("{name}: {}", groups.join(", ")));
            }
        }
        assert!(
            differences.is_empty(),
            "{} of {} cases are not as recorded in tests/recorded/{}:\n{}\n{advice}\nIf the change is meant: `make record`, and the \
             changelog gives the reason.",
            differences.len(),
            cases.len(),
            self.file,
            differences.join("\n"),
        );
        assert_eq!(cases.len(), recorded.len(), "cases of tests/recorded/{}", self.file);
    }
}
