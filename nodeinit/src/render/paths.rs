//! Where things lie on a machine: kubeadm's places (`cmd/kubeadm/app/constants/constants.go`), and a few of our own.

/// Keys and certificates.
pub const PKI: &str = "/etc/kubernetes/pki";
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
/// What of it is this machine's own; `kubeadm upgrade` merges it over the cluster's.
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
/// Our own unit.
pub const NODEINIT_UNIT: &str = "/etc/systemd/system/nodeinit.service";
