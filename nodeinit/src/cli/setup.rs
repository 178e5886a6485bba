//! Builds a [`Context`] from the command line.

use super::{Common, load};
use crate::{
    context::{self, Context, RolloutOptions},
    engine::{
        error::{Exit, StepError},
        journal::{Journal, Record},
    },
    host::{
        clock::Clock,
        commands::Commands,
        facts,
        files::Files,
        lock::{self, Lock},
    },
    plan::immutable,
    render::Manifests,
    steps::upgrade::record::KEY,
};
use nodeinit_config::{
    Loaded,
    cluster::{Cluster, Role},
    versions::KubernetesVersion,
};
use std::{collections::BTreeMap, path::Path, sync::Arc};

/// The lock of the process that changes this machine.
const LOCK: &str = "/run/nodeinit.lock";

/// Whether a command changes the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// It writes the journal and must hold the lock.
    Change,
    /// It writes nothing.
    Look,
}

/// Refuses to change a machine during an upgrade, and settings that differ from this machine's first run and cannot change in place; records them in the first run.
pub(super) fn refuse_changes(cx: &Context) -> Result<(), StepError> {
    refuse_during_upgrade(cx)?;
    let values = immutable::values(cx);
    match cx.journal.state().fixed {
        Some(before) => immutable::refuse_changes(&values, &before),
        None => Ok(cx.journal.intend(vec![Record::Fixed { values }])?),
    }
}

/// Refuses to change a machine whose upgrade or rollback has not ended.
pub(super) fn refuse_during_upgrade(cx: &Context) -> Result<(), StepError> {
    let known = cx.journal.state();
    if let Some(version) = known.upgrade {
        let parsed = |text: &str| text.parse::<KubernetesVersion>().ok();
        let former = known.fixed.as_ref().and_then(|fixed| parsed(fixed.get(KEY)?));
        let back = parsed(&version).zip(former).is_some_and(|(version, former)| version <= former);
        let change = RolloutOptions { back, ..RolloutOptions::default() }.change();
        let what = format!("the {change} of this machine to {version} has not ended");
        let hint = match back {
            true => "run `nodeinit upgrade rollback` on a master, which resumes the rollback".to_owned(),
            false if cx.node.role == Role::Worker => format!(
                "run `nodeinit upgrade apply {version}` on a master, which resumes the upgrade; if the masters do not reach this machine, add \
                 `--local` and run it here"
            ),
            false => format!("run `nodeinit upgrade apply {version}` on a master, which resumes the upgrade"),
        };
        return Err(StepError::new(what).exit(Exit::Failed).hint(hint));
    }
    Ok(())
}

/// Refuses settings other than the version that differ from this machine's first run and cannot change in place.
pub(super) fn refuse_other_changes(cx: &Context) -> Result<(), StepError> {
    let mut values = immutable::values(cx);
    values.remove(KEY);
    immutable::refuse_changes(&values, &cx.journal.state().fixed.unwrap_or_default())
}

/// Builds the context of a command.
pub(super) fn context(common: &Common, access: Access) -> Result<Context, StepError> {
    must_be_root()?;
    context_of(common, access, load::load(&Files::of_machine(), &common.source)?)
}

/// Refuses to run as another user.
fn must_be_root() -> Result<(), StepError> {
    if nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    let error = StepError::new("nodeinit changes the whole machine and must run as root");
    Err(error.exit(Exit::NoPermission).hint("run it with sudo"))
}

/// The same with a configuration that is loaded already.
pub(super) fn context_of(common: &Common, access: Access, loaded: Loaded) -> Result<Context, StepError> {
    must_be_root()?;
    let files = Files::of_machine();
    let local = facts::local();
    let role = common.role.map(Into::into);
    let node = loaded.cluster.node(&local, role).map_err(|e| StepError::new(e.to_string()).exit(Exit::BadConfig))?;
    let cluster = loaded.of_machine(&node.name)?.cluster;
    let manifests = Manifests::new(overrides(&files, &cluster)?)
        .map_err(|e| StepError::caused("cannot use a file of manifestsDirectory", e).exit(Exit::BadConfig))?;
    let journal = match access {
        Access::Change => Journal::open(&files)?,
        Access::Look => Journal::read_only(&files)?,
    };
    Ok(Context {
        facts: Arc::new(context::host_facts(&files, &local, &cluster, &node)),
        cluster: Arc::new(cluster),
        loaded: Arc::new(loaded),
        node: Arc::new(node),
        files,
        commands: Commands::default(),
        clock: Clock::system(),
        journal: Arc::new(journal),
        report: common.printing.report(),
        manifests: Arc::new(manifests),
        api: Arc::default(),
        sums: Arc::default(),
        lent: Arc::default(),
        led: None,
        rollout: RolloutOptions::default(),
        issued: Arc::default(),
    })
}

/// Returns the user's manifests, by file name.
fn overrides(files: &Files, cluster: &Cluster) -> Result<BTreeMap<String, String>, StepError> {
    let Some(directory) = &cluster.manifests_directory else { return Ok(BTreeMap::new()) };
    let mut texts = BTreeMap::new();
    for name in files.list(directory)?.into_iter().filter(|name| name.ends_with(".yaml")) {
        let text = files.read_text(directory.join(&name))?.unwrap_or_default();
        texts.insert(name, text);
    }
    Ok(texts)
}

/// Takes the lock of this machine; the error names its holder.
pub(super) fn lock() -> Result<Lock, StepError> {
    Ok(lock::hold(Path::new(LOCK), "changing this machine")?)
}
