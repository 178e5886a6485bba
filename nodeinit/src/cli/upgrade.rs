//! `upgrade`: brings the cluster to another version of Kubernetes.

use super::{
    Common, execute, load,
    setup::{self, Access},
};
use crate::{
    api::kube::types::Node,
    context::{Context, RolloutOptions},
    engine::{
        error::{Exit, StepError},
        journal::Journal,
        led::Led,
        plan::{Plan, PlanError},
        report::{Event, LOCK},
        runner,
        step::State,
        step_id::StepId,
    },
    host::files::Files,
    plan::{
        Reach,
        upgrade::{self, Upgrade},
    },
    steps::{
        cluster::client,
        fanout,
        lead::{self, Lead},
        rollout::node::nodes,
        upgrade::{
            check::{Check, Scope},
            record::{self, Version},
            replace,
        },
    },
};
use clap::{Args, Subcommand};
use futures_util::StreamExt;
use nodeinit_config::{
    Cluster, Layer, Problem,
    cluster::{Role, Share},
    versions::KubernetesVersion,
};
use std::{collections::BTreeSet, path::PathBuf, pin::pin, sync::Arc};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Show the changes of each machine in order, and what prevents the upgrade in the cluster and on this machine; exit code 2 if there are
    /// changes
    Plan(Target),
    /// Upgrade all machines to a version of Kubernetes, the masters one at a time; an interrupted upgrade resumes
    Apply(Target),
    /// Return all machines of an unfinished upgrade to the version before it, workers first, by one minor version at most; an interrupted
    /// rollback resumes
    Rollback(Rollback),
    /// Copy the images of an upgrade to this machine; the leading master runs this
    #[command(hide = true)]
    Stage(Stage),
    /// Bring this master's etcd to the version that an upgrade needs; the leading master runs this
    #[command(hide = true)]
    Etcd(Stage),
}

#[derive(Args)]
pub(super) struct Target {
    /// The version, such as v1.37.1; the upgrade passes through each minor version on the way
    version: KubernetesVersion,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(super) struct Rollback {
    /// The version to return to; by default, the version from before the unfinished upgrade. Required with --local on a machine whose own upgrade has ended
    version: Option<KubernetesVersion>,
    /// Show the changes of each machine in order, and change nothing; exit code 2 if there are changes
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
struct Options {
    /// Change only this machine, and do not drain its node; for workers that the masters do not reach
    #[arg(long)]
    local: bool,
    /// Cordon nodes, but do not evict their pods; containers continue to run
    #[arg(long)]
    no_drain: bool,
    /// Change this many workers at a time, for example 3 or 10%; the default is `rollout.parallel`
    #[arg(long, value_name = "NUMBER|PERCENT")]
    parallel: Option<Share>,
    /// The lease of the leading master, which runs this here
    #[arg(long, hide = true)]
    led: Option<Led>,
    #[command(flatten)]
    common: Common,
}

/// The version that machines shall have, and how they get it.
struct Change<'a> {
    version: KubernetesVersion,
    /// Whether it is the former one.
    back: bool,
    options: &'a Options,
}

impl Change<'_> {
    /// The command, for people.
    fn command(&self) -> String {
        let Options { local, no_drain, parallel, .. } = self.options;
        let options = [(*local, " --local"), (*no_drain, " --no-drain")];
        let options: String = options.iter().filter(|(given, _)| *given).map(|(_, option)| *option).collect();
        let rollout = RolloutOptions { back: self.back, ..RolloutOptions::default() };
        let parallel = parallel.map(|share| format!(" --parallel {share}")).unwrap_or_default();
        format!("{}{options}{parallel}", rollout.upgrade_command(self.version))
    }
}

#[derive(Args)]
pub(super) struct Stage {
    /// The version
    version: KubernetesVersion,
    /// The complete configuration
    file: PathBuf,
    /// The lease of the leading master, which runs this here
    #[arg(long)]
    led: Option<Led>,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(command: Command) -> Exit {
    let printing = match &command {
        Command::Plan(target) | Command::Apply(target) => target.options.common.printing,
        Command::Rollback(rollback) => rollback.options.common.printing,
        Command::Stage(stage) | Command::Etcd(stage) => stage.common.printing,
    };
    let result = match &command {
        Command::Plan(target) => plan(&target.change()).await,
        Command::Apply(target) => apply(&target.change()).await,
        Command::Rollback(args) => rollback(args).await,
        Command::Stage(args) => staged(args, "stage", upgrade::stage).await,
        Command::Etcd(args) => staged(args, "etcd", upgrade::etcd).await,
    };
    result.unwrap_or_else(|(step, error)| {
        printing.report().failed(&step, &error);
        error.exit
    })
}

impl Target {
    fn change(&self) -> Change<'_> {
        Change { version: self.version, back: false, options: &self.options }
    }
}

type Outcome = Result<Exit, (String, StepError)>;

fn start(error: StepError) -> (String, StepError) {
    ("start".to_owned(), error)
}

/// The configuration in the files, before it is changed to the version of the upgrade.
struct Configured {
    layers: Vec<Layer>,
    /// It only reads the journal.
    cx: Context,
}

impl Configured {
    /// Reads it, and prints the warnings that are not in `known`.
    fn read(common: &Common, known: &[Problem]) -> Result<Self, StepError> {
        let (layers, loaded) = load::with_layers(&Files::of_machine(), &common.source, known)?;
        Ok(Self { layers, cx: setup::context_of(common, Access::Look, loaded)? })
    }

    /// The same context with a journal that it can write.
    fn changing(&self) -> Result<Context, StepError> {
        Ok(Context { journal: Arc::new(Journal::open(&self.cx.files)?), ..self.cx.clone() })
    }
}

/// Returns the plan of this machine for one version, and the context with it.
fn prepared(
    change: &Change,
    configured: &Configured,
    version: KubernetesVersion,
    access: Access,
) -> Result<(Context, Plan), StepError> {
    let target = change.options;
    let loaded = load::with_version(&configured.layers, &configured.cx.loaded, version)?;
    let mut cx = setup::context_of(&target.common, access, loaded)?;
    (cx.rollout.parallel, cx.rollout.back) = (target.parallel, change.back);
    let from = recorded(&cx)?;
    setup::refuse_other_changes(&cx)?;
    load::owns_its_version(&target.common.source, &configured.cx.loaded)?;
    if target.local && cx.node.role.is_master() && target.led.is_none() && access == Access::Change {
        let what = format!("--local changes a worker, but this machine is a {}", cx.node.role);
        return Err(StepError::new(what).exit(Exit::Usage).hint("run the command without --local"));
    }
    let (reach, scope) = match target.local {
        true => (Reach::Here, Scope::Machine),
        false => (Reach::Everywhere, Scope::Cluster { drain: !target.no_drain }),
    };
    if cx.node.role == Role::Bastion {
        let what = "a bastion runs nothing of Kubernetes that could be upgraded";
        return Err(StepError::new(what).exit(Exit::Usage).hint("run the command on a master"));
    }
    can_lead(&cx, target)?;
    let upgrade = Upgrade {
        check: Check { from, scope },
        version: Version { configured: configured.cx.cluster.version, written: configured.cx.loaded.version_origin() },
        drain: !target.no_drain,
    };
    let plan = match change.back && !target.local {
        true => upgrade::rollback(&cx.cluster, &cx.node, upgrade)?,
        false => upgrade::plan(&cx.cluster, &cx.node, &reach, upgrade)?,
    };
    Ok((cx, plan))
}

/// Refuses to lead on a worker.
fn can_lead(cx: &Context, options: &Options) -> Result<(), StepError> {
    if cx.node.role != Role::Worker || options.local {
        return Ok(());
    }
    let what = "a master leads an upgrade, but this machine is a worker";
    let hint = "run the command on a master; with --local, it changes only this machine";
    Err(StepError::new(what).exit(Exit::Usage).hint(hint))
}

/// Returns the version that this machine has.
fn recorded(cx: &Context) -> Result<KubernetesVersion, StepError> {
    record::recorded(cx).and_then(|version| version.parse().ok()).ok_or_else(|| {
        StepError::new("this machine has not been set up yet").exit(Exit::Usage).hint("run `nodeinit up` first")
    })
}

/// Returns the version to which an unfinished upgrade of this machine brings it.
fn under_way(cx: &Context) -> Option<KubernetesVersion> {
    cx.journal.state().upgrade?.parse().ok()
}

/// Returns the versions to which this machine is brought in turn: the tested one of each minor version, and the wanted one.
fn route(change: &Change, cx: &Context) -> Result<Vec<KubernetesVersion>, StepError> {
    let (recorded, under_way) = (recorded(cx)?, under_way(cx));
    if change.back {
        let newest = under_way.map_or(recorded, |version| version.max(recorded));
        return one_back(recorded, newest, change.version).map(|()| vec![change.version]);
    }
    let refused = |what: String, hint: String| Err(StepError::new(what).exit(Exit::Usage).hint(hint));
    match under_way {
        Some(newer) if newer > change.version => {
            let what = format!("an upgrade of this machine to {newer} has begun, and {} is older", change.version);
            return refused(what, format!("run `nodeinit upgrade apply {newer}`, or `nodeinit upgrade rollback`"));
        }
        Some(former) if former == change.version && former <= recorded => {
            let what = format!("a rollback of this machine to {former} has begun");
            return refused(what, "run `nodeinit upgrade rollback`, which resumes it".to_owned());
        }
        _ => {}
    }
    let known: Vec<KubernetesVersion> = cx.loaded.known_releases().iter().map(|release| release.tested).collect();
    let route = between(recorded, change.version, &known);
    route.map_err(|(what, hint)| StepError::new(what).exit(Exit::Usage).hint(hint))
}

/// Refuses a rollback to a newer version than the `recorded` one, or to one more than one minor version before the `newest` here.
fn one_back(recorded: KubernetesVersion, newest: KubernetesVersion, to: KubernetesVersion) -> Result<(), StepError> {
    let refused = |what: String, hint: &str| Err(StepError::new(what).exit(Exit::Usage).hint(hint));
    if to > recorded {
        let what = format!("{to} is newer than {recorded}, which this machine has");
        return refused(what, "use `nodeinit upgrade apply`");
    }
    if (to.major, to.minor + 1) < (newest.major, newest.minor) {
        let hint = "a rollback is possible to the minor version before only; a snapshot of etcd from before each upgrade is in /var/backups/nodeinit";
        return refused(format!("{to} is more than one minor version before {newest}"), hint);
    }
    Ok(())
}

/// Returns the version from before the unfinished upgrade; with `--local`, the one that the command names.
async fn former(args: &Rollback, cx: &Context) -> Result<KubernetesVersion, StepError> {
    can_lead(cx, &args.options)?;
    let own = recorded(cx)?;
    let refused = |what: String, hint: &str| Err(StepError::new(what).exit(Exit::Usage).hint(hint));
    let found = match (under_way(cx), args.options.local, args.version) {
        (_, true, Some(version)) => return Ok(version),
        (Some(under_way), ..) => own.min(under_way),
        (None, true, None) => {
            let what = format!("the upgrade of this machine to {own} has ended");
            return refused(
                what,
                "name the version that the masters return to: `nodeinit upgrade rollback VERSION --local`",
            );
        }
        (None, false, _) => match of_nodes(&nodes(client(cx)?).await?, &cx.cluster, own).map(BTreeSet::into_iter) {
            Ok(mut versions) if versions.len() == 2 => versions.next().unwrap_or(own),
            Ok(versions) if versions.len() < 2 => {
                let hint = "an upgrade that has ended is not rolled back; one that has just begun on another master is rolled back there";
                return refused(format!("no upgrade is under way: all nodes have {own}"), hint);
            }
            Ok(versions) => {
                let versions: Vec<String> = versions.map(|version| version.to_string()).collect();
                let what = format!("the nodes have more than two versions: {}", versions.join(", "));
                return refused(what, "bring them to two versions with `nodeinit upgrade apply`");
            }
            Err(e) => return Err(e),
        },
    };
    match args.version {
        Some(wanted) if wanted != found => refused(
            format!("the unfinished upgrade began at {found}, not at {wanted}"),
            "run the command without a version",
        ),
        _ => Ok(found),
    }
}

/// Returns the versions that the configured machines have.
fn of_nodes(
    nodes: &[Node],
    cluster: &Cluster,
    own: KubernetesVersion,
) -> Result<BTreeSet<KubernetesVersion>, StepError> {
    let is_configured = |node: &&Node| cluster.machines().any(|(machine, _)| machine.name == node.metadata.name);
    let version = |node: &Node| {
        let version = node.status.node_info.kubelet_version.parse();
        version.map_err(|e| StepError::caused(format!("cannot read the version of node {}", node.metadata.name), e))
    };
    nodes.iter().filter(is_configured).map(version).chain([Ok(own)]).collect()
}

async fn rollback(args: &Rollback) -> Outcome {
    let lock = if args.plan { None } else { Some(setup::lock().map_err(|error| (LOCK.to_owned(), error))?) };
    let configured = Configured::read(&args.options.common, &[]).map_err(start)?;
    let version = former(args, &configured.cx).await.map_err(start)?;
    let change = Change { version, back: true, options: &args.options };
    match lock {
        Some(_) => apply_locked(&change, &configured).await,
        None => planned(&change, &configured).await,
    }
}

/// Returns the versions on the way, or the reason why there is none, with a hint. Source: Kubernetes' version skew policy: no minor version
/// is skipped.
fn between(
    from: KubernetesVersion,
    to: KubernetesVersion,
    known: &[KubernetesVersion],
) -> Result<Vec<KubernetesVersion>, (String, String)> {
    if to < from {
        let hint = "only an unfinished upgrade can be rolled back, see `nodeinit upgrade rollback --help`";
        return Err((format!("{to} is older than {from}, which this machine has"), hint.to_owned()));
    }
    if to.major != from.major || known.iter().all(|known| known.minor_version() != to.minor_version()) {
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        let what = format!("nodeinit does not support Kubernetes {to}; it supports {}", known.join(", "));
        return Err((what, "use one of these, or another patch version of them".to_owned()));
    }
    let passed = (from.minor + 1..to.minor).map(|minor| {
        let release = known.iter().find(|known| known.minor_version() == (from.major, minor));
        release.copied().ok_or_else(|| {
            let what = format!(
                "an upgrade from {from} to {to} passes through {}.{minor}, which nodeinit does not know",
                from.major
            );
            (what, "see docs/how-to/add-a-release.md".to_owned())
        })
    });
    passed.chain([Ok(to)]).collect()
}

async fn plan(change: &Change<'_>) -> Outcome {
    planned(change, &Configured::read(&change.options.common, &[]).map_err(start)?).await
}

async fn planned(change: &Change<'_>, configured: &Configured) -> Outcome {
    let route = route(change, &configured.cx).map_err(start)?;
    let (next, later) = route.split_first().map_or((change.version, &route[..]), |(next, later)| (*next, later));
    let (cx, plan) = prepared(change, configured, next, Access::Look).map_err(start)?;
    let mut problem = None;
    let mut pending = false;
    let mut checks = pin!(runner::checks(&plan, &cx));
    while let Some((node, state)) = checks.next().await {
        match state {
            Ok(State::Done) => {}
            Ok(State::Needed(changes)) => {
                pending = true;
                cx.report.tell(&Event::Planned { step: node.id.to_string(), changes });
            }
            Err(error) if node.id == StepId::UpgradeCheck => problem = Some((node.id.to_string(), error)),
            // A cluster that is broken fails later checks, too.
            Err(error) => return Err(problem.unwrap_or((node.id.to_string(), error))),
        }
    }
    if pending && !change.options.local && !change.back {
        for change in &cx.cluster.release.changed_defaults {
            cx.report.note("upgrade", format!("Kubernetes {} changes a default: {change}", cx.cluster.release.name()));
        }
    }
    for version in later {
        cx.report.note("upgrade", format!("then all machines are upgraded to {version}"));
    }
    match problem {
        Some(problem) => Err(problem),
        None if pending => Ok(Exit::Pending),
        None => {
            cx.report.note("plan", "nothing to do");
            Ok(Exit::Done)
        }
    }
}

async fn apply(change: &Change<'_>) -> Outcome {
    let _lock = setup::lock().map_err(|error| (LOCK.to_owned(), error))?;
    apply_locked(change, &Configured::read(&change.options.common, &[]).map_err(start)?).await
}

async fn apply_locked(change: &Change<'_>, configured: &Configured) -> Outcome {
    let route = route(change, &configured.cx).map_err(start)?;
    if route.len() > 1 {
        load::can_be_read_again(&change.options.common.source).map_err(start)?;
    }
    let lead = leading(change, configured).await.map_err(start)?;
    let led = lead.as_ref().map(|lead| lead.led.clone());
    let all = async {
        for (index, version) in route.into_iter().enumerate() {
            // The upgrade to a version on the way has changed the files.
            let again = if index == 0 {
                None
            } else {
                Some(Configured::read(&change.options.common, &configured.cx.loaded.warnings)?)
            };
            let outcome = apply_one(change, again.as_ref().unwrap_or(configured), version, led.as_ref()).await;
            if !matches!(outcome, Ok(Exit::Done)) {
                return Ok(outcome);
            }
        }
        Ok(Ok(Exit::Done))
    };
    let cx = configured.changing().map_err(start)?;
    execute::under(&cx, lead, &change.command(), all).await.map_err(start)?
}

/// Takes the lease for an upgrade of all machines; on one machine, accepts that of the leading master.
async fn leading(change: &Change<'_>, configured: &Configured) -> Result<Option<Lead>, StepError> {
    let options = change.options;
    let cx = configured.changing()?;
    if let Some(led) = &options.led {
        lead::accept(&cx, led, cx.node.role.is_master())?;
    }
    if options.local || !cx.node.role.is_master() {
        return Ok(None);
    }
    lead::take(&cx, &change.command(), false).await
}

async fn apply_one(
    change: &Change<'_>,
    configured: &Configured,
    version: KubernetesVersion,
    led: Option<&Led>,
) -> Outcome {
    let (mut cx, plan) = prepared(change, configured, version, Access::Change).map_err(start)?;
    cx.led = led.cloned();
    replace::resume(&cx).await.map_err(start)?;
    let command = change.command();
    execute::begin(&cx, &command, false).map_err(start)?;
    let done = match change.options.local {
        true => format!("{} has Kubernetes {version}", cx.node.name),
        false => match fanout::alone(&cx.cluster, &cx.node.name) {
            alone if alone.is_empty() => {
                format!("all machines of cluster {} have Kubernetes {version}", cx.cluster.name)
            }
            alone => format!(
                "all machines that {} reaches have Kubernetes {version}; on {}, run `nodeinit {command} --local`",
                cx.node.name,
                alone.join(", ")
            ),
        },
    };
    let exit = execute::run(&cx, &command, &plan, &done, None).await;
    if exit == Exit::Done {
        load::keep_for_boot(&cx, &change.options.common.source).await.map_err(start)?;
    }
    Ok(exit)
}

/// Runs a part of an upgrade with the configuration that the first master sent.
async fn staged(args: &Stage, part: &str, plan: impl Fn(&Cluster, Role, Check) -> Result<Plan, PlanError>) -> Outcome {
    let _lock = setup::lock().map_err(|error| (LOCK.to_owned(), error))?;
    let prepare = || {
        let files = Files::of_machine();
        let loaded = load::only(&files, &args.file)?;
        let cx = setup::context_of(&args.common, Access::Change, loaded)?;
        if let Some(led) = &args.led {
            lead::accept_before(&cx, led)?;
        }
        let check = Check { from: recorded(&cx)?, scope: Scope::Images };
        let plan = plan(&cx.cluster, cx.node.role, check)?;
        Ok::<_, StepError>((cx, plan))
    };
    let (cx, plan) = prepare().map_err(start)?;
    replace::resume(&cx).await.map_err(start)?;
    let command = format!("upgrade {part} {}", args.version);
    execute::begin(&cx, &command, false).map_err(start)?;
    let done = format!("{} is prepared for Kubernetes {}", cx.node.name, args.version);
    Ok(execute::run(&cx, &command, &plan, &done, None).await)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context_of;
    use serde_json::json;

    #[test]
    fn a_rollback_goes_back_by_one_minor_version_at_most() {
        let refusal = |recorded: &str, newest: &str, to: &str| {
            let [recorded, newest, to] = [recorded, newest, to].map(|version| version.parse().unwrap());
            one_back(recorded, newest, to).map_err(|e| e.to_string())
        };
        for to in ["v1.36.4", "v1.36.0", "v1.35.8"] {
            assert_eq!(refusal("v1.36.4", "v1.36.4", to), Ok(()));
        }
        assert!(refusal("v1.36.4", "v1.36.4", "v1.34.9").unwrap_err().contains("more than one minor version before"));
        assert!(
            refusal("v1.35.8", "v1.36.4", "v1.36.4").unwrap_err().contains("newer"),
            "workers would be upgraded first"
        );
    }

    #[test]
    fn only_the_versions_of_configured_machines_count() {
        let (_dir, cx) = context_of(
            "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nmasters: [{name: m1, address: 10.0.0.11}]\nworkers: [{name: w1}]\n",
        );
        let node = |name: &str, version: &str| -> Node {
            serde_json::from_value(
                json!({"metadata": {"name": name}, "status": {"nodeInfo": {"kubeletVersion": version}}}),
            )
            .unwrap()
        };
        let own = "v1.36.4".parse().unwrap();
        let versions = |nodes: &[Node]| of_nodes(nodes, &cx.cluster, own).map(|found| found.len());
        assert_eq!(versions(&[node("m1", "v1.36.4"), node("w1", "v1.35.8"), node("other", "v1.33.0")]).unwrap(), 2);
        assert!(versions(&[node("w1", "?")]).is_err());
    }

    #[test]
    fn an_upgrade_passes_through_every_minor_version() {
        let version = |text: &str| text.parse::<KubernetesVersion>().unwrap();
        let known = ["v1.34.9", "v1.35.8", "v1.36.4", "v1.37.1"].map(version);
        let route = |from, to| {
            between(version(from), version(to), &known)
                .map(|route| route.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
                .map_err(|(what, _)| what)
        };
        for (from, to, way) in [
            ("v1.35.8", "v1.35.8", "v1.35.8"),
            ("v1.35.7", "v1.35.8", "v1.35.8"),
            ("v1.35.8", "v1.36.0", "v1.36.0"),
            ("v1.34.1", "v1.37.1", "v1.35.8 v1.36.4 v1.37.1"),
        ] {
            assert_eq!(route(from, to).as_deref(), Ok(way));
        }
        assert_eq!(route("v1.36.0", "v1.35.9").unwrap_err(), "v1.35.9 is older than v1.36.0, which this machine has");
        assert!(route("v1.35.8", "v1.99.0").unwrap_err().contains("does not support Kubernetes v1.99.0"));
        assert!(route("v1.35.8", "v2.37.0").is_err());
        assert!(route("v1.32.1", "v1.35.8").unwrap_err().contains("passes through 1.33"));
    }
}
