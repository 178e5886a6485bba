//! The worker's token: finds it, waits for it, and removes it.

use super::ID;
use crate::{
    context::Context,
    engine::error::StepError,
    host::files::{FileError, Files},
    pki::bundle::{SECRETS, SENT_SECRETS},
    steps::pki::bundle::{private_text, unusable},
};
use nodeinit_base::Wait;
use nodeinit_config::Secret;
use nodeinit_protocol::WorkerSecrets;
use std::{ops::ControlFlow, path::Path, time::Duration};

/// The files that may hold a token, in the order of precedence.
const PLACES: [&str; 2] = [SENT_SECRETS, SECRETS];

/// How often to look for a token.
const INTERVAL: Duration = Duration::from_millis(100);

/// How often a run that has a token looks for another.
const REPLACED: Duration = Duration::from_secs(1);

/// Returns the existing files that may hold a token.
pub(super) fn present(files: &Files) -> Vec<&'static str> {
    PLACES.into_iter().filter(|path| files.exists(path)).collect()
}

/// Returns the token, if there is one.
pub(super) fn find(files: &Files) -> Result<Option<Secret<String>>, StepError> {
    for path in PLACES.map(Path::new) {
        if let Some(text) = private_text(files, path)? {
            let secrets = WorkerSecrets::parse(text.expose()).map_err(|e| {
                unusable(path, e).hint("create a new one: `nodeinit token create --worker NAME` on the first master")
            })?;
            return Ok(Some(secrets.bootstrap_token));
        }
    }
    Ok(None)
}

/// Returns the token; waits for it, because it may arrive over SSH after the boot.
pub(super) async fn read(cx: &Context) -> Result<Secret<String>, StepError> {
    if let Some(token) = find(&cx.files)? {
        return Ok(token);
    }
    let name = &cx.node.name;
    let hint = format!(
        "on the first master: `nodeinit up`, which sends it over SSH; or `nodeinit token create --worker {name} --files \
         DIRECTORY`, and copy its secrets.yaml to {SECRETS}"
    );
    cx.report.note(&ID.name(), format!("there is no token for {name} yet; {hint}"));
    let look = async || match find(&cx.files) {
        Ok(Some(token)) => ControlFlow::Break(Ok(token)),
        Ok(None) => ControlFlow::Continue(format!("neither {SENT_SECRETS} nor {SECRETS} exists")),
        Err(e) => ControlFlow::Break(Err(e)),
    };
    let wait = Wait::new(format!("a token for {name}"), cx.cluster.timeouts.join).at_most_every(INTERVAL);
    wait.until(look).await.map_err(|late| StepError::from(late).hint(hint))?
}

/// Waits until there is another token than `token`: the first master sends a new one after it has expired.
pub(super) async fn replaced(files: &Files, token: &Secret<String>) -> Secret<String> {
    loop {
        tokio::time::sleep(REPLACED).await;
        // A file that is incomplete or cannot be read does not replace the token.
        if let Ok(Some(other)) = find(files)
            && other != *token
        {
            return other;
        }
    }
}

/// Removes a worker's secrets, which it no longer needs.
pub(super) fn forget(files: &Files) -> Result<(), StepError> {
    PLACES.iter().try_for_each(|path| files.remove_file(path)).map_err(|e: FileError| e.into())
}
