//! Restarts a static pod with a changed manifest; etcd and the API server one master after the other.

use super::{Healthy, containers, end, explain, hand_over, has_pod, keeps, leaders, manifest_path};
use crate::{
    api::cri::{Container, ContainerState, CriError},
    context::Context,
    engine::{error::StepError, step::Step},
    host::{failpoint, files::NewFile, net::listeners, processes},
    render::static_pod,
    steps::{
        etcd::{Turn, end_api_server},
        former, kubelet,
    },
};
use nodeinit_base::Wait;
use nodeinit_config::{Component, cluster::API_PORT, yaml};
use std::{
    collections::BTreeSet,
    ops::ControlFlow,
    time::{Duration, Instant},
};

/// Pause between two polls of the containers.
const PAUSE: Duration = Duration::from_millis(250);

/// The kubelet starts the new etcd within this time, unless it waits for an API server that has no etcd.
const GRACE: Duration = Duration::from_secs(1);

/// A component that has exited this often does not start with its new manifest.
const EXITS: usize = 4;

/// The kubelet stops a static pod within this time.
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// A container that still runs after this time is not being stopped: a kubelet that has not reached the API server since its start does not
/// stop pods.
const UNSTOPPED: Duration = Duration::from_secs(15);

/// The grace period of static pods: an API server with `shutdown-delay-duration` may need all of it.
const GRACE_PERIOD: Duration = Duration::from_secs(30);

/// The kubelet removes a pod that has ended within this time; one that was restarted while the API server is down, does not.
const CLEANUP_LIMIT: Duration = Duration::from_secs(10);

/// An API server that no longer listens has this time for its last requests. Then only watches are left, which it would not end by itself:
/// the kubelet kills it after 30 s.
const LAST_REQUESTS: Duration = Duration::from_secs(2);

/// Writes the manifest of etcd or the API server. If the component runs here with another manifest and there are other masters, it first
/// waits for its turn, and afterwards until the component is healthy.
///
/// # Errors
/// If the turn does not come, or if the component does not become healthy. The other masters then wait and keep their manifests.
pub(in crate::steps) async fn place(cx: &Context, component: Component, manifest: NewFile) -> Result<(), StepError> {
    if keeps(cx, &manifest.path) {
        return Ok(());
    }
    if cx.cluster.masters.len() < 2 || !runs_otherwise(cx, &manifest)? {
        let down = component == Component::ApiServer && cx.files.exists(&manifest.path);
        let changed = !cx.place(vec![manifest]).await?.is_empty();
        // An earlier manifest did not start: the kubelet would try the new one only after its back-off.
        return if down && changed { kubelet::restart_if_started(cx).await } else { Ok(()) };
    }
    let components = if component == Component::Etcd { &[Component::Etcd] } else { &[Component::ApiServer] };
    let mut turn = Turn::take(cx, components).await?;
    let name = component.name();
    cx.report.note(name, format!("{name} restarts with its changed manifest, one master after the other"));
    let restarted = match component {
        Component::Etcd => Box::pin(restart_etcd(cx, manifest, &mut turn)).await,
        _ => Box::pin(stop_and_start(cx, component, manifest)).await,
    };
    turn.end().await;
    restarted
}

/// Whether the component runs with another manifest. The kubelet does not restart a pod whose manifest differs in form only.
fn runs_otherwise(cx: &Context, manifest: &NewFile) -> Result<bool, StepError> {
    let former = cx.files.read_text(&manifest.path)?.unwrap_or_default();
    let former = yaml::document(&former).unwrap_or_default();
    let same = yaml::document(&String::from_utf8_lossy(&manifest.content)).is_ok_and(|wanted| wanted == former);
    Ok(!same && processes::runs(&cx.files, &static_pod::command(&former)))
}

/// Lets the kubelet replace etcd, because the API server of this machine survives a short restart of its etcd.
async fn restart_etcd(cx: &Context, manifest: NewFile, turn: &mut Turn) -> Result<(), StepError> {
    let former = newest(Component::Etcd).await;
    let former = former.map_err(|e| StepError::caused("cannot list etcd's containers", e))?;
    cx.place(vec![manifest]).await?;
    failpoint("turn", Component::Etcd.name());
    replaced(cx, former, turn).await?;
    Healthy(Component::Etcd).apply(cx).await?;
    turn.succeeded(cx).await
}

/// Stops the former pod completely, then starts the new one, which is faster than to let the kubelet replace it: the kubelet looks at a pod
/// that is still stopping only every 10 s.
async fn stop_and_start(cx: &Context, component: Component, manifest: NewFile) -> Result<(), StepError> {
    // A run that stops in between starts the former one again.
    former::keep(cx, component.name(), vec![manifest.path.clone()]).await?;
    stop(cx, component).await?;
    let started = start(cx, component, manifest).await;
    let forgotten = former::forget(cx, component.name()).await;
    started.and(forgotten)
}

/// Writes the manifest of a component that does not run, and waits until it is healthy. After the API server, kube-vip starts.
///
/// # Errors
/// If it is not healthy at the deadline, or exits again and again.
pub(in crate::steps) async fn start(cx: &Context, component: Component, manifest: NewFile) -> Result<(), StepError> {
    let command = static_pod::command(&yaml::document(&String::from_utf8_lossy(&manifest.content)).unwrap_or_default());
    let former = containers(component).await.unwrap_or_default();
    cx.place(vec![manifest]).await?;
    failpoint("started", component.name());
    let health = Healthy(component);
    tokio::select! {
        healthy = health.wait(cx, &command) => healthy,
        failed = exits_again_and_again(cx, component, &former) => Err(failed),
    }?;
    if component == Component::ApiServer { hand_over::end(cx) } else { Ok(()) }
}

async fn newest(component: Component) -> Result<Option<Container>, CriError> {
    Ok(containers(component).await?.into_iter().next())
}

/// Waits until the kubelet has replaced etcd's container. If that does not happen at once, the kubelet waits for answers of the API
/// server, which need etcd.
async fn replaced(cx: &Context, former: Option<Container>, turn: &mut Turn) -> Result<(), StepError> {
    let former = former.map(|container| container.id);
    let (mut since, mut ended) = (None, false);
    let look = async || match newest(Component::Etcd).await {
        Err(e) => ControlFlow::Continue(e.to_string()),
        Ok(Some(newest)) if Some(&newest.id) != former.as_ref() => ControlFlow::Break(()),
        Ok(Some(newest)) if newest.state == ContainerState::Running => {
            turn.renew().await;
            ControlFlow::Continue("the former container still runs".into())
        }
        Ok(_) => {
            let since: Instant = *since.get_or_insert_with(Instant::now);
            if !ended && since.elapsed() > GRACE {
                ended = true;
                end_api_server(cx).await;
            }
            ControlFlow::Continue("the kubelet has stopped the former container and not started another".into())
        }
    };
    let wait = Wait::new("etcd's restart with its changed manifest", cx.cluster.timeouts.etcd);
    Ok(wait.at_most_every(PAUSE).until(look).await?)
}

/// Stops the component: removes its manifest, and waits until the kubelet has removed its pod. Before the API server, kube-vip; after it,
/// the controllers of other masters lead.
///
/// # Errors
/// If the manifest cannot be removed, or containerd does not answer.
pub(in crate::steps) async fn stop(cx: &Context, component: Component) -> Result<(), StepError> {
    let name = component.name();
    let listed = containers(component).await;
    let former = listed.map_err(|e| StepError::caused(format!("cannot list the containers of {name}"), e))?;
    if component == Component::ApiServer {
        hand_over::release(cx).await?;
    }
    cx.files.remove_file(manifest_path(component))?;
    failpoint("stop", name);
    let delays =
        component == Component::ApiServer && cx.cluster.api_server.extra_args.contains_key("shutdown-delay-duration");
    let unstopped = if delays { GRACE_PERIOD } else { UNSTOPPED };
    let (began, mut closed, mut ended) = (Instant::now(), None::<Instant>, None::<Instant>);
    let look = async || match containers(component).await {
        Err(e) => ControlFlow::Continue(e.to_string()),
        Ok(all) if all.iter().any(|container| container.state == ContainerState::Running) => {
            let closes = component == Component::ApiServer
                && listeners(&cx.files, &[API_PORT]).is_ok_and(|found| found.is_empty());
            let has_closed = closes && closed.get_or_insert_with(Instant::now).elapsed() > LAST_REQUESTS;
            if has_closed || began.elapsed() > unstopped {
                end(all).await;
            }
            ControlFlow::Continue("its container still runs".to_owned())
        }
        Ok(_) => match former.iter().any(|container| has_pod(cx, container)) {
            true if ended.get_or_insert_with(Instant::now).elapsed() > CLEANUP_LIMIT => ControlFlow::Break(()),
            true => ControlFlow::Continue("the kubelet has not removed its directory yet".to_owned()),
            false => ControlFlow::Break(()),
        },
    };
    let wait = Wait::new(format!("the former {name} to stop"), STOP_LIMIT).at_most_every(PAUSE);
    if let Err(late) = wait.until(look).await {
        // The kubelet stops it before it starts the next one.
        cx.report.note(name, format!("{late}; continuing"));
    }
    if component == Component::ApiServer {
        leaders::release(cx).await;
    }
    Ok(())
}

/// Returns an error when the component has exited so often that more attempts are useless; `former` are the containers of earlier starts.
pub(in crate::steps) async fn exits_again_and_again(
    cx: &Context,
    component: Component,
    former: &[Container],
) -> StepError {
    let mut exited = BTreeSet::new();
    while exited.len() < EXITS {
        tokio::time::sleep(PAUSE).await;
        let found = containers(component).await.unwrap_or_default().into_iter();
        let new = found.filter(|container| former.iter().all(|former| former.id != container.id));
        exited.extend(new.filter(|container| container.state == ContainerState::Exited).map(|container| container.id));
    }
    explain(cx, component).await;
    let what = format!("{} has exited {EXITS} times", component.name());
    StepError::new(what).hint("its last log lines are above: fix the cause, then run the same command again")
}
