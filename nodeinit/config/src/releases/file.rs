//! A file that describes a release: its keys.

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
        /// The newest patch version that nodeinit is tested with. The file describes every version of the same minor version.
        "version" version: KubernetesVersion = required, to all;
        /// The tags of the other images that kubeadm deploys.
        "images" images: Images = required, to all;
        /// What kubeadm of this release writes.
        "kubeadm" kubeadm: Kubeadm = required, to all;
        /// Which versions of containerd the kubelet works with.
        "containerd" containerd: Containerd = required, to all;
        /// The kubelet, compared with the release before.
        "kubelet" kubelet: Kubelet = required, to all;
        /// kube-apiserver, compared with the release before.
        "apiServer" api_server: Flags, to all;
        /// kube-controller-manager, compared with the release before.
        "controllerManager" controller_manager: Flags, to all;
        /// kube-scheduler, compared with the release before.
        "scheduler" scheduler: Flags, to all;
        /// etcd, compared with the release before.
        "etcd" etcd: Flags, to all;
        /// kube-proxy.
        "kubeProxy" kube_proxy: KubeProxy, to all;
        /// What an upgrade from the release before needs.
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
    /// What kubeadm writes.
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
        /// The oldest minor version that the kubelet works with. `preflight` refuses an older one.
        "minimum" minimum: ContainerdVersion = required, to all;
        /// `preflight` warns about an older one.
        "recommended" recommended: ContainerdVersion = required, to all;
    }
}

keys! {
    /// The kubelet.
    pub(crate) struct Kubelet {
        /// The default of `failCgroupV1`: whether the kubelet refuses to start on cgroup v1.
        "failCgroupV1" fail_cgroup_v1: bool = required, to all;
        /// Flags, without dashes, that the release before does not have.
        "addedFlags" added_flags: Vec<String> as Vec<FlagName>, example "[max-pods]", to all;
        /// Flags, without dashes, that this release no longer has, each with what to do instead.
        "removedFlags" removed_flags: BTreeMap<String, String> as Dict<FlagName, Sentence>,
            example "{max-pods: set maxPods in kubelet.config}", to all;
    }
}

keys! {
    /// The flags of a program.
    pub(crate) struct Flags {
        /// Flags, without dashes, that the release before does not have.
        "addedFlags" added_flags: Vec<String> as Vec<FlagName>, example "[max-pods]", to all;
        /// Flags, without dashes, that this release no longer has, each with what to do instead.
        "removedFlags" removed_flags: BTreeMap<String, String> as Dict<FlagName, Sentence>,
            example "{max-pods: set maxPods in kubelet.config}", to all;
    }
}

keys! {
    /// kube-proxy.
    pub(crate) struct KubeProxy {
        /// The `mode` that kubeadm writes into kube-proxy's configuration.
        "mode" mode: Option<String> as Option<ProxyMode>, else "none", example "iptables", to all;
        /// Values of `mode` that a later release removes, each with what to do instead.
        "deprecatedModes" deprecated_modes: BTreeMap<String, String> as Dict<ProxyMode, Sentence>, example "{ipvs: use nftables}", to all;
    }
}

keys! {
    /// What an upgrade needs.
    pub(crate) struct Upgrade {
        /// The tag of the image of etcd that every member must run, or a newer one, before the first member is upgraded.
        "etcd" etcd: Option<String> as Option<ImageTag>, else "none", example "3.6.11-0", to all;
        /// Defaults that are not those of the release before.
        "changedDefaults" changed_defaults: Vec<String> as Vec<Sentence>, example "[failCgroupV1 of the kubelet is true]", to all;
    }
}
