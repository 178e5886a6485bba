//! Undoes what the step `containerd` did.

use super::UNIT;
use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    host::systemd,
    render::paths,
    steps::undo::{is_undone, undo},
};
use async_trait::async_trait;
use std::path::{Path, PathBuf};

/// Step `restore-containerd`: stops a containerd that nodeinit installed, so that its files can be removed; otherwise restores its
/// original configuration.
pub struct RestoreContainerd;

/// Returns the files that nodeinit changed of a containerd that others installed.
fn containerd_files(cx: &Context) -> Result<Vec<PathBuf>, StepError> {
    let is_its = |path: &PathBuf| path.starts_with("/etc/containerd") || path == Path::new(paths::CONTAINERD_PROXY);
    let mut changed = Vec::new();
    for path in cx.journal.state().files.into_keys().filter(is_its) {
        if !is_undone(cx, &path)? {
            changed.push(path);
        }
    }
    Ok(changed)
}

#[async_trait(?Send)]
impl Step for RestoreContainerd {
    fn id(&self) -> StepId {
        StepId::RestoreContainerd
    }

    fn title(&self) -> String {
        "stop containerd, or restore its original configuration".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if cx.journal.state().units.contains(UNIT) {
            return Ok(State::needed(format!("stop and disable {UNIT}")));
        }
        let changed = containerd_files(cx)?;
        Ok(if changed.is_empty() {
            State::Done
        } else {
            State::needed("restore containerd's configuration and restart it")
        })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        if cx.journal.state().units.contains(UNIT) {
            // In this order, so that a reset that is killed in between does not ask containerd for pods again.
            systemd::disable(&cx.commands, UNIT).await?;
            return Ok(systemd::stop(&cx.commands, UNIT).await?);
        }
        undo(cx, &self.id(), &containerd_files(cx)?)?;
        systemd::reload(&cx.commands).await?;
        Ok(systemd::restart(&cx.commands, UNIT).await?)
    }
}
