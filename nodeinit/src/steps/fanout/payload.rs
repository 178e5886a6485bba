//! What another machine is given: its configuration, and its secrets.

use crate::{
    context::Context,
    engine::error::{Exit, StepError},
    pki::{
        Key,
        bundle::{Authorities, Bundle, Pair},
        catalog::Ca,
    },
    render::paths,
    steps::{
        encryption_config,
        pki::{SERVICE_ACCOUNT, certificate_path, key_path},
        tokens,
    },
};
use bytes::Bytes;
use nodeinit_config::Secret;

/// The first words of a configuration that we wrote.
pub(super) const HEAD: &str = "# Written by nodeinit";

/// A further master's configuration.
pub(super) fn master_config(cx: &Context) -> String {
    format!("{}{}", head(cx), cx.loaded.master_config())
}

/// A worker's configuration; `None` while there is no CA yet.
pub(super) fn worker_config(cx: &Context, name: &str) -> Result<Option<String>, StepError> {
    if !cx.files.exists(certificate_path(Ca::Kubernetes.base())) {
        return Ok(None);
    }
    let trust = tokens::trust(cx)?;
    Ok(cx.loaded.worker_config(name, &trust).map(|part| head(cx) + &part))
}

/// The files of releases that every machine needs to read its configuration, by path.
pub(super) fn releases(cx: &Context) -> Vec<(String, Bytes)> {
    cx.loaded.release_files().map(|(path, content)| (path.to_owned(), Bytes::copy_from_slice(content))).collect()
}

fn head(cx: &Context) -> String {
    format!("{HEAD} on {}: what is changed belongs into its configuration there.\n", cx.node.name)
}

/// The bundle of this cluster, from what is on disk here: what makes another machine one of its masters.
pub(super) fn master_secrets(cx: &Context) -> Result<Secret<String>, StepError> {
    let authorities = Authorities {
        kubernetes: authority(cx, Ca::Kubernetes)?,
        etcd: authority(cx, Ca::Etcd)?,
        front_proxy: authority(cx, Ca::FrontProxy)?,
    };
    let service_account_key = read(cx, &key_path(SERVICE_ACCOUNT))?;
    let encryption = read(cx, paths::ENCRYPTION.as_ref())?;
    encryption_config::accept(encryption.expose())?;
    Ok(Bundle::for_master(authorities, service_account_key, encryption).text())
}

fn authority(cx: &Context, ca: Ca) -> Result<Pair, StepError> {
    let key = key_path(ca.base());
    if !cx.files.exists(&key) {
        let what = format!("{} is not here, and without it no further master gets its certificates", key.display());
        return Err(StepError::new(what).hint("put it there for as long as masters are added"));
    }
    let key = read(cx, &key)?;
    Key::from_pem(key.expose().as_bytes())
        .map_err(|e| StepError::caused(format!("cannot use the key of {}", ca.name()), e))?;
    Ok(Pair { certificate: read(cx, &certificate_path(ca.base()))?.expose().clone(), key })
}

fn read(cx: &Context, path: &std::path::Path) -> Result<Secret<String>, StepError> {
    let missing = || StepError::new(format!("{} is missing", path.display())).exit(Exit::TryAgain);
    cx.files.read_secret_text(path)?.ok_or_else(missing)
}
