//! The source of programs and images.

use super::{
    Cluster, Document,
    declare::{
        Dict, Verdict, choice, keys,
        place::{Place, refuse_twice},
    },
    images::KubernetesImage,
    texts::{BundleKey, Host, ImageName, PemCertificates, RelativePath, Url},
    values::ArtifactSource,
    versions::KubernetesVersion,
};
use crate::{
    model::{defaults, suggest::nearest},
    problem::Findings,
    text::tree::below,
};
use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
};

keys! {
    /// `artifacts` as it is written.
    pub(crate) struct ArtifactKeys {
        /// `image`: the machine image contains everything. An absolute path: a directory of this machine, or a bundle if it ends in `.tar`.
        /// `http://` or `https://`: a mirror, which needs `sha256sums`, or a `sha256` for every artifact. `upstream`: the official servers,
        /// or `mirrors` of them, from which `nodeinit up` fetches into `/var/lib/nodeinit/artifacts`. `{version}` in a path or URL stands for
        /// the version of Kubernetes, such as `v1.37.1`.
        "source" source: ArtifactSource = "image", to all;
        /// Which machines need the directory of `source`. Every machine downloads from a mirror itself.
        "from" from: Lending = "first", to all;
        /// The digest of each artifact by its path below the source, as `sha256sum` prints it.
        "sha256" sha256: BTreeMap<String, [u8; 32]> as Dict<RelativePath, [u8; 32]>,
            example "{bin/kubelet: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08}", to all => digests_need_a_source;
        /// The digest of the file `SHA256SUMS` of a mirror. That file has the digest of each artifact that is not in `sha256`.
        "sha256sums" sha256sums: Option<[u8; 32]>,
            else "none", example "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", to all;
        /// The public key that must have signed the bundle. nodeinit uses no file from a bundle without this signature. See `docs/how-to/air-gap.md`.
        "bundleKey" bundle_key: Option<String> as Option<BundleKey>,
            else "none", example "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo", to all;
        /// Programs that are installed on the machine.
        "binaries" binaries: Option<Vec<BinaryKeys>>,
            else "none for the source `image`; else kubelet, kubectl and the CNI plugins", example "[{path: bin/kubelet, to: /usr/bin/kubelet}]", to all => binaries;
        /// Archives that are imported into containerd, in the order in which a first master needs them.
        "images" images: Option<Vec<ImageKeys>>,
            else "none for the source `image`; else `images/NAME.tar` for every image that the version and the addons need", example "[{path: images/pause.tar, image: \"registry.k8s.io/pause:3.10.1\"}]", to all => images;
        /// For `artifacts fetch` and the source `upstream`: the base URL to ask instead of an official server or registry. A registry's
        /// path becomes the folder of its images. See `docs/reference/artifacts.md`.
        "mirrors" mirrors: BTreeMap<String, String> as Dict<Host, Url>,
            example "{registry.k8s.io: \"https://mirror.example.org/k8s\"}", to all;
        /// An additional CA for downloads, besides the CAs of the machine, such as the CA of a mirror or a proxy.
        "caCertificate" ca_certificate: Option<String> as Option<PemCertificates>,
            else "only the machine's CAs", example "\"-----BEGIN CERTIFICATE-----\\nMIH6MIGtoAMCAQICAQEwBQYDK2VwMA0xCzAJBgNVBAMMAkNBMB4XDTI2MTEyNzEw\\nMzQzNFoXDTM2MTEyNDEwMzQzNFowDTELMAkGA1UEAwwCQ0EwKjAFBgMrZXADIQCW\\nhVXSfak3yZT3TlcLlW9MsQ9I4mgDtydrpw6FG9OgpqMyMDAwDwYDVR0TAQH/BAUw\\nAwEB/zAdBgNVHQ4EFgQU/gR6hL61xnaMhblnNS8U+fZlNXEwBQYDK2VwA0EAgNd0\\nWzXZxm2ERdE/zUKTEWav8EYzD/ijkLPPekNIsRU4e+rv+dlvQIpqCwD1IIEq8QpS\\n0RrAQ3Dzq5tPIRkHBA==\\n-----END CERTIFICATE-----\\n\"", to all;
    }
}

keys! {
    /// A program of `artifacts.binaries`.
    pub(crate) struct BinaryKeys {
        /// The file below the source.
        "path" path: String as RelativePath = required, to all;
        /// Where it is installed on the machine.
        "to" to: PathBuf = required, to all;
    }
}

keys! {
    /// An archive of `artifacts.images`.
    pub(crate) struct ImageKeys {
        /// The archive below the source: docker or OCI layout, plain or compressed.
        "path" path: String as RelativePath = required, to all;
        /// The full name of the image in it.
        "image" image: String as ImageName = required, to all;
    }
}

choice! {
    /// `artifacts.from`.
    pub(crate) enum Lending {
        /// machines with SSH access from the first master get missing artifacts from there
        "first" First,
        /// each machine has the complete directory, or fetches from `upstream` itself
        "each" Each,
    }
}

/// The source of binaries and images.
#[derive(Clone, Debug, PartialEq)]
pub struct Artifacts {
    /// `artifacts.source`.
    pub source: ArtifactSource,
    /// Whether `artifacts.from` is `first`: machines get missing artifacts from the first master.
    pub lend: bool,
    /// `artifacts.binaries`.
    pub binaries: Vec<Binary>,
    /// containerd, its shim, `ctr` and runc, for machines where nodeinit installs them. Empty if there is no source, or if
    /// `containerRuntime.manage` is false.
    pub runtime: Vec<Binary>,
    /// `artifacts.images`, in the order in which a first master needs them.
    pub images: Vec<ImageArchive>,
    /// `artifacts.sha256sums`: the digest of the mirror's list of digests. Only with a mirror.
    pub sha256sums: Option<[u8; 32]>,
    /// `artifacts.bundleKey`: the ed25519 key that must have signed the bundle, as `ssh-ed25519 BASE64`. Only with a bundle.
    pub bundle_key: Option<String>,
    /// `artifacts.mirrors`: the host of an official server or registry → the base URL to use instead.
    pub mirrors: BTreeMap<String, String>,
    /// `artifacts.caCertificate`: PEM; trusted for downloads in addition to the machine's CAs.
    pub ca_certificate: Option<String>,
}

/// A program that is installed on the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    /// `path` below the source.
    pub path: String,
    /// `to`: the absolute path on the machine.
    pub to: PathBuf,
    /// Its entry in `artifacts.sha256`.
    pub sha256: Option<[u8; 32]>,
}

/// An archive (docker or OCI layout, plain or compressed) that is imported into containerd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageArchive {
    /// `path` below the source.
    pub path: String,
    /// `image`: the full name of the image in it.
    pub image: String,
    /// Its entry in `artifacts.sha256`.
    pub sha256: Option<[u8; 32]>,
}

impl Artifacts {
    /// Returns the artifacts without the lists that depend on the rest of the configuration: see [`Cluster::list_artifacts`].
    pub(super) fn unlisted(keys: &ArtifactKeys, version: KubernetesVersion) -> Self {
        Self {
            source: keys.source.of_version(version),
            lend: keys.from == Lending::First,
            binaries: Vec::new(),
            runtime: Vec::new(),
            images: Vec::new(),
            sha256sums: keys.sha256sums,
            bundle_key: keys.bundle_key.clone(),
            mirrors: keys.mirrors.clone(),
            ca_certificate: keys.ca_certificate.clone(),
        }
    }
}

impl Cluster {
    /// Returns the cluster with the etcd that all members must run before an upgrade to its release; `None` if any will do.
    #[must_use]
    pub fn before_upgrade(&self) -> Option<Self> {
        let etcd = self.release.etcd_before_upgrade.clone()?;
        let path = format!("images/etcd-{etcd}.tar");
        let mut cluster = self.clone();
        cluster.release.etcd = etcd;
        let (former, image) = (self.image(KubernetesImage::Etcd), cluster.image(KubernetesImage::Etcd));
        let images = &mut cluster.artifacts.images;
        if images.iter().all(|archive| archive.image != image) {
            let archive = images.iter_mut().find(|archive| archive.image == former);
            archive
                .into_iter()
                .for_each(|archive| *archive = ImageArchive { path: path.clone(), image: image.clone(), sha256: None });
        }
        Some(cluster)
    }

    /// Lists the artifacts of this cluster: the configured ones, else those that it needs.
    pub(super) fn list_artifacts(&mut self, keys: ArtifactKeys) {
        let digest = |path: &str| keys.sha256.get(path).copied();
        // The source `image` needs no list.
        let has_source = self.artifacts.source != ArtifactSource::Image;
        let written = |binary: BinaryKeys| (binary.path, binary.to);
        let binaries: Vec<(String, PathBuf)> = match keys.binaries {
            Some(binaries) => binaries.into_iter().map(written).collect(),
            None if has_source => defaults::binaries(),
            None => Vec::new(),
        };
        let images: Vec<(String, String)> = match keys.images {
            Some(images) => images.into_iter().map(|archive| (archive.path, archive.image)).collect(),
            None if has_source => defaults::images(self),
            None => Vec::new(),
        };
        // A configured program is installed at its configured path.
        let runtime = defaults::runtime().into_iter().map(|(path, to)| {
            let listed = binaries.iter().find(|(_, listed)| listed.file_name() == to.file_name());
            listed.cloned().unwrap_or((path, to))
        });
        let is_wanted = has_source && self.container_runtime.manage != Some(false);
        let binary = |(path, to): (String, PathBuf)| Binary { sha256: digest(&path), to, path };
        self.artifacts.runtime = if is_wanted { runtime.map(binary).collect() } else { Vec::new() };
        self.artifacts.binaries = binaries.into_iter().map(binary).collect();
        self.artifacts.images =
            images.into_iter().map(|(path, image)| ImageArchive { sha256: digest(&path), image, path }).collect();
    }
}

fn binaries(place: &Place<'_, Vec<BinaryKeys>>, verdict: &mut Verdict<'_>) {
    let mut targets = HashMap::new();
    place.items().iter().for_each(|binary| refuse_twice(&mut targets, &binary.to(), &mut verdict.errors));
    needs_a_source(place, !place.items().is_empty(), verdict);
}

fn images(place: &Place<'_, Vec<ImageKeys>>, verdict: &mut Verdict<'_>) {
    let mut names = HashMap::new();
    place.items().iter().for_each(|archive| refuse_twice(&mut names, &archive.image(), &mut verdict.errors));
    needs_a_source(place, !place.items().is_empty(), verdict);
}

fn digests_need_a_source(place: &Place<'_, Dict<RelativePath, [u8; 32]>>, verdict: &mut Verdict<'_>) {
    needs_a_source(place, !place.entries().is_empty(), verdict);
}

fn needs_a_source<F>(place: &Place<'_, F>, is_filled: bool, verdict: &mut Verdict<'_>) {
    let Some((ArtifactSource::Image, at)) = place.all().artifacts().source().read() else { return };
    if is_filled {
        let what = "not used with the source `image`, which contains everything";
        let remedy = "set artifacts.source to `upstream`, a directory, a bundle or a mirror";
        verdict.errors.add(place.at().max(at), &place.path, what, remedy);
    }
}

/// Checks digests against the complete list of artifacts: reports missing and unused ones.
pub(crate) fn digests(all: &Place<'_, Document>, artifacts: &Artifacts, errors: &mut Findings) {
    let binaries = artifacts.binaries.iter().map(|b| (b.path.as_str(), b.sha256));
    let mut listed: Vec<_> = binaries.chain(artifacts.images.iter().map(|i| (i.path.as_str(), i.sha256))).collect();
    // Only a machine without containerd needs these, unless the configuration requires them.
    let is_managed = all.container_runtime().manage().value() == Some(true);
    let runtime = artifacts.runtime.iter().map(|b| (b.path.as_str(), b.sha256));
    let unlisted = runtime.filter(|each| (is_managed || each.1.is_some()) && !listed.contains(each));
    listed.extend(unlisted.collect::<Vec<_>>());
    let keys = all.artifacts();
    let digests = keys.sha256();
    let image = artifacts.source == ArtifactSource::Image;
    for entry in digests.entries().iter().filter(|e| !image && listed.iter().all(|(path, _)| *path != e.key)) {
        let unpinned = listed.iter().filter(|(_, digest)| digest.is_none()).map(|(path, _)| *path);
        let remedy = nearest(&entry.key, unpinned)
            .map_or("use the `path` of an entry in artifacts.binaries or artifacts.images".to_owned(), |path| {
                format!("did you mean `{path}`?")
            });
        errors.add(entry.at, &below(&digests.path, &entry.key), "there is no artifact with this path", remedy);
    }
    let source = &artifacts.source;
    if !matches!(source, ArtifactSource::Bundle(_)) && keys.bundle_key().written().is_some() {
        let remedy = "remove it, or set artifacts.source to the absolute path of a bundle, which ends in `.tar`";
        keys.bundle_key().report(errors, "only a bundle has a signature", remedy);
    }
    let sums = keys.sha256sums();
    if sums.written().is_some() {
        if !matches!(source, ArtifactSource::Mirror(_)) {
            let remedy = "remove it, or set artifacts.source to `http://` or `https://`";
            sums.report(errors, "only a mirror has a file SHA256SUMS", remedy);
        }
        return;
    }
    if !matches!(source, ArtifactSource::Mirror(_)) {
        return;
    }
    let missing: Vec<&str> = listed.iter().filter(|(_, digest)| digest.is_none()).map(|(path, _)| *path).collect();
    if let [first, ..] = missing[..] {
        let what = format!(
            "artifacts from a mirror need a SHA-256; it is missing for {} of {} artifacts, such as {first}",
            missing.len(),
            listed.len()
        );
        let remedy = "run `sha256sum bin/* images/* >SHA256SUMS` in the mirror's directory, and set this to the digest that `sha256sum SHA256SUMS` prints";
        errors.add(keys.source().at(), &sums.path, what, remedy);
    }
}
