//! gRPC over a connection of ours, for etcd and for containerd.
//!
//! The library's own channel reconnects forever and never reports why.

use bytes::{Buf, BufMut, Bytes};
use hyper::{Request, Response, Uri, client::conn::http2::SendRequest, http::uri::PathAndQuery};
use tonic::{
    Status,
    body::Body,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};
use tower::{BoxError, util::BoxCloneSyncService};

/// What carries calls; clones share the connection.
pub(super) type Channel = BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>;

/// Calls go over `sender` to `scheme` and `authority`, whatever origin the client writes.
pub(super) fn channel(sender: SendRequest<Body>, scheme: &'static str, authority: String) -> Channel {
    BoxCloneSyncService::new(tower::service_fn(move |mut request: Request<Body>| {
        let (mut sender, authority) = (sender.clone(), authority.clone());
        async move {
            let path = request.uri().path_and_query().map_or("/", PathAndQuery::as_str).to_owned();
            *request.uri_mut() = Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build()?;
            sender.ready().await?;
            Ok::<_, BoxError>(sender.send_request(request).await?.map(Body::new))
        }
    }))
}

/// Messages that the caller encodes and decodes. The compiler makes the code of a call once and not for each pair of messages, which are
/// several kilobytes each.
pub(super) struct Encoded;

impl Codec for Encoded {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Encoded {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put(message);
        Ok(())
    }
}

impl Decoder for Encoded {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}
