//! The interface of a step.

use crate::{
    context::Context,
    engine::{error::StepError, step_id::StepId},
};
use async_trait::async_trait;

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing to do.
    Done,
    /// The planned changes, as `plan` prints them.
    Needed(Vec<String>),
}

impl State {
    /// Returns `Done` if there is nothing to do.
    #[must_use]
    pub fn of(changes: Vec<String>) -> Self {
        if changes.is_empty() { Self::Done } else { Self::Needed(changes) }
    }

    /// Returns `Needed` with one change.
    pub fn needed(change: impl Into<String>) -> Self {
        Self::Needed(vec![change.into()])
    }
}

/// One part of the work that brings the machine to its configured state.
///
/// All steps share one thread; work that blocks on the disk goes through [`crate::context::blocking`].
#[async_trait(?Send)]
pub trait Step {
    /// Returns its identity.
    fn id(&self) -> StepId;

    /// Returns its stable name, for the journal and the report.
    fn name(&self) -> String {
        self.id().to_string()
    }

    /// Describes in one line what it does.
    fn title(&self) -> String;

    /// Whether the other steps continue if this one fails, because it works on another machine.
    fn is_remote(&self) -> bool {
        false
    }

    /// Checks the actual state and changes nothing. In a `plan`, the steps before it may not have run.
    async fn check(&self, cx: &Context) -> Result<State, StepError>;

    /// Applies the changes, and returns when the desired state is reached: this includes waits, each with a deadline.
    ///
    /// Runs only after `check` returned `Needed`. Safe to call again after a crash, and to drop at any await.
    async fn apply(&self, cx: &Context) -> Result<(), StepError>;
}
