//! Sends requests to the API server, again where that is safe.
//!
//! Source: Kubernetes API concepts, "Server-Side Apply"; RFC 9110, section 9.2.2.

use super::{
    discovery::Discovery,
    error::ApiError,
    tls::client_tls,
    types::{List, Pod},
    watch::{self, Event, LONGEST_OBJECT},
};
use crate::api::connection::{Http2, HttpError, whole};
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER},
};
use nodeinit_base::{Backoff, DETAIL};
use nodeinit_config::{Secret, cluster::Endpoint, yaml};
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{
    io,
    net::{IpAddr, SocketAddr},
    ops::ControlFlow,
    sync::Arc,
    time::Duration,
};
use tokio::{net::lookup_host, sync::Mutex};

/// The name under which our fields are owned in the cluster.
pub const FIELD_MANAGER: &str = "nodeinit";

/// One request to the API may take this long. An API server that is starting up can be slow. A request is repeated for as long.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// The pauses before a request is repeated, where the API server asks for no longer one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The longest answer that is read, in bytes: a list of 5000 nodes has about 100 MB.
const LONGEST_ANSWER: usize = 512 << 20;

const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// A request, which may be sent more than once.
struct Call<'a> {
    method: Method,
    path: &'a str,
    content_type: &'static str,
    body: Bytes,
}

impl<'a> Call<'a> {
    fn get(path: &'a str) -> Self {
        Self { method: Method::GET, path, content_type: JSON, body: Bytes::new() }
    }

    fn with_body(method: Method, path: &'a str, content_type: &'static str, body: &Value) -> Self {
        Self { method, path, content_type, body: body.to_string().into() }
    }

    /// Method and path, for messages.
    fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Whether it has the same effect if it is sent twice.
    fn is_idempotent(&self) -> bool {
        self.method != Method::POST
    }
}

/// The API server of one address, spoken to as one user.
pub struct KubeClient {
    server: Endpoint,
    tls: Arc<ClientConfig>,
    token: Option<Secret<String>>,
    connect_limit: Duration,
    longest: usize,
    connection: Mutex<Option<Arc<Http2>>>,
    discovery: Discovery,
}

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
            let text = parsed[list][0][kind][key].as_str().ok_or_else(|| bad(key)("it is missing".into()))?;
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
            discovery: Discovery::default(),
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

    /// The answer of a health address such as `/readyz`: its status and text. It is not repeated: who asks for it asks again anyway.
    ///
    /// # Errors
    /// [`ApiError::Http`] where there is no answer.
    pub async fn health(&self, path: &str) -> Result<(StatusCode, String), ApiError> {
        let request = self.request(&Call::get(path))?;
        let answer = self.connection().await?.send(request, self.longest, REQUEST_LIMIT).await?;
        Ok((answer.status(), String::from_utf8_lossy(answer.body()).into_owned()))
    }

    /// Reads an object or a list by its path, such as `/api/v1/nodes/m1`.
    ///
    /// # Errors
    /// [`ApiError`] where it is not there or cannot be read.
    pub async fn get<O: DeserializeOwned>(&self, path: &str) -> Result<O, ApiError> {
        self.json(&Call::get(path)).await
    }

    /// Reads an object or a list, or `None` where it is not there.
    ///
    /// # Errors
    /// [`ApiError`] where it cannot be read.
    pub async fn find<O: DeserializeOwned>(&self, path: &str) -> Result<Option<O>, ApiError> {
        match self.get(path).await {
            Ok(object) => Ok(Some(object)),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Returns the pods on a node.
    ///
    /// # Errors
    /// [`ApiError`] where they cannot be listed.
    pub async fn pods_on(&self, node: &str) -> Result<Vec<Pod>, ApiError> {
        let list: List<Pod> = self.get(&format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}")).await?;
        Ok(list.items)
    }

    /// Watches a list by its path, which asks for it (`?watch=true`): `look` gets each event until it says `Break`.
    ///
    /// `None`: the server ended the watch, as it does after `timeoutSeconds`, or since it no longer has the version that the watch has reached
    /// (410 Gone). Another watch begins with all objects again, because none names a version.
    ///
    /// # Errors
    /// [`ApiError`] where the API refuses, or the connection breaks.
    pub async fn watch<O: DeserializeOwned, T>(
        &self,
        path: &str,
        look: impl FnMut(Event<O>) -> ControlFlow<T>,
    ) -> Result<Option<T>, ApiError> {
        match self.begun_watch(&Call::get(path), look).await {
            Err(e) if e.is_refused_with(StatusCode::GONE) => Ok(None),
            ended => ended,
        }
    }

    async fn begun_watch<O: DeserializeOwned, T>(
        &self,
        call: &Call<'_>,
        look: impl FnMut(Event<O>) -> ControlFlow<T>,
    ) -> Result<Option<T>, ApiError> {
        let open = async |connection: &Http2| connection.open(self.request(call)?, REQUEST_LIMIT).await;
        let (answer, address) = self.repeat(call, open).await?;
        let (status, body) = (answer.status(), answer.into_body());
        if !status.is_success() {
            let text = whole(body, address, &call.name(), LONGEST_OBJECT).await?;
            return Err(ApiError::refused(status, call.name(), &text));
        }
        watch::read(body, address, &call.name(), look).await
    }

    /// Creates an object below a collection's path. It is never repeated once it may have reached the server.
    ///
    /// # Errors
    /// [`ApiError`] where the API refuses, for instance as it exists.
    pub async fn create(&self, collection: &str, object: &Value) -> Result<Value, ApiError> {
        self.json(&Call::with_body(Method::POST, collection, JSON, object)).await
    }

    /// Deletes an object; nothing happens where it is not there.
    ///
    /// # Errors
    /// [`ApiError`] where the API refuses.
    pub async fn delete(&self, path: &str) -> Result<(), ApiError> {
        match self.json::<Value>(&Call { method: Method::DELETE, ..Call::get(path) }).await {
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
        self.json(&Call::with_body(Method::PATCH, &path, MERGE_PATCH, patch)).await
    }

    /// Applies an object by server-side apply; fields that others own become ours.
    ///
    /// # Errors
    /// [`ApiError`] where the API refuses, or does not know the object's kind.
    pub async fn apply(&self, object: &Value) -> Result<Value, ApiError> {
        let path = format!("{}?fieldManager={FIELD_MANAGER}&force=true", self.path_of(object).await?);
        self.json(&Call::with_body(Method::PATCH, &path, APPLY_PATCH, object)).await
    }

    /// What [`Self::apply`] would make of an object; nothing is changed.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub async fn apply_dry(&self, object: &Value) -> Result<Value, ApiError> {
        let path = format!("{}?fieldManager={FIELD_MANAGER}&force=true&dryRun=All", self.path_of(object).await?);
        self.json(&Call::with_body(Method::PATCH, &path, APPLY_PATCH, object)).await
    }

    /// The path of an object of any kind that the API serves.
    ///
    /// # Errors
    /// [`ApiError`] where kind or name are missing, or the API does not serve the kind.
    pub async fn path_of(&self, object: &Value) -> Result<String, ApiError> {
        self.discovery.path_of(object, async |path| self.find(path).await).await
    }

    async fn json<O: DeserializeOwned>(&self, call: &Call<'_>) -> Result<O, ApiError> {
        let send = async |connection: &Http2| connection.send(self.request(call)?, self.longest, REQUEST_LIMIT).await;
        let (answer, _) = self.repeat(call, send).await?;
        let (status, body) = (answer.status(), answer.body());
        if !status.is_success() {
            return Err(ApiError::refused(status, call.name(), body));
        }
        serde_json::from_slice(body).map_err(|e| ApiError::Answer { request: call.name(), reason: e.to_string() })
    }

    /// Sends a call, again where the API server asks for that (`Retry-After`), and once where the connection breaks before the answer. A
    /// call that is not idempotent is sent again only where nothing of it reached the server.
    async fn repeat<B>(
        &self,
        call: &Call<'_>,
        send: impl AsyncFn(&Http2) -> Result<Response<B>, HttpError>,
    ) -> Result<(Response<B>, SocketAddr), HttpError> {
        let mut pauses = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE).within(REQUEST_LIMIT);
        let mut was_lost = false;
        loop {
            let connection = self.connection().await?;
            let answer = match send(&connection).await {
                Ok(answer) => answer,
                Err(error) => {
                    let may_repeat = match error {
                        HttpError::Closed { .. } => true,
                        HttpError::Exchange { .. } => call.is_idempotent(),
                        _ => false,
                    };
                    if was_lost || !may_repeat {
                        return Err(error);
                    }
                    was_lost = true;
                    tracing::info!(target: DETAIL, "{}: {error}; sending it again", call.name());
                    self.forget(&connection).await;
                    continue;
                }
            };
            let Some(pause) = retry_after(&answer).filter(|_| call.is_idempotent()) else {
                return Ok((answer, connection.address()));
            };
            if !pauses.pause_at_least(pause).await {
                return Ok((answer, connection.address()));
            }
        }
    }

    /// The open connection, or a new one to the first of the server's addresses that answers.
    async fn connection(&self) -> Result<Arc<Http2>, HttpError> {
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
                Ok(new) => return Ok(connection.insert(Arc::new(new)).clone()),
                Err(e) => last = e,
            }
        }
        Err(last)
    }

    /// Sends nothing more over a connection that broke. Others may have replaced it meanwhile.
    async fn forget(&self, broken: &Arc<Http2>) {
        let mut connection = self.connection.lock().await;
        if connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, broken)) {
            *connection = None;
        }
    }

    fn request(&self, call: &Call<'_>) -> Result<Request<Full<Bytes>>, HttpError> {
        let mut request = Request::builder()
            .method(&call.method)
            .uri(format!("https://{}{}", self.server, call.path))
            .header(ACCEPT, JSON)
            .header(CONTENT_TYPE, call.content_type);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {}", token.expose()));
        }
        let request = request.body(Full::from(call.body.clone()));
        request.map_err(|source| HttpError::Request { path: call.path.into(), source })
    }
}

/// How long an API server that is too busy, or not ready yet, asks to wait before the next try.
fn retry_after<B>(answer: &Response<B>) -> Option<Duration> {
    if ![StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&answer.status()) {
        return None;
    }
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// A port on this machine's own API server.
#[must_use]
pub fn local_api(address: IpAddr) -> SocketAddr {
    SocketAddr::new(address, nodeinit_config::cluster::API_PORT)
}
