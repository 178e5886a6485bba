//! Drains a node, as `kubectl drain` does. Source: `k8s.io/kubectl/pkg/drain`.

use crate::{
    api::kube::{
        ApiError, KubeClient,
        types::{List, Node, Pod, PodDisruptionBudget},
    },
    context::Context,
    engine::error::{Exit, StepError},
};
use hyper::StatusCode;
use nodeinit_base::Wait;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    time::{Duration, Instant},
};

/// A kubelet that has not renewed its lease for this long is gone. It does so every 10 s.
const SILENCE: Duration = Duration::from_secs(16);

/// Pause before the eviction of a pod is tried again that its budget protects: it doubles up to the one of `kubectl drain`.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(5));

/// The taint of a cordoned node. Source: the node lifecycle controller in Kubernetes.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
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
/// If pods have no controller that recreates them, or their PodDisruptionBudgets permit no eviction, and `force` is not set.
pub async fn check(cx: &Context, client: &KubeClient, name: &str, force: bool) -> Result<(), StepError> {
    let pods = pods(client, name).await.map_err(|e| unlisted(&format!("the pods of {name}"), e))?;
    let budgets: List<PodDisruptionBudget> =
        client.get(BUDGETS).await.map_err(|e| unlisted("PodDisruptionBudgets", e))?;
    let obstacles: Vec<String> = unmanaged(&pods).into_iter().chain(protected(&pods, &budgets.items)).collect();
    if !obstacles.is_empty() {
        let what = format!("{name} cannot be drained: {}", obstacles.join("; "));
        if !force {
            return Err(StepError::new(what).hint(
                "nothing was changed; delete the pods without a controller, and change the budgets or add replicas. --force deletes these \
                 pods, and tries the protected ones until the deadline",
            ));
        }
        cx.report.note("drain", format!("{what}; continuing because of --force"));
    }
    let volatile: Vec<String> = pods.iter().filter(|pod| has_local_data(pod)).map(shown).collect();
    if !volatile.is_empty() {
        cx.report.note("drain", format!("draining {name} deletes the emptyDir data of {}", volatile.join(", ")));
    }
    Ok(())
}

fn unlisted(what: &str, error: ApiError) -> StepError {
    StepError::caused(format!("cannot list {what}"), error).exit(Exit::TryAgain)
}

/// Describes the pods that no controller recreates.
fn unmanaged(pods: &[Pod]) -> Option<String> {
    let alone = pods.iter().filter(|pod| !is_controlled(pod) && pod.metadata.deletion_timestamp.is_none());
    let alone: Vec<String> = alone.map(shown).collect();
    (!alone.is_empty()).then(|| format!("no controller recreates {} elsewhere", alone.join(", ")))
}

/// Describes each budget that permits no eviction, and each pod with more than one budget, which the API cannot evict. Source:
/// `pkg/registry/core/pod/storage/eviction.go` in Kubernetes.
fn protected(pods: &[Pod], budgets: &[PodDisruptionBudget]) -> Vec<String> {
    let mut obstacles = Vec::new();
    for budget in budgets.iter().filter(|budget| budget.is_impossible()) {
        let blocked: Vec<String> = pods.iter().filter(|pod| budget.blocks(pod)).map(shown).collect();
        if !blocked.is_empty() {
            obstacles.push(format!(
                "PodDisruptionBudget {} permits no eviction of {}: it requires {} healthy pods of {}",
                budget.metadata.shown(),
                blocked.join(", "),
                budget.status.desired_healthy,
                budget.status.expected_pods
            ));
        }
    }
    for pod in pods.iter().filter(|pod| !pod.ignores_budgets()) {
        let all: Vec<String> = budgets
            .iter()
            .filter(|budget| budget.selects(&pod.metadata))
            .map(|budget| budget.metadata.shown())
            .collect();
        if all.len() > 1 {
            obstacles.push(format!("{} has more than one PodDisruptionBudget: {}", shown(pod), all.join(", ")));
        }
    }
    obstacles
}

/// Evicts all pods of a cordoned node except those of DaemonSets and static pods, and waits until they are gone. It respects
/// PodDisruptionBudgets and retries the pods that they protect until the deadline.
///
/// # Errors
/// If pods without a controller would be lost and `force` is not set; or if pods are left at the deadline, each with its
/// reason.
pub async fn drain(cx: &Context, client: &KubeClient, name: &str, force: bool) -> Result<(), StepError> {
    let pods = pods(client, name).await.map_err(|e| unlisted(&format!("the pods of {name}"), e))?;
    // A pod may have been created since the check.
    if let Some(why) = unmanaged(&pods).filter(|_| !force) {
        let hint = format!("delete them, or add --force; `kubectl uncordon {name}` lets {name} take new pods again");
        return Err(StepError::new(format!("{name} cannot be drained: {why}")).hint(hint));
    }
    cx.report.note("drain", format!("evicting {} pods from {name}", pods.len()));
    let limit = cx.cluster.timeouts.node;
    let mut last = (None, Instant::now());
    let mut refused = BTreeMap::new();
    let look = async || match round(client, name, &mut last, &mut refused).await {
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

/// Waits until a kube-controller-manager has tainted the cordoned node, and again if it was tainted before. Without one, evicted pods stay
/// endpoints of their Services, and nothing replaces them. Does not wait if there are no pods to evict, or if none taints nodes.
///
/// # Errors
/// If none does in time.
pub async fn controllers_act(cx: &Context, client: &KubeClient, name: &str) -> Result<(), StepError> {
    if pods(client, name).await.map_err(|e| unlisted(&format!("the pods of {name}"), e))?.is_empty() {
        return Ok(());
    }
    let controllers = cx.cluster.controller_manager.extra_args.get("controllers");
    if controllers.is_some_and(|controllers| !taints_nodes(controllers)) {
        return Ok(());
    }
    let path = format!("/api/v1/nodes/{name}");
    let mut was_untainted = false;
    let look = async || match client.find::<Node>(&path).await {
        Ok(Some(node)) if node.spec.unschedulable => {
            let (taint, others): (Vec<_>, Vec<_>) = node.spec.taints.iter().partition(|t| t["key"] == UNSCHEDULABLE);
            if taint.is_empty() {
                was_untainted = true;
            } else if was_untainted {
                return ControlFlow::Break(());
            } else {
                let version = &node.metadata.resource_version;
                let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"taints": others}});
                match client.merge(&path, &patch).await {
                    Ok(_) => was_untainted = true,
                    Err(e) => return ControlFlow::Continue(e.to_string()),
                }
            }
            ControlFlow::Continue(format!("{name} is cordoned and has no taint {UNSCHEDULABLE}"))
        }
        Ok(_) => ControlFlow::Break(()),
        Err(e) => ControlFlow::Continue(e.to_string()),
    };
    let limit = cx.cluster.timeouts.control_plane;
    let wait = Wait::new(format!("kube-controller-manager to taint {name}"), limit);
    wait.at_most_every(Duration::from_millis(200)).until(look).await.map_err(|late| {
        let hint = format!(
            "pods are evicted only while kube-controller-manager replaces them: see its log on each master, then run the same command again; \
             --no-drain (for `remove` and `replace`: --force) continues without it; \
             `kubectl uncordon {name}` lets {name} take new pods again"
        );
        StepError::from(late).exit(Exit::TryAgain).hint(hint)
    })
}

/// Whether a kube-controller-manager with this value of `--controllers` taints cordoned nodes. Source: `IsControllerEnabled` in
/// `k8s.io/controller-manager`.
fn taints_nodes(controllers: &str) -> bool {
    let names = || controllers.split(',').map(str::trim);
    let is_own =
        |name: &&str| ["node-lifecycle-controller", "nodelifecycle"].contains(&name.strip_prefix('-').unwrap_or(name));
    let own = names().find(is_own);
    own.map_or_else(|| names().any(|name| name == "*"), |own| !own.starts_with('-'))
}

/// A pod that its budget protects.
struct Refused {
    why: String,
    pause: Duration,
    until: Instant,
}

/// Evicts the pods that are not terminating yet; returns those that are left, with the reason.
async fn round(
    client: &KubeClient,
    node: &str,
    last: &mut (Option<String>, Instant),
    refused: &mut BTreeMap<String, Refused>,
) -> Result<BTreeMap<String, String>, ApiError> {
    // The kubelet of a dead node confirms nothing; its pods are deleted with the node. The control plane notices after 40 s.
    let is_ready = client.find::<Node>(&format!("/api/v1/nodes/{node}")).await?.is_some_and(|node| node.is_ready());
    let renewed = renewal(client, node).await?;
    if last.0 != renewed {
        *last = (renewed, Instant::now());
    }
    let alive = is_ready && last.1.elapsed() < SILENCE;
    let mut left = BTreeMap::new();
    for pod in pods(client, node).await? {
        let going = pod.metadata.deletion_timestamp.is_some();
        if going && alive {
            left.insert(shown(&pod), "is terminating".into());
        }
        if going {
            continue;
        }
        if let Some(known) = refused.get(&shown(&pod)).filter(|known| known.until > Instant::now()) {
            left.insert(shown(&pod), known.why.clone());
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
                let pause = refused.get(&shown(&pod)).map_or(PAUSES.0, |known| (2 * known.pause).min(PAUSES.1));
                let until = Instant::now() + pause;
                refused.insert(shown(&pod), Refused { why: message.clone(), pause, until });
                left.insert(shown(&pod), message)
            }
            Err(e) => left.insert(shown(&pod), e.to_string()),
        };
    }
    Ok(left)
}

/// Returns when the kubelet last renewed its lease, which it does every 10 s.
async fn renewal(client: &KubeClient, node: &str) -> Result<Option<String>, ApiError> {
    let lease: Option<Value> = client.find(&format!("{LEASES}/{node}")).await?;
    Ok(lease.and_then(|lease| Some(lease["spec"]["renewTime"].as_str()?.to_owned())))
}

/// Returns the pods to evict: not those of DaemonSets, which ignore that a node is cordoned, nor static ones, which belong to
/// the machine.
async fn pods(client: &KubeClient, node: &str) -> Result<Vec<Pod>, ApiError> {
    let mut pods = client.pods_on(node).await?;
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
    pod.metadata.shown()
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
    fn only_the_node_lifecycle_controller_taints_nodes() {
        for (controllers, taints) in [
            ("*", true),
            ("*,bootstrapsigner,-ttl", true),
            ("*,bootstrapsigner,-node-lifecycle-controller", false),
            ("*, -nodelifecycle", false),
            ("*,-cloud-node-lifecycle-controller", true),
            ("deployment,replicaset", false),
            ("deployment,nodelifecycle", true),
        ] {
            assert_eq!(taints_nodes(controllers), taints, "{controllers}");
        }
    }

    fn pod(name: &str, status: Value) -> Pod {
        let owners = json!([{"kind": "ReplicaSet", "controller": true}]);
        let metadata = json!({"namespace": "a", "name": name, "labels": {"app": name}, "ownerReferences": owners});
        serde_json::from_value(json!({"metadata": metadata, "status": status})).unwrap()
    }

    fn running(name: &str) -> Pod {
        pod(name, json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}))
    }

    fn budget(selector: Value, desired: i64, policy: &str) -> PodDisruptionBudget {
        let status = json!({"desiredHealthy": desired, "expectedPods": 2, "currentHealthy": 2});
        let spec = json!({"selector": selector, "unhealthyPodEvictionPolicy": policy});
        let metadata = json!({"namespace": "a", "name": "b"});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec, "status": status})).unwrap()
    }

    const BLOCKED: &str = "PodDisruptionBudget a/b permits no eviction of a/web: it requires 2 healthy pods of 2";

    #[test]
    fn pods_that_nothing_recreates_are_named_unless_they_end_anyway() {
        let mut bare = running("bare");
        bare.metadata.owner_references.clear();
        let alone = "no controller recreates a/bare elsewhere";
        assert_eq!(unmanaged(&[bare.clone(), running("web")]).as_deref(), Some(alone));
        bare.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".into());
        assert_eq!(unmanaged(&[bare]), None);
    }

    #[test]
    fn budgets_that_permit_no_eviction_are_named() {
        let found = |selector, desired| protected(&[running("web")], &[budget(selector, desired, "")]);
        let web = json!({"matchLabels": {"app": "web"}});
        assert!(found(web.clone(), 1).is_empty(), "one of two may go");
        assert_eq!(found(web, 2), [BLOCKED]);
        assert_eq!(found(json!({}), 2), [BLOCKED], "it selects all pods");
        assert!(found(Value::Null, 2).is_empty(), "it selects no pods");
        for (operator, values, blocks) in [
            ("In", json!(["web"]), true),
            ("In", json!(["x"]), false),
            ("NotIn", json!(["x"]), true),
            ("Exists", json!([]), true),
            ("DoesNotExist", json!([]), false),
        ] {
            let selector = json!({"matchExpressions": [{"key": "app", "operator": operator, "values": values}]});
            assert_eq!(!found(selector, 2).is_empty(), blocks, "{operator} {values}");
        }
    }

    #[test]
    fn pods_that_the_api_evicts_despite_their_budget_block_nothing() {
        let strict = |policy| [budget(json!({}), 2, policy)];
        for phase in ["Pending", "Succeeded", "Failed"] {
            assert!(protected(&[pod("web", json!({"phase": phase}))], &strict("")).is_empty(), "{phase}");
        }
        let terminating = {
            let mut pod = running("web");
            pod.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".into());
            pod
        };
        assert!(protected(&[terminating], &strict("")).is_empty());
        let unready = pod("web", json!({"phase": "Running"}));
        assert!(protected(std::slice::from_ref(&unready), &strict("AlwaysAllow")).is_empty());
        assert_eq!(protected(&[unready], &strict("")), [BLOCKED]);
        assert_eq!(protected(&[running("web")], &strict("AlwaysAllow")), [BLOCKED]);
    }

    #[test]
    fn a_pod_with_two_budgets_is_named() {
        let two = [budget(json!({}), 1, ""), budget(json!({}), 1, "")];
        assert_eq!(protected(&[running("web")], &two), ["a/web has more than one PodDisruptionBudget: a/b, a/b"]);
    }
}
