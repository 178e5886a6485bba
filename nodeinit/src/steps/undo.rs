//! Undoes what the journal says about files, for `reset` and for steps whose setting is gone.

use crate::{
    context::Context,
    engine::{
        error::StepError,
        journal::{ORIGINALS, Written},
        step_id::StepId,
    },
    host::files::NewFile,
};
use nodeinit_base::sha256_hex;
use std::path::{Path, PathBuf};

/// What becomes of a file that we wrote.
pub(super) enum Fate {
    /// It is removed.
    Remove,
    /// What was there before is put back.
    PutBack(NewFile),
    /// Its content is none that we wrote.
    Keep,
}

/// Reads each of the files whole: programs are among them.
pub(super) fn own_files(cx: &Context, wanted: impl Fn(&Path) -> bool) -> Result<Vec<(PathBuf, Fate)>, StepError> {
    let mut fates = Vec::new();
    for (path, written) in cx.journal.state().files.into_iter().filter(|(path, _)| wanted(path)) {
        if let Some(fate) = fate(cx, &path, written)? {
            fates.push((path, fate));
        }
    }
    Ok(fates)
}

/// `None`: the file is gone, or as it was before.
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

/// Whether nothing is left to undo of a file that we wrote: it is gone, as it was before, or changed by somebody else.
pub(super) fn is_undone(cx: &Context, path: &Path) -> Result<bool, StepError> {
    let Some(written) = cx.journal.state().files.remove(path) else { return Ok(true) };
    Ok(matches!(fate(cx, path, written)?, None | Some(Fate::Keep)))
}

/// Removes files of ours, or puts back what was there before. A file that somebody else changed stays.
pub(super) fn undo(cx: &Context, step: &StepId, paths: &[PathBuf]) -> Result<(), StepError> {
    for (path, fate) in own_files(cx, |path| paths.iter().any(|wanted| wanted == path))? {
        carry_out(cx, step, &path, fate)?;
    }
    Ok(())
}

pub(super) fn carry_out(cx: &Context, step: &StepId, path: &Path, fate: Fate) -> Result<(), StepError> {
    match fate {
        Fate::Remove => cx.files.remove_file(path)?,
        Fate::PutBack(original) => cx.files.write(&[original])?,
        Fate::Keep => cx.report.note(&step.name(), format!("{} was changed since; it stays", path.display())),
    }
    Ok(())
}
