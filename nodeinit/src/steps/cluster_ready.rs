//! Readiness of the first master's cluster: its node is Ready, and the addons run.

use super::{
    cluster::{Objects, client, ready, refused, title},
    node::{node, outdated_pod, own_pods},
};
use crate::{
    api::kube::{
        ApiError, KubeClient,
        types::{List, Node},
    },
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
};
use async_trait::async_trait;
use nodeinit_base::Wait;
use nodeinit_config::cluster::Cni;
use serde_json::Value;
use std::{ops::ControlFlow, time::Duration};

const HINT: &str =
    "see `kubectl --kubeconfig /etc/kubernetes/admin.conf get pods -A -o wide`, then run the same command again";

/// Step `ready`: the node is Ready, and the configured addons run.
pub struct Ready {
    /// Also waits until every node has the current pods of the DaemonSets.
    pub rolled_out: bool,
}

/// Returns the objects of the addons that run on every node.
pub(super) fn of_every_node(cx: &Context) -> Result<Vec<Value>, StepError> {
    let addons = &cx.cluster.addons;
    let mut objects = Vec::new();
    if addons.kube_proxy {
        objects.extend(Objects::KubeProxy.render(cx, None)?);
    }
    if addons.cni != Cni::None {
        objects.extend(Objects::Cni.render(cx, None)?);
    }
    Ok(objects)
}

/// Returns the workloads that must run.
fn workloads(cx: &Context) -> Result<Vec<Value>, StepError> {
    let addons = &cx.cluster.addons;
    let mut objects = of_every_node(cx)?;
    if addons.cni != Cni::None && addons.coredns {
        objects.extend(Objects::CoreDns.render(cx, None)?);
    }
    objects.retain(|o| matches!(o["kind"].as_str(), Some("DaemonSet" | "Deployment")));
    Ok(objects)
}

/// Returns what does not run yet; `None` if everything runs. `but_replaced`: except DaemonSets that still replace pods.
async fn lacking(cx: &Context, workloads: &[Value], but_replaced: bool) -> Result<Option<String>, StepError> {
    let client = client(cx)?;
    if cx.cluster.addons.cni != Cni::None {
        let Some(node) = node(cx).await? else { return Ok(Some("the node is not registered".into())) };
        if let Some(what) = node.not_ready() {
            return Ok(Some(what));
        }
    }
    if let Some(what) = outdated_pod(cx, &own_pods(cx).await?).await? {
        return Ok(Some(what));
    }
    for workload in workloads {
        let path = client.path_of(workload).await.map_err(|e| refused(workload, e))?;
        let live: Value = client.find(&path).await.map_err(|e| refused(workload, e))?.unwrap_or_default();
        let (mut wanted, running) = pods(&live);
        let everywhere = live["kind"] == "DaemonSet";
        if everywhere && but_replaced && replacing(&live, i64::MAX).is_some() {
            continue;
        }
        if everywhere {
            // The controller may not have seen them yet.
            wanted = wanted.max(1);
        }
        let domains = live.pointer("/spec/template/spec/topologySpreadConstraints/0/minDomains");
        let one_a_node = everywhere || domains.and_then(Value::as_i64) > Some(1);
        if running < wanted && one_a_node {
            let nodes = nodes(client).await.map_err(|e| refused(workload, e))?;
            wanted = wanted.min(places(&nodes, everywhere));
        }
        if let Some(what) = too_few(&live, wanted, running) {
            return Ok(Some(format!("{}: {what}", title(workload))));
        }
    }
    Ok(None)
}

/// A DaemonSet that has not replaced all of its pods.
#[derive(Debug, PartialEq, Eq)]
struct Outdated {
    name: String,
    current: i64,
    wanted: i64,
}

/// Returns the first DaemonSet that still replaces pods on nodes that are Ready, after its position; and whether all nodes are Ready.
async fn outdated(cx: &Context, workloads: &[Value]) -> Result<Option<(usize, Outdated, bool)>, StepError> {
    let client = client(cx)?;
    for (position, workload) in workloads.iter().enumerate().filter(|(_, workload)| workload["kind"] == "DaemonSet") {
        let path = client.path_of(workload).await.map_err(|e| refused(workload, e))?;
        let live: Value = client.find(&path).await.map_err(|e| refused(workload, e))?.unwrap_or_default();
        if replacing(&live, i64::MAX).is_none() {
            continue;
        }
        let nodes = nodes(client).await.map_err(|e| refused(workload, e))?;
        let ready = places(&nodes, true);
        if let Some(outdated) = replacing(&live, ready) {
            return Ok(Some((position, outdated, ready == nodes.len() as i64)));
        }
    }
    Ok(None)
}

/// Returns the DaemonSet if fewer than `at_most` nodes, and fewer than it wants, have its current pods.
fn replacing(live: &Value, at_most: i64) -> Option<Outdated> {
    let number = |at: &str| live["status"][at].as_i64().unwrap_or_default();
    let current = if is_unseen(live) { 0 } else { number("updatedNumberScheduled").min(number("numberAvailable")) };
    let outdated = Outdated { name: title(live), current, wanted: number("desiredNumberScheduled").min(at_most) };
    (live["spec"]["updateStrategy"]["type"] != "OnDelete" && current < outdated.wanted).then_some(outdated)
}

/// Waits until the DaemonSets have replaced their pods: `timeouts.node`, and again while there is progress in that time. Without progress, a
/// node that is not Ready may be the reason: Kubernetes may then replace no pod anywhere, and the former pods run.
async fn roll_out(cx: &Context, workloads: &[Value]) -> Result<(), StepError> {
    let mut best = None;
    loop {
        let mut latest = None;
        let look = async || match outdated(cx, workloads).await {
            Ok(None) => ControlFlow::Break(()),
            Ok(Some((position, outdated, all_ready))) => {
                let reached = (position, outdated.current);
                best.get_or_insert(reached);
                latest = Some((reached, all_ready));
                let Outdated { name, current, wanted } = outdated;
                ControlFlow::Continue(format!("{name}: {current} of {wanted} pods are current"))
            }
            Err(e) => ControlFlow::Continue(e.to_string()),
        };
        let wait = Wait::new("the addons' new pods on every node", cx.cluster.timeouts.node);
        let Err(late) = wait.at_most_every(Duration::from_millis(500)).until(look).await else { return Ok(()) };
        match latest {
            Some((reached, _)) if best < Some(reached) => best = Some(reached),
            Some((_, false)) if lacking(cx, workloads, false).await?.is_none() => {
                cx.report.note(&StepId::Ready.name(), format!("{late}; continuing, because a node is not Ready"));
                return Ok(());
            }
            _ => return Err(StepError::from(late).hint(HINT)),
        }
    }
}

/// Returns how many pods a workload should have, and how many run.
fn pods(live: &Value) -> (i64, i64) {
    let number = |at: &str| live["status"][at].as_i64().unwrap_or_default();
    match live["kind"].as_str() {
        Some("DaemonSet") => (number("desiredNumberScheduled"), number("numberAvailable")),
        _ => (live["spec"]["replicas"].as_i64().unwrap_or(1), number("availableReplicas")),
    }
}

/// Whether the controller has not seen the latest change.
fn is_unseen(live: &Value) -> bool {
    live["status"]["observedGeneration"] != live["metadata"]["generation"]
}

fn too_few(live: &Value, wanted: i64, running: i64) -> Option<String> {
    (running < wanted || is_unseen(live)).then(|| format!("{running} of {wanted} pods run"))
}

/// Describes the first of these objects that does not work yet: pods that do not run, an API that is not served.
pub(super) async fn unavailable(client: &KubeClient, objects: &[Value]) -> Result<Option<String>, StepError> {
    for object in objects {
        let kind = object["kind"].as_str().unwrap_or_default();
        if !["DaemonSet", "Deployment", "StatefulSet", "APIService"].contains(&kind) {
            continue;
        }
        let path = client.path_of(object).await.map_err(|e| refused(object, e))?;
        let live: Value = client.find(&path).await.map_err(|e| refused(object, e))?.unwrap_or_default();
        if kind == "APIService" {
            let conditions = live["status"]["conditions"].as_array().into_iter().flatten();
            let available = conditions.clone().find(|condition| condition["type"] == "Available");
            if available.is_none_or(|condition| condition["status"] != "True") {
                let message =
                    available.and_then(|condition| condition["message"].as_str()).unwrap_or("not checked yet");
                return Ok(Some(format!("{}: {message}", title(object))));
            }
            continue;
        }
        let (wanted, running) = pods(&live);
        if let Some(what) = too_few(&live, wanted, running) {
            return Ok(Some(format!("{}: {what}", title(object))));
        }
    }
    Ok(None)
}

async fn nodes(client: &KubeClient) -> Result<Vec<Node>, ApiError> {
    Ok(client.get::<List<Node>>("/api/v1/nodes").await?.items)
}

/// Returns how many nodes can run a new pod, one each: the Ready ones, and for a Deployment only those that are not cordoned. Another check
/// reports a node whose machine is gone.
fn places(nodes: &[Node], of_daemon_set: bool) -> i64 {
    nodes.iter().filter(|node| node.is_ready() && (of_daemon_set || !node.spec.unschedulable)).count() as i64
}

#[async_trait(?Send)]
impl Step for Ready {
    fn id(&self) -> StepId {
        StepId::Ready
    }

    fn title(&self) -> String {
        "wait for the node to be Ready and the addons to run".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if ready(cx).await.is_continue() {
            return Ok(State::needed(self.title()));
        }
        let workloads = workloads(cx)?;
        let mut lacking = lacking(cx, &workloads, self.rolled_out).await?;
        if self.rolled_out && lacking.is_none() {
            lacking =
                outdated(cx, &workloads).await?.map(|(_, outdated, _)| format!("{}: replace its pods", outdated.name));
        }
        Ok(State::of(lacking.into_iter().collect()))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let workloads = workloads(cx)?;
        wait_until_ready(cx, async || lacking(cx, &workloads, self.rolled_out).await).await?;
        if self.rolled_out { roll_out(cx, &workloads).await } else { Ok(()) }
    }
}

/// Waits until `lacking` returns nothing.
pub(super) async fn wait_until_ready(
    cx: &Context,
    lacking: impl AsyncFn() -> Result<Option<String>, StepError>,
) -> Result<(), StepError> {
    let look = async || match lacking().await {
        Ok(None) => ControlFlow::Break(()),
        Ok(Some(what)) => ControlFlow::Continue(what),
        Err(e) => ControlFlow::Continue(e.to_string()),
    };
    let wait = Wait::new("a Ready node with running addons", cx.cluster.timeouts.node);
    let wait = wait.at_most_every(Duration::from_millis(100));
    wait.until(look).await.map_err(|late| StepError::from(late).hint(HINT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cordoned_node_takes_only_pods_of_daemon_sets() {
        let node = |ready: &str, cordoned: bool| {
            let conditions = json!([{"type": "Ready", "status": ready}]);
            serde_json::from_value(json!({"spec": {"unschedulable": cordoned}, "status": {"conditions": conditions}}))
        };
        let nodes = [node("True", false), node("True", true), node("Unknown", false)].map(Result::unwrap);
        assert_eq!((places(&nodes, true), places(&nodes, false)), (2, 1));
    }

    /// One of three nodes is down: Kubernetes replaces no pod.
    #[test]
    fn pods_that_are_not_replaced_run_nevertheless() {
        let daemon = |strategy: &str, updated: i64, observed: i64| {
            let status = json!({
                "desiredNumberScheduled": 3, "numberAvailable": 2, "updatedNumberScheduled": updated, "observedGeneration": observed
            });
            let metadata = json!({"name": "a", "generation": 2});
            json!({"kind": "DaemonSet", "metadata": metadata, "spec": {"updateStrategy": {"type": strategy}}, "status": status})
        };
        assert_eq!(pods(&daemon("RollingUpdate", 0, 2)), (3, 2));
        assert_eq!(too_few(&daemon("RollingUpdate", 0, 2), 2, 2), None);
        let outdated = |current, wanted| Some(Outdated { name: "DaemonSet a".into(), current, wanted });
        assert_eq!(replacing(&daemon("RollingUpdate", 1, 2), 3), outdated(1, 3));
        assert_eq!(replacing(&daemon("RollingUpdate", 1, 2), 2), outdated(1, 2), "one of two Ready nodes");
        assert_eq!(replacing(&daemon("RollingUpdate", 2, 2), 2), None, "the third node is down");
        assert_eq!(replacing(&daemon("RollingUpdate", 3, 2), 3), outdated(2, 3), "one does not run yet");
        assert_eq!(
            replacing(&daemon("RollingUpdate", 3, 1), 3),
            outdated(0, 3),
            "the controller has not seen the change"
        );
        assert_eq!(replacing(&daemon("OnDelete", 0, 2), 3), None);
    }
}
