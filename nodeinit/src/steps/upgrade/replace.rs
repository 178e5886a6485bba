//! Replaces the control plane of a master together with its kubelet, and returns to the former ones if a new one does not work.
//!
//! A kubelet of another minor version restarts all static pods, because it computes other UIDs for them. So everything of a master is
//! stopped, replaced and started once.

use super::{kubelet, rerun};
use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
        step_id::StepId,
    },
    host::{failpoint, files::NewFile},
    steps::{
        cluster,
        etcd::Turn,
        former,
        static_pods::{self, Healthy, hand_over, manifest_path, restart},
    },
};
use async_trait::async_trait;
use futures_util::future::try_join_all;
use nodeinit_config::{
    Component::{self, ApiServer, ControllerManager, Etcd, Scheduler},
    yaml,
};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};
use tokio::time::timeout;

/// Returns the image of the pod's container.
pub(super) fn image(pod: &Value) -> &str {
    pod.pointer("/spec/containers/0/image").and_then(Value::as_str).unwrap_or("none")
}

/// A control plane that works answers within this time after its machine has started.
const SETTLING: Duration = Duration::from_secs(60);

/// Step `upgrade-control-plane`: this master's static pods and its kubelet have the new version and are healthy.
pub struct ReplaceControlPlane;

/// A component, or the kubelet, that does not work, and why.
struct Failure(&'static str, StepError);

#[async_trait(?Send)]
impl Step for ReplaceControlPlane {
    fn id(&self) -> StepId {
        StepId::ReplaceControlPlane
    }

    fn title(&self) -> String {
        "replace the control plane and the kubelet".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let mut changes = Vec::new();
        for component in Component::ALL {
            changes.extend(change(cx, component)?);
        }
        changes.extend(kubelet::changes(cx).await?);
        if !changes.is_empty() {
            return Ok(State::Needed(changes));
        }
        for component in Component::ALL {
            if !former::list(&cx.files, component.name())?.is_empty()
                || Healthy(component).check(cx).await? != State::Done
            {
                changes.push(format!("wait for a healthy {}", component.name()));
            }
        }
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        // A run that was killed may have left a former etcd whose data the new one has changed since.
        if change(cx, Etcd)?.is_none() && Healthy(Etcd).check(cx).await? == State::Done {
            former::forget(cx, Etcd.name()).await?;
        }
        for component in Component::ALL {
            former::keep(cx, component.name(), vec![manifest_path(component)]).await?;
        }
        kubelet::keep(cx).await?;
        // etcd's manifest has what it needs to know of its first start, so that it is rendered while the former one exists.
        let mut manifests = BTreeMap::new();
        for component in Component::ALL {
            manifests.insert(component, static_pods::manifest(cx, component)?);
        }
        let mut turn = Turn::take(cx, &[Etcd, ApiServer]).await?;
        let replaced = match replace(cx, manifests, &mut turn).await {
            Ok(()) => turn.succeeded(cx).await.map_err(|e| e.hint(rerun(cx))),
            Err(Failure(name, why)) => Err(go_back(cx, name, why).await),
        };
        turn.end().await;
        replaced?;
        for component in Component::ALL {
            former::forget(cx, component.name()).await?;
        }
        former::forget(cx, kubelet::NAME).await
    }
}

/// Describes how the manifest of a component differs.
fn change(cx: &Context, component: Component) -> Result<Option<String>, StepError> {
    let wanted = static_pods::manifest(cx, component)?;
    if cx.differing(std::slice::from_ref(&wanted))?.is_empty() {
        return Ok(None);
    }
    let new = yaml::document(&String::from_utf8_lossy(&wanted.content)).unwrap_or_default();
    let (name, former) = (component.name(), static_pods::placed(&cx.files, component)?);
    Ok(Some(match (image(&former), image(&new)) {
        (former, new) if former == new => format!("restart {name} with its changed manifest"),
        (former, new) => format!("replace {name}: {former} by {new}"),
    }))
}

async fn replace(cx: &Context, mut manifests: BTreeMap<Component, NewFile>, turn: &mut Turn) -> Result<(), Failure> {
    let mut start = |component: Component| {
        let manifest = manifests.remove(&component);
        async move {
            let Some(manifest) = manifest else { return Ok(()) };
            restart::start(cx, component, manifest).await.map_err(|why| Failure(component.name(), why))
        }
    };
    let step = StepId::ReplaceControlPlane.name();
    let failed = |name| move |why| Failure(name, why);
    cx.report.detail(&step, "stopping the former ones");
    stop_all(cx, turn).await?;
    turn.renew().await;
    cx.report.detail(&step, "starting the kubelet");
    kubelet::renew(cx).await.map_err(failed(kubelet::NAME))?;
    cx.report.detail(&step, "starting etcd");
    start(Etcd).await?;
    // It stays, whatever fails later: it may have written what the former one cannot read.
    former::forget(cx, Etcd.name()).await.map_err(failed(Etcd.name()))?;
    cx.report.detail(&step, "starting kube-apiserver");
    start(ApiServer).await?;
    cx.report.detail(&step, "starting the others");
    try_join_all([ControllerManager, Scheduler].map(&mut start)).await?;
    cx.report.detail(&step, "waiting for the node");
    kubelet::is_ready(cx).await.map_err(failed(kubelet::NAME))
}

/// Stops all static pods of the control plane, the API server first: no request waits for an etcd that is stopped.
async fn stop_all(cx: &Context, turn: &mut Turn) -> Result<(), Failure> {
    let stop =
        async |component: Component| restart::stop(cx, component).await.map_err(|why| Failure(component.name(), why));
    stop(ApiServer).await?;
    turn.renew().await;
    try_join_all([ControllerManager, Scheduler, Etcd].map(stop)).await.map(drop)
}

/// Restores what is kept, and returns the error of the step.
async fn go_back(cx: &Context, failed: &'static str, why: StepError) -> StepError {
    let version = cx.cluster.version;
    cx.report.note(&StepId::ReplaceControlPlane.name(), format!("{failed}: {why}; returning to the former version"));
    let what = format!("{failed} of Kubernetes {version} does not work on {}: {why}", cx.node.name);
    match restore(cx).await {
        Ok(()) => StepError::new(format!("{what}; the former version runs again")).hint(rerun(cx)),
        Err(e) => StepError::new(format!("{what}; the former version does not work either: {e}"))
            .exit(Exit::Failed)
            .hint(format!("see `journalctl -u kubelet` and /var/log/pods on {}; {}", cx.node.name, rerun(cx))),
    }
}

/// Stops the components whose former manifests are kept, and starts the former ones, with the former kubelet.
pub(super) async fn restore(cx: &Context) -> Result<(), StepError> {
    keep_all_with_kubelet(cx).await?;
    let mut kept = Vec::new();
    // etcd is the last to stop and the first to start: the API server needs it.
    for component in Component::ALL.into_iter().rev() {
        if !former::list(&cx.files, component.name())?.is_empty() {
            restart::stop(cx, component).await?;
            kept.insert(0, component);
        }
    }
    kubelet::restore(cx).await?;
    for component in kept {
        former::restore(cx, component.name(), false).await?;
        failpoint("restored", component.name());
        Healthy(component).wait(cx, &static_pods::placed_command(cx, component)?).await?;
        former::forget(cx, component.name()).await?;
    }
    hand_over::end(cx)
}

/// If the kubelet is replaced, keeps all manifests, also that of a new etcd: the former kubelet would start another pod of it while the
/// first one has the ports.
async fn keep_all_with_kubelet(cx: &Context) -> Result<(), StepError> {
    if former::list(&cx.files, kubelet::NAME)?.is_empty() {
        return Ok(());
    }
    for component in Component::ALL {
        former::keep(cx, component.name(), vec![manifest_path(component)]).await?;
    }
    Ok(())
}

/// Restores manifests that an interrupted run removed and did not write again. Returns the names of these components.
///
/// # Errors
/// If a file cannot be restored.
pub async fn bring_back(cx: &Context) -> Result<Vec<&'static str>, StepError> {
    let is_upgraded = cx.journal.state().upgrade.is_some();
    let mut back = Vec::new();
    for component in Component::ALL {
        let name = component.name();
        if former::restore(cx, name, true).await? {
            back.push(name);
        }
        if !is_upgraded {
            // Only an upgrade returns from a manifest that is in place.
            former::forget(cx, name).await?;
        }
    }
    hand_over::end(cx)?;
    Ok(back)
}

/// Starts again what a run stopped that was interrupted, and reports it.
pub async fn start_again(cx: &Context, command: &str) {
    match bring_back(cx).await {
        Ok(back) => {
            back.iter().for_each(|name| cx.report.note(command, format!("started the former {name} again")));
        }
        Err(e) => cx.report.note(command, format!("cannot start again what this run has stopped: {e}")),
    }
}

/// Makes the control plane of a master work whose upgrade was interrupted, because the checks need it: as it is, or as it was before.
///
/// # Errors
/// If the former version does not become healthy.
pub async fn resume(cx: &Context) -> Result<(), StepError> {
    let placed = |component| cx.files.exists(manifest_path(component));
    if is_interrupted(cx)? && !(placed(Etcd) && placed(ApiServer) && works(cx).await) {
        let note = "the interrupted upgrade left a control plane that does not work; restoring the former version";
        cx.report.note("start", note);
        if placed(Etcd) && Healthy(Etcd).as_placed(cx).await? {
            // It may have written what the former one cannot read.
            former::forget(cx, Etcd.name()).await?;
        }
        restore(cx).await.map_err(|e| {
            let hint = format!("see `journalctl -u kubelet` and /var/log/pods on {}; {}", cx.node.name, rerun(cx));
            StepError::caused("the former version does not work either", e).hint(hint)
        })?;
    }
    for name in bring_back(cx).await? {
        cx.report.note("start", format!("started the former {name} again, which an interrupted run had stopped"));
    }
    Ok(())
}

/// Whether an upgrade of this master stopped while it replaced components.
fn is_interrupted(cx: &Context) -> Result<bool, StepError> {
    if !cx.node.role.is_master() || cx.journal.state().upgrade.is_none() {
        return Ok(false);
    }
    for component in Component::ALL {
        if !former::list(&cx.files, component.name())?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether etcd and the API server with the manifests in place become healthy.
async fn works(cx: &Context) -> bool {
    let healthy = async {
        for component in [Etcd, ApiServer] {
            Healthy(component).wait(cx, &static_pods::placed_command(cx, component)?).await?;
        }
        Ok::<_, StepError>(())
    };
    if cluster::ready(cx).await.is_break() {
        return true;
    }
    tokio::select! {
        healthy = timeout(SETTLING, healthy) => matches!(healthy, Ok(Ok(()))),
        _ = restart::exits_again_and_again(cx, Etcd, &[]) => false,
        _ = restart::exits_again_and_again(cx, ApiServer, &[]) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{context::testing::context, engine::journal::Record};
    use nodeinit_config::cluster::KubernetesImage;

    #[tokio::test]
    async fn a_manifest_that_was_removed_comes_back() {
        let (_dir, cx) = context();
        let path = manifest_path(ApiServer);
        cx.place(vec![NewFile::private(&path, "kind: Pod\n")]).await.unwrap();
        let keep = async || former::keep(&cx, "kube-apiserver", vec![path.clone()]).await.unwrap();
        let is_kept = || !former::list(&cx.files, "kube-apiserver").unwrap().is_empty();
        for is_upgraded in [false, true] {
            if is_upgraded {
                cx.journal.intend(vec![Record::Upgrade { version: "v1.38.0".into() }]).unwrap();
            }
            keep().await;
            assert!(bring_back(&cx).await.unwrap().is_empty());
            assert_eq!(is_kept(), is_upgraded, "only an upgrade returns from a manifest that is in place");
            keep().await;
            cx.files.remove_file(&path).unwrap();
            assert_eq!(bring_back(&cx).await.unwrap(), ["kube-apiserver"]);
            assert_eq!(cx.files.read_text(&path).unwrap().unwrap(), "kind: Pod\n");
            assert_eq!(is_interrupted(&cx).unwrap(), is_upgraded);
        }
    }

    #[tokio::test]
    async fn a_new_etcd_stops_too_before_the_former_kubelet_starts() {
        let (_dir, cx) = context();
        let path = manifest_path(Etcd);
        cx.place(vec![NewFile::private(&path, "kind: Pod\n")]).await.unwrap();
        keep_all_with_kubelet(&cx).await.unwrap();
        assert!(former::list(&cx.files, Etcd.name()).unwrap().is_empty(), "the kubelet does not change");
        let kubelet = std::path::PathBuf::from("/usr/bin/kubelet");
        cx.place(vec![NewFile::private(&kubelet, "former")]).await.unwrap();
        former::keep(&cx, kubelet::NAME, vec![kubelet]).await.unwrap();
        keep_all_with_kubelet(&cx).await.unwrap();
        assert_eq!(former::list(&cx.files, Etcd.name()).unwrap(), [path]);
    }

    #[tokio::test]
    async fn a_change_names_both_images() {
        let (_dir, cx) = context();
        let former = "spec: {containers: [{image: \"registry.k8s.io/kube-scheduler:v1.33.1\"}]}\n";
        cx.place(vec![NewFile::private(manifest_path(Scheduler), former)]).await.unwrap();
        let new = cx.cluster.image(KubernetesImage::Scheduler);
        let change = change(&cx, Scheduler).unwrap().unwrap();
        assert_eq!(change, format!("replace kube-scheduler: registry.k8s.io/kube-scheduler:v1.33.1 by {new}"));
    }
}
