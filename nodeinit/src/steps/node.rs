//! This machine's Node object in the API, and the pods on it.

use super::{
    cluster::{client, ready},
    kubelet, static_pods,
};
use crate::{
    api::{
        cri::{self, ContainerState, Cri},
        kube::types::{self, Pod},
    },
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    host::processes,
    render::cluster_objects::{RegisteredNode, node_patch},
};
use async_trait::async_trait;
use nodeinit_base::Wait;
use serde_json::Value;
use std::{ops::ControlFlow, path::Path, time::Duration};

/// Step `node`: waits until the kubelet has registered this node, and sets its labels and taints.
pub struct RegisterNode;

/// How long the restart of the kubelet is delayed for containers that it is starting.
const STATIC_PODS_LIMIT: Duration = Duration::from_secs(5);

/// Returns the node, if the kubelet has registered it.
pub(super) async fn node(cx: &Context) -> Result<Option<types::Node>, StepError> {
    let path = format!("/api/v1/nodes/{}", cx.node.name);
    client(cx)?.find(&path).await.map_err(|e| StepError::caused(format!("cannot read node {}", cx.node.name), e))
}

/// The JSON merge patch for what the node lacks of its labels and taints; `None` where it has them all.
pub(super) fn patch(cx: &Context, node: &types::Node) -> Option<Value> {
    let current = RegisteredNode {
        resource_version: &node.metadata.resource_version,
        labels: &node.metadata.labels,
        taints: &node.spec.taints,
    };
    node_patch(&cx.renderer(), current)
}

/// Returns the pods on this machine's node.
pub(super) async fn own_pods(cx: &Context) -> Result<Vec<Pod>, StepError> {
    let pods = client(cx)?.pods_on(&cx.node.name).await;
    pods.map_err(|e| StepError::caused("cannot list this node's pods", e))
}

/// Returns the first pod that is Ready only in the API: one of its containers is gone. After a power cut, the API keeps each pod's last
/// status until the kubelet reports again.
pub(super) async fn outdated_pod(cx: &Context, pods: &[Pod]) -> Result<Option<String>, StepError> {
    let listed = async { Cri::connect(cx.files.real(Path::new(cri::SOCKET))).await?.containers().await };
    let containers = listed.await.map_err(|e| StepError::caused("cannot list this machine's containers", e))?;
    let running = containers.iter().filter(|container| container.state == ContainerState::Running);
    let running: Vec<&str> = running.map(|container| container.id.as_str()).collect();
    Ok(pods.iter().find(|pod| is_outdated(pod, &running)).map(|pod| {
        let name = &pod.metadata.name;
        format!("pod {name}: the kubelet has not reported yet that its containers ended")
    }))
}

/// Whether a pod is Ready although one of its containers does not run.
fn is_outdated(pod: &Pod, running: &[&str]) -> bool {
    let mut ids = pod.status.container_statuses.iter().filter_map(|status| status.container_id.split_once("://"));
    pod.is_ready() && ids.any(|(_, id)| !running.contains(&id))
}

/// Whether the kubelet communicates with the API server: its node is Ready, or it has started a pod that is not static.
async fn works(cx: &Context) -> Result<bool, StepError> {
    match node(cx).await? {
        None => return Ok(false),
        Some(node) if node.is_ready() => return Ok(true),
        Some(_) => {}
    }
    Ok(own_pods(cx).await?.iter().any(has_started))
}

/// Whether a pod from the API has a started container. Each watch of the kubelet has its own back-off: it may have accepted the
/// pod long before it has read the Services, without which it starts no container of such a pod.
fn has_started(pod: &Pod) -> bool {
    let mut containers = pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses);
    !pod.is_static()
        && containers.any(|container| container.state.as_ref().is_some_and(|state| state.waiting.is_none()))
}

#[async_trait(?Send)]
impl Step for RegisterNode {
    fn id(&self) -> StepId {
        StepId::Node
    }

    fn title(&self) -> String {
        "register, label and taint the node".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if ready(cx).await.is_continue() {
            return Ok(State::needed(self.title()));
        }
        let Some(node) = node(cx).await? else { return Ok(State::needed(self.title())) };
        Ok(if patch(cx, &node).is_some() { State::needed("label and taint the node") } else { State::Done })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let path = format!("/api/v1/nodes/{}", cx.node.name);
        if !works(cx).await? {
            // Without an API server, the kubelet's watches and its registration entered a back-off of up to 30 s. A restart takes half
            // a second, but a container that the kubelet has created and not yet started would be created again.
            let started = Wait::new("the containers of all static pods", STATIC_PODS_LIMIT);
            let commands = static_pods::commands(cx)?;
            let look = async || match commands.iter().all(|command| processes::runs(&cx.files, command)) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue("some do not run yet".into()),
            };
            // Another step reports a container that does not start.
            let _ = started.until(look).await;
            kubelet::restart(cx).await?;
        }
        let client = client(cx)?;
        let attempt = async || {
            let patch = match client.find(&path).await {
                Ok(Some(node)) => patch(cx, &node),
                Ok(None) => return ControlFlow::Continue("the kubelet has not registered it yet".into()),
                Err(e) => return ControlFlow::Continue(e.to_string()),
            };
            let Some(patch) = patch else { return ControlFlow::Break(()) };
            match client.merge(&path, &patch).await {
                Ok(_) => ControlFlow::Break(()),
                Err(e) => ControlFlow::Continue(e.to_string()),
            }
        };
        let wait = Wait::new(format!("the registration of node {}", cx.node.name), cx.cluster.timeouts.node);
        let hint = "see `journalctl -u kubelet`, then run the same command again";
        wait.until(attempt).await.map_err(|late| StepError::from(late).hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(pod: Value) -> Pod {
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn a_pod_that_is_ready_without_its_containers_is_outdated() {
        let pod = |ready: &str, id: &str| {
            read(json!({"status": {
                "conditions": [{"type": "Ready", "status": ready}],
                "containerStatuses": [{"containerID": "containerd://1"}, {"containerID": id}],
            }}))
        };
        assert!(!is_outdated(&pod("True", "containerd://2"), &["1", "2", "3"]));
        assert!(is_outdated(&pod("True", "containerd://2"), &["1", "3"]));
        assert!(!is_outdated(&pod("False", "containerd://2"), &[]));
        assert!(!is_outdated(&read(json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})), &[]));
    }

    #[test]
    fn an_accepted_pod_has_not_started() {
        let pod = |state: Value| read(json!({"status": {"startTime": "t", "containerStatuses": [{"state": state}]}}));
        assert!(has_started(&pod(json!({"running": {}}))) && has_started(&pod(json!({"terminated": {}}))));
        assert!(!has_started(&pod(json!({"waiting": {"reason": "ContainerCreating"}}))));
        assert!(!has_started(&read(json!({"status": {"startTime": "t"}}))));
        let mut mirror = pod(json!({"running": {}}));
        mirror.metadata.annotations.insert("kubernetes.io/config.mirror".into(), "x".into());
        assert!(!has_started(&mirror));
    }
}
