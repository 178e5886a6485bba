//! What people and programs read: lines of text, or one JSON object a line.

use crate::{
    error::{Cause, Error},
    timeline::{Place, Timeline},
};
use clap::ValueEnum;
use nodeinit_base::atomic_file;
use nodeinit_protocol::run::Header;
use nodeinit_screen::{Screen, is_terminal, tell, visible};
use serde_json::{Value, json};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    convert::Infallible,
    io::{self, Write},
    path::{Path, PathBuf},
    rc::Rc,
    time::{Duration, Instant},
};

/// How often running work is drawn again.
const TICK: Duration = Duration::from_millis(100);

/// How to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal or a log.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Where results go. Cheap to clone.
#[derive(Clone)]
pub struct Output {
    format: Format,
    /// Only results and failures are shown.
    quiet: bool,
    screen: Rc<RefCell<Screen>>,
    begun: Rc<Cell<Instant>>,
    under_way: Rc<RefCell<BTreeMap<String, (Place, Duration)>>>,
    timeline: Rc<Timeline>,
}

impl Output {
    /// Standard output. On a terminal, running work is shown below it.
    #[must_use]
    pub fn new(format: Format) -> Self {
        let live = format == Format::Text && is_terminal();
        let screen = Rc::new(RefCell::new(Screen::new(io::stdout(), live)));
        let begun = Rc::new(Cell::new(Instant::now()));
        Self { format, quiet: false, screen, begun, under_way: Rc::default(), timeline: Rc::default() }
    }

    /// Counts times from now: the operator took some to answer a question.
    pub fn restart(&self) {
        self.begun.set(Instant::now());
    }

    /// The same without progress: only results and failures.
    #[must_use]
    pub fn quiet(self) -> Self {
        Self { quiet: true, ..self.plain() }
    }

    /// The same as a plain stream of lines, also on a terminal.
    #[must_use]
    pub fn plain(self) -> Self {
        Self { screen: Rc::new(RefCell::new(Screen::new(io::stdout(), false))), ..self }
    }

    /// Progress: a line of text, or an object.
    pub fn tell(&self, text: &str, object: impl FnOnce() -> Value) {
        if !self.quiet {
            self.result(text, object);
        }
    }

    /// A result: a line of text, or an object.
    pub fn result(&self, text: &str, object: impl FnOnce() -> Value) {
        match self.format {
            Format::Text => self.line(text),
            Format::Json => self.line(&object().to_string()),
        }
    }

    /// A part that failed: to standard error, and as an object.
    pub fn fail(&self, name: &str, error: &Error, at: f64) {
        let hint = error.hint().map(|hint| format!("\n          hint:    {hint}")).unwrap_or_default();
        self.screen.borrow_mut().erase();
        tell(&format!("{at:6.1} s  FAILED   {name}: {error}{hint}"));
        self.object(
            || json!({ "event": "failed", "part": name, "error": error.to_string(), "hint": error.hint(), "at": at }),
        );
    }

    /// An object that has no text of its own.
    pub fn object(&self, object: impl FnOnce() -> Value) {
        if self.format == Format::Json {
            self.line(&object().to_string());
        }
    }

    /// Text that has no object.
    pub fn text(&self, text: &str) {
        if self.format == Format::Text {
            self.line(text);
        }
    }

    /// Something is under way from now on.
    pub fn begin(&self, name: &str, what: &str) {
        let (now, place) = (self.begun.get().elapsed(), Place::of(name, what));
        self.tell_unrecorded(self.timeline.began(&place, now));
        self.under_way.borrow_mut().insert(name.to_owned(), (place, now));
        self.screen.borrow_mut().begin(name, what, now);
    }

    /// It is under way no more.
    pub fn end(&self, name: &str) {
        self.end_as(name, false);
    }

    /// It is under way no more; whether it failed.
    pub fn end_as(&self, name: &str, failed: bool) {
        let ended = self.under_way.borrow_mut().remove(name);
        if let Some((place, start)) = ended {
            let now = self.begun.get().elapsed();
            self.tell_unrecorded(self.timeline.ended(&place, now, now - start, failed));
        }
        self.screen.borrow_mut().end(name);
    }

    /// What is under way, and for how long.
    #[must_use]
    pub fn under_way(&self) -> Vec<(String, Duration)> {
        let now = self.begun.get().elapsed();
        self.under_way.borrow().iter().map(|(name, (_, start))| (name.clone(), now - *start)).collect()
    }

    /// Records what is under way from now on for `timeline`.
    pub fn record(&self, path: PathBuf, header: Header) {
        self.timeline.record(path, header);
    }

    /// Nothing depends on the record.
    fn tell_unrecorded(&self, recorded: Result<(), Error>) {
        if let Err(error) = recorded {
            let note = format!("this run is not recorded for `timeline`: {error}");
            self.tell(&format!("note     {note}"), || json!({ "event": "note", "what": note }));
        }
    }

    /// Tells what took how long.
    pub fn tell_timeline(&self) {
        let seconds = self.begun.get().elapsed().as_secs_f64();
        self.tell(
            &self.timeline.text(&format!("{seconds:6.1} s  in total")),
            || json!({ "event": "timeline", "seconds": seconds, "rows": self.timeline.rows() }),
        );
    }

    /// Whether what is under way is seen.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.screen.borrow().is_live()
    }

    /// Does some work, with what is under way of it at the foot.
    pub async fn live<T>(&self, work: impl Future<Output = T>) -> T {
        let done = tokio::select! {
            done = work => done,
            never = self.redraw() => match never {},
        };
        self.screen.borrow_mut().clear();
        done
    }

    async fn redraw(&self) -> Infallible {
        loop {
            tokio::time::sleep(TICK).await;
            self.screen.borrow_mut().draw(self.begun.get().elapsed());
        }
    }

    /// Prints what may come from the cloud or from a machine: a terminal gets none of its control characters.
    fn line(&self, text: &str) {
        self.screen.borrow_mut().print(&visible(text), self.begun.get().elapsed());
    }
}

/// A line to standard output. A reader that has gone away is no reason to stop half way.
pub fn line(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// The failure of a command: to standard error, and as an object.
pub fn failure(format: Format, error: &Error) {
    let mut text = format!("error: {error}");
    for cause in error.causes() {
        text += &format!("\n  cause: {cause}");
        text += &cause.hint.as_ref().map(|hint| format!("\n         hint: {hint}")).unwrap_or_default();
    }
    text += &error.hint().filter(|hint| !hint.is_empty()).map(|hint| format!("\n  hint:  {hint}")).unwrap_or_default();
    tell(&text);
    if format == Format::Json {
        let causes: Vec<Value> = error.causes().iter().map(Cause::object).collect();
        let object = json!({
            "event": "error", "error": error.to_string(), "hint": error.hint(), "causes": causes, "problems": error.problems(),
        });
        line(&visible(&object.to_string()));
    }
}

/// Writes a file that only its owner may read; whole, or not at all.
///
/// # Errors
/// Where there is no room, or no such directory.
pub fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    atomic_file::write_private(path, text.as_bytes()).map_err(|e| Error::Refused {
        what: format!("cannot write {}: {e}", path.display()),
        remedy: "free some space, or use another path".to_owned(),
    })
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

    #[test]
    fn what_the_cloud_answers_has_no_control_characters() {
        for (format, printed) in [
            (Format::Text, "server/m1 \\u001b[2JERROR\nnext\n"),
            (Format::Json, "{\"what\":\"\\u001b[2J\\u009b31m\"}\n"),
        ] {
            let out = Shared::default();
            let output =
                Output { screen: Rc::new(RefCell::new(Screen::new(out.clone(), false))), ..Output::new(format) };
            output.tell("server/m1 \x1b[2JERROR\nnext", || json!({ "what": "\x1b[2J\u{9b}31m" }));
            assert_eq!(String::from_utf8(out.0.lock().unwrap().clone()).unwrap(), printed);
        }
    }
}
