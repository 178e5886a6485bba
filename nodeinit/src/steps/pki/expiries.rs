//! Lists the expiry of this machine's certificates.

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
    render::{
        kubeconfig::User,
        paths::{KUBELET_CLIENT_CURRENT, KUBELET_SERVER_CURRENT},
    },
    steps::kubeconfig::{self, Existing},
};
use serde::Serialize;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The name of the kubelet's serving certificate in [`inventory`].
pub(super) const KUBELET_SERVER: &str = "kubelet-server";

/// When a certificate expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Expiry {
    /// The name in `kubeadm certs check-expiration`.
    pub name: String,
    /// The file that holds it.
    pub path: PathBuf,
    /// Its expiry, as `2026-01-31T12:00:00Z`.
    pub expires: String,
    /// Whole days until then; negative if it has passed.
    pub days_left: i64,
    /// The common name of its issuer.
    pub authority: String,
    /// Whether it is a CA certificate.
    pub is_ca: bool,
}

/// Lists the certificates on this machine: those of kubeadm's list, the kubelet's, then the CAs.
///
/// # Errors
/// If one cannot be read.
pub fn inventory(files: &Files, now: SystemTime) -> Result<Vec<Expiry>, StepError> {
    let mut all = Vec::new();
    for user in User::ALL {
        let path = kubeconfig::path(user);
        let Some(text) = files.read_text(&path)? else { continue };
        let existing = Existing::read(files, &text).map_err(|e| unreadable(&path, e))?;
        all.extend(existing.client.map(|(certificate, _)| Expiry::of(user.file_name(), &path, certificate, now)));
    }
    let leaves = catalog::NAMES.map(|(name, base)| (name, certificate_path(base)));
    let asked_for = PathBuf::from(KUBELET_SERVER_CURRENT);
    let server = if files.exists(&asked_for) { asked_for } else { kubeconfig::kubelet_server_path() };
    let kubelet = [("kubelet-client", KUBELET_CLIENT_CURRENT.into()), (KUBELET_SERVER, server)];
    let authorities = Ca::ALL.map(|ca| (ca.name(), certificate_path(ca.base())));
    for (name, path) in leaves.into_iter().chain(kubelet).chain(authorities) {
        if let Some(pem) = files.read(&path)? {
            let certificate = Certificate::from_pem(&pem).map_err(|e| unreadable(&path, e))?;
            all.push(Expiry::of(name, &path, certificate, now));
        }
    }
    Ok(all)
}

fn unreadable(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> StepError {
    StepError::caused(format!("cannot read the certificate in {}", path.display()), error)
}

impl Expiry {
    fn of(name: &str, path: &Path, certificate: Certificate, now: SystemTime) -> Self {
        Self {
            name: name.to_owned(),
            path: path.to_path_buf(),
            expires: date(certificate.not_after),
            days_left: days_left(certificate.not_after, now),
            authority: certificate.issuer,
            is_ca: certificate.is_ca,
        }
    }
}

/// Returns the same as objects for `status`.
///
/// # Errors
/// As [`inventory`].
pub fn expiries(cx: &Context) -> Result<Vec<Value>, StepError> {
    let objects = inventory(&cx.files, cx.clock.now())?.into_iter().map(serde_json::to_value);
    objects.collect::<Result<_, _>>().map_err(|e| StepError::caused("cannot list the certificates' expiry", e))
}
