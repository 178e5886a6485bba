//! Files under a root prefix. Writes are atomic.

pub use nodeinit_base::atomic_file::temporary;

use nodeinit_base::DETAIL;
use nodeinit_base::atomic_file;
use std::{
    collections::BTreeSet,
    fs::{self, File, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

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
}

/// A desired file.
#[derive(Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Its absolute path on the machine.
    pub path: PathBuf,
    /// Its content.
    pub content: Vec<u8>,
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
        Self { path: path.into(), content: content.into(), mode: 0o644 }
    }

    /// Creates a file that only root may read.
    pub fn private(path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: content.into(), mode: 0o600 }
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

    /// Returns the path without symbolic links, as in the kernel's mount table; the path itself if it does not exist.
    #[must_use]
    pub fn canonical(&self, path: &Path) -> PathBuf {
        let real = fs::canonicalize(self.real(path)).ok();
        let root = fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone());
        let below = real.and_then(|real| real.strip_prefix(root).ok().map(|below| Path::new("/").join(below)));
        below.unwrap_or_else(|| path.to_path_buf())
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
        let Some(entries) = optional(fs::read_dir(self.real(path))).map_err(failed("list", path))? else {
            return Ok(Vec::new());
        };
        let mut names = entries
            .map(|entry| entry.map(|e| e.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<_>>>()
            .map_err(failed("list", path))?;
        names.sort();
        Ok(names)
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
            Ok(content == file.content)
        };
        Ok(optional(attempt()).map_err(failed("read", &file.path))?.unwrap_or(false))
    }

    /// Returns the missing ones of a directory and its parents, outermost first.
    #[must_use]
    pub fn missing(&self, directory: &Path) -> Vec<PathBuf> {
        let mut missing: Vec<PathBuf> =
            directory.ancestors().take_while(|dir| !self.exists(dir)).map(Path::to_path_buf).collect();
        missing.reverse();
        missing
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
                let _ = fs::remove_file(self.real(&temporary(&file.path)));
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

    /// Renames the temporary file for `path` to `path`. The caller has synced it.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn rename_temporary(&self, path: &Path) -> Result<(), FileError> {
        super::failpoint("write-rename", path.display());
        fs::rename(self.real(&temporary(path)), self.real(path)).map_err(failed("put in place", path))
    }

    /// Atomically makes `path` a symbolic link to `target`, whatever it was before.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn link(&self, path: &Path, target: &Path) -> Result<(), FileError> {
        let new = self.real(&temporary(path));
        let make = || {
            optional(fs::remove_file(&new))?;
            std::os::unix::fs::symlink(target, &new)?;
            fs::rename(&new, self.real(path))
        };
        make().map_err(failed("link", path))?;
        self.sync_directory(path.parent().unwrap_or(path))
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
