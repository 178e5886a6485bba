//! The journal: what was begun, made and ended on this machine, one JSON object a line.
//!
//! A record of something about to be made is synced before it is made, so that `reset` knows of it whatever happens.
//! Records of steps are only appended: what a power cut takes of them, the next run's checks find again.

use crate::host::files::{FileError, Files, failed};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Where the journal is.
pub const JOURNAL: &str = "/var/lib/nodeinit/journal.jsonl";

/// Where the originals of files that we replaced are kept, each named by its SHA-256.
pub const ORIGINALS: &str = "/var/lib/nodeinit/originals";

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// A run began.
    Run {
        /// `up`, `reset` and so on.
        command: String,
        /// The version of this program.
        version: String,
        /// Seconds since 1970.
        time: u64,
    },
    /// What this machine was made with and cannot change in place: key of the configuration → value.
    Fixed {
        /// For instance `network.podCIDR` → `10.244.0.0/16`.
        values: BTreeMap<String, String>,
    },
    /// A step began to change things.
    Begin {
        /// Its name.
        step: String,
    },
    /// A step ended well.
    End {
        /// Its name.
        step: String,
        /// How long it took.
        milliseconds: u64,
    },
    /// A step failed.
    Failed {
        /// Its name.
        step: String,
        /// Why, in one line.
        error: String,
    },
    /// A file is about to be written.
    File {
        /// Its path.
        path: PathBuf,
        /// The new content's SHA-256, in hex.
        sha256: String,
        /// The SHA-256 of what was there before we first wrote it, kept in [`ORIGINALS`].
        original: Option<Original>,
    },
    /// A directory is about to be made.
    Directory {
        /// Its path.
        path: PathBuf,
    },
    /// From now on what appears in this directory is Kubernetes' doing, and ours to remove.
    Tree {
        /// Its path.
        path: PathBuf,
        /// The names that were there before; `None` where the directory was not there.
        before: Option<Vec<String>>,
    },
    /// The network interfaces that were there before the pod network made its own.
    Interfaces {
        /// Their names.
        before: Vec<String>,
    },
    /// A kernel setting is about to be changed.
    Sysctl {
        /// For instance `net.ipv4.ip_forward`.
        key: String,
        /// Its value before.
        before: String,
    },
    /// A systemd unit is about to be enabled or started.
    Unit {
        /// Its name.
        name: String,
    },
    /// A swap device is about to be switched off.
    Swap {
        /// Its path.
        device: PathBuf,
    },
    /// An image is about to be imported into containerd.
    Image {
        /// Its full name.
        name: String,
    },
    /// Another machine showed this SSH host key, and was trusted on first use.
    HostKey {
        /// The machine.
        name: String,
        /// Type and base64.
        key: String,
    },
}

impl Record {
    /// What it is about: the same for each run.
    fn subject(&self) -> String {
        match self {
            Self::Run { command, .. } => format!("run {command}"),
            Self::Fixed { .. } => "fixed".into(),
            Self::Begin { step } => format!("begin {step}"),
            Self::End { step, .. } => format!("end {step}"),
            Self::Failed { step, .. } => format!("failed {step}"),
            Self::File { path, .. } | Self::Directory { path } | Self::Tree { path, .. } => path.display().to_string(),
            Self::Interfaces { .. } => "interfaces".into(),
            Self::Sysctl { key, .. } => key.clone(),
            Self::Unit { name } | Self::Image { name } => name.clone(),
            Self::HostKey { name, .. } => format!("host key of {name}"),
            Self::Swap { device } => device.display().to_string(),
        }
    }
}

/// What a file was before we first wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Original {
    /// SHA-256 of its content, in hex.
    pub sha256: String,
    /// Its permission bits.
    pub mode: u32,
}

/// A file that we wrote or meant to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The SHA-256 of every content that we ever meant it to have, in hex.
    pub sha256: BTreeSet<String>,
    /// What was there before we first wrote it.
    pub original: Option<Original>,
}

/// What all records together say.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Files that we wrote.
    pub files: BTreeMap<PathBuf, Written>,
    /// Directories that we made.
    pub directories: BTreeSet<PathBuf>,
    /// Directories of which everything but the names listed is ours.
    pub trees: BTreeMap<PathBuf, Option<Vec<String>>>,
    /// The network interfaces that were there before.
    pub interfaces: Option<Vec<String>>,
    /// Kernel settings as they were before.
    pub sysctls: BTreeMap<String, String>,
    /// Units that we enabled or started.
    pub units: BTreeSet<String>,
    /// Swap devices that we switched off.
    pub swaps: BTreeSet<PathBuf>,
    /// Images that we imported.
    pub images: BTreeSet<String>,
    /// The host keys of machines that were trusted on first use; the last counts.
    pub host_keys: BTreeMap<String, String>,
    /// Steps that ended well at least once.
    pub ended: BTreeSet<String>,
    /// The values that cannot change in place, where a run got so far.
    pub fixed: Option<BTreeMap<String, String>>,
    /// The latest time of a run's start, seconds since 1970.
    pub last_run: Option<u64>,
}

impl State {
    fn take(&mut self, record: Record) {
        match record {
            Record::Run { time, .. } => self.last_run = self.last_run.max(Some(time)),
            Record::Fixed { values } => self.fixed = Some(values),
            Record::End { step, .. } => drop(self.ended.insert(step)),
            Record::Begin { .. } | Record::Failed { .. } => {}
            Record::File { path, sha256, original } => {
                // The first record knows what was there before us.
                let written = self.files.entry(path).or_insert(Written { sha256: BTreeSet::new(), original });
                written.sha256.insert(sha256);
            }
            Record::Directory { path } => drop(self.directories.insert(path)),
            Record::Tree { path, before } => drop(self.trees.entry(path).or_insert(before)),
            Record::Interfaces { before } => drop(self.interfaces.get_or_insert(before)),
            Record::Sysctl { key, before } => drop(self.sysctls.entry(key).or_insert(before)),
            Record::Unit { name } => drop(self.units.insert(name)),
            Record::Swap { device } => drop(self.swaps.insert(device)),
            Record::Image { name } => drop(self.images.insert(name)),
            Record::HostKey { name, key } => drop(self.host_keys.insert(name, key)),
        }
    }
}

/// The journal of this machine, open for appending.
#[derive(Debug)]
pub struct Journal {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// `None`: changes nothing on disk, for `plan`.
    file: Option<File>,
    state: State,
}

/// The journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line in its middle is not a record.
    #[error("{JOURNAL}:{line} is damaged: {reason}; what it recorded can no longer be undone by `reset`")]
    Damaged {
        /// The line's number.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// The SHA-256 of some bytes, in hex.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

/// Bytes in hex.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

impl Journal {
    /// Reads the journal and opens it for appending; makes it where there is none.
    ///
    /// A last line without its end is what a kill left of a record: it is cut off, nothing came of it.
    ///
    /// # Errors
    /// Where it cannot be read or written, or a line before the last is damaged.
    pub fn open(files: &Files) -> Result<Self, JournalError> {
        let path = Path::new(JOURNAL);
        let (state, whole) = read(files)?;
        for directory in files.missing_parents(path) {
            files.make_directory(&directory, 0o700)?;
        }
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(files.real(path))
            .map_err(failed("open", path))?;
        file.set_len(whole as u64).map_err(failed("open", path))?;
        Ok(Self { inner: Mutex::new(Inner { file: Some(file), state }) })
    }

    /// Reads the journal; nothing is ever written.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn read_only(files: &Files) -> Result<Self, JournalError> {
        let (state, _) = read(files)?;
        Ok(Self { inner: Mutex::new(Inner { file: None, state }) })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the records say.
    #[must_use]
    pub fn state(&self) -> State {
        self.lock().state.clone()
    }

    /// Appends a record without waiting for the disk.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn note(&self, record: Record) -> Result<(), JournalError> {
        self.append(vec![record], false)
    }

    /// Appends records and returns once they are on disk. Call it before the effect. Blocks on the disk.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn intend(&self, records: Vec<Record>) -> Result<(), JournalError> {
        self.append(records, true)
    }

    fn append(&self, records: Vec<Record>, sync: bool) -> Result<(), JournalError> {
        if records.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::new();
        for record in &records {
            serde_json::to_writer(&mut lines, record)
                .map_err(|e| JournalError::Damaged { line: 0, reason: e.to_string() })?;
            lines.push(b'\n');
        }
        let mut inner = self.lock();
        if let Some(file) = &mut inner.file {
            file.write_all(&lines).map_err(failed("write", Path::new(JOURNAL)))?;
            if sync {
                file.sync_data().map_err(failed("sync", Path::new(JOURNAL)))?;
            }
        }
        let subject = records.first().map(Record::subject).unwrap_or_default();
        records.into_iter().for_each(|record| inner.state.take(record));
        drop(inner);
        crate::host::failpoint("journal", subject);
        Ok(())
    }
}

/// The state, and how many bytes hold whole records.
fn read(files: &Files) -> Result<(State, usize), JournalError> {
    let text = files.read(JOURNAL)?.unwrap_or_default();
    let whole = text.iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
    let mut state = State::default();
    for (index, line) in text[..whole].split(|&b| b == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(record) => state.take(record),
            Err(e) => return Err(JournalError::Damaged { line: index + 1, reason: e.to_string() }),
        }
    }
    Ok((state, whole))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests write damage on purpose")]
mod tests {
    use super::*;

    fn directory(path: &str) -> Record {
        Record::Directory { path: path.into() }
    }

    #[test]
    fn a_journal_survives_being_cut_at_any_byte() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        Journal::open(&files).unwrap().intend(vec![directory("/a"), directory("/b")]).unwrap();
        let whole = files.read(JOURNAL).unwrap().unwrap();
        for length in 0..=whole.len() {
            std::fs::write(files.real(Path::new(JOURNAL)), &whole[..length]).unwrap();
            let journal = Journal::open(&files).unwrap();
            journal.note(directory("/c")).unwrap();
            let known = Journal::read_only(&files).unwrap().state().directories;
            assert!(known.contains(Path::new("/c")), "cut at {length}");
        }
    }

    #[test]
    fn damage_in_the_middle_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        Journal::open(&files).unwrap().note(directory("/a")).unwrap();
        let text = [files.read(JOURNAL).unwrap().unwrap(), b"rubbish\n".to_vec()].concat();
        std::fs::write(files.real(Path::new(JOURNAL)), text).unwrap();
        let error = Journal::open(&files).unwrap_err().to_string();
        assert!(error.contains("journal.jsonl:2 is damaged"), "{error}");
    }

    #[test]
    fn the_first_record_knows_what_was_there_before() {
        let mut state = State::default();
        let original = Some(Original { sha256: "0".into(), mode: 0o644 });
        let file = |sha256: &str, original| Record::File { path: "/a".into(), sha256: sha256.into(), original };
        state.take(file("1", original.clone()));
        state.take(file("2", None));
        let written = Written { sha256: ["1".into(), "2".into()].into(), original };
        assert_eq!(state.files[Path::new("/a")], written);
    }
}
