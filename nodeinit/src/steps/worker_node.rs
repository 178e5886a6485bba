//! The worker's own node, as the worker itself may see it: with its kubelet's certificate, at the cluster's endpoint.

use crate::{
    api::kube::{Event, KubeClient, client_tls, types::Node},
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    pki::{Certificate, expiry::date},
    render::{kubelet::requests_serving_certificate, paths},
    steps::{node, pki::certificate_path},
};
use async_trait::async_trait;
use nodeinit_base::Wait;
use nodeinit_config::cluster::Cni;
use serde_json::Value;
use std::{ops::ControlFlow, time::Duration};
use tokio::time::Instant;

const NODES: &str = "/api/v1/nodes?watch=true";

/// A connection may take this long; the API is asked again after it.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// A watch ends so long before the deadline, so that what it saw last can be told.
const MARGIN: Duration = Duration::from_millis(200);

/// A kubelet whose node is Ready has this long for its serving certificate, whatever was left of the deadline.
const SERVING_MINIMUM: Duration = Duration::from_secs(10);

/// The pauses after a watch that broke.
const INTERVAL: Duration = Duration::from_secs(2);

/// A client of the API as this machine's kubelet.
///
/// # Errors
/// Where the kubelet has no certificate yet, or it is damaged.
pub fn client(cx: &Context) -> Result<KubeClient, StepError> {
    let missing = |path: &str| StepError::new(format!("{path} is missing")).hint("run `nodeinit up`: it asks for it");
    let ca_path = certificate_path("ca");
    let ca = cx.files.read(&ca_path)?.ok_or_else(|| missing(&ca_path.display().to_string()))?;
    let both = cx.files.read(paths::KUBELET_CLIENT_CURRENT)?.ok_or_else(|| missing(paths::KUBELET_CLIENT_CURRENT))?;
    let tls = client_tls(&ca, &both, &both)
        .map_err(|reason| StepError::new(format!("the kubelet's certificate cannot be used: {reason}")))?;
    Ok(KubeClient::new(cx.cluster.endpoint(cx.node.address), tls).connect_within(CONNECT_LIMIT))
}

/// This machine's node; `None` where the cluster has none.
///
/// # Errors
/// Where the API does not answer, or the kubelet has no certificate.
pub async fn node(cx: &Context) -> Result<Option<Node>, StepError> {
    let found = client(cx)?.find(&format!("/api/v1/nodes/{}", cx.node.name)).await;
    found.map_err(|e| StepError::caused(format!("cannot read node {}", cx.node.name), e))
}

/// Step `ready` of a worker.
pub struct WorkerReady;

/// Whether the node is as it should be, labels aside; else what lacks.
fn ready(cx: &Context, node: &Node) -> Result<(), String> {
    // Without a pod network of ours a node stays NotReady until somebody brings one.
    match node.not_ready() {
        Some(what) if cx.cluster.addons.cni != Cni::None => Err(what),
        _ => Ok(()),
    }
}

/// Why the kubelet has no valid serving certificate, if it requests one from the cluster: the API server refuses to connect to it, so that
/// `kubectl logs` fails.
fn lacks_serving_certificate(cx: &Context) -> Option<String> {
    if !requests_serving_certificate(&cx.cluster) {
        return None;
    }
    let path = paths::KUBELET_SERVER_CURRENT;
    match cx.files.read(path) {
        Ok(None) => Some(format!("{path} is missing")),
        Ok(Some(pem)) => match Certificate::from_pem(&pem) {
            Ok(certificate) if certificate.not_after > cx.clock.now() => None,
            Ok(certificate) => Some(format!("{path} expired at {}", date(certificate.not_after))),
            Err(e) => Some(format!("cannot read {path}: {e}")),
        },
        Err(e) => Some(e.to_string()),
    }
}

/// The labels that the configuration has gained since the node was registered, as a patch. Its taints a kubelet may not change.
fn labels(cx: &Context, node: &Node) -> Option<Value> {
    let mut patch = node::patch(cx, node)?;
    let labels = patch["metadata"]["labels"].take();
    labels.is_object().then(|| serde_json::json!({"metadata": {"labels": labels}}))
}

#[async_trait(?Send)]
impl Step for WorkerReady {
    fn id(&self) -> StepId {
        StepId::Ready
    }

    fn title(&self) -> String {
        "wait for the node to be Ready".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(match node(cx).await {
            Ok(Some(node)) => match (ready(cx, &node), labels(cx, &node)) {
                (Err(what), _) => State::needed(what),
                (Ok(()), Some(_)) => State::needed("label the node"),
                (Ok(()), None) if lacks_serving_certificate(cx).is_some() => {
                    State::needed("wait for the kubelet's serving certificate")
                }
                (Ok(()), None) => State::Done,
            },
            Ok(None) | Err(_) => State::needed(self.title()),
        })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let (client, name, limit) = (client(cx)?, &cx.node.name, cx.cluster.timeouts.node);
        let deadline = Instant::now() + limit;
        let mut last = String::from("the kubelet has not registered it yet");
        // One watch sees its registration and all that comes after; it is begun again only where it breaks.
        let attempt = async || {
            let look = |event| {
                last = match event {
                    Event::Deleted(_) => "the node was deleted".into(),
                    Event::Present(node) => match ready(cx, &node) {
                        Ok(()) => return ControlFlow::Break(node),
                        Err(what) => what,
                    },
                };
                ControlFlow::Continue(())
            };
            let left = deadline.saturating_duration_since(Instant::now()).as_secs();
            let path = format!("{NODES}&fieldSelector=metadata.name%3D{name}&timeoutSeconds={left}");
            match tokio::time::timeout_at(deadline - MARGIN, client.watch(&path, look)).await {
                Ok(Ok(Some(node))) => match labels(cx, &node) {
                    Some(patch) => label(&client, name, &patch).await,
                    None => ControlFlow::Break(()),
                },
                Ok(Err(e)) => ControlFlow::Continue(e.to_string()),
                Ok(Ok(None)) | Err(_) => ControlFlow::Continue(last.clone()),
            }
        };
        let wait = Wait::new(format!("node {name} to be Ready"), limit).at_most_every(INTERVAL);
        let hint = "see `journalctl -u kubelet`, then run `nodeinit up` again";
        wait.until(attempt).await.map_err(|late| StepError::from(late).hint(hint))?;
        // Only this file tells it: a kubelet may not read certificate requests of others, and its own has a random name.
        let look = async || lacks_serving_certificate(cx).map_or(ControlFlow::Break(()), ControlFlow::Continue);
        let left = deadline.saturating_duration_since(Instant::now()).max(SERVING_MINIMUM);
        let hint = format!(
            "on a master, see `kubectl get csr`, `systemctl status nodeinit-agent` and, for names that are not in the configuration, \
             run `nodeinit certs approve {name}`; then run `nodeinit up` again"
        );
        let wait = Wait::new(format!("the serving certificate of {name}'s kubelet"), left);
        wait.until(look).await.map_err(|late| StepError::from(late).hint(hint))
    }
}

async fn label(client: &KubeClient, name: &str, patch: &Value) -> ControlFlow<(), String> {
    match client.merge(&format!("/api/v1/nodes/{name}"), patch).await {
        Ok(_) => ControlFlow::Break(()),
        Err(e) => ControlFlow::Continue(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        context::testing::context,
        host::clock::Clock,
        steps::pki::testing::{DAY, aged},
    };

    #[tokio::test]
    async fn an_expired_serving_certificate_counts_as_none() {
        let (_dir, cx) = context();
        assert!(lacks_serving_certificate(&cx).unwrap().ends_with("is missing"));
        let (_dir, mut cx) = aged(400).await;
        assert!(lacks_serving_certificate(&cx).unwrap().contains("kubelet-server-current.pem expired at "));
        cx.clock = Clock::behind(400 * DAY);
        assert_eq!(lacks_serving_certificate(&cx), None);
    }
}
