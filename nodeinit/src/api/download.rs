//! Downloads from a mirror: resumed where they broke off, verified before anybody uses them.

use super::http::{self, AskError};
use crate::{
    context::blocking,
    engine::{error::StepError, journal::hex},
    host::files::{FileError, Files, failed},
};
use http_body_util::BodyExt;
use hyper::{
    Response, StatusCode,
    body::{Body, Bytes, Incoming},
    header::CONTENT_RANGE,
};
use ring::digest::{Context as Digest, SHA256};
use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{sync::mpsc, time::Instant};

/// A connection that gives nothing for so long is given up and begun anew.
const STALL: Duration = Duration::from_secs(20);

/// The pause after a broken connection, doubled each time up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How often somebody who waits is told.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// How many pieces may wait for the disk. Each is at most as large as the connection's buffer.
const PIECES: usize = 4;

/// Why nothing was downloaded.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// The address cannot be used.
    #[error(transparent)]
    Address(AskError),
    /// The mirror answered, and trying again would not help.
    #[error("{url}: the mirror answered {status}")]
    Refused {
        /// The address.
        url: String,
        /// Its answer.
        status: StatusCode,
    },
    /// The content is not what was described. What was downloaded is removed.
    #[error("{url} has the SHA-256 {found}, and {wanted} was expected")]
    Digest {
        /// The address.
        url: String,
        /// The configured digest, in hex.
        wanted: String,
        /// The digest of what came, in hex.
        found: String,
    },
    /// The deadline passed. What has come so far is kept for the next try.
    #[error("{url} was not downloaded within {} s, {bytes} bytes of it are here; last: {last}", .limit.as_secs())]
    TimedOut {
        /// The address.
        url: String,
        /// How long it was given.
        limit: Duration,
        /// How much is here.
        bytes: u64,
        /// What broke the last try.
        last: String,
    },
    /// A file of ours.
    #[error(transparent)]
    File(#[from] FileError),
    /// A task of ours ended early.
    #[error(transparent)]
    Task(StepError),
}

/// A file to download.
#[derive(Clone, Debug)]
pub struct Download {
    /// Where it is: `http://` or `https://`.
    pub url: String,
    /// Its SHA-256.
    pub sha256: [u8; 32],
    /// How long it may take, with all retries.
    pub limit: Duration,
}

/// How one try ended.
enum Ended {
    /// Trying again may help.
    Broken(String),
    /// Trying again does not help.
    Final(DownloadError),
}

impl From<FileError> for Ended {
    fn from(error: FileError) -> Self {
        Self::Final(error.into())
    }
}

impl From<AskError> for Ended {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Broken { .. } => Self::Broken(error.to_string()),
            AskError::Address { .. } => Self::Final(DownloadError::Address(error)),
        }
    }
}

impl Download {
    /// Downloads into `to`, going on behind what is there, and returns when the file is whole and has its digest. `tell`
    /// is given a line of progress every few seconds.
    ///
    /// # Errors
    /// [`DownloadError`]; a file with the wrong digest is removed, a part of one is kept.
    pub async fn fetch(&self, files: &Files, to: &Path, tell: impl Fn(String)) -> Result<(), DownloadError> {
        let begun = Instant::now();
        let deadline = begun + self.limit;
        let (mut pause, mut last) = (FIRST_PAUSE, String::from("no answer"));
        // What an earlier run left may be of another content.
        let mut is_doubtful = size(files, to) > 0;
        loop {
            let before = size(files, to);
            match tokio::time::timeout_at(deadline, self.attempt(files, to, begun, &tell)).await {
                Ok(Ok(())) => {
                    let found = digest(files, to).await?;
                    if found == self.sha256 {
                        return Ok(());
                    }
                    files.remove_file(to)?;
                    if !is_doubtful {
                        let (wanted, found) = (hex(&self.sha256), hex(&found));
                        return Err(DownloadError::Digest { url: self.url.clone(), wanted, found });
                    }
                    is_doubtful = false;
                    tell("what an earlier run left does not fit; from the beginning".into());
                    continue;
                }
                Ok(Err(Ended::Final(error))) => return Err(error),
                Ok(Err(Ended::Broken(reason))) => last = reason,
                Err(_) => {}
            }
            if size(files, to) > before {
                pause = FIRST_PAUSE;
            }
            if Instant::now() + pause >= deadline {
                let bytes = size(files, to);
                return Err(DownloadError::TimedOut { url: self.url.clone(), limit: self.limit, bytes, last });
            }
            tell(format!("{last}; trying again"));
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn attempt(&self, files: &Files, to: &Path, begun: Instant, tell: &impl Fn(String)) -> Result<(), Ended> {
        let have = size(files, to);
        let silent = || Ended::Broken(format!("nothing came for {} s", STALL.as_secs()));
        let answer = tokio::time::timeout(STALL, http::get(&self.url, have, files)).await.map_err(|_| silent())??;
        let offset = match answer.response.status() {
            StatusCode::PARTIAL_CONTENT if starts_at(&answer.response) == Some(have) => have,
            // All of it: the mirror knows no ranges, or there was nothing to go on behind.
            StatusCode::OK => 0,
            // Nothing behind what we have: the digest decides.
            StatusCode::RANGE_NOT_SATISFIABLE if have > 0 => return Ok(()),
            status if is_passing(status) => return Err(Ended::Broken(format!("the mirror answered {status}"))),
            status => return Err(Ended::Final(DownloadError::Refused { url: self.url.clone(), status })),
        };
        let mut body = answer.response.into_body();
        let total = body.size_hint().exact().map(|rest| offset + rest);
        let mut writer = Writer::open(files, to, offset)?;
        let (mut done, mut told) = (offset, Instant::now());
        let broken = loop {
            match tokio::time::timeout(STALL, body.frame()).await {
                Err(_) => break Some(silent()),
                Ok(Some(Err(e))) => {
                    break Some(Ended::Broken(format!(
                        "the connection broke after {done} bytes: {}",
                        http::with_causes(&e)
                    )));
                }
                Ok(None) if total.is_some_and(|total| done < total) => {
                    break Some(Ended::Broken(format!("the connection ended after {done} bytes")));
                }
                Ok(None) => break None,
                Ok(Some(Ok(frame))) => {
                    if let Ok(piece) = frame.into_data() {
                        done += piece.len() as u64;
                        if !writer.write(piece).await {
                            break None;
                        }
                    }
                }
            }
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                tell(progress(done, total, begun.elapsed()));
            }
        };
        // The disk's own error goes before the network's.
        writer.finish().await?;
        broken.map_or(Ok(()), Err)
    }
}

/// Writes beside the network: a slow disk must not hold up the thread that all steps share.
struct Writer {
    pieces: mpsc::Sender<Bytes>,
    task: tokio::task::JoinHandle<Result<(), FileError>>,
}

impl Writer {
    fn open(files: &Files, to: &Path, offset: u64) -> Result<Self, FileError> {
        let mut file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .open(files.real(to))
            .and_then(|file| file.set_len(offset).map(|()| file))
            .and_then(|mut file| io::Seek::seek(&mut file, io::SeekFrom::Start(offset)).map(|_| file))
            .map_err(failed("write", to))?;
        let (pieces, mut waiting) = mpsc::channel::<Bytes>(PIECES);
        let to: PathBuf = to.into();
        let task = tokio::task::spawn_blocking(move || {
            while let Some(piece) = waiting.blocking_recv() {
                file.write_all(&piece).map_err(failed("write", &to))?;
            }
            Ok(())
        });
        Ok(Self { pieces, task })
    }

    /// Whether the piece was taken; where not, [`Self::finish`] says why.
    async fn write(&mut self, piece: Bytes) -> bool {
        self.pieces.send(piece).await.is_ok()
    }

    async fn finish(self) -> Result<(), Ended> {
        drop(self.pieces);
        match self.task.await {
            Ok(result) => Ok(result?),
            Err(e) => Err(Ended::Broken(format!("a task of nodeinit ended early: {e}"))),
        }
    }
}

fn progress(done: u64, total: Option<u64>, took: Duration) -> String {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let of = total.map_or_else(String::new, |t| format!(" of {:.1}", megabytes(t)));
    format!("{:.1}{of} MB after {} s", megabytes(done), took.as_secs())
}

fn size(files: &Files, path: &Path) -> u64 {
    files.real(path).metadata().map_or(0, |m| m.len())
}

async fn digest(files: &Files, path: &Path) -> Result<[u8; 32], DownloadError> {
    let (files, path) = (files.clone(), path.to_path_buf());
    blocking(move || Ok(file_sha256(&files, &path))).await.map_err(DownloadError::Task)?.map_err(Into::into)
}

/// The SHA-256 of a file, read in pieces. Blocks on the disk.
///
/// # Errors
/// Where it cannot be read.
pub fn file_sha256(files: &Files, path: &Path) -> Result<[u8; 32], FileError> {
    let read = || -> io::Result<[u8; 32]> {
        let mut file = File::open(files.real(path))?;
        let mut digest = Digest::new(&SHA256);
        let mut buffer = vec![0; 256 << 10];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                n => digest.update(&buffer[..n]),
            }
        }
        let mut sum = [0; 32];
        sum.copy_from_slice(digest.finish().as_ref());
        Ok(sum)
    };
    read().map_err(failed("read", path))
}

/// The first byte's place in a partial answer: `Content-Range: bytes 100-199/200`.
fn starts_at(response: &Response<Incoming>) -> Option<u64> {
    let range = response.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

/// Whether another try may be answered better.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
}

#[cfg(test)]
mod tests;
