//! The static pods of the control plane: their files, manifests and health.

pub(super) mod back_off;
pub(super) mod hand_over;
mod kubelet_ca;
mod leaders;
pub(super) mod restart;

use crate::{
    api::{
        connection,
        cri::{self, ContainerState, Cri, CriError},
    },
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    host::{
        files::{Files, NewFile},
        net, processes,
    },
    render::{
        self,
        static_pod::{self, StaticPod},
    },
    steps::{cluster, encryption_config, etcd},
};
use async_trait::async_trait;
use back_off::BackOffWatch;
use nodeinit_base::Wait;
use nodeinit_config::{Component, yaml};
use serde_json::Value;
use std::{
    cmp::Reverse,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

/// etcd's health address. Source: kubeadm's `etcd.yaml`, `--listen-metrics-urls`.
const ETCD_HEALTH: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 2381);

/// Where the controller manager and the scheduler serve their health after they have started. Source: kubeadm's `constants.go`.
const CONTROLLER_MANAGER_PORT: u16 = 10257;
const SCHEDULER_PORT: u16 = 10259;

fn pod(cx: &Context, component: Component) -> Result<StaticPod, StepError> {
    let renderer = cx.renderer();
    Ok(match component {
        Component::Etcd => static_pod::etcd(&renderer, &etcd::membership(cx)?)?,
        Component::ApiServer => static_pod::api_server(&renderer)?,
        Component::ControllerManager => static_pod::controller_manager(&renderer)?,
        Component::Scheduler => static_pod::scheduler(&renderer)?,
    })
}

/// Returns the component's command line with its current flags.
pub(super) fn command(cx: &Context, component: Component) -> Result<Vec<String>, StepError> {
    match keeps(cx, &manifest_path(component)) {
        true => placed_command(cx, component),
        false => Ok(pod(cx, component)?.command),
    }
}

/// Whether an existing manifest stays as it is.
pub(super) fn keeps(cx: &Context, manifest: &Path) -> bool {
    cx.rollout.keeps_static_pods && cx.files.exists(manifest)
}

/// Returns the static pod in this machine's manifest; null if there is none.
pub(super) fn placed(files: &Files, component: Component) -> Result<Value, StepError> {
    let text = files.read_text(manifest_path(component))?.unwrap_or_default();
    // An unreadable manifest is replaced.
    Ok(yaml::document(&text).unwrap_or_default())
}

/// Returns the command line in this machine's manifest.
pub(super) fn placed_command(cx: &Context, component: Component) -> Result<Vec<String>, StepError> {
    Ok(static_pod::command(&placed(&cx.files, component)?))
}

/// Returns the components whose manifests differ from the configuration, after `differing`, if all components are healthy with the manifests
/// that they have. Waits for their health as after a boot. An etcd that runs without a quorum waits for other masters, and counts as healthy.
///
/// # Errors
/// If a manifest cannot be read or rendered.
pub async fn healthy_with_other_manifests(
    cx: &Context,
    mut differing: Vec<&'static str>,
) -> Result<Vec<&'static str>, StepError> {
    for component in Component::ALL {
        if !cx.files.exists(manifest_path(component)) {
            return Ok(Vec::new());
        }
        if !cx.differing(&[manifest(cx, component)?])?.is_empty() {
            differing.push(component.name());
        }
    }
    if differing.is_empty() {
        return Ok(differing);
    }
    cx.report.note("start", format!("waiting for a healthy control plane: {} would restart", differing.join(", ")));
    for component in Component::ALL {
        let command = placed_command(cx, component)?;
        let limit = cx.cluster.timeouts.control_plane;
        let wait = Wait::new(format!("a healthy {}", component.name()), limit).at_most_every(pause(component));
        if wait.until(async || Healthy(component).health(cx, &command).await).await.is_err() {
            let waits = component == Component::Etcd && processes::runs(&cx.files, &command);
            return Ok(if waits { differing } else { Vec::new() });
        }
    }
    Ok(differing)
}

/// Returns the pause between two health checks of the component.
fn pause(component: Component) -> Duration {
    match component {
        Component::Etcd | Component::ApiServer => Duration::from_millis(50),
        // The check searches processes, and the kernel walks all connections of the machine to find the listeners.
        Component::ControllerManager | Component::Scheduler => Duration::from_millis(250),
    }
}

/// Ends containers at once. If that fails, the kubelet ends them.
pub(super) async fn end(containers: Vec<cri::Container>) {
    let Ok(cri) = Cri::connect(cri::SOCKET).await else { return };
    for container in containers.iter().filter(|container| container.state == ContainerState::Running) {
        let _ = cri.kill_container(&container.id).await;
    }
}

/// Returns the component's containers, the newest first.
pub(super) async fn containers(component: Component) -> Result<Vec<cri::Container>, CriError> {
    let mut found = Cri::connect(cri::SOCKET).await?.containers().await?;
    found.retain(|container| container.namespace == "kube-system" && container.name == component.name());
    found.sort_by_key(|container| Reverse(container.created));
    Ok(found)
}

/// Where the kubelet keeps a directory for each pod until it has finished with it.
const POD_DIRECTORIES: &str = "/var/lib/kubelet/pods";

/// Whether the kubelet has not finished with the container's pod.
fn has_pod(cx: &Context, container: &cri::Container) -> bool {
    !container.pod_uid.is_empty() && cx.files.exists(Path::new(POD_DIRECTORIES).join(&container.pod_uid))
}

/// Returns the newest container of the component's pod, not one of a pod that is gone.
async fn current(cx: &Context, component: Component) -> Result<Option<cri::Container>, CriError> {
    Ok(containers(component).await?.into_iter().find(|container| has_pod(cx, container)))
}

async fn answers(cx: &Context, component: Component, command: &[String]) -> ControlFlow<(), String> {
    match component {
        Component::Etcd => connection::health(ETCD_HEALTH, "/readyz").await,
        Component::ApiServer => cluster::ready(cx).await,
        Component::ControllerManager => listens(cx, command, CONTROLLER_MANAGER_PORT),
        Component::Scheduler => listens(cx, command, SCHEDULER_PORT),
    }
}

/// Whether a process listens on the port. A request would prove no more, because the component's certificate is self-signed; and
/// leadership is not part of health: it comes up to 2 s later, or never if leader election is off.
fn listens(cx: &Context, command: &[String], port: u16) -> ControlFlow<(), String> {
    if !processes::runs(&cx.files, command) {
        return ControlFlow::Continue("it does not run with its current flags yet".into());
    }
    match net::listeners(&cx.files, &[port]) {
        Ok(found) if !found.is_empty() => ControlFlow::Break(()),
        Ok(_) => ControlFlow::Continue(format!("it does not listen on port {port} yet")),
        Err(e) => ControlFlow::Continue(e.to_string()),
    }
}

/// Step `manifest-NAME`: writes the component's manifest, from which the kubelet starts its pod.
pub struct PlaceManifest(pub Component);

/// Renders the manifest of the API server.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub(super) fn api_server_manifest(renderer: &render::Renderer<'_>) -> Result<NewFile, StepError> {
    Ok(file(static_pod::api_server(renderer)?))
}

/// Renders the component's manifest.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub(super) fn manifest(cx: &Context, component: Component) -> Result<NewFile, StepError> {
    Ok(file(pod(cx, component)?))
}

/// Returns the manifest file in the directory that the kubelet watches.
fn file(pod: StaticPod) -> NewFile {
    NewFile::private(Path::new(render::paths::STATIC_PODS).join(pod.file_name), pod.text)
}

/// Returns the path of the component's manifest.
pub(super) fn manifest_path(component: Component) -> PathBuf {
    Path::new(render::paths::STATIC_PODS).join(format!("{}.yaml", component.name()))
}

#[async_trait(?Send)]
impl Step for PlaceManifest {
    fn id(&self) -> StepId {
        StepId::Manifest(self.0)
    }

    fn title(&self) -> String {
        format!("place the static pod {}", self.0.name())
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(match keeps(cx, &manifest_path(self.0)) {
            true => State::Done,
            false => State::of(cx.differing(&[manifest(cx, self.0)?])?),
        })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let mut manifest = manifest(cx, self.0)?;
        if self.0 == Component::ApiServer && cx.renderer().verify_kubelets && !cx.files.exists(&manifest.path) {
            let verify_kubelets = kubelet_ca::from_the_start(cx).await;
            manifest = api_server_manifest(&render::Renderer { verify_kubelets, ..cx.renderer() })?;
        }
        match self.0 {
            Component::Etcd | Component::ApiServer => restart::place(cx, self.0, manifest).await,
            _ => cx.place(vec![manifest]).await.map(drop),
        }
    }
}

/// Step `NAME`: waits until the component runs with its current flags and is healthy.
pub struct Healthy(pub Component);

/// Returns the command lines of all components with their current flags.
///
/// # Errors
/// If a manifest that the user replaced is not valid.
pub(super) fn commands(cx: &Context) -> Result<Vec<Vec<String>>, StepError> {
    Component::ALL.into_iter().map(|component| command(cx, component)).collect()
}

#[async_trait(?Send)]
impl Step for Healthy {
    fn id(&self) -> StepId {
        StepId::Healthy(self.0)
    }

    fn title(&self) -> String {
        format!("wait for a healthy {}", self.0.name())
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let settled = self.0 != Component::Etcd || etcd::is_settled(cx);
        let healthy = settled && self.health(cx, &command(cx, self.0)?).await.is_break();
        if healthy && self.0 == Component::Etcd {
            // An etcd that has no quorum at this moment, as while members join, may lack the digest.
            let is_published = match etcd::health::reject_full(cx).await? {
                Some(etcd) => encryption_config::is_published(cx, &etcd).await?,
                None => false,
            };
            if !is_published {
                return Ok(State::needed("publish the digest of the encryption keys in etcd"));
            }
        }
        Ok(if healthy { State::Done } else { State::needed(self.title()) })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        self.wait(cx, &command(cx, self.0)?).await
    }
}

impl Healthy {
    /// Waits until the component with these flags is healthy.
    ///
    /// # Errors
    /// At the deadline, after a report of the container's state and its last log lines.
    pub(super) async fn wait(&self, cx: &Context, command: &[String]) -> Result<(), StepError> {
        let limit =
            if self.0 == Component::Etcd { cx.cluster.timeouts.etcd } else { cx.cluster.timeouts.control_plane };
        let mut watch = BackOffWatch::new(self.0);
        let members = (self.0 == Component::Etcd).then(|| etcd::health::Watch::new(self.id()));
        let wait = Wait::new(format!("a healthy {}", self.0.name()), limit).at_most_every(pause(self.0));
        let look = async || {
            let ControlFlow::Continue(seen) = self.health(cx, command).await else {
                return ControlFlow::Break(Ok(()));
            };
            if let Some(members) = &members {
                members.look(cx).await;
            }
            match watch.restart_if_due(cx, command).await {
                Ok(()) => ControlFlow::Continue(seen),
                Err(e) => ControlFlow::Break(Err(e)),
            }
        };
        match wait.until(look).await {
            Ok(Ok(())) if self.0 == Component::Etcd => etcd::settle(cx).await,
            Ok(result) => result,
            Err(late) => {
                explain(cx, self.0).await;
                let logs = format!("/var/log/pods/kube-system_{}-{}_*", self.0.name(), cx.node.name);
                let late = StepError::from(late)
                    .hint(format!("see {logs} and `journalctl -u kubelet`, then run the same command again"));
                Err(match members {
                    Some(members) => members.error(late),
                    None => late,
                })
            }
        }
    }

    /// Whether the component with these flags is healthy.
    async fn health(&self, cx: &Context, command: &[String]) -> ControlFlow<(), String> {
        let health = answers(cx, self.0, command).await;
        if health.is_continue() {
            return health;
        }
        // A former container that completes its last requests may have answered instead of the new one.
        let former = match containers(self.0).await {
            Ok(containers) => containers.iter().skip(1).any(|c| c.state == ContainerState::Running),
            Err(e) => return ControlFlow::Continue(e.to_string()),
        };
        if former || !processes::runs(&cx.files, command) {
            return ControlFlow::Continue(format!("the former {} still runs", self.0.name()));
        }
        answers(cx, self.0, command).await
    }
}

/// Reports the state of the component's container and the end of its log.
pub(super) async fn explain(cx: &Context, component: Component) {
    let name = component.name();
    let look = async {
        let Some(latest) = containers(component).await?.into_iter().next() else {
            cx.report.note(name, "the kubelet has not created a container for it");
            return Ok::<_, CriError>(());
        };
        let ending = Cri::connect(cri::SOCKET).await?.container_status(&latest.id).await?;
        let state = format!("container {:.12} {:?}, restarted {} times", latest.id, latest.state, latest.attempt);
        cx.report.note(name, format!("{state}, exit code {} {} {}", ending.exit_code, ending.reason, ending.message));
        let log = cx.files.read(&ending.log).ok().flatten().unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        telling(&log).into_iter().for_each(|line| cx.report.note(name, line));
        Ok(())
    };
    if let Err(e) = look.await {
        cx.report.note(name, e.to_string());
    }
}

/// Returns the lines of a log that say why a component ended: the last ones; of a short log also the first ones, because a component prints
/// its usage after it has rejected a flag.
fn telling(log: &str) -> Vec<&str> {
    const SHORT: usize = 200;
    let lines: Vec<&str> = log.lines().collect();
    let last = lines.len().saturating_sub(5);
    let first = if lines.len() < SHORT { last.min(2) } else { 0 };
    [&lines[..first], &lines[last..]].concat()
}

/// Step `api-server-config`: writes the audit policy and the authentication configuration.
pub struct ApiServerConfig;

fn api_server_files(cx: &Context) -> Result<Vec<NewFile>, StepError> {
    let renderer = cx.renderer();
    Ok(vec![
        NewFile::private(render::paths::AUDIT_POLICY, render::api_server::audit_policy(&renderer)?),
        NewFile::private(render::paths::AUTHENTICATION, render::api_server::authentication(&renderer)?),
    ])
}

#[async_trait(?Send)]
impl Step for ApiServerConfig {
    fn id(&self) -> StepId {
        StepId::ApiServerConfig
    }

    fn title(&self) -> String {
        "write the API server's audit policy and authentication".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(State::of(cx.differing(&api_server_files(cx)?)?))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        cx.place(api_server_files(cx)?).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_log_is_shown_with_its_first_lines() {
        let log = |count: usize| (1..=count).map(|n| format!("{n}\n")).collect::<String>();
        assert_eq!(telling(&log(3)), ["1", "2", "3"]);
        assert_eq!(telling(&log(6)), ["1", "2", "3", "4", "5", "6"]);
        assert_eq!(telling(&log(100)), ["1", "2", "96", "97", "98", "99", "100"]);
        assert_eq!(telling(&log(1000)), ["996", "997", "998", "999", "1000"]);
        assert!(telling("").is_empty());
    }
}
