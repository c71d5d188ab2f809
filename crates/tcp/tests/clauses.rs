//! The table of clauses in `docs/models/tcp-clauses.md` and the conformance scripts name each other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The scripts in a folder of `tests/conformance/tcp`, as `folder/name`.
fn scripts_of(folder: &Path) -> Vec<String> {
    let paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    let is_script = |path: &&PathBuf| path.extension().is_some_and(|end| end == "script");
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    paths.iter().filter(is_script).map(|path| format!("{}/{}", stem(folder), stem(path))).collect()
}

fn scripts() -> BTreeSet<String> {
    let folder = Path::new(ROOT).join("tests/conformance/tcp");
    let folders = std::fs::read_dir(&folder).expect("scripts").map(|entry| entry.expect("an entry").path());
    folders.flat_map(|path| scripts_of(&path)).collect()
}

/// The texts between backticks with a slash.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    words.filter(|word| word.contains('/')).map(str::to_owned).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test may read the documentation")]
fn every_clause_has_its_script_and_every_script_its_clause() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/models/tcp-clauses.md")).expect("the page");
    let (named, scripts) = (names(&page), scripts());
    let whole_folder = |name: &String| name.ends_with("/*");
    let missing: Vec<&String> =
        named.iter().filter(|name| !whole_folder(name) && !scripts.contains(*name)).collect();
    assert!(missing.is_empty(), "no such scripts: {missing:?}");
    let is_named = |script: &String| {
        let (folder, _) = script.split_once('/').expect("folder/name");
        named.contains(script) || named.contains(&format!("{folder}/*"))
    };
    let unnamed: Vec<&String> = scripts.iter().filter(|script| !is_named(script)).collect();
    assert!(unnamed.is_empty(), "tcp-clauses.md does not name {unnamed:?}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test may read the documentation")]
fn a_clause_with_a_key_word_has_a_script_or_a_reason() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/models/tcp-clauses.md")).expect("the page");
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.matches(" | ").count() == 3);
    let clauses: Vec<Vec<&str>> =
        rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect();
    assert!(clauses.len() > 100, "only {} clauses", clauses.len());
    let bare: Vec<_> = clauses.iter().filter(|cells| cells[3].is_empty()).collect();
    assert!(bare.is_empty(), "neither script nor reason: {bare:?}");
}
