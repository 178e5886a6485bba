//! A value that must not be printed.

use std::fmt;
use zeroize::Zeroize;

/// What is printed instead of a secret.
pub const MASK: &str = "[secret]";

/// A secret value: it has no `Display`, and `Debug` prints `[secret]`, so that it does not get into a log by accident. When it is dropped, its
/// memory is overwritten.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
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

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{cell::Cell, rc::Rc};

    /// Notes that it was overwritten.
    struct Noted(Rc<Cell<bool>>);

    impl Zeroize for Noted {
        fn zeroize(&mut self) {
            self.0.set(true);
        }
    }

    #[test]
    fn a_secret_is_overwritten_when_it_is_dropped_and_not_printed() {
        let is_overwritten = Rc::new(Cell::new(false));
        let secret = Secret::new(Noted(is_overwritten.clone()));
        assert!(format!("{secret:?}") == "[secret]" && !is_overwritten.get());
        drop(secret);
        assert!(is_overwritten.get());
    }
}
