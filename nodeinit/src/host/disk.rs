//! Free disk space.

use super::files::{FileError, Files, failed};
use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The free space below a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// The nearest existing directory.
    pub directory: PathBuf,
    /// Bytes that root may still write.
    pub bytes: u64,
    /// Free inodes; `u64::MAX` if the file system does not count them.
    pub nodes: u64,
    /// Whether the file system is read-only.
    pub read_only: bool,
}

/// Returns the free space on the file system of `path`, which need not exist yet.
///
/// # Errors
/// If the file system does not report it.
pub fn room(files: &Files, path: &Path) -> Result<Room, FileError> {
    let directory = path.ancestors().find(|dir| files.exists(dir)).unwrap_or(Path::new("/"));
    let stat = nix::sys::statvfs::statvfs(&files.real(directory))
        .map_err(|errno| failed("read the free space of", directory)(errno.into()))?;
    Ok(Room {
        directory: directory.to_path_buf(),
        bytes: stat.blocks_free().saturating_mul(stat.fragment_size()),
        nodes: if stat.files() == 0 { u64::MAX } else { stat.files_free() },
        read_only: stat.flags().contains(nix::sys::statvfs::FsFlags::ST_RDONLY),
    })
}

/// The disk space that a tree uses, in bytes. Files can have holes, or more room than is written.
///
/// # Errors
/// Where something of it cannot be looked at.
pub fn used(files: &Files, path: &Path) -> Result<u64, FileError> {
    fn below(real: &Path) -> io::Result<u64> {
        let found = fs::symlink_metadata(real)?;
        let mut bytes = found.blocks() * 512;
        if found.is_dir() {
            for entry in fs::read_dir(real)? {
                bytes += below(&entry?.path())?;
            }
        }
        Ok(bytes)
    }
    below(&files.real(path)).map_err(failed("measure", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_space_of_a_missing_path_is_that_of_its_parent() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        let room = room(&files, Path::new("/var/lib/etcd")).unwrap();
        assert_eq!(room.directory, Path::new("/"));
        assert!(room.bytes > 0 && room.nodes > 0);
    }
}
