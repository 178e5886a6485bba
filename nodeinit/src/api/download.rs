//! Downloads: resumed where they broke off, verified before anybody uses them.

use super::http::{Answer, AskError};
use crate::{
    engine::{blocking::blocking, error::StepError},
    host::files::{FileError, Files, failed},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::{
    Response, StatusCode,
    body::{Body, Bytes, Incoming},
    header::CONTENT_RANGE,
};
use nodeinit_base::{Backoff, hex, sha256_of, with_causes};
use nodeinit_config::format;
use std::{
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{sync::mpsc, time::Instant};

/// A connection without data for this long is closed and opened again.
const STALL: Duration = Duration::from_secs(20);

/// The pause after a broken connection, doubled each time up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How often progress is reported.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// How many pieces may wait for the disk. Each is at most as large as the connection's buffer.
const PIECES: usize = 4;

/// Why nothing was downloaded.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// There is no answer, and trying again would not help.
    #[error(transparent)]
    Ask(AskError),
    /// The server answered, and trying again would not help.
    #[error("{url}: the server answered {status}")]
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
    /// The file is larger than any artifact. What was downloaded is removed.
    #[error("{url} has more than {} MiB, the largest download that is accepted", limit >> 20)]
    TooLarge {
        /// The address.
        url: String,
        /// The most that is downloaded, in bytes.
        limit: u64,
    },
    /// The deadline passed. What has come so far is kept for the next try.
    #[error("{url} was not downloaded within {} s; {bytes} bytes arrived; last error: {last}", .limit.as_secs())]
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
    /// Where it is, for messages.
    pub url: String,
    /// Its SHA-256.
    pub sha256: [u8; 32],
    /// The most bytes that it may have.
    pub largest: u64,
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
            AskError::Address { .. } | AskError::Untrusted { .. } | AskError::Denied { .. } => {
                Self::Final(DownloadError::Ask(error))
            }
        }
    }
}

impl Download {
    /// Downloads into `to`, going on behind what is there, and returns when the file is whole and has its digest. `ask` sends
    /// the request for what follows a byte; `tell` is given a line of progress every few seconds.
    ///
    /// # Errors
    /// [`DownloadError`]; a file with the wrong digest is removed, a part of one is kept.
    pub async fn fetch(
        &self,
        files: &Files,
        to: &Path,
        ask: impl AsyncFn(u64) -> Result<Answer, AskError>,
        tell: impl Fn(String),
    ) -> Result<(), DownloadError> {
        let begun = Instant::now();
        let mut retries = Retries::until(&self.url, self.limit);
        // What an earlier run left may be of another content.
        let mut is_doubtful = size(files, to) > 0;
        loop {
            let before = size(files, to);
            let attempt = self.attempt(files, to, begun, &ask, &tell);
            let last = match tokio::time::timeout_at(retries.deadline, attempt).await {
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
                    tell("the partial download of an earlier run is not usable; starting again".into());
                    continue;
                }
                Ok(Err(Ended::Final(error @ DownloadError::TooLarge { .. }))) => {
                    files.remove_file(to)?;
                    return Err(error);
                }
                Ok(Err(Ended::Final(error))) => return Err(error),
                Ok(Err(Ended::Broken(reason))) => Some(reason),
                Err(_) => None,
            };
            let have = size(files, to);
            if have > before {
                retries.backoff.reset();
            }
            retries.again(last, have, &tell).await?;
        }
    }

    async fn attempt(
        &self,
        files: &Files,
        to: &Path,
        begun: Instant,
        ask: &impl AsyncFn(u64) -> Result<Answer, AskError>,
        tell: &impl Fn(String),
    ) -> Result<(), Ended> {
        let have = size(files, to);
        let answer = tokio::time::timeout(STALL, ask(have)).await.map_err(|_| silent())??;
        let offset = match answer.response.status() {
            StatusCode::PARTIAL_CONTENT if starts_at(&answer.response) == Some(have) => have,
            // All of it: the mirror knows no ranges, or there was nothing to go on behind.
            StatusCode::OK => 0,
            // Nothing behind what we have: the digest decides.
            StatusCode::RANGE_NOT_SATISFIABLE if have > 0 => return Ok(()),
            status => return Err(refused(&self.url, status)),
        };
        let mut body = answer.response.into_body();
        let total = body.size_hint().exact().map(|rest| offset.saturating_add(rest));
        let too_large = || Ended::Final(DownloadError::TooLarge { url: self.url.clone(), limit: self.largest });
        if total.is_some_and(|total| total > self.largest) {
            return Err(too_large());
        }
        let mut writer = Writer::open(files, to, offset)?;
        let (mut done, mut told) = (offset, Instant::now());
        let broken = loop {
            match tokio::time::timeout(STALL, body.frame()).await {
                Err(_) => break Some(silent()),
                Ok(Some(Err(e))) => {
                    break Some(Ended::Broken(format!("the connection broke after {done} bytes: {}", with_causes(&e))));
                }
                Ok(None) if total.is_some_and(|total| done < total) => {
                    break Some(Ended::Broken(format!("the connection ended after {done} bytes")));
                }
                Ok(None) => break None,
                Ok(Some(Ok(frame))) => {
                    if let Ok(piece) = frame.into_data() {
                        done += piece.len() as u64;
                        if done > self.largest {
                            break Some(too_large());
                        }
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

/// A short text, such as a manifest or a digest; asked for again until the deadline.
///
/// # Errors
/// [`DownloadError`], where it does not come whole, or has more than `largest` bytes.
pub async fn document(
    url: &str,
    largest: usize,
    limit: Duration,
    ask: impl AsyncFn() -> Result<Answer, AskError>,
    tell: impl Fn(String),
) -> Result<Vec<u8>, DownloadError> {
    let attempt = async || -> Result<Vec<u8>, Ended> {
        let answer = tokio::time::timeout(STALL, ask()).await.map_err(|_| silent())??;
        if answer.response.status() != StatusCode::OK {
            return Err(refused(url, answer.response.status()));
        }
        let body = Limited::new(answer.response.into_body(), largest).collect();
        match tokio::time::timeout(STALL, body).await.map_err(|_| silent())? {
            Ok(whole) => Ok(whole.to_bytes().into()),
            Err(e) if e.is::<LengthLimitError>() => {
                Err(Ended::Final(DownloadError::TooLarge { url: url.into(), limit: largest as u64 }))
            }
            Err(e) => Err(Ended::Broken(format!("the connection broke: {}", with_causes(&*e)))),
        }
    };
    let mut retries = Retries::until(url, limit);
    loop {
        let last = match tokio::time::timeout_at(retries.deadline, attempt()).await {
            Ok(Ok(text)) => return Ok(text),
            Ok(Err(Ended::Final(error))) => return Err(error),
            Ok(Err(Ended::Broken(reason))) => Some(reason),
            Err(_) => None,
        };
        retries.again(last, 0, &tell).await?;
    }
}

/// The pauses between tries, until a deadline.
struct Retries<'a> {
    url: &'a str,
    limit: Duration,
    deadline: Instant,
    backoff: Backoff,
    last: String,
}

impl<'a> Retries<'a> {
    fn until(url: &'a str, limit: Duration) -> Self {
        let deadline = Instant::now() + limit;
        let backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE).until(deadline);
        Self { url, limit, deadline, backoff, last: "no answer".into() }
    }

    /// Waits before the next try, unless that would be too late. `last` is what broke this one, `bytes` what has come so far.
    async fn again(&mut self, last: Option<String>, bytes: u64, tell: &impl Fn(String)) -> Result<(), DownloadError> {
        self.last = last.unwrap_or(std::mem::take(&mut self.last));
        if !self.backoff.has_time() {
            let (url, last) = (self.url.to_owned(), std::mem::take(&mut self.last));
            return Err(DownloadError::TimedOut { url, limit: self.limit, bytes, last });
        }
        tell(format!("{}; trying again", self.last));
        self.backoff.pause().await;
        Ok(())
    }
}

fn silent() -> Ended {
    Ended::Broken(format!("no data arrived for {} s", STALL.as_secs()))
}

fn refused(url: &str, status: StatusCode) -> Ended {
    match is_passing(status) {
        true => Ended::Broken(format!("the server answered {status}")),
        false => Ended::Final(DownloadError::Refused { url: url.into(), status }),
    }
}

/// Writes beside the network: a slow disk must not hold up the thread that all steps share.
struct Writer {
    pieces: mpsc::Sender<Bytes>,
    task: tokio::task::JoinHandle<Result<(), FileError>>,
}

impl Writer {
    fn open(files: &Files, to: &Path, offset: u64) -> Result<Self, FileError> {
        let mut file = files.open_to_continue(to, offset)?;
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
    files.metadata(path).map_or(0, |found| found.len())
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
    sha256_of(files.open(path)?).map_err(failed("read", path))
}

/// The lines of a text as `sha256sum` writes it: each digest with its path.
pub fn checksums(text: &str) -> impl Iterator<Item = ([u8; 32], &str)> {
    text.lines().filter_map(|line| {
        let (digest, name) = line.split_once(char::is_whitespace)?;
        let name = name.trim().trim_start_matches('*').trim_start_matches("./");
        Some((format::digest(digest)?, name))
    })
}

/// The first byte's place in a partial answer: `Content-Range: bytes 100-199/200`.
fn starts_at(response: &Response<Incoming>) -> Option<u64> {
    let range = response.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

/// Whether another try may be answered better.
pub(super) fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
}

#[cfg(test)]
mod tests;
