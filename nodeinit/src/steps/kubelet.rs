//! The kubelet: its files, its service, its health.

use super::artifacts;
use crate::{
    api::connection,
    context::Context,
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    host::{files::NewFile, processes, systemd},
    render::{self, paths, static_pod, units},
};
use async_trait::async_trait;
use nodeinit_base::Wait;
use std::{
    net::SocketAddr,
    ops::ControlFlow,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    time::{Duration, SystemTime},
};

/// The kubelet's health address. Source: `KubeletConfiguration`, `healthzBindAddress` and `healthzPort`.
const HEALTH: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 10248);

/// The unit.
pub(super) const UNIT: &str = "kubelet.service";

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

/// Returns every directory that this machine's kubelet, pods and pod network fill.
pub(super) fn trees(cx: &Context) -> Vec<PathBuf> {
    let mut trees: Vec<PathBuf> = TREES.iter().map(PathBuf::from).collect();
    if cx.node.role.is_master() {
        trees.extend(static_pod::writable_directories(&cx.renderer()).into_iter().map(PathBuf::from));
    }
    trees
}

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

/// Returns the paths of the kubelet's files, without its program.
///
/// # Errors
/// If the configuration cannot be rendered.
pub(super) fn paths(cx: &Context) -> Result<Vec<PathBuf>, StepError> {
    Ok(files(cx)?.into_iter().map(|file| file.path).collect())
}

/// Returns the directories that must exist before the kubelet starts, with their modes.
///
/// The kubelet watches for static pods from its start only if their directory exists; otherwise it finds the first one at its next
/// poll, 20 s later. etcd's data directory must be private, and the kubelet would create it readable for all.
fn directories(cx: &Context) -> Vec<(PathBuf, u32)> {
    let mut directories = vec![
        (PathBuf::from(paths::STATIC_PODS), 0o755),
        // On a kernel without modules, containerd would create it for kube-proxy, and nothing would remove it.
        (PathBuf::from("/lib/modules"), 0o755),
    ];
    if cx.node.role.is_master() {
        directories.push((cx.cluster.etcd.data_directory.clone(), 0o700));
    }
    directories
}

/// Returns etcd's data directory if it existed before with a mode that lets others read it, as a mounted disk or another installer
/// leaves it. A directory that also contains files of others keeps its mode.
fn open_etcd_directory(cx: &Context) -> Result<Option<PathBuf>, StepError> {
    let path = &cx.cluster.etcd.data_directory;
    let Ok(found) = cx.files.metadata(path) else { return Ok(None) };
    if !cx.node.role.is_master() || !found.is_dir() || found.mode() & 0o077 == 0 {
        return Ok(None);
    }
    let is_etcds = |name: &String| name.starts_with("member") || name.starts_with('.') || name == "lost+found";
    match cx.files.list(path)?.into_iter().find(|name| !is_etcds(name)) {
        None if found.uid() == nix::unistd::geteuid().as_raw() => Ok(Some(path.clone())),
        other => {
            let why = other.map_or("another user owns it".to_owned(), |name| format!("it also holds {name}"));
            let text = format!(
                "other users can read {}, and nodeinit does not change its mode because {why}: use a separate directory for etcd",
                path.display()
            );
            cx.report.note("kubelet-config", text);
            Ok(None)
        }
    }
}

#[async_trait(?Send)]
impl Step for KubeletConfig {
    fn id(&self) -> StepId {
        StepId::KubeletConfig
    }

    fn title(&self) -> String {
        "write the kubelet's configuration and unit".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let mut changes = cx.differing(&files(cx)?)?;
        let missing = directories(cx).into_iter().filter(|(path, _)| !cx.files.exists(path));
        changes.extend(missing.map(|(path, _)| format!("create directory {}", path.display())));
        changes.extend(open_etcd_directory(cx)?.map(|path| format!("set mode 0700 of {}", path.display())));
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        cx.claim_trees(trees(cx)).await?;
        for (path, mode) in directories(cx) {
            cx.make_directory(&path, mode).await?;
        }
        if let Some(path) = open_etcd_directory(cx)? {
            cx.files.set_mode(&path, 0o700)?;
        }
        cx.place(files(cx)?).await.map(drop)
    }
}

/// Step `kubelet`: enables the service and starts it with its current files.
pub struct KubeletService;

/// Returns why a service that has run since `since` must be restarted for its files; `None` if it need not. systemd reports whole
/// seconds, so a file of the same second counts as older: it was written just before the start. A start in the future proves nothing,
/// because the clock was ahead then.
pub(super) fn reason_to_restart<'a>(
    cx: &Context,
    unit: &str,
    since: Option<SystemTime>,
    files: impl IntoIterator<Item = &'a PathBuf>,
) -> Option<String> {
    let since = since?;
    if since > SystemTime::now() {
        return Some(format!("restart {unit}: it started while the clock was ahead"));
    }
    let is_newer = |path: &&PathBuf| {
        let modified = cx.files.metadata(path).ok().and_then(|found| found.modified().ok());
        modified.is_some_and(|at| at >= since + Duration::from_secs(1))
    };
    files.into_iter().find(is_newer).map(|path| format!("restart {unit}: {} is newer", path.display()))
}

#[async_trait(?Send)]
impl Step for KubeletService {
    fn id(&self) -> StepId {
        StepId::Kubelet
    }

    fn title(&self) -> String {
        "start the kubelet".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        // The symbolic link shows whether the unit is enabled; on a new machine this saves a call to systemd.
        if !cx.files.exists(systemd::enabled(UNIT)) {
            return Ok(State::needed(format!("start and enable {UNIT}")));
        }
        let unit = systemd::unit(&cx.commands, UNIT).await?;
        if !unit.active {
            return Ok(State::needed(format!("start and enable {UNIT}")));
        }
        let mut files = paths(cx)?;
        let program = artifacts::kubelet_path(&cx.cluster);
        files.push(program.clone());
        let reason = reason_to_restart(cx, UNIT, unit.since, &files);
        // A package keeps the time of its build.
        let is_replaced = unit.pid.is_some_and(|pid| processes::is_replaced(&cx.files, pid, &program));
        let reason =
            reason.or_else(|| is_replaced.then(|| format!("restart {UNIT}: {} was replaced", program.display())));
        Ok(State::of(reason.into_iter().collect()))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        cx.start_unit(UNIT).await
    }
}

/// Restarts the kubelet; pods keep running.
///
/// # Errors
/// If systemd cannot restart it.
pub(super) async fn restart(cx: &Context) -> Result<(), StepError> {
    Ok(systemd::restart(&cx.commands, UNIT).await?)
}

/// Restarts the kubelet if it was started before.
///
/// # Errors
/// If systemd cannot restart it.
pub(super) async fn restart_if_started(cx: &Context) -> Result<(), StepError> {
    if cx.files.exists(systemd::enabled(UNIT)) { restart(cx).await } else { Ok(()) }
}

/// Step `kubelet-healthy`: waits until the kubelet answers on its health address.
pub struct KubeletHealthy;

async fn health() -> ControlFlow<(), String> {
    connection::health(HEALTH, "/healthz").await
}

#[async_trait(?Send)]
impl Step for KubeletHealthy {
    fn id(&self) -> StepId {
        StepId::KubeletHealthy
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
                let error = StepError::from(late).hint("see `journalctl -u kubelet`, then run the same command again");
                last.lines().for_each(|line| cx.report.note(&self.name(), format!("kubelet: {line}")));
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{context::testing::context, steps::pki::testing::run};
    use std::os::unix::fs::PermissionsExt;

    async fn mode_after_a_run(content: &str) -> (u32, Vec<String>) {
        let (_dir, cx) = context();
        let data = cx.cluster.etcd.data_directory.clone();
        for directory in cx.files.missing(&data.join(content)) {
            cx.files.make_directory(&directory, 0o755).unwrap();
        }
        let changes = run(&KubeletConfig, &cx).await.unwrap();
        let mode = std::fs::metadata(cx.files.real(&data)).unwrap().permissions().mode() & 0o777;
        (mode, changes.into_iter().filter(|change| change.contains("etcd")).collect())
    }

    #[tokio::test]
    async fn a_service_is_restarted_for_newer_files_and_after_a_start_in_the_future() {
        let (_dir, cx) = context();
        run(&KubeletConfig, &cx).await.unwrap();
        let files: Vec<PathBuf> = files(&cx).unwrap().into_iter().map(|file| file.path).collect();
        let ago = |seconds| Some(SystemTime::now() - Duration::from_secs(seconds));
        let ahead = Some(SystemTime::now() + Duration::from_secs(3600));
        assert_eq!(reason_to_restart(&cx, UNIT, None, &files), None);
        assert_eq!(reason_to_restart(&cx, UNIT, ago(0), &files), None);
        let reason = reason_to_restart(&cx, UNIT, ago(60), &files).unwrap();
        assert_eq!(reason, "restart kubelet.service: /var/lib/kubelet/config.yaml is newer");
        let reason = reason_to_restart(&cx, UNIT, ahead, &files).unwrap();
        assert_eq!(reason, "restart kubelet.service: it started while the clock was ahead");
    }

    #[tokio::test]
    async fn an_existing_etcd_directory_becomes_private() {
        for content in ["", "lost+found", "member", "member.aside-20260131T120000Z"] {
            let (mode, changes) = mode_after_a_run(content).await;
            assert_eq!((mode, &changes[..]), (0o700, &["set mode 0700 of /var/lib/etcd".to_owned()][..]), "{content}");
        }
        let (mode, changes) = mode_after_a_run("photos").await;
        assert_eq!((mode, changes.len()), (0o755, 0), "others use it too");
    }
}
