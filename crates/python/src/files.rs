//! Reads the files that a scenario names, because the core reads no files.

use std::cell::Cell;
use std::path::{Path, PathBuf};

/// A larger file is refused before it is read.
const MOST_BYTES: u64 = 200_000_000;

/// Files next to a scenario, or in the folder that `ROAMLAB_DATA` names.
pub struct ScenarioFiles {
    folder: PathBuf,
    has_read: Cell<bool>,
}

impl ScenarioFiles {
    /// `scenario` is the path of the scenario's file, as reports show it.
    pub fn new(scenario: &str) -> ScenarioFiles {
        let folder = Path::new(scenario).parent().unwrap_or(Path::new("")).to_owned();
        ScenarioFiles { folder, has_read: Cell::new(false) }
    }

    /// True if any file was asked for.
    pub fn has_read(&self) -> bool {
        self.has_read.get()
    }

    /// The text of a file, or why there is none.
    #[expect(clippy::disallowed_methods, reason = "the binding meets the machine for the core")]
    pub fn read(&self, path: &str) -> Result<String, String> {
        self.has_read.set(true);
        let next_to_it = self.folder.join(path);
        let data = std::env::var_os("ROAMLAB_DATA").map(|folder| Path::new(&folder).join(path));
        let found = [Some(next_to_it), data].into_iter().flatten().find(|path| path.exists());
        let found = found.ok_or("there is none in the scenario's folder, nor in the folder ROAMLAB_DATA")?;
        let about = found.metadata().map_err(|error| error.to_string())?;
        if !about.is_file() {
            return Err("it is no regular file".into());
        }
        // Files of `/proc` report none.
        if about.len() == 0 {
            return Err("it is empty".into());
        }
        if about.len() > MOST_BYTES {
            return Err(format!("it is larger than {MOST_BYTES} bytes"));
        }
        let bytes = std::fs::read(&found).map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".into())
    }
}
