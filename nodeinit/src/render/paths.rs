//! Paths on a machine: kubeadm's (`cmd/kubeadm/app/constants/constants.go`) and a few of nodeinit.

/// Keys and certificates.
pub const PKI: &str = "/etc/kubernetes/pki";
/// The cluster's CA.
pub const CA: &str = "/etc/kubernetes/pki/ca.crt";
/// The manifests of static pods; the kubelet watches this directory.
pub const STATIC_PODS: &str = "/etc/kubernetes/manifests";
/// Kubeconfigs.
pub const KUBERNETES: &str = "/etc/kubernetes";
/// The files of the API server. A pod that mounts the directory instead of the files sees a file that is replaced by a
/// rename.
pub const API_SERVER: &str = "/etc/kubernetes/apiserver";
/// The audit policy ([`super::api_server::audit_policy`]).
pub const AUDIT_POLICY: &str = "/etc/kubernetes/apiserver/audit-policy.yaml";
/// The configuration of anonymous access ([`super::api_server::authentication`]).
pub const AUTHENTICATION: &str = "/etc/kubernetes/apiserver/authentication.yaml";
/// The encryption of Secrets ([`super::api_server::encryption`]). Contains a key: mode 0600.
pub const ENCRYPTION: &str = "/etc/kubernetes/apiserver/encryption.yaml";
/// The audit log, unless `apiServer.extraArgs` sets another path.
pub const AUDIT_LOG: &str = "/var/log/kubernetes/audit/audit.log";
/// The kubelet's configuration.
pub const KUBELET_CONFIG: &str = "/var/lib/kubelet/config.yaml";
/// The settings of this machine only; `kubeadm upgrade` merges them into the cluster's.
pub const KUBELET_INSTANCE_CONFIG: &str = "/var/lib/kubelet/instance-config.yaml";
/// The kubelet's flags.
pub const KUBELET_FLAGS: &str = "/var/lib/kubelet/kubeadm-flags.env";
/// The kubelet's client certificates.
pub const KUBELET_PKI: &str = "/var/lib/kubelet/pki";
/// The kubelet's client certificate and key in use. A symbolic link: the kubelet refuses to rotate a plain file
/// (`k8s.io/client-go/util/certificate/certificate_store.go`, `updateSymlink`).
pub const KUBELET_CLIENT_CURRENT: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";
/// The kubelet's unit.
pub const KUBELET_UNIT: &str = "/etc/systemd/system/kubelet.service";
/// The drop-in with its flags.
pub const KUBELET_DROP_IN: &str = "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf";
/// The serving certificate and key in use, if the kubelet requests it from the cluster. A symbolic link, as above.
pub const KUBELET_SERVER_CURRENT: &str = "/var/lib/kubelet/pki/kubelet-server-current.pem";
/// The agent's unit.
pub const AGENT_UNIT: &str = "/etc/systemd/system/nodeinit-agent.service";
/// The configuration that the agent reads: a copy, so that changes take effect with the next `up` and not before.
pub const AGENT_CONFIG: &str = "/var/lib/nodeinit/agent.yaml";
/// The unit that blocks the cloud's metadata service for pods.
pub const METADATA_UNIT: &str = "/etc/systemd/system/nodeinit-metadata.service";
/// The rules that it sets; in `/etc`, because SELinux does not let `nft` read `/var/lib`.
pub const METADATA_RULES: &str = "/etc/nodeinit/metadata.nft";
/// The drop-in with which `nftables.service` sets them, too.
pub const NFTABLES_DROP_IN: &str = "/etc/systemd/system/nftables.service.d/50-nodeinit.conf";
/// The unit that loads the rules of a bastion.
pub const BASTION_UNIT: &str = "/etc/systemd/system/nodeinit-bastion.service";
/// Its rules.
pub const BASTION_RULES: &str = "/etc/nodeinit/bastion.nft";
/// The kernel parameter that the unit sets afterwards.
pub const BASTION_SYSCTLS: &str = "/etc/nodeinit/bastion-sysctl.conf";
/// The drop-in with which `nftables.service` loads them, too.
pub const BASTION_NFTABLES_DROP_IN: &str = "/etc/systemd/system/nftables.service.d/60-nodeinit-bastion.conf";
/// The drop-in of a bastion's SSH server.
pub const BASTION_SSHD: &str = "/etc/ssh/sshd_config.d/10-nodeinit-bastion.conf";
/// containerd's configuration.
pub const CONTAINERD_CONFIG: &str = "/etc/containerd/config.toml";
/// Where containerd reads the mirrors of registries: `HOST/hosts.toml`.
pub const REGISTRIES: &str = "/etc/containerd/certs.d";
/// containerd's unit, if nodeinit installs containerd.
pub const CONTAINERD_UNIT: &str = "/etc/systemd/system/containerd.service";
/// The drop-in with its proxies.
pub const CONTAINERD_PROXY: &str = "/etc/systemd/system/containerd.service.d/50-nodeinit-proxy.conf";
