//! The expiry of certificates.

use std::time::{Duration, SystemTime};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// Certificates that expire sooner are reported.
pub const SOON: Duration = Duration::from_secs(90 * DAY);
const DAY: u64 = 24 * 3600;

/// Returns the whole days until `until`; negative if it has passed.
#[must_use]
pub fn days_left(until: SystemTime, now: SystemTime) -> i64 {
    let days = |span: Duration| i64::try_from(span.as_secs() / DAY).unwrap_or(i64::MAX);
    match until.duration_since(now) {
        Ok(left) => days(left),
        Err(e) => -1 - days(e.duration()),
    }
}

/// Formats a time as `2026-01-31T12:00:00Z`.
#[must_use]
pub fn date(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    let seconds = time - Duration::from_nanos(time.nanosecond().into());
    // Rfc3339 fails only beyond the year 9999.
    seconds.format(&Rfc3339).unwrap_or_else(|_| "after the year 9999".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_whole_and_the_past_is_negative() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 * DAY);
        let left = |seconds: i64| {
            let span = Duration::from_secs(seconds.unsigned_abs());
            days_left(if seconds < 0 { now - span } else { now + span }, now)
        };
        assert_eq!([left(0), left(86_399), left(86_400), left(-1), left(-86_400)], [0, 0, 1, -1, -2]);
        assert_eq!(date(now), "1972-09-27T00:00:00Z");
    }
}
