//! etcd's static pod on this machine: its manifest, and the API server that depends on it.

use super::marker;
use crate::{
    api::cri::{self, ContainerState, Cri},
    context::Context,
    engine::{error::StepError, step_id::StepId},
    host::files::NewFile,
    render::{
        self,
        static_pod::{self, Membership},
    },
    steps::static_pods::containers,
};
use nodeinit_config::{Component, yaml};
use std::path::{Path, PathBuf};

/// Returns the path of etcd's manifest.
pub(super) fn manifest_path() -> PathBuf {
    Path::new(render::paths::STATIC_PODS).join("etcd.yaml")
}

/// Returns how etcd on this machine started, from the journal, else from its manifest. The members with which it joined are
/// written once: etcd reads them at its first start only, and the next member to join must not make it restart.
pub(in crate::steps) fn membership(cx: &Context) -> Result<Membership, StepError> {
    let records = cx.journal.etcd();
    let text = cx.files.read_text(manifest_path())?.unwrap_or_default();
    // An unreadable manifest is rewritten.
    let pod = yaml::document(&text).unwrap_or_default();
    let flags = static_pod::command(&pod);
    let value = |prefix: &str| flags.iter().find_map(|flag| flag.strip_prefix(prefix)).map(str::to_owned);
    let joined = !records.history.is_bootstrap() && flags.iter().any(|flag| flag == "--initial-cluster-state=existing");
    Ok(Membership {
        token: records.token.or_else(|| value("--initial-cluster-token=")),
        joined: value("--initial-cluster=").filter(|_| joined),
        marked: marker::is_mounted(cx, &pod)?,
    })
}

/// Returns etcd's `--initial-cluster-token`, if this machine knows one.
pub(in crate::steps) fn token(cx: &Context) -> Result<Option<String>, StepError> {
    membership(cx).map(|membership| membership.token)
}

/// Renders the manifest for this membership.
pub(super) fn manifest(cx: &Context, membership: &Membership) -> Result<NewFile, StepError> {
    let pod = static_pod::etcd(&cx.renderer(), membership)?;
    Ok(NewFile::private(manifest_path(), pod.text))
}

/// Stops an API server of this machine that has lost its etcd: the kubelet asks it before it starts a static pod, and it does not
/// answer. The kubelet starts another one.
pub(in crate::steps) async fn end_api_server(cx: &Context) {
    let end = async {
        let cri = Cri::connect(cri::SOCKET).await?;
        let mut containers = containers(Component::ApiServer).await?;
        containers.retain(|container| container.state == ContainerState::Running);
        for container in containers {
            cx.report.note(&StepId::EtcdMember.name(), "stopping an API server that has lost its etcd");
            cri.kill_container(&container.id).await?;
        }
        Ok::<_, cri::CriError>(())
    };
    if let Err(e) = end.await {
        cx.report.note(&StepId::EtcdMember.name(), e.to_string());
    }
}
