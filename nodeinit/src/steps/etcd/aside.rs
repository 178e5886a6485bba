//! etcd data that was moved aside: nodeinit renames a former member's data and never deletes it on its own.

use super::data::{self, Data, Identity};
use crate::{
    context::Context,
    engine::error::{Exit, StepError},
    host::disk::used,
    pki::expiry,
};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The directory with the live data, inside etcd's data directory.
const LIVE: &str = "member";

/// The prefix of the name of data that was moved aside; the time follows.
const PREFIX: &str = "member.aside-";

/// The name that former versions gave to data before they deleted it; a killed run may have left some.
const FORMER: &str = ".member.nodeinit-old";

/// etcd data that was moved aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Aside {
    /// Its name in etcd's data directory, such as `member.aside-20260131T120000Z`.
    pub name: String,
    /// The disk space that it uses.
    pub bytes: u64,
    /// The ID of the member that wrote it, in hex; `None` if the data cannot be read.
    pub member: Option<String>,
    /// The ID of that member's cluster, in hex.
    pub cluster: Option<String>,
}

impl Aside {
    /// Its size in MiB, rounded up.
    #[must_use]
    pub fn mebibytes(&self) -> u64 {
        self.bytes.div_ceil(1 << 20)
    }
}

/// Lists the etcd data that was moved aside on this machine, oldest first.
///
/// # Errors
/// If the data directory cannot be read.
pub fn list(cx: &Context) -> Result<Vec<Aside>, StepError> {
    paths(cx)?.iter().map(|path| described(cx, path)).collect()
}

/// The paths of the data that [`list`] describes.
///
/// # Errors
/// If the data directory cannot be read.
pub fn paths(cx: &Context) -> Result<Vec<PathBuf>, StepError> {
    let directory = &cx.cluster.etcd.data_directory;
    let names = cx.files.list(directory)?;
    Ok(names.into_iter().filter(|name| is_aside(name)).map(|name| directory.join(name)).collect())
}

fn is_aside(name: &str) -> bool {
    name.starts_with(PREFIX) || name == FORMER
}

/// Whether a name in etcd's data directory is one of ours: its data, or data that was moved aside.
pub(in crate::steps) fn is_ours(name: &str) -> bool {
    name == LIVE || is_aside(name)
}

/// Renames the live data to a name that contains the date, and makes the rename durable.
pub(super) fn move_aside(cx: &Context) -> Result<Aside, StepError> {
    let directory = &cx.cluster.etcd.data_directory;
    let stamp: String = expiry::date(cx.clock.now()).chars().filter(|c| !matches!(c, '-' | ':')).collect();
    let path = |suffix: &str| directory.join(format!("{PREFIX}{stamp}{suffix}"));
    let (live, mut aside, mut number) = (directory.join(LIVE), path(""), 1);
    while cx.files.exists(&aside) {
        number += 1;
        aside = path(&format!("-{number}"));
    }
    cx.files.rename(&live, &aside)?;
    cx.files.sync_directory(directory)?;
    described(cx, &aside)
}

/// Deletes data that was moved aside.
///
/// # Errors
/// If there is no such data, or if it cannot be deleted.
pub fn remove(cx: &Context, name: &str) -> Result<(), StepError> {
    let Some(path) = paths(cx)?.into_iter().find(|path| path.file_name().is_some_and(|own| own == name)) else {
        let what = format!("no etcd data was moved aside under the name {name:?}");
        return Err(StepError::new(what).exit(Exit::Usage).hint("run `nodeinit etcd aside list`"));
    };
    cx.files.remove_tree(&path)?;
    Ok(cx.files.sync_directory(&cx.cluster.etcd.data_directory)?)
}

/// Which members wrote the data that was moved aside, oldest first. Data that cannot be read proves nothing.
pub(super) fn identities(cx: &Context) -> Result<Vec<Identity>, StepError> {
    let mut found = Vec::new();
    for path in paths(cx)? {
        if let Data::Of(identity) = data::look_in(cx, &path)? {
            found.push(identity);
        }
    }
    Ok(found)
}

fn described(cx: &Context, path: &Path) -> Result<Aside, StepError> {
    let hex = |id: u64| format!("{id:x}");
    let identity = match data::look_in(cx, path) {
        Ok(Data::Of(identity)) => Some(identity),
        Ok(Data::None | Data::Unreadable) | Err(_) => None,
    };
    Ok(Aside {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        bytes: used(&cx.files, path)?,
        member: identity.map(|identity| hex(identity.member)),
        cluster: identity.map(|identity| hex(identity.cluster)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{context::testing::context, host::files::NewFile};
    use std::fs;

    fn with_data(cx: &Context, content: &str) {
        let logs = Path::new("/var/lib/etcd/member/wal");
        fs::create_dir_all(cx.files.real(logs)).unwrap();
        cx.files.write(&[NewFile::private(logs.join("0.wal"), content)]).unwrap();
    }

    fn names(cx: &Context) -> Vec<String> {
        list(cx).unwrap().into_iter().map(|aside| aside.name).collect()
    }

    #[test]
    fn data_is_renamed_and_never_deleted() {
        let (_dir, cx) = context();
        for content in ["first", "second", "third"] {
            with_data(&cx, content);
            move_aside(&cx).unwrap();
        }
        let contents: Vec<String> = paths(&cx)
            .unwrap()
            .iter()
            .map(|path| cx.files.read_text(path.join("wal/0.wal")).unwrap().unwrap())
            .collect();
        assert_eq!(contents.len(), 3, "{contents:?}");
        assert!(["first", "second", "third"].iter().all(|content| contents.iter().any(|c| c == content)));
        assert!(!cx.files.exists("/var/lib/etcd/member"));
        let first = &list(&cx).unwrap()[0];
        assert!(first.bytes > 0 && first.member.is_none(), "{first:?}");
        let stamp = first.name.strip_prefix(PREFIX).unwrap();
        assert!(stamp.len() == 16 && &stamp[8..9] == "T" && stamp.ends_with('Z'), "{stamp}");
    }

    #[test]
    fn only_data_that_was_moved_aside_can_be_removed_and_what_a_former_version_left_counts() {
        let (_dir, cx) = context();
        assert!(names(&cx).is_empty(), "without a data directory");
        with_data(&cx, "live");
        fs::create_dir_all(cx.files.real(Path::new("/var/lib/etcd/.member.nodeinit-old/snap"))).unwrap();
        assert_eq!(names(&cx), [FORMER]);
        for name in ["member", "", "..", "/", "member.aside-1", "../etcd/.member.nodeinit-old"] {
            assert_eq!(remove(&cx, name).unwrap_err().exit, Exit::Usage, "{name:?}");
        }
        remove(&cx, FORMER).unwrap();
        assert!(names(&cx).is_empty() && cx.files.exists("/var/lib/etcd/member/wal/0.wal"));
    }
}
