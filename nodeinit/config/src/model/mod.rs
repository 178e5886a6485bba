//! The keys of `cluster.yaml`: one file per area, in which each key is declared once.

pub(crate) mod addon;
mod addons;
mod agent;
mod artifacts;
pub(crate) mod bastion;
pub(crate) mod check;
pub(crate) mod cluster_id;
mod container_runtime;
mod control_plane;
pub(crate) mod declare;
pub mod defaults;
mod etcd;
pub mod field;
pub mod format;
mod images;
mod join;
mod kubelet;
mod kubernetes;
mod machines;
pub(crate) mod names;
mod network;
pub mod openstack;
mod os;
pub(crate) mod overrides;
pub(crate) mod release;
mod reserved;
mod roles;
mod rollout;
mod ssh;
pub(crate) mod suggest;
pub(crate) mod texts;
mod timeouts;
pub(crate) mod values;
pub mod versions;

pub use addons::{Addons, Cni};
pub use agent::Agent;
pub use artifacts::{Artifacts, Binary, ImageArchive};
pub use bastion::Bastion;
pub use container_runtime::{ContainerRuntime, Proxy};
pub use control_plane::{ApiServer, ControlPlane, ControllerManager, Scheduler};
pub use etcd::Etcd;
pub use images::{DEFAULT_IMAGE_REPOSITORY, KubernetesImage, RegistryMirrors};
pub use join::Join;
pub use machines::{Machine, MachineSsh, Node, Role};
pub use network::Network;
pub use os::{
    Disk, Dns, Filesystem, HostName, Hosts, Ipv6, Logs, Messages, Os, OsFile, OsUnit, OsUser, Packages, Partition,
    Reboot, Swap, Updates, Volume, VolumeGroup,
};
pub use roles::{RoleSettings, Roles};
pub use rollout::{Hooks, Rollout};
pub use ssh::{JumpHost, Ssh};
pub use timeouts::Timeouts;
pub use values::{API_PORT, ArtifactSource, Endpoint, FETCHED, Share, Taint};

pub(crate) use artifacts::digests;

use addons::AddonKeys;
use artifacts::ArtifactKeys;
use declare::{Form, Verdict, choice, keys, place::Place};
use images::Images;
use kubelet::{KubeProxy, Kubelet};
use kubernetes::Kubernetes;
use openstack::OpenStack;
use release::{Release, Releases};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, net::IpAddr, path::PathBuf};
use texts::Label;
use versions::KubernetesVersion;

keys! {
    /// `cluster.yaml` with all layers and defaults.
    pub(crate) struct Document {
        /// The version of this format. Required in the first file, optional in others.
        "apiVersion" api_version: Option<ApiVersion> = required, to all;
        /// What the file describes. Required in the first file, optional in others.
        "kind" kind: Option<DocumentKind> = required, to all;
        /// The cluster's name; used in kubeconfigs and in `kubeadm-config`.
        "name" name: String as Label = "kubernetes", to all, immutable;
        /// The Kubernetes release.
        "kubernetes" kubernetes: Kubernetes, to all;
        /// Registries and mirrors of images.
        "images" images: Images, to all;
        /// containerd on every machine. See `docs/how-to/containerd.md`.
        "containerRuntime" container_runtime: ContainerRuntime, to all => container_runtime::unmanaged;
        /// Settings that all masters share.
        "controlPlane" control_plane: ControlPlane, to all;
        /// The masters; the first entry is the first master. A machine is a first master only if it is listed here.
        "masters" masters: Vec<Machine>, example "[{name: master-1, address: 10.0.0.11}]", to masters => machines::check;
        /// The workers.
        "workers" workers: Vec<Machine>, example "[{name: worker-1, address: 10.0.0.21}]", to all;
        /// The bastion: jump host and gateway of the machines' private network. It is not a node; run `nodeinit up` on it.
        "bastion" bastion: Option<Bastion>, else "none", example "{name: bastion, network: 10.0.0.0/24}", to masters => bastion::check;
        /// Settings of the machines of one role. See `docs/how-to/environments.md`.
        "roles" roles: Roles, to masters;
        /// SSH access from the first master to the other machines. Workers without an address join on their own.
        "ssh" ssh: Ssh, to masters;
        /// Trust settings of a self-joining worker. The first master and the provisioner write them into the worker's own configuration.
        "join" join: Join, to all;
        /// The service `nodeinit-agent` on every master, which approves the certificates of kubelets.
        "agent" agent: Agent, to all;
        /// Addresses inside the cluster.
        "network" network: Network, to all => network::apart;
        /// etcd, a static pod on every master.
        "etcd" etcd: Etcd, to masters;
        /// kube-apiserver, a static pod on every master.
        "apiServer" api_server: ApiServer, to masters;
        /// kube-controller-manager, a static pod on every master.
        "controllerManager" controller_manager: ControllerManager, to masters;
        /// kube-scheduler, a static pod on every master.
        "scheduler" scheduler: Scheduler, to masters;
        /// The kubelet on every machine.
        "kubelet" kubelet: Map<String, Value> as Kubelet, to all;
        /// kube-proxy on every machine.
        "kubeProxy" kube_proxy: Map<String, Value> as KubeProxy, to masters;
        /// Addons, applied when the API server is ready.
        "addons" addons: Addons as AddonKeys, to all;
        /// Source of programs and image archives.
        "artifacts" artifacts: ArtifactKeys, to all;
        /// Settings for the operating system.
        "os" os: Os, to all;
        /// Directory with files that replace built-in manifests with the same name.
        "manifestsDirectory" manifests_directory: Option<PathBuf>,
            else "the built-in manifests", example "/etc/nodeinit/manifests", to all;
        /// How secrets reach a machine.
        "secretsDelivery" secrets_delivery: SecretsDelivery = "ssh", to all => exposed_secrets;
        /// The cloud in which `provisioner` creates the machines. Omit it if the machines exist. Machines do not receive this section.
        "openstack" openstack: Option<OpenStack>, to nobody => openstack::check;
        /// The order of changes that restart control planes or kubelets, by `up` or `upgrade`: masters one at a time, then workers.
        "rollout" rollout: Rollout, to masters;
        /// Deadlines, one for each kind of wait.
        "timeouts" timeouts: Timeouts, to all;
    }
}

choice! {
    /// The versions of the format.
    pub(crate) enum ApiVersion {
        /// the only one so far
        "nodeinit.dev/v1alpha1" V1alpha1,
    }
}

choice! {
    /// What a file describes.
    pub(crate) enum DocumentKind {
        /// the configuration of a cluster
        "Cluster" Cluster,
    }
}

/// The required value of `apiVersion`.
pub const API_VERSION: &str = ApiVersion::WORDS[0].0;
/// The required value of `kind`.
pub const KIND: &str = DocumentKind::WORDS[0].0;
/// The keys of `cluster.yaml`.
pub const CLUSTER: &[field::Field] = Document::KEYS;

choice! {
    /// How secrets reach a machine.
    pub enum SecretsDelivery {
        /// over SSH; only a worker's own single-use token may be in user-data
        "ssh" Ssh,
        /// over SSH, including a worker's token
        "ssh-only" SshOnly,
        /// in user-data, which every process on the machine can read; causes a warning
        "user-data" UserData,
    }
}

fn exposed_secrets(place: &Place<'_, SecretsDelivery>, verdict: &mut Verdict<'_>) {
    if place.value() == Some(SecretsDelivery::UserData) {
        let what =
            "every process on a machine, and every user of the cloud who can read its user-data, can read its secrets";
        place.report(&mut verdict.warnings, what, "keep `ssh` unless no machine has SSH access");
    }
}

/// One cluster, described by its `cluster.yaml` and further layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// `name`: a DNS label; used in kubeconfigs and in `kubeadm-config`. Default `kubernetes`.
    pub name: String,
    /// `kubernetes.version`.
    pub version: KubernetesVersion,
    /// The release of the version: embedded, or from a file in `/etc/nodeinit/releases`.
    pub release: Release,
    /// `images.repository`: the registry of the images of Kubernetes. Default `registry.k8s.io`.
    pub image_repository: String,
    /// `images.mirrors`.
    pub registry_mirrors: Vec<RegistryMirrors>,
    /// `images.registryAuthFile`.
    pub registry_auth: Option<PathBuf>,
    /// `containerRuntime`.
    pub container_runtime: ContainerRuntime,
    /// `controlPlane`.
    pub control_plane: ControlPlane,
    /// `masters`: the first entry is the first master. Empty on a worker that joins on its own.
    pub masters: Vec<Machine>,
    /// `workers`.
    pub workers: Vec<Machine>,
    /// `bastion`. `None` if there is none that nodeinit sets up.
    pub bastion: Option<Bastion>,
    /// `roles`.
    pub roles: Roles,
    /// `ssh`.
    pub ssh: Ssh,
    /// `join`.
    pub join: Join,
    /// `agent`.
    pub agent: Agent,
    /// `network`.
    pub network: Network,
    /// `etcd`.
    pub etcd: Etcd,
    /// `apiServer`.
    pub api_server: ApiServer,
    /// `controllerManager`.
    pub controller_manager: ControllerManager,
    /// `scheduler`.
    pub scheduler: Scheduler,
    /// `kubelet.config`: merged over nodeinit's `KubeletConfiguration`, on every machine.
    pub kubelet: Map<String, Value>,
    /// `kubeProxy.config`: merged over nodeinit's `KubeProxyConfiguration`.
    pub kube_proxy: Map<String, Value>,
    /// `addons`.
    pub addons: Addons,
    /// `artifacts`.
    pub artifacts: Artifacts,
    /// `os`.
    pub os: Os,
    /// `manifestsDirectory`: files here replace built-in manifests with the same name.
    pub manifests_directory: Option<PathBuf>,
    /// `secretsDelivery`.
    pub secrets_delivery: SecretsDelivery,
    /// `openstack`. `None` if the machines exist already.
    pub openstack: Option<OpenStack>,
    /// `rollout`.
    pub rollout: Rollout,
    /// `timeouts`.
    pub timeouts: Timeouts,
    /// The values that cannot change on a machine that was set up with them, by key.
    pub immutable: BTreeMap<String, String>,
}

impl Cluster {
    /// Returns `None` only if the configuration contains something that was reported as wrong.
    pub(crate) fn read(place: &Place<'_, Document>, releases: &Releases) -> Option<Self> {
        let keys = place.value()?;
        let mut immutable = BTreeMap::new();
        Document::immutable(place, &mut immutable);
        let Document { api_version: _, kind: _, kubernetes: Kubernetes { version }, artifacts, .. } = keys;
        let mut cluster = Self {
            name: keys.name,
            version,
            release: releases.of(version)?.clone(),
            image_repository: keys.images.repository,
            registry_mirrors: keys.images.mirrors,
            registry_auth: keys.images.registry_auth_file,
            container_runtime: keys.container_runtime,
            control_plane: keys.control_plane,
            masters: keys.masters,
            workers: keys.workers,
            bastion: keys.bastion,
            roles: keys.roles,
            ssh: keys.ssh,
            join: keys.join,
            agent: keys.agent,
            network: keys.network,
            etcd: keys.etcd,
            api_server: keys.api_server,
            controller_manager: keys.controller_manager,
            scheduler: keys.scheduler,
            kubelet: keys.kubelet,
            kube_proxy: keys.kube_proxy,
            addons: keys.addons,
            artifacts: Artifacts::unlisted(&artifacts, version),
            os: keys.os,
            manifests_directory: keys.manifests_directory,
            secrets_delivery: keys.secrets_delivery,
            openstack: keys.openstack,
            rollout: keys.rollout,
            timeouts: keys.timeouts,
            immutable,
        };
        cluster.list_artifacts(artifacts);
        Some(cluster)
    }

    /// Whether containerd needs files of registries, because `images` has mirrors or logins.
    #[must_use]
    pub fn sets_registries(&self) -> bool {
        !self.registry_mirrors.is_empty() || self.registry_auth.is_some()
    }

    /// Returns what workers and users connect to: the configured endpoint, else the virtual address, else the first master's
    /// address (`fallback` if none is configured).
    #[must_use]
    pub fn endpoint(&self, fallback: IpAddr) -> Endpoint {
        let address = || self.control_plane.virtual_address.or(self.masters.first().and_then(|m| m.address));
        let otherwise = || Endpoint { host: address().unwrap_or(fallback).to_string(), port: API_PORT };
        self.control_plane.endpoint.clone().unwrap_or_else(otherwise)
    }

    /// Returns where a worker looks for the API: at the [endpoint](Self::endpoint), then at those of `join`; without a load balancer
    /// or virtual address, at each master.
    #[must_use]
    pub fn join_endpoints(&self, fallback: IpAddr) -> Vec<Endpoint> {
        let first = self.endpoint(fallback);
        let others = if self.control_plane.endpoint.is_none() && self.control_plane.virtual_address.is_none() {
            let addresses = self.masters.iter().filter_map(|master| master.address);
            addresses.map(|address| Endpoint { host: address.to_string(), port: API_PORT }).collect()
        } else {
            self.join.endpoints.clone()
        };
        let others = others.into_iter().filter(|other| *other != first);
        std::iter::once(first.clone()).chain(others).collect()
    }

    /// Returns the full name of an image of Kubernetes, such as `registry.k8s.io/kube-apiserver:v1.37.1`.
    #[must_use]
    pub fn image(&self, component: KubernetesImage) -> String {
        let repository = &self.image_repository;
        let Self { version, release, .. } = self;
        match component {
            KubernetesImage::Pause => format!("{repository}/pause:{}", release.pause),
            KubernetesImage::Etcd => format!("{repository}/etcd:{}", release.etcd),
            KubernetesImage::ApiServer => format!("{repository}/kube-apiserver:{version}"),
            KubernetesImage::ControllerManager => format!("{repository}/kube-controller-manager:{version}"),
            KubernetesImage::Scheduler => format!("{repository}/kube-scheduler:{version}"),
            KubernetesImage::Proxy => format!("{repository}/kube-proxy:{version}"),
            // As in kubeadm: the default repository has CoreDNS in a separate folder, any other has it next to the other images.
            KubernetesImage::CoreDns if repository == DEFAULT_IMAGE_REPOSITORY => {
                format!("{repository}/coredns/coredns:{}", release.coredns)
            }
            KubernetesImage::CoreDns => format!("{repository}/coredns:{}", release.coredns),
        }
    }
}
