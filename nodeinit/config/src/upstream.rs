//! The official sources of artifacts: the only code that turns versions into URLs.

use crate::{
    Addon, DOCKER_HUB,
    cluster::{ArtifactSource, Cluster, KubernetesImage},
    model::defaults,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The release of containernetworking/plugins. Source: `build/dependencies.yaml` of Kubernetes v1.37.1.
const CNI_PLUGINS: &str = "v1.9.1";
/// The release of containerd/containerd. Source: the newest tag of the Go module github.com/containerd/containerd/v2.
const CONTAINERD: &str = "2.4.2";
/// The release of opencontainers/runc. Source: the newest tag of the Go module github.com/opencontainers/runc.
const RUNC: &str = "v1.5.2";

/// The host in names of images from Docker Hub; [`DOCKER_HUB`] serves them.
/// Source: `github.com/distribution/reference`, and `core/remotes/docker/registry.go` of containerd.
const DOCKER_IO: &str = "docker.io";

/// The licences of the projects whose images every cluster may have; the manifests of addons have those of theirs. Source: the file LICENSE of each project.
const LICENSES: [(&str, &str); 4] = [
    ("registry.k8s.io/", "Apache-2.0"),
    ("ghcr.io/flannel-io/flannel:", "Apache-2.0"),
    ("ghcr.io/flannel-io/flannel-cni-plugin:", "Apache-2.0"),
    ("ghcr.io/kube-vip/kube-vip:", "Apache-2.0"),
];

/// A file in a directory that serves as `artifacts.source`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Its path below the directory, such as `bin/kubelet`.
    pub path: String,
    /// Its path on a machine; `None` for an image.
    pub to: Option<PathBuf>,
    /// Its official source.
    pub source: Source,
}

/// The official source of an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file, or a member of a compressed tar archive.
    File(File),
    /// An image in a registry.
    Image(Image),
    /// A program without a known source.
    Unknown,
}

/// A file on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its official URL.
    pub official: String,
    /// The URL to use: the official one, or that of a mirror.
    pub url: String,
    /// The URL of the text with its SHA-256, on the same server.
    pub checksum: String,
    /// The wanted member, if it is an archive.
    pub member: Option<String>,
}

/// An image in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its full name.
    pub name: String,
    /// The repository's URL in the distribution protocol: `https://HOST/v2/REPOSITORY`.
    pub repository: String,
    /// A tag, or a digest `sha256:` and hex.
    pub reference: String,
}

impl Source {
    /// Returns the official source, even if a mirror is used: a URL, or an image's full name.
    #[must_use]
    pub fn official(&self) -> Option<&str> {
        match self {
            Self::File(file) => Some(&file.official),
            Self::Image(image) => Some(&image.name),
            Self::Unknown => None,
        }
    }

    /// Returns the SPDX licence of the project that publishes it. Other content of an image has its own licences.
    #[must_use]
    pub fn license(&self) -> Option<&'static str> {
        match self {
            // Kubernetes, the CNI plugins, containerd and runc.
            Self::File(_) => Some("Apache-2.0"),
            Self::Image(image) => {
                let known = LICENSES.iter().find(|(name, _)| image.name.starts_with(name));
                known.map(|(_, license)| *license).or_else(|| of_addons(&image.name))
            }
            Self::Unknown => None,
        }
    }
}

/// The licence of an addon's image, whatever its tag.
fn of_addons(image: &str) -> Option<&'static str> {
    let untagged = |image: &str| image.rsplit_once(':').map(|(name, _)| name.to_owned());
    let mut all = Addon::ALL.into_iter().flat_map(Addon::licensed_images);
    all.find(|(own, _)| untagged(own) == untagged(image))?.1
}

impl Cluster {
    /// Returns every artifact of this cluster for machines of `arch`, named as in Go (`amd64`): the programs, then the images in the
    /// order of need. It does not depend on `artifacts.source`. containerd is included unless `containerRuntime.manage` is false:
    /// nodeinit installs it if it is missing.
    #[must_use]
    pub fn upstream(&self, arch: &str) -> Vec<Artifact> {
        self.upstream_with(arch, self.container_runtime.manage != Some(false))
    }

    /// Returns the same, with or without containerd.
    #[must_use]
    pub fn upstream_with(&self, arch: &str, runtime: bool) -> Vec<Artifact> {
        let artifacts = &self.artifacts;
        // Only with this source are the lists empty because everything is in the image.
        let is_baked = artifacts.source == ArtifactSource::Image;
        let mut binaries = if is_baked {
            defaults::binaries()
        } else {
            artifacts.binaries.iter().map(|b| (b.path.clone(), b.to.clone())).collect()
        };
        if runtime {
            let listed = artifacts.runtime.iter().map(|b| (b.path.clone(), b.to.clone()));
            let all: Vec<_> = if is_baked { defaults::runtime() } else { listed.collect() };
            let unlisted = all.into_iter().filter(|each| !binaries.contains(each)).collect::<Vec<_>>();
            binaries.extend(unlisted);
        }
        let images = if is_baked {
            defaults::images(self)
        } else {
            artifacts.images.iter().map(|i| (i.path.clone(), i.image.clone())).collect()
        };
        let program = |(path, to): (String, PathBuf)| {
            let source = self.program(&to.to_string_lossy(), arch);
            Artifact { path, to: Some(to), source }
        };
        let image = |(path, name): (String, String)| {
            let source = Source::Image(self.upstream_image(&name));
            Artifact { path, to: None, source }
        };
        binaries.into_iter().map(program).chain(images.into_iter().map(image)).collect()
    }

    /// Returns the etcd image that every member must run before an upgrade to this cluster's release; `None` if the release needs none,
    /// or if etcd's image is not among the artifacts.
    #[must_use]
    pub fn upstream_for_upgrade(&self) -> Option<Artifact> {
        let tag = self.release.etcd_before_upgrade.as_ref()?;
        let etcd = self.image(KubernetesImage::Etcd);
        let is_baked = self.artifacts.source == ArtifactSource::Image;
        if !is_baked && self.artifacts.images.iter().all(|image| image.image != etcd) {
            return None;
        }
        let (name, _) = etcd.rsplit_once(':')?;
        let source = Source::Image(self.upstream_image(&format!("{name}:{tag}")));
        Some(Artifact { path: format!("images/etcd-{tag}.tar"), to: None, source })
    }

    fn program(&self, to: &str, arch: &str) -> Source {
        let name = Path::new(to).file_name().unwrap_or_default().to_string_lossy();
        let github = |project: &str, path: String| format!("https://github.com/{project}/releases/download/{path}");
        let (official, checksum, member) = match &*name {
            "kubelet" | "kubeadm" | "kubectl" => {
                let url = format!("https://dl.k8s.io/release/{}/bin/linux/{arch}/{name}", self.version);
                (url, "sha256", None)
            }
            "bandwidth" | "bridge" | "dhcp" | "dummy" | "firewall" | "host-device" | "host-local" | "ipvlan"
            | "loopback" | "macvlan" | "portmap" | "ptp" | "sbr" | "static" | "tap" | "tuning" | "vlan" | "vrf" => {
                let path = format!("{CNI_PLUGINS}/cni-plugins-linux-{arch}-{CNI_PLUGINS}.tgz");
                (github("containernetworking/plugins", path), "sha256", Some(name.clone().into_owned()))
            }
            "containerd" | "containerd-shim-runc-v2" | "ctr" => {
                // The other archive needs the glibc of Ubuntu 22.04.
                let path = format!("v{CONTAINERD}/containerd-static-{CONTAINERD}-linux-{arch}.tar.gz");
                (github("containerd/containerd", path), "sha256sum", Some(format!("bin/{name}")))
            }
            "runc" => (github("opencontainers/runc", format!("{RUNC}/runc.{arch}")), "", None),
            _ => return Source::Unknown,
        };
        let checksum = match checksum {
            // runc has one text for all its files.
            "" => official.replace(&format!("runc.{arch}"), "runc.sha256sum"),
            ending => format!("{official}.{ending}"),
        };
        let mirrors = &self.artifacts.mirrors;
        Source::File(File {
            url: mirrored(&official, mirrors),
            checksum: mirrored(&checksum, mirrors),
            official,
            member,
        })
    }

    fn upstream_image(&self, name: &str) -> Image {
        let (path, reference) = match name.split_once('@') {
            Some(parts) => parts,
            None => name.rsplit_once(':').unwrap_or((name, "latest")),
        };
        let (host, repository) = path.split_once('/').unwrap_or((DOCKER_IO, path));
        let base = match self.artifacts.mirrors.get(host) {
            Some(base) => base.trim_end_matches('/').to_owned(),
            None if host == DOCKER_IO => format!("https://{DOCKER_HUB}"),
            None => format!("https://{host}"),
        };
        let (scheme, rest) = base.split_once("://").unwrap_or(("https", &base));
        let (server, folder) = rest.split_once('/').map_or((rest, String::new()), |(s, f)| (s, format!("{f}/")));
        Image {
            name: name.to_owned(),
            repository: format!("{scheme}://{server}/v2/{folder}{repository}"),
            reference: reference.to_owned(),
        }
    }
}

/// Returns the URL at the mirror of its host, if there is one.
fn mirrored(url: &str, mirrors: &BTreeMap<String, String>) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    mirrors.get(host).map_or(url.to_owned(), |base| format!("{}/{path}", base.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layer, load};

    const HEAD: &str = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.34.4}\n";

    fn upstream(config: &str) -> Vec<Artifact> {
        let text = format!("{HEAD}{config}");
        load(&[Layer::file("cluster.yaml", text)]).unwrap_or_else(|p| panic!("{p}")).cluster.upstream("amd64")
    }

    fn file(artifacts: &[Artifact], path: &str) -> File {
        match &artifacts.iter().find(|a| a.path == path).unwrap().source {
            Source::File(file) => file.clone(),
            other => panic!("{path}: {other:?}"),
        }
    }

    fn repository(artifacts: &[Artifact], path: &str) -> String {
        match &artifacts.iter().find(|a| a.path == path).unwrap().source {
            Source::Image(image) => image.repository.clone(),
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn each_source_has_the_same_artifacts() {
        let baked = upstream("addons: {ingress: true}\n");
        assert_eq!(baked, upstream("addons: {ingress: true}\nartifacts: {source: /opt/k8s}\n"));
        let paths: Vec<&str> = baked.iter().map(|a| a.path.as_str()).collect();
        assert_eq!(paths[..3], ["bin/kubelet", "bin/kubectl", "bin/bridge"]);
        assert_eq!(
            paths[6..12],
            [
                "bin/containerd",
                "bin/containerd-shim-runc-v2",
                "bin/ctr",
                "bin/runc",
                "images/pause.tar",
                "images/etcd.tar"
            ]
        );
        assert_eq!(paths.last(), Some(&"images/traefik.tar"));
        assert!(baked.iter().all(|a| a.source != Source::Unknown));
        let none = upstream("artifacts: {source: /opt/k8s, images: []}\n");
        assert_eq!(none.iter().map(|a| a.path.as_str()).collect::<Vec<_>>(), paths[..10]);
    }

    #[test]
    fn each_artifact_of_nodeinit_has_a_licence() {
        let addons = Addon::ALL.map(|addon| format!("{}: true", addon.key())).join(", ");
        let all = upstream(&format!("addons: {{{addons}}}\ncontrolPlane: {{virtualAddress: 10.9.9.9}}\n"));
        assert!(all.iter().any(|a| a.path == "images/kube-vip.tar"));
        for artifact in all {
            assert!(artifact.source.license().is_some(), "{}", artifact.path);
        }
        assert_eq!(Source::Unknown.license(), None);
    }

    #[test]
    fn containerd_is_included_unless_nodeinit_only_checks_it() {
        let names = |config: &str| upstream(config).into_iter().map(|a| a.path).collect::<Vec<_>>();
        let runtime = ["bin/containerd", "bin/containerd-shim-runc-v2", "bin/ctr", "bin/runc"];
        for source in ["image", "/opt/k8s"] {
            for manage in ["", "containerRuntime: {manage: true}\n"] {
                let config = format!("artifacts: {{source: {source}}}\n{manage}");
                assert_eq!(names(&config)[6..10], runtime, "{source}");
            }
        }
        assert!(!names("containerRuntime: {manage: false}\n").contains(&"bin/runc".to_owned()));
        let own = "artifacts:\n  source: /opt/k8s\n  binaries: [{path: mine/runc, to: /usr/sbin/runc}]\ncontainerRuntime: {manage: true}\n";
        assert_eq!(names(own)[..4], ["mine/runc", "bin/containerd", "bin/containerd-shim-runc-v2", "bin/ctr"]);
    }

    #[test]
    fn the_etcd_of_an_upgrade_is_an_additional_image() {
        let of = |version: &str, config: &str| {
            let text = format!(
                "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {{version: {version}}}\n{config}"
            );
            load(&[Layer::file("cluster.yaml", text)]).unwrap().cluster.upstream_for_upgrade()
        };
        let etcd = of("v1.37.1", "").unwrap();
        assert_eq!(
            (etcd.path.as_str(), etcd.source.official()),
            ("images/etcd-3.6.11-0.tar", Some("registry.k8s.io/etcd:3.6.11-0"))
        );
        let mirrored =
            of("v1.37.1", "images: {repository: r.example.org/k8s}\nartifacts: {source: /opt/k8s}\n").unwrap();
        assert_eq!(mirrored.source.official(), Some("r.example.org/k8s/etcd:3.6.11-0"));
        assert_eq!(of("v1.37.1", "artifacts: {source: /opt/k8s, images: []}\n"), None);
        assert_eq!(of("v1.36.4", ""), None);
    }

    #[test]
    fn official_urls() {
        let config = "artifacts:\n  source: /opt\n  binaries:\n  - {path: b/kubelet, to: /usr/bin/kubelet}\n  \
                      - {path: bridge, to: /opt/cni/bin/bridge}\n  - {path: ctr, to: /usr/bin/ctr}\n  \
                      - {path: runc, to: /usr/sbin/runc}\n  - {path: mine, to: /usr/bin/mine}\n";
        let all = upstream(config);
        let kubelet = file(&all, "b/kubelet");
        assert_eq!(kubelet.url, "https://dl.k8s.io/release/v1.34.4/bin/linux/amd64/kubelet");
        assert_eq!(kubelet.checksum, format!("{}.sha256", kubelet.url));
        let bridge = file(&all, "bridge");
        let cni = "https://github.com/containernetworking/plugins/releases/download";
        assert_eq!(bridge.url, format!("{cni}/{CNI_PLUGINS}/cni-plugins-linux-amd64-{CNI_PLUGINS}.tgz"));
        assert_eq!((bridge.checksum, bridge.member.as_deref()), (format!("{}.sha256", bridge.url), Some("bridge")));
        let ctr = file(&all, "ctr");
        assert!(
            ctr.url.ends_with(&format!("/v{CONTAINERD}/containerd-static-{CONTAINERD}-linux-amd64.tar.gz")),
            "{}",
            ctr.url
        );
        assert_eq!((ctr.checksum, ctr.member.as_deref()), (format!("{}.sha256sum", ctr.url), Some("bin/ctr")));
        let runc = file(&all, "runc");
        assert!(runc.url.ends_with("/runc.amd64") && runc.checksum.ends_with("/runc.sha256sum"), "{runc:?}");
        assert_eq!(all[4].source, Source::Unknown);
    }

    #[test]
    fn images_are_fetched_from_their_registries() {
        let all = upstream("addons: {localStorage: true}\n");
        assert_eq!(repository(&all, "images/coredns.tar"), "https://registry.k8s.io/v2/coredns/coredns");
        let hub = "https://registry-1.docker.io/v2/rancher/local-path-provisioner";
        assert_eq!(repository(&all, "images/local-path-provisioner.tar"), hub);
        let digest = format!("example.org:5000/a@sha256:{}", "1".repeat(64));
        let pinned =
            upstream(&format!("artifacts: {{source: /opt, images: [{{path: a.tar, image: \"{digest}\"}}]}}\n"));
        let Source::Image(image) = &pinned.last().unwrap().source else { panic!("an image") };
        assert_eq!(image.repository, "https://example.org:5000/v2/a");
        assert_eq!(image.reference, format!("sha256:{}", "1".repeat(64)));
    }

    #[test]
    fn mirrors_are_used_instead_and_the_official_source_is_kept() {
        let all = upstream(
            "artifacts:\n  mirrors:\n    dl.k8s.io: https://m.example.org/k8s/\n    registry.k8s.io: \
             https://r.example.org/proxy\n    ghcr.io: http://10.0.0.1:5000\n",
        );
        let kubelet = file(&all, "bin/kubelet");
        assert_eq!(kubelet.url, "https://m.example.org/k8s/release/v1.34.4/bin/linux/amd64/kubelet");
        assert!(kubelet.checksum.starts_with("https://m.example.org/k8s/release/"));
        assert!(kubelet.official.starts_with("https://dl.k8s.io/release/"));
        assert_eq!(repository(&all, "images/pause.tar"), "https://r.example.org/v2/proxy/pause");
        assert_eq!(repository(&all, "images/flannel.tar"), "http://10.0.0.1:5000/v2/flannel-io/flannel");
    }
}
