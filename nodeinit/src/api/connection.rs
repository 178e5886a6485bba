//! One HTTP exchange at a time: plain HTTP/1.1 for health addresses, HTTP/2 over TLS for the Kubernetes API and etcd.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, StatusCode, body::Body, client::conn, header::HOST};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls_pki_types::ServerName;
use std::{error::Error, io, net::SocketAddr, ops::ControlFlow, sync::Arc, time::Duration};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How TLS calls HTTP/2. Source: RFC 9113, section 3.1.
pub const HTTP2: &[u8] = b"h2";

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
    /// A request that cannot be sent.
    #[error("bad request for {path}: {source}")]
    Request {
        /// The path of the request.
        path: String,
        /// Why.
        source: hyper::http::Error,
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
}

/// A GET over plain HTTP, for health addresses on loopback.
///
/// # Errors
/// [`HttpError`] where there is no answer within `limit`; any status is an answer.
pub async fn get_plain(address: SocketAddr, path: &str, limit: Duration) -> Result<(StatusCode, Bytes), HttpError> {
    let exchange = async {
        let stream = TcpStream::connect(address).await.map_err(|source| HttpError::Connect { address, source })?;
        let broke = |source| HttpError::Exchange { address, source };
        let (mut sender, connection) = conn::http1::handshake(TokioIo::new(stream)).await.map_err(broke)?;
        let request = Request::get(path)
            .header(HOST, address.to_string())
            .body(Full::<Bytes>::default())
            .map_err(|source| HttpError::Request { path: path.into(), source })?;
        let answer = async { collect(sender.send_request(request).await?).await };
        tokio::select! {
            answer = answer => answer.map_err(broke),
            Err(source) = connection => Err(broke(source)),
        }
    };
    tokio::time::timeout(limit, exchange).await.unwrap_or(Err(HttpError::TimedOut { address, limit }))
}

/// Whether a health address on loopback answers well; else what it says.
pub async fn health(address: SocketAddr, path: &str) -> ControlFlow<(), String> {
    match get_plain(address, path, Duration::from_secs(2)).await {
        Ok((status, _)) if status.is_success() => ControlFlow::Break(()),
        Ok((status, body)) => ControlFlow::Continue(format!("{status}: {}", String::from_utf8_lossy(&body).trim())),
        Err(e) => ControlFlow::Continue(e.to_string()),
    }
}

async fn collect(response: Response<hyper::body::Incoming>) -> Result<(StatusCode, Bytes), hyper::Error> {
    let status = response.status();
    Ok((status, response.into_body().collect().await?.to_bytes()))
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
#[derive(Clone)]
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

    /// Sends a request; the answer's body is still to be read.
    ///
    /// # Errors
    /// [`HttpError`] where no answer begins within `limit`; any status is an answer.
    pub async fn open(
        &self,
        request: Request<Full<Bytes>>,
        limit: Duration,
    ) -> Result<Response<hyper::body::Incoming>, HttpError> {
        let address = self.address;
        let mut sender = self.sender.clone();
        let exchange = async {
            sender.ready().await?;
            sender.send_request(request).await
        };
        match tokio::time::timeout(limit, exchange).await {
            Ok(answer) => answer.map_err(|source| HttpError::Exchange { address, source }),
            Err(_) => Err(HttpError::TimedOut { address, limit }),
        }
    }

    /// The server's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Errors
    /// [`HttpError`] where there is no answer within `limit`; any status is an answer.
    pub async fn send(&self, request: Request<Full<Bytes>>, limit: Duration) -> Result<(StatusCode, Bytes), HttpError> {
        let address = self.address;
        let mut sender = self.sender.clone();
        let exchange = async {
            sender.ready().await?;
            collect(sender.send_request(request).await?).await
        };
        match tokio::time::timeout(limit, exchange).await {
            Ok(answer) => answer.map_err(|source| HttpError::Exchange { address, source }),
            Err(_) => Err(HttpError::TimedOut { address, limit }),
        }
    }
}
