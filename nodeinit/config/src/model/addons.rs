//! Addons.

use super::{
    declare::{Form, keys},
    field::Kind,
    place::Place,
};
use crate::model::addon::Addon;
use std::path::PathBuf;

keys! {
    /// `addons` as it is written.
    pub(crate) struct AddonKeys as Addons, by addons {
        /// kube-proxy: implements services with iptables or nftables.
        "kubeProxy" kube_proxy: bool = "true", to all;
        /// CoreDNS: DNS inside the cluster.
        "coreDNS" core_dns: bool = "true", to all;
        /// The pod network.
        "cni" cni: Cni = "flannel", to all;
        /// metrics-server: resource usage of pods and nodes, for `kubectl top` and autoscaling.
        "metricsServer" metrics_server: bool = "false", to all;
        /// local-path-provisioner: volumes on the nodes' own disks, with the default storage class `local-path`.
        "localStorage" local_storage: bool = "false", to all;
        /// Prometheus, node-exporter and kube-state-metrics, in the namespace `monitoring`.
        "monitoring" monitoring: bool = "false", to all;
        /// Fluent Bit and VictoriaLogs: logs of all containers, in the namespace `logging`.
        "logging" logging: bool = "false", to all;
        /// Traefik: external HTTP access on ports 80 and 443 of every node that runs ordinary pods.
        "ingress" ingress: bool = "false", to all;
        /// Headlamp: a web interface for the cluster, in the namespace `dashboard`.
        "dashboard" dashboard: bool = "false", to all;
        /// A directory on the first master: every manifest in it is applied unchanged when the cluster is ready. Objects that are removed
        /// from it are deleted.
        "manifests" manifests: Option<PathBuf>, else "none", example "/etc/nodeinit/addons", to all;
    }
}

keys! {
    /// The user's own pod network.
    pub(crate) struct OwnCni {
        /// Every manifest in this directory is applied.
        "directory" directory: PathBuf = required, to all;
    }
}

/// Addons, applied when the API server is ready.
#[derive(Clone, Debug, PartialEq)]
pub struct Addons {
    /// `addons.kubeProxy`. Default true.
    pub kube_proxy: bool,
    /// `addons.coreDNS`. Default true.
    pub coredns: bool,
    /// `addons.cni`. Default `flannel`.
    pub cni: Cni,
    /// The enabled optional addons. Default none.
    pub optional: Vec<Addon>,
    /// `addons.manifests`: a directory with the user's own manifests.
    pub manifests: Option<PathBuf>,
}

fn addons(keys: AddonKeys) -> Option<Addons> {
    let is_on = |addon: &Addon| match addon {
        Addon::MetricsServer => keys.metrics_server,
        Addon::LocalStorage => keys.local_storage,
        Addon::Monitoring => keys.monitoring,
        Addon::Logging => keys.logging,
        Addon::Ingress => keys.ingress,
        Addon::Dashboard => keys.dashboard,
    };
    Some(Addons {
        kube_proxy: keys.kube_proxy,
        coredns: keys.core_dns,
        optional: Addon::ALL.into_iter().filter(is_on).collect(),
        cni: keys.cni,
        manifests: keys.manifests,
    })
}

/// The pod network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cni {
    /// `none`: the user installs one; nodes stay NotReady until then.
    None,
    /// `flannel`: the default, with VXLAN.
    Flannel,
    /// `{directory: PATH}`: every manifest in this directory is applied.
    Directory(PathBuf),
}

impl Form for Cni {
    type Value = Self;
    const KIND: Kind = Kind::ChoiceOrGroup(
        &[("flannel", "the default, with VXLAN"), ("none", "you install one; nodes stay NotReady until then")],
        OwnCni::KEYS,
    );

    fn read(place: &Place<'_, Self>) -> Option<Self> {
        match place.written()?.scalar() {
            Some("none") => Some(Self::None),
            Some("flannel") => Some(Self::Flannel),
            Some(_) => None,
            None => Some(Self::Directory(place.cast::<OwnCni>().value()?.directory)),
        }
    }
}
