//! Undoes changes of files that the journal records, for `reset` and for steps that are no longer configured.

use crate::{
    context::Context,
    engine::{
        error::StepError,
        journal::{ORIGINALS, Record, Written},
        step_id::StepId,
    },
    host::files::NewFile,
};
use nodeinit_base::sha256_hex;
use std::path::{Path, PathBuf};

/// What happens to a file that nodeinit wrote.
pub(super) enum Fate {
    /// It is removed.
    Remove,
    /// Its original is restored.
    PutBack(NewFile),
    /// It stays, because its content is not what nodeinit wrote.
    Keep,
}

/// Decides about nodeinit's files. Reads each file completely, including programs.
pub(super) fn own_files(cx: &Context, wanted: impl Fn(&Path) -> bool) -> Result<Vec<(PathBuf, Fate)>, StepError> {
    let mut fates = Vec::new();
    for (path, written) in cx.journal.state().files.into_iter().filter(|(path, _)| wanted(path)) {
        if let Some(fate) = fate(cx, &path, written)? {
            fates.push((path, fate));
        }
    }
    Ok(fates)
}

/// Returns `None` if the file is gone, or the same as before.
fn fate(cx: &Context, path: &Path, written: Written) -> Result<Option<Fate>, StepError> {
    let Some(content) = cx.files.read(path)? else { return Ok(None) };
    let digest = sha256_hex(&content);
    Ok(match written.original {
        Some(original) if original.sha256 == digest => None,
        _ if !written.sha256.contains(&digest) => Some(Fate::Keep),
        Some(original) => match cx.files.read(Path::new(ORIGINALS).join(&original.sha256))? {
            Some(content) => Some(Fate::PutBack(NewFile { mode: original.mode, ..NewFile::private(path, content) })),
            None => Some(Fate::Keep),
        },
        None => Some(Fate::Remove),
    })
}

/// Whether nothing is left to undo for a file that nodeinit wrote: it is gone, restored, or changed by somebody else.
pub(super) fn is_undone(cx: &Context, path: &Path) -> Result<bool, StepError> {
    let Some(written) = cx.journal.state().files.remove(path) else { return Ok(true) };
    Ok(matches!(fate(cx, path, written)?, None | Some(Fate::Keep)))
}

/// Removes nodeinit's files, or restores the originals. A file that somebody else changed stays. What is there if nodeinit writes one of them again is
/// a new original.
pub(super) fn undo(cx: &Context, step: &StepId, paths: &[PathBuf]) -> Result<(), StepError> {
    for (path, fate) in own_files(cx, |path| paths.iter().any(|wanted| wanted == path))? {
        carry_out(cx, step, &path, fate)?;
    }
    let known = cx.journal.state().files;
    let undone = paths.iter().filter(|path| known.contains_key(*path));
    Ok(cx.journal.intend(undone.map(|path| Record::FileUndone { path: path.clone() }).collect())?)
}

pub(super) fn carry_out(cx: &Context, step: &StepId, path: &Path, fate: Fate) -> Result<(), StepError> {
    match fate {
        Fate::Remove => cx.files.remove_file(path)?,
        Fate::PutBack(original) => cx.files.write(&[original])?,
        Fate::Keep => {
            cx.report.note(&step.name(), format!("keeping {}: it was changed after nodeinit wrote it", path.display()))
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context;

    #[tokio::test]
    async fn a_file_that_was_undone_and_then_written_by_somebody_else_is_an_original() {
        let (_dir, cx) = context();
        let path = Path::new("/etc/motd");
        cx.place(vec![NewFile::public(path, "ours")]).await.unwrap();
        undo(&cx, &StepId::Os("os-messages"), &[path.into()]).unwrap();
        assert!(!cx.files.exists(path) && is_undone(&cx, path).unwrap());
        cx.files.write(&[NewFile::public(path, "theirs")]).unwrap();
        cx.place(vec![NewFile::public(path, "ours")]).await.unwrap();
        undo(&cx, &StepId::Os("os-messages"), &[path.into()]).unwrap();
        assert_eq!(cx.files.read_text(path).unwrap().as_deref(), Some("theirs"));
    }
}
