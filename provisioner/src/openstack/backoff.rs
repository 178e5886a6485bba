//! How long to wait before the next try.

use std::{
    hash::{BuildHasher, RandomState},
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
        // Half of it is jitter, so that many who failed at once do not come again at once.
        let pause = self.next / 2 + self.next.mul_f64(random() / 2.0);
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

/// From 0 to 1, from the seeds of the standard library's hash maps.
fn random() -> f64 {
    let bits = RandomState::new().hash_one(0) >> 11;
    // 53 bits fit into a double exactly.
    #[allow(clippy::cast_precision_loss)]
    let fraction = bits as f64 / (1_u64 << 53) as f64;
    fraction
}
