//! Downloads from a mirror: HTTP or HTTPS, resumed where they broke off, verified before anybody uses them.

use crate::{
    engine::journal::hex,
    host::files::{FileError, Files, failed},
};
use http_body_util::{BodyExt, Empty};
use hyper::{
    Request, Response, StatusCode, Uri,
    body::{Body, Bytes, Incoming},
    client::conn::http1,
    header::{CONTENT_RANGE, DATE, HOST, LOCATION, RANGE},
};
use hyper_util::rt::TokioIo;
use ring::digest::{Context as Digest, SHA256};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};
use std::{
    fs::OpenOptions,
    io::{Read, Write},
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::{net::TcpStream, time::Instant};
use tokio_rustls::TlsConnector;

/// A connection that gives nothing for so long is given up and begun anew.
const STALL: Duration = Duration::from_secs(20);

/// The pause after a broken connection, doubled each time up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How often somebody who waits is told.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// How many times a mirror may send us elsewhere.
const REDIRECTS: usize = 5;

/// The certificates that the machine trusts: Debian's path, then Red Hat's.
const TRUST: [&str; 2] = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

/// Why nothing was downloaded.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// The address cannot be used.
    #[error("{url} is not an address to download from: {reason}")]
    Address {
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The mirror answered, and trying again would not help.
    #[error("{url}: the mirror answered {status}")]
    Refused {
        /// The address.
        url: String,
        /// Its answer.
        status: StatusCode,
    },
    /// The content is not what was described. What was downloaded is removed.
    #[error("{url} has the SHA-256 {found}, and {wanted} was expected")]
    Digest {
        /// The address.
        url: String,
        /// The configured digest, in hex.
        wanted: String,
        /// The digest of what came, in hex.
        found: String,
    },
    /// The deadline passed. What has come so far is kept for the next try.
    #[error("{url} was not downloaded within {} s ({bytes} bytes are here); last: {last}", .limit.as_secs())]
    TimedOut {
        /// The address.
        url: String,
        /// How long it was given.
        limit: Duration,
        /// How much is here.
        bytes: u64,
        /// What broke the last try.
        last: String,
    },
    /// A file of ours.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A file to download.
#[derive(Clone, Debug)]
pub struct Download {
    /// Where it is: `http://` or `https://`.
    pub url: String,
    /// Its SHA-256.
    pub sha256: [u8; 32],
    /// How long it may take, with all retries.
    pub limit: Duration,
}

/// One try's end.
enum Ended {
    /// Trying again may help.
    Broken(String),
    /// Trying again does not help.
    Final(DownloadError),
}

impl From<FileError> for Ended {
    fn from(error: FileError) -> Self {
        Self::Final(error.into())
    }
}

impl Download {
    /// Downloads into `to`, going on behind what is already there, and returns when the file is whole and has its digest.
    /// `tell` is given a line of progress every few seconds.
    ///
    /// # Errors
    /// [`DownloadError`]; a file with the wrong digest is removed, a part of one is kept.
    pub async fn fetch(&self, files: &Files, to: &Path, tell: impl Fn(String)) -> Result<(), DownloadError> {
        let begun = Instant::now();
        let deadline = begun + self.limit;
        let mut pause = FIRST_PAUSE;
        let mut last = String::from("no answer");
        let mut fresh = false;
        loop {
            let before = size(files, to);
            match tokio::time::timeout_at(deadline, self.attempt(files, to, begun, &tell)).await {
                Ok(Ok(())) => match self.verify(files, to)? {
                    None => return Ok(()),
                    // What an earlier run left may belong to another content: once more, from the beginning.
                    Some(_) if before > 0 && !fresh => {
                        fresh = true;
                        last = "what was here before did not fit".into();
                        tell(format!("{last}; from the beginning"));
                        files.remove_file(to)?;
                        continue;
                    }
                    Some(found) => {
                        files.remove_file(to)?;
                        return Err(DownloadError::Digest { url: self.url.clone(), wanted: hex(&self.sha256), found });
                    }
                },
                Ok(Err(Ended::Final(error))) => return Err(error),
                Ok(Err(Ended::Broken(reason))) => last = reason,
                Err(_) => {}
            }
            if size(files, to) > before {
                pause = FIRST_PAUSE;
            }
            if Instant::now() + pause >= deadline {
                let bytes = size(files, to);
                return Err(DownloadError::TimedOut { url: self.url.clone(), limit: self.limit, bytes, last });
            }
            tell(format!("{last}; trying again"));
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn attempt(&self, files: &Files, to: &Path, begun: Instant, tell: &impl Fn(String)) -> Result<(), Ended> {
        let have = size(files, to);
        let (response, _connection) = get(&self.url, "GET", have, files).await?;
        let offset = match response.status() {
            StatusCode::PARTIAL_CONTENT if starts_at(&response) == Some(have) => have,
            // All of it, because the mirror knows no ranges or there was nothing to go on from.
            StatusCode::OK => 0,
            // Nothing behind what we have: the digest decides.
            StatusCode::RANGE_NOT_SATISFIABLE if have > 0 => return Ok(()),
            status if is_passing(status) => return Err(Ended::Broken(format!("the mirror answered {status}"))),
            status => return Err(Ended::Final(DownloadError::Refused { url: self.url.clone(), status })),
        };
        let total = response.body().size_hint().exact().map(|rest| offset + rest);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(offset == 0)
            .append(offset > 0)
            .write(true)
            .open(files.real(to))
            .map_err(failed("write", to))?;
        let mut body = response.into_body();
        let (mut done, mut told) = (offset, Instant::now());
        loop {
            let frame = match tokio::time::timeout(STALL, body.frame()).await {
                Err(_) => return Err(Ended::Broken(format!("nothing came for {} s", STALL.as_secs()))),
                Ok(Some(Err(e))) => return Err(Ended::Broken(format!("the connection broke after {done} bytes: {e}"))),
                Ok(None) => break,
                Ok(Some(Ok(frame))) => frame,
            };
            if let Ok(data) = frame.into_data() {
                file.write_all(&data).map_err(failed("write", to))?;
                done += data.len() as u64;
            }
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                tell(progress(done, total, begun.elapsed()));
            }
        }
        match total {
            Some(total) if done < total => {
                Err(Ended::Broken(format!("the connection ended after {done} of {total} bytes")))
            }
            _ => Ok(()),
        }
    }

    /// The digest of what came, where it is not the right one.
    fn verify(&self, files: &Files, path: &Path) -> Result<Option<String>, FileError> {
        let found = file_sha256(files, path)?;
        Ok((found != self.sha256).then(|| hex(&found)))
    }
}

fn progress(done: u64, total: Option<u64>, took: Duration) -> String {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let of = total.map_or_else(String::new, |t| format!(" of {:.1}", megabytes(t)));
    format!("{:.1}{of} MB after {} s", megabytes(done), took.as_secs())
}

fn size(files: &Files, path: &Path) -> u64 {
    files.real(path).metadata().map_or(0, |m| m.len())
}

/// The SHA-256 of a file, read in pieces. Blocks on the disk.
///
/// # Errors
/// Where it cannot be read.
pub fn file_sha256(files: &Files, path: &Path) -> Result<[u8; 32], FileError> {
    let read = || -> std::io::Result<[u8; 32]> {
        let mut file = std::fs::File::open(files.real(path))?;
        let mut digest = Digest::new(&SHA256);
        let mut buffer = vec![0; 256 << 10];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                n => digest.update(&buffer[..n]),
            }
        }
        let mut sum = [0; 32];
        sum.copy_from_slice(digest.finish().as_ref());
        Ok(sum)
    };
    read().map_err(failed("read", path))
}

/// The mirror's clock, from its answer's `Date`; `None` where it sends none.
///
/// # Errors
/// Where the mirror does not answer within `limit`, in one line.
pub async fn date(url: &str, files: &Files, limit: Duration) -> Result<Option<SystemTime>, String> {
    let answer = match tokio::time::timeout(limit, get(url, "HEAD", 0, files)).await {
        Ok(Ok((response, _))) => response,
        Ok(Err(Ended::Broken(reason))) => return Err(reason),
        Ok(Err(Ended::Final(error))) => return Err(error.to_string()),
        Err(_) => return Err(format!("no answer within {} s", limit.as_secs())),
    };
    let text = answer.headers().get(DATE).and_then(|v| v.to_str().ok());
    let parsed = text.and_then(|t| time::OffsetDateTime::parse(t, &time::format_description::well_known::Rfc2822).ok());
    Ok(parsed.map(SystemTime::from))
}

/// The first byte's place in a partial answer: `Content-Range: bytes 100-199/200`.
fn starts_at(response: &Response<Incoming>) -> Option<u64> {
    let range = response.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

/// Whether another try may be answered better.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
}

/// Ends the connection's task when the answer is no longer wanted.
struct Connection(tokio::task::JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Asks for `url` from byte `from` on, following the mirror elsewhere if it says so.
async fn get(url: &str, method: &str, from: u64, files: &Files) -> Result<(Response<Incoming>, Connection), Ended> {
    let mut at = url.to_owned();
    for _ in 0..=REDIRECTS {
        let (response, connection) = tokio::time::timeout(STALL, ask(&at, method, from, files))
            .await
            .map_err(|_| Ended::Broken(format!("no answer within {} s", STALL.as_secs())))??;
        let next = response.headers().get(LOCATION).and_then(|v| v.to_str().ok());
        match next {
            Some(next) if response.status().is_redirection() => at = elsewhere(&at, next)?,
            _ => return Ok((response, connection)),
        }
    }
    Err(Ended::Final(wrong(url, format!("it leads elsewhere more than {REDIRECTS} times"))))
}

fn wrong(url: &str, reason: impl Into<String>) -> DownloadError {
    DownloadError::Address { url: url.into(), reason: reason.into() }
}

/// Where a redirection leads; from `https` never to `http`.
fn elsewhere(from: &str, location: &str) -> Result<String, Ended> {
    let uri: Uri = from.parse().map_err(|e: hyper::http::uri::InvalidUri| Ended::Final(wrong(from, e.to_string())))?;
    let scheme = uri.scheme_str().unwrap_or("http");
    let authority = uri.authority().map_or("", |a| a.as_str());
    let next = match location {
        l if l.starts_with("//") => format!("{scheme}:{l}"),
        l if l.starts_with('/') => format!("{scheme}://{authority}{l}"),
        l if l.contains("://") => l.to_owned(),
        l => {
            let folder = uri.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            format!("{scheme}://{authority}{folder}/{l}")
        }
    };
    if scheme == "https" && !next.starts_with("https://") {
        return Err(Ended::Final(wrong(from, format!("it leads to {next}, which is not encrypted"))));
    }
    Ok(next)
}

async fn ask(url: &str, method: &str, from: u64, files: &Files) -> Result<(Response<Incoming>, Connection), Ended> {
    let uri: Uri = url.parse().map_err(|e: hyper::http::uri::InvalidUri| Ended::Final(wrong(url, e.to_string())))?;
    let host = uri.host().ok_or_else(|| Ended::Final(wrong(url, "it names no host")))?;
    let secure = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(Ended::Final(wrong(url, "it must begin with http:// or https://"))),
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let broken = |what: &str, e: &dyn std::fmt::Display| Ended::Broken(format!("cannot {what} {host}:{port}: {e}"));
    let stream = TcpStream::connect((bare, port)).await.map_err(|e| broken("reach", &e))?;
    let mut request = Request::builder().method(method).uri(uri.path_and_query().map_or("/", |p| p.as_str()));
    request = request.header(HOST, uri.authority().map_or(host, |a| a.as_str())).header("user-agent", "nodeinit");
    if from > 0 {
        request = request.header(RANGE, format!("bytes={from}-"));
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|e| Ended::Final(wrong(url, e.to_string())))?;
    if secure {
        let name = ServerName::try_from(bare.to_owned()).map_err(|e| Ended::Final(wrong(url, e.to_string())))?;
        let tls = TlsConnector::from(Arc::new(tls(files).map_err(|reason| Ended::Final(wrong(url, reason)))?));
        let stream = tls.connect(name, stream).await.map_err(|e| broken("speak TLS with", &e))?;
        send(stream, request).await.map_err(|e| broken("ask", &e))
    } else {
        send(stream, request).await.map_err(|e| broken("ask", &e))
    }
}

async fn send<S>(stream: S, request: Request<Empty<Bytes>>) -> hyper::Result<(Response<Incoming>, Connection)>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = Connection(tokio::spawn(async move {
        // What breaks the connection reaches the reader of the body too.
        let _ = connection.await;
    }));
    Ok((sender.send_request(request).await?, connection))
}

/// The machine's own trust.
fn tls(files: &Files) -> Result<rustls::ClientConfig, String> {
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
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(config.map_err(|e| e.to_string())?.with_root_certificates(roots).with_no_client_auth())
}
