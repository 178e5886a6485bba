//! When each step began and ended, and which steps made the run as long as it was.

use crate::engine::report::PathPart;
use std::time::Duration;

/// One step's times, from the run's start.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The step.
    pub step: String,
    /// What it waited for.
    pub needs: Vec<String>,
    /// When it began.
    pub start: Duration,
    /// When it ended.
    pub end: Duration,
}

/// The critical path: from the step that ended last, back along the need that ended last, in the order of time.
#[must_use]
pub fn critical_path(bars: &[Bar]) -> Vec<PathPart> {
    let mut path = Vec::new();
    let mut at = bars.iter().max_by_key(|bar| bar.end);
    while let Some(bar) = at {
        path.push(PathPart {
            step: bar.step.clone(),
            start: super::report::rounded(bar.start),
            seconds: super::report::rounded(bar.end.saturating_sub(bar.start)),
        });
        at = bars.iter().filter(|b| bar.needs.contains(&b.step)).max_by_key(|b| b.end);
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_critical_path_follows_what_ended_last() {
        let bar = |step: &str, needs: &[&str], start, end| Bar {
            step: step.into(),
            needs: needs.iter().map(ToString::to_string).collect(),
            start: Duration::from_secs(start),
            end: Duration::from_secs(end),
        };
        let bars = [bar("a", &[], 0, 1), bar("b", &["a"], 1, 5), bar("c", &["a"], 1, 2), bar("d", &["b", "c"], 5, 6)];
        let steps: Vec<String> = critical_path(&bars).into_iter().map(|p| p.step).collect();
        assert_eq!(steps, ["a", "b", "d"]);
        assert!(critical_path(&[]).is_empty());
    }
}
