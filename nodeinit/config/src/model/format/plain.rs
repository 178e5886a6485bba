//! Sentences, numbers and durations.

use super::Format;
use crate::{
    model::{names::verdict, values::Share},
    problem::Flaw,
};
use std::time::Duration;

/// A hint for the operator.
pub static SENTENCE: Format = Format::new("a sentence", "remove the flag", sentence);
/// A count.
pub static COUNT: Format =
    Format::new("a number from 1 to 1000", "50", |t| count(t).map(drop)).pattern("^[0-9]+$").loose();
/// A number of machines, or a percentage.
pub static SHARE: Format = Format::new("a number from 1 to 1000, or a percentage", "10%", |t| share(t).map(drop))
    .pattern("^[0-9]+%?$")
    .loose();
/// A duration.
pub static DURATION: Format =
    Format::new("a duration", "90s", |t| duration(t).map(drop)).pattern("^([0-9]+(h|m|s|ms))+$");

fn sentence(text: &str) -> Result<(), Flaw> {
    verdict(!text.is_empty() && !text.contains(char::is_control), text, "a sentence", "write one line of text")
}

pub(crate) fn count(text: &str) -> Result<usize, Flaw> {
    let wrong = || Flaw::new(format!("{text:?} is not a number from 1 to 1000"), "write a number from 1 to 1000");
    text.parse().ok().filter(|count| (1..=1000).contains(count)).ok_or_else(wrong)
}

pub(crate) fn share(text: &str) -> Result<Share, Flaw> {
    text.parse().map_err(|what: String| Flaw::new(what, "write a number such as 3, or a percentage such as 10%"))
}

/// The maximum: longer waits are mistakes.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

pub(crate) fn duration(text: &str) -> Result<Duration, Flaw> {
    let wrong = || Flaw::new(format!("{text:?} is not a duration"), "write a number and a unit: 500ms, 90s, 5m, 1h30m");
    // No wait takes days.
    let read = nodeinit_base::duration::parse(text).filter(|_| !text.contains('d'));
    match read.ok_or_else(wrong)? {
        Duration::ZERO => Err(Flaw::new(format!("{text:?} is zero"), "write at least 1s")),
        total if total > LONGEST => Err(Flaw::new(format!("{text:?} is longer than a day"), "write at most 24h")),
        total => Ok(total),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        let of = |text: &str, total| share(text).unwrap().of(total);
        assert_eq!((of("3", 100), of("10%", 45), of("10%", 2), of("100%", 7)), (3, 4, 1, 7));
        for wrong in ["", "0", "0%", "101%", "1001", "-1", "+1", "10 %", "1.5", "%"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", "90", "s", "1d", "-1s", "0s", "25h", "1.5m", "99999999999999999999s", "5é"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
