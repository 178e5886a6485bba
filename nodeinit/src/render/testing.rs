//! A cluster to render, for tests.

use super::{HostFacts, Manifests, Renderer, static_pod::Membership};
use nodeinit_config::{
    Cluster, Layer, Release,
    cluster::{Node, Role},
    load, releases,
};
use std::path::PathBuf;

/// The values that a renderer borrows.
pub(crate) struct Fixture {
    pub(crate) cluster: Cluster,
    pub(crate) node: Node,
    pub(crate) facts: HostFacts,
    pub(crate) manifests: Manifests,
}

impl Fixture {
    /// Returns a cluster with one master `m1`, 10.77.0.11, and defaults.
    pub(crate) fn new() -> Self {
        Self::of(releases::embedded().pop().unwrap())
    }

    /// Returns the same with the tested version of another release.
    pub(crate) fn of(release: Release) -> Self {
        let text = format!(
            "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {{version: {}}}\nmasters: [{{name: m1, address: 10.77.0.11}}]\n\
             timeouts: {{download: 1m, imageImport: 1m, kubelet: 1m, etcd: 1m, controlPlane: 1m, ssh: 1m, join: 1m, node: 1m}}\n",
            release.tested
        );
        let mut cluster = load(&[Layer::file("fixture.yaml", text)]).unwrap().cluster;
        let machine = cluster.masters.remove(0);
        cluster.release = release;
        let node = Node { name: "m1".into(), address: [10, 77, 0, 11].into(), role: Role::FirstMaster, machine };
        let facts = HostFacts { host_name: "m1".into(), ..HostFacts::default() };
        Self { cluster, node, facts, manifests: Manifests::default() }
    }

    /// Returns the renderer of this cluster.
    pub(crate) fn renderer(&self) -> Renderer<'_> {
        Renderer {
            cluster: &self.cluster,
            node: &self.node,
            facts: &self.facts,
            manifests: &self.manifests,
            verify_kubelets: self.cluster.agent.enabled,
        }
    }
}

/// Returns the etcd settings of a master that bootstrapped its cluster.
pub(crate) fn membership() -> Membership {
    Membership { token: Some("nodeinit-0123456789abcdef0123456789abcdef".into()), joined: None, marked: true }
}

/// Compares with `tests/golden/render/NAME`. `UPDATE_GOLDEN=1` writes the file instead; check the difference before
/// you commit it.
#[allow(clippy::disallowed_methods, reason = "a test writes into the repository, not onto a machine")]
pub(crate) fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/render").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
    assert!(wanted == text, "{name} differs from its golden file; now it is\n{text}");
}

/// Returns objects as a YAML stream.
pub(crate) fn stream(objects: &[serde_json::Value]) -> String {
    objects.iter().map(|object| format!("---\n{}", super::yaml::text("test", object).unwrap())).collect()
}
