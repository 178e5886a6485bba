//! Programs for a read-only `/usr`, as on Flatcar or below a merged system extension: they go into a system extension of nodeinit's own.
//! systemd merges it over `/usr`, at each boot, too. Source: systemd-sysext(8).

use crate::{
    context::Context,
    engine::{error::StepError, journal::Written},
    host::{
        disk,
        files::{FileError, Files, NewFile},
        systemd,
    },
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::sync::Mutex;

/// Of several extensions with the same file, the one whose name sorts last wins: this one, over `nodeinit` of `packaging/sysext`. Source: systemd
/// `src/sysext/sysext.c`, `strverscmp_improved`.
pub(super) const EXTENSION: &str = "/var/lib/extensions/nodeinit-programs";

/// Without this file, systemd does not merge the extension. `_any` needs systemd 252.
const RELEASE: (&str, &str) = ("usr/lib/extension-release.d/extension-release.nodeinit-programs", "ID=_any\n");

/// The program and the unit that merge extensions.
const PROGRAM: &str = "/usr/bin/systemd-sysext";
const UNIT: &str = "systemd-sysext.service";

/// Limit for merging, which takes less than a second.
const LIMIT: Duration = Duration::from_secs(60);

/// Returns where a file must be written so that it is at `path`: there, or in the extension if `/usr` is read-only.
///
/// # Errors
/// If the file system does not report whether it is read-only.
pub(super) fn place(files: &Files, path: &Path) -> Result<PathBuf, FileError> {
    let Ok(below) = path.strip_prefix("/usr").map(|below| Path::new("usr").join(below)) else {
        return Ok(path.to_path_buf());
    };
    let is_extended = files.exists(PROGRAM) && disk::room(files, path)?.read_only;
    Ok(if is_extended { Path::new(EXTENSION).join(below) } else { path.to_path_buf() })
}

/// Returns what the journal says of the program at `path`, wherever nodeinit has written it.
pub fn record(cx: &Context, path: &Path) -> Option<Written> {
    let place = place(&cx.files, path).ok()?;
    cx.journal.state().files.remove(&place)
}

/// Whether a path is in the extension.
pub(super) fn contains(path: &Path) -> bool {
    path.starts_with(EXTENSION)
}

/// Merges the extension over `/usr` as it is now. Running programs keep their files.
///
/// # Errors
/// If a file cannot be written, or systemd refuses the extension.
pub(super) async fn merge(cx: &Context) -> Result<(), StepError> {
    cx.claim_trees(vec![EXTENSION.into()]).await?;
    cx.place(vec![NewFile::public(Path::new(EXTENSION).join(RELEASE.0), RELEASE.1)]).await?;
    // First: the next run has nothing to merge. It stays enabled after `reset`: other extensions may need it, and without any it does nothing.
    systemd::enable(&cx.commands, UNIT).await?;
    refresh(cx).await
}

/// Whether this machine has, or had, programs in the extension.
pub(super) fn is_used(cx: &Context) -> bool {
    cx.journal.state().trees.contains_key(Path::new(EXTENSION))
}

/// Merges all extensions again; after `reset` has removed the files of this one, it is gone. systemd does it, in its own mount namespace: the
/// sandbox of nodeinit.service forbids another one.
///
/// # Errors
/// If systemd refuses.
pub(super) async fn refresh(cx: &Context) -> Result<(), StepError> {
    // Steps run side by side.
    static ONE: Mutex<()> = Mutex::const_new(());
    let _one = ONE.lock().await;
    let command = ["systemd-run", "--quiet", "--wait", "--collect", PROGRAM, "refresh"];
    cx.commands.run(&command, LIMIT).await.map(drop).map_err(|e| {
        StepError::caused("cannot merge the system extension with the programs of Kubernetes over /usr", e)
            .hint("see `systemd-sysext status`, and `journalctl -b -g sysext`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        context::testing::context,
        engine::step::{State, Step},
        host::commands::Commands,
        steps::reset::{RemoveData, RemoveFiles},
    };
    use std::sync::Arc;

    #[tokio::test]
    async fn only_a_read_only_usr_is_extended_and_reset_removes_the_extension() {
        let (_dir, mut cx) = context();
        let log = Arc::default();
        cx.commands = Commands { log: Some(Arc::clone(&log)), answers: Vec::new() };
        for directory in cx.files.missing(Path::new("/usr/bin")) {
            cx.files.make_directory(&directory, 0o755).unwrap();
        }
        cx.files.write(&[NewFile::public(PROGRAM, "")]).unwrap();
        for path in ["/usr/bin/kubelet", "/usrlocal", "/opt/cni/bin/bridge"].map(Path::new) {
            assert_eq!(place(&cx.files, path).unwrap(), path);
        }

        merge(&cx).await.unwrap();
        let theirs = "/var/lib/extensions/theirs";
        cx.files.make_directory(Path::new(theirs), 0o755).unwrap();
        // A former program, which has no record of its own.
        let former = Path::new(EXTENSION).join("usr/bin/kubelet");
        for directory in cx.files.missing_parents(&former) {
            cx.files.make_directory(&directory, 0o755).unwrap();
        }
        cx.files.write(&[NewFile::public(&former, "")]).unwrap();
        RemoveData { remove_aside: false }.apply(&cx).await.unwrap();
        let State::Needed(changes) = RemoveFiles.check(&cx).await.unwrap() else { panic!("it stays merged") };
        assert_eq!(changes, ["remove the system extension from /usr"]);
        RemoveFiles.apply(&cx).await.unwrap();
        assert_eq!(cx.files.list("/var/lib/extensions").unwrap(), ["theirs"]);
        let ran = log.lock().unwrap().join("\n");
        assert_eq!(ran.matches("systemd-sysext refresh").count(), 2, "{ran}");
    }
}
