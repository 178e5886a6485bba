//! The keys and certificates on disk, and which of them nodeinit created.

use crate::{
    context::Context,
    engine::{error::StepError, journal},
};
use nodeinit_base::sha256_hex;
use nodeinit_config::Secret;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The files on disk, with their records in the journal.
pub(in crate::steps) struct Found {
    files: BTreeMap<PathBuf, Secret<Vec<u8>>>,
    journal: journal::State,
}

impl Found {
    /// Reads those of `paths` that exist.
    ///
    /// # Errors
    /// If an existing file cannot be read.
    pub(in crate::steps) fn read(cx: &Context, paths: impl IntoIterator<Item = PathBuf>) -> Result<Self, StepError> {
        let mut files = BTreeMap::new();
        for path in paths {
            if let Some(content) = cx.files.read_secret(&path)? {
                files.insert(path, content);
            }
        }
        Ok(Self { files, journal: cx.journal.state() })
    }

    /// Returns a file's content.
    pub(in crate::steps) fn get(&self, path: &Path) -> Option<&[u8]> {
        self.files.get(path).map(|content| content.expose().as_slice())
    }

    /// Whether a file is unchanged since nodeinit wrote it.
    pub(in crate::steps) fn is_ours(&self, path: &Path) -> bool {
        let known = self.journal.files.get(path);
        let content = self.files.get(path);
        known.zip(content).is_some_and(|(known, content)| known.sha256.contains(&sha256_hex(content.expose())))
    }
}
