//! Fetches a cluster's artifacts from their official sources or mirrors into a directory that serves as `artifacts.source`.
//!
//! A file gets its final name only after its digest is verified. Until then, downloads are kept under [`DOWNLOADS`] by their digest,
//! so that an interrupted fetch resumes.

mod image;
pub mod lock;
pub mod login;
pub(crate) mod place;
mod unpack;

use crate::{
    api::{
        download::{self, Download, DownloadError, file_sha256},
        http::{AskError, Client},
        oci::Repository,
    },
    engine::{
        blocking::blocking,
        error::{Exit, StepError},
        report::{Event, Report},
    },
    host::{
        self,
        files::{Files, failed},
    },
};
use futures_util::{StreamExt, future::try_join_all, stream};
use hyper::StatusCode;
use image::{ImageManifest, Layer};
use lock::{Lock, Record};
use nodeinit_base::{atomic_file::temporary, hex, sha256_hex};
use nodeinit_config::{
    Cluster, Logins,
    upstream::{self, Artifact, Source},
};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    path::{Path, PathBuf},
    rc::Rc,
    time::{Duration, Instant},
};
use tokio::sync::{OnceCell, Semaphore};

/// The lock file below the directory, held during a fetch.
const LOCK: &str = ".fetch.lock";

/// Below the directory: where downloads are kept until they are verified and renamed.
pub const DOWNLOADS: &str = ".downloads";

/// Number of concurrent artifacts.
const AT_ONCE: usize = 4;

/// Number of concurrent connections: the layers of an image are fetched in parallel.
const CONNECTIONS: usize = 6;

/// Maximum size of a download in bytes.
const LARGEST: u64 = 4 << 30;

/// Maximum size of a manifest, an image configuration or a list of digests. Source of the first: the distribution specification.
const LARGEST_TEXT: usize = 4 << 20;

/// A fetch into one directory.
pub struct Fetch {
    _lock: host::lock::Lock,
    files: Files,
    client: Client,
    directory: PathBuf,
    arch: &'static str,
    limit: Duration,
    logins: Logins,
    report: Report,
    lock: RefCell<Lock>,
    connections: Semaphore,
    /// The blobs of this run: images share layers.
    blobs: RefCell<BTreeMap<[u8; 32], Rc<OnceCell<PathBuf>>>>,
    is_full: Cell<bool>,
}

/// One download.
enum Job {
    /// A file, or members of an archive, each with its path below the directory.
    File(upstream::File, Vec<(String, Option<String>)>),
    /// An image, and the path of its archive.
    Image(upstream::Image, String),
    /// A program without a known source.
    Unknown(String),
}

impl Job {
    fn name(&self) -> &str {
        match self {
            Self::File(_, paths) if paths.len() == 1 => &paths[0].0,
            Self::File(file, _) => file.official.rsplit('/').next().unwrap_or_default(),
            Self::Image(_, path) | Self::Unknown(path) => path,
        }
    }

    fn url(&self) -> &str {
        match self {
            Self::File(file, _) => &file.url,
            Self::Image(image, _) => &image.repository,
            Self::Unknown(_) => "its source",
        }
    }
}

/// The result of a fetch.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The failures, by name.
    pub failures: Vec<(String, StepError)>,
}

impl Outcome {
    /// Reports each failure, and returns one error for all.
    ///
    /// # Errors
    /// If an artifact failed.
    pub fn report_failures(&self, report: &Report) -> Result<(), StepError> {
        if self.failures.is_empty() {
            return Ok(());
        }
        self.failures.iter().for_each(|(name, error)| report.failed(name, error));
        let names: Vec<&str> = self.failures.iter().map(|(name, _)| name.as_str()).collect();
        Err(StepError::new(format!("not fetched: {}", names.join(", ")))
            .exit(self.exit())
            .hint("fix the problems above, then run the same command again: it keeps the files that were fetched"))
    }

    /// Returns the exit code: errors that a retry does not fix take precedence.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let worst = |exit: Exit| match exit {
            Exit::Done => 0,
            Exit::TryAgain => 1,
            Exit::Failed => 2,
            _ => 3,
        };
        self.failures.iter().map(|(_, error)| error.exit).max_by_key(|exit| worst(*exit)).unwrap_or(Exit::Done)
    }
}

impl Fetch {
    /// Prepares `directory`, an absolute path, and reads its lock file. No other process can fetch into it until this value is dropped.
    ///
    /// # Errors
    /// If it cannot be created, another process fetches into it, or its lock file cannot be read.
    pub fn new(
        files: &Files,
        directory: PathBuf,
        cluster: &Cluster,
        arch: &'static str,
        logins: Logins,
        report: Report,
    ) -> Result<Self, StepError> {
        make_directories(files, &directory.join(DOWNLOADS))?;
        let doing = format!("fetching into {}", directory.display());
        Ok(Self {
            _lock: host::lock::hold(&files.real(&directory.join(LOCK)), &doing)?,
            client: Client::of_cluster(files, cluster),
            lock: RefCell::new(Lock::read(files, &directory)?),
            files: files.clone(),
            limit: cluster.timeouts.download,
            connections: Semaphore::new(CONNECTIONS),
            blobs: RefCell::default(),
            is_full: Cell::new(false),
            directory,
            arch,
            logins,
            report,
        })
    }

    /// Fetches missing artifacts. A failure does not stop the others, except for a full disk.
    pub async fn run(&self, artifacts: Vec<Artifact>) -> Outcome {
        let mut outcome = Outcome::default();
        let mut ended = stream::iter(jobs(artifacts)).map(|job| self.one(job)).buffer_unordered(AT_ONCE);
        let mut redraw = tokio::time::interval(Duration::from_millis(200));
        loop {
            let next = tokio::select! {
                next = ended.next() => next,
                _ = redraw.tick() => {
                    self.report.tick();
                    continue;
                }
            };
            match next {
                None => return outcome,
                Some((_, Ok(()))) => {}
                Some((name, Err(error))) => outcome.failures.push((name, error)),
            }
        }
    }

    /// Returns the digest of each file, for `artifacts.sha256`.
    #[must_use]
    pub fn digests(&self, artifacts: &[Artifact]) -> BTreeMap<String, String> {
        let lock = self.lock.borrow();
        let digest = |artifact: &Artifact| {
            let record = lock.record(&artifact.path, artifact.source.official()?)?;
            Some((artifact.path.clone(), record.sha256.clone()))
        };
        artifacts.iter().filter_map(digest).collect()
    }

    /// Removes leftover downloads after everything is fetched.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn clean(&self) -> Result<(), StepError> {
        let downloads = self.directory.join(DOWNLOADS);
        for name in self.files.list(&downloads)? {
            self.files.remove_file(downloads.join(name))?;
        }
        Ok(self.files.remove_directory(&downloads)?)
    }

    async fn one(&self, job: Job) -> (String, Result<(), StepError>) {
        let (name, url, start) = (job.name().to_owned(), job.url().to_owned(), Instant::now());
        if self.is_full.get() {
            let error = StepError::new(format!("{name} was not fetched: the disk is full")).exit(Exit::TryAgain);
            return (name, Err(error));
        }
        let result = match &job {
            Job::File(file, paths) => self.file(&name, file, paths).await,
            Job::Image(image, path) => self.image(image, path).await,
            Job::Unknown(path) => self.unknown(path),
        };
        if let Ok(true) = result {
            let seconds = start.elapsed().as_secs_f64();
            self.report.tell(&Event::Done { step: name.clone(), changed: true, seconds });
        }
        let result = result.map(drop).map_err(|error| {
            self.is_full.set(self.is_full.get() || is_full(&error));
            self.explained(&name, &url, error)
        });
        (name, result)
    }

    fn started(&self, name: &str, url: &str) {
        self.report.tell(&Event::Started { step: name.to_owned(), title: format!("fetch it from {url}") });
    }

    /// Adds the artifact and its URL to a failure.
    fn explained(&self, name: &str, url: &str, error: StepError) -> StepError {
        let directory = self.directory.display();
        let hint = match is_full(&error) {
            true => format!("free some space (`df -h {directory}`), then run the same command again, which resumes"),
            false => error.advice().unwrap_or("run the same command again; if it fails again, report it").to_owned(),
        };
        let exit = error.exit;
        StepError::caused(format!("cannot fetch {name} from {url}"), error).exit(exit).hint(hint)
    }

    fn unknown(&self, path: &str) -> Result<bool, StepError> {
        if self.files.exists(self.directory.join(path)) {
            return Ok(false);
        }
        let hint = format!("copy it to {}, or remove it from artifacts.binaries", self.directory.join(path).display());
        Err(StepError::new("nodeinit knows no official source for this program").exit(Exit::BadConfig).hint(hint))
    }

    /// Fetches a file or an archive; returns `false` if all of `paths` exist.
    async fn file(
        &self,
        name: &str,
        file: &upstream::File,
        paths: &[(String, Option<String>)],
    ) -> Result<bool, StepError> {
        let names: Vec<&str> = paths.iter().map(|(path, _)| path.as_str()).collect();
        if self.is_current(&names, &file.official).await? {
            return Ok(false);
        }
        self.started(name, &file.url);
        let pinned = self.lock.borrow().pinned(&file.official).map(str::to_owned);
        let digest = match &pinned {
            Some(digest) => digest.clone(),
            None => self.checksum(name, file).await?,
        };
        let wanted = image::hex_of(&format!("sha256:{digest}"))?;
        let ask = async |from| self.client.get(&file.url, from).await;
        let part = self.download(name, &file.url, wanted, ask, pinned.is_some()).await?;
        let (files, directory, paths) = (self.files.clone(), self.directory.clone(), paths.to_vec());
        let archive = part.clone();
        blocking(move || {
            let targets = paths.iter().map(|(path, member)| (member.as_ref(), directory.join(path)));
            let (members, plain): (Vec<_>, Vec<_>) = targets.partition(|(member, _)| member.is_some());
            for (_, target) in members.iter().chain(&plain) {
                make_directories(&files, target.parent().unwrap_or(&directory))?;
            }
            let members: Vec<_> = members.into_iter().filter_map(|(m, target)| Some((m?.clone(), target))).collect();
            if !members.is_empty() {
                unpack::unpack(&files, &archive, &members)?;
            }
            for (_, target) in &plain {
                copy_of(&files, &archive, target)?;
            }
            Ok(())
        })
        .await?;
        self.accept(&names, &file.official, &digest).await?;
        self.files.remove_file(part)?;
        Ok(true)
    }

    /// Fetches an image; returns `false` if its archive exists.
    async fn image(&self, image: &upstream::Image, path: &str) -> Result<bool, StepError> {
        if self.is_current(&[path], &image.name).await? {
            return Ok(false);
        }
        self.started(path, &image.repository);
        let repository = Repository::new(&self.client, &image.repository, self.logins.of(&image.repository));
        let text = self.text(path, &repository, &format!("manifests/{}", image.reference)).await?;
        let digest = sha256_hex(&text);
        if let Some(named) = image.reference.strip_prefix("sha256:").filter(|named| *named != digest) {
            return Err(StepError::new(format!(
                "the image's manifest has the SHA-256 {digest}, but the image's name contains {named}"
            )));
        }
        if let Some(pinned) = self.lock.borrow().pinned(&image.name).filter(|pinned| *pinned != digest) {
            return Err(self.not_pinned(&image.name, &digest, pinned));
        }
        let (config, layers) = match ImageManifest::read(&text, self.arch)? {
            ImageManifest::Image { config, layers } => (config, layers),
            ImageManifest::List(digest) => {
                let text = self.verified(path, &repository, "manifests", &digest).await?;
                match ImageManifest::read(&text, self.arch)? {
                    ImageManifest::Image { config, layers } => (config, layers),
                    ImageManifest::List(_) => {
                        return Err(StepError::new("the registry's manifest list refers to another manifest list"));
                    }
                }
            }
        };
        let config = self.verified(path, &repository, "blobs", &config).await?;
        let diff_ids = image::diff_ids(&config, self.arch, layers.len())?;
        let blobs = try_join_all(layers.iter().map(|digest| self.blob(path, &repository, digest))).await?;
        let layers: Vec<Layer> =
            blobs.into_iter().zip(diff_ids).map(|(path, diff_id)| Layer { path, diff_id }).collect();
        let (files, target, name) = (self.files.clone(), self.directory.join(path), image.name.clone());
        blocking(move || {
            make_directories(&files, target.parent().unwrap_or(&target))?;
            image::write(&files, &target, &name, &config, &layers)
        })
        .await?;
        self.accept(&[path], &image.name, &digest).await?;
        Ok(true)
    }

    /// Whether these files exist with the digests in the lock file.
    async fn is_current(&self, names: &[&str], source: &str) -> Result<bool, StepError> {
        let records: Vec<Record> =
            names.iter().filter_map(|name| self.lock.borrow().record(name, source).cloned()).collect();
        if records.len() != names.len() {
            return Ok(false);
        }
        let (files, directory) = (self.files.clone(), self.directory.clone());
        blocking(move || {
            for record in records {
                let path = directory.join(&record.name);
                if !files.exists(&path) || hex(&file_sha256(&files, &path)?) != record.sha256 {
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .await
    }

    /// Renames the temporary files and records them, unless the lock file has another digest.
    async fn accept(&self, names: &[&str], source: &str, source_sha256: &str) -> Result<(), StepError> {
        let (files, directory) = (self.files.clone(), self.directory.clone());
        let owned: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let found = blocking(move || {
            let read = |name: String| {
                let path = temporary(&directory.join(&name));
                let size = files.metadata(&path)?.len();
                Ok((hex(&file_sha256(&files, &path)?), size, name))
            };
            owned.into_iter().map(read).collect::<Result<Vec<_>, StepError>>()
        })
        .await?;
        let record = |(sha256, size, name)| Record {
            name,
            source: source.to_owned(),
            source_sha256: source_sha256.to_owned(),
            sha256,
            size,
        };
        let records: Vec<Record> = found.into_iter().map(record).collect();
        for new in &records {
            if let Some(old) = self.lock.borrow().record(&new.name, source).filter(|old| old.sha256 != new.sha256) {
                self.files.remove_file(temporary(&self.directory.join(&new.name)))?;
                return Err(self.not_pinned(&new.name, &new.sha256, &old.sha256));
            }
        }
        // On this thread, so that neither another record nor the end of this future can interrupt it.
        for name in names {
            let path = self.directory.join(name);
            self.files.rename_temporary(&path)?;
            self.files.sync_directory(path.parent().unwrap_or(&path))?;
        }
        self.lock.borrow_mut().add(&self.files, records)
    }

    fn not_pinned(&self, what: &str, found: &str, pinned: &str) -> StepError {
        StepError::new(format!("{what} has the SHA-256 {found}, but {} has {pinned}", lock::NAME)).hint(self.pin_hint())
    }

    fn pin_hint(&self) -> String {
        let path = self.directory.join(lock::NAME);
        format!(
            "it differs from the earlier fetch: ask its publisher why; if the new file is right, delete its record from {}",
            path.display()
        )
    }

    /// Returns the server's digest of a file.
    async fn checksum(&self, name: &str, file: &upstream::File) -> Result<String, StepError> {
        let slot = self.connections.acquire().await;
        let ask = async || self.client.get(&file.checksum, 0).await;
        let tell = |line| self.report.note(name, line);
        let text =
            download::document(&file.checksum, LARGEST_TEXT, self.limit, ask, tell).await.map_err(unavailable)?;
        drop(slot);
        let file_name = file.official.rsplit('/').next().unwrap_or_default();
        checksum_of(&String::from_utf8_lossy(&text), file_name)
            .ok_or_else(|| StepError::new(format!("{} contains no SHA-256 of {file_name}", file.checksum)))
    }

    /// Returns a manifest by its tag or digest, or a configuration.
    async fn text(&self, name: &str, repository: &Repository<'_>, path: &str) -> Result<Vec<u8>, StepError> {
        let _slot = self.connections.acquire().await;
        let ask = async || repository.get(path, 0).await;
        let tell = |line| self.report.note(name, line);
        let url = repository.url(path);
        download::document(&url, LARGEST_TEXT, self.limit, ask, tell).await.map_err(unavailable)
    }

    async fn verified(
        &self,
        name: &str,
        repository: &Repository<'_>,
        kind: &str,
        digest: &str,
    ) -> Result<Vec<u8>, StepError> {
        let wanted = image::hex_of(digest)?;
        let text = self.text(name, repository, &format!("{kind}/{digest}")).await?;
        let found = sha256_hex(&text);
        if found != hex(&wanted) {
            let url = repository.url(&format!("{kind}/{digest}"));
            return Err(StepError::new(format!("{url} has the SHA-256 {found}")).hint(DAMAGED));
        }
        Ok(text)
    }

    /// Fetches a layer of an image, once per run.
    async fn blob(&self, name: &str, repository: &Repository<'_>, digest: &str) -> Result<PathBuf, StepError> {
        let wanted = image::hex_of(digest)?;
        let cell = self.blobs.borrow_mut().entry(wanted).or_default().clone();
        let path = format!("blobs/{digest}");
        let ask = async |from| repository.get(&path, from).await;
        let url = repository.url(&path);
        cell.get_or_try_init(|| self.download(name, &url, wanted, ask, false)).await.cloned()
    }

    /// Downloads the blob with this digest to [`DOWNLOADS`].
    async fn download(
        &self,
        name: &str,
        url: &str,
        sha256: [u8; 32],
        ask: impl AsyncFn(u64) -> Result<crate::api::http::Answer, AskError>,
        is_pinned: bool,
    ) -> Result<PathBuf, StepError> {
        let to = self.directory.join(DOWNLOADS).join(format!("{}.part", hex(&sha256)));
        let (files, there) = (self.files.clone(), to.clone());
        let is_whole = blocking(move || Ok(files.exists(&there) && file_sha256(&files, &there)? == sha256)).await?;
        if is_whole {
            return Ok(to);
        }
        let _slot = self.connections.acquire().await;
        let download = Download { url: url.to_owned(), sha256, largest: LARGEST, limit: self.limit };
        let tell = |line| self.report.note(name, line);
        match download.fetch(&self.files, &to, ask, tell).await {
            Ok(()) => Ok(to),
            Err(DownloadError::Digest { found, wanted, .. }) if is_pinned => Err(self.not_pinned(url, &found, &wanted)),
            Err(error) => Err(unavailable(error)),
        }
    }
}

const DAMAGED: &str = "the file on the server or mirror is damaged or another one: compare it with the official file";

/// Returns one job per download: the members of an archive are unpacked together.
fn jobs(artifacts: Vec<Artifact>) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for Artifact { path, source, .. } in artifacts {
        match source {
            Source::Image(image) => jobs.push(Job::Image(image, path)),
            Source::Unknown => jobs.push(Job::Unknown(path)),
            Source::File(file) => {
                let member = file.member.clone();
                let same = jobs.iter_mut().find_map(|job| match job {
                    Job::File(other, paths) if other.official == file.official => Some(paths),
                    _ => None,
                });
                match same {
                    Some(paths) => paths.push((path, member)),
                    None => jobs.push(Job::File(file, vec![(path, member)])),
                }
            }
        }
    }
    jobs
}

/// Returns the digest of `file` from a text in the format of `sha256sum`, or from one with only the digest.
fn checksum_of(text: &str, file: &str) -> Option<String> {
    let alone = nodeinit_config::format::digest(text.trim());
    let listed = || download::checksums(text).find(|(_, name)| name.rsplit('/').next() == Some(file));
    alone.or_else(|| Some(listed()?.0)).map(|digest| hex(&digest))
}

/// Copies a verified download to the temporary file of `to`, mode 0755.
fn copy_of(files: &Files, from: &Path, to: &Path) -> Result<(), StepError> {
    let mut source = files.open(from)?;
    let mut target = files.open_temporary(to, 0o755)?;
    std::io::copy(&mut source, &mut target).map_err(failed("write", to))?;
    Ok(target.sync_all().map_err(failed("sync", to))?)
}

fn make_directories(files: &Files, path: &Path) -> Result<(), StepError> {
    files.missing(path).iter().try_for_each(|directory| Ok(files.make_directory(directory, 0o755)?))
}

/// Whether a full file system caused the error.
pub(crate) fn is_full(error: &StepError) -> bool {
    let first: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(first), |cause| cause.source()).any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|e| matches!(e.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded))
    })
}

fn unavailable(error: DownloadError) -> StepError {
    let hint = match &error {
        DownloadError::TimedOut { last, .. } if last.starts_with("cannot reach ") => {
            "check the network and the name servers; if this machine needs a proxy, set HTTPS_PROXY (`sudo --preserve-env=HTTPS_PROXY`); then run \
             the same command again, which resumes"
        }
        DownloadError::TimedOut { .. } => {
            "run the same command again, which resumes; if a download needs more time, increase timeouts.download"
        }
        DownloadError::Digest { .. } | DownloadError::TooLarge { .. } => DAMAGED,
        DownloadError::Ask(AskError::Untrusted { .. }) => {
            "set artifacts.caCertificate to the CA of the server, the mirror or the proxy; a server's certificate must not be a CA certificate"
        }
        DownloadError::Refused { status, .. } | DownloadError::Ask(AskError::Denied { status, .. }) => match *status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "add a login for this registry to the file of images.registryAuthFile (`nodeinit artifacts fetch`: --registry-auth); if the file has a login already, check that this login may pull the image"
            }
            StatusCode::PROXY_AUTHENTICATION_REQUIRED => "add user and password of the proxy to HTTPS_PROXY",
            StatusCode::NOT_FOUND => "check that this release exists, and that a configured mirror has this artifact",
            _ => "check artifacts.mirrors, and the proxy in HTTPS_PROXY",
        },
        DownloadError::Ask(_) => "check artifacts.mirrors and artifacts.caCertificate",
        DownloadError::File(_) | DownloadError::Task(_) => "",
    };
    let exit = if matches!(error, DownloadError::TimedOut { .. }) { Exit::TryAgain } else { Exit::Failed };
    match error {
        DownloadError::File(error) => error.into(),
        DownloadError::Task(error) => error,
        other => StepError::new(other.to_string()).exit(exit).hint(hint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_found_in_each_publishers_form() {
        let (a, b) = ("a".repeat(64), "B".repeat(64));
        let kubernetes = format!("{a}\n");
        assert_eq!(checksum_of(&kubernetes, "kubelet"), Some(a.clone()));
        assert_eq!(checksum_of(&format!("{a}  cni-plugins.tgz\n"), "cni-plugins.tgz"), Some(a.clone()));
        let runc = format!("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n{a} *runc.amd64\n{b} *runc.arm64\n");
        assert_eq!(checksum_of(&runc, "runc.arm64"), Some(b.to_lowercase()));
        for wrong in ["", "<html>Not found</html>", &a[1..], &format!("{a}  another"), &format!("x {a}")] {
            assert_eq!(checksum_of(wrong, "kubelet"), None, "{wrong}");
        }
    }

    #[test]
    fn errors_that_a_retry_does_not_fix_decide_the_exit_code() {
        let of = |exits: &[Exit]| {
            let failure = |exit: &Exit| ("x".to_owned(), StepError::new("x").exit(*exit));
            Outcome { failures: exits.iter().map(failure).collect() }.exit()
        };
        assert_eq!(of(&[]), Exit::Done);
        assert_eq!(of(&[Exit::TryAgain, Exit::TryAgain]), Exit::TryAgain);
        assert_eq!(of(&[Exit::TryAgain, Exit::Failed, Exit::TryAgain]), Exit::Failed);
        assert_eq!(of(&[Exit::BadConfig, Exit::Failed]), Exit::BadConfig);
    }
}
