//! How a command ended.

use std::{
    io::Read,
    os::unix::process::ExitStatusExt,
    process::{Child, Command, Stdio},
    thread,
    time::Instant,
};

/// What a command said, how it ended, and how long it took.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its exit code; 128 and the signal's number where a signal ended it.
    pub code: i32,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// Seconds from start to end.
    pub seconds: f64,
    what: String,
}

impl Output {
    /// Ends the test unless the command exited with `code`.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert!(self.code == code, "{} exited with {}, not {code}:\n{}", self.what, self.code, self.text());
        self
    }

    /// Ends the test unless the command said all of these.
    #[track_caller]
    pub fn says(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.text().contains(part), "{} did not say {part:?}:\n{}", self.what, self.text());
        }
    }

    /// All that it said.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    child: Child,
    begun: Instant,
    what: String,
}

/// Starts a command, which may take `limit` seconds.
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
    Running { child, begun: Instant::now(), what: what.to_owned() }
}

impl Running {
    /// Its exit code, or -1 where a signal ended it; nothing while it runs.
    #[must_use]
    pub fn ended(&mut self) -> Option<i32> {
        self.child.try_wait().unwrap().map(|status| status.code().unwrap_or(-1))
    }

    /// Waits until it has ended.
    #[must_use]
    pub fn wait(mut self) -> Output {
        let mut err = self.child.stderr.take().unwrap();
        let errors = thread::spawn(move || text(&mut err));
        let stdout = text(&mut self.child.stdout.take().unwrap());
        let stderr = errors.join().unwrap();
        let status = self.child.wait().unwrap();
        // `timeout` tells a signal as a shell does, but for those that leave a core: it dies of them itself.
        let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1);
        Output { code, stdout, stderr, seconds: self.begun.elapsed().as_secs_f64(), what: self.what }
    }
}

fn text(from: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}
