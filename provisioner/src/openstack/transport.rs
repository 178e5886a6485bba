//! HTTP with verified TLS, and what an answer says.

use crate::{cloud::Cloud, error::Error};
use serde_json::Value;
use std::time::Duration;

/// A service that takes longer to accept a connection is not there.
const CONNECT: Duration = Duration::from_secs(10);
/// The longest text of a service that is repeated.
const TOLD: usize = 400;

pub(super) fn http(cloud: &Cloud) -> Result<reqwest::Client, Error> {
    // Fails only where one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .user_agent(concat!("nodeinit-provisioner/", env!("CARGO_PKG_VERSION")));
    if let Some(path) = &cloud.ca_file {
        let wrong = |what: String| Error::Configuration {
            what,
            remedy: "name a file of PEM certificates as `cacert` (OS_CACERT)".to_owned(),
        };
        let pem = std::fs::read(path).map_err(|e| wrong(format!("cannot read {}: {e}", path.display())))?;
        let certificates =
            reqwest::Certificate::from_pem_bundle(&pem).map_err(|e| wrong(format!("{}: {e}", path.display())))?;
        for certificate in certificates {
            builder = builder.add_root_certificate(certificate);
        }
    }
    builder.build().map_err(|e| Error::Defect(format!("no HTTP client: {}", crate::error::causes(&e))))
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
    use super::message;

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
