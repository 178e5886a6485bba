//! Bootstrap tokens. Only this module creates, lists and revokes them.
//!
//! A token ID becomes valid once. The [ledger] remembers it when Kubernetes has deleted its Secret. A token of a worker names
//! its worker in an annotation of its Secret; the description is for humans.

mod decide;
pub mod ledger;

use crate::{
    api::kube::{
        ApiError, FIELD_MANAGER, KubeClient,
        types::{List, Node},
    },
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    pki::{Certificate, catalog::Ca, expiry::date, random},
    render::cluster_objects::{
        BootstrapToken, NODE_TOKEN_GROUP, WORKER_LABEL, bootstrap_token, worker_label, worker_token_group,
    },
    steps::{
        cluster::{AT_ONCE, client, ready},
        pki::{bundle, certificate_path},
    },
};
use async_trait::async_trait;
use base64::{Engine, prelude::BASE64_STANDARD};
use decide::{Decision, Given, Seen};
use futures_util::{StreamExt, TryStreamExt, stream};
use hyper::StatusCode;
use ledger::{Batch, Change, Entry, Ledger, Origin};
use nodeinit_base::{Wait, hex};
use nodeinit_config::{Secret, Trust};
use serde_json::Value;
use std::{collections::BTreeSet, ops::ControlFlow, sync::PoisonError, time::Duration};

/// How long a token is valid that is delivered immediately.
pub const DELIVERED: Duration = Duration::from_secs(3600);
/// How long a token of the secrets bundle is valid: its machine may be created later.
const OF_BUNDLE: Duration = Duration::from_secs(24 * 3600);

/// Tokens are Secrets of the type in this selector. Source: `k8s.io/cluster-bootstrap/token/api`.
const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";
const OF_TYPE: &str = "fieldSelector=type%3Dbootstrap.kubernetes.io%2Ftoken";

/// The steps of earlier versions that issued the bundle's tokens without a ledger.
const EARLIER: [&str; 2] = ["bootstrap-token", "worker-tokens"];

/// The Secret of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// Its ID: six characters; not secret.
    pub id: String,
    /// The only worker that may join with it.
    pub worker: Option<String>,
    /// When it expires, RFC 3339 in UTC; empty: never.
    pub expires: String,
    /// A description for humans.
    pub description: String,
}

impl Live {
    fn of(secret: &Value) -> Self {
        let field = |key: &str| {
            let data = secret["data"][key].as_str().and_then(|data| BASE64_STANDARD.decode(data).ok());
            data.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
        };
        let name = secret["metadata"]["name"].as_str().unwrap_or_default();
        Self {
            id: name.strip_prefix("bootstrap-token-").unwrap_or(name).to_owned(),
            worker: secret["metadata"]["annotations"][WORKER_LABEL].as_str().map(str::to_owned),
            expires: field("expiration"),
            description: field("description"),
        }
    }

    fn all(list: &Value) -> Vec<Self> {
        list["items"].as_array().into_iter().flatten().map(Self::of).collect()
    }
}

/// Generates a token, which becomes valid when it is issued.
fn random() -> Result<Secret<String>, StepError> {
    random::bootstrap_token().map(Secret::new).map_err(|e| StepError::caused("cannot generate a bootstrap token", e))
}

fn id(token: &Secret<String>) -> &str {
    token.expose().split('.').next().unwrap_or_default()
}

/// Creates a token and returns it with its expiry. Earlier tokens of the same worker are revoked.
///
/// # Errors
/// If the API refuses.
pub async fn create(
    cx: &Context,
    worker: Option<&str>,
    description: &str,
    validity: Duration,
) -> Result<(Secret<String>, String), StepError> {
    let (token, until) = (random()?, date(cx.clock.now() + validity));
    let entry = Entry {
        worker: worker.map(str::to_owned),
        state: ledger::State::Valid,
        time: until.clone(),
        origin: Origin::Random,
    };
    let earlier = worker.map(|worker| Change::CloseAllOf(worker.to_owned(), ledger::State::Revoked));
    let changes: Vec<Change> = earlier.into_iter().chain([Change::Open(id(&token).to_owned(), entry)]).collect();
    ledger::write(cx, &changes, None).await?;
    if let Some(worker) = worker {
        delete_all_of(cx, worker).await?;
    }
    post(cx, &token, worker, description, &until).await?;
    Ok((token, until))
}

/// Lists the tokens of the cluster, by any creator.
///
/// # Errors
/// If the API refuses.
pub async fn list(cx: &Context) -> Result<Vec<Live>, StepError> {
    let secrets = client(cx)?.get(&format!("{SECRETS}?{OF_TYPE}")).await;
    Ok(Live::all(&secrets.map_err(|e| StepError::caused("cannot list the bootstrap tokens", e))?))
}

/// Revokes a token, and returns whether there was one.
///
/// # Errors
/// If the API refuses.
pub async fn revoke(cx: &Context, id: &str) -> Result<bool, StepError> {
    let (api, path) = (client(cx)?, path(id));
    let cannot = |e| StepError::caused(format!("cannot delete the bootstrap token {id}"), e);
    let Some(secret) = api.find(&path).await.map_err(cannot)? else { return Ok(false) };
    let change = Change::Close(id.to_owned(), Live::of(&secret).worker, ledger::State::Revoked);
    ledger::write(cx, &[change], None).await?;
    api.delete(&path).await.map_err(cannot)?;
    Ok(true)
}

/// Revokes all tokens of a worker, and returns how many the cluster had.
///
/// # Errors
/// If the API refuses.
pub async fn revoke_all_of(cx: &Context, worker: &str) -> Result<usize, StepError> {
    let found = client(cx)?.get(&of_worker(worker)).await;
    let found =
        found.map_err(|e| StepError::caused(format!("cannot list the bootstrap tokens of worker {worker}"), e))?;
    ledger::write(cx, &[Change::CloseAllOf(worker.to_owned(), ledger::State::Revoked)], None).await?;
    delete_all_of(cx, worker).await?;
    Ok(Live::all(&found).len())
}

/// Deletes the tokens of workers that have joined, and returns a description of each change.
///
/// # Errors
/// If the API refuses.
pub async fn delete_spent(cx: &Context) -> Result<Vec<String>, StepError> {
    let decision = decision(cx, &[]).await?;
    carry_out(cx, &decision, None).await?;
    Ok(decision.messages)
}

async fn carry_out(cx: &Context, decision: &Decision, bundle: Option<&BTreeSet<String>>) -> Result<(), StepError> {
    let ledger = ledger::write(cx, &decision.changes, bundle).await?;
    let api = client(cx)?;
    let delete = async |id: &String| {
        let deleted = api.delete(&path(id)).await;
        deleted.map_err(|e| StepError::caused(format!("cannot delete the bootstrap token {id}"), e))
    };
    stream::iter(&decision.delete).map(delete).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    // Another master may have been faster: the ledger decides.
    let pending = decision.create.iter().filter_map(|given| {
        let entry = ledger.entries.get(given.id()).filter(|entry| entry.state == ledger::State::Pending)?;
        Some((given, entry.time.as_str()))
    });
    let create = async |(given, until): (&Given, &str)| {
        let description = description(given.worker.as_deref());
        post(cx, &given.token, given.worker.as_deref(), &description, until).await
    };
    stream::iter(pending.clone()).map(create).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    let created: Vec<Change> = pending.map(|(given, _)| Change::Created(given.id().to_owned())).collect();
    if !created.is_empty() {
        ledger::write(cx, &created, bundle).await?;
    }
    Ok(())
}

/// The tokens of one fan-out: many workers share a write of the ledger.
#[derive(Default)]
pub struct Fleet(Batch);

impl Fleet {
    /// Issues an additional token to a worker: an interrupted run may still use an earlier one.
    ///
    /// # Errors
    /// If the API refuses.
    pub async fn issue(&self, cx: &Context, worker: &str) -> Result<Secret<String>, StepError> {
        let (token, until) = (random()?, date(cx.clock.now() + DELIVERED));
        let (state, origin) = (ledger::State::Valid, Origin::Random);
        let entry = Entry { worker: Some(worker.to_owned()), state, time: until.clone(), origin };
        cx.issued.lock().unwrap_or_else(PoisonError::into_inner).insert(id(&token).to_owned());
        self.0.write(cx, Change::Open(id(&token).to_owned(), entry)).await?;
        post(cx, &token, Some(worker), &description(Some(worker)), &until).await?;
        Ok(token)
    }

    /// Deletes the tokens of a worker that has joined.
    ///
    /// # Errors
    /// If the API refuses.
    pub async fn used(&self, cx: &Context, worker: &str) -> Result<(), StepError> {
        self.0.write(cx, Change::CloseAllOf(worker.to_owned(), ledger::State::Used)).await?;
        delete_all_of(cx, worker).await
    }
}

fn description(worker: Option<&str>) -> String {
    worker.map_or_else(|| "from the secrets bundle".to_owned(), |worker| format!("join of worker {worker}"))
}

fn path(id: &str) -> String {
    format!("{SECRETS}/bootstrap-token-{id}")
}

fn of_worker(worker: &str) -> String {
    format!("{SECRETS}?labelSelector={WORKER_LABEL}%3D{}", worker_label(worker))
}

async fn delete_all_of(cx: &Context, worker: &str) -> Result<(), StepError> {
    let deleted = client(cx)?.delete(&of_worker(worker)).await;
    deleted.map_err(|e| StepError::caused(format!("cannot delete the bootstrap tokens of worker {worker}"), e))
}

/// Creates the Secret of a token. An existing one stays as it is.
async fn post(
    cx: &Context,
    token: &Secret<String>,
    worker: Option<&str>,
    description: &str,
    until: &str,
) -> Result<(), StepError> {
    let (id, secret) = token.expose().split_once('.').unwrap_or_default();
    let object = bootstrap_token(&BootstrapToken {
        id: id.to_owned(),
        secret: Secret::new(secret.to_owned()),
        description: description.to_owned(),
        expiration: Some(until.to_owned()),
        worker: worker.map(str::to_owned),
        group: if worker.is_some() { worker_token_group(&cx.cluster) } else { NODE_TOKEN_GROUP },
    });
    let api: &KubeClient = client(cx)?;
    let collection = format!("{SECRETS}?fieldManager={FIELD_MANAGER}");
    let attempt = async || match api.create(&collection, &object).await {
        Ok(_) | Err(ApiError::Refused { status: StatusCode::CONFLICT, .. }) => ControlFlow::Break(Ok(())),
        Err(e) if e.is_passing() => ControlFlow::Continue(e.to_string()),
        Err(e) => ControlFlow::Break(Err(e)),
    };
    let wait = Wait::new(format!("the bootstrap token {id} to be created"), cx.cluster.timeouts.control_plane);
    let created = wait.at_most_every(Duration::from_secs(1)).until(attempt).await?;
    created.map_err(|e| StepError::caused(format!("cannot create the bootstrap token {id}"), e))
}

/// Returns what a worker needs to trust this cluster.
///
/// # Errors
/// If there is no CA yet.
pub fn trust(cx: &Context) -> Result<Trust, StepError> {
    let path = certificate_path(Ca::Kubernetes.base());
    let Some(ca) = cx.files.read_text(&path)? else {
        return Err(
            StepError::new(format!("{} is missing", path.display())).hint("run `nodeinit up`, which creates it")
        );
    };
    let certificate = Certificate::from_pem(ca.as_bytes())
        .map_err(|e| StepError::caused(format!("cannot use {}", path.display()), e))?;
    let endpoints = cx.cluster.join_endpoints(cx.node.address).iter().map(ToString::to_string).collect();
    Ok(Trust { endpoints, ca_certificate: ca, ca_pin: format!("sha256:{}", hex(&certificate.pin)) })
}

/// Returns the tokens of the secrets bundle.
fn given(cx: &Context) -> Result<Vec<Given>, StepError> {
    let Some(bundle) = bundle::read(&cx.files, cx.clock.now())? else { return Ok(Vec::new()) };
    let any = bundle.bootstrap_tokens.into_iter().map(|token| Given { worker: None, token });
    let bound = bundle.worker_tokens.into_iter().map(|(worker, token)| Given { worker: Some(worker), token });
    Ok(any.chain(bound).collect())
}

async fn decision(cx: &Context, given: &[Given]) -> Result<Decision, StepError> {
    let api = client(cx)?;
    let failed = |e: ApiError| StepError::caused("cannot read the bootstrap tokens of workers", e);
    let secrets = async { api.get(&format!("{SECRETS}?labelSelector={WORKER_LABEL}")).await.map_err(failed) };
    let (ledger, secrets) = tokio::try_join!(Ledger::read(cx), secrets)?;
    let live = Live::all(&secrets);
    let known = |given: &Given| ledger.as_ref().is_some_and(|ledger| ledger.entries.contains_key(given.id()));
    let ready = match live.is_empty() && given.iter().all(known) {
        true => BTreeSet::new(),
        false => ready_nodes(api.get("/api/v1/nodes").await.map_err(failed)?),
    };
    let ended = cx.journal.state().ended;
    let issued = cx.issued.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let now = cx.clock.now();
    Ok(Decision::of(&Seen {
        ledger: ledger.as_ref(),
        ran_before: EARLIER.into_iter().chain([&*StepId::Tokens.name()]).any(|step| ended.contains(step)),
        live: &live,
        issued: &issued,
        ready: &ready,
        given,
        now: &date(now),
        until: &date(now + OF_BUNDLE),
    }))
}

fn ready_nodes(list: List<Node>) -> BTreeSet<String> {
    list.items.into_iter().filter(Node::is_ready).map(|node| node.metadata.name).collect()
}

/// Step `tokens`: issues each token of the secrets bundle once, and deletes those of workers that have joined.
pub struct Tokens;

#[async_trait(?Send)]
impl Step for Tokens {
    fn id(&self) -> StepId {
        StepId::Tokens
    }

    fn title(&self) -> String {
        "issue the bundle's bootstrap tokens once, delete those of workers that have joined".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if ready(cx).await.is_continue() {
            return Ok(State::needed(self.title()));
        }
        Ok(State::of(decision(cx, &given(cx)?).await?.messages))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let given = given(cx)?;
        let bundle = given.iter().map(|given| given.id().to_owned()).collect();
        carry_out(cx, &decision(cx, &given).await?, Some(&bundle)).await
    }
}
