//! Creates the keys and certificates in `/etc/kubernetes/pki`.

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
/// Valid files stay. Missing ones are generated, or taken from the secrets bundle. Invalid ones are reported and never replaced,
/// with one exception: a certificate of nodeinit that lacks names that were added to the configuration.
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
        // `reset` also removes files that others put there later.
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

/// Records that this machine generated etcd's CA. No other machine can have it before this machine sends it, so no other machine
/// can have started an etcd with it.
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

/// Whether etcd holds data on this machine: then lost keys must be restored, because new ones would lock out all clients.
pub(super) fn cluster_exists(cx: &Context) -> bool {
    super::etcd::has_data(cx)
}

/// The file name of the key that signs service account tokens.
pub(super) const SERVICE_ACCOUNT: &str = "sa";

/// Returns the path of a certificate in the PKI directory.
#[must_use]
pub fn certificate_path(base: &str) -> PathBuf {
    Path::new(paths::PKI).join(format!("{base}.crt"))
}

/// Returns the path of a private key in the PKI directory.
#[must_use]
pub fn key_path(base: &str) -> PathBuf {
    Path::new(paths::PKI).join(format!("{base}.key"))
}

fn public_path(base: &str) -> PathBuf {
    Path::new(paths::PKI).join(format!("{base}.pub"))
}
