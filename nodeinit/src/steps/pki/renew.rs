//! Renews certificates for their existing keys. Because the key stays, each renewal replaces one file atomically.

use super::{certificate_path, expiries::KUBELET_SERVER, key_path, outcome::Outcome};
use crate::{
    context::Context,
    engine::error::{Exit, StepError},
    host::files::NewFile,
    pki::{
        Authority, Certificate, Key, PkiError,
        catalog::{self, Ca, Leaf},
        expiry::date,
        fault::{self, Fault},
        names::Name,
    },
    render::{kubeconfig::User, kubelet::requests_serving_certificate, paths, yaml},
    steps::kubeconfig::{self, Existing, with_client_certificate},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The result of a renewal.
#[derive(Debug, Default)]
pub struct Renewal {
    /// The files to write.
    pub files: Vec<NewFile>,
    /// A description of what happens to each certificate.
    pub messages: Vec<String>,
}

/// Returns the names that can be renewed: those of `kubeadm certs check-expiration`, and the kubelet's serving certificate. The kubelet
/// renews its client certificate itself.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let kubeconfigs = User::ALL.map(User::file_name);
    let leaves = catalog::NAMES.map(|(name, _)| name);
    kubeconfigs.into_iter().chain(leaves).chain([KUBELET_SERVER]).collect()
}

/// Renews the certificates in `wanted`, or all if it is empty. Writes nothing yet.
///
/// # Errors
/// If a name is unknown, or a certificate has a fault that a renewal does not fix.
pub fn renew(cx: &Context, wanted: &[String]) -> Result<Renewal, StepError> {
    if let Some(unknown) = wanted.iter().find(|name| !names().contains(&name.as_str())) {
        let what = format!("unknown certificate {unknown:?}; known certificates: {}", names().join(", "));
        return Err(StepError::new(what).exit(Exit::Usage));
    }
    let now = cx.clock.now();
    let mut work =
        Work { cx, now, authorities: BTreeMap::new(), renewal: Renewal::default(), outcome: Outcome::default() };
    for ca in Ca::ALL {
        if let Some(authority) = authority(cx, ca, now)? {
            work.authorities.insert(ca, authority);
        }
    }
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|each| each == name);
    for user in User::of(&cx.cluster).filter(|user| is_wanted(user.file_name())) {
        work.kubeconfig(user)?;
    }
    let entries = catalog::entries(&cx.cluster, &cx.node);
    for entry in &entries {
        let name = catalog::NAMES.iter().find(|(_, base)| *base == entry.base).map_or(entry.base, |(name, _)| name);
        if is_wanted(name) {
            work.pair(&certificate_path(entry.base), entry.ca, &entry.leaf)?;
        }
    }
    if is_wanted(KUBELET_SERVER) {
        work.kubelet_server()?;
    }
    work.outcome.checked(paths::KUBERNETES)?;
    Ok(work.renewal)
}

/// Returns a CA whose key is on this machine.
fn authority(cx: &Context, ca: Ca, now: SystemTime) -> Result<Option<Authority>, StepError> {
    let path = certificate_path(ca.base());
    let (Some(certificate), Some(key)) = (cx.files.read(&path)?, cx.files.read_secret(key_path(ca.base()))?) else {
        return Ok(None);
    };
    let unusable = |e: PkiError| StepError::caused(format!("cannot sign with {}", path.display()), e);
    let (certificate, key) =
        (Certificate::from_pem(&certificate).map_err(unusable)?, Key::from_pem(key.expose()).map_err(unusable)?);
    if let Some(fault) = fault::of_ca(&certificate, Some(&key), now).first() {
        return Err(StepError::new(format!("cannot sign with {}: {fault}", path.display())));
    }
    Authority::new(certificate, key).map(Some).map_err(unusable)
}

struct Work<'a> {
    cx: &'a Context,
    now: SystemTime,
    authorities: BTreeMap<Ca, Authority>,
    renewal: Renewal,
    outcome: Outcome,
}

impl Work<'_> {
    fn pair(&mut self, path: &Path, ca: Ca, leaf: &Leaf) -> Result<(), StepError> {
        let files = &self.cx.files;
        let (Some(certificate), Some(key)) = (files.read(path)?, files.read_secret(path.with_extension("key"))?) else {
            self.renewal.messages.push(format!("{} is not on this machine", path.display()));
            return Ok(());
        };
        let read =
            Certificate::from_pem(&certificate).and_then(|certificate| Ok((certificate, Key::from_pem(key.expose())?)));
        let (certificate, key) = match read {
            Ok(read) => read,
            Err(error) => {
                self.outcome.problem(path, error, "run `nodeinit up`, which reports the fix");
                return Ok(());
            }
        };
        if let Some(pem) = self.sign(path, ca, leaf, &certificate, &key)? {
            self.renewal.files.push(NewFile::public(path, pem));
        }
        Ok(())
    }

    fn kubeconfig(&mut self, user: User) -> Result<(), StepError> {
        let path = kubeconfig::path(user);
        let Some(text) = self.cx.files.read_secret_text(&path)? else {
            self.renewal.messages.push(format!("{} is not on this machine", path.display()));
            return Ok(());
        };
        let unusable = |e| StepError::caused(format!("cannot renew {}", path.display()), e);
        let existing = Existing::read(&self.cx.files, text.expose()).map_err(unusable)?;
        let Some((certificate, key)) = existing.client else {
            self.renewal.messages.push(format!("{} contains no certificate", path.display()));
            return Ok(());
        };
        let leaf = kubeconfig::leaf(user);
        if let Some(pem) = self.sign(&path, Ca::Kubernetes, &leaf, &certificate, &key)? {
            let config = with_client_certificate(text.expose(), &pem).map_err(unusable)?;
            let text = yaml::text(user.file_name(), &config)?;
            self.renewal.files.push(NewFile::private(&path, text));
        }
        Ok(())
    }

    /// Renews the kubelet's serving certificate if nodeinit signed it; the kubelet renews a self-signed one.
    fn kubelet_server(&mut self) -> Result<(), StepError> {
        if requests_serving_certificate(&self.cx.cluster) {
            let message = format!("{}: the kubelet renews it", paths::KUBELET_SERVER_CURRENT);
            self.renewal.messages.push(message);
            return Ok(());
        }
        let path: PathBuf = kubeconfig::kubelet_server_path();
        let certificate = self.cx.files.read(&path)?.map(|pem| Certificate::from_pem(&pem));
        let ca = self.authorities.get(&Ca::Kubernetes).map(|authority| &authority.certificate);
        match (certificate, ca) {
            (Some(Ok(certificate)), Some(ca)) if certificate.is_signed_by(ca) => {
                self.pair(&path, Ca::Kubernetes, &catalog::kubelet_server(&self.cx.node))
            }
            _ => Ok(()),
        }
    }

    /// Returns a new certificate for the same key; `None` if that is impossible, which is reported.
    fn sign(
        &mut self,
        path: &Path,
        ca: Ca,
        leaf: &Leaf,
        old: &Certificate,
        key: &Key,
    ) -> Result<Option<String>, StepError> {
        let Some(authority) = self.authorities.get(&ca) else {
            let message = format!(
                "{} is unchanged: {}.key, which could sign it, is not on this machine",
                path.display(),
                ca.base()
            );
            self.renewal.messages.push(message);
            return Ok(None);
        };
        let faults = fault::of_leaf(old, key, leaf, &authority.certificate, self.now);
        let fatal = faults
            .iter()
            .find(|fault| !matches!(fault, Fault::Expired(_) | Fault::NotYetValid { .. } | Fault::Lacks(_)));
        if let Some(fault) = fatal {
            self.outcome.problem(path, fault, "a renewal does not fix that; run `nodeinit up`, which reports the fix");
            return Ok(None);
        }
        // Names that were added by hand stay, as with kubeadm.
        let mut names: Vec<Name> = leaf.names.iter().chain(&old.names).cloned().collect();
        names.sort();
        names.dedup();
        let cannot = |e: PkiError| StepError::caused(format!("cannot renew {}", path.display()), e);
        // Its group stays, too: before v1.34.9, it gave the API server's kubelet client its rights.
        let organization = leaf.organization.clone().or_else(|| old.organizations.first().cloned());
        let pem = authority.issue(&Leaf { names, organization, ..leaf.clone() }, key, self.now).map_err(cannot)?;
        let until = Certificate::from_pem(pem.as_bytes()).map_err(cannot)?.not_after;
        self.renewal.messages.push(format!("{} is valid until {}", path.display(), date(until)));
        Ok(Some(pem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        host::clock::Clock,
        steps::{
            kubeconfig::Kubeconfigs,
            pki::{
                Pki, inventory,
                testing::{DAY, aged, run},
            },
        },
    };

    #[tokio::test]
    async fn every_certificate_is_renewed_for_its_key() {
        let (_dir, cx) = aged(364).await;
        let before = inventory(&cx.files, cx.clock.now()).unwrap();
        assert_eq!(before.len(), 5 + 7 + 2 + 3);
        assert!(before.iter().all(|each| each.days_left == if each.is_ca { 3650 - 365 } else { 0 }), "{before:?}");
        let keys = catalog::NAMES.map(|(_, base)| cx.files.read(key_path(base)).unwrap());
        let renewal = renew(&cx, &[]).unwrap();
        assert_eq!(renewal.files.len(), names().len() - 1, "the kubelet renews its client certificate");
        cx.place(renewal.files).await.unwrap();
        for each in inventory(&cx.files, cx.clock.now()).unwrap() {
            let wanted = if each.is_ca {
                3285
            } else if each.name.starts_with("kubelet-") {
                0
            } else {
                364
            };
            assert_eq!(each.days_left, wanted, "{}", each.name);
        }
        assert_eq!(catalog::NAMES.map(|(_, base)| cx.files.read(key_path(base)).unwrap()), keys);
        assert_eq!(run(&Pki, &cx).await.unwrap(), [""; 0]);
        assert_eq!(run(&Kubeconfigs, &cx).await.unwrap(), [""; 0]);
    }

    #[tokio::test]
    async fn a_certificate_keeps_the_group_that_it_has() {
        const BASE: &str = "apiserver-kubelet-client";
        let (_dir, cx) = aged(10).await;
        let groups = || {
            let pem = cx.files.read(certificate_path(BASE)).unwrap().unwrap();
            Certificate::from_pem(&pem).unwrap().organizations
        };
        assert_eq!(groups(), [""; 0]);
        let key = Key::from_pem(&cx.files.read(key_path(BASE)).unwrap().unwrap()).unwrap();
        let former = Leaf::client("kube-apiserver-kubelet-client", Some(catalog::ADMINS));
        let authority = authority(&cx, Ca::Kubernetes, cx.clock.now()).unwrap().unwrap();
        let pem = authority.issue(&former, &key, cx.clock.now()).unwrap();
        cx.place(vec![NewFile::public(certificate_path(BASE), pem)]).await.unwrap();
        assert_eq!(run(&Pki, &cx).await.unwrap(), [""; 0], "it is not replaced");
        cx.place(renew(&cx, &[BASE.into()]).unwrap().files).await.unwrap();
        assert_eq!(groups(), [catalog::ADMINS]);
    }

    #[tokio::test]
    async fn only_expired_or_named_certificates_are_renewed() {
        let (_dir, mut cx) = aged(364).await;
        // The test cannot set the clock forward, so it creates the certificates again with earlier dates.
        cx.clock = Clock::behind(400 * DAY);
        cx.place(renew_at(&cx)).await.unwrap();
        cx.clock = Clock::system();
        let error = run(&Pki, &cx).await.unwrap_err();
        assert!(error.contains("expired at") && error.contains("nodeinit certs renew"), "{error}");
        let one = renew(&cx, &["apiserver".into()]).unwrap();
        assert_eq!(one.files.len(), 1);
        assert!(one.messages[0].starts_with("/etc/kubernetes/pki/apiserver.crt is valid until "), "{:?}", one.messages);
        cx.place(renew(&cx, &[]).unwrap().files).await.unwrap();
        assert_eq!(run(&Pki, &cx).await.unwrap(), [""; 0]);
        let error = renew(&cx, &["ca".into()]).unwrap_err();
        assert_eq!(error.exit, Exit::Usage);
        assert!(error.to_string().contains("known certificates: admin.conf, "), "{error}");
    }

    /// Renews all certificates at the time of `cx`, signed by CAs that are not valid yet.
    fn renew_at(cx: &Context) -> Vec<NewFile> {
        let read = |path: PathBuf| cx.files.read(path).unwrap().unwrap();
        let entries = catalog::entries(&cx.cluster, &cx.node).into_iter().map(|entry| {
            let certificate = Certificate::from_pem(&read(certificate_path(entry.ca.base()))).unwrap();
            let authority =
                Authority::new(certificate, Key::from_pem(&read(key_path(entry.ca.base()))).unwrap()).unwrap();
            let key = Key::from_pem(&read(key_path(entry.base))).unwrap();
            NewFile::public(certificate_path(entry.base), authority.issue(&entry.leaf, &key, cx.clock.now()).unwrap())
        });
        entries.collect()
    }

    #[tokio::test]
    async fn a_certificate_that_cannot_be_renewed_is_reported() {
        let (_dir, cx) = aged(364).await;
        cx.files.remove_file(key_path("etcd/ca")).unwrap();
        let renewal = renew(&cx, &["etcd-peer".into()]).unwrap();
        assert!(renewal.files.is_empty());
        assert_eq!(
            renewal.messages,
            [
                "/etc/kubernetes/pki/etcd/peer.crt is unchanged: etcd/ca.key, which could sign it, is not on this machine"
            ]
        );
        let other = cx.files.read(key_path("apiserver-kubelet-client")).unwrap().unwrap();
        cx.files.write(&[NewFile::private(key_path("apiserver"), other)]).unwrap();
        let error = renew(&cx, &[]).unwrap_err();
        assert!(error.to_string().contains("apiserver.crt: its private key belongs to another"), "{error}");
    }
}
