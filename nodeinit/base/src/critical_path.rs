//! When each piece of work began and ended, and which pieces made a run as long as it was.

use std::time::Duration;

/// The times of one piece of work, from the run's start.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar<N> {
    /// What it is.
    pub name: N,
    /// What it waited for.
    pub needs: Vec<N>,
    /// When it began.
    pub start: Duration,
    /// When it ended.
    pub end: Duration,
}

/// The critical path: from the piece of work that ended last, back along the need that ended last, in the order of time.
#[must_use]
pub fn critical_path<N: PartialEq>(bars: &[Bar<N>]) -> Vec<&Bar<N>> {
    let mut path: Vec<&Bar<N>> = Vec::new();
    let mut at = bars.iter().max_by_key(|bar| bar.end);
    while let Some(bar) = at {
        path.push(bar);
        // Two that need each other must not lead in a circle.
        let needed = bars.iter().filter(|b| bar.needs.contains(&b.name) && !path.iter().any(|p| p.name == b.name));
        at = needed.max_by_key(|b| b.end);
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_critical_path_follows_what_ended_last() {
        let bar = |name: &'static str, needs: &[&'static str], start, end| Bar {
            name,
            needs: needs.to_vec(),
            start: Duration::from_secs(start),
            end: Duration::from_secs(end),
        };
        let bars = [bar("a", &[], 0, 1), bar("b", &["a"], 1, 5), bar("c", &["a"], 1, 2), bar("d", &["b", "c"], 5, 6)];
        let names: Vec<&str> = critical_path(&bars).into_iter().map(|bar| bar.name).collect();
        assert_eq!(names, ["a", "b", "d"]);
        assert!(critical_path::<&str>(&[]).is_empty());
        let circle = [bar("a", &["b"], 0, 1), bar("b", &["a"], 0, 2)];
        assert_eq!(critical_path(&circle).len(), 2);
    }
}
