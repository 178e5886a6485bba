//! Undoes the changes that the journal records, and nothing else. The undo code of one step is in that step's file; the rest is here.

mod files;
mod machine;

pub use files::{RemoveData, RemoveFiles, RemoveJournal};
pub use machine::{RemoveNetwork, RemovePods, StopKubelet, Unmount};

use crate::{
    context::Context,
    render::static_pod,
    steps::{containerd, etcd::aside, extension, kubelet, source},
};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// Returns the directories to empty, each with the names that stay.
///
/// Older versions claimed the outermost missing directory (`/data` for `/data/etcd`), in which others may have put files
/// since: for such a record, only the directories that Kubernetes fills are emptied.
fn trees(cx: &Context) -> BTreeMap<PathBuf, Vec<String>> {
    let mut filled = kubelet::trees(cx);
    filled.extend([source::DOWNLOADS, extension::EXTENSION].map(PathBuf::from));
    filled.extend(containerd::TREES.map(PathBuf::from));
    let mut trees = BTreeMap::new();
    for (tree, before) in cx.journal.state().trees {
        match before {
            Some(before) => drop(trees.insert(tree, before)),
            None => {
                let below = filled.iter().filter(|path| path.starts_with(&tree));
                trees.extend(below.map(|path| (path.clone(), Vec::new())));
            }
        }
    }
    trees
}

/// Whether a name in one of these directories belongs to nodeinit. Users may place etcd's data and the audit log in a shared
/// directory such as `/var/log`.
fn is_ours(cx: &Context, tree: &Path, name: &str) -> bool {
    if tree == cx.cluster.etcd.data_directory {
        return aside::is_ours(name);
    }
    if let Some(log) = static_pod::audit_log(&cx.cluster).filter(|log| log.parent() == Some(tree)) {
        let path = tree.join(name);
        let is_file = cx.files.is_file(&path) && cx.files.link_target(&path).is_none();
        return is_file && is_audit_log(&log, name);
    }
    // In a directory of a former configuration, it is unknown which files were nodeinit's.
    kubelet::trees(cx).iter().any(|filled| filled == tree)
        || [source::DOWNLOADS, extension::EXTENSION].map(Path::new).contains(&tree)
        || containerd::TREES.iter().any(|filled| tree == Path::new(filled))
}

/// Whether a file is the audit log, or a rotated log that the API server has renamed and perhaps compressed:
/// `audit-2026-01-31T12-00-00.000.log.gz`. Source: lumberjack, `backupName`.
fn is_audit_log(log: &Path, name: &str) -> bool {
    let part = |part: Option<&OsStr>| part.and_then(OsStr::to_str).unwrap_or_default().to_owned();
    let (file, stem) = (part(log.file_name()), part(log.file_stem()));
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let time =
        name.strip_prefix(&stem).and_then(|rest| rest.strip_suffix(file.strip_prefix(&stem)?)?.strip_prefix('-'));
    let is_time = |text: &str| {
        const FORM: &[u8] = b"0000-00-00T00-00-00.000";
        let fits = |(byte, form): (u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == *form };
        text.len() == FORM.len() && text.bytes().zip(FORM).all(fits)
    };
    name == file || time.is_some_and(is_time)
}
