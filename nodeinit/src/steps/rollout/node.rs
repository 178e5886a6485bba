//! The nodes of a rollout: cordoned and emptied before a machine is changed, and uncordoned afterwards.

use crate::{
    api::kube::{
        KubeClient,
        types::{List, Node},
    },
    context::Context,
    engine::error::{Exit, StepError},
    steps::{cluster::client, removal::drain},
};
use nodeinit_base::Wait;
use serde_json::json;
use std::{ops::ControlFlow, time::Duration};

/// The annotation of a node that nodeinit cordoned. A node that the operator cordoned does not have it, and stays cordoned.
const CORDONED: &str = "nodeinit.dev/cordoned";

/// What helps if a node cannot be drained.
pub(in crate::steps) const WITHOUT: &str = "delete pods without a controller, and change the budgets or add replicas, or use --no-drain; then run the command again";

/// Whether a rollout cordoned the node, and nobody has uncordoned it.
pub(in crate::steps) fn is_ours(node: &Node) -> bool {
    is_marked(node) && node.spec.unschedulable
}

fn is_marked(node: &Node) -> bool {
    node.metadata.annotations.contains_key(CORDONED)
}

/// Returns all nodes.
pub async fn nodes(client: &KubeClient) -> Result<Vec<Node>, StepError> {
    let nodes = client.get::<List<Node>>("/api/v1/nodes").await;
    Ok(nodes.map_err(|e| StepError::caused("cannot list the nodes", e).exit(Exit::TryAgain))?.items)
}

/// Whether another node can take the pods of the node `name`, except pods that tolerate taints.
pub(in crate::steps) fn has_place(nodes: &[Node], name: &str) -> bool {
    let takes_pods = |node: &&Node| {
        let mut taints = node.spec.taints.iter().filter_map(|taint| taint["effect"].as_str());
        node.metadata.name != name
            && node.is_ready()
            && !node.spec.unschedulable
            && taints.all(|effect| effect == "PreferNoSchedule")
    };
    nodes.iter().any(|node| takes_pods(&node))
}

/// Returns a node; `None` if it is not registered.
pub(in crate::steps) async fn find(client: &KubeClient, name: &str) -> Result<Option<Node>, StepError> {
    let node = client.find(&format!("/api/v1/nodes/{name}")).await;
    node.map_err(|e| StepError::caused(format!("cannot read node {name}"), e).exit(Exit::TryAgain))
}

/// Whether a node is registered and Ready.
///
/// # Errors
/// If the API does not return the node.
pub(in crate::steps) async fn is_ready(cx: &Context, name: &str) -> Result<bool, StepError> {
    Ok(find(client(cx)?, name).await?.is_some_and(|node| node.is_ready()))
}

/// Cordons a node, and evicts its pods if `evict` is set. Does nothing if the node is not registered.
///
/// # Errors
/// If the API refuses, or if pods are left at the deadline.
pub(in crate::steps) async fn empty(cx: &Context, name: &str, evict: bool) -> Result<(), StepError> {
    let client = client(cx)?;
    let Some(node) = find(client, name).await? else { return Ok(()) };
    if !node.spec.unschedulable {
        let patch = json!({"metadata": {"annotations": {CORDONED: "true"}}, "spec": {"unschedulable": true}});
        let patched = client.merge(&format!("/api/v1/nodes/{name}"), &patch).await;
        patched.map_err(|e| StepError::caused(format!("cannot cordon {name}"), e).exit(Exit::TryAgain))?;
    }
    if !evict {
        return Ok(());
    }
    if !has_place(&nodes(client).await?, name) {
        cx.report.note("drain", format!("no other node takes the pods of {name}, so they stay there"));
        return Ok(());
    }
    drain::controllers_act(cx, client, name).await?;
    drain::drain(cx, client, name, false).await.map_err(|e| e.hint(WITHOUT))
}

/// Lets a node take pods again if a rollout cordoned it.
///
/// # Errors
/// If the API does not allow it in time.
pub(in crate::steps) async fn uncordon(cx: &Context, name: &str) -> Result<(), StepError> {
    let (client, path) = (client(cx)?, format!("/api/v1/nodes/{name}"));
    // Also of a node that somebody has uncordoned: a later cordon would count as ours.
    let patch = json!({"metadata": {"annotations": {CORDONED: null}}, "spec": {"unschedulable": null}});
    let attempt = async || match find(client, name).await {
        Ok(Some(node)) if is_marked(&node) => match client.merge(&path, &patch).await {
            Ok(_) => ControlFlow::Break(()),
            Err(e) => ControlFlow::Continue(e.to_string()),
        },
        Ok(_) => ControlFlow::Break(()),
        Err(e) => ControlFlow::Continue(e.to_string()),
    };
    let wait = Wait::new(format!("node {name} to be uncordoned"), cx.cluster.timeouts.control_plane);
    Ok(wait.at_most_every(Duration::from_millis(500)).until(attempt).await?)
}

/// Returns the names of the nodes that a rollout cordoned, also if somebody has uncordoned them since.
pub(super) async fn cordoned(cx: &Context) -> Result<Vec<String>, StepError> {
    let nodes = nodes(client(cx)?).await?.into_iter().filter(is_marked);
    Ok(nodes.map(|node| node.metadata.name).collect())
}

/// Describes what is to be done about them.
pub(super) async fn left_cordoned(cx: &Context) -> Result<Vec<String>, StepError> {
    let names = cordoned(cx).await?.into_iter();
    Ok(names.map(|name| format!("uncordon {name}")).collect())
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
