//! Requests to a mirror, over HTTP or HTTPS, followed where it sends us.

use crate::host::files::Files;
use http_body_util::Empty;
use hyper::{
    Request, Response, StatusCode, Uri,
    body::{Bytes, Incoming},
    client::conn::http1,
    header::{DATE, HOST, LOCATION, RANGE, USER_AGENT},
};
use hyper_util::rt::TokioIo;
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};
use std::{sync::Arc, time::SystemTime};
use time::{OffsetDateTime, format_description::well_known::Rfc2822};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::JoinHandle,
};
use tokio_rustls::TlsConnector;

/// What a connection may hold of an answer that is not yet written to disk, in bytes. Several downloads run at once.
const BUFFER: usize = 128 << 10;

/// How many times a mirror may send us elsewhere.
const REDIRECTS: usize = 5;

/// The certificates that the machine trusts: Debian's path, then Red Hat's.
const TRUST: [&str; 2] = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The address cannot be used; asking again does not help.
    #[error("{url} cannot be used: {reason}")]
    Address {
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The mirror is down, or something on the way: asking again may help.
    #[error("cannot {what} {host}: {reason}")]
    Broken {
        /// A verb: `reach`, `speak TLS with`.
        what: &'static str,
        /// Host and port.
        host: String,
        /// Why.
        reason: String,
    },
}

/// An answer whose body can be read while this is kept.
pub struct Answer {
    /// Status, headers, body.
    pub response: Response<Incoming>,
    _connection: Connection,
}

/// Ends the connection's task when the answer is no longer wanted.
struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Asks for `url` from byte `from` on.
///
/// # Errors
/// [`AskError`]; any status that is no redirection is an answer.
pub async fn get(url: &str, from: u64, files: &Files) -> Result<Answer, AskError> {
    request(url, "GET", from, files).await
}

/// The mirror's clock, from its answer's `Date`; `None` where it sends none.
///
/// # Errors
/// As [`get`].
pub async fn date(url: &str, files: &Files) -> Result<Option<SystemTime>, AskError> {
    let answer = request(url, "HEAD", 0, files).await?;
    let text = answer.response.headers().get(DATE).and_then(|value| value.to_str().ok());
    Ok(text.and_then(|text| OffsetDateTime::parse(text, &Rfc2822).ok()).map(SystemTime::from))
}

async fn request(url: &str, method: &str, from: u64, files: &Files) -> Result<Answer, AskError> {
    let mut at = url.to_owned();
    for _ in 0..=REDIRECTS {
        let answer = ask(&at, method, from, files).await?;
        let is_elsewhere = matches!(
            answer.response.status(),
            StatusCode::MOVED_PERMANENTLY
                | StatusCode::FOUND
                | StatusCode::SEE_OTHER
                | StatusCode::TEMPORARY_REDIRECT
                | StatusCode::PERMANENT_REDIRECT
        );
        match answer.response.headers().get(LOCATION).and_then(|value| value.to_str().ok()) {
            Some(next) if is_elsewhere => at = elsewhere(&at, next)?,
            _ => return Ok(answer),
        }
    }
    Err(unusable(url, format!("it leads elsewhere more than {REDIRECTS} times")))
}

fn unusable(url: &str, reason: impl ToString) -> AskError {
    AskError::Address { url: url.into(), reason: reason.to_string() }
}

/// Where a redirection leads; from `https` never to `http`.
fn elsewhere(from: &str, location: &str) -> Result<String, AskError> {
    let uri: Uri = from.parse().map_err(|e| unusable(from, e))?;
    let scheme = uri.scheme_str().unwrap_or("http");
    let authority = uri.authority().map_or("", |a| a.as_str());
    let next = if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else if location.contains("://") {
        location.to_owned()
    } else {
        let folder = uri.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{location}")
    };
    if scheme == "https" && !next.starts_with("https://") {
        return Err(unusable(from, format!("it leads to {next}, which is not encrypted")));
    }
    Ok(next)
}

async fn ask(url: &str, method: &str, from: u64, files: &Files) -> Result<Answer, AskError> {
    let uri: Uri = url.parse().map_err(|e| unusable(url, e))?;
    let is_secure = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(unusable(url, "it must begin with http:// or https://")),
    };
    let authority = uri.authority().ok_or_else(|| unusable(url, "it names no host"))?;
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let port = authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    let mut request = Request::builder()
        .method(method)
        .uri(uri.path_and_query().map_or("/", |p| p.as_str()))
        .header(HOST, authority.as_str())
        .header(USER_AGENT, concat!("nodeinit/", env!("CARGO_PKG_VERSION")));
    if from > 0 {
        request = request.header(RANGE, format!("bytes={from}-"));
    }
    let request = request.body(Empty::new()).map_err(|e| unusable(url, e))?;
    let broken = |what| {
        let host = format!("{host}:{port}");
        move |reason: String| AskError::Broken { what, host, reason }
    };
    let stream = TcpStream::connect((host, port)).await.map_err(|e| broken("reach")(e.to_string()))?;
    let answer = if is_secure {
        let name = ServerName::try_from(host.to_owned()).map_err(|e| unusable(url, e))?;
        let trust = trust(files).map_err(|reason| unusable(url, reason))?;
        let stream = TlsConnector::from(Arc::new(trust)).connect(name, stream).await;
        send(stream.map_err(|e| broken("speak TLS with")(e.to_string()))?, request).await
    } else {
        send(stream, request).await
    };
    answer.map_err(|e| broken("ask")(with_causes(&e)))
}

async fn send<S>(stream: S, request: Request<Empty<Bytes>>) -> hyper::Result<Answer>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::Builder::new().max_buf_size(BUFFER).handshake(TokioIo::new(stream)).await?;
    let connection = Connection(tokio::spawn(async move {
        // What breaks the connection reaches the reader of the body too.
        let _ = connection.await;
    }));
    Ok(Answer { response: sender.send_request(request).await?, _connection: connection })
}

/// An error and its causes in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// The machine's own trust.
fn trust(files: &Files) -> Result<rustls::ClientConfig, String> {
    let mut roots = rustls::RootCertStore::empty();
    for path in TRUST {
        if let Some(text) = files.read(path).map_err(|e| e.to_string())? {
            roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&text).flatten());
        }
    }
    if roots.is_empty() {
        return Err(format!("this machine trusts no certificate: {} is missing; install ca-certificates", TRUST[0]));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirections_of_every_form_are_followed() {
        let from = "https://mirror.example:8443/v1/kubelet";
        let next = |location| elsewhere(from, location).unwrap();
        assert_eq!(next("/v2/kubelet"), "https://mirror.example:8443/v2/kubelet");
        assert_eq!(next("kubelet.new"), "https://mirror.example:8443/v1/kubelet.new");
        assert_eq!(next("//other.example/kubelet"), "https://other.example/kubelet");
        assert_eq!(next("https://other.example/kubelet"), "https://other.example/kubelet");
        assert!(elsewhere(from, "http://other.example/kubelet").unwrap_err().to_string().contains("not encrypted"));
    }
}
