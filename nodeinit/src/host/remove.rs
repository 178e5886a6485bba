//! Removes directory trees, but never crosses a mount.

use super::files::{FileError, Files, failed};
use nix::{
    errno::Errno,
    fcntl::{OFlag, OpenHow, ResolveFlag, openat, openat2},
    sys::stat::Mode,
    unistd::{UnlinkatFlags, unlinkat},
};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    path::Path,
};

/// Why a tree was not removed completely.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// It contains a mount point; nothing behind the mount was changed.
    #[error("{} is a mount point and was not removed", .0.display())]
    Mount(std::path::PathBuf),
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Files {
    /// Removes a path and everything below it. Stops at a mount, even one of the same device.
    ///
    /// # Errors
    /// If there is a mount, or an operation fails.
    pub fn remove_tree(&self, path: &Path) -> Result<(), RemoveError> {
        let real = self.real(path);
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else { return Ok(()) };
        let parent = File::open(parent).map_err(failed("open the directory of", path))?;
        remove(parent.as_fd(), name, path)
    }
}

fn remove(parent: BorrowedFd<'_>, name: &OsStr, path: &Path) -> Result<(), RemoveError> {
    let failure = |op, errno: Errno| RemoveError::File(failed(op, path)(io::Error::from(errno)));
    match unlinkat(parent, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT) => return Ok(()),
        Err(Errno::EISDIR | Errno::EPERM) => {}
        Err(Errno::EBUSY) => return Err(RemoveError::Mount(path.to_path_buf())),
        Err(errno) => return Err(failure("remove", errno)),
    }
    let how = OpenHow::new().flags(FLAGS).resolve(ResolveFlag::RESOLVE_NO_XDEV | ResolveFlag::RESOLVE_NO_SYMLINKS);
    // The kernel refuses a mount. The device number is no proof: bind mounts of the same device share it.
    let opened = match openat2(parent, name, how) {
        Err(Errno::ENOSYS) => open_on_same_mount(parent, name),
        opened => opened,
    };
    let directory = match opened {
        Ok(directory) => directory,
        Err(Errno::EXDEV) => return Err(RemoveError::Mount(path.to_path_buf())),
        Err(errno) => return Err(failure("open", errno)),
    };
    let entries = fs::read_dir(format!("/proc/self/fd/{}", directory.as_raw_fd())).map_err(failed("list", path))?;
    for entry in entries {
        let name = entry.map_err(failed("list", path))?.file_name();
        remove(directory.as_fd(), &name, &path.join(&name))?;
    }
    unlinkat(parent, name, UnlinkatFlags::RemoveDir).map_err(|errno| failure("remove", errno))
}

const FLAGS: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_RDONLY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// As `openat2` with `RESOLVE_NO_XDEV`, for kernels before 5.6.
fn open_on_same_mount(parent: BorrowedFd<'_>, name: &OsStr) -> nix::Result<OwnedFd> {
    let directory = openat(parent, name, FLAGS, Mode::empty())?;
    match mount_of(parent).is_some_and(|mount| mount_of(directory.as_fd()) == Some(mount)) {
        true => Ok(directory),
        false => Err(Errno::EXDEV),
    }
}

/// The ID of the mount that an open file is on. Source: proc(5), `/proc/PID/fdinfo`.
fn mount_of(file: BorrowedFd<'_>) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).ok()?;
    text.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::files::NewFile;

    #[test]
    fn a_tree_is_removed_and_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        fs::create_dir(dir.path().join("kept")).unwrap();
        files.write(&[NewFile::public("/kept/x", "")]).unwrap();
        std::os::unix::fs::symlink(dir.path().join("kept"), dir.path().join("a/b/link")).unwrap();
        files.remove_tree(Path::new("/a")).unwrap();
        assert!(!dir.path().join("a").exists() && dir.path().join("kept/x").exists());
        files.remove_tree(Path::new("/a")).unwrap();
    }

    #[test]
    fn a_mount_is_never_entered() {
        // procfs contains mounts on every machine where tests run.
        let (root, same) = (File::open("/").unwrap(), File::open("/proc").unwrap());
        let proc = OsStr::new("proc");
        let how = OpenHow::new().flags(FLAGS).resolve(ResolveFlag::RESOLVE_NO_XDEV);
        assert_eq!(openat2(root.as_fd(), proc, how).unwrap_err(), Errno::EXDEV);
        assert_eq!(open_on_same_mount(root.as_fd(), proc).unwrap_err(), Errno::EXDEV);
        assert!(open_on_same_mount(same.as_fd(), OsStr::new("sys")).is_ok());
    }
}
