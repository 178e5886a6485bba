//! The source of artifacts: a directory of this machine, a bundle, a mirror, or files fetched from the official servers. Returns only
//! complete and verified artifacts.

use crate::{
    api::{
        download::{self, Download, DownloadError},
        http::{AskError, Client},
        lent::{Lent, Relay},
    },
    bundle::{self, Bundle},
    context::{Context, blocking},
    engine::error::{Exit, StepError},
    fetch::lock::{Lock, Record},
    host::{
        facts,
        files::{FileError, Files, NewFile, failed},
        section::Section,
    },
};
use nodeinit_base::{hex, sha256_hex as digest_of, sha256_of};
use nodeinit_config::{
    Cluster,
    cluster::{ArtifactSource, Artifacts, FETCHED},
    format,
    upstream::Artifact,
};
use std::{
    collections::BTreeMap,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Where downloads are kept until they are installed; the next run resumes a partial download.
pub(in crate::steps) const DOWNLOADS: &str = "/var/lib/nodeinit/downloads";

/// The list of digests of a mirror, and where it is kept for runs without access to the mirror.
const SUMS: &str = "SHA256SUMS";
const KEPT_SUMS: &str = "/var/lib/nodeinit/SHA256SUMS";
const LARGEST_SUMS: usize = 1 << 20;

/// Maximum size of an artifact in bytes: image archives have a few hundred MB.
const LARGEST: u64 = 4 << 30;

/// A verified artifact on this machine.
#[derive(Debug)]
pub(super) struct Obtained {
    /// Its name in messages.
    pub name: String,
    /// Where it is.
    pub section: Section,
    /// Its SHA-256 in hex, if it is known already.
    pub sha256: Option<String>,
    /// A file to remove when the artifact is installed.
    download: Option<PathBuf>,
}

/// A source on this machine: a directory or a bundle.
pub(in crate::steps) enum Local<'a> {
    Directory(&'a Files, &'a Path),
    /// `None`: it is missing.
    Bundle(&'a Path, Option<Box<Bundle>>),
    /// Files from the official servers: the records of this configuration's artifacts; `None` for one without an official source.
    Fetched(&'a Files, BTreeMap<String, Option<Record>>),
}

impl<'a> Local<'a> {
    /// Returns `None` for a source that is not on this machine.
    ///
    /// # Errors
    /// If an existing bundle cannot be used.
    pub(in crate::steps) fn open(files: &'a Files, cluster: &'a Cluster) -> Result<Option<Self>, StepError> {
        Ok(match &cluster.artifacts.source {
            ArtifactSource::Directory(directory) => Some(Self::Directory(files, directory)),
            ArtifactSource::Bundle(path) if !files.exists(path) => Some(Self::Bundle(path, None)),
            ArtifactSource::Bundle(path) => {
                let bundle = bundle::open_for(files, cluster, path)?;
                Some(Self::Bundle(path, Some(Box::new(bundle))))
            }
            ArtifactSource::Upstream => Some(Self::Fetched(files, records(files, cluster)?)),
            ArtifactSource::Image | ArtifactSource::Mirror(_) => None,
        })
    }

    /// Returns the files that another machine needs to have all artifacts of this source.
    fn needed(&self, artifacts: &Artifacts) -> Vec<PathBuf> {
        let programs = artifacts.binaries.iter().chain(&artifacts.runtime).map(|binary| &binary.path);
        let all = programs.chain(artifacts.images.iter().map(|image| &image.path));
        let directory = match self {
            Self::Directory(_, directory) => directory,
            Self::Fetched(..) => Path::new(FETCHED),
            Self::Bundle(path, _) => return vec![path.to_path_buf()],
        };
        all.filter(|path| self.find(path).is_some()).map(|path| directory.join(path)).collect()
    }

    /// Returns the message that the directory or bundle does not exist.
    pub(in crate::steps) fn absent(&self) -> Option<String> {
        match self {
            Self::Directory(files, directory) => (!files.exists(directory))
                .then(|| format!("the directory {} of artifacts.source does not exist", directory.display())),
            Self::Bundle(path, None) => {
                Some(format!("the bundle {} of artifacts.source does not exist", path.display()))
            }
            Self::Bundle(..) | Self::Fetched(..) => None,
        }
    }

    /// Returns an artifact's name in messages.
    pub(in crate::steps) fn name(&self, artifact: &str) -> String {
        match self {
            Self::Directory(_, directory) => directory.join(artifact).display().to_string(),
            Self::Bundle(path, _) => format!("{artifact} of {}", path.display()),
            Self::Fetched(..) => format!("{FETCHED}/{artifact}"),
        }
    }

    /// Returns the error for a missing artifact.
    fn lacks(&self, artifact: &str) -> StepError {
        match self {
            Self::Directory(files, directory) => {
                let path = directory.join(artifact);
                match Section::whole(files.real(&path)) {
                    Err(e) if files.exists(&path) => failed("read", &path)(e).into(),
                    _ => StepError::new(format!("the artifact {} is missing", path.display()))
                        .hint("copy it there, or fix artifacts.source in the configuration"),
                }
            }
            Self::Bundle(path, None) => bundle::missing(path),
            Self::Bundle(path, Some(_)) => {
                StepError::new(format!("the bundle {} does not contain {artifact}", path.display()))
                    .hint(bundle::WRITE_AGAIN)
            }
            Self::Fetched(..) => StepError::new(format!("the artifact {} is missing", self.name(artifact)))
                .hint("run the same command again, which fetches it again"),
        }
    }

    /// Returns the location of an artifact, if it exists, with its digest from the bundle's index or the lock file.
    pub(in crate::steps) fn find(&self, artifact: &str) -> Option<(Section, Option<[u8; 32]>)> {
        match self {
            Self::Directory(files, directory) => {
                Section::whole(files.real(&directory.join(artifact))).ok().map(|section| (section, None))
            }
            Self::Bundle(_, bundle) => {
                let (section, entry) = bundle.as_ref()?.find(artifact)?;
                Some((section, format::digest(&entry.sha256)))
            }
            Self::Fetched(files, records) => {
                let record = records.get(artifact)?.as_ref();
                let section = Section::whole(files.real(&Path::new(FETCHED).join(artifact))).ok()?;
                let is_whole = record.is_none_or(|record| record.size == section.length);
                is_whole.then(|| (section, record.and_then(|record| format::digest(&record.sha256))))
            }
        }
    }
}

/// Returns the lock file's records of this configuration's artifacts. A file of another version has another source, and so no record.
fn records(files: &Files, cluster: &Cluster) -> Result<BTreeMap<String, Option<Record>>, StepError> {
    let lock = Lock::read(files, Path::new(FETCHED))?;
    let all = cluster.upstream_with(facts::architecture(), true).into_iter();
    let record = |artifact: Artifact| match artifact.source.official() {
        Some(source) => lock.record(&artifact.path, source).cloned().map(|record| (artifact.path, Some(record))),
        None => Some((artifact.path, None)),
    };
    Ok(all.filter_map(record).collect())
}

/// Returns the files of this machine's source that another machine needs to do without it; empty if nothing is lent.
/// Blocks on the disk.
pub(in crate::steps) fn needed(cx: &Context) -> Result<Vec<PathBuf>, StepError> {
    let source = Local::open(&cx.files, &cx.cluster)?.filter(|_| cx.cluster.artifacts.lend);
    Ok(source.map_or_else(Vec::new, |source| source.needed(&cx.cluster.artifacts)))
}

/// Returns the first master's offer for an artifact, if this machine's own source lacks it.
pub(in crate::steps) fn lent<'a>(cx: &'a Context, artifact: &str) -> Result<Option<&'a Lent>, StepError> {
    let Some(lent) = cx.lent.list(&cx.files)?.filter(|_| cx.cluster.artifacts.lend) else { return Ok(None) };
    let source = Local::open(&cx.files, &cx.cluster)?;
    Ok(source.filter(|source| source.find(artifact).is_none()).map(|_| &**lent))
}

/// Gets the artifact `path` from the configured source and verifies it.
pub(super) async fn obtain(
    cx: &Context,
    step: &str,
    path: &str,
    sha256: Option<[u8; 32]>,
) -> Result<Obtained, StepError> {
    let sha256 = pinned(cx, step, path, sha256).await?;
    if lent(cx, path)?.is_some_and(|lent| lent.files.contains_key(path))
        && let Some(relay) = cx.lent.relay(&cx.files).await?
    {
        return borrow(cx, step, relay, path, sha256).await;
    }
    match &cx.cluster.artifacts.source {
        ArtifactSource::Image => Err(StepError::new(format!(
            "artifacts.source is `image`, and {path} is not on this machine"
        ))
        .hint("add it to the machine image, or set artifacts.source to `upstream`, a directory, a bundle or a mirror")),
        ArtifactSource::Directory(_) | ArtifactSource::Bundle(_) | ArtifactSource::Upstream => {
            local(cx, path.to_owned(), sha256).await
        }
        ArtifactSource::Mirror(url) => {
            let client = Client::of_cluster(&cx.files, &cx.cluster);
            download(cx, step, &client, format!("{url}/{path}"), sha256.ok_or_else(not_pinned)?).await
        }
    }
}

/// As [`digest`]; keeps the mirror's answer, so that a later run without changes does not need the mirror.
pub(super) async fn pinned(
    cx: &Context,
    step: &str,
    path: &str,
    sha256: Option<[u8; 32]>,
) -> Result<Option<[u8; 32]>, StepError> {
    if let (None, ArtifactSource::Mirror(url)) = (sha256, &cx.cluster.artifacts.source) {
        let _alone = cx.sums.lock().await;
        let list = sums(cx, step, url).await?;
        cx.place(vec![NewFile::public(KEPT_SUMS, list)]).await?;
    }
    digest(cx, step, path, sha256).await
}

/// Returns the digest that the artifact `path` must have, if one is pinned. Changes nothing on this machine.
pub(super) async fn digest(
    cx: &Context,
    step: &str,
    path: &str,
    sha256: Option<[u8; 32]>,
) -> Result<Option<[u8; 32]>, StepError> {
    if sha256.is_none()
        && let Some(lent) = lent(cx, path)?
    {
        return Ok(lent.files.get(path).and_then(|digest| format::digest(digest)));
    }
    match (sha256, &cx.cluster.artifacts.source) {
        (None, ArtifactSource::Mirror(url)) => entry(&sums(cx, step, url).await?, url, path).map(Some),
        // A missing source pins nothing: the installed file stays.
        (None, ArtifactSource::Bundle(_) | ArtifactSource::Upstream) => {
            let (cx, path) = (cx.clone(), path.to_owned());
            blocking(move || {
                let source = Local::open(&cx.files, &cx.cluster)?;
                Ok(source.and_then(|source| source.find(&path)?.1))
            })
            .await
        }
        _ => Ok(sha256),
    }
}

// Validation refuses a mirror without `sha256sums` if an artifact has no pinned digest.
fn not_pinned() -> StepError {
    StepError::new("an artifact from a mirror needs a SHA-256").exit(Exit::BadConfig)
}

/// Returns the mirror's verified list of digests.
async fn sums(cx: &Context, step: &str, mirror: &str) -> Result<Vec<u8>, StepError> {
    let pin = cx.cluster.artifacts.sha256sums.ok_or_else(not_pinned)?;
    if let Some(kept) = cx.files.read(KEPT_SUMS)?.filter(|kept| digest_of(kept) == hex(&pin)) {
        return Ok(kept);
    }
    let url = format!("{mirror}/{SUMS}");
    let client = Client::of_cluster(&cx.files, &cx.cluster);
    let ask = async || client.get(&url, 0).await;
    let tell = |line| cx.report.note(step, line);
    let limit = cx.cluster.timeouts.download;
    let list = download::document(&url, LARGEST_SUMS, limit, ask, tell).await.map_err(unavailable)?;
    let found = digest_of(&list);
    if found != hex(&pin) {
        let what = format!("{url} has the SHA-256 {found}, but artifacts.sha256sums is {}", hex(&pin));
        return Err(StepError::new(what).hint("if this list is the right one, set artifacts.sha256sums to its digest"));
    }
    Ok(list)
}

/// Returns the list's digest of an artifact.
fn entry(list: &[u8], mirror: &str, path: &str) -> Result<[u8; 32], StepError> {
    let list = String::from_utf8_lossy(list);
    let entry = download::checksums(&list).find(|(_, name)| *name == path);
    entry.map(|(digest, _)| digest).ok_or_else(|| {
        StepError::new(format!("{mirror}/{SUMS} has no SHA-256 for {path}"))
            .hint("run `sha256sum bin/* images/* >SHA256SUMS` in the mirror's directory; then set artifacts.sha256sums to the digest of that file")
    })
}

/// Finds an artifact on this machine.
async fn local(cx: &Context, artifact: String, wanted: Option<[u8; 32]>) -> Result<Obtained, StepError> {
    let cx = cx.clone();
    blocking(move || {
        let no_source = || StepError::new(format!("{artifact} has no source on this machine")).exit(Exit::Defect);
        let source = Local::open(&cx.files, &cx.cluster)?.ok_or_else(no_source)?;
        let (section, indexed) = source.find(&artifact).ok_or_else(|| source.lacks(&artifact))?;
        let (name, wanted) = (source.name(&artifact), wanted.or(indexed));
        if let Some(wanted) = wanted {
            // The second read, which installs or serves it, comes from the page cache.
            let verified = verify(&name, &section, wanted);
            verified.map_err(|error| match source {
                Local::Fetched(..) => {
                    error.hint("remove this file, then run the same command again, which fetches it again")
                }
                _ => error,
            })?;
        }
        Ok(Obtained { name, section, sha256: wanted.map(|wanted| hex(&wanted)), download: None })
    })
    .await
}

/// Gets an artifact from the first master.
async fn borrow(
    cx: &Context,
    step: &str,
    relay: &Relay,
    path: &str,
    wanted: Option<[u8; 32]>,
) -> Result<Obtained, StepError> {
    let lent = relay.lent.files.get(path).and_then(|digest| format::digest(digest));
    let Some(sha256) = lent.filter(|lent| wanted.is_none_or(|wanted| wanted == *lent)) else {
        let what = format!("the digest of {path} on the first master differs from artifacts.sha256");
        return Err(StepError::new(what)
            .hint("copy the right one to artifacts.source there, then run `nodeinit up` there again"));
    };
    let client = Client::without_proxy(&cx.files);
    relay.while_lent(download(cx, step, &client, relay.url(&hex(&sha256)), sha256)).await
}

fn verify(name: &str, section: &Section, wanted: [u8; 32]) -> Result<(), StepError> {
    let read = section.open().and_then(sha256_of);
    let found = read.map_err(|e| StepError::caused(format!("cannot read {name}"), e))?;
    if found == wanted {
        return Ok(());
    }
    let what = format!("{name} has the SHA-256 {}, but {} was expected", hex(&found), hex(&wanted));
    Err(StepError::new(what)
        .hint("the file is damaged or another version: copy it again, or fix its sha256 in the configuration"))
}

async fn download(
    cx: &Context,
    step: &str,
    client: &Client,
    url: String,
    sha256: [u8; 32],
) -> Result<Obtained, StepError> {
    let path = downloads(cx, &hex(&sha256)).await?;
    let download = Download { url, sha256, largest: LARGEST, limit: cx.cluster.timeouts.download };
    let ask = async |from| client.get(&download.url, from).await;
    download.fetch(&cx.files, &path, ask, |line| cx.report.note(step, line)).await.map_err(unavailable)?;
    let section = Section::whole(cx.files.real(&path)).map_err(failed("read", &path))?;
    Ok(Obtained { name: path.display().to_string(), section, sha256: Some(hex(&sha256)), download: Some(path) })
}

/// Downloads a file that is no artifact, and returns its path.
pub(in crate::steps) async fn download_file(
    cx: &Context,
    step: &str,
    url: &str,
    sha256: [u8; 32],
) -> Result<PathBuf, StepError> {
    let client = Client::of_cluster(&cx.files, &cx.cluster);
    let obtained = download(cx, step, &client, url.to_owned(), sha256).await?;
    Ok(obtained.download.unwrap_or_default())
}

/// Returns the path of a file in the directory of downloads, and creates that directory.
async fn downloads(cx: &Context, name: &str) -> Result<PathBuf, StepError> {
    cx.claim_trees(vec![DOWNLOADS.into()]).await?;
    let context = cx.clone();
    blocking(move || Ok(context.files.make_directory(Path::new(DOWNLOADS), 0o700)?)).await?;
    Ok(Path::new(DOWNLOADS).join(name))
}

fn unavailable(error: DownloadError) -> StepError {
    let what = "cannot download an artifact";
    match error {
        DownloadError::File(error) => error.into(),
        DownloadError::Task(error) => error,
        DownloadError::TimedOut { .. } => StepError::caused(what, error)
            .exit(Exit::TryAgain)
            .hint("run the same command again to resume; if a download needs more time, increase `timeouts.download`"),
        DownloadError::Digest { .. } => StepError::caused(what, error).hint(
            "the file on the mirror is not the expected one: replace the file there, or fix its sha256 in the configuration",
        ),
        DownloadError::Ask(AskError::Untrusted { .. }) => StepError::caused(what, error)
            .hint("set artifacts.caCertificate to the CA of the mirror, or add it to this machine's trusted CAs"),
        DownloadError::Ask(_) | DownloadError::Refused { .. } | DownloadError::TooLarge { .. } => {
            StepError::caused(what, error).hint("check artifacts.source and the path of the artifact")
        }
    }
}

impl Obtained {
    /// Returns the artifact as a separate file: extracts it if it is in a bundle.
    pub(super) async fn into_file(self, cx: &Context, step: &str) -> Result<Self, StepError> {
        if self.download.is_some() || !matches!(cx.cluster.artifacts.source, ArtifactSource::Bundle(_)) {
            return Ok(self);
        }
        let path = downloads(cx, &format!("{step}.tar")).await?;
        let files = cx.files.clone();
        blocking(move || {
            copy(&files, &self.section, &path, 0o600)?;
            let section = Section::whole(files.real(&path)).map_err(failed("read", &path))?;
            Ok(Self { section, download: Some(path), ..self })
        })
        .await
    }

    /// Removes a download after its installation; the file of a directory stays. Blocks on the disk.
    pub(super) fn release(self, files: &Files) -> Result<(), StepError> {
        self.download.map_or(Ok(()), |path| Ok(files.remove_file(path)?))
    }
}

/// Copies a section to a file atomically.
pub(super) fn copy(files: &Files, from: &Section, to: &Path, mode: u32) -> Result<(), FileError> {
    let mut source = from.open().map_err(failed("read", &from.file))?;
    let mut target = files.open_temporary(to, mode)?;
    // The kernel copies if the file systems allow it; in two halves, so that a test can kill the program between them.
    io::copy(&mut source.by_ref().take(from.length / 2), &mut target).map_err(failed("write", to))?;
    crate::host::failpoint("write-half", to.display());
    io::copy(&mut source, &mut target).map_err(failed("write", to))?;
    target.sync_all().map_err(failed("sync", to))?;
    drop(target);
    files.rename_temporary(to)?;
    to.parent().map_or(Ok(()), |directory| files.sync_directory(directory))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context_of;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    const KUBELET: &[u8] = b"the kubelet";

    /// Returns a machine whose mirror has the kubelet and this list with the digest `pin`; the mirror answers `answers` requests.
    async fn machine(list: String, pin: &str, answers: usize) -> (tempfile::TempDir, Context) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            for _ in 0..answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 4096];
                let length = stream.read(&mut request).await.unwrap();
                let content = match String::from_utf8_lossy(&request[..length]).contains(SUMS) {
                    true => list.as_bytes(),
                    false => KUBELET,
                };
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", content.len());
                stream.write_all(&[head.as_bytes(), content].concat()).await.unwrap();
            }
        });
        context_of(&format!(
            "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nartifacts:\n  source: {url}\n  sha256sums: \"{pin}\"\n  \
             binaries: [{{path: bin/kubelet, to: /usr/bin/kubelet}}]\n  images: []\n"
        ))
    }

    fn list() -> String {
        format!("{}  bin/kubectl\n{} *./bin/kubelet\n", "1".repeat(64), digest_of(KUBELET))
    }

    #[tokio::test]
    async fn one_digest_pins_a_mirror() {
        let (_dir, cx) = machine(list(), &digest_of(list().as_bytes()), 2).await;
        let ask = async |step| pinned(&cx, step, "bin/kubelet", None).await.unwrap().unwrap();
        let (one, other) = tokio::join!(ask("kubelet-binary"), ask("binaries"));
        assert_eq!((hex(&one), one), (digest_of(KUBELET), other));
        let obtained = obtain(&cx, "binaries", "bin/kubelet", None).await.unwrap();
        assert_eq!(std::fs::read(&obtained.section.file).unwrap(), KUBELET);
        // The mirror no longer answers.
        let known = digest(&cx, "binaries", "bin/kubelet", None).await.unwrap().unwrap();
        assert_eq!(hex(&known), digest_of(KUBELET));
        let error = digest(&cx, "binaries", "bin/kube", None).await.unwrap_err().to_string();
        assert!(error.ends_with("SHA256SUMS has no SHA-256 for bin/kube"), "{error}");
    }

    #[tokio::test]
    async fn another_machine_needs_all_artifacts_including_containerd() {
        let config = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nartifacts: {source: /source}\n";
        let (_dir, cx) = context_of(config);
        for path in ["bin/containerd", "bin/kubelet", "bin/other", "images/etcd.tar"] {
            cx.place(vec![NewFile::public(Path::new("/source").join(path), "")]).await.unwrap();
        }
        let all = ["bin/kubelet", "bin/containerd", "images/etcd.tar"].map(|path| Path::new("/source").join(path));
        assert_eq!(needed(&cx).unwrap(), all);
        let mut cluster = (*cx.cluster).clone();
        cluster.artifacts.lend = false;
        let cx = Context { cluster: cluster.into(), ..cx };
        assert_eq!(needed(&cx).unwrap(), [""; 0].map(PathBuf::from));
    }

    #[tokio::test]
    async fn another_list_is_refused_and_not_kept() {
        let pin = "2".repeat(64);
        let (_dir, cx) = machine(list(), &pin, 1).await;
        let error = obtain(&cx, "binaries", "bin/kubelet", None).await.unwrap_err().to_string();
        assert!(error.contains(&pin) && error.contains(&digest_of(list().as_bytes())), "{error}");
        assert!(!cx.files.exists(KEPT_SUMS));
    }
}
