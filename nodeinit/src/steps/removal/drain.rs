//! Drains a node, as `kubectl drain` does. Source: `k8s.io/kubectl/pkg/drain`.

use crate::{
    api::kube::{
        ApiError, KubeClient,
        types::{Node, Pod},
    },
    context::Context,
    engine::error::{Exit, StepError},
    steps::node::pods_on,
};
use hyper::StatusCode;
use nodeinit_base::Wait;
use serde_json::json;
use std::{collections::BTreeMap, ops::ControlFlow, time::Duration};

/// Marks the node as unschedulable.
///
/// # Errors
/// If the API refuses.
pub async fn cordon(client: &KubeClient, node: &str) -> Result<(), StepError> {
    let patched = client.merge(&format!("/api/v1/nodes/{node}"), &json!({"spec": {"unschedulable": true}})).await;
    patched.map(drop).map_err(|e| StepError::caused(format!("cannot cordon {node}"), e))
}

/// Evicts all pods except those of DaemonSets and static pods, and waits until they are gone. It respects PodDisruptionBudgets
/// and retries the pods that they protect until the deadline.
///
/// # Errors
/// If pods without a controller would be lost and `force` is not set; or if pods are left at the deadline, each with its
/// reason.
pub async fn drain(cx: &Context, client: &KubeClient, name: &str, force: bool) -> Result<(), StepError> {
    let pods = pods(client, name).await.map_err(|e| StepError::caused(format!("cannot list the pods of {name}"), e))?;
    let alone: Vec<String> = pods.iter().filter(|pod| !is_controlled(pod)).map(shown).collect();
    if !force && !alone.is_empty() {
        let what = format!("no controller recreates these pods of {name} elsewhere: {}", alone.join(", "));
        return Err(StepError::new(what).hint("delete them yourself, or add --force"));
    }
    cx.report.note("drain", format!("evicting {} pods from {name}", pods.len()));
    let limit = cx.cluster.timeouts.node;
    let look = async || match round(client, name).await {
        Ok(left) if left.is_empty() => ControlFlow::Break(()),
        Ok(left) => {
            ControlFlow::Continue(left.iter().map(|(pod, why)| format!("{pod}: {why}")).collect::<Vec<_>>().join("; "))
        }
        Err(e) => ControlFlow::Continue(e.to_string()),
    };
    let wait = Wait::new(format!("the pods of {name} to stop"), limit).at_most_every(Duration::from_millis(500));
    wait.until(look).await.map_err(|late| {
        StepError::from(late).exit(Exit::TryAgain).hint(format!(
            "{name} takes no new pods (`kubectl uncordon {name}` undoes that); delete or fix the pods named above, then try again"
        ))
    })
}

/// Evicts the pods that are not terminating yet; returns those that are left, with the reason.
async fn round(client: &KubeClient, node: &str) -> Result<BTreeMap<String, String>, ApiError> {
    // The kubelet of a dead node confirms nothing; its pods are deleted with the node. The control plane notices after a while.
    let alive = client.find::<Node>(&format!("/api/v1/nodes/{node}")).await?.is_some_and(|node| node.is_ready());
    let mut left = BTreeMap::new();
    for pod in pods(client, node).await? {
        let going = pod.metadata.deletion_timestamp.is_some();
        if going && alive {
            left.insert(shown(&pod), "is terminating".into());
        }
        if going {
            continue;
        }
        let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
        let eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
        });
        match client.create(&format!("/api/v1/namespaces/{namespace}/pods/{name}/eviction"), &eviction).await {
            Ok(_) => left.insert(shown(&pod), "is terminating".into()),
            Err(e) if e.is_not_found() => None,
            // Its PodDisruptionBudget does not allow it now.
            Err(ApiError::Refused { status: StatusCode::TOO_MANY_REQUESTS, message, .. }) => {
                left.insert(shown(&pod), message)
            }
            Err(e) => left.insert(shown(&pod), e.to_string()),
        };
    }
    Ok(left)
}

/// Returns the pods to evict: not those of DaemonSets, which ignore that a node is cordoned, nor static ones, which belong to
/// the machine.
async fn pods(client: &KubeClient, node: &str) -> Result<Vec<Pod>, ApiError> {
    let mut pods = pods_on(client, node).await?;
    pods.retain(must_go);
    Ok(pods)
}

fn must_go(pod: &Pod) -> bool {
    !pod.is_static() && !pod.metadata.owner_references.iter().any(|owner| owner.kind == "DaemonSet")
}

fn is_controlled(pod: &Pod) -> bool {
    let ended = ["Succeeded", "Failed"].contains(&pod.status.phase.as_str());
    ended || pod.metadata.owner_references.iter().any(|owner| owner.controller)
}

fn shown(pod: &Pod) -> String {
    format!("{}/{}", pod.metadata.namespace, pod.metadata.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_pods_stay() {
        let read = |pod| serde_json::from_value::<Pod>(pod).unwrap();
        let owned = |kind: &str| read(json!({"metadata": {"ownerReferences": [{"kind": kind, "controller": true}]}}));
        let mirror = read(json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}));
        let bare = read(json!({"metadata": {"namespace": "a", "name": "b"}}));
        assert!(must_go(&owned("ReplicaSet")) && must_go(&bare));
        assert!(!must_go(&owned("DaemonSet")) && !must_go(&mirror));
        assert!(is_controlled(&owned("ReplicaSet")) && !is_controlled(&bare));
        assert!(is_controlled(&read(json!({"status": {"phase": "Succeeded"}}))), "it has ended");
        assert_eq!(shown(&bare), "a/b");
    }
}
