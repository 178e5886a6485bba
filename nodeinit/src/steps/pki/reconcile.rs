//! Decides for each key and certificate: keep, create, reissue or report. Pure.

use super::{SERVICE_ACCOUNT, certificate_path, found::Found, key_path, outcome::Outcome, public_path};
use crate::{
    host::files::NewFile,
    pki::{
        Authority, Certificate, Key, PkiError,
        authority::self_signed,
        bundle::{Bundle, authority},
        catalog::{Ca, Entry},
        fault::{self, Fault},
    },
};
use std::{path::Path, time::SystemTime};

pub(super) struct Reconcile<'a> {
    pub(super) found: Found,
    pub(super) bundle: Option<&'a Bundle>,
    /// The path of the secrets bundle.
    pub(super) place: &'static str,
    pub(super) cluster_exists: bool,
    pub(super) now: SystemTime,
}

/// The parts of a CA that are on this machine.
struct Signer {
    certificate: Certificate,
    /// `None` for an external CA, whose key is elsewhere.
    authority: Option<Authority>,
}

impl Reconcile<'_> {
    pub(super) fn run(&self, entries: &[Entry]) -> Outcome {
        let mut outcome = Outcome::default();
        let signers = Ca::ALL.map(|ca| (ca, self.ca(ca, &mut outcome)));
        self.service_account(&mut outcome);
        for entry in entries {
            if let Some((_, Some(signer))) = signers.iter().find(|(ca, _)| *ca == entry.ca) {
                self.leaf(entry, signer, &mut outcome);
            }
        }
        outcome
    }

    /// Decides about a CA; returns `None` if it cannot be used.
    fn ca(&self, ca: Ca, outcome: &mut Outcome) -> Option<Signer> {
        let (certificate, key) = (certificate_path(ca.base()), key_path(ca.base()));
        let here = (self.found.get(&certificate), self.found.get(&key));
        match self.try_ca(ca, here, outcome) {
            Ok(signer) => signer,
            Err(error) => {
                let bad_key = matches!(error, PkiError::NoKey | PkiError::BadKey);
                outcome.problem(if bad_key { &key } else { &certificate }, error, RESTORE);
                None
            }
        }
    }

    fn try_ca(
        &self,
        ca: Ca,
        (certificate, key): (Option<&[u8]>, Option<&[u8]>),
        outcome: &mut Outcome,
    ) -> Result<Option<Signer>, PkiError> {
        let (certificate_path, key_path) = (certificate_path(ca.base()), key_path(ca.base()));
        let (given, place) = (self.bundle.map(|bundle| authority(bundle, ca)), self.place);
        let key = key.map(Key::from_pem).transpose()?;
        let new_key = match (&key, certificate, given) {
            (None, None, None) if self.cluster_exists => {
                outcome.problem(
                    &certificate_path,
                    "is missing, but etcd contains a cluster, and the machines of that cluster trust this CA",
                    RESTORE,
                );
                return Ok(None);
            }
            (None, None, None) => Some(Key::generate()?.pem()),
            (None, _, Some(given)) => Some(given.key.clone()),
            _ => None,
        };
        let key = match (&new_key, key) {
            (Some(pem), _) => Some(Key::from_pem(pem.expose().as_bytes())?),
            (None, key) => key,
        };
        let new_certificate = match (certificate, given, &key) {
            (Some(_), ..) => None,
            (None, Some(given), _) => Some(given.certificate.clone()),
            (None, None, Some(key)) if new_key.is_some() || self.found.is_ours(&key_path) => {
                Some(self_signed(ca.common_name(), key, self.now)?)
            }
            (None, None, _) => {
                let remedy = "put its certificate next to it, or remove it to generate a new CA";
                outcome.problem(&key_path, "its certificate is missing", remedy);
                return Ok(None);
            }
        };
        let pem = new_certificate.as_deref().map(str::as_bytes).or(certificate).unwrap_or_default();
        let certificate = Certificate::from_pem(pem)?;
        if let Some(given) = given
            && Certificate::from_pem(given.certificate.as_bytes())?.public_key != certificate.public_key
        {
            let remedy = format!("to keep this machine's cluster, remove {place}; to discard it, run `nodeinit reset`");
            outcome.problem(&certificate_path, format!("differs from the CA in {place}"), remedy);
            return Ok(None);
        }
        let faults = fault::of_ca(&certificate, key.as_ref(), self.now);
        if !faults.is_empty() {
            outcome.problem(&certificate_path, said(&faults), remedy(&faults, None));
            return Ok(None);
        }
        outcome.remark(&certificate_path, &certificate, self.now);
        let source = if given.is_some() { format!("take from {place}") } else { "generate".into() };
        self.write(outcome, &source, &certificate_path, new_key.as_ref().map(|key| key.expose()), new_certificate);
        let authority = key.map(|key| Authority::new(certificate.clone(), key)).transpose()?;
        Ok(Some(Signer { certificate, authority }))
    }

    /// Adds the new files of a pair, the key first.
    fn write(
        &self,
        outcome: &mut Outcome,
        verb: &str,
        certificate_path: &Path,
        key: Option<&String>,
        certificate: Option<String>,
    ) {
        let key_path = certificate_path.with_extension("key");
        let (shown, shown_key) = (certificate_path.display(), key_path.display());
        match (key, &certificate) {
            (Some(_), Some(_)) => outcome.changes.push(format!("{verb} {shown} and its key")),
            (Some(_), None) => outcome.changes.push(format!("{verb} {shown_key}")),
            (None, Some(_)) => outcome.changes.push(format!("{verb} {shown} for the existing key")),
            (None, None) => {}
        }
        outcome.files.extend(key.map(|key| NewFile::private(&key_path, key.as_bytes())));
        outcome.files.extend(certificate.map(|certificate| NewFile::public(certificate_path, certificate)));
    }

    /// Decides about a certificate and its key.
    fn leaf(&self, entry: &Entry, signer: &Signer, outcome: &mut Outcome) {
        if let Err(error) = self.try_leaf(entry, signer, outcome) {
            let bad_key = matches!(error, PkiError::NoKey | PkiError::BadKey);
            let path = if bad_key { key_path(entry.base) } else { certificate_path(entry.base) };
            outcome.problem(&path, error, replace(signer));
        }
    }

    fn try_leaf(&self, entry: &Entry, signer: &Signer, outcome: &mut Outcome) -> Result<(), PkiError> {
        let (certificate_path, key_path) = (certificate_path(entry.base), key_path(entry.base));
        let key = self.found.get(&key_path).map(Key::from_pem).transpose()?;
        let verb = match (self.found.get(&certificate_path), &key) {
            (Some(pem), Some(key)) => {
                let certificate = Certificate::from_pem(pem)?;
                let faults = fault::of_leaf(&certificate, key, &entry.leaf, &signer.certificate, self.now);
                match &faults[..] {
                    [] => {
                        outcome.remark(&certificate_path, &certificate, self.now);
                        return Ok(());
                    }
                    [lacks @ Fault::Lacks(_)] if self.found.is_ours(&certificate_path) => {
                        format!("reissue, since it {lacks},")
                    }
                    _ => {
                        outcome.problem(&certificate_path, said(&faults), remedy(&faults, Some(signer)));
                        return Ok(());
                    }
                }
            }
            (Some(_), None) if !self.found.is_ours(&certificate_path) => {
                outcome.problem(&certificate_path, "its private key is missing", replace(signer));
                return Ok(());
            }
            (None, Some(_)) if !self.found.is_ours(&key_path) => {
                outcome.problem(&key_path, "its certificate is missing", replace(signer));
                return Ok(());
            }
            _ => "generate".into(),
        };
        let Some(authority) = &signer.authority else {
            let reason =
                format!("is required, and {}.key, which could sign it, is not on this machine", entry.ca.base());
            outcome.problem(&certificate_path, reason, replace(signer));
            return Ok(());
        };
        let new_key = if key.is_none() { Some(Key::generate()?) } else { None };
        if let Some(key) = new_key.as_ref().or(key.as_ref()) {
            let certificate = authority.issue(&entry.leaf, key, self.now)?;
            let new_key = new_key.map(|key| key.pem());
            self.write(outcome, &verb, &certificate_path, new_key.as_ref().map(|key| key.expose()), Some(certificate));
        }
        Ok(())
    }

    /// Decides about the keys of service account tokens.
    fn service_account(&self, outcome: &mut Outcome) {
        if let Err(error) = self.try_service_account(outcome) {
            outcome.problem(&key_path(SERVICE_ACCOUNT), error, RESTORE);
        }
    }

    fn try_service_account(&self, outcome: &mut Outcome) -> Result<(), PkiError> {
        let (private, public) = (key_path(SERVICE_ACCOUNT), public_path(SERVICE_ACCOUNT));
        let (given, place) = (self.bundle.map(|bundle| &bundle.service_account_key), self.place);
        let here = self.found.get(&private).map(Key::from_pem).transpose()?;
        let public_here = self.found.get(&public);
        let is_new = here.is_none();
        let key = match (here, given) {
            (Some(key), _) => key,
            (None, Some(given)) => Key::from_pem(given.expose().as_bytes())?,
            (None, None) if self.cluster_exists || (public_here.is_some() && !self.found.is_ours(&public)) => {
                outcome.problem(&private, "is missing, and tokens that it signed are in use", RESTORE);
                return Ok(());
            }
            (None, None) => Key::generate()?,
        };
        if let Some(given) = given
            && Key::from_pem(given.expose().as_bytes())?.public_bytes() != key.public_bytes()
        {
            let remedy = format!(
                "to keep this machine's key, remove {place}; to discard this machine's cluster, run `nodeinit reset`"
            );
            outcome.problem(&private, format!("differs from serviceAccountKey in {place}"), remedy);
            return Ok(());
        }
        let public_fits = public_here.is_some_and(|pem| key.is_named_in(pem));
        if !public_fits && public_here.is_some() && !self.found.is_ours(&public) {
            let remedy = format!("remove it: `nodeinit up` then derives it from {}", private.display());
            outcome.problem(&public, "is not the public key of sa.key", remedy);
            return Ok(());
        }
        if is_new {
            let source = if given.is_some() { format!("take from {place}") } else { "generate".into() };
            outcome.changes.push(format!("{source} {}", private.display()));
            let pem = given.cloned().unwrap_or_else(|| key.pem());
            outcome.files.push(NewFile::private(&private, pem.expose().as_bytes()));
        }
        if !public_fits {
            outcome.changes.push(format!("write {}", public.display()));
            // kubeadm uses the same mode.
            outcome.files.push(NewFile::private(&public, key.public_pem()));
        }
        Ok(())
    }
}

const RESTORE: &str =
    "restore it from a backup of /etc/kubernetes/pki, or discard this machine's cluster with `nodeinit reset`";

/// Returns the fix for a certificate that cannot be used.
fn replace(signer: &Signer) -> &'static str {
    match signer.authority {
        Some(_) => "restore the right pair, or remove both files to generate a new pair",
        None => "issue it with your CA and put certificate and key there, or put the CA's key next to its certificate",
    }
}

fn said(faults: &[Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Returns the fix for a certificate with faults; `signer` is its CA, `None` if it is a CA itself.
fn remedy(faults: &[Fault], signer: Option<&Signer>) -> &'static str {
    match (faults, signer) {
        ([Fault::NotYetValid { .. }], _) => {
            "synchronize this machine's clock, for example with `timedatectl set-ntp true`"
        }
        ([Fault::Expired(_)], Some(Signer { authority: Some(_), .. })) => "run `nodeinit certs renew`",
        (_, Some(signer)) => replace(signer),
        (_, None) => RESTORE,
    }
}
