//! A repository of an image registry: requests with the authorization that the registry asks for.
//!
//! Source: github.com/opencontainers/distribution-spec, "Pull"; github.com/distribution/distribution, `docs/content/spec/auth/token.md`.

use super::{
    download::is_passing,
    http::{self, Answer, AskError, Client},
};
use http_body_util::{BodyExt, Limited};
use hyper::{
    HeaderMap, StatusCode,
    header::{ACCEPT, AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE},
};
use serde::Deserialize;
use std::{cell::RefCell, collections::BTreeMap};

/// The manifests that nodeinit understands: lists and images, of OCI and of Docker.
const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, \
                         application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";

/// The longest answer of a token server that is read, in bytes.
const LONGEST_TOKEN: usize = 1 << 20;

/// A repository. It remembers the authorization that it was given.
pub struct Repository<'a> {
    client: &'a Client,
    url: &'a str,
    login: Option<&'a str>,
    authorization: RefCell<Option<HeaderValue>>,
}

/// What a registry asks for, in `WWW-Authenticate`.
#[derive(Debug, PartialEq, Eq)]
struct Challenge {
    scheme: String,
    parameters: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl<'a> Repository<'a> {
    /// The repository at `url`, such as `https://registry.k8s.io/v2/pause`. `login`: base64 of `user:password`.
    #[must_use]
    pub fn new(client: &'a Client, url: &'a str, login: Option<&'a str>) -> Self {
        Self { client, url, login, authorization: RefCell::default() }
    }

    /// The URL of a manifest (`manifests/v1`) or a blob (`blobs/sha256:…`).
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.url)
    }

    /// Asks for a manifest or a blob from byte `from` on. If the registry asks for a token or a password, the request is sent
    /// once more with it.
    ///
    /// # Errors
    /// [`AskError`]; any other status is an answer.
    pub async fn get(&self, path: &str, from: u64) -> Result<Answer, AskError> {
        let url = self.url(path);
        let answer = self.ask(&url, from).await?;
        // Another server, to which the registry redirected, has no say in where the password goes.
        if answer.response.status() != StatusCode::UNAUTHORIZED || !http::is_same_server(&answer.url, self.url) {
            return Ok(answer);
        }
        let Some(authorization) = self.authorize(answer.response.headers()).await? else { return Ok(answer) };
        self.authorization.replace(Some(authorization));
        self.ask(&url, from).await
    }

    async fn ask(&self, url: &str, from: u64) -> Result<Answer, AskError> {
        let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(MANIFESTS))]);
        let authorization = self.authorization.borrow().clone();
        headers.extend(authorization.map(|value| (AUTHORIZATION, value)));
        self.client.get_with(url, from, &headers).await
    }

    /// The authorization that fits the challenge; `None` if there is none.
    async fn authorize(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, AskError> {
        let texts = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let challenges: Vec<Challenge> = texts.filter_map(challenge).collect();
        let of = |scheme| challenges.iter().find(|challenge| challenge.scheme == scheme);
        if let Some(bearer) = of("bearer") {
            return self.token(bearer).await.map(Some);
        }
        Ok(of("basic").and(self.basic()))
    }

    fn basic(&self) -> Option<HeaderValue> {
        secret(&format!("Basic {}", self.login?)).ok()
    }

    async fn token(&self, bearer: &Challenge) -> Result<HeaderValue, AskError> {
        let parameter = |name: &str| bearer.parameters.get(name).map(String::as_str);
        let unusable = |url: &str, reason: &str| AskError::Address { url: url.into(), reason: reason.into() };
        let Some(realm) = parameter("realm") else {
            return Err(unusable(self.url, "the registry asks for a token and does not name a token server"));
        };
        if self.url.starts_with("https://") && !realm.starts_with("https://") {
            return Err(unusable(realm, "the registry uses TLS, but its token server does not"));
        }
        let name = self.url.split_once("/v2/").map_or("", |(_, name)| name);
        let scope = parameter("scope").map_or_else(|| format!("repository:{name}:pull"), str::to_owned);
        let mut url = format!("{realm}{}scope={}", if realm.contains('?') { '&' } else { '?' }, encoded(&scope));
        if let Some(service) = parameter("service") {
            url += &format!("&service={}", encoded(service));
        }
        let headers = HeaderMap::from_iter(self.basic().map(|login| (AUTHORIZATION, login)));
        let answer = self.client.get_with(&url, 0, &headers).await?;
        let status = answer.response.status();
        let broken = |reason: String| AskError::Broken { what: "ask the token server", host: realm.into(), reason };
        if is_passing(status) {
            return Err(broken(format!("it answered {status}")));
        }
        if status != StatusCode::OK {
            return Err(AskError::Denied { url: format!("the token server {realm}"), status });
        }
        let body = Limited::new(answer.response.into_body(), LONGEST_TOKEN).collect().await;
        let body = body.map_err(|e| broken(nodeinit_base::with_causes(&*e)))?.to_bytes();
        let token = serde_json::from_slice(&body).ok().and_then(|token: Token| token.token.or(token.access_token));
        let value = token.and_then(|token| secret(&format!("Bearer {token}")).ok());
        value.ok_or_else(|| unusable(realm, "the token server's answer holds no token"))
    }
}

fn secret(text: &str) -> Result<HeaderValue, hyper::header::InvalidHeaderValue> {
    let mut value = HeaderValue::try_from(text)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Reads `Bearer realm="https://…",service="…"`. Source: RFC 9110, section 11.6.1.
fn challenge(text: &str) -> Option<Challenge> {
    let (scheme, mut rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let mut parameters = BTreeMap::new();
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([' ', ',']).to_lowercase();
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        parameters.insert(name, value.trim().to_owned());
        rest = after;
    }
    (!scheme.is_empty()).then(|| Challenge { scheme: scheme.to_lowercase(), parameters })
}

/// For a query: everything but what means nothing special there.
fn encoded(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~:/,".contains(&b);
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let bearer = challenge(
            r#"Bearer realm="https://auth.example/token?a=b", service="r, x",scope="repository:a/b:pull,push""#,
        );
        let bearer = bearer.unwrap();
        assert_eq!(bearer.scheme, "bearer");
        assert_eq!(bearer.parameters["realm"], "https://auth.example/token?a=b");
        assert_eq!(bearer.parameters["service"], "r, x");
        assert_eq!(bearer.parameters["scope"], "repository:a/b:pull,push");
        assert_eq!(challenge("Basic realm=x").unwrap().parameters["realm"], "x");
        assert_eq!(challenge(r#"Bearer realm="cut"#), None);
        assert_eq!(challenge(""), None);
    }

    #[test]
    fn queries_are_encoded() {
        assert_eq!(encoded("repository:a/b:pull"), "repository:a/b:pull");
        assert_eq!(encoded("a b&c=d"), "a%20b%26c%3Dd");
    }
}
