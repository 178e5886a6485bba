//! Waits with a name and a deadline.

use crate::Backoff;
use crate::DETAIL;
use std::{ops::ControlFlow, time::Duration};
use tokio::time::Instant;

/// The first pause, unless the caller sets another one.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// A wait for something outside this process.
#[derive(Clone, Debug)]
pub struct Wait {
    what: String,
    limit: Duration,
    first: Duration,
    ceiling: Duration,
}

/// A wait that timed out.
#[derive(Debug, thiserror::Error)]
#[error("timed out after {} s waiting for {what}; last state: {seen}", .limit.as_secs())]
pub struct WaitError {
    /// What was waited for.
    pub what: String,
    /// The time limit.
    pub limit: Duration,
    /// What the last poll saw.
    pub seen: String,
}

impl Wait {
    /// Creates a wait for `what` (such as "a healthy etcd") of at most `limit`, which polls at least every 50 ms.
    pub fn new(what: impl Into<String>, limit: Duration) -> Self {
        Self { what: what.into(), limit, first: FIRST_PAUSE, ceiling: Duration::from_millis(50) }
    }

    /// Lets the pauses between two polls grow up to `ceiling`, for expensive polls.
    #[must_use]
    pub fn at_most_every(mut self, ceiling: Duration) -> Self {
        self.ceiling = ceiling;
        self
    }

    /// Sets the first pause between two looks, for things that never change sooner. The ceiling is never below it.
    #[must_use]
    pub fn first_pause(mut self, first: Duration) -> Self {
        self.first = first;
        self.ceiling = self.ceiling.max(first);
        self
    }

    /// Polls until the answer is `Break`. `Continue` contains what was seen instead.
    ///
    /// Pauses double from the first one (10 ms by default) up to the ceiling, each shortened by up to a quarter at random, so that
    /// many hosts do not look in step. A look that hangs is dropped at the deadline.
    ///
    /// # Errors
    /// [`WaitError`] at the deadline.
    pub async fn until<T>(self, mut look: impl AsyncFnMut() -> ControlFlow<T, String>) -> Result<T, WaitError> {
        let deadline = Instant::now() + self.limit;
        let mut backoff = Backoff::new(self.first, self.ceiling).until(deadline);
        let mut seen = String::from("no answer");
        loop {
            match tokio::time::timeout_at(deadline, look()).await {
                Ok(ControlFlow::Break(value)) => return Ok(value),
                Ok(ControlFlow::Continue(what)) if what != seen => {
                    tracing::info!(target: DETAIL, "waiting for {}: {what}", self.what);
                    seen = what;
                }
                Ok(ControlFlow::Continue(_)) => {}
                Err(_) => {}
            }
            if !backoff.pause().await {
                return Err(WaitError { what: self.what, limit: self.limit, seen });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_when_the_poll_succeeds() {
        let mut looks = 0;
        let found = Wait::new("a thing", Duration::from_secs(9)).until(async || {
            looks += 1;
            if looks < 20 { ControlFlow::Continue("nothing".into()) } else { ControlFlow::Break(looks) }
        });
        assert_eq!(found.await.unwrap(), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_pause_can_be_longer_than_the_default_ceiling() {
        let second = Duration::from_secs(1);
        let mut looks = 0;
        let wait = Wait::new("a thing", Duration::from_secs(10)).first_pause(second);
        let look = async || {
            looks += 1;
            ControlFlow::<(), _>::Continue("nothing".into())
        };
        wait.until(look).await.unwrap_err();
        // Each pause is shortened by up to a quarter.
        assert!((10..=14).contains(&looks), "{looks} looks in 10 s");
    }

    #[tokio::test(start_paused = true)]
    async fn a_timed_out_wait_reports_what_was_seen() {
        let wait = || Wait::new("a healthy etcd", Duration::from_secs(2));
        let error =
            wait().until(async || ControlFlow::<(), _>::Continue("connection refused".into())).await.unwrap_err();
        assert_eq!(error.to_string(), "timed out after 2 s waiting for a healthy etcd; last state: connection refused");
        let hung = wait().until(async || std::future::pending::<ControlFlow<(), String>>().await).await.unwrap_err();
        assert_eq!(hung.seen, "no answer");
    }
}
