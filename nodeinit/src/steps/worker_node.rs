//! The worker's own node, read with its kubelet's certificate at the cluster's endpoint.

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

/// Limit for one connection attempt.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// A watch ends this long before the deadline, so that its last state can be reported.
const MARGIN: Duration = Duration::from_millis(200);

/// The minimum time that a kubelet of a Ready node has for its serving certificate, even if the deadline is nearer.
const SERVING_MINIMUM: Duration = Duration::from_secs(10);

/// Pause after a broken watch.
const INTERVAL: Duration = Duration::from_secs(2);

/// Returns a client of the API as this machine's kubelet.
///
/// # Errors
/// If the kubelet has no certificate yet, or a damaged one.
pub fn client(cx: &Context) -> Result<KubeClient, StepError> {
    let missing =
        |path: &str| StepError::new(format!("{path} is missing")).hint("run `nodeinit up`, which requests it");
    let ca_path = certificate_path("ca");
    let ca = cx.files.read(&ca_path)?.ok_or_else(|| missing(&ca_path.display().to_string()))?;
    let both = cx.files.read(paths::KUBELET_CLIENT_CURRENT)?.ok_or_else(|| missing(paths::KUBELET_CLIENT_CURRENT))?;
    let tls = client_tls(&ca, &both, &both)
        .map_err(|reason| StepError::new(format!("cannot use the kubelet's certificate: {reason}")))?;
    Ok(KubeClient::new(cx.cluster.endpoint(cx.node.address), tls).connect_within(CONNECT_LIMIT))
}

/// Returns this machine's node; `None` if the cluster has none.
///
/// # Errors
/// Where the API does not answer, or the kubelet has no certificate.
pub async fn node(cx: &Context) -> Result<Option<Node>, StepError> {
    let found = client(cx)?.find(&format!("/api/v1/nodes/{}", cx.node.name)).await;
    found.map_err(|e| StepError::caused(format!("cannot read node {}", cx.node.name), e))
}

/// Step `ready` of a worker: waits until its node is Ready.
pub struct WorkerReady;

/// Whether the node is in the desired state, apart from its labels; otherwise returns what is missing.
fn ready(cx: &Context, node: &Node) -> Result<(), String> {
    // Without nodeinit's pod network, a node stays NotReady until somebody installs one.
    match node.not_ready() {
        Some(what) if cx.cluster.addons.cni != Cni::None => Err(what),
        _ => Ok(()),
    }
}

/// Returns why the kubelet has no valid serving certificate, if it requests one from the cluster. Without it, the API server refuses
/// to connect to the kubelet, and `kubectl logs` fails.
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

/// Returns labels that were added to the configuration after the node was registered, as a patch. A kubelet may not change its taints.
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
        // One watch sees the registration and all later changes; it is restarted only if it breaks.
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
        let hint = "see `journalctl -u kubelet`, then run the same command again";
        wait.until(attempt).await.map_err(|late| StepError::from(late).hint(hint))?;
        // Only this file shows it: a kubelet may not list certificate requests, and its own has a random name.
        let look = async || lacks_serving_certificate(cx).map_or(ControlFlow::Break(()), ControlFlow::Continue);
        let left = deadline.saturating_duration_since(Instant::now()).max(SERVING_MINIMUM);
        let hint = format!(
            "on a master, see `kubectl get csr` and `systemctl status nodeinit-agent`; for names that are not in the configuration, \
             run `nodeinit certs approve {name}`; then run the same command again"
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
    async fn an_expired_serving_certificate_counts_as_missing() {
        let (_dir, cx) = context();
        assert!(lacks_serving_certificate(&cx).unwrap().ends_with("is missing"));
        let (_dir, mut cx) = aged(400).await;
        assert!(lacks_serving_certificate(&cx).unwrap().contains("kubelet-server-current.pem expired at "));
        cx.clock = Clock::behind(400 * DAY);
        assert_eq!(lacks_serving_certificate(&cx), None);
    }
}
