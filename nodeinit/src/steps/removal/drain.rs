//! Drains a node, as `kubectl drain` does. Source: `k8s.io/kubectl/pkg/drain`.

use crate::{
    api::kube::{
        ApiError, KubeClient,
        types::{List, Node, Pod, PodDisruptionBudget},
    },
    context::Context,
    engine::error::{Exit, StepError},
    steps::node::pods_on,
};
use hyper::StatusCode;
use nodeinit_base::Wait;
use serde_json::json;
use std::{collections::BTreeMap, ops::ControlFlow, time::Duration};

const BUDGETS: &str = "/apis/policy/v1/poddisruptionbudgets";

/// Marks the node as unschedulable.
///
/// # Errors
/// If the API refuses.
pub async fn cordon(client: &KubeClient, node: &str) -> Result<(), StepError> {
    let patched = client.merge(&format!("/api/v1/nodes/{node}"), &json!({"spec": {"unschedulable": true}})).await;
    patched.map(drop).map_err(|e| StepError::caused(format!("cannot cordon {node}"), e))
}

/// Checks, before anything changes, that the node can be drained. Reports pods whose `emptyDir` volumes are lost.
///
/// # Errors
/// If pods have no controller that recreates them, or a PodDisruptionBudget permits no eviction, and `force` is not set.
pub async fn check(cx: &Context, client: &KubeClient, name: &str, force: bool) -> Result<(), StepError> {
    let failed = |what: &str, e| StepError::caused(format!("cannot list {what}"), e).exit(Exit::TryAgain);
    let pods = pods(client, name).await.map_err(|e| failed(&format!("the pods of {name}"), e))?;
    let budgets: List<PodDisruptionBudget> =
        client.get(BUDGETS).await.map_err(|e| failed("PodDisruptionBudgets", e))?;
    let volatile: Vec<String> = pods.iter().filter(|pod| has_local_data(pod)).map(shown).collect();
    if !volatile.is_empty() {
        let text = format!("these pods of {name} lose the data of their emptyDir volumes: {}", volatile.join(", "));
        cx.report.note("drain", text);
    }
    let obstacles = obstacles(&pods, &budgets.items);
    if obstacles.is_empty() {
        return Ok(());
    }
    let what = format!("{name} cannot be drained: {}", obstacles.join("; "));
    if force {
        cx.report.note("drain", format!("{what}; continuing because of --force"));
        return Ok(());
    }
    let hint = "nothing was changed; delete these pods yourself, or change the budgets. --force deletes pods without a controller, and \
                tries the protected ones until the deadline";
    Err(StepError::new(what).hint(hint))
}

/// Names the pods that no controller recreates, and the budgets that permit no eviction, with their pods.
fn obstacles(pods: &[Pod], budgets: &[PodDisruptionBudget]) -> Vec<String> {
    let alone = pods.iter().filter(|pod| !is_controlled(pod));
    let mut obstacles: Vec<String> =
        alone.map(|pod| format!("no controller recreates {} elsewhere", shown(pod))).collect();
    for budget in budgets.iter().filter(|budget| budget.is_impossible()) {
        let protected: Vec<String> = pods.iter().filter(|pod| budget.protects(&pod.metadata)).map(shown).collect();
        if !protected.is_empty() {
            let (of, status) = (&budget.metadata, &budget.status);
            obstacles.push(format!(
                "PodDisruptionBudget {}/{} permits no eviction of {}: it requires {} healthy pods of {}",
                of.namespace,
                of.name,
                protected.join(", "),
                status.desired_healthy,
                status.expected_pods
            ));
        }
    }
    obstacles
}

/// Evicts all pods except those of DaemonSets and static pods, and waits until they are gone. It respects PodDisruptionBudgets
/// and retries the pods that they protect until the deadline.
///
/// # Errors
/// If pods are left at the deadline, each with its reason.
pub async fn drain(cx: &Context, client: &KubeClient, name: &str) -> Result<(), StepError> {
    let pods = pods(client, name).await.map_err(|e| StepError::caused(format!("cannot list the pods of {name}"), e))?;
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

fn has_local_data(pod: &Pod) -> bool {
    pod.spec.volumes.iter().any(|volume| volume.empty_dir.is_some())
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

    #[test]
    fn what_blocks_a_drain_is_named() {
        let pod = |name: &str, app: &str, owners: serde_json::Value| {
            let metadata = json!({"namespace": "a", "name": name, "labels": {"app": app}, "ownerReferences": owners});
            serde_json::from_value::<Pod>(json!({"metadata": metadata})).unwrap()
        };
        let budget = |selector: serde_json::Value, desired: i64| {
            let status = json!({"desiredHealthy": desired, "expectedPods": 2, "currentHealthy": 2});
            let metadata = json!({"namespace": "a", "name": "b"});
            let whole = json!({"metadata": metadata, "spec": {"selector": selector}, "status": status});
            serde_json::from_value::<PodDisruptionBudget>(whole).unwrap()
        };
        let owner = json!([{"kind": "ReplicaSet", "controller": true}]);
        let pods = [pod("bare", "x", json!([])), pod("web", "web", owner)];
        let found = |selector, desired| obstacles(&pods, &[budget(selector, desired)]);
        let alone = "no controller recreates a/bare elsewhere";
        let web = json!({"matchLabels": {"app": "web"}});
        assert_eq!(found(web.clone(), 1), [alone], "one of two may go");
        let blocked = "PodDisruptionBudget a/b permits no eviction of a/web: it requires 2 healthy pods of 2";
        assert_eq!(found(web, 2), [alone, blocked]);
        for (operator, values, protects) in [
            ("In", json!(["web"]), true),
            ("NotIn", json!(["x"]), true),
            ("Exists", json!([]), true),
            ("DoesNotExist", json!([]), false),
            ("In", json!(["x"]), false),
        ] {
            let selector = json!({"matchExpressions": [{"key": "app", "operator": operator, "values": values}]});
            let named = found(selector, 2).iter().any(|obstacle| obstacle.contains("a/web"));
            assert_eq!(named, protects, "{operator} {values}");
        }
        assert_eq!(found(serde_json::Value::Null, 2), [alone], "it protects no pods");
        assert!(found(json!({}), 2)[1].contains("a/bare, a/web"), "it protects all pods");
    }
}
