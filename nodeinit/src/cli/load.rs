//! The configuration's files, in the order in which they lie over each other.

use crate::{
    engine::error::{Exit, StepError},
    host::files::Files,
};
use nodeinit_config::{Layer, Loaded};
use std::path::{Path, PathBuf};

/// The machine's own configuration.
const MAIN: &str = "/etc/nodeinit/config.yaml";

/// Layers over it, in the order of their names.
const DIRECTORY: &str = "/etc/nodeinit/conf.d";

/// Reads and validates the configuration: [`MAIN`] and [`DIRECTORY`] where they are there, then each file of `extra`.
///
/// # Errors
/// A file of `extra` that is not there, one that cannot be read, and everything that is wrong in any of them.
pub(crate) fn load(files: &Files, extra: &[PathBuf]) -> Result<Loaded, StepError> {
    let mut layers = Vec::new();
    let mut add = |path: &Path| -> Result<bool, StepError> {
        let content = files.read(path)?;
        let found = content.is_some();
        layers.extend(content.map(|bytes| Layer::file(path.display().to_string(), bytes)));
        Ok(found)
    };
    add(Path::new(MAIN))?;
    for name in files.list(DIRECTORY)?.iter().filter(|name| name.ends_with(".yaml")) {
        add(&Path::new(DIRECTORY).join(name))?;
    }
    for path in extra.iter().filter(|path| path.as_path() != Path::new(MAIN)) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        if !add(&path)? {
            return Err(StepError::new(format!("there is no configuration {}", path.display())).exit(Exit::BadConfig));
        }
    }
    if layers.is_empty() {
        let error = StepError::new(format!("there is no configuration: neither {MAIN} nor a file in {DIRECTORY}"));
        return Err(error
            .exit(Exit::BadConfig)
            .hint("write one with `nodeinit config init`, or name it with --config FILE"));
    }
    nodeinit_config::load(&layers).map_err(|problems| StepError::new(problems.to_string()).exit(Exit::BadConfig))
}
