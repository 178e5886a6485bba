//! Files under a root prefix. Writes are atomic.

/// An open file. Only `host` opens one.
pub use std::fs::File;

use nix::fcntl::{Flock, FlockArg};
use nodeinit_base::{DETAIL, atomic_file, directory};
use nodeinit_config::Secret;
use std::{
    collections::BTreeSet,
    fs::{self, Metadata, OpenOptions, Permissions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};
use zeroize::Zeroizing;

/// The machine's file system, or a directory that represents it in tests.
#[derive(Clone, Debug)]
pub struct Files {
    root: PathBuf,
}

/// A failed file operation.
#[derive(Debug, thiserror::Error)]
#[error("cannot {op} {}", .path.display())]
pub struct FileError {
    /// The operation, as a verb.
    pub op: &'static str,
    /// The path on the machine, without the root prefix.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

impl FileError {
    /// Whether the file system is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// Whether another process holds the lock.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.op == "lock" && self.source.kind() == io::ErrorKind::WouldBlock
    }
}

/// A desired file.
#[derive(Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Its absolute path on the machine.
    pub path: PathBuf,
    /// Its content. It may be a private key: its memory is overwritten when it is dropped.
    pub content: Zeroizing<Vec<u8>>,
    /// Its permission bits, such as `0o600`.
    pub mode: u32,
}

impl std::fmt::Debug for NewFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The content may be a private key.
        write!(f, "NewFile({}, {} bytes, {:o})", self.path.display(), self.content.len(), self.mode)
    }
}

impl NewFile {
    /// Creates a file that everyone may read.
    pub fn public(path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: Zeroizing::new(content.into()), mode: 0o644 }
    }

    /// Creates a file that only root may read.
    pub fn private(path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: Zeroizing::new(content.into()), mode: 0o600 }
    }
}

impl Files {
    /// Uses the machine's own root.
    #[must_use]
    pub fn of_machine() -> Self {
        Self::under("/")
    }

    /// Uses `root` as the machine's root.
    pub fn under(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the real path of the machine's `path`.
    #[must_use]
    pub fn real(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Returns the path without symbolic links, as in the kernel's mount table. The part of it that does not exist stays as it is.
    #[must_use]
    pub fn canonical(&self, path: &Path) -> PathBuf {
        let root = fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone());
        let whole = |above: &Path| {
            let real = fs::canonicalize(self.real(above)).ok()?;
            let found = Path::new("/").join(real.strip_prefix(&root).ok()?);
            // Joining an empty path would add a slash.
            Some(path.strip_prefix(above).ok()?.iter().fold(found, |found, name| found.join(name)))
        };
        path.ancestors().find_map(whole).unwrap_or_else(|| path.to_path_buf())
    }

    /// Returns the content of a file; `None` if it does not exist.
    ///
    /// # Errors
    /// If it exists but cannot be read.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Option<Vec<u8>>, FileError> {
        let path = path.as_ref();
        optional(fs::read(self.real(path))).map_err(failed("read", path))
    }

    /// Returns the content of a text file; `None` if it does not exist.
    ///
    /// # Errors
    /// If it exists but cannot be read, or is not UTF-8.
    pub fn read_text(&self, path: impl AsRef<Path>) -> Result<Option<String>, FileError> {
        let path = path.as_ref();
        optional(fs::read_to_string(self.real(path))).map_err(failed("read", path))
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// Where it is missing, or cannot be opened.
    pub fn open(&self, path: &Path) -> Result<File, FileError> {
        File::open(self.real(path)).map_err(failed("read", path))
    }

    /// Opens a file for reading, and does not wait for a writer where it is a pipe.
    ///
    /// # Errors
    /// Where it is missing, or cannot be opened.
    pub fn open_without_waiting(&self, path: &Path) -> Result<File, FileError> {
        let open = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(self.real(path));
        open.map_err(failed("read", path))
    }

    /// Opens a private file for appending; makes it where there is none.
    ///
    /// # Errors
    /// Where it cannot be opened or made.
    pub fn open_to_append(&self, path: &Path) -> Result<File, FileError> {
        let open = OpenOptions::new().create(true).append(true).mode(0o600).open(self.real(path));
        open.map_err(failed("open", path))
    }

    /// Prints a line on a device.
    ///
    /// # Errors
    /// If it does not exist, or cannot be written.
    pub fn print(&self, device: &Path, text: &str) -> Result<(), FileError> {
        let open = OpenOptions::new().append(true).custom_flags(nix::libc::O_NOCTTY).open(self.real(device));
        open.and_then(|mut file| writeln!(file, "{text}\r")).map_err(failed("write", device))
    }

    /// Opens a file for writing from `offset` on, and cuts off what it has there; makes it where there is none.
    ///
    /// # Errors
    /// Where it cannot be opened, made or cut.
    pub fn open_to_continue(&self, path: &Path, offset: u64) -> Result<File, FileError> {
        let open = || {
            let mut file = OpenOptions::new().create(true).write(true).truncate(false).open(self.real(path))?;
            file.set_len(offset)?;
            file.seek(SeekFrom::Start(offset))?;
            Ok(file)
        };
        open().map_err(failed("write", path))
    }

    /// What the kernel says of a file or a directory; links are followed.
    ///
    /// # Errors
    /// Where it is missing, or the kernel does not say.
    pub fn metadata(&self, path: &Path) -> Result<Metadata, FileError> {
        fs::metadata(self.real(path)).map_err(failed("read", path))
    }

    /// The permission bits of a file or a directory, such as `0o600`; `None` where there is none.
    #[must_use]
    pub fn mode(&self, path: &Path) -> Option<u32> {
        self.metadata(path).ok().map(|found| found.mode() & 0o7777)
    }

    /// Whether a plain file is at `path`; links are followed.
    #[must_use]
    pub fn is_file(&self, path: &Path) -> bool {
        self.metadata(path).is_ok_and(|found| found.is_file())
    }

    /// As [`Files::read`], of a file that holds a secret.
    ///
    /// # Errors
    /// Where it is there but cannot be read.
    pub fn read_secret(&self, path: impl AsRef<Path>) -> Result<Option<Secret<Vec<u8>>>, FileError> {
        Ok(self.read(path)?.map(Secret::new))
    }

    /// As [`Files::read_text`], of a file that holds a secret.
    ///
    /// # Errors
    /// Where it is there but cannot be read, or is not UTF-8.
    pub fn read_secret_text(&self, path: impl AsRef<Path>) -> Result<Option<Secret<String>>, FileError> {
        Ok(self.read_text(path)?.map(Secret::new))
    }

    /// Whether `path` exists, even as a broken link.
    #[must_use]
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.real(path.as_ref()).symlink_metadata().is_ok()
    }

    /// Returns the sorted names in a directory; empty if there is no such directory.
    ///
    /// # Errors
    /// If it exists but cannot be read.
    pub fn list(&self, path: impl AsRef<Path>) -> Result<Vec<String>, FileError> {
        let path = path.as_ref();
        Ok(optional(directory::names(&self.real(path))).map_err(failed("list", path))?.unwrap_or_default())
    }

    /// Whether the file exists with this content and mode.
    ///
    /// # Errors
    /// If it exists but cannot be read.
    pub fn is_same(&self, file: &NewFile) -> Result<bool, FileError> {
        let attempt = || -> io::Result<bool> {
            let mut open = File::open(self.real(&file.path))?;
            let metadata = open.metadata()?;
            if metadata.len() != file.content.len() as u64 || metadata.mode() & 0o7777 != file.mode {
                return Ok(false);
            }
            let mut content = Vec::with_capacity(file.content.len());
            open.read_to_end(&mut content)?;
            Ok(content == *file.content)
        };
        Ok(optional(attempt()).map_err(failed("read", &file.path))?.unwrap_or(false))
    }

    /// Whether two files have the same content. `source` counts as the same where it is gone.
    ///
    /// # Errors
    /// Where one cannot be read.
    pub fn have_same_content(&self, source: &Path, target: &Path) -> Result<bool, FileError> {
        let Some(mut from) = optional(File::open(self.real(source))).map_err(failed("read", source))? else {
            return Ok(true);
        };
        let mut to = self.open(target)?;
        let mut compare = || {
            if from.metadata()?.len() != to.metadata()?.len() {
                return Ok(false);
            }
            let (mut a, mut b) = (vec![0; 128 << 10], vec![0; 128 << 10]);
            loop {
                let n = from.read(&mut a)?;
                if n == 0 {
                    return Ok(true);
                }
                to.read_exact(&mut b[..n])?;
                if a[..n] != b[..n] {
                    return Ok(false);
                }
            }
        };
        compare().map_err(failed("compare", target))
    }

    /// Returns the missing ones of a directory and its parents, outermost first.
    #[must_use]
    pub fn missing(&self, directory: &Path) -> Vec<PathBuf> {
        let mut missing: Vec<PathBuf> =
            directory.ancestors().take_while(|dir| !self.exists(dir)).map(Path::to_path_buf).collect();
        missing.reverse();
        missing
    }

    /// Whether this process may make a file at this path, with the directories above it that are missing.
    ///
    /// # Errors
    /// Where it may not, as writing the file would fail.
    pub fn check_writable(&self, path: &Path) -> Result<(), FileError> {
        let directory = path.ancestors().skip(1).find(|directory| self.exists(directory)).unwrap_or(path);
        let allowed = nix::unistd::access(&self.real(directory), nix::unistd::AccessFlags::W_OK);
        allowed.map_err(|error| failed("write", path)(error.into()))
    }

    /// Returns the missing parent directories of a file, outermost first.
    #[must_use]
    pub fn missing_parents(&self, file: &Path) -> Vec<PathBuf> {
        file.parent().map(|directory| self.missing(directory)).unwrap_or_default()
    }

    /// Creates one directory; does nothing if it exists.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn make_directory(&self, path: &Path, mode: u32) -> Result<(), FileError> {
        let real = self.real(path);
        match fs::create_dir(&real) {
            Ok(()) => fs::set_permissions(&real, Permissions::from_mode(mode)).map_err(failed("set the mode of", path)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(e) => Err(failed("create directory", path)(e)),
        }
    }

    /// Sets the mode of a file or a directory.
    ///
    /// # Errors
    /// If it does not exist, or belongs to another user.
    pub fn set_mode(&self, path: &Path, mode: u32) -> Result<(), FileError> {
        fs::set_permissions(self.real(path), Permissions::from_mode(mode)).map_err(failed("set the mode of", path))
    }

    /// Returns the ids of the user and the group that own a file; `None` if it does not exist.
    #[must_use]
    pub fn owner(&self, path: &Path) -> Option<(u32, u32)> {
        self.metadata(path).ok().map(|found| (found.uid(), found.gid()))
    }

    /// Sets the user and the group that own a file, not those of the target of a link.
    ///
    /// # Errors
    /// If it does not exist, or this process is not root.
    pub fn set_owner(&self, path: &Path, (user, group): (u32, u32)) -> Result<(), FileError> {
        std::os::unix::fs::lchown(self.real(path), Some(user), Some(group)).map_err(failed("set the owner of", path))
    }

    /// Writes all of `new`: each to a temporary file whose mode is set before its content, then syncs all, renames all, and syncs
    /// their directories. After a crash at any time, each path has its old or its new content.
    ///
    /// Parent directories must exist. Blocks on the disk.
    ///
    /// # Errors
    /// If an operation fails; temporary files are removed.
    pub fn write(&self, new: &[NewFile]) -> Result<(), FileError> {
        let result = self.write_temporaries(new).and_then(|()| {
            for file in new {
                self.rename_temporary(&file.path)?;
                tracing::info!(target: DETAIL, "wrote {}", file.path.display());
            }
            let directories: BTreeSet<&Path> = new.iter().filter_map(|f| f.path.parent()).collect();
            directories.into_iter().try_for_each(|dir| self.sync_directory(dir))
        });
        if result.is_err() {
            for file in new {
                let _ = fs::remove_file(self.real(&atomic_file::temporary(&file.path)));
            }
        }
        result
    }

    fn write_temporaries(&self, new: &[NewFile]) -> Result<(), FileError> {
        let mut open = Vec::with_capacity(new.len());
        for file in new {
            let mut temporary = self.open_temporary(&file.path, file.mode)?;
            // In two halves, so that a test can kill the program between them.
            let (head, tail) = file.content.split_at(file.content.len() / 2);
            temporary.write_all(head).map_err(failed("write", &file.path))?;
            super::failpoint("write-half", file.path.display());
            temporary.write_all(tail).map_err(failed("write", &file.path))?;
            open.push((temporary, &file.path));
        }
        // In parallel, so that the file system can commit them together, with one flush of the disk instead of one per file.
        std::thread::scope(|scope| {
            let syncs: Vec<_> = open
                .chunks(open.len().div_ceil(8).max(1))
                .map(|part| {
                    scope
                        .spawn(move || part.iter().try_for_each(|(f, path)| f.sync_all().map_err(failed("sync", path))))
                })
                .collect();
            syncs.into_iter().try_for_each(|sync| sync.join().unwrap_or(Ok(())))
        })
    }

    /// Opens the temporary file for `path`, empty and with `mode`.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn open_temporary(&self, path: &Path, mode: u32) -> Result<File, FileError> {
        atomic_file::create_temporary(&self.real(path), mode).map_err(failed("write", path))
    }

    /// Locks a directory until the result is dropped: two processes that write the same file would use the same temporary file.
    ///
    /// # Errors
    /// If the directory cannot be opened, or another process holds the lock ([`FileError::is_locked`]).
    pub fn lock_directory(&self, path: &Path) -> Result<Flock<File>, FileError> {
        let locked = Flock::lock(self.open(path)?, FlockArg::LockExclusiveNonblock);
        locked.map_err(|(_, errno)| failed("lock", path)(errno.into()))
    }

    /// Renames the temporary file for `path` to `path`. The caller has synced it.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn rename_temporary(&self, path: &Path) -> Result<(), FileError> {
        super::failpoint("write-rename", path.display());
        fs::rename(self.real(&atomic_file::temporary(path)), self.real(path)).map_err(failed("put in place", path))
    }

    /// Atomically makes `path` a symbolic link to `target`, whatever it was before.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn link(&self, path: &Path, target: &Path) -> Result<(), FileError> {
        let new = self.real(&atomic_file::temporary(path));
        let make = || {
            optional(fs::remove_file(&new))?;
            std::os::unix::fs::symlink(target, &new)?;
            fs::rename(&new, self.real(path))
        };
        make().map_err(failed("link", path))?;
        self.sync_directory(path.parent().unwrap_or(path))
    }

    /// Gives a file or a directory another name.
    ///
    /// # Errors
    /// Where it cannot be renamed.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), FileError> {
        fs::rename(self.real(from), self.real(to)).map_err(failed("rename", from))
    }

    /// Gives a file a second name.
    ///
    /// # Errors
    /// Where it cannot have one, for instance on another file system.
    pub fn hard_link(&self, path: &Path, second: &Path) -> Result<(), FileError> {
        fs::hard_link(self.real(path), self.real(second)).map_err(failed("link", path))
    }

    /// Returns the target of a symbolic link; `None` if there is no link.
    #[must_use]
    pub fn link_target(&self, path: &Path) -> Option<PathBuf> {
        fs::read_link(self.real(path)).ok()
    }

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// If it cannot be opened or synced.
    pub fn sync_directory(&self, path: &Path) -> Result<(), FileError> {
        atomic_file::sync_directory(&self.real(path)).map_err(failed("sync directory", path))
    }

    /// Removes a file; does nothing if it does not exist.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove_file(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let path = path.as_ref();
        optional(fs::remove_file(self.real(path))).map(drop).map_err(failed("remove", path))
    }

    /// Removes a directory that is empty.
    ///
    /// # Errors
    /// Where it is missing, is not empty, or cannot be removed.
    pub fn remove_directory(&self, path: &Path) -> Result<(), FileError> {
        fs::remove_dir(self.real(path)).map_err(failed("remove", path))
    }
}

/// Names the operation and the path of an I/O error.
pub(crate) fn failed<'a>(op: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> FileError + use<'a> {
    move |source| FileError { op, path: path.to_path_buf(), source }
}

fn optional<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_atomically_with_their_mode() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        let new = [NewFile::private("/a", "secret"), NewFile::public("/b", "open")];
        files.write(&new).unwrap();
        assert_eq!(files.read("/a").unwrap().unwrap(), b"secret");
        assert_eq!(fs::metadata(dir.path().join("a")).unwrap().mode() & 0o777, 0o600);
        assert!(new.iter().all(|f| files.is_same(f).unwrap()));
        assert!(!files.is_same(&NewFile::public("/a", "secret")).unwrap(), "another mode is another file");
        assert_eq!(files.list("/").unwrap(), ["a", "b"], "no temporary file is left");
    }

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        assert!(files.check_writable(Path::new("/new/directory/a")).is_ok());
        // Root may write everywhere but here.
        let error = Files::of_machine().check_writable(Path::new("/proc/sys/new/a")).unwrap_err();
        assert_eq!(error.to_string(), "cannot write /proc/sys/new/a");
    }

    #[test]
    fn a_failed_write_leaves_nothing_and_names_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        let error = files.write(&[NewFile::public("/a", "x"), NewFile::public("/no/b", "y")]).unwrap_err();
        assert_eq!(error.to_string(), "cannot write /no/b");
        assert!(files.list("/").unwrap().is_empty());
    }

    #[test]
    fn a_missing_file_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        assert!(files.read("/x/y").unwrap().is_none());
        assert!(files.list("/x").unwrap().is_empty());
        assert_eq!(files.missing_parents(Path::new("/x/y/z")), [Path::new("/x"), Path::new("/x/y")]);
    }
}
