//! Readiness of this node: it is Ready, and the addons of every node run on it.

use super::{
    cluster::ready,
    cluster_ready::{of_every_node, wait_until_ready},
    node::{node, outdated_pod, own_pods},
};
use crate::{
    api::kube::types::Pod,
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
};
use async_trait::async_trait;
use nodeinit_config::cluster::Cni;

/// Step `ready` of a master that is not the first: it ignores other nodes and their pods.
pub struct NodeReady;

/// Returns the names of the addons' DaemonSets.
fn daemons(cx: &Context) -> Result<Vec<String>, StepError> {
    let objects = of_every_node(cx)?;
    let daemons = objects.iter().filter(|object| object["kind"] == "DaemonSet");
    Ok(daemons.filter_map(|object| object["metadata"]["name"].as_str().map(str::to_owned)).collect())
}

/// Returns what is missing; `None` if everything is ready.
async fn lacking(cx: &Context, daemons: &[String]) -> Result<Option<String>, StepError> {
    let Some(node) = node(cx).await? else { return Ok(Some("the node is not registered".into())) };
    if cx.cluster.addons.cni != Cni::None
        && let Some(what) = node.not_ready()
    {
        return Ok(Some(what));
    }
    let pods = own_pods(cx).await?;
    if let Some(what) = outdated_pod(cx, &pods).await? {
        return Ok(Some(what));
    }
    let runs = |name: &String| pods.iter().any(|pod| is_of(pod, name) && pod.is_ready());
    Ok(daemons.iter().find(|name| !runs(name)).map(|name| format!("the pod of {name} is not ready on this node")))
}

/// Whether a pod belongs to a DaemonSet.
fn is_of(pod: &Pod, daemon_set: &str) -> bool {
    pod.metadata.owner_references.iter().any(|owner| owner.kind == "DaemonSet" && owner.name == daemon_set)
}

#[async_trait(?Send)]
impl Step for NodeReady {
    fn id(&self) -> StepId {
        StepId::Ready
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
        wait_until_ready(cx, async || lacking(cx, &daemons).await).await
    }
}
