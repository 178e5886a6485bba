//! The program that runs now, as the kernel has it: under its own root, and even where its file was replaced or deleted.

use std::{
    fs::{self, File},
    io,
    path::PathBuf,
    sync::LazyLock,
    time::SystemTime,
};

/// The kernel's link to it.
const LINK: &str = "/proc/self/exe";

/// What the kernel adds to the path of a file that was deleted or replaced.
const DELETED: &str = " (deleted)";

/// Where it was started from; empty where the kernel does not say. The first call must come before anything changes mounts: below a detached one,
/// the kernel says the path only from there.
#[must_use]
pub fn path() -> PathBuf {
    static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
        let path = fs::read_link(LINK).unwrap_or_default();
        match path.to_str().and_then(|text| text.strip_suffix(DELETED)) {
            Some(former) => former.into(),
            None => path,
        }
    });
    PATH.clone()
}

/// Opens it.
///
/// # Errors
/// Where the kernel refuses.
pub fn open() -> io::Result<File> {
    File::open(LINK)
}

/// When it was written to the disk; `None` where that is not known.
#[must_use]
pub fn modified() -> Option<SystemTime> {
    std::env::current_exe().and_then(fs::metadata).and_then(|found| found.modified()).ok()
}
