//! Requests to the cloud's services: a token that is renewed, retries, and a count of what was asked.

use super::{
    Service,
    backoff::{self, Pace},
    catalogue::Catalogue,
    transport,
};
use crate::{
    cloud::Cloud,
    error::{ApiError, Error},
};
use nodeinit_base::DETAIL;
use nodeinit_config::Secret;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt::Display,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};
use time::{OffsetDateTime, format_description::well_known::Rfc2822};
use tokio::sync::{Mutex, RwLock, Semaphore};

pub use reqwest::Method;

/// One try: a service that is busy for longer is asked again.
const TRY: Duration = Duration::from_secs(60);

/// The microversion 2.N of Nova that is asked for. 2.64: the policy of a server group; tags at creation need 2.52.
pub const NOVA: u64 = 64;

/// The services of a cloud, as one project sees them.
pub struct Client {
    http: reqwest::Client,
    cloud: Cloud,
    session: RwLock<Arc<Session>>,
    under_way: Semaphore,
    pace: Pace,
    nova: AtomicU64,
    unread: std::sync::Mutex<BTreeMap<&'static str, String>>,
    limit: Duration,
    reads: AtomicUsize,
    writes: AtomicUsize,
}

struct Session {
    token: Secret<String>,
    catalogue: Catalogue,
    project: String,
    is_admin: bool,
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
            pace: Pace::default(),
            nova: AtomicU64::new(NOVA),
            unread: std::sync::Mutex::default(),
            limit,
            reads: AtomicUsize::new(0),
            writes: AtomicUsize::new(0),
        })
    }

    /// The id of the project that the token is for.
    pub async fn project(&self) -> String {
        self.session.read().await.project.clone()
    }

    /// Whether the token is an administrator's, from whom no network is reserved.
    pub async fn is_admin(&self) -> bool {
        self.session.read().await.is_admin
    }

    /// The microversion 2.N in which Nova is asked: [`NOVA`], or the newest of an older Nova that has refused it.
    pub fn nova(&self) -> u64 {
        self.nova.load(Ordering::Relaxed)
    }

    /// Records a read that failed and that nothing depends on.
    pub fn skip(&self, what: &'static str, error: &dyn Display) {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner).insert(what, error.to_string());
    }

    /// What could not be read, and why.
    pub fn unread(&self) -> BTreeMap<&'static str, String> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        let mut backoff = backoff::within(self.limit);
        loop {
            let left = backoff.left().max(Duration::from_secs(1));
            let error = match self.attempt(&method, service, path, body, left).await {
                Err(error) if error.may_heal() || is_pending(service, &error) => error,
                other => return other,
            };
            if !backoff.pause_at_least(error.retry_after().unwrap_or_default()).await {
                return Err(error);
            }
        }
    }

    /// Deletes; already deleted is not an error.
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
    pub async fn post_without_retry(&self, service: Service, path: &str, body: &Value) -> Result<Value, ApiError> {
        self.attempt(&Method::POST, service, path, Some(body), self.limit).await
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
        let asked = self.nova();
        let answer = self.exchange(&session, method, service, path, body, limit).await;
        match answer {
            Err(refused @ ApiError::Answer { status: 406, .. }) if service == Service::Compute => {
                self.negotiate(&session, limit).await?;
                if self.nova() == asked {
                    return Err(refused);
                }
                self.exchange(&session, method, service, path, body, limit).await
            }
            Err(ApiError::Answer { status: 401, .. }) => {
                let session = self.renew(&session).await?;
                self.exchange(&session, method, service, path, body, limit).await
            }
            other => other,
        }
    }

    /// Finds out which microversions Nova has, and takes the newest that is known here.
    async fn negotiate(&self, session: &Session, limit: Duration) -> Result<(), ApiError> {
        let request = self
            .http
            .get(session.catalogue.nova()?)
            .header("X-Auth-Token", session.token.expose())
            .header("Accept", "application/json")
            .timeout(limit.min(TRY));
        self.reads.fetch_add(1, Ordering::Relaxed);
        let what = "get compute /".to_owned();
        let (body, _) = answer(what.clone(), request).await?;
        let newest = body["version"]["version"].as_str().and_then(|text| text.strip_prefix("2.")?.parse::<u64>().ok());
        let newest = newest.ok_or(ApiError::Unreadable {
            request: what,
            cause: "its version document contains no microversion".to_owned(),
        })?;
        self.nova.store(newest.min(NOVA), Ordering::Relaxed);
        Ok(())
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
        let plain = path.split('?').next().unwrap_or(path);
        let what = format!("{method} {service:?} {plain}").to_lowercase();
        self.pace.wait(limit).await.map_err(|pause| ApiError::NoAnswer {
            request: what.clone(),
            cause: format!("the cloud is overloaded and asks for a pause of {} s", pause.as_secs()),
        })?;
        // A service asks Keystone about a token that is new to it, again for each request until the first answer: with all at
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
        if service == Service::Compute {
            request = request.header("OpenStack-API-Version", format!("compute 2.{}", self.nova()));
        }
        let request = with_body(request, body.map(Value::to_string)).timeout(limit.min(TRY));
        let sent = Instant::now();
        let answered = answer(what.clone(), request).await;
        let ended = answered.as_ref().map_or_else(ToString::to_string, |_| format!("{what}: done"));
        tracing::info!(target: DETAIL, "{ended} ({:.2} s)", sent.elapsed().as_secs_f64());
        match &answered {
            Err(error) if error.is_overload() => self.pace.refused(error.retry_after()),
            _ => self.pace.answered(),
        }
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
    let mut backoff = backoff::within(limit);
    let (body, token) = loop {
        let request = http.post(format!("{}/auth/tokens", cloud.auth_url)).header("Accept", "application/json");
        let request = with_body(request, Some(cloud.identity.expose().clone()))
            .timeout(backoff.left().max(Duration::from_secs(1)).min(TRY));
        match answer(format!("token from {}", cloud.auth_url), request).await {
            Err(error) if error.may_heal() && backoff.pause_at_least(error.retry_after().unwrap_or_default()).await => {
            }
            other => break other?,
        }
    };
    let project = body["token"]["project"]["id"].as_str().unwrap_or_default().to_owned();
    let catalogue = Catalogue::new(&body["token"], &cloud.interface, cloud.region.as_deref())?;
    let is_admin = body["token"]["roles"].as_array().into_iter().flatten().any(|role| role["name"] == "admin");
    let token = Secret::new(token.unwrap_or_default());
    Ok(Session { token, catalogue, project, is_admin, met: Default::default() })
}

fn with_body(request: reqwest::RequestBuilder, body: Option<String>) -> reqwest::RequestBuilder {
    match body {
        Some(body) => request.header("Content-Type", "application/json").body(body),
        None => request,
    }
}

/// The answer's body, and Keystone's token where there is one.
async fn answer(request: String, builder: reqwest::RequestBuilder) -> Result<(Value, Option<String>), ApiError> {
    let failed = |e: reqwest::Error| {
        let is_redirect = e.is_redirect();
        let (request, cause) = (request.clone(), nodeinit_base::with_causes(&e.without_url()));
        match is_redirect {
            true => ApiError::Redirected { request, cause },
            // rustls' own words; its error lies too deep to be looked at.
            false if cause.contains("invalid peer certificate") => ApiError::Untrusted { request, cause },
            false => ApiError::NoAnswer { request, cause },
        }
    };
    let response = builder.send().await.map_err(failed)?;
    let status = response.status();
    let token = response.headers().get("X-Subject-Token").and_then(|token| token.to_str().ok()).map(str::to_owned);
    let retry_after = response.headers().get("Retry-After").and_then(|text| seconds(text.to_str().ok()?));
    let body = transport::text(response, &request).await.map_err(failed)??;
    if !status.is_success() {
        let message = transport::message(&body);
        return Err(ApiError::Answer { request, status: status.as_u16(), message, retry_after });
    }
    if body.trim().is_empty() {
        return Ok((Value::Null, token));
    }
    let body = serde_json::from_str(&body).map_err(|e| ApiError::Unreadable { request, cause: e.to_string() })?;
    Ok((body, token))
}

/// The value of `Retry-After`: seconds, or a date.
fn seconds(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = OffsetDateTime::parse(text.trim(), &Rfc2822).ok()?;
    (at - OffsetDateTime::from(SystemTime::now())).try_into().ok()
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
    fn a_pause_is_seconds_or_a_date() {
        assert_eq!(seconds("7"), Some(Duration::from_secs(7)));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), None);
        assert!(seconds("Sun, 06 Nov 2094 08:49:37 GMT").is_some_and(|pause| pause > Duration::from_secs(3600)));
        assert_eq!(seconds("soon"), None);
    }

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
