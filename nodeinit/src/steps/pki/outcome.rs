//! The result of comparing existing files with the desired ones.

use crate::{
    engine::error::StepError,
    host::files::NewFile,
    pki::{
        Certificate,
        expiry::{SOON, date, days_left},
    },
};
use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The files to write, and the reports about others.
#[derive(Debug, Default)]
pub(in crate::steps) struct Outcome {
    /// In the order in which they must be written: a key before its certificate, a CA before the certificates that it signs. If a run is
    /// killed between two of them, the next one can continue.
    pub(in crate::steps) files: Vec<NewFile>,
    /// A description of each change.
    pub(in crate::steps) changes: Vec<String>,
    /// Notes that need no change.
    pub(in crate::steps) notes: Vec<String>,
    problems: Vec<(PathBuf, String, String)>,
}

impl Outcome {
    /// Adds a file that cannot be used, with the reason and the fix.
    pub(in crate::steps) fn problem(&mut self, path: &Path, reason: impl ToString, remedy: impl Into<String>) {
        self.problems.push((path.to_path_buf(), reason.to_string(), remedy.into()));
    }

    /// Adds a note about a valid certificate that expires soon.
    pub(in crate::steps) fn remark(&mut self, path: &Path, certificate: &Certificate, now: SystemTime) {
        let until = certificate.not_after;
        if until.duration_since(now).is_ok_and(|left| left < SOON) {
            let (days, date) = (days_left(until, now), date(until));
            let remedy = if certificate.is_ca {
                "plan the replacement of this CA"
            } else {
                "renew it with `nodeinit certs renew`"
            };
            self.notes.push(format!("{} expires in {days} days, at {date}: {remedy}", path.display()));
        }
    }

    /// Returns the outcome, or all problems as one error.
    ///
    /// # Errors
    /// If there is a problem.
    pub(in crate::steps) fn checked(self, directory: &str) -> Result<Self, StepError> {
        let line = |(path, reason, _): &(PathBuf, String, String)| format!("{}: {reason}", path.display());
        let hint = |(path, _, remedy): &(PathBuf, String, String)| format!("{}: {remedy}", path.display());
        match &self.problems[..] {
            [] => Ok(self),
            [one] => Err(StepError::new(line(one)).hint(one.2.clone())),
            many => {
                let list = |text: fn(&(PathBuf, String, String)) -> String| {
                    many.iter().map(text).collect::<Vec<_>>().join("\n    ")
                };
                let what = format!("{} files in {directory} cannot be used:\n    {}", many.len(), list(line));
                Err(StepError::new(what).hint(list(hint)))
            }
        }
    }
}
