//! Each key that is described reaches the validated types, with the value that was written.

use nodeinit_config::{
    Addon, Layer,
    cluster::*,
    keys::CLUSTER,
    load,
    openstack::*,
    releases,
    schema::{Field, Kind},
};
use std::{collections::BTreeMap, time::Duration};

const HOST_KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo";

const FULL: &str = include_str!("every_key.yaml");

/// The same with what cannot be beside something of it: a bastion for the jump host, a second network with a router, and a bundle
/// for the mirror.
#[allow(clippy::unwrap_used, reason = "only tests call it")]
fn with_what_is_excluded() -> String {
    let (before, after) = FULL.split_once("  jumpHost:\n").unwrap();
    let after = after.split_once("\njoin:").unwrap().1;
    let text =
        format!("{before}join:{after}").replace("# bastion:", "bastion:").replace("# publicCIDR:", "publicCIDR:");
    let text = text.replace("source: https://mirror.example.org/k8s/", "source: /opt/kubernetes.tar");
    let text = text.replace("  sha256sums:", "  # sha256sums:").replace("# bundleKey:", "bundleKey:");
    text.replace("router: false", "router: true").replace("address: 10.9.0.10,", "address: 10.9.4.10,")
}

#[test]
fn every_key_is_in_the_example() {
    let texts = [FULL.to_owned(), with_what_is_excluded()];
    let all = texts.map(|text| load(&[Layer::file("every_key.yaml", text)]).unwrap_or_else(|p| panic!("{p}")).json());
    let mut missing = Vec::new();
    leaves("", CLUSTER, &mut |path| {
        let mut origins = all.iter().flat_map(|json| json["origins"].as_object().unwrap());
        let written = origins.any(|(p, o)| p.starts_with(&path) && o["file"] == "every_key.yaml");
        if !written {
            missing.push(path);
        }
    });
    assert!(missing.is_empty(), "not in every_key.yaml: {missing:?}");
}

fn leaves(path: &str, fields: &[Field], visit: &mut impl FnMut(String)) {
    for field in fields {
        let here = if path.is_empty() { field.key.to_owned() } else { format!("{path}.{}", field.key) };
        match field.kind {
            Kind::Group(inner) => leaves(&here, inner, visit),
            Kind::List(Kind::Group(inner)) => leaves(&format!("{here}[0]"), inner, visit),
            _ => visit(here),
        }
    }
}

#[test]
fn every_value_arrives() {
    let cluster = load(&[Layer::file("every_key.yaml", FULL)]).unwrap_or_else(|p| panic!("{p}")).cluster;
    let texts = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    };
    let mut digest = [0; 32];
    digest[31] = 1;
    let seconds = Duration::from_secs;
    let expected = Cluster {
        name: "demo".into(),
        version: "v1.34.3".parse().unwrap(),
        release: releases::embedded().remove(0),
        image_repository: "registry.example.org/k8s".into(),
        registry_auth: Some("/etc/nodeinit/registry-auth.json".into()),
        registry_mirrors: vec![RegistryMirrors {
            registry: "docker.io".into(),
            urls: vec!["https://mirror.example.org/hub".into(), "http://10.9.0.5:5000".into()],
        }],
        container_runtime: ContainerRuntime {
            manage: Some(true),
            proxy: Proxy {
                http: Some("http://proxy.example.org:3128".into()),
                https: Some("http://proxy.example.org:3129".into()),
                no: vec!["10.9.0.0/16".into(), ".example.org".into()],
            },
        },
        control_plane: ControlPlane {
            endpoint: Some(Endpoint { host: "api.example.org".into(), port: 443 }),
            virtual_address: Some("10.9.0.100".parse().unwrap()),
            cert_sans: vec!["api.example.org".into(), "10.9.0.1".into()],
            schedulable: true,
        },
        masters: vec![Machine {
            name: "m1".into(),
            address: Some("10.9.0.11".parse().unwrap()),
            labels: texts(&[("example.org/zone", "north"), ("rack", "")]),
            taints: vec![Taint { key: "dedicated".into(), value: "db".into(), effect: "NoExecute".into() }],
            host_keys: vec![HOST_KEY.into()],
            ssh: MachineSsh {
                enabled: true,
                address: Some("10.9.1.11".parse().unwrap()),
                port: Some(2222),
                user: Some("debian".into()),
            },
            flavor: Some("c4".into()),
            availability_zone: Some("az1".into()),
        }],
        workers: vec![Machine {
            name: "w1".into(),
            address: Some("10.9.0.21".parse().unwrap()),
            labels: texts(&[("node.kubernetes.io/tier", "1")]),
            taints: vec![Taint { key: "gpu".into(), value: String::new(), effect: "NoSchedule".into() }],
            host_keys: vec![HOST_KEY.into()],
            ssh: MachineSsh {
                enabled: false,
                address: Some("10.9.1.21".parse().unwrap()),
                port: Some(2223),
                user: Some("ubuntu".into()),
            },
            flavor: Some("c8".into()),
            availability_zone: Some("az2".into()),
        }],
        ssh: Ssh {
            user: "admin".into(),
            port: 22022,
            key_file: Some("/root/.ssh/id_ed25519".into()),
            trust_on_first_use: true,
            parallel: 7,
            jump_host: Some(JumpHost {
                address: "10.9.1.1".parse().unwrap(),
                port: 2022,
                user: "jump".into(),
                host_keys: vec![HOST_KEY.into()],
            }),
        },
        join: Join {
            ca_certificate: Some("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n".into()),
            ca_pins: vec![digest],
            endpoints: vec![Endpoint { host: "10.9.0.11".into(), port: 6443 }],
        },
        agent: Agent { enabled: false },
        network: Network {
            pod_cidr: "10.1.0.0/16".parse().unwrap(),
            service_cidr: "10.2.0.0/20".parse().unwrap(),
            dns_domain: "demo.local".into(),
            pods_may_read_metadata: true,
        },
        etcd: Etcd { data_directory: "/data/etcd".into(), extra_args: texts(&[("snapshot-count", "5000")]) },
        api_server: Component { extra_args: texts(&[("profiling", "true")]) },
        controller_manager: Component { extra_args: texts(&[("v", "2")]) },
        scheduler: Component { extra_args: texts(&[("v", "3")]) },
        kubelet:
            serde_json::json!({ "failSwapOn": false, "maxPods": 50, "evictionHard": { "memory.available": "1Mi" } })
                .as_object()
                .cloned()
                .unwrap(),
        kube_proxy: serde_json::json!({ "mode": "nftables", "nodePortAddresses": null }).as_object().cloned().unwrap(),
        addons: Addons {
            kube_proxy: false,
            coredns: false,
            cni: Cni::Directory("/etc/cni-manifests".into()),
            optional: Addon::ALL.into(),
            manifests: Some("/etc/nodeinit/addons".into()),
        },
        artifacts: Artifacts {
            source: ArtifactSource::Mirror("https://mirror.example.org/k8s".into()),
            binaries: vec![Binary { path: "kubelet".into(), to: "/usr/bin/kubelet".into(), sha256: Some(digest) }],
            runtime: [
                ("bin/containerd", "/usr/local/bin/containerd"),
                ("bin/containerd-shim-runc-v2", "/usr/local/bin/containerd-shim-runc-v2"),
                ("bin/ctr", "/usr/local/bin/ctr"),
                ("bin/runc", "/usr/local/sbin/runc"),
            ]
            .map(|(path, to)| Binary { path: path.into(), to: to.into(), sha256: None })
            .into(),
            images: vec![ImageArchive {
                path: "pause.tar".into(),
                image: "registry.k8s.io/pause:3.10.1".into(),
                sha256: Some(digest),
            }],
            lend: false,
            sha256sums: Some([0xcd; 32]),
            bundle_key: None,
            mirrors: texts(&[("registry.k8s.io", "https://mirror.example.org/k8s")]),
            ca_certificate: Some("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n".into()),
        },
        os: Os { swap: Swap::Keep, sysctls: texts(&[("vm.swappiness", "1")]), modules: vec!["ip_vs".into()] },
        manifests_directory: Some("/etc/nodeinit/manifests".into()),
        secrets_delivery: SecretsDelivery::SshOnly,
        openstack: Some(openstack(digest)),
        timeouts: Timeouts {
            download: seconds(1),
            image_import: seconds(2),
            kubelet: seconds(3),
            etcd: seconds(4),
            control_plane: seconds(5),
            ssh: seconds(7),
            join: seconds(8),
            node: seconds(6),
        },
    };
    assert_eq!(cluster, expected);
}

#[test]
fn the_bastion_and_the_second_network_arrive() {
    let cluster =
        load(&[Layer::file("every_key.yaml", with_what_is_excluded())]).unwrap_or_else(|p| panic!("{p}")).cluster;
    let expected = Bastion {
        name: "gate".into(),
        address: Some("10.9.4.5".parse().unwrap()),
        flavor: Some("c1".into()),
        image: Some("small-image".into()),
    };
    let cloud = cluster.openstack.unwrap();
    assert_eq!(cloud.bastion, Some(expected));
    let CloudNetwork::Made(made) = cloud.network else { panic!("an existing network") };
    assert_eq!(made.public, "10.9.4.0/24".parse().ok());
}

#[allow(clippy::unwrap_used, reason = "only tests call it")]
fn openstack(digest: [u8; 32]) -> OpenStack {
    let net = |text: &str| vec![text.parse().unwrap()];
    let seconds = Duration::from_secs;
    OpenStack {
        cloud: Some("mycloud".into()),
        cluster_id: "c7d0bd8a-6f0d-4b5e-9a53-0b3d6f1f2a10".into(),
        image: "node-image".into(),
        flavor: Some("c2".into()),
        keypair: Some("operator".into()),
        availability_zones: vec!["az1".into(), "az2".into()],
        anti_affinity: AntiAffinity::Hard,
        config_drive: false,
        volume: Volume { size: 30, kind: Some("ssd".into()) },
        network: CloudNetwork::Made(MadeNetwork {
            name: Some("nodes".into()),
            subnet: Some("nodes-v4".into()),
            cidr: "10.9.0.0/23".parse().unwrap(),
            gateway: "10.9.0.2".parse().unwrap(),
            pools: vec![("10.9.0.200".parse().unwrap(), "10.9.0.250".parse().unwrap())],
            dhcp: false,
            dns_servers: vec!["192.0.2.53".parse().unwrap()],
            router: false,
            public: None,
        }),
        external_network: Some("public".into()),
        floating_ips: FloatingIps::FirstMaster,
        load_balancer: LoadBalancer {
            enabled: false,
            floating_ip: true,
            address: Some("10.9.0.10".parse().unwrap()),
            provider: Some("ovn".into()),
        },
        bastion: None,
        access: Access {
            ssh: net("192.0.2.0/24"),
            api: net("198.51.100.0/24"),
            ingress: net("0.0.0.0/0"),
            node_ports: net("203.0.113.0/24"),
            between_nodes: vec![Opening { protocol: Some("udp".into()), ports: Some((4789, 4789)) }],
        },
        allowed_address_pairs: net("10.1.0.0/16"),
        binary: BinaryDelivery {
            urls: vec!["https://mirror.example.org/nodeinit".into()],
            sha256: Some(digest),
            file: Some("./nodeinit".into()),
        },
        parallel: 3,
        timeouts: CloudTimeouts {
            request: seconds(1),
            volume: seconds(2),
            server: seconds(3),
            load_balancer: seconds(4),
            deletion: seconds(5),
        },
    }
}

#[test]
fn the_defaults_of_a_directory() {
    let text = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nartifacts: {source: /opt/k8s}\n";
    let cluster = load(&[Layer::file("x", text)]).unwrap().cluster;
    let images: Vec<String> = cluster.artifacts.images.iter().map(|i| format!("{}={}", i.path, i.image)).collect();
    assert_eq!(images[0], "images/pause.tar=registry.k8s.io/pause:3.10.2");
    assert_eq!(images[6], "images/coredns.tar=registry.k8s.io/coredns/coredns:v1.14.6");
    assert!(images[7].starts_with("images/flannel.tar=ghcr.io/flannel-io/flannel:v"), "{}", images[7]);
    let binaries: Vec<&str> = cluster.artifacts.binaries.iter().filter_map(|b| b.to.to_str()).collect();
    assert_eq!(binaries[..3], ["/usr/bin/kubelet", "/usr/bin/kubectl", "/opt/cni/bin/bridge"]);
    let less = format!("{text}addons: {{cni: none, coreDNS: false, kubeProxy: false}}\n");
    assert_eq!(load(&[Layer::file("x", less)]).unwrap().cluster.artifacts.images.len(), 5);
    assert!(load(&[]).unwrap().cluster.artifacts.images.is_empty());
}

#[test]
fn an_addons_images_are_those_of_its_manifest() {
    for addon in Addon::ALL {
        let path = format!("{}/../../manifests/{}.yaml", env!("CARGO_MANIFEST_DIR"), addon.name());
        let manifest = std::fs::read_to_string(path).unwrap();
        let mut named: Vec<&str> = manifest.lines().filter_map(|line| line.trim().strip_prefix("image: ")).collect();
        let mut listed = addon.images().to_vec();
        named.sort_unstable();
        listed.sort_unstable();
        assert_eq!(named, listed, "{}", addon.name());
    }
}

#[test]
fn the_virtual_addresss_image_is_that_of_its_manifest() {
    let manifest = include_str!("../../../manifests/kube-vip.yaml");
    let image = nodeinit_config::defaults::KUBE_VIP_IMAGE;
    assert!(manifest.contains(&format!("image: {image}\n")), "{image} is not in manifests/kube-vip.yaml");
}

#[test]
fn flannels_images_are_those_of_its_manifest() {
    let manifest = include_str!("../../../manifests/flannel.yaml");
    for image in [nodeinit_config::defaults::FLANNEL_IMAGE, nodeinit_config::defaults::FLANNEL_CNI_PLUGIN_IMAGE] {
        assert!(manifest.contains(&format!("image: {image}\n")), "{image} is not in manifests/flannel.yaml");
    }
}
