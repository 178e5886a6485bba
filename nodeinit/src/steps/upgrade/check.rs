//! Checks before an upgrade: every problem of the cluster and of this machine, in one report.

use crate::{
    api::kube::types::Node,
    context::Context,
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
        step_id::StepId,
    },
    host::{containerd, disk::room},
    steps::{
        cluster::{self, client},
        etcd::health::quorate,
        fanout, images, preflight,
        removal::drain,
        rollout::node::{WITHOUT, has_place, is_ours, nodes},
        worker_node,
    },
};
use async_trait::async_trait;
use nodeinit_base::causes::causes;
use nodeinit_config::{cluster::Role, versions::KubernetesVersion};
use serde::Deserialize;
use std::{collections::BTreeSet, path::Path};

/// What the images of a release need below `/var/lib/containerd`, unpacked, with a margin.
const ROOM: u64 = 2 << 30;

/// The metric that counts requests of deprecated APIs, up to its labels. Source: `k8s.io/apiserver/pkg/endpoints/metrics`.
const DEPRECATED: &str = "apiserver_requested_deprecated_apis{";

/// Step `upgrade-check`: nothing prevents the upgrade.
pub struct Check {
    /// The version that this machine has.
    pub from: KubernetesVersion,
    /// What is checked.
    pub scope: Scope,
}

/// What an upgrade changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All machines; if `drain` is set, their nodes are drained.
    Cluster {
        /// Whether nodes are drained.
        drain: bool,
    },
    /// This machine.
    Machine,
    /// The images of this machine.
    Images,
}

/// A problem and its fix.
struct Problem(String, String);

impl Problem {
    fn of(error: &StepError) -> Self {
        let what = std::iter::once(error.to_string()).chain(causes(error)).collect::<Vec<_>>().join(": ");
        Self(what, error.advice().unwrap_or("see `nodeinit status` and `nodeinit etcd members`").to_owned())
    }
}

#[async_trait(?Send)]
impl Step for Check {
    fn id(&self) -> StepId {
        StepId::UpgradeCheck
    }

    fn title(&self) -> String {
        "check what could prevent the upgrade".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let mut problems = machine(cx).await?;
        match self.scope {
            Scope::Cluster { drain } => {
                let nodes = nodes(client(cx)?).await?;
                problems.extend(etcd(cx, &nodes).await?);
                problems.extend(self.nodes(cx, &nodes, drain).await?);
                if cx.rollout.back {
                    problems.extend(newer_alone(cx, &nodes));
                }
                if !cx.rollout.back {
                    problems.extend(removed_apis(cx).await?);
                }
            }
            Scope::Machine if cx.node.role == Role::Worker && !cx.rollout.back => {
                problems.extend(older_masters(cx).await?)
            }
            Scope::Machine | Scope::Images => {}
        }
        match refusal(&problems, cx.rollout.change()) {
            Some(error) => Err(error),
            None => Ok(State::Done),
        }
    }

    async fn apply(&self, _: &Context) -> Result<(), StepError> {
        Ok(())
    }
}

fn refusal(problems: &[Problem], change: &str) -> Option<StepError> {
    let lines: Vec<String> =
        problems.iter().map(|Problem(what, fix)| format!("\n  - {what}\n    hint: {fix}")).collect();
    let count = match lines.len() {
        0 => return None,
        1 => format!("1 problem prevents the {change}"),
        n => format!("{n} problems prevent the {change}"),
    };
    let error = StepError::new(format!("{count}:{}", lines.concat())).exit(Exit::Unfit);
    Some(error.hint("fix every problem listed, then run the same command again; this check changed nothing"))
}

/// Checks this machine: containerd, the kubelet's flags, disk space.
async fn machine(cx: &Context) -> Result<Vec<Problem>, StepError> {
    let findings = preflight::of_release(cx).await;
    let mut problems: Vec<Problem> = findings
        .into_iter()
        .filter(preflight::Finding::is_failure)
        .map(|finding| Problem(format!("{}: {}", cx.node.name, finding.what), finding.remedy))
        .collect();
    let found = room(&cx.files, Path::new("/var/lib/containerd"))?;
    // The images are there if this machine is prepared already.
    let images = containerd::images(&cx.commands).await.unwrap_or_default();
    let is_prepared = images::steps(&cx.cluster, cx.node.role).iter().all(|step| images.contains_key(step.image()));
    if found.bytes < ROOM && !is_prepared {
        let what = format!(
            "{}: {} has {} MiB free; the images of {} need {} MiB",
            cx.node.name,
            found.directory.display(),
            found.bytes >> 20,
            cx.cluster.version,
            ROOM >> 20
        );
        problems.push(Problem(what, "free some space".to_owned()));
    }
    Ok(problems)
}

/// Checks that no kubelet becomes newer than the API server. Source: Kubernetes' version skew policy.
async fn older_masters(cx: &Context) -> Result<Option<Problem>, StepError> {
    let found = worker_node::client(cx)?.get::<ServerVersion>("/version").await;
    let found =
        found.map_err(|e| StepError::caused("cannot read the version of the API server", e).exit(Exit::TryAgain))?;
    let version = found.git_version.parse::<KubernetesVersion>();
    let to = cx.cluster.version;
    Ok(version.is_ok_and(|version| version < to).then(|| {
        let what = format!("the API server has {}, which is older than {to}", found.git_version);
        Problem(what, format!("first upgrade the masters: `nodeinit upgrade apply {to}` on a master"))
    }))
}

/// The answer of an API server to `/version`.
#[derive(Deserialize)]
struct ServerVersion {
    #[serde(rename = "gitVersion")]
    git_version: String,
}

/// Checks that all masters are healthy members of etcd, except one whose upgrade was interrupted: it is resumed.
async fn etcd(cx: &Context, nodes: &[Node]) -> Result<Vec<Problem>, StepError> {
    let view = match quorate(cx).await {
        Ok(view) => view,
        Err(error) => return Ok(vec![Problem::of(&error)]),
    };
    let mut problems = Vec::new();
    let interrupted = |name: &str| nodes.iter().any(|node| node.metadata.name == name && is_ours(node));
    for member in view.voters().filter(|member| !interrupted(member.shown())) {
        if let Some(why) = view.complaint(member) {
            let what = format!("etcd: member {} is not healthy: {why}", member.shown());
            problems.push(Problem(what, without(cx, member.shown(), Role::Master)));
        }
    }
    let members: BTreeSet<&str> = view.voters().map(|member| member.shown()).collect();
    let masters: BTreeSet<&str> = cx.cluster.masters.iter().map(|master| master.name.as_str()).collect();
    if members != masters {
        let list = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join(", ");
        let what = format!(
            "etcd has the members {}, but the configuration has the masters {}",
            list(&members),
            list(&masters)
        );
        let fix = "bring a missing master back with `nodeinit master add NAME` or `nodeinit master replace NAME`; or remove it with `nodeinit master remove NAME`, and from `masters`";
        problems.push(Problem(what, fix.to_owned()));
    }
    Ok(problems)
}

/// How to go on if a machine does not work.
fn without(cx: &Context, name: &str, role: Role) -> String {
    let (kind, change) = (role.kind(), cx.rollout.change());
    match cx.journal.state().upgrade {
        None => format!("repair {name}, or put a new machine in its place: `nodeinit {kind} replace {name}`"),
        Some(_) => format!(
            "repair {name}; if it is gone for good, `nodeinit {kind} remove {name}`, remove it from the configuration, and add it again when the {change} \
             has ended"
        ),
    }
}

/// Returns the numbers of a version such as `3.6.11-0`.
pub(super) fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-']).map_while(|part| part.parse().ok()).take(3).collect()
}

impl Check {
    /// Checks that all machines have nodes of a version from which they can be upgraded, and that these can be drained.
    async fn nodes(&self, cx: &Context, nodes: &[Node], drain: bool) -> Result<Vec<Problem>, StepError> {
        let (client, to) = (client(cx)?, cx.cluster.version);
        let mut problems = Vec::new();
        for (machine, role) in cx.cluster.machines().filter(|(_, role)| *role != Role::Bastion) {
            let name = &machine.name;
            let Some(node) = nodes.iter().find(|node| node.metadata.name == *name) else {
                let fix =
                    "add it with `nodeinit worker add` or `nodeinit master add`, or remove it from the configuration";
                problems.push(Problem(format!("{name} has no node in the cluster"), fix.to_owned()));
                continue;
            };
            let version = &node.status.node_info.kubelet_version;
            match version.parse::<KubernetesVersion>() {
                Ok(found) if found == to => continue,
                Ok(found) if cx.rollout.back && found.minor > to.minor + 1 => {
                    let what = format!("the kubelet of {name} is {found}, more than one minor version after {to}");
                    problems.push(Problem(what, "a rollback is possible to the minor version before only".to_owned()));
                }
                Ok(found) if cx.rollout.back && found < to => {
                    let what = format!("the kubelet of {name} is {found}, which is older than {to}");
                    problems
                        .push(Problem(what, "first bring it to that version with `nodeinit upgrade apply`".to_owned()));
                }
                Ok(found) if found > to && !cx.rollout.back => {
                    let what = format!("the kubelet of {name} is {found}, which is newer than {to}");
                    problems.push(Problem(what, "upgrade to that version, or replace the machine".into()));
                }
                Ok(found) if found.minor + 1 < to.minor => {
                    let what = format!("the kubelet of {name} is {found}, more than one minor version before {to}");
                    problems.push(Problem(what, format!("first upgrade {name} to {}", self.from)));
                }
                Ok(_) => {}
                Err(e) => problems.push(Problem(format!("{name}: {e}"), "see `kubectl get nodes`".into())),
            }
            // An interrupted upgrade may have left it so.
            if is_ours(node) {
                continue;
            }
            if let Some(why) = node.not_ready() {
                problems.push(Problem(format!("node {name} is not Ready: {why}"), without(cx, name, role)));
            } else if drain && has_place(nodes, name) {
                problems.extend(
                    drain::check(cx, client, name, false).await.err().map(|error| Problem::of(&error.hint(WITHOUT))),
                );
            }
        }
        Ok(problems)
    }
}

/// Finds nodes that a rollback would leave newer than the API servers. Source: Kubernetes' version skew policy.
fn newer_alone(cx: &Context, nodes: &[Node]) -> Vec<Problem> {
    let (to, alone) = (cx.cluster.version, fanout::alone(&cx.cluster, &cx.node.name));
    let is_known = |name: &str| cx.cluster.machines().any(|(machine, _)| machine.name == name);
    let problem = |node: &Node| {
        let (name, version) = (&node.metadata.name, &node.status.node_info.kubelet_version);
        let fix = match (alone.contains(&name.as_str()), is_known(name)) {
            (true, _) => format!("first run `nodeinit {} --local` there", cx.rollout.upgrade_command(to)),
            (false, false) => {
                "it is not in the configuration: remove it, or bring its kubelet to that version".to_owned()
            }
            (false, true) => return None,
        };
        let newer = version.parse::<KubernetesVersion>().is_ok_and(|version| version > to);
        newer.then(|| Problem(format!("the kubelet of {name} is {version}, which is newer than {to}"), fix))
    };
    nodes.iter().filter_map(problem).collect()
}

/// Finds APIs that clients request and the new version does not serve, in the metrics of each API server.
async fn removed_apis(cx: &Context) -> Result<Vec<Problem>, StepError> {
    let mut used = BTreeSet::new();
    for master in &cx.cluster.masters {
        let Some(address) = master.address else { continue };
        match cluster::metrics_at(cx, address).await {
            Ok(text) => used.extend(removed_in(&text, cx.cluster.version)),
            Err(why) => cx.report.note("upgrade-check", format!("cannot read the metrics of {}: {why}", master.name)),
        }
    }
    let problem = |api: String| {
        let fix = "find the client in the audit log (annotation k8s.io/deprecated), and update it; the metric counts requests since \
                   the API servers started";
        Problem(
            format!("clients use {api}, which Kubernetes {} no longer serves", cx.cluster.release.name()),
            fix.to_owned(),
        )
    };
    Ok(used.into_iter().map(problem).collect())
}

/// Returns the deprecated APIs in these metrics that `version` does not serve.
fn removed_in(metrics: &str, version: KubernetesVersion) -> Vec<String> {
    let api = |line: &str| {
        let (labels, count) = line.strip_prefix(DEPRECATED)?.split_once('}')?;
        let label = |name: &str| {
            labels.split(',').find_map(|each| each.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'))
        };
        let (major, minor) = label("removed_release")?.split_once('.')?;
        let removed: (u16, u16) = (major.parse().ok()?, minor.parse().ok()?);
        let used = count.trim().parse::<f64>().is_ok_and(|count| count > 0.0);
        (used && removed <= version.minor_version()).then(|| {
            format!(
                "{}.{}/{}",
                label("resource").unwrap_or_default(),
                label("group").unwrap_or_default(),
                label("version").unwrap_or_default()
            )
        })
    };
    metrics.lines().filter_map(api).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apis_that_are_removed_and_used_are_found() {
        let metrics = "# TYPE apiserver_requested_deprecated_apis gauge\n\
            apiserver_requested_deprecated_apis{group=\"flowcontrol.apiserver.k8s.io\",removed_release=\"1.36\",resource=\"flowschemas\",subresource=\"\",version=\"v1beta3\"} 1\n\
            apiserver_requested_deprecated_apis{group=\"\",removed_release=\"\",resource=\"componentstatuses\",subresource=\"\",version=\"v1\"} 1\n\
            apiserver_requested_deprecated_apis{group=\"batch\",removed_release=\"1.40\",resource=\"jobs\",subresource=\"\",version=\"v2\"} 1\n";
        let found = |version: &str| removed_in(metrics, version.parse().unwrap());
        assert!(found("v1.35.8").is_empty());
        assert_eq!(found("v1.36.4"), ["flowschemas.flowcontrol.apiserver.k8s.io/v1beta3"]);
    }

    #[test]
    fn all_problems_are_in_one_report() {
        let problem = |what: &str| Problem(what.to_owned(), "do this".to_owned());
        assert!(refusal(&[], "upgrade").is_none());
        let error = refusal(&[problem("a"), problem("b")], "upgrade").unwrap();
        let text = "2 problems prevent the upgrade:\n  - a\n    hint: do this\n  - b\n    hint: do this";
        assert_eq!((error.to_string().as_str(), error.exit), (text, Exit::Unfit));
    }

    #[test]
    fn versions_of_etcd_are_compared_by_their_numbers() {
        assert!(numbers("3.6.8") < numbers("3.6.11-0") && numbers("3.6.11") >= numbers("3.6.11-0"));
        assert!(numbers("3.7.0") > numbers("3.6.11-0"));
    }
}
