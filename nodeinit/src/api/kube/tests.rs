//! The client against a real HTTP/2 server whose answers a test scripts.

use super::{types::Node, *};
use crate::api::{
    connection::{HTTP2, Http2, HttpError},
    testing::{authority, client_tls, server_tls},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Frame, Incoming},
    header::RETRY_AFTER,
    server::conn::http2,
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nodeinit_config::cluster::Endpoint;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    convert::Infallible,
    ops::ControlFlow,
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime},
};
use tokio::{net::TcpListener, sync::Notify};
use tokio_rustls::TlsAcceptor;

const NODES: &str = "/api/v1/nodes?watch=true";

/// What the server does with a request.
enum Answer {
    /// Answers with a status and an object.
    Status(StatusCode, Value),
    /// The same, with `Retry-After` in seconds.
    Later(StatusCode, u64),
    /// Answers 200 and this text, then ends the answer.
    Text(String),
    /// Answers 200 and this text, and cuts the connection when [`Server::cut`] is called.
    TextUntilCut(String),
    /// Cuts the connection without an answer.
    Cut,
}

/// An API server whose answers are given in advance. Each connection uses them up in the order of its requests.
struct Server {
    endpoint: Endpoint,
    /// What its clients need.
    tls: ClientConfig,
    answers: Mutex<VecDeque<Answer>>,
    /// Method and path of each request.
    requests: Mutex<Vec<String>>,
    connections: Mutex<usize>,
    cut: Notify,
}

impl Server {
    /// A server, and a client of it.
    async fn start(answers: impl IntoIterator<Item = Answer>) -> (Arc<Self>, KubeClient) {
        let ca = authority(SystemTime::now());
        let mut tls = server_tls(&ca, SystemTime::now());
        tls.alpn_protocols = vec![HTTP2.to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = Endpoint { host: "127.0.0.1".into(), port: listener.local_addr().unwrap().port() };
        let mut tls = client_tls(&ca);
        tls.alpn_protocols = vec![HTTP2.to_vec()];
        let server = Arc::new(Self {
            endpoint,
            tls,
            answers: Mutex::new(answers.into_iter().collect()),
            requests: Mutex::default(),
            connections: Mutex::default(),
            cut: Notify::new(),
        });
        let serving = server.clone();
        tokio::spawn(async move {
            loop {
                let stream = acceptor.accept(listener.accept().await.unwrap().0).await.unwrap();
                *serving.connections.lock().unwrap() += 1;
                let (server, of_service) = (serving.clone(), serving.clone());
                let service = service_fn(move |request| of_service.clone().answer(request));
                let connection =
                    http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service);
                tokio::spawn(async move {
                    tokio::select! {
                        _ = connection => {}
                        () = server.cut.notified() => {}
                    }
                });
            }
        });
        let client = KubeClient::new(server.endpoint.clone(), server.tls.clone());
        (server, client)
    }

    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, Infallible> {
        self.requests.lock().unwrap().push(format!("{} {}", request.method(), request.uri().path()));
        let answer = self.answers.lock().unwrap().pop_front().expect("no request more than there are answers");
        let whole = |text: String| Full::new(Bytes::from(text)).boxed_unsync();
        let response = Response::builder();
        Ok(match answer {
            Answer::Status(status, object) => response.status(status).body(whole(object.to_string())),
            Answer::Later(status, seconds) => {
                let object = json!({"kind": "Status", "code": status.as_u16(), "message": "too busy"});
                response.status(status).header(RETRY_AFTER, seconds).body(whole(object.to_string()))
            }
            Answer::Text(text) => response.body(whole(text)),
            Answer::TextUntilCut(text) => {
                let text = stream::iter([Ok(Frame::data(Bytes::from(text)))]).chain(stream::pending());
                response.body(StreamBody::new(text).boxed_unsync())
            }
            Answer::Cut => {
                self.cut.notify_one();
                std::future::pending().await
            }
        }
        .unwrap())
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

fn ok(object: Value) -> Answer {
    Answer::Status(StatusCode::OK, object)
}

fn line(kind: &str, object: Value) -> String {
    json!({"type": kind, "object": object}).to_string() + "\n"
}

fn node(name: &str) -> Value {
    json!({"kind": "Node", "metadata": {"name": name}})
}

/// Watches to the end; the names of the nodes that it reported, and how it ended.
async fn names(client: &KubeClient) -> (Vec<String>, Result<Option<()>, ApiError>) {
    let mut names = Vec::new();
    let look = |event| {
        let Event::Present(Node { metadata, .. }) = event else { return ControlFlow::Continue(()) };
        names.push(metadata.name);
        ControlFlow::Continue(())
    };
    let ended = client.watch(NODES, look).await;
    (names, ended)
}

#[tokio::test]
async fn a_watch_that_is_cut_in_the_middle_of_a_line_reports_whole_events_only() {
    let (first, second) = (line("ADDED", node("m1")), line("ADDED", node("m2")));
    let half = first.clone() + &second[..second.len() / 2];
    let answers = [Answer::TextUntilCut(half.clone()), Answer::Text(half), Answer::Text(first + &second)];
    let (server, client) = Server::start(answers).await;
    let mut seen = Vec::new();
    let cut = client.watch(NODES, |event: Event<Node>| {
        if let Event::Present(node) = event {
            seen.push(node.metadata.name);
        }
        server.cut.notify_one();
        ControlFlow::<()>::Continue(())
    });
    let error = cut.await.unwrap_err();
    assert!(matches!(error, ApiError::Http(HttpError::Exchange { .. })) && error.is_passing(), "{error}");
    assert_eq!(seen, ["m1"]);
    let (seen, ended) = names(&client).await;
    assert!(seen == ["m1"] && ended.unwrap().is_none(), "the server ended its answer in the middle of a line");
    let (seen, ended) = names(&client).await;
    assert!(seen == ["m1", "m2"] && ended.unwrap().is_none(), "another watch reports all");
    assert_eq!(server.connections(), 2, "over a new connection");
}

#[tokio::test]
async fn a_watch_whose_version_is_gone_ends_and_the_next_begins_with_all_objects() {
    let gone = json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"});
    let answers = [
        Answer::Text(line("ADDED", node("m1")) + &line("ERROR", gone.clone()) + &line("ADDED", node("never"))),
        Answer::Status(StatusCode::GONE, gone),
        Answer::Text(line("ADDED", node("m1")) + &line("ADDED", node("m2"))),
    ];
    let (_server, client) = Server::start(answers).await;
    for expected in [&["m1"][..], &[], &["m1", "m2"]] {
        let (seen, ended) = names(&client).await;
        assert_eq!(seen, expected);
        assert!(ended.unwrap().is_none());
    }
}

#[tokio::test]
async fn an_error_in_a_watch_is_the_apis_refusal() {
    let status = json!({"kind": "Status", "code": 500, "message": "etcdserver: leader changed"});
    let (_server, client) = Server::start([Answer::Text(line("ERROR", status))]).await;
    let error = names(&client).await.1.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the API server answered 500 Internal Server Error to GET {NODES}: etcdserver: leader changed")
    );
    assert!(error.is_passing());
}

#[tokio::test]
async fn bookmarks_report_no_object() {
    let bookmark = json!({"kind": "Node", "metadata": {"resourceVersion": "12", "name": "bookmark"}});
    let text = line("ADDED", node("m1")) + &line("BOOKMARK", bookmark) + &line("DELETED", node("m1"));
    let (_server, client) = Server::start([Answer::Text(text)]).await;
    let mut seen = Vec::new();
    let look = |event: Event<Node>| {
        seen.push(match event {
            Event::Present(node) => ("present", node.metadata.name),
            Event::Deleted(node) => ("deleted", node.metadata.name),
        });
        ControlFlow::<()>::Continue(())
    };
    assert!(client.watch(NODES, look).await.unwrap().is_none());
    assert_eq!(seen, [("present", "m1".to_owned()), ("deleted", "m1".to_owned())]);
}

#[tokio::test]
async fn a_request_is_repeated_when_the_server_asks_for_it() {
    let busy = || [Answer::Later(StatusCode::TOO_MANY_REQUESTS, 1), Answer::Later(StatusCode::SERVICE_UNAVAILABLE, 0)];
    let (server, client) = Server::start(busy().into_iter().chain([ok(node("m1"))])).await;
    let begun = Instant::now();
    let node: Node = client.get("/api/v1/nodes/m1").await.unwrap();
    assert_eq!(node.metadata.name, "m1");
    assert!(begun.elapsed() >= Duration::from_secs(1), "not before the time that it asks for");
    assert_eq!(server.requests(), ["GET /api/v1/nodes/m1"; 3]);
}

#[tokio::test]
async fn a_request_is_not_repeated_after_the_deadline_nor_without_being_asked() {
    let later = Answer::Later(StatusCode::TOO_MANY_REQUESTS, 3600);
    let not_ready = Answer::Status(StatusCode::SERVICE_UNAVAILABLE, json!({"message": "not ready"}));
    let forbidden = Answer::Later(StatusCode::FORBIDDEN, 0);
    let (server, client) = Server::start([later, not_ready, forbidden]).await;
    for (status, words) in [(429, "too busy"), (503, "not ready"), (403, "too busy")] {
        let error = client.get::<Node>("/api/v1/nodes/m1").await.unwrap_err();
        assert!(
            matches!(&error, ApiError::Refused { status: s, message, .. } if *s == status && message == words),
            "{error}"
        );
        assert!(error.is_passing());
    }
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_connection_that_ends_before_the_answer_is_replaced_once() {
    let (server, client) = Server::start([Answer::Cut, ok(node("m1")), Answer::Cut, Answer::Cut]).await;
    client.get::<Node>("/api/v1/nodes/m1").await.unwrap();
    assert_eq!((server.requests().len(), server.connections()), (2, 2));
    let error = client.get::<Node>("/api/v1/nodes/m1").await.unwrap_err();
    assert!(matches!(error, ApiError::Http(HttpError::Exchange { .. })) && error.is_passing(), "{error}");
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn a_post_that_may_have_reached_the_server_is_not_repeated() {
    let busy = [
        Answer::Cut,
        Answer::Later(StatusCode::TOO_MANY_REQUESTS, 0),
        Answer::Later(StatusCode::SERVICE_UNAVAILABLE, 0),
    ];
    let (server, client) = Server::start(busy.into_iter().chain([ok(node("m1"))])).await;
    let error = client.create("/api/v1/nodes", &node("m1")).await.unwrap_err();
    assert!(matches!(error, ApiError::Http(HttpError::Exchange { .. })), "{error}");
    assert_eq!(server.requests(), ["POST /api/v1/nodes"]);
    for status in [429, 503] {
        let error = client.create("/api/v1/nodes", &node("m1")).await.unwrap_err();
        assert!(matches!(error, ApiError::Refused { status: s, .. } if s == status), "{error}");
    }
    client.create("/api/v1/nodes", &node("m1")).await.unwrap();
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn a_post_is_sent_over_a_new_connection_where_the_former_one_has_ended() {
    let (server, client) = Server::start([ok(node("m1")), ok(node("m2"))]).await;
    client.get::<Node>("/api/v1/nodes/m1").await.unwrap();
    server.cut.notify_one();
    // The client sees that the connection has ended only when it is read from.
    tokio::time::sleep(Duration::from_millis(50)).await;
    client.create("/api/v1/nodes", &node("m2")).await.unwrap();
    assert_eq!(server.requests(), ["GET /api/v1/nodes/m1", "POST /api/v1/nodes"]);
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn what_is_not_sent_is_told_from_what_is_not_answered() {
    let (server, _client) = Server::start([Answer::Cut]).await;
    let Endpoint { host, port } = &server.endpoint;
    let (address, name) = (format!("{host}:{port}").parse().unwrap(), ServerName::try_from(host.clone()).unwrap());
    let limit = Duration::from_secs(5);
    let connection = Http2::connect(address, name, Arc::new(server.tls.clone()), limit).await.unwrap();
    let request = || Request::post(format!("https://{}/", server.endpoint)).body(Full::default()).unwrap();
    let error = connection.open(request(), limit).await.unwrap_err();
    assert!(matches!(error, HttpError::Exchange { .. }), "{error}");
    while !connection.is_closed() {
        tokio::task::yield_now().await;
    }
    let error = connection.open(request(), limit).await.unwrap_err();
    assert!(matches!(error, HttpError::Closed { .. }), "{error}");
    assert_eq!(server.requests(), ["POST /"]);
}

#[tokio::test]
async fn a_health_address_is_asked_once() {
    let (server, client) = Server::start([Answer::Later(StatusCode::SERVICE_UNAVAILABLE, 0)]).await;
    assert_eq!(client.health("/readyz").await.unwrap().0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(server.requests(), ["GET /readyz"]);
}

#[tokio::test]
async fn an_objects_path_is_found_by_its_kind() {
    let list = |names: &[(&str, &str, bool)]| {
        let resources =
            names.iter().map(|(kind, name, namespaced)| json!({"kind": kind, "name": name, "namespaced": namespaced}));
        ok(json!({"resources": resources.collect::<Vec<_>>()}))
    };
    let core = [("Pod", "pods/status", true), ("Pod", "pods", true), ("Node", "nodes", false)];
    let widgets = [("Widget", "widgets", true)];
    let not_found = Answer::Status(StatusCode::NOT_FOUND, json!({"message": "not found"}));
    let (server, client) = Server::start([list(&core), not_found, list(&[]), list(&widgets)]).await;
    let path = async |version: &str, kind: &str, namespace: Option<&str>| {
        let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a", "namespace": namespace}});
        client.path_of(&object).await
    };
    assert_eq!(path("v1", "Pod", Some("b")).await.unwrap(), "/api/v1/namespaces/b/pods/a");
    assert_eq!(path("v1", "Pod", None).await.unwrap(), "/api/v1/namespaces/default/pods/a");
    assert_eq!(path("v1", "Node", None).await.unwrap(), "/api/v1/nodes/a");
    assert_eq!(server.requests(), ["GET /api/v1"], "asked once");
    for _ in ["the group is unknown", "the kind is"] {
        let error = path("example.org/v1", "Widget", None).await.unwrap_err();
        assert_eq!(error.to_string(), r#"Widget "a": this cluster has no kind Widget in example.org/v1"#);
    }
    let found = path("example.org/v1", "Widget", Some("b")).await.unwrap();
    assert_eq!(found, "/apis/example.org/v1/namespaces/b/widgets/a", "a kind may come later");
    assert!(path("v1", "", None).await.unwrap_err().to_string().contains("needs apiVersion, kind"));
}

#[tokio::test]
async fn a_deleted_object_may_have_been_gone() {
    let not_found = Answer::Status(StatusCode::NOT_FOUND, json!({"message": "nodes \"m1\" not found"}));
    let (server, client) = Server::start([Answer::Cut, not_found]).await;
    client.delete("/api/v1/nodes/m1").await.unwrap();
    assert_eq!(server.requests(), vec![format!("{} /api/v1/nodes/m1", Method::DELETE); 2]);
}
