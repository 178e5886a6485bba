//! The steps that prepare the operating system: one file each, and one line in the list that all roles share.
//!
//! To add one: put it, its undo code and its test into a file here, and list it in [`steps`].

pub mod metadata;
pub mod prepare;

use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
};
use async_trait::async_trait;

/// Returns the steps in display order. They start after preflight, and the kubelet starts after them.
#[must_use]
pub fn steps() -> Vec<Box<dyn OsStep>> {
    vec![Box::new(prepare::OsPrepare), Box::new(metadata::MetadataRule)]
}

/// A step that prepares the operating system, with its undo code for `reset`. Files, directories and units that the journal lists need
/// no undo code: `reset` removes them.
#[async_trait(?Send)]
pub trait OsStep: Step {
    /// Describes what is left to undo, for a plan.
    async fn left(&self, _: &Context) -> Result<Vec<String>, StepError> {
        Ok(Vec::new())
    }

    /// Undoes what is left. Safe to repeat after a crash.
    async fn undo(&self, _: &Context) -> Result<(), StepError> {
        Ok(())
    }
}

/// Step `restore-kernel` of a reset: undoes the steps here, the last one first.
pub struct RestoreOs;

#[async_trait(?Send)]
impl Step for RestoreOs {
    fn id(&self) -> StepId {
        StepId::RestoreKernel
    }

    fn title(&self) -> String {
        "restore sysctls, swap and firewall rules".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let mut changes = Vec::new();
        for step in steps().iter().rev() {
            changes.extend(step.left(cx).await?);
        }
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        for step in steps().iter().rev() {
            step.undo(cx).await?;
        }
        Ok(())
    }
}
