//! Where things lie on a machine: kubeadm's places (`cmd/kubeadm/app/constants/constants.go`), and a few of our own.

/// Keys and certificates.
pub const PKI: &str = "/etc/kubernetes/pki";
/// The cluster's CA.
pub const CA: &str = "/etc/kubernetes/pki/ca.crt";
/// Static pods' manifests; the kubelet watches it.
pub const STATIC_PODS: &str = "/etc/kubernetes/manifests";
/// Kubeconfigs.
pub const KUBERNETES: &str = "/etc/kubernetes";
/// The API server's own files. One directory, so that one mount serves all, and a file replaced by rename is seen
/// inside.
pub const API_SERVER: &str = "/etc/kubernetes/apiserver";
/// What is logged ([`super::api_server::audit_policy`]).
pub const AUDIT_POLICY: &str = "/etc/kubernetes/apiserver/audit-policy.yaml";
/// Who may ask without credentials ([`super::api_server::authentication`]).
pub const AUTHENTICATION: &str = "/etc/kubernetes/apiserver/authentication.yaml";
/// How secrets are encrypted ([`super::api_server::encryption`]). Holds a key: mode 0600.
pub const ENCRYPTION: &str = "/etc/kubernetes/apiserver/encryption.yaml";
/// The audit log, unless `apiServer.extraArgs` says otherwise.
pub const AUDIT_LOG: &str = "/var/log/kubernetes/audit/audit.log";
/// The kubelet's configuration.
pub const KUBELET_CONFIG: &str = "/var/lib/kubelet/config.yaml";
/// The settings of this machine alone; `kubeadm upgrade` merges them over the cluster's.
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
/// The serving certificate and key in use, where the kubelet asks the cluster for it. A symbolic link, as above.
pub const KUBELET_SERVER_CURRENT: &str = "/var/lib/kubelet/pki/kubelet-server-current.pem";
/// The agent's unit.
pub const AGENT_UNIT: &str = "/etc/systemd/system/nodeinit-agent.service";
/// The configuration that the agent reads: a copy, so that what is edited takes effect with the next `up` and not before.
pub const AGENT_CONFIG: &str = "/var/lib/nodeinit/agent.yaml";
/// The unit that keeps pods from the cloud's metadata service.
pub const METADATA_UNIT: &str = "/etc/systemd/system/nodeinit-metadata.service";
/// The rules that it sets: in `/etc`, since SELinux lets `nft` read nothing in `/var/lib`.
pub const METADATA_RULES: &str = "/etc/nodeinit/metadata.nft";
/// The drop-in with which `nftables.service` sets them, too.
pub const NFTABLES_DROP_IN: &str = "/etc/systemd/system/nftables.service.d/50-nodeinit.conf";
/// containerd's configuration.
pub const CONTAINERD_CONFIG: &str = "/etc/containerd/config.toml";
/// Where containerd looks for the mirrors of registries: `HOST/hosts.toml`.
pub const REGISTRIES: &str = "/etc/containerd/certs.d";
/// containerd's unit, where nodeinit installs containerd.
pub const CONTAINERD_UNIT: &str = "/etc/systemd/system/containerd.service";
/// The drop-in with its proxies.
pub const CONTAINERD_PROXY: &str = "/etc/systemd/system/containerd.service.d/50-nodeinit-proxy.conf";
