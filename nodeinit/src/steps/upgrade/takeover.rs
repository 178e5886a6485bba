//! A machine that another tool upgraded, such as kubeadm.

use super::{
    record::{recorded, store},
    replace::image,
};
use crate::{
    context::Context,
    engine::error::StepError,
    steps::{artifacts, static_pods::placed},
};
use nodeinit_config::{Component, cluster::KubernetesImage, versions::KubernetesVersion};
use std::time::Duration;

/// The kubelet prints its version within this time.
const LIMIT: Duration = Duration::from_secs(10);

/// Whether this machine runs the configured version, but nodeinit has recorded an older one. Reports it.
///
/// # Errors
/// If a manifest cannot be read.
pub async fn is_due(cx: &Context) -> Result<bool, StepError> {
    let (wanted, upgrade) = (cx.cluster.version, cx.journal.state().upgrade);
    // A bastion records no version.
    let former = recorded(cx).and_then(|version| version.parse::<KubernetesVersion>().ok());
    match former.filter(|former| upgrade.is_none() && *former < wanted) {
        Some(former) if runs(cx).await? => {
            let note = format!(
                "another tool has upgraded this machine from {former} to {wanted}: `nodeinit up` takes it over"
            );
            cx.report.note("start", note);
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Records the configured version if another tool has upgraded this machine to it.
///
/// # Errors
/// If a manifest cannot be read, or the journal cannot be written.
pub async fn take_over(cx: &Context) -> Result<(), StepError> {
    if is_due(cx).await? { store(cx).await } else { Ok(()) }
}

/// Whether the kubelet and, on a master, the control plane have the configured version.
async fn runs(cx: &Context) -> Result<bool, StepError> {
    let components = [
        (Component::ApiServer, KubernetesImage::ApiServer),
        (Component::ControllerManager, KubernetesImage::ControllerManager),
        (Component::Scheduler, KubernetesImage::Scheduler),
    ];
    for (component, wanted) in components.iter().filter(|_| cx.node.role.is_master()) {
        if image(&placed(&cx.files, *component)?) != cx.cluster.image(*wanted) {
            return Ok(false);
        }
    }
    let kubelet = cx.files.real(&artifacts::kubelet_path(&cx.cluster)).display().to_string();
    let version = cx.commands.run(&[&kubelet, "--version"], LIMIT).await.unwrap_or_default();
    Ok(version.trim() == format!("Kubernetes {}", cx.cluster.version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        context::testing::context,
        engine::journal::Record,
        host::files::NewFile,
        steps::{static_pods::manifest_path, upgrade::record::KEY},
    };

    #[tokio::test]
    async fn a_machine_is_taken_over_when_everything_on_it_has_the_version() {
        let (_dir, cx) = context();
        let version = cx.cluster.version.to_string();
        let fixed = |version: &str| Record::Fixed { values: [(KEY.to_owned(), version.to_owned())].into() };
        cx.journal.intend(vec![fixed("v1.33.1")]).unwrap();
        let place = async |component: Component, image: String| {
            let text = format!("spec: {{containers: [{{image: \"{image}\"}}]}}\n");
            cx.place(vec![NewFile::private(manifest_path(component), text)]).await.unwrap();
        };
        place(Component::ApiServer, cx.cluster.image(KubernetesImage::ApiServer)).await;
        place(Component::ControllerManager, cx.cluster.image(KubernetesImage::ControllerManager)).await;
        place(Component::Scheduler, "registry.k8s.io/kube-scheduler:v1.33.1".to_owned()).await;
        let kubelet = format!("#!/bin/sh\necho Kubernetes {version}\n");
        cx.place(vec![NewFile { mode: 0o755, ..NewFile::public(artifacts::kubelet_path(&cx.cluster), kubelet) }])
            .await
            .unwrap();
        take_over(&cx).await.unwrap();
        assert_eq!(recorded(&cx).unwrap(), "v1.33.1", "the scheduler is older");
        place(Component::Scheduler, cx.cluster.image(KubernetesImage::Scheduler)).await;
        take_over(&cx).await.unwrap();
        assert_eq!(recorded(&cx).unwrap(), version);
    }
}
