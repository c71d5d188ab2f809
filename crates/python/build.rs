//! Hashes the engine's sources into the library, so that no cache serves the result of another engine.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

#[expect(clippy::disallowed_methods, reason = "the build reads the sources it hashes")]
fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=..");
    println!("cargo::rerun-if-changed=../../Cargo.lock");
    let mut sources = vec![PathBuf::from("../../Cargo.lock")];
    collect(Path::new(".."), &mut sources)?;
    sources.sort();
    let mut hash = Sha256::new();
    for source in sources {
        hash.update(source.to_string_lossy().as_bytes());
        hash.update(std::fs::read(source)?);
    }
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=ROAMLAB_BUILD_HASH={hex}");
    Ok(())
}

fn collect(folder: &Path, sources: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "toml") {
            sources.push(path);
        }
    }
    Ok(())
}
