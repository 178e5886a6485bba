//! Which disks a program has begun to write. If it was killed before it wrote a signature, the disk is not empty, but has nothing of others.

use crate::{
    context::{Context, blocking},
    engine::{error::StepError, journal::Record},
};

/// Changes at each boot. After one, another disk may have the name.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

fn item(device: &str) -> String {
    format!("os-disks begun {device}")
}

fn boot(cx: &Context) -> Result<String, StepError> {
    Ok(cx.files.read_text(BOOT)?.unwrap_or_default().trim().to_owned())
}

/// Records that a program begins to write an empty disk.
pub(super) async fn note(cx: &Context, device: &str) -> Result<(), StepError> {
    let state = boot(cx)?;
    record(cx, device, state).await
}

/// Records that it has ended.
pub(super) async fn forget(cx: &Context, device: &str) -> Result<(), StepError> {
    record(cx, device, String::new()).await
}

async fn record(cx: &Context, device: &str, state: String) -> Result<(), StepError> {
    let (cx, item) = (cx.clone(), item(device));
    blocking(move || Ok(cx.journal.intend(vec![Record::OsRan { item, state }])?)).await
}

/// Whether a program has begun, since the machine booted, to write this disk, and not ended.
pub(super) fn is_here(cx: &Context, device: &str) -> Result<bool, StepError> {
    let state = cx.journal.state().os.remove(&item(device)).unwrap_or_default().ran;
    Ok(!state.is_empty() && state == boot(cx)?)
}
