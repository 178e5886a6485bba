//! Commands and their results.

use std::{
    io::Read,
    os::unix::process::ExitStatusExt,
    process::{Child, Command, Stdio},
    thread,
    time::Instant,
};

/// The result of a command: its output, its exit code and its duration.
#[derive(Clone, Debug)]
pub struct Output {
    /// The exit code; 128 plus the number of the signal if a signal ended the command.
    pub code: i32,
    /// The standard output.
    pub stdout: String,
    /// The standard error.
    pub stderr: String,
    /// The duration in seconds.
    pub seconds: f64,
    what: String,
}

impl Output {
    /// Fails the test unless the command exited with `code`.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert!(self.code == code, "{} exited with {}, not {code}:\n{}", self.what, self.code, self.text());
        self
    }

    /// Fails the test unless the output contains all of `parts`.
    #[track_caller]
    pub fn says(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.text().contains(part), "{} did not print {part:?}:\n{}", self.what, self.text());
        }
    }

    /// Returns standard output and standard error.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// A running command.
#[derive(Debug)]
pub struct Running {
    child: Child,
    started: Instant,
    what: String,
}

/// Starts a command with a limit of `limit` seconds.
pub(crate) fn start(what: &str, limit: u32, argv: &[&str]) -> Running {
    let limit = limit.to_string();
    let child = Command::new("timeout")
        .args(["-k", "5", &limit])
        .args(argv)
        .env("LAB_OWNER", std::process::id().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("cannot start {what}: {e}"));
    Running { child, started: Instant::now(), what: what.to_owned() }
}

impl Running {
    /// Returns the exit code, -1 if a signal ended the command, or `None` while it runs.
    #[must_use]
    pub fn ended(&mut self) -> Option<i32> {
        self.child.try_wait().unwrap().map(|status| status.code().unwrap_or(-1))
    }

    /// Waits for the end of the command.
    #[must_use]
    pub fn wait(mut self) -> Output {
        let mut err = self.child.stderr.take().unwrap();
        let errors = thread::spawn(move || text(&mut err));
        let stdout = text(&mut self.child.stdout.take().unwrap());
        let stderr = errors.join().unwrap();
        let status = self.child.wait().unwrap();
        // `timeout` returns 128 plus the signal, as a shell does, but dies itself of a signal that dumps core.
        let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1);
        Output { code, stdout, stderr, seconds: self.started.elapsed().as_secs_f64(), what: self.what }
    }
}

fn text(from: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}
