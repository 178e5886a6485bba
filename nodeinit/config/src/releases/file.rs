//! The keys of a release file.

use crate::model::{
    declare::{Dict, keys},
    field::Field,
    texts::{FlagName, ImageTag, KubeadmApi, ProxyMode, Sentence},
    versions::{ContainerdVersion, KubernetesVersion},
};
use std::collections::BTreeMap;

/// The keys of a release file.
pub const KEYS: &[Field] = File::KEYS;

keys! {
    /// A release file.
    pub(crate) struct File {
        /// The newest patch version that was tested with nodeinit. The file describes all patch versions of this minor version.
        "version" version: KubernetesVersion = required, to all;
        /// The tags of the other images that kubeadm deploys.
        "images" images: Images = required, to all;
        /// The output of kubeadm of this release.
        "kubeadm" kubeadm: Kubeadm = required, to all;
        /// The versions of containerd that the kubelet supports.
        "containerd" containerd: Containerd = required, to all;
        /// The kubelet, compared with the previous release.
        "kubelet" kubelet: Kubelet = required, to all;
        /// kube-apiserver, compared with the previous release.
        "apiServer" api_server: Flags, to all;
        /// kube-controller-manager, compared with the previous release.
        "controllerManager" controller_manager: Flags, to all;
        /// kube-scheduler, compared with the previous release.
        "scheduler" scheduler: Flags, to all;
        /// etcd, compared with the previous release.
        "etcd" etcd: Flags, to all;
        /// kube-proxy.
        "kubeProxy" kube_proxy: KubeProxy, to all;
        /// The requirements of an upgrade from the previous release.
        "upgrade" upgrade: Upgrade, to all;
    }
}

keys! {
    /// Images' tags.
    pub(crate) struct Images {
        /// The tag of etcd's image.
        "etcd" etcd: String as ImageTag = required, to all;
        /// The tag of CoreDNS' image.
        "coreDNS" core_dns: String as ImageTag = required, to all;
        /// The tag of the pause image.
        "pause" pause: String as ImageTag = required, to all;
    }
}

keys! {
    /// The output of kubeadm.
    pub(crate) struct Kubeadm {
        /// The `apiVersion` of the configuration in the ConfigMap `kubeadm-config`.
        "apiVersion" api_version: String as KubeadmApi = required, to all;
        /// Whether kube-controller-manager's static pod mounts the directory of FlexVolume plugins.
        "flexVolumes" flex_volumes: bool = "false", to all;
    }
}

keys! {
    /// Versions of containerd.
    pub(crate) struct Containerd {
        /// The oldest supported minor version. `preflight` refuses an older one.
        "minimum" minimum: ContainerdVersion = required, to all;
        /// The oldest recommended minor version. `preflight` warns about an older one.
        "recommended" recommended: ContainerdVersion = required, to all;
    }
}

keys! {
    /// The kubelet.
    pub(crate) struct Kubelet {
        /// The default of `failCgroupV1`: whether the kubelet refuses to start on cgroup v1.
        "failCgroupV1" fail_cgroup_v1: bool = required, to all;
        /// Flags, without dashes, that the previous release does not have.
        "addedFlags" added_flags: Vec<String> as Vec<FlagName>, example "[max-pods]", to all;
        /// Flags, without dashes, that this release removed, each with the alternative.
        "removedFlags" removed_flags: BTreeMap<String, String> as Dict<FlagName, Sentence>,
            example "{max-pods: set maxPods in kubelet.config}", to all;
    }
}

keys! {
    /// The flags of a program.
    pub(crate) struct Flags {
        /// Flags, without dashes, that the previous release does not have.
        "addedFlags" added_flags: Vec<String> as Vec<FlagName>, example "[max-pods]", to all;
        /// Flags, without dashes, that this release removed, each with the alternative.
        "removedFlags" removed_flags: BTreeMap<String, String> as Dict<FlagName, Sentence>,
            example "{max-pods: set maxPods in kubelet.config}", to all;
    }
}

keys! {
    /// kube-proxy.
    pub(crate) struct KubeProxy {
        /// The `mode` that kubeadm writes into kube-proxy's configuration.
        "mode" mode: Option<String> as Option<ProxyMode>, else "none", example "iptables", to all;
        /// Values of `mode` that a later release removes, each with the alternative.
        "deprecatedModes" deprecated_modes: BTreeMap<String, String> as Dict<ProxyMode, Sentence>, example "{ipvs: use nftables}", to all;
    }
}

keys! {
    /// The requirements of an upgrade.
    pub(crate) struct Upgrade {
        /// The tag of the etcd image that every member must run, at least, before the first member is upgraded.
        "etcd" etcd: Option<String> as Option<ImageTag>, else "none", example "3.6.11-0", to all;
        /// Defaults that differ from the previous release.
        "changedDefaults" changed_defaults: Vec<String> as Vec<Sentence>, example "[failCgroupV1 of the kubelet is true]", to all;
    }
}
