//! Sends events to systemd's journal, and with `--verbose` to standard error, in addition to the report.

use nodeinit_base::DETAIL;
use nodeinit_screen::{detail::Detail, tell};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
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
    let detail = verbose.then(Detail::from_now);
    let _ = tracing_subscriber::registry().with(journald).with(detail).with(ours).try_init();
}
