//! Locks between processes. The kernel releases a lock when its holder ends.

use super::files::{FileError, failed};
use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg, OFlag},
    unistd::geteuid,
};
use std::{
    fs::{File, OpenOptions},
    io::{Read, Seek, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// A lock that this process holds until the value is dropped.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "held for its lock")] Flock<File>);

/// Why a lock cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The file cannot be opened.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another user may have created the file to get another file overwritten.
    #[error("{} is not a lock file of this user", .0.display())]
    Foreign(PathBuf),
    /// Another process holds it.
    #[error("another nodeinit (process {process}) is {doing}")]
    Held {
        /// Its process ID.
        process: String,
        /// What it is doing.
        doing: String,
    },
    /// The kernel refuses the lock for another reason.
    #[error("cannot lock {}", .path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Errno,
    },
}

/// Takes the lock `path`; creates the file if it is missing. `doing` describes what the holder does.
///
/// # Errors
/// If the lock cannot be taken at once; it does not wait.
pub fn hold(path: &Path, doing: &str) -> Result<Lock, LockError> {
    let opened = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path);
    let mut file = match opened {
        Err(e) if e.raw_os_error() == Some(Errno::ELOOP as i32) => return Err(LockError::Foreign(path.into())),
        opened => opened.map_err(failed("open", path))?,
    };
    let found = file.metadata().map_err(failed("read", path))?;
    if !found.is_file() || found.nlink() > 1 || found.uid() != geteuid().as_raw() {
        return Err(LockError::Foreign(path.into()));
    }
    let mut holder = String::new();
    // Only for the message: the holder wrote its process ID into it.
    let _ = file.read_to_string(&mut holder);
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(mut held) => {
            // If this fails, only the message of another process lacks the process ID.
            let _ = held.set_len(0).and_then(|()| held.rewind()).and_then(|()| write!(held, "{}", std::process::id()));
            Ok(Lock(held))
        }
        Err((_, Errno::EWOULDBLOCK)) => {
            Err(LockError::Held { process: holder.trim().to_owned(), doing: doing.to_owned() })
        }
        Err((_, source)) => Err(LockError::Refused { path: path.into(), source }),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests write a file")]
mod tests {
    use super::*;

    #[test]
    fn one_process_holds_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = hold(&path, "changing this machine").unwrap();
        let error = hold(&path, "changing this machine").unwrap_err();
        let wanted = format!("another nodeinit (process {}) is changing this machine", std::process::id());
        assert_eq!(error.to_string(), wanted);
        drop(held);
        hold(&path, "").unwrap();
    }

    #[test]
    fn a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        std::fs::write(&victim, "content").unwrap();
        let (link, hard) = (dir.path().join("link"), dir.path().join("hard"));
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        std::fs::hard_link(&victim, &hard).unwrap();
        for path in [&link, &hard] {
            assert!(matches!(hold(path, ""), Err(LockError::Foreign(_))));
        }
        assert_eq!(std::fs::read(&victim).unwrap(), b"content");
    }
}
