//! Files on another machine: whole, or not there.

use super::{Content, Phase, Session, SshError, command::quoted};
use std::{path::Path, time::Duration};

/// A file on another machine.
#[derive(Clone, Copy, Debug)]
pub struct RemoteFile<'a> {
    /// Its absolute path.
    pub path: &'a str,
    /// Its mode: `0o600` for secrets.
    pub mode: u32,
    /// The mode of its directory if that is missing and has to be created. `None`: a missing directory is an error.
    pub directory: Option<u32>,
}

impl Session {
    /// Writes `content` to the file `to` as root, within `limit`.
    ///
    /// The content goes to standard input and into a temporary file beside `to` that has the mode before it has content.
    /// It gets its name when it is complete and on the disk. However this ends, `to` has its old or its new content.
    ///
    /// # Errors
    /// [`SshError`].
    pub async fn upload(
        &self,
        content: impl Into<Content>,
        to: &RemoteFile<'_>,
        limit: Duration,
    ) -> Result<(), SshError> {
        let content = content.into();
        let script = script(to, content.len());
        let output = self.as_root(Phase::Upload, &script, content, limit, |_| true).await?;
        match output.code {
            0 => Ok(()),
            code => {
                let says = output.stderr.trim();
                let says = if says.is_empty() { format!("exit code {code}") } else { says.to_owned() };
                Err(SshError::Upload { name: self.name().to_owned(), to: to.path.to_owned(), says })
            }
        }
    }
}

/// Writes a file of `length` bytes. A broken connection looks like the end of the content there, so the length is compared
/// before the file gets its name. No more than `length` bytes are read: a server that notices much later that the connection
/// is gone must not install an old file then. The shell's process ID is in the temporary name, because an upload that was
/// given up may still be running. Files of shells that have ended are removed.
fn script(to: &RemoteFile<'_>, length: u64) -> String {
    let path = Path::new(to.path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let dir = path.parent().map_or("/".into(), |dir| dir.to_string_lossy());
    let (path, dir, stem) = (quoted(to.path), quoted(&dir), quoted(&format!("{dir}/.{name}.nodeinit-new.")));
    let make = to.directory.map_or_else(String::new, |mode| format!("mkdir -p -m {mode:o} -- {dir}\n"));
    let mode = to.mode;
    format!(
        "set -eu; umask 077; new={stem}$$
{make}for old in {stem}*; do kill -0 \"${{old##*.}}\" 2>/dev/null || rm -f -- \"$old\"; done
trap 'rm -f -- \"$new\"' EXIT; trap 'exit 1' HUP INT PIPE TERM
: >\"$new\"; chmod {mode:o} -- \"$new\"; head -c {length} >>\"$new\"
got=$(wc -c <\"$new\"); [ \"$got\" -eq {length} ] || {{ echo \"$got of {length} bytes came\" >&2; exit 1; }}
sync -- \"$new\"; mv -fT -- \"$new\" {path}; sync -- {dir}"
    )
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test asks the real shell")]
mod tests {
    use super::*;
    use std::{
        fs,
        io::Write,
        os::unix::fs::PermissionsExt,
        process::{Command, Output, Stdio},
    };

    fn run(to: &Path, length: u64, content: &[u8]) -> Output {
        run_in(None, to, length, content)
    }

    fn run_in(directory: Option<u32>, to: &Path, length: u64, content: &[u8]) -> Output {
        let script = script(&RemoteFile { path: to.to_str().unwrap(), mode: 0o640, directory }, length);
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(content).unwrap();
        child.wait_with_output().unwrap()
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_written_whole_with_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("it's a $file");
        fs::write(&to, "old").unwrap();
        fs::write(dir.path().join(".it's a $file.nodeinit-new.4194305"), "left over").unwrap();
        let output = run(&to, 3, b"new");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(fs::read(&to).unwrap(), b"new");
        assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(dir.path()), ["it's a $file"]);
    }

    #[test]
    fn a_part_of_the_content_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("file");
        fs::write(&to, "old").unwrap();
        let output = run(&to, 4, b"new");
        assert_eq!(String::from_utf8_lossy(&output.stderr).trim(), "3 of 4 bytes came");
        assert_eq!(fs::read(&to).unwrap(), b"old");
        assert_eq!(names(dir.path()), ["file"]);
    }

    #[test]
    fn a_complete_file_does_not_wait_for_the_end_of_the_input() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("file");
        // The connection of an upload that was given up may stay open for hours there.
        let output = run(&to, 3, b"new and what follows it");
        assert!(output.status.success(), "{output:?}");
        assert_eq!(fs::read(&to).unwrap(), b"new");
    }

    #[test]
    fn a_missing_directory_is_created_with_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("inner");
        let mode = || fs::metadata(&inner).unwrap().permissions().mode() & 0o777;
        assert!(run_in(Some(0o711), &inner.join("file"), 3, b"new").status.success());
        assert_eq!(mode(), 0o711);
        assert!(run_in(Some(0o700), &inner.join("file"), 3, b"new").status.success());
        assert_eq!(mode(), 0o711, "an existing directory keeps its mode");
    }

    #[test]
    fn a_missing_directory_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let output = run(&dir.path().join("none/file"), 3, b"new");
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("none/.file.nodeinit-new."), "{output:?}");
    }
}
