//! The static pods of the control plane: the files that they read, their manifests, their health.

use crate::{
    api::{
        connection,
        cri::{self, ContainerState, Cri, CriError},
    },
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        wait::Wait,
    },
    host::{files::NewFile, net, processes},
    render::{
        self,
        static_pod::{self, StaticPod},
    },
    steps::{cluster, encryption_config, etcd, first_api_server, kubelet, verify_kubelets},
};
use async_trait::async_trait;
use nodeinit_config::{cluster::Role, yaml};
use serde_json::Value;
use std::{
    cmp::Reverse,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    ops::ControlFlow,
    path::Path,
    time::{Duration, Instant, SystemTime},
};

/// A part of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// The store.
    Etcd,
    /// The API.
    ApiServer,
    /// The controllers.
    ControllerManager,
    /// The scheduler.
    Scheduler,
}

/// etcd's health address. Source: kubeadm's `etcd.yaml`, `--listen-metrics-urls`.
const ETCD_HEALTH: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 2381);

/// Where the controller manager and the scheduler serve their health, once they work. Source: kubeadm's `constants.go`.
const CONTROLLER_MANAGER_PORT: u16 = 10257;
const SCHEDULER_PORT: u16 = 10259;

impl Component {
    /// All, in the order in which they need each other.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Scheduler];

    /// The name of its container, its pod's file and its image.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
        }
    }

    fn pod(self, cx: &Context) -> Result<StaticPod, StepError> {
        let renderer = cx.renderer();
        Ok(match self {
            Self::Etcd => static_pod::etcd(&renderer, &etcd::membership(cx)?)?,
            Self::ApiServer => static_pod::api_server(&renderer)?,
            Self::ControllerManager => static_pod::controller_manager(&renderer)?,
            Self::Scheduler => static_pod::scheduler(&renderer)?,
        })
    }

    /// Its command line, with its present flags.
    pub(super) fn command(self, cx: &Context) -> Result<Vec<String>, StepError> {
        let pod = self.pod(cx)?;
        let pod = yaml::document(&pod.text).map_err(|e| StepError::caused("our own manifest is damaged", e))?;
        let parts = pod.pointer("/spec/containers/0/command").and_then(Value::as_array).into_iter().flatten();
        Ok(parts.filter_map(|part| part.as_str().map(str::to_owned)).collect())
    }

    /// What must be healthy before this one can be.
    fn leans_on(self) -> Option<Self> {
        match self {
            Self::Etcd => None,
            Self::ApiServer => Some(Self::Etcd),
            Self::ControllerManager | Self::Scheduler => Some(Self::ApiServer),
        }
    }

    /// Between two looks at its health.
    fn pause(self) -> Duration {
        match self {
            Self::Etcd | Self::ApiServer => Duration::from_millis(50),
            // Their processes are looked for, and the kernel goes through all connections of the machine to tell who listens.
            Self::ControllerManager | Self::Scheduler => Duration::from_millis(250),
        }
    }

    /// Its containers, the newest first.
    pub(super) async fn containers(self) -> Result<Vec<cri::Container>, CriError> {
        let mut found = Cri::connect(cri::SOCKET).await?.containers().await?;
        found.retain(|container| container.namespace == "kube-system" && container.name == self.name());
        found.sort_by_key(|container| Reverse(container.created));
        Ok(found)
    }

    async fn health(self, cx: &Context, command: &[String]) -> ControlFlow<(), String> {
        match self {
            Self::Etcd => connection::health(ETCD_HEALTH, "/readyz").await,
            Self::ApiServer => cluster::ready(cx).await,
            Self::ControllerManager => listens(cx, command, CONTROLLER_MANAGER_PORT),
            Self::Scheduler => listens(cx, command, SCHEDULER_PORT),
        }
    }
}

/// Whether the port is served. Its certificate is the component's own, signed by nobody, so that asking it proves no more; and
/// whether the component leads is no question of its health: it leads up to 2 s later, or never if leader election is off.
fn listens(cx: &Context, command: &[String], port: u16) -> ControlFlow<(), String> {
    if !processes::runs(&cx.files, command) {
        return ControlFlow::Continue("it does not run with its current flags yet".into());
    }
    match net::listeners(&cx.files, &[port]) {
        Ok(found) if !found.is_empty() => ControlFlow::Break(()),
        Ok(_) => ControlFlow::Continue(format!("nothing listens on its port {port} yet")),
        Err(e) => ControlFlow::Continue(e.to_string()),
    }
}

/// Step `manifest-NAME`: the pod's manifest, from which the kubelet starts it; of a master of this role.
pub struct Manifest(pub Component, pub Role);

/// The manifest of the API server.
///
/// # Errors
/// A replaced manifest that does not fit.
pub(super) fn api_server_manifest(renderer: &render::Renderer<'_>) -> Result<NewFile, StepError> {
    Ok(file(static_pod::api_server(renderer)?))
}

fn manifest(cx: &Context, component: Component) -> Result<NewFile, StepError> {
    Ok(file(component.pod(cx)?))
}

/// Where the kubelet looks for it.
fn file(pod: StaticPod) -> NewFile {
    NewFile::private(Path::new(render::paths::STATIC_PODS).join(pod.file_name), pod.text)
}

#[async_trait(?Send)]
impl Step for Manifest {
    fn name(&self) -> String {
        format!("manifest-{}", self.0.name())
    }

    fn needs(&self) -> Vec<String> {
        let mut needs = vec!["kubeconfig".into(), "image-pause".into(), format!("image-{}", self.0.name())];
        match self.0 {
            // Only there it is known whether this etcd begins alone.
            Component::Etcd => needs.push(etcd::MEMBER.into()),
            Component::ApiServer => {
                needs.push("api-server-config".into());
                // It gives up on an etcd that does not let it in; a learner lets nobody in.
                if self.1 != Role::FirstMaster {
                    needs.extend([etcd::MEMBER.into(), first_api_server::NAME.into()]);
                }
            }
            // Until then those that all wait for have the processor to themselves.
            Component::ControllerManager | Component::Scheduler => {
                let before = if self.1 == Role::FirstMaster { Component::Etcd } else { Component::ApiServer };
                needs.push(before.name().into());
            }
        }
        // Its claims of directories come before anything is written there.
        needs.push("kubelet-config".into());
        needs
    }

    fn title(&self) -> String {
        format!("place the static pod {}", self.0.name())
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(State::of(cx.differing(&[manifest(cx, self.0)?])?))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let mut manifest = manifest(cx, self.0)?;
        match self.0 {
            Component::Etcd => return etcd::place(cx, manifest).await,
            Component::ApiServer if cx.renderer().verify_kubelets && !cx.files.exists(&manifest.path) => {
                let verify_kubelets = verify_kubelets::from_the_start(cx).await;
                manifest = api_server_manifest(&render::Renderer { verify_kubelets, ..cx.renderer() })?;
            }
            _ => {}
        }
        cx.place(vec![manifest]).await.map(drop)
    }
}

/// Step `NAME`: the component runs with its present flags and is healthy; on a master of this role.
pub struct Healthy(pub Component, pub Role);

/// The commands of all components, with their present flags.
///
/// # Errors
/// A replaced manifest that does not fit.
pub(super) fn commands(cx: &Context) -> Result<Vec<Vec<String>>, StepError> {
    Component::ALL.into_iter().map(|component| component.command(cx)).collect()
}

#[async_trait(?Send)]
impl Step for Healthy {
    fn name(&self) -> String {
        self.0.name().into()
    }

    fn needs(&self) -> Vec<String> {
        let begun = match (self.0, self.1) {
            (Component::Etcd, Role::Master) => etcd::MEMBER.into(),
            (component, _) => format!("manifest-{}", component.name()),
        };
        let mut needs = vec![begun, "kubelet".into()];
        needs.extend(self.0.leans_on().map(|other| other.name().into()));
        needs
    }

    fn title(&self) -> String {
        format!("wait for a healthy {}", self.0.name())
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let settled = self.0 != Component::Etcd || etcd::is_settled(cx);
        let healthy = settled && self.health(cx, &self.0.command(cx)?).await.is_break();
        if healthy && self.0 == Component::Etcd {
            // An etcd that does not answer for a quorum at this moment, as while members join, may not have the digest.
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
        let limit =
            if self.0 == Component::Etcd { cx.cluster.timeouts.etcd } else { cx.cluster.timeouts.control_plane };
        let command = self.0.command(cx)?;
        let mut watch = BackOffWatch::new(self.0);
        let members = (self.0 == Component::Etcd).then(|| etcd::health::Watch::new("etcd"));
        let wait = Wait::new(format!("a healthy {}", self.0.name()), limit).at_most_every(self.0.pause());
        let look = async || {
            let ControlFlow::Continue(seen) = self.health(cx, &command).await else {
                return ControlFlow::Break(Ok(()));
            };
            if let Some(members) = &members {
                members.look(cx).await;
            }
            match watch.restart_if_due(cx, &command).await {
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
                    .hint(format!("see {logs} and `journalctl -u kubelet`, then run `nodeinit up` again"));
                Err(match members {
                    Some(members) => members.error(late),
                    None => late,
                })
            }
        }
    }
}

impl Healthy {
    /// Whether the component with these flags is healthy.
    async fn health(&self, cx: &Context, command: &[String]) -> ControlFlow<(), String> {
        let health = self.0.health(cx, command).await;
        if health.is_continue() {
            return health;
        }
        // A former one that still ends its requests may have answered in the place of one that only starts.
        let former = match self.0.containers().await {
            Ok(containers) => containers.iter().skip(1).any(|c| c.state == ContainerState::Running),
            Err(e) => return ControlFlow::Continue(e.to_string()),
        };
        if former || !processes::runs(&cx.files, command) {
            return ControlFlow::Continue(format!("the former {} still runs", self.0.name()));
        }
        self.0.health(cx, command).await
    }
}

/// Takes a container out of the kubelet's restart back-off.
///
/// A component that started before its dependency has exited, and the kubelet waits 10 s, 20 s, 40 s before it
/// starts it again. Now that the other is healthy, a restart of the kubelet forgets the back-off. The same helps where the
/// kubelet holds a changed static pod back, as it has not heard from the API server since it started.
pub(super) struct BackOffWatch {
    component: Component,
    began: Instant,
    restarted: Option<Instant>,
    restarts: u32,
    looked: Instant,
}

/// A container that has been down for this long is in back-off: the kubelet restarts one that is not at once.
const BACK_OFF_AFTER: Duration = Duration::from_millis(1500);

/// A kubelet that has not started a pod within this time holds it back.
const HELD_BACK_AFTER: Duration = Duration::from_secs(60);

impl BackOffWatch {
    pub(super) fn new(component: Component) -> Self {
        Self { component, began: Instant::now(), restarted: None, restarts: 0, looked: Instant::now() }
    }

    /// Call while the component is not healthy. Looks twice a second: each look costs something.
    pub(super) async fn restart_if_due(&mut self, cx: &Context, command: &[String]) -> Result<(), StepError> {
        if self.looked.elapsed() < Duration::from_millis(500) {
            return Ok(());
        }
        self.looked = Instant::now();
        if processes::runs(&cx.files, command) {
            return Ok(());
        }
        // Each restart is given longer to work than the one before.
        let patience = Duration::from_secs(8) * 2u32.saturating_pow(self.restarts.min(4));
        if self.restarted.is_some_and(|at| at.elapsed() < patience) {
            return Ok(());
        }
        let held_back = self.began.max(self.restarted.unwrap_or(self.began)).elapsed() > HELD_BACK_AFTER;
        let reason = match down_for(self.component).await {
            Some(time) if time > BACK_OFF_AFTER => "has exited and is backed off",
            None if held_back => "was not started",
            _ => return Ok(()),
        };
        let name = self.component.name();
        cx.report.note(name, format!("{name} {reason}; restarting the kubelet, which starts it at once"));
        kubelet::restart(cx).await?;
        self.restarted = Some(Instant::now());
        self.restarts += 1;
        Ok(())
    }
}

/// How long the component's latest container has been down, or `None` where it runs, or there is none yet.
async fn down_for(component: Component) -> Option<Duration> {
    let latest = component.containers().await.ok()?.into_iter().next()?;
    if latest.state != ContainerState::Exited {
        return None;
    }
    let ending = Cri::connect(cri::SOCKET).await.ok()?.ending(&latest.id).await.ok()?;
    let finished = SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(ending.finished).ok()?);
    finished.elapsed().ok()
}

/// Tells what the container runtime and the component's log say.
pub(super) async fn explain(cx: &Context, component: Component) {
    let name = component.name();
    let look = async {
        let Some(latest) = component.containers().await?.into_iter().next() else {
            cx.report.note(name, "the kubelet has made no container for it");
            return Ok::<_, CriError>(());
        };
        let ending = Cri::connect(cri::SOCKET).await?.ending(&latest.id).await?;
        let state = format!("container {:.12} {:?}, restarted {} times", latest.id, latest.state, latest.attempt);
        cx.report.note(name, format!("{state}, exit code {} {} {}", ending.exit_code, ending.reason, ending.message));
        let log = cx.files.read(&ending.log).ok().flatten().unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let last: Vec<&str> = log.lines().rev().take(5).collect();
        last.into_iter().rev().for_each(|line| cx.report.note(name, line));
        Ok(())
    };
    if let Err(e) = look.await {
        cx.report.note(name, e.to_string());
    }
}

/// Step `api-server-config`: audit policy and authentication.
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
    fn name(&self) -> String {
        "api-server-config".into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["kubelet-config".into(), "encryption-config".into()]
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
