//! The built-in defaults: the layer that all others lie on.

use crate::{
    cluster::{Cluster, Cni, KubernetesImage},
    keys::CLUSTER,
    node::{Entry, Node, Value},
    problem::Mark,
    schema::{Fallback, Field, Kind},
};

/// flannel's image, as `manifests/` names it.
pub const FLANNEL_IMAGE: &str = "ghcr.io/flannel-io/flannel:v0.28.4";
/// The image that places flannel's CNI plugin, as `manifests/` names it.
pub const FLANNEL_CNI_PLUGIN_IMAGE: &str = "ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1";

/// kube-vip's image, as `manifests/` names it.
pub const KUBE_VIP_IMAGE: &str = "ghcr.io/kube-vip/kube-vip:v0.9.1";

/// The defaults that the schema gives as values.
pub(crate) fn layer() -> Node {
    group(CLUSTER)
}

/// The defaults of these keys.
pub(crate) fn group(fields: &[Field]) -> Node {
    let entry = |field: &Field| {
        let node = match (field.kind, field.default) {
            (Kind::Group(fields), _) => group(fields),
            (Kind::List(_), Fallback::Empty(_)) => Node { at: Mark::DEFAULT, value: Value::List(Vec::new()) },
            (_, Fallback::Empty(_)) => Node::map(Mark::DEFAULT),
            (_, Fallback::Value(text)) => Node::text(Mark::DEFAULT, text),
            (_, Fallback::Words(..) | Fallback::Required) => return None,
        };
        Some(Entry { key: field.key.to_owned(), at: Mark::DEFAULT, node })
    };
    Node { at: Mark::DEFAULT, value: Value::Map(fields.iter().filter_map(entry).collect()) }
}

/// The programs of a first master, as `(path below the source, where they go)`.
const BINARIES: [(&str, &str); 6] = [
    ("bin/kubelet", "/usr/bin/kubelet"),
    ("bin/kubectl", "/usr/bin/kubectl"),
    ("bin/bridge", "/opt/cni/bin/bridge"),
    ("bin/host-local", "/opt/cni/bin/host-local"),
    ("bin/loopback", "/opt/cni/bin/loopback"),
    ("bin/portmap", "/opt/cni/bin/portmap"),
];

/// containerd, as `(path below the source, where it goes)`. Source: containerd's `docs/getting-started.md`.
const RUNTIME: [(&str, &str); 4] = [
    ("bin/containerd", "/usr/local/bin/containerd"),
    ("bin/containerd-shim-runc-v2", "/usr/local/bin/containerd-shim-runc-v2"),
    ("bin/ctr", "/usr/local/bin/ctr"),
    ("bin/runc", "/usr/local/sbin/runc"),
];

/// What a machine without containerd needs, where `artifacts.binaries` does not list it.
pub(crate) fn runtime() -> Vec<(String, String)> {
    RUNTIME.iter().map(|(path, to)| ((*path).to_owned(), (*to).to_owned())).collect()
}

/// `artifacts.binaries` of a directory or a mirror where it is not written.
pub(crate) fn binaries() -> Vec<(String, String)> {
    BINARIES.iter().map(|(path, to)| ((*path).to_owned(), (*to).to_owned())).collect()
}

/// `artifacts.images` of a directory or a mirror where it is not written, as `(path below the source, image)`.
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
        images.push((format!("images/{short}.tar"), (*image).to_owned()));
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, load, parse, problem::Findings};

    #[test]
    fn every_default_passes_the_check_of_its_own_key() {
        let mut findings = Findings::default();
        let checked = check::layer(layer(), &mut findings);
        assert!(findings.is_empty(), "{findings:?}");
        assert_eq!(checked, Some(layer()));
        assert!(load(&[]).is_ok());
    }

    #[test]
    fn every_example_is_good() {
        fn walk(fields: &[Field], path: &str) {
            for field in fields {
                let path = crate::node::below(path, field.key);
                walk(field.kind.fields(), &path);
                let (Fallback::Empty(text) | Fallback::Words(_, text)) = field.default else { continue };
                let mut findings = Findings::default();
                let value = parse::parse(1, text.as_bytes(), &mut findings).unwrap_or(Node::map(Mark::DEFAULT));
                let mut root = Node::map(Mark::DEFAULT);
                root.set(&path, value);
                check::layer(root, &mut findings);
                assert!(findings.is_empty(), "{path}: {findings:?}");
            }
        }
        walk(CLUSTER, "");
    }
}
