//! HTTP with verified TLS, and what an answer says.

use crate::{
    cloud::Cloud,
    error::{ApiError, Error},
};
use reqwest::{
    Response, Url,
    redirect::{Action, Attempt, Policy},
};
use serde_json::Value;
use std::time::Duration;

/// A service that takes longer to accept a connection is not there.
const CONNECT: Duration = Duration::from_secs(10);
/// A service may redirect a request so many times.
const REDIRECTS: usize = 5;
/// The longest answer that is read, in bytes. Lists come in pages of at most a thousand; the console of a server has 100 KiB.
pub(super) const LONGEST: usize = 64 << 20;
/// The longest text of a service that is repeated.
const TOLD: usize = 400;

pub(super) fn http(cloud: &Cloud) -> Result<reqwest::Client, Error> {
    // Fails only where one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(Policy::custom(followed))
        .user_agent(concat!("nodeinit-provisioner/", env!("CARGO_PKG_VERSION")));
    if let Some(path) = &cloud.ca_file {
        let wrong = |what: String| Error::Configuration {
            what,
            remedy: "set `cacert` (OS_CACERT) to a file with PEM certificates".to_owned(),
        };
        let pem = std::fs::read(path).map_err(|e| wrong(format!("cannot read {}: {e}", path.display())))?;
        let certificates =
            reqwest::Certificate::from_pem_bundle(&pem).map_err(|e| wrong(format!("{}: {e}", path.display())))?;
        for certificate in certificates {
            builder = builder.add_root_certificate(certificate);
        }
    }
    builder
        .build()
        .map_err(|e| Error::Defect(format!("cannot create the HTTP client: {}", nodeinit_base::with_causes(&e))))
}

/// Follows a redirect that stays with the service. The HTTP client would send the token, and the password in a login, to any
/// host.
fn followed(attempt: Attempt<'_>) -> Action {
    let Some(from) = attempt.previous().last() else { return attempt.follow() };
    let show = |url: &Url| format!("{}{}", url.origin().ascii_serialization(), url.path());
    let (from, to, steps) = (from.clone(), attempt.url().clone(), attempt.previous().len());
    if !stays(&from, &to) {
        let what = format!("{} redirects to {}, and the token must not leave the service", show(&from), show(&to));
        return attempt.error(what);
    }
    if steps > REDIRECTS {
        return attempt.error(format!("{}: too many redirects ({REDIRECTS})", show(&from)));
    }
    attempt.follow()
}

/// Whether the same host is asked on the same port, or over https instead of http.
fn stays(from: &Url, to: &Url) -> bool {
    let same_port = from.port_or_known_default() == to.port_or_known_default();
    from.host_str() == to.host_str()
        && match (from.scheme(), to.scheme()) {
            ("http", "https") => true,
            (from, to) => from == to && same_port,
        }
}

/// Reads an answer to its end.
pub(super) async fn text(mut response: Response, request: &str) -> Result<Result<String, ApiError>, reqwest::Error> {
    let too_long = |url: &Url| ApiError::TooLong { request: request.to_owned(), url: url.to_string(), limit: LONGEST };
    if response.content_length().is_some_and(|length| length > LONGEST as u64) {
        return Ok(Err(too_long(response.url())));
    }
    let mut all = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if all.len() + piece.len() > LONGEST {
            return Ok(Err(too_long(response.url())));
        }
        all.extend_from_slice(&piece);
    }
    Ok(Ok(String::from_utf8_lossy(&all).into_owned()))
}

/// The service's own words: each has another place for them.
pub(super) fn message(body: &str) -> String {
    let said = serde_json::from_str::<Value>(body).ok();
    let inner = said.as_ref().and_then(|value| {
        let nested = value.as_object()?.values().find_map(|v| v.get("message").or_else(|| v.get("detail")))?;
        let plain = value.get("faultstring").or_else(|| value.get("message"));
        plain.or(Some(nested))?.as_str()
    });
    let plain =
        said.as_ref().and_then(|v| v.get("faultstring").or_else(|| v.get("NeutronError").or_else(|| v.get("message"))));
    let text = inner.or_else(|| plain.and_then(Value::as_str)).unwrap_or(body).trim();
    // Nova repeats the whole user-data in its refusal; that may hold a worker's token.
    if text.contains("user_data") {
        return "the user-data is refused: too long, or not Base64".to_owned();
    }
    let short: String = text.chars().take(TOLD).collect();
    if short.is_empty() { "no explanation".to_owned() } else { short.replace('\n', " ") }
}

#[cfg(test)]
mod tests {
    use super::{message, stays};

    #[test]
    fn a_redirect_stays_with_its_host_and_encrypted() {
        for (from, to, expected) in [
            ("https://a:5000/v3", "https://a:5000/v3/", true),
            ("http://a/identity", "https://a/identity", true),
            ("http://a:5000/v3", "https://a:5000/v3", true),
            ("https://a/v3", "http://a/v3", false),
            ("https://a/v3", "https://b/v3", false),
            ("https://a/v3", "https://a.b/v3", false),
            ("https://a/v3", "https://a:8443/v3", false),
        ] {
            assert_eq!(stays(&from.parse().unwrap(), &to.parse().unwrap()), expected, "{from} to {to}");
        }
    }

    #[test]
    fn each_service_has_its_own_place_for_words() {
        for (body, words) in [
            (r#"{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded", "detail": ""}}"#, "Quota exceeded"),
            (r#"{"overLimit": {"code": 413, "message": "VolumeLimitExceeded"}}"#, "VolumeLimitExceeded"),
            (r#"{"faultcode": "Client", "faultstring": "Immutable", "debuginfo": null}"#, "Immutable"),
            (
                r#"{"badRequest": {"message": "Invalid input for field/attribute user_data. Value: SECRET"}}"#,
                "the user-data is refused: too long, or not Base64",
            ),
            ("<html>502</html>", "<html>502</html>"),
            ("", "no explanation"),
        ] {
            assert_eq!(message(body), words);
        }
    }
}
