//! nodeinit on another machine: its events, and how it ended.

use super::{Output, Session, SshError};
use nodeinit_base::{Backoff, WaitError, with_causes};
use nodeinit_config::cluster::Timeouts;
use nodeinit_protocol::{Event, Exit, Line};
use std::time::Duration;
use thiserror::Error;

/// A run fails when this many connections to its machine have broken.
const CONNECTIONS: u32 = 20;

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
    /// Another run held the machine's lock until the deadline of the [`LockWait`].
    Locked(WaitError),
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
    /// Runs nodeinit as soon as no other run holds the machine's lock, for at most `limit`. `command` is its path and arguments,
    /// without `--output`. `tell` receives a line when the wait for the lock begins, and `each` receives each event of the run.
    ///
    /// # Errors
    /// [`SshError`], except for a broken connection.
    pub async fn nodeinit(
        &self,
        command: &str,
        input: &[u8],
        limit: Duration,
        lock: &mut LockWait,
        tell: impl Fn(String),
        mut each: impl FnMut(&Line),
    ) -> Result<Ran, SshError> {
        loop {
            match self.attempt(command, input, limit, &mut each).await? {
                Attempt::Ended(ran) => return Ok(ran),
                Attempt::Locked { holder } => {
                    if let Err(late) = lock.pause(holder, &tell).await {
                        return Ok(Ran::Locked(late));
                    }
                }
            }
        }
    }

    /// A run that finds the lock taken has no events.
    async fn attempt(
        &self,
        command: &str,
        input: &[u8],
        limit: Duration,
        mut each: impl FnMut(&Line),
    ) -> Result<Attempt, SshError> {
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
            Err(error @ SshError::Broken { .. }) => return Ok(Attempt::Ended(Ran::Lost(error))),
            Err(error) => return Err(error),
        };
        let why = match (Exit::of(code), holder) {
            (Exit::Done, _) => return Ok(Attempt::Ended(Ran::Done)),
            (Exit::TryAgain, Some(holder)) => return Ok(Attempt::Locked { holder }),
            _ if failures.count > 0 => failures.joined(),
            _ if stderr.trim().is_empty() => format!("exit code {code}"),
            _ => stderr.trim().to_owned(),
        };
        Ok(Attempt::Ended(Ran::Failed { code, why }))
    }
}

/// How one attempt to run nodeinit ended.
enum Attempt {
    Ended(Ran),
    /// Another run holds the machine's lock: `holder`, in the words of nodeinit.
    Locked {
        holder: String,
    },
}

/// Too many connections to a machine broke during one run there.
#[derive(Debug, Error)]
#[error("the connection to {machine} broke {CONNECTIONS} times")]
pub struct BrokeTooOften {
    machine: String,
}

/// Counts the broken connections of one run on a machine. The run continues there and is found again.
#[derive(Debug)]
pub struct Reconnects {
    machine: String,
    broken: u32,
}

impl Reconnects {
    /// A count for a run on `machine`.
    #[must_use]
    pub fn new(machine: &str) -> Self {
        Self { machine: machine.to_owned(), broken: 0 }
    }

    /// Counts a broken connection. Returns the line to report before the next one.
    ///
    /// # Errors
    /// [`BrokeTooOften`] when the limit is reached.
    pub fn count(&mut self, why: &SshError) -> Result<String, BrokeTooOften> {
        self.broken += 1;
        match self.broken < CONNECTIONS {
            true => Ok(format!("{}; {} continues on its own; reconnecting", with_causes(why), self.machine)),
            false => Err(BrokeTooOften { machine: self.machine.clone() }),
        }
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
    async fn pause(&mut self, holder: String, tell: impl FnOnce(String)) -> Result<(), WaitError> {
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
    use crate::Phase;
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
    fn a_run_may_lose_a_limited_number_of_connections() {
        let (mut reconnects, why) =
            (Reconnects::new("m2"), SshError::Broken { name: "m2".into(), phase: Phase::Command, source: None });
        for _ in 1..CONNECTIONS {
            let note = reconnects.count(&why).unwrap();
            assert!(note.ends_with("; m2 continues on its own; reconnecting"), "{note}");
        }
        assert_eq!(reconnects.count(&why).unwrap_err().to_string(), "the connection to m2 broke 20 times");
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
