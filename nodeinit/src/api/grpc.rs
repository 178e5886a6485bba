//! gRPC over a connection of ours, for etcd and for containerd.
//!
//! The library's own channel reconnects forever and never reports why.

use hyper::{Request, Response, Uri, client::conn::http2::SendRequest, http::uri::PathAndQuery};
use tonic::body::Body;
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
