//! `status`: shows steps, health, nodes and certificate expiry.

use super::{
    Common, Output,
    etcd::aside_line,
    print,
    setup::{self, Access},
};
use crate::{
    api::kube::types::{List, Node},
    context::Context,
    engine::{
        error::{Exit, StepError},
        step::State,
    },
    host::{load, systemd},
    plan,
    steps::{
        agent, cluster,
        etcd::{self, Permit, health::Health},
        lead, pki, worker_node,
    },
};
use clap::Args;
use nodeinit_config::cluster::Role;
use nodeinit_protocol::status::{NodeStatus, Readiness, Refusal, StepState, StepStatus};
use nodeinit_screen::clear;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Interval of `--watch`.
const PAUSE: Duration = Duration::from_secs(2);

#[derive(Args)]
pub(super) struct Status {
    /// Show the status again every 2 s until stopped
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(args: Status) -> Exit {
    let common = &args.common;
    loop {
        let started = Instant::now();
        match attempt(common, args.watch).await {
            Ok(exit) if !args.watch => return exit,
            Ok(_) => tokio::time::sleep(PAUSE.saturating_sub(started.elapsed())).await,
            Err(error) => {
                common.printing.report().failed("status", &error);
                return error.exit;
            }
        }
    }
}

/// Prints the status; `again`: on a terminal, replaces the previous output.
async fn attempt(common: &Common, again: bool) -> Result<Exit, StepError> {
    let cx = setup::context(common, Access::Look)?;
    let mut steps = Vec::new();
    for node in plan::for_role(&cx, &plan::Reach::Here, Permit::None)?.nodes() {
        let state = match node.step.check(&cx).await {
            Ok(State::Done) => StepState::Done,
            Ok(State::Needed(changes)) => StepState::Needed { changes },
            Err(e) => StepState::Failed { error: e.to_string(), causes: e.causes() },
        };
        steps.push(StepStatus { step: node.id.name().to_string(), state });
    }
    let done = steps.iter().all(|step| step.state == StepState::Done);
    let nodes: Vec<NodeStatus> = nodes(&cx).await.into_iter().map(node).collect();
    let certificates = pki::expiries(&cx)?;
    let load = load();
    let aside = etcd::aside::list(&cx)?;
    let agent = agent(&cx).await;
    let etcd = etcd_health(&cx).await;
    let (unfinished, outdated) = refusals(&cx).await;
    if again && common.printing.output == Output::Text {
        clear();
    }
    print(&match common.printing.output {
        Output::Json => {
            let status = json!({
                "machine": cx.node.name, "role": cx.node.role.to_string(), "cluster": cx.cluster.name,
                "done": done, "steps": steps, "nodes": nodes, "certificates": certificates, "load": load,
                "etcdAside": aside, "etcd": etcd, "agent": agent,
                "unfinishedUpgrade": unfinished, "outdatedConfiguration": outdated,
            });
            format!("{status}\n")
        }
        Output::Text => {
            let mut shown = format!("{} is the {} of cluster {}\n", cx.node.name, cx.node.role, cx.cluster.name);
            let mib = |key: &str| load[key].as_u64().unwrap_or_default() >> 20;
            let (used, total) = (mib("memoryUsedBytes"), mib("memoryTotalBytes"));
            shown += &format!("load {}, {used} of {total} MiB of memory in use\n\n", load["oneMinute"]);
            for step in &steps {
                let (word, reasons) = match &step.state {
                    StepState::Needed { changes } => ("needed", changes.as_slice()),
                    StepState::Failed { error, .. } => ("failed", std::slice::from_ref(error)),
                    StepState::Done | StepState::Unknown => ("done", &[][..]),
                };
                shown += &format!("  {word:8} {}\n", step.step);
                reasons.iter().for_each(|reason| shown += &format!("           - {reason}\n"));
            }
            shown.push('\n');
            if let Some(agent) = agent.as_str() {
                shown += &format!("  agent {agent}\n");
            }
            for node in &nodes {
                let version = node.version.as_deref().unwrap_or_default();
                shown += &format!("  node {} {} {version}\n", node.name, node.status.as_str());
            }
            shown.push('\n');
            for certificate in &certificates {
                shown += &format!("  {:5} days left  {}\n", certificate["daysLeft"], text(&certificate["path"]));
            }
            if let Some((what, hint)) = etcd.as_ref().and_then(Health::problem) {
                shown += &format!("\n  {what}\n  hint: {hint}\n");
            }
            for Refusal { what, hint } in unfinished.iter().chain(&outdated) {
                shown += &format!("\n  {what}\n  hint: {hint}\n");
            }
            if !aside.is_empty() {
                shown += "\n  etcd data moved aside (`nodeinit etcd aside remove NAME` deletes it)\n";
            }
            for aside in &aside {
                shown += &format!("  {}\n", aside_line(aside));
            }
            shown
        }
    })?;
    let healthy = etcd.is_none_or(|etcd| etcd.problem().is_none());
    Ok(if done && healthy { Exit::Done } else { Exit::Failed })
}

/// Returns etcd's health; `None` on another machine than a master, or if there is no etcd client key yet.
async fn etcd_health(cx: &Context) -> Option<Health> {
    if !cx.node.role.is_master() {
        return None;
    }
    etcd::health::health(cx).await.ok().map(|(_, health)| health)
}

/// Returns why this master cannot lead other machines: its upgrade, and its configuration.
async fn refusals(cx: &Context) -> (Option<Refusal>, Option<Refusal>) {
    if !cx.node.role.is_master() {
        return (None, None);
    }
    let refusal =
        |error: StepError| Refusal { what: error.to_string(), hint: error.advice().unwrap_or_default().to_owned() };
    (setup::refuse_during_upgrade(cx).err().map(refusal), lead::outdated(cx).await.map(refusal))
}

/// Returns the status of this master's agent; `null` if it is disabled, or systemd does not answer.
async fn agent(cx: &Context) -> Value {
    if !cx.node.role.is_master() || !cx.cluster.agent.enabled {
        return Value::Null;
    }
    match systemd::unit(&cx.commands, agent::UNIT).await {
        Ok(unit) if unit.active => json!(format!("running; {}", unit.status)),
        Ok(_) => json!("not running: see `journalctl -u nodeinit-agent`"),
        Err(_) => Value::Null,
    }
}

/// Returns the load of the machine, which often explains why something is slow; `null` if the kernel does not report it.
fn load() -> Value {
    let fields = |load: load::Load| {
        json!({
            "oneMinute": load.one_minute,
            "memoryUsedBytes": load.memory_used,
            "memoryTotalBytes": load.memory_total,
        })
    };
    load::load().map(fields).unwrap_or_default()
}

/// Returns the cluster's nodes that this machine may read: on a worker, only its own; on a bastion, none. Empty if the API does not answer.
async fn nodes(cx: &Context) -> Vec<Node> {
    match cx.node.role {
        Role::Worker => return worker_node::node(cx).await.ok().flatten().into_iter().collect(),
        Role::Bastion => return Vec::new(),
        Role::FirstMaster | Role::Master => {}
    }
    let Ok(client) = cluster::client(cx) else { return Vec::new() };
    client.get::<List<Node>>("/api/v1/nodes").await.map(|list| list.items).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn node(node: Node) -> NodeStatus {
    NodeStatus {
        status: if node.is_ready() { Readiness::Ready } else { Readiness::NotReady },
        name: node.metadata.name,
        version: Some(node.status.node_info.kubelet_version).filter(|version| !version.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{context::testing::context, engine::journal::Record};

    #[tokio::test]
    async fn a_master_whose_upgrade_has_not_ended_says_that_it_cannot_lead() {
        let (_dir, cx) = context();
        assert_eq!(refusals(&cx).await, (None, None));
        cx.journal.intend(vec![Record::Upgrade { version: "v1.35.0".into() }]).unwrap();
        let refusal = refusals(&cx).await.0.unwrap();
        assert_eq!(refusal.what, "the upgrade of this machine to v1.35.0 has not ended");
        assert!(refusal.hint.contains("`nodeinit upgrade apply v1.35.0`"), "{}", refusal.hint);
    }
}
