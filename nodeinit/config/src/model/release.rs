//! What nodeinit knows about a minor version of Kubernetes.

use super::versions::{ContainerdVersion, KubernetesVersion};
use std::{collections::BTreeMap, fmt};

/// Where the machine keeps files that add or replace releases.
pub const DIRECTORY: &str = "/etc/nodeinit/releases";

/// A program of Kubernetes whose flags a release file lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// kubelet.
    Kubelet,
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
    /// etcd.
    Etcd,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Kubelet, Self::ApiServer, Self::ControllerManager, Self::Scheduler, Self::Etcd];

    /// Its key in a release file, and in the configuration.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Kubelet => "kubelet",
            Self::ApiServer => "apiServer",
            Self::ControllerManager => "controllerManager",
            Self::Scheduler => "scheduler",
            Self::Etcd => "etcd",
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kubelet => "kubelet",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Etcd => "etcd",
        })
    }
}

/// A minor version of Kubernetes, and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// `version`: the newest patch version that nodeinit is tested with.
    pub tested: KubernetesVersion,
    /// `images.etcd`.
    pub etcd: String,
    /// `images.coreDNS`.
    pub coredns: String,
    /// `images.pause`.
    pub pause: String,
    /// `kubeadm.apiVersion`.
    pub kubeadm_api: String,
    /// `kubeadm.flexVolumes`.
    pub flex_volumes: bool,
    /// `containerd.minimum`.
    pub least_containerd: ContainerdVersion,
    /// `containerd.recommended`.
    pub recommended_containerd: ContainerdVersion,
    /// `kubelet.failCgroupV1`.
    pub fail_cgroup_v1: bool,
    /// `kubeProxy.mode`.
    pub proxy_mode: Option<String>,
    /// `kubeProxy.deprecatedModes`, each with what to do instead.
    pub deprecated_proxy_modes: BTreeMap<String, String>,
    /// `upgrade.etcd`.
    pub etcd_before_upgrade: Option<String>,
    /// `upgrade.changedDefaults`.
    pub changed_defaults: Vec<String>,
    pub(crate) added: Flags<()>,
    pub(crate) removed: Flags<Missing>,
    pub(crate) later: Flags<Missing>,
}

pub(crate) type Flags<T> = BTreeMap<(Program, String), T>;

/// Why a release does not have a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The release that removed or added it, such as `1.35`.
    pub by: String,
    /// What to do instead.
    pub remedy: String,
}

impl Release {
    /// The minor version, such as `1.37`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.tested.major, self.tested.minor)
    }

    /// The flags of a program that this release adds.
    pub fn added(&self, program: Program) -> impl Iterator<Item = &str> {
        self.added.keys().filter(move |(of, _)| *of == program).map(|(_, flag)| flag.as_str())
    }

    /// The flags of a program that this release or an earlier one removed.
    pub fn removed(&self, program: Program) -> impl Iterator<Item = (&str, &Missing)> {
        self.removed.iter().filter(move |((of, _), _)| *of == program).map(|((_, flag), why)| (flag.as_str(), why))
    }

    /// Why the program does not have this flag: removed by this release or an earlier one.
    #[must_use]
    pub fn lost(&self, program: Program, flag: &str) -> Option<&Missing> {
        self.removed.get(&(program, flag.to_owned()))
    }

    /// Why the program does not have this flag yet: a later release adds it.
    #[must_use]
    pub fn lacks(&self, program: Program, flag: &str) -> Option<&Missing> {
        self.later.get(&(program, flag.to_owned()))
    }
}

/// All known releases, oldest first.
#[derive(Debug)]
pub(crate) struct Releases {
    pub(crate) all: Vec<Release>,
    /// A file could not be understood, so that a release may be missing here.
    pub(crate) incomplete: bool,
}

impl Releases {
    /// What describes this version.
    pub(crate) fn of(&self, version: KubernetesVersion) -> Option<&Release> {
        self.all.iter().find(|release| release.tested.minor_version() == version.minor_version())
    }
}
