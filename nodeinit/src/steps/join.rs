//! The worker's way into the cluster: its kubelet's certificate, by its bootstrap token.

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

/// The kubelet's key until there is a certificate for it: the kubelet's own name for it (`bootstrap.go`).
const PENDING_KEY: &str = "/var/lib/kubelet/pki/kubelet-client.key.tmp";

/// Workers that boot at once begin within this time.
const SPREAD: Duration = Duration::from_millis(200);

const ID: StepId = StepId::Join;

/// Step `join`: the CA, the kubelet's certificate and its kubeconfig; the token is forgotten.
pub struct Join;

fn ca_path() -> PathBuf {
    certificate_path(crate::pki::catalog::Ca::Kubernetes.base())
}

/// Whom the configuration tells to trust; without a CA in it, the CA that an earlier run was given, if its pin fits.
fn trust(cx: &Context) -> Result<Trust, StepError> {
    let wanted = &cx.cluster.join;
    let here = cx.files.read_text(ca_path())?;
    if let (Some(here), Some(given)) = (&here, &wanted.ca_certificate) {
        let pin = |pem: &str| Certificate::from_pem(pem.as_bytes()).map(|ca| ca.pin).ok();
        if pin(here) != pin(given) {
            let what = format!("{} is another CA than join.caCertificate", ca_path().display());
            let hint = "if this machine is to join another cluster: `nodeinit reset`, then `nodeinit up`";
            return Err(StepError::new(what).hint(hint));
        }
    }
    let ca = wanted.ca_certificate.clone().or(here.filter(|_| !wanted.ca_pins.is_empty()));
    Trust::new(ca, wanted.ca_pins.clone()).map_err(failed)
}

/// What keeps the kubelet from showing a good certificate; `None`: nothing.
fn lack(cx: &Context) -> Result<Option<String>, StepError> {
    let (Some(pem), Some(ca)) = (cx.files.read_secret(paths::KUBELET_CLIENT_CURRENT)?, cx.files.read(ca_path())?)
    else {
        return Ok(Some("ask the cluster for the kubelet's certificate".into()));
    };
    let (Ok(certificate), Ok(key), Ok(ca)) =
        (Certificate::from_pem(pem.expose()), Key::from_pem(pem.expose()), Certificate::from_pem(&ca))
    else {
        return Ok(Some(format!("ask for another certificate: {} is damaged", paths::KUBELET_CLIENT_CURRENT)));
    };
    let faults = fault::of_leaf(&certificate, &key, &kubelet_client(&cx.node), &ca, cx.clock.now());
    Ok(faults.first().map(|fault| format!("ask for another certificate: the kubelet's {fault}")))
}

/// `kubelet.conf`, once the CA is there.
fn kubeconfig(cx: &Context) -> Result<Option<NewFile>, StepError> {
    let Some(ca) = cx.files.read_text(ca_path())? else { return Ok(None) };
    let path = Path::new(paths::KUBERNETES).join("kubelet.conf");
    Ok(Some(NewFile::private(path, text::kubelet(&cx.renderer(), &ca)?)))
}

#[async_trait(?Send)]
impl Step for Join {
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
            // One that is there must be good before anything begins.
            token::find(&cx.files)?;
        }
        changes.extend(cx.differing(kubeconfig(cx)?.as_slice())?);
        changes.extend(token::present(&cx.files).into_iter().map(|path| format!("forget the token in {path}")));
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        cx.claim_trees(vec![paths::KUBERNETES.into(), "/var/lib/kubelet".into()]).await?;
        let joined = lack(cx)?.is_some();
        if joined {
            ask(cx).await?;
        }
        // Last: it never names a certificate that is not there.
        let changed = cx.place(kubeconfig(cx)?.into_iter().collect()).await?;
        if joined || !changed.is_empty() {
            // One that runs has the former ones in memory.
            kubelet::restart_if_begun(cx).await?;
        }
        let files = cx.files.clone();
        blocking(move || {
            files.remove_file(PENDING_KEY)?;
            token::forget(&files)
        })
        .await
    }
}

/// Gets the kubelet's certificate, and puts it and the CA in place.
async fn ask(cx: &Context) -> Result<(), StepError> {
    let trust = trust(cx)?;
    let key = pending_key(cx).await?;
    let mut token = token::read(cx).await?;
    let machine = facts::machine(&cx.files)?;
    let endpoints = endpoints(cx);
    let joined = loop {
        let join = join::Join {
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
        cx.report.note(&ID.name(), "another token is there, which replaces the one that was tried");
        token = other;
    };
    let certificate = Certificate::from_pem(joined.certificate.as_bytes())
        .map_err(|e| StepError::caused("the kubelet's certificate cannot be read", e))?;
    // Named after its own beginning: a run that was cut short here writes the same file again.
    let name = PathBuf::from(client_file_name(certificate.not_before));
    let both = joined.certificate.trim_end().to_owned() + "\n" + key.pem().expose();
    cx.place(vec![
        NewFile::public(ca_path(), joined.ca.as_bytes()),
        NewFile::private(Path::new(paths::KUBELET_PKI).join(&name), both),
    ])
    .await?;
    let lent = cx.clone();
    blocking(move || Ok(lent.files.link(Path::new(paths::KUBELET_CLIENT_CURRENT), &name)?)).await?;
    cx.report.note(&ID.name(), format!("the cluster let {} in, with {} requests", cx.node.name, joined.requests));
    Ok(())
}

/// Where to look for the API.
fn endpoints(cx: &Context) -> Vec<Endpoint> {
    match cx.cluster.join.endpoints.as_slice() {
        [] => vec![cx.cluster.endpoint(cx.node.address)],
        several => several.to_vec(),
    }
}

/// The key to ask with: that of a run that was cut short, or a fresh one. It is on disk before anybody hears of it.
async fn pending_key(cx: &Context) -> Result<Key, StepError> {
    if let Some(Ok(key)) = cx.files.read_secret(PENDING_KEY)?.map(|pem| Key::from_pem(pem.expose())) {
        return Ok(key);
    }
    let key = Key::generate().map_err(|e| StepError::caused("cannot make the kubelet's key", e))?;
    cx.place(vec![NewFile::private(PENDING_KEY, key.pem().expose().as_bytes())]).await?;
    Ok(key)
}

fn failed(error: JoinError) -> StepError {
    let (exit, remedy) = (error.exit(), error.remedy());
    StepError::new(error.to_string()).exit(exit).hint(remedy)
}
