//! Drains this machine's node before its upgrade, and lets nodes take pods again afterwards.

use crate::{
    api::kube::types::Node,
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    steps::{
        cluster::client,
        rollout::{
            Empty,
            node::{self, find, is_ours},
        },
    },
};
use async_trait::async_trait;

/// Whether the node's kubelet has the new version, or is not registered: then the upgrade does not restart it.
fn keeps_kubelet(cx: &Context, node: Option<&Node>) -> bool {
    node.is_none_or(|node| node.status.node_info.kubelet_version == cx.cluster.version.to_string())
}

/// Returns what happens to a node before its machine is upgraded.
///
/// # Errors
/// If the API does not return the node.
pub(super) async fn empties(cx: &Context, name: &str, evict: bool) -> Result<Empty, StepError> {
    let node = find(client(cx)?, name).await?;
    Ok(if keeps_kubelet(cx, node.as_ref()) { Empty::No } else { Empty::Always { evict } })
}

/// Step `drain`: this machine's node is cordoned, and has no pods that another node could run.
pub struct Drain {
    /// Whether to evict pods.
    pub evict: bool,
}

#[async_trait(?Send)]
impl Step for Drain {
    fn id(&self) -> StepId {
        StepId::Drain
    }

    fn title(&self) -> String {
        if self.evict { "cordon and drain this node" } else { "cordon this node" }.into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let node = find(client(cx)?, &cx.node.name).await?;
        Ok(if keeps_kubelet(cx, node.as_ref()) { State::Done } else { State::needed(self.title()) })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        node::empty(cx, &cx.node.name, self.evict).await
    }
}

/// Step `uncordon-NAME`: a node that an upgrade cordoned takes pods again.
pub struct Uncordon {
    /// The node's name.
    pub node: String,
}

#[async_trait(?Send)]
impl Step for Uncordon {
    fn id(&self) -> StepId {
        StepId::Uncordon(self.node.clone())
    }

    fn title(&self) -> String {
        format!("uncordon {}", self.node)
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let node = find(client(cx)?, &self.node).await?;
        Ok(if node.is_some_and(|node| is_ours(&node)) { State::needed(self.title()) } else { State::Done })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        node::uncordon(cx, &self.node).await
    }
}
