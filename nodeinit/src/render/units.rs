//! systemd units; each file says why it is ordered as it is.

/// For [`super::paths::KUBELET_UNIT`].
pub const KUBELET: &str = include_str!("../../../systemd/kubelet.service");
/// For [`super::paths::KUBELET_DROP_IN`].
pub const KUBELET_DROP_IN: &str = include_str!("../../../systemd/kubelet.service.d/10-kubeadm.conf");
/// For [`super::paths::NODEINIT_UNIT`].
pub const NODEINIT: &str = include_str!("../../../systemd/nodeinit.service");
