//! The wall clock, which tests may shift.

use std::time::{Duration, SystemTime};

/// The machine's wall clock. Waits use tokio's monotonic time instead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    behind: Duration,
}

impl Clock {
    /// Returns the system's clock.
    ///
    /// With the feature `failpoints`, `NODEINIT_CLOCK_BEHIND` (seconds) sets it back: lab hosts share one kernel clock.
    #[must_use]
    pub fn system() -> Self {
        #[cfg(feature = "failpoints")]
        if let Some(seconds) = std::env::var("NODEINIT_CLOCK_BEHIND").ok().and_then(|v| v.parse().ok()) {
            return Self { behind: Duration::from_secs(seconds) };
        }
        Self::default()
    }

    /// Returns a clock that is `behind` the system's.
    #[cfg(test)]
    #[must_use]
    pub fn behind(behind: Duration) -> Self {
        Self { behind }
    }

    /// Whether it differs from the system's.
    #[must_use]
    pub fn is_shifted(&self) -> bool {
        !self.behind.is_zero()
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        SystemTime::now().checked_sub(self.behind).unwrap_or(SystemTime::UNIX_EPOCH)
    }
}
