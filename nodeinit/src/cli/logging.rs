//! Where events go besides the report: systemd's journal, and with `--verbose` standard error.

use nodeinit_base::DETAIL;
use nodeinit_screen::{detail::Detail, tell};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// `debug`: as `--verbose`, for units and for machines that another one brings up.
const VARIABLE: &str = "NODEINIT_LOG";

/// Whether debug detail is written: the flag is given, or the variable says so.
pub(super) fn is_verbose(flag: bool) -> bool {
    flag || std::env::var_os(VARIABLE).is_some_and(|value| value == "debug")
}

/// Connects events with their readers.
pub(super) fn start(flag: bool) {
    if let Some(other) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty() && value != "debug") {
        tell(&format!("warning: {VARIABLE} is {other:?}, which has no effect\n  hint:  its only value is `debug`"));
    }
    let verbose = is_verbose(flag);
    let detail = if verbose { LevelFilter::INFO } else { LevelFilter::OFF };
    // Ours alone: HTTP/2 traces every frame, and journald would be sent all of it.
    let ours = Targets::new().with_target("nodeinit", LevelFilter::INFO).with_target(DETAIL, detail);
    // Without journald (a chroot, a container) there is only the terminal.
    let journald = tracing_journald::layer().ok().map(|layer| layer.with_field_prefix(None));
    let detail = verbose.then(Detail::from_now);
    let _ = tracing_subscriber::registry().with(journald).with(detail).with(ours).try_init();
}
