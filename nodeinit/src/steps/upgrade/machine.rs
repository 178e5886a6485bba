//! The other machines of an upgrade.

use super::{drain::empties, etcd_first};
use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    steps::{fanout::Host, rollout::node},
};
use async_trait::async_trait;

/// Step `host-NAME`: another machine has the new version. Its node is cordoned before.
pub struct UpgradeMachine {
    /// The work on the machine itself.
    pub host: Host,
    /// Whether to evict pods.
    pub evict: bool,
}

impl UpgradeMachine {
    fn verb(&self) -> &'static str {
        if self.evict { "drain" } else { "cordon" }
    }
}

#[async_trait(?Send)]
impl Step for UpgradeMachine {
    fn id(&self) -> StepId {
        self.host.id()
    }

    fn title(&self) -> String {
        format!("{} {}, and change its version", self.verb(), self.host.machine())
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(match self.host.check(cx).await? {
            State::Needed(mut changes) => {
                changes.insert(0, format!("{} {}", self.verb(), self.host.machine()));
                State::Needed(changes)
            }
            State::Done => State::Done,
        })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let (rollout, name) = (self.host.rollout(), self.host.machine());
        let turn = rollout.turn(cx, name, self.host.role(), empties(cx, name, self.evict).await?).await?;
        self.host.apply(cx).await.inspect_err(|_| rollout.stop(name))?;
        match turn {
            Some(turn) => turn.end(cx).await,
            None => Ok(()),
        }
    }
}

/// Step `etcd-first-NAME`: another master's etcd has the version that the upgrade needs.
pub struct EtcdFirstOn(pub Host);

#[async_trait(?Send)]
impl Step for EtcdFirstOn {
    fn id(&self) -> StepId {
        self.0.id()
    }

    fn title(&self) -> String {
        self.0.title()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let is_needed = etcd_first::is_needed(cx, self.0.machine()).await?;
        Ok(if is_needed { State::needed(self.title()) } else { State::Done })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        // The mark of an upgrade under way, with which a rerun does not take its member of etcd for broken.
        node::empty(cx, self.0.machine(), false).await?;
        self.0.apply(cx).await
    }
}
