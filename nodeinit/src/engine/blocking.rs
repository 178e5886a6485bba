//! Work that blocks.

use crate::engine::error::{Exit, StepError};

/// Runs work that blocks on the disk beside the async tasks; it ends even where the caller is dropped.
///
/// # Errors
/// The work's own.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StepError> + Send + 'static,
) -> Result<T, StepError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(e) => Err(StepError::caused("a task of nodeinit ended early", e).exit(Exit::Defect)),
    }
}
