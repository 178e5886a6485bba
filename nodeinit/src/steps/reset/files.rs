//! The files: trees, files, directories, and last the journal.

use crate::{
    context::{Context, blocking},
    engine::{
        error::StepError,
        journal::{JOURNAL, ORIGINALS, sha256},
        step::{State, Step},
    },
    host::{
        files::{NewFile, failed, temporary},
        systemd,
    },
};
use async_trait::async_trait;
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Step `remove-files`: trees, files and directories of ours; a file that was there before is put back.
pub struct Files;

#[async_trait(?Send)]
impl Step for Files {
    fn name(&self) -> String {
        "remove-files".into()
    }

    fn needs(&self) -> Vec<String> {
        ["restore-kernel", "remove-images"].map(String::from).into()
    }

    fn title(&self) -> String {
        "remove what was written, put back what was replaced".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let cx = cx.clone();
        blocking(move || {
            let in_trees = in_trees(&cx)?;
            let mut changes = Vec::new();
            for tree in cx.journal.state().trees.keys() {
                match in_trees.iter().filter(|path| path.parent() == Some(tree)).count() {
                    0 => {}
                    n => changes.push(format!("remove what came into {} ({n} entries)", tree.display())),
                }
            }
            let elsewhere = |path: &Path| !in_trees.iter().any(|removed| path.starts_with(removed));
            for (path, fate) in own_files(&cx)?.into_iter().filter(|(path, _)| elsewhere(path)) {
                match fate {
                    Fate::Remove => changes.push(format!("remove {}", path.display())),
                    Fate::PutBack(_) => changes.push(format!("put {} back as it was", path.display())),
                    Fate::Keep => changes.push(format!("keep {}: it was changed since", path.display())),
                }
            }
            Ok(State::of(changes))
        })
        .await
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let context = cx.clone();
        blocking(move || remove(&context)).await?;
        Ok(systemd::reload(&cx.commands).await?)
    }
}

fn remove(cx: &Context) -> Result<(), StepError> {
    for path in in_trees(cx)? {
        let real = cx.files.real(&path);
        let device = real.symlink_metadata().map_err(failed("look at", &path))?.dev();
        remove_tree(&path, &real, device)?;
    }
    for (path, fate) in own_files(cx)? {
        match fate {
            Fate::Remove => cx.files.remove_file(&path)?,
            Fate::PutBack(original) => cx.files.write(&[original])?,
            Fate::Keep => cx.report.note("remove-files", format!("{} was changed since; it stays", path.display())),
        }
    }
    let state = cx.journal.state();
    for path in state.files.keys() {
        cx.files.remove_file(temporary(path))?;
    }
    let claimed = state.trees.iter().filter(|(_, before)| before.is_none()).map(|(path, _)| path);
    let mut directories: Vec<&PathBuf> = state.directories.iter().chain(claimed).collect();
    directories.sort();
    for path in directories.into_iter().rev() {
        // Where somebody else put something in, the directory is no longer ours alone.
        let _ = fs::remove_dir(cx.files.real(path));
    }
    Ok(())
}

/// What appeared in our trees since they were claimed.
fn in_trees(cx: &Context) -> Result<Vec<PathBuf>, StepError> {
    let mut paths = Vec::new();
    for (tree, before) in cx.journal.state().trees {
        let before = before.unwrap_or_default();
        let names = cx.files.list(&tree)?;
        paths.extend(names.into_iter().filter(|name| !before.contains(name)).map(|name| tree.join(name)));
    }
    Ok(paths)
}

/// Removes a path and all below, but never what lies on another file system: that is somebody else's.
fn remove_tree(path: &Path, real: &Path, device: u64) -> Result<(), StepError> {
    let metadata = real.symlink_metadata().map_err(failed("look at", path))?;
    if metadata.dev() != device {
        let what = format!("{} is on another file system and is left alone", path.display());
        return Err(StepError::new(what).hint(format!("`umount {}`, then run `nodeinit reset` again", path.display())));
    }
    if !metadata.is_dir() {
        return Ok(fs::remove_file(real).map_err(failed("remove", path))?);
    }
    for entry in fs::read_dir(real).map_err(failed("list", path))? {
        let name = entry.map_err(failed("list", path))?.file_name();
        remove_tree(&path.join(&name), &real.join(&name), device)?;
    }
    Ok(fs::remove_dir(real).map_err(failed("remove", path))?)
}

/// What becomes of a file that we wrote.
enum Fate {
    Remove,
    PutBack(NewFile),
    /// Its content is none that we wrote.
    Keep,
}

fn own_files(cx: &Context) -> Result<Vec<(PathBuf, Fate)>, StepError> {
    let mut fates = Vec::new();
    for (path, written) in cx.journal.state().files {
        let Some(content) = cx.files.read(&path)? else { continue };
        let digest = sha256(&content);
        let fate = match written.original {
            Some(original) if original.sha256 == digest => continue,
            _ if !written.sha256.contains(&digest) => Fate::Keep,
            Some(original) => match cx.files.read(Path::new(ORIGINALS).join(&original.sha256))? {
                Some(content) => Fate::PutBack(NewFile { path: path.clone(), content, mode: original.mode }),
                None => Fate::Keep,
            },
            None => Fate::Remove,
        };
        fates.push((path, fate));
    }
    Ok(fates)
}

/// Step `forget`: the journal itself.
pub struct Journal;

#[async_trait(?Send)]
impl Step for Journal {
    fn name(&self) -> String {
        "forget".into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["remove-files".into()]
    }

    fn title(&self) -> String {
        "remove the journal".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(if cx.files.exists(JOURNAL) { State::needed("remove the journal") } else { State::Done })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let cx = cx.clone();
        blocking(move || {
            let directory = Path::new(JOURNAL).parent().unwrap_or(Path::new("/var/lib/nodeinit"));
            // The journal goes last: killed before, the next reset still knows everything.
            for name in cx.files.list(directory)?.iter().filter(|name| !JOURNAL.ends_with(name.as_str())) {
                let path = directory.join(name);
                let real = cx.files.real(&path);
                let device = real.symlink_metadata().map_err(failed("look at", &path))?.dev();
                remove_tree(&path, &real, device)?;
            }
            cx.files.remove_file(JOURNAL)?;
            Ok(fs::remove_dir(cx.files.real(directory)).map_err(failed("remove", directory))?)
        })
        .await
    }
}
