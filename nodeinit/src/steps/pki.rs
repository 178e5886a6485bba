//! Keys and certificates in `/etc/kubernetes/pki`.

pub mod bundle;
mod expiries;
pub(super) mod found;
pub(super) mod outcome;
#[cfg(test)]
mod parity;
mod reconcile;
pub mod renew;
#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;

use crate::{
    context::{Context, blocking},
    engine::{
        error::StepError,
        journal::Record,
        step::{State, Step},
        step_id::StepId,
    },
    host::files::NewFile,
    pki::{
        bundle::Bundle,
        catalog::{self, Ca},
    },
    render::paths,
};
use async_trait::async_trait;
pub use expiries::{Expiry, expiries, inventory};
use found::Found;
use nodeinit_base::sha256_hex;
use nodeinit_config::cluster::Role;
use outcome::Outcome;
use reconcile::Reconcile;
use std::path::{Path, PathBuf};

/// Step `pki`: all of kubeadm's keys and certificates.
///
/// What is there and good stays. What is missing is made, or taken from the secrets bundle. What is there and bad is reported,
/// never replaced, with one exception: our own certificate that lacks names which the configuration has gained.
pub struct Pki;

#[async_trait(?Send)]
impl Step for Pki {
    fn id(&self) -> StepId {
        StepId::Pki
    }

    fn title(&self) -> String {
        "generate keys and certificates".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let outcome = outcome(cx)?;
        outcome.notes.iter().for_each(|note| cx.report.note(&self.name(), note));
        Ok(State::of(outcome.changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        // What others put there later is ours to remove as well.
        cx.claim_trees(vec![paths::KUBERNETES.into()]).await?;
        let lent = cx.clone();
        let files = blocking(move || {
            let files = outcome(&lent)?.files;
            record_own_authority(&lent, &files)?;
            Ok(files)
        })
        .await?;
        cx.place(files).await.map(drop)
    }
}

fn outcome(cx: &Context) -> Result<Outcome, StepError> {
    let entries = catalog::entries(&cx.cluster, &cx.node);
    let bases = Ca::ALL.map(Ca::base).into_iter().chain(entries.iter().map(|entry| entry.base));
    let mut read: Vec<PathBuf> = bases.flat_map(|base| [certificate_path(base), key_path(base)]).collect();
    read.extend([key_path(SERVICE_ACCOUNT), public_path(SERVICE_ACCOUNT)]);
    let bundle: Option<Bundle> = bundle::read(&cx.files, cx.clock.now())?;
    if bundle.is_none()
        && cx.node.role != Role::FirstMaster
        && !cx.files.exists(certificate_path(Ca::Kubernetes.base()))
    {
        return Err(bundle::none());
    }
    let reconcile = Reconcile {
        found: Found::read(cx, read)?,
        bundle: bundle.as_ref(),
        place: bundle::place(&cx.files),
        cluster_exists: cluster_exists(cx),
        now: cx.clock.now(),
    };
    reconcile.run(&entries).checked(paths::PKI)
}

/// Records that etcd's CA is this machine's own. Nobody else can have it before this machine hands it out, so that no other
/// machine can have started an etcd with it.
fn record_own_authority(cx: &Context, files: &[NewFile]) -> Result<(), StepError> {
    if bundle::read(&cx.files, cx.clock.now())?.is_some() {
        return Ok(());
    }
    let key = files.iter().find(|file| file.path == key_path(Ca::Etcd.base()));
    let record = key.map(|key| Record::EtcdAuthority { sha256: sha256_hex(&key.content) });
    Ok(cx.journal.intend(record.into_iter().collect())?)
}

/// Whether this machine generated the key of etcd's CA itself.
pub(super) fn is_own_authority(cx: &Context) -> Result<bool, StepError> {
    let key = cx.files.read_secret(key_path(Ca::Etcd.base()))?;
    let own = cx.journal.etcd().own_authority;
    Ok(key.is_some_and(|key| own.is_some_and(|own| own == sha256_hex(key.expose()))))
}

/// Whether etcd holds data on this machine: then lost keys must come back, and new ones would lock everybody out.
pub(super) fn cluster_exists(cx: &Context) -> bool {
    super::etcd::has_data(cx)
}

/// The files' name of the key that signs service accounts' tokens.
pub(super) const SERVICE_ACCOUNT: &str = "sa";

/// The path of a certificate in the PKI's directory.
#[must_use]
pub fn certificate_path(base: &str) -> PathBuf {
    Path::new(paths::PKI).join(format!("{base}.crt"))
}

/// The path of a private key in the PKI's directory.
#[must_use]
pub fn key_path(base: &str) -> PathBuf {
    Path::new(paths::PKI).join(format!("{base}.key"))
}

fn public_path(base: &str) -> PathBuf {
    Path::new(paths::PKI).join(format!("{base}.pub"))
}
