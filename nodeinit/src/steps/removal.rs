//! Removes a machine from the cluster: drains it, and removes its etcd member, node and tokens.

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
use nodeinit_config::cluster::Role;

/// The label of a master's node.
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// Removes a master: drains it, removes its etcd member and deletes its node. Does not change the machine itself.
///
/// # Errors
/// If etcd would lose its quorum and `force` is not set, if pods cannot be evicted, or if there is no such master.
pub async fn master(cx: &Context, name: &str, force: bool) -> Result<(), StepError> {
    remove_master(cx, name, force, force).await
}

/// `lose_quorum`: etcd may lose its quorum. `force`: pods without a controller may be deleted.
async fn remove_master(cx: &Context, name: &str, lose_quorum: bool, force: bool) -> Result<(), StepError> {
    if name == cx.node.name {
        let what = format!("{name} is this machine");
        return Err(StepError::new(what)
            .exit(Exit::Usage)
            .hint("run this on another master, or `nodeinit reset` here"));
    }
    let (client, node) = find(cx, name).await?;
    if node.as_ref().is_some_and(|node| !is_master(node)) {
        return Err(StepError::new(format!("{name} is not a master"))
            .exit(Exit::Usage)
            .hint("see `nodeinit worker remove`"));
    }
    let address = cx.cluster.masters.iter().find(|master| master.name == name).and_then(|master| master.address);
    let peers = Peers::of_all(cx)?;
    let view = health::quorate(cx).await?;
    let member = leave::member(&view, name, address);
    if node.is_none() && member.is_none() {
        let hint = "see `nodeinit etcd members`; `nodeinit etcd remove ID` removes a member without a name";
        return Err(StepError::new(format!("there is no master {name}")).hint(hint));
    }
    if let Some(member) = member {
        match leave::keep_quorum(&view, member) {
            Err(e) if lose_quorum => cx.report.note("etcd", format!("{e}; continuing because of --force")),
            kept => kept?,
        }
    }
    if let Some(node) = &node {
        drain::check(cx, client, &node.metadata.name, force).await?;
        empty(cx, client, node, force).await?;
    }
    if let Some(member) = member {
        let hint =
            format!("see `nodeinit etcd members`, then try again; or `kubectl uncordon {name}` to keep the master");
        leave::remove(cx, &peers, member.id, name).await.map_err(|e| e.hint(hint))?;
    }
    delete(cx, client, name).await
}

/// Removes a worker: drains it and deletes its node and its tokens.
///
/// # Errors
/// If pods cannot be evicted, or if there is no such worker.
pub async fn worker(cx: &Context, name: &str, force: bool) -> Result<(), StepError> {
    let (client, node) = find(cx, name).await?;
    let Some(node) = node else {
        if tokens::revoke_all_of(cx, name).await? > 0 {
            return Ok(());
        }
        return Err(StepError::new(format!("there is no worker {name}")).hint("see `nodeinit status`"));
    };
    if is_master(&node) {
        return Err(StepError::new(format!("{name} is a master"))
            .exit(Exit::Usage)
            .hint("see `nodeinit master remove`"));
    }
    drain::check(cx, client, name, force).await?;
    tokens::revoke_all_of(cx, name).await?;
    empty(cx, client, &node, force).await?;
    delete(cx, client, name).await
}

/// Removes the former machine of a name before a new one is added, as far as it is still in the cluster.
///
/// # Errors
/// As [`worker`], or if etcd would lose its quorum.
pub async fn former(cx: &Context, name: &str, role: Role, force: bool) -> Result<(), StepError> {
    let (_, node) = find(cx, name).await?;
    match role {
        Role::Worker if node.is_none() => tokens::revoke_all_of(cx, name).await.map(drop),
        Role::Worker => worker(cx, name, force).await,
        // It is never in the cluster.
        Role::Bastion => Ok(()),
        Role::FirstMaster | Role::Master => {
            let view = health::quorate(cx).await?;
            let is_member = view.members.members.iter().any(|member| member.name == name);
            if node.is_none() && !is_member { Ok(()) } else { remove_master(cx, name, false, force).await }
        }
    }
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
    let name = &node.metadata.name;
    drain::cordon(client, name).await?;
    match drain::controllers_act(cx, client, name).await {
        Err(late) if force => cx.report.note("drain", format!("{late}; continuing because of --force")),
        acts => acts?,
    }
    drain::drain(cx, client, name, force).await
}

async fn delete(cx: &Context, client: &KubeClient, name: &str) -> Result<(), StepError> {
    let deleted = client.delete(&format!("/api/v1/nodes/{name}")).await;
    deleted.map_err(|e| StepError::caused(format!("cannot delete node {name}"), e))?;
    cx.report.note("remove", format!("deleted node {name}"));
    Ok(())
}
