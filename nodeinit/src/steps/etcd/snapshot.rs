//! Writes a snapshot of etcd's data to a file.

use super::{
    health::quorate,
    view::{View, shown},
};
use crate::{
    api::etcd::{Etcd, EtcdError},
    context::{Context, blocking},
    engine::error::{Exit, StepError},
    host::files::{Files, failed},
};
use nodeinit_base::{atomic_file::temporary, sha256_of};
use serde::Serialize;
use std::{
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// etcd appends the SHA-256 of its database to a snapshot. Source: `go.etcd.io/etcd/etcdutl/v3`, `snapshot/v3_snapshot.go`.
const HASH: u64 = 32;

/// The size of a database is a multiple of this. Source: `hasChecksum` in the same file.
const SECTOR: u64 = 512;

/// A snapshot that is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The file.
    pub file: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// The snapshot has all writes up to this revision. It may have later ones.
    pub revision: i64,
    /// The version of the etcd that wrote it.
    pub etcd_version: String,
}

/// Writes a snapshot of etcd to the file `to`, readable by root only. etcd's SHA-256 of the snapshot proves that the file is complete.
///
/// # Errors
/// If etcd has no quorum, if `to` exists, or if the file cannot be written completely; then there is no file `to`.
pub async fn save(cx: &Context, to: &Path) -> Result<Snapshot, StepError> {
    if cx.files.exists(to) {
        let what = format!("{} already exists, and nodeinit does not replace a snapshot", to.display());
        return Err(StepError::new(what).hint("name another file, or move that one away"));
    }
    let _alone = cx.files.lock_directory(to.parent().unwrap_or(to))?;
    let saved = save_temporary(cx, to).await;
    if saved.is_err() {
        // The first error is the one to report.
        let _ = cx.files.remove_file(temporary(to));
    }
    saved
}

async fn save_temporary(cx: &Context, to: &Path) -> Result<Snapshot, StepError> {
    let View { asked, .. } = quorate(cx).await?;
    let unread = |e: EtcdError| StepError::new(format!("cannot read a snapshot: {}", shown(&e))).exit(Exit::TryAgain);
    // A read that a quorum confirms, so the member is not behind.
    let revision = asked.revision().await.map_err(unread)?;
    let etcd_version = asked.status().await.map_err(unread)?.version;
    copy(&asked, cx, to).await?;
    let (files, path) = (cx.files.clone(), to.to_owned());
    let bytes = blocking(move || verified(&files, &path)).await?;
    Ok(Snapshot { file: to.to_owned(), bytes, revision, etcd_version })
}

/// Copies the member's database to the temporary file.
async fn copy(etcd: &Etcd, cx: &Context, to: &Path) -> Result<(), StepError> {
    let unread = |e: EtcdError| {
        StepError::new(format!("the snapshot ended early: {}", shown(&e)))
            .exit(Exit::TryAgain)
            .hint("see `nodeinit etcd members`, then run the command again")
    };
    let mut file = cx.files.open_temporary(to, 0o600)?;
    let mut snapshot = etcd.snapshot().await.map_err(unread)?;
    while let Some(part) = snapshot.next().await.map_err(unread)? {
        file.write_all(&part).map_err(failed("write", to))?;
    }
    Ok(())
}

/// Syncs the temporary file, compares it with the SHA-256 at its end, and renames it. Returns its size.
fn verified(files: &Files, to: &Path) -> Result<u64, StepError> {
    let mut file = files.open(&temporary(to))?;
    file.sync_all().map_err(failed("write", to))?;
    let size = file.metadata().map_err(failed("read", to))?.len();
    if !is_complete(&mut file, size).map_err(failed("read", to))? {
        let what =
            format!("the snapshot is incomplete or damaged: its {size} bytes do not match the SHA-256 at their end");
        return Err(StepError::new(what).exit(Exit::TryAgain).hint("run the command again"));
    }
    files.rename_temporary(to)?;
    files.sync_directory(to.parent().unwrap_or(to))?;
    Ok(size)
}

/// Whether `snapshot` of `size` bytes ends with the SHA-256 of everything before.
fn is_complete(mut snapshot: impl Read, size: u64) -> io::Result<bool> {
    if size <= HASH || size % SECTOR != HASH {
        return Ok(false);
    }
    let found = sha256_of(snapshot.by_ref().take(size - HASH))?;
    let mut expected = Vec::new();
    snapshot.read_to_end(&mut expected)?;
    Ok(expected == found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Vec<u8> {
        let database = vec![7; 2048];
        let hash = sha256_of(&database[..]).unwrap();
        [&database[..], &hash].concat()
    }

    fn is_whole(bytes: &[u8]) -> bool {
        is_complete(bytes, bytes.len() as u64).unwrap()
    }

    #[test]
    fn a_snapshot_that_is_cut_off_or_changed_is_rejected() {
        let whole = snapshot();
        assert!(is_whole(&whole));
        for length in [0, 32, 512, 544, 2048, whole.len() - 1] {
            assert!(!is_whole(&whole[..length]), "{length}");
        }
        for index in [0, 2047, 2048, whole.len() - 1] {
            let mut changed = whole.clone();
            changed[index] ^= 1;
            assert!(!is_whole(&changed), "{index}");
        }
    }

    #[test]
    fn only_a_complete_snapshot_gets_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let (files, to) = (Files::under(dir.path()), Path::new("/etcd.db"));
        let place = |bytes: &[u8]| files.open_temporary(to, 0o600).unwrap().write_all(bytes).unwrap();
        place(&snapshot()[..1000]);
        let error = verified(&files, to).unwrap_err();
        assert!(error.to_string().contains("incomplete or damaged"), "{error}");
        assert!(!files.exists(to));
        place(&snapshot());
        assert_eq!(verified(&files, to).unwrap(), 2080);
        assert_eq!(files.mode(to), Some(0o600));
    }
}
