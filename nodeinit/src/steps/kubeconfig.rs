//! Writes kubeconfigs and the kubelet's certificates.

mod existing;
mod kubelet;
#[cfg(test)]
mod tests;

pub(super) use existing::{Existing, with_client_certificate};
pub(super) use kubelet::{client_file_name, serving_path as kubelet_server_path};

use super::{
    kubelet::restart_if_started,
    pki::{certificate_path, found::Found, key_path, outcome::Outcome},
};
use crate::{
    context::{Context, blocking},
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    host::files::NewFile,
    pki::{
        Authority, Certificate, Key, PkiError,
        catalog::{ADMINS, Ca, Leaf, MASTERS},
        fault,
    },
    render::{
        kubeconfig::{self as text, User},
        paths,
    },
};
use async_trait::async_trait;
use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Step `kubeconfig`: the kubeconfigs of the administrators, components and the kubelet, in the state in which kubeadm leaves
/// them. Valid files stay; invalid ones are reported.
pub struct Kubeconfigs;

#[async_trait(?Send)]
impl Step for Kubeconfigs {
    fn id(&self) -> StepId {
        StepId::Kubeconfig
    }

    fn title(&self) -> String {
        "write kubeconfigs and the kubelet's certificates".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let outcome = outcome(cx)?.0;
        outcome.notes.iter().for_each(|note| cx.report.note(&self.name(), note));
        Ok(State::of(outcome.changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        // The kubelet will renew its client certificate there.
        cx.claim_trees(vec!["/var/lib/kubelet".into()]).await?;
        let lent = cx.clone();
        let (files, links) = blocking(move || outcome(&lent).map(|(outcome, links)| (outcome.files, links))).await?;
        cx.place(files).await?;
        // A running kubelet has read the certificate that is replaced.
        let restarts = links.iter().any(|(path, _)| cx.files.exists(path));
        let lent = cx.clone();
        blocking(move || links.iter().try_for_each(|(path, target)| Ok(lent.files.link(Path::new(path), target)?)))
            .await?;
        if restarts { restart_if_started(cx).await } else { Ok(()) }
    }
}

/// The parts of the CA that are on this machine.
struct Here {
    /// `None` in a plan, before the step `pki`.
    certificate: Option<(String, Certificate)>,
    /// Also `None` with an external CA.
    authority: Option<Authority>,
    now: SystemTime,
}

impl Here {
    fn read(cx: &Context) -> Result<Self, StepError> {
        let (path, key_path) = (certificate_path(Ca::Kubernetes.base()), key_path(Ca::Kubernetes.base()));
        let unusable = |path: &Path, e: PkiError| StepError::caused(format!("cannot use {}", path.display()), e);
        let certificate = match cx.files.read_text(&path)? {
            Some(pem) => Some((Certificate::from_pem(pem.as_bytes()).map_err(|e| unusable(&path, e))?, pem)),
            None => None,
        };
        let key = match cx.files.read_secret(&key_path)? {
            Some(pem) => Some(Key::from_pem(pem.expose()).map_err(|e| unusable(&key_path, e))?),
            None => None,
        };
        let authority = match (&certificate, key) {
            (Some((certificate, _)), Some(key)) => {
                Some(Authority::new(certificate.clone(), key).map_err(|e| unusable(&path, e))?)
            }
            _ => None,
        };
        Ok(Self { certificate: certificate.map(|(c, pem)| (pem, c)), authority, now: cx.clock.now() })
    }
}

/// Returns the changes, and the kubelet's links to create.
fn outcome(cx: &Context) -> Result<(Outcome, kubelet::Links), StepError> {
    let here = Here::read(cx)?;
    let mut outcome = Outcome::default();
    let links = kubelet::reconcile(cx, &here, &mut outcome)?;
    for user in User::of(&cx.cluster) {
        reconcile(cx, user, &here, &mut outcome)?;
    }
    Ok((outcome.checked(paths::KUBERNETES)?, links))
}

/// Returns the path of a user's kubeconfig.
pub(super) fn path(user: User) -> PathBuf {
    Path::new(paths::KUBERNETES).join(user.file_name())
}

/// Describes the certificate of a kubeconfig's user. Source: kubeadm, `getKubeConfigSpecsBase`.
pub(super) fn leaf(user: User) -> Leaf {
    let group = match user {
        User::Admin => Some(ADMINS),
        User::SuperAdmin => Some(MASTERS),
        User::ControllerManager | User::Scheduler | User::Agent => None,
    };
    Leaf::client(user.name(), group)
}

fn reconcile(cx: &Context, user: User, here: &Here, outcome: &mut Outcome) -> Result<(), StepError> {
    let path = path(user);
    if let Some(text) = cx.files.read_secret_text(&path)? {
        keep(cx, &path, text.expose(), Some(&leaf(user)), here, outcome);
        return Ok(());
    }
    outcome.changes.push(format!("write {}", path.display()));
    let Some((ca, _)) = &here.certificate else { return Ok(()) };
    let Some(authority) = &here.authority else {
        let without_agent = if user == User::Agent { "; or set `agent.enabled: false`" } else { "" };
        outcome.problem(&path, NEEDED, format!("issue it with your CA, or put ca.key next to ca.crt{without_agent}"));
        return Ok(());
    };
    let cannot = |e: PkiError| StepError::caused(format!("cannot create the certificate of {}", path.display()), e);
    let key = Key::generate().map_err(cannot)?;
    let certificate = authority.issue(&leaf(user), &key, here.now).map_err(cannot)?;
    let text = text::with_certificate(&cx.renderer(), user, ca, &certificate, &key.pem())?;
    outcome.files.push(NewFile::private(path, text.expose().as_bytes()));
    Ok(())
}

const NEEDED: &str = "is required, and ca.key, which could sign its certificate, is not on this machine";

/// Checks that an existing kubeconfig trusts this cluster's CA and has the right user. A different server is only reported,
/// as in kubeadm (`validateKubeConfig`). Without `leaf`, the user's certificate is not checked.
fn keep(cx: &Context, path: &Path, text: &str, leaf: Option<&Leaf>, here: &Here, outcome: &mut Outcome) {
    let remedy = "replace it with the right file, or remove it to generate a new one";
    let existing = match Existing::read(&cx.files, text) {
        Ok(existing) => existing,
        Err(error) => return outcome.problem(path, error, remedy),
    };
    let Some((_, ca)) = &here.certificate else { return };
    if existing.ca.public_key != ca.public_key {
        return outcome.problem(path, "trusts another cluster's CA", remedy);
    }
    if let (Some((certificate, key)), Some(leaf)) = (&existing.client, leaf) {
        let faults = fault::of_leaf(certificate, key, leaf, ca, here.now);
        if !faults.is_empty() {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            return outcome.problem(path, format!("its certificate cannot be used: {}", faults.join("; ")), remedy);
        }
        outcome.remark(path, certificate, here.now);
    }
    let local = nodeinit_config::cluster::Endpoint {
        host: cx.node.address.to_string(),
        port: nodeinit_config::cluster::API_PORT,
    };
    let servers = [cx.cluster.endpoint(cx.node.address), local].map(|endpoint| format!("https://{endpoint}"));
    if !servers.contains(&existing.server) {
        let wanted = servers.join(" or ");
        outcome.notes.push(format!(
            "{} connects to the cluster at {} instead of {wanted}",
            path.display(),
            existing.server
        ));
    }
}

/// Whether both files of a pair exist, and whether nodeinit wrote them.
fn found(cx: &Context, paths: &[&Path]) -> Result<Found, StepError> {
    Found::read(cx, paths.iter().map(|path| path.to_path_buf()))
}
