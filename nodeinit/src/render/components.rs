//! Flags and volumes of the control plane beyond kubeadm's defaults, most of them for hardening.
//!
//! `kubeadm-config` contains them as `extraArgs` and `extraVolumes`, so that kubeadm generates the same pods.

use super::{Renderer, paths};
use nodeinit_config::{Cluster, Component};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// A directory of the machine, mounted at the same path in a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Volume {
    pub(super) name: &'static str,
    pub(super) path: String,
    pub(super) read_only: bool,
    /// `hostPath.type`.
    pub(super) kind: &'static str,
}

/// Forward-secret suites with authenticated encryption for TLS 1.2; those of TLS 1.3 cannot be configured. nodeinit's keys
/// use ECDSA; a user's CA may use RSA.
const CIPHER_SUITES: &str = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,\
TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,\
TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256";

/// Returns the component's flags beyond kubeadm's: nodeinit's, overridden by the user's.
pub(super) fn extra_args(cluster: &Cluster, component: Component) -> BTreeMap<String, String> {
    let (ours, users) = match component {
        Component::Etcd => (common_etcd_args(), &cluster.etcd.extra_args),
        Component::ApiServer => (api_server_args(cluster), &cluster.api_server.extra_args),
        Component::ControllerManager => (controller_manager_args(), &cluster.controller_manager.extra_args),
        Component::Scheduler => (leader_args(), &cluster.scheduler.extra_args),
    };
    let mut args: BTreeMap<String, String> =
        ours.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    args.extend(users.iter().map(|(name, value)| (name.clone(), value.clone())));
    args
}

impl Renderer<'_> {
    /// Returns the same flags; if the API server verifies kubelets, also the flag for that.
    pub(super) fn extra_args(&self, component: Component) -> BTreeMap<String, String> {
        let mut args = extra_args(self.cluster, component);
        if component == Component::ApiServer && self.verify_kubelets {
            args.entry(KUBELET_CA_FLAG.into()).or_insert_with(|| paths::CA.to_owned());
        }
        args
    }
}

/// Returns etcd's flags beyond kubeadm's, with the token of its cluster, if it has one.
pub(super) fn etcd_args(cluster: &Cluster, token: Option<&str>) -> BTreeMap<String, String> {
    let mut args = extra_args(cluster, Component::Etcd);
    args.extend(token.map(|token| (TOKEN_FLAG.to_owned(), token.to_owned())));
    args
}

/// The flag that gives each bootstrap a different cluster ID. etcd derives the ID from it, at its first start only.
pub(super) const TOKEN_FLAG: &str = "initial-cluster-token";

/// The API server's flag that makes it verify kubelets.
pub(super) const KUBELET_CA_FLAG: &str = "kubelet-certificate-authority";

/// Learners do not count for the quorum. With the default of one learner, the third master could be added only 5 s after the second
/// became a voter (etcd's `HealthInterval`). The value is the same on all members, because each checks it.
fn common_etcd_args() -> Vec<(&'static str, &'static str)> {
    vec![("cipher-suites", CIPHER_SUITES), ("max-learners", "4")]
}

fn common_args() -> Vec<(&'static str, &'static str)> {
    vec![("profiling", "false"), ("tls-cipher-suites", CIPHER_SUITES), ("tls-min-version", "VersionTLS12")]
}

/// Flags for components with leader election. By default, they try every 2 to 4 s to become the leader, which delays the start of a
/// cluster.
fn leader_args() -> Vec<(&'static str, &'static str)> {
    let mut args = common_args();
    args.push(("leader-elect-retry-period", "1s"));
    args
}

/// With the default of 20 requests per second, the controllers take 5 s to start, and no pod is created before all have.
fn controller_manager_args() -> Vec<(&'static str, &'static str)> {
    let mut args = leader_args();
    args.extend([("kube-api-burst", "200"), ("kube-api-qps", "50")]);
    args
}

fn api_server_args(cluster: &Cluster) -> Vec<(&'static str, &'static str)> {
    let users = &cluster.api_server.extra_args;
    let mut args = common_args();
    args.extend([
        ("audit-log-maxage", "30"),
        ("audit-log-maxbackup", "10"),
        ("audit-log-maxsize", "100"),
        ("audit-log-path", paths::AUDIT_LOG),
        ("audit-policy-file", paths::AUDIT_POLICY),
        ("encryption-provider-config", paths::ENCRYPTION),
    ]);
    // The API server refuses the file together with one of these flags: a user who sets one controls anonymous access.
    if !users.keys().any(|flag| flag == "anonymous-auth" || flag.starts_with("oidc-")) {
        args.push(("authentication-config", paths::AUTHENTICATION));
    }
    args
}

/// Returns the component's volumes beyond kubeadm's.
pub(super) fn extra_volumes(cluster: &Cluster, component: Component) -> Vec<Volume> {
    if component != Component::ApiServer {
        return Vec::new();
    }
    // `Directory`: without these files the API server would not start anyway; this makes the reason visible.
    let mut volumes = vec![Volume {
        name: "apiserver-config",
        path: paths::API_SERVER.to_owned(),
        read_only: true,
        kind: "Directory",
    }];
    if let Some(path) = audit_log_directory(cluster) {
        volumes.push(Volume { name: "audit-log", path, read_only: false, kind: "DirectoryOrCreate" });
    }
    volumes
}

/// Returns the directory of the audit log; `None` if the user sends it to standard output (`-`) or disables it.
pub(super) fn audit_log_directory(cluster: &Cluster) -> Option<String> {
    audit_log(cluster)?.parent()?.to_str().map(str::to_owned)
}

/// Returns the audit log's file, if it is in a directory other than the root.
#[must_use]
pub fn audit_log(cluster: &Cluster) -> Option<PathBuf> {
    let args = extra_args(cluster, Component::ApiServer);
    let file = PathBuf::from(args.get("audit-log-path")?);
    let is_below_root = file.parent().is_some_and(|directory| directory != Path::new("/"));
    (file.is_absolute() && is_below_root).then_some(file)
}
