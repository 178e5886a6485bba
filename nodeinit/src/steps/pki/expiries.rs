//! How long this machine's certificates last.

use super::certificate_path;
use crate::{
    context::Context,
    engine::error::StepError,
    host::files::Files,
    pki::{
        Certificate,
        catalog::{self, Ca},
        expiry::{date, days_left},
    },
};
use serde::Serialize;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

/// When a certificate ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Expiry {
    /// The name in `kubeadm certs check-expiration`.
    pub name: String,
    /// The file that holds it.
    pub path: PathBuf,
    /// Its end, as `2026-01-31T12:00:00Z`.
    pub expires: String,
    /// Whole days until then; negative where it has passed.
    pub days_left: i64,
    /// Who signed it, by common name.
    pub authority: String,
    /// Whether it is a CA's.
    pub is_ca: bool,
}

/// The certificates of this machine that are there: those of kubeadm's list, then the CAs.
///
/// # Errors
/// Where one cannot be read.
pub fn inventory(files: &Files, now: SystemTime) -> Result<Vec<Expiry>, StepError> {
    let mut all = Vec::new();
    let mut add = |name: &str, path: &Path, pem: Option<Vec<u8>>| {
        let Some(pem) = pem else { return Ok(()) };
        let certificate = Certificate::from_pem(&pem)
            .map_err(|e| StepError::caused(format!("cannot read the certificate in {}", path.display()), e))?;
        all.push(Expiry {
            name: name.to_owned(),
            path: path.to_path_buf(),
            expires: date(certificate.not_after),
            days_left: days_left(certificate.not_after, now),
            authority: certificate.issuer,
            is_ca: certificate.is_ca,
        });
        Ok::<_, StepError>(())
    };
    for (name, base) in catalog::NAMES {
        let path = certificate_path(base);
        add(name, &path, files.read(&path)?)?;
    }
    for ca in Ca::ALL {
        let path = certificate_path(ca.base());
        add(ca.name(), &path, files.read(&path)?)?;
    }
    Ok(all)
}

/// The same as objects for `status`.
///
/// # Errors
/// As [`inventory`].
pub fn expiries(cx: &Context) -> Result<Vec<Value>, StepError> {
    let objects = inventory(&cx.files, cx.clock.now())?.into_iter().map(serde_json::to_value);
    objects.collect::<Result<_, _>>().map_err(|e| StepError::caused("cannot tell the certificates' ends", e))
}
