//! The journal of runs, steps and changes on this machine, one JSON object per line.
//!
//! The record of a change is synced before the change, so that `reset` always knows about it. Records of steps are appended without
//! a sync: if a power cut loses them, the checks of the next run find the state again.

use super::led::Led;
use crate::host::files::{File, FileError, Files, failed};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The path of the journal.
pub const JOURNAL: &str = "/var/lib/nodeinit/journal.jsonl";

/// Where the originals of replaced files are kept, each named by its SHA-256.
pub const ORIGINALS: &str = "/var/lib/nodeinit/originals";

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// A run started.
    Run {
        /// The command, such as `up`.
        command: String,
        /// The version of this program.
        version: String,
        /// Seconds since 1970, before preflight has checked the clock.
        time: u64,
    },
    /// Preflight, or the operator, accepted the machine's clock.
    Clock {
        /// Seconds since 1970.
        time: u64,
    },
    /// The settings of this machine that cannot change in place: configuration key → value.
    Fixed {
        /// For example `network.podCIDR` → `10.244.0.0/16`.
        values: BTreeMap<String, String>,
    },
    /// The upgrade of this machine is about to begin. The next `Fixed` ends it.
    Upgrade {
        /// The version to which it is upgraded, such as `v1.36.4`.
        version: String,
    },
    /// A step started to apply changes.
    Begin {
        /// Its name.
        step: String,
    },
    /// A step succeeded.
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
        /// The reason, in one line.
        error: String,
    },
    /// A file is about to be written.
    File {
        /// Its path.
        path: PathBuf,
        /// The new content's SHA-256, in hex.
        sha256: String,
        /// The SHA-256 of the original before the first write, kept in [`ORIGINALS`].
        original: Option<Original>,
    },
    /// A file is as it was before, or belongs to somebody else now.
    FileUndone {
        /// Its path.
        path: PathBuf,
    },
    /// A directory is about to be created.
    Directory {
        /// Its path.
        path: PathBuf,
    },
    /// From now on, new entries of this directory belong to Kubernetes, and `reset` removes them.
    Tree {
        /// Its path.
        path: PathBuf,
        /// The names that existed before; `None` if the directory did not exist.
        before: Option<Vec<String>>,
    },
    /// The network interfaces that existed before the pod network.
    Interfaces {
        /// Their names.
        before: Vec<String>,
    },
    /// A kernel parameter is about to be changed.
    Sysctl {
        /// For example `net.ipv4.ip_forward`.
        key: String,
        /// Its value before.
        before: String,
        /// The value that it gets.
        #[serde(default)]
        value: Option<String>,
    },
    /// A systemd unit is about to be enabled or started.
    Unit {
        /// Its name.
        name: String,
    },
    /// An item of `os` is about to change a file or a setting, or to run a program that `reset` runs again.
    OsSet {
        /// The step.
        item: String,
        /// What it changes, such as `timezone` or `file /etc/motd`.
        key: String,
        /// The value before.
        before: Option<String>,
        /// The digest of the value that it sets.
        #[serde(default)]
        after: Option<String>,
    },
    /// That change is undone.
    OsUndone {
        /// The step.
        item: String,
        /// What it changed.
        key: String,
    },
    /// The programs of an item of `os` ran for this state.
    OsRan {
        /// The step.
        item: String,
        /// The SHA-256 of the state, in hex; empty: not for the current one.
        state: String,
    },
    /// A swap device is about to be disabled.
    Swap {
        /// Its path.
        device: PathBuf,
    },
    /// An image is about to be imported into containerd.
    Image {
        /// Its full name.
        name: String,
    },
    /// This machine is about to write a key for etcd's CA that it generated itself.
    EtcdAuthority {
        /// The key file's SHA-256, in hex.
        sha256: String,
    },
    /// This machine is about to start a new etcd cluster.
    EtcdBootstrap {
        /// Its `--initial-cluster-token`, generated for this bootstrap only.
        token: String,
    },
    /// The etcd that this machine bootstrapped was healthy.
    EtcdHealthy,
    /// This machine's etcd is about to join others.
    EtcdJoin {
        /// Their `--initial-cluster-token`, if they have one.
        token: Option<String>,
    },
    /// Another machine presented this SSH host key, which was trusted on first use.
    HostKey {
        /// The machine.
        name: String,
        /// Type and base64.
        key: String,
    },
    /// The machine with this name is gone, and its host key with it.
    HostKeyGone {
        /// The machine.
        name: String,
    },
    /// This machine leads, or works for a leading master.
    Led(Led),
    /// This machine is about to write this generation of the configuration to etcd.
    Settles {
        /// The generation.
        generation: u64,
        /// The digest of the configuration.
        sha256: String,
    },
}

impl Record {
    /// Returns the subject of the record, which is the same in each run.
    fn subject(&self) -> String {
        match self {
            Self::Run { command, .. } => format!("run {command}"),
            Self::Clock { .. } => "clock".into(),
            Self::Fixed { .. } => "fixed".into(),
            Self::Upgrade { version } => format!("upgrade to {version}"),
            Self::Begin { step } => format!("begin {step}"),
            Self::End { step, .. } => format!("end {step}"),
            Self::Failed { step, .. } => format!("failed {step}"),
            Self::File { path, .. } | Self::Directory { path } | Self::Tree { path, .. } => path.display().to_string(),
            Self::Interfaces { .. } => "interfaces".into(),
            Self::Sysctl { key, .. } => key.clone(),
            Self::Unit { name } | Self::Image { name } => name.clone(),
            Self::HostKey { name, .. } | Self::HostKeyGone { name } => format!("host key of {name}"),
            Self::Led(led) => format!("led by {}", led.machine),
            Self::Settles { generation, .. } => format!("settles generation {generation}"),
            Self::EtcdAuthority { .. } => "etcd-authority".into(),
            Self::EtcdBootstrap { .. } => "etcd-bootstrap".into(),
            Self::EtcdHealthy => "etcd-healthy".into(),
            Self::EtcdJoin { .. } => "etcd-join".into(),
            Self::OsSet { item, key, .. } => format!("{item} {key}"),
            Self::FileUndone { path } => format!("{} undone", path.display()),
            Self::OsUndone { item, key } => format!("{item} {key} undone"),
            Self::OsRan { item, .. } => format!("{item} ran"),
            Self::Swap { device } => device.display().to_string(),
        }
    }
}

/// The original of a file that nodeinit replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Original {
    /// SHA-256 of its content, in hex.
    pub sha256: String,
    /// Its permission bits.
    pub mode: u32,
}

/// A file that nodeinit wrote or was about to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The SHA-256 of every content that nodeinit wrote or was about to write, in hex.
    pub sha256: BTreeSet<String>,
    /// The original before the first write.
    pub original: Option<Original>,
}

/// The records about this machine's etcd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EtcdRecords {
    /// The SHA-256 of the CA key that this machine generated.
    pub own_authority: Option<String>,
    /// The `--initial-cluster-token` of the latest bootstrap or join.
    pub token: Option<String>,
    /// How it started.
    pub history: EtcdHistory,
}

/// How the etcd of this machine started, according to the latest record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EtcdHistory {
    /// No etcd was started here.
    #[default]
    None,
    /// A bootstrap started here, but that etcd was never healthy.
    Bootstrapping,
    /// The etcd that was bootstrapped here was healthy.
    Bootstrapped,
    /// It joined others, or a version without these records started it.
    Member,
}

impl EtcdHistory {
    /// Whether the bootstrap happened here.
    #[must_use]
    pub const fn is_bootstrap(self) -> bool {
        matches!(self, Self::Bootstrapping | Self::Bootstrapped)
    }

    /// Whether a cluster exists that this machine's etcd was part of.
    #[must_use]
    pub const fn has_cluster(self) -> bool {
        matches!(self, Self::Bootstrapped | Self::Member)
    }
}

/// A kernel parameter that nodeinit set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The value before the first change.
    pub before: String,
    /// The value that was set last; `None` if an older version set it.
    pub value: Option<String>,
}

/// A file or a setting that an item of `os` changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OsChange {
    /// What it changed.
    pub key: String,
    /// The value before the first change.
    pub before: Option<String>,
    /// The digest of the value that was set last.
    pub after: Option<String>,
}

/// What an item of `os` changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OsChanges {
    /// What it changed, in order.
    pub set: Vec<OsChange>,
    /// The state for which its programs ran.
    pub ran: String,
}

/// The state that results from all records.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Files that nodeinit wrote.
    pub files: BTreeMap<PathBuf, Written>,
    /// Directories that nodeinit created.
    pub directories: BTreeSet<PathBuf>,
    /// Directories whose content belongs to nodeinit, except the listed names.
    pub trees: BTreeMap<PathBuf, Option<Vec<String>>>,
    /// The network interfaces that existed before.
    pub interfaces: Option<Vec<String>>,
    /// Kernel parameters that nodeinit set.
    pub sysctls: BTreeMap<String, Parameter>,
    /// Units that nodeinit enabled or started.
    pub units: BTreeSet<String>,
    /// The changes of each item of `os`, by step.
    pub os: BTreeMap<String, OsChanges>,
    /// Swap devices that nodeinit disabled.
    pub swaps: BTreeSet<PathBuf>,
    /// Images that nodeinit imported.
    pub images: BTreeSet<String>,
    /// The host keys of machines that were trusted on first use; the last one is valid.
    pub host_keys: BTreeMap<String, String>,
    /// The last leading master.
    pub led: Option<Led>,
    /// The generation of the configuration that this machine wanted to write to etcd, with its digest, until the machine leads or is led.
    pub settles: Option<(u64, String)>,
    /// Steps that succeeded at least once.
    pub ended: BTreeSet<String>,
    /// The values that cannot change in place, if a run has recorded them.
    pub fixed: Option<BTreeMap<String, String>>,
    /// The version to which an unfinished upgrade brings this machine.
    pub upgrade: Option<String>,
    /// The last time that preflight accepted, seconds since 1970. An earlier clock is wrong.
    pub accepted_time: Option<u64>,
    /// The start of the current run, until preflight has accepted or refused it.
    started: Option<u64>,
    /// The etcd of this machine.
    pub etcd: EtcdRecords,
}

impl State {
    fn take(&mut self, record: Record) {
        match record {
            Record::Run { time, .. } => self.started = Some(time),
            Record::Clock { time } => {
                self.accepted_time = Some(time);
                self.started = None;
            }
            Record::Fixed { values } => {
                self.fixed = Some(values);
                self.upgrade = None;
            }
            Record::Upgrade { version } => self.upgrade = Some(version),
            Record::End { step, .. } => {
                // The only record that versions before 0.2 left of an etcd.
                if step == "etcd" {
                    self.etcd.history = match self.etcd.history {
                        EtcdHistory::None | EtcdHistory::Member => EtcdHistory::Member,
                        EtcdHistory::Bootstrapping | EtcdHistory::Bootstrapped => EtcdHistory::Bootstrapped,
                    };
                }
                self.ended.insert(step);
            }
            // Versions without `Clock` recorded only this: no step starts before preflight has accepted the clock.
            Record::Begin { .. } => self.accepted_time = self.started.take().or(self.accepted_time),
            Record::Failed { .. } => self.started = None,
            Record::File { path, sha256, original } => {
                // The first record contains the original.
                let written = self.files.entry(path).or_insert(Written { sha256: BTreeSet::new(), original });
                written.sha256.insert(sha256);
            }
            Record::FileUndone { path } => drop(self.files.remove(&path)),
            Record::Directory { path } => drop(self.directories.insert(path)),
            Record::Tree { path, before } => drop(self.trees.entry(path).or_insert(before)),
            Record::Interfaces { before } => drop(self.interfaces.get_or_insert(before)),
            Record::Sysctl { key, before, value } => {
                // The first record contains the original.
                self.sysctls.entry(key).or_insert(Parameter { before, value: None }).value = value;
            }
            Record::Unit { name } => drop(self.units.insert(name)),
            Record::OsSet { item, key, before, after } => {
                let set = &mut self.os.entry(item).or_default().set;
                match set.iter_mut().find(|known| known.key == key) {
                    Some(known) => known.after = after,
                    None => set.push(OsChange { key, before, after }),
                }
            }
            Record::OsUndone { item, key } => self.os.entry(item).or_default().set.retain(|known| known.key != key),
            Record::OsRan { item, state } => self.os.entry(item).or_default().ran = state,
            Record::Swap { device } => drop(self.swaps.insert(device)),
            Record::Image { name } => drop(self.images.insert(name)),
            Record::HostKey { name, key } => drop(self.host_keys.insert(name, key)),
            Record::HostKeyGone { name } => drop(self.host_keys.remove(&name)),
            Record::Led(led) => (self.led, self.settles) = (Some(led), None),
            Record::Settles { generation, sha256 } => self.settles = Some((generation, sha256)),
            Record::EtcdAuthority { sha256 } => self.etcd.own_authority = Some(sha256),
            Record::EtcdBootstrap { token } => {
                self.ended.remove("etcd");
                self.etcd.token = Some(token);
                self.etcd.history = EtcdHistory::Bootstrapping;
            }
            Record::EtcdHealthy => self.etcd.history = EtcdHistory::Bootstrapped,
            Record::EtcdJoin { token } => {
                self.etcd.token = token;
                self.etcd.history = EtcdHistory::Member;
            }
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
    file: Option<Records>,
    state: State,
}

/// The file: complete records, and at most one partial record at its end.
#[derive(Debug)]
struct Records {
    file: File,
    /// Where the last complete record ends.
    end: u64,
    /// Whether a partial record may follow `end`: it is truncated before the next record.
    torn: bool,
}

impl Records {
    fn append(&mut self, lines: &[u8], sync: bool) -> Result<(), FileError> {
        if self.torn {
            self.cut().map_err(failed("repair", Path::new(JOURNAL)))?;
        }
        let written =
            self.file.write_all(lines).map_err(failed("write", Path::new(JOURNAL))).and_then(|()| match sync {
                true => self.file.sync_data().map_err(failed("sync", Path::new(JOURNAL))),
                false => Ok(()),
            });
        match &written {
            Ok(()) => self.end += lines.len() as u64,
            // If this fails, too, it is retried before the next record, and by the next run.
            Err(_) => self.torn = self.cut().is_err(),
        }
        written
    }

    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.end)?;
        self.file.sync_data()?;
        self.torn = false;
        Ok(())
    }
}

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line in its middle is not a record.
    #[error("{JOURNAL}:{line} is damaged: {reason}; `reset` can no longer undo the change that this line recorded")]
    Damaged {
        /// The line's number.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

impl Journal {
    /// Reads the journal and opens it for appending; creates it if it is missing.
    ///
    /// A partial last line is left by a kill: it is truncated, because its change was not made.
    ///
    /// # Errors
    /// If it cannot be read or written, or a line before the last is damaged.
    pub fn open(files: &Files) -> Result<Self, JournalError> {
        let path = Path::new(JOURNAL);
        let (state, whole) = read(files)?;
        for directory in files.missing_parents(path) {
            files.make_directory(&directory, 0o700)?;
        }
        let mut file = Records { file: files.open_to_append(path)?, end: whole as u64, torn: false };
        file.cut().map_err(failed("open", path))?;
        Ok(Self { inner: Mutex::new(Inner { file: Some(file), state }) })
    }

    /// Reads the journal; never writes to it.
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

    /// Returns the state.
    #[must_use]
    pub fn state(&self) -> State {
        self.lock().state.clone()
    }

    /// Returns the records about this machine's etcd.
    #[must_use]
    pub fn etcd(&self) -> EtcdRecords {
        self.lock().state.etcd.clone()
    }

    /// Appends a record without waiting for the disk.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn note(&self, record: Record) -> Result<(), JournalError> {
        self.append(vec![record], false)
    }

    /// Appends records and returns when they are on disk. Call it before the change. Blocks on the disk.
    ///
    /// # Errors
    /// If they cannot be written.
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
            file.append(&lines, sync)?;
        }
        let subject = records.first().map(Record::subject).unwrap_or_default();
        records.into_iter().for_each(|record| inner.state.take(record));
        drop(inner);
        crate::host::failpoint("journal", subject);
        Ok(())
    }
}

/// Returns the state and the length of the complete records in bytes.
fn read(files: &Files) -> Result<(State, usize), JournalError> {
    let text = files.read(JOURNAL)?.unwrap_or_default();
    let whole = text.iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
    let mut state = State::default();
    for (index, line) in text[..whole].split(|&b| b == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        let records = records(line).map_err(|e| JournalError::Damaged { line: index + 1, reason: e.to_string() })?;
        records.into_iter().for_each(|record| state.take(record));
    }
    Ok((state, whole))
}

/// Parses the records of a line, normally one. On a full disk, older versions wrote a record behind a fragment; the fragment is
/// skipped, because its change was not made.
fn records(line: &[u8]) -> Result<Vec<Record>, serde_json::Error> {
    // JSON escapes quotes in strings, so this is always the start of a record.
    const BEGINNING: &[u8] = br#"{"record":""#;
    let whole = match serde_json::from_slice(line) {
        Ok(record) => return Ok(vec![record]),
        Err(error) => error,
    };
    let beginnings = line.windows(BEGINNING.len()).enumerate().filter(|(_, window)| *window == BEGINNING);
    let mut starts: Vec<usize> = beginnings.map(|(at, _)| at).collect();
    let Some(last) = starts.pop() else { return Err(whole) };
    if starts.first() != Some(&0) {
        starts.insert(0, 0);
    }
    let ends = starts[1..].iter().copied().chain([last]);
    let mut records = Vec::new();
    for fragment in starts.iter().zip(ends).map(|(&start, end)| &line[start..end]) {
        match serde_json::from_slice(fragment) {
            Ok(record) => records.push(record),
            Err(error) if error.is_eof() => {}
            Err(_) => return Err(whole),
        }
    }
    records.push(serde_json::from_slice(&line[last..])?);
    Ok(records)
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
        let first = whole.iter().position(|&b| b == b'\n').unwrap() + 1;
        for length in 0..=whole.len() {
            std::fs::write(files.real(Path::new(JOURNAL)), &whole[..length]).unwrap();
            let journal = Journal::open(&files).unwrap();
            journal.note(directory("/c")).unwrap();
            let mut expected = BTreeSet::from([PathBuf::from("/c")]);
            expected.extend((length >= first).then(|| "/a".into()));
            expected.extend((length == whole.len()).then(|| "/b".into()));
            let known = Journal::read_only(&files).unwrap().state().directories;
            assert_eq!(known, expected, "cut at {length}");
        }
    }

    /// Runs in a separate process whose files cannot grow beyond 1 KiB: a write is cut short as on a full disk.
    #[test]
    fn a_full_disk_leaves_complete_records() {
        const CHILD: &str = "NODEINIT_TEST_FULL_DISK";
        let name = "engine::journal::tests::a_full_disk_leaves_complete_records";
        let Ok(dir) = std::env::var(CHILD) else {
            let dir = tempfile::tempdir().unwrap();
            let files = Files::under(dir.path());
            let output = std::process::Command::new("bash")
                .args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" --exact \"$1\""])
                .arg(std::env::current_exe().unwrap())
                .arg(name)
                .env(CHILD, dir.path())
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
            // The disk has space again.
            Journal::open(&files).unwrap().intend(vec![directory("/later")]).unwrap();
            let known = Journal::read_only(&files).unwrap().state().directories;
            assert_eq!(known, ["/first", "/later", "/small"].map(PathBuf::from).into());
            return;
        };
        let journal = Journal::open(&Files::under(dir)).unwrap();
        journal.intend(vec![directory("/first")]).unwrap();
        let long = format!("/{}", "x".repeat(1500));
        assert!(journal.intend(vec![directory(&long)]).is_err());
        assert!(journal.note(directory(&long)).is_err());
        journal.intend(vec![directory("/small")]).unwrap();
        assert!(!journal.state().directories.contains(Path::new(&long)));
    }

    #[test]
    fn a_fragment_in_front_of_a_record_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::under(dir.path());
        Journal::open(&files).unwrap().note(directory("/a")).unwrap();
        let record = files.read(JOURNAL).unwrap().unwrap();
        for length in 0..record.len() {
            let text = [&record[..], &record[..length], br#"{"record":"directory","path":"/b"}"#, b"\n"].concat();
            std::fs::write(files.real(Path::new(JOURNAL)), text).unwrap();
            let known = Journal::read_only(&files).unwrap().state().directories;
            assert_eq!(known, ["/a", "/b"].map(PathBuf::from).into(), "a fragment of {length} bytes");
        }
        let last = r#"{"record":"directory","path":"/b"}"#;
        for damage in [format!("rubbish{last}"), format!("{last}rubbish"), r#"{"record":"dir"#.to_owned()] {
            std::fs::write(files.real(Path::new(JOURNAL)), damage.clone() + "\n").unwrap();
            assert!(Journal::open(&files).is_err(), "{damage}");
        }
    }

    #[test]
    fn the_time_of_a_run_counts_after_preflight_accepted_it() {
        let after = |records: &[Record]| {
            let mut state = State::default();
            records.iter().cloned().for_each(|record| state.take(record));
            state.accepted_time
        };
        let run = |time| Record::Run { command: "up".into(), version: "0".into(), time };
        let begin = Record::Begin { step: "pki".into() };
        let refused = Record::Failed { step: "preflight".into(), error: "clock".into() };
        assert_eq!(after(&[run(9)]), None);
        assert_eq!(after(&[run(9), refused.clone(), begin.clone()]), None);
        assert_eq!(after(&[run(5), begin.clone(), run(9), refused]), Some(5), "journals of older versions");
        assert_eq!(after(&[run(9), begin, run(5), Record::Clock { time: 5 }]), Some(5), "the last counts");
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
    fn the_latest_record_of_etcd_counts() {
        let mut state = State::default();
        let bootstrap = |token: &str| Record::EtcdBootstrap { token: token.into() };
        let end = || Record::End { step: "etcd".into(), milliseconds: 1 };
        let mut after = |record: Record| {
            state.take(record);
            (state.etcd.token.clone().unwrap_or_default(), state.etcd.history)
        };
        assert_eq!(after(bootstrap("a")), ("a".into(), EtcdHistory::Bootstrapping));
        assert_eq!(after(Record::EtcdHealthy), ("a".into(), EtcdHistory::Bootstrapped));
        assert_eq!(after(end()), ("a".into(), EtcdHistory::Bootstrapped));
        assert_eq!(
            after(bootstrap("b")),
            ("b".into(), EtcdHistory::Bootstrapping),
            "the operator asked for a new cluster"
        );
        assert_eq!(after(Record::EtcdJoin { token: Some("c".into()) }), ("c".into(), EtcdHistory::Member));
        let mut former = State::default();
        former.take(end());
        assert_eq!(former.etcd.history, EtcdHistory::Member, "a journal of an earlier version");
    }

    #[test]
    fn the_first_record_keeps_the_original() {
        let mut state = State::default();
        let original = Some(Original { sha256: "0".into(), mode: 0o644 });
        let file = |sha256: &str, original| Record::File { path: "/a".into(), sha256: sha256.into(), original };
        state.take(file("1", original.clone()));
        state.take(file("2", None));
        let written = Written { sha256: ["1".into(), "2".into()].into(), original };
        assert_eq!(state.files[Path::new("/a")], written);
    }
}
