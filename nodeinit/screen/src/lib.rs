//! Terminal output with the running work in the bottom lines, or a plain stream of lines.

pub mod chart;
pub mod detail;
pub mod run;

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, IsTerminal, Write},
    time::Duration,
};

/// The maximum number of rows; further running steps are only counted.
const ROWS: usize = 12;

struct Row {
    step: String,
    title: String,
    since: Duration,
}

/// Makes text of other machines and of the cloud safe for a terminal: control characters and those that change the direction of
/// the text become `\u001b`, as in JSON, so that a JSON string keeps its meaning. Line feeds and tabs stay.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| {
        (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

fn one_line(text: &str) -> String {
    visible(text).replace('\n', " ")
}

/// Prints a line to standard error. A closed pipe (`2>&1 | head`) is not a failure; `eprintln!` would panic.
pub fn tell(text: &str) {
    let mut line = visible(text).into_owned();
    line.push('\n');
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Whether standard output is a terminal that knows control characters, which `TERM=dumb` does not.
#[must_use]
pub fn is_terminal() -> bool {
    io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|value| value != "dumb")
}

/// Clears the terminal; prints an empty line if standard output is not a terminal or does not support control characters.
pub fn clear() {
    let text = if is_terminal() { "\x1b[H\x1b[2J" } else { "\n" };
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

/// The output of lines.
pub struct Screen {
    out: Box<dyn Write + Send>,
    live: bool,
    rows: Vec<Row>,
    /// The number of rows that are drawn now.
    drawn: usize,
}

impl Screen {
    /// Creates an output. `live`: it is a terminal, and rows can be redrawn.
    pub fn new(out: impl Write + Send + 'static, live: bool) -> Self {
        Self { out: Box::new(out), live, rows: Vec::new(), drawn: 0 }
    }

    /// Whether rows are drawn.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Adds a row, which is shown at the next redraw.
    pub fn begin(&mut self, step: &str, title: &str, now: Duration) {
        self.rows.push(Row { step: step.into(), title: one_line(title), since: now });
    }

    /// Sets the detail of a row.
    pub fn detail(&mut self, step: &str, text: &str) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.step == step) {
            row.title = one_line(text);
        }
    }

    /// Removes a row.
    pub fn end(&mut self, step: &str) {
        self.rows.retain(|row| row.step != step);
    }

    /// Prints a line above the rows without changes: foreign text must be passed through [`visible`]. An empty line only redraws the rows.
    pub fn print(&mut self, line: &str, now: Duration) {
        let mut text = self.erased();
        if !line.is_empty() {
            text += line;
            text.push('\n');
        }
        text += &self.foot(now);
        self.write(&text);
    }

    /// Redraws the rows.
    pub fn draw(&mut self, now: Duration) {
        if self.live && (self.drawn > 0 || !self.rows.is_empty()) {
            self.print("", now);
        }
    }

    /// Removes all rows, and erases them.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.erase();
    }

    /// Erases the rows until the next redraw, because something else is about to write to the terminal.
    pub fn erase(&mut self) {
        let text = self.erased();
        self.write(&text);
    }

    fn erased(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            // Up to the first row, then clear to the end of the screen.
            rows => format!("\x1b[{rows}A\x1b[J"),
        }
    }

    fn foot(&mut self, now: Duration) -> String {
        if !self.live || self.rows.is_empty() {
            return String::new();
        }
        let mut lines: Vec<String> = self
            .rows
            .iter()
            .take(ROWS)
            .map(|row| {
                let seconds = now.saturating_sub(row.since).as_secs_f64();
                format!("{seconds:6.1}s  … {}: {}", one_line(&row.step), row.title)
            })
            .collect();
        if self.rows.len() > ROWS {
            lines.push(format!("         … and {} more", self.rows.len() - ROWS));
        }
        self.drawn = lines.len();
        // Without line wrapping, a long row stays one row on a narrow terminal.
        format!("\x1b[?7l{}\n\x1b[?7h", lines.join("\n"))
    }

    fn write(&mut self, text: &str) {
        // A closed terminal or pipe does not stop the bootstrap.
        let _: io::Result<()> = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Shared {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    #[test]
    fn lines_are_printed_above_the_rows() {
        let out = Shared::default();
        let mut screen = Screen::new(out.clone(), true);
        screen.begin("etcd", "wait for etcd", Duration::ZERO);
        screen.draw(Duration::from_secs(2));
        screen.end("etcd");
        screen.print("✓ etcd", Duration::from_secs(3));
        assert_eq!(out.text(), "\x1b[?7l   2.0s  … etcd: wait for etcd\n\x1b[?7h\x1b[1A\x1b[J✓ etcd\n");
    }

    #[test]
    fn cleared_rows_are_erased() {
        let out = Shared::default();
        let mut screen = Screen::new(out.clone(), true);
        screen.begin("etcd", "wait", Duration::ZERO);
        screen.draw(Duration::ZERO);
        screen.clear();
        screen.draw(Duration::ZERO);
        assert!(out.text().ends_with("\x1b[1A\x1b[J"), "{:?}", out.text());
    }

    #[test]
    fn a_row_is_one_line_without_control_characters() {
        let out = Shared::default();
        let mut screen = Screen::new(out.clone(), true);
        screen.begin("host-m2", "title\x1b[2J", Duration::ZERO);
        screen.detail("host-m2", "one\ntwo\x1b[31m");
        screen.draw(Duration::ZERO);
        assert_eq!(out.text(), "\x1b[?7l   0.0s  … host-m2: one two\\u001b[31m\n\x1b[?7h");
    }

    #[test]
    fn a_stream_receives_lines_only() {
        let out = Shared::default();
        let mut screen = Screen::new(out.clone(), false);
        screen.begin("etcd", "wait", Duration::ZERO);
        screen.draw(Duration::ZERO);
        screen.print("one", Duration::ZERO);
        assert_eq!(out.text(), "one\n");
    }
}
