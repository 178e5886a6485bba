//! Growing pauses between attempts.

use std::time::Duration;
use tokio::time::Instant;

/// Pauses that double from a first to a longest one, each shortened at random, up to a deadline if there is one.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    next: Duration,
    longest: Duration,
    jitter: f64,
    deadline: Option<Instant>,
}

impl Backoff {
    /// Pauses from `first` to `longest` without a deadline. Each is shortened by up to a quarter at random, so that many who
    /// failed at the same time do not retry at the same time.
    #[must_use]
    pub fn new(first: Duration, longest: Duration) -> Self {
        let first = first.min(longest);
        Self { first, next: first, longest, jitter: 0.25, deadline: None }
    }

    /// Sets the largest part of a pause by which it is shortened.
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

    /// Sets what pauses grow to from the next one on.
    pub fn grow_to(&mut self, longest: Duration) {
        self.longest = longest;
    }

    /// Starts again with the first pause, because the last attempt made progress.
    pub fn reset(&mut self) {
        self.next = self.first;
    }

    /// The time that is left until the deadline; without one, for ever.
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

    /// As [`Self::pause`], but waits no less than `least`, which the other side asked for.
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

/// A number from 0 to 1. Not for secrets.
#[must_use]
pub fn random() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness there is no jitter, and no harm.
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
            let begun = Instant::now();
            assert!(backoff.pause().await);
            pauses.push(begun.elapsed().as_millis() / 100);
        }
        assert_eq!(pauses, [1, 2, 4, 4, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_shortened_at_random_but_not_below_what_was_asked_for() {
        let mut backoff = Backoff::new(FIRST, FIRST);
        for _ in 0..50 {
            let begun = Instant::now();
            backoff.pause().await;
            let took = begun.elapsed();
            assert!(took >= FIRST.mul_f64(0.75) && took <= FIRST + Duration::from_millis(1), "{took:?}");
        }
        let begun = Instant::now();
        backoff.pause_at_least(3 * FIRST).await;
        assert!(begun.elapsed() >= 3 * FIRST);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_waited_beyond_the_deadline() {
        let mut backoff = Backoff::new(FIRST, FIRST).within(FIRST * 5 / 2);
        assert!(backoff.has_time() && backoff.pause().await && backoff.pause().await);
        let begun = Instant::now();
        assert!(!backoff.has_time() && !backoff.pause().await);
        assert!(begun.elapsed().is_zero());
    }
}
