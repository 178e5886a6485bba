//! Checks containerd, the kubelet, and their sources.

use super::{ABSENT, Finding, release};
use crate::{
    api::cri::{Cri, CriError, SOCKET},
    context::Context,
    fetch::login,
    host::commands::{CommandError, is_installed},
    steps::{
        artifacts::kubelet_path,
        containerd::{self, Duty},
        fetched,
        source::{self, Local},
    },
};
use nodeinit_config::cluster::{ArtifactSource, Binary};
use std::path::{Path, PathBuf};

pub(super) async fn runtime(cx: &Context) -> Vec<Finding> {
    const CHECK: &str = "containerd";
    let answer = async { Cri::connect(cx.files.real(Path::new(SOCKET))).await?.version().await };
    let mut findings = match answer.await {
        Ok(_) => Vec::new(),
        Err(CriError::Connect { .. }) if !is_installed("containerd") => {
            vec![Finding::failure(
                CHECK,
                "containerd is not installed",
                "install it (Debian: `apt install containerd`), or let nodeinit do it: set containerRuntime.manage: true and an artifacts.source \
                 (see docs/how-to/containerd.md)",
            )]
        }
        Err(e @ CriError::Connect { .. }) => {
            vec![Finding::failure(
                CHECK,
                e.to_string(),
                "start it: `systemctl enable --now containerd`; see `journalctl -u containerd`",
            )]
        }
        Err(e @ CriError::Refused { .. }) => {
            let remedy = "remove `cri` from disabled_plugins in /etc/containerd/config.toml, then `systemctl restart containerd`";
            vec![Finding::failure(CHECK, e.to_string(), remedy)]
        }
        Err(e) => vec![Finding::failure(
            CHECK,
            e.to_string(),
            "see `systemctl status containerd` and `journalctl -u containerd`",
        )],
    };
    let imports = cx.cluster.artifacts.source != ArtifactSource::Image && !cx.cluster.artifacts.images.is_empty();
    if imports && findings.is_empty() && !is_installed("ctr") {
        let what = "`ctr`, which imports the images, is not installed";
        findings.push(Finding::failure(CHECK, what, "install containerd with its tools"));
    }
    findings
}

/// Checks the file with the logins of registries. If nodeinit manages containerd, the check of its configuration reads the file.
pub(super) fn logins(cx: &Context) -> Vec<Finding> {
    const CHECK: &str = "registry-auth";
    let Some(path) = &cx.cluster.registry_auth else { return Vec::new() };
    if !cx.files.exists(path) {
        let what = format!("{} is missing: images are pulled without logins", path.display());
        let remedy = "copy the file there with mode 0600, or remove images.registryAuthFile";
        return vec![Finding::warning(CHECK, what, remedy)];
    }
    match login::of_cluster(&cx.files, &cx.cluster) {
        Err(e) if containerd::duty(cx) == containerd::Duty::Check => {
            vec![Finding::failure(CHECK, e.to_string(), e.advice().unwrap_or_default())]
        }
        _ => Vec::new(),
    }
}

/// Warns about settings of containerd that have no effect on this machine.
pub(super) fn unmanaged(cx: &Context) -> Vec<Finding> {
    let settings = containerd::settings(cx);
    if settings.is_empty() {
        return Vec::new();
    }
    let what = format!(
        "nodeinit does not manage containerd on this machine, so these settings have no effect: {}",
        settings.join(", ")
    );
    vec![Finding::warning("containerd", what, "set containerRuntime.manage: true, or configure containerd yourself")]
}

/// The rule that blocks the metadata service for pods needs `nft`.
pub(super) fn nft(cx: &Context) -> Vec<Finding> {
    // The rule is set after the packages of `os` are installed.
    let is_to_come = cx.cluster.os.packages.install.iter().any(|name| name == "nftables");
    if cx.cluster.network.pods_may_read_metadata || is_to_come || is_installed("nft") {
        return Vec::new();
    }
    let remedy = "install nftables, add it to `os.packages.install`, or set `network.podsMayReadMetadata: true`, which lets every pod read this machine's user-data";
    vec![Finding::failure(
        "nftables",
        "`nft`, which blocks the cloud's metadata service for pods, is not installed",
        remedy,
    )]
}

/// The kubelet must have the configured version. One from a bundle or a
/// mirror is checked after it is installed.
pub(super) async fn kubelet(cx: &Context) -> Vec<Finding> {
    const CHECK: &str = "kubelet";
    let place = kubelet_path(&cx.cluster);
    let path: PathBuf = match &cx.cluster.artifacts.source {
        ArtifactSource::Image => place.clone(),
        // A fetched kubelet is checked after it is installed.
        ArtifactSource::Upstream if !fetched::missing(cx).await.is_ok_and(|missing| missing.is_empty()) => {
            return Vec::new();
        }
        source @ (ArtifactSource::Directory(_) | ArtifactSource::Upstream) => {
            let directory = source.directory().unwrap_or(Path::new("/"));
            let listed = cx.cluster.artifacts.binaries.iter().find(|b| b.to == place);
            // The step that installs it checks its version.
            if listed.is_some_and(|b| is_lent(cx, &b.path)) {
                return Vec::new();
            }
            listed
                .map(|b| directory.join(&b.path))
                .filter(|path| cx.files.exists(path))
                .unwrap_or_else(|| place.clone())
        }
        ArtifactSource::Bundle(_) | ArtifactSource::Mirror(_) => return Vec::new(),
    };
    match release::kubelet(cx, &path).await {
        Ok(other) => other.into_iter().collect(),
        Err(e) if e.is_missing() => {
            let what = format!("there is no kubelet at {}", path.display());
            vec![Finding::failure(
                CHECK,
                what,
                "set artifacts.source to `upstream` with internet access, else to a directory, a bundle or a mirror; or add the kubelet to the machine image",
            )]
        }
        // The directory may be mounted `noexec`: the kubelet is checked again after it is installed.
        Err(CommandError::Start { .. }) if path != place => Vec::new(),
        Err(e) => {
            let what = format!("the kubelet at {} does not run: {e}", path.display());
            vec![Finding::failure(CHECK, what, "it is damaged or built for another architecture: copy it again")]
        }
    }
}

/// The same, for a kubelet that nodeinit does not install.
pub(super) async fn provided_kubelet(cx: &Context) -> Vec<Finding> {
    let place = kubelet_path(&cx.cluster);
    let installs = cx.cluster.artifacts.source != ArtifactSource::Image
        && cx.cluster.artifacts.binaries.iter().any(|binary| binary.to == place);
    if installs { Vec::new() } else { kubelet(cx).await }
}

/// Whether this machine gets the artifact from the first master. The step that needs an unreadable list reports it.
fn is_lent(cx: &Context, path: &str) -> bool {
    source::lent(cx, path).is_ok_and(|lent| lent.is_some_and(|lent| lent.files.contains_key(path)))
}

/// The artifacts of the configuration must be in the directory or the bundle, unless they are installed already. A bundle must be for
/// this configuration and this machine.
pub(super) fn artifacts(cx: &Context) -> Vec<Finding> {
    const CHECK: &str = "artifacts";
    if cx.cluster.artifacts.source == ArtifactSource::Upstream {
        return Vec::new();
    }
    let source = match Local::open(&cx.files, &cx.cluster) {
        Ok(Some(source)) => source,
        Ok(None) => return Vec::new(),
        Err(e) => return vec![Finding::failure(CHECK, e.to_string(), e.advice().unwrap_or_default())],
    };
    // Another check covers the kubelet of a directory.
    let is_known = |to: &Path| matches!(source, Local::Directory(..)) && to == kubelet_path(&cx.cluster);
    let runtime = if containerd::duty(cx) == Duty::Install { &cx.cluster.artifacts.runtime[..] } else { &[] };
    let binaries = &cx.cluster.artifacts.binaries;
    let all = binaries.iter().chain(runtime.iter().filter(|b| !binaries.contains(b)));
    let missing = all.filter(|b| !is_known(&b.to) && !cx.files.exists(&b.to));
    let missing = missing.filter(|b| source.find(&b.path).is_none() && !is_lent(cx, &b.path));
    let missing: Vec<&Binary> = missing.collect();
    if let Some(absent) = source.absent().filter(|_| !missing.is_empty()) {
        return vec![Finding::failure(CHECK, absent, ABSENT)];
    }
    let finding = |binary: &Binary| {
        let remedy = if runtime.contains(binary) {
            "containerd is not installed on this machine: install it (Debian: `apt install containerd`), or set containerRuntime.manage: true \
             and run `nodeinit artifacts fetch`; add the missing artifacts to a bundle with `nodeinit artifacts bundle`"
        } else {
            "copy it there, or fix `artifacts` in the configuration"
        };
        Finding::failure(CHECK, format!("{} is missing", source.name(&binary.path)), remedy)
    };
    missing.into_iter().map(finding).collect()
}
