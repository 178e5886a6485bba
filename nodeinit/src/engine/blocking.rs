//! Runs blocking work on another thread.

use crate::engine::error::{Exit, StepError};

/// Runs work that blocks on the disk on another thread; it completes even if the caller is dropped.
///
/// # Errors
/// If the work fails.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StepError> + Send + 'static,
) -> Result<T, StepError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(e) => Err(StepError::caused("a task of nodeinit ended unexpectedly", e).exit(Exit::Defect)),
    }
}
