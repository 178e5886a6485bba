//! Requests to servers of artifacts, over HTTP or HTTPS: directly or through a proxy, followed where a server redirects.

use crate::host::files::Files;
use http_body_util::Empty;
use hyper::{
    HeaderMap, Request, Response, StatusCode, Uri,
    body::{Bytes, Incoming},
    client::conn::http1,
    header::{AGE, AUTHORIZATION, DATE, HOST, HeaderValue, LOCATION, PROXY_AUTHORIZATION, RANGE, USER_AGENT},
};
use hyper_util::{
    client::proxy::matcher::{Intercept, Matcher},
    rt::TokioIo,
};
use nodeinit_base::{DETAIL, with_causes};
use nodeinit_config::Cluster;
use rustls::CertificateError;
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};
use std::{
    io,
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};
use time::{OffsetDateTime, format_description::well_known::Rfc2822};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, lookup_host},
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::TlsConnector;

/// What a connection may hold of an answer that is not yet written to disk, in bytes. Several downloads run at once.
const BUFFER: usize = 128 << 10;

/// How many times a server may redirect.
const REDIRECTS: usize = 5;

/// How long one of several addresses of a server may take to answer before the next is tried.
const ADDRESS_LIMIT: Duration = Duration::from_secs(4);

/// The certificates that the machine trusts: on Debian, Fedora and Red Hat, SUSE. Source: crypto/x509/root_linux.go of Go.
const TRUST: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
];

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
    /// The certificate is of a CA that is not trusted, or for another host; asking again does not help.
    #[error("{host} is not trusted: {reason}")]
    Untrusted {
        /// Host and port.
        host: String,
        /// Why.
        reason: String,
    },
    /// A proxy or a token server refused; asking again does not help.
    #[error("{url} answered {status}")]
    Denied {
        /// Who refused.
        url: String,
        /// Its answer.
        status: StatusCode,
    },
    /// The server is down, or something on the way: asking again may help.
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
    /// The URL that answered, after all redirects.
    pub url: String,
    _connection: Connection,
}

/// Ends the connection's task when the answer is no longer wanted.
struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A connection, encrypted or not, direct or through a proxy.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Sends requests: each over a connection of its own.
pub struct Client {
    files: Files,
    authority: Option<String>,
    proxies: Matcher,
    tls: OnceLock<Arc<rustls::ClientConfig>>,
}

impl Client {
    /// A client that trusts the machine's CAs and those in `authority`, PEM. It uses the proxies of `HTTPS_PROXY`, `HTTP_PROXY`,
    /// `ALL_PROXY` and `NO_PROXY`.
    #[must_use]
    pub fn new(files: &Files, authority: Option<&str>) -> Self {
        let authority = authority.map(str::to_owned);
        Self { files: files.clone(), authority, proxies: Matcher::from_env(), tls: OnceLock::new() }
    }

    /// The same for a cluster: trusts the CA of `artifacts`, and uses the proxies of `os.proxy` if the environment has none.
    #[must_use]
    pub fn of_cluster(files: &Files, cluster: &Cluster) -> Self {
        const VARIABLES: [&str; 6] =
            ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
        let client = Self::new(files, cluster.artifacts.ca_certificate.as_deref());
        let proxy = &cluster.os.proxy;
        if VARIABLES.iter().any(|name| std::env::var_os(name).is_some())
            || (proxy.http.is_none() && proxy.https.is_none())
        {
            return client;
        }
        let text = |url: &Option<String>| url.clone().unwrap_or_default();
        let proxies =
            Matcher::builder().http(text(&proxy.http)).https(text(&proxy.https)).no(proxy.no.join(",")).build();
        Self { proxies, ..client }
    }

    /// A client for servers on loopback.
    #[must_use]
    pub fn without_proxy(files: &Files) -> Self {
        let proxies = Matcher::builder().build();
        Self { files: files.clone(), authority: None, proxies, tls: OnceLock::new() }
    }

    /// Asks for `url` from byte `from` on.
    ///
    /// # Errors
    /// [`AskError`]; any status that is no redirection is an answer.
    pub async fn get(&self, url: &str, from: u64) -> Result<Answer, AskError> {
        self.get_with(url, from, &HeaderMap::new()).await
    }

    /// The same with further headers. Another server, to which it is redirected, does not get the `Authorization`.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn get_with(&self, url: &str, from: u64, headers: &HeaderMap) -> Result<Answer, AskError> {
        let mut headers = headers.clone();
        if from > 0 {
            headers.insert(RANGE, HeaderValue::try_from(format!("bytes={from}-")).map_err(|e| unusable(url, e))?);
        }
        self.follow(url, "GET", headers).await
    }

    /// The server's clock, from its answer's `Date`; `None` where it sends none, or where the answer is from a cache (RFC 9111, section 5.1).
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn date(&self, url: &str) -> Result<Option<SystemTime>, AskError> {
        let answer = self.ask(url, "HEAD", &HeaderMap::new()).await?;
        let headers = answer.response.headers();
        let text = headers.get(DATE).filter(|_| !headers.contains_key(AGE)).and_then(|value| value.to_str().ok());
        Ok(text.and_then(|text| OffsetDateTime::parse(text, &Rfc2822).ok()).map(SystemTime::from))
    }

    async fn follow(&self, url: &str, method: &str, mut headers: HeaderMap) -> Result<Answer, AskError> {
        let mut at = url.to_owned();
        for _ in 0..=REDIRECTS {
            let answer = self.ask(&at, method, &headers).await?;
            let is_elsewhere = matches!(
                answer.response.status(),
                StatusCode::MOVED_PERMANENTLY
                    | StatusCode::FOUND
                    | StatusCode::SEE_OTHER
                    | StatusCode::TEMPORARY_REDIRECT
                    | StatusCode::PERMANENT_REDIRECT
            );
            match answer.response.headers().get(LOCATION).and_then(|value| value.to_str().ok()) {
                Some(next) if is_elsewhere => {
                    let next = elsewhere(&at, next)?;
                    if !is_same_server(&at, &next) {
                        headers.remove(AUTHORIZATION);
                    }
                    at = next;
                }
                _ => return Ok(answer),
            }
        }
        Err(unusable(url, format!("too many redirects ({REDIRECTS})")))
    }

    async fn ask(&self, url: &str, method: &str, headers: &HeaderMap) -> Result<Answer, AskError> {
        let server = Server::of(url)?;
        let proxy = self.proxies.intercept(&server.uri);
        let stream = match &proxy {
            None => reach(&server.host, server.port).await?,
            Some(proxy) => self.reach_by(proxy, &server).await?,
        };
        let stream = if server.is_secure { self.secure(stream, &server).await? } else { stream };
        // A proxy gets the absolute URL, unless it only tunnels TLS.
        let forward = proxy.as_ref().filter(|_| !server.is_secure);
        let target = match forward {
            Some(_) => url,
            None => server.uri.path_and_query().map_or("/", |p| p.as_str()),
        };
        let mut request = Request::builder()
            .method(method)
            .uri(target)
            .header(HOST, server.authority())
            .header(USER_AGENT, concat!("nodeinit/", env!("CARGO_PKG_VERSION")));
        if let Some(login) = forward.and_then(Intercept::basic_auth) {
            request = request.header(PROXY_AUTHORIZATION, login);
        }
        let mut request = request.body(Empty::<Bytes>::new()).map_err(|e| unusable(url, e))?;
        request.headers_mut().extend(headers.clone());
        let broken = |e: hyper::Error| server.broken("ask", with_causes(&e));
        let handshake = http1::Builder::new().max_buf_size(BUFFER).handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.map_err(broken)?;
        let connection = Connection(tokio::spawn(async move {
            // What breaks the connection reaches the reader of the body too.
            let _ = connection.await;
        }));
        let response = sender.send_request(request).await.map_err(broken)?;
        // A query may be a login.
        tracing::info!(target: DETAIL, "{method} {}{}: {}", server.host, server.uri.path(), response.status());
        Ok(Answer { response, url: url.to_owned(), _connection: connection })
    }

    /// Connects to a proxy, and where the server is to be asked over TLS, through it.
    async fn reach_by(&self, proxy: &Intercept, server: &Server) -> Result<Box<dyn Stream>, AskError> {
        let by = Server::of(&proxy.uri().to_string())?;
        let mut stream = reach(&by.host, by.port).await?;
        if by.is_secure {
            stream = self.secure(stream, &by).await?;
        }
        if !server.is_secure {
            return Ok(stream);
        }
        let target = server.address();
        let mut request = Request::connect(&target).header(HOST, &target);
        if let Some(login) = proxy.basic_auth() {
            request = request.header(PROXY_AUTHORIZATION, login);
        }
        let request = request.body(Empty::<Bytes>::new()).map_err(|e| unusable(&target, e))?;
        let broken = |e: hyper::Error| by.broken("ask the proxy", with_causes(&e));
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // It ends with the tunnel.
        tokio::spawn(connection.with_upgrades());
        let response = sender.send_request(request).await.map_err(broken)?;
        let status = response.status();
        if status.is_server_error() {
            return Err(by.broken("ask the proxy", format!("it answered {status}")));
        }
        if !status.is_success() {
            return Err(AskError::Denied { url: format!("the proxy {}", by.address()), status });
        }
        Ok(Box::new(TokioIo::new(hyper::upgrade::on(response).await.map_err(broken)?)))
    }

    async fn secure(&self, stream: Box<dyn Stream>, server: &Server) -> Result<Box<dyn Stream>, AskError> {
        let name = ServerName::try_from(server.host.clone()).map_err(|e| unusable(&server.address(), e))?;
        let trust = self.trust().map_err(|reason| unusable(&server.address(), reason))?;
        let stream = TlsConnector::from(trust).connect(name, stream).await;
        Ok(Box::new(stream.map_err(|e| match is_refused(&e) {
            true => AskError::Untrusted { host: server.address(), reason: e.to_string() },
            false => server.broken("speak TLS with", e.to_string()),
        })?))
    }

    /// The machine's own trust, and the configured CA.
    fn trust(&self) -> Result<Arc<rustls::ClientConfig>, String> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls.clone());
        }
        let mut roots = rustls::RootCertStore::empty();
        for path in TRUST {
            if let Some(text) = self.files.read(path).map_err(|e| e.to_string())? {
                roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&text).flatten());
            }
        }
        if let Some(authority) = &self.authority {
            let (added, _) =
                roots.add_parsable_certificates(CertificateDer::pem_slice_iter(authority.as_bytes()).flatten());
            if added == 0 {
                return Err("artifacts.caCertificate holds no certificate that can be read".into());
            }
        }
        if roots.is_empty() {
            return Err(format!(
                "this machine trusts no certificate: {} is missing; install ca-certificates",
                TRUST[0]
            ));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(self.tls.get_or_init(|| Arc::new(config)).clone())
    }
}

/// What a URL says of its server.
struct Server {
    uri: Uri,
    is_secure: bool,
    /// Without brackets.
    host: String,
    port: u16,
}

impl Server {
    fn of(url: &str) -> Result<Self, AskError> {
        let uri: Uri = url.parse().map_err(|e| unusable(url, e))?;
        let is_secure = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(unusable(url, "it must begin with http:// or https://")),
        };
        let authority = uri.authority().ok_or_else(|| unusable(url, "it names no host"))?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        Ok(Self { is_secure, host, port, uri })
    }

    fn authority(&self) -> &str {
        self.uri.authority().map_or("", |a| a.as_str())
    }

    fn address(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{host}:{}", self.port)
    }

    fn broken(&self, what: &'static str, reason: String) -> AskError {
        AskError::Broken { what, host: self.address(), reason }
    }
}

async fn reach(host: &str, port: u16) -> Result<Box<dyn Stream>, AskError> {
    let broken =
        |e: io::Error| AskError::Broken { what: "reach", host: format!("{host}:{port}"), reason: e.to_string() };
    let mut addresses = lookup_host((host, port)).await.map_err(broken)?.peekable();
    let mut last = io::Error::other("it has no address");
    while let Some(address) = addresses.next() {
        // IPv6 without a route drops packets: the other addresses are left to try.
        let limit = if addresses.peek().is_some() { ADDRESS_LIMIT } else { Duration::MAX };
        match timeout(limit, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(Box::new(stream)),
            Ok(Err(e)) => last = e,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(broken(last))
}

/// Whether the certificate itself is refused. One that is not valid at this time may be later: clocks are corrected.
fn is_refused(error: &io::Error) -> bool {
    use CertificateError as Bad;
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(bad)) => !matches!(
            bad,
            Bad::Expired | Bad::ExpiredContext { .. } | Bad::NotValidYet | Bad::NotValidYetContext { .. }
        ),
        _ => false,
    }
}

/// Whether both URLs have the same scheme, host and port.
#[must_use]
pub fn is_same_server(a: &str, b: &str) -> bool {
    match (Server::of(a), Server::of(b)) {
        (Ok(a), Ok(b)) => (a.is_secure, a.host, a.port) == (b.is_secure, b.host, b.port),
        _ => false,
    }
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
        return Err(unusable(from, format!("it redirects to {next}, which is not encrypted")));
    }
    Ok(next)
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
    #[test]
    fn the_same_server_has_the_same_scheme_host_and_port() {
        assert!(is_same_server("https://a.example/x", "https://a.example:443/y"));
        for other in ["https://b.example/x", "http://a.example/x", "https://a.example:444/x"] {
            assert!(!is_same_server("https://a.example/x", other), "{other}");
        }
    }
}
