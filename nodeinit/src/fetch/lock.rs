//! `artifacts.lock`: the digest of each fetched artifact. Later fetches accept no other digest.

use crate::{
    engine::error::{Exit, StepError},
    host::files::{Files, NewFile},
    render,
};
use nodeinit_config::yaml;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Its name in the directory.
pub const NAME: &str = "artifacts.lock";

const HEAD: &str = "# Written by `nodeinit artifacts fetch`: the fetched files and the digests that later fetches accept.\n\
                    # sourceSha256 is the digest at the source, sha256 that of the file in this directory.\n";

/// The record of a fetched file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Record {
    /// The path below the directory.
    pub name: String,
    /// The official source, even if a mirror served it.
    pub source: String,
    /// The digest of the file or archive at the source, or of the image's manifest or manifest list, in hex.
    pub source_sha256: String,
    /// The digest of the file in the directory, in hex.
    pub sha256: String,
    /// Its size in bytes.
    pub size: u64,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    artifacts: Vec<Record>,
}

/// The lock file of a directory.
pub struct Lock {
    path: PathBuf,
    content: Content,
}

impl Lock {
    /// Reads the lock file of `directory`; returns an empty one if there is none.
    ///
    /// # Errors
    /// If it cannot be read, or is not a lock file.
    pub fn read(files: &Files, directory: &Path) -> Result<Self, StepError> {
        let path = directory.join(NAME);
        let Some(text) = files.read_text(&path)? else { return Ok(Self { path, content: Content::default() }) };
        let damaged = |reason: String| {
            StepError::new(format!("{} is not a lock file: {reason}", path.display()))
                .exit(Exit::BadConfig)
                .hint("restore it from a copy; without it, the next fetch trusts the digests of the servers")
        };
        let value = yaml::document(&text).map_err(|e| damaged(format!("line {}: {}", e.line, e.what)))?;
        let content: Content = serde_json::from_value(value).map_err(|e| damaged(e.to_string()))?;
        let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        match content.artifacts.iter().find(|record| !is_digest(&record.sha256) || !is_digest(&record.source_sha256)) {
            Some(record) => Err(damaged(format!("{} has no digest of 64 lower-case hexadecimal digits", record.name))),
            None => Ok(Self { path, content }),
        }
    }

    /// Returns the record of the file `name`, if it is from this source.
    #[must_use]
    pub fn record(&self, name: &str, source: &str) -> Option<&Record> {
        self.content.artifacts.iter().find(|record| record.name == name && record.source == source)
    }

    /// Whether the file `name` was ever fetched, from any source.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.content.artifacts.iter().any(|record| record.name == name)
    }

    /// Returns the pinned digest of a source.
    #[must_use]
    pub fn pinned(&self, source: &str) -> Option<&str> {
        self.content.artifacts.iter().find(|record| record.source == source).map(|record| record.source_sha256.as_str())
    }

    /// Adds records, replaces earlier ones with the same name and source, and writes the file. Records of other versions stay, and their
    /// digests stay pinned.
    ///
    /// # Errors
    /// If it cannot be written; the old file stays.
    pub fn add(&mut self, files: &Files, new: Vec<Record>) -> Result<(), StepError> {
        let records = &mut self.content.artifacts;
        records.retain(|old| new.iter().all(|record| (&record.name, &record.source) != (&old.name, &old.source)));
        records.extend(new);
        records.sort_by(|a, b| (&a.name, &a.source).cmp(&(&b.name, &b.source)));
        let value =
            serde_json::to_value(&self.content).map_err(|e| StepError::caused("cannot write the lock file", e))?;
        let text = format!("{HEAD}{}", render::yaml::text(NAME, &value)?);
        Ok(files.write(&[NewFile::public(&self.path, text)])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, source: &str, digit: &str) -> Record {
        let digest = digit.repeat(64 / digit.len());
        Record { name: name.into(), source: source.into(), source_sha256: digest.clone(), sha256: digest, size: 7 }
    }

    #[test]
    fn a_lock_file_survives_a_round_trip() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        let mut lock = Lock::read(&files, Path::new("/")).unwrap();
        // Digests that look like numbers.
        let new = vec![record("bin/b", "https://b", "1"), record("bin/a", "https://a", "12345e67")];
        lock.add(&files, new.clone()).unwrap();
        lock.add(&files, vec![record("bin/b", "https://b2", "3")]).unwrap();
        lock.add(&files, vec![record("bin/b", "https://b2", "2")]).unwrap();
        let lock = Lock::read(&files, Path::new("/")).unwrap();
        assert_eq!(lock.record("bin/a", "https://a"), Some(&new[1]));
        let (one, two) = ("1".repeat(64), "2".repeat(64));
        assert_eq!((lock.pinned("https://b"), lock.pinned("https://b2")), (Some(&*one), Some(&*two)));
        assert_eq!(lock.content.artifacts.len(), 3);
        assert_eq!(lock.record("bin/a", "https://b2"), None);
    }

    #[test]
    fn an_invalid_lock_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        let digest = "a".repeat(64);
        let one = |sha256: &str| {
            format!("artifacts:\n- {{name: a, source: b, sourceSha256: {digest}, sha256: {sha256}, size: 1}}\n")
        };
        for (text, reason) in [
            ("", "artifacts"),
            ("artifacts: [", "line"),
            ("artifacts: []\nother: 1\n", "other"),
            (&one("abc"), "64"),
            (&one("A").replace('A', &"A".repeat(64)), "64"),
        ] {
            files.write(&[NewFile::public("/artifacts.lock", text)]).unwrap();
            let error = Lock::read(&files, Path::new("/")).err().unwrap();
            assert!(error.exit == Exit::BadConfig && error.to_string().contains(reason), "{text:?}: {error}");
        }
    }
}
