//! A scripted cloud, for faults that a genuine one does not show on demand.

use crate::{cloud::Cloud, openstack::Client};
use nodeinit_config::Secret;
use serde_json::{Value, json};
use std::{cell::RefCell, rc::Rc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What a request asked for: method, path with its query, body, and the token that it showed.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Value,
    pub(crate) token: String,
    /// The microversion that it asked for.
    pub(crate) version: String,
    /// The host and port that it was sent to.
    pub(crate) host: String,
}

/// Status and body; `None`: the connection is closed without an answer. A number under [`RETRY_AFTER`] in the body is sent as a header.
pub(crate) type Answer = Option<(u16, Value)>;

/// As a header: how many seconds the client must wait.
pub(crate) const RETRY_AFTER: &str = "retry-after";

/// As a header: how long the answer claims to be.
pub(crate) const LENGTH: &str = "content-length";

/// As a header: where the client is redirected to.
pub(crate) const LOCATION: &str = "location";

/// Every request so far, tokens' left out.
pub(crate) type Seen = Rc<RefCell<Vec<Request>>>;

/// Runs `test` with a client of a cloud that answers as `script` says. Tokens are given out as `token-1`, `token-2`.
pub(crate) fn with_cloud<T: Future<Output = ()>>(
    script: impl Fn(&Request) -> Answer,
    test: impl FnOnce(Client, Seen) -> T,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap_or_else(|e| panic!("{e}"));
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|e| panic!("{e}"));
        let port = listener.local_addr().map(|a| a.port()).unwrap_or_default();
        let seen = Seen::default();
        let serve = async {
            let mut tokens = 0;
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                one(stream, port, &mut tokens, &script, &seen).await;
            }
        };
        let cloud = Cloud {
            auth_url: format!("http://127.0.0.1:{port}/v3"),
            identity: Secret::new("{}".into()),
            region: None,
            interface: "public".to_owned(),
            ca_file: None,
        };
        let run = async {
            let client = Client::connect(cloud, 4, Duration::from_secs(20)).await.unwrap_or_else(|e| panic!("{e}"));
            test(client, Rc::clone(&seen)).await;
        };
        tokio::select! {
            () = serve => {}
            () = run => {}
        }
    });
}

async fn one(mut stream: TcpStream, port: u16, tokens: &mut usize, script: &impl Fn(&Request) -> Answer, seen: &Seen) {
    let Some(request) = read(&mut stream).await else { return };
    let (status, body, header) = if request.path == "/v3/auth/tokens" {
        *tokens += 1;
        let endpoint = |kind: &str| json!({ "type": kind, "endpoints": [{ "interface": "public", "url": format!("http://127.0.0.1:{port}/{kind}/v2") }] });
        let catalog: Vec<Value> =
            ["compute", "network", "block-storage", "image", "load-balancer"].map(endpoint).into();
        (
            201,
            json!({ "token": { "project": { "id": "p" }, "catalog": catalog } }),
            format!("X-Subject-Token: token-{tokens}\r\n"),
        )
    } else {
        seen.borrow_mut().push(request.clone());
        let Some((status, body)) = script(&request) else { return };
        let pause = body[RETRY_AFTER].as_u64().map(|seconds| format!("Retry-After: {seconds}\r\n"));
        let location = body[LOCATION].as_str().map(|url| format!("Location: {url}\r\n"));
        (status, body, pause.into_iter().chain(location).collect())
    };
    let claimed = body[LENGTH].as_u64();
    let body = body.to_string();
    let length = claimed.unwrap_or(body.len() as u64);
    let head = format!("HTTP/1.1 {status} X\r\n{header}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    let _ = stream.write_all((head + &body).as_bytes()).await;
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let (head, at) = loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some(end) = text.find("\r\n\r\n") {
            break (text[..end].to_owned(), end + 4);
        }
    };
    let header = |name: &str| {
        let line = head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let length: usize = header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    while bytes.len() < at + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let mut first = head.lines().next()?.split(' ');
    Some(Request {
        method: first.next()?.to_owned(),
        path: first.next()?.to_owned(),
        body: serde_json::from_slice(&bytes[at..at + length]).unwrap_or_default(),
        token: header("x-auth-token").unwrap_or_default(),
        version: header("openstack-api-version").unwrap_or_default(),
        host: header("host").unwrap_or_default(),
    })
}
