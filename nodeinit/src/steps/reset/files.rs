//! Removes directory trees; files and directories; and, last, the journal.

use crate::{
    context::{Context, blocking},
    engine::{
        error::StepError,
        journal::JOURNAL,
        step::{State, Step},
        step_id::StepId,
    },
    host::systemd,
    steps::{
        etcd::aside,
        extension,
        os::accounts,
        reset::{is_ours, trees},
        undo::{Fate, carry_out, own_files},
    },
};
use async_trait::async_trait;
use nodeinit_base::atomic_file::temporary;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Step `remove-data`: empties the directory trees of nodeinit, while the disks of `os.disks` are still mounted there. etcd data that was moved
/// aside stays, unless its removal is requested, too.
pub struct RemoveData {
    /// Whether to remove etcd data that was moved aside.
    pub remove_aside: bool,
}

impl RemoveData {
    /// Returns the etcd data that stays.
    fn kept(&self, cx: &Context) -> Result<Vec<PathBuf>, StepError> {
        if self.remove_aside { Ok(Vec::new()) } else { aside::paths(cx) }
    }
}

#[async_trait(?Send)]
impl Step for RemoveData {
    fn id(&self) -> StepId {
        StepId::RemoveData
    }

    fn title(&self) -> String {
        "remove the data of Kubernetes".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let (cx, kept) = (cx.clone(), self.kept(cx)?);
        blocking(move || {
            let in_trees = in_trees(&cx, &kept)?;
            let mut changes = Vec::new();
            for tree in trees(&cx).into_keys() {
                match in_trees.iter().filter(|path| path.starts_with(&tree)).count() {
                    0 => {}
                    n => changes.push(format!("remove new entries in {} ({n})", tree.display())),
                }
            }
            if !changes.is_empty() {
                changes.extend(kept.iter().map(|path| format!("keep {}: {KEPT}", path.display())));
            }
            Ok(State::of(changes))
        })
        .await
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let (cx, kept) = (cx.clone(), self.kept(cx)?);
        blocking(move || {
            for path in in_trees(&cx, &kept)? {
                remove_tree(&cx, &path)?;
            }
            for path in kept {
                cx.report.note(&StepId::RemoveData.name(), format!("kept {}: {KEPT}", path.display()));
            }
            Ok(())
        })
        .await
    }
}

/// Step `remove-files`: removes the files and directories of nodeinit, and restores files that it replaced.
pub struct RemoveFiles;

#[async_trait(?Send)]
impl Step for RemoveFiles {
    fn id(&self) -> StepId {
        StepId::RemoveFiles
    }

    fn title(&self) -> String {
        "remove written files, restore replaced files".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let cx = cx.clone();
        blocking(move || {
            let (in_trees, mut changes) = (in_trees(&cx, &[])?, Vec::new());
            let elsewhere = |path: &Path| !in_trees.iter().any(|removed| path.starts_with(removed));
            for (path, fate) in own_files(&cx, |path| elsewhere(path) && who_logs_in(&cx, path).is_none())? {
                match fate {
                    Fate::Remove => changes.push(format!("remove {}", path.display())),
                    Fate::PutBack(_) => changes.push(format!("restore the original {}", path.display())),
                    Fate::Keep => {
                        changes.push(format!("keep {}: it was changed after nodeinit wrote it", path.display()))
                    }
                }
            }
            changes.extend(extension::is_used(&cx).then(|| "remove the system extension from /usr".to_owned()));
            Ok(State::of(changes))
        })
        .await
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        // The step before has removed its files. While it is merged, /usr is read-only.
        if extension::is_used(cx) {
            extension::refresh(cx).await?;
        }
        let context = cx.clone();
        blocking(move || remove(&context)).await?;
        Ok(systemd::reload(&cx.commands).await?)
    }
}

/// Returns the user who could not log in without this file, if nodeinit logs in as this user.
fn who_logs_in(cx: &Context, path: &Path) -> Option<String> {
    accounts::logs_in_with(cx, &format!("file {}", path.display()))
}

fn remove(cx: &Context) -> Result<(), StepError> {
    for (path, fate) in own_files(cx, |_| true)? {
        match who_logs_in(cx, &path) {
            Some(user) => {
                cx.report
                    .note(&StepId::RemoveFiles.name(), format!("kept {}: nodeinit logs in as {user}", path.display()));
            }
            None => carry_out(cx, &StepId::RemoveFiles, &path, fate)?,
        }
    }
    let state = cx.journal.state();
    for path in state.files.keys() {
        cx.files.remove_file(temporary(path))?;
    }
    let made: Vec<&PathBuf> = state.trees.iter().filter(|(_, before)| before.is_none()).map(|(path, _)| path).collect();
    let emptied = trees(cx);
    let mut directories: BTreeSet<&Path> = state.directories.iter().map(PathBuf::as_path).collect();
    directories.extend(made.iter().map(|path| path.as_path()));
    for tree in emptied.keys() {
        directories.extend(tree.ancestors().filter(|path| made.iter().any(|made| path.starts_with(made))));
    }
    for path in directories.into_iter().rev() {
        // A directory with files of others stays.
        let _ = cx.files.remove_directory(path);
    }
    Ok(())
}

/// Why etcd data that was moved aside stays.
const KEPT: &str = "etcd data that was moved aside; `nodeinit etcd aside remove` deletes it";

/// Returns what appeared in nodeinit's trees since they were claimed, without what is kept.
fn in_trees(cx: &Context, kept: &[PathBuf]) -> Result<Vec<PathBuf>, StepError> {
    let mut paths = Vec::new();
    for (tree, before) in trees(cx) {
        let names = cx.files.list(&tree)?;
        for name in names.iter().filter(|name| !before.contains(name) && is_ours(cx, &tree, name)) {
            paths.extend(around(cx, tree.join(name), kept)?);
        }
    }
    Ok(paths)
}

/// Returns the path itself, or, if something below it is kept, everything else below it.
fn around(cx: &Context, path: PathBuf, kept: &[PathBuf]) -> Result<Vec<PathBuf>, StepError> {
    if kept.contains(&path) {
        return Ok(Vec::new());
    }
    if !kept.iter().any(|kept| kept.starts_with(&path)) {
        return Ok(vec![path]);
    }
    let mut paths = Vec::new();
    for name in cx.files.list(&path)? {
        paths.extend(around(cx, path.join(name), kept)?);
    }
    Ok(paths)
}

/// Removes a path and everything below it, but does not cross mounts.
fn remove_tree(cx: &Context, path: &Path) -> Result<(), StepError> {
    Ok(cx.files.remove_tree(path)?)
}

/// Step `forget`: removes the journal.
pub struct RemoveJournal;

#[async_trait(?Send)]
impl Step for RemoveJournal {
    fn id(&self) -> StepId {
        StepId::Forget
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
            // The journal is removed last: if this run is killed before, the next reset still knows everything.
            for name in cx.files.list(directory)?.iter().filter(|name| !JOURNAL.ends_with(name.as_str())) {
                remove_tree(&cx, &directory.join(name))?;
            }
            cx.files.remove_file(JOURNAL)?;
            Ok(cx.files.remove_directory(directory)?)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{context::testing::context_of, engine::journal::Record, host::files::NewFile};
    use std::{fs, os::unix::fs::PermissionsExt};

    /// Returns a machine with live and moved-aside data in a directory whose parent `up` created, too.
    async fn with_data() -> (tempfile::TempDir, Context) {
        let config = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n";
        let (dir, cx) = context_of(&format!("{config}etcd: {{dataDirectory: /data/etcd}}\n"));
        cx.claim_trees(vec!["/data/etcd".into()]).await.unwrap();
        for name in ["member", "member.aside-20260131T120000Z", ".member.nodeinit-old"] {
            let path = Path::new("/data/etcd").join(name).join("snap");
            fs::create_dir_all(cx.files.real(&path)).unwrap();
            cx.files.write(&[NewFile::private(path.join("db"), "data")]).unwrap();
        }
        (dir, cx)
    }

    async fn remove_all(cx: &Context, remove_aside: bool) {
        RemoveData { remove_aside }.apply(cx).await.unwrap();
        remove(cx).unwrap();
    }

    #[tokio::test]
    async fn etcd_data_that_was_moved_aside_stays() {
        let (_dir, cx) = with_data().await;
        let data = RemoveData { remove_aside: false };
        let State::Needed(changes) = data.check(&cx).await.unwrap() else { panic!("nothing to do") };
        assert_eq!(changes.len(), 3, "{changes:?}");
        assert!(changes[2].starts_with("keep /data/etcd/member.aside-20260131T120000Z: "), "{changes:?}");
        remove_all(&cx, false).await;
        assert_eq!(cx.files.list("/data/etcd").unwrap(), [".member.nodeinit-old", "member.aside-20260131T120000Z"]);
        assert!(cx.files.exists("/data/etcd/member.aside-20260131T120000Z/snap/db"));
        assert_eq!(data.check(&cx).await.unwrap(), State::Done, "a second time");
    }

    #[tokio::test]
    async fn etcd_data_that_was_moved_aside_is_removed_on_request() {
        let (_dir, cx) = with_data().await;
        remove_all(&cx, true).await;
        assert!(!cx.files.exists("/data"));
    }

    /// Lists every file below `directory` with its mode and content, and every directory.
    fn tree(cx: &Context, directory: &str) -> Vec<String> {
        let mut found = Vec::new();
        for name in cx.files.list(directory).unwrap() {
            let path = format!("{directory}/{name}");
            let mode = cx.files.real(Path::new(&path)).metadata().unwrap().permissions().mode() & 0o777;
            if cx.files.real(Path::new(&path)).is_dir() {
                found.push(format!("{path}/"));
                found.extend(tree(cx, &path));
            } else {
                found.push(format!("{path} {mode:o} {}", cx.files.read_text(&path).unwrap().unwrap()));
            }
        }
        found
    }

    #[tokio::test]
    async fn files_of_nodeinit_are_removed_and_everything_else_is_restored() {
        let (_dir, cx) =
            context_of("apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n");
        let directory = |path: &str| fs::create_dir_all(cx.files.real(Path::new(path))).unwrap();
        directory("/etc/kubernetes/manifests");
        cx.files.write(&[NewFile { mode: 0o640, ..NewFile::public("/etc/theirs", b"theirs") }]).unwrap();
        cx.files.write(&[NewFile::public("/etc/kubernetes/manifests/theirs.yaml", "theirs")]).unwrap();
        let before = tree(&cx, "/etc");

        cx.claim_trees(vec!["/etc/kubernetes".into(), "/var/lib/kubelet".into()]).await.unwrap();
        cx.place(vec![NewFile::public("/etc/theirs", "ours"), NewFile::private("/etc/new/deep/ours", "ours")])
            .await
            .unwrap();
        cx.place(vec![NewFile::public("/etc/theirs", "ours again"), NewFile::public("/opt/changed", "ours")])
            .await
            .unwrap();
        directory("/var/lib/kubelet/pods/1");
        cx.files.write(&[NewFile::public("/etc/kubernetes/admin.conf", "of Kubernetes")]).unwrap();
        cx.files.write(&[NewFile::public("/opt/changed", "changed by somebody else")]).unwrap();
        cx.files.write(&[NewFile::private(temporary(Path::new("/etc/theirs")), "half a fi")]).unwrap();

        let State::Needed(changes) = RemoveFiles.check(&cx).await.unwrap() else { panic!("nothing to do") };
        for change in [
            "restore the original /etc/theirs",
            "remove /etc/new/deep/ours",
            "keep /opt/changed: it was changed after nodeinit wrote it",
        ] {
            assert!(changes.iter().any(|found| found == change), "{change}: {changes:?}");
        }
        remove_all(&cx, false).await;
        assert_eq!(tree(&cx, "/etc"), before);
        assert_eq!(cx.files.list("/var/lib").unwrap(), ["nodeinit"], "a tree created by nodeinit is removed");
        assert_eq!(tree(&cx, "/opt"), ["/opt/changed 644 changed by somebody else"]);
        remove_all(&cx, false).await;
        assert_eq!(tree(&cx, "/etc"), before, "an interrupted reset runs again");
    }

    #[tokio::test]
    async fn in_a_shared_directory_only_files_of_nodeinit_are_removed() {
        let config = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n\
            etcd: {dataDirectory: /srv/data}\napiServer: {extraArgs: {audit-log-path: /var/log/audit.log}}\n";
        let (_dir, cx) = context_of(config);
        let write = |path: &str| cx.files.write(&[NewFile::public(path, "")]).unwrap();
        for directory in ["/var/log", "/srv/data"] {
            fs::create_dir_all(cx.files.real(Path::new(directory))).unwrap();
        }
        write("/var/log/syslog");
        cx.claim_trees(vec!["/var/log".into(), "/srv/data".into()]).await.unwrap();
        fs::create_dir_all(cx.files.real(Path::new("/srv/data/member/wal"))).unwrap();
        let ours = [
            "/var/log/audit.log",
            "/var/log/audit-2026-01-31T12-00-00.000.log",
            "/var/log/audit-2026-01-31T12-00-00.000.log.gz",
            "/var/log/audit.log.gz",
        ];
        let theirs = [
            "/var/log/audit/audit.log",
            "/var/log/audit-backup.tar",
            "/var/log/audit.rules",
            "/var/log/auditd.log",
            "/var/log/mail.log",
            "/srv/data/photos",
        ];
        fs::create_dir_all(cx.files.real(Path::new("/var/log/audit"))).unwrap();
        fs::create_dir_all(cx.files.real(Path::new("/var/log/audit-2026-01-31T12-00-00.001.log"))).unwrap();
        ours.iter().chain(&theirs).for_each(|path| write(path));
        remove_all(&cx, false).await;
        let left = ["audit", "audit-2026-01-31T12-00-00.001.log", "audit-backup.tar", "audit.rules", "auditd.log"];
        assert_eq!(cx.files.list("/var/log").unwrap(), [&left[..], &["mail.log", "syslog"]].concat());
        assert_eq!(cx.files.list("/var/log/audit").unwrap(), ["audit.log"], "auditd's");
        assert_eq!(cx.files.list("/srv/data").unwrap(), ["photos"]);
    }

    /// Claims `/data/etcd`, fills it, puts a file of others into its parent, and runs the removal.
    async fn left_in_the_parent(claim: Option<Record>) -> Vec<String> {
        let (_dir, cx) = match claim {
            None => with_data().await,
            Some(record) => {
                let config = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n";
                let (dir, cx) = context_of(&format!("{config}etcd: {{dataDirectory: /data/etcd}}\n"));
                cx.journal.intend(vec![record]).unwrap();
                fs::create_dir_all(cx.files.real(Path::new("/data/etcd/member/wal"))).unwrap();
                (dir, cx)
            }
        };
        cx.files.write(&[NewFile::public("/data/photos", "theirs")]).unwrap();
        remove_all(&cx, true).await;
        cx.files.list("/data").unwrap()
    }

    #[tokio::test]
    async fn files_of_others_in_a_parent_that_nodeinit_created_stay() {
        assert_eq!(left_in_the_parent(None).await, ["photos"]);
        let older = Record::Tree { path: "/data".into(), before: None };
        assert_eq!(left_in_the_parent(Some(older)).await, ["photos"], "older versions claimed the outermost parent");
    }
}
