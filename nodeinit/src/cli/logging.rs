//! Sends events to systemd's journal, and with `--verbose` to standard error, in addition to the report.

use nodeinit_base::DETAIL;
use nodeinit_screen::tell;
use std::{fmt, time::Instant};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    layer::{Context, SubscriberExt},
    util::SubscriberInitExt,
};

/// `debug` has the effect of `--verbose`, for units and for machines that another one starts.
const VARIABLE: &str = "NODEINIT_LOG";

/// Whether debug detail is enabled by the flag or the variable.
pub(super) fn is_verbose(flag: bool) -> bool {
    flag || std::env::var_os(VARIABLE).is_some_and(|value| value == "debug")
}

/// Starts to send events to their destinations.
pub(super) fn start(flag: bool) {
    if let Some(other) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty() && value != "debug") {
        tell(&format!("warning: {VARIABLE} is {other:?}, which has no effect\n  hint:  its only value is `debug`"));
    }
    let verbose = is_verbose(flag);
    let detail = if verbose { LevelFilter::INFO } else { LevelFilter::OFF };
    // Only nodeinit's events: HTTP/2 traces every frame, which would flood journald.
    let ours = Targets::new().with_target("nodeinit", LevelFilter::INFO).with_target(DETAIL, detail);
    // Without journald (in a chroot or a container) there is only the terminal.
    let journald = tracing_journald::layer().ok().map(|layer| layer.with_field_prefix(None));
    let detail = verbose.then(|| Detail { start: Instant::now() });
    let _ = tracing_subscriber::registry().with(journald).with(detail).with(ours).try_init();
}

/// Prints debug detail to standard error. The report already contains all other events.
struct Detail {
    start: Instant,
}

impl<S: Subscriber> Layer<S> for Detail {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == DETAIL {
            let mut text = Text(format!("{:7.2}s  debug: ", self.start.elapsed().as_secs_f64()));
            event.record(&mut text);
            tell(&text.0);
        }
    }
}

/// The message of an event.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 += &format!("{value:?}");
        }
    }
}
