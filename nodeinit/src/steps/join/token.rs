//! The worker's token: where it is found, and how it is forgotten.

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

/// Read in this order.
const PLACES: [&str; 2] = [SENT_SECRETS, SECRETS];

/// How often it is looked for.
const INTERVAL: Duration = Duration::from_millis(100);

/// How often a run that has a token looks for another.
const REPLACED: Duration = Duration::from_secs(1);

/// The files that may hold a token.
pub(super) fn present(files: &Files) -> Vec<&'static str> {
    PLACES.into_iter().filter(|path| files.exists(path)).collect()
}

/// The token, where there is one.
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

/// The token; waited for, since SSH may bring it after the boot.
pub(super) async fn read(cx: &Context) -> Result<Secret<String>, StepError> {
    if let Some(token) = find(&cx.files)? {
        return Ok(token);
    }
    let name = &cx.node.name;
    let hint = format!(
        "on the first master: `nodeinit up`, which brings it over SSH; or `nodeinit token create --worker {name} --files \
         DIRECTORY`, and copy its secrets.yaml to {SECRETS}"
    );
    cx.report.note(&ID.name(), format!("there is no token for {name} yet; {hint}"));
    let look = async || match find(&cx.files) {
        Ok(Some(token)) => ControlFlow::Break(Ok(token)),
        Ok(None) => ControlFlow::Continue(format!("neither {SENT_SECRETS} nor {SECRETS} is there")),
        Err(e) => ControlFlow::Break(Err(e)),
    };
    let wait = Wait::new(format!("a token for {name}"), cx.cluster.timeouts.join).at_most_every(INTERVAL);
    wait.until(look).await.map_err(|late| StepError::from(late).hint(hint))?
}

/// Waits until another token than `token` is there: the first master sends one where that one has expired.
pub(super) async fn replaced(files: &Files, token: &Secret<String>) -> Secret<String> {
    loop {
        tokio::time::sleep(REPLACED).await;
        // A file that is being written or cannot be read replaces nothing.
        if let Ok(Some(other)) = find(files)
            && other != *token
        {
            return other;
        }
    }
}

/// Removes a worker's secrets: the token has done its work.
pub(super) fn forget(files: &Files) -> Result<(), StepError> {
    PLACES.iter().try_for_each(|path| files.remove_file(path)).map_err(|e: FileError| e.into())
}
