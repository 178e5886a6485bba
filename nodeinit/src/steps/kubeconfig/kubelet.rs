//! The kubelet's kubeconfig and its two certificates.
//!
//! kubeadm lets the kubelet ask the API server for a first client certificate, then rewrites `kubelet.conf` and restarts it
//! (`kubelet-finalize`). The CA is on this machine, so the final state is written directly.

use super::{Here, NEEDED, found, keep};
use crate::{
    context::Context,
    engine::error::StepError,
    host::files::NewFile,
    pki::{
        Authority, Certificate, Key, PkiError,
        catalog::{Leaf, kubelet_client, kubelet_server},
        expiry::date,
        fault,
    },
    render::{kubeconfig as text, kubelet::requests_serving_certificate, paths},
    steps::pki::outcome::Outcome,
};
use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};
use time::OffsetDateTime;

/// Links to create, each with its target.
pub(super) type Links = Vec<(&'static str, PathBuf)>;

/// Decides about `kubelet.conf` and the kubelet's certificates. Returns the links to create to the certificates in use.
pub(super) fn reconcile(cx: &Context, here: &Here, outcome: &mut Outcome) -> Result<Links, StepError> {
    let path = Path::new(paths::KUBERNETES).join("kubelet.conf");
    let mut links = Links::new();
    if requests_serving_certificate(&cx.cluster) {
        links.extend(serving_link(cx, here, outcome)?.map(|target| (paths::KUBELET_SERVER_CURRENT, target)));
    } else {
        serving(cx, here, outcome)?;
    }
    let existing = cx.files.read_text(&path)?;
    // A kubeconfig that nodeinit did not write may contain another certificate.
    let needs_link = existing.as_ref().is_none_or(|text| text.contains(paths::KUBELET_CLIENT_CURRENT));
    if needs_link {
        links.extend(client(cx, here, outcome)?.map(|target| (paths::KUBELET_CLIENT_CURRENT, target)));
    }
    if let Some(text) = existing {
        let own_certificate = if needs_link { None } else { Some(kubelet_client(&cx.node)) };
        keep(cx, &path, &text, own_certificate.as_ref(), here, outcome);
        return Ok(links);
    }
    outcome.changes.push(format!("write {}", path.display()));
    if let Some((ca, _)) = &here.certificate {
        outcome.files.push(NewFile::private(&path, text::kubelet(&cx.renderer(), ca)?));
    }
    Ok(links)
}

/// Decides about the client certificate: a dated file, and a link to the one in use.
fn client(cx: &Context, here: &Here, outcome: &mut Outcome) -> Result<Option<PathBuf>, StepError> {
    let current = Path::new(paths::KUBELET_CLIENT_CURRENT);
    if cx.files.read(current)?.is_some() {
        if cx.files.link_target(current).is_none() {
            let remedy = "remove it: `nodeinit up` then creates a new certificate and the link";
            outcome.problem(
                current,
                "is a plain file, and the kubelet renews its certificate only through a symbolic link",
                remedy,
            );
        } else if let Some(fault) = client_fault(cx, here)? {
            let remedy = "remove it, run `nodeinit up`, which creates a new one, then `systemctl restart kubelet`";
            outcome.problem(current, fault, remedy);
        }
        return Ok(None);
    }
    outcome.changes.push(format!("create the kubelet's client certificate, {}", current.display()));
    if here.certificate.is_none() {
        return Ok(None);
    }
    let Some(authority) = &here.authority else {
        outcome.problem(
            current,
            NEEDED,
            "put ca.key next to ca.crt, or provide the kubelet's certificate and key yourself: one PEM file, and a symbolic link to it at this path",
        );
        return Ok(None);
    };
    let (certificate, key) = issue(authority, &kubelet_client(&cx.node), here.now)?;
    let name = PathBuf::from(client_file_name(here.now));
    let both = certificate + key.pem().expose();
    outcome.files.push(NewFile::private(Path::new(paths::KUBELET_PKI).join(&name), both));
    Ok(Some(name))
}

/// Returns what is wrong with the client certificate in use.
fn client_fault(cx: &Context, here: &Here) -> Result<Option<String>, StepError> {
    let Some(pem) = cx.files.read_secret(paths::KUBELET_CLIENT_CURRENT)? else { return Ok(None) };
    let (certificate, key) = match (Certificate::from_pem(pem.expose()), Key::from_pem(pem.expose())) {
        (Ok(certificate), Ok(key)) => (certificate, key),
        (Err(e), _) | (_, Err(e)) => return Ok(Some(e.to_string())),
    };
    let Some((_, ca)) = &here.certificate else { return Ok(None) };
    let faults = fault::of_leaf(&certificate, &key, &kubelet_client(&cx.node), ca, here.now);
    Ok(faults.first().map(ToString::to_string))
}

/// Returns the path of the kubelet's serving certificate.
pub(in crate::steps) fn serving_path() -> PathBuf {
    Path::new(paths::KUBELET_PKI).join("kubelet.crt")
}

/// Decides about the serving certificate of a kubelet that requests it from the cluster: writes the state in which the kubelet leaves
/// it, so that a master serves from its start and renews the certificate later. Returns the target of the link if it must be created.
fn serving_link(cx: &Context, here: &Here, outcome: &mut Outcome) -> Result<Option<PathBuf>, StepError> {
    let current = Path::new(paths::KUBELET_SERVER_CURRENT);
    let mut why = String::new();
    if let Some(pem) = cx.files.read_secret(current)? {
        // The kubelet manages any other certificate there, and renews it in time if its request is approved.
        match Certificate::from_pem(pem.expose()) {
            Ok(certificate) if certificate.not_after <= here.now && here.authority.is_some() => {
                why = format!(": it expired at {}", date(certificate.not_after));
            }
            _ => return Ok(None),
        }
    }
    outcome.changes.push(format!("create the kubelet's serving certificate, {}{why}", current.display()));
    if here.certificate.is_none() {
        return Ok(None);
    }
    let Some(authority) = &here.authority else {
        let remedy = "provide the kubelet's certificate and key yourself: one PEM file, and a symbolic link to it at this path; or set `agent.enabled: false`";
        outcome.problem(current, NEEDED, remedy);
        return Ok(None);
    };
    let (certificate, key) = issue(authority, &kubelet_server(&cx.node), here.now)?;
    let name = PathBuf::from(client_file_name(here.now).replace("client", "server"));
    let both = certificate + key.pem().expose();
    outcome.files.push(NewFile::private(Path::new(paths::KUBELET_PKI).join(&name), both));
    Ok(Some(name))
}

/// Decides about the serving certificate at the path where the kubelet looks before it generates one (`cmd/kubelet/app/server.go`,
/// `InitializeTLS`). Without the CA's key, the kubelet generates it. An invalid certificate of nodeinit is replaced, and the kubelet
/// reloads it (`ReloadKubeletServerCertificateFile`). Another's, such as the kubelet's own, is only reported.
fn serving(cx: &Context, here: &Here, outcome: &mut Outcome) -> Result<(), StepError> {
    let certificate_path = serving_path();
    let key_path = certificate_path.with_extension("key");
    let found = found(cx, &[&certificate_path, &key_path])?;
    let leaf = kubelet_server(&cx.node);
    let mut why = String::new();
    let here_key = match (found.get(&certificate_path), found.get(&key_path)) {
        (Some(certificate), Some(key)) => {
            let Some((_, ca)) = &here.certificate else { return Ok(()) };
            let faults = match (Certificate::from_pem(certificate), Key::from_pem(key)) {
                (Ok(certificate), Ok(key)) => {
                    outcome.remark(&certificate_path, &certificate, here.now);
                    fault::of_leaf(&certificate, &key, &leaf, ca, here.now).iter().map(ToString::to_string).collect()
                }
                (Err(e), _) | (_, Err(e)) => vec![e.to_string()],
            };
            if faults.is_empty() {
                return Ok(());
            }
            why = format!(": {}", faults.join("; "));
            let is_ours = found.is_ours(&certificate_path) || found.is_ours(&key_path);
            if !is_ours || here.authority.is_none() {
                let remedy =
                    "remove it and its key: `nodeinit up` then creates a new pair if ca.key is on this machine";
                outcome.notes.push(format!("{}{why}: {remedy}", certificate_path.display()));
                return Ok(());
            }
            Some(key)
        }
        (Some(_), None) if !found.is_ours(&certificate_path) => {
            outcome.problem(&certificate_path, "its private key is missing", "remove it to generate a new pair");
            return Ok(());
        }
        (None, Some(_)) if !found.is_ours(&key_path) => {
            outcome.problem(&key_path, "its certificate is missing", "remove it to generate a new pair");
            return Ok(());
        }
        (_, key) => key,
    };
    if here.certificate.is_some() && here.authority.is_none() {
        return Ok(());
    }
    outcome.changes.push(format!("create the kubelet's serving certificate, {}{why}", certificate_path.display()));
    let Some(authority) = &here.authority else { return Ok(()) };
    match here_key.map(Key::from_pem) {
        Some(Ok(key)) => {
            let certificate = authority.issue(&leaf, &key, here.now).map_err(cannot)?;
            outcome.files.push(NewFile::public(certificate_path, certificate));
        }
        Some(Err(_)) | None => {
            let (certificate, key) = issue(authority, &leaf, here.now)?;
            outcome.files.push(NewFile::private(key_path, key.pem().expose().as_bytes()));
            outcome.files.push(NewFile::public(certificate_path, certificate));
        }
    }
    Ok(())
}

fn issue(authority: &Authority, leaf: &Leaf, now: SystemTime) -> Result<(String, Key), StepError> {
    let key = Key::generate().map_err(cannot)?;
    let certificate = authority.issue(leaf, &key, now).map_err(cannot)?;
    Ok((certificate, key))
}

fn cannot(error: PkiError) -> StepError {
    StepError::caused("cannot create the kubelet's certificates", error)
}

/// Returns the name that the kubelet would give (`certificate_store.go`, `Update`).
pub(in crate::steps) fn client_file_name(now: SystemTime) -> String {
    let at = OffsetDateTime::from(now);
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, second) = at.to_hms();
    let month = u8::from(month);
    format!("kubelet-client-{year}-{month:02}-{day:02}-{hour:02}-{minute:02}-{second:02}.pem")
}
