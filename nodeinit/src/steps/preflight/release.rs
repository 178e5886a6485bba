//! Checks that the kubelet, containerd and the images match the configured release of Kubernetes.

use super::Finding;
use crate::{
    api::cri::{Cri, SOCKET},
    context::Context,
    host::{commands::Commands, containerd},
    render::paths,
    steps::{artifacts, images::audience},
};
use nodeinit_config::{
    cluster::{ArtifactSource, KubernetesImage},
    releases::{ContainerdVersion, Program, Release},
    yaml,
};
use serde_json::Value;
use std::{path::Path, time::Duration};

pub(super) const CHECK: &str = "release";

/// Where the kubelet's unit reads `KUBELET_EXTRA_ARGS` from: the last file that sets it wins.
const DEFAULTS: [&str; 2] = ["/etc/sysconfig/kubelet", "/etc/default/kubelet"];

const RESTART: &str = "in /etc/containerd/config.toml, then `systemctl restart containerd`";

/// Runs the checks that ask containerd. Another check reports a containerd that does not answer.
pub(super) async fn runtime(cx: &Context) -> Vec<Finding> {
    let socket = cx.files.real(Path::new(SOCKET));
    let ask = async {
        let cri = Cri::connect(socket).await?;
        Ok::<_, crate::api::cri::CriError>((cri.version().await?, cri.config().await?))
    };
    let Ok(((name, version), config)) = ask.await else { return Vec::new() };
    if name != "containerd" {
        return Vec::new();
    }
    let mut findings = containerd_version(&cx.cluster.release, &version);
    let sandbox = match config["sandboxImage"].as_str() {
        Some(image) => Some(image.to_owned()),
        // The status lacks it since containerd 2.0.
        None => pinned(&cx.commands).await,
    };
    if let Some(image) = sandbox {
        findings.extend(pause(cx, &image).await);
    }
    findings
}

fn containerd_version(release: &Release, version: &str) -> Vec<Finding> {
    let Some(found) = minor(version) else { return Vec::new() };
    let name = release.name();
    let (least, recommended) = (release.least_containerd, release.recommended_containerd);
    if found < least {
        let what = format!("containerd is {version}, but Kubernetes {name} needs {}.{} or newer", least.0, least.1);
        return vec![Finding::failure(CHECK, what, "install a newer containerd")];
    }
    if found < recommended {
        let (major, minor) = recommended;
        let what =
            format!("containerd is {version}, but a release after Kubernetes {name} needs {major}.{minor} or newer");
        return vec![Finding::warning(CHECK, what, "install a newer containerd before that upgrade")];
    }
    Vec::new()
}

/// Parses `1.6.20~ds1` or `v1.6.20` to `(1, 6)`.
fn minor(version: &str) -> Option<ContainerdVersion> {
    let mut parts = version.trim_start_matches('v').split('.').map_while(|part| part.parse().ok());
    Some((parts.next()?, parts.next()?))
}

/// Returns the sandbox image from the configuration of containerd 2.
async fn pinned(commands: &Commands) -> Option<String> {
    let dump = commands.run(&["containerd", "config", "dump"], Duration::from_secs(10)).await.ok()?;
    pinned_in(&dump)
}

/// Returns `sandbox` of the table `pinned_images` in a TOML configuration.
fn pinned_in(dump: &str) -> Option<String> {
    let lines = dump.lines().map(str::trim).skip_while(|line| !line.ends_with(".pinned_images]")).skip(1);
    let mut table = lines.take_while(|line| !line.starts_with('['));
    let value = table.find_map(|line| line.strip_prefix("sandbox")?.trim_start().strip_prefix('='))?;
    Some(value.trim().trim_matches(['\'', '"']).to_owned())
}

/// containerd starts every pod with this image, regardless of the kubelet's flags.
async fn pause(cx: &Context, image: &str) -> Option<Finding> {
    let wanted = cx.cluster.image(KubernetesImage::Pause);
    if image == wanted {
        return None;
    }
    let artifacts = &cx.cluster.artifacts;
    let comes = artifacts.images.iter().any(|each| each.image == image)
        || containerd::images(&cx.commands).await.is_ok_and(|present| present.contains_key(image));
    let offline = artifacts.source != ArtifactSource::Image && !artifacts.images.is_empty();
    Some(other_pause(&cx.cluster.release, image, &wanted, comes, offline))
}

/// `comes`: the image is on this machine, or nodeinit imports it. `offline`: nodeinit imports all images, so containerd pulls nothing.
fn other_pause(release: &Release, image: &str, wanted: &str, comes: bool, offline: bool) -> Finding {
    let set = format!("set sandbox_image = {wanted:?} (containerd 2: pinned_images.sandbox) {RESTART}");
    let what = format!(
        "containerd starts every pod with {image}, but the pause image of Kubernetes {} is {wanted}",
        release.name()
    );
    match (comes, offline) {
        (true, _) => Finding::warning(CHECK, what, set),
        (false, false) => Finding::warning(CHECK, format!("{what}; {image} is not on this machine"), set),
        (false, true) => {
            let what = format!("{what}; {image} is neither on this machine nor in artifacts.images, so no pod starts");
            Finding::failure(CHECK, what, format!("{set}; or add the archive of {image} to artifacts.images"))
        }
    }
}

/// Runs the checks that only read files.
pub(super) fn local(cx: &Context) -> Vec<Finding> {
    [other_images(cx), control_plane(cx), kubelet_flags(cx)].concat()
}

/// Reports images of Kubernetes that `artifacts.images` lists only in another version.
fn other_images(cx: &Context) -> Vec<Finding> {
    let listed = &cx.cluster.artifacts.images;
    let wanted = KubernetesImage::ALL.map(|image| cx.cluster.image(image));
    let missing = wanted.iter().filter(|image| {
        audience::is_for(&cx.cluster, image, cx.node.role) && !listed.iter().any(|each| each.image == **image)
    });
    let finding = |wanted: &String| {
        let other = listed.iter().find(|each| name(&each.image) == name(wanted))?;
        let version = cx.cluster.version;
        let what = format!("artifacts.images lists {}, but Kubernetes {version} uses {wanted}", other.image);
        Some(Finding::failure(CHECK, what, "provide the image of that version, or change kubernetes.version"))
    };
    missing.filter_map(finding).collect()
}

/// Returns an image's name without its tag.
fn name(image: &str) -> &str {
    image.rsplit_once(':').map_or(image, |(name, _)| name)
}

/// Warns about static pods of another version of Kubernetes. `up` does not upgrade.
fn control_plane(cx: &Context) -> Vec<Finding> {
    let components = [KubernetesImage::ApiServer, KubernetesImage::ControllerManager, KubernetesImage::Scheduler];
    let finding = |component: KubernetesImage| {
        let path = Path::new(paths::STATIC_PODS).join(format!("{}.yaml", component.file()));
        // The step of the component replaces or reports an invalid file.
        let pod = yaml::document(&cx.files.read_text(&path).ok()??).ok()?;
        let found = pod.pointer("/spec/containers/0/image").and_then(Value::as_str)?;
        let wanted = cx.cluster.image(component);
        let differs = found != wanted && name(found) == name(&wanted);
        let what = format!("{} runs {found}, but kubernetes.version is {}", path.display(), cx.cluster.version);
        differs.then(|| Finding::warning(CHECK, what, "set kubernetes.version to the version of the cluster"))
    };
    components.into_iter().filter_map(finding).collect()
}

/// Reports flags of the operator that this release of the kubelet rejects.
fn kubelet_flags(cx: &Context) -> Vec<Finding> {
    let Some((path, set)) = DEFAULTS.into_iter().rev().find_map(|path| Some((path, extra_args(cx, path)?))) else {
        return Vec::new();
    };
    let words = set.split(|c: char| c.is_whitespace() || matches!(c, '=' | '"' | '\''));
    let flags = words.filter_map(|word| word.strip_prefix("--"));
    let finding = |flag: &str| {
        let lost = cx.cluster.release.lost(Program::Kubelet, flag)?;
        let what = format!(
            "{path} sets the kubelet's flag --{flag}, which Kubernetes {} removed: the kubelet would exit",
            lost.by
        );
        Some(Finding::failure(CHECK, what, lost.remedy.clone()))
    };
    flags.filter_map(finding).collect()
}

/// Returns what a file sets `KUBELET_EXTRA_ARGS` to.
fn extra_args(cx: &Context, path: &str) -> Option<String> {
    let text = cx.files.read_text(path).ok()??;
    let set =
        |line: &str| Some(line.trim().strip_prefix("KUBELET_EXTRA_ARGS")?.trim_start().strip_prefix('=')?.to_owned());
    text.lines().rev().find_map(set)
}

/// Checks that the kubelet at `path` has the configured version.
pub(super) async fn kubelet(cx: &Context, path: &Path) -> Result<Option<Finding>, crate::host::commands::CommandError> {
    let found = artifacts::kubelet_version(&cx.commands, &cx.files.real(path)).await?;
    let wanted = cx.cluster.version.to_string();
    let remedy = "provide the kubelet of that version (`artifacts` in the configuration), or change kubernetes.version";
    let what = format!("the kubelet at {} is {found}, but kubernetes.version is {wanted}", path.display());
    Ok((found != wanted).then(|| Finding::failure(CHECK, what, remedy)))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests create the files of a fake machine")]
mod tests {
    use super::*;
    use crate::{context::testing::context_of, render::units, steps::preflight::Level};
    use nodeinit_config::releases;

    const HEAD: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.37.1}\n";

    fn newest() -> Release {
        releases::embedded().pop().unwrap()
    }

    #[test]
    fn containerd_is_refused_below_the_minimum_and_warned_about_below_the_recommended() {
        let level = |version: &str| containerd_version(&newest(), version).pop().map(|finding| finding.level);
        for old in ["1.5.9~ds1", "v1.4.13", "0.9"] {
            assert_eq!(level(old), Some(Level::Failure), "{old}");
        }
        for old in ["1.6.20~ds1", "1.7.24"] {
            assert_eq!(level(old), Some(Level::Warning), "{old}");
        }
        for fit in ["v2.0.0", "2.10.1", "unknown"] {
            assert_eq!(level(fit), None, "{fit}");
        }
        let found = containerd_version(&newest(), "1.5.9").remove(0).what;
        assert_eq!(found, "containerd is 1.5.9, but Kubernetes 1.37 needs 1.6 or newer");
    }

    #[test]
    fn another_pause_image_is_refused_if_it_has_no_source() {
        let finding = |comes, offline| other_pause(&newest(), "r.io/pause:3.10.1", "r.io/pause:3.10.2", comes, offline);
        assert_eq!(finding(true, true).level, Level::Warning);
        assert_eq!(finding(false, false).level, Level::Warning);
        let refused = finding(false, true);
        assert_eq!(refused.level, Level::Failure);
        assert!(refused.what.contains("no pod starts"), "{}", refused.what);
        assert!(refused.remedy.starts_with("set sandbox_image = \"r.io/pause:3.10.2\""), "{}", refused.remedy);
    }

    #[test]
    fn the_sandbox_image_of_containerd_2_is_found() {
        let dump = "version = 3\n[plugins]\n  [plugins.'io.containerd.cri.v1.images']\n    snapshotter = 'overlayfs'\n\n    \
            [plugins.'io.containerd.cri.v1.images'.pinned_images]\n      sandbox = 'registry.k8s.io/pause:3.10'\n\n    \
            [plugins.'io.containerd.cri.v1.images'.registry]\n      config_path = ''\n";
        assert_eq!(pinned_in(dump).as_deref(), Some("registry.k8s.io/pause:3.10"));
        assert_eq!(pinned_in("[a]\nsandbox = 'x'\n"), None);
        assert_eq!(pinned_in("[a.pinned_images]\n[b]\nsandbox = 'x'\n"), None);
    }

    #[test]
    fn images_of_another_version_are_named() {
        let images = |list: &str| format!("{HEAD}artifacts: {{source: /opt/k, binaries: [], images: [{list}]}}\n");
        let found = |list: &str| {
            let (_dir, cx) = context_of(&images(list));
            other_images(&cx).into_iter().map(|finding| finding.what).collect::<Vec<_>>()
        };
        let old = "{path: a.tar, image: \"registry.k8s.io/pause:3.10.1\"}";
        assert_eq!(
            found(old),
            [
                "artifacts.images lists registry.k8s.io/pause:3.10.1, but Kubernetes v1.37.1 uses registry.k8s.io/pause:3.10.2"
            ]
        );
        let both = format!("{old}, {{path: b.tar, image: \"registry.k8s.io/pause:3.10.2\"}}");
        assert_eq!(found(&both), [""; 0], "containerd may need the other one");
    }

    #[test]
    fn a_control_plane_of_another_version_is_named() {
        let (dir, cx) = context_of(HEAD);
        let manifests = dir.path().join("etc/kubernetes/manifests");
        std::fs::create_dir_all(&manifests).unwrap();
        let pod = |image: &str| format!("spec: {{containers: [{{image: \"{image}\"}}]}}\n");
        std::fs::write(manifests.join("kube-apiserver.yaml"), pod("registry.k8s.io/kube-apiserver:v1.36.4")).unwrap();
        std::fs::write(manifests.join("kube-scheduler.yaml"), pod("registry.k8s.io/kube-scheduler:v1.37.1")).unwrap();
        std::fs::write(manifests.join("kube-controller-manager.yaml"), pod("example.org/own:v1")).unwrap();
        let found: Vec<String> = control_plane(&cx).into_iter().map(|finding| finding.what).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with("runs registry.k8s.io/kube-apiserver:v1.36.4, but kubernetes.version is v1.37.1"));
    }

    #[test]
    fn kubelet_flags_that_the_release_removed_are_named() {
        let (dir, cx) = context_of(HEAD);
        let bad = "# --boot-id-file=x\nKUBELET_EXTRA_ARGS=\"--v=2 --pod-infra-container-image=x --housekeeping-interval=10s\"\n";
        let empty = "KUBELET_EXTRA_ARGS=\n";
        let other = "# KUBELET_EXTRA_ARGS=--pod-infra-container-image=x\nKUBELET_EXTRA_ARGS_OLD=--pod-infra-container-image=x\n";
        for (sysconfig, default, expected) in [
            (None, Some(bad), Some("/etc/default/kubelet")),
            (Some(bad), None, Some("/etc/sysconfig/kubelet")),
            (Some(empty), Some(bad), Some("/etc/default/kubelet")),
            (Some(bad), Some(empty), None),
            (Some(bad), Some(other), Some("/etc/sysconfig/kubelet")),
        ] {
            for (path, text) in DEFAULTS.into_iter().zip([sysconfig, default]) {
                let real = dir.path().join(&path[1..]);
                std::fs::create_dir_all(real.parent().unwrap()).unwrap();
                match text {
                    Some(text) => std::fs::write(&real, text).unwrap(),
                    None => drop(std::fs::remove_file(&real)),
                }
            }
            let found: Vec<String> = kubelet_flags(&cx).into_iter().map(|finding| finding.what).collect();
            let what = "sets the kubelet's flag --pod-infra-container-image, which Kubernetes 1.35 removed: the kubelet would exit";
            assert_eq!(found, expected.iter().map(|path| format!("{path} {what}")).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_unit_reads_these_files_in_this_order() {
        let files = units::KUBELET_DROP_IN.lines().filter_map(|line| line.strip_prefix("EnvironmentFile=-/etc"));
        assert_eq!(files.map(|file| format!("/etc{file}")).collect::<Vec<_>>(), DEFAULTS);
    }
}
