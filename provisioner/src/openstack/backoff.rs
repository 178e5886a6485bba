//! How long to wait before the next try: of one request, and of all requests to a cloud that is overloaded.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(8);

/// Growing pauses with jitter, up to a deadline.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
    deadline: Instant,
    /// How many pauses there were.
    pub pauses: u32,
}

impl Backoff {
    /// `limit` counts from now.
    pub fn new(limit: Duration) -> Self {
        Self { next: FIRST, deadline: Instant::now() + limit, pauses: 0 }
    }

    /// Waits. `false`: the deadline would pass, and nothing was waited.
    pub async fn pause(&mut self) -> bool {
        self.pause_at_least(Duration::ZERO).await
    }

    /// As [`Self::pause`], but for no less than `least`, which the service asked for.
    pub async fn pause_at_least(&mut self, least: Duration) -> bool {
        let pause = jittered(self.next).max(least);
        if Instant::now() + pause >= self.deadline {
            return false;
        }
        tokio::time::sleep(pause).await;
        self.next = (self.next * 2).min(LONGEST);
        self.pauses += 1;
        true
    }

    /// How long until the deadline.
    pub fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
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

/// From 0 to 1, from the seeds of the standard library's hash maps.
fn random() -> f64 {
    let bits = RandomState::new().hash_one(0) >> 11;
    // 53 bits fit into a double exactly.
    #[allow(clippy::cast_precision_loss)]
    let fraction = bits as f64 / (1_u64 << 53) as f64;
    fraction
}
