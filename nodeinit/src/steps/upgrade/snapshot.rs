//! Takes a snapshot of etcd before an upgrade changes anything.

use super::record::Begin;
use crate::{
    context::{Context, blocking},
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    steps::etcd::snapshot,
};
use async_trait::async_trait;
use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Where snapshots are kept. `reset` leaves them: they may be the last copy of a cluster's data.
const DIRECTORY: &str = "/var/backups/nodeinit";

/// Step `etcd-snapshot`: there is a snapshot from before this upgrade.
pub struct TakeSnapshot;

/// Returns a new file. Earlier ones are never removed: they may be the last copy of a cluster's data.
fn new_file(cx: &Context) -> PathBuf {
    let time = cx.clock.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    Path::new(DIRECTORY).join(format!("etcd-before-{}-{time}.db", cx.cluster.version))
}

#[async_trait(?Send)]
impl Step for TakeSnapshot {
    fn id(&self) -> StepId {
        StepId::EtcdSnapshot
    }

    fn title(&self) -> String {
        "take a snapshot of etcd".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        // The next step records that the upgrade begins.
        Ok(match (Begin { leads_back: cx.rollout.back }).check(cx).await? {
            State::Done => State::Done,
            State::Needed(_) => State::needed(format!("write a snapshot of etcd to {DIRECTORY}")),
        })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let files = cx.files.clone();
        blocking(move || {
            for directory in files.missing(Path::new(DIRECTORY)) {
                files.make_directory(&directory, 0o700)?;
            }
            Ok(())
        })
        .await?;
        let saved = snapshot::save(cx, &new_file(cx)).await?;
        cx.report.note(&self.name(), format!("{}: {} KiB, verified", saved.file.display(), saved.bytes >> 10));
        Ok(())
    }
}
