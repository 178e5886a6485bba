//! Reports progress to users and programs.

use crate::engine::{error::StepError, runs::Recorder, status::Status, step_id::StepId};
use nodeinit_base::critical_path::{self, Bar};
use nodeinit_protocol::Line;
use nodeinit_screen::{Screen, visible};
use std::{
    collections::BTreeMap,
    fmt,
    io::{IsTerminal, Write},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

pub use nodeinit_protocol::event::{ConfigProblem, Event, LOCK, PathPart};

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain text, with colours on a terminal.
    Text,
    /// One JSON object per line.
    Json,
    /// Nothing, for tests and for commands that print their own output.
    Silent,
}

/// Where events go. Cheap to clone.
#[derive(Clone)]
pub struct Report {
    style: Style,
    /// Whether only failures and results are shown.
    quiet: bool,
    /// The output of progress on standard output.
    colour: bool,
    /// The output of failures on standard error.
    error_colour: bool,
    start: Instant,
    /// This machine's name, for the systemd journal.
    host: Arc<str>,
    screen: Arc<Mutex<Screen>>,
    /// Records events for `nodeinit timeline`.
    recorder: Arc<OnceLock<Mutex<Recorder>>>,
    /// The status line of the service.
    status: Arc<Mutex<Status>>,
    /// Each warning that was printed, and the other machines that have it, too.
    warnings: Arc<Mutex<BTreeMap<String, Vec<String>>>>,
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Report({:?})", self.style)
    }
}

impl Report {
    /// Creates a report on standard output, with failures on standard error; on a terminal, the bottom lines show the running steps.
    /// It respects `NO_COLOR`, `CLICOLOR_FORCE` (no-color.org, bixense.com/clicolors) and `TERM=dumb`.
    #[must_use]
    pub fn stdout(style: Style) -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let terminal = std::io::stdout().is_terminal() && !dumb;
        let colour = |terminal| !is_set("NO_COLOR") && !dumb && (terminal || is_set("CLICOLOR_FORCE"));
        Self {
            style,
            quiet: false,
            colour: colour(terminal),
            error_colour: colour(std::io::stderr().is_terminal()),
            start: Instant::now(),
            host: nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into(),
            screen: Arc::new(Mutex::new(Screen::new(std::io::stdout(), terminal && style == Style::Text))),
            recorder: Arc::default(),
            status: Arc::default(),
            warnings: Arc::default(),
        }
    }

    /// Creates a report that prints nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self::stdout(Style::Silent)
    }

    /// Returns the same report without progress: it shows failures, and the result of `plan`.
    #[must_use]
    pub fn quiet(self) -> Self {
        Self { quiet: true, ..self.plain() }
    }

    /// Returns the same report as a plain stream of lines, also on a terminal.
    #[must_use]
    pub fn plain(self) -> Self {
        Self { screen: Arc::new(Mutex::new(Screen::new(std::io::stdout(), false))), ..self }
    }

    /// Records the events from now on.
    pub fn record(&self, recorder: Recorder) {
        // One run has one record.
        let _ = self.recorder.set(Mutex::new(recorder));
    }

    fn keep(&self, host: Option<&str>, event: &Event) {
        if let Some(recorder) = self.recorder.get() {
            recorder.lock().unwrap_or_else(PoisonError::into_inner).take(event, &self.json(host, event));
        }
    }

    /// Returns the time since the start of the run.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Reports an event, also to the systemd journal, with the step as `NODEINIT_STEP`.
    pub fn tell(&self, event: &Event) {
        log(&self.host, event);
        self.keep(None, event);
        self.status().tell(event);
        let mut screen = self.screen();
        self.complain(&mut screen, None, event);
        if self.is_known_warning(None, event) {
            return;
        }
        let Some(mut line) = self.line(None, event) else { return };
        match event {
            Event::Started { step, title } if screen.is_live() => {
                screen.begin(step, title, self.elapsed());
                screen.draw(self.elapsed());
            }
            Event::Done { step, .. } | Event::Failed { step, .. } => {
                screen.end(step);
                screen.print(&line, self.elapsed());
            }
            Event::Summary { .. } if self.style == Style::Text => {
                line.push_str(&self.repeated_warnings());
                screen.print(&line, self.elapsed());
            }
            _ => screen.print(&line, self.elapsed()),
        }
    }

    /// Whether this is a warning that people have read already. Another machine that has it is kept for the summary.
    fn is_known_warning(&self, host: Option<&str>, event: &Event) -> bool {
        let Event::Note { step, text } = event else { return false };
        if self.style != Style::Text || *step != StepId::Preflight.to_string() {
            return false;
        }
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(hosts) = warnings.get_mut(text) else {
            warnings.insert(text.clone(), Vec::new());
            return false;
        };
        hosts.extend(host.map(str::to_owned));
        true
    }

    /// Which machines have warnings that were printed for another machine.
    fn repeated_warnings(&self) -> String {
        let warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let mut checks: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (text, hosts) in warnings.iter().filter(|(_, hosts)| !hosts.is_empty()) {
            let mut hosts = hosts.clone();
            hosts.sort();
            checks.entry(hosts.join(", ")).or_default().push(text.split(':').next().unwrap_or_default());
        }
        checks.into_iter().fold(String::new(), |lines, (hosts, checks)| {
            lines + &visible(&format!("\nsame warnings on {hosts}: {}", checks.join(", ")))
        })
    }

    /// Reports an event of another machine, with its name as `host` and as `NODEINIT_HOST`. On a terminal, such a machine is one
    /// row, which [`Report::detail`] fills.
    pub fn relay(&self, host: &str, event: &Event) {
        log(host, event);
        self.keep(Some(host), event);
        let mut screen = self.screen();
        self.complain(&mut screen, Some(host), event);
        let is_row = matches!(event, Event::Started { .. }) && screen.is_live();
        // The summary of another machine's run is not reported here.
        if is_row || (self.style == Style::Text && matches!(event, Event::Summary { .. })) {
            return;
        }
        if self.is_known_warning(Some(host), event) {
            return;
        }
        if let Some(line) = self.line(Some(host), event) {
            screen.print(&line, self.elapsed());
        }
    }

    /// Adds detail to a running step; shown on a terminal and in `systemctl status`.
    pub fn detail(&self, step: &str, text: &str) {
        self.status().detail(step, text);
        self.screen().detail(step, text);
    }

    /// Prints a failure to standard error as text, in every style: programs read the event.
    fn complain(&self, screen: &mut Screen, host: Option<&str>, event: &Event) {
        if self.style != Style::Silent && matches!(event, Event::Failed { .. }) {
            screen.erase();
            let mut line = self.text(host, event, self.error_colour);
            line.push('\n');
            // A closed pipe is not a failure.
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        }
    }

    /// Returns the line for an event on standard output: empty if it shows nothing, `None` if the report is silent.
    fn line(&self, host: Option<&str>, event: &Event) -> Option<String> {
        match (self.style, event) {
            (Style::Silent, _) => None,
            (_, Event::Started { .. } | Event::Done { .. } | Event::Note { .. } | Event::Summary { .. })
                if self.quiet =>
            {
                None
            }
            (Style::Json, _) => Some(self.json(host, event)),
            (Style::Text, Event::Failed { .. }) => Some(String::new()),
            (Style::Text, _) => Some(self.text(host, event, self.colour)),
        }
    }

    /// Redraws the running steps, each with its elapsed time; call it a few times per second.
    pub fn tick(&self) {
        self.screen().draw(self.elapsed());
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports a note.
    pub fn note(&self, step: &str, text: impl Into<String>) {
        self.tell(&Event::Note { step: step.into(), text: text.into() });
    }

    /// Reports a step's failure.
    pub fn failed(&self, step: &str, error: &StepError) {
        self.tell(&Event::Failed {
            step: step.into(),
            error: error.to_string(),
            causes: error.causes(),
            hint: error.advice().map(ToOwned::to_owned),
            problems: error.problems().iter().map(Into::into).collect(),
        });
    }

    fn json(&self, host: Option<&str>, event: &Event) -> String {
        let line = Line { event: event.clone(), host: host.map(str::to_owned), elapsed: rounded(self.elapsed()) };
        let value = serde_json::to_value(line).unwrap_or_default();
        visible(&value.to_string()).into_owned()
    }

    fn text(&self, host: Option<&str>, event: &Event, colour: bool) -> String {
        let on = |step: &str| visible(&host.map_or(step.to_owned(), |host| format!("{host} {step}"))).into_owned();
        let at = format!("{:7.2}s", self.elapsed().as_secs_f64());
        let paint = |code: &str, text: &str| if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() };
        match event {
            Event::Started { step, title } => {
                format!("{at}  {} {}: {}", paint("36", "…"), on(step), visible(title))
            }
            Event::Done { step, changed: true, seconds } => {
                format!("{at}  {} {} ({seconds:.2} s)", paint("32", "✓"), on(step))
            }
            Event::Done { changed: false, .. } => String::new(),
            Event::Note { step, text } => format!("{at}  {} {}: {}", paint("33", "·"), on(step), visible(text)),
            Event::Failed { step, error, causes, hint, .. } => {
                let mut text = format!("{}: {}", paint("31", "error"), visible(error));
                causes.iter().for_each(|cause| text += &format!("\n  cause: {}", visible(cause)));
                text += &format!("\n  step:  {}", on(step));
                if let Some(hint) = hint {
                    text += &format!("\n  {}:  {}", paint("1", "hint"), visible(hint));
                }
                text
            }
            Event::Planned { step, changes } => {
                let mut text = paint("1", &on(step));
                changes.iter().for_each(|change| text += &format!("\n  - {}", visible(change)));
                text
            }
            Event::Summary { seconds, critical_path, cpu_seconds, peak_memory_bytes } => {
                let mut text = format!("\ncritical path of {seconds:.2} s:");
                for PathPart { step, start, seconds } in critical_path {
                    text += &format!("\n  {start:7.2}s  {seconds:6.2} s  {step}");
                }
                let mb = *peak_memory_bytes as f64 / 1e6;
                text + &format!("\nnodeinit itself: {cpu_seconds:.2} s of processor time, {mb:.1} MB of memory")
            }
        }
    }
}

/// Returns the critical path of a run, as the summary reports it.
#[must_use]
pub fn critical_path(bars: &[Bar<String>]) -> Vec<PathPart> {
    let part = |bar: &Bar<String>| PathPart {
        step: bar.name.clone(),
        start: rounded(bar.start),
        seconds: rounded(bar.end.saturating_sub(bar.start)),
    };
    critical_path::critical_path(bars).into_iter().map(part).collect()
}

/// Returns seconds, rounded to three decimal places.
#[must_use]
pub fn rounded(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

fn log(host: &str, event: &Event) {
    match event {
        Event::Started { step, title } => tracing::info!(nodeinit_host = host, nodeinit_step = %step, "{title}"),
        Event::Done { step, changed, seconds } => {
            tracing::info!(nodeinit_host = host, nodeinit_step = %step, nodeinit_changed = changed, "done after {seconds:.2} s");
        }
        Event::Note { step, text } => tracing::info!(nodeinit_host = host, nodeinit_step = %step, "{text}"),
        Event::Failed { step, error, causes, hint, .. } => {
            let causes = causes.join(": ");
            let hint = hint.as_deref().unwrap_or_default();
            tracing::error!(nodeinit_host = host, nodeinit_step = %step, nodeinit_hint = %hint, "{error}: {causes}");
        }
        Event::Planned { .. } => {}
        Event::Summary { seconds, .. } => tracing::info!(nodeinit_host = host, "ended after {seconds:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_of_several_machines_is_printed_once() {
        let warning = |text: &str| Event::Note { step: "preflight".into(), text: text.into() };
        let report = Report { style: Style::Text, ..Report::silent() };
        assert!(!report.is_known_warning(None, &warning("clock: it is not synchronized")));
        assert!(report.is_known_warning(Some("m2"), &warning("clock: it is not synchronized")));
        assert!(report.is_known_warning(Some("w1"), &warning("clock: it is not synchronized")));
        assert!(!report.is_known_warning(Some("w1"), &warning("mtu: too small")));
        assert_eq!(report.repeated_warnings(), "\nsame warnings on m2, w1: clock");

        let remark = Event::Note { step: "etcd-member".into(), text: "it votes".into() };
        assert!((0..2).all(|_| !report.is_known_warning(Some("m2"), &remark)), "only warnings");
        let json = Report { style: Style::Json, ..Report::silent() };
        assert!(
            (0..2).all(|_| !json.is_known_warning(Some("m2"), &warning("mtu: too small"))),
            "a program counts itself"
        );
    }

    #[test]
    fn events_of_other_machines_are_printed_without_control_characters() {
        let report = Report::silent();
        let hostile = "\x1b]0;title\x07\x1b[2J\r\u{9b}31m\u{202e}";
        let text = || hostile.to_owned();
        let failed = Event::Failed {
            step: text(),
            error: text(),
            causes: vec![text(), "two\nlines".into()],
            hint: Some(text()),
            problems: Vec::new(),
        };
        let events = [
            Event::Started { step: text(), title: text() },
            Event::Done { step: text(), changed: true, seconds: 1.0 },
            Event::Note { step: text(), text: text() },
            failed,
            Event::Planned { step: text(), changes: vec![text()] },
        ];
        for event in &events {
            let line = report.text(Some(hostile), event, true);
            let own = line.replace("\x1b[0m", "").replace("\x1b[1m", "");
            let own =
                ["31", "32", "33", "36"].iter().fold(own, |line, colour| line.replace(&format!("\x1b[{colour}m"), ""));
            assert!(!own.chars().any(|c| c.is_control() && c != '\n') && !own.contains('\u{202e}'), "{own:?}");
            assert!(line.contains("\\u001b]0;title\\u0007"), "it is still readable: {line:?}");
            let json = report.json(Some(hostile), event);
            assert!(!json.chars().any(char::is_control), "{json:?}");
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&json).unwrap()["host"],
                hostile,
                "JSON has it unchanged"
            );
        }
        assert!(report.text(None, &events[3], true).contains("two\nlines"));
    }
}
