//! A value that must not be printed.

use std::fmt;

/// Holds a secret: no `Display`, and `Debug` prints `[secret]`, so that it cannot reach a log by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a secret value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself; each call is a place to look at in a review.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

/// A file of secrets that others can read: what to say about it, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

/// Whether a file of secrets with this mode can be read by anyone but its owner. `path` is for the message.
#[must_use]
pub fn exposed(path: &str, mode: u32) -> Option<Exposed> {
    (mode & 0o077 != 0).then(|| Exposed {
        what: format!("{path} holds secrets of the cluster and can be read by others (mode {:o})", mode & 0o777),
        hint: format!("if nobody else has read it: `chmod 600 {path}`; otherwise generate new secrets"),
    })
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}
