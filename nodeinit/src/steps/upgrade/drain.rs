//! Drains a node before its machine is upgraded, and lets it take pods again afterwards.

use crate::{
    api::kube::{KubeClient, types::Node},
    context::Context,
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
        step_id::StepId,
    },
    steps::{cluster::client, removal::drain},
};
use async_trait::async_trait;
use nodeinit_base::Wait;
use serde_json::json;
use std::{ops::ControlFlow, time::Duration};

/// The annotation of a node that an upgrade cordoned. A node that the operator cordoned does not have it, and stays cordoned.
const CORDONED: &str = "nodeinit.dev/cordoned-for-upgrade";

/// Whether an upgrade cordoned the node.
pub(super) fn is_ours(node: &Node) -> bool {
    node.metadata.annotations.contains_key(CORDONED)
}

async fn find(client: &KubeClient, name: &str) -> Result<Option<Node>, StepError> {
    let node = client.find(&format!("/api/v1/nodes/{name}")).await;
    node.map_err(|e| StepError::caused(format!("cannot read node {name}"), e).exit(Exit::TryAgain))
}

/// Cordons a node, and evicts its pods if `drain` is set. Does nothing if the node is not registered.
///
/// # Errors
/// If the API refuses, or if pods are left at the deadline.
pub(super) async fn empty(cx: &Context, name: &str, drain: bool) -> Result<(), StepError> {
    let client = client(cx)?;
    let Some(node) = find(client, name).await? else { return Ok(()) };
    if !node.spec.unschedulable {
        let patch = json!({"metadata": {"annotations": {CORDONED: "true"}}, "spec": {"unschedulable": true}});
        let patched = client.merge(&format!("/api/v1/nodes/{name}"), &patch).await;
        patched.map_err(|e| StepError::caused(format!("cannot cordon {name}"), e).exit(Exit::TryAgain))?;
    }
    if drain { drain::drain(cx, client, name, false).await } else { Ok(()) }
}

/// Lets a node take pods again if an upgrade cordoned it.
///
/// # Errors
/// If the API refuses until the deadline.
pub(super) async fn uncordon(cx: &Context, name: &str) -> Result<(), StepError> {
    let client = client(cx)?;
    let patch = json!({"metadata": {"annotations": {CORDONED: null}}, "spec": {"unschedulable": null}});
    let attempt = async || match find(client, name).await {
        Ok(Some(node)) if is_ours(&node) => match client.merge(&format!("/api/v1/nodes/{name}"), &patch).await {
            Ok(_) => ControlFlow::Break(()),
            Err(e) => ControlFlow::Continue(e.to_string()),
        },
        Ok(_) => ControlFlow::Break(()),
        Err(e) => ControlFlow::Continue(e.to_string()),
    };
    let wait = Wait::new(format!("node {name} to be uncordoned"), cx.cluster.timeouts.control_plane);
    Ok(wait.at_most_every(Duration::from_millis(500)).until(attempt).await?)
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
        let version = node.map(|node| node.status.node_info.kubelet_version);
        let is_upgraded = version.is_none_or(|version| version == cx.cluster.version.to_string());
        Ok(if is_upgraded { State::Done } else { State::needed(self.title()) })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        empty(cx, &cx.node.name, self.evict).await
    }
}

/// Step `uncordon`: this machine's node takes pods again.
pub struct Uncordon;

#[async_trait(?Send)]
impl Step for Uncordon {
    fn id(&self) -> StepId {
        StepId::Uncordon
    }

    fn title(&self) -> String {
        "let this node take pods again".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let node = find(client(cx)?, &cx.node.name).await?;
        Ok(if node.is_some_and(|node| is_ours(&node)) { State::needed(self.title()) } else { State::Done })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        uncordon(cx, &cx.node.name).await
    }
}
