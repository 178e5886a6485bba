//! Takes a snapshot of etcd before an upgrade changes anything.

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
use nodeinit_config::versions::KubernetesVersion;
use std::path::{Path, PathBuf};

/// Where snapshots are kept. `reset` leaves them: they may be the last copy of a cluster's data.
const DIRECTORY: &str = "/var/backups/nodeinit";

/// Names of snapshots begin with this.
const PREFIX: &str = "etcd-before-";

/// Step `etcd-snapshot`: there is a snapshot from before the upgrade. It is kept until the next upgrade.
pub struct TakeSnapshot {
    /// The version of the upgrade.
    pub version: KubernetesVersion,
}

impl TakeSnapshot {
    fn file(&self) -> PathBuf {
        Path::new(DIRECTORY).join(format!("{PREFIX}{}.db", self.version))
    }
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
        let file = self.file();
        Ok(match cx.files.exists(&file) {
            true => State::Done,
            false => State::needed(format!("write {}", file.display())),
        })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let (files, file) = (cx.files.clone(), self.file());
        blocking(move || {
            for directory in files.missing(Path::new(DIRECTORY)) {
                files.make_directory(&directory, 0o700)?;
            }
            Ok(())
        })
        .await?;
        let saved = snapshot::save(cx, &file).await?;
        cx.report.note(&self.name(), format!("{}: {} KiB, verified", file.display(), saved.bytes >> 10));
        let files = cx.files.clone();
        blocking(move || {
            for name in files.list(DIRECTORY)?.iter().filter(|name| name.starts_with(PREFIX)) {
                let earlier = Path::new(DIRECTORY).join(name);
                if earlier != file {
                    files.remove_file(earlier)?;
                }
            }
            Ok(())
        })
        .await
    }
}
