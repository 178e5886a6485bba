//! What a step is.

use crate::{
    context::Context,
    engine::{error::StepError, step_id::StepId},
};
use async_trait::async_trait;

/// Whether the real state is as the step wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing to do.
    Done,
    /// What would be done, one sentence each, as `plan` prints them.
    Needed(Vec<String>),
}

impl State {
    /// `Done` where there is nothing to do.
    #[must_use]
    pub fn of(changes: Vec<String>) -> Self {
        if changes.is_empty() { Self::Done } else { Self::Needed(changes) }
    }

    /// One thing to do.
    pub fn needed(change: impl Into<String>) -> Self {
        Self::Needed(vec![change.into()])
    }
}

/// One piece of the way from the machine as it is to the machine as described.
///
/// All steps share one thread; what blocks on the disk goes through [`crate::context::blocking`].
#[async_trait(?Send)]
pub trait Step {
    /// What identifies it.
    fn id(&self) -> StepId;

    /// Its stable name, for the journal and the report.
    fn name(&self) -> String {
        self.id().to_string()
    }

    /// One line for people: what it brings about.
    fn title(&self) -> String;

    /// Whether the other steps continue if this one fails, because it works on another machine.
    fn is_remote(&self) -> bool {
        false
    }

    /// Looks at the real state and changes nothing. In a `plan` the steps before it may not have run.
    async fn check(&self, cx: &Context) -> Result<State, StepError>;

    /// Brings the described state about, and returns when it is there: waits included, each with a deadline.
    ///
    /// Runs only after `check` said `Needed`. Safe to call again after a crash half way, and to drop at any await.
    async fn apply(&self, cx: &Context) -> Result<(), StepError>;
}
