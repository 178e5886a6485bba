//! A machine leaves the cluster: its pods, its member of etcd, its node, its tokens.

pub mod drain;

use crate::{
    api::kube::{KubeClient, types::Node},
    context::Context,
    engine::error::{Exit, StepError},
    steps::{
        cluster::client,
        etcd::{Peers, health, leave},
        tokens,
    },
};

/// The label of a master's node.
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

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
    let view = health::quorate(cx).await?;
    let member = leave::member(&view, name, address);
    if node.is_none() && member.is_none() {
        let hint = "see `nodeinit etcd members`; a member without a name is removed with `nodeinit etcd remove ID`";
        return Err(StepError::new(format!("there is no master {name}")).hint(hint));
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
    if let Some(member) = member {
        let hint =
            format!("see `nodeinit etcd members`, then try again; or `kubectl uncordon {name}` to keep the master");
        leave::remove(cx, &peers, member.id, name).await.map_err(|e| e.hint(hint))?;
    }
    delete(cx, client, name).await
}

/// Removes a worker: drained, its node deleted, and the tokens made for it.
///
/// # Errors
/// Where pods do not go, or where there is no such worker.
pub async fn worker(cx: &Context, name: &str, force: bool) -> Result<(), StepError> {
    let (client, node) = find(cx, name).await?;
    let tokens = tokens::revoke_all_of(cx, name).await?;
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

async fn find<'a>(cx: &'a Context, name: &str) -> Result<(&'a KubeClient, Option<Node>), StepError> {
    let client = client(cx)?;
    let node = client.find(&format!("/api/v1/nodes/{name}")).await;
    Ok((client, node.map_err(|e| StepError::caused(format!("cannot read node {name}"), e).exit(Exit::TryAgain))?))
}

fn is_master(node: &Node) -> bool {
    node.metadata.labels.contains_key(CONTROL_PLANE)
}

async fn empty(cx: &Context, client: &KubeClient, node: &Node, force: bool) -> Result<(), StepError> {
    drain::cordon(client, &node.metadata.name).await?;
    drain::drain(cx, client, &node.metadata.name, force).await
}

async fn delete(cx: &Context, client: &KubeClient, name: &str) -> Result<(), StepError> {
    let deleted = client.delete(&format!("/api/v1/nodes/{name}")).await;
    deleted.map_err(|e| StepError::caused(format!("cannot delete node {name}"), e))?;
    cx.report.note("remove", format!("node {name} is deleted"));
    Ok(())
}
