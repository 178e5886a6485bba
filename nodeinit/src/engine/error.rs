//! The error of a step: the failure, its causes, a hint, and the exit code.

use crate::{
    engine::journal::JournalError,
    host::{commands::CommandError, files::FileError, lock::LockError, remove::RemoveError},
};
use nodeinit_base::{WaitError, causes::causes};
use nodeinit_config::{Problem, Problems};
use std::{error::Error, fmt};

pub use nodeinit_protocol::Exit;

/// A step's failure: the operation, the causes, and the fix.
#[derive(Debug)]
pub struct StepError {
    /// The exit code of the process.
    pub exit: Exit,
    what: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    hint: Option<String>,
    problems: Vec<Problem>,
}

impl StepError {
    /// Creates a failure that a retry does not fix.
    pub fn new(what: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, what: what.into(), source: None, hint: None, problems: Vec::new() }
    }

    /// Creates a failure with its cause.
    pub fn caused(what: impl Into<String>, source: impl Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Box::new(source)), ..Self::new(what) }
    }

    /// Adds a hint: what the reader can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the same error with another text.
    #[must_use]
    pub fn reworded(self, text: impl FnOnce(&str) -> String) -> Self {
        Self { what: text(&self.what), ..self }
    }

    /// Sets the exit code of the process.
    #[must_use]
    pub fn exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// Returns the problems of the configuration that the failure consists of.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the hint, if there is one.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns the causes, outermost first.
    #[must_use]
    pub fn causes(&self) -> Vec<String> {
        causes(self)
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for StepError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|e| e as &(dyn Error + 'static))
    }
}

fn moved(error: &(dyn Error + 'static)) -> (String, Option<String>) {
    (error.to_string(), error.source().map(ToString::to_string))
}

impl From<RemoveError> for StepError {
    fn from(error: RemoveError) -> Self {
        match error {
            RemoveError::File(error) => error.into(),
            RemoveError::Mount(ref path) => {
                let hint = format!("`umount {}`, then run this command again", path.display());
                Self::new(error.to_string()).hint(hint)
            }
        }
    }
}

impl From<Problems> for StepError {
    fn from(problems: Problems) -> Self {
        Self { problems: problems.errors.clone(), ..Self::new(problems.to_string()).exit(Exit::BadConfig) }
    }
}

impl From<FileError> for StepError {
    fn from(error: FileError) -> Self {
        let (full, locked) = (error.is_full(), error.is_locked());
        let directory = error.path.parent().unwrap_or(&error.path).display().to_string();
        let denied = error.source.kind() == std::io::ErrorKind::PermissionDenied;
        let what = match locked {
            true => format!("{error}: another process holds its lock, probably a nodeinit that writes a file there"),
            false => error.to_string(),
        };
        let step = Self { what, source: Some(Box::new(error.source)), ..Self::new("") };
        match () {
            () if full => step
                .exit(Exit::TryAgain)
                .hint(format!("free some space (`df -h {directory}`), then run the same command again")),
            () if denied => step.exit(Exit::NoPermission).hint("run it as root"),
            () if locked => step.exit(Exit::TryAgain).hint("wait until it has ended, then run the same command again"),
            () => step,
        }
    }
}

impl From<LockError> for StepError {
    fn from(error: LockError) -> Self {
        match error {
            LockError::File(error) => error.into(),
            LockError::Held { ref process, .. } => {
                let hint = format!("wait until it ends (`ps -fp {process}`), then try again");
                Self::new(error.to_string()).exit(Exit::TryAgain).hint(hint)
            }
            LockError::Foreign(ref path) => {
                let hint = format!(
                    "check who created it (`ls -l {}`), then remove it or use another directory",
                    path.display()
                );
                Self::new(error.to_string()).hint(hint)
            }
            LockError::Refused { source, .. } => Self::caused(error.to_string(), source),
        }
    }
}

impl From<CommandError> for StepError {
    fn from(error: CommandError) -> Self {
        let (what, cause) = moved(&error);
        let exit = if matches!(error, CommandError::TimedOut { .. }) { Exit::TryAgain } else { Exit::Failed };
        let step = Self::new(what).exit(exit);
        match cause {
            Some(cause) => Self { source: Some(cause.into()), ..step },
            None => step,
        }
    }
}

impl From<JournalError> for StepError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::File(error) => error.into(),
            damaged => Self::new(damaged.to_string()).hint(
                "restore the journal from a backup, or delete that line; `reset` then cannot undo the change that the line recorded",
            ),
        }
    }
}

impl From<WaitError> for StepError {
    fn from(error: WaitError) -> Self {
        Self::new(error.to_string()).exit(Exit::TryAgain)
    }
}
