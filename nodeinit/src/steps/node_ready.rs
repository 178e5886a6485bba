//! Whether this node works: it is Ready, and the addons that every node has run on it.

use super::cluster::{Objects, client, is_ready, node, ready, ready_condition};
use crate::{
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        wait::Wait,
    },
};
use async_trait::async_trait;
use nodeinit_config::cluster::Cni;
use serde_json::Value;
use std::{ops::ControlFlow, time::Duration};

/// Step `ready` of a master that is not the first: other nodes and what runs there are not its business.
pub struct NodeReady {
    /// The steps before it: all others.
    pub needs: Vec<String>,
}

/// The names of the DaemonSets of our addons.
fn daemons(cx: &Context) -> Result<Vec<String>, StepError> {
    let addons = &cx.cluster.addons;
    let mut objects = Vec::new();
    if addons.kube_proxy {
        objects.extend(Objects::KubeProxy.render(cx)?);
    }
    if addons.cni != Cni::None {
        objects.extend(Objects::Cni.render(cx)?);
    }
    let daemons = objects.iter().filter(|object| object["kind"] == "DaemonSet");
    Ok(daemons.filter_map(|object| object["metadata"]["name"].as_str().map(str::to_owned)).collect())
}

/// `None` where all is well, else what lacks.
async fn lacking(cx: &Context, daemons: &[String]) -> Result<Option<String>, StepError> {
    let Some(node) = node(cx).await? else { return Ok(Some("the node is not registered".into())) };
    if cx.cluster.addons.cni != Cni::None && !is_ready(&node) {
        let message = ready_condition(&node).and_then(|c| c["message"].as_str());
        return Ok(Some(format!("the node is not Ready: {}", message.unwrap_or("its kubelet has not reported yet"))));
    }
    let path = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{}", cx.node.name);
    let pods = client(cx)?.get(&path).await.map_err(|e| StepError::caused("cannot list this node's pods", e))?;
    let pods = pods["items"].as_array().map_or(&[][..], Vec::as_slice);
    let runs = |name: &String| pods.iter().any(|pod| is_of(pod, name) && is_ready(pod));
    Ok(daemons.iter().find(|name| !runs(name)).map(|name| format!("the pod of {name} is not ready on this node")))
}

/// Whether a pod is a DaemonSet's.
fn is_of(pod: &Value, daemon_set: &str) -> bool {
    let owners = pod["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().any(|owner| owner["kind"] == "DaemonSet" && owner["name"] == daemon_set)
}

#[async_trait(?Send)]
impl Step for NodeReady {
    fn name(&self) -> String {
        "ready".into()
    }

    fn needs(&self) -> Vec<String> {
        self.needs.clone()
    }

    fn title(&self) -> String {
        "wait for the node to be Ready and the addons to run on it".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if ready(cx).await.is_continue() {
            return Ok(State::needed(self.title()));
        }
        Ok(State::of(lacking(cx, &daemons(cx)?).await?.into_iter().collect()))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let daemons = daemons(cx)?;
        let look = async || match lacking(cx, &daemons).await {
            Ok(None) => ControlFlow::Break(()),
            Ok(Some(what)) => ControlFlow::Continue(what),
            Err(e) => ControlFlow::Continue(e.to_string()),
        };
        let wait = Wait::new("a Ready node with running addons", cx.cluster.timeouts.node);
        let hint =
            "see `kubectl --kubeconfig /etc/kubernetes/admin.conf get pods -A -o wide`, then run `nodeinit up` again";
        let wait = wait.at_most_every(Duration::from_millis(100));
        wait.until(look).await.map_err(|late| StepError::from(late).hint(hint))
    }
}
