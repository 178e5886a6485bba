//! Drains a node before its machine is upgraded, and lets it take pods again afterwards.

use crate::{
    api::kube::{
        KubeClient,
        types::{List, Node},
    },
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

/// What helps if a node cannot be drained.
pub(super) const WITHOUT: &str = "delete pods without a controller, and change the budgets or add replicas, or use --no-drain; then run the command again";

/// Whether an upgrade cordoned the node.
pub(super) fn is_ours(node: &Node) -> bool {
    node.metadata.annotations.contains_key(CORDONED) && node.spec.unschedulable
}

/// Returns all nodes.
pub(super) async fn nodes(client: &KubeClient) -> Result<Vec<Node>, StepError> {
    let nodes = client.get::<List<Node>>("/api/v1/nodes").await;
    Ok(nodes.map_err(|e| StepError::caused("cannot list the nodes", e).exit(Exit::TryAgain))?.items)
}

/// Whether another node can take the pods of the node `name`, except pods that tolerate taints.
pub(super) fn has_place(nodes: &[Node], name: &str) -> bool {
    let takes_pods = |node: &&Node| {
        let mut taints = node.spec.taints.iter().filter_map(|taint| taint["effect"].as_str());
        node.metadata.name != name
            && node.is_ready()
            && !node.spec.unschedulable
            && taints.all(|effect| effect == "PreferNoSchedule")
    };
    nodes.iter().any(|node| takes_pods(&node))
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
    // Its kubelet stays, so that its pods go on running.
    if node.status.node_info.kubelet_version == cx.cluster.version.to_string() {
        return Ok(());
    }
    if !node.spec.unschedulable {
        let patch = json!({"metadata": {"annotations": {CORDONED: "true"}}, "spec": {"unschedulable": true}});
        let patched = client.merge(&format!("/api/v1/nodes/{name}"), &patch).await;
        patched.map_err(|e| StepError::caused(format!("cannot cordon {name}"), e).exit(Exit::TryAgain))?;
    }
    if !drain {
        return Ok(());
    }
    if !has_place(&nodes(client).await?, name) {
        cx.report.note("drain", format!("no other node takes the pods of {name}, so they stay there"));
        return Ok(());
    }
    drain::drain(cx, client, name, false).await.map_err(|e| e.hint(WITHOUT))
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
        format!("let {} take pods again", self.node)
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let node = find(client(cx)?, &self.node).await?;
        Ok(if node.is_some_and(|node| is_ours(&node)) { State::needed(self.title()) } else { State::Done })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let (client, path) = (client(cx)?, format!("/api/v1/nodes/{}", self.node));
        let patch = json!({"metadata": {"annotations": {CORDONED: null}}, "spec": {"unschedulable": null}});
        let attempt = async || match client.merge(&path, &patch).await {
            Ok(_) => ControlFlow::Break(()),
            Err(e) => ControlFlow::Continue(e.to_string()),
        };
        let wait = Wait::new(format!("node {} to be uncordoned", self.node), cx.cluster.timeouts.control_plane);
        Ok(wait.at_most_every(Duration::from_millis(500)).until(attempt).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn pods_are_evicted_only_if_another_node_takes_them() {
        let node = |name: &str, spec: Value| -> Node {
            let status = json!({"conditions": [{"type": "Ready", "status": "True"}]});
            serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec, "status": status})).unwrap()
        };
        let taint = json!({"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]});
        let all = [node("m1", taint), node("w1", json!({})), node("w2", json!({"unschedulable": true}))];
        assert!(has_place(&all, "m1") && has_place(&all, "w2"));
        assert!(!has_place(&all, "w1"), "one is tainted, one is cordoned");
        assert!(!has_place(&all[1..2], "w1"));
    }
}
