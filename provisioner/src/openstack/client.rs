//! Requests to the cloud's services: a token that is renewed, retries, and a count of what was asked.

use super::{Service, backoff::Backoff, catalogue::Catalogue, transport};
use crate::{
    cloud::Cloud,
    error::{self, ApiError, Error},
};
use nodeinit_config::Secret;
use serde_json::Value;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::{Mutex, RwLock, Semaphore};

pub use reqwest::Method;

/// One try: a service that is busy for longer is asked again.
const TRY: Duration = Duration::from_secs(60);

/// The services of a cloud, as one project sees them.
pub struct Client {
    http: reqwest::Client,
    cloud: Cloud,
    session: RwLock<Arc<Session>>,
    under_way: Semaphore,
    limit: Duration,
    reads: AtomicUsize,
    writes: AtomicUsize,
}

struct Session {
    token: Secret<String>,
    catalogue: Catalogue,
    project: String,
    /// Whether a service has seen the token.
    met: [Mutex<bool>; Service::ALL.len()],
}

/// How many requests were sent, retries counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// `GET`.
    pub reads: usize,
    /// All others but for tokens.
    pub writes: usize,
}

impl Client {
    /// Gets a token. `parallel`: how many requests are under way at once; `limit`: for one with its retries.
    ///
    /// # Errors
    /// Where Keystone does not answer, or knows nobody of that name.
    pub async fn connect(cloud: Cloud, parallel: usize, limit: Duration) -> Result<Self, Error> {
        let http = transport::http(&cloud)?;
        let session = login(&http, &cloud, limit).await?;
        Ok(Self {
            http,
            cloud,
            session: RwLock::new(Arc::new(session)),
            under_way: Semaphore::new(parallel),
            limit,
            reads: AtomicUsize::new(0),
            writes: AtomicUsize::new(0),
        })
    }

    /// The id of the project that the token is for.
    pub async fn project(&self) -> String {
        self.session.read().await.project.clone()
    }

    /// Whether the catalogue has a service.
    pub async fn has(&self, service: Service) -> bool {
        self.session.read().await.catalogue.has(service)
    }

    /// What was asked so far.
    pub fn count(&self) -> Count {
        Count { reads: self.reads.load(Ordering::Relaxed), writes: self.writes.load(Ordering::Relaxed) }
    }

    /// How long a request with its retries may take.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Reads, with retries.
    ///
    /// # Errors
    /// As the service says.
    pub async fn get(&self, service: Service, path: &str) -> Result<Value, ApiError> {
        self.send(Method::GET, service, path, None).await
    }

    /// Reads all pages of a list; `key` is the list's name in the answer.
    ///
    /// # Errors
    /// As the service says.
    pub async fn list(&self, service: Service, path: &str, key: &str) -> Result<Vec<Value>, ApiError> {
        let mut all = Vec::new();
        let mut next = Some(path.to_owned());
        while let Some(path) = next {
            let mut page = self.get(service, &path).await?;
            if let Value::Array(items) = page[key].take() {
                all.extend(items);
            }
            next = following(&page, key, &path);
        }
        Ok(all)
    }

    /// Any request that may be repeated, with retries.
    ///
    /// # Errors
    /// As the service says.
    pub async fn send(
        &self,
        method: Method,
        service: Service,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ApiError> {
        let mut backoff = Backoff::new(self.limit);
        loop {
            let left = backoff.left().max(Duration::from_secs(1));
            match self.attempt(&method, service, path, body, left.min(TRY)).await {
                Err(error) if (error.may_heal() || is_pending(service, &error)) && backoff.pause().await => {}
                other => return other,
            }
        }
    }

    /// Deletes; what is gone already is well.
    ///
    /// # Errors
    /// As the service says.
    pub async fn delete(&self, service: Service, path: &str) -> Result<(), ApiError> {
        match self.send(Method::DELETE, service, path, None).await {
            Err(error) if error.status() == Some(404) => Ok(()),
            other => other.map(drop),
        }
    }

    /// A request that must not be repeated unseen: one try, and one more where the token was old.
    ///
    /// # Errors
    /// As the service says. [`ApiError::may_heal`] means that nobody knows whether it was done.
    pub async fn once(&self, service: Service, path: &str, body: &Value) -> Result<Value, ApiError> {
        self.attempt(&Method::POST, service, path, Some(body), TRY.min(self.limit)).await
    }

    async fn attempt(
        &self,
        method: &Method,
        service: Service,
        path: &str,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<Value, ApiError> {
        let session = Arc::clone(&*self.session.read().await);
        let answer = self.exchange(&session, method, service, path, body, limit).await;
        match answer {
            Err(ApiError::Answer { status: 401, .. }) => {
                let session = self.renew(&session).await?;
                self.exchange(&session, method, service, path, body, limit).await
            }
            other => other,
        }
    }

    /// A new token; one for all whose token was refused at the same time.
    async fn renew(&self, old: &Arc<Session>) -> Result<Arc<Session>, ApiError> {
        let mut current = self.session.write().await;
        if Arc::ptr_eq(&current, old) {
            *current = Arc::new(login(&self.http, &self.cloud, self.limit).await?);
        }
        Ok(Arc::clone(&current))
    }

    async fn exchange(
        &self,
        session: &Session,
        method: &Method,
        service: Service,
        path: &str,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<Value, ApiError> {
        // A service asks Keystone about a token that is new to it, for each request anew until the first answer: with all at
        // once a plan took 3.2 s on the cloud of tests/openstack, and takes 1.3 s where the first goes alone.
        let met = session.met[service as usize].lock().await;
        let alone = (!*met).then_some(met);
        // The semaphore is never closed.
        let _permit = self.under_way.acquire().await;
        let counter = if *method == Method::GET { &self.reads } else { &self.writes };
        let number = counter.fetch_add(1, Ordering::Relaxed) + 1;
        let url = format!("{}{path}", session.catalogue.url(service)?);
        let mut request = self
            .http
            .request(method.clone(), url)
            .header("X-Auth-Token", session.token.expose())
            .header("Accept", "application/json");
        if let Some(version) = service.microversion() {
            request = request.header("OpenStack-API-Version", version);
        }
        let request = with_body(request, body).timeout(limit);
        let plain = path.split('?').next().unwrap_or(path);
        let answered = answer(format!("{method} {service:?} {plain}").to_lowercase(), request).await;
        if let Some(mut met) = alone {
            *met = true;
        }
        if *method != Method::GET {
            failpoint(number);
        }
        answered.map(|(body, _)| body)
    }
}

async fn login(http: &reqwest::Client, cloud: &Cloud, limit: Duration) -> Result<Session, ApiError> {
    let mut backoff = Backoff::new(limit);
    let (body, token) = loop {
        let request = http.post(format!("{}/auth/tokens", cloud.auth_url)).header("Accept", "application/json");
        let request = with_body(request, Some(cloud.identity.expose()))
            .timeout(backoff.left().max(Duration::from_secs(1)).min(TRY));
        match answer(format!("token from {}", cloud.auth_url), request).await {
            Err(error) if error.may_heal() && backoff.pause().await => {}
            other => break other?,
        }
    };
    let project = body["token"]["project"]["id"].as_str().unwrap_or_default().to_owned();
    let catalogue = Catalogue::new(&body["token"], &cloud.interface, cloud.region.as_deref());
    Ok(Session { token: Secret::new(token.unwrap_or_default()), catalogue, project, met: Default::default() })
}

fn with_body(request: reqwest::RequestBuilder, body: Option<&Value>) -> reqwest::RequestBuilder {
    match body {
        Some(body) => request.header("Content-Type", "application/json").body(body.to_string()),
        None => request,
    }
}

/// The answer's body, and Keystone's token where there is one.
async fn answer(request: String, builder: reqwest::RequestBuilder) -> Result<(Value, Option<String>), ApiError> {
    let failed = |e: reqwest::Error| {
        let (request, cause) = (request.clone(), error::causes(&e.without_url()));
        // rustls' own words; its error lies too deep to be looked at.
        match cause.contains("invalid peer certificate") {
            true => ApiError::Untrusted { request, cause },
            false => ApiError::NoAnswer { request, cause },
        }
    };
    let response = builder.send().await.map_err(failed)?;
    let status = response.status();
    let token = response.headers().get("X-Subject-Token").and_then(|token| token.to_str().ok()).map(str::to_owned);
    let body = response.text().await.map_err(failed)?;
    if !status.is_success() {
        return Err(ApiError::Answer { request, status: status.as_u16(), message: transport::message(&body) });
    }
    if body.trim().is_empty() {
        return Ok((Value::Null, token));
    }
    let body = serde_json::from_str(&body).map_err(|e| ApiError::Unreadable { request, cause: e.to_string() })?;
    Ok((body, token))
}

/// A point at which a test kills this process: what was asked for is done, and nobody here knows it.
#[cfg(feature = "failpoints")]
fn failpoint(write: usize) {
    if std::env::var("PROVISIONER_DIES_AFTER_WRITE").is_ok_and(|number| number.parse() == Ok(write)) {
        std::process::abort();
    }
}

/// Nothing without the feature `failpoints`.
#[cfg(not(feature = "failpoints"))]
fn failpoint(_write: usize) {}

/// Octavia refuses whatever concerns a balancer that is being changed.
fn is_pending(service: Service, error: &ApiError) -> bool {
    service == Service::LoadBalancer
        && matches!(error, ApiError::Answer { status: 409, message, .. } if message.to_lowercase().contains("immutable") || message.contains("PENDING"))
}

/// Where the next page is: `KEY_links`, or `next` as Glance has it.
fn following(page: &Value, key: &str, path: &str) -> Option<String> {
    let links = page[format!("{key}_links")].as_array();
    let href =
        links.and_then(|links| links.iter().find(|link| link["rel"] == "next")).and_then(|link| link["href"].as_str());
    let next = href.or_else(|| page["next"].as_str())?;
    // The address may be that of another interface: only its query counts.
    let query = next.split_once('?')?.1;
    let path = path.split('?').next().unwrap_or(path);
    Some(format!("{path}?{query}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pages_follow() {
        let page = json!({ "servers": [], "servers_links": [{ "rel": "next", "href": "http://x/v2.1/servers/detail?marker=a&limit=2" }] });
        assert_eq!(
            following(&page, "servers", "/servers/detail?limit=2").as_deref(),
            Some("/servers/detail?marker=a&limit=2")
        );
        assert_eq!(following(&json!({ "servers": [] }), "servers", "/servers/detail"), None);
        assert_eq!(
            following(&json!({ "next": "/v2/images?marker=b" }), "images", "/images").as_deref(),
            Some("/images?marker=b")
        );
    }
}
