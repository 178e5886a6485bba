//! A cluster to render, for tests.

use super::{HostFacts, Manifests, Renderer, static_pod::Membership};
use nodeinit_config::{Cluster, Release, cluster::*, releases};
use serde_json::Map;
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// What a renderer borrows.
pub(crate) struct Fixture {
    pub(crate) cluster: Cluster,
    pub(crate) node: Node,
    pub(crate) facts: HostFacts,
    pub(crate) manifests: Manifests,
}

impl Fixture {
    /// One master `m1`, 10.77.0.11, everything else by default.
    pub(crate) fn new() -> Self {
        Self::of(releases::embedded().pop().unwrap())
    }

    /// The same with the tested version of another release.
    pub(crate) fn of(release: Release) -> Self {
        let machine = Machine {
            name: "m1".into(),
            address: Some([10, 77, 0, 11].into()),
            labels: BTreeMap::new(),
            taints: Vec::new(),
            host_keys: Vec::new(),
            ssh: MachineSsh::default(),
            flavor: None,
            availability_zone: None,
        };
        let minute = Duration::from_secs(60);
        let cluster = Cluster {
            name: "kubernetes".into(),
            version: release.tested,
            release,
            image_repository: DEFAULT_IMAGE_REPOSITORY.into(),
            registry_mirrors: Vec::new(),
            registry_auth: None,
            container_runtime: nodeinit_config::cluster::ContainerRuntime::default(),
            control_plane: ControlPlane {
                endpoint: None,
                virtual_address: None,
                cert_sans: Vec::new(),
                schedulable: false,
            },
            masters: Vec::new(),
            workers: Vec::new(),
            ssh: Ssh {
                user: "root".into(),
                port: 22,
                key_file: None,
                trust_on_first_use: false,
                parallel: 50,
                jump_host: None,
            },
            join: Join::default(),
            agent: Agent { enabled: true },
            network: Network {
                pod_cidr: "10.244.0.0/16".parse().unwrap(),
                service_cidr: "10.96.0.0/12".parse().unwrap(),
                dns_domain: "cluster.local".into(),
                pods_may_read_metadata: true,
            },
            etcd: Etcd { data_directory: PathBuf::from("/var/lib/etcd"), extra_args: BTreeMap::new() },
            api_server: Component::default(),
            controller_manager: Component::default(),
            scheduler: Component::default(),
            kubelet: Map::new(),
            kube_proxy: Map::new(),
            addons: Addons {
                kube_proxy: true,
                coredns: true,
                cni: Cni::Flannel,
                optional: Vec::new(),
                manifests: None,
            },
            artifacts: Artifacts {
                source: ArtifactSource::Image,
                binaries: Vec::new(),
                runtime: Vec::new(),
                images: Vec::new(),
                lend: true,
                sha256sums: None,
                bundle_key: None,
                mirrors: BTreeMap::new(),
                ca_certificate: None,
            },
            os: Os { swap: Swap::Off, sysctls: BTreeMap::new(), modules: Vec::new() },
            manifests_directory: None,
            secrets_delivery: SecretsDelivery::Ssh,
            openstack: None,
            timeouts: Timeouts {
                download: minute,
                image_import: minute,
                kubelet: minute,
                etcd: minute,
                control_plane: minute,
                ssh: minute,
                join: minute,
                node: minute,
            },
        };
        let node = Node { name: "m1".into(), address: [10, 77, 0, 11].into(), role: Role::FirstMaster, machine };
        let facts = HostFacts { host_name: "m1".into(), ..HostFacts::default() };
        Self { cluster, node, facts, manifests: Manifests::default() }
    }

    /// The renderer of this cluster.
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

/// The etcd of a master that bootstrapped its cluster.
pub(crate) fn membership() -> Membership {
    Membership { token: Some("nodeinit-0123456789abcdef0123456789abcdef".into()), joined: None, marked: true }
}

/// Compares with `tests/golden/render/NAME`. `UPDATE_GOLDEN=1` writes the file instead; look at the difference before
/// it is committed.
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

/// Objects as a YAML stream, to look at.
pub(crate) fn stream(objects: &[serde_json::Value]) -> String {
    objects.iter().map(|object| format!("---\n{}", super::yaml::text("test", object).unwrap())).collect()
}
