//! The built-in defaults: the lowest layer.

use crate::{
    cluster::{ArtifactSource, Cluster, Cni, KubernetesImage},
    keys::{API_VERSION, CLUSTER, KIND},
    model::declare::place::keys,
    problem::Mark,
    schema::{Fallback, Field, Kind},
    text::tree::{Entry, Value, YamlNode},
};
use std::path::PathBuf;

/// flannel's image, as in `manifests/`.
pub const FLANNEL_IMAGE: &str = "ghcr.io/flannel-io/flannel:v0.28.4";
/// The image that installs flannel's CNI plugin, as in `manifests/`.
pub const FLANNEL_CNI_PLUGIN_IMAGE: &str = "ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1";

/// kube-vip's image, as in `manifests/`.
pub const KUBE_VIP_IMAGE: &str = "ghcr.io/kube-vip/kube-vip:v0.9.1";

/// Returns the defaults that the schema declares as values.
pub(crate) fn layer() -> YamlNode {
    group(CLUSTER)
}

/// Returns the defaults of these keys.
pub(crate) fn group(fields: &[Field]) -> YamlNode {
    let entry = |field: &Field| {
        let node = match (field.kind, field.default) {
            (Kind::Group(fields), _) => group(fields),
            (Kind::List(_), Fallback::Empty(_)) => YamlNode { at: Mark::DEFAULT, value: Value::List(Vec::new()) },
            (_, Fallback::Empty(_)) => YamlNode::map(Mark::DEFAULT),
            (_, Fallback::Value(text)) => YamlNode::text(Mark::DEFAULT, text),
            (_, Fallback::Words(..) | Fallback::Required) => return None,
        };
        Some(Entry { key: field.key.to_owned(), at: Mark::DEFAULT, node })
    };
    YamlNode { at: Mark::DEFAULT, value: Value::Map(fields.iter().filter_map(entry).collect()) }
}

/// The programs of a first master, as `(path below the source, target path)`.
const BINARIES: [(&str, &str); 6] = [
    ("bin/kubelet", "/usr/bin/kubelet"),
    ("bin/kubectl", "/usr/bin/kubectl"),
    ("bin/bridge", "/opt/cni/bin/bridge"),
    ("bin/host-local", "/opt/cni/bin/host-local"),
    ("bin/loopback", "/opt/cni/bin/loopback"),
    ("bin/portmap", "/opt/cni/bin/portmap"),
];

/// containerd, as `(path below the source, target path)`. Source: containerd's `docs/getting-started.md`.
const RUNTIME: [(&str, &str); 4] = [
    ("bin/containerd", "/usr/local/bin/containerd"),
    ("bin/containerd-shim-runc-v2", "/usr/local/bin/containerd-shim-runc-v2"),
    ("bin/ctr", "/usr/local/bin/ctr"),
    ("bin/runc", "/usr/local/sbin/runc"),
];

/// Returns what a machine without containerd needs, unless `artifacts.binaries` lists it.
pub(crate) fn runtime() -> Vec<(String, PathBuf)> {
    RUNTIME.iter().map(|(path, to)| ((*path).to_owned(), PathBuf::from(to))).collect()
}

/// Returns the default of `artifacts.binaries` for a directory or a mirror.
pub(crate) fn binaries() -> Vec<(String, PathBuf)> {
    BINARIES.iter().map(|(path, to)| ((*path).to_owned(), PathBuf::from(to))).collect()
}

/// Returns the default of `artifacts.images` for a directory or a mirror, as `(path below the source, image)`.
pub(crate) fn images(cluster: &Cluster) -> Vec<(String, String)> {
    let wanted = |image: &KubernetesImage| match image {
        KubernetesImage::Proxy => cluster.addons.kube_proxy,
        KubernetesImage::CoreDns => cluster.addons.coredns,
        _ => true,
    };
    let own = KubernetesImage::ALL.into_iter().filter(wanted);
    let mut images: Vec<_> = own.map(|i| (format!("images/{}.tar", i.file()), cluster.image(i))).collect();
    if cluster.control_plane.virtual_address.is_some() {
        images.push(("images/kube-vip.tar".to_owned(), KUBE_VIP_IMAGE.to_owned()));
    }
    if cluster.addons.cni == Cni::Flannel {
        images.push(("images/flannel.tar".to_owned(), FLANNEL_IMAGE.to_owned()));
        images.push(("images/flannel-cni-plugin.tar".to_owned(), FLANNEL_CNI_PLUGIN_IMAGE.to_owned()));
    }
    for image in cluster.addons.optional.iter().flat_map(|addon| addon.images()) {
        let short = image.rsplit('/').next().and_then(|last| last.split(':').next()).unwrap_or(image);
        images.push((format!("images/{short}.tar"), image.to_owned()));
    }
    images
}

/// Adds to the tree what depends on everything else: the header and the default artifacts.
pub(crate) fn complete(tree: &mut YamlNode, cluster: &Cluster) {
    let text =
        |text: &str| YamlNode { at: Mark::DEFAULT, value: Value::Scalar { text: text.to_owned(), quoted: false } };
    let pairs = |pairs: Vec<[(&str, &str); 2]>| {
        let entry = |(key, value): (&str, &str)| Entry { key: key.to_owned(), at: Mark::DEFAULT, node: text(value) };
        let item = |pair: [(&str, &str); 2]| YamlNode { at: Mark::DEFAULT, value: Value::Map(pair.map(entry).into()) };
        YamlNode { at: Mark::DEFAULT, value: Value::List(pairs.into_iter().map(item).collect()) }
    };
    let (binaries, images) = (keys().artifacts().binaries().path, keys().artifacts().images().path);
    let artifacts = &cluster.artifacts;
    if artifacts.source != ArtifactSource::Image && tree.get(&binaries).is_none() {
        let listed =
            artifacts.binaries.iter().filter_map(|b| Some([("path", b.path.as_str()), ("to", b.to.to_str()?)]));
        tree.set(&binaries, pairs(listed.collect()));
    }
    if artifacts.source != ArtifactSource::Image && tree.get(&images).is_none() {
        let listed = artifacts.images.iter().map(|i| [("path", i.path.as_str()), ("image", i.image.as_str())]);
        tree.set(&images, pairs(listed.collect()));
    }
    for (position, (key, value)) in [("apiVersion", API_VERSION), ("kind", KIND)].into_iter().enumerate() {
        let Value::Map(entries) = &mut tree.value else { return };
        let entry = match entries.iter().position(|e| e.key == key) {
            Some(found) => entries.remove(found),
            None => Entry { key: key.to_owned(), at: Mark::DEFAULT, node: text(value) },
        };
        entries.insert(position, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load, model::check, problem::Findings, text::reader};

    #[test]
    fn every_default_passes_the_check_of_its_own_key() {
        let mut findings = Findings::default();
        let checked = check::layer(layer(), &mut findings);
        assert!(findings.is_empty(), "{findings:?}");
        assert_eq!(checked, Some(layer()));
        assert!(load(&[]).is_ok());
    }

    #[test]
    fn every_example_is_valid() {
        fn walk(fields: &[Field], path: &str) {
            for field in fields {
                let path = crate::text::tree::below(path, field.key);
                walk(field.kind.fields(), &path);
                let (Fallback::Empty(text) | Fallback::Words(_, text)) = field.default else { continue };
                let mut findings = Findings::default();
                let value = reader::parse(1, text.as_bytes(), &mut findings).unwrap_or(YamlNode::map(Mark::DEFAULT));
                let mut root = YamlNode::map(Mark::DEFAULT);
                root.set(&path, value);
                check::layer(root, &mut findings);
                assert!(findings.is_empty(), "{path}: {findings:?}");
            }
        }
        walk(CLUSTER, "");
    }
}
