//! A value that must not be printed.

use std::fmt;

/// A secret value: it has no `Display`, and `Debug` prints `[secret]`, so that it does not get into a log by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a secret value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the value; reviews must check each call.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

/// The problem of a file of secrets that others can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// What is wrong.
    pub what: String,
    /// The fix.
    pub hint: String,
}

/// Returns a problem if a file of secrets with this mode can be read by others than its owner. `path` is for the message.
#[must_use]
pub fn exposed(path: &str, mode: u32) -> Option<Exposed> {
    (mode & 0o077 != 0).then(|| Exposed {
        what: format!("{path} contains secrets of the cluster and can be read by others (mode {:o})", mode & 0o777),
        hint: format!("if nobody else has read it: `chmod 600 {path}`; otherwise generate new secrets"),
    })
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}
