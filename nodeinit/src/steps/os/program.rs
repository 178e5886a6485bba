//! Runs programs of the distribution, which may have to wait for a lock.

use crate::{context::Context, engine::error::StepError};
use std::time::Duration;
use tokio::time::Instant;

/// The pause before another attempt while another package manager runs.
const PAUSE: Duration = Duration::from_secs(2);

/// Runs a program; while it reports a lock of another process, waits and runs it again until `limit`.
pub(super) async fn run(cx: &Context, argv: &[&str], limit: Duration) -> Result<(), StepError> {
    let until = Instant::now() + limit;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let Err(error) = cx.commands.run(argv, left.max(PAUSE)).await else { return Ok(()) };
        let text = error.to_string();
        if !["Could not get lock", "is locked", "Unable to lock"].iter().any(|lock| text.contains(lock)) || left < PAUSE
        {
            return Err(error.into());
        }
        tokio::time::sleep(PAUSE).await;
    }
}
