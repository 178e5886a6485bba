//! The critical path of a run: the chain of work that determined its length.

use std::time::Duration;

/// The times of one piece of work, from the start of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar<N> {
    /// Its identity.
    pub name: N,
    /// Its dependencies.
    pub needs: Vec<N>,
    /// When it started.
    pub start: Duration,
    /// When it ended.
    pub end: Duration,
}

/// Returns the critical path in chronological order: the piece of work that ended last, its dependency that ended last, and so on.
#[must_use]
pub fn critical_path<N: PartialEq>(bars: &[Bar<N>]) -> Vec<&Bar<N>> {
    let mut path: Vec<&Bar<N>> = Vec::new();
    let mut at = bars.iter().max_by_key(|bar| bar.end);
    while let Some(bar) = at {
        path.push(bar);
        // Stops at a dependency cycle.
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
