//! containerd, the kubelet, and the files that they come from.

use super::Finding;
use crate::{
    api::cri::{Cri, CriError, SOCKET},
    context::Context,
    host::commands::CommandError,
    steps::artifacts::{kubelet_path, kubelet_version},
};
use nodeinit_config::cluster::ArtifactSource;
use std::path::{Path, PathBuf};

/// The oldest containerd that serves CRI v1, which the kubelet speaks.
const LEAST_CONTAINERD: (u32, u32) = (1, 6);

pub(super) async fn runtime(cx: &Context) -> Vec<Finding> {
    const CHECK: &str = "containerd";
    let answer = async { Cri::connect(cx.files.real(Path::new(SOCKET))).await?.version().await };
    let mut findings = match answer.await {
        Ok((name, version)) if name == "containerd" && is_older(&version) => {
            let (major, minor) = LEAST_CONTAINERD;
            let what = format!("containerd is {version}, and {major}.{minor} is the oldest that Kubernetes works with");
            vec![Finding::failure(CHECK, what, "install a newer containerd")]
        }
        Ok(_) => Vec::new(),
        Err(CriError::Connect { .. }) if !has_program("containerd") => {
            vec![Finding::failure(
                CHECK,
                "containerd is not installed",
                "install it (Debian: `apt install containerd`)",
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
            let remedy =
                "take `cri` from disabled_plugins in /etc/containerd/config.toml, then `systemctl restart containerd`";
            vec![Finding::failure(CHECK, e.to_string(), remedy)]
        }
        Err(e) => vec![Finding::failure(
            CHECK,
            e.to_string(),
            "see `systemctl status containerd` and `journalctl -u containerd`",
        )],
    };
    let imports = cx.cluster.artifacts.source != ArtifactSource::Image && !cx.cluster.artifacts.images.is_empty();
    if imports && findings.is_empty() && !has_program("ctr") {
        let what = "`ctr` is not installed, and images are to be imported with it";
        findings.push(Finding::failure(CHECK, what, "install containerd with its tools"));
    }
    findings
}

/// Whether a version such as `1.5.9~ds1` or `v1.5.9` is too old; one that is not understood is not.
fn is_older(version: &str) -> bool {
    let mut parts = version.trim_start_matches('v').split('.').map_while(|part| part.parse::<u32>().ok());
    matches!((parts.next(), parts.next()), (Some(major), Some(minor)) if (major, minor) < LEAST_CONTAINERD)
}

fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH")
        .unwrap_or_else(|| "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into());
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

/// The kubelet that will run must be of the configured version. One that comes from a mirror is looked at after its download.
pub(super) async fn kubelet(cx: &Context) -> Vec<Finding> {
    const CHECK: &str = "kubelet";
    let place = kubelet_path(&cx.cluster);
    let path: PathBuf = match &cx.cluster.artifacts.source {
        ArtifactSource::Image => place.clone(),
        ArtifactSource::Directory(directory) => {
            let listed = cx.cluster.artifacts.binaries.iter().find(|b| b.to == place).map(|b| directory.join(&b.path));
            listed.filter(|path| cx.files.exists(path)).unwrap_or_else(|| place.clone())
        }
        ArtifactSource::Mirror(_) => return Vec::new(),
    };
    let wanted = cx.cluster.version.to_string();
    let remedy = "bring the kubelet of that version (artifacts in the configuration), or change kubernetes.version";
    match kubelet_version(&cx.commands, &cx.files.real(&path)).await {
        Ok(found) if found == wanted => Vec::new(),
        Ok(found) => {
            let what = format!("the kubelet at {} is {found}, and kubernetes.version is {wanted}", path.display());
            vec![Finding::failure(CHECK, what, remedy)]
        }
        Err(e) if e.is_missing() => {
            let what = format!("there is no kubelet at {}", path.display());
            vec![Finding::failure(CHECK, what, "name where it comes from in artifacts, or bake it into the image")]
        }
        // A directory may be mounted so that nothing in it can be run: the kubelet is looked at again once in place.
        Err(CommandError::Start { .. }) if path != place => Vec::new(),
        Err(e) => {
            let what = format!("the kubelet at {} does not run: {e}", path.display());
            vec![Finding::failure(CHECK, what, "it is damaged or for another processor: bring it anew")]
        }
    }
}

/// What the configuration names must be in the directory, unless it is in place already.
pub(super) fn artifacts(cx: &Context) -> Vec<Finding> {
    let ArtifactSource::Directory(directory) = &cx.cluster.artifacts.source else { return Vec::new() };
    let is_kubelet = |to: &Path| to == kubelet_path(&cx.cluster);
    let missing = cx.cluster.artifacts.binaries.iter().filter(|b| !is_kubelet(&b.to) && !cx.files.exists(&b.to));
    let missing = missing.map(|b| directory.join(&b.path)).filter(|path| !cx.files.exists(path));
    let finding = |path: PathBuf| {
        let remedy = "put it there, or correct artifacts in the configuration";
        Finding::failure("artifacts", format!("{} is missing", path.display()), remedy)
    };
    missing.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_of_containerd_are_told_from_new_ones() {
        assert!(is_older("1.5.9~ds1") && is_older("v1.4.13") && is_older("0.9"));
        assert!(!is_older("1.6.20~ds1") && !is_older("v2.1.3") && !is_older("unknown"));
    }
}
