use crate::{engine::error::StepError, host::files::Files};
pub(crate) fn cluster(_: &Files, _: &[std::path::PathBuf]) -> Result<nodeinit_config::Cluster, StepError> {
    Err(StepError::new(""))
}
