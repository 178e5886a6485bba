//! Joins a worker to the cluster: exchanges its bootstrap token for the kubelet's certificate.

mod token;

use crate::{
    context::{Context, blocking},
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    host::{facts, files::NewFile},
    join::{self, JoinError, Trust},
    pki::{Certificate, Key, catalog::kubelet_client, fault},
    render::{kubeconfig as text, paths},
    steps::{kubeconfig::client_file_name, kubelet, pki::certificate_path},
};
use async_trait::async_trait;
use nodeinit_config::cluster::Endpoint;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// The kubelet's key until there is a certificate for it; the kubelet uses the same name (`bootstrap.go`).
const PENDING_KEY: &str = "/var/lib/kubelet/pki/kubelet-client.key.tmp";

/// Workers that boot at the same time start to join within this time.
const SPREAD: Duration = Duration::from_millis(200);

const ID: StepId = StepId::Join;

/// Step `join`: writes the CA, the kubelet's certificate and its kubeconfig, and removes the token.
pub struct JoinCluster;

fn ca_path() -> PathBuf {
    certificate_path(crate::pki::catalog::Ca::Kubernetes.base())
}

/// Returns what to trust: the configured CA; if there is none, the CA that an earlier run received, if it matches the pin.
fn trust(cx: &Context) -> Result<Trust, StepError> {
    let wanted = &cx.cluster.join;
    let here = cx.files.read_text(ca_path())?;
    if let (Some(here), Some(given)) = (&here, &wanted.ca_certificate) {
        let pin = |pem: &str| Certificate::from_pem(pem.as_bytes()).map(|ca| ca.pin).ok();
        if pin(here) != pin(given) {
            let what = format!("{} differs from join.caCertificate", ca_path().display());
            let hint = "if this machine is to join another cluster: `nodeinit reset`, then `nodeinit up`";
            return Err(StepError::new(what).hint(hint));
        }
    }
    let ca = wanted.ca_certificate.clone().or(here.filter(|_| !wanted.ca_pins.is_empty()));
    Trust::new(ca, wanted.ca_pins.clone()).map_err(failed)
}

/// Returns why the kubelet has no good certificate; `None` if it has one.
fn lack(cx: &Context) -> Result<Option<String>, StepError> {
    let (Some(pem), Some(ca)) = (cx.files.read_secret(paths::KUBELET_CLIENT_CURRENT)?, cx.files.read(ca_path())?)
    else {
        return Ok(Some("request the kubelet's certificate from the cluster".into()));
    };
    let (Ok(certificate), Ok(key), Ok(ca)) =
        (Certificate::from_pem(pem.expose()), Key::from_pem(pem.expose()), Certificate::from_pem(&ca))
    else {
        return Ok(Some(format!("request another certificate: {} is damaged", paths::KUBELET_CLIENT_CURRENT)));
    };
    let faults = fault::of_leaf(&certificate, &key, &kubelet_client(&cx.node), &ca, cx.clock.now());
    Ok(faults.first().map(|fault| format!("request another certificate: the kubelet's {fault}")))
}

/// Renders `kubelet.conf`; requires the CA certificate.
fn kubeconfig(cx: &Context) -> Result<Option<NewFile>, StepError> {
    let Some(ca) = cx.files.read_text(ca_path())? else { return Ok(None) };
    let path = Path::new(paths::KUBERNETES).join("kubelet.conf");
    Ok(Some(NewFile::private(path, text::kubelet(&cx.renderer(), &ca)?)))
}

#[async_trait(?Send)]
impl Step for JoinCluster {
    fn id(&self) -> StepId {
        ID
    }

    fn title(&self) -> String {
        "wait for the API server, and join the cluster".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        trust(cx)?;
        let mut changes: Vec<String> = lack(cx)?.into_iter().collect();
        if !changes.is_empty() {
            // An existing token must be valid before anything starts.
            token::find(&cx.files)?;
        }
        changes.extend(cx.differing(kubeconfig(cx)?.as_slice())?);
        changes.extend(token::present(&cx.files).into_iter().map(|path| format!("remove the token in {path}")));
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        cx.claim_trees(vec![paths::KUBERNETES.into(), "/var/lib/kubelet".into()]).await?;
        let joined = lack(cx)?.is_some();
        if joined {
            ask(cx).await?;
        }
        // Written last, so that it never names a missing certificate.
        let changed = cx.place(kubeconfig(cx)?.into_iter().collect()).await?;
        if joined || !changed.is_empty() {
            // A running kubelet has the former ones in memory.
            kubelet::restart_if_started(cx).await?;
        }
        let files = cx.files.clone();
        blocking(move || {
            files.remove_file(PENDING_KEY)?;
            token::forget(&files)
        })
        .await
    }
}

/// Gets the kubelet's certificate, and writes it and the CA.
async fn ask(cx: &Context) -> Result<(), StepError> {
    let trust = trust(cx)?;
    let key = pending_key(cx).await?;
    let mut token = token::read(cx).await?;
    let machine = facts::machine(&cx.files)?;
    let endpoints = endpoints(cx);
    let joined = loop {
        let join = join::JoinRequest {
            node: &cx.node.name,
            endpoints: &endpoints,
            trust: &trust,
            token: &token,
            key: &key,
            machine: &machine,
            limit: cx.cluster.timeouts.join,
            spread: SPREAD,
        };
        let other = tokio::select! {
            joined = join.run(|what| cx.report.note(&ID.name(), what)) => break joined.map_err(failed)?,
            other = token::replaced(&cx.files, &token) => other,
        };
        cx.report.note(&ID.name(), "a newer token replaces the one that was tried");
        token = other;
    };
    let certificate = Certificate::from_pem(joined.certificate.as_bytes())
        .map_err(|e| StepError::caused("cannot read the kubelet's certificate", e))?;
    // Named after its start of validity, so that a run after an interruption writes the same file again.
    let name = PathBuf::from(client_file_name(certificate.not_before));
    let both = joined.certificate.trim_end().to_owned() + "\n" + key.pem().expose();
    cx.place(vec![
        NewFile::public(ca_path(), joined.ca.as_bytes()),
        NewFile::private(Path::new(paths::KUBELET_PKI).join(&name), both),
    ])
    .await?;
    let lent = cx.clone();
    blocking(move || Ok(lent.files.link(Path::new(paths::KUBELET_CLIENT_CURRENT), &name)?)).await?;
    cx.report.note(&ID.name(), format!("{} joined the cluster, with {} requests", cx.node.name, joined.requests));
    Ok(())
}

/// Returns where to look for the API.
fn endpoints(cx: &Context) -> Vec<Endpoint> {
    match cx.cluster.join.endpoints.as_slice() {
        [] => vec![cx.cluster.endpoint(cx.node.address)],
        several => several.to_vec(),
    }
}

/// Returns the key for the request: that of an interrupted run, or a new one. It is on disk before the request is sent.
async fn pending_key(cx: &Context) -> Result<Key, StepError> {
    if let Some(Ok(key)) = cx.files.read_secret(PENDING_KEY)?.map(|pem| Key::from_pem(pem.expose())) {
        return Ok(key);
    }
    let key = Key::generate().map_err(|e| StepError::caused("cannot generate the kubelet's key", e))?;
    cx.place(vec![NewFile::private(PENDING_KEY, key.pem().expose().as_bytes())]).await?;
    Ok(key)
}

fn failed(error: JoinError) -> StepError {
    let (exit, remedy) = (error.exit(), error.remedy());
    StepError::new(error.to_string()).exit(exit).hint(remedy)
}
