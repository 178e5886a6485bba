//! Where artefacts come from: a directory of this machine, or a mirror. What is handed out is whole and has its digest.

use crate::{
    api::download::{Download, DownloadError, file_sha256},
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        journal::hex,
    },
};
use nodeinit_config::cluster::ArtifactSource;
use std::path::{Path, PathBuf};

/// Where downloads are kept until they are in place: a part of one is gone on with by the next run.
pub(super) const DOWNLOADS: &str = "/var/lib/nodeinit/downloads";

/// A verified artefact on this machine.
#[derive(Debug)]
pub(super) struct Obtained {
    /// Its path.
    pub path: PathBuf,
    /// Its SHA-256 in hex, where it is known already.
    pub sha256: Option<String>,
    is_download: bool,
}

/// Brings the artefact `path` of the configured source to this machine, and verifies it.
pub(super) async fn obtain(
    cx: &Context,
    step: &str,
    path: &str,
    sha256: Option<[u8; 32]>,
) -> Result<Obtained, StepError> {
    match &cx.cluster.artifacts.source {
        ArtifactSource::Image => {
            Err(StepError::new(format!("{path} is not on this machine, and artifacts.source is image"))
                .hint("bake it into the image, or name a directory or a mirror as artifacts.source"))
        }
        ArtifactSource::Directory(directory) => local(cx, directory.join(path), sha256).await,
        ArtifactSource::Mirror(url) => match sha256 {
            Some(sha256) => download(cx, step, format!("{}/{path}", url.trim_end_matches('/')), sha256).await,
            // Validation refuses this; a mirror without a digest is never trusted.
            None => Err(StepError::new(format!("{path} has no sha256")).exit(Exit::BadConfig)),
        },
    }
}

async fn local(cx: &Context, path: PathBuf, wanted: Option<[u8; 32]>) -> Result<Obtained, StepError> {
    let cx = cx.clone();
    blocking(move || {
        if !cx.files.exists(&path) {
            return Err(StepError::new(format!("the artefact {} is missing", path.display()))
                .hint("put it there, or correct artifacts.source in the configuration"));
        }
        if let Some(wanted) = wanted {
            let found = file_sha256(&cx.files, &path)?;
            if found != wanted {
                let what =
                    format!("{} has the SHA-256 {}, and {} was expected", path.display(), hex(&found), hex(&wanted));
                return Err(StepError::new(what).hint(
                    "the file is damaged or another version: copy it anew, or correct its sha256 in the configuration",
                ));
            }
        }
        Ok(Obtained { path, sha256: wanted.map(|w| hex(&w)), is_download: false })
    })
    .await
}

async fn download(cx: &Context, step: &str, url: String, sha256: [u8; 32]) -> Result<Obtained, StepError> {
    cx.claim_trees(vec![DOWNLOADS.into()]).await?;
    let context = cx.clone();
    blocking(move || Ok(context.files.make_directory(Path::new(DOWNLOADS), 0o700)?)).await?;
    let path = Path::new(DOWNLOADS).join(hex(&sha256));
    let download = Download { url, sha256, limit: cx.cluster.timeouts.download };
    download.fetch(&cx.files, &path, |line| cx.report.note(step, line)).await.map_err(unavailable)?;
    Ok(Obtained { path, sha256: Some(hex(&sha256)), is_download: true })
}

fn unavailable(error: DownloadError) -> StepError {
    let what = "cannot download an artefact";
    match error {
        DownloadError::File(error) => error.into(),
        DownloadError::Task(error) => error,
        DownloadError::TimedOut { .. } => StepError::caused(what, error)
            .exit(Exit::TryAgain)
            .hint("run `nodeinit up` again: it goes on where this ended; timeouts.download sets how long one may take"),
        DownloadError::Digest { .. } => StepError::caused(what, error).hint(
            "the mirror has another file than described: correct the file there, or its sha256 in the configuration",
        ),
        DownloadError::Address(_) | DownloadError::Refused { .. } => {
            StepError::caused(what, error).hint("see whether artifacts.source and the artefact's path are right")
        }
    }
}

impl Obtained {
    /// Removes a download that is in place now; a directory's file stays.
    pub(super) async fn release(self, cx: &Context) -> Result<(), StepError> {
        if !self.is_download {
            return Ok(());
        }
        let cx = cx.clone();
        blocking(move || Ok(cx.files.remove_file(&self.path)?)).await
    }
}
