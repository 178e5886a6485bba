//! The secrets bundle as a file: read, and refused where others could have read it too.

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

/// This machine's secrets bundle, where it was given one: what was sent to it goes before what lies on its disk.
///
/// # Errors
/// Where it can be read by others, cannot be read by us, or is wrong.
pub fn read(files: &Files, now: SystemTime) -> Result<Option<Bundle>, StepError> {
    read_from(files, Path::new(place(files)), now)
}

/// Where this machine's secrets bundle is, or would be.
#[must_use]
pub fn place(files: &Files) -> &'static str {
    if files.exists(SENT_SECRETS) { SENT_SECRETS } else { SECRETS }
}

/// What a master that is not the first says where it has no secrets.
pub(in crate::steps) fn none() -> StepError {
    let what = format!("this machine has no secrets of the cluster: neither {SENT_SECRETS} nor {SECRETS} is there");
    StepError::new(what).exit(Exit::TryAgain).hint(
        "the first master brings them over SSH: run `nodeinit up` there; or copy its secrets bundle here, mode 600",
    )
}

/// The secrets bundle of a file.
///
/// # Errors
/// As [`read`].
pub fn read_from(files: &Files, path: &Path, now: SystemTime) -> Result<Option<Bundle>, StepError> {
    let Some(text) = private_text(files, path)? else { return Ok(None) };
    let bundle = bundle::parse(text.expose(), now).map_err(|e| unusable(path, e))?;
    Ok(Some(bundle))
}

/// The text of a file of secrets.
///
/// # Errors
/// Where others can read it, too.
pub(in crate::steps) fn private_text(files: &Files, path: &Path) -> Result<Option<Secret<String>>, StepError> {
    let Some(text) = files.read_secret_text(path)? else { return Ok(None) };
    let mode = files.mode(path).unwrap_or_default();
    match exposed(&path.display().to_string(), mode) {
        Some(Exposed { what, hint }) => Err(StepError::new(what).exit(Exit::BadConfig).hint(hint)),
        None => Ok(Some(text)),
    }
}

pub(in crate::steps) fn unusable(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> StepError {
    StepError::caused(format!("the secrets bundle {} cannot be used", path.display()), error).exit(Exit::BadConfig)
}
