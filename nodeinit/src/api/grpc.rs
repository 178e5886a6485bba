//! Unary gRPC calls over an HTTP/2 connection, for containerd's socket.
//!
//! Source: grpc/grpc, `doc/PROTOCOL-HTTP2.md`.

use bytes::{BufMut, Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::{
    Request,
    client::conn::http2,
    header::{CONTENT_TYPE, HeaderName},
};
use prost::Message;

/// A message is preceded by whether it is compressed, and its length.
const HEAD: usize = 5;

/// A connection that carries calls; clones share it.
pub(super) type Sender = http2::SendRequest<Full<Bytes>>;

/// Why a call gave nothing.
#[derive(Debug)]
pub(super) enum CallError {
    /// The connection broke.
    Broke(hyper::Error),
    /// The other side refused: gRPC's status code and its own words. Source: `doc/statuscodes.md`.
    Status(u16, String),
    /// A message that cannot be written or read.
    Message(String),
}

/// Makes a call at `url`, such as `http://localhost/runtime.v1.RuntimeService/Version`, and reads its one answer.
pub(super) async fn call<A: Message + Default>(
    sender: &Sender,
    url: String,
    header: Option<(HeaderName, &'static str)>,
    request: &impl Message,
) -> Result<A, CallError> {
    let unusable = |e: &dyn std::error::Error| CallError::Message(e.to_string());
    let mut body = BytesMut::with_capacity(HEAD + request.encoded_len());
    body.put_u8(0);
    body.put_u32(u32::try_from(request.encoded_len()).unwrap_or(u32::MAX));
    request.encode(&mut body).map_err(|e| unusable(&e))?;
    let mut http = Request::post(url).header(CONTENT_TYPE, "application/grpc").header("te", "trailers");
    if let Some((name, value)) = header {
        http = http.header(name, value);
    }
    let http = http.body(Full::from(body.freeze())).map_err(|e| unusable(&e))?;
    let mut sender = sender.clone();
    sender.ready().await.map_err(CallError::Broke)?;
    let response = sender.send_request(http).await.map_err(CallError::Broke)?;
    let headers = response.headers().clone();
    let collected = response.into_body().collect().await.map_err(CallError::Broke)?;
    // A refusal without any message has its status among the headers.
    let trailers = collected.trailers().cloned().unwrap_or(headers);
    let text = |name| trailers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    match text("grpc-status").as_str() {
        "" | "0" => {}
        status => return Err(CallError::Status(status.parse().unwrap_or(UNKNOWN), text("grpc-message"))),
    }
    A::decode(collected.to_bytes().get(HEAD..).unwrap_or_default()).map_err(|e| unusable(&e))
}

/// The status of a refusal that cannot be told.
const UNKNOWN: u16 = 2;
