//! Growing pauses between attempts.

use std::time::Duration;
use tokio::time::Instant;

/// Pauses that double from a first to a longest one, each shortened at random, with an optional deadline.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    next: Duration,
    longest: Duration,
    jitter: f64,
    deadline: Option<Instant>,
}

impl Backoff {
    /// Creates pauses from `first` to `longest` without a deadline. Each is shortened by up to a quarter at random, so that clients
    /// that failed at the same time do not retry at the same time.
    #[must_use]
    pub fn new(first: Duration, longest: Duration) -> Self {
        let first = first.min(longest);
        Self { first, next: first, longest, jitter: 0.25, deadline: None }
    }

    /// Sets the largest fraction by which a pause is shortened.
    #[must_use]
    pub fn jitter(mut self, part: f64) -> Self {
        self.jitter = part;
        self
    }

    /// Sets a deadline, `limit` from now.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        self.until(Instant::now() + limit)
    }

    /// Sets a deadline.
    #[must_use]
    pub fn until(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets the longest pause, starting with the next one.
    pub fn grow_to(&mut self, longest: Duration) {
        self.longest = longest;
    }

    /// Starts again with the first pause, because the last attempt made progress.
    pub fn reset(&mut self) {
        self.next = self.first;
    }

    /// Returns the time until the deadline; the maximum if there is none.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Whether there is time for another attempt after the next pause.
    #[must_use]
    pub fn has_time(&self) -> bool {
        self.next < self.left()
    }

    /// Waits. Returns false at once if the deadline would pass.
    pub async fn pause(&mut self) -> bool {
        self.pause_at_least(Duration::ZERO).await
    }

    /// As [`Self::pause`], but waits at least `least`, which the server requested.
    pub async fn pause_at_least(&mut self, least: Duration) -> bool {
        let pause = self.next.mul_f64(1.0 - self.jitter * random()).max(least);
        if self.next.max(least) >= self.left() {
            return false;
        }
        tokio::time::sleep(pause).await;
        self.next = (self.next * 2).min(self.longest);
        true
    }
}

/// Returns a random number from 0 to 1. Not for secrets.
#[must_use]
pub fn random() -> f64 {
    let mut bytes = [0; 4];
    // Without random bytes, there is no jitter, which is harmless.
    let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(100);

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_the_longest_and_start_again() {
        let mut backoff = Backoff::new(FIRST, 4 * FIRST).jitter(0.0);
        let mut pauses = Vec::new();
        for n in 0..5 {
            if n == 4 {
                backoff.reset();
            }
            let started = Instant::now();
            assert!(backoff.pause().await);
            pauses.push(started.elapsed().as_millis() / 100);
        }
        assert_eq!(pauses, [1, 2, 4, 4, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_shortened_at_random_but_not_below_the_requested_time() {
        let mut backoff = Backoff::new(FIRST, FIRST);
        for _ in 0..50 {
            let started = Instant::now();
            backoff.pause().await;
            let took = started.elapsed();
            assert!(took >= FIRST.mul_f64(0.75) && took <= FIRST + Duration::from_millis(1), "{took:?}");
        }
        let started = Instant::now();
        backoff.pause_at_least(3 * FIRST).await;
        assert!(started.elapsed() >= 3 * FIRST);
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_end_at_the_deadline() {
        let mut backoff = Backoff::new(FIRST, FIRST).within(FIRST * 5 / 2);
        assert!(backoff.has_time() && backoff.pause().await && backoff.pause().await);
        let started = Instant::now();
        assert!(!backoff.has_time() && !backoff.pause().await);
        assert!(started.elapsed().is_zero());
    }
}
