//! Workers' tokens on the first master: each worker has its own, and none outlives its worker's joining.

use crate::{
    api::kube::ApiError,
    context::Context,
    engine::{
        error::StepError,
        journal::hex,
        step::{State, Step},
    },
    pki::{Certificate, catalog::Ca, expiry::date},
    render::cluster_objects::{BootstrapToken, WORKER_LABEL, bootstrap_token, worker_label},
    steps::{
        bootstrap_token,
        cluster::{apply, client, ready},
        node::is_ready,
        pki::{bundle, certificate_path},
    },
};
use async_trait::async_trait;
use base64::{Engine, prelude::BASE64_STANDARD};
use nodeinit_config::{Secret, Trust};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// How long a token holds that is handed over at once.
pub const VALIDITY: Duration = Duration::from_secs(3600);
/// How long one of the secrets bundle holds: its worker may be made later.
const BUNDLE_VALIDITY: Duration = Duration::from_secs(24 * 3600);

const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";
/// Before the worker's name, in its token's description.
const DESCRIPTION: &str = "join of worker ";

/// Makes a worker's token, which is valid for `validity`; its older ones are gone then.
///
/// # Errors
/// Where the API refuses.
pub async fn make(cx: &Context, worker: &str, validity: Duration) -> Result<Secret<String>, StepError> {
    retire(cx, worker).await?;
    let token = bootstrap_token::random()?;
    register(cx, worker, &token, validity).await?;
    Ok(token)
}

/// Makes this token a worker's own, beside those that it may have; as often as one likes.
///
/// # Errors
/// Where the API refuses.
pub async fn register(cx: &Context, worker: &str, token: &Secret<String>, validity: Duration) -> Result<(), StepError> {
    apply(client(cx)?, &object(cx, worker, token, validity), cx.cluster.timeouts.control_plane).await
}

/// Deletes the tokens of a worker: it has joined, or never will.
///
/// # Errors
/// Where the API refuses.
pub async fn retire(cx: &Context, worker: &str) -> Result<(), StepError> {
    let of_worker = format!("{SECRETS}?labelSelector={WORKER_LABEL}%3D{}", worker_label(worker));
    let deleted = client(cx)?.delete(&of_worker).await;
    deleted.map_err(|e| StepError::caused(format!("cannot delete the tokens of worker {worker}"), e))
}

/// What a worker must know to trust this cluster.
///
/// # Errors
/// Where there is no CA yet.
pub fn trust(cx: &Context) -> Result<Trust, StepError> {
    let path = certificate_path(Ca::Kubernetes.base());
    let Some(ca) = cx.files.read_text(&path)? else {
        return Err(StepError::new(format!("{} is missing", path.display())).hint("run `nodeinit up`: it makes it"));
    };
    let certificate = Certificate::from_pem(ca.as_bytes())
        .map_err(|e| StepError::caused(format!("cannot use {}", path.display()), e))?;
    let endpoints = cx.cluster.join_endpoints(cx.node.address).iter().map(ToString::to_string).collect();
    Ok(Trust { endpoints, ca_certificate: ca, ca_pin: format!("sha256:{}", hex(&certificate.pin)) })
}

fn object(cx: &Context, worker: &str, token: &Secret<String>, validity: Duration) -> Value {
    let (id, secret) = token.expose().split_once('.').unwrap_or_default();
    bootstrap_token(&BootstrapToken {
        id: id.to_owned(),
        secret: Secret::new(secret.to_owned()),
        description: format!("{DESCRIPTION}{worker}"),
        expiration: Some(date(cx.clock.now() + validity)),
        worker: Some(worker.to_owned()),
    })
}

/// Step `worker-tokens`: the secrets bundle's tokens are valid for workers that have not joined, and those of workers that
/// have are deleted.
pub struct WorkerTokens;

/// What is to be done.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    /// Worker and token.
    missing: Vec<(String, Secret<String>)>,
    /// Worker, and the path of its token's Secret.
    spent: Vec<(String, String)>,
}

impl Outcome {
    fn of(secrets: &Value, nodes: &Value, given: &BTreeMap<String, Secret<String>>) -> Self {
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let items = |list: &Value| list["items"].as_array().cloned().unwrap_or_default();
        let joined: BTreeSet<String> = items(nodes).iter().filter(|node| is_ready(node)).map(name).collect();
        let secrets = items(secrets);
        let held: BTreeSet<String> = secrets.iter().filter_map(worker_of).collect();
        let missing = given.iter().filter(|(worker, _)| !joined.contains(*worker) && !held.contains(*worker));
        let spent =
            secrets.iter().filter_map(|secret| Some((worker_of(secret)?, format!("{SECRETS}/{}", name(secret)))));
        Self {
            missing: missing.map(|(worker, token)| (worker.clone(), token.clone())).collect(),
            spent: spent.filter(|(worker, _)| joined.contains(worker)).collect(),
        }
    }
}

/// The worker that a token's Secret is for.
fn worker_of(secret: &Value) -> Option<String> {
    let description = BASE64_STANDARD.decode(secret["data"]["description"].as_str()?).ok()?;
    Some(String::from_utf8(description).ok()?.strip_prefix(DESCRIPTION)?.to_owned())
}

async fn outcome(cx: &Context) -> Result<Outcome, StepError> {
    let given = bundle::read(&cx.files, cx.clock.now())?.map(|bundle| bundle.worker_tokens).unwrap_or_default();
    let failed = |e: ApiError| StepError::caused("cannot look at the workers' tokens", e);
    let api = client(cx)?;
    let secrets = api.get(&format!("{SECRETS}?labelSelector={WORKER_LABEL}")).await.map_err(failed)?;
    let none = secrets["items"].as_array().is_none_or(Vec::is_empty) && given.is_empty();
    let nodes = if none { Value::Null } else { api.get("/api/v1/nodes").await.map_err(failed)? };
    Ok(Outcome::of(&secrets, &nodes, &given))
}

#[async_trait(?Send)]
impl Step for WorkerTokens {
    fn name(&self) -> String {
        "worker-tokens".into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["kube-apiserver".into()]
    }

    fn title(&self) -> String {
        "make workers' tokens valid, delete those that are spent".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if ready(cx).await.is_continue() {
            return Ok(State::needed(self.title()));
        }
        let Outcome { missing, spent } = outcome(cx).await?;
        let missing = missing.iter().map(|(worker, _)| format!("make the token of {worker} valid"));
        let spent = spent.iter().map(|(worker, _)| format!("delete the token of {worker}, which has joined"));
        Ok(State::of(missing.chain(spent).collect()))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let Outcome { missing, spent } = outcome(cx).await?;
        let api = client(cx)?;
        for (worker, token) in missing {
            apply(api, &object(cx, &worker, &token, BUNDLE_VALIDITY), cx.cluster.timeouts.control_plane).await?;
        }
        for (worker, path) in spent {
            let deleted = api.delete(&path).await;
            deleted.map_err(|e| StepError::caused(format!("cannot delete the token of worker {worker}"), e))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context;
    use serde_json::json;

    #[test]
    fn tokens_go_when_their_worker_is_ready_and_come_while_it_is_not() {
        let (_dir, cx) = context();
        let token = |id: &str| Secret::new(format!("{id}.0123456789abcdef"));
        let secret = |worker: &str, id: &str| object(&cx, worker, &token(id), VALIDITY);
        let node = |name: &str, ready: &str| {
            let condition = json!({"type": "Ready", "status": ready});
            json!({"metadata": {"name": name}, "status": {"conditions": [condition]}})
        };
        let mut other = secret("w1", "cccccc");
        other["data"]["description"] = json!(BASE64_STANDARD.encode("somebody else's"));
        let secrets = json!({"items": [secret("w1", "aaaaaa"), secret("w2", "bbbbbb"), other]});
        let nodes =
            json!({"items": [node("w1", "True"), node("w2", "False"), node("w3", "Unknown"), node("w4", "True")]});
        let given = ["w1", "w2", "w3", "w4"].map(|worker| (worker.to_owned(), token("dddddd"))).into();
        assert_eq!(
            Outcome::of(&secrets, &nodes, &given),
            Outcome {
                missing: vec![("w3".into(), token("dddddd"))],
                spent: vec![("w1".into(), format!("{SECRETS}/bootstrap-token-aaaaaa"))],
            }
        );
    }
}
