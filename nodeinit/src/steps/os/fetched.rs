//! Files whose content comes from this machine or from a URL.

use crate::{
    api::download,
    context::{Context, blocking},
    engine::error::StepError,
    host::files::NewFile,
    steps::source,
};
use nodeinit_base::{hex, sha256_hex};
use std::path::{Path, PathBuf};

/// Whether a file exists with this mode and digest.
pub(super) fn is_same(cx: &Context, path: &Path, mode: u32, sha256: &[u8; 32]) -> Result<bool, StepError> {
    if cx.files.mode(path) != Some(mode) {
        return Ok(false);
    }
    Ok(download::file_sha256(&cx.files, path)? == *sha256)
}

/// Writes a file from its source, if it is the expected one.
pub(super) async fn place(
    cx: &Context,
    step: &str,
    path: &Path,
    mode: u32,
    source: &str,
    sha256: [u8; 32],
) -> Result<(), StepError> {
    if is_same(cx, path, mode, &sha256)? {
        return Ok(());
    }
    let is_url = !source.starts_with('/');
    let from = match is_url {
        true => source::download_file(cx, step, source, sha256).await?,
        false => PathBuf::from(source),
    };
    let (context, origin) = (cx.clone(), from.clone());
    let content = blocking(move || Ok(context.files.read(&origin)?)).await?;
    let content = content.ok_or_else(|| {
        StepError::new(format!("{source}, the source of {}, does not exist", path.display()))
            .hint("put it there, or fix `source` in `os.files`")
    })?;
    let (found, wanted) = (sha256_hex(&content), hex(&sha256));
    if found != wanted {
        let what = format!("{source} has the SHA-256 {found}, but {wanted} was expected");
        return Err(StepError::new(what).hint("replace the file, or fix its sha256 in `os.files`"));
    }
    cx.place(vec![NewFile { mode, ..NewFile::public(path, content) }]).await?;
    if is_url {
        cx.files.remove_file(&from)?;
    }
    Ok(())
}
