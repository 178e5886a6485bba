//! The files of a component that is replaced: kept while the former component may have to run again.

use crate::{
    context::{Context, blocking},
    engine::{error::StepError, journal::ORIGINALS},
    host::{
        files::{FileError, Files, failed},
        section::Section,
    },
    steps::{extension, source::copy},
};
use nodeinit_base::atomic_file::temporary;
use std::path::{Path, PathBuf};

/// Where they are kept: each component has a folder with the paths of its files below it.
fn directory(component: &str) -> PathBuf {
    Path::new(ORIGINALS).join("upgrade").join(component)
}

fn kept(component: &str, path: &Path) -> PathBuf {
    directory(component).join(path.strip_prefix("/").unwrap_or(path))
}

/// Keeps the component's files, except those that an interrupted run has kept already.
pub(in crate::steps) async fn keep(
    cx: &Context,
    component: &'static str,
    paths: Vec<PathBuf>,
) -> Result<(), StepError> {
    let files = cx.files.clone();
    blocking(move || {
        for path in paths {
            let to = kept(component, &path);
            if files.exists(&path) && !files.exists(&to) {
                for directory in files.missing_parents(&to) {
                    files.make_directory(&directory, 0o700)?;
                }
                link_or_copy(&files, &path, &to)?;
            }
        }
        Ok(())
    })
    .await
}

/// Gives the content of a file a second path. nodeinit never changes a file in place, so a hard link suffices; across file systems, it
/// takes a copy.
fn link_or_copy(files: &Files, path: &Path, to: &Path) -> Result<(), FileError> {
    if files.hard_link(path, to).is_ok() {
        return files.sync_directory(to.parent().unwrap_or(to));
    }
    let section = Section::whole(files.real(path)).map_err(failed("read", path))?;
    copy(files, &section, to, files.mode(path).unwrap_or(0o600))
}

/// Returns the files that are kept of a component, by their own paths.
pub(in crate::steps) fn list(files: &Files, component: &str) -> Result<Vec<PathBuf>, FileError> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::from("/")];
    while let Some(path) = open.pop() {
        for name in files.list(kept(component, &path))? {
            let path = path.join(name);
            match files.metadata(&kept(component, &path))?.is_dir() {
                true => open.push(path),
                false => found.push(path),
            }
        }
    }
    Ok(found)
}

/// Whether files of a component are kept.
pub(in crate::steps) fn is_kept(files: &Files, component: &str) -> Result<bool, FileError> {
    Ok(!list(files, component)?.is_empty())
}

/// Puts the kept files of a component in place again; `missing`: only those that are missing there. Returns whether there were any.
pub(in crate::steps) async fn restore(cx: &Context, component: &'static str, missing: bool) -> Result<bool, StepError> {
    let files = cx.files.clone();
    let restored = blocking(move || {
        let mut paths = list(&files, component)?;
        paths.retain(|path| !missing || !files.exists(path));
        let mut restored = Vec::new();
        for path in paths {
            let to = extension::place(&files, &path)?;
            for directory in files.missing_parents(&to) {
                files.make_directory(&directory, 0o755)?;
            }
            files.remove_file(temporary(&to))?;
            link_or_copy(&files, &kept(component, &path), &temporary(&to))?;
            files.rename_temporary(&to)?;
            restored.push(to);
        }
        Ok(restored)
    })
    .await?;
    if restored.iter().any(|to| extension::contains(to)) {
        extension::merge(cx).await?;
    }
    Ok(!restored.is_empty())
}

/// Removes what is kept of a component.
pub(in crate::steps) async fn forget(cx: &Context, component: &'static str) -> Result<(), StepError> {
    let files = cx.files.clone();
    blocking(move || {
        // A run that is killed meanwhile must not find a part of them.
        let (kept, gone) = (directory(component), directory(&format!(".{component}")));
        if files.exists(&gone) {
            files.remove_tree(&gone)?;
        }
        if files.exists(&kept) {
            files.rename(&kept, &gone)?;
            files.remove_tree(&gone)?;
        }
        Ok(())
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{context::testing::context, host::files::NewFile};

    #[tokio::test]
    async fn the_first_kept_content_is_restored() {
        let (_dir, cx) = context();
        let paths = ["/etc/a.yaml", "/usr/bin/b"].map(PathBuf::from);
        let write = async |text: &str| {
            let new = paths.iter().map(|path| NewFile::private(path, format!("{text} {}", path.display())));
            cx.place(new.collect()).await.unwrap();
        };
        let read = || paths.each_ref().map(|path| cx.files.read_text(path).unwrap().unwrap_or_default());
        write("former").await;
        let before = read();
        keep(&cx, "x", paths.to_vec()).await.unwrap();
        write("new").await;
        keep(&cx, "x", paths.to_vec()).await.unwrap();
        assert!(!restore(&cx, "x", true).await.unwrap(), "nothing is missing");
        assert!(restore(&cx, "x", false).await.unwrap());
        assert_eq!(read(), before);
        assert_eq!(cx.files.mode(&paths[0]), Some(0o600));
        cx.files.remove_file(&paths[1]).unwrap();
        assert!(restore(&cx, "x", true).await.unwrap());
        assert_eq!(read(), before);
        forget(&cx, "x").await.unwrap();
        assert!(list(&cx.files, "x").unwrap().is_empty() && !restore(&cx, "x", false).await.unwrap());
    }
}
