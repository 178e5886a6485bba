//! The identity of a step: a type in the code, a stable name everywhere else.

use nodeinit_config::{Addon, Component, cluster::KubernetesImage};
use std::{borrow::Cow, fmt};

/// The identity of a step. `Display` writes its name, which never changes, because the journal, the report, `phase run` and the
/// documentation use it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepId {
    /// `preflight`.
    Preflight,
    /// A step that prepares the operating system, with the name from its file in `steps/os/`.
    Os(&'static str),
    /// A step of a bastion, with the name from its file in `steps/bastion/`.
    Bastion(&'static str),
    /// `fetch`: official artifacts.
    Fetch,
    /// `containerd`.
    Containerd,
    /// `kubelet-config`.
    KubeletConfig,
    /// `kubelet-binary`.
    KubeletBinary,
    /// `binaries`: the programs other than the kubelet.
    Binaries,
    /// `image-NAME`.
    Image(ImageName),
    /// `kubelet`: its service.
    Kubelet,
    /// `kubelet-healthy`.
    KubeletHealthy,
    /// `join`: a worker's credentials.
    Join,
    /// `pki`.
    Pki,
    /// `kubeconfig`.
    Kubeconfig,
    /// `encryption-config`.
    EncryptionConfig,
    /// `fan-out-key`: the SSH key with which a master leads.
    FanOutKey,
    /// `api-server-config`.
    ApiServerConfig,
    /// `other-masters`: checks whether they have an etcd.
    OtherMasters,
    /// `etcd-member`.
    EtcdMember,
    /// `first-api-server`.
    FirstApiServer,
    /// `manifest-NAME`: the component's static pod.
    Manifest(Component),
    /// `NAME`: the component is healthy.
    Healthy(Component),
    /// `manifest-kube-vip`.
    KubeVipManifest,
    /// `virtual-address`: the API answers at this address.
    VirtualAddress,
    /// `cluster-config`.
    ClusterConfig,
    /// `tokens`.
    Tokens,
    /// `node`.
    Node,
    /// `agent`.
    Agent,
    /// `addon-kube-proxy`.
    KubeProxy,
    /// `addon-cni`.
    Cni,
    /// `addon-coredns`.
    CoreDns,
    /// `host-NAME`: another machine, by its name in the configuration.
    Host(String),
    /// `rollout-begin`: the hooks before the leading master changes.
    RolloutBegin,
    /// `rollout-own`: the leading master has its changes.
    RolloutOwn,
    /// `rollout-end`.
    RolloutEnd,
    /// `verify-kubelets`.
    VerifyKubelets,
    /// `ready`.
    Ready,
    /// `addon-NAME`: an optional addon.
    Addon(Addon),
    /// `addon-manifests`: the user's own manifests.
    OwnManifests,
    /// `upgrade-check`.
    UpgradeCheck,
    /// `stage-NAME`: the images of an upgrade on another machine.
    Stage(String),
    /// `etcd-snapshot`.
    EtcdSnapshot,
    /// Etcd lets members of the version of a rollback join.
    EtcdDowngrade,
    /// `upgrade-begin`.
    UpgradeBegin,
    /// `etcd-first`: the etcd that a release needs before an upgrade to it.
    EtcdFirst,
    /// `etcd-first-NAME`: the same on another master.
    EtcdFirstOn(String),
    /// `drain`: this machine's node.
    Drain,
    /// `upgrade-control-plane`: this master's static pods and its kubelet.
    ReplaceControlPlane,
    /// `upgrade-kubelet`.
    ReplaceKubelet,
    /// `uncordon-NAME`: a node, by its name.
    Uncordon(String),
    /// `version`: records the version of this machine.
    Version,
    /// `leave-etcd`.
    LeaveEtcd,
    /// `stop-kubelet`.
    StopKubelet,
    /// `remove-pods`.
    RemovePods,
    /// `unmount`.
    Unmount,
    /// `remove-network`.
    RemoveNetwork,
    /// `restore-kernel`.
    RestoreKernel,
    /// `restore-bastion`.
    RestoreBastion,
    /// `remove-images`.
    RemoveImages,
    /// `restore-containerd`.
    RestoreContainerd,
    /// `remove-data`.
    RemoveData,
    /// `remove-files`.
    RemoveFiles,
    /// `forget`: the journal.
    Forget,
}

impl StepId {
    /// Whether the step with this name restarts the kubelet, a static pod, or with updates any program of a machine that is up.
    #[must_use]
    pub fn restarts(name: &str) -> bool {
        // A master that joined etcd has its manifest from `etcd-member`.
        let fixed = [
            Self::KubeletConfig,
            Self::KubeletBinary,
            Self::Kubelet,
            Self::EtcdMember,
            Self::VerifyKubelets,
            Self::Os("os-updates"),
        ];
        name.starts_with("manifest-") || fixed.iter().any(|step| step.name() == name)
    }

    /// The step's name.
    #[must_use]
    pub fn name(&self) -> Cow<'static, str> {
        let fixed = match self {
            Self::Image(ImageName(name)) => return format!("image-{name}").into(),
            Self::Manifest(component) => return format!("manifest-{}", component.name()).into(),
            Self::Host(name) => return format!("host-{name}").into(),
            Self::EtcdFirstOn(name) => return format!("etcd-first-{name}").into(),
            Self::Uncordon(name) => return format!("uncordon-{name}").into(),
            Self::Stage(name) => return format!("stage-{name}").into(),
            Self::Addon(addon) => return format!("addon-{}", addon.name()).into(),
            Self::Os(name) | Self::Bastion(name) => name,
            Self::Healthy(component) => component.name(),
            Self::RolloutBegin => "rollout-begin",
            Self::RolloutOwn => "rollout-own",
            Self::RolloutEnd => "rollout-end",
            Self::Preflight => "preflight",
            Self::Fetch => "fetch",
            Self::Containerd => "containerd",
            Self::KubeletConfig => "kubelet-config",
            Self::KubeletBinary => "kubelet-binary",
            Self::Binaries => "binaries",
            Self::Kubelet => "kubelet",
            Self::KubeletHealthy => "kubelet-healthy",
            Self::Join => "join",
            Self::Pki => "pki",
            Self::Kubeconfig => "kubeconfig",
            Self::EncryptionConfig => "encryption-config",
            Self::FanOutKey => "fan-out-key",
            Self::ApiServerConfig => "api-server-config",
            Self::OtherMasters => "other-masters",
            Self::EtcdMember => "etcd-member",
            Self::FirstApiServer => "first-api-server",
            Self::KubeVipManifest => "manifest-kube-vip",
            Self::VirtualAddress => "virtual-address",
            Self::ClusterConfig => "cluster-config",
            Self::Tokens => "tokens",
            Self::Node => "node",
            Self::Agent => "agent",
            Self::KubeProxy => "addon-kube-proxy",
            Self::Cni => "addon-cni",
            Self::CoreDns => "addon-coredns",
            Self::VerifyKubelets => "verify-kubelets",
            Self::Ready => "ready",
            Self::OwnManifests => "addon-manifests",
            Self::UpgradeCheck => "upgrade-check",
            Self::EtcdSnapshot => "etcd-snapshot",
            Self::EtcdDowngrade => "etcd-downgrade",
            Self::UpgradeBegin => "upgrade-begin",
            Self::EtcdFirst => "etcd-first",
            Self::Drain => "drain",
            Self::ReplaceControlPlane => "upgrade-control-plane",
            Self::ReplaceKubelet => "upgrade-kubelet",
            Self::Version => "version",
            Self::LeaveEtcd => "leave-etcd",
            Self::StopKubelet => "stop-kubelet",
            Self::RemovePods => "remove-pods",
            Self::Unmount => "unmount",
            Self::RemoveNetwork => "remove-network",
            Self::RestoreKernel => "restore-kernel",
            Self::RestoreBastion => "restore-bastion",
            Self::RemoveImages => "remove-images",
            Self::RestoreContainerd => "restore-containerd",
            Self::RemoveData => "remove-data",
            Self::RemoveFiles => "remove-files",
            Self::Forget => "forget",
        };
        fixed.into()
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

/// The name of an image's step: the last part of the image's name, such as `kube-apiserver`. If two images have the same last part,
/// the second is numbered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageName(String);

impl ImageName {
    /// Returns `kube-apiserver` for `registry.k8s.io/kube-apiserver:v1.34.4`.
    #[must_use]
    pub fn of(image: &str) -> Self {
        let last = image.rsplit('/').next().unwrap_or(image);
        Self(last.split(['@', ':']).next().unwrap_or(last).to_owned())
    }

    /// Returns the name of the `number`th image with this last part.
    #[must_use]
    pub fn numbered(self, number: usize) -> Self {
        if number > 1 { Self(format!("{}-{number}", self.0)) } else { self }
    }
}

impl From<KubernetesImage> for ImageName {
    fn from(image: KubernetesImage) -> Self {
        Self(image.file().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_restart_what_runs_are_known() {
        let all = ["manifest-etcd", "manifest-kube-vip", "etcd-member", "kubelet", "kubelet-config", "kubelet-binary"];
        assert!(all.iter().all(|name| StepId::restarts(name)));
        assert!(
            ["containerd", "kubelet-healthy", "pki", "node", "binaries"].iter().all(|name| !StepId::restarts(name))
        );
    }

    #[test]
    fn the_last_part_of_an_image_names_its_step() {
        let name = |image| StepId::Image(ImageName::of(image)).to_string();
        assert_eq!(name("registry.k8s.io/kube-apiserver:v1.34.4"), "image-kube-apiserver");
        assert_eq!(name("localhost:5000/coredns/coredns@sha256:00"), "image-coredns");
        assert_eq!(name("pause"), "image-pause");
    }
}
