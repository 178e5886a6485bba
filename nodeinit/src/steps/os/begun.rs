//! Which disks a program has begun to write. If it was killed before it wrote a signature, the disk is not empty, but has nothing of others.

use crate::{
    context::{Context, blocking},
    engine::{error::StepError, journal::Record},
};
use std::path::Path;

/// Changes at each boot. After one, another disk may have the name.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

fn item(device: &str) -> String {
    format!("os-disks begun {device}")
}

/// Returns what identifies a disk until the next boot: Linux numbers the disks in the order in which they are attached (from 5.15 on).
fn identity(cx: &Context, device: &str) -> Result<String, StepError> {
    let read = |path: &Path| cx.files.read_text(path).map(|text| text.unwrap_or_default().trim().to_owned());
    let name = cx.files.canonical(Path::new(device)).file_name().unwrap_or_default().to_owned();
    Ok(format!("{} {}", read(Path::new(BOOT))?, read(&Path::new("/sys/class/block").join(name).join("diskseq"))?))
}

/// Records that a program begins to write an empty disk.
pub(super) async fn note(cx: &Context, device: &str) -> Result<(), StepError> {
    let state = identity(cx, device)?;
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
    Ok(!state.is_empty() && state == identity(cx, device)?)
}
