//! Kernel parameters that steps set. The journal records the values before, which `reset` restores.

use crate::{
    context::Context,
    engine::{error::StepError, journal::Record},
    host::kernel,
};

/// A parameter that differs.
pub(super) struct Change {
    pub key: String,
    pub before: String,
    pub value: String,
}

/// Records the changes, then sets the parameters.
pub(super) fn set(cx: &Context, changes: &[Change]) -> Result<(), StepError> {
    let record = |change: &Change| Record::Sysctl { key: change.key.clone(), before: change.before.clone() };
    cx.journal.intend(changes.iter().map(record).collect())?;
    for Change { key, value, .. } in changes {
        kernel::set_sysctl(&cx.files, key, value).map_err(|e| {
            let hint = "check the value, and whether this machine is a container";
            StepError::from(e).hint(format!("the kernel rejects {key} = {value}: {hint}"))
        })?;
    }
    Ok(())
}
