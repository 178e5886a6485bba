//! One HTTP exchange at a time: plain HTTP/1.1 for health addresses, HTTP/2 over TLS for the Kubernetes API and etcd.

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Request, Response, StatusCode,
    body::{Body, Incoming},
    client::conn,
    header::HOST,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nodeinit_base::DETAIL;
use rustls_pki_types::ServerName;
use std::{error::Error, io, net::SocketAddr, ops::ControlFlow, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

/// How TLS calls HTTP/2. Source: RFC 9113, section 3.1.
pub const HTTP2: &[u8] = b"h2";

/// The longest answer of a health address that is read, in bytes.
const LONGEST_HEALTH: usize = 1 << 20;

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Nobody listens, or the network fails.
    #[error("cannot reach {address}: {source}")]
    Connect {
        /// The server's address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The server's name has no address.
    #[error("cannot find the address of {host}: {source}")]
    Resolve {
        /// The name.
        host: String,
        /// Why.
        source: io::Error,
    },
    /// The connection broke, or the other side does not speak HTTP.
    #[error("{address} did not answer: {source}")]
    Exchange {
        /// The server's address.
        address: SocketAddr,
        /// Why.
        source: hyper::Error,
    },
    /// The connection had ended before the request was sent: nothing of it reached the server.
    #[error("{address} closed the connection: {source}")]
    Closed {
        /// The server's address.
        address: SocketAddr,
        /// Why.
        source: hyper::Error,
    },
    /// A request that cannot be sent.
    #[error("bad request for {path}: {source}")]
    Request {
        /// The path of the request.
        path: String,
        /// Why.
        source: hyper::http::Error,
    },
    /// An answer that is not read to its end.
    #[error("{url}: the answer is longer than {} MiB", limit >> 20)]
    TooLong {
        /// What was asked for.
        url: String,
        /// The most that is read, in bytes.
        limit: usize,
    },
    /// No answer in time.
    #[error("{address} did not answer within {} ms", .limit.as_millis())]
    TimedOut {
        /// The server's address.
        address: SocketAddr,
        /// How long it was given.
        limit: Duration,
    },
}

impl HttpError {
    /// Whether the other side's certificate was refused: waiting does not change it.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        matches!(self, Self::Connect { source, .. } if source.kind() == io::ErrorKind::InvalidData)
    }

    /// Whether another CA has signed the other side's certificate. One that has expired, or is for another name, may be of ours.
    #[must_use]
    pub fn is_of_another_ca(&self) -> bool {
        use rustls::{CertificateError as Bad, Error as Tls};
        let Self::Connect { source, .. } = self else { return false };
        let tls = source.get_ref().and_then(|inner| inner.downcast_ref::<Tls>());
        matches!(tls, Some(Tls::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature)))
    }
}

/// A GET over plain HTTP, for health addresses on loopback.
///
/// # Errors
/// [`HttpError`] where there is no answer within `limit`; any status is an answer.
pub async fn get_plain(address: SocketAddr, path: &str, limit: Duration) -> Result<(StatusCode, Bytes), HttpError> {
    let exchange = async {
        let stream = TcpStream::connect(address).await.map_err(|source| HttpError::Connect { address, source })?;
        get(stream, address, path, &[]).await
    };
    tokio::time::timeout(limit, exchange).await.unwrap_or(Err(HttpError::TimedOut { address, limit }))
}

/// A GET over HTTP/1.1 and TLS, which verifies the server's certificate for its address.
///
/// # Errors
/// [`HttpError`] where there is no answer within `limit`; any status is an answer.
pub async fn get_tls(
    address: SocketAddr,
    tls: Arc<rustls::ClientConfig>,
    path: &str,
    headers: &[(&'static str, String)],
    limit: Duration,
) -> Result<(StatusCode, Bytes), HttpError> {
    let exchange = async {
        let unreachable = |source| HttpError::Connect { address, source };
        let stream = TcpStream::connect(address).await.map_err(unreachable)?;
        let name = ServerName::IpAddress(address.ip().into());
        let stream = TlsConnector::from(tls).connect(name, stream).await.map_err(unreachable)?;
        get(stream, address, path, headers).await
    };
    tokio::time::timeout(limit, exchange).await.unwrap_or(Err(HttpError::TimedOut { address, limit }))
}

async fn get(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    address: SocketAddr,
    path: &str,
    headers: &[(&'static str, String)],
) -> Result<(StatusCode, Bytes), HttpError> {
    let broke = |source| HttpError::Exchange { address, source };
    let url = format!("http://{address}{path}");
    let (mut sender, connection) = conn::http1::handshake(TokioIo::new(stream)).await.map_err(broke)?;
    let request = Request::get(path).header(HOST, address.to_string());
    let request = headers
        .iter()
        .fold(request, |request, (name, value)| request.header(*name, value))
        .body(Full::<Bytes>::default())
        .map_err(|source| HttpError::Request { path: path.into(), source })?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(broke)?;
        Ok((response.status(), whole(response.into_body(), address, &url, LONGEST_HEALTH).await?))
    };
    tokio::select! {
        answer = answer => answer,
        Err(source) = connection => Err(broke(source)),
    }
}

/// Whether a health address on loopback answers well; else what it says.
pub async fn health(address: SocketAddr, path: &str) -> ControlFlow<(), String> {
    match get_plain(address, path, Duration::from_secs(2)).await {
        Ok((status, _)) if status.is_success() => ControlFlow::Break(()),
        Ok((status, body)) => ControlFlow::Continue(format!("{status}: {}", String::from_utf8_lossy(&body).trim())),
        Err(e) => ControlFlow::Continue(e.to_string()),
    }
}

/// Reads an answer of `address` to its end, and at most `limit` bytes.
pub(super) async fn whole(body: Incoming, address: SocketAddr, url: &str, limit: usize) -> Result<Bytes, HttpError> {
    let too_long = || HttpError::TooLong { url: url.into(), limit };
    if body.size_hint().lower() > limit as u64 {
        return Err(too_long());
    }
    match Limited::new(body, limit).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(e) => Err(match e.downcast::<hyper::Error>() {
            Ok(source) => HttpError::Exchange { address, source: *source },
            Err(_) => too_long(),
        }),
    }
}

/// Begins HTTP/2 over TLS, and verifies the server's certificate for `name`.
///
/// # Errors
/// [`HttpError`] where that does not succeed within `limit`.
pub(super) async fn handshake<B>(
    address: SocketAddr,
    name: ServerName<'static>,
    tls: Arc<rustls::ClientConfig>,
    limit: Duration,
) -> Result<conn::http2::SendRequest<B>, HttpError>
where
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    let connect = async {
        let unreachable = |source| HttpError::Connect { address, source };
        let stream = TcpStream::connect(address).await.map_err(unreachable)?;
        // Small requests side by side: do not wait to fill packets.
        stream.set_nodelay(true).map_err(unreachable)?;
        let stream = TlsConnector::from(tls).connect(name, stream).await.map_err(unreachable)?;
        if stream.get_ref().1.alpn_protocol() != Some(HTTP2) {
            let error = io::Error::new(io::ErrorKind::Unsupported, "it does not speak HTTP/2");
            return Err(unreachable(error));
        }
        let broke = |source| HttpError::Exchange { address, source };
        let (sender, connection) =
            conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.map_err(broke)?;
        // Ends by itself when the last sender is gone or the connection breaks; the senders report that.
        tokio::spawn(connection);
        Ok(sender)
    };
    let silent = || HttpError::Connect { address, source: io::ErrorKind::TimedOut.into() };
    tokio::time::timeout(limit, connect).await.unwrap_or_else(|_| Err(silent()))
}

/// An HTTP/2 connection over TLS; many requests share it.
pub struct Http2 {
    address: SocketAddr,
    sender: conn::http2::SendRequest<Full<Bytes>>,
}

impl Http2 {
    /// Connects and verifies the server's certificate for `name`.
    ///
    /// # Errors
    /// [`HttpError`] where that does not succeed within `limit`.
    pub async fn connect(
        address: SocketAddr,
        name: ServerName<'static>,
        tls: Arc<rustls::ClientConfig>,
        limit: Duration,
    ) -> Result<Self, HttpError> {
        Ok(Self { address, sender: handshake(address, name, tls, limit).await? })
    }

    /// Whether requests can no longer be sent.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// The server's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a request; the answer's body is still to be read.
    ///
    /// # Errors
    /// [`HttpError`] where no answer begins within `limit`; any status is an answer.
    pub async fn open(&self, request: Request<Full<Bytes>>, limit: Duration) -> Result<Response<Incoming>, HttpError> {
        self.within(limit, self.exchange(request)).await
    }

    /// Sends a request and reads the whole answer, of at most `longest` bytes.
    ///
    /// # Errors
    /// [`HttpError`] where there is no answer within `limit`; any status is an answer.
    pub async fn send(
        &self,
        request: Request<Full<Bytes>>,
        longest: usize,
        limit: Duration,
    ) -> Result<Response<Bytes>, HttpError> {
        let url = request.uri().to_string();
        let exchange = async {
            let (parts, body) = self.exchange(request).await?.into_parts();
            Ok(Response::from_parts(parts, whole(body, self.address, &url, longest).await?))
        };
        self.within(limit, exchange).await
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, HttpError> {
        let (address, method, url) = (self.address, request.method().clone(), request.uri().to_string());
        let answer = self.sender.clone().try_send_request(request).await;
        let response = answer.map_err(|error| match error.message() {
            Some(_) => HttpError::Closed { address, source: error.into_error() },
            None => HttpError::Exchange { address, source: error.into_error() },
        })?;
        tracing::info!(target: DETAIL, "{method} {url} at {address}: {}", response.status());
        Ok(response)
    }

    async fn within<T>(
        &self,
        limit: Duration,
        exchange: impl Future<Output = Result<T, HttpError>>,
    ) -> Result<T, HttpError> {
        let late = HttpError::TimedOut { address: self.address, limit };
        tokio::time::timeout(limit, exchange).await.unwrap_or(Err(late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        api::testing::{authority, client_tls, server_tls},
        pki::Authority,
    };
    use std::{
        io::{Read, Write},
        net::TcpListener,
        thread,
        time::SystemTime,
    };
    use tokio_rustls::TlsAcceptor;

    /// A server that answers one connection with `head` and then sends without end.
    fn endless(head: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let mut sent = stream.write_all(head.as_bytes());
            while sent.is_ok() {
                sent = stream.write_all(&[b'x'; 64 << 10]);
            }
        });
        address
    }

    /// A server of TLS at 127.0.0.1 whose certificate this CA signed at `signed`.
    async fn tls_server(ca: &Authority, signed: SystemTime) -> SocketAddr {
        let tls = server_tls(ca, signed);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let _ = TlsAcceptor::from(Arc::new(tls)).accept(stream).await;
        });
        address
    }

    #[tokio::test]
    async fn a_certificate_that_has_expired_is_not_one_of_another_ca() {
        let two_years_ago = SystemTime::now() - Duration::from_secs(2 * 365 * 24 * 60 * 60);
        let ours = authority(two_years_ago);
        let client = client_tls(&ours);
        let another = (&authority(two_years_ago), SystemTime::now(), true);
        for (ca, signed, is_of_another) in [(&ours, two_years_ago, false), another] {
            let address = tls_server(ca, signed).await;
            let get = get_tls(address, Arc::new(client.clone()), "/", &[], Duration::from_secs(2));
            let error = get.await.unwrap_err();
            assert!(error.is_untrusted() && error.is_of_another_ca() == is_of_another, "{error}");
        }
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_not_read_to_its_end() {
        for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 9999999999\r\n\r\n"] {
            let address = endless(head);
            let error = get_plain(address, "/healthz", Duration::from_secs(2)).await.unwrap_err().to_string();
            assert!(error.contains(&format!("http://{address}/healthz")) && error.contains("longer than"), "{error}");
        }
    }
}
