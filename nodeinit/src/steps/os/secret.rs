//! Values of settings that the journal must not contain: users attach it to reports.

use crate::{
    context::{Context, blocking},
    engine::{error::StepError, journal::ORIGINALS},
    host::files::NewFile,
};
use nodeinit_base::sha256_hex;
use std::path::Path;

/// Whether a setting is a secret: a password hash, or a proxy, whose URL may have a password.
pub(super) fn is_secret(key: &str) -> bool {
    key.starts_with("password ") || key.starts_with("line ") && key.to_lowercase().ends_with("proxy")
}

/// Returns what the journal says of a former value: for a secret, the digest under which a private file has it.
pub(super) async fn hide(cx: &Context, key: &str, before: Option<String>) -> Result<Option<String>, StepError> {
    let Some(value) = before else { return Ok(None) };
    if !is_secret(key) {
        return Ok(Some(value));
    }
    let (digest, cx) = (sha256_hex(value.as_bytes()), cx.clone());
    let name = digest.clone();
    blocking(move || {
        cx.files.make_directory(Path::new(ORIGINALS), 0o700)?;
        Ok(cx.files.write(&[NewFile::private(Path::new(ORIGINALS).join(name), value)])?)
    })
    .await?;
    Ok(Some(digest))
}

/// Returns the former value for what the journal says of it. Versions before 0.2 wrote the value itself.
pub(super) fn reveal(cx: &Context, key: &str, before: Option<String>) -> Result<Option<String>, StepError> {
    match before {
        Some(digest) if is_secret(key) && digest.len() == 64 => {
            Ok(cx.files.read_text(Path::new(ORIGINALS).join(&digest))?.or(Some(digest)))
        }
        before => Ok(before),
    }
}
