//! How long to wait before the next try: of one request, and of all requests to a cloud that is overloaded.

use nodeinit_base::{Backoff, backoff::random};
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(8);

/// The pauses between tries of one request; `limit` counts from now. Half of a pause is jitter.
pub fn within(limit: Duration) -> Backoff {
    Backoff::new(FIRST, LONGEST).jitter(0.5).within(limit)
}

/// The pause of a whole cloud: a service that is overloaded slows down the requests to all of them, for they share
/// processors, a database and a message queue.
#[derive(Debug, Default)]
pub struct Pace(Mutex<Slowed>);

#[derive(Debug, Default)]
struct Slowed {
    until: Option<Instant>,
    refusals: u32,
}

impl Pace {
    /// A service was overloaded; `asked` is how long it asked its clients to wait.
    pub fn refused(&self, asked: Option<Duration>) {
        let mut slowed = self.slowed();
        let now = Instant::now();
        // Those that were under way together are one refusal.
        if slowed.until.is_none_or(|until| until <= now) {
            slowed.refusals = (slowed.refusals + 1).min(6);
        }
        let own = (FIRST * 2_u32.pow(slowed.refusals)).min(LONGEST);
        let until = now + asked.filter(|pause| !pause.is_zero()).unwrap_or_else(|| jittered(own));
        slowed.until = slowed.until.max(Some(until));
    }

    /// A service answered.
    pub fn answered(&self) {
        self.slowed().refusals = 0;
    }

    /// Waits until the cloud may be asked again. `Err`: how long that takes, where it is longer than `limit`.
    ///
    /// # Errors
    /// Nothing was waited then.
    pub async fn wait(&self, limit: Duration) -> Result<(), Duration> {
        let deadline = Instant::now() + limit;
        loop {
            let now = Instant::now();
            let Some(until) = self.slowed().until.filter(|until| *until > now) else { return Ok(()) };
            if until > deadline {
                return Err(until - now);
            }
            tokio::time::sleep_until(until + FIRST.mul_f64(random())).await;
        }
    }

    fn slowed(&self) -> MutexGuard<'_, Slowed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Half of a pause is jitter, so that many who failed at once do not come again at once.
fn jittered(pause: Duration) -> Duration {
    pause / 2 + pause.mul_f64(random() / 2.0)
}
