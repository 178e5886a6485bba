//! All of kubeadm's certificates. Source: `cmd/kubeadm/app/phases/certs/certlist.go` and `phases/kubeconfig/kubeconfig.go`.

use super::names::{self, Name};
use nodeinit_config::{Cluster, cluster::Node};

/// The group that kubeadm binds to `cluster-admin`.
pub const ADMINS: &str = "kubeadm:cluster-admins";
/// The group that may do everything, RBAC or not.
pub const MASTERS: &str = "system:masters";
/// The group of all nodes.
pub const NODES: &str = "system:nodes";

/// The certificate authorities of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ca {
    /// Of the API server, the kubelets and their clients.
    Kubernetes,
    /// Of etcd and its clients.
    Etcd,
    /// Of the API server towards extension API servers.
    FrontProxy,
}

impl Ca {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Kubernetes, Self::Etcd, Self::FrontProxy];

    /// The name in `kubeadm certs check-expiration`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kubernetes => "ca",
            Self::Etcd => "etcd-ca",
            Self::FrontProxy => "front-proxy-ca",
        }
    }

    /// The files' name in the PKI's directory, without `.crt` and `.key`.
    #[must_use]
    pub fn base(self) -> &'static str {
        match self {
            Self::Kubernetes => "ca",
            Self::Etcd => "etcd/ca",
            Self::FrontProxy => "front-proxy-ca",
        }
    }

    /// The subject of its certificate.
    #[must_use]
    pub fn common_name(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Etcd => "etcd-ca",
            Self::FrontProxy => "front-proxy-ca",
        }
    }
}

/// What a certificate that is no CA's says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The subject's common name: a client's user name.
    pub common_name: String,
    /// The subject's organization: a client's group.
    pub organization: Option<String>,
    /// Whom it vouches for.
    pub names: Vec<Name>,
    /// A server shows it.
    pub server: bool,
    /// A client shows it.
    pub client: bool,
}

impl Leaf {
    /// A client's.
    #[must_use]
    pub fn client(common_name: &str, organization: Option<&str>) -> Self {
        Self {
            common_name: common_name.to_owned(),
            organization: organization.map(str::to_owned),
            names: Vec::new(),
            server: false,
            client: true,
        }
    }

    fn server(common_name: &str, names: Vec<Name>, client: bool) -> Self {
        Self { names, server: true, client, ..Self::client(common_name, None) }
    }
}

/// A certificate in the PKI's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The files' name in the PKI's directory, without `.crt` and `.key`.
    pub base: &'static str,
    /// Who signs it.
    pub ca: Ca,
    /// What it says.
    pub leaf: Leaf,
}

/// The certificates in the PKI's directory of a master, the CAs' apart: the name in `kubeadm certs check-expiration`, and the
/// files' name without `.crt` and `.key`.
pub const NAMES: [(&str, &str); 7] = [
    ("apiserver", "apiserver"),
    ("apiserver-etcd-client", "apiserver-etcd-client"),
    ("apiserver-kubelet-client", "apiserver-kubelet-client"),
    ("etcd-healthcheck-client", "etcd/healthcheck-client"),
    ("etcd-peer", "etcd/peer"),
    ("etcd-server", "etcd/server"),
    ("front-proxy-client", "front-proxy-client"),
];

/// What each of [`NAMES`] says, and who signs it.
#[must_use]
pub fn entries(cluster: &Cluster, node: &Node) -> Vec<Entry> {
    let entry = |base, ca, leaf| Entry { base, ca, leaf };
    let etcd = || Leaf::server(&node.name, names::etcd(node), true);
    let client = Leaf::client;
    vec![
        entry("apiserver", Ca::Kubernetes, Leaf::server("kube-apiserver", names::api_server(cluster, node), false)),
        entry("apiserver-kubelet-client", Ca::Kubernetes, client("kube-apiserver-kubelet-client", None)),
        entry("front-proxy-client", Ca::FrontProxy, client("front-proxy-client", None)),
        entry("etcd/server", Ca::Etcd, etcd()),
        entry("etcd/peer", Ca::Etcd, etcd()),
        entry("etcd/healthcheck-client", Ca::Etcd, client("kube-etcd-healthcheck-client", None)),
        entry("apiserver-etcd-client", Ca::Etcd, client("kube-apiserver-etcd-client", None)),
    ]
}

/// A kubelet as a client of the API server.
#[must_use]
pub fn kubelet_client(node: &Node) -> Leaf {
    node_client(&node.name)
}

/// The same, by the node's name.
#[must_use]
pub fn node_client(name: &str) -> Leaf {
    Leaf::client(&format!("system:node:{name}"), Some(NODES))
}

/// A master's kubelet as a server. Left alone, the kubelet signs one by itself, of two RSA keys that it makes as it starts.
#[must_use]
pub fn kubelet_server(node: &Node) -> Leaf {
    let user = kubelet_client(node);
    Leaf { organization: user.organization, ..Leaf::server(&user.common_name, names::kubelet(node), false) }
}
