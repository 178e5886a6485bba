//! What people and programs read: lines of text, or one JSON object a line.

use crate::error::Error;
use clap::ValueEnum;
use serde_json::Value;
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

/// How to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Where results go.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// How.
    pub format: Format,
}

impl Output {
    /// One thing: a line of text, or an object.
    pub fn tell(self, text: &str, object: impl FnOnce() -> Value) {
        match self.format {
            Format::Text => line(text),
            Format::Json => line(&object().to_string()),
        }
    }

    /// An object that has no text of its own.
    pub fn object(self, object: impl FnOnce() -> Value) {
        if self.format == Format::Json {
            line(&object().to_string());
        }
    }

    /// Text that has no object.
    pub fn text(self, text: &str) {
        if self.format == Format::Text {
            line(text);
        }
    }
}

/// A line to standard output. A reader that has gone away is no reason to stop half way.
pub fn line(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Writes a file that only its owner may read; whole, or not at all.
///
/// # Errors
/// Where there is no room, or no such directory.
pub fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    let is_private = fs::metadata(path).is_ok_and(|there| there.permissions().mode() & 0o077 == 0);
    if is_private && fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let mut part = path.as_os_str().to_owned();
    part.push(".new");
    let write = || {
        let _ = fs::remove_file(&part);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().map_err(|e: io::Error| Error::Refused {
        what: format!("cannot write {}: {e}", path.display()),
        remedy: "make room, or name another place".to_owned(),
    })
}
