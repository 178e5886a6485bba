//! Lets API servers verify the serving certificates of kubelets: in a new cluster from the start; in one that ran without the agent, only
//! when every kubelet has a certificate of the cluster's CA. Before that, `kubectl logs` would fail.

use super::{
    cluster::{Objects, client},
    kubelet,
    static_pods::{self, Healthy},
};
use crate::{
    api::{
        connection::{HttpError, get_tls},
        kube::{
            client_tls,
            types::{List, Node},
        },
    },
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    pki::catalog,
    render::Renderer,
    steps::pki::{certificate_path, key_path},
};
use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use nodeinit_base::{Wait, with_causes};
use nodeinit_config::{Component, cluster::Role};
use rustls::ClientConfig;
use std::{
    net::{IpAddr, SocketAddr},
    ops::ControlFlow,
    sync::Arc,
    time::Duration,
};

/// How long the step waits for kubelets. A kubelet requests its certificate within seconds after its start, and the agent approves it
/// at once. A kubelet that does not request one never gets one.
const GRACE: Duration = Duration::from_secs(20);

/// Limit for the kubelet of a Ready node to answer.
const LOOK_LIMIT: Duration = Duration::from_secs(5);

/// How many kubelets are asked at once.
const AT_ONCE: usize = 32;

/// The message has the reasons of this many kubelets, and the number of the others.
const NAMED: usize = 5;

/// Step `verify-kubelets`: lets this master's API server verify kubelets.
pub struct VerifyKubelets;

#[async_trait(?Send)]
impl Step for VerifyKubelets {
    fn id(&self) -> StepId {
        StepId::VerifyKubelets
    }

    fn title(&self) -> String {
        "let the API server verify the kubelets' certificates".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(if cx.renderer().verify_kubelets || cx.rollout.keeps_static_pods {
            State::Done
        } else {
            State::needed(self.title())
        })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let tls = Arc::new(as_api_server(cx)?);
        // The kubelets that did not answer, if there was no other problem.
        let mut silent = None;
        let look = async || {
            let found = unverified(cx, &tls).await;
            silent = found.as_ref().ok().filter(|found| found.other.is_empty()).map(|found| summary(&found.silent));
            match found {
                Ok(found) if found.other.is_empty() && found.silent.is_empty() => ControlFlow::Break(()),
                Ok(found) => ControlFlow::Continue(summary(&[found.other, found.silent].concat())),
                Err(e) => ControlFlow::Continue(e.to_string()),
            }
        };
        let wait =
            Wait::new("kubelet certificates of the cluster's CA", GRACE).at_most_every(Duration::from_millis(500));
        let ended = wait.until(look).await;
        if let (Err(_), Some(silent)) = (&ended, silent) {
            // For these, `kubectl logs` fails in either case.
            cx.report.note(
                &self.name(),
                format!("kube-apiserver verifies kubelets from now on; these did not answer: {silent}"),
            );
        } else if let Err(late) = ended {
            cx.report.note(
                &self.name(),
                format!("kube-apiserver does not verify kubelets yet, because not all have a certificate of the cluster's CA: {}", late.seen),
            );
            cx.report.note(
                &self.name(),
                "run `nodeinit up` on workers without SSH access; on nodes that kubeadm joined, set `serverTLSBootstrap: true` in \
                 /var/lib/kubelet/config.yaml and restart the kubelet; approve what `kubectl get csr` lists as pending; then run `nodeinit up` here again",
            );
            return Ok(());
        }
        let manifest = static_pods::api_server_manifest(&Renderer { verify_kubelets: true, ..cx.renderer() })?;
        cx.place(vec![manifest]).await?;
        // A running kubelet takes half a minute longer to replace the API server's pod than one that has just started.
        kubelet::restart(cx).await?;
        Healthy(Component::ApiServer).apply(cx).await?;
        // `kubeadm-config` has the flags of the API server.
        if cx.node.role == Role::FirstMaster { Objects::Bootstrap.apply(cx).await } else { Ok(()) }
    }
}

/// Returns a TLS configuration for kubelets as the API server uses it: it verifies against the cluster's CA.
fn as_api_server(cx: &Context) -> Result<ClientConfig, StepError> {
    let read = |path: std::path::PathBuf| {
        let missing =
            StepError::new(format!("{} is missing", path.display())).hint("run `nodeinit up`, which creates it");
        cx.files.read_secret(&path)?.ok_or(missing)
    };
    let ca = read(certificate_path(catalog::Ca::Kubernetes.base()))?;
    let base = "apiserver-kubelet-client";
    let mut tls = client_tls(ca.expose(), read(certificate_path(base))?.expose(), read(key_path(base))?.expose())
        .map_err(|reason| StepError::new(format!("cannot use the API server's certificate for kubelets: {reason}")))?;
    // HTTP/1.1.
    tls.alpn_protocols.clear();
    Ok(tls)
}

/// The Ready nodes whose kubelets were not verified, with the reasons. For other nodes, `kubectl logs` fails anyway.
#[derive(Debug, Default)]
struct Unverified {
    /// Their certificate is not from the cluster's CA.
    other: Vec<String>,
    /// They do not answer, so `kubectl logs` fails with and without verification.
    silent: Vec<String>,
}

async fn unverified(cx: &Context, tls: &Arc<ClientConfig>) -> Result<Unverified, StepError> {
    let list = client(cx)?.get("/api/v1/nodes").await;
    let list: List<Node> = list.map_err(|e| StepError::caused("cannot list the nodes", e))?;
    let ready = list.items.iter().filter(|node| node.is_ready());
    let looks = ready.map(|node| async move {
        let (is_silent, why) = match address(node) {
            None => (true, "reports no address".to_owned()),
            Some(address) => match get_tls(address, tls.clone(), "/healthz", &[], LOOK_LIMIT).await {
                Ok(_) => return None,
                Err(e) => (
                    is_silence(&e),
                    if let HttpError::Connect { source, .. } = e { with_causes(&source) } else { with_causes(&e) },
                ),
            },
        };
        Some((is_silent, format!("{} ({why})", node.metadata.name)))
    });
    let mut found = Unverified::default();
    let mut looks = stream::iter(looks).buffer_unordered(AT_ONCE);
    while let Some(look) = looks.next().await {
        if let Some((is_silent, why)) = look {
            if is_silent { found.silent.push(why) } else { found.other.push(why) }
        }
    }
    Ok(found)
}

/// Whether there was no answer, rather than an answer with another certificate.
fn is_silence(error: &HttpError) -> bool {
    match error {
        HttpError::TimedOut { .. } => true,
        HttpError::Connect { source, .. } => !source.get_ref().is_some_and(|cause| cause.is::<rustls::Error>()),
        _ => false,
    }
}

/// Returns the address at which a node's kubelet serves.
fn address(node: &Node) -> Option<SocketAddr> {
    let addresses = &node.status.addresses;
    // The order of `--kubelet-preferred-address-types` of the API servers.
    let of = |kind: &str| addresses.iter().find(|address| address.kind == kind)?.address.parse().ok();
    let address: IpAddr = ["InternalIP", "ExternalIP"].into_iter().find_map(of)?;
    let port = node.status.daemon_endpoints.kubelet_endpoint.port;
    Some(SocketAddr::new(address, u16::try_from(port.unwrap_or(10250)).ok()?))
}

fn summary(left: &[String]) -> String {
    let mut text = left.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if left.len() > NAMED {
        text += &format!(" and {} more", left.len() - NAMED);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        context::testing::context,
        steps::pki::{Pki, testing::run},
    };
    use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
    use serde_json::{Value, json};
    use tokio::{io::AsyncWriteExt, net::TcpListener};

    #[test]
    fn a_kubelet_is_asked_at_the_address_that_the_api_server_uses() {
        let node = |addresses: Value, port: Value| -> Node {
            let endpoints = json!({"kubeletEndpoint": {"Port": port}});
            let node = json!({"status": {"addresses": addresses, "daemonEndpoints": endpoints}});
            serde_json::from_value(node).unwrap()
        };
        let both =
            json!([{"type": "ExternalIP", "address": "192.0.2.1"}, {"type": "InternalIP", "address": "fd00::1"}]);
        assert_eq!(address(&node(both, json!(10251))), Some("[fd00::1]:10251".parse().unwrap()));
        let external = json!([{"type": "Hostname", "address": "w1"}, {"type": "ExternalIP", "address": "192.0.2.1"}]);
        assert_eq!(address(&node(external, Value::Null)), Some("192.0.2.1:10250".parse().unwrap()));
        assert_eq!(address(&Node::default()), None);
    }

    #[tokio::test]
    async fn a_kubelet_that_does_not_answer_is_distinguished_from_a_wrong_certificate() {
        let (_dir, cx) = context();
        run(&Pki, &cx).await.unwrap();
        let (_other_dir, other) = context();
        run(&Pki, &other).await.unwrap();
        let tls = Arc::new(as_api_server(&cx).unwrap());
        let is_silent = async |address| {
            let answer = get_tls(address, tls.clone(), "/healthz", &[], Duration::from_secs(5)).await;
            is_silence(&answer.unwrap_err())
        };
        let read = |path| other.files.read(path).unwrap().unwrap();
        let certificate = CertificateDer::from_pem_slice(&read(certificate_path("apiserver"))).unwrap();
        let key = PrivateKeyDer::from_pem_slice(&read(key_path("apiserver"))).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serve = async {
            let stream = listener.accept().await.unwrap().0;
            let _ = tokio_rustls::TlsAcceptor::from(Arc::new(config)).accept(stream).await;
        };
        assert!(!tokio::join!(is_silent(address), serve).0, "another CA's");
        let garbage = async {
            let mut stream = listener.accept().await.unwrap().0;
            let _ = stream.write_all(b"220 smtp.example.org ready\r\n").await;
        };
        assert!(!tokio::join!(is_silent(address), garbage).0, "no TLS");
        drop(listener);
        assert!(is_silent(address).await, "nobody listens");
    }

    #[test]
    fn a_message_names_the_first_of_many() {
        let names: Vec<String> = (1..=7).map(|n| format!("w{n} (why)")).collect();
        assert_eq!(summary(&names[..2]), "w1 (why), w2 (why)");
        assert!(summary(&names).ends_with("w5 (why) and 2 more"));
    }
}
