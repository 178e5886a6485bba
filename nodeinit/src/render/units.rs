//! systemd units; each file explains its order.

use nodeinit_config::cluster::Role;
use std::path::Path;

/// For [`super::paths::KUBELET_UNIT`].
pub const KUBELET: &str = include_str!("../../../systemd/kubelet.service");
/// For [`super::paths::KUBELET_DROP_IN`].
pub const KUBELET_DROP_IN: &str = include_str!("../../../systemd/kubelet.service.d/10-kubeadm.conf");
/// Renders [`super::paths::AGENT_UNIT`]: the agent of a machine with this role, run from this program.
#[must_use]
pub fn agent(program: &Path, role: Role) -> String {
    let unit = include_str!("../../../systemd/nodeinit-agent.service");
    unit.replace("${program}", &program.display().to_string()).replace("${role}", &role.to_string())
}
/// Renders [`super::paths::CONTAINERD_UNIT`]: containerd, run from this program.
#[must_use]
pub fn containerd(program: &Path) -> String {
    include_str!("../../../systemd/containerd.service").replace("${program}", &program.display().to_string())
}
/// For [`super::paths::METADATA_UNIT`].
pub const METADATA: &str = include_str!("../../../systemd/nodeinit-metadata.service");
/// For [`super::paths::NFTABLES_DROP_IN`].
pub const NFTABLES_DROP_IN: &str = include_str!("../../../systemd/nftables.service.d/50-nodeinit.conf");
/// For [`super::paths::METADATA_RULES`].
pub const METADATA_RULES: &str = include_str!("../../../systemd/metadata.nft");
/// For [`super::paths::BASTION_UNIT`].
pub const BASTION: &str = include_str!("../../../systemd/nodeinit-bastion.service");
/// For [`super::paths::BASTION_NFTABLES_DROP_IN`].
pub const BASTION_NFTABLES_DROP_IN: &str = include_str!("../../../systemd/nftables.service.d/60-nodeinit-bastion.conf");
