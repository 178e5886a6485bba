//! Watches certificate requests and applies the rules.

use super::approve::{Kind, Nodes, PUBLIC_KEY, Request, Rules, Verdict, plain};
use crate::api::kube::{
    ApiError, Event, KubeClient,
    types::{CertificateRequest, List, Node},
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, btree_map},
    net::IpAddr,
    ops::ControlFlow,
    rc::Rc,
    time::Duration,
};
use tokio::{
    sync::{Mutex, Semaphore, mpsc},
    time::{Instant, sleep},
};

/// The path of the requests.
pub const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";

/// The server ends the watch after this time. The next watch lists every request again, including those that were left pending.
const WATCH_SECONDS: u32 = 300;

/// Number of requests that are decided at the same time.
const AT_ONCE: usize = 32;

/// Number of requests of one node or token that wait at the same time. The next watch returns the others.
const MOST_OF_ONE: usize = 16;

/// Milliseconds before a request is checked again if the API failed or a node has not reported its addresses yet.
const PAUSES: [u64; 6] = [200, 500, 1_000, 2_000, 5_000, 10_000];

/// Maximum age of the list of nodes. Many nodes that join at the same time send their requests within a few seconds.
const FRESH: Duration = Duration::from_secs(2);

/// Nodes are listed in chunks, so that thousands need little memory.
const PART: usize = 100;

/// Receives each request's name and verdict.
pub type VerdictReport<'a> = dyn Fn(&str, &Verdict) + 'a;

/// Approves and denies requests.
pub struct Approver<'a> {
    api: &'a KubeClient,
    rules: &'a Rules,
    /// If several approvers watch, all but one let the others go first.
    patience: Duration,
    report: &'a VerdictReport<'a>,
    places: Semaphore,
    nodes: Mutex<Option<(Instant, Rc<Nodes>)>>,
}

/// The result of one check of a request.
enum Look {
    /// It is decided or gone, or another approver decides.
    Settled,
    /// It is still undecided, with the reason.
    Left(String),
}

impl<'a> Approver<'a> {
    /// Creates an approver with these rules.
    #[must_use]
    pub fn new(api: &'a KubeClient, rules: &'a Rules, patience: Duration, report: &'a VerdictReport<'a>) -> Self {
        Self { api, rules, patience, report, places: Semaphore::new(AT_ONCE), nodes: Mutex::default() }
    }

    /// Decides about every request until the watch ends.
    ///
    /// # Errors
    /// If the API refuses the watch, or the connection breaks.
    pub async fn watch(&self) -> Result<(), ApiError> {
        let (sender, receiver) = mpsc::unbounded_channel::<Request>();
        let waiting: RefCell<BTreeMap<Kind, usize>> = RefCell::default();
        let watched = &waiting;
        let watch = async move {
            // Without a resource version, the watch starts with all existing requests.
            let path = format!("{REQUESTS}?watch=true&timeoutSeconds={WATCH_SECONDS}");
            let look = |event: Event<CertificateRequest>| {
                if let Event::Present(object) = event
                    && let Some(request) = Request::read(object)
                {
                    let mut waiting = watched.borrow_mut();
                    let count = waiting.entry(request.kind.clone()).or_default();
                    if *count < MOST_OF_ONE {
                        *count += 1;
                        // The receiver exists as long as this future.
                        let _ = sender.send(request);
                    }
                }
                ControlFlow::Continue(())
            };
            self.api.watch::<_, ()>(&path, look).await.map(drop)
        };
        let requests = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
        // Waiting requests release their slot, so that undecided ones do not block the others.
        let settle = requests.for_each_concurrent(None, async |request| {
            let kind = request.kind.clone();
            self.settle(request).await;
            if let btree_map::Entry::Occupied(mut count) = waiting.borrow_mut().entry(kind) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        });
        tokio::join!(watch, settle).0
    }

    /// Decides about the pending serving certificates of a node, or about one request, for the operator, who vouches for names
    /// without an owner.
    ///
    /// # Errors
    /// If the API refuses, for example because another approver changed the request.
    pub async fn for_operator(&self, name: &str) -> Result<Vec<Verdict>, ApiError> {
        let list: List<CertificateRequest> = self.api.get(REQUESTS).await?;
        let nodes = self.nodes().await?;
        let mut verdicts = Vec::new();
        for request in list.items.into_iter().filter_map(Request::read) {
            let Kind::Serving(node) = &request.kind else { continue };
            if node != name && request.name != name {
                continue;
            }
            let verdict = match self.rules.serving(&request, &nodes) {
                Verdict::Leave(_) => {
                    Verdict::Approve(format!("{node} may have a serving certificate for {}", request.names()))
                }
                other => other,
            };
            self.write(&request, verdict.clone()).await?;
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }

    /// Decides about one request, and retries later if that may help.
    async fn settle(&self, mut request: Request) {
        sleep(self.patience.mul_f64(1.0 - nodeinit_base::backoff::random() / 4.0)).await;
        let mut is_fresh = self.patience.is_zero();
        let mut last = Verdict::Leave("the certificate request was not checked".into());
        for pause in PAUSES {
            let looked = async {
                let _place = self.places.acquire().await;
                if !is_fresh {
                    let found = self.api.find(&format!("{REQUESTS}/{}", request.name)).await?;
                    match found.and_then(Request::read) {
                        Some(now) => request = now,
                        None => return Ok(Look::Settled),
                    }
                }
                self.look(&request).await
            };
            match looked.await {
                Ok(Look::Settled) => return,
                Ok(Look::Left(why)) => last = Verdict::Leave(why),
                Err(e) => last = Verdict::Leave(e.to_string()),
            }
            is_fresh = false;
            sleep(Duration::from_millis(pause)).await;
        }
        (self.report)(&plain(&request.name), &last);
    }

    async fn look(&self, request: &Request) -> Result<Look, ApiError> {
        let verdict = match &request.kind {
            Kind::Client(id) => {
                let path = format!("{SECRETS}/bootstrap-token-{id}");
                let secret: Option<Value> = self.api.find(&path).await?;
                let verdict = self.rules.client(request, secret.as_ref());
                if let (Verdict::Approve(_), Some(secret), Some(key)) = (&verdict, secret, request.public_key()) {
                    self.claim(&path, &secret, &key).await?;
                }
                match verdict {
                    // Kubernetes decides about these, or nobody does: a retry changes nothing.
                    Verdict::Leave(_) => return Ok(Look::Settled),
                    other => other,
                }
            }
            Kind::Serving(node) if self.rules.needs_nodes(node) => self.rules.serving(request, &*self.nodes().await?),
            Kind::Serving(_) => self.rules.serving(request, &Nodes::new()),
        };
        self.write(request, verdict).await
    }

    /// Binds a token to the key with which it is used first. Another writer in between causes a conflict, and the next check sees
    /// what it wrote.
    async fn claim(&self, path: &str, secret: &Value, key: &str) -> Result<(), ApiError> {
        if secret["metadata"]["annotations"][PUBLIC_KEY].is_string() {
            return Ok(());
        }
        let version = &secret["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": version, "annotations": {PUBLIC_KEY: key}}});
        self.api.merge(path, &patch).await.map(drop)
    }

    async fn write(&self, request: &Request, verdict: Verdict) -> Result<Look, ApiError> {
        let (kind, reason) = match &verdict {
            Verdict::Approve(why) => ("Approved", why),
            Verdict::Deny(why) => ("Denied", why),
            Verdict::Leave(why) => return Ok(Look::Left(why.clone())),
        };
        let condition = json!({"type": kind, "status": "True", "reason": "NodeinitApprover", "message": format!("nodeinit: {reason}")});
        let patch = json!({
            "metadata": {"resourceVersion": request.resource_version},
            "status": {"conditions": [condition]},
        });
        // A conflict: another approver was first. The next check sees its decision.
        self.api.merge(&format!("{REQUESTS}/{}/approval", request.name), &patch).await?;
        (self.report)(&plain(&request.name), &verdict);
        Ok(Look::Settled)
    }

    /// Returns the cluster's nodes with their addresses, at most [`FRESH`] old.
    async fn nodes(&self) -> Result<Rc<Nodes>, ApiError> {
        let mut cached = self.nodes.lock().await;
        if let Some((at, nodes)) = &*cached
            && at.elapsed() < FRESH
        {
            return Ok(nodes.clone());
        }
        let (mut nodes, mut next) = (Nodes::new(), String::new());
        loop {
            let path = format!("/api/v1/nodes?limit={PART}&continue={next}");
            let list: List<Node> = self.api.get(&path).await?;
            nodes.extend(list.items.into_iter().map(addresses));
            next = list.metadata.next;
            if next.is_empty() {
                break;
            }
        }
        let nodes = Rc::new(nodes);
        *cached = Some((Instant::now(), nodes.clone()));
        Ok(nodes)
    }
}

/// A node's name and addresses.
fn addresses(node: Node) -> (String, BTreeSet<IpAddr>) {
    let parsed = node.status.addresses.iter().filter_map(|each| each.address.parse::<IpAddr>().ok());
    (node.metadata.name, parsed.map(|address| address.to_canonical()).collect())
}
