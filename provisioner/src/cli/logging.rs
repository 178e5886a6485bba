//! Where debug detail goes.

use nodeinit_base::DETAIL;
use nodeinit_screen::detail::Detail;
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// Prints debug detail to standard error, if it is asked for.
pub(super) fn start(verbose: bool) {
    if verbose {
        // Ours alone: the HTTP client has its own.
        let ours = Targets::new().with_target(DETAIL, LevelFilter::INFO);
        let _ = tracing_subscriber::registry().with(Detail::from_now()).with(ours).try_init();
    }
}
