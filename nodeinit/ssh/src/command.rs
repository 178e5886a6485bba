//! Commands on another machine.

use super::{Content, Phase, Session, SshError};
use bytes::Bytes;
use russh::ChannelMsg;
use std::{io, time::Duration};

/// More than this is not kept of what a command writes to its standard output, in bytes: 8 MiB.
const OUTPUT: usize = 8 << 20;
/// The end of standard error that is kept, in bytes.
const TAIL: usize = 16 << 10;
/// How cloud images answer a root whom they do not let in. Source: cloud-init's `disable_root_opts`.
const DISABLED_ROOT: (u32, &str) = (142, "Please login as the user");

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its exit code.
    pub code: u32,
    /// What it wrote to its standard output; what is not UTF-8 is replaced.
    pub stdout: String,
    /// The end of what it wrote to its standard error: 16 KiB.
    pub stderr: String,
}

/// The word of `digits` hexadecimal digits at the beginning of the last line that has one, such as a digest. A shell may print
/// other lines before the command's output: what `.bashrc` prints is in every answer.
#[must_use]
pub fn hex_word(output: &str, digits: usize) -> Option<&str> {
    let mut words = output.lines().filter_map(|line| line.split_whitespace().next());
    words.rfind(|word| word.len() == digits && word.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// What a command has done by now.
#[derive(Default)]
struct Seen {
    code: Option<u32>,
    signal: Option<String>,
    stderr: Vec<u8>,
}

impl Session {
    /// Runs a shell's command as root with `input` as its standard input, and returns how it ended: any exit code is
    /// an answer. It is visible to everyone there, so it must contain no secret.
    ///
    /// A command that is given up, by `limit` or by dropping the future, finds its standard input at its end and its
    /// output closed; it is not killed.
    ///
    /// # Errors
    /// [`SshError`].
    pub async fn run(&self, command: &str, input: &[u8], limit: Duration) -> Result<Output, SshError> {
        let mut stdout = Vec::new();
        let input = Bytes::copy_from_slice(input).into();
        let output = self.as_root(Phase::Command, command, input, limit, |data| {
            stdout.extend_from_slice(data);
            stdout.len() <= OUTPUT
        });
        let output = output.await?;
        let stdout = String::from_utf8_lossy(&stdout).into_owned();
        if output.code == DISABLED_ROOT.0 && stdout.starts_with(DISABLED_ROOT.1) {
            let (name, user, says) = (self.name().to_owned(), self.user().to_owned(), stdout.trim().to_owned());
            return Err(SshError::WrongUser { name, user, says });
        }
        Ok(Output { stdout, ..output })
    }

    /// As [`run`](Self::run), but gives `each` line of standard output when it is complete; `stdout` stays empty.
    ///
    /// # Errors
    /// [`SshError`].
    pub async fn lines(
        &self,
        command: &str,
        input: &[u8],
        limit: Duration,
        mut each: impl FnMut(&str),
    ) -> Result<Output, SshError> {
        let mut rest = Vec::new();
        let input = Bytes::copy_from_slice(input).into();
        let output = self.as_root(Phase::Command, command, input, limit, |data| {
            for part in data.split_inclusive(|byte| *byte == b'\n') {
                rest.extend_from_slice(part);
                if let Some(line) = rest.strip_suffix(b"\n") {
                    each(&String::from_utf8_lossy(line));
                    rest.clear();
                }
            }
            rest.len() <= OUTPUT
        });
        let output = output.await?;
        if !rest.is_empty() {
            each(&String::from_utf8_lossy(&rest));
        }
        Ok(output)
    }

    /// Runs a command as root; `each` piece of standard output is taken until it says false.
    pub(super) async fn as_root(
        &self,
        phase: Phase,
        command: &str,
        input: Content,
        limit: Duration,
        each: impl FnMut(&[u8]) -> bool,
    ) -> Result<Output, SshError> {
        let work = async {
            if self.user() == "root" {
                return self.exchange(phase, format!("sh -c {}", quoted(command)), input, each).await;
            }
            // Told apart from the command's own failures by trying it alone, once.
            self.may_sudo.get_or_try_init(|| self.try_sudo()).await?;
            self.exchange(phase, format!("sudo -n -- sh -c {}", quoted(command)), input, each).await
        };
        let timed_out = |_| Err(SshError::TimedOut { name: self.name().to_owned(), phase, limit });
        tokio::time::timeout(limit, work).await.unwrap_or_else(timed_out)
    }

    async fn try_sudo(&self) -> Result<(), SshError> {
        let output = self.exchange(Phase::Command, "sudo -n -- true".into(), Bytes::new().into(), |_| true).await?;
        match output.code {
            0 => Ok(()),
            code => {
                let says = if output.stderr.is_empty() { format!("sudo failed with {code}") } else { output.stderr };
                let (name, user) = (self.name().to_owned(), self.user().to_owned());
                Err(SshError::Sudo { name, user, says: says.trim().to_owned() })
            }
        }
    }

    async fn exchange(
        &self,
        phase: Phase,
        command: String,
        input: Content,
        mut each: impl FnMut(&[u8]) -> bool,
    ) -> Result<Output, SshError> {
        let broken = |source| self.broken(phase, Some(source));
        let mut channel = self.channel().await.map_err(|source| match source {
            russh::Error::ChannelOpenFailure(reason) => {
                SshError::Busy { name: self.name().to_owned(), reason: format!("{reason:?}") }
            }
            source => broken(source),
        })?;
        channel.writer.exec(true, command).await.map_err(broken)?;
        let mut seen = Seen::default();
        {
            let writing = async {
                let mut sent = 0;
                loop {
                    let piece = input.piece(sent)?;
                    if piece.is_empty() {
                        break;
                    }
                    sent += piece.len() as u64;
                    // A command that does not read all of its input is no error; if the connection broke, the reader sees it.
                    if channel.writer.data_bytes(piece).await.is_err() {
                        return Ok(());
                    }
                }
                let _ = channel.writer.eof().await;
                Ok::<(), io::Error>(())
            };
            tokio::pin!(writing);
            let mut wrote = false;
            loop {
                let message = tokio::select! {
                    message = channel.reader.wait() => message,
                    written = &mut writing, if !wrote => {
                        written.map_err(|source| SshError::Input { name: self.name().to_owned(), source })?;
                        wrote = true;
                        continue;
                    }
                };
                match message {
                    Some(ChannelMsg::Data { data }) if !each(&data) => {
                        return Err(SshError::TooMuch { name: self.name().to_owned(), limit: OUTPUT });
                    }
                    Some(message) => seen.note(message),
                    None => break,
                }
            }
        }
        match seen {
            Seen { code: Some(code), stderr, .. } => {
                Ok(Output { code, stdout: String::new(), stderr: String::from_utf8_lossy(&stderr).into_owned() })
            }
            Seen { signal: Some(signal), .. } => Err(SshError::Killed { name: self.name().to_owned(), signal }),
            _ => Err(self.broken(phase, None)),
        }
    }
}

impl Seen {
    fn note(&mut self, message: ChannelMsg) {
        match message {
            ChannelMsg::ExtendedData { data, .. } => {
                self.stderr.extend_from_slice(&data);
                let over = self.stderr.len().saturating_sub(TAIL);
                self.stderr.drain(..over);
            }
            ChannelMsg::ExitStatus { exit_status } => self.code = Some(exit_status),
            ChannelMsg::ExitSignal { signal_name, .. } => self.signal = Some(format!("{signal_name:?}")),
            _ => {}
        }
    }
}

/// A word for any shell: within single quotes only a single quote means something.
#[must_use]
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test asks the real shell")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_shell_reads_a_quoted_word_as_it_was(word in "[^\0]*") {
            let script = format!("printf %s {}", quoted(&word));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            prop_assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }

    #[test]
    fn only_the_end_of_standard_error_is_kept() {
        let mut seen = Seen::default();
        for n in 0..10_u8 {
            let data = Bytes::from(vec![n; TAIL / 4]);
            seen.note(ChannelMsg::ExtendedData { data, ext: 1 });
        }
        assert_eq!(seen.stderr.len(), TAIL);
        assert_eq!((seen.stderr[0], seen.stderr[TAIL - 1]), (6, 9));
    }
}
