//! nodeinit on another machine: its events, and how it ended.

use super::{Output, Session, SshError};
use nodeinit_base::{Backoff, WaitError};
use nodeinit_config::cluster::Timeouts;
use nodeinit_protocol::{Event, Exit, Line};
use std::time::Duration;

/// So many times a machine is reached again after its connection broke.
pub const CONNECTIONS: u32 = 20;

/// Between two attempts while another nodeinit runs on the machine.
const LOCKED_PAUSE: Duration = Duration::from_millis(500);

/// Longer than everything that a run on one machine may wait for by its own deadlines.
#[must_use]
pub fn run_limit(timeouts: &Timeouts) -> Duration {
    let t = timeouts;
    t.download + t.image_import + t.kubelet + t.etcd + t.control_plane + t.join + t.node
}

/// How a run of nodeinit on a machine ended, as far as it is known here.
#[derive(Debug)]
pub enum Ran {
    /// It succeeded.
    Done,
    /// Another run holds the machine's lock.
    Locked {
        /// Which one, in the words of nodeinit.
        holder: String,
    },
    /// It failed.
    Failed {
        /// Its exit code.
        code: u32,
        /// The steps that failed and why; without such events, the end of its standard error.
        why: String,
    },
    /// The connection broke. The run continues there.
    Lost(SshError),
}

impl Session {
    /// Runs nodeinit: `command` is its path and arguments, without `--output`. `each` receives each event of the run; a run that
    /// finds the lock taken has none.
    ///
    /// # Errors
    /// [`SshError`], except for a broken connection.
    pub async fn nodeinit(
        &self,
        command: &str,
        input: &[u8],
        limit: Duration,
        mut each: impl FnMut(&Line),
    ) -> Result<Ran, SshError> {
        let mut holder = None;
        let mut failures = Failures::default();
        let read = |text: &str| {
            let Some(line) = Line::read(text) else { return };
            if let Some(run) = line.event.lock_holder() {
                holder = Some(run.to_owned());
            }
            if holder.is_some() {
                return;
            }
            if let Event::Failed { step, error, .. } = &line.event {
                let host = line.host.as_ref().map_or_else(String::new, |host| format!("{host}: "));
                failures.add(&format!("{host}{step}: {error}"));
            }
            each(&line);
        };
        let ended = self.lines(&format!("exec {command} --output json"), input, limit, read).await;
        let (code, stderr) = match ended {
            Ok(Output { code, stderr, .. }) => (code, stderr),
            Err(error @ SshError::Broken { .. }) => return Ok(Ran::Lost(error)),
            Err(error) => return Err(error),
        };
        Ok(match (Exit::of(code), holder) {
            (Exit::Done, _) => Ran::Done,
            (Exit::TryAgain, Some(holder)) => Ran::Locked { holder },
            _ if failures.count > 0 => Ran::Failed { code, why: failures.joined() },
            _ if stderr.trim().is_empty() => Ran::Failed { code, why: format!("exit code {code}") },
            _ => Ran::Failed { code, why: stderr.trim().to_owned() },
        })
    }
}

/// The failed steps of a run, as far as an error quotes them: the other machine decides how much it sends.
#[derive(Default)]
struct Failures {
    quoted: Vec<String>,
    count: usize,
}

impl Failures {
    const QUOTED: usize = 16;
    const CHARACTERS: usize = 1000;

    fn add(&mut self, failure: &str) {
        self.count += 1;
        if self.quoted.len() < Self::QUOTED {
            self.quoted.push(failure.chars().take(Self::CHARACTERS).collect());
        }
    }

    fn joined(&self) -> String {
        let all = self.quoted.join("; ");
        match self.count - self.quoted.len() {
            0 => all,
            more => format!("{all}; and {more} more"),
        }
    }
}

/// The wait for another run of nodeinit on a machine. It continues across connections: its deadline counts from the first time that
/// the lock was found taken.
#[derive(Debug)]
pub struct LockWait {
    what: String,
    limit: Duration,
    backoff: Option<Backoff>,
}

impl LockWait {
    /// A wait of at most `limit` for the other run on `machine`.
    #[must_use]
    pub fn new(machine: &str, limit: Duration) -> Self {
        Self { what: format!("the end of the other nodeinit run on {machine}"), limit, backoff: None }
    }

    /// Waits until the next attempt. `tell` receives a line about the wait when it begins.
    ///
    /// # Errors
    /// [`WaitError`] at the deadline.
    pub async fn pause(&mut self, holder: String, tell: impl FnOnce(String)) -> Result<(), WaitError> {
        let (what, limit) = (&self.what, self.limit);
        let backoff = self.backoff.get_or_insert_with(|| {
            tell(format!("waiting up to {} s for {what}: {holder}", limit.as_secs()));
            Backoff::new(LOCKED_PAUSE, LOCKED_PAUSE).within(limit)
        });
        match backoff.pause().await {
            true => Ok(()),
            false => Err(WaitError { what: what.clone(), limit, seen: holder }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn the_deadline_of_a_lock_counts_from_the_first_time_that_it_was_taken() {
        let limit = Duration::from_secs(60);
        let mut wait = LockWait::new("m2", limit);
        let mut told = Vec::new();
        tokio::time::sleep(limit).await;
        let begun = Instant::now();
        let late = loop {
            if let Err(late) = wait.pause("process 12".into(), |line| told.push(line)).await {
                break late;
            }
            // A connection that broke meanwhile.
            tokio::time::sleep(Duration::from_secs(10)).await;
        };
        assert_eq!(told, ["waiting up to 60 s for the end of the other nodeinit run on m2: process 12"]);
        let took = begun.elapsed().as_secs();
        assert!((50..=70).contains(&took), "{took} s");
        let text = "timed out after 60 s waiting for the end of the other nodeinit run on m2; last state: process 12";
        assert_eq!(late.to_string(), text);
    }

    #[test]
    fn an_error_quotes_a_bounded_part_of_many_failures() {
        let mut failures = Failures::default();
        failures.add("etcd: no");
        assert_eq!(failures.joined(), "etcd: no");
        (0..40).for_each(|_| failures.add(&"x".repeat(5000)));
        let text = failures.joined();
        assert!(text.ends_with("; and 25 more") && text.len() < 17_000, "{}", text.len());
    }
}
