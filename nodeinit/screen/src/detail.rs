//! Debug detail on standard error.

use crate::tell;
use nodeinit_base::DETAIL;
use std::{fmt, time::Instant};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context};

/// Prints debug detail to standard error. All other events are in a report already.
pub struct Detail {
    start: Instant,
}

impl Detail {
    /// Shows the time since now.
    #[must_use]
    pub fn from_now() -> Self {
        Self { start: Instant::now() }
    }
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
