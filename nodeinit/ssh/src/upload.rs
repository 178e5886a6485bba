//! Files on another machine: whole, or not there.

use super::{Phase, Session, SshError, command::quoted};
use bytes::Bytes;
use std::{path::Path, time::Duration};

impl Session {
    /// Writes `content` to the path `to`, as root, with the mode `mode` (`0o755`), within `limit`.
    ///
    /// It is written by standard input to a temporary name beside `to`, its mode set before, and renamed when it is
    /// complete and on the disk. However this ends, `to` has its old or its new content.
    ///
    /// # Errors
    /// [`SshError`].
    pub async fn upload(&self, content: Bytes, to: &str, mode: u32, limit: Duration) -> Result<(), SshError> {
        let script = script(to, mode, content.len());
        let output = self.as_root(Phase::Upload, &script, content, limit, |_| true).await?;
        match output.code {
            0 => Ok(()),
            code => {
                let says = output.stderr.trim();
                let says = if says.is_empty() { format!("exit code {code}") } else { says.to_owned() };
                Err(SshError::Upload { name: self.name().to_owned(), to: to.to_owned(), says })
            }
        }
    }
}

/// What writes a file of `length` bytes. A connection that breaks looks like the end of the content there, so the length
/// is compared before the name is given. The shell's number is in the temporary name: an upload that was given up may
/// still be at work. Those of shells that are no more are removed.
fn script(to: &str, mode: u32, length: usize) -> String {
    let path = Path::new(to);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let dir = path.parent().map_or("/".into(), |dir| dir.to_string_lossy());
    let (to, dir, stem) = (quoted(to), quoted(&dir), quoted(&format!("{dir}/.{name}.nodeinit-new.")));
    format!(
        "set -eu; umask 077; new={stem}$$
for old in {stem}*; do kill -0 \"${{old##*.}}\" 2>/dev/null || rm -f -- \"$old\"; done
trap 'rm -f -- \"$new\"' EXIT; trap 'exit 1' HUP INT PIPE TERM
: >\"$new\"; chmod {mode:o} -- \"$new\"; cat >>\"$new\"
got=$(wc -c <\"$new\"); [ \"$got\" -eq {length} ] || {{ echo \"$got of {length} bytes came\" >&2; exit 1; }}
sync -- \"$new\"; mv -fT -- \"$new\" {to}; sync -- {dir}"
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

    fn run(to: &Path, length: usize, content: &[u8]) -> Output {
        let script = script(to.to_str().unwrap(), 0o640, length);
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
    fn a_missing_directory_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let output = run(&dir.path().join("none/file"), 3, b"new");
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("none/.file.nodeinit-new."), "{output:?}");
    }
}
