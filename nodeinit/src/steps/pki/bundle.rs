//! Reads the secrets bundle from a file, and refuses a file that others can read.

use crate::{
    engine::error::{Exit, StepError},
    host::files::Files,
    pki::bundle::{self, Bundle, SECRETS, SENT_SECRETS},
};
use nodeinit_config::{
    Secret,
    secret::{Exposed, exposed},
};
use std::{path::Path, time::SystemTime};

/// Reads this machine's secrets bundle, if it has one: a bundle that was sent takes precedence over the one on its disk.
///
/// # Errors
/// If others can read the file, if it cannot be read, or if it is invalid.
pub fn read(files: &Files, now: SystemTime) -> Result<Option<Bundle>, StepError> {
    read_from(files, Path::new(place(files)), now)
}

/// Returns the path of this machine's secrets bundle, or where it would be.
#[must_use]
pub fn place(files: &Files) -> &'static str {
    if files.exists(SENT_SECRETS) { SENT_SECRETS } else { SECRETS }
}

/// Returns the error of a further master without secrets.
pub(in crate::steps) fn none() -> StepError {
    let what = format!("this machine has no secrets of the cluster: neither {SENT_SECRETS} nor {SECRETS} exists");
    StepError::new(what).exit(Exit::TryAgain).hint(
        "run `nodeinit up` on the first master, which sends them over SSH; or copy its secrets bundle here, with mode 600",
    )
}

/// Reads the secrets bundle from a file.
///
/// # Errors
/// As [`read`].
pub fn read_from(files: &Files, path: &Path, now: SystemTime) -> Result<Option<Bundle>, StepError> {
    let Some(text) = private_text(files, path)? else { return Ok(None) };
    let bundle = bundle::parse(text.expose(), now).map_err(|e| unusable(path, e))?;
    Ok(Some(bundle))
}

/// Reads the text of a file with secrets.
///
/// # Errors
/// If others can read it, too.
pub(in crate::steps) fn private_text(files: &Files, path: &Path) -> Result<Option<Secret<String>>, StepError> {
    let Some(text) = files.read_secret_text(path)? else { return Ok(None) };
    let mode = files.mode(path).unwrap_or_default();
    match exposed(&path.display().to_string(), mode) {
        Some(Exposed { what, hint }) => Err(StepError::new(what).exit(Exit::BadConfig).hint(hint)),
        None => Ok(Some(text)),
    }
}

pub(in crate::steps) fn unusable(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> StepError {
    StepError::caused(format!("cannot use the secrets bundle {}", path.display()), error).exit(Exit::BadConfig)
}
