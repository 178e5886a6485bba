//! Atomic writes of files.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Returns the temporary name for `path`. The leading dot keeps the kubelet from reading it.
#[must_use]
pub fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.nodeinit-new"))
}

/// Creates the temporary file for `path`: empty, with `mode`.
///
/// # Errors
/// If it cannot be created.
pub fn create_temporary(path: &Path, mode: u32) -> io::Result<File> {
    let new = temporary(path);
    // A leftover of a killed run may have another mode.
    match fs::remove_file(&new) {
        Err(e) if !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Err(e),
        _ => {}
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}

/// Makes the names in a directory durable.
///
/// # Errors
/// If it cannot be opened or synced.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    // The directory of a bare file name is the current one.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(path).and_then(|directory| directory.sync_all())
}

/// Writes a file that only its owner can read. After a crash at any time, `path` has its old or its new content. Does not write a
/// file that already has this content and is private.
///
/// # Errors
/// If an operation fails; then `path` is unchanged.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    if is_private(path, content) {
        return Ok(());
    }
    let write = || {
        let mut file = create_temporary(path, 0o600)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(temporary(path), path)?;
        path.parent().map_or(Ok(()), sync_directory)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(temporary(path));
    })
}

fn is_private(path: &Path, content: &[u8]) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    let Ok(metadata) = file.metadata() else { return false };
    if metadata.permissions().mode() & 0o077 != 0 || metadata.len() != content.len() as u64 {
        return false;
    }
    let mut there = Vec::with_capacity(content.len());
    file.read_to_end(&mut there).is_ok() && there == content
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test writes the file to replace")]
    fn a_private_file_is_replaced_atomically_and_only_if_it_differs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secrets.yaml");
        fs::write(&path, "old").unwrap();
        fs::write(temporary(&path), "the rest of a killed run").unwrap();
        write_private(&path, b"new").unwrap();
        let first = fs::metadata(&path).unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), first.mode() & 0o777), (&b"new"[..], 0o600));
        write_private(&path, b"new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().ino(), first.ino(), "it was not written again");
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        write_private(&path, b"new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(!temporary(&path).exists());
        write_private(&dir.path().join("none/file"), b"x").unwrap_err();
    }
}
