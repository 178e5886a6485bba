//! What an item of `os` wants of the machine: files, settings, and programs that apply them.

use super::storage;
use crate::{host::files::NewFile, os::PackageManager};
use nodeinit_base::sha256_hex;
use std::{fmt::Write, path::PathBuf, time::Duration};

/// Limit for a program that takes seconds, even on a slow machine.
const LIMIT: Duration = Duration::from_secs(120);

/// One thing that an item wants, in the order in which they are applied.
pub(super) enum Want {
    /// A file.
    File(NewFile),
    /// A file whose content comes from elsewhere.
    Fetched {
        /// Its path.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// A file of this machine or a URL.
        source: String,
        /// The digest of its content.
        sha256: [u8; 32],
    },
    /// A setting (see `setting.rs`). `None` removes it, and `reset` does not bring it back.
    Set(String, Option<String>),
    /// A program, which runs after a change of the item.
    Run(Run),
}

/// A program that applies a change.
pub(super) struct Run {
    /// Its arguments.
    pub argv: Vec<String>,
    /// Whether it also runs after an undo.
    pub on_undo: bool,
    /// Its time limit.
    pub limit: Duration,
    /// What to do if it fails.
    pub hint: String,
    /// The package manager that it is, which a later attempt may find reachable.
    pub manager: Option<&'static PackageManager>,
    /// The file whose change it applies; `None`: it runs after any change of the item.
    pub of: Option<PathBuf>,
}

impl Want {
    /// A setting with this value.
    pub(super) fn set(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self::Set(key.into(), Some(value.into()))
    }

    /// A public file.
    pub(super) fn file(path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Self {
        Self::File(NewFile::public(path, content))
    }

    /// A program that runs after a change, but not after its undo.
    pub(super) fn run(argv: &[&str], hint: &str) -> Self {
        Self::program(argv, hint, false)
    }

    /// A program that runs after a change of one file that the item also wants.
    pub(super) fn run_for(file: impl Into<PathBuf>, argv: &[&str], hint: &str) -> Self {
        match Self::run(argv, hint) {
            Self::Run(run) => Self::Run(Run { of: Some(file.into()), ..run }),
            other => other,
        }
    }

    /// A program that makes the machine notice a change, and its undo.
    pub(super) fn notice(argv: &[&str]) -> Self {
        Self::program(argv, "fix the cause, then run the same command again", true)
    }

    fn program(argv: &[&str], hint: &str, on_undo: bool) -> Self {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        Self::Run(Run { argv, on_undo, limit: LIMIT, hint: hint.to_owned(), manager: None, of: None })
    }

    /// Makes a running service notice a change: reloads it if it can, otherwise restarts it.
    pub(super) fn reload(unit: &str) -> Self {
        Self::notice(&["systemctl", "try-reload-or-restart", unit])
    }

    /// The value of a setting.
    pub(super) fn value(&self) -> Option<&str> {
        match self {
            Self::Set(_, value) => value.as_deref(),
            _ => None,
        }
    }

    /// Returns the key under which the journal records it.
    pub(super) fn key(&self) -> Option<String> {
        match self {
            Self::File(file) => Some(format!("file {}", file.path.display())),
            Self::Fetched { path, .. } => Some(format!("file {}", path.display())),
            // `reset` leaves them: a file with another owner is removed or restored, and data on a disk is never removed.
            Self::Set(key, _) if key.starts_with("owner ") || storage::kind(key).is_some() => None,
            Self::Set(key, Some(_)) => Some(key.clone()),
            Self::Run(run) if run.on_undo => Some(format!("run {}", run.argv.join(" "))),
            Self::Set(_, None) | Self::Run(_) => None,
        }
    }
}

/// Returns the digest of everything that is wanted; empty if no program has to run.
pub(super) fn digest(wants: &[Want]) -> String {
    if !wants.iter().any(|want| matches!(want, Want::Run(_))) {
        return String::new();
    }
    let mut text = String::new();
    for want in wants {
        // Writing to a String does not fail.
        let _ = match want {
            Want::File(file) => writeln!(text, "{} {:o} {}", file.path.display(), file.mode, sha256_hex(&file.content)),
            Want::Fetched { path, mode, sha256, .. } => writeln!(text, "{} {mode:o} {sha256:?}", path.display()),
            Want::Set(key, value) => writeln!(text, "{key} {value:?}"),
            Want::Run(run) => writeln!(text, "{:?}", run.argv),
        };
    }
    sha256_hex(text.as_bytes())
}
