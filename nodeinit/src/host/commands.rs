//! Runs programs of the machine with a time limit. Arguments never contain secrets, because every user can see them.

use nodeinit_base::DETAIL;
use std::{
    fmt, io,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};
use tokio::{io::AsyncWriteExt, process::Command};

/// Runs programs.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    /// In a test that must not run programs: what would have been run.
    #[cfg(test)]
    pub(crate) log: Option<std::sync::Arc<std::sync::Mutex<Vec<String>>>>,
    /// In such a test: what programs answer, by the start of their command lines. Others print nothing.
    #[cfg(test)]
    pub(crate) answers: Vec<(String, Result<String, i32>)>,
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The program could not be started.
    #[error("cannot start `{command}`")]
    Start {
        /// The program and its arguments.
        command: String,
        /// The cause.
        source: io::Error,
    },
    /// The program exited with an error.
    #[error("`{command}` failed with {status}: {stderr}")]
    Failed {
        /// The program and its arguments.
        command: String,
        /// Exit code or signal.
        status: ExitStatus,
        /// The end of its standard error.
        stderr: String,
    },
    /// The program exceeded its time limit and was killed.
    #[error("`{command}` did not end within {} s and was stopped", .limit.as_secs())]
    TimedOut {
        /// The program and its arguments.
        command: String,
        /// The time limit.
        limit: Duration,
    },
}

impl CommandError {
    /// The exit code, if there is one.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Failed { status, .. } => status.code(),
            Self::Start { .. } | Self::TimedOut { .. } => None,
        }
    }

    /// Whether the program is not installed.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Start { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

struct Shown<'a>(&'a [&'a str]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

/// Returns the search path for programs: sudo of some distributions omits the directories where nodeinit installs containerd.
fn path() -> String {
    let inherited = std::env::var("PATH").unwrap_or_default();
    format!("{inherited}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .trim_start_matches(':')
        .to_owned()
}

/// Whether a program is in the search path.
#[must_use]
pub fn is_installed(program: &str) -> bool {
    std::env::split_paths(&path()).any(|directory| directory.join(program).is_file())
}

impl Commands {
    /// Runs `argv` and returns its standard output; dropping the future kills the program.
    ///
    /// # Errors
    /// If it does not start, fails, or runs longer than `limit`.
    pub async fn run(&self, argv: &[&str], limit: Duration) -> Result<String, CommandError> {
        self.run_with_input(argv, &[], limit).await
    }

    /// As [`Self::run`], with `input` on its standard input, which may contain secrets.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn run_with_input(&self, argv: &[&str], input: &[u8], limit: Duration) -> Result<String, CommandError> {
        self.run_in(&[], argv, input, limit).await
    }

    /// As [`Self::run_with_input`], with further variables in its environment.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn run_in(
        &self,
        environment: &[(&str, &str)],
        argv: &[&str],
        input: &[u8],
        limit: Duration,
    ) -> Result<String, CommandError> {
        let command = Shown(argv).to_string();
        #[cfg(test)]
        if let Some(log) = &self.log {
            let input = String::from_utf8_lossy(input);
            log.lock().unwrap().push(format!("{command}{}{input}", if input.is_empty() { "" } else { " < " }));
            let answer =
                self.answers.iter().find(|(start, _)| command.starts_with(start)).map(|(_, answer)| answer.clone());
            return answer.unwrap_or_else(|| Ok(String::new())).map_err(|code| CommandError::Failed {
                status: std::os::unix::process::ExitStatusExt::from_raw(code << 8),
                stderr: format!("{}: error", argv[0]),
                command,
            });
        }
        let started = Instant::now();
        let (program, arguments) = argv.split_first().unwrap_or((&"", &[]));
        let start = |source| CommandError::Start { command: command.clone(), source };
        let mut child = Command::new(program)
            .args(arguments)
            .env("LC_ALL", "C")
            .env("PATH", path())
            .envs(environment.iter().copied())
            .stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(start)?;
        let stdin = child.stdin.take();
        let feed = async move {
            if let Some(mut stdin) = stdin {
                // A program that does not read its input reports that by its exit code.
                let _ = stdin.write_all(input).await;
            }
        };
        let work = async { tokio::join!(feed, child.wait_with_output()).1 };
        let output = match tokio::time::timeout(limit, work).await {
            Ok(output) => output.map_err(start)?,
            Err(_) => return Err(CommandError::TimedOut { command, limit }),
        };
        tracing::info!(target: DETAIL, "`{command}`: {}, {:.3} s", output.status, started.elapsed().as_secs_f64());
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let tail: Vec<&str> = stderr.trim().lines().rev().take(5).collect();
        let stderr = tail.into_iter().rev().collect::<Vec<_>>().join("; ");
        Err(CommandError::Failed { command, status: output.status, stderr })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_command_returns_its_output_or_its_error() {
        let commands = Commands::default();
        let second = Duration::from_secs(5);
        assert_eq!(commands.run(&["echo", "hello"], second).await.unwrap(), "hello\n");
        assert_eq!(commands.run_with_input(&["cat"], b"secret", second).await.unwrap(), "secret");
        let environment = [("no_proxy", "example.org")];
        let printed = commands.run_in(&environment, &["sh", "-c", "echo $no_proxy"], &[], second).await;
        assert_eq!(printed.unwrap(), "example.org\n");
        let error = commands.run(&["sh", "-c", "echo no room >&2; exit 3"], second).await.unwrap_err();
        assert!(error.to_string().contains("exit status: 3: no room") && error.code() == Some(3), "{error}");
        assert!(commands.run(&["/no/such/program"], second).await.unwrap_err().is_missing());
        let error = commands.run(&["sleep", "9"], Duration::from_millis(50)).await.unwrap_err();
        assert!(matches!(error, CommandError::TimedOut { .. }));
    }
}
