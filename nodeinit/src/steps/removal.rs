//! A machine leaves the cluster: its pods, its member of etcd, its node, its tokens.

pub mod drain;

use crate::{
    api::kube::KubeClient,
    context::Context,
    engine::error::{Exit, StepError},
    steps::{
        cluster::client,
        etcd::{Peers, leave},
    },
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

/// The label of a master's node.
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// Bootstrap tokens are Secrets of this type. Source: `k8s.io/cluster-bootstrap/token/api`.
const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";
const OF_TYPE: &str = "fieldSelector=type%3Dbootstrap.kubernetes.io%2Ftoken";

/// Removes a master: drained, out of etcd, its node deleted. The machine itself is not touched.
///
/// # Errors
/// Where etcd would lose its quorum without `force`, where pods do not go, or where there is no such master.
pub async fn master(cx: &Context, name: &str, force: bool) -> Result<(), StepError> {
    if name == cx.node.name {
        let what = format!("{name} is this machine");
        return Err(StepError::new(what)
            .exit(Exit::Usage)
            .hint("run this on another master, or `nodeinit reset` here"));
    }
    let (client, node) = find(cx, name).await?;
    if node.as_ref().is_some_and(|node| !is_master(node)) {
        return Err(StepError::new(format!("{name} is no master"))
            .exit(Exit::Usage)
            .hint("see `nodeinit worker remove`"));
    }
    let address = cx.cluster.masters.iter().find(|master| master.name == name).and_then(|master| master.address);
    let peers = Peers::of_all(cx)?;
    let view = peers.look().await.map_err(|why| {
        StepError::new(format!("no master's etcd answers: {why}")).exit(Exit::TryAgain).hint("see `nodeinit status`")
    })?;
    let member = leave::member(&view, name, address);
    if node.is_none() && member.is_none() {
        return Err(StepError::new(format!("there is no master {name}")).hint("see `nodeinit etcd members`"));
    }
    if let Some(member) = member {
        match leave::keep_quorum(&view, member) {
            Err(e) if force => cx.report.note("etcd", format!("{e}; going on, as --force says")),
            kept => kept?,
        }
    }
    if let Some(node) = &node {
        empty(cx, client, node, force).await?;
    }
    leave::remove(cx, &peers, name, address).await?;
    delete(cx, client, name).await
}

/// Removes a worker: drained, its node deleted, and the tokens made for it.
///
/// # Errors
/// Where pods do not go, or where there is no such worker.
pub async fn worker(cx: &Context, name: &str, force: bool) -> Result<(), StepError> {
    let (client, node) = find(cx, name).await?;
    let tokens = delete_tokens(client, name).await?;
    let Some(node) = node else {
        if tokens > 0 {
            return Ok(());
        }
        return Err(StepError::new(format!("there is no worker {name}")).hint("see `nodeinit status`"));
    };
    if is_master(&node) {
        return Err(StepError::new(format!("{name} is a master"))
            .exit(Exit::Usage)
            .hint("see `nodeinit master remove`"));
    }
    empty(cx, client, &node, force).await?;
    delete(cx, client, name).await
}

async fn find<'a>(cx: &'a Context, name: &str) -> Result<(&'a KubeClient, Option<Value>), StepError> {
    let client = client(cx)?;
    let node = client.find(&format!("/api/v1/nodes/{name}")).await;
    Ok((client, node.map_err(|e| StepError::caused(format!("cannot read node {name}"), e).exit(Exit::TryAgain))?))
}

fn is_master(node: &Value) -> bool {
    !node["metadata"]["labels"][CONTROL_PLANE].is_null()
}

async fn empty(cx: &Context, client: &KubeClient, node: &Value, force: bool) -> Result<(), StepError> {
    drain::cordon(client, node["metadata"]["name"].as_str().unwrap_or_default()).await?;
    drain::drain(cx, client, node, force).await
}

async fn delete(cx: &Context, client: &KubeClient, name: &str) -> Result<(), StepError> {
    let deleted = client.delete(&format!("/api/v1/nodes/{name}")).await;
    deleted.map_err(|e| StepError::caused(format!("cannot delete node {name}"), e))?;
    cx.report.note("remove", format!("node {name} is deleted"));
    Ok(())
}

/// Deletes the tokens that were made for a worker, and returns how many.
async fn delete_tokens(client: &KubeClient, name: &str) -> Result<usize, StepError> {
    let failed = |e| StepError::caused(format!("cannot delete the tokens of {name}"), e);
    let secrets = client.get(&format!("{SECRETS}?{OF_TYPE}")).await.map_err(failed)?;
    let wanted = STANDARD.encode(format!("join of worker {name}"));
    let is_its = |secret: &&Value| secret["data"]["description"] == wanted.as_str();
    let names: Vec<&str> = secrets["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(is_its)
        .filter_map(|secret| secret["metadata"]["name"].as_str())
        .collect();
    for secret in &names {
        client.delete(&format!("{SECRETS}/{secret}")).await.map_err(failed)?;
    }
    Ok(names.len())
}
