//! From a merged and checked tree to the validated types.

use crate::{
    addon::Addon,
    cluster::*,
    defaults,
    format::{self, sha256},
    keys::{POD_METADATA, VERSION},
    node::Node,
    releases::Releases,
};
use std::{collections::BTreeMap, path::PathBuf};

mod openstack;

pub(crate) use openstack::gateway;

/// `None` only for a tree that holds something which was reported as wrong.
pub(crate) fn cluster(tree: &Node, releases: &Releases) -> Option<Cluster> {
    let version = tree.read(VERSION, format::version)?.0;
    let component = |path: &str| Component { extra_args: texts(tree.get(path)) };
    let mut cluster = Cluster {
        name: text(tree, "name")?,
        version,
        release: releases.of(version)?.clone(),
        image_repository: text(tree, "images.repository")?,
        registry_mirrors: mirrors(tree.get("images.mirrors")?)?,
        registry_auth: text(tree, "images.registryAuthFile").map(PathBuf::from),
        container_runtime: ContainerRuntime {
            manage: flag(tree, "containerRuntime.manage"),
            proxy: Proxy {
                http: text(tree, "containerRuntime.proxy.http"),
                https: text(tree, "containerRuntime.proxy.https"),
                no: list(tree.get("containerRuntime.proxy.noProxy")),
            },
        },
        control_plane: ControlPlane {
            endpoint: tree.read("controlPlane.endpoint", format::endpoint).map(|(endpoint, _)| endpoint),
            virtual_address: tree.read("controlPlane.virtualAddress", format::address).map(|(address, _)| address),
            cert_sans: list(tree.get("controlPlane.certSANs")),
            schedulable: flag(tree, "controlPlane.schedulable")?,
        },
        masters: machines(tree.get("masters")?)?,
        workers: machines(tree.get("workers")?)?,
        ssh: ssh(tree.get("ssh")?)?,
        join: join(tree.get("join")?),
        agent: Agent { enabled: flag(tree, "agent.enabled")? },
        network: Network {
            pod_cidr: tree.read("network.podCIDR", format::cidr)?.0,
            service_cidr: tree.read("network.serviceCIDR", format::cidr)?.0,
            dns_domain: text(tree, "network.dnsDomain")?,
            // Without a cloud nothing answers at the metadata address, and the rule needs `nft`.
            pods_may_read_metadata: flag(tree, POD_METADATA).unwrap_or(tree.get("openstack").is_none()),
        },
        etcd: Etcd {
            data_directory: tree.read("etcd.dataDirectory", format::absolute)?.0,
            extra_args: texts(tree.get("etcd.extraArgs")),
        },
        api_server: component("apiServer.extraArgs"),
        controller_manager: component("controllerManager.extraArgs"),
        scheduler: component("scheduler.extraArgs"),
        kubelet: tree.get("kubelet.config")?.json_map(),
        kube_proxy: tree.get("kubeProxy.config")?.json_map(),
        addons: Addons {
            kube_proxy: flag(tree, "addons.kubeProxy")?,
            coredns: flag(tree, "addons.coreDNS")?,
            cni: cni(tree.get("addons.cni")?)?,
            optional: Addon::ALL
                .into_iter()
                .filter(|a| flag(tree, &format!("addons.{}", a.key())) == Some(true))
                .collect(),
            manifests: text(tree, "addons.manifests").map(PathBuf::from),
        },
        artifacts: Artifacts {
            source: tree.read("artifacts.source", format::source)?.0,
            lend: text(tree, "artifacts.from")? == "first",
            binaries: Vec::new(),
            runtime: Vec::new(),
            images: Vec::new(),
            sha256sums: text(tree, "artifacts.sha256sums").and_then(|digest| sha256(&digest).ok()),
            bundle_key: tree.read("artifacts.bundleKey", format::bundle_key).map(|(key, _)| key),
            mirrors: texts(tree.get("artifacts.mirrors")),
            ca_certificate: text(tree, "artifacts.caCertificate"),
        },
        os: Os {
            swap: match text(tree, "os.swap")?.as_str() {
                "off" => Swap::Off,
                "refuse" => Swap::Refuse,
                _ => Swap::Keep,
            },
            sysctls: texts(tree.get("os.sysctls")),
            modules: list(tree.get("os.modules")),
        },
        manifests_directory: text(tree, "manifestsDirectory").map(PathBuf::from),
        secrets_delivery: match text(tree, "secretsDelivery")?.as_str() {
            "ssh" => SecretsDelivery::Ssh,
            "ssh-only" => SecretsDelivery::SshOnly,
            _ => SecretsDelivery::UserData,
        },
        openstack: match tree.get("openstack") {
            Some(section) => Some(openstack::openstack(section)?),
            None => None,
        },
        timeouts: timeouts(tree.get("timeouts")?)?,
    };
    artifacts(tree, &mut cluster)?;
    Some(cluster)
}

fn artifacts(tree: &Node, cluster: &mut Cluster) -> Option<()> {
    let digests = tree.get("artifacts.sha256")?;
    let digest = |path: &str| {
        let written = digests.entries().iter().find(|e| e.key == path)?;
        sha256(written.node.scalar()?).ok()
    };
    let pairs = |path: &str, second: &str| -> Option<Vec<(String, String)>> {
        tree.get(path)?.items().iter().map(|item| Some((text(item, "path")?, text(item, second)?))).collect()
    };
    // What is baked into an image needs no list.
    let has_source = cluster.artifacts.source != ArtifactSource::Image;
    let unwritten = |list: Vec<(String, String)>| if has_source { list } else { Vec::new() };
    let binaries = pairs("artifacts.binaries", "to").unwrap_or_else(|| unwritten(defaults::binaries()));
    let images = pairs("artifacts.images", "image").unwrap_or_else(|| unwritten(defaults::images(cluster)));
    let is_named = |to: &str, name: &str| to.rsplit('/').next() == Some(name);
    // What the configuration lists goes where it says.
    let runtime = defaults::runtime().into_iter().map(|(path, to)| {
        let name = to.rsplit('/').next().unwrap_or_default();
        binaries.iter().find(|(_, listed)| is_named(listed, name)).cloned().unwrap_or((path, to))
    });
    let is_wanted = has_source && cluster.container_runtime.manage != Some(false);
    let binary = |(path, to): (String, String)| Binary { sha256: digest(&path), to: PathBuf::from(to), path };
    cluster.artifacts.runtime = if is_wanted { runtime.map(binary).collect() } else { Vec::new() };
    cluster.artifacts.binaries = binaries.into_iter().map(binary).collect();
    cluster.artifacts.images =
        images.into_iter().map(|(path, image)| ImageArchive { sha256: digest(&path), image, path }).collect();
    Some(())
}

fn mirrors(node: &Node) -> Option<Vec<RegistryMirrors>> {
    let mirrors =
        |node: &Node| Some(RegistryMirrors { registry: text(node, "registry")?, urls: list(node.get("urls")) });
    node.items().iter().map(mirrors).collect()
}

fn machines(node: &Node) -> Option<Vec<Machine>> {
    let machine = |node: &Node| {
        Some(Machine {
            name: text(node, "name")?,
            address: node.read("address", format::address).map(|(address, _)| address),
            labels: texts(node.get("labels")),
            taints: list(node.get("taints")).iter().filter_map(|t| format::taint(t).ok()).collect(),
            host_keys: host_keys(node),
            ssh: MachineSsh {
                enabled: flag(node, "ssh.enabled").unwrap_or(true),
                address: node.read("ssh.address", format::address).map(|(address, _)| address),
                port: node.read("ssh.port", format::port).map(|(port, _)| port),
                user: text(node, "ssh.user"),
            },
            flavor: text(node, "flavor"),
            availability_zone: text(node, "availabilityZone"),
        })
    };
    node.items().iter().map(machine).collect()
}

fn host_keys(node: &Node) -> Vec<String> {
    list(node.get("hostKeys")).iter().filter_map(|key| format::host_key(key).ok()).collect()
}

fn ssh(node: &Node) -> Option<Ssh> {
    let user = text(node, "user")?;
    let jump_host = node.get("jumpHost").and_then(|jump| {
        Some(JumpHost {
            address: jump.read("address", format::address)?.0,
            port: jump.read("port", format::port).map_or(22, |(port, _)| port),
            user: text(jump, "user").unwrap_or_else(|| user.clone()),
            host_keys: host_keys(jump),
        })
    });
    Some(Ssh {
        port: node.read("port", format::port)?.0,
        key_file: text(node, "keyFile").map(PathBuf::from),
        trust_on_first_use: flag(node, "trustOnFirstUse")?,
        parallel: node.read("parallel", format::count)?.0,
        jump_host,
        user,
    })
}

fn join(node: &Node) -> Join {
    Join {
        ca_certificate: text(node, "caCertificate"),
        ca_pins: list(node.get("caPins")).iter().filter_map(|pin| format::ca_pin(pin).ok()).collect(),
        endpoints: list(node.get("endpoints")).iter().filter_map(|e| format::endpoint(e).ok()).collect(),
    }
}

fn cni(node: &Node) -> Option<Cni> {
    match node.scalar() {
        Some("none") => Some(Cni::None),
        Some(_) => Some(Cni::Flannel),
        None => Some(Cni::Directory(node.read("directory", format::absolute)?.0)),
    }
}

fn timeouts(node: &Node) -> Option<Timeouts> {
    let read = |key| node.read(key, format::duration).map(|(duration, _)| duration);
    Some(Timeouts {
        download: read("download")?,
        image_import: read("imageImport")?,
        kubelet: read("kubelet")?,
        etcd: read("etcd")?,
        control_plane: read("controlPlane")?,
        ssh: read("ssh")?,
        join: read("join")?,
        node: read("node")?,
    })
}

fn text(node: &Node, path: &str) -> Option<String> {
    node.get(path)?.scalar().map(str::to_owned)
}

fn flag(node: &Node, path: &str) -> Option<bool> {
    node.get(path)?.json().as_bool()
}

fn list(node: Option<&Node>) -> Vec<String> {
    node.map_or(&[][..], Node::items).iter().filter_map(|item| item.scalar().map(str::to_owned)).collect()
}

fn texts(node: Option<&Node>) -> BTreeMap<String, String> {
    let entries = node.map_or(&[][..], Node::entries).iter();
    entries.filter_map(|e| Some((e.key.clone(), e.node.scalar()?.to_owned()))).collect()
}
