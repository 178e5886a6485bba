//! One attempt to join at one endpoint.

use super::{
    JoinRequest, Joined, MachineIdentity,
    error::{JoinError, Obstacle},
    trust::{Seen, tls},
};
use crate::{
    api::{
        connection::HttpError,
        kube::{
            ApiError, Event, KubeClient, LONGEST_OBJECT,
            types::{CertificateRequest, Node},
        },
    },
    pki::{Certificate, fault, request::client_request},
};
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use hyper::StatusCode;
use nodeinit_base::with_causes;
use nodeinit_config::{Secret, cluster::Endpoint, yaml};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use std::{
    io,
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// Source: `k8s.io/api/certificates/v1`.
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";

/// Where the CA is published for clients that have its pin. Source: `k8s.io/cluster-bootstrap`.
const CLUSTER_INFO: &str = "/api/v1/namespaces/kube-public/configmaps/cluster-info";

/// Limit for a connection before the next endpoint is tried.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Why an attempt ended.
pub(super) enum Stop {
    /// A retry does not help.
    ForGood(JoinError),
    /// A retry may help.
    Now(Obstacle),
}

impl From<JoinError> for Stop {
    fn from(error: JoinError) -> Self {
        Self::ForGood(error)
    }
}

/// The progress so far, from which a later attempt continues.
pub(super) struct Attempt<'a> {
    join: &'a JoinRequest<'a>,
    ca: Option<String>,
    /// Whether the name is free or belongs to this machine.
    named: bool,
    /// Whether the API has the request.
    requested: bool,
    requests: u32,
    /// The CertificateSigningRequest's name.
    name: String,
    pem: String,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(join: &'a JoinRequest<'a>) -> Result<Self, JoinError> {
        let pem = client_request(&join.leaf(), join.key).map_err(JoinError::Request)?;
        // As in the kubelet (`digestedName`), so that the same key has the same request. Another token has another request, so the
        // fate of the former token's request does not matter.
        let token = join.token.expose().split_once('.').unwrap_or_default().0;
        let of = [&join.key.pin()[..], join.node.as_bytes(), b".", token.as_bytes()].concat();
        let name = format!("node-csr-{}", BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, &of)));
        let ca = join.trust.ca.clone();
        Ok(Self { join, ca, named: false, requested: false, requests: 0, name, pem })
    }

    /// Returns the obstacle if the deadline passed during an attempt.
    pub(super) fn unanswered(&self) -> Obstacle {
        if self.requested { Obstacle::Unsigned(self.name.clone()) } else { Obstacle::Silent }
    }

    pub(super) async fn run(
        &mut self,
        endpoint: &Endpoint,
        client: &mut Option<KubeClient>,
        seen: &Arc<Seen>,
        left: Duration,
    ) -> Result<Joined, Stop> {
        let bad_tls = |e| Stop::Now(Obstacle::NotApi(e));
        let ca = match &self.ca {
            Some(ca) => ca.clone(),
            None => {
                let asked = KubeClient::new(endpoint.clone(), tls(None, seen.clone()).map_err(bad_tls)?);
                let asked = asked.connect_within(CONNECT_LIMIT).with_answers_up_to(LONGEST_OBJECT);
                self.published(&asked, seen).await?
            }
        };
        let client = match client {
            Some(client) => client,
            none => {
                let token = Secret::new(self.join.token.expose().clone());
                let new = KubeClient::new(endpoint.clone(), tls(Some(&ca), seen.clone()).map_err(bad_tls)?);
                none.insert(new.with_token(token).connect_within(CONNECT_LIMIT))
            }
        };
        if !self.named {
            self.look_at_name(client, seen).await?;
        }
        if !self.requested {
            self.request(client, seen).await?;
        }
        let certificate = self.signed(client, seen, left).await?;
        self.check(&certificate, &ca)?;
        Ok(Joined { certificate, ca, requests: self.requests })
    }

    /// Counts a request, unless there was no connection.
    fn counted<T>(&mut self, answer: Result<T, ApiError>) -> Result<T, ApiError> {
        let unsent = matches!(
            answer,
            Err(ApiError::Http(HttpError::Connect { .. } | HttpError::Resolve { .. } | HttpError::Closed { .. }))
        );
        self.requests += u32::from(!unsent);
        answer
    }

    /// Requests the CA anonymously, over unverified TLS, and compares it with the pin.
    async fn published(&mut self, client: &KubeClient, seen: &Seen) -> Result<String, Stop> {
        let info = client.get::<Value>(CLUSTER_INFO).await;
        let info = self.counted(info).map_err(|e| passing(e, seen))?;
        let odd = || Stop::Now(Obstacle::NotApi("its cluster-info contains no CA".into()));
        let config = yaml::document(info["data"]["kubeconfig"].as_str().ok_or_else(odd)?).map_err(|_| odd())?;
        let ca = config["clusters"][0]["cluster"]["certificate-authority-data"].as_str().ok_or_else(odd)?;
        let ca = BASE64_STANDARD.decode(ca).ok().and_then(|ca| String::from_utf8(ca).ok()).ok_or_else(odd)?;
        match self.join.trust.fits(&ca) {
            Ok(()) => Ok(self.ca.insert(ca).clone()),
            Err(_) => Err(Stop::Now(Obstacle::Untrusted(seen.issuer()))),
        }
    }

    /// Checks that the token is known and the name is free.
    async fn look_at_name(&mut self, client: &KubeClient, seen: &Seen) -> Result<(), Stop> {
        let found = client.find::<Node>(&format!("/api/v1/nodes/{}", self.join.node)).await;
        let found = self.counted(found).map_err(|e| passing(e, seen))?;
        if let Some(node) = found.filter(|node| !self.join.machine.is(node)) {
            let info = &node.status.node_info;
            let uuid = if info.system_uuid.is_empty() { "unknown" } else { &info.system_uuid };
            let theirs = format!("{}, system UUID {uuid}", info.machine_id);
            let ours = &self.join.machine;
            let ours = format!("{}, system UUID {}", ours.id, ours.system_uuid.as_deref().unwrap_or("unknown"));
            return Err(JoinError::Taken { node: self.join.node.to_owned(), theirs, ours }.into());
        }
        self.named = true;
        Ok(())
    }

    async fn request(&mut self, client: &KubeClient, seen: &Seen) -> Result<(), Stop> {
        // The kubelet's request with an ECDSA key (`requestNodeCertificate`); the signer chooses the validity.
        let object = json!({
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": self.name},
            "spec": {
                "request": BASE64_STANDARD.encode(&self.pem),
                "signerName": SIGNER,
                "usages": ["digital signature", "client auth"],
            },
        });
        let made = client.create(REQUESTS, &object).await;
        match self.counted(made) {
            // The request of an earlier run with the same key.
            Err(ApiError::Refused { status: StatusCode::CONFLICT, .. }) | Ok(_) => {
                self.requested = true;
                Ok(())
            }
            Err(e) => Err(passing(e, seen)),
        }
    }

    /// Watches the request until it contains a certificate.
    async fn signed(&mut self, client: &KubeClient, seen: &Seen, left: Duration) -> Result<String, Stop> {
        let (name, seconds) = (self.name.clone(), left.as_secs() + 1);
        let path = format!("{REQUESTS}?watch=true&fieldSelector=metadata.name%3D{name}&timeoutSeconds={seconds}");
        let look = |event| match event {
            Event::Deleted(_) => ControlFlow::Break(None),
            Event::Present(object) => match verdict(&name, &object) {
                Some(verdict) => ControlFlow::Break(Some(verdict)),
                None => ControlFlow::Continue(()),
            },
        };
        let unsigned = || Stop::Now(Obstacle::Unsigned(name.clone()));
        let watched = client.watch(path.as_str(), look).await;
        match self.counted(watched) {
            Ok(Some(Some(verdict))) => Ok(verdict?),
            Ok(Some(None)) => {
                self.requested = false;
                Err(unsigned())
            }
            Ok(None) => Err(unsigned()),
            Err(e) => Err(passing(e, seen)),
        }
    }

    fn check(&self, pem: &str, ca: &str) -> Result<(), JoinError> {
        let bad = |e: crate::pki::PkiError| JoinError::Certificate(e.to_string());
        let certificate = Certificate::from_pem(pem.as_bytes()).map_err(bad)?;
        let ca = Certificate::from_pem(ca.as_bytes()).map_err(bad)?;
        let faults = fault::of_leaf(&certificate, self.join.key, &self.join.leaf(), &ca, SystemTime::now());
        match faults.first() {
            Some(fault) => Err(JoinError::Certificate(fault.to_string())),
            None => Ok(()),
        }
    }
}

/// Returns the decision about a request; `None` if it is undecided.
fn verdict(name: &str, object: &CertificateRequest) -> Option<Result<String, JoinError>> {
    for (kind, verdict) in [("Denied", "denied"), ("Failed", "failed")] {
        if let Some(condition) = object.status.conditions.iter().find(|condition| condition.kind == kind) {
            let message = format!("{} ({})", condition.message, condition.reason);
            return Some(Err(JoinError::Refused { request: name.to_owned(), verdict, message }));
        }
    }
    let certificate = &object.status.certificate;
    if certificate.is_empty() {
        return None;
    }
    let pem = BASE64_STANDARD.decode(certificate).ok().and_then(|pem| String::from_utf8(pem).ok());
    Some(pem.ok_or_else(|| JoinError::Certificate("it is not PEM".into())))
}

impl MachineIdentity {
    /// Whether a Node is this machine. Cloned images share their machine-id, and many machines have the same firmware UUID:
    /// both must match.
    fn is(&self, node: &Node) -> bool {
        let info = &node.status.node_info;
        // A node without a report of its kubelet belongs to no machine yet.
        if info.machine_id.is_empty() {
            return true;
        }
        let uuid = Some(info.system_uuid.as_str()).filter(|uuid| !uuid.is_empty());
        let same = self.system_uuid.as_deref().zip(uuid).is_none_or(|(own, other)| own.eq_ignore_ascii_case(other));
        info.machine_id == self.id && same
    }
}

/// Maps an error to the decision to stop or to retry.
fn passing(error: ApiError, seen: &Seen) -> Stop {
    Stop::Now(match error {
        ApiError::Refused { status: StatusCode::UNAUTHORIZED, .. } => Obstacle::Token,
        ApiError::Refused { status: StatusCode::FORBIDDEN, message, .. } => Obstacle::Forbidden(message),
        ApiError::Refused { status, request, message } if status.is_server_error() || status.as_u16() == 429 => {
            Obstacle::Busy(format!("it answered {status} to {request}: {message}"))
        }
        ApiError::Http(HttpError::Connect { source, address }) => connect(&source, address.to_string(), seen),
        ApiError::Http(HttpError::TimedOut { .. }) => Obstacle::Silent,
        ApiError::Http(error @ HttpError::TooLong { .. }) => Obstacle::NotApi(error.to_string()),
        ApiError::Http(error) => Obstacle::Unreachable(with_causes(&error)),
        other => Obstacle::NotApi(other.to_string()),
    })
}

/// Maps a failed connection or TLS handshake to an obstacle.
fn connect(error: &io::Error, address: String, seen: &Seen) -> Obstacle {
    use rustls::{CertificateError as Bad, Error as Tls};
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Tls>());
    match tls {
        Some(Tls::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature)) => Obstacle::Untrusted(seen.issuer()),
        Some(Tls::InvalidCertificate(bad)) => Obstacle::BadCertificate(bad.to_string()),
        Some(other) => Obstacle::NotTls(other.to_string()),
        None if error.kind() == io::ErrorKind::Unsupported => Obstacle::NotApi(error.to_string()),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            Obstacle::Unreachable(format!("{address} closes the connection before the TLS handshake"))
        }
        None if error.kind() == io::ErrorKind::TimedOut => Obstacle::Silent,
        None => Obstacle::Unreachable(format!("cannot reach {address}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::ServerConfig;
    use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
    use tokio::{io::AsyncWriteExt, net::TcpListener};
    use tokio_rustls::TlsAcceptor;

    #[test]
    fn a_node_is_this_machine_only_if_both_ids_match() {
        let node = |id: &str, uuid: &str| -> Node {
            let node = json!({"status": {"nodeInfo": {"machineID": id, "systemUUID": uuid}}});
            serde_json::from_value(node).unwrap()
        };
        let here = MachineIdentity { id: "aa".into(), system_uuid: Some("F0".into()) };
        assert!(here.is(&node("aa", "f0")) && here.is(&node("aa", "")) && here.is(&Node::default()));
        assert!(!here.is(&node("bb", "f0")), "the same firmware, another disk");
        assert!(!here.is(&node("aa", "f1")), "a clone");
        assert!(MachineIdentity { id: "aa".into(), system_uuid: None }.is(&node("aa", "f1")));
    }

    #[test]
    fn a_request_is_signed_or_refused_or_waits() {
        let of = |status: Value| verdict("csr", &serde_json::from_value(json!({"status": status})).unwrap());
        assert!(of(json!({})).is_none());
        assert!(of(json!({"conditions": [{"type": "Approved"}]})).is_none());
        let signed = of(json!({"conditions": [{"type": "Approved"}], "certificate": BASE64_STANDARD.encode("PEM")}));
        assert_eq!(signed.unwrap().unwrap(), "PEM");
        let denied = of(json!({"conditions": [{"type": "Denied", "reason": "Policy", "message": "no"}]}));
        assert_eq!(
            denied.unwrap().unwrap_err().to_string(),
            "the request csr for the kubelet's certificate was denied: no (Policy)"
        );
    }

    /// Starts a TLS server that announces a cluster-info of 10 GB. HTTP/2 frame by frame: RFC 9113, sections 4.1 and 6.
    async fn server_of_a_large_cluster_info() -> Endpoint {
        let key = crate::pki::Key::generate().unwrap();
        let certificate = crate::pki::authority::self_signed("kubernetes", &key, SystemTime::now()).unwrap();
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(key.pem().expose().as_bytes()).unwrap();
        let mut tls = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let Ok(mut stream) = TlsAcceptor::from(Arc::new(tls.clone())).accept(stream).await else { continue };
                let frame = |kind: u8, flags: u8, on: u8, content: &[u8]| {
                    [&[0, 0, content.len() as u8, kind, flags, 0, 0, 0, on], content].concat()
                };
                let headers = [b"\x88\x0f\x0d\x0b".as_slice(), b"10000000000"].concat();
                let answer = [frame(4, 0, 0, b""), frame(4, 1, 0, b""), frame(1, 4, 1, &headers), frame(0, 0, 1, b"{")];
                stream.write_all(&answer.concat()).await.unwrap();
                let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
            }
        });
        Endpoint { host: "127.0.0.1".into(), port }
    }

    #[tokio::test]
    async fn a_cluster_info_that_is_too_large_is_not_read() {
        let endpoints = [server_of_a_large_cluster_info().await];
        let trust = super::super::Trust::new(None, vec![[7; 32]]).unwrap();
        let (token, key) = (Secret::new("abcdef.0123456789abcdef".to_owned()), crate::pki::Key::generate().unwrap());
        let machine = MachineIdentity { id: "aa".into(), system_uuid: None };
        let join = JoinRequest {
            node: "w1",
            endpoints: &endpoints,
            trust: &trust,
            token: &token,
            key: &key,
            machine: &machine,
            limit: Duration::from_secs(10),
            spread: Duration::ZERO,
        };
        let error = join.run(|_| ()).await.unwrap_err().to_string();
        assert!(error.contains("configmaps/cluster-info") && error.contains("longer than 4 MiB"), "{error}");
    }
}
