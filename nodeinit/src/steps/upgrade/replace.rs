//! Replaces the control plane of a master together with its kubelet, and returns to the former ones if a new one does not work.
//!
//! A kubelet of another minor version restarts all static pods, because it computes other UIDs for them. So everything of a master is
//! stopped, replaced and started once.

use super::{kubelet, rerun};
use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        journal::Journal,
        step::{State, Step},
        step_id::StepId,
    },
    host::{failpoint, files::NewFile, processes},
    steps::{
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
use std::collections::BTreeMap;

/// Returns the image of the pod's container.
pub(super) fn image(pod: &Value) -> &str {
    pod.pointer("/spec/containers/0/image").and_then(Value::as_str).unwrap_or("none")
}

/// What is kept of a new etcd while the former one is tried.
const NEW_ETCD: &str = "new-etcd";

/// Step `upgrade-control-plane`: this master's static pods and its kubelet have the new version and are healthy.
pub struct ReplaceControlPlane;

/// A component, or the kubelet, that does not work, and why.
pub(super) struct Failure(pub(super) &'static str, pub(super) StepError);

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
            if former::is_kept(&cx.files, component.name())? || Healthy(component).check(cx).await? != State::Done {
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
            Err(Failure(name, why)) => Err(go_back(cx, &mut turn, name, why).await),
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
    stop(cx, &Component::ALL, Some(turn)).await?;
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

/// Stops static pods of the control plane, etcd last: no request waits for an etcd that is stopped.
pub(super) async fn stop(cx: &Context, components: &[Component], turn: Option<&mut Turn>) -> Result<(), Failure> {
    let stop =
        async |component: Component| restart::stop(cx, component).await.map_err(|why| Failure(component.name(), why));
    try_join_all(components.iter().copied().filter(|component| *component != Etcd).map(stop)).await?;
    if !components.contains(&Etcd) {
        return Ok(());
    }
    if let Some(turn) = turn {
        turn.renew().await;
    }
    stop(Etcd).await
}

/// Restores what is kept, and returns the error of the step.
async fn go_back(cx: &Context, turn: &mut Turn, failed: &'static str, why: StepError) -> StepError {
    let version = cx.cluster.version;
    cx.report.note(&StepId::ReplaceControlPlane.name(), format!("{failed}: {why}; returning to the former version"));
    let what = format!("{failed} of Kubernetes {version} does not work on {}: {why}", cx.node.name);
    match restore(cx, Some(turn)).await {
        Ok(()) => StepError::new(format!("{what}; the former version runs again")).hint(rerun(cx)),
        Err(e) => StepError::new(format!("{what}; the former version does not work either: {e}"))
            .exit(Exit::Failed)
            .hint(format!("see `journalctl -u kubelet` and /var/log/pods on {}; {}", cx.node.name, rerun(cx))),
    }
}

/// Stops the components whose former manifests are kept, and starts the former ones, with the former kubelet. If the former etcd does not
/// run, as with data that it cannot read, the new one is placed again, and the next run tries it.
pub(super) async fn restore(cx: &Context, turn: Option<&mut Turn>) -> Result<(), StepError> {
    keep_all_with_kubelet(cx).await?;
    let mut kept = Vec::new();
    for component in Component::ALL {
        if former::is_kept(&cx.files, component.name())? {
            kept.push(component);
        }
    }
    if kept.contains(&Etcd) {
        former::keep(cx, NEW_ETCD, vec![manifest_path(Etcd)]).await?;
    }
    let restored = start_former(cx, kept, turn).await;
    if former::is_kept(&cx.files, Etcd.name())? {
        let command = static_pods::placed_command(cx, Etcd);
        if command.is_ok_and(|command| processes::runs(&cx.files, &command)) {
            // It may only wait for its quorum. The next run decides.
            return restored;
        }
        former::restore(cx, NEW_ETCD, false).await?;
    }
    former::forget(cx, NEW_ETCD).await?;
    restored
}

async fn start_former(cx: &Context, kept: Vec<Component>, turn: Option<&mut Turn>) -> Result<(), StepError> {
    stop(cx, &kept, turn).await.map_err(|Failure(_, why)| why)?;
    kubelet::restore(cx).await?;
    let start = async |component: Component| {
        former::restore(cx, component.name(), false).await?;
        failpoint("restored", component.name());
        Healthy(component).wait(cx, &static_pods::placed_command(cx, component)?).await?;
        former::forget(cx, component.name()).await
    };
    let (controllers, servers): (Vec<_>, Vec<_>) =
        kept.into_iter().partition(|component| matches!(component, ControllerManager | Scheduler));
    for server in servers {
        start(server).await?;
    }
    try_join_all(controllers.into_iter().map(start)).await?;
    hand_over::end(cx)
}

/// If the kubelet is replaced, keeps all manifests, also that of a new etcd: the former kubelet would start another pod of it while the
/// first one has the ports.
async fn keep_all_with_kubelet(cx: &Context) -> Result<(), StepError> {
    if !former::is_kept(&cx.files, kubelet::NAME)? {
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
    let is_upgraded = is_upgraded(cx)?;
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
    if !former::is_kept(&cx.files, Etcd.name())? {
        // A run that was killed may have left it after the former etcd had started.
        former::forget(cx, NEW_ETCD).await?;
    }
    hand_over::end(cx)?;
    Ok(back)
}

/// Whether an upgrade of this machine has not ended. A context from before the upgrade may not know of it.
fn is_upgraded(cx: &Context) -> Result<bool, StepError> {
    Ok(Journal::read_only(&cx.files)?.state().upgrade.is_some())
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
/// If etcd runs and does not become healthy, as without a quorum; or if the former version does not become healthy.
pub async fn resume(cx: &Context) -> Result<(), StepError> {
    if is_interrupted(cx)?
        && let Err(e) = works_or_return(cx).await
    {
        start_again(cx, "start").await;
        return Err(e);
    }
    for name in bring_back(cx).await? {
        cx.report.note("start", format!("started the former {name} again, which an interrupted run had stopped"));
    }
    Ok(())
}

/// Waits until the components that are placed work; restores the former ones if they do not.
async fn works_or_return(cx: &Context) -> Result<(), StepError> {
    let placed = |component| cx.files.exists(manifest_path(component));
    let etcd = placed(Etcd) && works(cx, Etcd).await?;
    if etcd {
        // It may have written what the former one cannot read.
        former::forget(cx, Etcd.name()).await?;
        former::forget(cx, NEW_ETCD).await?;
        if placed(ApiServer) && works(cx, ApiServer).await? {
            return Ok(());
        }
    }
    let note = "the interrupted upgrade left a control plane that does not work; restoring the former version";
    cx.report.note("start", note);
    // The other masters need not have an API server: this one has none now.
    let mut turn = if etcd { Some(Turn::take(cx, &[Etcd]).await?) } else { None };
    let restored = restore(cx, turn.as_mut()).await;
    if let Some(turn) = turn {
        turn.end().await;
    }
    restored.map_err(|e| {
        let (exit, hint) =
            (e.exit, "see `journalctl -u kubelet` and /var/log/pods here, then run the same command again");
        StepError::caused("the former version does not work either", e).exit(exit).hint(hint)
    })
}

/// Whether an upgrade of this master stopped while it replaced components.
fn is_interrupted(cx: &Context) -> Result<bool, StepError> {
    if !cx.node.role.is_master() || !is_upgraded(cx)? {
        return Ok(false);
    }
    for component in Component::ALL {
        if former::is_kept(&cx.files, component.name())? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a component becomes healthy with the manifest in place. `false`: it exits again and again, or does not start.
///
/// # Errors
/// If etcd runs at the deadline: it may wait for its quorum, and the former one may not be able to read its data.
async fn works(cx: &Context, component: Component) -> Result<bool, StepError> {
    let command = static_pods::placed_command(cx, component)?;
    let former = static_pods::containers(component).await.unwrap_or_default();
    let health = Healthy(component);
    tokio::select! {
        healthy = health.wait(cx, &command) => match healthy {
            Err(late) if component == Etcd && processes::runs(&cx.files, &command) => Err(late),
            healthy => Ok(healthy.is_ok()),
        },
        _ = restart::exits_again_and_again(cx, component, &former) => Ok(false),
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
                let other = Journal::open(&cx.files).unwrap();
                other.intend(vec![Record::Upgrade { version: "v1.38.0".into() }]).unwrap();
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
    async fn a_new_etcd_is_kept_only_while_the_former_one_is_tried() {
        let (_dir, cx) = context();
        let path = manifest_path(Etcd);
        Journal::open(&cx.files).unwrap().intend(vec![Record::Upgrade { version: "v1.38.0".into() }]).unwrap();
        cx.place(vec![NewFile::private(&path, "kind: Pod\n")]).await.unwrap();
        for name in [Etcd.name(), NEW_ETCD] {
            former::keep(&cx, name, vec![path.clone()]).await.unwrap();
        }
        for is_tried in [true, false] {
            bring_back(&cx).await.unwrap();
            assert_eq!(!former::list(&cx.files, NEW_ETCD).unwrap().is_empty(), is_tried);
            former::forget(&cx, Etcd.name()).await.unwrap();
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
