//! Writes a snapshot of etcd's data to a file.

use super::{
    health::quorate,
    view::{View, shown},
};
use crate::{
    api::etcd::{Etcd, EtcdError},
    context::{Context, blocking},
    engine::error::{Exit, StepError},
    host::{
        disk::room,
        files::{Files, failed},
    },
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

/// What stays free on the file system.
const SPARE: u64 = 64 << 20;

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
/// If etcd has no quorum, if `to` exists, or if the file cannot be written completely; then `to` is unchanged.
pub async fn save(cx: &Context, to: &Path) -> Result<Snapshot, StepError> {
    let directory = to.parent().unwrap_or(to);
    if !cx.files.exists(directory) {
        let what = format!("cannot write {}: there is no directory {}", to.display(), directory.display());
        return Err(StepError::new(what).hint("create the directory, or name another file"));
    }
    if cx.files.exists(to) {
        return Err(exists(to));
    }
    let _lock = cx.files.lock_directory(directory)?;
    let _partial = Partial { files: &cx.files, of: to };
    let View { asked, .. } = quorate(cx).await?;
    let failed = |e: EtcdError| failure("cannot start a snapshot", &e);
    // A quorum confirms this read, so the member is not behind.
    let revision = asked.revision().await.map_err(failed)?;
    let status = asked.status().await.map_err(failed)?;
    has_room(cx, to, status.db_size)?;
    copy(&asked, cx, to).await?;
    let (files, path) = (cx.files.clone(), to.to_owned());
    let bytes = blocking(move || complete(&files, &path)).await?;
    Ok(Snapshot { file: to.to_owned(), bytes, revision, etcd_version: status.version })
}

fn exists(to: &Path) -> StepError {
    StepError::new(format!("{} already exists, and nodeinit does not replace a snapshot", to.display()))
        .hint("name another file, or move that one away")
}

fn failure(what: &str, error: &EtcdError) -> StepError {
    StepError::new(format!("{what}: {}", shown(error)))
        .exit(Exit::TryAgain)
        .hint("see `nodeinit etcd members`, then run the command again")
}

/// The temporary file. It contains Secrets, so it is removed however the work ends.
struct Partial<'a> {
    files: &'a Files,
    of: &'a Path,
}

impl Drop for Partial<'_> {
    fn drop(&mut self) {
        // Another error was reported, or the snapshot has its second name.
        let _ = self.files.remove_file(temporary(self.of));
    }
}

/// Rejects a file system that the snapshot would fill: it may be the one of etcd's data.
fn has_room(cx: &Context, to: &Path, size: i64) -> Result<(), StepError> {
    let (room, needed) = (room(&cx.files, to)?, u64::try_from(size).unwrap_or(0) + SPARE);
    if room.bytes >= needed {
        return Ok(());
    }
    let what = format!(
        "no space for {}: the snapshot needs {} MiB, and {} has {} MiB free",
        to.display(),
        needed >> 20,
        room.directory.display(),
        room.bytes >> 20
    );
    Err(StepError::new(what).exit(Exit::TryAgain).hint("free some space, or name a file on another file system"))
}

/// Copies the member's database to the temporary file.
async fn copy(etcd: &Etcd, cx: &Context, to: &Path) -> Result<(), StepError> {
    let mut file = cx.files.open_temporary(to, 0o600)?;
    let mut snapshot = etcd.snapshot().await.map_err(|e| failure("cannot start a snapshot", &e))?;
    while let Some(part) = snapshot.next().await.map_err(|e| failure("the snapshot ended early", &e))? {
        let path = to.to_owned();
        file = blocking(move || {
            file.write_all(&part).map_err(failed("write", &path))?;
            Ok(file)
        })
        .await?;
    }
    Ok(())
}

/// Syncs the temporary file, compares it with the SHA-256 at its end, and gives it its name. Returns its size.
fn complete(files: &Files, to: &Path) -> Result<u64, StepError> {
    let mut file = files.open(&temporary(to))?;
    file.sync_all().map_err(failed("write", to))?;
    let size = file.metadata().map_err(failed("read", to))?.len();
    if !is_complete(&mut file, size).map_err(failed("read", to))? {
        let what =
            format!("the snapshot is incomplete or damaged: its {size} bytes do not match the SHA-256 at their end");
        return Err(StepError::new(what).exit(Exit::TryAgain).hint("run the command again"));
    }
    // Unlike a rename, a second name replaces nothing.
    match files.hard_link(&temporary(to), to) {
        Err(e) if e.source.kind() == io::ErrorKind::AlreadyExists => return Err(exists(to)),
        linked => linked?,
    }
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
    fn only_a_complete_snapshot_gets_its_name_and_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (files, to) = (Files::under(dir.path()), Path::new("/etcd.db"));
        let place = |bytes: &[u8]| files.open_temporary(to, 0o600).unwrap().write_all(bytes).unwrap();
        let partial = Partial { files: &files, of: to };
        place(&snapshot()[..1000]);
        let error = complete(&files, to).unwrap_err();
        assert!(error.to_string().contains("incomplete or damaged"), "{error}");
        assert!(!files.exists(to));
        place(&snapshot());
        assert_eq!(complete(&files, to).unwrap(), 2080);
        assert_eq!(files.mode(to), Some(0o600));
        let error = complete(&files, to).unwrap_err();
        assert!(error.to_string().contains("already exists"), "{error}");
        drop(partial);
        assert_eq!(files.list("/").unwrap(), ["etcd.db"]);
    }

    #[test]
    fn a_disk_that_would_be_full_is_named() {
        let (_dir, cx) = crate::context::testing::context();
        let error = has_room(&cx, Path::new("/etcd.db"), i64::MAX).unwrap_err();
        assert!(error.exit == Exit::TryAgain && error.to_string().contains("no space for /etcd.db"), "{error}");
        has_room(&cx, Path::new("/etcd.db"), 0).unwrap();
    }
}
