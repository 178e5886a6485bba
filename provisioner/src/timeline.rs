//! What took how long: a picture in text, for the end of an `apply`.

use serde_json::{Value, json};
use std::{cell::RefCell, collections::BTreeMap, fmt::Write, time::Duration};

/// The bars' width in characters.
const WIDTH: usize = 60;

/// What took less than this part of the whole is not told.
const SHORTEST: u32 = 50;

/// Rows with bars, in the order in which they began.
#[derive(Debug, Default)]
pub struct Timeline {
    rows: RefCell<Vec<Row>>,
}

/// One thing, or several of a kind that were at work at once.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    name: String,
    count: usize,
    start: Duration,
    end: Duration,
}

impl Timeline {
    /// Something was under way from `start` to `end` since the run began. What has one name makes one row.
    pub fn add(&self, name: &str, start: Duration, end: Duration) {
        let mut rows = self.rows.borrow_mut();
        match rows.iter_mut().find(|row| row.name == name) {
            Some(row) => {
                row.count += 1;
                row.start = row.start.min(start);
                row.end = row.end.max(end);
            }
            None => rows.push(Row { name: name.to_owned(), count: 1, start, end }),
        }
    }

    /// What is long enough to be looked at, in the order in which it began.
    fn seen(&self) -> Vec<Row> {
        let mut rows = self.rows.borrow().clone();
        let whole = rows.iter().map(|row| row.end).max().unwrap_or_default();
        rows.retain(|row| (row.end - row.start) * SHORTEST >= whole);
        rows.sort_by_key(|row| (row.start, row.end));
        rows
    }

    /// A line for each row: name, bar, when it began and ended.
    #[must_use]
    pub fn text(&self) -> String {
        let rows = self.seen();
        let label = |row: &Row| if row.count > 1 { format!("{} ({})", row.name, row.count) } else { row.name.clone() };
        let longest = rows.iter().map(|row| label(row).chars().count()).max().unwrap_or_default();
        let whole = rows.iter().map(|row| row.end).max().unwrap_or_default().as_secs_f64().max(f64::EPSILON);
        let column = |at: Duration| ((at.as_secs_f64() / whole * WIDTH as f64).round() as usize).min(WIDTH);
        rows.iter().fold(String::new(), |mut text, row| {
            let from = column(row.start).min(WIDTH - 1);
            let bar = "█".repeat((column(row.end) - from.min(column(row.end))).max(1));
            let (start, end) = (row.start.as_secs_f64(), row.end.as_secs_f64());
            // Writing to a String does not fail.
            let _ = writeln!(
                text,
                "  {:<longest$} {:<from$}{bar:<rest$} {start:6.1} to {end:5.1} s",
                label(row),
                "",
                rest = WIDTH - from
            );
            text
        })
    }

    /// The same for programs.
    #[must_use]
    pub fn rows(&self) -> Value {
        let row = |row: Row| {
            let (start, end) = (row.start.as_secs_f64(), row.end.as_secs_f64());
            BTreeMap::from([
                ("name", json!(row.name)),
                ("count", json!(row.count)),
                ("start", json!(start)),
                ("end", json!(end)),
            ])
        };
        json!(self.seen().into_iter().map(row).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_their_beginning_and_share_a_scale() {
        let timeline = Timeline::default();
        let seconds = Duration::from_secs;
        timeline.add("servers", seconds(10), seconds(25));
        timeline.add("volumes", seconds(0), seconds(10));
        timeline.add("servers", seconds(12), seconds(30));
        let text = timeline.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("  volumes     █") && lines[0].ends_with("0.0 to  10.0 s"), "{text}");
        assert!(lines[1].starts_with("  servers (2) ") && lines[1].ends_with("10.0 to  30.0 s"), "{text}");
        let bars = |line: &str| line.matches('█').count();
        assert_eq!((bars(lines[0]), bars(lines[1])), (20, 40));
    }

    #[test]
    fn what_is_short_is_left_out() {
        let timeline = Timeline::default();
        assert!(timeline.text().is_empty());
        timeline.add("a moment", Duration::ZERO, Duration::from_millis(100));
        timeline.add("all", Duration::ZERO, Duration::from_secs(9));
        assert_eq!(timeline.text().lines().count(), 1, "{}", timeline.text());
    }
}
