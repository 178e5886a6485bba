//! Builds a [`Context`] from the command line.

use super::{Common, load};
use crate::{
    context::{self, Context},
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
};
use nodeinit_config::cluster::Cluster;
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

/// Refuses settings that differ from this machine's first run and cannot change in place; records them in the first run.
pub(super) fn refuse_changes(cx: &Context) -> Result<(), StepError> {
    let values = immutable::values(cx);
    match cx.journal.state().fixed {
        Some(before) => immutable::refuse_changes(&values, &before),
        None => Ok(cx.journal.intend(vec![Record::Fixed { values }])?),
    }
}

/// Builds the context of a command.
pub(super) fn context(common: &Common, access: Access) -> Result<Context, StepError> {
    let files = Files::of_machine();
    if !nix::unistd::geteuid().is_root() {
        let error = StepError::new("nodeinit changes the whole machine and must run as root");
        return Err(error.exit(Exit::NoPermission).hint("run it with sudo"));
    }
    let loaded = load::load(&files, &common.config)?;
    let cluster = loaded.cluster.clone();
    let local = facts::local();
    let role = common.role.map(Into::into);
    let node = cluster.node(&local, role).map_err(|e| StepError::new(e.to_string()).exit(Exit::BadConfig))?;
    let manifests = Manifests::new(overrides(&files, &cluster)?)
        .map_err(|e| StepError::caused("cannot use a file of manifestsDirectory", e).exit(Exit::BadConfig))?;
    let journal = match access {
        Access::Change => Journal::open(&files)?,
        Access::Look => Journal::read_only(&files)?,
    };
    Ok(Context {
        facts: Arc::new(context::host_facts(&files, &local, node.address)),
        cluster: Arc::new(cluster),
        loaded: Arc::new(loaded),
        node: Arc::new(node),
        files,
        commands: Commands,
        clock: Clock::system(),
        journal: Arc::new(journal),
        report: common.printing.report(),
        manifests: Arc::new(manifests),
        api: Arc::default(),
        sums: Arc::default(),
        lent: Arc::default(),
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
