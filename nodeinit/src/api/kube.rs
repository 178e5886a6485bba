//! A small client of the Kubernetes API: server-side apply, get, and health, over one HTTP/2 connection.
//!
//! Source: Kubernetes API concepts, "Server-Side Apply" and "API Discovery".

use crate::api::connection::{HTTP2, Http2, HttpError, whole};
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use nodeinit_config::{Secret, cluster::Endpoint, yaml};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    io,
    net::{IpAddr, SocketAddr},
    ops::ControlFlow,
    sync::Arc,
    time::Duration,
};
use tokio::{net::lookup_host, sync::Mutex};

/// The name under which our fields are owned in the cluster.
pub const FIELD_MANAGER: &str = "nodeinit";

/// One request to the API may take this long. An API server that is starting up can be slow.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// An object in etcd has at most 1.5 MiB; no event and no single object is much longer. In bytes.
pub const LONGEST_OBJECT: usize = 4 << 20;

/// The longest answer that is read, in bytes: a list of 5000 nodes has about 100 MB.
const LONGEST_ANSWER: usize = 512 << 20;

/// Why a request to the API did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// There was no answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The API refused.
    #[error("the API server answered {status} to {request}: {message}")]
    Refused {
        /// The HTTP status.
        status: StatusCode,
        /// Method and path.
        request: String,
        /// The API's own words.
        message: String,
    },
    /// A kubeconfig that cannot be used.
    #[error("{what} of the kubeconfig: {reason}")]
    Kubeconfig {
        /// Which part.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// An object that cannot be applied.
    #[error("{object}: {reason}")]
    Object {
        /// Kind and name.
        object: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An answer that is not what the API promises.
    #[error("the API server's answer to {request} cannot be read: {reason}")]
    Answer {
        /// Method and path.
        request: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl ApiError {
    /// Whether the object or the resource is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: StatusCode::NOT_FOUND, .. })
    }

    /// Whether trying again may help: no answer, too busy, or not ready yet.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Http(HttpError::TooLong { .. }) => false,
            Self::Http(error) => !error.is_untrusted(),
            // The address of a Service whose making was broken off is given back a moment later, or the Service is there.
            Self::Refused { status: StatusCode::UNPROCESSABLE_ENTITY, message, .. } => {
                message.contains("already allocated")
            }
            Self::Refused { status, .. } => {
                matches!(status.as_u16(), 403 | 404 | 409 | 429) || status.is_server_error()
            }
            _ => false,
        }
    }
}

/// An event of a watch.
#[derive(Deserialize)]
struct Event<'a, O> {
    #[serde(rename = "type")]
    kind: &'a str,
    object: O,
}

/// Splits what comes into lines; one that is longer than [`LONGEST_OBJECT`] is left out.
#[derive(Default)]
struct Lines {
    text: Vec<u8>,
    /// The line that `text` ends with began before it, and is too long.
    too_long: bool,
}

impl Lines {
    fn extend(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    /// The next line that is whole; called until there is none.
    fn next(&mut self) -> Option<Vec<u8>> {
        while let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
            let line = self.text.drain(..=end).collect();
            if !std::mem::take(&mut self.too_long) {
                return Some(line);
            }
        }
        if self.text.len() > LONGEST_OBJECT {
            self.too_long = true;
        }
        if self.too_long {
            self.text.clear();
        }
        None
    }
}

/// The API server of one address, spoken to as one user.
pub struct KubeClient {
    server: Endpoint,
    tls: Arc<ClientConfig>,
    token: Option<Secret<String>>,
    connect_limit: Duration,
    longest: usize,
    connection: Mutex<Option<Http2>>,
    /// By group and version.
    resources: Mutex<BTreeMap<String, Kinds>>,
}

/// The kinds of one group and version: plural, and whether they live in a namespace.
type Kinds = BTreeMap<String, (String, bool)>;

impl KubeClient {
    /// A client for the API server at `address`, with the CA and the client certificate of `kubeconfig` (its `server` is
    /// not used: a master speaks to its own API server).
    ///
    /// # Errors
    /// [`ApiError::Kubeconfig`] where a part is missing or malformed.
    pub fn from_kubeconfig(kubeconfig: &str, address: SocketAddr) -> Result<Self, ApiError> {
        let bad = |what| move |reason: String| ApiError::Kubeconfig { what, reason };
        let parsed = yaml::document(kubeconfig).map_err(|e| bad("YAML")(e.to_string()))?;
        let part = |list: &str, kind: &str, key: &'static str| {
            let text = parsed[list][0][kind][key].as_str().ok_or_else(|| bad(key)("there is none".into()))?;
            BASE64_STANDARD.decode(text).map_err(|e| bad(key)(e.to_string()))
        };
        let authority = part("clusters", "cluster", "certificate-authority-data")?;
        let certificate = part("users", "user", "client-certificate-data")?;
        let key = part("users", "user", "client-key-data")?;
        let tls = client_tls(&authority, &certificate, &key)
            .map_err(|reason| ApiError::Kubeconfig { what: "keys", reason })?;
        Ok(Self::new(Endpoint { host: address.ip().to_string(), port: address.port() }, tls))
    }

    /// A client for the API at `server`, a name or an address.
    #[must_use]
    pub fn new(server: Endpoint, tls: ClientConfig) -> Self {
        Self {
            server,
            tls: Arc::new(tls),
            token: None,
            connect_limit: REQUEST_LIMIT,
            longest: LONGEST_ANSWER,
            connection: Mutex::default(),
            resources: Mutex::default(),
        }
    }

    /// The same, with a bearer token.
    #[must_use]
    pub fn with_token(self, token: Secret<String>) -> Self {
        Self { token: Some(token), ..self }
    }

    /// The same, with so much time for a connection to be made.
    #[must_use]
    pub fn connect_within(self, limit: Duration) -> Self {
        Self { connect_limit: limit, ..self }
    }

    /// The same, which reads no answer of more than `bytes`.
    #[must_use]
    pub fn with_answers_up_to(self, bytes: usize) -> Self {
        Self { longest: bytes, ..self }
    }

    /// The open connection, or a new one to the first of the server's addresses that answers.
    async fn connection(&self) -> Result<Http2, HttpError> {
        let mut connection = self.connection.lock().await;
        if let Some(open) = connection.as_ref().filter(|c| !c.is_closed()) {
            return Ok(open.clone());
        }
        let host = &self.server.host;
        let unknown = |source| HttpError::Resolve { host: host.clone(), source };
        let name = ServerName::try_from(host.clone()).map_err(|e| unknown(io::Error::other(e)))?;
        let mut last = unknown(io::Error::from(io::ErrorKind::NotFound));
        for address in lookup_host((host.as_str(), self.server.port)).await.map_err(unknown)? {
            match Http2::connect(address, name.clone(), self.tls.clone(), self.connect_limit).await {
                Ok(new) => {
                    *connection = Some(new.clone());
                    return Ok(new);
                }
                Err(e) => last = e,
            }
        }
        Err(last)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<Request<Full<Bytes>>, HttpError> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("https://{}{path}", self.server))
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, content_type);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {}", token.expose()));
        }
        request.body(Full::from(body)).map_err(|source| HttpError::Request { path: path.into(), source })
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Bytes), ApiError> {
        let request = self.request(method, path, content_type, body)?;
        Ok(self.connection().await?.send(request, self.longest, REQUEST_LIMIT).await?)
    }

    async fn json<O: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<O, ApiError> {
        let request = format!("{method} {path}");
        let (status, answer) = self.send(method, path, content_type, body).await?;
        if !status.is_success() {
            return Err(refused(status, request, &answer));
        }
        serde_json::from_slice(&answer).map_err(|e| ApiError::Answer { request, reason: e.to_string() })
    }

    /// The answer of a health address such as `/readyz`: its status and text.
    ///
    /// # Errors
    /// [`ApiError::Http`] where there is no answer.
    pub async fn health(&self, path: &str) -> Result<(StatusCode, String), ApiError> {
        let (status, body) = self.send(Method::GET, path, "application/json", Vec::new()).await?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    /// Reads an object or a list by its path, such as `/api/v1/nodes/m1`.
    ///
    /// # Errors
    /// [`ApiError`] where it is not there or cannot be read.
    pub async fn get(&self, path: &str) -> Result<Value, ApiError> {
        self.json(Method::GET, path, "application/json", Vec::new()).await
    }

    /// Reads an object or a list, or `None` where it is not there.
    ///
    /// # Errors
    /// [`ApiError`] where it cannot be read.
    pub async fn find(&self, path: &str) -> Result<Option<Value>, ApiError> {
        match self.get(path).await {
            Ok(value) => Ok(Some(value)),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Reads an object or a list as a type, whose fields alone take memory.
    ///
    /// # Errors
    /// [`ApiError`] where it is not there or cannot be read.
    pub async fn read<O: DeserializeOwned>(&self, path: &str) -> Result<O, ApiError> {
        self.json(Method::GET, path, "application/json", Vec::new()).await
    }

    /// Watches a list by its path, which asks for it (`?watch=true`): `look` gets each event's type and object until it says
    /// `Break`. `None`: the server ended the watch, as it does after `timeoutSeconds`.
    ///
    /// An event that is longer than [`LONGEST_OBJECT`] or cannot be read is left out: a client that may write one object must not stop
    /// the others' events.
    ///
    /// # Errors
    /// [`ApiError`] where the API refuses, or the connection breaks.
    pub async fn watch<O: DeserializeOwned, T>(
        &self,
        path: &str,
        mut look: impl FnMut(&str, O) -> ControlFlow<T>,
    ) -> Result<Option<T>, ApiError> {
        let said = || format!("GET {path}");
        let connection = self.connection().await?;
        let request = self.request(Method::GET, path, "application/json", Vec::new())?;
        let answer = connection.open(request, REQUEST_LIMIT).await?;
        let (status, mut body) = (answer.status(), answer.into_body());
        let broke = |source| HttpError::Exchange { address: connection.address(), source };
        if !status.is_success() {
            let text = whole(body, connection.address(), &said(), LONGEST_OBJECT).await?;
            return Err(refused(status, said(), &text));
        }
        let mut lines = Lines::default();
        while let Some(frame) = body.frame().await {
            lines.extend(&frame.map_err(broke)?.into_data().unwrap_or_default());
            while let Some(line) = lines.next() {
                let Ok(Event { kind, object }) = serde_json::from_slice(&line) else { continue };
                if let ControlFlow::Break(found) = look(kind, object) {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// Creates an object below a collection's path.
    ///
    /// # Errors
    /// [`ApiError`] where the API refuses, for instance as it exists.
    pub async fn create(&self, collection: &str, object: &Value) -> Result<Value, ApiError> {
        self.json(Method::POST, collection, "application/json", object.to_string().into_bytes()).await
    }

    /// Deletes an object; nothing happens where it is not there.
    ///
    /// # Errors
    /// [`ApiError`] where the API refuses.
    pub async fn delete(&self, path: &str) -> Result<(), ApiError> {
        match self.json::<Value>(Method::DELETE, path, "application/json", Vec::new()).await {
            Ok(_) => Ok(()),
            Err(e) if e.is_not_found() => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Changes parts of an object by a JSON merge patch (RFC 7386).
    ///
    /// # Errors
    /// [`ApiError`] where the API refuses.
    pub async fn merge(&self, path: &str, patch: &Value) -> Result<Value, ApiError> {
        let path = format!("{path}?fieldManager={FIELD_MANAGER}");
        self.json(Method::PATCH, &path, "application/merge-patch+json", patch.to_string().into_bytes()).await
    }

    /// Applies an object by server-side apply; fields that others own become ours.
    ///
    /// # Errors
    /// [`ApiError`] where the API refuses, or does not know the object's kind.
    pub async fn apply(&self, object: &Value) -> Result<Value, ApiError> {
        let path = format!("{}?fieldManager={FIELD_MANAGER}&force=true", self.path_of(object).await?);
        self.json(Method::PATCH, &path, "application/apply-patch+yaml", object.to_string().into_bytes()).await
    }

    /// What [`Self::apply`] would make of an object; nothing is changed.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub async fn apply_dry(&self, object: &Value) -> Result<Value, ApiError> {
        let path = format!("{}?fieldManager={FIELD_MANAGER}&force=true&dryRun=All", self.path_of(object).await?);
        self.json(Method::PATCH, &path, "application/apply-patch+yaml", object.to_string().into_bytes()).await
    }

    /// The path of an object of any kind that the API serves.
    ///
    /// # Errors
    /// [`ApiError`] where kind or name are missing, or the API does not serve the kind.
    pub async fn path_of(&self, object: &Value) -> Result<String, ApiError> {
        let part = |at: &Value| at.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (part(&object["apiVersion"]), part(&object["kind"]));
        let (name, namespace) = (part(&object["metadata"]["name"]), part(&object["metadata"]["namespace"]));
        let shown = format!("{kind} {name:?}");
        if version.is_empty() || kind.is_empty() || name.is_empty() {
            let reason = "needs apiVersion, kind and metadata.name".into();
            return Err(ApiError::Object { object: shown, reason });
        }
        let base = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
        let Some((plural, namespaced)) = self.resource(&version, &base, &kind).await? else {
            return Err(ApiError::Object {
                object: shown,
                reason: format!("this cluster has no kind {kind} in {version}"),
            });
        };
        Ok(match (namespaced, namespace.as_str()) {
            (false, _) => format!("{base}/{plural}/{name}"),
            (true, "") => format!("{base}/namespaces/default/{plural}/{name}"),
            (true, namespace) => format!("{base}/namespaces/{namespace}/{plural}/{name}"),
        })
    }

    async fn resource(&self, version: &str, base: &str, kind: &str) -> Result<Option<(String, bool)>, ApiError> {
        let mut resources = self.resources.lock().await;
        if let Some(found) = resources.get(version).and_then(|kinds| kinds.get(kind)) {
            return Ok(Some(found.clone()));
        }
        // A kind that was not there may have come since, by a CustomResourceDefinition.
        let Some(list) = self.find(base).await? else { return Ok(None) };
        let kinds: Kinds = list["resources"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|r| Some((r["kind"].as_str()?, r["name"].as_str()?, r["namespaced"].as_bool()?)))
            .filter(|(_, plural, _)| !plural.contains('/'))
            .map(|(kind, plural, namespaced)| (kind.to_owned(), (plural.to_owned(), namespaced)))
            .collect();
        let found = kinds.get(kind).cloned();
        resources.insert(version.to_owned(), kinds);
        Ok(found)
    }
}

/// A port on this machine's own API server.
#[must_use]
pub fn local_api(address: IpAddr) -> SocketAddr {
    SocketAddr::new(address, nodeinit_config::cluster::API_PORT)
}

/// An answer that is no success, with the API's own words where it has some.
fn refused(status: StatusCode, request: String, answer: &[u8]) -> ApiError {
    let message = serde_json::from_slice::<Value>(answer)
        .ok()
        .and_then(|v| v["message"].as_str().map(ToOwned::to_owned))
        .unwrap_or_else(|| String::from_utf8_lossy(answer).trim().to_owned());
    ApiError::Refused { status, request, message }
}

/// TLS towards an API server whose certificate `authority` has signed, as the client of a certificate and its key; all PEM.
///
/// # Errors
/// What is wrong with which.
pub fn client_tls(authority: &[u8], certificate: &[u8], key: &[u8]) -> Result<ClientConfig, String> {
    let chain =
        CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| e.to_string())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_root_certificates(roots(authority)?)
        .with_client_auth_cert(chain, key)
        .map_err(|e| e.to_string())?;
    tls.alpn_protocols = vec![HTTP2.to_vec()];
    Ok(tls)
}

/// Whom to trust: every certificate of a PEM text.
///
/// # Errors
/// What is wrong with one.
pub fn roots(authority: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for ca in CertificateDer::pem_slice_iter(authority) {
        roots.add(ca.map_err(|e| e.to_string())?).map_err(|e| e.to_string())?;
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_too_long_hides_no_other() {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        let large = vec![b'x'; LONGEST_OBJECT];
        for part in [b"first\nlar", large.as_slice(), b"ge", &large, b"\nsecond\nth", b"ird\n"] {
            lines.extend(part);
            assert!(lines.text.len() <= 2 * LONGEST_OBJECT);
            seen.extend(std::iter::from_fn(|| lines.next()));
        }
        assert_eq!(seen, [b"first\n".to_vec(), b"second\n".to_vec(), b"third\n".to_vec()]);
    }

    #[test]
    fn of_an_event_only_the_typed_fields_are_read() {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        // Deeper than serde_json reads a value.
        let deep = format!("{}1{}", r#"{"a":"#.repeat(1000), "}".repeat(1000));
        let line = format!(r#"{{"type":"ADDED","object":{{"name":"n","managedFields":{deep}}}}}"#);
        let event: Event<'_, Named> = serde_json::from_str(&line).unwrap();
        assert!(event.kind == "ADDED" && event.object.name == "n");
        assert!(serde_json::from_str::<Event<'_, Value>>(&line).is_err());
    }
}
