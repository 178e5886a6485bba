//! containerd: installs it if it is missing, and writes its configuration, mirrors and proxies.

mod restore;

use super::{artifacts, kubelet::reason_to_restart, preflight::runtime_config, undo};
use crate::{
    api::cri::{Cri, CriError, SOCKET},
    context::{Context, blocking},
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
        step_id::StepId,
    },
    fetch::login,
    host::{commands::CommandError, files::NewFile, systemd},
    render::{
        self,
        containerd::{self as render_containerd, Registry},
        paths, units,
    },
};
use async_trait::async_trait;
use nodeinit_base::{Wait, sha256_hex};
use nodeinit_config::cluster::Proxy;
pub use restore::RestoreContainerd;
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

/// The unit.
pub const UNIT: &str = "containerd.service";

/// Where packages and archives install containerd.
const PLACES: [&str; 4] =
    ["/usr/local/bin/containerd", "/usr/bin/containerd", "/usr/local/sbin/containerd", "/usr/sbin/containerd"];

/// Where packages install its unit.
const UNITS: [&str; 3] = [
    "/etc/systemd/system/containerd.service",
    "/usr/lib/systemd/system/containerd.service",
    "/lib/systemd/system/containerd.service",
];

/// The directories that containerd fills.
pub(super) const TREES: [&str; 3] = ["/opt/containerd", "/run/containerd", "/var/lib/containerd"];

/// The major version that nodeinit installs; the format of the configuration depends on it.
const INSTALLED: u16 = 2;

/// The CA of a registry or mirror, next to its `hosts.toml`.
const CA: &str = "nodeinit-ca.crt";

/// A new configuration is tested at this path before containerd uses it.
const TRIAL: &str = "/etc/containerd/.config.toml.nodeinit-trial";

/// Where containerd keeps the state of each running container of Kubernetes. A reboot empties it.
const CONTAINERS: &str = "/run/containerd/io.containerd.runtime.v2.task/k8s.io";

/// Limit for `containerd` to print its version or to read a configuration.
const LIMIT: Duration = Duration::from_secs(30);

/// Limit for containerd to serve the kubelet after its start.
const START_LIMIT: Duration = Duration::from_secs(60);

/// What nodeinit does with containerd on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// Nothing: preflight checks it.
    Check,
    /// Configures the containerd that is installed.
    Configure,
    /// Installs and configures containerd.
    Install,
}

/// Decides from the configuration and from what others installed on this machine.
#[must_use]
pub fn duty(cx: &Context) -> Duty {
    let manage = cx.cluster.container_runtime.manage;
    let is_other = render::kubelet::runtime_endpoint(&cx.renderer()) != render::kubelet::CONTAINERD;
    if manage == Some(false) || is_other {
        return Duty::Check;
    }
    let known = cx.journal.state().files;
    let is_foreign = |path: &&str| {
        let is_ours = known.get(Path::new(path)).is_some_and(|written| written.original.is_none());
        cx.files.exists(path) && !is_ours
    };
    let has_program = PLACES.iter().any(is_foreign);
    let has_traces = has_program || is_foreign(&paths::CONTAINERD_CONFIG) || UNITS.iter().any(is_foreign);
    match manage {
        Some(true) if has_program => Duty::Configure,
        None if has_traces => Duty::Check,
        // A machine image is no source to install from.
        _ if cx.cluster.artifacts.runtime.is_empty() => Duty::Check,
        _ => Duty::Install,
    }
}

/// Step `containerd`.
pub struct ContainerRuntime;

#[async_trait(?Send)]
impl Step for ContainerRuntime {
    fn id(&self) -> StepId {
        StepId::Containerd
    }

    fn title(&self) -> String {
        "install and configure containerd if nodeinit manages it".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        let duty = duty(cx);
        if duty == Duty::Check {
            return Ok(State::Done);
        }
        let mut changes = Vec::new();
        if duty == Duty::Install
            && let State::Needed(programs) = artifacts::runtime(&cx.cluster).check(cx).await?
        {
            changes.extend(programs);
        }
        let files = files(cx, duty).await?;
        changes.extend(cx.differing(&files)?);
        changes.extend(stale(cx, &files).iter().map(|path| format!("remove {}", path.display())));
        let is_read_at_start = |change: &String| !change.contains(paths::REGISTRIES);
        match outdated(cx, duty, &files).await? {
            Some(reason) => changes.push(reason),
            None if changes.iter().any(is_read_at_start) => changes.push(format!("restart {UNIT}; pods keep running")),
            None if changes.is_empty() => refuse_overridden(cx).await?,
            None => {}
        }
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        let duty = duty(cx);
        let mut restart = false;
        if duty == Duty::Install {
            cx.claim_trees(TREES.map(PathBuf::from).into()).await?;
            let programs = artifacts::runtime(&cx.cluster);
            restart = programs.check(cx).await? != State::Done;
            programs.apply(cx).await?;
        }
        let files = files(cx, duty).await?;
        refuse_another_cgroup_driver(cx, &files).await?;
        try_out(cx, duty, &files).await?;
        let stale = stale(cx, &files);
        restart |= outdated(cx, duty, &files).await?.is_some();
        // containerd reads the files of registries at every pull, so they need no restart.
        restart |= cx.place(files.clone()).await?.iter().any(|path| !path.starts_with(paths::REGISTRIES));
        if stale.iter().any(|path| path == Path::new(paths::CONTAINERD_PROXY)) {
            restart = true;
            renew_time(cx, &files)?;
        }
        let context = cx.clone();
        blocking(move || undo::undo(&context, &StepId::Containerd, &stale)).await?;
        if restart {
            match duty {
                Duty::Install => cx.start_unit(UNIT).await?,
                _ => {
                    systemd::reload(&cx.commands).await?;
                    systemd::restart(&cx.commands, UNIT).await?;
                }
            }
        }
        serves(cx).await?;
        refuse_overridden(cx).await
    }
}

/// Returns the program that runs, or that will be installed.
fn program(cx: &Context, duty: Duty) -> PathBuf {
    let installed = || PLACES.iter().map(PathBuf::from).find(|path| cx.files.exists(path));
    let ours = || cx.cluster.artifacts.runtime.iter().map(|b| b.to.clone()).find(|to| to.ends_with("containerd"));
    let found = if duty == Duty::Install { ours() } else { installed() };
    found.unwrap_or_else(|| PLACES[0].into())
}

/// Returns all files that nodeinit writes for containerd.
async fn files(cx: &Context, duty: Duty) -> Result<Vec<NewFile>, StepError> {
    let program = program(cx, duty);
    let present = cx.files.read_text(paths::CONTAINERD_CONFIG)?;
    let major = if cx.files.exists(&program) { major_version(cx, &program).await? } else { INSTALLED };
    let config = render_containerd::config(present.as_deref(), major, &cx.cluster).map_err(|e| {
        let (what, remedy) = (format!("{} cannot be edited", paths::CONTAINERD_CONFIG), e.remedy());
        StepError::caused(what, e).hint(remedy)
    })?;
    refuse_imported_mirrors(cx, &config)?;
    // It may contain logins for registries, in the format of containerd 1.
    let mode = cx.files.mode(Path::new(paths::CONTAINERD_CONFIG)).unwrap_or(0o644);
    let mut files = vec![NewFile { mode, ..NewFile::public(paths::CONTAINERD_CONFIG, config) }];
    if duty == Duty::Install {
        files.push(NewFile::public(paths::CONTAINERD_UNIT, units::containerd(&program)));
    }
    let proxy = &cx.cluster.container_runtime.proxy;
    if (&proxy.http, &proxy.https) != (&None, &None) {
        files.push(NewFile::public(paths::CONTAINERD_PROXY, render_containerd::proxy(proxy)));
    }
    let logins = login::of_cluster(&cx.files, &cx.cluster)?;
    let known = cx.journal.state().files;
    for registry in Registry::all(&cx.cluster.registry_mirrors, &logins) {
        let directory = Path::new(paths::REGISTRIES).join(&registry.name);
        let path = directory.join("hosts.toml");
        // Only files of registries in `images.mirrors` are replaced.
        let is_ours =
            |text: &Vec<u8>| known.get(&path).is_some_and(|written| written.sha256.contains(&sha256_hex(text)));
        if registry.mirrors.is_empty() && cx.files.read(&path)?.is_some_and(|text| !is_ours(&text)) {
            let what = format!(
                "images.registryAuthFile has a login for {}, and {} was not written by nodeinit",
                registry.name,
                path.display()
            );
            let hint = "move its mirrors to images.mirrors and remove the file, or remove the login";
            return Err(StepError::new(what).exit(Exit::BadConfig).hint(hint));
        }
        let ca = directory.join(CA);
        // containerd reads them only if there is no hosts.toml.
        let is_theirs = |name: &String| {
            let (_, end) = name.rsplit_once('.').unwrap_or_default();
            ["crt", "cert", "key"].contains(&end) && *name != CA
        };
        if let Some(name) = cx.files.list(&directory)?.into_iter().find(is_theirs).filter(|_| !cx.files.exists(&path)) {
            let what = format!(
                "containerd would no longer read {}, because nodeinit writes {} for {}",
                directory.join(name).display(),
                path.display(),
                registry.name
            );
            let hint = "write the CA as artifacts.caCertificate and remove the file; or remove the registry from images.mirrors and \
                        images.registryAuthFile";
            return Err(StepError::new(what).exit(Exit::BadConfig).hint(hint));
        }
        let certificate = cx.cluster.artifacts.ca_certificate.as_ref();
        files.extend(certificate.map(|pem| NewFile::public(&ca, pem.as_str())));
        let named = certificate.map(|_| ca.to_string_lossy());
        let mode = if registry.is_secret(&logins) { 0o600 } else { 0o644 };
        let hosts = registry.hosts(named.as_deref(), &logins);
        files.push(NewFile { mode, ..NewFile::public(path, hosts) });
    }
    Ok(files)
}

/// containerd's CRI plugin does not start if an imported file has mirrors and `config_path` is set.
fn refuse_imported_mirrors(cx: &Context, config: &str) -> Result<(), StepError> {
    for pattern in render_containerd::imports_beside_config_path(config) {
        let pattern = Path::new(paths::CONTAINERD_CONFIG).with_file_name(pattern);
        let (Some(directory), Some(name)) = (pattern.parent(), pattern.file_name()) else { continue };
        let name = name.to_string_lossy();
        let (start, end) = name.split_once('*').unwrap_or((&name, ""));
        let is_imported = |other: &String| match name.contains('*') {
            true => other.len() >= start.len() + end.len() && other.starts_with(start) && other.ends_with(end),
            false => *other == name,
        };
        for path in
            cx.files.list(directory)?.iter().filter(|other| is_imported(other)).map(|other| directory.join(other))
        {
            let text = cx.files.read_text(&path)?.unwrap_or_default();
            let damaged = |e| {
                StepError::caused(format!("containerd cannot read {}", path.display()), e)
                    .hint("correct it, or remove it")
            };
            if render_containerd::has_mirrors(&text).map_err(damaged)? {
                let what = format!(
                    "{} has mirrors, which containerd refuses together with the config_path of {}",
                    path.display(),
                    paths::CONTAINERD_CONFIG
                );
                return Err(StepError::new(what)
                    .hint("remove them there, and list these mirrors under images.mirrors; or set containerRuntime.manage: false"));
            }
        }
    }
    Ok(())
}

/// Returns the problem that keeps nodeinit from configuring containerd.
pub(super) async fn obstacle(cx: &Context, duty: Duty) -> Option<StepError> {
    files(cx, duty).await.err()
}

/// `containerd github.com/containerd/containerd v1.7.2 …`, `containerd containerd 1.6.20~ds1 …`
async fn major_version(cx: &Context, program: &Path) -> Result<u16, StepError> {
    let real = cx.files.real(program);
    let text = cx.commands.run(&[&real.to_string_lossy(), "--version"], LIMIT).await.map_err(|e| {
        StepError::caused(format!("cannot run {}", program.display()), e)
            .hint("it is damaged or built for another processor: reinstall it")
    })?;
    let version = text.split_whitespace().nth(2).unwrap_or_default().trim_start_matches('v');
    version.split('.').next().and_then(|major| major.parse().ok()).ok_or_else(|| {
        StepError::new(format!("cannot parse the version of {}: {}", program.display(), text.trim()))
            .hint("install another build, or set containerRuntime.manage: false")
    })
}

/// Returns the files of mirrors and proxies that are no longer configured.
fn stale(cx: &Context, wanted: &[NewFile]) -> Vec<PathBuf> {
    let is_ours = |path: &PathBuf| path.starts_with(paths::REGISTRIES) || path == Path::new(paths::CONTAINERD_PROXY);
    let known = cx.journal.state().files.into_keys().filter(is_ours);
    let unwanted = known.filter(|path| wanted.iter().all(|file| file.path != *path));
    unwanted.filter(|path| undo::is_undone(cx, path).is_ok_and(|undone| !undone)).collect()
}

/// Returns why containerd must be started or restarted; `None` if it runs with its current files.
async fn outdated(cx: &Context, duty: Duty, files: &[NewFile]) -> Result<Option<String>, StepError> {
    let start = || Some(format!("start and enable {UNIT}"));
    // The symbolic link shows whether the unit is enabled; on a new machine this saves a call to systemd.
    if duty == Duty::Install && !cx.files.exists(systemd::enabled(UNIT)) {
        return Ok(start());
    }
    let unit = systemd::unit(&cx.commands, UNIT).await?;
    if !unit.active {
        return Ok(start());
    }
    Ok(reason_to_restart(cx, UNIT, unit.since, &read_at_start(cx, duty, files)))
}

/// Returns which of `files` and of its programs containerd reads when it starts.
fn read_at_start(cx: &Context, duty: Duty, files: &[NewFile]) -> Vec<PathBuf> {
    let written = files.iter().map(|file| &file.path).filter(|path| !path.starts_with(paths::REGISTRIES));
    // A package restarts containerd when it replaces the program.
    let program = (duty == Duty::Install).then(|| program(cx, duty));
    written.cloned().chain(program).collect()
}

/// Updates the modification time of the configuration after a file was removed: if this run is killed, the next one sees from it that
/// a restart is due.
fn renew_time(cx: &Context, files: &[NewFile]) -> Result<(), StepError> {
    let config = files.iter().find(|file| file.path == Path::new(paths::CONTAINERD_CONFIG));
    Ok(cx.files.write(config.map_or(&[], std::slice::from_ref))?)
}

/// Refuses to change the cgroup driver while containers run: they cannot continue with another driver.
async fn refuse_another_cgroup_driver(cx: &Context, files: &[NewFile]) -> Result<(), StepError> {
    let ask = async {
        let cri = Cri::connect(cx.files.real(Path::new(SOCKET))).await?;
        Ok::<_, CriError>((cri.config().await?, cri.sandboxes().await?))
    };
    let (config, pods) = match ask.await {
        Ok(answer) => answer,
        // Containers keep running without containerd.
        Err(_) if cx.files.list(CONTAINERS)?.is_empty() || cx.files.is_same(&files[0])? => return Ok(()),
        Err(e) => {
            let what = "containerd does not answer while containers run: nodeinit cannot tell whether their cgroup driver would change";
            return Err(StepError::caused(what, e).exit(Exit::TryAgain).hint(
                "see `journalctl -u containerd`; restart containerd (`systemctl restart containerd`) or reboot this machine, then run the same command again",
            ));
        }
    };
    let by_systemd = runtime_config::systemd_cgroup(&config);
    let wanted = render_containerd::uses_systemd_cgroups(&cx.cluster);
    if pods.is_empty() || by_systemd.is_none_or(|found| found == wanted) {
        return Ok(());
    }
    let what = format!(
        "containerd would change to SystemdCgroup = {wanted} while {} pods run, which would break them",
        pods.len()
    );
    Err(StepError::new(what)
        .hint("drain the node and remove its pods, or set cgroupDriver in kubelet.config to what containerd uses"))
}

/// Lets containerd read a changed configuration before it is installed.
async fn try_out(cx: &Context, duty: Duty, files: &[NewFile]) -> Result<(), StepError> {
    let Some(config) = files.first() else { return Ok(()) };
    if cx.files.is_same(config)? {
        return Ok(());
    }
    cx.place(vec![NewFile::private(TRIAL, &config.content[..])]).await?;
    let (program, trial) = (cx.files.real(&program(cx, duty)), cx.files.real(Path::new(TRIAL)));
    let command = [&program.to_string_lossy(), "--config", &trial.to_string_lossy(), "config", "dump"];
    let read = cx.commands.run(&command, LIMIT).await;
    cx.files.remove_file(TRIAL)?;
    read.map(drop).map_err(|e: CommandError| {
        StepError::caused(format!("containerd rejects the new {}", paths::CONTAINERD_CONFIG), e)
            .hint("fix that file, or set containerRuntime.manage: false; nothing was changed")
    })
}

/// Waits until containerd serves the kubelet.
async fn serves(cx: &Context) -> Result<(), StepError> {
    let socket = cx.files.real(Path::new(SOCKET));
    let ask = async || {
        let answer = async { Cri::connect(&socket).await?.version().await };
        match answer.await {
            Ok(_) => ControlFlow::Break(()),
            Err(e) => ControlFlow::Continue(e.to_string()),
        }
    };
    Wait::new("containerd to answer", START_LIMIT)
        .until(ask)
        .await
        .map_err(|late| StepError::from(late).hint("see `journalctl -u containerd`, then run the same command again"))
}

/// Refuses an imported file that overrides the same keys.
async fn refuse_overridden(cx: &Context) -> Result<(), StepError> {
    let findings = runtime_config::settings(cx).await;
    let overridden = findings.into_iter().find(|each| each.is_failure() || each.check == runtime_config::CHECK);
    let Some(finding) = overridden else { return Ok(()) };
    let what = format!("containerd is configured, but {}", finding.what);
    let imports = format!("a file that {} imports may set this: fix that file", paths::CONTAINERD_CONFIG);
    let hint = format!("{imports}; else {}", finding.remedy);
    Err(StepError::new(what).exit(Exit::Unfit).hint(hint))
}

/// Whether this machine's containerd is the one that nodeinit installed and has not removed yet.
pub(super) fn is_removed(cx: &Context) -> bool {
    cx.journal.state().units.contains(UNIT) && !cx.files.exists(systemd::enabled(UNIT))
}

/// Returns the configuration keys that have no effect if nodeinit only checks containerd.
#[must_use]
pub fn settings(cx: &Context) -> Vec<&'static str> {
    let cluster = &cx.cluster;
    let all = [
        ("images.mirrors", !cluster.registry_mirrors.is_empty()),
        ("images.registryAuthFile", cluster.registry_auth.is_some()),
        ("containerRuntime.proxy", cluster.container_runtime.proxy != Proxy::default()),
    ];
    all.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key).collect()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests create the files of a fake machine")]
mod tests {
    use super::*;
    use crate::context::testing::context_of;
    use std::os::unix::fs::PermissionsExt;

    const HEAD: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.37.1}\n";
    const SOURCE: &str = "artifacts: {source: /source}\n";

    fn machine(config: &str, files: &[&str]) -> (tempfile::TempDir, Context) {
        let (dir, cx) = context_of(&format!("{HEAD}{config}"));
        for file in files {
            let real = dir.path().join(file.trim_start_matches('/'));
            std::fs::create_dir_all(real.parent().unwrap()).unwrap();
            std::fs::write(&real, "#!/bin/sh\necho containerd containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u1\n").unwrap();
            std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        (dir, cx)
    }

    #[tokio::test]
    async fn containerd_is_installed_configured_or_checked() {
        let (program, unit) = ("/usr/bin/containerd", "/usr/lib/systemd/system/containerd.service");
        let config = paths::CONTAINERD_CONFIG;
        for (manage, files, wanted) in [
            ("", &[][..], Duty::Install),
            ("", &[program][..], Duty::Check),
            ("", &[config][..], Duty::Check),
            ("", &[unit][..], Duty::Check),
            ("containerRuntime: {manage: true}\n", &[][..], Duty::Install),
            ("containerRuntime: {manage: true}\n", &[program, config, unit][..], Duty::Configure),
            ("containerRuntime: {manage: true}\n", &[config][..], Duty::Install),
            ("containerRuntime: {manage: false}\n", &[][..], Duty::Check),
            ("containerRuntime: {manage: false}\n", &[program, config][..], Duty::Check),
            ("kubelet: {config: {containerRuntimeEndpoint: \"unix:///run/crio/crio.sock\"}}\n", &[][..], Duty::Check),
        ] {
            let (_dir, cx) = machine(&format!("{SOURCE}{manage}"), files);
            assert_eq!(duty(&cx), wanted, "{manage} with {files:?}");
        }
        let (_dir, cx) = machine("", &[]);
        assert_eq!(duty(&cx), Duty::Check, "an image has no source to install from");
        let (_dir, cx) = machine("containerRuntime: {manage: true}\n", &[program]);
        assert_eq!(duty(&cx), Duty::Configure, "configuring needs no source");
    }

    #[tokio::test]
    async fn a_containerd_that_nodeinit_installed_stays_managed() {
        let (_dir, cx) = machine(
            SOURCE,
            &["/source/bin/containerd", "/source/bin/containerd-shim-runc-v2", "/source/bin/ctr", "/source/bin/runc"],
        );
        let State::Needed(changes) = ContainerRuntime.check(&cx).await.unwrap() else { panic!("nothing to do") };
        assert_eq!(
            changes,
            [
                "place /usr/local/bin/containerd",
                "place /usr/local/bin/containerd-shim-runc-v2",
                "place /usr/local/bin/ctr",
                "place /usr/local/sbin/runc",
                "write /etc/containerd/config.toml",
                "write /etc/systemd/system/containerd.service",
                "start and enable containerd.service",
            ]
        );
        artifacts::runtime(&cx.cluster).apply(&cx).await.unwrap();
        assert_eq!(duty(&cx), Duty::Install, "after an interrupted installation");
        let files = files(&cx, Duty::Install).await.unwrap();
        let unit = files.iter().find(|file| file.path == Path::new(paths::CONTAINERD_UNIT)).unwrap();
        assert!(String::from_utf8_lossy(&unit.content).contains("ExecStart=/usr/local/bin/containerd\n"));
        cx.place(files).await.unwrap();
        assert_eq!(duty(&cx), Duty::Install);
    }

    #[tokio::test]
    async fn the_configuration_of_an_installed_containerd_matches_its_version_and_keeps_its_mode() {
        let (dir, cx) = machine("containerRuntime: {manage: true}\n", &["/usr/bin/containerd"]);
        let config = async || files(&cx, Duty::Configure).await.unwrap().remove(0);
        assert!(config().await.content.starts_with(b"# Written by nodeinit"));
        assert!(String::from_utf8_lossy(&config().await.content).contains("version = 2\n"));
        std::fs::create_dir_all(dir.path().join("etc/containerd")).unwrap();
        let path = dir.path().join("etc/containerd/config.toml");
        std::fs::write(&path, "version = 2\nroot = '/data'\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let edited = config().await;
        assert!(edited.content.starts_with(b"version = 2\nroot = '/data'\n") && edited.mode == 0o600);
        std::fs::write(&path, "version = 2\n[plugins\n").unwrap();
        let error = files(&cx, Duty::Configure).await.unwrap_err();
        assert_eq!(error.to_string(), "/etc/containerd/config.toml cannot be edited");
        assert_eq!(error.causes(), ["line 2 is not valid TOML"]);
    }

    #[tokio::test]
    async fn mirrors_that_are_no_longer_configured_are_removed() {
        let mirrors = "images: {mirrors: [{registry: docker.io, urls: [\"https://m.example.org\"]}]}\n\
                       containerRuntime: {manage: true, proxy: {http: \"http://p:1\"}}\n";
        let (dir, cx) = machine(mirrors, &["/usr/bin/containerd"]);
        std::fs::create_dir_all(dir.path().join("etc/containerd/certs.d/quay.io")).unwrap();
        let theirs = dir.path().join("etc/containerd/certs.d/quay.io/hosts.toml");
        std::fs::write(&theirs, "theirs").unwrap();
        let wanted = files(&cx, Duty::Configure).await.unwrap();
        cx.place(wanted.clone()).await.unwrap();
        assert_eq!(stale(&cx, &wanted), [""; 0].map(PathBuf::from));
        let left = stale(&cx, &wanted[..1]);
        assert_eq!(left, ["/etc/containerd/certs.d/docker.io/hosts.toml", paths::CONTAINERD_PROXY].map(PathBuf::from));
        undo::undo(&cx, &StepId::Containerd, &left).unwrap();
        assert!(!cx.files.exists(paths::CONTAINERD_PROXY) && theirs.exists());
        assert_eq!(stale(&cx, &wanted[..1]), [""; 0].map(PathBuf::from), "a second time");
    }

    #[tokio::test]
    async fn preflight_refuses_mirrors_that_containerd_would_not_read() {
        let (dir, cx) = machine(
            "containerRuntime: {manage: true}\nimages: {mirrors: [{registry: docker.io, urls: [\"https://m.example.org\"]}]}\n",
            &["/usr/bin/containerd"],
        );
        let found = async || {
            let report = crate::steps::preflight::report(&cx).await;
            let found = report.failures().filter(|f| f.check == "containerd-config").cloned();
            found.map(|f| format!("{}; {}", f.what, f.remedy)).collect::<Vec<_>>()
        };
        assert!(found().await.is_empty());
        std::fs::write(dir.path().join("usr/bin/containerd"), "#!/bin/sh\necho containerd containerd v2.4.2 0\n")
            .unwrap();
        std::fs::create_dir_all(dir.path().join("etc/containerd/conf.d")).unwrap();
        let config = dir.path().join("etc/containerd/config.toml");
        std::fs::write(
            &config,
            "version = 3\n[plugins.'io.containerd.cri.v1.images'.registry]\nconfig_path = '/theirs'\n",
        )
        .unwrap();
        let all = found().await;
        assert!(
            all.len() == 1 && all[0].contains("its config_path is /theirs") && all[0].contains("remove images.mirrors"),
            "{all:?}"
        );

        std::fs::remove_file(&config).unwrap();
        let imported = dir.path().join("etc/containerd/conf.d/10-theirs.toml");
        std::fs::write(
            &imported,
            "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\nrestrict_oom_score_adj = true\n",
        )
        .unwrap();
        std::fs::write(imported.with_extension("toml.bak"), "[mirrors").unwrap();
        assert!(found().await.is_empty());
        for plugin in ["io.containerd.cri.v1.images", "io.containerd.grpc.v1.cri"] {
            let mirrors = format!("[plugins.'{plugin}'.registry.mirrors.'docker.io']\nendpoint = ['https://x']\n");
            std::fs::write(&imported, mirrors).unwrap();
            let all = found().await;
            assert!(all.len() == 1 && all[0].contains("/etc/containerd/conf.d/10-theirs.toml has mirrors"), "{all:?}");
        }
        let own = "version = 3\nimports = ['conf.d/*.toml']\n[plugins.'io.containerd.cri.v1.images'.registry.mirrors.a]\nendpoint = ['https://x']\n";
        std::fs::write(&config, own).unwrap();
        let (_dir, others) = machine("containerRuntime: {manage: true}\n", &[]);
        let others = Context { files: cx.files.clone(), ..others };
        files(&others, Duty::Configure).await.expect("without config_path, containerd takes the mirrors of both");
    }

    #[tokio::test]
    async fn a_containerd_that_does_not_answer_may_have_containers() {
        let (dir, cx) = machine("containerRuntime: {manage: true}\n", &["/usr/bin/containerd"]);
        let files = files(&cx, Duty::Configure).await.unwrap();
        refuse_another_cgroup_driver(&cx, &files).await.unwrap();
        std::fs::create_dir_all(dir.path().join("run/containerd/io.containerd.runtime.v2.task/k8s.io/0123")).unwrap();
        let error = refuse_another_cgroup_driver(&cx, &files).await.unwrap_err();
        assert!(error.exit == Exit::TryAgain && error.to_string().contains("does not answer"), "{error}");
        cx.place(files.clone()).await.unwrap();
        refuse_another_cgroup_driver(&cx, &files).await.unwrap();
    }

    #[tokio::test]
    async fn a_restart_that_a_killed_run_left_out_is_detected_by_file_times() {
        let (dir, cx) = machine(SOURCE, &["/source/bin/containerd"]);
        let files = files(&cx, Duty::Install).await.unwrap();
        cx.place(files.clone()).await.unwrap();
        let ago = |seconds| std::time::SystemTime::now() - Duration::from_secs(seconds);
        let aged = |path: &Path, seconds| {
            let file = std::fs::File::options().write(true).open(cx.files.real(path)).unwrap();
            file.set_modified(ago(seconds)).unwrap();
        };
        files.iter().for_each(|file| aged(&file.path, 100));
        let reason = || reason_to_restart(&cx, UNIT, Some(ago(50)), &read_at_start(&cx, Duty::Install, &files));
        assert_eq!(reason(), None);
        std::fs::create_dir_all(dir.path().join("usr/local/bin")).unwrap();
        std::fs::write(dir.path().join("usr/local/bin/containerd"), "").unwrap();
        assert_eq!(reason().unwrap(), "restart containerd.service: /usr/local/bin/containerd is newer");
        aged(Path::new("/usr/local/bin/containerd"), 100);
        renew_time(&cx, &files).unwrap();
        assert_eq!(reason().unwrap(), "restart containerd.service: /etc/containerd/config.toml is newer");
    }
}
