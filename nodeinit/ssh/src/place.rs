//! Files that a machine must have: only what differs is uploaded.

use super::{Content, RemoteFile, Session, SshError, quoted};
use bytes::Bytes;
use nodeinit_base::{hex, sha256_hex, sha256_of};
use std::{fs::File, io, sync::Arc, time::Duration};

/// How long a short command may take.
pub const COMMAND: Duration = Duration::from_secs(60);
/// How long an upload may take.
pub const UPLOAD: Duration = Duration::from_secs(600);

/// What a machine prints of each file that it has.
const SAME: &str = "nodeinit-same";

/// An executable of nodeinit on this machine, to be sent to others.
#[derive(Clone, Debug)]
pub struct Executable {
    content: Content,
    sha256: String,
}

impl Executable {
    /// Computes its digest. Blocks on the disk.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read(file: File) -> io::Result<Self> {
        let (sha256, length) = (hex(&sha256_of(&file)?), file.metadata()?.len());
        Ok(Self { content: Content::File { file: Arc::new(file), length }, sha256 })
    }
}

/// A file that a machine must have.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    to: RemoteFile<'a>,
    content: Content,
    sha256: String,
}

impl<'a> Wanted<'a> {
    /// A file with this content.
    #[must_use]
    pub fn new(to: RemoteFile<'a>, content: Bytes) -> Self {
        Self { to, sha256: sha256_hex(&content), content: content.into() }
    }

    /// The executable of nodeinit.
    #[must_use]
    pub fn executable(path: &'a str, executable: &Executable) -> Self {
        let to = RemoteFile { path, mode: 0o755, directory: Some(0o755) };
        Self { to, content: executable.content.clone(), sha256: executable.sha256.clone() }
    }

    /// A shell's condition that the machine has it.
    #[must_use]
    pub fn is_there(&self) -> String {
        format!("[ \"$({} 2>/dev/null)\" = '{}  -' ]", digest_command(self.to.path), self.sha256)
    }
}

/// A command that prints the SHA-256 of a file; [`hex_word`](super::hex_word) finds it in the output.
#[must_use]
pub fn digest_command(path: &str) -> String {
    format!("sha256sum <{}", quoted(path))
}

/// What a machine got.
#[derive(Debug)]
pub struct Placed<'a> {
    /// What the command printed that compared the files.
    pub output: String,
    /// The paths of the files that were uploaded.
    pub uploaded: Vec<&'a str>,
}

impl Session {
    /// Runs a command that must succeed, and returns its standard output.
    ///
    /// # Errors
    /// [`SshError`]; [`SshError::Failed`] for an exit code other than 0.
    pub async fn output(&self, command: &str, limit: Duration) -> Result<String, SshError> {
        let output = self.run(command, b"", limit).await?;
        if output.code == 0 {
            return Ok(output.stdout);
        }
        let says = if output.stderr.trim().is_empty() { &output.stdout } else { &output.stderr };
        Err(SshError::Failed { name: self.name().to_owned(), code: output.code, says: says.trim().to_owned() })
    }

    /// Uploads those of `files` that the machine does not have. One command compares all of them; it begins with the shell commands
    /// `before`, which may print lines of their own.
    ///
    /// # Errors
    /// [`SshError`].
    pub async fn place<'a>(&self, before: &str, files: &[Wanted<'a>]) -> Result<Placed<'a>, SshError> {
        let mut script = format!("set -e\n{before}\n");
        for (n, file) in files.iter().enumerate() {
            script += &format!("if {}; then echo {SAME} {n}; fi\n", file.is_there());
        }
        let output = self.output(&script, COMMAND).await?;
        let mut uploaded = Vec::new();
        for (n, file) in files.iter().enumerate() {
            // A shell may print other lines before those of the command.
            let same = format!("{SAME} {n}");
            if output.lines().all(|line| line != same) {
                self.upload(file.content.clone(), &file.to, UPLOAD).await?;
                uploaded.push(file.to.path);
            }
        }
        Ok(Placed { output, uploaded })
    }
}
