//! The kubelet: its files, its service, its health.

use crate::{
    api::connection,
    context::{Context, blocking},
    engine::{
        error::StepError,
        journal::Record,
        step::{State, Step},
        wait::Wait,
    },
    host::{files::NewFile, systemd},
    render::{self, paths, static_pod, units},
};
use async_trait::async_trait;
use nodeinit_config::cluster::Role;
use std::{
    net::SocketAddr,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// The kubelet's health address. Source: `KubeletConfiguration`, `healthzBindAddress` and `healthzPort`.
const HEALTH: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 10248);

/// The unit.
const UNIT: &str = "kubelet.service";

/// What enabling the unit makes.
const ENABLED: &str = "/etc/systemd/system/multi-user.target.wants/kubelet.service";

/// Directories that the kubelet, the pods or the pod network fill.
const TREES: &[&str] = &[
    "/etc/cni/net.d",
    "/etc/kubernetes",
    "/opt/cni/bin",
    "/run/flannel",
    "/var/lib/calico",
    "/var/lib/cni",
    "/var/lib/kubelet",
    "/var/log/containers",
    "/var/log/pods",
];

/// Step `kubelet-config`: configuration, flags and unit.
pub struct KubeletConfig;

fn files(cx: &Context) -> Result<Vec<NewFile>, StepError> {
    let renderer = cx.renderer();
    Ok(vec![
        NewFile::public(paths::KUBELET_CONFIG, render::kubelet::config(&renderer)?),
        NewFile::public(paths::KUBELET_INSTANCE_CONFIG, render::kubelet::instance_config(&renderer)),
        NewFile::public(paths::KUBELET_FLAGS, render::kubelet::flags(&renderer)),
        NewFile::public(paths::KUBELET_UNIT, units::KUBELET),
        NewFile::public(paths::KUBELET_DROP_IN, units::KUBELET_DROP_IN),
    ])
}

/// Directories that must be there before the kubelet starts, with their modes.
///
/// It watches for static pods from its start on only if their directory is there; else it finds the first one at its next
/// look, 20 s later. etcd's data directory is nobody else's, and the kubelet would make it readable for all.
fn directories(cx: &Context) -> Vec<(PathBuf, u32)> {
    let mut directories = vec![
        (PathBuf::from(paths::STATIC_PODS), 0o755),
        // containerd would make it for kube-proxy, where a kernel has no modules, and nobody take it away.
        (PathBuf::from("/lib/modules"), 0o755),
    ];
    if cx.node.role != Role::Worker {
        directories.push((cx.cluster.etcd.data_directory.clone(), 0o700));
    }
    directories
}

#[async_trait(?Send)]
impl Step for KubeletConfig {
    fn name(&self) -> String {
        "kubelet-config".into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["preflight".into()]
    }

    fn title(&self) -> String {
        "write the kubelet's configuration and unit".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let mut changes = cx.differing(&files(cx)?)?;
        let missing = directories(cx).into_iter().filter(|(path, _)| !cx.files.exists(path));
        changes.extend(missing.map(|(path, _)| format!("make directory {}", path.display())));
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let mut trees: Vec<PathBuf> = TREES.iter().map(PathBuf::from).collect();
        if cx.node.role != Role::Worker {
            trees.extend(static_pod::writable_directories(&cx.renderer()).into_iter().map(PathBuf::from));
        }
        cx.claim_trees(trees).await?;
        for (path, mode) in directories(cx) {
            cx.make_directory(&path, mode).await?;
        }
        cx.place(files(cx)?).await.map(drop)
    }
}

/// Step `kubelet`: the service enabled, and started with its present files.
pub struct KubeletService {
    /// The step that brings its credentials.
    pub credentials: &'static str,
}

/// What systemd says of the kubelet.
struct Unit {
    active: bool,
    since: Option<SystemTime>,
}

async fn unit(cx: &Context) -> Result<Unit, StepError> {
    let show = ["systemctl", "show", UNIT, "--timestamp=unix", "-p", "ActiveState,ExecMainStartTimestamp"];
    let text = cx.commands.run(&show, Duration::from_secs(30)).await?;
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().to_owned();
    let since = value("ExecMainStartTimestamp=@").parse().ok().map(|s| SystemTime::UNIX_EPOCH + Duration::from_secs(s));
    Ok(Unit { active: value("ActiveState=") == "active", since })
}

/// Whether one of the kubelet's files is newer than its process. systemd tells whole seconds, so a file of the same second
/// counts as older: it was written just before the start.
fn is_newer(cx: &Context, since: SystemTime, file: &Path) -> bool {
    let modified = std::fs::metadata(cx.files.real(file)).and_then(|m| m.modified());
    modified.is_ok_and(|at| at >= since + Duration::from_secs(1))
}

#[async_trait(?Send)]
impl Step for KubeletService {
    fn name(&self) -> String {
        "kubelet".into()
    }

    fn needs(&self) -> Vec<String> {
        ["kubelet-config", "kubelet-binary", self.credentials, "os-prepare"].map(String::from).into()
    }

    fn title(&self) -> String {
        "start the kubelet".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        // The link alone tells whether the unit is enabled; on a new machine systemd need not be asked.
        if !cx.files.exists(ENABLED) {
            return Ok(State::needed(format!("start and enable {UNIT}")));
        }
        let unit = unit(cx).await?;
        if !unit.active {
            return Ok(State::needed(format!("start and enable {UNIT}")));
        }
        let newer =
            files(cx)?.into_iter().map(|f| f.path).find(|path| unit.since.is_some_and(|s| is_newer(cx, s, path)));
        Ok(State::of(newer.map(|path| format!("restart {UNIT}: {} is newer", path.display())).into_iter().collect()))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let context = cx.clone();
        blocking(move || Ok(context.journal.intend(vec![Record::Unit { name: UNIT.into() }])?)).await?;
        if cx.files.exists(ENABLED) {
            systemd::reload(&cx.commands).await?;
        }
        // systemd reads a unit that it does not know yet at its start.
        restart(cx).await?;
        Ok(systemd::enable(&cx.commands, UNIT).await?)
    }
}

/// Restarts the kubelet; running pods are not touched.
///
/// # Errors
/// Where systemd cannot.
pub(super) async fn restart(cx: &Context) -> Result<(), StepError> {
    Ok(systemd::restart(&cx.commands, UNIT).await?)
}

/// The same, where it was started before.
///
/// # Errors
/// Where systemd cannot.
pub(super) async fn restart_if_begun(cx: &Context) -> Result<(), StepError> {
    if cx.files.exists(ENABLED) { restart(cx).await } else { Ok(()) }
}

/// Step `kubelet-healthy`: it answers on its health address.
pub struct KubeletHealthy;

async fn health() -> ControlFlow<(), String> {
    connection::health(HEALTH, "/healthz").await
}

#[async_trait(?Send)]
impl Step for KubeletHealthy {
    fn name(&self) -> String {
        "kubelet-healthy".into()
    }

    fn needs(&self) -> Vec<String> {
        vec!["kubelet".into()]
    }

    fn title(&self) -> String {
        "wait for a healthy kubelet".into()
    }

    async fn check(&self, _: &Context) -> Result<State, StepError> {
        Ok(match health().await {
            ControlFlow::Break(()) => State::Done,
            ControlFlow::Continue(_) => State::needed("wait for a healthy kubelet"),
        })
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let limit = cx.cluster.timeouts.kubelet;
        match Wait::new("a healthy kubelet", limit).until(async || health().await).await {
            Ok(()) => Ok(()),
            Err(late) => {
                let log = ["journalctl", "-u", UNIT, "-n", "5", "-o", "cat", "--no-pager"];
                let last = cx.commands.run(&log, Duration::from_secs(10)).await.unwrap_or_default();
                let error = StepError::from(late).hint("see `journalctl -u kubelet`, then run `nodeinit up` again");
                last.lines().for_each(|line| cx.report.note(&self.name(), format!("kubelet: {line}")));
                Err(error)
            }
        }
    }
}
